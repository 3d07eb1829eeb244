// SPDX-License-Identifier: BSL-1.0
//
// signal_origin: which queue signalled a fence that was named in a notification, and when.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tidemark/hub/hub.hpp>
#include <tidemark/hub/signal_origin.hpp>

#include "support/hubs.hpp"
#include "support/readable.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::device_id;
using tidemark::engine_id;
using tidemark::notify_style;
using tidemark::signal_origin;
using tidemark::wait_status;

namespace {

/// What a listener was told; `last` is copied.
struct told_origin {
  signal_origin origin;
  std::vector<std::uint64_t> last;
};
struct listener {
  void operator()(const signal_origin& origin) noexcept {
    told.push_back({origin, {}});
    for (const auto& entry : origin.last) told.back().last.push_back(entry.fence_value);
    told.back().origin.last = {};
    if (also) also();
  }
  std::vector<told_origin> told;
  std::function<void()> also;
};

template <class Service>
using telling = tidemark::tells_origins<Service, listener>;

/// A hub that tells a listener; the members of counted_hub.
template <class Service, std::size_t Fences = 8>
struct telling_hub : tidemark::basic_hub<stepping_platform, telling<Service>, Fences, 4> {
  using service_type = telling<Service>;
  using base = tidemark::basic_hub<stepping_platform, telling<Service>, Fences, 4>;
  explicit telling_hub(listener& to) : base{telling<Service>{to, make_service<Service>()}} {}

