// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the waiter heap alone, and of the min-tree inside it. Where a value is awaited, the checks bring a
// word of their own and do the handshake of fence.hpp around the heap.
#include "support/model_check.hpp"

#include <tidemark/waiter_heap.hpp>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using tidemark::no_waiter;
using tidemark::waiter_heap;
using payload = platform::var<int>;
using word = platform::atomic<std::uint64_t>;

constexpr auto forever = tidemark::forever;

/// [A12] [A14] [A27] A waiter stays while another comes and goes: when all is quiet the least target is exact. The two
/// refreshes of the second thread are what can make both tries of the first one fail.
template <std::size_t Capacity>
struct exact_when_quiet : model::suite<2> {
  waiter_heap<Capacity, platform, 2> heap;

  void thread(unsigned index) {
    if (index == 0) {
      static_cast<void>(heap.add(3));
    } else {
      heap.withdraw(heap.add(7));
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 2); }
};

/// [A14] [A20] A waiter leaves while another comes and goes: nothing of it is left, so the monitored value rises again.
struct exact_after_withdrawal : model::suite<2> {
  waiter_heap<2, platform, 2> heap;
  waiter_heap<2, platform, 2>::ticket ticket = heap.add(3);

  void thread(unsigned index) { heap.withdraw(index == 0 ? ticket : heap.add(7)); }
  void after() { MODEL_REQUIRE(heap.monitored_value() == no_waiter); }
};

/// [A14] [A27] Two waiters with the same target, one comes and one goes: the same minimum twice is not the same state
/// (ABA).
struct exact_with_equal_targets : model::suite<2> {
  waiter_heap<2, platform, 2> heap;
  waiter_heap<2, platform, 2>::ticket ticket = heap.add(7);

  void thread(unsigned index) {
    if (index == 0) {
      static_cast<void>(heap.add(7));
    } else {
      heap.withdraw(ticket);
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 6); }
};

/// [A14] A waiter enters the lane while the only slot is left and taken again: the lane keeps the monitored value at 0.
struct exact_after_lane_entry : model::suite<3> {
  waiter_heap<1, platform, 2> heap;
  waiter_heap<1, platform, 2>::ticket ticket = heap.add(3);

  void thread(unsigned index) {
    if (index == 2) {
      heap.withdraw(ticket);
    } else {
      static_cast<void>(heap.add(7 + index));
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 0); }
};

/// [A14] One thread stays in the lane while another enters and leaves it: the lane keeps the monitored value at 0.
struct lane_stays_occupied : model::suite<2> {
  waiter_heap<1, platform, 2> heap;
  waiter_heap<1, platform, 2>::ticket ticket = heap.add(3);

  void thread(unsigned index) {
    const auto shared = heap.add(7);
    if (index == 1) heap.withdraw(shared);
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 0); }
};

/// [A12] [A14] Three threads come and go; the one that stays is the least.
struct exact_when_three_are_quiet : model::suite<3> {
  waiter_heap<3, platform, 4> heap;

  void thread(unsigned index) {
    const auto ticket = heap.add(index + 5);
    if (index != 0) heap.withdraw(ticket);
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 4); }
};

/// [A15] Everybody leaves, by their own doing or released: nothing is left behind (trap 2).
struct empty_when_all_left : model::suite<3> {
  waiter_heap<2, platform, 2> heap;

  void thread(unsigned index) {
    if (index == 2) {
      heap.release_due(1);
    } else {
      heap.withdraw(heap.add(index + 1));
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == no_waiter); }
};

/// [A14] More waiters than slots come and go; the lane empties (trap 2).
struct lane_empties : model::suite<3> {
  waiter_heap<1, platform, 2> heap;

  void thread(unsigned index) { heap.withdraw(heap.add(index + 1)); }
  void after() { MODEL_REQUIRE(heap.monitored_value() == no_waiter); }
};

