// SPDX-License-Identifier: BSL-1.0
//
// hub: what each form of notification does, fence by fence, and how notifications coalesce.
// What a hub reads from the logs of queues is in hub_queues.cpp, how a hub is served in hub_services.cpp, removal and
// old ids in hub_release.cpp, races in hub_stress.cpp.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <tidemark/hub/hub.hpp>

#include "support/hubs.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::fence_kind;
using tidemark::fence_update;
using tidemark::no_waiter;
using tidemark::wait_status;

namespace {

/// Probes in a hub.
template <class Hub>
struct probes {
  explicit probes(Hub& hub, std::size_t count) : all(count) {
    for (auto& one : all) ids.push_back(hub.add(one).fence.id);
  }
  /// How often each was released by its current value.
  std::vector<unsigned> released() const {
    std::vector<unsigned> times;
    for (const auto& one : all) times.push_back(one.released);
    return times;
  }

  std::deque<probe> all;
  std::vector<fence_id> ids;
};

using times = std::vector<unsigned>;

}  // namespace

// ---- these fences ---------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A55][A56] a notification for a set of fences touches these and no others", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  probes fences{hub, 6};
  const std::array three{fences.ids[0], fences.ids[3], fences.ids[5]};
  hub.notify(three);
  hub.catch_up();
  CHECK(fences.released() == times{1, 0, 0, 1, 0, 1});
  CHECK(hub.count(hub_event::value_read) == 3);
  CHECK(hub.count(hub_event::scan) == 0);
  hub.notify(fences.ids[1]);
  hub.catch_up();
  CHECK(fences.released() == times{1, 1, 0, 1, 0, 1});
  CHECK(hub.count(hub_event::value_read) == 4);
}

TEST_CASE_TEMPLATE("[A55] a notification for three fences releases the threads that wait for them, and no other",
                   Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  std::deque<any_fence> fences(4);
  const auto dog = watch(fences[0]);
  std::vector<fence_id> ids;
  std::deque<waiter> waiters;
  for (auto& fence : fences) {
    ids.push_back(hub.add(fence).fence.id);
    waiters.emplace_back([&fence] { return fence.wait(1); });
    CHECK(waiters.back().falls_asleep());
  }
  for (auto& fence : fences) CHECK(fence.publish(1));  // without a notification
  hub.notify(std::span{ids}.first(3));
  hub.catch_up();
  for (std::size_t n = 0; n < 3; ++n) {
    CHECK(fences[n].monitored_value() == no_waiter);
    CHECK(waiters[n].status() == wait_status::reached);
  }
  CHECK(fences[3].monitored_value() == 0);
  CHECK_FALSE(waiters[3].has_returned());
  fences[3].release_due();
}

TEST_CASE_TEMPLATE("[A18] a notification for a fence whose waiters are not due releases nobody", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  any_fence fence;
  const auto dog = watch(fence);
  const auto logged = hub.add(fence).fence;
  waiter waiting{[&] { return fence.wait(2); }};
  CHECK(waiting.falls_asleep());
  CHECK(fence.publish(1));
  hub.notify(logged.id);
  hub.notify_all(true);
  hub.catch_up();
  CHECK(fence.monitored_value() == 1);
  CHECK_FALSE(waiting.has_returned());
  fence.signal(2);
}

TEST_CASE_TEMPLATE("[A55] an empty set notifies nobody, and causes no pass", Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  probes fences{hub, 3};
  hub.notify(std::span<const fence_id>{});
  hub.signal_batch({});
  hub.catch_up();
  CHECK(hub.count(hub_event::pass) == 0);
  CHECK(fences.released() == times{0, 0, 0});
}

TEST_CASE_TEMPLATE("[A56] fences in every word of the marks are found", Service, EVERY_SERVICE) {
  const auto hub = std::make_unique<counted_hub<Service, 256>>();
  probes fences{*hub, 200};
  for (const std::size_t chosen :
       {std::size_t{0}, std::size_t{63}, std::size_t{64}, std::size_t{127}, std::size_t{199}}) {
    hub->notify(fences.ids[chosen]);
    hub->catch_up();
    for (std::size_t n = 0; n < 200; ++n) CHECK(fences.all[n].released == (n == chosen ? 1 : 0));
    fences.all[chosen].released = 0;
  }
}

