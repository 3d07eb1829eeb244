// SPDX-License-Identifier: BSL-1.0
//
// The upper floor of tidemark: in-order queues and the engines that execute them, hubs, domains, traces, and objects
// that threads record with. It stands on core.hpp, which it does not include as a whole.
#ifndef TIDEMARK_EXECUTORS_HPP
#define TIDEMARK_EXECUTORS_HPP

// Queues.
#include "queue/executed_work.hpp"    // what a queue did between its waits and signals
#include "queue/log_collector.hpp"    // hands the entries of several logs to a sink
#include "queue/queue.hpp"            // the timeline of an in-order executor, with its logs
#include "queue/queued_events.hpp"    // what was queued and when, for a trace
#include "queue/recorder.hpp"         // whether and how a queue logs
#include "queue/thread_recorder.hpp"  // waits and signals of threads, beside those of queues
#include "queue/traced_logs.hpp"      // the logs of all queues of a device grow before a trace

// Engines.
#include "engine/domain.hpp"          // executors that do not see each other's values
#include "engine/engine.hpp"          // a few threads execute many queues
#include "engine/engine_parts.hpp"    // records the parts of a split work item
#include "engine/engine_queue.hpp"    // a queue of an engine
#include "engine/hang_report.hpp"     // who waits for whom
#include "engine/local_fence.hpp"     // a fence of one domain
#include "engine/shadowed_fence.hpp"  // interrupts only for waiters
#include "engine/thread_hangs.hpp"    // who waits for whom, with threads
#include "engine/unbroken_run.hpp"    // commands between which nothing else is executed

// Hubs.
#include "hub/hub.hpp"            // one pass releases the waiters of many fences
#include "hub/loop_served.hpp"    // a loop serves a hub
#include "hub/signal_origin.hpp"  // which queue signalled a fence

// Traces.
#include "trace/trace.hpp"            // joins what was queued with what was executed
#include "trace/trace_export.hpp"     // as a page, or as Chrome trace events
#include "trace/trace_file.hpp"       // for long runs
#include "trace/trace_hangs.hpp"      // who waits for whom, afterwards
#include "trace/trace_lifetimes.hpp"  // how long each command was in its queue, and how many were there
#include "trace/trace_merge.hpp"      // the traces of several processes as one
#include "trace/trace_work.hpp"       // what queues did, derived where nobody tells

// Recording.
#include "context/command_context.hpp"   // lists of commands
#include "context/renamed_resource.hpp"  // a resource that each recording renames
#include "context/storage.hpp"           // state of objects, apart for each recording context

#endif  // TIDEMARK_EXECUTORS_HPP
