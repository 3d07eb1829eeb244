// SPDX-License-Identifier: BSL-1.0
//
// The compile-time choices of a fence, with their defaults:
//
//   constexpr tidemark::fence_options many_waiters{.capacity = 256, .statistics = true};
//   tidemark::basic_progress_fence<tidemark::native_platform, many_waiters> uploaded;
//
// Most choices change only where a fence's words lie, what it costs, and what it can tell. Six change more. With
// `value_storage::caller`, poison() may lose a signal (fence.hpp). With `value_storage::shared`, a signal must be told
// to the other fences of the word. With `heap_growth::forbidden`, wait_all() and wait_any() look at a full fence once
// in a millisecond. With `callbacks`, signals may take a lock and run code of the user, so no signal handler may signal
// the fence. With `keeps_value_on_loss`, no block follows the fence. With `joins_signallers`, it may be destroyed as
// soon as a wait has returned, and has no steps of signal().
#ifndef TIDEMARK_FENCE_FENCE_OPTIONS_HPP
#define TIDEMARK_FENCE_FENCE_OPTIONS_HPP

#include <cstddef>
#include <cstdint>

#include "waiter_heap.hpp"

namespace tidemark {

/// Where the value of a fence lies: beside the monitored value, or apart from it. The monitored value is the word by
/// which a signal learns whether a waiter may be due (fence.hpp).
enum class fence_layout {
  two_lines,  ///< On another cache line than the monitored value: best if threads poll the value.
  one_line,   ///< Beside the monitored value: best if many fences are signalled that are not in the cache.
};

/// Who provides the 8 bytes of a fence's value.
enum class value_storage {
  own,  ///< The fence itself.
  /// The caller: for example memory of a certain node, or memory that devices or other processes read, too. Waiters in
  /// other processes are not woken.
  caller,
  /// A word that several fences have, each for waiters of its own. Whoever signals one of them must tell the others, as
  /// an attachment of a cross_fence does (engine/domain.hpp).
  shared,
};

/// The compile-time choices of a fence.
struct fence_options {
  std::size_t capacity = 16;                  ///< How many waiters have a slot from the start, of about 34 bytes.
  std::size_t arity = 4;                      ///< How many children each node of the heap has, at least 2.
  heap_growth growth = heap_growth::allowed;  ///< What a waiter does that finds no free slot.
  /// How many nanoseconds a waiter may look at the value before it sleeps; 0 for none. A fence learns from its waits
  /// how long that pays (fence/tools/learning_spin.hpp), up to three times what a sleep costs on the machine.
  std::uint32_t max_spin_ns = 200'000;
  fence_layout layout = fence_layout::two_lines;  ///< Where the value lies.
  value_storage storage = value_storage::own;     ///< Who provides the bytes of the value.
  /// Lets signallers run callables and resume coroutines: include signaller_callback.hpp or signaller_awaiter.hpp. Such
  /// a fence has a lock, which a signal takes only if a callable is due.
  bool callbacks = false;
  /// Adds notify_count() and overflow_count(). A signal pays for them only where it takes its slow path (fence.hpp).
  bool statistics = false;
  /// Keeps what current_value() and is_reached() say when the fence is poisoned (NoSignalMaxValueOnTdr); waits return
  /// `lost` as without it. Blocks that follow a timeline rely on UINT64_MAX then, so they don't take such a fence
  /// (timeline.hpp). All waits of threads, loops and engines do.
  bool keeps_value_on_loss = false;
  /// Lets the destructor wait until each call of signal(), signal_next() and poison() has ended whose value, or poison,
  /// the destroying thread has seen, by a wait that has returned or by a look. So `f->wait(n); delete f;` is legal if
  /// no call begins later. The destructor does not know of other calls, which must have returned: a signal() that
  /// returns false, a later value, the second of two poison(). All waits must have returned, too. With `callbacks`,
  /// code that a signaller runs (a callable, or a coroutine until it suspends itself) must not destroy the fence
  /// (asserted): the destructor would wait for its own caller.
  ///
  /// A signal of a progress fence costs two more plain stores and a load; one of a fence, or of a progress fence with
  /// `callbacks`, two more read-modify-writes, all on the first line of the fence. The fence takes no more memory; but
  /// with `one_line` it is larger by a line if the caller provides the value, or if the double word takes a lock. There
  /// are no steps of signal() (fence.hpp): queues call signal() then, and hubs don't take it.
  bool joins_signallers = false;
  /// Adds report_registrations(), by which a driver learns that the monitored value may have fallen
  /// (engine/shadowed_fence.hpp). A signal costs nothing more; each registration of a waiter calls a function. With
  /// `value_storage::shared` whoever signals the word must look at a copy of the monitored value (fence_slab.hpp).
  bool reports_registrations = false;
};

/// Whom a fence tells of each registration.
struct registration_report {
  /// Called on the thread that registers, which may hold the lock of a loop. It may take locks under which nothing else
  /// is called. It must not wait, nor use a loop, nor poison the fence.
  void (*registered)(void* context) noexcept = nullptr;
  void* context = nullptr;  ///< Its argument.
};

/// Where an array of words lies: whom its owner asks for memory. Without functions the memory comes from the aligned
/// `operator new`.
struct memory_placement {
  /// Returns so many bytes at a multiple of the alignment, which is a power of two; null if there are none.
  void* (*allocate)(void* context, std::size_t bytes, std::size_t alignment, std::uint64_t hint) noexcept = nullptr;
  /// Takes back what `allocate` has returned. Must be there if `allocate` is.
  void (*deallocate)(void* context, void* memory, std::size_t bytes, std::size_t alignment) noexcept = nullptr;
  void* context = nullptr;  ///< The first argument of both.
  std::uint64_t hint = 0;   ///< What the program tells `allocate`, such as the number of a node or of a segment.
};

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_FENCE_OPTIONS_HPP