// ---- all fences -----------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A58][A60] without a set, a waiter on any fence is found", Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  std::deque<any_fence> fences(8);
  const auto dog = watch(fences[0]);
  for (auto& fence : fences) CHECK(hub.add(fence));
  for (auto& fence : fences) {
    waiter waiting{[&fence] { return fence.wait(1); }};
    CHECK(waiting.falls_asleep());
    CHECK(fence.publish(1));
    hub.notify_all();
    hub.catch_up();
    CHECK(waiting.status() == wait_status::reached);
  }
  CHECK(hub.count(hub_event::scan) == 8);
  CHECK(hub.count(hub_event::value_read) == 64);
}

TEST_CASE_TEMPLATE("[A62][A63][trap 23] legacy fences are scanned with the flag only", Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  probe native;
  probe legacy;
  CHECK(hub.add(native));
  const auto logged = hub.add(legacy, fence_kind::legacy).fence;
  hub.notify_all();
  hub.catch_up();
  CHECK(native.released == 1);
  CHECK(legacy.released == 0);
  CHECK(hub.count(hub_event::value_read) == 1);
  hub.notify_all(true);
  hub.catch_up();
  CHECK(native.released == 2);
  CHECK(legacy.released == 1);
  hub.notify_all();
  hub.catch_up();
  CHECK(native.released == 3);
  CHECK(legacy.released == 1);
  hub.notify(logged.id);  // a legacy fence that is named is served like any other
  hub.catch_up();
  CHECK(legacy.released == 2);
}

TEST_CASE_TEMPLATE("[A62][A63] a legacy waiter sleeps through a scan without the flag, and not through one with it",
                   Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  any_fence legacy;
  const auto dog = watch(legacy);
  CHECK(hub.add(legacy, fence_kind::legacy));
  waiter waiting{[&] { return legacy.wait(1); }};
  CHECK(waiting.falls_asleep());
  CHECK(legacy.publish(1));
  hub.notify_all();
  hub.catch_up();
  CHECK(legacy.monitored_value() == 0);
  CHECK_FALSE(waiting.has_returned());
  hub.notify_all(true);
  hub.catch_up();
  CHECK(waiting.status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A62] the next fence in a slot does not inherit the kind of a removed one", Service,
                   EVERY_SERVICE) {
  counted_hub<Service, 1> hub;
  probe first;
  probe second;
  const auto logged = hub.add(first, fence_kind::legacy).fence;
  hub.remove(logged.id);
  CHECK(hub.add(second));
  hub.notify_all();
  hub.catch_up();
  CHECK(first.released == 0);
  CHECK(second.released == 1);
}

// ---- coalescing -----------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE(
    "[A59][trap 12] a thousand notifications that nobody serves become one scan, and no waiter is forgotten", Service,
    EVERY_SERVED) {
  counted_hub<Service> hub;
  std::deque<any_fence> fences(4);
  const auto dog = watch(fences[0]);
  std::deque<waiter> waiters;
  for (auto& fence : fences) {
    CHECK(hub.add(fence));
    waiters.emplace_back([&fence] { return fence.wait(250); });
    CHECK(waiters.back().falls_asleep());
  }
  for (std::uint64_t n = 0; n < 1000; ++n) {
    CHECK(fences[n % 4].publish(n / 4 + 1));
    hub.notify_all();
  }
  CHECK(hub.count(hub_event::scan) == 0);
  hub.catch_up();
  CHECK(hub.count(hub_event::scan) == 1);
  CHECK(hub.count(hub_event::pass) == 1);
  CHECK(hub.count(hub_event::value_read) == 4);
  for (auto& waiting : waiters) CHECK(waiting.status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A59] a thousand notifications for a fence that nobody serves become one look at the fence",
                   Service, EVERY_SERVED) {
  counted_hub<Service> hub;
  probes fences{hub, 3};
  for (unsigned n = 0; n < 1000; ++n) hub.notify(fences.ids[n % 2]);
  hub.catch_up();
  CHECK(fences.released() == times{1, 1, 0});
  CHECK(hub.count(hub_event::pass) == 1);
}

