// SPDX-License-Identifier: BSL-1.0
//
// descriptor_watch: a callable that a loop runs whenever a descriptor of the program's is ready. So one loop waits for
// fences and for sockets, pipes and timers in a single sleep. Linux only.
//
//   auto received = loop.on_readable(socket, [&] { read_from(socket); });
//
// One of the threads that run the loop sleeps in the system's wait for descriptors, and the others sleep as they do
// without a watch. While the loop is busy, it looks at the descriptors whenever it has run all that was ready. A loop
// without watches makes no system call for any of this.
#ifndef TIDEMARK_LOOP_DESCRIPTOR_WATCH_HPP
#define TIDEMARK_LOOP_DESCRIPTOR_WATCH_HPP

#if defined(__linux__)

#include <cerrno>
#include <concepts>
#include <cstdint>
#include <utility>

#include <sys/epoll.h>

#include "../platform/platform.hpp"
#include "../platform/tools/user_call.hpp"
#include "detail/loop_descriptor.hpp"
#include "tools/loop_operation.hpp"

namespace tidemark {

/// What a descriptor is watched for. Errors and a hang-up of the other end count, too.
enum class descriptor_readiness : std::uint8_t { readable, writable };

/// A callable that a loop runs whenever a descriptor is ready, until the watch is destroyed. It runs again as long as
/// the descriptor is ready when it returns: it should read, or write, what it can. Two threads never run it at the same
/// time. Can't be moved. The loop must outlive it.
/// \tparam Loop      the type of the loop
/// \tparam Callable  takes nothing
template <class Loop, std::invocable Callable>
class descriptor_watch : private detail::loop_work<typename Loop::platform>, private detail::watched_descriptor {
  using work = detail::loop_work<typename Loop::platform>;
  using keeper = typename work::keeper;

 public:
  /// Begins to watch. error() says whether the system has refused that. Any thread may call it. Progress: takes the
  /// loop's lock and makes system calls.
  /// \param watched  must stay open until the watch is destroyed. A file can't be watched, and neither can a descriptor
  ///                 that this loop watches already
  descriptor_watch(Loop& on, int watched, descriptor_readiness what, Callable callable)
      : work(&act),
        watched_descriptor{watched, what == descriptor_readiness::readable ? EPOLLIN : EPOLLOUT, &on_ready},
        loop_{on},
        callable_(std::move(callable)) {
    if (loop_.descriptor() < 0) {
      error_ = detail::thread_errno();
      return;
    }
    const keeper kept(core().lock());
    error_ = descriptors().watch(*this);
    if (error_ == 0) runner().begin_watch();
  }
  descriptor_watch(const descriptor_watch&) = delete;
  descriptor_watch& operator=(const descriptor_watch&) = delete;
  /// Ends the watch. If the callable runs on another thread, this waits until it has returned. The callable itself may
  /// destroy the watch, and must not use its own captures afterwards.
  ~descriptor_watch() {
    if (error_ != 0 || this->is_forgotten) return;
    {
      keeper kept(core().lock());
      descriptors().unwatch(*this);
      runner().end_watch();
      if (!core().retract(*this)) static_cast<void>(call_.wait_for_end(core(), kept, this->phase));
    }
    if (this->phase == detail::call_phase::running) call_.destroyed();
  }

  /// Returns 0 if the descriptor is watched; otherwise the reason why not, as in errno: for example EPERM for a file,
  /// EEXIST for a descriptor that the loop watches already, or ENOTSUP where an executor runs the loop. Progress:
  /// wait-free. Any thread may call it.
  int error() const noexcept { return error_; }

 private:
  auto& core() const noexcept { return detail::loop_access::core_of(loop_); }
  auto& runner() const noexcept { return detail::loop_access::runner_of(loop_); }
  auto& descriptors() const noexcept { return detail::loop_access::descriptor_of(loop_); }

  static void on_ready(detail::watched_descriptor& ready) {
    auto& self = static_cast<descriptor_watch&>(ready);
    self.core().post(self);
  }
  static void act(work& of, detail::loop_action what, keeper& kept) {
    auto& self = static_cast<descriptor_watch&>(of);
    if (what == detail::loop_action::drop) return;
    self.call_(self.core(), kept, self.callable_, [&] {
      self.core().has_run(self);
      self.descriptors().rearm(self);
    });
  }

  Loop& loop_;
  Callable callable_;
  detail::user_call<typename Loop::platform> call_;
  int error_ = 0;
};

}  // namespace tidemark

#endif

#endif  // TIDEMARK_LOOP_DESCRIPTOR_WATCH_HPP
