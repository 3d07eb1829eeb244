// SPDX-License-Identifier: BSL-1.0
//
// Fences under constant faults: threads are held up in the middle of signals and waits, parks end for no reason, the
// heavy barrier is refused, system calls are interrupted. No waiter may be forgotten, return early, or miss what was
// handed over.
#include <doctest/doctest.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "support/faulty_platform.hpp"
#include "support/kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/parts_of_kinds.hpp"
#include "support/posix_signal.hpp"
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

using faulty_fence_symmetric = any_signaller<faulty_platform<tidemark::symmetric_platform>>;
using faulty_fence_native = any_signaller<faulty_platform<tidemark::native_platform>>;
using faulty_fence_portable = any_signaller<faulty_platform<tidemark::portable_platform>>;
using faulty_progress_native = one_signaller<faulty_platform<tidemark::native_platform>>;
using faulty_progress_symmetric = one_signaller<faulty_platform<tidemark::symmetric_platform>>;
using faulty_progress_portable = one_signaller<faulty_platform<tidemark::portable_platform>>;

}  // namespace

TYPE_TO_STRING_AS("faulty fence/symmetric", faulty_fence_symmetric);
TYPE_TO_STRING_AS("faulty fence/native", faulty_fence_native);
TYPE_TO_STRING_AS("faulty fence/portable", faulty_fence_portable);
TYPE_TO_STRING_AS("faulty progress_fence/native", faulty_progress_native);
TYPE_TO_STRING_AS("faulty progress_fence/symmetric", faulty_progress_symmetric);
TYPE_TO_STRING_AS("faulty progress_fence/portable", faulty_progress_portable);
#define EVERY_FAULTY_FENCE TESTED_OF(faulty_fence_native, faulty_fence_portable, faulty_fence_symmetric)
#define EVERY_FAULTY_KIND \
  EVERY_FAULTY_FENCE, TESTED_OF(faulty_progress_portable, faulty_progress_native, faulty_progress_symmetric)

namespace {

constexpr fence_options two_slots{.capacity = 2, .max_spin_ns = 4};
constexpr fault_odds restless{.slow = 16, .spurious = 3, .weak = 3};
// These two have no hold-ups, which would give a store time to become visible and so hide a missing barrier.
constexpr fault_odds often_refused{.spurious = 64, .weak = 3, .refused = 2};
constexpr fault_odds missing{.spurious = 64, .weak = 3, .refused = 1, .missing = true};
/// On x86-64 signals seldom miss a waiter among all the other faults, so this fence makes it happen.
constexpr fault_odds missing_waiters{.slow = 32, .spurious = 64, .weak = 3, .refused = 1, .missed = 4};

/// Returns what is handed over with a value.
constexpr std::uint64_t payload_of(std::uint64_t value) { return value * 0x9E3779B97F4A7C15 + 1; }

/// Sums up the counts of several threads.
class fault_totals {
 public:
  void add(const faults& of_a_thread) {
    const std::lock_guard lock{guard_};
    sum_.slow += of_a_thread.counts().slow;
    sum_.spurious += of_a_thread.counts().spurious;
    sum_.weak += of_a_thread.counts().weak;
    sum_.refused += of_a_thread.counts().refused;
    sum_.missed += of_a_thread.counts().missed;
  }
  const fault_counts& get() const { return sum_; }

  std::string describe() const {
    return std::to_string(sum_.slow) + " times held up, " + std::to_string(sum_.spurious) + " false wakes, " +
           std::to_string(sum_.weak) + " weak failures, " + std::to_string(sum_.refused) + " barriers refused";
  }

 private:
  std::mutex guard_;
  fault_counts sum_;
};

/// Rounds of a race: several threads wait for a value, each in its own way, while it is signalled. Nothing is
/// signalled after it until all threads have answered, so that no later signal can make up for a lost one. The waits
/// are stopped, timed out and interrupted, and begin again; the stops and interruptions of a round come to an end,
/// too.
template <class Fence>
class troubled_race {
 public:
  static constexpr std::size_t waiters = 3;

  troubled_race(const fault_odds& odds, std::uint64_t seed)
      : odds_{odds}, seed_{seed}, faults_here_{odds, seed, 0}, fence_{} {}

  /// Returns the number of rounds.
  std::uint64_t run(std::uint64_t most_rounds) {
    const watchdog dog{[this] { return state_of(fence_) + "; seed " + std::to_string(seed_); }};
    const handling eintr{SIGUSR1, count_interruption};
    std::list<std::thread> threads;
    std::vector<pthread_t> targets;
    for (std::size_t index = 0; index < waiters; ++index) {
      targets.push_back(threads.emplace_back([this, index] { wait_for_rounds(index); }).native_handle());
    }
    std::thread stopper{[this] { stop_them(); }};
    repetitions rounds{most_rounds};
    {
      const interrupter storm{SIGUSR1, targets, seed_, [this] { return 2 * round_; }};
      while (rounds.goes_on()) {
        round_ = rounds.done();
        payload_ = payload_of(rounds.done());
        fence_.signal(rounds.done());
        await_soon([&] { return answers_ == rounds.done() * waiters; });
      }
    }
    is_over_ = true;
    stopper.join();
    fence_.poison();
    for (auto& thread : threads) thread.join();
    totals_.add(faults_here_);
    return rounds.done();
  }

