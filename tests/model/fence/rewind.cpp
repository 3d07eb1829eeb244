// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the rewindable fence: its owner signals and sets back while other threads wait. Each check hands a
// plain field (`var`) from the owner to the waiter. A value that is missed shows as a deadlock, or as a wait that ends
// as `lost`, `stopped` or `timeout` although its thread was registered before the signal.
#include "support/gone.hpp"
#include "support/model_check.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/rewindable_fence.hpp>
#include <tidemark/fence/rewindable_target.hpp>
#include <tidemark/fence/wait_many.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace {

using namespace tidemark;
using model::some_time;
using model::stop_source;

using platform = TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using token = stop_source<platform>::token;

/// The fence, the data that its owner hands over, and how the wait of a check has ended.
struct rewound {
  basic_rewindable_fence<platform> fence;
  payload data;
  payload was_registered;
  payload end;

  /// Signals 2 and sets the value back to 0, while a thread may wait for 2. Notes whether it was registered.
  void signal_and_rewind() {
    was_registered.store(fence.monitored_value() == 1 ? 1 : 0);
    data.store(42);
    fence.signal(2);
    fence.rewind(0);
  }
  /// Keeps how a wait for 2 has ended. If it was reached, the data is there.
  void ends(wait_status how) {
    end.store(static_cast<int>(how));
    if (how == wait_status::reached) MODEL_REQUIRE(data.load() == 42);
  }
  /// [trap 14] A wait that was registered before the signal was reached by it.
  void after() {
    if (was_registered.load() == 1) MODEL_REQUIRE(end.load() == static_cast<int>(wait_status::reached));
    require_idle();
  }
  void require_idle() { MODEL_REQUIRE(fence.monitored_value() == no_waiter); }
};

/// [trap 14] The value is reached and set back while the waiter registers or sleeps. The poison that follows only ends
/// a wait that came after the signal.
struct rewound_before_it_wakes : model::suite<2>, rewound {
  void thread(unsigned index) {
    if (index == 0) {
      signal_and_rewind();
      fence.poison();
    } else {
      const wait_status how = fence.wait(2);
      MODEL_REQUIRE(how == wait_status::reached || how == wait_status::lost);
      ends(how);
    }
  }
};

/// [trap 14] The same with a stop in place of the poison.
struct rewound_then_stopped : model::suite<2>, rewound {
  stop_source<platform> source;

  void thread(unsigned index) {
    if (index == 0) {
      signal_and_rewind();
      source.request_stop();
    } else {
      const wait_status how = fence.wait(2, token{source});
      MODEL_REQUIRE(how == wait_status::reached || how == wait_status::stopped);
      ends(how);
    }
  }
};

/// [trap 14] A thread that waits until a point of the system clock, a day away, wakes at deadlines of the steady clock,
/// and keeps its place meanwhile.
struct rewound_between_rounds : model::suite<2>, rewound {
  void thread(unsigned index) {
    if (index == 0) {
      signal_and_rewind();
      fence.poison();
    } else {
      ends(fence.wait_until(2, std::chrono::system_clock::now() + std::chrono::hours{24}));
    }
  }
};

/// [A14] [trap 14] The deadline may pass at any moment. If the owner has signalled and set back before the waiter gives
/// up, the wait was reached.
struct deadline_against_rewind : model::suite<2>, rewound {
  platform::atomic<int> is_set_back{0};
  payload gave_up_later;

  /// Never stops, and notes for each look at it whether the owner is done.
  struct noting_token {
    bool stop_requested() const {
      of->gave_up_later.store(of->is_set_back.load(std::memory_order_acquire));
      return false;
    }
    template <class Callback>
    struct callback_type {
      callback_type(noting_token, const Callback&) {}
    };
    deadline_against_rewind* of;
  };

  void thread(unsigned index) {
    if (index == 0) {
      signal_and_rewind();
      is_set_back.store(1, std::memory_order_release);
    } else {
      const wait_status how = fence.wait_until(2, some_time, noting_token{this});
      MODEL_REQUIRE(how == wait_status::reached || how == wait_status::timeout);
      ends(how);
    }
  }
  void after() {
    if (gave_up_later.load() == 1) {
      rewound::after();
    } else {
      require_idle();
    }
  }
};

