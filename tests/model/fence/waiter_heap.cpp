// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the waiter heap alone, and of the min-tree inside it. Checks that wait for a value have a word of
// their own for it, and do the handshake of fence.hpp around the heap.
#include "support/model_check.hpp"
#include "support/shapes.hpp"

#include <tidemark/fence/waiter_heap.hpp>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using model::heap_shape;
using model::shaped_heap;
using payload = platform::var<int>;
using word = platform::atomic<std::uint64_t>;

constexpr auto no_deadline = tidemark::no_deadline;

/// [A12] [A14] [A27] A waiter stays while another one comes and goes. When no operation is in flight, the least target
/// is exact. The two refreshes of the second thread can make both tries of the first thread fail.
template <heap_shape Shape>
struct exact_when_quiet : model::suite<2> {
  shaped_heap<platform, Shape> heap;

  void thread(unsigned index) {
    if (index == 0) {
      static_cast<void>(heap.add(3));
    } else {
      heap.withdraw(heap.add(7));
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 2); }
};

/// [A14] [A20] A waiter leaves while another one comes and goes. Nothing of it is left, so the monitored value rises
/// again.
template <heap_shape Shape>
struct exact_after_withdrawal : model::suite<2> {
  shaped_heap<platform, Shape> heap;
  tidemark::waiter_ticket ticket = heap.add(3);

  void thread(unsigned index) { heap.withdraw(index == 0 ? ticket : heap.add(7)); }
  void after() { MODEL_REQUIRE(heap.monitored_value() == heap.idle_value()); }
};

/// [A14] [A27] Two waiters have the same target; one comes and one goes. The same minimum twice is not the same state
/// (ABA).
template <heap_shape Shape>
struct exact_with_equal_targets : model::suite<2> {
  shaped_heap<platform, Shape> heap;
  tidemark::waiter_ticket ticket = heap.add(7);

  void thread(unsigned index) {
    if (index == 0) {
      static_cast<void>(heap.add(7));
    } else {
      heap.withdraw(ticket);
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 6); }
};

/// [A14] A waiter enters the lane while the only slot is freed and taken again. Both are monitored.
template <heap_shape Shape>
struct exact_after_lane_entry : model::suite<3> {
  shaped_heap<platform, Shape> heap;
  tidemark::waiter_ticket ticket = heap.add(3);

  void thread(unsigned index) {
    if (index == 2) {
      heap.withdraw(ticket);
    } else {
      static_cast<void>(heap.add(7 + index));
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 6); }
};

/// [A14] One thread stays in the lane while another one enters and leaves it. The one that stays is monitored.
template <heap_shape Shape>
struct lane_stays_occupied : model::suite<2> {
  shaped_heap<platform, Shape> heap;
  tidemark::waiter_ticket ticket = heap.add(30);

  void thread(unsigned index) {
    const auto shared = heap.add(7 + index);
    if (index == 1) heap.withdraw(shared);
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 6); }
};

/// [A12] [A14] Three waiters come and two of them leave. The one that stays has the least target.
template <heap_shape Shape>
struct exact_when_three_are_quiet : model::suite<3> {
  shaped_heap<platform, Shape> heap;

  void thread(unsigned index) {
    const auto ticket = heap.add(index + 5);
    if (index != 0) heap.withdraw(ticket);
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 4); }
};

/// [A15] Every waiter leaves, by itself or because it is released. Nothing is left behind [trap 2].
template <heap_shape Shape>
struct empty_when_all_left : model::suite<3> {
  shaped_heap<platform, Shape> heap;

  void thread(unsigned index) {
    if (index == 2) {
      heap.release_due(1);
    } else {
      heap.withdraw(heap.add(index + 1));
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == heap.idle_value()); }
};

/// [A14] More waiters than slots come and go. Afterwards the lane is empty [trap 2].
template <heap_shape Shape>
struct lane_empties : model::suite<3> {
  shaped_heap<platform, Shape> heap;

  void thread(unsigned index) { heap.withdraw(heap.add(index + 1)); }
  void after() { MODEL_REQUIRE(heap.monitored_value() == heap.idle_value()); }
};

/// [A27] From the return of add() until its waiter leaves, the monitored value is below its target, also while other
/// waiters come, leave and are released.
template <heap_shape Shape>
struct never_above_a_waiter : model::suite<3> {
  shaped_heap<platform, Shape> heap;

