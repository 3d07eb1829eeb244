// SPDX-License-Identifier: BSL-1.0
//
// The word on which the threads of a loop sleep: how many they may be, and a count of changes that wraps around.
#include "support/misuse_hook.hpp"

#include <tidemark/loop/detail/loop_word.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include <tidemark/loop/tools/loop_operation.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include "support/watchdog.hpp"

using namespace testing;
using tidemark::run_status;

TEST_CASE("any number of threads may sleep on the word of a loop") {
  // The old limit, and all threads that Linux lets a system have.
  constexpr std::uint32_t threads = std::uint32_t{1} << 22;
  tidemark::detail::loop_word<tidemark::native_platform> word;
  CHECK(!word.count());
  for (std::uint32_t i = 0; i < threads; ++i) static_cast<void>(word.begin_sleep());
  CHECK(word.count());
  for (std::uint32_t i = 1; i < threads; ++i) word.end_sleep();
  CHECK(word.count());
  word.end_sleep();
  CHECK(!word.count());
}

namespace {

/// A platform that does something between the last look of a thread that runs a loop and its sleep.
struct in_between : tidemark::native_platform {
  static inline void (*act)() = nullptr;
  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) noexcept {
    if (act != nullptr) act();
    return tidemark::native_platform::park(word, expected, until);
  }
};
using loop_type = tidemark::basic_wait_loop<in_between>;
loop_type* posted_to = nullptr;
std::uint32_t changes = 0;
bool has_run = false;

}  // namespace

TEST_CASE("[A37] a count of changes that wraps around between a look and a sleep hides no post") {
  const watchdog dog{[] { return "a loop that has slept through " + std::to_string(changes) + " changes"; }};
  // As wide as the count was once, and as wide as it is; without those that would take minutes.
  for (const std::uint32_t width : {1U, 8U, 16U, 20U, 24U}) {
    tidemark::basic_progress_fence<in_between> fence;
    loop_type loop;
    posted_to = &loop;
    changes = std::uint32_t{1} << width;
    has_run = false;
    auto waits = loop.on_reached(fence, 1, [] {});
    in_between::act = [] {
      in_between::act = nullptr;
      posted_to->post([] { has_run = true; });
      auto& core = tidemark::detail::loop_access::core_of(*posted_to);
      for (std::uint32_t i = 1; i < changes; ++i) core.nudge();
    };
    CHECK(loop.run_one() == run_status::ran);
    CHECK(has_run);
  }
}
