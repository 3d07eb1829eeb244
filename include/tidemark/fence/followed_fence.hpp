// SPDX-License-Identifier: BSL-1.0
//
// followed_fence: a fence that processes share (shared_fence.hpp), for waits that end by a hook: with other timelines
// (wait_many.hpp), on a loop, by a coroutine, a sender or a descriptor, or by a queue of an engine. Linux alone.
//
//   const tidemark::followed_fence frames{opened.fence};
//   wait_any({{frames, 12}, {upload, 40}});             frames is shared, upload is a fence of this process
//   loop.on_reached(frames, 13, callable);
//
// Another process can wake only threads that sleep in the pages of the fence. So a followed_fence has a thread, which
// sleeps there for the least value that somebody waits for, and then calls the hooks that are due
// (hooked_timeline.hpp). A signaller finds one sleeper, as if a thread of this process had waited itself, and what is
// waited for comes one thread later.
//
// The thread begins with the first hook, and ends with the object; where nobody waits by a hook, there is none. While
// there are hooks it finds within 50 ms that the fence is lost, as all sleepers do. While there are none it sleeps
// without an end. It takes no signals of the program, except for faults of its own. What a hook calls runs on it: so
// does execute() of an executor_loop's executor. A thread or a process that is started there has these signals blocked,
// too. The thread has the processors and the priority of the thread that has added the first hook.
//
// A followed_fence has the values of a latched_fence: once it was found lost, it is lost for ever. Its own waits sleep
// in the pages of the fence, and need no thread.
//
// Where a wait ends before its value has come, the thread goes on to sleep for that value until it wakes up for another
// reason, so that a loop of waits does not wake it each time. It does so within 50 ms, unless another thread of the
// attachment looks for all sleepers. A signal that passes the value before that takes its slow path in vain, once.
#ifndef TIDEMARK_FENCE_FOLLOWED_FENCE_HPP
#define TIDEMARK_FENCE_FOLLOWED_FENCE_HPP

#include "shared_fence.hpp"

#if defined(__linux__) && TIDEMARK_HAS_FUTEX

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/park_lock.hpp"
#include "detail/quiet_thread.hpp"
#include "detail/shared_process.hpp"
#include "hooked_timeline.hpp"
#include "timeline.hpp"
#include "wait.hpp"
#include "waiter_heap.hpp"