  void thread(unsigned index) {
    if (index == 0) {
      const auto ticket = heap.add(5);
      const bool is_monitored = heap.monitored_value() <= 4;
      const bool withdrawn = heap.withdraw(ticket);
      // In the lane it may have been released beside the other waiter.
      MODEL_REQUIRE(withdrawn ? is_monitored : ticket.is_in_lane());
    } else if (index == 1) {
      heap.withdraw(heap.add(2));
    } else {
      heap.release_due(3);
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == heap.idle_value()); }
};

/// [A19] A pass releases a waiter while the waiter withdraws. Exactly one of the two wins, and a released waiter has
/// the data.
template <heap_shape Shape>
struct release_against_withdrawal : model::suite<2> {
  shaped_heap<platform, Shape> heap;
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
    MODEL_REQUIRE(heap.monitored_value() == heap.idle_value());
  }
};

/// [A19] A waiter that finds itself released has the data.
template <heap_shape Shape>
struct released_brings_data : model::suite<2> {
  shaped_heap<platform, Shape> heap;
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

/// [A19] A waiter that sees its count of wakes rise has the data of the thread that raised it.
template <heap_shape Shape>
struct wake_brings_data : model::suite<2> {
  shaped_heap<platform, Shape> heap;
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

/// A slot changes hands. The next owner finds the leaf as the last owner left it (`arm` asserts it), and sees
/// everything that the last owner did before it left.
template <heap_shape Shape>
struct slot_changes_hands : model::suite<2> {
  shaped_heap<platform, Shape> heap;
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

/// A slot is released and taken again while the first pass still runs. That pass must not release the second waiter,
/// whose leaf has a later generation, and must not clear the leaf.
template <heap_shape Shape>
struct slot_taken_again : model::suite<2> {
  shaped_heap<platform, Shape> heap;
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

/// [A16] [A19] A pass releases the waiters that are due and no other, in particular none whose target is one higher
/// [trap 4]. In the lane it may release both.
template <heap_shape Shape>
struct only_the_due : model::suite<2> {
  shaped_heap<platform, Shape> heap;

  void thread(unsigned index) {
    if (index == 0) {
      heap.release_due(1);
    } else {
      const auto first = heap.add(1);
      const auto second = heap.add(2);
      MODEL_REQUIRE(heap.withdraw(second) || second.is_in_lane());
      heap.withdraw(first);
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == heap.idle_value()); }
};

/// The heap is used for a second timeline, which starts at 0 again, while a pass over the first timeline still runs.
/// That pass must not compare the second timeline's waiter with the first timeline's value.
template <heap_shape Shape>
struct used_for_a_second_timeline : model::suite<2> {
  shaped_heap<platform, Shape> heap;
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

/// [A14] [A28] A waiter in the lane has a deadline, which passes beside a signal. It leaves with the data or at its
/// deadline, and does not touch the other waiter's registration.
template <heap_shape Shape>
struct deadline_in_the_lane : model::suite<2> {
  shaped_heap<platform, Shape> heap;
  tidemark::waiter_ticket other = heap.add(3);
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

/// [A28] [A37] Two waiters wait; in a heap of two levels they are below different nodes. The signaller finds both.
template <heap_shape Shape>
struct two_waiters : model::suite<3> {
  shaped_heap<platform, Shape> heap;
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
        heap.park(ticket, seen, no_deadline);
      }
      MODEL_REQUIRE(data.load() == 42);
      heap.withdraw(ticket);
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == heap.idle_value()); }
};

/// [A14] [A32] Two waiters find no slot at the same time. Only one block is linked for both, or the second one takes a
/// slot of the first one's. Both are monitored, and each has a slot of its own.
template <heap_shape Shape>
struct two_grow : model::suite<2> {
  shaped_heap<platform, Shape> heap;
  payload data[2];

