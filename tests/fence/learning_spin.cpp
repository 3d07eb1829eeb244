// SPDX-License-Identifier: BSL-1.0
//
// What waiters learn about spinning, with a simulated clock: how long they look before they sleep, whatever the machine
// is doing.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include <tidemark/fence/tools/learning_spin.hpp>

#include "support/kinds.hpp"

using namespace std::chrono_literals;
using tidemark::deadline;
using tidemark::no_deadline;

namespace {

/// Time passes while a thread pauses, and where a test says so.
struct simulated : tidemark::native_platform {
  static deadline now() noexcept { return time; }
  static void pause() noexcept { time += 10ns; }
  static inline deadline time{1h};
};

using waiting = tidemark::detail::spinning_wait<simulated>;
constexpr std::uint32_t a_millisecond = 1'000'000;

/// What a sleep takes on the simulated machine: to begin it, and to come back from it.
struct machine {
  std::chrono::nanoseconds to_sleep = 1us;
  std::chrono::nanoseconds to_wake = 20us;
  std::chrono::nanoseconds sleep() const { return to_sleep + to_wake; }
};

struct wait_outcome {
  bool has_slept;
  std::chrono::nanoseconds spun;
  std::chrono::nanoseconds lasted;
};

/// The waiters of a timeline.
class waiter {
 public:
  explicit waiter(machine on, std::uint32_t most = a_millisecond) : on_{on}, memory_{most} {}

  /// Waits for a signal that comes so much later.
  wait_outcome wait(std::chrono::nanoseconds later) {
    const deadline from = simulated::time;
    const deadline signalled = from + later;
    return wait_from(from, [signalled] { return simulated::time >= signalled; }, [signalled] { return signalled; });
  }
  /// Waits for a signaller that has no processor until the waiter sleeps, and then signals after so much time.
  wait_outcome wait_for_starved(std::chrono::nanoseconds later) {
    const deadline from = simulated::time;
    return wait_from(from, [] { return false; }, [later] { return simulated::time + later; });
  }
  void wait_often(int times, std::chrono::nanoseconds later) {
    for (int i = 0; i < times; ++i) wait(later);
  }

 private:
  template <class Look, class SignalledAt>
  wait_outcome wait_from(deadline from, const Look& is_over, const SignalledAt& signalled_at) {
    waiting one{&memory_};
    if (one.spin(no_deadline, is_over, [] { return false; }))
      return {false, simulated::time - from, simulated::time - from};
    const auto spun = simulated::time - from;
    one.sleeps();
    simulated::time += on_.to_sleep;
    one.parks();
    simulated::time = std::max(simulated::time, signalled_at());
    memory_.waking(tidemark::detail::wrapping_nanoseconds(simulated::time));
    simulated::time += on_.to_wake;
    one.wakes();
    return {true, spun, simulated::time - from};
  }

  machine on_;
  waiting::memory memory_;
};

/// Returns how many of so many turns the first of two threads has slept in. Each thread waits for the other one, works,
/// and answers.
int sleeps_of_a_pair(waiter& here, waiter& there, machine on, std::chrono::nanoseconds work, int turns) {
  int sleeps = 0;
  bool other_sleeps = true;
  for (int turn = 0; turn < turns; ++turn) {
    waiter& waits = turn % 2 == 0 ? here : there;
    // A thread that must first be woken answers so much later.
    other_sleeps = waits.wait(work + (other_sleeps ? on.to_wake : 0ns)).has_slept;
    sleeps += other_sleeps && turn % 2 == 0;
  }
  return sleeps;
}

}  // namespace

TEST_CASE("waits that are shorter than a sleep end in the spin") {
  for (const auto length :
       {std::chrono::nanoseconds{100ns}, std::chrono::nanoseconds{3us}, std::chrono::nanoseconds{20us}}) {
    CAPTURE(length.count());
    waiter one{machine{}};
    one.wait_often(10, length);
    for (int i = 0; i < 1000; ++i) {
      const wait_outcome outcome = one.wait(length);
      CHECK_FALSE(outcome.has_slept);
      // Looks become rarer as a wait lasts longer, but a wait is never longer by more than a sixteenth.
      CHECK(outcome.lasted <= length + length / 16 + 20ns);
    }
  }
}

TEST_CASE("after many quick waits, one that takes half as long as a sleep still ends in the spin") {
  waiter one{machine{}};
  one.wait_often(1000, 100ns);
  CHECK_FALSE(one.wait(machine{}.to_wake / 2).has_slept);
}

TEST_CASE("two threads that sleep because the other one does stop sleeping, for work as long as a sleep") {
  for (const auto latency : {std::chrono::nanoseconds{5us}, std::chrono::nanoseconds{30us}}) {
    for (const auto work : {0ns, latency / 10, latency / 2, latency}) {
      CAPTURE(latency.count());
      CAPTURE(work.count());
      const machine on{.to_wake = latency};
      waiter here{on};
      waiter there{on};
      // Both have learnt that waits are long.
      here.wait_often(100, 10ms);
      there.wait_often(100, 10ms);
      sleeps_of_a_pair(here, there, on, work, 200);
      CHECK(sleeps_of_a_pair(here, there, on, work, 1000) == 0);
    }
  }
}

