// SPDX-License-Identifier: BSL-1.0
//
// reached_descriptor: a descriptor that becomes readable when a timeline has reached a value. So a poll(), an epoll, an
// io_uring or the event loop of another library waits for a fence beside its sockets, without a wait_loop. Linux only.
//
//   tidemark::reached_descriptor drawn{frames, 3};
//   pollfd asked[]{{drawn.descriptor(), POLLIN, 0}, {socket, POLLIN, 0}};
//   ::poll(asked, 2, -1);
//   if (drawn.status() == wait_status::reached) ...
//
// It is an eventfd for one value of one timeline. Who releases the registration writes to it: the signal that reaches
// the value, the poison, or the pass of a hub. The write is one system call that does not block; a signal that does not
// reach the value makes none. The fence needs no callables for that. If the value was reached before, the descriptor is
// readable from the start.
//
// It becomes readable when the timeline is lost, too. status() tells the difference.
//
// The descriptor stays readable for as long as nobody reads from it, so any number may wait for it. It belongs to this
// object, which closes it; a dup() of it may live longer. A descriptor of your own works as well: with an eventfd as
// the third argument, this object adds 1 to that, and neither makes nor closes one. Several values, also of several
// timelines, may then add to one eventfd, which counts how many of them are over.
//
// Each takes a slot of the fence. For many values, a loop has one descriptor for all of them (wait_loop.hpp).
//
// Lifetime: the timeline must outlive this object, and an eventfd of yours must stay open that long. After a fork, the
// child must not use it, but may poll a descriptor that it has inherited.
#ifndef TIDEMARK_LOOP_REACHED_DESCRIPTOR_HPP
#define TIDEMARK_LOOP_REACHED_DESCRIPTOR_HPP

#if defined(__linux__)

#include <cerrno>
#include <concepts>
#include <cstdint>
#include <optional>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../fence/awaited.hpp"
#include "../fence/timeline.hpp"
#include "../fence/tools/waker.hpp"
#include "../fence/wait.hpp"
#include "../fence/waiter_heap.hpp"
#include "../platform/platform.hpp"

namespace tidemark {

namespace detail {

/// Whether a timeline can only be looked at, so that nobody would write to a descriptor.
template <class T>
inline constexpr bool is_only_looked_at = is_looked_at<T>;
template <class T>
inline constexpr bool is_only_looked_at<timeline_view<T>> = is_only_looked_at<T>;

}  // namespace detail

/// A descriptor for one value of a timeline; see the head of this file. It can't be moved.
/// \tparam Platform  as for basic_awaited
template <platform Platform>
class basic_reached_descriptor : private detail::waker {
 public:
  using platform = Platform;

  /// Makes an eventfd and registers it. error() says whether that was refused. Allocates nothing, unless the fence has
  /// no free slot and may grow. Any thread may call it. Progress: registers as a thread does, with a heavy barrier, and
  /// makes system calls.
  explicit basic_reached_descriptor(const basic_awaited<Platform>& on) noexcept
      : basic_reached_descriptor(on, ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), true) {}
  /// \param on  a timeline of the list in fence/awaited.hpp, but no looked_at, of whose value nobody tells. It must
  ///            outlive this object
  template <class Timeline>
    requires(std::constructible_from<basic_awaited<Platform>, const Timeline&, std::uint64_t> &&
             !detail::is_only_looked_at<Timeline>)
  basic_reached_descriptor(const Timeline& on, std::uint64_t target) noexcept
      : basic_reached_descriptor(basic_awaited<Platform>(on, target)) {}
  /// Registers an eventfd of the program, to which 1 is added.
  /// \param event  must be open until this object is destroyed; error() is EBADF if it is not now. It should not block
  ///               (EFD_NONBLOCK): otherwise a signaller blocks while it is full
  basic_reached_descriptor(const basic_awaited<Platform>& on, int event) noexcept
      : basic_reached_descriptor(on, event, false) {}
  template <class Timeline>
    requires(std::constructible_from<basic_awaited<Platform>, const Timeline&, std::uint64_t> &&
             !detail::is_only_looked_at<Timeline>)
  basic_reached_descriptor(const Timeline& on, std::uint64_t target, int event) noexcept
      : basic_reached_descriptor(basic_awaited<Platform>(on, target), event) {}
  /// What can't be copied would be gone before the value is reached.
  template <detail::needs_name Timeline>
  basic_reached_descriptor(const Timeline&& gone, std::uint64_t target) = delete;
  template <detail::needs_name Timeline>
  basic_reached_descriptor(const Timeline&& gone, std::uint64_t target, int event) = delete;

