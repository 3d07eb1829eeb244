// SPDX-License-Identifier: BSL-1.0
//
// The services of a hub: which thread serves its notifications, and how that thread is told.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <thread>
#include <type_traits>
#include <utility>

#include <tidemark/hub/hub.hpp>

#include "support/hubs.hpp"
#include "support/manual_stop.hpp"
#include "support/readable.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::serve_status;
using tidemark::wait_status;

namespace {

template <class Hub>
concept can_be_served = requires(Hub hub) { hub.try_serve(); };
template <class Hub>
concept can_be_waited_for = requires(Hub hub) { hub.serve(); };

struct of_two_minds {
  static constexpr bool serves_itself = true;
  static constexpr bool has_thread = true;
};
static_assert(tidemark::hub_service<self_serving> && tidemark::hub_service<dispatched>);
static_assert(tidemark::hub_service<event_driven>);
static_assert(!tidemark::hub_service<of_two_minds>);

constexpr auto long_ago = tidemark::deadline{} + std::chrono::seconds{1};

}  // namespace

TEST_CASE("each service offers the ways to serve that can work, and no others") {
  CHECK_FALSE(can_be_served<counted_hub<self_serving>>);
  CHECK_FALSE(can_be_waited_for<counted_hub<self_serving>>);
  CHECK(can_be_served<counted_hub<dispatched>>);
  CHECK(can_be_waited_for<counted_hub<dispatched>>);
  CHECK(can_be_served<counted_hub<event_driven>>);
  CHECK_FALSE(can_be_waited_for<counted_hub<event_driven>>);  // nothing would wake a thread that sleeps there
}

// ---- self_serving ---------------------------------------------------------------------------------------------------

TEST_CASE("a notifier that finds nobody serving has served when it returns") {
  counted_hub<self_serving> hub;
  any_fence fence;
  const auto dog = watch(fence);
  const auto logged = hub.add(fence).fence;
  waiter waiting{[&] { return fence.wait(1); }};
  CHECK(waiting.falls_asleep());
  CHECK(fence.publish(1));
  hub.notify(logged.id);
  CHECK(fence.monitored_value() == tidemark::no_waiter);
  CHECK(waiting.status() == wait_status::reached);
}

namespace {

/// A fence whose release waits until the test lets it go on.
struct gate : probe {
  std::size_t release_due_after_barrier() noexcept {
    ++arrived;
    await([this] { return open.load(); });
    ++passed;
    return 0;
  }
  using probe::release_due_after_barrier;

  std::atomic<unsigned> arrived{0};
  std::atomic<unsigned> passed{0};
  std::atomic<bool> open{false};
};

}  // namespace

TEST_CASE("[A59] a notifier that finds another thread serving leaves its notification to it, and does not wait") {
  counted_hub<self_serving> hub;
  gate busy;
  probe other;
  const watchdog dog{[&] { return state_of_hub(hub); }};
  const auto logged_busy = hub.add(busy).fence;
  const auto logged_other = hub.add(other).fence;
  background serving{[&] { hub.notify(logged_busy.id); }};
  await([&] { return busy.arrived == 1; });
  hub.notify(logged_other.id);
  CHECK_FALSE(serving.has_returned());
  busy.open = true;
  serving.join();
  CHECK(other.released == 1);
  CHECK(hub.count(hub_event::pass) == 2);
}

// ---- requests -------------------------------------------------------------------------------------------------------

namespace {

/// A platform whose 32-bit words count to 7 and begin anew, so that a count would wrap within a few steps.
struct wrapping_platform : tidemark::native_platform {
  using whole_word = tidemark::native_platform::atomic<std::uint32_t>;
  struct wrapping_word : whole_word {
    using whole_word::whole_word;
    std::uint32_t fetch_add(std::uint32_t value, std::memory_order) noexcept { return add(value); }
    std::uint32_t fetch_sub(std::uint32_t value, std::memory_order) noexcept { return add(0 - value); }

   private:
    std::uint32_t add(std::uint32_t value) noexcept {
      std::uint32_t seen = this->load(std::memory_order_relaxed);
      while (!this->compare_exchange_weak(seen, (seen + value) % 8, std::memory_order_seq_cst,
                                          std::memory_order_relaxed)) {
      }
      return seen;
    }
  };
  template <class T>
  using atomic =
      std::conditional_t<std::is_same_v<T, std::uint32_t>, wrapping_word, tidemark::native_platform::atomic<T>>;
};

template <class Service>
using wrapping_hub = tidemark::basic_hub<wrapping_platform, Service, 2, 1>;

}  // namespace

TEST_CASE_TEMPLATE("[A59][A61] however many notifications were left, one call serves them", Service, EVERY_SERVED) {
  for (unsigned times = 1; times <= 24; ++times) {
    wrapping_hub<Service> hub{make_service<Service>()};
    probe fence;
    const auto logged = hub.add(fence).fence;
    for (unsigned n = 0; n < times; ++n) hub.notify(logged.id);
    CHECK(hub.try_serve());
    CHECK(fence.released == 1);
    CHECK_FALSE(hub.try_serve());
  }
}

