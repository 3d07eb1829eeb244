// SPDX-License-Identifier: BSL-1.0
//
// A group of timelines, which come and go: its value, waits, members that leave while a thread waits for them, losses,
// and blocks that follow it.
#include <tidemark/fence/timeline_group.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/least_of.hpp>
#include <tidemark/fence/signaller_callback.hpp>
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
using tidemark::timeline_group;
using tidemark::wait_status;

namespace {

using counted = counting_platform<tidemark::native_platform>;
using counted_fence = tidemark::basic_progress_fence<counted>;
using counted_group = tidemark::basic_timeline_group<counted>;

template <class Group, class Timeline>
concept takes = requires(Group& group, const Timeline& added) { group.add(added); };

constexpr tidemark::fence_options keeping{.keeps_value_on_loss = true};
using keeping_fence = tidemark::basic_fence<tidemark::symmetric_platform, keeping>;

static_assert(tidemark::timeline<timeline_group> && !tidemark::signalled_timeline<timeline_group>);
static_assert(!std::copyable<timeline_group> && !std::movable<timeline_group::membership>);
static_assert(std::same_as<timeline_group::platform, tidemark::native_platform>);
static_assert(takes<timeline_group, tidemark::fence> && takes<timeline_group, tidemark::progress_fence_view>);
static_assert(!takes<timeline_group, user_timeline> && !takes<timeline_group, timeline_group>);
static_assert(!takes<timeline_group, keeping_fence>);
// Threads of this platform sleep on other words, unless it is the native one.
static_assert(takes<timeline_group, tidemark::basic_fence<tidemark::portable_platform>> ==
              std::same_as<tidemark::native_platform::parking, tidemark::portable_platform::parking>);
static_assert(!std::constructible_from<timeline_group, const keeping_fence&>);

/// A group with a base and two members, on a platform on which a sleeping thread can be seen.
struct group_of_three {
  counted_fence base;
  counted_group group{base};
  std::optional<counted_fence> first{std::in_place};
  std::optional<counted_fence> second{std::in_place};
  std::optional<counted_group::membership> first_reads;
  std::optional<counted_group::membership> second_reads;
  const watchdog alive{[] { return "a wait for a group of timelines hangs"; }};

  group_of_three() {
    first_reads.emplace(group, *first);
    second_reads.emplace(group, second->view());
  }
};

}  // namespace

TEST_CASE("a group shows the value that its base and all its members have reached") {
  tidemark::fence given_out{3};
  timeline_group readers{given_out};
  CHECK(readers.current_value() == 3);
  given_out.signal(9);
  CHECK((readers.is_reached(9) && !readers.is_reached(10)));
  tidemark::progress_fence blur;
  tidemark::fence bloom{12};
  {
    const auto blurs = readers.add(blur.view());
    CHECK(blurs);
    CHECK(blurs.from() == 9);
    auto blooms = readers.add(bloom);
    given_out.signal(20);
    CHECK(readers.current_value() == 9);
    blur.signal(10);
    CHECK(readers.current_value() == 10);
    blur.signal(15);
    CHECK(readers.current_value() == 12);
    blooms.leave();
    CHECK_FALSE(blooms);
    blooms.leave();
    CHECK(readers.current_value() == 15);
  }
  CHECK(readers.current_value() == 20);
}

TEST_CASE("the value of a group does not fall when a timeline is added, from whatever value it is to count") {
  tidemark::fence given_out{5};
  timeline_group readers{given_out};
  tidemark::fence slow;
  const auto counts_from_value = readers.add(slow, 2);
  CHECK(counts_from_value.from() == 5);
  CHECK(readers.current_value() == 5);
  CHECK(readers.wait_for(5, 0s) == wait_status::reached);

  tidemark::fence late;
  const auto counts_from_more = readers.add(late, 7);
  CHECK(counts_from_more.from() == 7);
  given_out.signal(10);
  slow.signal(10);
  CHECK(readers.current_value() == 7);
  CHECK(readers.wait_for(7, 0s) == wait_status::reached);
  CHECK(readers.wait_for(8, 0s) == wait_status::timeout);
  late.signal(6);  // need not be signalled
  CHECK(readers.current_value() == 7);
  late.signal(8);
  CHECK(readers.wait_for(8, 0s) == wait_status::reached);
}

TEST_CASE("a member counts from the value of the base, or from that of the group where the program asks for less") {
  tidemark::fence given_out;
  timeline_group readers{given_out};
  tidemark::fence slow;
  const auto slow_reads = readers.add(slow);
  given_out.signal(4);
  slow.signal(1);
  tidemark::fence next;
  tidemark::fence earlier;
  CHECK(readers.add(next).from() == 4);
  CHECK(readers.add(earlier, 0).from() == 1);
  given_out.poison();
  CHECK(readers.add(next).from() == 1);
}