  void thread(unsigned index) {
    const auto ticket = heap.add(7 + index);
    MODEL_REQUIRE(!ticket.is_in_lane());
    MODEL_REQUIRE(heap.monitored_value() <= 6 + index);
    if (index == 1) MODEL_REQUIRE(heap.withdraw(ticket));
  }
  void after() {
    MODEL_REQUIRE(heap.monitored_value() == 6);
    MODEL_REQUIRE(heap.capacity() == 3 || heap.capacity() == 9);
    MODEL_REQUIRE(heap.release_due(7) == 1);
  }
};

/// [A14] A waiter finds no slot while another one frees its own. It takes that one, or one of a new block.
template <heap_shape Shape>
struct grows_against_withdrawal : model::suite<2> {
  shaped_heap<platform, Shape> heap;
  tidemark::waiter_ticket ticket = heap.add(3);

  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(heap.withdraw(ticket));
    } else {
      MODEL_REQUIRE(!heap.add(7).is_in_lane());
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 6); }
};

/// [A12] [A14] A waiter comes to a later block, while another one leaves the first block, and a third one comes there
/// and goes. The root has the least target of both blocks.
template <heap_shape Shape>
struct exact_beside_later_block : model::suite<2> {
  shaped_heap<platform, Shape> heap;
  tidemark::waiter_ticket ticket = heap.add(50);

  void thread(unsigned index) {
    if (index == 0) {
      static_cast<void>(heap.add(3));
    } else {
      heap.withdraw(ticket);
      heap.withdraw(heap.add(7));
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == 2); }
};

/// [A16] [A32] A block is linked while a pass runs. A waiter in it that has registered before the pass began is
/// released, and one that has not is left and monitored.
template <heap_shape Shape>
struct grows_against_pass : model::suite<2> {
  shaped_heap<platform, Shape> heap;
  word registered;
  payload data;
  std::size_t released = 0;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      const bool is_there = registered.load(std::memory_order_acquire) != 0;
      released = heap.release_due(1);
      if (is_there) MODEL_REQUIRE(released == 1);
    } else {
      const auto ticket = heap.add(1);
      registered.store(1, std::memory_order_release);
      if (heap.is_released(ticket)) MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == (released == 1 ? heap.idle_value() : 0)); }
};

/// The only slot of the first block is free.
constexpr heap_shape heap_that_grows{.growth = tidemark::heap_growth::allowed};
constexpr heap_shape free_and_grown{.growth = tidemark::heap_growth::allowed, .has_grown = true};

template <template <heap_shape> class Suite, model::name Name>
void add_on_one_free(std::vector<model::check>& checks) {
  checks.push_back(model::make_check<Suite<model::one_slot>, Name>());
  checks.push_back(model::make_check<Suite<model::one_free>, Name + ".two_levels">());
}

}  // namespace

int main(int argc, char** argv) {
  using namespace model;
  std::vector<check> checks;
  add_on_shapes<exact_when_quiet, two_slots, "exact_when_quiet">(checks);
  add_on_shapes<exact_after_withdrawal, two_slots, "exact_after_withdrawal">(checks);
  add_on_shapes<exact_with_equal_targets, two_slots, "exact_with_equal_targets">(checks);
  add_on_shapes<exact_when_three_are_quiet, three_slots, "exact_when_three_are_quiet">(checks);
  add_on_shapes<empty_when_all_left, two_slots, "empty_when_all_left">(checks);
  add_on_shapes<never_above_a_waiter, two_slots, "never_above_a_waiter">(checks);
  add_on_shapes<release_against_withdrawal, one_slot, "release_against_withdrawal">(checks);
  add_on_shapes<released_brings_data, one_slot, "released_brings_data">(checks);
  add_on_shapes<wake_brings_data, one_slot, "wake_brings_data">(checks);
  add_on_shapes<slot_taken_again, one_slot, "slot_taken_again">(checks);
  add_on_shapes<only_the_due, two_slots, "only_the_due">(checks);
  add_on_shapes<used_for_a_second_timeline, one_slot, "used_for_a_second_timeline">(checks);
  add_on_shapes<two_waiters, two_slots, "two_waiters">(checks);
  // One slot is free and more than one waiter comes, in a heap of one level and in one of two levels.
  checks.push_back(make_check<two_grow<growing>, "two_grow">());
  checks.push_back(make_check<grows_against_withdrawal<heap_that_grows>, "grows_against_withdrawal">());
  checks.push_back(make_check<exact_beside_later_block<free_and_grown>, "exact_beside_later_block">());
  checks.push_back(make_check<grows_against_pass<growing>, "grows_against_pass">());
  add_on_one_free<exact_after_lane_entry, "exact_after_lane_entry">(checks);
  add_on_one_free<lane_stays_occupied, "lane_stays_occupied">(checks);
  add_on_one_free<lane_empties, "lane_empties">(checks);
  add_on_one_free<slot_changes_hands, "slot_changes_hands">(checks);
  add_on_one_free<deadline_in_the_lane, "deadline_in_the_lane">(checks);
  return model::run(argc, argv, checks);
}
