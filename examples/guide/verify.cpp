// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-verify.md: a protocol of one's own under the model checker, and its broken twin.

#include "expect.hpp"

#include <tidemark/fence/fence.hpp>

#include <cstdint>
#include <cstdio>
#include <ostream>

#include <tidemark/verify/relacy_platform.hpp>  // last: the checker replaces new and delete

namespace {

using guide::expect;

// A slot between two threads: put() waits until the value before was taken.
template <class Platform, bool Careless = false>
class one_slot {
 public:
  void put(std::uint64_t number, int value) {
    if constexpr (!Careless) static_cast<void>(taken_.wait(number - 1));
    value_.store(value);
    filled_.signal(number);
  }
  int take(std::uint64_t number) {
    static_cast<void>(filled_.wait(number));
    const int value = value_.load();
    taken_.signal(number);
    return value;
  }

 private:
  // Small, so that a search meets each situation soon: one waiter with a slot of its own, no spinning.
  using fence =
      tidemark::basic_progress_fence<Platform, tidemark::fence_options{.capacity = 1, .arity = 2, .max_spin_ns = 0}>;
  fence filled_;
  fence taken_;
  typename Platform::template var<int> value_;  // a plain field that is handed over
};

// Two threads; the checker runs them in every order that it can think of.
template <class Slot>
struct three_values_arrive : rl::test_suite<three_values_arrive<Slot>, 2> {
  Slot slot;

  void thread(unsigned index) {
    for (int n = 1; n <= 3; ++n) {
      const auto number = static_cast<std::uint64_t>(n);
      if (index == 0) {
        slot.put(number, 10 * n);
      } else {
        RL_ASSERT(slot.take(number) == 10 * n);
      }
    }
  }
};

template <class Suite>
bool holds(rl::scheduler_type_e search) {
  std::ostream silence{nullptr};
  rl::test_params params;
  params.output_stream = params.progress_stream = &silence;
  params.search_type = search;
  params.iteration_count = 20'000;  // of the random search
  params.context_bound = 2;         // of the other one: all schedules with up to two preemptions
  return rl::simulate<Suite>(params);
}

}  // namespace

int main() {
  using suite = three_values_arrive<one_slot<tidemark::relacy_platform>>;
  expect(holds<suite>(rl::random_scheduler_type), "no random execution fails");
  expect(holds<suite>(rl::fair_context_bound_scheduler_type), "no schedule fails");

  using broken_twin = three_values_arrive<one_slot<tidemark::relacy_platform, true>>;
  expect(!holds<broken_twin>(rl::random_scheduler_type), "the check sees the mistake");
  return guide::result("guide_verify");
}