TEST_CASE("a timeline that is added twice counts until both memberships have ended") {
  tidemark::fence given_out;
  timeline_group readers{given_out};
  tidemark::fence both;
  auto one = readers.add(both);
  auto other = readers.add(both);
  given_out.signal(1);
  one.leave();
  CHECK(readers.current_value() == 0);
  other.leave();
  CHECK(readers.current_value() == 1);
}

TEST_CASE_FIXTURE(group_of_three, "[A65] a wait for a group ends when all its timelines have reached the target") {
  waiter waits{[&] { return group.wait(2); }};
  CHECK(waits.falls_asleep());
  first->signal(2);
  CHECK_FALSE(waits.has_returned());
  base.signal(3);
  CHECK_FALSE(waits.has_returned());
  second->signal(2);
  CHECK(waits.status() == wait_status::reached);
  CHECK(group.current_value() == 2);
}

TEST_CASE_FIXTURE(group_of_three, "[A65] a wait for a group sleeps for the timeline that is furthest behind") {
  base.signal(9);
  first->signal(7);
  second->signal(8);
  waiter waits{[&] { return group.wait(9); }};
  CHECK(waits.falls_asleep());
  if (counted::heavy_barrier_available()) {
    CHECK(first->monitored_value() == 8);
    CHECK(second->monitored_value() == tidemark::no_waiter);
  }
  second->signal(9);
  CHECK_FALSE(waits.has_returned());
  first->signal(9);
  CHECK(waits.status() == wait_status::reached);
}

TEST_CASE_FIXTURE(group_of_three, "[A14] a wait for a group ends at its deadline and at a stop") {
  base.signal(9);
  second->signal(9);
  CHECK(group.wait(0) == wait_status::reached);
  CHECK(group.wait_for(1, 0s) == wait_status::timeout);
  CHECK(group.wait_for(1, 1ms) == wait_status::timeout);
  CHECK(group.wait_until(1, steady_clock::now() - 1s) == wait_status::timeout);
  CHECK(group.wait_until(1, steady_clock::now() + 1ms) == wait_status::timeout);
  CHECK(group.wait_until(1, system_clock::now() + 1ms) == wait_status::timeout);
  manual_stop stop;
  waiter waits{[&] { return group.wait(1, stop.get_token()); }};
  CHECK(waits.falls_asleep());
  stop.request();
  CHECK(waits.status() == wait_status::stopped);
  CHECK(group.wait(1, stop.get_token()) == wait_status::stopped);
  first->signal(1);
  CHECK(group.wait(1, stop.get_token()) == wait_status::reached);
}

TEST_CASE_FIXTURE(group_of_three,
                  "a slow member that leaves wakes those who have waited for it, and may be destroyed") {
  base.signal(5);
  second->signal(5);
  waiter waits{[&] { return group.wait(5); }};
  waiter waits_as_well{[&] { return group.wait(4); }};
  CHECK(waits.falls_asleep());
  CHECK(waits_as_well.falls_asleep());
  first_reads->leave();
  CHECK(first->monitored_value() == (counted::heavy_barrier_available() ? tidemark::no_waiter : 0));
  first.reset();
  CHECK(waits.status() == wait_status::reached);
  CHECK(waits_as_well.status() == wait_status::reached);
}

TEST_CASE_FIXTURE(group_of_three, "a wait goes on for the others when the member for which it has slept leaves") {
  base.signal(5);
  second->signal(4);
  waiter waits{[&] { return group.wait(5); }};
  CHECK(waits.falls_asleep());
  first_reads.reset();
  first.reset();
  CHECK(group.current_value() == 4);
  CHECK_FALSE(waits.has_returned());
  second->signal(5);
  CHECK(waits.status() == wait_status::reached);
}

TEST_CASE_FIXTURE(group_of_three, "a wait that has begun before respects a timeline that is added") {
  waiter waits{[&] { return group.wait(1); }};
  CHECK(waits.falls_asleep());
  counted_fence third;
  const auto third_reads = group.add(third);
  CHECK(third_reads.from() == 0);
  for (auto* const one : {&base, &*first, &*second}) one->signal(1);
  CHECK(waits.falls_asleep());
  third.signal(1);
  CHECK(waits.status() == wait_status::reached);
}

TEST_CASE("a member may leave in a callable that the signal of its own timeline runs, beside a thread that waits") {
  constexpr tidemark::fence_options calling{.callbacks = true};
  const watchdog alive{[] { return "a member that leaves in a callable hangs"; }};
  counted_fence base;
  counted_group group{base};
  tidemark::basic_fence<counted, calling> read;
  std::optional<counted_group::membership> reads;
  reads.emplace(group, read);
  base.signal(2);
  const auto call = tidemark::call_in_signaller(read, 1, [&] { reads->leave(); });
  waiter is_due{[&] { return group.wait(1); }};
  waiter waits{[&] { return group.wait(2); }};
  CHECK(is_due.falls_asleep());
  CHECK(waits.falls_asleep());
  read.signal(1);
  CHECK(is_due.status() == wait_status::reached);
  CHECK(waits.status() == wait_status::reached);
}