namespace tidemark {

/// The loss() of a followed_fence.
inline constexpr loss_reason signallers_gone{0xFFFF'FF03, "no process is left that may signal"};

namespace detail {

/// Hooks of a timeline for which threads can only wait. One thread waits for all of them: it sleeps for the least
/// target, and calls the hooks that are due.
///
/// The handshake of a registration and the thread. A hook is added first, and then add() looks, with the lock, for what
/// the thread waits. The thread finds the least target with the lock, too, and says so before it gives it up. So if the
/// hook came too late for that, add() finds that the thread waits for a greater target, or for none, and says that
/// something has changed. That stops the wait of the thread, which begins anew. A wait does not miss a stop.
///
/// The lock is not held while the thread waits and while hooks are called.
/// \tparam Platform  of the lock, and of what the thread sleeps on while there are no hooks
/// \tparam Source    the timeline: wait(target, token), which returns `lost` for ever once it has done so, and
///                   last_reached()
template <platform Platform, class Source>
class hook_waiter {
 public:
  /// The timeline must outlive it.
  explicit hook_waiter(const Source& of) noexcept : of_{of} {}
  hook_waiter(const hook_waiter&) = delete;
  hook_waiter& operator=(const hook_waiter&) = delete;

  /// Adds a hook, as a hook_list does. The caller looks at the timeline afterwards. Any thread may call it.
  void* add(std::uint64_t target, timeline_hook hook) noexcept {
    // There is no value below 0, so a hook for 0 would hide all others.
    if (target == 0) target = 1;
    void* const added = hooks_.add(target, hook);
    // If it is reached, the caller finds that, too, and the thread need not know of it.
    if (added == nullptr || of_.last_reached() >= target) return added;
    const keeper kept(lock_);
    if (target <= awaited_) change();
    return added;
  }
  /// Removes a hook, as a hook_list does. The thread may go on to wait for its target until it wakes up.
  bool remove(void* added) noexcept {
    const bool was_open = hooks_.remove(added);
    // (HK5): relaxed alone: the thread that sees it looks at the hooks with their lock.
    if (was_open) is_outdated_.store(1, std::memory_order_relaxed);
    return was_open;
  }

  /// Says that another thread has found the timeline lost. Any thread may call it.
  void found_lost() noexcept {
    const keeper kept(lock_);
    if (awaited_ != no_waiter) change();
  }
  /// Lets run() return. Any thread may call it.
  void close() noexcept {
    const keeper kept(lock_);
    is_closing_ = true;
    change();
  }

  /// What the thread does until close() is called.
  void run() noexcept {
    keeper kept(lock_);
    for (;;) {
      // (HK1): relaxed alone: with the lock.
      has_changed_.store(0, std::memory_order_relaxed);
      // (HK6): relaxed alone: the look at the hooks that follows finds what (HK5) has removed before.
      is_outdated_.store(0, std::memory_order_relaxed);
      if (is_closing_) return;
      awaited_ = hooks_.monitored_value();
      if (awaited_ == no_waiter) {
        static_cast<void>(changes_.wait(kept));
        continue;
      }
      const std::uint64_t target = awaited_ + 1;
      const typename keeper::without lock(kept);
      if (of_.wait(target, token{*this}) == wait_status::lost) {
        hooks_.release_lost();
      } else {
        hooks_.release_due(of_.last_reached());
      }
    }
  }

 private:
  using keeper = lock_keeper<park_lock<Platform>>;

  /// What wakes the thread from its wait.
  struct nudge {
    void (*call)(const void*) noexcept = nullptr;
    const void* callback = nullptr;
  };

  /// Stops the wait of the thread when something has changed.
  class token {
   public:
    explicit token(hook_waiter& of) noexcept : of_{&of} {}

    bool stop_requested() const noexcept {
      // (HK2): relaxed alone. Before the thread sleeps, it has made its callback with the lock: so it finds here what
      // changed before that, and is called for what changes later. What is to be found is looked for with the lock.
      if (of_->has_changed_.load(std::memory_order_relaxed) != 0) return true;
      // (HK7): relaxed alone: nobody wakes the thread for it.
      return of_->is_outdated_.load(std::memory_order_relaxed) != 0;
    }

    template <class Callback>
    class callback_type {
     public:
      callback_type(const token& with, const Callback& callback) noexcept : of_{*with.of_}, callback_{callback} {
        const keeper kept(of_.lock_);
        of_.nudge_ = {[](const void* self) noexcept { (*static_cast<const Callback*>(self))(); }, &callback_};
      }
      callback_type(const callback_type&) = delete;
      callback_type& operator=(const callback_type&) = delete;
      ~callback_type() {
        const keeper kept(of_.lock_);
        of_.nudge_ = {};
      }

     private:
      hook_waiter& of_;
      const Callback callback_;
    };

   private:
    hook_waiter* of_;
  };

  /// With the lock: lets the thread look again, unless it will.
  void change() noexcept {
    // (HK3): relaxed alone: with the lock.
    if (has_changed_.load(std::memory_order_relaxed) != 0) return;
    // (HK4): relaxed alone: with the lock; see (HK2).
    has_changed_.store(1, std::memory_order_relaxed);
    if (nudge_.call != nullptr) return nudge_.call(nudge_.callback);
    changes_.wake_all();
  }

  const Source& of_;
  basic_hook_list<Platform> hooks_;
  park_lock<Platform> lock_;
  // The lock protects what follows. has_changed_ is also looked at without it.
  lock_condition<Platform> changes_;
  std::uint64_t awaited_ = no_waiter;  // the least target minus 1 for which the thread waits
  typename Platform::template atomic<std::uint32_t> has_changed_{0};
  // A hook was removed, for which the thread may wait.
  typename Platform::template atomic<std::uint32_t> is_outdated_{0};
  nudge nudge_{};
  bool is_closing_ = false;
};

/// A hook_waiter with its thread.
template <class Source>
class hook_thread {
 public:
  /// Returns null if the system gives no memory or no thread.
  static std::unique_ptr<hook_thread> start(const Source& of) noexcept {
    const errno_keeper kept;
    std::unique_ptr<hook_thread> made{::new (std::nothrow) hook_thread{of}};
    if (made != nullptr && !made->start()) made.reset();
    return made;
  }
  hook_thread(const hook_thread&) = delete;
  hook_thread& operator=(const hook_thread&) = delete;
  ~hook_thread() {
    if (!is_started_) return;
    TIDEMARK_ASSERT(!thread_.is_current(), "a followed_fence was destroyed by a hook of its own");
    hooks_.close();
    thread_.join();
  }

  auto& hooks() noexcept { return hooks_; }

 private:
  explicit hook_thread(const Source& of) noexcept : hooks_{of} {}

  bool start() noexcept {
    const auto run = [](void* self) -> void* {
      static_cast<hook_thread*>(self)->hooks_.run();
      return nullptr;
    };
    is_started_ = thread_.start(run, this) == 0;
    return is_started_;
  }

  hook_waiter<native_platform, Source> hooks_;
  quiet_thread thread_;
  bool is_started_ = false;
};

}  // namespace detail

/// A fence that processes share, as a hooked timeline. It has the wait functions of `waitable` (wait.hpp). It is not
/// copied; the attachment must outlive it, and must not be moved.
///
/// All waits for it must have ended when it is destroyed (asserted), and no hook may destroy it (asserted). Any thread
/// may call its functions. Those that look take a lock once the fence is lost, and no other one; add_hook() and
/// remove_hook() take one. None is held while a hook is called, but for that of the hook_list.
///
/// fork(). The child must not use it, as it must not use the attachment, but may destroy it. That leaves some memory
/// behind. add_hook() and remove_hook() assert it; to look is a segmentation fault, as for the attachment.
template <class Fence>
class followed_fence : public waitable<followed_fence<Fence>> {
 public:
  using platform = native_platform;

  /// The attachment may be opened later.
  explicit followed_fence(const Fence& of) noexcept : latched_{of}, process_{detail::shared_process::join()} {}
  /// An attachment without a name would be gone.
  explicit followed_fence(const Fence&& gone) = delete;
  followed_fence(const followed_fence&) = delete;
  followed_fence& operator=(const followed_fence&) = delete;
  /// Ends the thread. Blocks until a call of a hook that is under way has returned.
  ~followed_fence() {
    // There is no such thread in the child of a fork.
    if (is_inherited()) static_cast<void>(thread_.release());
  }

  /// Returns the fence's current_value(); UINT64_MAX once it was found lost. Progress: wait-free, four loads and a read
  /// of the clock, except that at most once in each interval of 50 ms the call looks whether the fence is lost.
  std::uint64_t current_value() const noexcept { return is_poisoned() ? UINT64_MAX : last_reached(); }
  /// Returns the value signalled so far. Progress: wait-free, one load.
  std::uint64_t last_reached() const noexcept { return latched_.last_reached(); }
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return current_value() >= target; }
  /// Returns whether the fence was found lost, now or earlier.
  bool is_poisoned() const noexcept {
    if (!latched_.is_poisoned()) return false;
    // Whoever has found it, the thread may still sleep.
    const keeper kept(lock_);
    if (thread_ != nullptr) thread_->hooks().found_lost();
    return true;
  }
  /// Returns null, or signallers_gone once it is_poisoned(). How they have gone, the fence's signallers() may say.
  const loss_reason* loss() const noexcept { return is_poisoned() ? &signallers_gone : nullptr; }

  /// Registers a hook; see hooked_timeline.hpp. Returns null if there is no memory, or no thread. The first call starts
  /// the thread.
  void* add_hook(std::uint64_t target, timeline_hook hook) const noexcept {
    TIDEMARK_ASSERT(!is_inherited(), "the child of a fork must not use a followed_fence of its parent");
    auto* const thread = started();
    return thread == nullptr ? nullptr : thread->hooks().add(target, hook);
  }
  /// Ends the registration; see hooked_timeline.hpp.
  bool remove_hook(void* registration) const noexcept {
    TIDEMARK_ASSERT(!is_inherited(), "the child of a fork must not use a followed_fence of its parent");
    return started()->hooks().remove(registration);
  }

 private:
  friend waitable<followed_fence>;

  using thread_type = detail::hook_thread<latched_fence<Fence>>;
  using keeper = detail::lock_keeper<detail::park_lock<native_platform>>;

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    const wait_status status = detail::wait_on<typename Fence::platform>(latched_, target, until, token);
    // A new signaller may come before the thread looks, so that it would not find the loss itself.
    if (status == wait_status::lost) static_cast<void>(is_poisoned());
    return status;
  }
  bool is_inherited() const noexcept { return process_ != detail::shared_process::this_process(); }
  thread_type* started() const noexcept {
    const keeper kept(lock_);
    if (thread_ == nullptr) thread_ = thread_type::start(latched_);
    return thread_.get();
  }

  const latched_fence<Fence> latched_;
  const std::uint64_t process_;
  mutable detail::park_lock<native_platform> lock_;  // of the pointer alone
  mutable std::unique_ptr<thread_type> thread_;
};
template <class Fence>
followed_fence(const Fence&) -> followed_fence<Fence>;

}  // namespace tidemark

#endif

#endif  // TIDEMARK_FENCE_FOLLOWED_FENCE_HPP
