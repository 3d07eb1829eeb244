// SPDX-License-Identifier: BSL-1.0
//
// Misuse of fences leaves a timeline that does not fall, where the hook of TIDEMARK_ASSERT returns: here it notes the
// text.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/link.hpp>
#include <tidemark/fence/rewindable_fence.hpp>
#include <tidemark/fence/signaller.hpp>
#include <tidemark/fence/signaller_awaiter.hpp>
#include <tidemark/platform/platform.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "support/coroutine.hpp"

using namespace testing;

namespace {

using portable_fence = tidemark::basic_fence<tidemark::portable_platform>;
using portable_progress_fence = tidemark::basic_progress_fence<tidemark::portable_platform>;

}  // namespace

TYPE_TO_STRING_AS("fence/native", tidemark::fence);
TYPE_TO_STRING_AS("fence/portable", portable_fence);
TYPE_TO_STRING_AS("progress_fence/native", tidemark::progress_fence);
TYPE_TO_STRING_AS("progress_fence/portable", portable_progress_fence);

TEST_CASE_TEMPLATE("[A3] a fence that is signalled beyond the last value stays at the last value", Fence,
                   tidemark::fence, tidemark::progress_fence, portable_fence, portable_progress_fence) {
  Fence fence{UINT64_MAX - 1};
  CHECK(fence.signal_next() == UINT64_MAX);
  CHECK(take_said().empty());
  for (int i = 0; i < 3; ++i) {
    CHECK(fence.signal_next() == UINT64_MAX);
    CHECK(take_said() == texts{"signal_next() beyond the last value of a timeline"});
    CHECK(fence.current_value() == UINT64_MAX);
    CHECK(fence.is_reached(UINT64_MAX));
  }
}

TEST_CASE("[A3] a rewindable fence stays at the last value, too, and can be set back") {
  tidemark::rewindable_fence fence{UINT64_MAX};
  for (int i = 0; i < 2; ++i) {
    CHECK(fence.signal_next() == UINT64_MAX);
    CHECK(take_said() == texts{"signal_next() beyond the greatest value of a fence"});
  }
  fence.rewind(3);
  CHECK(fence.signal_next() == 4);
  CHECK(take_said().empty());
}

TEST_CASE("a second coroutine that awaits what another one awaits goes on at once, and leaves the first one alone") {
  using tidemark::wait_status;
  tidemark::callback_fence fence;
  auto one = tidemark::reached_in_signaller(fence, 1);
  std::vector<wait_status> first;
  std::vector<wait_status> second;
  const auto await = [](auto& those, std::vector<wait_status>& ended) -> coroutine { ended.push_back(co_await those); };
  const coroutine waiting = await(one, first);
  CHECK(take_said().empty());
  const coroutine refused = await(one, second);
  CHECK(take_said() == texts{"an awaitable of a fence was awaited by two coroutines at once"});
  CHECK(second == std::vector{wait_status::timeout});
  CHECK(first.empty());
  fence.signal(1);
  CHECK(first == std::vector{wait_status::reached});
  CHECK(second.size() == 1);
  // Now it is free again.
  const coroutine later = await(one, second);
  CHECK(second == std::vector{wait_status::timeout, wait_status::reached});
  CHECK(take_said().empty());
}

TEST_CASE("where a fence refuses a coroutine's registration, what it has awaited may be awaited again") {
  constexpr tidemark::fence_options one_slot{
      .capacity = 1, .growth = tidemark::heap_growth::forbidden, .callbacks = true};
  tidemark::basic_fence<tidemark::symmetric_platform, one_slot> fence;
  const auto takes_the_slot = tidemark::call_in_signaller(fence, 1, [] {});
  auto one = tidemark::reached_in_signaller(fence, 1);
  std::vector<tidemark::wait_status> ended;
  const auto await = [&](auto& those) -> coroutine { ended.push_back(co_await those); };
  const coroutine first = await(one);
  const coroutine second = await(one);
  CHECK(ended == std::vector{tidemark::wait_status::timeout, tidemark::wait_status::timeout});
  CHECK(take_said().empty());
}

TEST_CASE("a link of a signaller that holds nothing is refused, and does nothing") {
  using tidemark::callback_state;
  tidemark::callback_fence from;
  tidemark::fence to;
  for (int i = 0; i < 2; ++i) {
    tidemark::signaller signals{to};
    signals.release();
    // The second time, the value is reached from the start.
    auto linked = tidemark::link(from, 1, std::move(signals), 1);
    CHECK(take_said() == texts{"link() was given a signaller that holds no fence"});
    CHECK(linked.state() == callback_state::refused);
    from.signal(1);
    CHECK(linked.state() == callback_state::refused);
    CHECK(linked.cancel() == callback_state::refused);
  }
  CHECK(to.current_value() == 0);
  CHECK_FALSE(to.is_poisoned());
  CHECK(take_said().empty());
}