/// [A27] As soon as add() has returned, and as long as its waiter waits, the monitored value is below its target: also
/// while others come, go and are released.
struct never_above_a_waiter : model::suite<3> {
  waiter_heap<2, platform, 2> heap;

  void thread(unsigned index) {
    if (index == 0) {
      const auto ticket = heap.add(5);
      MODEL_REQUIRE(heap.monitored_value() <= 4);
      heap.withdraw(ticket);
    } else if (index == 1) {
      heap.withdraw(heap.add(2));
    } else {
      heap.release_due(3);
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == no_waiter); }
};

/// [A19] Release and withdrawal of one waiter: exactly one of them wins, and a waiter that was released has the data.
struct release_against_withdrawal : model::suite<2> {
  waiter_heap<1, platform, 2> heap;
  payload data;
  std::size_t released = 0;
  bool withdrawn = false;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      released = heap.release_due(1);
    } else {
      const auto ticket = heap.add(1);
      withdrawn = heap.withdraw(ticket);
      if (!withdrawn) MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() {
    MODEL_REQUIRE(released + (withdrawn ? 1u : 0u) == 1);
    MODEL_REQUIRE(heap.monitored_value() == no_waiter);
  }
};

/// [A19] A waiter that asks whether it was released, and hears yes, has the data.
struct released_brings_data : model::suite<2> {
  waiter_heap<1, platform, 2> heap;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      heap.release_due(1);
    } else {
      const auto ticket = heap.add(1);
      if (heap.is_released(ticket)) MODEL_REQUIRE(data.load() == 42);
      heap.withdraw(ticket);
    }
  }
};

/// [A19] A waiter that sees its count of wakes move has the data of the one who moved it.
struct wake_brings_data : model::suite<2> {
  waiter_heap<1, platform, 2> heap;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      heap.release_due(1);
    } else {
      const auto ticket = heap.add(1);
      if (heap.wakes(ticket) != 0) MODEL_REQUIRE(data.load() == 42);
      heap.withdraw(ticket);
    }
  }
};

/// A slot changes hands: the next owner finds the leaf as the last one left it (`arm` asserts it), and what the last
/// one did before it left is visible.
struct slot_changes_hands : model::suite<2> {
  waiter_heap<1, platform, 2> heap;
  payload uses;

  void thread(unsigned) {
    const auto ticket = heap.add(1);
    if (ticket.is_in_lane()) {
      heap.withdraw(ticket);
      return;
    }
    uses.store(uses.load() + 1);
    heap.withdraw(ticket);
  }
};

/// The slot is released and taken again while the first releaser is still at work: it must not take the second waiter
/// along (the claim of a wrong generation), nor clear the leaf after the fact.
struct slot_taken_again : model::suite<2> {
  waiter_heap<1, platform, 2> heap;
  bool kept = false;

  void thread(unsigned index) {
    if (index == 0) {
      heap.release_due(1);
    } else {
      heap.withdraw(heap.add(1));
      const auto ticket = heap.add(2);
      MODEL_REQUIRE(!heap.is_released(ticket));
      kept = true;
    }
  }
  void after() {
    MODEL_REQUIRE(kept);
    MODEL_REQUIRE(heap.monitored_value() == 1);
  }
};

/// [A16] [A19] A pass releases who is due, and nobody else: not the one whose target is one more (trap 4).
struct only_the_due : model::suite<2> {
  waiter_heap<2, platform, 2> heap;

  void thread(unsigned index) {
    if (index == 0) {
      heap.release_due(1);
    } else {
      const auto first = heap.add(1);
      const auto second = heap.add(2);
      MODEL_REQUIRE(heap.withdraw(second));
      heap.withdraw(first);
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == no_waiter); }
};

/// A heap that is used for a second timeline, which starts at 0 again, while a pass over the first one still runs: the
/// pass must not measure the second timeline's waiter by the first one's value.
struct used_for_a_second_timeline : model::suite<2> {
  waiter_heap<1, platform, 2> heap;
  word value;
  word stored;

