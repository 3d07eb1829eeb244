// SPDX-License-Identifier: BSL-1.0
//
// Thousands of races: no wake-up is lost, no wait returns early, and a thousand waiters wake exactly when they are
// due. A watchdog prints the state of the fence if one of the tests hangs.
//
// The fences of the races are those that users have, without counters: a counter is a read-modify-write, and would
// order what the fence itself must order.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>

#include "support/crowd.hpp"
#include "support/kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/race.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::fence_options;
using tidemark::no_waiter;
using tidemark::wait_status;

namespace {

constexpr fence_options eager_to_sleep{.max_spin_ns = 0};
constexpr fence_options sleeping_in_the_lane{
    .capacity = 1, .growth = tidemark::heap_growth::forbidden, .max_spin_ns = 0};
constexpr fence_options growing{.capacity = 1, .max_spin_ns = 0};
constexpr fence_options wide{.capacity = 1024, .statistics = true};

}  // namespace

// ---- lost wake-ups -------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A28][A34][A37][trap 1] no wake-up is lost between one signaller and one waiter", Kind,
                   EVERY_KIND) {
  MESSAGE(race<typename Kind::template plain<eager_to_sleep>>(1, 1'000'000) << " races that sleep at once");
  MESSAGE(race<typename Kind::template plain<>>(1, 1'000'000) << " races that spin first");
}

