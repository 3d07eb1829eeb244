// SPDX-License-Identifier: BSL-1.0
//
// Several timelines as one: the least value, waits for all, and what the loss of one of them does.
#include <tidemark/fence/least_of.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>

#include <tidemark/fence/fence.hpp>
#include <tidemark/memory/host_aperture.hpp>
#include <tidemark/memory/map_mode.hpp>
#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/memory/retire_queue.hpp>
#include <tidemark/memory/upload_ring.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "support/counting_platform.hpp"
#include "support/manual_stop.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"
#include "support/watchdog.hpp"

using namespace std::chrono_literals;
using namespace testing;

using std::chrono::steady_clock;
using std::chrono::system_clock;
using tidemark::least_of;
using tidemark::wait_status;

namespace {

using counted = counting_platform<tidemark::native_platform>;
using counted_fence = tidemark::basic_progress_fence<counted>;

/// A timeline of the program's own that can be lost.
class mortal_timeline : public user_timeline {
 public:
  std::uint64_t current_value() const { return is_lost_ ? UINT64_MAX : user_timeline::current_value(); }
  wait_status wait_until(std::uint64_t target, tidemark::deadline until) const {
    const wait_status ended = user_timeline::wait_until(target, until);
    return is_lost_ && ended == wait_status::reached && target > reached_ ? wait_status::lost : ended;
  }
  void lose() {
    reached_ = user_timeline::current_value();
    is_lost_ = true;
    signal(UINT64_MAX);
  }

 private:
  std::atomic<bool> is_lost_{false};
  std::atomic<std::uint64_t> reached_{0};
};

using two_fences = least_of<tidemark::progress_fence_view, tidemark::fence>;
static_assert(tidemark::timeline<two_fences> && std::copyable<two_fences>);
static_assert(!tidemark::signalled_timeline<two_fences>);
static_assert(std::same_as<two_fences::platform, tidemark::native_platform>);
static_assert(std::same_as<least_of<tidemark::fence>::platform, tidemark::symmetric_platform>);

/// Two fences of the counting platform, on which a sleeping thread can be seen.
struct pair_of_fences {
  counted_fence first;
  counted_fence second;
  const least_of<counted_fence, decltype(second.view())> both{first, second.view()};
  const watchdog alive{[] { return "a wait for the least of two timelines hangs"; }};
};

}  // namespace

TEST_CASE("the least of several timelines shows the value that all have reached") {
  tidemark::progress_fence first{3};
  tidemark::fence second{5};
  user_timeline third;
  const least_of all{first.view(), second, third};
  CHECK(all.current_value() == 0);
  third.signal(9);
  CHECK(all.current_value() == 3);
  first.signal(8);
  CHECK(all.current_value() == 5);
  CHECK((all.is_reached(5) && !all.is_reached(6)));

  auto copy = all;
  const least_of pair{first, second};
  const least_of nested{pair, third};
  second.signal(20);
  CHECK(copy.current_value() == 8);
  CHECK(nested.current_value() == 8);
  copy = all;
  CHECK(copy.wait_for(8, 0s) == wait_status::reached);
  CHECK(nested.wait_for(9, 0s) == wait_status::timeout);
}

TEST_CASE_FIXTURE(pair_of_fences, "[A65] a wait for the least of two fences sleeps once, until both have reached it") {
  const meter<counted> during;
  waiter waits{[&] { return both.wait(2); }};
  CHECK(waits.falls_asleep());
  first.signal(2);
  CHECK_FALSE(waits.has_returned());
  second.signal(3);
  CHECK(waits.status() == wait_status::reached);
  CHECK(during.heavy_barriers() <= 1);  // none where the platform is not asymmetric
  CHECK(both.current_value() == 2);
}

TEST_CASE_FIXTURE(pair_of_fences, "a wait for the least of two fences ends at its deadline and at a stop") {
  first.signal(9);
  CHECK(both.wait(0) == wait_status::reached);
  CHECK(both.wait_for(1, 0s) == wait_status::timeout);
  CHECK(both.wait_until(1, steady_clock::now() + 1ms) == wait_status::timeout);
  CHECK(both.wait_until(1, system_clock::now() + 1ms) == wait_status::timeout);
  manual_stop stop;
  waiter waits{[&] { return both.wait(1, stop.get_token()); }};
  CHECK(waits.falls_asleep());
  stop.request();
  CHECK(waits.status() == wait_status::stopped);
  second.signal(1);
  CHECK(both.wait(1, stop.get_token()) == wait_status::reached);
}