  void thread(unsigned index) {
    if (index == 0) {
      value.store(9, std::memory_order_release);
      stored.store(1, std::memory_order_release);
      heap.release_due([this] { return value.load(std::memory_order_relaxed); });
    } else if (stored.load(std::memory_order_acquire) != 0) {
      value.store(0, std::memory_order_relaxed);
      const auto ticket = heap.add(5);
      MODEL_REQUIRE(heap.withdraw(ticket));
    }
  }
};

/// [A14] [A28] A waiter in the lane, with a deadline, against a signal: it leaves with the data or at its deadline, and
/// takes nothing of the other waiter along.
struct deadline_in_the_lane : model::suite<2> {
  waiter_heap<1, platform, 2> heap;
  waiter_heap<1, platform, 2>::ticket other = heap.add(3);
  word value;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      value.exchange(1, std::memory_order_seq_cst);
      platform::full_barrier();
      if (heap.monitored_word().load_value(std::memory_order_seq_cst) < 1) {
        heap.release_due([this] { return value.load(std::memory_order_relaxed); });
      }
      return;
    }
    const auto ticket = heap.add(1);
    MODEL_REQUIRE(ticket.is_in_lane());
    platform::heavy_barrier();
    for (bool in_time = true; in_time;) {
      const std::uint32_t seen = heap.wakes(ticket);
      if (value.load(std::memory_order_seq_cst) >= 1) {
        MODEL_REQUIRE(data.load() == 42);
        break;
      }
      in_time = heap.park(ticket, seen, tidemark::deadline{std::chrono::hours{1}});
    }
    heap.withdraw(ticket);
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 2); }
};

/// [A28] [A37] Two levels of nodes: the waiter below another node than the released one is found as well.
struct two_levels : model::suite<3> {
  waiter_heap<3, platform, 2> heap;
  word value;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      value.exchange(1, std::memory_order_seq_cst);
      platform::full_barrier();
      if (heap.monitored_word().load_value(std::memory_order_seq_cst) < 1) {
        heap.release_due([this] { return value.load(std::memory_order_relaxed); });
      }
    } else {
      const auto ticket = heap.add(1);
      platform::heavy_barrier();
      for (;;) {
        const std::uint32_t seen = heap.wakes(ticket);
        if (value.load(std::memory_order_seq_cst) >= 1) break;
        heap.park(ticket, seen, forever);
      }
      MODEL_REQUIRE(data.load() == 42);
      heap.withdraw(ticket);
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == no_waiter); }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<exact_when_quiet<2>, "exact_when_quiet">(),
                        model::make_check<exact_when_quiet<4>, "exact_when_quiet_two_levels">(),
                        model::make_check<exact_after_withdrawal, "exact_after_withdrawal">(),
                        model::make_check<exact_with_equal_targets, "exact_with_equal_targets">(),
                        model::make_check<exact_after_lane_entry, "exact_after_lane_entry">(),
                        model::make_check<lane_stays_occupied, "lane_stays_occupied">(),
                        model::make_check<exact_when_three_are_quiet, "exact_when_three_are_quiet">(),
                        model::make_check<empty_when_all_left, "empty_when_all_left">(),
                        model::make_check<lane_empties, "lane_empties">(),
                        model::make_check<never_above_a_waiter, "never_above_a_waiter">(),
                        model::make_check<release_against_withdrawal, "release_against_withdrawal">(),
                        model::make_check<released_brings_data, "released_brings_data">(),
                        model::make_check<wake_brings_data, "wake_brings_data">(),
                        model::make_check<slot_changes_hands, "slot_changes_hands">(),
                        model::make_check<slot_taken_again, "slot_taken_again">(),
                        model::make_check<only_the_due, "only_the_due">(),
                        model::make_check<used_for_a_second_timeline, "used_for_a_second_timeline">(),
                        model::make_check<deadline_in_the_lane, "deadline_in_the_lane">(),
                        model::make_check<two_levels, "two_levels">(),
                    });
}
