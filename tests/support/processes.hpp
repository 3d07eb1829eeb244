// SPDX-License-Identifier: BSL-1.0
//
// Child processes that use what they share with the test: they run a function, are asked whether they have ended, and
// are killed.
#ifndef TIDEMARK_TESTS_SUPPORT_PROCESSES_HPP
#define TIDEMARK_TESTS_SUPPORT_PROCESSES_HPP

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <utility>

namespace testing {

/// A child that runs `body`, which returns its exit status. It must print nothing through stdio.
class child_process {
 public:
  template <class Body>
  explicit child_process(const Body& body) {
    std::fflush(nullptr);
    number_ = fork();
    REQUIRE(number_ >= 0);
    if (number_ != 0) return;
    std::signal(SIGABRT, SIG_DFL);
    alarm(120);  // the child's watchdog
    _exit(body());
  }
  child_process(child_process&& from) noexcept : number_{std::exchange(from.number_, 0)} {}
  child_process& operator=(child_process&&) = delete;
  ~child_process() {
    if (number_ > 0) kill_now();
  }

  pid_t number() const { return number_; }

  /// Waits for its end. Returns its exit status, or 128 and the signal that has killed it.
  int wait() {
    int status = 0;
    REQUIRE(waitpid(std::exchange(number_, 0), &status, 0) >= 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  /// Kills it. The kernel has closed its files when this returns.
  void kill_now() {
    ::kill(number_, SIGKILL);
    static_cast<void>(wait());
  }

 private:
  pid_t number_ = 0;
};

/// For a child: lives until it is killed.
[[noreturn]] inline int stay() {
  for (;;) pause();
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_PROCESSES_HPP
