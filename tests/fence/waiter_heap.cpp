// SPDX-License-Identifier: BSL-1.0
//
// waiter_heap alone: the least awaited target, which waiters are released, the overflow lane, and many threads at once.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include <tidemark/fence/waiter_heap.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "support/counting_platform.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::heap_growth;
using tidemark::no_deadline;
using tidemark::no_waiter;
using tidemark::waiter_heap;

namespace {

using counted = counting_platform<tidemark::native_platform>;

template <std::size_t Capacity, class Platform, std::size_t Arity = 4, heap_growth Growth = heap_growth::forbidden>
struct heap_of {
  static constexpr std::size_t capacity = Capacity;
  static constexpr bool grows = Growth == heap_growth::allowed;
  using heap = waiter_heap<Capacity, Platform, Arity, tidemark::detail::no_neighbor, Growth>;
};

template <std::size_t Capacity, class Platform = tidemark::native_platform>
using fixed_heap = typename heap_of<Capacity, Platform>::heap;

/// A heap and a simple model of it, for one thread.
template <class Case>
class modelled_heap {
 public:
  explicit modelled_heap(std::uint64_t seed) : random_{seed} {}

  void step() {
    switch (random_.below(8)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return live_.size() < most_live ? add() : withdraw();
      case 4:
      case 5:
      case 6:
        return withdraw();
      default:
        return release_due();
    }
  }
  void empty() {
    while (!live_.empty()) withdraw();
  }

  std::uint64_t monitored_value() const { return heap_.monitored_value(); }
  std::uint64_t expected_value() const {
    const std::uint64_t in_slots = waiting_.empty() ? no_waiter : *waiting_.begin() - 1;
    return std::min(in_slots, lane_least_);
  }
  /// Checks that no waiter is left whose target the last pass had reached, and that all others still wait [A16].
  bool released_exactly_the_due() const {
    for (const auto& one : live_) {
      if (heap_.is_released(one.ticket) != one.is_released) return false;
    }
    return true;
  }
  std::size_t mistakes() const { return mistakes_; }

 private:
  static constexpr std::size_t most_live = Case::grows ? 100 : Case::capacity + Case::capacity / 2 + 2;
  using heap_type = typename Case::heap;
  struct registration {
    typename heap_type::ticket ticket;
    std::uint64_t target;
    bool is_released;
  };

  void add() {
    const std::uint64_t target = random_.below(50) == 0 ? UINT64_MAX - random_.below(2) : 1 + random_.below(200);
    const auto ticket = heap_.add(target);
    if (Case::grows) {
      expect(!ticket.is_in_lane());
    } else if (Case::capacity <= 16) {
      // With more, waiters of a pass over many may have left before they were woken: their slots are not free yet.
      expect(ticket.is_in_lane() == (slots_taken_ == Case::capacity));
    }
    live_.push_back({ticket, target, false});
    if (ticket.is_in_lane()) {
      ++lane_;
      lane_least_ = std::min(lane_least_, target - 1);
    } else {
      ++slots_taken_;
      waiting_.insert(target);
    }
  }

  void withdraw() {
    if (live_.empty()) return;
    const std::size_t index = random_.below(live_.size());
    const registration gone = live_[index];
    live_[index] = live_.back();
    live_.pop_back();
    expect(heap_.withdraw(gone.ticket) == !gone.is_released);
    if (gone.ticket.is_in_lane()) {
      if (!gone.is_released && --lane_ == 0) lane_least_ = no_waiter;
      return;
    }
    --slots_taken_;
    if (!gone.is_released) waiting_.erase(waiting_.find(gone.target));
  }

  void release_due() {
    const std::uint64_t value = random_.below(40) == 0 ? UINT64_MAX - random_.below(3) : random_.below(220);
    std::size_t due = 0;
    const bool empties_lane = lane_least_ < value;
    for (auto& one : live_) {
      if (one.is_released || !(one.ticket.is_in_lane() ? empties_lane : one.target <= value)) continue;
      one.is_released = true;
      if (!one.ticket.is_in_lane()) waiting_.erase(waiting_.find(one.target));
      ++due;
    }
    if (empties_lane) {
      lane_ = 0;
      lane_least_ = no_waiter;
    }
    expect(heap_.release_due(value) == due);
  }