/// [trap 14] A wait that begins after the rewind does not end by what was signalled before.
struct waits_after_rewind : model::suite<2>, rewound {
  platform::atomic<int> is_set_back{0};

  void thread(unsigned index) {
    if (index == 0) {
      fence.signal(2);
      fence.rewind(1);
      is_set_back.store(1, std::memory_order_release);
      data.store(42);
      MODEL_REQUIRE(fence.signal_next() == 2);
    } else {
      const bool is_late = is_set_back.load(std::memory_order_acquire) != 0;
      MODEL_REQUIRE(fence.wait(2) == wait_status::reached);
      if (is_late) MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() {
    MODEL_REQUIRE(fence.last_value() == 2);
    require_idle();
  }
};

/// [A19] [trap 14] Two waiters with different targets. Each of them ends once, also across the rewind.
struct two_wait_across_rewind : model::suite<3>, rewound {
  payload second;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      fence.signal(1);
      fence.rewind(0);
      second.store(7);
      fence.signal(2);
    } else {
      MODEL_REQUIRE(fence.wait(index) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
      if (index == 2) MODEL_REQUIRE(second.load() == 7);
    }
  }
  void after() { require_idle(); }
};

/// [trap 14] One thread signals, hands the fence over, and another one sets it back. A thread that finds that value, by
/// a wait or without one, has the data of the signal.
struct found_after_rewind : model::suite<3>, rewound {
  platform::atomic<int> is_handed_over{0};

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      fence.signal(2);
      is_handed_over.store(1, std::memory_order_release);
    } else if (index == 1) {
      if (is_handed_over.load(std::memory_order_acquire) != 0) fence.rewind(1);
    } else {
      if (fence.last_value() == 0) MODEL_REQUIRE(fence.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { require_idle(); }
};

/// [A120] The poison releases a thread whose value never comes.
struct poisoned_alone : model::suite<2>, rewound {
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      fence.poison();
    } else {
      if (!fence.is_poisoned()) MODEL_REQUIRE(fence.wait(1) == wait_status::lost);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() {
    MODEL_REQUIRE(fence.last_value() == UINT64_MAX);
    require_idle();
  }
};

/// [A120] The poison releases two threads, whose values never come.
struct poisoned_with_two : model::suite<3>, rewound {
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      fence.poison();
    } else {
      MODEL_REQUIRE(fence.wait(index) == wait_status::lost);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { require_idle(); }
};

/// [A120] One thread poisons the fence while its owner signals and sets it back.
struct poisoned_against_rewind : model::suite<3>, rewound {
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      fence.signal(1);
      fence.rewind(0);
    } else if (index == 1) {
      fence.poison();
    } else {
      const wait_status how = fence.wait(1);
      MODEL_REQUIRE(how == wait_status::reached || how == wait_status::lost);
      if (how == wait_status::reached) MODEL_REQUIRE(data.load() == 42);
      MODEL_REQUIRE(fence.wait(2) == wait_status::lost);
    }
  }
  void after() { require_idle(); }
};

/// [A120] A thread that sees the value poisons the fence, perhaps before the owner releases the waiter. The value was
/// reached before the poison, so the wait never returns `lost`.
struct poisoned_beside_signal : model::suite<3>, rewound {
  payload was_reached;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      fence.signal(2);
    } else if (index == 1) {
      was_reached.store(fence.last_value() == 2 ? 1 : 0);
      fence.poison();
    } else {
      ends(fence.wait(2));
    }
  }
  void after() {
    if (was_reached.load() == 1) MODEL_REQUIRE(end.load() == static_cast<int>(wait_status::reached));
    require_idle();
  }
};

/// [A14] A thread that is never signalled does not miss a stop.
struct stopped_alone : model::suite<2>, rewound {
  stop_source<platform> source;

  void thread(unsigned index) {
    if (index == 0) {
      source.request_stop();
    } else {
      MODEL_REQUIRE(fence.wait(1, token{source}) == wait_status::stopped);
    }
  }
  void after() { require_idle(); }
};

// ---- targets, in waits for several timelines ------------------------------------------------------------------------

/// A target of the fence, and a fence beside it.
struct beside_target : rewound {
  basic_progress_fence<platform, fence_options{.capacity = 1, .growth = heap_growth::forbidden}> other;
  payload other_data;
  std::optional<basic_rewindable_target<platform>> target;

