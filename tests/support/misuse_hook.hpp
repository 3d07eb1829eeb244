// SPDX-License-Identifier: BSL-1.0
//
// A hook for TIDEMARK_ASSERT that prints the text and ends the program; and a function that returns what a misuse in
// a child process reports through it. Include it before any tidemark header, in every source file of a program.
#ifndef TIDEMARK_TESTS_SUPPORT_MISUSE_HOOK_HPP
#define TIDEMARK_TESTS_SUPPORT_MISUSE_HOOK_HPP

#include <unistd.h>

#include <cstring>

namespace testing {

constexpr int misuse_status = 41;

[[noreturn]] inline void on_misuse(const char* text) noexcept {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(misuse_status + 1);
  _exit(misuse_status);
}

}  // namespace testing

#define TIDEMARK_ASSERT(condition, text) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : testing::on_misuse(text))

#include <doctest/doctest.h>

#include <string>

#include "child.hpp"

namespace testing {

/// Returns the text that the hook is called with; empty if it is not called.
template <class Body>
std::string reported_by(const Body& body) {
  const auto end = run_in_child(body);
  CHECK(end.signal == 0);
  CHECK(end.exit_status == (end.errors.empty() ? 0 : misuse_status));
  return end.errors;
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_MISUSE_HOOK_HPP
