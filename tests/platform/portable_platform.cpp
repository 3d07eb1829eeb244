// SPDX-License-Identifier: BSL-1.0
//
// The platform of the standard library alone, in its header of its own: what it is made of, and that its parts work
// beside those of the other platforms in one program. platform.cpp tests what all platforms must do.
#include <doctest/doctest.h>

#include <concepts>
#include <cstdint>

#include <tidemark/fence/fence.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::portable_platform;
using tidemark::wait_status;

TEST_CASE("the portable platform is symmetric, and made of locks") {
  static_assert(tidemark::platform<portable_platform>);
  static_assert(!portable_platform::asymmetric);
  static_assert(!portable_platform::double_word::is_always_lock_free);
  static_assert(!portable_platform::is_async_signal_safe);
  CHECK(portable_platform::heavy_barrier_available());
  CHECK(portable_platform::heavy_barrier());
}

TEST_CASE("a native platform without futexes parks as the portable one does, and otherwise it does not") {
  constexpr bool has_futexes = TIDEMARK_HAS_FUTEX == 1;
  CHECK(std::same_as<tidemark::native_platform::parking, portable_platform::parking> == !has_futexes);
  CHECK(std::same_as<tidemark::native_platform::double_word, portable_platform::double_word> !=
        tidemark::native_platform::double_word::is_always_lock_free);
}

TEST_CASE("[A2] threads wait for a fence of the portable platform and for one of the native platform in turn") {
  const watchdog dog{[] { return "a hand-over between two platforms"; }};
  tidemark::basic_progress_fence<portable_platform, tidemark::fence_options{.max_spin_ns = 0}> there;
  tidemark::basic_progress_fence<tidemark::native_platform, tidemark::fence_options{.max_spin_ns = 0}> back;
  constexpr std::uint64_t turns = 1'000;
  std::uint64_t payload = 0;
  background other{[&] {
    for (std::uint64_t turn = 1; turn <= turns; ++turn) {
      if (there.wait(turn) != wait_status::reached) return;
      ++payload;
      back.signal(turn);
    }
  }};
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    there.signal(turn);
    REQUIRE(back.wait(turn) == wait_status::reached);
    REQUIRE(payload == turn);
  }
  other.join();
}
