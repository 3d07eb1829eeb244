// SPDX-License-Identifier: BSL-1.0
//
// Asks the system about descriptors.
#ifndef TIDEMARK_TESTS_SUPPORT_READABLE_HPP
#define TIDEMARK_TESTS_SUPPORT_READABLE_HPP

#include <poll.h>
#include <sys/epoll.h>

#include <cerrno>

namespace testing {

/// Instead of a number of milliseconds.
constexpr int for_ever = -1;

/// Makes a system call, and makes it again while it is interrupted, as by a debugger that stops the process.
template <class Call>
int uninterrupted(const Call& call) {
  int result = 0;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

/// Returns whether the descriptor is readable now, or within so many milliseconds.
inline bool is_readable(int descriptor, int milliseconds = 0) {
  pollfd asked{descriptor, POLLIN, 0};
  return uninterrupted([&] { return ::poll(&asked, 1, milliseconds); }) == 1;
}

/// Returns whether one of the descriptors in an epoll set is ready within so many milliseconds.
inline bool has_event(int epoll, int milliseconds) {
  epoll_event event{};
  return uninterrupted([&] { return ::epoll_wait(epoll, &event, 1, milliseconds); }) == 1;
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_READABLE_HPP