// ---- losses ---------------------------------------------------------------------------------------------------------

TEST_CASE_FIXTURE(group_of_three,
                  "[A120] a wait goes on when one member is lost, and is lost while that one is there") {
  base.signal(9);
  first->signal(1);
  waiter waits{[&] { return group.wait(2); }};
  CHECK(waits.falls_asleep());
  first->poison();
  CHECK(group.current_value() == 0);
  CHECK_FALSE(waits.has_returned());
  second->signal(2);
  CHECK(waits.status() == wait_status::lost);
  CHECK(group.current_value() == 2);
  CHECK(group.wait(1) == wait_status::reached);  // before its loss
  first_reads->leave();
  CHECK(group.wait(2) == wait_status::reached);
  CHECK(group.wait_for(3, 0s) == wait_status::timeout);
}

TEST_CASE_FIXTURE(group_of_three, "[A120] a member that is lost below the value from which it counts loses nothing") {
  counted_fence third;
  const auto third_reads = group.add(third, 4);
  third.poison();
  for (auto* const one : {&base, &*first, &*second}) one->signal(4);
  CHECK(group.wait_for(4, 0s) == wait_status::reached);
  for (auto* const one : {&base, &*first, &*second}) one->signal(5);
  CHECK(group.wait_for(5, 0s) == wait_status::lost);
  third.signal(5);  // after its loss
  CHECK(group.wait_for(5, 0s) == wait_status::reached);
}

TEST_CASE_FIXTURE(group_of_three, "[A120] a group whose base is lost counts by its members, and is lost without them") {
  first->signal(3);
  second->signal(4);
  base.signal(1);
  base.poison();
  CHECK(group.current_value() == 3);
  CHECK(group.wait_for(1, 0s) == wait_status::reached);
  CHECK(group.wait_for(3, 0s) == wait_status::lost);
  {
    counted_fence third;
    const auto third_reads = group.add(third);
    CHECK((third_reads && third_reads.from() == 3));
  }
  waiter waits{[&] { return group.wait(5); }};
  CHECK(waits.falls_asleep());
  second->poison();
  first_reads->leave();
  CHECK(waits.status() == wait_status::lost);
  CHECK(group.current_value() == UINT64_MAX);
  const auto again = group.add(*first);
  CHECK_FALSE(again);
  CHECK(group.wait(1) == wait_status::reached);
}

// ---- readers of one ring --------------------------------------------------------------------------------------------

namespace {

/// A ring of four plain words. One thread writes numbers into it, and a word is written again when all that are readers
/// then have read it.
struct ring_of_words {
  static constexpr std::uint64_t last = 20'000;

  std::array<std::uint64_t, 4> words{};
  tidemark::fence given_out;
  timeline_group readers{given_out};
  std::atomic<std::uint64_t> wrong{0};

  std::uint64_t& word_of(std::uint64_t number) { return words[static_cast<std::size_t>(number % words.size())]; }

  void write() {
    for (std::uint64_t number = 1; number <= last; ++number) {
      if (number > words.size() && readers.wait(number - words.size()) != wait_status::reached) ++wrong;
      word_of(number) = number;
      given_out.signal(number);
    }
  }
  /// Joins, reads some numbers and leaves, until there are no more. Each time its fence is a new one.
  void read(std::uint64_t at_a_time) {
    for (bool is_over = false; !is_over;) {
      const auto read_up_to = std::make_unique<tidemark::progress_fence>();
      const auto reads = readers.add(*read_up_to);
      const std::uint64_t from = reads.from();
      for (std::uint64_t number = from + 1; number <= from + at_a_time && number <= last; ++number) {
        if (given_out.wait(number) != wait_status::reached || word_of(number) != number) ++wrong;
        read_up_to->signal(number);
      }
      is_over = from + at_a_time >= last;
    }
  }
};

}  // namespace

TEST_CASE("readers that come and go while a ring is written read each number before it is overwritten") {
  ring_of_words ring;
  const watchdog alive{[&] { return "readers of a ring hang, " + state_of(ring.given_out); }};
  {
    background stays{[&] { ring.read(ring_of_words::last); }};
    background comes_and_goes{[&] { ring.read(7); }};
    background comes_seldom{[&] { ring.read(100); }};
    ring.write();
  }
  CHECK(ring.wrong == 0);
  CHECK(ring.readers.current_value() == ring_of_words::last);
}

