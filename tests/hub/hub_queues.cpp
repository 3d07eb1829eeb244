// SPDX-License-Identifier: BSL-1.0
//
// hub: what it reads from the logs of queues, and what it does when entries are lost.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <tidemark/hub/hub.hpp>

#include "support/hubs.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::fence_kind;
using tidemark::notify_style;
using tidemark::wait_status;

using values = std::vector<std::uint64_t>;

// ---- from the log alone ---------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE(
    "[A111][A112] a notification for a queue releases waiters by the values in its log, and reads no fence's value",
    Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  hub_stand at{hub};
  probe fence;
  probe other;
  const auto logged = hub.add(fence).fence;
  CHECK(hub.add(other));
  fence.due = false;
  for (const std::uint64_t value : values{3, 4, 9}) at.queue.signal(logged, value);
  CHECK(fence.released_by.empty());
  hub.notify_queue(at.number);
  hub.catch_up();
  CHECK(fence.released_by == values{3, 4, 9});
  CHECK(fence.released == 0);
  CHECK(other.released_by.empty());
  CHECK(hub.count(hub_event::value_read) == 0);
  CHECK(hub.count(hub_event::log_release) == 3);
  hub.notify_queue(at.number);  // each entry is served once
  hub.catch_up();
  CHECK(hub.count(hub_event::log_release) == 3);
}

TEST_CASE_TEMPLATE(
    "[A104][A112] an entry without a time stamp is served by the current value of its fence, the others from the log",
    Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  tidemark::basic_queue_log<stepping_platform> log{fence_log_type::signal, 8};
  const queue_id queue = hub.attach(log.reader()).queue;
  probe timed;
  probe untimed;
  const auto timed_id = hub.add(timed).fence.id;
  const auto untimed_id = hub.add(untimed).fence.id;
  log.append({3, timed_id, fence_operation::signal_executed, 0, 0, 0, 10});
  log.append({4, untimed_id, fence_operation::signal_executed, 0, 0, 0, 0});
  log.append({5, timed_id, fence_operation::signal_executed, 0, 0, 0, 10});
  hub.notify_queue(queue);
  hub.catch_up();
  CHECK(timed.released_by == values{3, 5});
  CHECK(timed.released == 0);
  CHECK(untimed.released_by.empty());
  CHECK(untimed.released == 1);
  CHECK(hub.count(hub_event::log_release) == 2);
  CHECK(hub.count(hub_event::value_read) == 1);
}

TEST_CASE_TEMPLATE("[A104][A112] a write that was skipped releases nobody, and the write that is made later does",
                   Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  tidemark::basic_queue_log<stepping_platform> log{fence_log_type::signal, 8};
  const queue_id queue = hub.attach(log.reader()).queue;
  any_fence fence;
  const auto id = hub.add(fence).fence.id;
  const auto dog = watch(fence);
  waiter waiting{[&] { return fence.wait(2); }};
  waiter early{[&] { return fence.wait(1); }};
  CHECK(waiting.falls_asleep());
  CHECK(early.falls_asleep());
  CHECK(fence.publish(1));
  log.append({2, id, fence_operation::signal_executed, 0, 0, 0, 0});  // this executor left the write out
  hub.notify_queue(queue);
  hub.catch_up();
  CHECK(early.status() == wait_status::reached);  // its value is there
  CHECK_FALSE(waiting.has_returned());
  CHECK(fence.monitored_value() == 1);
  CHECK(fence.publish(2));
  log.append({2, id, fence_operation::signal_executed, 0, 0, 0, 20});
  hub.notify_queue(queue);
  hub.catch_up();
  CHECK(waiting.status() == wait_status::reached);
  CHECK(hub.count(hub_event::log_release) == 1);
}