  basic_reached_descriptor(const basic_reached_descriptor&) = delete;
  basic_reached_descriptor& operator=(const basic_reached_descriptor&) = delete;
  /// Ends the registration, and closes the eventfd that it has made. Blocks while a signaller writes to it.
  ~basic_reached_descriptor() {
    if (ticket_) target().withdraw(*ticket_);
    const detail::cancellation_delay delayed;
    if (is_own_ && event_ >= 0) ::close(event_);
  }

  /// Returns the descriptor: readable once the value is reached or the timeline is lost. -1 if the system has refused
  /// an eventfd. Progress: wait-free. Any thread may call it.
  int descriptor() const noexcept { return event_; }

  /// Returns 0; or the reason why nobody will write to the descriptor, as in errno: EMFILE or another one of
  /// eventfd(2); EBADF if an eventfd of yours was not open when this object was made; ENOSPC if the timeline can't
  /// register: a full fence that must not grow, no memory, a null of add_hook(), or an awaited of a looked_at; ENOTSUP
  /// if the system refuses the heavy barrier. The value may be reached nevertheless: look at status() from time to time
  /// then. Progress: wait-free. Any thread may call it.
  int error() const noexcept { return error_; }

  /// Looks at the timeline. Returns `reached` or `lost`, or `timeout` if the value is neither reached nor lost. What
  /// was done before the signal happens-before a return with `reached`. Progress: wait-free. Any thread may call it.
  wait_status status() const noexcept {
    const detail::fence_state now = target().look();
    if (now.has_reached(target().target)) return wait_status::reached;
    return now.is_poisoned ? wait_status::lost : wait_status::timeout;
  }

 private:
  basic_reached_descriptor(const basic_awaited<Platform>& on, int event, bool is_own) noexcept
      : waker{&on_release}, on_{on}, event_{event}, is_own_{is_own} {
    if (event_ < 0) {
      error_ = is_own ? detail::thread_errno() : EBADF;
    } else if (!is_own && ::fcntl(event_, F_GETFD) < 0) {
      error_ = EBADF;
    } else if (target().is_over()) {
      write();
    } else {
      begin();
    }
  }

  const auto& target() const noexcept { return detail::awaited_access::target_of(on_); }

  void begin() noexcept {
    ticket_ = target().add(this);
    const bool is_in_lane = ticket_->is_in_lane();
    // (Y32): w2, as (F21) for a thread: between (H2) (H8) and (F3), against (F22) or (F4).
    const bool is_ordered =
        !target().operations->is_asymmetric || Platform::heavy_barrier() || !target().needs_barrier();
    const bool is_reached = target().is_over();
    // The lane would not call the waker.
    if (!is_reached && is_ordered && !is_in_lane) return;
    // Otherwise a signaller has written, and is done with this object.
    const bool is_unwritten = target().withdraw(*ticket_) || is_in_lane;
    ticket_.reset();
    if (!is_unwritten) return;
    if (is_reached) return write();
    error_ = is_in_lane ? ENOSPC : ENOTSUP;
  }

  static bool on_release(detail::waker& self, detail::release_reason) noexcept {
    static_cast<basic_reached_descriptor&>(self).write();
    return false;
  }
  void write() const noexcept {
    const detail::cancellation_delay delayed;
    const detail::errno_keeper kept;
    const std::uint64_t one = 1;
    // It fails where the count is full: the descriptor is readable then.
    [[maybe_unused]] const auto put = ::write(event_, &one, sizeof one);
  }

  basic_awaited<Platform> on_;
  int event_;
  bool is_own_;
  int error_ = 0;
  std::optional<waiter_ticket> ticket_;
};

/// For fences of all kinds.
using reached_descriptor = basic_reached_descriptor<native_platform>;

}  // namespace tidemark

#endif

#endif  // TIDEMARK_LOOP_REACHED_DESCRIPTOR_HPP