  void expect(bool holds) { mistakes_ += holds ? 0 : 1; }

  random_numbers random_;
  heap_type heap_;
  std::vector<registration> live_;
  std::multiset<std::uint64_t> waiting_;
  std::size_t slots_taken_ = 0;
  std::size_t lane_ = 0;                  // how many waiters are in the lane
  std::uint64_t lane_least_ = no_waiter;  // the least target minus 1 since the lane was last empty
  std::size_t mistakes_ = 0;
};

using one_slot = heap_of<1, tidemark::native_platform>;
using two_slots = heap_of<2, tidemark::symmetric_platform>;
using five_slots = heap_of<5, tidemark::portable_platform>;
using sixteen_slots = heap_of<16, tidemark::native_platform>;
using sixteen_slots_in_pairs = heap_of<16, tidemark::native_platform, 2>;
using seventeen_slots_by_eight = heap_of<17, tidemark::symmetric_platform, 8>;
using word_of_slots = heap_of<64, tidemark::symmetric_platform>;
using word_and_a_slot = heap_of<65, tidemark::portable_platform>;
using thousand_slots = heap_of<1000, tidemark::native_platform>;
using growing_from_one = heap_of<1, tidemark::native_platform, 4, heap_growth::allowed>;
using growing_in_pairs = heap_of<3, tidemark::symmetric_platform, 2, heap_growth::allowed>;
using growing_from_sixteen = heap_of<16, tidemark::portable_platform, 4, heap_growth::allowed>;

}  // namespace

TYPE_TO_STRING_AS("1 slot", one_slot);
TYPE_TO_STRING_AS("2 slots", two_slots);
TYPE_TO_STRING_AS("5 slots", five_slots);
TYPE_TO_STRING_AS("16 slots", sixteen_slots);
TYPE_TO_STRING_AS("16 slots, arity 2", sixteen_slots_in_pairs);
TYPE_TO_STRING_AS("17 slots, arity 8", seventeen_slots_by_eight);
TYPE_TO_STRING_AS("64 slots", word_of_slots);
TYPE_TO_STRING_AS("65 slots", word_and_a_slot);
TYPE_TO_STRING_AS("1000 slots", thousand_slots);
TYPE_TO_STRING_AS("1 slot, growing", growing_from_one);
TYPE_TO_STRING_AS("3 slots, arity 2, growing", growing_in_pairs);
TYPE_TO_STRING_AS("16 slots, growing", growing_from_sixteen);

// ---- one thread ----------------------------------------------------------------------------------------------------

TEST_CASE("[A12] the heap's monitored value is the least awaited target minus one, in whatever order they come") {
  waiter_heap<4> heap;
  const auto first = heap.add(45);
  CHECK(heap.monitored_value() == 44);
  const auto second = heap.add(42);
  CHECK(heap.monitored_value() == 41);
  const auto third = heap.add(43);
  CHECK(heap.monitored_value() == 41);
  CHECK(heap.withdraw(first));
  CHECK(heap.withdraw(second));
  CHECK(heap.withdraw(third));
}

TEST_CASE("[A14][A32][trap 2] a withdrawal raises the heap's monitored value to that of the next waiter") {
  waiter_heap<4> heap;
  const auto low = heap.add(42);
  const auto high = heap.add(45);
  CHECK(heap.monitored_value() == 41);
  CHECK(heap.withdraw(low));
  CHECK(heap.monitored_value() == 44);
  CHECK(heap.withdraw(high));
  CHECK(heap.monitored_value() == no_waiter);
}