  const Fence& fence() const { return fence_; }
  std::uint64_t mistakes() const { return mistakes_; }
  const fault_totals& totals() const { return totals_; }

 private:
  void wait_for_rounds(std::size_t index) {
    faults mine{odds_, seed_, index + 1};
    random_numbers random{seed_, index + 100};
    for (std::uint64_t round = 1; wait_somehow(index, round, random); ++round) {
      if (payload_ != payload_of(round)) ++mistakes_;
      ++answers_;
    }
    totals_.add(mine);
  }

  /// Returns false if the fence was lost.
  bool wait_somehow(std::size_t index, std::uint64_t round, random_numbers& random) {
    wait_status status{};
    switch (random.below(3)) {
      case 0:
        status = fence_.wait(round);
        break;
      case 1:
        do {
          const auto timeout = std::chrono::microseconds{random.below(200)};
          const auto start = std::chrono::steady_clock::now();
          status = fence_.wait_for(round, timeout);
          const bool in_time = std::chrono::steady_clock::now() - start < timeout;
          if (status == wait_status::timeout && in_time) ++mistakes_;
        } while (status == wait_status::timeout);
        break;
      default:
        do {
          const auto stop = std::make_shared<manual_stop>();
          {
            const std::lock_guard lock{stops_guard_};
            stops_.at(index) = stop;
          }
          status = fence_.wait(round, stop->get_token());
          if (status == wait_status::stopped && !stop->get_token().stop_requested()) ++mistakes_;
        } while (status == wait_status::stopped);
    }
    if (status == wait_status::lost && !fence_.is_poisoned()) ++mistakes_;
    if (status == wait_status::timeout || status == wait_status::stopped) ++mistakes_;
    return status == wait_status::reached;
  }

  void stop_them() {
    faults mine{odds_, seed_, 50};
    random_numbers random{seed_, 51};
    for (std::uint64_t requests = 0; !is_over_;) {
      if (requests == 2 * round_) {
        std::this_thread::yield();
        continue;
      }
      ++requests;
      std::shared_ptr<manual_stop> stop;
      {
        const std::lock_guard lock{stops_guard_};
        stop = stops_.at(static_cast<std::size_t>(random.below(waiters)));
      }
      if (stop != nullptr) stop->request();
      for (std::uint64_t turns = random.below(16); turns > 0; --turns) std::this_thread::yield();
    }
    totals_.add(mine);
  }

  fault_odds odds_;
  std::uint64_t seed_;
  faults faults_here_;
  Fence fence_;
  std::uint64_t payload_ = 0;  // plain: only the fence synchronizes it
  std::atomic<std::uint64_t> answers_{0};
  std::atomic<std::uint64_t> mistakes_{0};
  std::atomic<std::uint64_t> round_{0};
  std::atomic<bool> is_over_{false};
  std::mutex stops_guard_;
  std::array<std::shared_ptr<manual_stop>, waiters> stops_;
  fault_totals totals_;
};

/// Runs one such race, and returns what happened in it.
template <class Fence>
fault_counts run_troubled_race(const fault_odds& odds) {
  const auto seed = fresh_seed();
  const auto interrupted_before = interruptions.load();
  troubled_race<Fence> race{odds, seed};
  const auto rounds = race.run(100'000);
  MESSAGE(rounds << " rounds of " << race.waiters << " races, " << interruptions - interrupted_before
                 << " interruptions; " << race.totals().describe());
  CHECK(race.mistakes() == 0);
  const bool is_pinned = odds.missing || !Fence::platform::heavy_barrier_available();
  CHECK(race.fence().monitored_value() == (is_pinned ? 0 : no_waiter));
  CHECK(interruptions > interrupted_before);
  return race.totals().get();
}

}  // namespace

TEST_CASE_TEMPLATE(
    "[A18][A28][A36][A37] no wake-up is lost with slow signallers, late and restless sleepers and interruptions", Kind,
    EVERY_FAULTY_KIND) {
  const auto happened = run_troubled_race<typename Kind::template plain<two_slots>>(restless);
  CHECK(happened.slow > 0);
  CHECK(happened.spurious > 0);
}

TEST_CASE_TEMPLATE("[A34][A37] no wake-up is lost where every other heavy barrier is refused", Kind,
                   faulty_fence_native, faulty_progress_native) {
  const auto happened = run_troubled_race<typename Kind::template plain<two_slots>>(often_refused);
  CHECK(happened.refused > 0);
}

TEST_CASE_TEMPLATE(
    "[A34][A37] where every heavy barrier is refused later, a waiter that a signal has missed finds the value", Kind,
    faulty_fence_native, faulty_progress_native) {
  const auto happened = run_troubled_race<typename Kind::template plain<two_slots>>(missing_waiters);
  CHECK(happened.refused > 0);
  if (Kind::base::asymmetric && Kind::base::heavy_barrier_available()) CHECK(happened.missed > 0);
}

TEST_CASE_TEMPLATE("[A34][A37] no wake-up is lost where the heavy barrier is missing", Kind, faulty_fence_native,
                   faulty_progress_native) {
  const auto happened = run_troubled_race<typename Kind::template plain<two_slots>>(missing);
  CHECK(happened.refused > 0);
}

// ---- many values at once -------------------------------------------------------------------------------------------

namespace {

constexpr std::uint64_t last_value = 50'000;

/// Waits for random values up to the last one, in every way; each value has a payload of its own.
template <class Fence>
class troubled_crowd {
 public:
  static constexpr std::size_t waiters = 5;

