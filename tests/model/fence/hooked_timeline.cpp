// SPDX-License-Identifier: BSL-1.0
//
// Model checks of a timeline of the program's that calls hooks: registration, notification and withdrawal, alone and in
// waits together with a fence. Each check hands plain fields (`var`) from the signallers to the waiter. A value that is
// missed shows as a deadlock.
#include "support/model_check.hpp"
#include "support/ticking.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/hooked_timeline.hpp>
#include <tidemark/fence/wait_many.hpp>

#include <array>
#include <atomic>
#include <cstdint>

namespace {

using namespace tidemark;
using model::some_time;
using model::stop_source;

using platform = TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using awaited_here = basic_awaited<platform>;
using token = stop_source<platform>::token;

template <bool LooksFirst = false>
using ticking = model::ticking<platform, LooksFirst>;

/// A timeline with hooks, a fence beside it, and the data that each hands over.
template <unsigned Threads = 2, class Ticks = ticking<>>
struct both : model::suite<Threads> {
  Ticks ticks;
  basic_progress_fence<platform, fence_options{.capacity = 1, .growth = heap_growth::forbidden}> fence;
  std::array<payload, 2> data;

  void signal_ticks(std::uint64_t value = 1) {
    data[0].store(7);
    ticks.signal(value);
  }
  void signal_fence() {
    data[1].store(8);
    fence.signal(1);
  }
  void require_data(std::size_t which) { MODEL_REQUIRE(data[which].load() == static_cast<int>(which) + 7); }
  wait_any_result any(const auto&... limits) {
    const awaited_here those[] = {{ticks, 1}, {fence, 1}};
    if constexpr (sizeof...(limits) == 0) {
      return wait_any(those);
    } else {
      return wait_any_until(those, limits...);
    }
  }
  wait_status all(const auto&... limits) {
    const awaited_here those[] = {{ticks, 1}, {fence, 1}};
    return wait_all(those, limits...);
  }
  /// No registration is left.
  void after() {
    MODEL_REQUIRE(ticks.monitored_value() == no_waiter);
    if (platform::heavy_barrier_available()) MODEL_REQUIRE(fence.monitored_value() == no_waiter);
  }
};

/// The value comes while a thread registers, sleeps or leaves. It waits for two values, the second of which it finds or
/// sleeps for, with a registration that another one had before.
template <class Ticks>
struct waits_alone : both<2, Ticks> {
  void thread(unsigned index) {
    if (index == 0) {
      this->signal_ticks();
      this->ticks.signal(2);
    } else {
      MODEL_REQUIRE(this->ticks.wait_until(1, no_deadline) == wait_status::reached);
      this->require_data(0);
      MODEL_REQUIRE(this->ticks.wait_until(2, no_deadline) == wait_status::reached);
    }
  }
};
using hook_alone = waits_alone<ticking<>>;
using looks_before_it_changes = waits_alone<ticking<true>>;

/// The deadline passes beside the signal: the thread withdraws while it is notified.
struct hook_in_time : both<> {
  void thread(unsigned index) {
    if (index == 0) {
      signal_ticks();
    } else {
      const wait_any_result end = any(some_time);
      MODEL_REQUIRE((end == wait_any_result{wait_status::reached, 0}) ||
                    (end == wait_any_result{wait_status::timeout, 2}));
      if (end == wait_status::reached) require_data(0);
    }
  }
};

/// The fence ends the wait, and the thread withdraws the hook while the timeline calls it.
struct any_of_both : both<> {
  void thread(unsigned index) {
    if (index == 0) {
      signal_fence();
      signal_ticks();
    } else {
      const wait_any_result end = any();
      MODEL_REQUIRE(end == wait_status::reached && end.index < 2);
      require_data(end.index);
    }
  }
};

/// Each is signalled once, in one order or the other. The wait ends after both.
template <bool TicksFirst>
struct all_of_both : both<> {
  void thread(unsigned index) {
    if (index == 0) {
      if (TicksFirst) signal_ticks();
      signal_fence();
      if (!TicksFirst) signal_ticks();
    } else {
      MODEL_REQUIRE(all() == wait_status::reached);
      require_data(0);
      require_data(1);
    }
  }
};

/// The same with a signaller for each, and a value beyond the target.
struct all_of_two_signallers : both<3> {
  void thread(unsigned index) {
    if (index == 0) {
      signal_ticks(3);
    } else if (index == 1) {
      signal_fence();
    } else {
      MODEL_REQUIRE(all() == wait_status::reached);
      require_data(0);
      require_data(1);
    }
  }
};

/// The timeline is lost, and the fence is never signalled.
template <bool All>
struct hooked_is_lost : both<> {
  void thread(unsigned index) {
    if (index == 0) {
      data[0].store(7);
      ticks.lose();
    } else {
      if (All) {
        MODEL_REQUIRE(all() == wait_status::lost);
      } else {
        MODEL_REQUIRE((any() == wait_any_result{wait_status::lost, 0}));
      }
      require_data(0);
    }
  }
};

/// A value is reached, and then the timeline is lost: the wait for that value never returns `lost`.
struct reached_and_lost : both<> {
  void thread(unsigned index) {
    if (index == 0) {
      signal_ticks();
      ticks.lose();
    } else {
      MODEL_REQUIRE((any() == wait_any_result{wait_status::reached, 0}));
      require_data(0);
    }
  }
};

/// The timeline is signalled, the fence never, and a stop ends the wait for both.
struct stopped_with_hook : both<> {
  stop_source<platform> source;

  void thread(unsigned index) {
    if (index == 0) {
      signal_ticks();
      source.request_stop();
    } else {
      MODEL_REQUIRE(all(token{source}) == wait_status::stopped);
    }
  }
};

/// Two threads wait for different values of the timeline. Each is called for its own, by signals and by the loss.
struct two_waiters : both<3> {
  void thread(unsigned index) {
    if (index == 0) {
      signal_ticks();
      ticks.lose();
    } else if (index == 1) {
      MODEL_REQUIRE(ticks.wait_until(1, no_deadline) == wait_status::reached);
      require_data(0);
    } else {
      MODEL_REQUIRE(ticks.wait_until(2, no_deadline) == wait_status::lost);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  using model::make_check;
  return model::run(
      argc, argv,
      {make_check<hook_alone, "hook_alone">(), make_check<looks_before_it_changes, "looks_before_it_changes">(),
       make_check<hook_in_time, "hook_in_time">(), make_check<any_of_both, "any_of_both">(),
       make_check<all_of_both<true>, "all_of_both.ticks_first">(),
       make_check<all_of_both<false>, "all_of_both.fence_first">(),
       make_check<all_of_two_signallers, "all_of_two_signallers">(),
       make_check<hooked_is_lost<true>, "hooked_is_lost.all">(),
       make_check<hooked_is_lost<false>, "hooked_is_lost.any">(), make_check<reached_and_lost, "reached_and_lost">(),
       make_check<stopped_with_hook, "stopped_with_hook">(), make_check<two_waiters, "two_waiters">()});
}
