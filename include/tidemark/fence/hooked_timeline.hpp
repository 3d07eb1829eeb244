// SPDX-License-Identifier: BSL-1.0
//
// hooked_timeline: the concept of a timeline of yours that says when it has reached a value. Then wait_any(),
// wait_all(), loops, coroutines, senders and queues of engines can wait for it as they wait for a fence, and together
// with fences in one sleep. It is a timeline (timeline.hpp) with two more functions:
//
//   void* add_hook(std::uint64_t target, tidemark::timeline_hook hook) const;      null: it has not registered
//   bool remove_hook(void* registration) const;                                    whether the hook was not called
//
// So values can come from anywhere: from a driver, from another process, from a thread that listens to a machine. A
// hook_list keeps the registrations for whoever does not want to write that. A timeline without a hook can be waited
// for as a looked_at (looked_at.hpp).
//
// What the library does. It calls add_hook(), and then looks at current_value(). It calls remove_hook() exactly once
// for each registration that add_hook() has returned, whether the hook was called or not. It does not call it for null:
// then it looks at the value once in a millisecond. Null means that the hook was not called and never will be. A
// timeline that has called it within add_hook() must return a registration, for which remove_hook() returns false.
//
// What the timeline must do:
//   - It keeps a copy of the hook, and calls it once: reached() when its value is at least `target`, lost() when it is
//     lost. If it is lost after it has reached `target`, either will do. It calls one of them, once, and never after
//     remove_hook() has returned. It may make the call in any thread, also within add_hook(), and with locks of its own
//     held.
//   - It misses nobody. Say that the target is reached, or the timeline lost, at any time. Then a current_value() that
//     follows add_hook() shows it, or the hook is called. So: change the value, and then look for hooks; with one lock
//     around add_hook(), remove_hook() and the look for hooks, that is all. Without a lock it takes a barrier on both
//     sides, as in a fence.
//   - When it calls the hook, current_value() shows that already to whoever learns of the call, and so does
//     last_reached(). A reached() that comes too early is a mistake that is not noticed: wait_all() may sleep for ever.
//   - remove_hook() ends the registration. It returns true if the hook was not called, and never will be. It returns
//     false if it was called, and then that call has returned: if another thread is in the call, remove_hook() waits
//     for it. What the hook uses may be gone as soon as remove_hook() returns.
//   - None of its functions throws. Those that look, add_hook() and remove_hook() use none of the loops, waits and
//     queues that may wait for this timeline. A loop calls all of them with its lock held, from any thread that uses
//     the loop. A lock that they take must not be held while the program calls a loop, a wait or a queue.
//   - It outlives the waits for it, also as a lost one. A copy of a timeline is the same timeline, also for hooks.
//   - When it is lost, it calls lost() for all hooks, and goes on to answer all functions.
//
// If it is lost, waits must know which values it had reached before. They ask last_reached(), if the type has it: the
// value signalled so far, also of a lost timeline. Then waits believe it alone: it must be ordered as current_value()
// is, and must never be behind it, unless the timeline is lost. Otherwise they ask wait_until() with a deadline that
// has passed, up to 64 times. A timeline with last_reached() may make its wait_until() of its own hook:
//
//   return tidemark::wait_all_until({{*this, target}}, until);
//
// Without last_reached() it must not: a wait for a lost timeline asks wait_until() itself, and would never end.
//
// A waiter may spin before it sleeps if a fence of its list allows that, and then it looks at current_value() or
// last_reached() again and again. So does a loop that is busy. Both should be cheap.
#ifndef TIDEMARK_FENCE_HOOKED_TIMELINE_HPP
#define TIDEMARK_FENCE_HOOKED_TIMELINE_HPP

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/intrusive_lists.hpp"
#include "../platform/tools/park_lock.hpp"
#include "timeline.hpp"
#include "tools/waker.hpp"
#include "waiter_heap.hpp"

namespace tidemark {

namespace detail {

struct hook_access;

}  // namespace detail

/// What a timeline calls for a registration when its value is reached, or when the timeline is lost. It is copyable.
/// The calls wake a thread, or give something to a loop. They run no code of the program but the execute() of an
/// executor_loop's executor. They block for no wait, allocate and throw nothing, and take no lock that a caller of
/// add_hook() or remove_hook() holds.
class timeline_hook {
 public:
  /// A hook that must not be called, to assign another one to.
  timeline_hook() = default;

  /// The value is at least the target of the registration. Any thread may call it, once, before remove_hook() has
  /// returned. Progress: lock-free, except for the system call that wakes.
  void reached() const noexcept { called_->wake(detail::release_reason::due); }
  /// The timeline is lost. It may have reached the target just before: the wait looks. In all else like reached(), in
  /// the place of which it is called.
  void lost() const noexcept { called_->wake(detail::release_reason::lost); }

 private:
  friend detail::hook_access;

  explicit timeline_hook(detail::waker& called) noexcept : called_{&called} {}