TEST_CASE_TEMPLATE("[A104] a queue without a clock is served by values", Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  progress own;
  tidemark::basic_queue<progress, tidemark::no_log_clock, tidemark::hub_notifier<typename counted_hub<Service>::base>>
      queue{own};
  const auto attached = hub.attach(queue);
  REQUIRE(attached);
  any_fence fence;
  const auto logged = hub.add(fence).fence;
  const auto dog = watch(fence);
  waiter waiting{[&] { return fence.wait(1); }};
  CHECK(waiting.falls_asleep());
  queue.signal(logged, 1);
  hub.catch_up();
  CHECK(waiting.status() == wait_status::reached);
  CHECK(hub.count(hub_event::log_release) == 0);
  CHECK(hub.count(hub_event::value_read) == 1);
}

TEST_CASE_TEMPLATE("[A111] one notification names several queues: their logs are served in one pass, and no others",
                   Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  hub_stand a{hub};
  hub_stand b{hub};
  hub_stand c{hub};
  probe fence;
  const auto logged = hub.add(fence).fence;
  fence.due = false;
  a.queue.signal(logged, 1);
  b.queue.signal(logged, 2);
  c.queue.signal(logged, 3);
  const tally counted{hub};
  const std::array named{c.number, a.number, c.number};
  hub.notify_queues(named);
  hub.catch_up();
  CHECK(fence.released_by == values{1, 3});
  CHECK(counted.of(hub_event::pass) == 1);
  CHECK(counted.of(hub_event::log_release) == 2);
  CHECK(counted.of(hub_event::value_read) == 0);
  hub.notify_queues({});
  hub.catch_up();
  CHECK(counted.of(hub_event::pass) == 1);  // an empty set notifies nobody
}

TEST_CASE_TEMPLATE("[A114] a queue of style by_queue names itself, and its hub releases due waiters from its log",
                   Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  hub_stand at{hub};
  any_fence fence;
  const auto logged = hub.add(fence).fence;
  const auto dog = watch(fence);
  waiter waiting{[&] { return fence.wait(2); }};
  waiter for_progress{[&] { return at.own.wait(1); }};
  CHECK(waiting.falls_asleep());
  CHECK(for_progress.falls_asleep());
  at.queue.signal(logged, 1);
  hub.catch_up();
  CHECK_FALSE(waiting.has_returned());
  at.queue.signal(logged, 2);
  hub.catch_up();
  CHECK(waiting.status() == wait_status::reached);
  at.queue.complete();
  hub.catch_up();
  CHECK(for_progress.status() == wait_status::reached);
  CHECK(hub.count(hub_event::value_read) == 0);
}

TEST_CASE_TEMPLATE("[A79][A112][A117] the example: four signals, one notification, and all four entries are read",
                   Service, EVERY_SERVED) {
  counted_hub<Service> hub;
  hub_stand at{hub};
  any_fence f1;
  any_fence f2;
  const auto logged_1 = hub.add(f1).fence;
  const auto logged_2 = hub.add(f2).fence;
  const auto dog = watch(f1);
  constexpr std::uint64_t v1 = 1;
  constexpr std::uint64_t v2 = 2;
  constexpr std::uint64_t v3 = 7;
  auto tool = at.queue.signal_log();
  // Whatever the first three signals leave behind, no thread serves before the fourth.
  waiter f1_at_v1{[&] { return f1.wait(v1); }};
  waiter f1_at_v2{[&] { return f1.wait(v2); }};
  waiter f2_at_v3{[&] { return f2.wait(v3); }};
  waiter f2_later{[&] { return f2.wait(v3 + 1); }};
  for (auto* waiting : {&f1_at_v1, &f1_at_v2, &f2_at_v3, &f2_later}) CHECK(waiting->falls_asleep());
  at.queue.signal(logged_1, v1);
  at.queue.signal(logged_1, v2);
  CHECK(at.queue.signal(logged_2, v3));
  CHECK_FALSE(at.queue.signal(logged_2, v3));
  CHECK_FALSE(f1_at_v1.has_returned());
  const tally counted{hub};
  hub.notify_queue(at.number);
  hub.catch_up();
  CHECK(counted.of(hub_event::pass) == 1);
  CHECK(counted.of(hub_event::log_release) == 4);
  CHECK(counted.of(hub_event::value_read) == 0);
  CHECK(f1_at_v1.status() == wait_status::reached);
  CHECK(f1_at_v2.status() == wait_status::reached);
  CHECK(f2_at_v3.status() == wait_status::reached);
  CHECK(f2.monitored_value() == v3);
  CHECK_FALSE(f2_later.has_returned());
  const auto found = read_all(tool);
  CHECK(found.values() == values{v1, v2, v3, v3});
  CHECK(found.entries[1].fence == logged_1.id);
  CHECK(found.entries[3].fence == logged_2.id);
  f2.signal(v3 + 1);
}