TEST_CASE("[A15] the monitored value of an empty heap is no_waiter") {
  waiter_heap<4> heap;
  static_assert(no_waiter == UINT64_MAX);
  CHECK(heap.monitored_value() == no_waiter);
  const auto ticket = heap.add(3);
  CHECK(heap.release_due(3) == 1);
  CHECK(heap.monitored_value() == no_waiter);  // before the released waiter has withdrawn
  CHECK(heap.is_released(ticket));
  CHECK_FALSE(heap.withdraw(ticket));
  CHECK(heap.monitored_value() == no_waiter);
}

TEST_CASE("[A18] a pass may find no due waiter") {
  waiter_heap<4, counted> heap;
  const meter<counted> during;
  CHECK(heap.release_due(UINT64_MAX) == 0);
  const auto ticket = heap.add(10);
  CHECK(heap.release_due(9) == 0);
  CHECK(heap.release_due(std::uint64_t{0}) == 0);
  CHECK_FALSE(heap.is_released(ticket));
  CHECK(heap.monitored_value() == 9);
  CHECK(during.unparks() == 0);
  CHECK(heap.withdraw(ticket));
}

TEST_CASE("[A19][A20] one pass releases exactly the due waiters, and the next one is monitored") {
  waiter_heap<4, counted> heap;
  const auto at_42 = heap.add(42);
  const auto at_43 = heap.add(43);
  const auto at_50 = heap.add(50);
  const meter<counted> during;
  CHECK(heap.release_due(45) == 2);
  CHECK(during.unparks() == 2);
  CHECK(heap.is_released(at_42));
  CHECK(heap.is_released(at_43));
  CHECK_FALSE(heap.is_released(at_50));
  CHECK(heap.monitored_value() == 49);
  CHECK_FALSE(heap.withdraw(at_42));
  CHECK_FALSE(heap.withdraw(at_43));
  CHECK(heap.withdraw(at_50));
}

TEST_CASE("[A29] a value that rises during a pass counts for waiters at which the pass has not looked yet") {
  waiter_heap<4> heap;
  const auto at_1 = heap.add(1);
  const auto at_9 = heap.add(9);
  int asked = 0;
  const auto rising = [&asked]() -> std::uint64_t { return ++asked <= 2 ? 1 : 9; };
  CHECK(heap.release_due(rising) == 2);
  CHECK_FALSE(heap.withdraw(at_1));
  CHECK_FALSE(heap.withdraw(at_9));
}

TEST_CASE_TEMPLATE(
    "[A16][A27] after each step of a random walk the monitored value and the released waiters are those of a model",
    Case, one_slot, two_slots, five_slots, sixteen_slots, sixteen_slots_in_pairs, seventeen_slots_by_eight,
    word_of_slots, word_and_a_slot, thousand_slots, growing_from_one, growing_in_pairs, growing_from_sixteen) {
  modelled_heap<Case> both{fresh_seed()};
  const int steps = Case::capacity > 100 ? 5'000 : 20'000;
  for (int step = 0; step < steps; ++step) {
    both.step();
    REQUIRE(both.monitored_value() == both.expected_value());
    REQUIRE(both.mistakes() == 0);
    if (Case::capacity < 100 || step % 50 == 0) REQUIRE(both.released_exactly_the_due());
  }
  both.empty();
  CHECK(both.monitored_value() == no_waiter);
  CHECK(both.mistakes() == 0);
}

TEST_CASE("[trap 3] the monitored value of the greatest target is one below no_waiter") {
  waiter_heap<4> heap;
  const auto last = heap.add(UINT64_MAX);
  CHECK(heap.monitored_value() == UINT64_MAX - 1);
  CHECK(heap.release_due(UINT64_MAX - 1) == 0);
  CHECK(heap.release_due(UINT64_MAX) == 1);
  CHECK(heap.monitored_value() == no_waiter);
  CHECK_FALSE(heap.withdraw(last));
}