TEST_CASE_FIXTURE(pair_of_fences,
                  "[A120] a wait of which one timeline is lost goes on for the other, and is lost then") {
  waiter waits{[&] { return both.wait(2); }};
  CHECK(waits.falls_asleep());
  first.signal(1);
  first.poison();
  CHECK(both.current_value() == 0);
  CHECK(both.wait_for(2, 0s) == wait_status::timeout);
  CHECK_FALSE(waits.has_returned());
  second.signal(2);
  CHECK(waits.status() == wait_status::lost);
  CHECK(both.current_value() == 2);
  CHECK(both.wait(1) == wait_status::reached);  // before its loss
  CHECK(both.wait_for(2, 0s) == wait_status::lost);
  CHECK(both.wait_for(3, 0s) == wait_status::timeout);
  second.poison();
  CHECK(both.wait(3) == wait_status::lost);
  CHECK(both.current_value() == UINT64_MAX);
}

TEST_CASE_FIXTURE(pair_of_fences, "[A120] a value that is signalled after its timeline was lost is reached") {
  first.poison();
  first.signal(4);
  second.signal(4);
  CHECK(both.wait_for(4, 0s) == wait_status::reached);
  CHECK(both.wait_for(5, 0s) == wait_status::timeout);
  CHECK(both.current_value() == 4);
}

TEST_CASE("[A120] timelines of any type are waited for one after the other, and a lost one does not end the wait") {
  mortal_timeline first;
  tidemark::fence second;
  const least_of both{first, second};
  const watchdog alive{[] { return "a wait for timelines of several types hangs"; }};
  waiter waits{[&] { return both.wait(1); }};
  first.lose();
  CHECK_FALSE(waits.has_returned());
  CHECK(both.wait_for(1, 0s) == wait_status::timeout);
  manual_stop stop;
  stop.request();
  CHECK(both.wait(1, stop.get_token()) == wait_status::stopped);
  second.signal(1);
  CHECK(waits.status() == wait_status::lost);
  CHECK(both.wait_for(1, 0s) == wait_status::lost);
  CHECK(both.wait(0) == wait_status::reached);
  CHECK(both.current_value() == 1);
}

TEST_CASE("a view of a least_of is a timeline like any other") {
  tidemark::fence first;
  tidemark::progress_fence second;
  const tidemark::least_of both{first, second};
  const tidemark::timeline_view seen{both};
  const tidemark::least_of of_views{seen, first.view()};
  first.signal(2);
  CHECK(of_views.current_value() == 0);
  CHECK(of_views.wait_for(1, std::chrono::seconds{0}) == wait_status::timeout);
  second.signal(1);
  CHECK(of_views.wait(1) == wait_status::reached);
  CHECK(of_views.current_value() == 1);
}

TEST_CASE("a wait for fences that sleep in different ways is one after the other") {
  counted_fence first{1};
  tidemark::basic_fence<tidemark::portable_platform> second;
  const least_of both{first, second};
  const watchdog alive{[] { return "a wait for fences of several platforms hangs"; }};
  waiter waits{[&] { return both.wait(1); }};
  second.signal(1);
  CHECK(waits.status() == wait_status::reached);
}

TEST_CASE("[A120] a value that is signalled after its timeline was lost is reached, also where it waits one by one") {
  tidemark::basic_fence<tidemark::portable_platform> first;
  counted_fence second;
  const least_of both{first, second};
  const watchdog alive{[] { return "a wait for fences of several platforms hangs"; }};
  first.poison();
  waiter waits{[&] { return both.wait(4); }};
  REQUIRE(waits.falls_asleep());  // at the second one, and has seen the first one lost
  first.signal(4);
  second.signal(4);
  CHECK(waits.status() == wait_status::reached);
  waiter goes_on{[&] { return both.wait(5); }};
  REQUIRE(goes_on.falls_asleep());
  second.signal(5);
  CHECK(goes_on.status() == wait_status::lost);
}

// ---- blocks that follow it ------------------------------------------------------------------------------------------

namespace {

struct queues_that_share {
  tidemark::progress_fence first;
  tidemark::fence second;
  const least_of<tidemark::progress_fence_view, tidemark::fence> both{first.view(), second};
  const watchdog alive{[] { return "a block that follows two timelines hangs"; }};
};

}  // namespace

