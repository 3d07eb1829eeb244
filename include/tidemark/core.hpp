// SPDX-License-Identifier: BSL-1.0
//
// The lower floor of tidemark: fences and what waits for them, logs, memory that is lent until a fence has reached a
// value, and split work items. A program that needs one block includes its header alone.
#ifndef TIDEMARK_CORE_HPP
#define TIDEMARK_CORE_HPP

// What all blocks stand on. platform/portable_platform.hpp is left out: it is for ports and for tests, and brings
// <mutex> and <condition_variable> with it.
#include "platform/assert.hpp"    // the hook for misuse
#include "platform/platform.hpp"  // atomics, barriers, sleeping and waking: the one way to memory that threads share

// Timelines, and threads that wait for them. fence/shared_fence.hpp, fence/followed_fence.hpp and
// fence/attachment_ends.hpp are left out: they are for programs whose processes share fences, on Linux alone, and bring
// what the system says about files with them.
#include "fence/awake_view.hpp"         // a timeline whose waits do not sleep
#include "fence/capabilities.hpp"       // what a provider and its client agree on
#include "fence/event_count.hpp"        // waits for what other threads change, or for a value, whichever comes first
#include "fence/fence.hpp"              // a 64-bit value that rises, and who waits for it
#include "fence/fence32.hpp"            // the same for executors that know 32 bits alone
#include "fence/fence_slab.hpp"         // very many fences, each with a heap only while somebody waits
#include "fence/hooked_timeline.hpp"    // timelines of yours that say when they have reached a value
#include "fence/least_of.hpp"           // several timelines as one, whose value is the least of theirs
#include "fence/looked_at.hpp"          // timelines of yours that can't, and how often waits look at them
#include "fence/rewindable_fence.hpp"   // a value that its owner also sets back
#include "fence/rewindable_target.hpp"  // one value of it that stays reached, for waits for several timelines
#include "fence/signal_all.hpp"         // signals of several fences, before those who wait are woken
#include "fence/signaller.hpp"          // a handle that signals, and without which the fence is lost
#include "fence/timeline_group.hpp"     // several timelines as one, which come and go while threads wait
#include "fence/wait_many.hpp"          // waits for any or all of several values
#include "fence/waiter_heap.hpp"        // the heap behind a fence, for blocks of your own

#include "fence/detached.hpp"            // a coroutine that nobody waits for
#include "fence/each_advance.hpp"        // a callable that runs as the value rises
#include "fence/link.hpp"                // one timeline signals another one, and hands on its loss
#include "fence/signaller_awaiter.hpp"   // a coroutine that goes on in the signalling thread
#include "fence/signaller_callback.hpp"  // a callable that the signalling thread runs

// Waits that take no thread each. loop/senders.hpp and loop/loop_uring.hpp are left out: the one brings std::execution
// or stdexec with it, the other is for programs with an io_uring.
#include "loop/executor_loop.hpp"       // an executor of yours runs the loop
#include "loop/reached_descriptor.hpp"  // a descriptor that is readable when a value is reached
#include "loop/wait_loop.hpp"           // callables, coroutines, tasks and descriptors; a few threads run them

// Logs that overwrite. log/shared_logs.hpp is left out, as what is for processes that share fences.
#include "log/clock_correlation.hpp"  // how an executor's clock relates to the steady clock
#include "log/fence_log.hpp"          // the entries in which waits and signals are logged
#include "log/log_clock.hpp"          // a clock for time stamps
#include "log/mapped_log.hpp"         // reads a log in memory that another process has made
#include "log/ring_log.hpp"           // the last entries of one writer or several, read by any thread

// Memory, lent until a timeline has reached a value.
#include "memory/coherency_tracker.hpp"    // which cache lines must be written back or invalidated
#include "memory/growing_upload_ring.hpp"  // an upload ring of several blocks, which adds and gives back blocks
#include "memory/host_aperture.hpp"        // pages of a window to the memory of a device
#include "memory/lock_decision.hpp"        // how the processor gets an address of memory that a device may own
#include "memory/loop_retire_queue.hpp"    // the same as retire_queue, run by a loop
#include "memory/mapped_allocation.hpp"    // an allocation of a device that the processor locks
#include "memory/mapped_view.hpp"          // views of pages in any order, by the page tables
#include "memory/rename_ring.hpp"          // one buffer name, and a new backing for each discard
#include "memory/retire_queue.hpp"         // destroys objects when queues have finished with them
#include "memory/ring_statistics.hpp"      // what the memory of a ring has come to, as numbers and as text
#include "memory/supported_segments.hpp"   // where an allocation may be placed
#include "memory/upload_ring.hpp"          // parts of one buffer, given out in order and given back in order

// Work items that are split.
#include "split/patch_location.hpp"  // the list as drivers know it
#include "split/split_table.hpp"     // what each slot holds at an offset, for threads that ask
#include "split/splitter.hpp"        // plans parts of a work item whose allocations fit
#include "split/submit_parts.hpp"    // gives the parts to an executor

#endif  // TIDEMARK_CORE_HPP