TEST_CASE("[trap 6] a low target that is added after high ones is the monitored one, and is released alone") {
  waiter_heap<16> heap;
  std::vector<waiter_heap<16>::ticket> high;
  for (std::uint64_t target = 1000; target < 1010; ++target) high.push_back(heap.add(target));
  const auto low = heap.add(1);
  CHECK(heap.monitored_value() == 0);
  CHECK(heap.release_due(1) == 1);
  CHECK(heap.is_released(low));
  CHECK(heap.monitored_value() == 999);
  CHECK_FALSE(heap.withdraw(low));
  for (const auto& ticket : high) CHECK(heap.withdraw(ticket));
}

TEST_CASE("a released waiter keeps its slot until it withdraws") {
  fixed_heap<1> heap;
  const auto first = heap.add(1);
  CHECK(heap.release_due(1) == 1);
  const auto second = heap.add(2);
  CHECK(second.is_in_lane());
  CHECK(heap.withdraw(second));
  CHECK_FALSE(heap.withdraw(first));
  const auto third = heap.add(3);
  CHECK_FALSE(third.is_in_lane());
  CHECK_FALSE(heap.is_released(third));  // the slot's earlier release does not count
  CHECK(heap.withdraw(third));
}

TEST_CASE("where growth is forbidden, waiters that find no slot share the overflow lane, which has one least target") {
  fixed_heap<1, counted> heap;
  const auto in_slot = heap.add(7);
  const auto first = heap.add(100);
  const auto second = heap.add(200);
  CHECK_FALSE(in_slot.is_in_lane());
  CHECK(first.is_in_lane());
  CHECK(second.is_in_lane());
  CHECK(heap.capacity() == 1);
  CHECK(heap.monitored_value() == 6);
  CHECK(heap.withdraw(in_slot));
  CHECK(heap.monitored_value() == 99);

  const meter<counted> during;
  const auto seen = heap.wakes(first);
  CHECK(heap.release_due(99) == 0);
  CHECK(during.unparks() == 0);  // nobody in the lane is due
  CHECK_FALSE(heap.is_released(first));
  CHECK(heap.release_due(100) == 2);
  CHECK(during.unparks() == 1);  // one call for the whole lane
  CHECK(heap.park(first, seen, no_deadline));
  CHECK(heap.is_released(first));
  CHECK(heap.is_released(second));  // although it is not due: it registers again
  CHECK(heap.monitored_value() == no_waiter);
  CHECK_FALSE(heap.withdraw(first));
  CHECK_FALSE(heap.withdraw(second));
}

TEST_CASE("a waiter that leaves the overflow lane leaves no target behind once the lane is empty") {
  fixed_heap<1> heap;
  const auto in_slot = heap.add(50);
  const auto first = heap.add(10);
  const auto second = heap.add(20);
  CHECK(heap.monitored_value() == 9);
  CHECK(heap.withdraw(first));
  CHECK(heap.monitored_value() <= 19);
  CHECK(heap.withdraw(second));
  CHECK(heap.monitored_value() == 49);
  CHECK(heap.withdraw(in_slot));
}

// ---- growth --------------------------------------------------------------------------------------------------------

TEST_CASE("[A32] a full heap grows by blocks, each larger than all slots before, and keeps them") {
  waiter_heap<2, counted> heap;
  std::vector<tidemark::waiter_ticket> tickets;
  const auto add = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) tickets.push_back(heap.add(1000 - tickets.size()));
  };
  add(2);
  CHECK(heap.capacity() == 2);
  add(1);
  CHECK(heap.capacity() == 6);
  add(3);
  CHECK(heap.capacity() == 6);
  add(1);
  CHECK(heap.capacity() == 18);
  add(93);
  CHECK(heap.capacity() == 162);
  CHECK(heap.monitored_value() == 1000 - 100);
  for (const auto& ticket : tickets) CHECK_FALSE(ticket.is_in_lane());

  // Exactly one is due, wherever its slot lies.
  const meter<counted> during;
  CHECK(heap.release_due(901) == 1);
  CHECK(during.unparks() == 1);
  CHECK(heap.monitored_value() == 901);
  CHECK_FALSE(heap.withdraw(tickets.back()));
  tickets.pop_back();
  for (const auto& ticket : tickets) CHECK(heap.withdraw(ticket));
  CHECK(heap.monitored_value() == no_waiter);
  CHECK(heap.capacity() == 162);
}

