// SPDX-License-Identifier: BSL-1.0
//
// Which timelines can be awaited together, and on which platform.
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>

#include <tidemark/fence/awaited.hpp>
#include <tidemark/fence/least_of.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "support/hooked_ticks.hpp"
#include "support/user_timeline.hpp"

using tidemark::awaited;
using tidemark::basic_awaited;

namespace {

template <class Awaited, class Timeline>
constexpr bool takes = std::constructible_from<Awaited, const Timeline&, std::uint64_t>;

static_assert(takes<awaited, tidemark::fence>);
static_assert(takes<awaited, tidemark::progress_fence>);
static_assert(takes<awaited, tidemark::fence_view>);
static_assert(takes<awaited, tidemark::progress_fence_view>);
static_assert(!takes<awaited, testing::user_timeline>);
static_assert(takes<awaited, testing::hooked_ticks>);
static_assert(!takes<awaited, tidemark::timeline_view<testing::user_timeline>>);
static_assert(!takes<awaited, tidemark::timeline_view<tidemark::least_of<tidemark::fence>>>);
static_assert(takes<awaited, tidemark::basic_fence<tidemark::portable_platform>> ==
              std::is_same_v<tidemark::native_platform::parking, tidemark::portable_platform::parking>);
static_assert(takes<basic_awaited<tidemark::portable_platform>, tidemark::basic_fence<tidemark::portable_platform>>);
static_assert(takes<basic_awaited<tidemark::symmetric_platform>, tidemark::fence>);
static_assert(takes<basic_awaited<tidemark::symmetric_platform>, tidemark::progress_fence> ==
              !tidemark::native_platform::asymmetric);

}  // namespace

TEST_CASE("an awaited names its timeline and its target, also as a copy") {
  tidemark::fence first;
  tidemark::fence second;
  awaited one{first, 3};
  const awaited other{second.view(), 1};
  second.signal(1);
  CHECK(tidemark::wait_any_for(std::array{one, other}, std::chrono::seconds{0}) ==
        tidemark::wait_any_result{tidemark::wait_status::reached, 1});
  one = other;
  CHECK(tidemark::wait_all_for({one}, std::chrono::seconds{0}) == tidemark::wait_status::reached);
}