TEST_CASE("[A117] the example where only the fourth signal finds a waiter due") {
  counted_hub<self_serving> hub;
  hub_stand at{hub};
  probe f1;
  probe f2;
  const auto logged_1 = hub.add(f1).fence;
  const auto logged_2 = hub.add(f2).fence;
  f1.due = f2.due = false;
  at.queue.signal(logged_1, 1);
  at.queue.signal(logged_1, 2);
  at.queue.signal(logged_2, 3);
  CHECK(hub.count(hub_event::pass) == 0);
  f2.due = true;
  at.queue.signal(logged_2, 3);
  CHECK(hub.count(hub_event::pass) == 1);
  CHECK(hub.count(hub_event::log_release) == 4);
  CHECK(f1.released_by == values{1, 2});
  CHECK(f2.released_by == values{3, 3});
  CHECK(f1.released + f2.released == 0);
}

TEST_CASE_TEMPLATE("[A110] the logs of all queues say which queue it was that signalled, and when", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  hub_stand a{hub, notify_style::by_fence};
  hub_stand b{hub, notify_style::by_fence};
  any_fence fence;
  const auto logged = hub.add(fence).fence;
  const auto dog = watch(fence);
  std::array logs{a.queue.signal_log(), b.queue.signal_log()};
  waiter waiting{[&] { return fence.wait(2); }};
  CHECK(waiting.falls_asleep());
  a.queue.signal(logged, 1);
  const std::uint64_t before = ticking_clock::ticks;
  b.queue.signal(logged, 2);
  hub.catch_up();
  CHECK(waiting.status() == wait_status::reached);
  CHECK(hub.count(hub_event::log_release) == 0);
  CHECK(hub.count(hub_event::value_read) >= 1);
  const auto of_a = read_all(logs[0]);
  const auto of_b = read_all(logs[1]);
  CHECK(of_a.values() == values{1});
  REQUIRE(of_b.values() == values{2});
  CHECK(of_b.entries[0].fence == logged.id);
  CHECK(of_b.entries[0].end_timestamp > before);
}

TEST_CASE_TEMPLATE("[A115][trap 23] an engine's queues are read when it is notified, and no other engine's", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  hub_stand a{hub, notify_style::by_queue, 84, tidemark::engine_id{1}};
  hub_stand b{hub, notify_style::by_queue, 84, tidemark::engine_id{2}};
  hub_stand c{hub, notify_style::by_queue, 84, tidemark::engine_id{1}};
  probe fence;
  const auto logged = hub.add(fence).fence;
  fence.due = false;
  a.queue.signal(logged, 1);
  b.queue.signal(logged, 2);
  c.queue.signal(logged, 3);
  hub.notify_engine(tidemark::engine_id{1});
  hub.catch_up();
  CHECK(fence.released_by == values{1, 3});
  hub.notify_engine(tidemark::engine_id{5});
  hub.catch_up();
  CHECK(fence.released_by == values{1, 3});
  hub.notify_engine(tidemark::engine_id{2});
  hub.catch_up();
  CHECK(fence.released_by == values{1, 3, 2});
  CHECK(fence.released == 0);
  CHECK(hub.count(hub_event::value_read) == 0);
}

TEST_CASE_TEMPLATE("[A57][A112] entries of fences that the hub does not know, or no longer, release nobody", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  hub_stand at{hub};
  probe gone;
  probe heir;
  probe stranger;
  const auto logged = hub.add(gone).fence;
  gone.due = stranger.due = false;
  at.queue.signal(logged, 1);
  at.queue.signal(logged_fence{&stranger, fence_id{0}}, 1);
  hub.remove(logged.id);
  const auto after = hub.add(heir).fence;
  CHECK(after.id != logged.id);
  hub.notify_queue(at.number);
  hub.catch_up();
  CHECK(gone.released_by.empty());
  CHECK(heir.released_by.empty());
  CHECK(hub.count(hub_event::log_release) == 0);
}