TEST_CASE("slots of all blocks are used again") {
  waiter_heap<1> heap;
  for (int round = 0; round < 3; ++round) {
    std::vector<tidemark::waiter_ticket> tickets;
    for (std::uint64_t target = 1; target <= 20; ++target) tickets.push_back(heap.add(target));
    CHECK(heap.capacity() == 27);
    CHECK(heap.release_due(10) == 10);
    for (std::size_t i = 0; i < tickets.size(); ++i) CHECK(heap.withdraw(tickets[i]) == (i >= 10));
  }
}

// ---- a pass over many ----------------------------------------------------------------------------------------------

namespace {

/// A platform whose passes wake three waiters themselves.
struct wakes_three : counting_platform<tidemark::native_platform> {
  static constexpr std::size_t most_woken = 3;
  /// As if a thread slept there.
  static bool unpark(sleepers those, std::uint32_t count) noexcept {
    counting_platform<tidemark::native_platform>::unpark(those, count);
    return true;
  }
};

}  // namespace

TEST_CASE("a pass over many wakes a few, and each waiter that withdraws wakes two more") {
  waiter_heap<4, wakes_three> heap;
  std::vector<tidemark::waiter_ticket> tickets;
  std::vector<std::uint32_t> seen;
  for (std::uint64_t target = 1; target <= 20; ++target) {
    tickets.push_back(heap.add(target));
    seen.push_back(heap.wakes(tickets.back()));
  }
  const auto woken = [&] {
    std::vector<std::size_t> those;
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      if (heap.wakes(tickets[i]) != seen[i]) those.push_back(i);
    }
    return those;
  };
  const meter<wakes_three> during;
  CHECK(heap.release_due(19) == 19);
  CHECK(during.unparks() == 3);
  CHECK(woken().size() == 3);
  std::size_t expected = 3;
  std::vector<bool> gone(tickets.size(), false);
  for (std::size_t left = 0; left < 19; ++left) {
    const auto those = woken();
    REQUIRE(those.size() == expected);
    const auto next = std::find_if(those.begin(), those.end(), [&](std::size_t i) { return !gone[i]; });
    REQUIRE(next != those.end());
    CHECK_FALSE(heap.withdraw(tickets[*next]));
    gone[*next] = true;
    expected = std::min(expected + 2, std::size_t{19});
  }
  CHECK(during.unparks() == 19);
  CHECK_FALSE(gone[19]);
  CHECK(heap.withdraw(tickets[19]));
}

TEST_CASE("a released waiter that leaves before it is woken is replaced by another one") {
  waiter_heap<10, wakes_three> heap;
  std::vector<tidemark::waiter_ticket> tickets;
  for (std::uint64_t target = 1; target <= 10; ++target) tickets.push_back(heap.add(target));
  CHECK(heap.release_due(10) == 10);
  // Three are awake. Those that leave by themselves wake nobody, and are not woken: the last ones have no one left.
  for (std::size_t i = 9; i >= 4; --i) CHECK_FALSE(heap.withdraw(tickets[i]));
  const meter<wakes_three> during;
  CHECK_FALSE(heap.withdraw(tickets[0]));
  CHECK(during.unparks() == 1);
  for (std::size_t i = 1; i < 4; ++i) CHECK_FALSE(heap.withdraw(tickets[i]));
  CHECK(during.unparks() == 1);
  // Their slots are free again.
  for (auto& ticket : tickets) ticket = heap.add(20);
  CHECK(heap.capacity() == 10);
  for (const auto& ticket : tickets) CHECK(heap.withdraw(ticket));
}

