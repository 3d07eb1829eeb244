// SPDX-License-Identifier: BSL-1.0
//
// hub: thousands of races, over all services and styles. In each round nothing is signalled after a value until all
// its waiters have answered, so that no later signal can make up for a lost one. The platform is the one that users
// have: a platform that counts would order what the hub itself must order.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/hub/hub.hpp>

#include "support/hubs.hpp"
#include "support/race.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::notify_style;
using tidemark::wait_status;

namespace {

template <class Service>
using plain_hub = tidemark::basic_hub<tidemark::native_platform, Service, 16, 4>;
template <class Service>
using plain_queue = tidemark::basic_queue<tidemark::progress_fence, tidemark::default_log_clock,
                                          tidemark::hub_notifier<plain_hub<Service>>>;

constexpr tidemark::fence_options eager_to_sleep{.max_spin_ns = 0};
using eager_fence = tidemark::basic_fence<tidemark::symmetric_platform, eager_to_sleep>;
using eager_progress = tidemark::basic_progress_fence<tidemark::native_platform, eager_to_sleep>;

/// Threads that wait for one round after the other.
class waiters {
 public:
  explicit waiters(std::uint64_t seed) : seed_{seed} {}
  waiters(const waiters&) = delete;
  waiters& operator=(const waiters&) = delete;
  ~waiters() {
    for (auto& thread : threads_) thread.join();
  }

  /// Adds a thread that waits for `factor` times the number of the round, and ends when the fence is poisoned.
  template <class Fence>
  void add(const Fence& fence, std::uint64_t factor = 1) {
    const std::uint64_t stream = 100 + threads_.size();
    threads_.emplace_back([this, &fence, factor, stream] {
      random_numbers random{seed_, stream};
      for (std::uint64_t round = 1;; ++round) {
        dawdle(random);
        const auto status = fence.wait(factor * round);
        if (status == wait_status::lost) return;
        if (status != wait_status::reached || fence.current_value() < factor * round) ++mistakes_;
        ++answers_;
      }
    });
  }
  void await_all(std::uint64_t round) const {
    await([&] { return answers_ >= round * threads_.size(); });
  }
  std::uint64_t mistakes() const { return mistakes_; }
  std::string describe() const { return "answers " + std::to_string(answers_) + "; seed " + std::to_string(seed_); }

 private:
  std::uint64_t seed_;
  std::atomic<std::uint64_t> answers_{0};
  std::atomic<std::uint64_t> mistakes_{0};
  std::deque<std::thread> threads_;
};

}  // namespace