// ---- blocks that follow it ------------------------------------------------------------------------------------------

namespace {

struct readers_that_share {
  tidemark::fence given_out;
  tidemark::progress_fence first;
  tidemark::fence second;
  timeline_group readers{given_out};
  timeline_group::membership first_reads{readers, first.view()};
  timeline_group::membership second_reads{readers, second};
  const watchdog alive{[] { return "a block that follows a group of timelines hangs"; }};
};

}  // namespace

TEST_CASE_FIXTURE(readers_that_share, "[B12] a rename ring that follows a group waits for those that are members") {
  using tidemark::map_mode;
  tidemark::rename_ring ring{readers, {.bytes = 64, .max_renames = 1}};
  const auto mapped = ring.map(map_mode::discard);
  REQUIRE(mapped);
  CHECK(ring.retire(mapped, 2));
  given_out.signal(2);
  first.signal(2);
  CHECK(ring.map_for(map_mode::discard, 1ms).status == tidemark::map_status::timeout);
  waiter waits{[&] {
    const auto again = ring.map(map_mode::discard);
    return again && ring.retire(again, 2) ? wait_status::reached : wait_status::lost;
  }};
  CHECK(ring.backings() == 1);
  second_reads.leave();
  CHECK(waits.status() == wait_status::reached);
}

TEST_CASE_FIXTURE(readers_that_share, "[B12] upload rings that follow a group wait for those that are members") {
  using tidemark::upload_status;
  tidemark::upload_ring one{readers, {.capacity = 8}};
  tidemark::upload_ring<timeline_group, tidemark::writers::several> several{readers, {.capacity = 8}};
  REQUIRE(one.allocate(8));
  CHECK(one.retire(1));
  CHECK(several.retire(several.allocate(8), 1));
  given_out.signal(1);
  second.signal(1);
  CHECK(one.try_allocate(8).status == upload_status::busy);
  CHECK(one.allocate_for(8, 1, 1ms).status == upload_status::timeout);
  CHECK(several.allocate_for(8, 1, 1ms).status == upload_status::timeout);
  waiter first_waits{[&] { return one.allocate(8) ? wait_status::reached : wait_status::lost; }};
  waiter second_waits{[&] { return several.allocate(8) ? wait_status::reached : wait_status::lost; }};
  first_reads.leave();
  CHECK(first_waits.status() == wait_status::reached);
  CHECK(second_waits.status() == wait_status::reached);

  // The part of `several` was not retired, and no timeline is left that could help.
  given_out.poison();
  CHECK(several.allocate_for(8, 1, 1ms).status == upload_status::timeout);
  second.poison();
  CHECK(several.allocate(8).status == upload_status::lost);
}

TEST_CASE_FIXTURE(readers_that_share, "[B12] an aperture that follows a group waits for those that are members") {
  tidemark::host_aperture window{readers, {.pages = 1}};
  const std::uint64_t pages[] = {7};
  CHECK(window.retire(window.map(pages), 4));
  given_out.signal(4);
  first.signal(4);
  CHECK(window.map_for(pages, 1ms).status == tidemark::aperture_status::timeout);
  waiter waits{[&] { return window.map(pages) ? wait_status::reached : wait_status::lost; }};
  second_reads.leave();
  CHECK(waits.status() == wait_status::reached);
}

TEST_CASE_FIXTURE(readers_that_share, "a retire queue that follows a group drains when its last slow member has left") {
  tidemark::retire_queue reclaimer{readers};
  struct object : decltype(reclaimer)::hook {
    bool is_disposed = false;
  } mesh;
  struct dispose {
    void operator()(object& which) const noexcept { which.is_disposed = true; }
  };
  CHECK(reclaimer.retire(mesh, dispose{}, {3}));
  given_out.signal(3);
  first.signal(3);
  CHECK(reclaimer.reclaim() == 0);
  CHECK(reclaimer.drain_for(1ms) == wait_status::timeout);
  waiter drains{[&] { return reclaimer.drain(); }};
  second_reads.leave();
  CHECK(drains.status() == wait_status::reached);
  CHECK(mesh.is_disposed);
}

TEST_CASE_FIXTURE(readers_that_share,
                  "a view of a group is a timeline like any other, and so is a least_of with a group") {
  const tidemark::timeline_view seen{readers};
  const tidemark::least_of both{readers, second};
  given_out.signal(3);
  first.signal(3);
  CHECK(seen.wait_for(3, 0s) == wait_status::timeout);
  CHECK(both.wait_for(3, 0s) == wait_status::timeout);
  second.signal(3);
  CHECK(seen.wait(3) == wait_status::reached);
  CHECK(both.wait(3) == wait_status::reached);
  CHECK(both.current_value() == 3);
}