TEST_CASE_TEMPLATE("[A92][A112] a hub reads a queue's log through its replacements", Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  hub_stand at{hub, notify_style::by_queue, 4};
  probe fence;
  const auto logged = hub.add(fence).fence;
  fence.due = false;
  for (const std::uint64_t value : values{1, 2, 3, 4}) at.queue.signal(logged, value);
  at.queue.enable_tracing(64);
  values expected{1, 2, 3, 4};
  for (std::uint64_t value = 5; value <= 40; ++value) {
    at.queue.signal(logged, value);
    expected.push_back(value);
  }
  hub.notify_queue(at.number);
  hub.catch_up();
  CHECK(fence.released_by == expected);
  CHECK(hub.count(hub_event::overrun) == 0);
}

// ---- lost entries ---------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE(
    "[A97][A99][A113][trap 19] a waiter whose entry was overwritten is released by the current value, and the gap is "
    "counted once",
    Service, EVERY_SERVED) {
  counted_hub<Service> hub;
  hub_stand at{hub, notify_style::by_queue, 4};
  any_fence fence;
  any_fence other;
  any_fence legacy;
  const auto logged = hub.add(fence).fence;
  const auto logged_other = hub.add(other).fence;
  CHECK(hub.add(legacy, fence_kind::legacy));
  const auto dog = watch(fence);
  waiter waiting{[&] { return fence.wait(1); }};
  waiter of_legacy{[&] { return legacy.wait(1); }};
  CHECK(waiting.falls_asleep());
  CHECK(of_legacy.falls_asleep());
  CHECK(legacy.publish(1));
  at.queue.signal(logged, 1);
  for (std::uint64_t value = 1; value <= 4 + 3; ++value) at.queue.signal(logged_other, value);
  CHECK_FALSE(waiting.has_returned());  // the dispatcher has not served yet
  hub.catch_up();
  CHECK(waiting.status() == wait_status::reached);
  CHECK(of_legacy.status() == wait_status::reached);  // a lost entry may have been of any fence
  CHECK(hub.count(hub_event::overrun) == 1);
  CHECK(hub.count(hub_event::value_read) == 4);  // as many as there are fences
  CHECK(hub.count(hub_event::log_release) == 4);
  CHECK(hub.count(hub_event::scan) == 0);

  hub.notify_queue(at.number);
  hub.catch_up();
  at.queue.signal(logged_other, 8);
  hub.notify_queue(at.number);
  hub.catch_up();
  CHECK(hub.count(hub_event::overrun) == 1);
  CHECK(hub.count(hub_event::value_read) == 4);
  CHECK(hub.count(hub_event::log_release) == 5);
}

TEST_CASE_TEMPLATE("[A98][A113] as many entries as the log has are served from it, one more is an overrun", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  hub_stand at{hub, notify_style::by_queue, 40};
  probe fence;
  const auto logged = hub.add(fence).fence;
  fence.due = false;
  for (std::uint64_t value = 1; value <= 40; ++value) at.queue.signal(logged, value);
  hub.notify_queue(at.number);
  hub.catch_up();
  CHECK(hub.count(hub_event::overrun) == 0);
  CHECK(fence.released_by.size() == 40);
  CHECK(fence.released == 0);
  for (std::uint64_t value = 41; value <= 81; ++value) at.queue.signal(logged, value);
  hub.notify_queue(at.number);
  hub.catch_up();
  CHECK(hub.count(hub_event::overrun) == 1);
  CHECK(fence.released_by.size() == 80);
  CHECK(fence.released_by.back() == 81);
  CHECK(fence.released == 1);
  CHECK(hub.count(hub_event::value_read) == 2);  // the queue's own progress fence is the other one
}

