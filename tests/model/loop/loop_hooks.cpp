// SPDX-License-Identifier: BSL-1.0
//
// Model checks of a loop that awaits a timeline of the program's, which calls a hook: registration, loss, and a
// cancellation while the hook is called. Each hands plain fields (`var`) from the signaller to what the loop runs. A
// value that is missed shows as a deadlock.
#include "support/gone.hpp"
#include "support/model_check.hpp"
#include "support/ticking.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/rewindable_target.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace {

using model::some_time;
using tidemark::callback_state;
using tidemark::run_status;
using tidemark::wait_status;

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using awaited = tidemark::basic_awaited<platform>;
template <class Callable>
using callback = tidemark::basic_callback<platform, Callable>;

/// A loop, a timeline with hooks, and the data that it hands over.
template <unsigned Threads = 2, class Ticks = model::ticking<platform>>
struct hooked : model::suite<Threads> {
  /// Requires the data where the value was reached, and keeps how the wait has ended.
  struct told {
    hooked* of;
    void operator()(wait_status how) const {
      MODEL_REQUIRE(how == wait_status::reached || how == wait_status::lost);
      if (how == wait_status::reached) of->require_data();
      of->end.store(static_cast<int>(how));
      of->calls.store(of->calls.load() + 1);
    }
  };

  Ticks ticks;
  tidemark::basic_wait_loop<platform> loop;
  payload data;
  payload end;
  payload calls;

  void signal(std::uint64_t value = 1) {
    data.store(42);
    ticks.signal(value);
  }
  void require_data() { MODEL_REQUIRE(data.load() == 42); }
  /// Registers for the value 1, and runs what that leads to. Returns how the wait has ended.
  wait_status run() {
    const callback<told> registered(loop, awaited(ticks, 1), told{this});
    MODEL_REQUIRE(loop.run_one() == run_status::ran);
    MODEL_REQUIRE(registered.state() != callback_state::waiting);
    MODEL_REQUIRE(calls.load() == 1);
    return static_cast<wait_status>(end.load());
  }
  /// No registration is left.
  void after() {
    MODEL_REQUIRE(loop.poll() == 0);
    MODEL_REQUIRE(ticks.monitored_value() == tidemark::no_waiter);
  }
};

/// [A19] [A34] [A65] A callable is registered and run while its value is signalled.
template <class Ticks>
struct registers : hooked<2, Ticks> {
  void thread(unsigned index) {
    if (index == 0) return this->signal();
    MODEL_REQUIRE(this->run() == wait_status::reached);
  }
};
using registered_against_signal = registers<model::ticking<platform>>;
using looks_before_it_changes = registers<model::ticking<platform, true>>;

/// [A120] The timeline is lost while a callable is registered.
struct lost_against_registration : hooked<> {
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      ticks.lose();
    } else {
      MODEL_REQUIRE(run() == wait_status::lost);
      require_data();
    }
  }
};

/// [A120] A value is reached, and then the timeline is lost: whoever awaits that value is never told `lost`.
struct reached_and_lost : hooked<> {
  void thread(unsigned index) {
    if (index == 0) {
      signal();
      ticks.lose();
    } else {
      MODEL_REQUIRE(run() == wait_status::reached);
    }
  }
};

/// [A120] One thread signals, and another one loses the timeline. The callable is told one of the two.
struct lost_against_signal : hooked<3> {
  void thread(unsigned index) {
    if (index == 0) return signal();
    if (index == 1) return ticks.lose();
    static_cast<void>(run());
  }
};

/// [A14] [trap 11] The loop has left, at its deadline, and a callable is cancelled while the timeline calls its hook.
/// Nobody touches it afterwards.
struct cancelled_in_call : hooked<> {
  std::optional<callback<told>> registered;

  void thread(unsigned index) {
    if (index == 0) return signal();
    registered.emplace(loop, awaited(ticks, 1), told{this});
    static_cast<void>(loop.run_one_until(some_time));
    const callback_state how = registered->cancel();
    MODEL_REQUIRE(how == (calls.load() == 1 ? callback_state::ran : callback_state::cancelled));
    model::destroy(registered);
  }
};