namespace {

/// A fence that notifies its hub of itself so many times during its first release.
template <class Hub>
struct asking : probe {
  std::size_t release_due_after_barrier() noexcept {
    if (++inside > deepest) deepest = inside;
    if (++released == 1) {
      for (unsigned n = 0; n < times; ++n) hub->notify(id);
    }
    --inside;
    return 0;
  }
  using probe::release_due_after_barrier;

  Hub* hub = nullptr;
  fence_id id{};
  unsigned times = 0;
  unsigned inside = 0;
  unsigned deepest = 0;
};

}  // namespace

TEST_CASE("[A59] however many notifications come during a pass, one thread serves, and makes one more pass") {
  for (unsigned times = 1; times <= 24; ++times) {
    wrapping_hub<self_serving> hub;
    asking<wrapping_hub<self_serving>> fence;
    fence.hub = &hub;
    fence.id = hub.add(fence).fence.id;
    fence.times = times;
    hub.notify(fence.id);
    CHECK(fence.deepest == 1);
    CHECK(fence.released == 2);
    CHECK(hub.count(hub_event::pass) == 2);
  }
}

// ---- dispatched -----------------------------------------------------------------------------------------------------

TEST_CASE("a dispatcher sleeps until there is something, serves it, and sleeps again") {
  counted_hub<dispatched> hub;
  std::deque<any_fence> fences(2);
  const auto dog = watch(fences[0]);
  std::deque<waiter> waiters;
  std::vector<fence_id> ids;
  for (auto& fence : fences) {
    ids.push_back(hub.add(fence).fence.id);
    waiters.emplace_back([&fence] { return fence.wait(1); });
    CHECK(waiters.back().falls_asleep());
  }
  std::atomic<bool> stops{false};
  background dispatcher{[&] {
    while (!stops) CHECK(hub.serve());
  }};
  for (std::size_t n = 0; n < 2; ++n) {
    CHECK(dispatcher.falls_asleep());
    CHECK(hub.count(hub_event::pass) == n);
    CHECK(fences[n].publish(1));
    hub.notify(ids[n]);
    CHECK(waiters[n].status() == wait_status::reached);
  }
  CHECK(dispatcher.falls_asleep());
  stops = true;
  hub.notify_all();
}

TEST_CASE("a dispatcher with a deadline says whether it has served anything") {
  counted_hub<dispatched> hub;
  probe fence;
  const auto logged = hub.add(fence).fence;
  CHECK_FALSE(hub.try_serve());
  CHECK(hub.serve_until(long_ago).status == serve_status::timeout);
  hub.notify(logged.id);
  CHECK(hub.serve_until(long_ago));
  CHECK(fence.released == 1);
  CHECK(hub.serve_until(long_ago).status == serve_status::timeout);
  hub.notify(logged.id);
  CHECK(hub.try_serve());
  CHECK(fence.released == 2);
  CHECK_FALSE(hub.try_serve());
}

TEST_CASE("a dispatcher may sleep for some time, or until a point of a clock, and says when that has passed") {
  counted_hub<dispatched> hub;
  probe fence;
  const auto logged = hub.add(fence).fence;
  CHECK(hub.try_serve().status == serve_status::idle);
  for (const auto limit : {std::chrono::nanoseconds{0}, std::chrono::nanoseconds{-5}, std::chrono::nanoseconds{1000}}) {
    CHECK(hub.serve_for(limit).status == serve_status::timeout);
    CHECK(hub.serve_until(std::chrono::steady_clock::now() + limit).status == serve_status::timeout);
    CHECK(hub.serve_until(std::chrono::system_clock::now() + limit).status == serve_status::timeout);
  }
  CHECK(hub.count(hub_event::pass) == 0);
  std::atomic<unsigned> served{0};
  background dispatcher{[&] {
    if (hub.serve_for(std::chrono::hours{1})) ++served;
    if (hub.serve_until(std::chrono::system_clock::now() + std::chrono::hours{1})) ++served;
  }};
  for (unsigned n = 1; n <= 2; ++n) {
    CHECK(dispatcher.falls_asleep());
    hub.notify(logged.id);
    await([&] { return served == n; });
    CHECK(fence.released == n);
  }
}

TEST_CASE("a stop ends a dispatcher's sleep, and what was asked for before is served") {
  counted_hub<dispatched> hub;
  probe fence;
  const auto logged = hub.add(fence).fence;
  manual_stop stop;
  std::atomic<serve_status> status{serve_status::served};
  background dispatcher{[&] { status = hub.serve(stop.get_token()).status; }};
  CHECK(dispatcher.falls_asleep());
  stop.request();
  dispatcher.join();
  CHECK(status == serve_status::stopped);
  CHECK(fence.released == 0);
  CHECK(hub.try_serve().status == serve_status::idle);

  hub.notify(logged.id);  // a notification comes before a stop
  CHECK(hub.serve(stop.get_token()).status == serve_status::served);
  CHECK(fence.released == 1);
  CHECK(hub.serve(stop.get_token()).status == serve_status::stopped);
  CHECK(hub.serve_for(std::chrono::hours{1}, stop.get_token()).status == serve_status::stopped);
  CHECK(hub.serve_until(long_ago, stop.get_token()).status == serve_status::stopped);
}

