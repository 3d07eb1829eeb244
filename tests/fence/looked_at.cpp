// SPDX-License-Identifier: BSL-1.0
//
// Timelines without hooks, at which waits look by an interval.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/fence_slab.hpp>
#include <tidemark/fence/link.hpp>
#include <tidemark/fence/looked_at.hpp>
#include <tidemark/fence/timeline_group.hpp>
#include <tidemark/fence/wait_many.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include "support/hooked_ticks.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::looked_at;
using tidemark::wait_any_result;
using tidemark::wait_status;

namespace {

/// Notes until when a thread sleeps that has begun to sleep last.
struct platform : counting_platform<tidemark::native_platform> {
  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) noexcept {
    sleeps_until = until;
    return counting_platform::park(word, expected, until);
  }
  static inline std::atomic<tidemark::deadline> sleeps_until{tidemark::deadline{}};
};

using awaited = tidemark::basic_awaited<platform>;
using fence = tidemark::basic_fence<platform>;
using list = std::vector<awaited>;

static_assert(tidemark::timeline<looked_at<user_timeline>>);
static_assert(std::copyable<looked_at<user_timeline>>);
static_assert(!std::constructible_from<tidemark::awaited, const user_timeline&, std::uint64_t>);
static_assert(std::constructible_from<tidemark::awaited, const looked_at<user_timeline>&, std::uint64_t>);
static_assert(std::constructible_from<tidemark::awaited, looked_at<user_timeline>&, std::uint64_t>);
// The wait would keep the address of a temporary.
static_assert(!std::constructible_from<tidemark::awaited, looked_at<user_timeline>, std::uint64_t>);
// Nor do those that keep its address for longer take one that has no name.
template <class Looked>
concept outlives_its_users =
    std::constructible_from<tidemark::timeline_group, Looked> &&
    requires(tidemark::timeline_group& group, tidemark::wait_loop& loop, tidemark::engine_queue& queue,
             tidemark::fence& to, Looked looked, void (*call)()) {
      group.add(static_cast<Looked&&>(looked));
      group.add(static_cast<Looked&&>(looked), 1);
      loop.on_reached(static_cast<Looked&&>(looked), 1, call);
      queue.wait(static_cast<Looked&&>(looked), 1);
      tidemark::link(loop, static_cast<Looked&&>(looked), 1, to, 1);
    };
template <class Looked>
concept outlives_one_of_them =
    std::constructible_from<tidemark::timeline_group, Looked> ||
    requires(tidemark::timeline_group& group, Looked looked) { group.add(static_cast<Looked&&>(looked)); } ||
    requires(tidemark::timeline_group& group, Looked looked) { group.add(static_cast<Looked&&>(looked), 1); } ||
    requires(tidemark::wait_loop& loop, Looked looked, void (*call)()) {
      loop.on_reached(static_cast<Looked&&>(looked), 1, call);
    } || requires(tidemark::engine_queue& queue, Looked looked) { queue.wait(static_cast<Looked&&>(looked), 1); } ||
    requires(tidemark::wait_loop& loop, tidemark::fence& to, Looked looked) {
      tidemark::link(loop, static_cast<Looked&&>(looked), 1, to, 1);
    };
using looked_fence = looked_at<tidemark::fence>;
static_assert(outlives_its_users<looked_fence&> && outlives_its_users<const looked_fence&>);
static_assert(!outlives_one_of_them<looked_fence&&> && !outlives_one_of_them<const looked_fence&&>);
// The same is true of a fence, and of what a slab returns that can't be copied.
using slab_room = tidemark::fence_slab::waiting_room;
static_assert(outlives_its_users<tidemark::fence&> && outlives_its_users<slab_room&>);
static_assert(!outlives_one_of_them<tidemark::fence&&> && !outlives_one_of_them<slab_room&&>);
static_assert(outlives_its_users<tidemark::fence_view>);
// It takes a copy of a view, but would keep the address of what can't be copied.
template <class Timeline>
concept can_be_looked_at =
    std::constructible_from<looked_at<std::remove_cvref_t<Timeline>>, Timeline, std::chrono::seconds>;
