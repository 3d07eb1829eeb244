// SPDX-License-Identifier: BSL-1.0
//
// attachment_ends: a descriptor that becomes readable when an attachment of a shared fence (shared_fence.hpp) has
// ended: it was closed, or its process has died in whatever way. So a loop learns of that at once, where the threads
// that sleep for the fence find it within 50 ms. Linux alone.
//
//   tidemark::attachment_ends ends{frames};
//   auto told = loop.on_readable(ends.descriptor(), [&] {
//     ends.look();
//     if (frames.signallers() == tidemark::shared_signallers::died) restart_the_camera();
//   });
//
// look() also wakes all who sleep for the fence in this process if it is lost now, and lets a followed_fence of this
// attachment find that.
//
// It is told by the kernel when that closes the files of the process, so it needs no number of a process, and no
// connection. It comes for each file of the fence that is closed: also for one that nobody was attached by, such as
// shared_files. So it says that somebody may have ended; who is there, for_each_attachment() and signallers() say. A
// guard that learns of a death (shared_options::has_guard) writes to the file, so that it is told at once.
//
// It tells nothing of attachments that ended before it was made. So ask once, behind that, who is there.
//
// It takes three descriptors: an inotify instance, of which a user of the system has 128 by default, a timer and an
// epoll.
#ifndef TIDEMARK_FENCE_ATTACHMENT_ENDS_HPP
#define TIDEMARK_FENCE_ATTACHMENT_ENDS_HPP

#include "shared_fence.hpp"

#if defined(__linux__) && TIDEMARK_HAS_FUTEX

#include <array>
#include <cerrno>
#include <cstdint>

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "../platform/platform.hpp"
#include "detail/shared_files.hpp"

namespace tidemark {

/// The descriptor of the ends of attachments; see the head of this file. The attachment must outlive it, and must not
/// be moved. It can't be moved either. After a fork the child must not use it, but may destroy it.
/// \tparam Fence  an attachment. A reader that can't open the waiters' file is refused: EBADF
template <class Fence>
class attachment_ends {
 public:
  /// Begins to watch. error() says whether the system has refused that. Progress: makes system calls.
  explicit attachment_ends(Fence& of) noexcept : of_{of} {
    const detail::errno_keeper kept;
    files_ = descriptor_type{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    again_ = descriptor_type{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
    both_ = descriptor_type{::epoll_create1(EPOLL_CLOEXEC)};
    if (!files_ || !again_ || !both_ || !watch() || !add(files_) || !add(again_)) {
      error_ = detail::thread_errno();
      both_.reset();
    }
  }
  attachment_ends(const attachment_ends&) = delete;
  attachment_ends& operator=(const attachment_ends&) = delete;

  /// Returns the descriptor: readable when somebody may have ended, until look() is called, and then a few times more
  /// within the next 0.2 s. -1 if there is an error(). Progress: wait-free. Any thread may call it.
  int descriptor() const noexcept { return both_ ? both_.get() : -1; }
  /// Returns 0, or the reason why nobody will be told, as in errno: EMFILE where the user has too many inotify
  /// instances. Progress: wait-free. Any thread may call it.
  int error() const noexcept { return error_; }

  /// Makes the descriptor unreadable, and then does what look() of the fence does: it cleans up behind the dead, and
  /// wakes those who sleep for the fence in this process and are due, or learn that it is lost. Does nothing if there
  /// is an error(). Any thread may call it.
  void look() noexcept {
    const detail::errno_keeper kept;
    if (error_ != 0) return;
    alignas(inotify_event) std::array<char, 1024> events;
    bool is_told = false;
    // Bounded: others may close files all the time. The descriptor stays readable then.
    for (int reads = 0; reads < 64 && read_from(files_, events); ++reads) is_told = true;
    std::array<char, sizeof(std::uint64_t)> count;
    const bool is_time = read_from(again_, count);
    if (is_told) {
      look_again(first_pause);
    } else if (is_time) {
      look_again(next_pause());
    }
    of_.look();
  }

 private:
  using descriptor_type = detail::file_descriptor;

  bool watch() const noexcept {
    const int file = detail::shared_access::waiters_file(of_);
    if (file < 0) detail::thread_errno() = EBADF;
    constexpr std::uint32_t news = IN_CLOSE_WRITE | IN_MODIFY;
    return file >= 0 && ::inotify_add_watch(files_.get(), detail::descriptor_path{file}.text(), news) >= 0;
  }
  bool add(const descriptor_type& added) const noexcept {
    epoll_event event{};
    event.events = EPOLLIN;
    return ::epoll_ctl(both_.get(), EPOLL_CTL_ADD, added.get(), &event) == 0;
  }
  // The kernel tells of a close a moment before it gives up the lock of the file. A process that is not run in between
  // may make that moment long. So the descriptor becomes readable again, after pauses that grow.
  static constexpr long first_pause = 2'000'000;  // ns
  static constexpr long last_pause = 64'000'000;

  /// The timer's interval is the pause behind the next one.
  void look_again(long pause) const noexcept {
    const itimerspec next = pause <= last_pause ? itimerspec{{0, 2 * pause}, {0, pause}} : itimerspec{};
    static_cast<void>(::timerfd_settime(again_.get(), 0, &next, nullptr));
  }
  long next_pause() const noexcept {
    itimerspec set{};
    static_cast<void>(::timerfd_gettime(again_.get(), &set));
    return set.it_interval.tv_nsec != 0 ? set.it_interval.tv_nsec : last_pause + 1;
  }

  template <class Buffer>
  static bool read_from(const descriptor_type& from, Buffer& buffer) noexcept {
    const detail::cancellation_delay delayed;
    return ::read(from.get(), buffer.data(), buffer.size()) > 0;
  }

  Fence& of_;
  descriptor_type files_;  // the inotify instance
  descriptor_type again_;  // the timer
  descriptor_type both_;   // the epoll
  int error_ = 0;
};
template <class Fence>
attachment_ends(Fence&) -> attachment_ends<Fence>;

}  // namespace tidemark

#endif

#endif  // TIDEMARK_FENCE_ATTACHMENT_ENDS_HPP