  void catch_up() {
    if constexpr (!Service::serves_itself) {
      if constexpr (std::is_same_v<Service, event_driven>) this->service().quiet();
      while (this->try_serve()) continue;
    }
  }
};

template <class Service, std::size_t Fences = 8>
struct stand {
  listener heard;
  telling_hub<Service, Fences> hub{heard};
};

/// A queue with a log of 4 entries, and two fences that no waiter waits for.
struct stand_of_two : stand<self_serving> {
  struct {
    hub_stand<telling_hub<self_serving>> a;
    probe fence;
    probe other;
    tidemark::logged_fence<probe> logged;
    tidemark::logged_fence<probe> logged_other;
  } parts{hub_stand<telling_hub<self_serving>>{hub, notify_style::by_fence, 4}, {}, {}, {}, {}};
  stand_of_two() {
    parts.logged = hub.add(parts.fence).fence;
    parts.logged_other = hub.add(parts.other).fence;
    parts.fence.due = parts.other.due = false;
  }
};

using values = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE_TEMPLATE("[A55][A110] a notification that names a fence finds the queue that signalled it, and when", Service,
                   EVERY_SERVICE) {
  stand<Service> at;
  hub_stand a{at.hub, notify_style::by_fence, 84, engine_id{3}};
  hub_stand b{at.hub, notify_style::by_fence, 84, engine_id{4}};
  any_fence fence;
  const auto logged = at.hub.add(fence).fence;
  const auto dog = watch(fence);
  waiter waiting{[&] { return fence.wait(2); }};
  CHECK(waiting.falls_asleep());
  a.queue.signal(logged, 1);
  const std::uint64_t before = ticking_clock::ticks;
  b.queue.signal(logged, 2);
  at.hub.catch_up();
  CHECK(waiting.status() == wait_status::reached);
  REQUIRE_FALSE(at.heard.told.empty());
  const signal_origin& origin = at.heard.told.back().origin;
  CHECK(origin.fence == logged.id);
  REQUIRE(origin.queue.has_value());
  CHECK(origin.queue.value() == b.number);
  CHECK(origin.engine == engine_id{4});
  CHECK(origin.entry.fence_value == 2);
  CHECK(origin.entry.end_timestamp > before);
  CHECK(at.heard.told.back().last == values{2});
}

TEST_CASE("[A110] the queue's newest entries are told with it, the newest one last, and 16 at most") {
  stand<self_serving> at;
  hub_stand a{at.hub, notify_style::by_fence};
  probe fence;
  probe other;
  const auto logged = at.hub.add(fence).fence;
  const auto logged_other = at.hub.add(other).fence;
  fence.due = other.due = false;
  a.queue.signal(logged, 50);
  a.queue.signal(logged_other, 51);
  at.hub.notify(logged.id);
  REQUIRE(at.heard.told.size() == 1);
  CHECK(at.heard.told[0].last == values{50, 51});
  CHECK(at.heard.told[0].origin.entry.fence_value == 50);
  for (std::uint64_t value = 52; value <= 100; ++value) a.queue.signal(logged_other, value);
  at.hub.notify(logged.id);
  REQUIRE(at.heard.told.size() == 2);
  CHECK(at.heard.told[1].origin.entry.fence_value == 50);  // found behind 50 newer ones
  CHECK(at.heard.told[1].last.size() == tidemark::most_last_entries);
  CHECK(at.heard.told[1].last.front() == 85);
  CHECK(at.heard.told[1].last.back() == 100);
}

TEST_CASE("[A110] each fence that is named is told once, after the waiters of all are released") {
  stand<self_serving, 128> at;
  hub_stand a{at.hub, notify_style::by_fence};
  std::array<probe, 100> fences;  // the marks of the hub are in two words
  std::vector<fence_id> ids;
  for (probe& fence : fences) {
    fence.due = false;
    const auto logged = at.hub.add(fence).fence;
    ids.push_back(logged.id);
    a.queue.signal(logged, 1);
  }
  for (const std::size_t second : {std::size_t{2}, std::size_t{99}}) {
    CAPTURE(second);
    at.heard.told.clear();
    const std::size_t before = fences[0].released + fences.at(second).released;
    at.heard.also = [&] { CHECK(fences[0].released + fences.at(second).released == before + 2); };
    at.hub.notify(std::array{ids[0], ids.at(second), ids[0]});
    REQUIRE(at.heard.told.size() == 2);
    CHECK(at.heard.told[0].origin.fence == ids[0]);
    CHECK(at.heard.told[1].origin.fence == ids.at(second));
  }
}

TEST_CASE("[A110] a notification for a queue asks nobody: its log says all") {
  stand<self_serving> at;
  hub_stand a{at.hub};
  probe fence;
  const auto logged = at.hub.add(fence).fence;
  a.queue.signal(logged, 1);
  at.hub.notify_queue(a.number);
  at.hub.notify_all();
  CHECK(at.heard.told.empty());
}

TEST_CASE("[A110] the search takes nothing away: the entries are still served from the log") {
  stand<self_serving> at;
  hub_stand a{at.hub, notify_style::by_fence};
  probe fence;
  const auto logged = at.hub.add(fence).fence;
  fence.due = false;
  for (const std::uint64_t value : values{1, 2, 3}) a.queue.signal(logged, value);
  at.hub.notify(logged.id);
  at.hub.notify_queue(a.number);
  CHECK(fence.released_by == values{1, 2, 3});
}

TEST_CASE("[A55][A110] a fence that no queue signalled has no origin") {
  stand_of_two at;
  auto& [a, fence, other, logged, logged_other] = at.parts;
  SUBCASE("by nobody but the processor") {
    const std::array batch{tidemark::fence_update{logged.id, 1}};
    fence.due = true;
    at.hub.signal_batch(batch);
  }
  SUBCASE("by an entry that was overwritten") {
    a.queue.signal(logged, 1);
    for (std::uint64_t value = 1; value <= 4; ++value) a.queue.signal(logged_other, value);
    at.hub.notify(logged.id);
  }
  SUBCASE("by a queue of another device") {
    tidemark::basic_queue_log<stepping_platform> far{fence_log_type::signal, 4};
    CHECK(at.hub.attach(far.reader(), {}, device_id{9}));
    far.append({1, logged.id, fence_operation::signal_executed, 0, 0, 0, 1});
    at.hub.notify(logged.id);
  }
  SUBCASE("by a command that was cancelled") {
    tidemark::basic_queue_log<stepping_platform> log{fence_log_type::signal, 4};
    CHECK(at.hub.attach(log.reader()));
    log.append({1, logged.id, fence_operation::signal_executed, 0, 0, 0, tidemark::cancelled_timestamp});
    at.hub.notify(logged.id);
  }
  REQUIRE(at.heard.told.size() == 1);
  CHECK(at.heard.told[0].origin.fence == logged.id);
  CHECK_FALSE(at.heard.told[0].origin.queue.has_value());
  CHECK(at.heard.told[0].last.empty());
}

TEST_CASE("[A104][A110] of several queues the one counts that came to the greatest value, and first") {
  stand<self_serving> at;
  using log_type = tidemark::basic_queue_log<stepping_platform>;
  std::array<log_type, 3> logs{log_type{fence_log_type::signal, 8}, log_type{fence_log_type::signal, 8},
                               log_type{fence_log_type::signal, 8}};
  std::array<queue_id, 3> numbers{};
  for (std::size_t n = 0; n < 3; ++n) numbers.at(n) = at.hub.attach(logs.at(n).reader(), engine_id{7}).queue;
  probe fence;
  const auto id = at.hub.add(fence).fence.id;
  const auto append = [&](std::size_t log, std::uint64_t value, std::uint64_t time) {
    logs.at(log).append({value, id, fence_operation::signal_executed, 0, 0, 0, time});
  };
  std::size_t expected = 0;
  std::optional<std::uint64_t> value;
  SUBCASE("the greatest value") {
    append(0, 3, 10);
    append(1, 5, 11);
    append(2, 4, 12);
    expected = 1;
  }
  SUBCASE("of equal values the first in time") {
    append(0, 5, 12);
    append(1, 5, 11);
    append(2, 5, 10);
    expected = 2;
  }
  SUBCASE("a write that may have been skipped counts less than one that was not") {
    append(0, 9, 0);
    append(1, 5, 11);
    expected = 1;
  }
  SUBCASE("and it hides no older one of its queue") {
    append(0, 7, 10);
    append(0, 8, 0);
    append(1, 5, 11);
    expected = 0;
    value = 7;
  }
  SUBCASE("and it counts if there is no other, the newest one of its queue") {
    append(2, 8, 0);
    append(2, 9, 0);
    expected = 2;
    value = 9;
  }
  at.hub.notify(id);
  REQUIRE(at.heard.told.size() == 1);
  const signal_origin& origin = at.heard.told[0].origin;
  REQUIRE(origin.queue.has_value());
  CHECK(to_number(origin.queue.value()) == to_number(numbers.at(expected)));
  CHECK(origin.engine == engine_id{7});
  if (value) CHECK(origin.entry.fence_value == *value);
}

TEST_CASE("[A92][A110] the search goes through logs that were replaced, and finds what stands in the old ones") {
  stand_of_two at;
  auto& [a, fence, other, logged, logged_other] = at.parts;
  a.queue.signal(logged_other, 1);
  a.queue.signal(logged, 2);
  a.queue.set_log(fence_log_type::signal, 8);
  a.queue.signal(logged_other, 3);
  a.queue.set_log(fence_log_type::signal, 16);
  a.queue.signal(logged_other, 4);
  at.hub.notify(logged.id);
  REQUIRE(at.heard.told.size() == 1);
  CHECK(at.heard.told[0].origin.queue.has_value());
  CHECK(at.heard.told[0].origin.entry.fence_value == 2);
  CHECK(at.heard.told[0].last == values{4});  // of one log
}

TEST_CASE("a hub whose service does not ask searches no log") {
  static_assert(tidemark::asks_for_origins<telling<self_serving>>);
  static_assert(!tidemark::asks_for_origins<self_serving>);
  static_assert(tidemark::hub_service<telling<dispatched>, tidemark::native_platform>);
}