/// [A14] [trap 11] The same while another thread runs the loop.
struct cancelled_beside_run : hooked<3> {
  std::optional<callback<told>> registered;

  void thread(unsigned index) {
    if (index == 0) {
      signal();
    } else if (index == 1) {
      static_cast<void>(loop.run_one_until(some_time));
    } else {
      registered.emplace(loop, awaited(ticks, 1), told{this});
      const callback_state how = registered->cancel();
      MODEL_REQUIRE(how == (calls.load() == 1 ? callback_state::ran : callback_state::cancelled));
      model::destroy(registered);
    }
  }
};

/// [A12] While the loop sleeps for a value, another thread registers for a lower one, whose hook takes the place of the
/// first one. Both run, though one call of release_due() may be for both.
struct least_target_falls : hooked<3> {
  std::optional<callback<told>> higher;
  std::optional<callback<told>> lower;

  void before() { higher.emplace(loop, awaited(ticks, 2), told{this}); }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      ticks.signal(1);
      ticks.signal(2);
    } else if (index == 1) {
      for (unsigned i = 0; i < 2; ++i) MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(calls.load() == 2);
    } else {
      lower.emplace(loop, awaited(ticks, 1), told{this});
    }
  }
  void after() {
    lower.reset();
    higher.reset();
    hooked::after();
  }
};

/// [A65] A coroutine awaits any of a timeline with a hook and a fence, or all of both. One thread signals both. For
/// any, the hook or the registration with the fence is withdrawn while it is called.
template <bool All>
struct beside_fence : hooked<> {
  tidemark::basic_progress_fence<platform,
                                 tidemark::fence_options{.capacity = 1, .growth = tidemark::heap_growth::forbidden}>
      fence;
  payload other;

  void thread(unsigned index) {
    if (index == 0) {
      other.store(7);
      fence.signal(1);
      signal();
      return;
    }
    const std::array those{awaited(ticks, 1), awaited(fence, 1)};
    if constexpr (All) {
      MODEL_REQUIRE(result_of([&] { return loop.all_of(those); }) == wait_status::reached);
      require_data();
      MODEL_REQUIRE(other.load() == 7);
    } else {
      const tidemark::wait_any_result result = result_of([&] { return loop.any_of(those); });
      MODEL_REQUIRE(result == wait_status::reached);
      MODEL_REQUIRE(result.index == 0 ? data.load() == 42 : other.load() == 7);
    }
  }
  /// As a coroutine would await.
  auto result_of(const auto& make) {
    auto awaiter = make();
    if (!awaiter.await_ready()) {
      awaiter.await_suspend(std::noop_coroutine());
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
    }
    return awaiter.await_resume();
  }
};

/// [trap 14] The value of a rewindable fence is reached and set back before the loop looks. The callable for a target
/// of it runs.
struct rewound_target : model::suite<2> {
  struct told {
    rewound_target* of;
    void operator()(wait_status how) const {
      MODEL_REQUIRE(how == wait_status::reached);
      MODEL_REQUIRE(of->data.load() == 42);
    }
  };
  tidemark::basic_rewindable_fence<platform> fence;
  tidemark::basic_rewindable_target<platform> target{fence, 2};
  tidemark::basic_wait_loop<platform> loop;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      fence.signal(2);
      fence.rewind(0);
    } else {
      const callback<told> registered(loop, awaited(target, 1), told{this});
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(registered.state() == callback_state::ran);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  using model::make_check;
  return model::run(
      argc, argv,
      {make_check<registered_against_signal, "registered_against_signal">(),
       make_check<looks_before_it_changes, "looks_before_it_changes">(),
       make_check<lost_against_registration, "lost_against_registration">(),
       make_check<reached_and_lost, "reached_and_lost">(), make_check<lost_against_signal, "lost_against_signal">(),
       make_check<cancelled_in_call, "cancelled_in_call">(), make_check<cancelled_beside_run, "cancelled_beside_run">(),
       make_check<least_target_falls, "least_target_falls">(), make_check<beside_fence<false>, "any_of_both">(),
       make_check<beside_fence<true>, "all_of_both">(), make_check<rewound_target, "rewound_target">()});
}
