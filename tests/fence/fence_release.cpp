// SPDX-License-Identifier: BSL-1.0
//
// Misuse of 32-bit serials and of fences that are set back, where assertions do nothing, as with NDEBUG.
#define TIDEMARK_ASSERT(condition, text) static_cast<void>(0)

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <thread>

#include <tidemark/fence/fence32.hpp>
#include <tidemark/fence/rewindable_fence.hpp>

#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::wait_status;

TEST_CASE("[A121] a serial that is half of the range away counts as behind") {
  constexpr std::uint32_t half = std::uint32_t{1} << 31;
  tidemark::fence32 fence{half + 7};
  CHECK(fence.extended(7) == 7);
  CHECK(fence.is_reached(7));
  CHECK(fence.wait(7) == wait_status::reached);
  CHECK_FALSE(fence.signal(7));
  CHECK(fence.current_value() == half + 7);
  CHECK(tidemark::fence32{3}.extended(half + 3) == 0);
}

TEST_CASE("[trap 14] a lower value that is signalled sets the value back") {
  tidemark::rewindable_fence fence{8};
  fence.signal(3);
  CHECK(fence.last_value() == 3);
  CHECK(fence.wait_for(4, 0s) == wait_status::timeout);
}

TEST_CASE("[trap 14] a higher value to which a fence is set back is signalled") {
  using platform = counting_platform<tidemark::symmetric_platform>;
  tidemark::basic_rewindable_fence<platform> fence{3};
  const watchdog dog{[] { return "a wait for a rewindable fence hangs"; }};
  waiter waiting{[&] { return fence.wait(5); }};
  CHECK(waiting.falls_asleep());
  fence.rewind(8);
  CHECK(waiting.status() == wait_status::reached);
  CHECK(fence.last_value() == 8);
}