  detail::waker* called_ = nullptr;
};

/// A timeline that calls a hook when it has reached a value. The head of this file says what the functions must do.
template <class T>
concept hooked_timeline =
    timeline<T> && requires(const T& of, std::uint64_t target, timeline_hook hook, void* registration) {
      { of.add_hook(target, hook) } -> std::same_as<void*>;
      { of.remove_hook(registration) } -> std::same_as<bool>;
    };

/// The registrations of a hooked_timeline, with one lock. Such a timeline has one as a `mutable` member, passes its
/// add_hook() and remove_hook() on to it, and calls release_due() after each change of its value.
///
/// A registration takes its memory from four places in the list itself, then by an allocation; the memory is kept for
/// others until the list is destroyed. Hooks are called with the lock held, so a thread that was woken may have to wait
/// for the end of these calls.
template <platform Platform>
class basic_hook_list {
 public:
  basic_hook_list() noexcept {
    for (registration& one : few_) put_back(one);
  }
  basic_hook_list(const basic_hook_list&) = delete;
  basic_hook_list& operator=(const basic_hook_list&) = delete;
  /// Asserts that all registrations were removed.
  ~basic_hook_list() {
    TIDEMARK_ASSERT(count_ == 0, "a timeline was destroyed before the waits for it had ended");
    while (registration* const one = free_) {
      free_ = one->next_free;
      if (one->is_allocated) delete one;
    }
  }

  /// Registers a hook, as add_hook() must. Returns null if there is no memory. The timeline must not call this within a
  /// call of a hook. Any thread may call it. Progress: takes the lock; O(1) if targets rise from call to call,
  /// otherwise O(log n), amortized.
  void* add(std::uint64_t target, timeline_hook hook) noexcept {
    const keeper kept(lock_);
    registration* const made = take_free();
    if (made == nullptr) return nullptr;
    ++count_;
    made->target = target;
    made->number = next_number_++;
    made->hook = hook;
    made->is_open.store(true);
    open_.insert(*made);
    return made;
  }

  /// Ends a registration that add() has returned, as remove_hook() must: it waits for a call of the hook that is under
  /// way, and returns whether there was none and never will be. Any thread may call it. Progress: as add().
  bool remove(void* added) noexcept {
    const keeper kept(lock_);
    auto& removed = *static_cast<registration*>(added);
    const bool is_open = removed.is_open.load();
    if (is_open) open_.remove(removed);
    --count_;
    put_back(removed);
    return is_open;
  }

  /// Calls reached() of every hook whose target is at most `value`, and returns how many these were. The timeline calls
  /// it after each change of its value: the new one must be visible to current_value() before. Any thread may call it,
  /// in any order of the values. Progress: takes the lock, and holds it during the calls.
  std::size_t release_due(std::uint64_t value) noexcept {
    return release([value](const registration& least) { return least.target <= value; },
                   [](const timeline_hook& hook) { hook.reached(); });
  }
  /// Calls lost() of every hook, and returns how many these were. The timeline calls it when it is lost:
  /// current_value() must show that before. In all else like release_due().
  std::size_t release_lost() noexcept {
    return release([](const registration&) { return true; }, [](const timeline_hook& hook) { hook.lost(); });
  }

  /// Returns the least target of all hooks that were not called, minus 1; `no_waiter` if there are none. So a timeline
  /// can ask its source for the next value that somebody waits for. It may be outdated when it is returned. Any thread
  /// may call it. Progress: takes the lock.
  std::uint64_t monitored_value() const noexcept {
    const keeper kept(lock_);
    const registration* const least = open_.least();
    return least == nullptr ? no_waiter : least->target - 1;
  }

 private:
  using keeper = detail::lock_keeper<detail::park_lock<Platform>>;

  /// The lock protects all of it.
  struct registration {
    struct order {
      static detail::wait_links<registration>& links(registration& of) noexcept { return of.links; }
      static bool comes_before(const registration& a, const registration& b) noexcept {
        return a.target != b.target ? a.target < b.target : a.number < b.number;
      }
    };

    std::uint64_t target = 0;
    std::uint64_t number = 0;  // in the order of registration
    detail::wait_links<registration> links{};
    registration* next_free = nullptr;
    bool is_allocated = false;
    timeline_hook hook;
    typename Platform::template var<bool> is_open{false};  // the hook was not called
  };

  template <class IsDue, class Call>
  std::size_t release(const IsDue& is_due, const Call& call) noexcept {
    const keeper kept(lock_);
    std::size_t released = 0;
    for (registration* next = open_.least(); next != nullptr && is_due(*next); next = open_.least(), ++released) {
      open_.remove(*next);
      next->is_open.store(false);
      call(next->hook);
    }
    return released;
  }

  registration* take_free() noexcept {
    registration* const taken = free_;
    if (taken != nullptr) {
      free_ = taken->next_free;
      return taken;
    }
    auto* const made = ::new (std::nothrow) registration;
    if (made != nullptr) made->is_allocated = true;
    return made;
  }
  void put_back(registration& one) noexcept { one.next_free = std::exchange(free_, &one); }

  mutable detail::park_lock<Platform> lock_;
  detail::ordered_waits<registration, typename registration::order> open_;
  registration* free_ = nullptr;
  std::size_t count_ = 0;  // registrations that were not removed
  std::uint64_t next_number_ = 0;
  std::array<registration, 4> few_{};
};

/// The registrations of a hooked_timeline of the program's.
using hook_list = basic_hook_list<native_platform>;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_HOOKED_TIMELINE_HPP