TEST_CASE("waits of a millisecond spend less than 3 percent of their time in a spin") {
  waiter one{machine{}};
  const deadline from = simulated::time;
  std::chrono::nanoseconds spun{0};
  for (int i = 0; i < 100; ++i) spun += one.wait(1ms).spun;
  CHECK(spun < (simulated::time - from) * 3 / 100);
  CHECK(one.wait(1ms).spun == 0ns);

  SUBCASE("also after many short ones") {
    one.wait_often(1000, 1us);
    REQUIRE_FALSE(one.wait(1us).has_slept);
    const deadline later = simulated::time;
    spun = one.wait(1ms).spun;
    CHECK(spun <= machine{}.sleep() * 5 / 4);
    for (int i = 1; i < 100; ++i) spun += one.wait(1ms).spun;
    CHECK(spun < (simulated::time - later) * 3 / 100);
  }
}

TEST_CASE("a signaller that has no processor while the waiter spins: it soon spins no more, and tries again rarely") {
  const machine on{.to_sleep = 500ns, .to_wake = 2us};
  waiter one{on};
  std::chrono::nanoseconds spun{0};
  int tried = 0;
  const deadline from = simulated::time;
  for (int i = 0; i < 10'000; ++i) {
    const auto outcome = one.wait_for_starved(1us);
    spun += outcome.spun;
    tried += outcome.spun != 0ns;
  }
  CHECK(spun < (simulated::time - from) / 50);
  CHECK(tried > 3);
  CHECK(tried < 20);

  SUBCASE("when the signaller has a processor again, a later try succeeds") {
    one.wait_often(5000, 1us);
    CHECK_FALSE(one.wait(1us).has_slept);
    // When it has none once more, the rests begin with the shortest again.
    tried = 0;
    for (int i = 0; i < 300; ++i) tried += one.wait_for_starved(1us).spun != 0ns;
    CHECK(tried > 3);
  }
}

TEST_CASE("where short and long waits alternate, the long ones do not pay for the short ones") {
  waiter one{machine{}};
  std::chrono::nanoseconds spun{0};
  one.wait_often(10, 1us);
  for (int i = 0; i < 1000; ++i) {
    spun += one.wait(1ms).spun;
    CHECK_FALSE(one.wait(1us).has_slept);
  }
  // The spin of a long wait lasts about as long as a sleep costs.
  CHECK(spun / 1000 <= machine{}.sleep() * 5 / 4);
}

TEST_CASE("sleeps that take long now and then do not make a spin longer") {
  waiting::memory memory{a_millisecond};
  for (int i = 0; i < 1000; ++i) memory.cost(i % 2 == 0 ? 10'000 : 500'000);
  // A wait of 30 microseconds, which slept, raises the budget to the greatest one.
  memory.slept(0, 30'000);
  CHECK(memory.budget() >= 27'000);
  CHECK(memory.budget() <= 36'000);
}

TEST_CASE("a spin lasts no longer than the upper bound of the fence") {
  waiter one{machine{}, 5'000};
  for (int i = 0; i < 1000; ++i) CHECK(one.wait(i % 7 * 1us).spun <= 5us + 400ns);
  CHECK(one.wait(4us).spun != 0ns);
}

TEST_CASE("a spin ends at its deadline, and when the wait is given up") {
  waiting::memory memory{a_millisecond};
  const auto never = [] { return false; };
  const deadline from = simulated::time;
  waiting in_time{&memory};
  CHECK_FALSE(in_time.spin(from + 2us, never, never));
  CHECK(simulated::time - from <= 2us + 400ns);

  const deadline later = simulated::time;
  waiting given_up{&memory};
  CHECK_FALSE(given_up.spin(no_deadline, never, [later] { return simulated::time >= later + 1us; }));
  CHECK(simulated::time - later <= 1us + 400ns);
}

TEST_CASE("a spin ends even on a platform whose clock stands still") {
  struct still : simulated {
    static void pause() noexcept {}
  };
  tidemark::detail::spinning_wait<still>::memory memory{a_millisecond};
  tidemark::detail::spinning_wait<still> one{&memory};
  const auto never = [] { return false; };
  CHECK_FALSE(one.spin(no_deadline, never, never));
}

TEST_CASE("a note of another wake-up, from before the waiter parked, teaches nothing about the cost of a sleep") {
  // A sleep that seems to cost nothing would end all spinning.
  waiter one{machine{}};
  one.wait_often(100, 5us);
  waiting::memory memory{a_millisecond};
  for (int i = 0; i < 1000; ++i) {
    waiting each{&memory};
    static_cast<void>(each.spin(no_deadline, [] { return false; }, [] { return true; }));
    memory.waking(tidemark::detail::wrapping_nanoseconds(simulated::time));
    simulated::time += 1us;
    each.sleeps();
    each.parks();
    simulated::time += 40us;
    each.wakes();
  }
  // Waits of 41 microseconds are within three times the 20 that a sleep is taken to cost until one was measured.
  CHECK(memory.budget() == 60'000);
}

TEST_CASE_TEMPLATE("a fence with a max_spin_ns of 0 has no memory of spins, and is no larger for it", Kind,
                   EVERY_KIND) {
  using tidemark::detail::learning_spin;
  using platform = typename Kind::base;
  constexpr tidemark::fence_options without_spinning{.max_spin_ns = 0};
  learning_spin<platform, 0> none;
  CHECK(none.memory() == nullptr);
  typename learning_spin<platform, 0>::wait one{none.memory()};
  CHECK_FALSE(one.spin(no_deadline, [] { return true; }, [] { return false; }));
  CHECK(sizeof(typename Kind::template plain<without_spinning>) <= sizeof(typename Kind::template plain<>));
}
