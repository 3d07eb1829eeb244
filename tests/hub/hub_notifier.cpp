// SPDX-License-Identifier: BSL-1.0
//
// How a queue is wired to a hub and tells it of its signals: attach(), and the styles of notification, which wake the
// same waiters.
#include <doctest/doctest.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <tidemark/hub/hub.hpp>
#include <tidemark/hub/hub_notifier.hpp>

#include "support/hubs.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::fence_kind;
using tidemark::hub_attach_status;
using tidemark::no_waiter;
using tidemark::notify_style;
using tidemark::wait_status;

using values = std::vector<std::uint64_t>;

// ---- both ways alike ------------------------------------------------------------------------------------------------

namespace {

/// Signals in one style, by a script that the seed makes. Returns what each fence's least waiter was after each
/// signal.
template <class Service>
std::string wake_ups(notify_style style, std::uint64_t seed, fence_kind kind) {
  counted_hub<Service> hub;
  hub_stand at{hub, style};
  std::deque<any_fence> fences(3);
  const auto dog = watch(fences[0]);
  std::vector<logged_fence<any_fence>> logged;
  std::deque<waiter> waiters;
  for (auto& fence : fences) {
    logged.push_back(hub.add(fence, kind).fence);
    for (const std::uint64_t target : values{2, 5}) {
      waiters.emplace_back([&fence, target] { return fence.wait(target); });
      CHECK(waiters.back().falls_asleep());
    }
  }
  random_numbers random{seed};
  std::string script;
  for (unsigned step = 0; step < 40; ++step) {
    at.queue.signal(logged.at(random.below(std::size_t{3})), random.below(7));
    hub.catch_up();
    for (const auto& fence : fences) {
      const std::uint64_t least = fence.monitored_value();
      script += least == no_waiter ? "-" : std::to_string(least);
    }
    script += ' ';
  }
  for (auto& fence : fences) {
    fence.signal(9);
    fence.release_due();
  }
  for (auto& waiting : waiters) CHECK(waiting.status() == wait_status::reached);
  return script;
}

}  // namespace

TEST_CASE_TEMPLATE("[A110][A114][A116] in every style of notification the same waiters wake at the same signals",
                   Service, EVERY_SERVICE) {
  const auto seed = fresh_seed();
  const auto by_queue = wake_ups<Service>(notify_style::by_queue, seed, fence_kind::native);
  CHECK(by_queue.find('1') != std::string::npos);
  CHECK(wake_ups<Service>(notify_style::by_fence, seed, fence_kind::native) == by_queue);
  CHECK(wake_ups<Service>(notify_style::by_scan, seed, fence_kind::native) == by_queue);
}

TEST_CASE_TEMPLATE(
    "[A61][A63][A116] legacy waiters wake at the same signals too, although a scan without the flag would miss them",
    Service, EVERY_SERVICE) {
  const auto seed = fresh_seed();
  const auto by_queue = wake_ups<Service>(notify_style::by_queue, seed, fence_kind::legacy);
  CHECK(wake_ups<Service>(notify_style::by_fence, seed, fence_kind::legacy) == by_queue);
  CHECK(wake_ups<Service>(notify_style::by_scan, seed, fence_kind::legacy) == by_queue);
}

// ---- attach ---------------------------------------------------------------------------------------------------------

namespace {

template <class Hub>
using queue_of = tidemark::basic_queue<progress, ticking_clock, tidemark::hub_notifier<typename Hub::base>>;

}  // namespace

TEST_CASE_TEMPLATE("[A54][A114] one call wires a queue to a hub: its waiters, and those for its progress, are released",
                   Service, EVERY_SERVICE) {
  using hub_type = counted_hub<Service>;
  hub_type hub;
  progress own;
  queue_of<hub_type> queue{own};
  const auto attached = hub.attach(queue);
  REQUIRE(attached.status == hub_attach_status::attached);
  CHECK(queue.progress().fence == &own);
  CHECK(queue.progress().id == attached.progress.value());
  any_fence fence;
  const auto logged = hub.add(fence).fence;
  const auto dog = watch(fence);
  auto log = queue.signal_log();
  waiter for_fence{[&] { return fence.wait(5); }};
  waiter for_progress{[&] { return own.wait(1); }};
  CHECK(for_fence.falls_asleep());
  CHECK(for_progress.falls_asleep());
  queue.signal(logged, 5);
  queue.complete();
  hub.catch_up();
  CHECK(for_fence.status() == wait_status::reached);
  CHECK(for_progress.status() == wait_status::reached);
  CHECK(hub.count(hub_event::value_read) == 0);
  CHECK(hub.count(hub_event::stale) == 0);
  const auto found = read_all(log);
  REQUIRE(found.entries.size() == 2);
  CHECK(found.entries[1].fence == attached.progress.value());
}