  void make() { target.emplace(fence, 2); }
  void signal_other() {
    other_data.store(7);
    other.signal(1);
  }
  auto list() { return std::array<basic_awaited<platform>, 2>{{{*target, 1}, {other, 1}}}; }
  void require_idle_after_target() {
    target.reset();
    require_idle();
  }
};

/// [A65] [trap 14] The value is reached and set back before the thread looks, sleeps or wakes.
struct target_in_any : model::suite<2>, beside_target {
  void before() { make(); }
  void thread(unsigned index) {
    if (index == 0) {
      signal_and_rewind();
    } else {
      MODEL_REQUIRE((wait_any(list()) == wait_any_result{wait_status::reached, 0}));
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() {
    MODEL_REQUIRE(target->last_reached() == 1);
    require_idle_after_target();
  }
};

/// [A65] [trap 14] The value is set back before the fence beside it is signalled. All are reached all the same.
struct target_in_all : model::suite<2>, beside_target {
  void before() { make(); }
  void thread(unsigned index) {
    if (index == 0) {
      signal_and_rewind();
      signal_other();
    } else {
      MODEL_REQUIRE(wait_all(list()) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
      MODEL_REQUIRE(other_data.load() == 7);
    }
  }
  void after() { require_idle_after_target(); }
};

/// [trap 14] A target is made while the value is signalled and stays.
struct target_made_against_signal : model::suite<2>, beside_target {
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      fence.signal(2);
    } else {
      make();
      MODEL_REQUIRE(target->wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { require_idle_after_target(); }
};

/// [A120] [trap 14] A target is made while the value is signalled and set back, and then the fence is poisoned. If it
/// was registered before, it is reached, and otherwise lost; and stays so.
struct target_made_against_rewind : model::suite<2>, beside_target {
  void thread(unsigned index) {
    if (index == 0) {
      signal_and_rewind();
      fence.poison();
    } else {
      make();
      const wait_status how = target->wait(1);
      MODEL_REQUIRE(how == wait_status::reached || how == wait_status::lost);
      ends(how);
      MODEL_REQUIRE(target->wait(1) == how);
    }
  }
  void after() {
    target.reset();
    rewound::after();
  }
};

/// [trap 11] [trap 14] A target goes while a signal releases it.
struct target_goes : model::suite<2>, beside_target {
  void before() { make(); }
  void thread(unsigned index) {
    if (index == 0) {
      signal_and_rewind();
    } else {
      if (target->last_reached() == 1) MODEL_REQUIRE(data.load() == 42);
      model::destroy(target);
    }
  }
  void after() { require_idle(); }
};

/// [trap 14] Two threads wait for one target, one of them also for a fence.
struct target_of_two : model::suite<3>, beside_target {
  void before() { make(); }
  void thread(unsigned index) {
    if (index == 0) {
      signal_and_rewind();
    } else if (index == 1) {
      MODEL_REQUIRE(target->wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    } else {
      MODEL_REQUIRE((wait_any(list()) == wait_any_result{wait_status::reached, 0}));
    }
  }
  void after() { require_idle_after_target(); }
};

}  // namespace

int main(int argc, char** argv) {
  using model::make_check;
  return model::run(
      argc, argv,
      {make_check<rewound_before_it_wakes, "rewound_before_it_wakes">(),
       make_check<rewound_then_stopped, "rewound_then_stopped">(),
       make_check<rewound_between_rounds, "rewound_between_rounds">(),
       make_check<deadline_against_rewind, "deadline_against_rewind">(),
       make_check<waits_after_rewind, "waits_after_rewind">(),
       make_check<two_wait_across_rewind, "two_wait_across_rewind">(),
       make_check<found_after_rewind, "found_after_rewind">(), make_check<poisoned_alone, "poisoned_alone">(),
       make_check<poisoned_with_two, "poisoned_with_two">(),
       make_check<poisoned_against_rewind, "poisoned_against_rewind">(),
       make_check<poisoned_beside_signal, "poisoned_beside_signal">(), make_check<stopped_alone, "stopped_alone">(),
       make_check<target_in_any, "target_in_any">(), make_check<target_in_all, "target_in_all">(),
       make_check<target_made_against_signal, "target_made_against_signal">(),
       make_check<target_made_against_rewind, "target_made_against_rewind">(), make_check<target_goes, "target_goes">(),
       make_check<target_of_two, "target_of_two">()});
}
