// SPDX-License-Identifier: BSL-1.0
//
// Misuse is reported through TIDEMARK_ASSERT, and a program may put its own hook there. This one's prints the text and
// ends the program; each misuse is made in a child process.
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

#include <array>
#include <cstdint>
#include <string>

#include <tidemark/tidemark.hpp>

#include "support/child.hpp"

using namespace testing;

namespace {

/// What the hook is told, or nothing if it is not called.
template <class Body>
std::string reported_by(const Body& body) {
  const auto end = run_in_child(body);
  CHECK(end.signal == 0);
  CHECK(end.exit_status == (end.errors.empty() ? 0 : misuse_status));
  return end.errors;
}

constexpr tidemark::fence_options on_callers_storage{.storage = tidemark::value_storage::caller};
using placed_fence = tidemark::basic_fence<tidemark::symmetric_platform, on_callers_storage>;

}  // namespace

TEST_CASE("signalling a progress fence backwards is reported") {
  CHECK(reported_by([] {
          tidemark::progress_fence fence{7};
          fence.signal(6);
        }) == "a progress fence was signalled backwards");
}

TEST_CASE("[trap 34] advancing a timeline beyond its last value is reported, for both kinds of fence") {
  const std::string expected = "signal_next() beyond the last value of a timeline";
  CHECK(reported_by([] {
          tidemark::fence fence{UINT64_MAX};
          fence.signal_next();
        }) == expected);
  CHECK(reported_by([] {
          tidemark::progress_fence fence{UINT64_MAX};
          fence.signal_next();
        }) == expected);
}

TEST_CASE("[trap 3] adding a waiter for 0 to a heap is reported") {
  CHECK(reported_by([] {
          tidemark::waiter_heap<4> heap;
          static_cast<void>(heap.add(0));
        }) == "every timeline has reached 0: nobody can wait for it");
}

TEST_CASE("[A8] storage that is missing or not aligned is reported") {
  alignas(8) static std::array<unsigned char, 16> storage{};
  const std::string expected = "a fence's value needs 8 bytes aligned to 8";
  CHECK(reported_by([] { placed_fence{storage.data() + 4}; }) == expected);
  CHECK(reported_by([] { placed_fence{nullptr}; }) == expected);
}

TEST_CASE("proper use is not reported") {
  CHECK(reported_by([] {
          tidemark::progress_fence progress{UINT64_MAX - 1};
          progress.signal(UINT64_MAX - 1);  // the same value again is no step back
          progress.signal_next();
          tidemark::fence fence{7};
          fence.signal(6);  // too late, and legal
          tidemark::waiter_heap<4> heap;
          heap.withdraw(heap.add(1));
          alignas(8) std::array<unsigned char, 8> storage{};
          placed_fence{storage.data()};
          static_cast<void>(fence.wait_for(0, std::chrono::hours{1}));
        }) == "");
}
