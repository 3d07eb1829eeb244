// SPDX-License-Identifier: BSL-1.0
//
// Model checks of waits for several timelines. Each hands plain fields (`var`) from the signallers to the waiter.
#include "support/model_check.hpp"
#include "support/waiting.hpp"

#include <tidemark/wait_many.hpp>

#include <array>
#include <cstddef>
#include <span>

namespace {

using namespace tidemark;
using model::require_idle;
using model::some_time;
using model::stop_source;

using platform = TIDEMARK_MODEL_PLATFORM;
using timeline = basic_progress_fence<platform, fence_options{.capacity = 1, .arity = 2, .max_spins = 0}>;
using payload = model::payload<timeline>;
using awaited_here = basic_awaited<platform>;

/// Two timelines, what each hands over, and a wait for value 1 of both.
struct two_timelines {
  std::array<timeline, 2> timelines;
  std::array<payload, 2> data;

  void signal(unsigned which) {
    data[which].store(static_cast<int>(which) + 7);
    timelines[which].signal(1);
  }
  void require_data(std::size_t which) { MODEL_REQUIRE(data[which].load() == static_cast<int>(which) + 7); }

  template <class... Limits>
  wait_any_result any(Limits... limits) {
    return wait_any<platform>(both(), limits...);
  }
  template <class... Limits>
  wait_status all(Limits... limits) {
    return wait_all<platform>(both(), limits...);
  }
  /// [trap 11] No registration is left.
  void after() {
    for (const timeline& one : timelines) require_idle(one);
  }

 private:
  std::array<awaited_here, 2> list_{awaited_here{timelines[0], 1}, awaited_here{timelines[1], 1}};
  std::span<const awaited_here> both() const { return list_; }
};

/// [A65] [trap 11] One of two is signalled, the first or the second of the list: it ends the wait, and the other one is
/// left.
template <unsigned Which>
struct any_of_one_signalled : model::suite<2>, two_timelines {
  void thread(unsigned index) {
    if (index == 0) {
      signal(Which);
    } else {
      MODEL_REQUIRE((any() == wait_any_result{wait_status::reached, Which}));
      require_data(Which);
    }
  }
};

/// [trap 11] Both are signalled by different threads: one ends the wait, the other is left or claimed, never both.
struct any_of_two_signalled : model::suite<3>, two_timelines {
  void thread(unsigned index) {
    if (index < 2) {
      signal(index);
    } else {
      const wait_any_result end = any();
      MODEL_REQUIRE(end == wait_status::reached && end.index < 2);
      require_data(end.index);
    }
  }
};

/// [A65] [trap 11] Both are needed, and come from one thread or from two; one may have come before the wait begins.
template <unsigned Signallers>
struct all_of_two : model::suite<Signallers + 1>, two_timelines {
  void thread(unsigned index) {
    if (index == Signallers) {
      MODEL_REQUIRE(all() == wait_status::reached);
      require_data(0);
      require_data(1);
    } else if (Signallers == 1) {
      signal(1);
      signal(0);
    } else {
      signal(index);
    }
  }
};

/// [trap 11] One timeline jumps twice, and stands in the list twice; the other one must come all the same.
struct all_counts_nothing_twice : model::suite<2> {
  basic_progress_fence<platform, fence_options{.capacity = 2, .arity = 2, .max_spins = 0}> jumping;
  timeline other;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      jumping.signal(1);
      jumping.signal(2);
      data.store(42);
      other.signal(1);
    } else {
      const awaited_here list[] = {{jumping, 1}, {other, 1}, {jumping, 2}};
      MODEL_REQUIRE(wait_all<platform>(list) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() {
    require_idle(jumping);
    require_idle(other);
  }
};

/// [A120] The second is lost while the first never comes: both kinds of wait say so at once.
template <bool All>
struct one_is_lost : model::suite<2>, two_timelines {
  void thread(unsigned index) {
    if (index == 0) {
      data[1].store(5);
      timelines[1].poison();
    } else {
      if (All) {
        MODEL_REQUIRE(all() == wait_status::lost);
      } else {
        MODEL_REQUIRE((any() == wait_any_result{wait_status::lost, 1}));
      }
      MODEL_REQUIRE(data[1].load() == 5);
    }
  }
};

/// [A14] A deadline against a signal: reached brings the data, a timeout leaves nothing behind.
struct any_in_time : model::suite<2>, two_timelines {
  void thread(unsigned index) {
    if (index == 0) {
      signal(1);
    } else {
      const wait_any_result end = any(some_time);
      MODEL_REQUIRE((end == wait_any_result{wait_status::reached, 1}) ||
                    (end == wait_any_result{wait_status::timeout, 2}));
      if (end == wait_status::reached) require_data(1);
    }
  }
};

/// A stop is never missed by a waiter of which one timeline has come, and the other one never does.
struct all_is_stopped : model::suite<2>, two_timelines {
  stop_source<platform> source;

  void thread(unsigned index) {
    if (index == 0) {
      signal(0);
      source.request_stop();
    } else {
      MODEL_REQUIRE(all(stop_source<platform>::token{source}) == wait_status::stopped);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<any_of_one_signalled<0>, "any_of_one_signalled.first">(),
                        model::make_check<any_of_one_signalled<1>, "any_of_one_signalled.second">(),
                        model::make_check<any_of_two_signalled, "any_of_two_signalled">(),
                        model::make_check<all_of_two<1>, "all_of_two.one_signaller">(),
                        model::make_check<all_of_two<2>, "all_of_two.two_signallers">(),
                        model::make_check<all_counts_nothing_twice, "all_counts_nothing_twice">(),
                        model::make_check<one_is_lost<true>, "one_is_lost.all">(),
                        model::make_check<one_is_lost<false>, "one_is_lost.any">(),
                        model::make_check<any_in_time, "any_in_time">(),
                        model::make_check<all_is_stopped, "all_is_stopped">(),
                    });
}