TEST_CASE("a waiter that wakes others passes over those that have left, in the first block and in later ones") {
  const auto try_on = [](auto&& heap, std::size_t others) {
    std::vector<tidemark::waiter_ticket> bystanders;
    for (std::size_t i = 0; i < others; ++i) bystanders.push_back(heap.add(9));
    std::vector<tidemark::waiter_ticket> tickets;
    for (int i = 0; i < 10; ++i) tickets.push_back(heap.add(1));
    std::vector<std::uint32_t> seen;
    for (const auto& ticket : tickets) seen.push_back(heap.wakes(ticket));
    CHECK(heap.release_due(1) == 10);
    std::vector<std::size_t> woken;
    std::vector<std::size_t> asleep;
    for (std::size_t i = 0; i < tickets.size(); ++i) {
      (heap.wakes(tickets[i]) != seen[i] ? woken : asleep).push_back(i);
    }
    REQUIRE(asleep.size() == 7);
    // All but two leave by themselves. A woken one wakes these two.
    for (std::size_t i = 0; i < 5; ++i) CHECK_FALSE(heap.withdraw(tickets[asleep[i]]));
    const meter<wakes_three> during;
    CHECK_FALSE(heap.withdraw(tickets[woken[0]]));
    CHECK(during.unparks() == 2);
    for (const std::size_t last : {asleep[5], asleep[6]}) CHECK(heap.wakes(tickets[last]) != seen[last]);
    for (const std::size_t last : {asleep[5], asleep[6], woken[1], woken[2]}) CHECK_FALSE(heap.withdraw(tickets[last]));
    for (const auto& bystander : bystanders) CHECK(heap.withdraw(bystander));
  };
  try_on(waiter_heap<10, wakes_three>{}, 0);
  try_on(waiter_heap<1, wakes_three>{}, 0);
  // The slots of these are in the second word of the set.
  try_on(waiter_heap<100, wakes_three>{}, 70);
}

TEST_CASE("the monitored value of a pinned heap is always 0, and a pass still releases exactly the due waiters") {
  waiter_heap<2, counted> heap;
  CHECK_FALSE(heap.is_pinned());
  heap.pin();
  CHECK(heap.is_pinned());
  CHECK(heap.monitored_value() == 0);
  const meter<counted> during;
  CHECK(heap.release_due(5) == 0);
  CHECK(during.unparks() == 0);  // no thread is in the lane that the pin occupies
  const auto ticket = heap.add(3);
  CHECK(heap.release_due(2) == 0);
  CHECK(heap.release_due(3) == 1);
  CHECK_FALSE(heap.withdraw(ticket));
  CHECK(heap.monitored_value() == 0);
}

// ---- sleeping ------------------------------------------------------------------------------------------------------

TEST_CASE("park returns at once after a release or a nudge, and false only when its deadline has passed") {
  waiter_heap<2> heap;
  const auto ticket = heap.add(5);
  auto seen = heap.wakes(ticket);
  const auto start = std::chrono::steady_clock::now();
  while (heap.park(ticket, seen, start + 2ms)) {
  }
  CHECK(std::chrono::steady_clock::now() >= start + 2ms);
  heap.nudge(ticket);
  CHECK(heap.park(ticket, seen, no_deadline));
  CHECK_FALSE(heap.is_released(ticket));  // a nudge is not a release
  seen = heap.wakes(ticket);
  CHECK(heap.release_due(5) == 1);
  CHECK(heap.park(ticket, seen, no_deadline));
  CHECK(heap.is_released(ticket));
  CHECK_FALSE(heap.withdraw(ticket));
}

TEST_CASE("only the pass that releases a sleeper wakes it") {
  waiter_heap<2, counted> heap;
  const watchdog dog{[&] { return "monitored " + std::to_string(heap.monitored_value()); }};
  const auto ticket = heap.add(5);
  background sleeper{[&] {
    for (auto seen = heap.wakes(ticket); !heap.is_released(ticket); seen = heap.wakes(ticket)) {
      heap.park(ticket, seen, no_deadline);
    }
  }};
  CHECK(sleeper.falls_asleep());
  heap.release_due(4);
  CHECK_FALSE(sleeper.has_returned());
  heap.release_due(5);
  sleeper.join();
  CHECK_FALSE(heap.withdraw(ticket));
}

