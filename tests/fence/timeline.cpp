// SPDX-License-Identifier: BSL-1.0
//
// Timelines: fences, views, and a program's own types that have a rising value and can be waited for.
#include "support/manual_stop.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"
#include "support/watchdog.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <concepts>
#include <cstdint>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/timeline.hpp>

using namespace std::chrono_literals;
using namespace testing;

using tidemark::wait_status;

namespace {

struct without_waits {
  std::uint64_t current_value() const { return 0; }
};
struct of_32_bits {
  std::uint32_t current_value() const { return 0; }
  wait_status wait_until(std::uint64_t, tidemark::deadline) const { return wait_status::timeout; }
};

static_assert(tidemark::timeline<tidemark::fence>);
static_assert(tidemark::timeline<tidemark::progress_fence>);
static_assert(tidemark::timeline<tidemark::fence_view>);
static_assert(tidemark::timeline<tidemark::progress_fence_view>);
static_assert(tidemark::timeline<user_timeline>);
static_assert(tidemark::timeline<tidemark::timeline_view<user_timeline>>);
static_assert(!tidemark::timeline<without_waits>);
static_assert(!tidemark::timeline<of_32_bits>);
static_assert(!tidemark::timeline<int>);

static_assert(tidemark::signalled_timeline<tidemark::fence>);
static_assert(tidemark::signalled_timeline<user_timeline>);
static_assert(!tidemark::signalled_timeline<tidemark::fence_view>, "a view can't signal [A10]");

static_assert(std::same_as<tidemark::timeline_platform<tidemark::fence>, tidemark::symmetric_platform>);
static_assert(std::same_as<tidemark::timeline_platform<user_timeline>, tidemark::native_platform>);

}  // namespace

TEST_CASE("[A10] a view of a program's own timeline looks and waits with every kind of limit") {
  user_timeline mine;
  const tidemark::timeline_view view{mine};
  CHECK(view.current_value() == 0);
  CHECK(view.wait(0) == wait_status::reached);
  CHECK(view.wait_for(1, 0s) == wait_status::timeout);
  CHECK(view.wait_until(1, std::chrono::steady_clock::now() + 1ms) == wait_status::timeout);
  CHECK(view.wait_until(1, std::chrono::system_clock::now() + 1ms) == wait_status::timeout);

  manual_stop stop;
  const watchdog alive{[] { return "a wait for a program's own timeline hangs"; }};
  waiter until_stopped{[&] { return view.wait(1, stop.get_token()); }};
  waiter until_signalled{[&] { return view.wait(2); }};
  stop.request();
  CHECK(until_stopped.status() == wait_status::stopped);
  mine.signal(2);
  CHECK(until_signalled.status() == wait_status::reached);
  CHECK(view.is_reached(2));
  CHECK(view.wait(2, stop.get_token()) == wait_status::reached);
}

TEST_CASE("a stopped wait for a program's own timeline ends before its deadline") {
  const user_timeline mine;
  const tidemark::timeline_view view{mine};
  manual_stop stop;
  stop.request();
  CHECK(view.wait_for(1, 24h, stop.get_token()) == wait_status::stopped);
  CHECK(view.wait_until(1, tidemark::no_deadline, stop.get_token()) == wait_status::stopped);
}