TEST_CASE("[A111] each queue that is attached has an id of its own, under which it can be notified") {
  counted_hub<self_serving> hub;
  hub_stand a{hub};
  hub_stand b{hub};
  CHECK(a.number != b.number);
  probe fence;
  const auto logged = hub.add(fence).fence;
  fence.due = false;
  a.queue.signal(logged, 1);
  b.queue.signal(logged, 2);
  hub.notify_queue(b.number);
  CHECK(fence.released_by == values{2});
  hub.notify_queue(a.number);
  CHECK(fence.released_by == values{2, 1});
}

TEST_CASE("a hub without space for a queue, or for its progress fence, attaches neither") {
  using hub_type = counted_hub<self_serving, 2, 1>;
  progress first_own;
  progress second_own;
  queue_of<hub_type> first{first_own, {.progress = fence_id{91}}};
  queue_of<hub_type> second{second_own, {.progress = fence_id{92}}};
  {
    hub_type hub;
    probe one;
    probe other;
    CHECK(hub.add(one));
    CHECK(hub.add(other));
    const auto refused = hub.attach(first);
    CHECK(refused.status == hub_attach_status::no_space);
    CHECK_FALSE(refused.progress.has_value());
    CHECK(first.progress().id == fence_id{91});
    hub.notify_engine(tidemark::engine_id{0});  // no queue has come in
    CHECK(hub.count(hub_event::log_release) == 0);
  }
  {
    hub_type hub;
    CHECK(hub.attach(first));
    CHECK(hub.attach(second).status == hub_attach_status::no_space);
    CHECK(second.progress().id == fence_id{92});
    probe last;
    CHECK(hub.add(last));  // the place that the refused queue's progress would have taken
  }
}

TEST_CASE("[A115] a queue with another notifier keeps it, and is read when its engine is notified") {
  counted_hub<self_serving> hub;
  progress own;
  tidemark::basic_queue<progress, ticking_clock> queue{own};
  CHECK(hub.attach(queue, {.engine = tidemark::engine_id{4}}));
  any_fence fence;
  const auto logged = hub.add(fence).fence;
  const auto dog = watch(fence);
  waiter waiting{[&] { return fence.wait(1); }};
  CHECK(waiting.falls_asleep());
  queue.signal(logged, 1);
  CHECK(waiting.status() == wait_status::reached);
  CHECK(hub.count(hub_event::pass) == 0);
  hub.notify_engine(tidemark::engine_id{4});
  CHECK(hub.count(hub_event::log_release) == 1);
}

TEST_CASE("a queue whose progress is a timeline of the program's own is attached without it") {
  using hub_type = tidemark::hub;
  hub_type hub;
  user_timeline own;
  tidemark::basic_queue<user_timeline, ticking_clock, tidemark::hub_notifier<hub_type>> queue{
      own, {.progress = fence_id{50}}};
  const auto attached = hub.attach(queue);
  REQUIRE(attached);
  CHECK_FALSE(attached.progress.has_value());
  CHECK(queue.progress().id == fence_id{50});
  tidemark::fence fence;
  const auto logged = hub.add(fence).fence;
  const auto dog = watch(fence);
  waiter for_fence{[&] { return fence.wait(1); }};
  waiter for_progress{[&] { return queue.wait_finished(1); }};
  queue.signal(logged, 1);
  CHECK(for_fence.status() == wait_status::reached);
  queue.complete();
  CHECK(for_progress.status() == wait_status::reached);
  CHECK(hub.count(hub_event::stale) == 0);
  hub.notify_queue(attached.queue);
  CHECK(hub.count(hub_event::skipped) == 1);  // the entry of the progress, which the hub does not know
}

TEST_CASE("a queue may be destroyed before its hub once its progress fence is removed") {
  counted_hub<self_serving> hub;
  probe fence;
  const auto logged = hub.add(fence).fence;
  fence.due = false;
  {
    hub_stand at{hub};
    at.queue.signal(logged, 3);
    hub.remove(at.progress_id);
  }
  hub.notify_queue(queue_id{0});
  CHECK(fence.released_by == values{3});  // what the queue had logged is served
  hub.notify_all();
  CHECK(hub.count(hub_event::stale) == 0);
}