TEST_CASE_TEMPLATE("[A28][A34][A37] no wake-up is lost when several wait for the same value", Kind, EVERY_KIND) {
  MESSAGE(race<typename Kind::template plain<eager_to_sleep>>(3, 50'000) << " rounds of 3 races in slots");
  MESSAGE(race<typename Kind::template plain<sleeping_in_the_lane>>(3, 50'000)
          << " rounds of 3 races in the overflow lane");
  MESSAGE(race<typename Kind::template plain<growing>>(3, 50'000) << " rounds of 3 races in a heap that has grown");
}

TEST_CASE_TEMPLATE("[A29][A37] no wake-up is lost when two signal different values at once", Kind, EVERY_FENCE) {
  typename Kind::template plain<eager_to_sleep> fence;
  tidemark::fence answers;
  const auto seed = fresh_seed();
  const watchdog dog{
      [&] { return state_of(fence) + "; answers: " + state_of(answers) + "; seed " + std::to_string(seed); }};
  std::array<std::thread, 3> threads;  // two waiters and one signaller; the other signaller is this thread
  for (std::uint64_t lag = 0; lag < 2; ++lag) {
    threads.at(static_cast<std::size_t>(lag)) = std::thread{[&, lag] {
      random_numbers random{seed, lag + 1};
      for (std::uint64_t round = 1; fence.wait(2 * round - lag) == wait_status::reached; ++round) {
        answers.signal_next();
        dawdle(random);
      }
    }};
  }
  tidemark::fence rounds_begun;
  threads.at(2) = std::thread{[&] {
    random_numbers random{seed, 3};
    for (std::uint64_t round = 1; rounds_begun.wait(round) == wait_status::reached; ++round) {
      dawdle(random);
      fence.signal(2 * round - 1);
      answers.signal_next();
    }
  }};
  random_numbers random{seed};
  repetitions rounds{50'000};
  while (rounds.goes_on()) {
    rounds_begun.signal(rounds.done());
    dawdle(random);
    fence.signal(2 * rounds.done());
    CHECK(answers.wait(3 * rounds.done()) == wait_status::reached);
  }
  rounds_begun.poison();
  fence.poison();
  for (auto& thread : threads) thread.join();
  CHECK(fence.current_value() == UINT64_MAX);
  MESSAGE(rounds.done() << " rounds of 4 races");
}

// ---- a thousand waiters --------------------------------------------------------------------------------------------

namespace {

/// A thousand threads wait for 1, 2, ... 1000. The value rises by `step`, and not again before all due waits have
/// returned. Returns how many waits returned at another value than the first one that satisfied them.
template <class Fence>
std::uint64_t thousand_waiters(Fence& fence, std::uint64_t step) {
  constexpr std::uint64_t waiters = 1000;
  tidemark::fence returned;
  const watchdog dog{[&] { return state_of(fence) + "; returned: " + state_of(returned); }};
  const meter<typename Fence::platform> during;
  std::atomic<std::uint64_t> wrong{0};
  crowd threads;
  for (std::uint64_t target = 1; target <= waiters; ++target) {
    const bool started = threads.start([&fence, &returned, &wrong, target, step] {
      const auto status = fence.wait(target);
      const auto due_at = (target + step - 1) / step * step;
      if (status != wait_status::reached || fence.current_value() != due_at) ++wrong;
      returned.signal_next();
    });
    REQUIRE_MESSAGE(started, "this system gives no more than " << target - 1 << " threads");
  }
  await([&] { return during.parks() >= waiters; });
  for (std::uint64_t value = step; value <= waiters; value += step) {
    fence.signal(value);
    if (returned.wait(value) != wait_status::reached) ++wrong;
    if (returned.current_value() != value) ++wrong;
  }
  return wrong;
}

}  // namespace

TEST_CASE_TEMPLATE(
    "[A19][A37] a thousand waiters with a thousand targets wake exactly when they are due, and one signal wakes one",
    Kind, testing::progress_native, testing::fence_symmetric) {
  auto fence = std::make_unique<typename Kind::template fence<wide>>();
  const meter<typename Kind::platform> during;
  CHECK(thousand_waiters(*fence, 1) == 0);
  CHECK(during.unparks() == 1000);
  if (is_pinned_here<Kind>()) return;
  CHECK(fence->notify_count() == 1000);
  CHECK(fence->monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[A19][A37] a thousand waiters with sixteen slots wake exactly when they are due", Kind,
                   testing::progress_native, testing::fence_symmetric) {
  typename Kind::template fence<> fence;
  CHECK(thousand_waiters(fence, 50) == 0);
  if (is_pinned_here<Kind>()) return;
  CHECK(fence.monitored_value() == no_waiter);
}

// ---- lifetime ------------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE(
    "[trap 10] a fence may be destroyed as soon as its signallers are joined and its waiters have returned", Kind,
    EVERY_KIND) {
  using fence_type = typename Kind::template plain<eager_to_sleep>;
  repetitions rounds{1'000};
  while (rounds.goes_on()) {
    auto fence = std::make_unique<fence_type>();
    const watchdog dog = watch(*fence);
    std::thread signaller{[&fence = *fence] { fence.signal(2); }};
    waiter other{[&fence = *fence] { return fence.wait(1); }};
    CHECK(fence->wait(2) == wait_status::reached);
    CHECK(other.status() == wait_status::reached);
    signaller.join();  // the wait may have returned while the signaller was still inside signal()
    fence.reset();
  }
  MESSAGE(rounds.done() << " fences");
}

// ---- everything at once --------------------------------------------------------------------------------------------

namespace {

/// Waits of every kind against signallers, until the value has reached `last`.
template <class Fence>
class turmoil {
 public:
  static constexpr std::uint64_t last = 30'000;
  static constexpr std::size_t waiters = 5;

  turmoil(Fence& fence, std::uint64_t seed) : fence_{fence}, seed_{seed} {
    for (std::size_t index = 0; index < waiters; ++index) threads_.emplace_back([this, index] { wait(index); });
  }

  void finish() {
    for (auto& thread : threads_) thread.join();
  }
  std::uint64_t mistakes() const { return mistakes_; }

  std::string describe() const {
    std::ostringstream text;
    text << state_of(fence_) << "; seed " << seed_ << "; awaited:";
    for (const auto& target : awaited_) text << ' ' << target;
    return text.str();
  }

 private:
  void wait(std::size_t index) {
    random_numbers random{seed_, index + 1};
    const auto view = fence_.view();
    while (view.current_value() < last) {
      const std::uint64_t target = std::min(last, view.current_value() + random.below(6));
      awaited_.at(index) = target;
      const auto start = std::chrono::steady_clock::now();
      const auto timeout = std::chrono::microseconds{random.below(300)};
      const bool has_timeout = random.below(2) == 0;
      manual_stop stop;
      const auto token = stop.get_token();
      if (random.below(8) == 0) stop.request();
      const auto status = has_timeout ? view.wait_for(target, timeout, token) : view.wait(target, token);
      const bool in_time = std::chrono::steady_clock::now() - start < timeout;
      awaited_.at(index) = 0;
      if (status == wait_status::reached && view.current_value() < target) ++mistakes_;
      if (status == wait_status::timeout && (!has_timeout || in_time)) ++mistakes_;
      if (status == wait_status::stopped && !stop.get_token().stop_requested()) ++mistakes_;
      if (status == wait_status::lost) ++mistakes_;
    }
  }

  Fence& fence_;
  std::uint64_t seed_;
  std::array<std::atomic<std::uint64_t>, waiters> awaited_{};
  std::atomic<std::uint64_t> mistakes_{0};
  std::list<std::thread> threads_;
};

/// Raises the value to `last`, in random steps and at random moments.
template <class Fence>
void signal_all(Fence& fence, std::uint64_t last, std::uint64_t seed) {
  random_numbers random{seed, 1000};
  repetitions until_late{last};
  for (std::uint64_t value = 0; value < last;) {
    value = until_late.goes_on() ? std::min(last, value + random.below(4)) : last;
    fence.signal(value);
    for (std::uint64_t pauses = random.below(8); pauses > 0; --pauses) dawdle(random);
    if (random.below(16) == 0) std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE_TEMPLATE(
    "[A33][A37] waits of every kind against signals: none is early, none is forgotten, and none leaves anything behind",
    Kind, EVERY_KIND) {
  constexpr fence_options crowded{.capacity = 3};
  typename Kind::template plain<crowded> fence;
  const auto seed = fresh_seed();
  turmoil threads{fence, seed};
  const watchdog dog{[&] { return threads.describe(); }};
  signal_all(fence, threads.last, seed);
  threads.finish();
  CHECK(threads.mistakes() == 0);
  CHECK(fence.current_value() == threads.last);
  if (Kind::base::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[A33][A37][trap 13] the same with three signallers, whose values cross", Kind, EVERY_FENCE) {
  constexpr fence_options crowded{.capacity = 3, .max_spin_ns = 0};
  typename Kind::template plain<crowded> fence;
  const auto seed = fresh_seed();
  turmoil threads{fence, seed};
  const watchdog dog{[&] { return threads.describe(); }};
  std::vector<std::thread> signallers;
  for (std::uint64_t stream = 0; stream < 3; ++stream) {
    signallers.emplace_back([&, stream] { signal_all(fence, threads.last, seed + stream); });
  }
  for (auto& signaller : signallers) signaller.join();
  threads.finish();
  CHECK(threads.mistakes() == 0);
  CHECK(fence.current_value() == threads.last);
  if (Kind::base::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
}
