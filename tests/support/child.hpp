// SPDX-License-Identifier: BSL-1.0
//
// Runs a function in a child process: for operations that end a program, or that a process can't undo.
#ifndef TIDEMARK_TESTS_SUPPORT_CHILD_HPP
#define TIDEMARK_TESTS_SUPPORT_CHILD_HPP

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <string>

namespace testing {

/// How a child process ended, and what it printed.
struct child_end {
  int exit_status = -1;  // -1 if it did not exit by itself
  int signal = 0;        // the signal that killed it
  std::string errors;    // what it wrote to its standard error
};

/// Forks. The child runs `body`, and exits with 0 if it returns. If this process has other threads, `body` must take
/// no lock and print nothing through stdio, because the other threads may have left locks taken.
template <class Body>
child_end run_in_child(const Body& body) {
  std::array<int, 2> pipe_ends{};
  REQUIRE(pipe(pipe_ends.data()) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // instead of doctest's handler
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    body();
    _exit(0);
  }
  close(pipe_ends[1]);
  child_end end;
  std::array<char, 512> buffer{};
  for (ssize_t got = 0; (got = read(pipe_ends[0], buffer.data(), buffer.size())) > 0;) {
    end.errors.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(pipe_ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status)) end.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_CHILD_HPP