TEST_CASE_TEMPLATE("[A59][A63] scans coalesce to the wider one", Service, EVERY_SERVED) {
  counted_hub<Service> hub;
  probe legacy;
  CHECK(hub.add(legacy, fence_kind::legacy));
  hub.notify_all();
  hub.notify_all(true);
  hub.notify_all();
  hub.catch_up();
  CHECK(legacy.released == 1);
  CHECK(hub.count(hub_event::scan) == 1);
  hub.notify_all();
  hub.catch_up();
  CHECK(legacy.released == 1);
}

TEST_CASE_TEMPLATE(
    "[A59][A61][trap 12] a fence that is notified during a pass is served after the pass, also if the pass has already "
    "taken its mark",
    Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  probes fences{hub, 2};
  stepping_platform::at_full_barrier = [&] {  // the marks are taken, and no waiter is released yet
    CHECK(fences.released() == times{0, 0});
    hub.notify(fences.ids[0]);
    hub.notify(fences.ids[1]);
  };
  hub.notify(fences.ids[0]);
  hub.catch_up();
  CHECK(stepping_platform::at_full_barrier.has_run());
  CHECK(fences.released() == times{2, 1});
  CHECK(hub.count(hub_event::pass) == 2);
}

TEST_CASE_TEMPLATE("[A59][A61][trap 12] a scan that is asked for during a scan is made after it", Service,
                   EVERY_SERVICE) {
  counted_hub<Service> hub;
  probes fences{hub, 2};
  stepping_platform::at_full_barrier = [&] { hub.notify_all(); };
  hub.notify_all();
  hub.catch_up();
  CHECK(stepping_platform::at_full_barrier.has_run());
  CHECK(fences.released() == times{2, 2});
  CHECK(hub.count(hub_event::scan) == 2);
}

// ---- batches --------------------------------------------------------------------------------------------------------

TEST_CASE(
    "[A64] a batch of 64 signals costs its signaller no full barrier and, if anybody is due, one wake-up of the "
    "dispatcher") {
  const auto hub = std::make_unique<counted_hub<dispatched, 64>>();
  std::deque<progress> fences(64);
  std::vector<fence_update> updates;
  for (auto& fence : fences) updates.push_back({hub->add(fence).fence.id, 5});
  const auto dog = watch(fences[0]);
  {
    const meter<stepping_platform> during;
    hub->signal_batch(updates);
    CHECK(during.full_barriers() == 0);
    CHECK(during.heavy_barriers() == 0);
    CHECK(during.unparks() == 0);
    CHECK(hub->try_serve().status == tidemark::serve_status::idle);
  }
  std::deque<waiter> waiters;
  for (const std::size_t n : {std::size_t{0}, std::size_t{31}, std::size_t{63}}) {
    waiters.emplace_back([&fence = fences[n]] { return fence.wait(6); });
    CHECK(waiters.back().falls_asleep());
  }
  for (auto& update : updates) update.value = 6;
  {
    const meter<stepping_platform> during;
    hub->signal_batch(updates);
    CHECK(during.full_barriers() == 0);
    CHECK(during.unparks() == 1);
    for (auto& update : updates) update.value = 7;
    hub->signal_batch(updates);
    CHECK(during.full_barriers() == 0);
    CHECK(during.unparks() == 1);  // the dispatcher has been rung already
  }
  {
    const meter<stepping_platform> during;
    CHECK(hub->try_serve());
    CHECK(during.full_barriers() == 1);
    // Words may share a condition variable. A waiter that is woken together with another one then sees its value and
    // leaves by itself.
    CHECK(during.unparks() <= 3);
    if (stepping_platform::wakes_without_lock) CHECK(during.unparks() == 3);
    CHECK(hub->count(hub_event::pass) == 1);
    CHECK(hub->count(hub_event::value_read) == (progress::platform::heavy_barrier_available() ? 3 : 64));
  }
  for (auto& waiting : waiters) CHECK(waiting.status() == wait_status::reached);
}