  /// \param all_below  whether a reached value hands over the payloads of all values below it
  troubled_crowd(Fence& fence, const fault_odds& odds, std::uint64_t seed, bool all_below)
      : fence_{fence}, odds_{odds}, seed_{seed}, all_below_{all_below}, payloads_(last_value + 1) {
    for (std::size_t index = 0; index < waiters; ++index) threads_.emplace_back([this, index] { wait(index); });
  }

  /// Runs one of `all` signallers. Each has values of its own: those that leave `mine` when divided by `all`.
  void signal(std::uint64_t mine, std::uint64_t all) {
    faults here{odds_, seed_, 100 + mine};
    random_numbers random{seed_, 200 + mine};
    repetitions until_late{last_value};
    for (std::uint64_t value = mine; value <= last_value;) {
      const std::uint64_t jump = until_late.goes_on() ? 1 + random.below(2) : last_value;
      const std::uint64_t next = std::min(value + jump * all, last_value - last_value % all + mine);
      for (; value < next; value += all) payloads_.at(static_cast<std::size_t>(value)) = payload_of(value);
      if (value > last_value) break;
      payloads_.at(static_cast<std::size_t>(value)) = payload_of(value);
      fence_.signal(value);
      value += all;
      for (std::uint64_t pauses = random.below(8); pauses > 0; --pauses) dawdle(random);
      if (random.below(16) == 0) std::this_thread::yield();
    }
    totals_.add(here);
  }

  std::vector<pthread_t> handles() {
    std::vector<pthread_t> all;
    for (auto& thread : threads_) all.push_back(thread.native_handle());
    return all;
  }
  void finish() {
    for (auto& thread : threads_) thread.join();
  }
  std::uint64_t mistakes() const { return mistakes_; }
  const fault_totals& totals() const { return totals_; }

  std::string describe() const {
    std::string text = state_of(fence_) + "; seed " + std::to_string(seed_) + "; awaited:";
    for (const auto& target : awaited_) text += ' ' + std::to_string(target);
    return text;
  }

 private:
  void wait(std::size_t index) {
    faults here{odds_, seed_, index + 1};
    random_numbers random{seed_, index + 50};
    while (fence_.current_value() < last_value) {
      const std::uint64_t target = std::min(last_value, fence_.current_value() + random.below(6));
      awaited_.at(index) = target;
      const auto start = std::chrono::steady_clock::now();
      const auto timeout = std::chrono::microseconds{random.below(300)};
      const bool has_timeout = random.below(2) == 0;
      const auto status = has_timeout ? fence_.wait_for(target, timeout) : fence_.wait(target);
      const bool in_time = std::chrono::steady_clock::now() - start < timeout;
      awaited_.at(index) = 0;
      if (status == wait_status::timeout && (!has_timeout || in_time)) ++mistakes_;
      if (status == wait_status::stopped || status == wait_status::lost) ++mistakes_;
      if (status != wait_status::reached || target == 0) continue;
      if (all_below_) {
        if (payloads_.at(static_cast<std::size_t>(target)) != payload_of(target)) ++mistakes_;
      } else {
        const auto value = fence_.current_value();
        if (value < target || payloads_.at(static_cast<std::size_t>(value)) != payload_of(value)) ++mistakes_;
      }
    }
    totals_.add(here);
  }