// ---- many threads --------------------------------------------------------------------------------------------------

namespace {

/// Runs `step(random)` repeatedly in four threads at once, each with random numbers of its own.
template <class Step>
void repeat_in_four_threads(const Step& step) {
  const auto seed = fresh_seed();
  std::vector<std::thread> threads;
  for (std::uint64_t stream = 0; stream < 4; ++stream) {
    threads.emplace_back([&, stream] {
      random_numbers random{seed, stream};
      for (repetitions rounds{40'000}; rounds.goes_on();) step(random);
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace

TEST_CASE_TEMPLATE("[A12][A33][trap 7] each registered waiter is monitored, however many come and go", Case, one_slot,
                   two_slots, five_slots, sixteen_slots_in_pairs, word_and_a_slot, growing_from_one, growing_in_pairs) {
  typename Case::heap heap;
  std::atomic<std::uint64_t> overlooked{0};
  repeat_in_four_threads([&](random_numbers& random) {
    const std::uint64_t target = 1 + random.below(1000);
    const auto ticket = heap.add(target);
    for (std::uint64_t looks = random.below(4) + 1; looks > 0; --looks) {
      if (heap.monitored_value() > target - 1) ++overlooked;
    }
    if (!heap.withdraw(ticket)) ++overlooked;  // no thread releases here
  });
  CHECK(overlooked == 0);
  CHECK(heap.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE(
    "[A33] exactly one of release and withdrawal ends each registration, however often a slot is used again", Case,
    one_slot, two_slots, five_slots, word_and_a_slot, growing_from_one, growing_in_pairs) {
  typename Case::heap heap;
  const auto seed = fresh_seed();
  std::atomic<std::uint64_t> released{0};
  std::atomic<std::uint64_t> found_released{0};
  std::atomic<int> registering{3};
  std::vector<std::thread> threads;
  for (std::uint64_t stream = 0; stream < 3; ++stream) {
    threads.emplace_back([&, stream] {
      random_numbers random{seed, stream};
      for (repetitions rounds{40'000}; rounds.goes_on();) {
        const auto ticket = heap.add(1 + random.below(20));
        for (std::uint64_t looks = random.below(20); looks > 0 && !heap.is_released(ticket); --looks) {
        }
        const bool was_released = heap.is_released(ticket);
        const bool withdrawn = heap.withdraw(ticket);
        if (!withdrawn) ++found_released;
        if (was_released && withdrawn) found_released = UINT64_MAX / 2;
      }
      --registering;
    });
  }
  for (std::uint64_t stream = 3; stream < 5; ++stream) {
    threads.emplace_back([&, stream] {
      random_numbers random{seed, stream};
      while (registering > 0) released += heap.release_due(random.below(25));
    });
  }
  for (auto& thread : threads) thread.join();
  MESSAGE(released << " released by others");
  CHECK(released == found_released);
  CHECK(heap.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("[A16][A33] a pass that begins after a registration leaves no due waiter behind", Case, two_slots,
                   five_slots, sixteen_slots, word_and_a_slot, growing_from_one, growing_in_pairs) {
  typename Case::heap heap;
  std::atomic<std::uint64_t> left_behind{0};
  repeat_in_four_threads([&](random_numbers& random) {
    const std::uint64_t target = 1 + random.below(20);
    const auto ticket = heap.add(target);
    heap.release_due(target + random.below(3));
    const bool was_left = heap.withdraw(ticket);
    if (was_left && !ticket.is_in_lane()) ++left_behind;
  });
  CHECK(left_behind == 0);
  CHECK(heap.monitored_value() == no_waiter);
}