TEST_CASE_TEMPLATE(
    "[A58][A60][A61] no due waiter is forgotten, whether notifications name the fences or, at random, none", Service,
    EVERY_SERVICE) {
  plain_hub<Service> hub{make_service<Service>()};
  std::deque<eager_fence> fences(2);
  std::deque<eager_progress> progresses(2);
  const auto seed = fresh_seed();
  std::uint64_t rounds_made = 0;
  {
    waiters threads{seed};
    const watchdog dog{[&] { return state_of_hub(hub) + threads.describe(); }};
    const server<plain_hub<Service>, Service> serving{hub};
    std::vector<fence_id> ids;
    for (auto& fence : fences) {
      ids.push_back(hub.add(fence).fence.id);
      threads.add(fence);
    }
    for (auto& fence : progresses) {
      ids.push_back(hub.add(fence).fence.id);
      threads.add(fence);
    }
    random_numbers random{seed};
    std::vector<fence_id> kept_back;  // have a waiter due, and no notification yet
    const auto notify = [&](fence_id id) {
      switch (random.below(5)) {
        case 0:
          return hub.notify(id);
        case 1: {
          const std::array both{ids[random.below(ids.size())], id};
          return hub.notify(both);
        }
        case 2:
          return hub.notify_all();
        case 3:
          return hub.notify_all(true);
        default:
          kept_back.push_back(id);
      }
    };
    repetitions rounds{200'000};
    while (rounds.goes_on()) {
      std::array<std::size_t, 4> order{0, 1, 2, 3};
      for (std::size_t n = 3; n > 0; --n) std::swap(order[n], order[random.below(n + 1)]);
      for (const std::size_t n : order) {
        dawdle(random);
        const auto signal = [&](auto& fence) { return fence.publish(rounds.done()) && fence.is_due(rounds.done()); };
        if (n < 2 ? signal(fences[n]) : signal(progresses[n - 2])) notify(ids[n]);
      }
      if (!kept_back.empty()) random.below(2) == 0 ? hub.notify_all() : hub.notify(kept_back);
      kept_back.clear();
      threads.await_all(rounds.done());
    }
    rounds_made = rounds.done();
    CHECK(threads.mistakes() == 0);
    for (auto& fence : fences) fence.poison();
    for (auto& fence : progresses) fence.poison();
  }
  CHECK(hub.count(hub_event::stale) == 0);
  MESSAGE(rounds_made << " rounds of 4 races; " << state_of_hub(hub));
}

TEST_CASE_TEMPLATE("[A64] no waiter that a batch makes due is forgotten", Service, EVERY_SERVICE) {
  plain_hub<Service> hub{make_service<Service>()};
  std::deque<eager_progress> fences(4);
  const auto seed = fresh_seed();
  {
    waiters threads{seed};
    const watchdog dog{[&] { return state_of_hub(hub) + threads.describe(); }};
    const server<plain_hub<Service>, Service> serving{hub};
    std::vector<tidemark::fence_update> updates;
    for (auto& fence : fences) {
      updates.push_back({hub.add(fence).fence.id, 0});
      threads.add(fence);
    }
    random_numbers random{seed};
    repetitions rounds{200'000};
    while (rounds.goes_on()) {
      for (auto& update : updates) ++update.value;
      dawdle(random);
      hub.signal_batch(updates);
      threads.await_all(rounds.done());
    }
    CHECK(threads.mistakes() == 0);
    for (auto& fence : fences) fence.poison();
    MESSAGE(rounds.done() << " rounds of 4 races");
  }
}

namespace {

/// What queue `n` of two does in each round: it signals two fences, one of which is the other queue's, too, and its
/// progress.
template <class Queue, class Logged>
void execute(Queue& queue, std::size_t n, const Logged& logged, const tidemark::fence& begun, std::uint64_t seed) {
  random_numbers random{seed, n};
  for (std::uint64_t round = 1; begun.wait(round) == wait_status::reached; ++round) {
    dawdle(random);
    queue.signal(logged[1], 2 * round - n);
    queue.signal(logged[n == 0 ? 0 : 2], round);
    queue.complete();
  }
}

/// Two queues with logs of so many entries signal their progress and two fences each, one of which they share.
/// Their logs are replaced meanwhile.
template <class Service>
void race_queues(std::array<notify_style, 2> styles, std::size_t entries) {
  plain_hub<Service> hub{make_service<Service>()};
  std::deque<eager_fence> fences(3);
  std::vector<tidemark::logged_fence<eager_fence>> logged;
  for (auto& fence : fences) logged.push_back(hub.add(fence).fence);
  std::deque<tidemark::progress_fence> own(2);
  std::deque<plain_queue<Service>> queues;
  for (std::size_t n = 0; n < 2; ++n) {
    auto& queue = queues.emplace_back(own[n], tidemark::queue_options{.log_entries = entries});
    REQUIRE(hub.attach(queue, {.style = styles[n], .engine = tidemark::engine_id{static_cast<std::uint32_t>(n)}}));
  }
  const auto seed = fresh_seed();
  std::uint64_t rounds_made = 0;
  {
    waiters threads{seed};
    const watchdog dog{[&] {
      return state_of_hub(hub) + state_of(fences[0]) + "; " + state_of(fences[1]) + "; " + state_of(fences[2]) + "; " +
             threads.describe();
    }};
    const server<plain_hub<Service>, Service> serving{hub};
    threads.add(fences[0]);
    threads.add(fences[1], 2);
    threads.add(fences[2]);
    threads.add(own[1]);
    tidemark::fence begun;
    std::vector<std::thread> executors;
    for (std::size_t n = 0; n < 2; ++n) {
      executors.emplace_back([&, n] { execute(queues[n], n, logged, begun, seed); });
    }
    random_numbers random{seed, 7};
    repetitions rounds{100'000};
    while (rounds.goes_on()) {
      begun.signal(rounds.done());
      if (random.below(16) == 0)
        queues[random.below(std::size_t{2})].set_log(tidemark::fence_log_type::signal,
                                                     2 + random.below(std::size_t{8}));
      if (random.below(16) == 0) hub.notify_engine(tidemark::engine_id{static_cast<std::uint32_t>(random.below(2))});
      threads.await_all(rounds.done());
    }
    rounds_made = rounds.done();
    begun.poison();
    for (auto& executor : executors) executor.join();
    CHECK(threads.mistakes() == 0);
    for (auto& fence : fences) fence.poison();
    for (auto& queue : queues) queue.abort();
  }
  CHECK(hub.count(hub_event::stale) == 0);
  CHECK(own[0].view().is_poisoned());
  MESSAGE(rounds_made << " rounds of 4 races; " << state_of_hub(hub));
}

}  // namespace

TEST_CASE_TEMPLATE(
    "[A61][A95][A112] no due waiter is forgotten where two queues name themselves and their logs never overrun",
    Service, EVERY_SERVICE) {
  race_queues<Service>({notify_style::by_queue, notify_style::by_queue}, 84);
}

TEST_CASE_TEMPLATE(
    "[A61][A99][A113] no due waiter is forgotten where two queues name themselves and their logs overrun all the time",
    Service, EVERY_SERVICE) {
  race_queues<Service>({notify_style::by_queue, notify_style::by_queue}, 2);
}

TEST_CASE_TEMPLATE("[A61][A116] no due waiter is forgotten where two queues notify in different styles", Service,
                   EVERY_SERVICE) {
  race_queues<Service>({notify_style::by_queue, notify_style::by_fence}, 4);
  race_queues<Service>({notify_style::by_scan, notify_style::by_queue}, 4);
}