using pinned_fence = tidemark::fence_slab::pinned_fence;
static_assert(can_be_looked_at<tidemark::fence_slab::view_type> && can_be_looked_at<const pinned_fence&>);
static_assert(!can_be_looked_at<pinned_fence> && !can_be_looked_at<tidemark::fence>);

}  // namespace

TEST_CASE("[A65] a timeline without hooks is looked at by its interval, and a fence beside it wakes the wait at once") {
  user_timeline mine;
  const looked_at seldom{mine, 24h};
  fence other;
  const meter<platform> during;
  waiter waiting{[&] { return tidemark::wait_any(list{{seldom, 1}, {other, 1}}).status; }};
  CHECK(waiting.falls_asleep());
  CHECK(during.parks() == 1);
  other.signal(1);
  CHECK(waiting.status() == wait_status::reached);
}

TEST_CASE("[A65] a value that nobody notifies of ends the wait when it is looked at") {
  user_timeline mine;
  const looked_at often{mine, 100us};
  fence other;
  waiter any{[&] { return tidemark::wait_any(list{{other, 1}, {often, 1}}).status; }};
  waiter all{[&] { return tidemark::wait_all(list{{other, 1}, {often, 1}}); }};
  CHECK(any.falls_asleep());
  CHECK(all.falls_asleep());
  mine.signal(1);
  CHECK(any.status() == wait_status::reached);
  other.signal(1);
  CHECK(all.status() == wait_status::reached);
}

TEST_CASE("the shortest interval counts, and once its value is reached, the next one") {
  user_timeline first;
  user_timeline second;
  const looked_at often{first, 100us};
  const looked_at seldom{second, 24h};
  fence other;
  const meter<platform> during;
  waiter waiting{[&] { return tidemark::wait_all(list{{seldom, 1}, {often, 1}, {other, 1}}); }};
  await([&] { return during.parks() > 3; });
  first.signal(1);
  // Now it sleeps for a day, or until the fence wakes it.
  await([&] { return platform::sleeps_until.load() > std::chrono::steady_clock::now() + 1h; });
  second.signal(1);
  other.signal(1);
  CHECK(waiting.status() == wait_status::reached);
}

TEST_CASE("a deadline ends a wait that looks, between two looks or with one") {
  user_timeline mine;
  const looked_at often{mine, 100us};
  const looked_at seldom{mine, 24h};
  CHECK(tidemark::wait_all_for(list{{often, 1}}, 2ms) == wait_status::timeout);
  CHECK(tidemark::wait_all_for(list{{seldom, 1}}, 2ms) == wait_status::timeout);
  CHECK(tidemark::wait_any_for(list{{seldom, 1}}, 0s) == wait_any_result{wait_status::timeout, 1});
}

TEST_CASE("it has the values, the loss and the waits of its timeline, and a copy is the same timeline") {
  hooked_ticks mine;
  const looked_at looked{mine, 1ms};
  const auto copy = looked;
  CHECK(copy.interval() == 1ms);
  mine.signal(4);
  CHECK(copy.current_value() == 4);
  CHECK(copy.is_reached(4));
  CHECK_FALSE(copy.is_reached(5));
  CHECK(copy.last_reached() == 4);
  CHECK(copy.wait(4) == wait_status::reached);
  CHECK(copy.wait_for(5, 1ms) == wait_status::timeout);
  mine.lose();
  CHECK(copy.current_value() == UINT64_MAX);
  CHECK(copy.wait(5) == wait_status::lost);
  CHECK(tidemark::wait_any({{copy, 5}}) == wait_any_result{wait_status::lost, 0});
  CHECK(tidemark::wait_all({{looked, 4}, {copy, 3}}) == wait_status::reached);
}

TEST_CASE("an interval of nothing is reported and counts as a millisecond, and one of years as a day") {
  const user_timeline mine;
  CHECK(looked_at(mine, 0s).interval() == 1ms);
  CHECK(take_said() == texts{"the interval of a looked_at must be above zero"});
  CHECK(looked_at(mine, -1s).interval() == 1ms);
  CHECK(take_said() == texts{"the interval of a looked_at must be above zero"});
  CHECK(looked_at(mine, std::chrono::hours::max()).interval() == 24h);
  CHECK(looked_at(mine, 0.5ns).interval() == 1ns);
  CHECK(take_said().empty());
}
