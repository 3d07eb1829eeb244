// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the hold of the root (fence/detail/root_hold.hpp) of a fence that processes share: waiters of other
// processes rely on it while it begins, while it ends, and while the next one begins; and whoever begins or ends it may
// be killed. Each thread stands for a process with one thread.
#include "support/attachments.hpp"
#include "support/holds.hpp"
#include "support/model_check.hpp"
#include "support/mortal.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/shared_fence.hpp>
#include <tidemark/fence/wait.hpp>

#include <cstdint>

namespace {

using namespace tidemark;
using namespace model::attachments;
using model::after_one_release, model::at_once, model::at_once_and_for_long;
using model::begin_hold;
using model::holding;
using model::mortality;
using model::some_time;

using platform = mortal_platform;

template <detail::hold_terms Terms>
using terms = holding<Terms, platform>;
using unreached = holding<at_once_and_for_long, model::mortal<unregistered<checker>>>;
using without_barrier = holding<at_once_and_for_long, model::refused_later<platform>>;

/// [A28] [A31] [A37] Of two waiters for one value, one may rely on the hold that the other one begins, or confirm it.
template <class Processes>
struct one_value : model::suite<3>, Processes {
  void thread(unsigned index) {
    if (index == 0) {
      this->hand_over(0);
    } else {
      this->receive(index);
    }
  }
  void after() { this->shared.require_idle(); }
};

/// [A28] [A31] [A37] The first of two signals is in vain, and may end the hold on which the waiter relies.
template <class Processes>
struct second_value : model::suite<2>, Processes {
  void thread(unsigned index) {
    if (index == 1) return this->receive(1, 2);
    this->attached[0].signal(1);
    this->hand_over(0, 2);
  }
  void after() { this->shared.require_idle(); }
};

/// [A28] [A31] [A37] The same, and another waiter, which may begin the next hold.
template <class Processes>
struct second_value_for_two : model::suite<3>, Processes {
  void thread(unsigned index) {
    if (index != 0) return this->receive(index, 2);
    this->attached[0].signal(1);
    this->hand_over(0, 2);
  }
  void after() { this->shared.require_idle(); }
};

/// [A31] [A37] Of two waiters, one may rely on the hold that the other one begins. The heavy barrier does not reach the
/// signaller, which pins the root before its first signal, and ends that.
template <class Processes>
struct beside_a_pin : model::suite<3>, Processes {
  void thread(unsigned index) {
    if (index != 0) return this->receive(index);
    this->shared.heap.pin(5);
    this->hand_over(0);
    this->shared.heap.unpin(5);
  }
  void after() { this->shared.require_idle(); }
};

/// [A31] [A34] The heavy barrier of the waiter that begins a hold is refused, and does not reach the signaller. No
/// other waiter relies on that hold: all of them look again.
template <class Processes>
struct barrier_is_refused : one_value<Processes> {
  void after() {
    MODEL_REQUIRE(!this->shared.heap.hold().holds());
    this->shared.require_idle();
  }
};

/// A process began a hold, and was killed before it refreshed the root. The next waiter confirms it, so that the fence
/// does not go on with a hold that saves nobody a barrier; and a third one may rely on it.
template <class Processes>
struct begun_by_the_dead : model::suite<3>, Processes {
  begun_by_the_dead() {
    detail::hold_state hold = this->shared.heap.hold();
    MODEL_REQUIRE(this->shared.hold.begin(hold));
  }
  void thread(unsigned index) {
    if (index == 0) {
      this->hand_over(0);
    } else if (index == 1) {
      static_cast<void>(this->attached[1].wait(never_signalled, some_time));
      MODEL_REQUIRE(this->shared.heap.hold().holds());
    } else {
      this->receive(2);
    }
  }
  void after() { this->shared.require_idle(); }
};

enum class change { begin, end, refuse };

/// [A12] [A33] A hold begins, ends or is given up while a waiter comes and goes. When all is quiet, the root has seen
/// it.
template <class Processes, change What>
struct quiet_after : model::suite<2>, Processes {
  quiet_after() {
    if (What == change::end) begin_hold(this->shared.heap);
  }
  void thread(unsigned index) {
    auto& heap = this->shared.heap;
    if (index == 1) {
      MODEL_REQUIRE(heap.withdraw(heap.add(2, 0, 7), 2));
    } else if (What == change::end) {
      heap.count_pass(false);
    } else {
      detail::hold_state hold = heap.hold();
      MODEL_REQUIRE(heap.begin_hold(hold));
      if (What == change::refuse) heap.finish_beginning(hold, false);
    }
  }
  void after() {
    const auto& heap = this->shared.heap;
    MODEL_REQUIRE(heap.hold().keeps_root_low() == (What == change::begin));
    const std::uint64_t root = heap.monitored_word().load_value(std::memory_order_seq_cst);
    MODEL_REQUIRE(root == (What == change::begin ? 0 : detail::no_minimum));
    this->shared.require_idle();
  }
};

/// [A33] A process begins a hold, and is killed before it refreshes the root. A waiter that goes on with it leaves a
/// root of 0, whatever other waiters come and go.
template <class Processes>
struct root_of_the_dead : model::suite<3>, Processes {
  void thread(unsigned index) {
    auto& heap = this->shared.heap;
    if (index == 0) {
      detail::hold_state hold = heap.hold();
      MODEL_REQUIRE(this->shared.hold.begin(hold));
      return;
    }
    const detail::shared_ticket mine = heap.add(index, 0, 7);
    if (index == 1) {
      detail::hold_state hold = heap.hold();
      if (hold.keeps_root_low()) {
        MODEL_REQUIRE(heap.begin_hold(hold));
        MODEL_REQUIRE(heap.monitored_word().load_value(std::memory_order_seq_cst) == 0);
      }
    }
    MODEL_REQUIRE(heap.withdraw(mine, index));
  }
  void after() { this->shared.require_idle(); }
};

/// The root is held when the check begins.
template <class Processes>
struct held : Processes {
  held() {
    begin_hold(this->shared.heap);
    MODEL_REQUIRE(this->shared.heap.hold().holds());
  }
};

/// One of two waiters finds no slot, and looks again.
template <kind Kind>
using one_slot_for_two = held<processes<Kind, one_slot, terms<at_once_and_for_long>>>;

template <template <class> class Scenario, shape Least, model::name Name, class Platform, bool IsHeld = false>
void add(std::vector<model::check>& checks) {
  const auto add_kind = [&]<kind Kind, model::name Suffix>() {
    const auto add_shape = [&]<shape Shape, model::name End>() {
      using all = processes<Kind, Shape, Platform>;
      checks.push_back(model::make_check<Scenario<std::conditional_t<IsHeld, held<all>, all>>, Name + Suffix + End>());
    };
    add_shape.template operator()<Least, "">();
    add_shape.template operator()<two_levels, ".two_levels">();
  };
  add_kind.template operator()<kind::fence, ".fence">();
  add_kind.template operator()<kind::progress, ".progress">();
}

template <class Processes>
using quiet_after_begin = quiet_after<Processes, change::begin>;
template <class Processes>
using quiet_after_end = quiet_after<Processes, change::end>;
template <class Processes>
using quiet_after_refusal = quiet_after<Processes, change::refuse>;

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  add<one_value, two_slots, "begins", terms<at_once_and_for_long>>(checks);
  add<one_value, two_slots, "begins_and_ends", terms<at_once>>(checks);
  add<one_value, two_slots, "relied_on", terms<at_once_and_for_long>, true>(checks);
  checks.push_back(model::make_check<one_value<one_slot_for_two<kind::fence>>, "beyond_the_slots.fence">());
  checks.push_back(model::make_check<one_value<one_slot_for_two<kind::progress>>, "beyond_the_slots.progress">());
  add<second_value, one_slot, "ends", terms<after_one_release>, true>(checks);
  add<second_value, one_slot, "begun_and_ended", terms<at_once>>(checks);
  add<second_value_for_two, two_slots, "ends_for_two", terms<after_one_release>, true>(checks);
  add<second_value_for_two, two_slots, "ends_beside_next", terms<at_once>, true>(checks);
  add<barrier_is_refused, two_slots, "barrier_is_refused", without_barrier>(checks);
  add<killed_waiter, two_slots, "beginner_is_killed", terms<at_once_and_for_long>>(checks);
  add<begun_by_the_dead, two_slots, "begun_by_the_dead", terms<at_once_and_for_long>>(checks);
  add<killed_signaller, one_slot, "ender_is_killed", terms<after_one_release>, true>(checks);
  add<quiet_after_begin, one_slot, "quiet_after_begin", terms<at_once>>(checks);
  add<quiet_after_end, one_slot, "quiet_after_end", terms<at_once>>(checks);
  add<quiet_after_refusal, one_slot, "quiet_after_refusal", terms<at_once>>(checks);
  add<beside_a_pin, two_slots, "beside_a_pin", unreached>(checks);
  add<root_of_the_dead, two_slots, "root_of_the_dead", terms<at_once>>(checks);
  return model::run(argc, argv, std::move(checks));
}