TEST_CASE_TEMPLATE(
    "[A64] a batch looks for due waiters only when all values are stored, serves their fences in one pass, and leaves "
    "the others alone",
    Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  probes fences{hub, 4};
  for (auto& one : fences.all) one.due = false;
  fences.all[0].at_look = [&] {
    for (auto& one : fences.all) CHECK(one.published == 9);
    fences.all[1].due = fences.all[3].due = true;
  };
  std::vector<fence_update> updates;
  for (const auto id : fences.ids) updates.push_back({id, 9});
  hub.signal_batch(updates);
  hub.catch_up();
  CHECK(fences.all[0].at_look.has_run());
  CHECK(fences.released() == times{0, 1, 0, 1});
  CHECK(hub.count(hub_event::pass) == 1);
}

TEST_CASE_TEMPLATE("[A64][trap 13] a batch may name a fence twice, or a value that the fence has already passed",
                   Service, EVERY_SERVICE) {
  counted_hub<Service> hub;
  any_fence fence{4};
  const auto dog = watch(fence);
  const auto logged = hub.add(fence).fence;
  waiter due_at_6{[&] { return fence.wait(6); }};
  CHECK(due_at_6.falls_asleep());
  const std::array updates{fence_update{logged.id, 6}, fence_update{logged.id, 5}, fence_update{logged.id, 3}};
  hub.signal_batch(updates);
  hub.catch_up();
  CHECK(fence.current_value() == 6);
  CHECK(due_at_6.status() == wait_status::reached);
}

// ---- who is there ---------------------------------------------------------------------------------------------------

TEST_CASE("a full hub says so, for fences and for queues, and has room again when a fence is removed") {
  counted_hub<self_serving, 4, 2> hub;
  probes fences{hub, 4};
  probe one_more;
  CHECK(hub.add(one_more).status == tidemark::hub_add_status::no_space);
  hub.notify_all();
  CHECK(one_more.released == 0);
  hub.remove(fences.ids[1]);
  CHECK(hub.add(one_more).status == tidemark::hub_add_status::added);
  hub.notify_all();
  CHECK(one_more.released == 1);
  CHECK(fences.released() == times{2, 1, 2, 2});

  progress own;
  tidemark::basic_queue queue{own};
  CHECK(hub.attach(queue.signal_log()).queue == queue_id{0});
  CHECK(hub.attach(queue.signal_log()).queue == queue_id{1});
  CHECK(hub.attach(queue.signal_log()).status == tidemark::hub_attach_status::no_space);
}

// Of one thread, and slow under ThreadSanitizer, which knows no thread fences.
TEST_CASE("[A57] however many fences come and go, each fence in the hub has an id of its own, and is served under it" *
          doctest::skip(!tidemark::native_platform::has_thread_fences)) {
  // So many fences that the ids of one slot are used up: of the 2^32 ids each of 2^16 slots has 2^16.
  constexpr std::size_t places = 65'536;
  const auto hub = std::make_unique<counted_hub<self_serving, places>>();
  fence_id last{};
  unsigned mistakes = 0;
  for (unsigned n = 0; n < 66'000; ++n) {
    probe one;
    const auto added = hub->add(one);
    const fence_id id = added.fence.id;
    if (!added || id == last || to_number(id) % places != 0) {
      ++mistakes;
      continue;
    }
    if (n % 1000 == 0) hub->notify(id);
    if (n % 1000 == 0 && one.released != 1) ++mistakes;
    hub->remove(id);
    last = id;
  }
  CHECK(mistakes == 0);
}