TEST_CASE_TEMPLATE("[A99][A115] an overrun of one queue leaves the others' entries to be served from their logs",
                   Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  hub_stand small{hub, notify_style::by_queue, 2, tidemark::engine_id{1}};
  hub_stand large{hub, notify_style::by_queue, 84, tidemark::engine_id{2}};
  probe fence;
  const auto logged = hub.add(fence).fence;
  fence.due = false;
  for (std::uint64_t value = 1; value <= 5; ++value) {
    small.queue.signal(logged, value);
    large.queue.signal(logged, 100 + value);
  }
  hub.notify_engine(tidemark::engine_id{1});
  hub.catch_up();
  CHECK(fence.released_by == values{4, 5});
  CHECK(hub.count(hub_event::overrun) == 1);
  hub.notify_engine(tidemark::engine_id{2});
  hub.catch_up();
  CHECK(fence.released_by == values{4, 5, 101, 102, 103, 104, 105});
  CHECK(hub.count(hub_event::overrun) == 1);
}

// ---- queues that go -------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("a queue that is removed is not read any more, and what was not served yet is served before",
                   Service, EVERY_SERVICE) {
  for (const fence_kind kind : {fence_kind::native, fence_kind::legacy}) {
    CAPTURE(static_cast<int>(kind));
    counted_hub<Service> hub;
    hub_stand at{hub};
    any_fence fence;
    const auto logged = hub.add(fence, kind).fence;
    const auto dog = watch(fence);
    waiter waiting{[&] { return fence.wait(1); }};
    CHECK(waiting.falls_asleep());
    at.queue.signal(logged, 1);
    hub.detach(at.number);
    hub.catch_up();
    CHECK(waiting.status() == wait_status::reached);
    const tally during{hub};
    hub.notify_engine(tidemark::engine_id{0});
    hub.catch_up();
    CHECK(during.of(hub_event::log_release) == 0);
    CHECK(during.of(hub_event::stale) == 0);
  }
}

TEST_CASE_TEMPLATE("the place of a removed queue is used again, under another id", Service, EVERY_SERVICE) {
  counted_hub<Service, 8, 2> hub;
  progress own;
  tidemark::basic_queue<progress, ticking_clock> queue{own, {.log_entries = 4}};
  std::vector<queue_id> ids;
  for (int round = 0; round < 5; ++round) {
    const auto first = hub.attach(queue.signal_log());
    const auto second = hub.attach(queue.signal_log());
    REQUIRE(first);
    REQUIRE(second);
    CHECK_FALSE(hub.attach(queue.signal_log()));
    for (const queue_id each : {first.queue, second.queue}) {
      CHECK(std::find(ids.begin(), ids.end(), each) == ids.end());
      ids.push_back(each);
      hub.notify_queue(each);
      hub.catch_up();
      hub.detach(each);
    }
  }
  CHECK(hub.count(hub_event::stale) == 0);
}

// ---- what it costs --------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE(
    "[A7][A107][A118] a signal that nobody waits for costs one light barrier, with a hub and its log too", Service,
    EVERY_SERVICE) {
  if (!progress::platform::heavy_barrier_available()) return;
  counted_hub<Service> hub;
  hub_stand at{hub};
  auto tool = at.queue.signal_log();
  const meter<stepping_platform> during;
  for (unsigned n = 0; n < 84; ++n) at.queue.complete();
  CHECK(during.light_barriers() == 84);
  CHECK(during.full_barriers() + during.heavy_barriers() == 0);
  CHECK(during.parks() + during.unparks() == 0);
  CHECK(hub.count(hub_event::pass) == 0);
  CHECK(read_all(tool).entries.size() == 84);
}

TEST_CASE("[A107][A112] serving a queue's log costs one barrier for each read, not for each entry") {
  counted_hub<dispatched> hub;
  hub_stand at{hub};
  for (unsigned n = 0; n < 16; ++n) at.queue.complete();
  hub.notify_queue(at.number);
  const meter<stepping_platform> during;
  CHECK(hub.try_serve());
  CHECK(hub.count(hub_event::log_release) == 16);
  CHECK(during.full_barriers() == 1);
  CHECK(during.heavy_barriers() == 0);
}