TEST_CASE("a dispatcher's loop ends by a stop, whatever is notified meanwhile, and nothing that came before is left") {
  for (unsigned round = 0; round < 200; ++round) {
    counted_hub<dispatched> hub;
    probe fence;
    const auto logged = hub.add(fence).fence;
    manual_stop stop;
    std::thread dispatcher{[&] {
      while (hub.serve(stop.get_token())) continue;
    }};
    for (unsigned n = 0; n < round % 8; ++n) hub.notify(logged.id);
    stop.request();
    dispatcher.join();
    CHECK((fence.released != 0) == (round % 8 != 0));
    CHECK_FALSE(hub.try_serve());
  }
}

TEST_CASE("[A59] a dispatcher is woken by the first notification since it served last, and by no other") {
  counted_hub<dispatched> hub;
  probe fence;
  const auto logged = hub.add(fence).fence;
  for (unsigned round = 0; round < 3; ++round) {
    const meter<stepping_platform> during;
    for (unsigned n = 0; n < 100; ++n) hub.notify(logged.id);
    hub.notify_all();
    CHECK(during.unparks() == 1);
    CHECK(hub.try_serve());
  }
}

// ---- event_driven ---------------------------------------------------------------------------------------------------

TEST_CASE("[A59] the descriptor is readable from the first notification until it is quiet") {
  counted_hub<event_driven> hub;
  probe fence;
  const auto logged = hub.add(fence).fence;
  CHECK_FALSE(is_readable(hub.service().descriptor()));
  for (unsigned round = 1; round <= 3; ++round) {
    hub.notify(logged.id);
    hub.notify(logged.id);
    CHECK(is_readable(hub.service().descriptor()));
    CHECK(fence.released == round - 1);
    hub.service().quiet();
    CHECK_FALSE(is_readable(hub.service().descriptor()));
    CHECK(hub.try_serve());
    CHECK(fence.released == round);
    CHECK_FALSE(is_readable(hub.service().descriptor()));
    CHECK_FALSE(hub.try_serve());
  }
}

TEST_CASE("[trap 12] a notification between quiet() and try_serve() is served by that call; a later one rings again") {
  counted_hub<event_driven> hub;
  probe fence;
  const auto logged = hub.add(fence).fence;
  hub.notify(logged.id);
  hub.service().quiet();
  hub.notify(logged.id);
  CHECK(hub.try_serve());
  CHECK(fence.released == 1);
  hub.notify(logged.id);
  CHECK(is_readable(hub.service().descriptor()));
  hub.catch_up();
  CHECK(fence.released == 2);
}

TEST_CASE("an event loop that sleeps in poll() is woken") {
  counted_hub<event_driven> hub;
  any_fence fence;
  const auto dog = watch(fence);
  const auto logged = hub.add(fence).fence;
  waiter waiting{[&] { return fence.wait(1); }};
  CHECK(waiting.falls_asleep());
  std::atomic<bool> woken{false};
  background loop{[&] {
    woken = is_readable(hub.service().descriptor(), for_ever);
    hub.service().quiet();
    static_cast<void>(hub.try_serve());
  }};
  CHECK(fence.publish(1));
  hub.notify(logged.id);
  CHECK(waiting.status() == wait_status::reached);
  loop.join();
  CHECK(woken);
}

TEST_CASE("notifying and quieting leave errno alone, and quieting twice does no harm") {
  counted_hub<event_driven> hub;
  probe fence;
  const auto logged = hub.add(fence).fence;
  errno = 77;
  hub.service().quiet();
  hub.notify(logged.id);
  hub.service().quiet();
  hub.service().quiet();
  CHECK(errno == 77);
  CHECK(hub.try_serve());
}

TEST_CASE("a moved service keeps its descriptor, and each is closed once") {
  auto first = event_driven::make();
  REQUIRE(first.has_value());
  const int descriptor = first->descriptor();
  event_driven second{std::move(*first)};
  CHECK(second.descriptor() == descriptor);
  CHECK(first->descriptor() == -1);
  first.reset();
  pollfd asked{descriptor, POLLIN, 0};
  CHECK(::poll(&asked, 1, 0) == 0);  // still open, and quiet
  {
    event_driven third{std::move(second)};
    second = std::move(third);
  }
  CHECK(second.descriptor() == descriptor);
  CHECK(::poll(&asked, 1, 0) == 0);
  auto fourth = event_driven::make();
  REQUIRE(fourth.has_value());
  const int kept = fourth->descriptor();
  second = std::move(*fourth);
  CHECK(second.descriptor() == kept);
  CHECK(fourth->descriptor() == -1);
  CHECK(::fcntl(descriptor, F_GETFD) == -1);  // closed at once
  auto& itself = second;
  second = std::move(itself);
  CHECK(second.descriptor() == kept);
}