TEST_CASE_FIXTURE(queues_that_share,
                  "[B12] [A120] a rename ring that follows two timelines waits for both, lost or not") {
  tidemark::rename_ring ring{both, {.bytes = 64, .max_renames = 1}};
  using tidemark::map_mode;
  using tidemark::map_status;
  const auto mapped = ring.map(map_mode::discard);
  REQUIRE(mapped);
  CHECK(ring.retire(mapped, 2));
  first.signal(2);
  CHECK(ring.map_for(map_mode::discard, 1ms).status == map_status::timeout);
  first.poison();
  CHECK(ring.try_map(map_mode::discard).status == map_status::busy);
  waiter waits{[&] {
    const auto again = ring.map(map_mode::discard);
    CHECK(both.current_value() >= 2);
    return again && ring.retire(again, 3) ? wait_status::reached : wait_status::lost;
  }};
  CHECK(ring.backings() == 1);
  second.signal(2);
  CHECK(waits.status() == wait_status::reached);
  second.signal(3);  // otherwise the destructor would wait
}

TEST_CASE_FIXTURE(queues_that_share, "[A120] a rename ring is not destroyed before the timeline that lives is done") {
  std::optional<tidemark::rename_ring<least_of<tidemark::progress_fence_view, tidemark::fence>>> ring;
  ring.emplace(both, tidemark::rename_options{.bytes = 64});
  const auto mapped = ring->map(tidemark::map_mode::discard);
  CHECK(ring->retire(mapped, 5));
  first.poison();
  std::uint64_t at_the_end = 0;
  waiter destroys{[&] {
    ring.reset();
    at_the_end = second.current_value();
    return wait_status::reached;
  }};
  for (std::uint64_t value = 1; value <= 5; ++value) {
    CHECK_FALSE(destroys.has_returned());
    second.signal(value);
  }
  CHECK(destroys.status() == wait_status::reached);
  CHECK(at_the_end == 5);
}

TEST_CASE_FIXTURE(queues_that_share, "[B12] [A120] upload rings that follow two timelines wait for both, lost or not") {
  using timeline = least_of<tidemark::progress_fence_view, tidemark::fence>;
  using tidemark::upload_status;
  tidemark::upload_ring<timeline> one{both, {.capacity = 8}};
  tidemark::upload_ring<timeline, tidemark::writers::several> several{both, {.capacity = 8}};
  REQUIRE(one.allocate(8));
  CHECK(one.retire(1));
  CHECK(several.retire(several.allocate(8), 1));
  first.poison();
  CHECK(one.try_allocate(8).status == upload_status::busy);
  CHECK(one.allocate_for(8, 1, 1ms).status == upload_status::timeout);
  CHECK(several.allocate_for(8, 1, 1ms).status == upload_status::timeout);
  waiter first_waits{[&] { return one.allocate(8) ? wait_status::reached : wait_status::lost; }};
  waiter second_waits{[&] { return several.allocate(8) ? wait_status::reached : wait_status::lost; }};
  second.signal(1);
  CHECK(first_waits.status() == wait_status::reached);
  CHECK(second_waits.status() == wait_status::reached);

  // The part of `several` was not retired, and no timeline is left that could help.
  CHECK(several.allocate_for(8, 1, 1ms).status == upload_status::timeout);
  second.poison();
  CHECK(several.allocate(8).status == upload_status::lost);
}

TEST_CASE_FIXTURE(queues_that_share,
                  "[B12] [A120] an aperture that follows two timelines waits for both, lost or not") {
  tidemark::host_aperture window{both, {.pages = 1}};
  const std::uint64_t pages[] = {7};
  CHECK(window.retire(window.map(pages), 4));
  second.signal(4);
  CHECK(window.map_for(pages, 1ms).status == tidemark::aperture_status::timeout);
  second.poison();
  CHECK(window.try_map(pages).status == tidemark::aperture_status::busy);
  waiter waits{[&] { return window.map(pages) ? wait_status::reached : wait_status::lost; }};
  first.signal(4);
  CHECK(waits.status() == wait_status::reached);
}

TEST_CASE_FIXTURE(queues_that_share,
                  "[A120] a retire queue that follows two timelines drains when the living one is done") {
  tidemark::retire_queue reclaimer{both};
  struct object : decltype(reclaimer)::hook {
    bool is_disposed = false;
  } mesh;
  struct dispose {
    void operator()(object& which) const noexcept { which.is_disposed = true; }
  };
  CHECK(reclaimer.retire(mesh, dispose{}, {3}));
  first.poison();
  CHECK(reclaimer.reclaim() == 0);
  CHECK(reclaimer.drain_for(1ms) == wait_status::timeout);
  CHECK_FALSE(mesh.is_disposed);
  waiter drains{[&] { return reclaimer.drain(); }};
  second.signal(3);
  CHECK(drains.status() == wait_status::reached);
  CHECK(mesh.is_disposed);
}