  Fence& fence_;
  fault_odds odds_;
  std::uint64_t seed_;
  bool all_below_;
  std::vector<std::uint64_t> payloads_;  // plain: only the fence synchronizes it
  std::array<std::atomic<std::uint64_t>, waiters> awaited_{};
  std::atomic<std::uint64_t> mistakes_{0};
  fault_totals totals_;
  std::list<std::thread> threads_;
};

}  // namespace

TEST_CASE_TEMPLATE(
    "[A18][A33][A37] under faults, waits of every kind end in time and see everything that was handed over", Kind,
    EVERY_FAULTY_KIND) {
  constexpr fence_options crowded{.capacity = 3};
  typename Kind::template plain<crowded> fence;
  const auto seed = fresh_seed();
  troubled_crowd crowd{fence, restless, seed, true};
  const watchdog dog{[&] { return crowd.describe(); }};
  const handling eintr{SIGUSR1, count_interruption};
  {
    const interrupter storm{SIGUSR1, crowd.handles(), seed, [] { return 10'000; }};
    crowd.signal(0, 1);
  }
  crowd.finish();
  MESSAGE(crowd.totals().describe());
  CHECK(crowd.mistakes() == 0);
  CHECK(fence.current_value() == last_value);
  if (Kind::base::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[A18][A33][A37][trap 13] the same with three signallers, whose values cross", Kind,
                   EVERY_FAULTY_FENCE) {
  constexpr fence_options crowded{.capacity = 3};
  typename Kind::template plain<crowded> fence;
  const auto seed = fresh_seed();
  troubled_crowd crowd{fence, restless, seed, false};
  const watchdog dog{[&] { return crowd.describe(); }};
  std::vector<std::thread> signallers;
  for (std::uint64_t mine = 0; mine < 3; ++mine) signallers.emplace_back([&, mine] { crowd.signal(mine, 3); });
  for (auto& signaller : signallers) signaller.join();
  fence.signal(last_value);
  crowd.finish();
  MESSAGE(crowd.totals().describe());
  CHECK(crowd.mistakes() == 0);
  CHECK(fence.current_value() == last_value);
  CHECK(crowd.totals().get().weak > 0);
  if (Kind::base::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
}

// ---- EINTR ---------------------------------------------------------------------------------------------------------

namespace {

/// Sends a POSIX signal to a sleeper. Returns true if the handler has run and the sleeper sleeps again.
template <class Sleeper>
bool interrupt(const Sleeper& sleeper, pthread_t thread) {
  const auto before = interruptions.load();
  pthread_kill(thread, SIGUSR1);
  await([&] { return interruptions != before || sleeper.has_returned(); });
  return sleeper.falls_asleep();
}

}  // namespace

TEST_CASE_TEMPLATE("[A36] a POSIX signal that interrupts a sleeping waiter does not end its wait", Kind, EVERY_KIND) {
  for (const int flags : {0, SA_RESTART}) {
    if (TIDEMARK_HAS_TSAN && flags == SA_RESTART) {
      MESSAGE("not tested with SA_RESTART: ThreadSanitizer runs no handler before the system call has returned");
      continue;
    }
    typename Kind::template fence<without_spinning> fence;
    const auto dog = watch(fence);
    const handling eintr{SIGUSR1, count_interruption, flags};
    std::atomic<pthread_t> thread{};
    int error = 0;
    const meter<typename Kind::platform> during;
    waiter sleeper{[&] {
      thread = pthread_self();
      errno = 77;
      const auto status = fence.wait(1);
      error = errno;
      return status;
    }};
    REQUIRE(sleeper.falls_asleep());
    constexpr std::uint64_t times = 20;
    for (std::uint64_t time = 0; time < times; ++time) REQUIRE(interrupt(sleeper, thread));
    // Where a park is one system call, it was interrupted; a condition variable sleeps on by itself.
    constexpr bool is_bare =
        !std::is_base_of_v<tidemark::detail::lot_parking<tidemark::detail::native_lots>, typename Kind::platform>;
    if (is_bare && flags == 0) CHECK(during.parks() > times);
    fence.signal(1);
    CHECK(sleeper.status() == wait_status::reached);
    CHECK(error == 77);
  }
}

TEST_CASE_TEMPLATE("[A36] POSIX signals neither shorten a timeout nor keep it from ending", Kind, EVERY_KIND) {
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  const auto seed = fresh_seed();
  const handling eintr{SIGUSR1, count_interruption};
  const auto before = interruptions.load();
  const interrupter storm{SIGUSR1, {pthread_self()}, seed, [] { return 100'000; }};
  std::uint64_t early = 0;
  std::uint64_t wrong = 0;
  repetitions rounds{50};
  while (rounds.goes_on()) {
    const auto start = std::chrono::steady_clock::now();
    errno = 77;
    const auto status = fence.wait_for(1, 2ms);
    if (errno != 77) ++wrong;
    if (status != wait_status::timeout) ++wrong;
    if (std::chrono::steady_clock::now() - start < 2ms) ++early;
  }
  CHECK(early == 0);
  CHECK(wrong == 0);
  CHECK(interruptions > before);
}
