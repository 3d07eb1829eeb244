// SPDX-License-Identifier: BSL-1.0
//
// hub: the devices that fences and queues belong to, and what an overrun looks at.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include <tidemark/hub/hub.hpp>

#include "support/hubs.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::device_id;
using tidemark::fence_kind;
using tidemark::notify_style;
using tidemark::wait_status;

namespace {

constexpr device_id first{1};
constexpr device_id second{4'000'000'000};

/// The test notifies the hub itself.
struct tells_nobody {
  template <class Fence>
  void operator()(const logged_fence<Fence>&) const noexcept {}
};
template <class Progress = progress>
using quiet_queue = tidemark::basic_queue<Progress, ticking_clock, tells_nobody>;

/// Attaches a queue of this device with a small log.
template <class Hub>
struct stand_of_device {
  using queue_type = tidemark::basic_queue<progress, ticking_clock, tidemark::hub_notifier<typename Hub::base>>;

  stand_of_device(Hub& hub, device_id device, std::size_t entries = 2) : queue{own, {.log_entries = entries}} {
    const auto attached = hub.attach(queue, {.device = device});
    REQUIRE(attached);
    number = attached.queue;
  }
  void overrun(const logged_fence<probe>& with) {
    for (std::uint64_t value = 1; value <= 5; ++value) queue.signal(with, value);
  }

  progress own;
  queue_type queue;
  queue_id number{};
};

}  // namespace

TEST_CASE_TEMPLATE("[A99][A113] an overrun looks at the fences of the queue's device, and at no other", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  stand_of_device at{hub, first};
  stand_of_device other{hub, second};
  std::deque<probe> own(3);
  std::deque<probe> strange(2);
  probe legacy;
  std::vector<logged_fence<probe>> known;
  for (probe& each : own) known.push_back(hub.add(each, {.device = first}).fence);
  for (probe& each : strange) CHECK(hub.add(each, {.device = second}));
  CHECK(hub.add(legacy, {.kind = fence_kind::legacy, .device = first}));
  own[0].due = false;
  at.overrun(known[0]);
  hub.notify_queue(at.number);
  hub.catch_up();
  CHECK(hub.count(hub_event::overrun) == 1);
  CHECK(hub.count(hub_event::value_read) == 3 + 1 + 1);  // with the legacy one and the progress of the queue
  for (const probe& each : own) CHECK(each.released == 1);
  for (const probe& each : strange) CHECK(each.released == 0);
  CHECK(legacy.released == 1);

  hub.notify_all(true);  // which still means all
  hub.catch_up();
  for (const probe& each : strange) CHECK(each.released == 1);
  CHECK(hub.count(hub_event::scan) == 1);
  CHECK(hub.count(hub_event::value_read) == 5 + 8);
}

TEST_CASE("[A99][A113] fences and queues of which nothing is said belong to one device") {
  counted_hub<self_serving> hub;
  hub_stand at{hub, notify_style::by_queue, 2};
  stand_of_device other{hub, device_id{0}};
  probe by_kind;
  probe by_options;
  const auto known = hub.add(by_kind, fence_kind::native).fence;
  CHECK(hub.add(by_options, {.kind = fence_kind::legacy}));
  by_kind.due = false;
  for (std::uint64_t value = 1; value <= 5; ++value) at.queue.signal(known, value);
  hub.notify_queue(at.number);
  CHECK(hub.count(hub_event::value_read) == 4);
  CHECK(by_kind.released == 1);
  CHECK(by_options.released == 1);
}

TEST_CASE("[A99][A113] a queue that is attached by its log alone has a device, too") {
  counted_hub<self_serving> hub;
  progress own;
  quiet_queue<> queue{own, {.log_entries = 2}};
  const auto attached = hub.attach(queue.signal_log(), {}, second);
  REQUIRE(attached);
  probe of_first;
  probe of_second;
  CHECK(hub.add(of_first, {.device = first}));
  const auto known = hub.add(of_second, {.device = second}).fence;
  of_second.due = false;
  for (std::uint64_t value = 1; value <= 3; ++value) queue.signal(known, value);
  hub.notify_queue(attached.queue);
  CHECK(of_first.released == 0);
  CHECK(of_second.released == 1);
}

namespace {

using looking = looking_platform<tidemark::native_platform>;

/// Returns how many words a pass looks at that has lost entries of a device with two fences, in a hub with so many
/// others.
template <std::size_t Fences>
std::uint64_t looks_of_overrun(std::size_t others) {
  tidemark::basic_hub<looking, dispatched, Fences, 2> hub;
  tidemark::basic_progress_fence<looking> own;
  quiet_queue<tidemark::basic_progress_fence<looking>> queue{own, {.log_entries = 2}};
  const auto attached = hub.attach(queue.signal_log(), {}, first);
  REQUIRE(attached);
  std::deque<probe> of_device(2);
  std::deque<probe> strange(others);
  logged_fence<probe> known{};
  for (std::size_t n = 0; n < std::max<std::size_t>(others, 2); ++n) {
    if (n < 2) known = hub.add(of_device[n], {.device = first}).fence;
    if (n < others) CHECK(hub.add(strange[n], {.device = second}));
  }
  for (std::uint64_t value = 1; value <= 4; ++value) queue.signal(known, value);
  hub.notify_queue(attached.queue);
  looking::looks = 0;
  CHECK(hub.try_serve());
  CHECK(hub.count(hub_event::overrun) == 1);
  CHECK(hub.count(hub_event::value_read) == 2);
  return looking::looks;
}

}  // namespace

TEST_CASE("[A113] an overrun costs in proportion to the fences of the device, not to those of the hub") {
  const std::uint64_t alone = looks_of_overrun<2>(0);
  CHECK(looks_of_overrun<64>(0) == alone);
  CHECK(looks_of_overrun<64>(1) == alone);
  CHECK(looks_of_overrun<64>(62) == alone);
}

TEST_CASE_TEMPLATE(
    "[A61][A99] a waiter for a fence of another device is released, though the entry of its signal was overwritten",
    Service, EVERY_SERVED) {
  counted_hub<Service> hub;
  stand_of_device at{hub, first};
  any_fence strange;
  probe own;
  const auto known_strange = hub.add(strange, {.device = second}).fence;
  const auto known = hub.add(own, {.device = first}).fence;
  const auto dog = watch(strange);
  waiter waiting{[&] { return strange.wait(1); }};
  CHECK(waiting.falls_asleep());
  at.queue.signal(known_strange, 1);
  at.overrun(known);
  hub.catch_up();
  CHECK(waiting.status() == wait_status::reached);
}

TEST_CASE("[A113] many devices come and go, and one that stays keeps its fences") {
  tidemark::basic_hub<stepping_platform, dispatched, 2, 2> hub;
  // The hub is full when the one that stays comes.
  probe stays;
  probe stays_for_a_while;
  progress own;
  quiet_queue<> early{own, {.log_entries = 2}};
  std::array<tidemark::queue_id, 2> early_ids{};
  for (std::uint32_t i = 0; i < 2; ++i) {
    const auto attached = hub.attach(early.signal_log(), {}, device_id{300 + i});
    REQUIRE(attached);
    early_ids[i] = attached.queue;
  }
  const auto other = hub.add(stays_for_a_while, {.device = device_id{400}});
  REQUIRE(other);
  REQUIRE(hub.add(stays, {.device = first}));
  hub.remove(other.fence.id);
  for (const tidemark::queue_id id : early_ids) hub.detach(id);
  for (std::uint32_t number = 2; number < 50; ++number) {
    quiet_queue<> queue{own, {.log_entries = 2}};
    probe goes;
    const auto added = hub.add(goes, {.device = device_id{number}});
    const auto attached = hub.attach(queue.signal_log(), {}, device_id{100 + number});
    REQUIRE(added);
    REQUIRE(attached);
    hub.remove(added.fence.id);
    hub.detach(attached.queue);
    while (hub.try_serve()) continue;
  }
  for (const device_id device : {device_id{200}, device_id{201}, first}) {
    progress finished;
    quiet_queue<> queue{finished, {.log_entries = 2}};
    const auto attached = hub.attach(queue.signal_log(), {}, device);
    REQUIRE(attached);
    stays.released = 0;
    for (std::uint64_t value = 1; value <= 3; ++value) queue.complete();
    hub.notify_queue(attached.queue);
    while (hub.try_serve()) continue;
    CHECK(stays.released == (device == first ? 1U : 0U));
    hub.detach(attached.queue);
    while (hub.try_serve()) continue;
  }
}

TEST_CASE("[A99][A113] devices come and go with their fences and queues") {
  random_numbers random{fresh_seed()};
  constexpr std::size_t most = 8;
  tidemark::basic_hub<stepping_platform, dispatched, most, 4> hub;
  struct member {
    probe fence;
    tidemark::fence_id id{};
    device_id device{};
  };
  struct lane {
    explicit lane(device_id of) : device{of} {}
    progress own;
    quiet_queue<> queue{own, {.log_entries = 2}};
    device_id device;
    queue_id id{};
  };
  std::deque<std::optional<member>> members(most);
  std::deque<std::optional<lane>> lanes(4);
  const auto any_device = [&] { return device_id{static_cast<std::uint32_t>(random.below(5U)) * 1'000'000'000U}; };
  for (int step = 0; step < 3'000; ++step) {
    auto& one = members[random.below(most)];
    if (one) {
      hub.remove(one->id);
      one.reset();
    } else {
      one.emplace().device = any_device();
      const auto added = hub.add(one->fence, {.device = one->device});
      REQUIRE(added);
      one->id = added.fence.id;
    }
    auto& used = lanes[random.below(lanes.size())];
    if (!used) {
      used.emplace(any_device());
      const auto attached = hub.attach(used->queue.signal_log(), {}, used->device);
      REQUIRE(attached);
      used->id = attached.queue;
    } else if (random.below(4U) == 0) {
      hub.detach(used->id);
      while (hub.try_serve()) continue;
      used.reset();
      continue;
    }
    for (auto& each : members) {
      if (each) each->fence.released = 0;
    }
    for (std::uint64_t value = 1; value <= 3; ++value) used->queue.complete();
    hub.notify_queue(used->id);
    while (hub.try_serve()) continue;
    for (const auto& each : members) {
      if (each) REQUIRE(each->fence.released == (each->device == used->device ? 1U : 0U));
    }
  }
}
