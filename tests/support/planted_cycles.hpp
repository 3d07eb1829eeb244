// SPDX-License-Identifier: BSL-1.0
//
// Random waits and signals of some queues, which all end, whatever the order; and the same with a cycle of waits among
// them, of which it is known what a report must say.
#ifndef TIDEMARK_TESTS_SUPPORT_PLANTED_CYCLES_HPP
#define TIDEMARK_TESTS_SUPPORT_PLANTED_CYCLES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "random.hpp"

namespace testing {

struct planned_command {
  bool is_wait;
  std::size_t fence;
  std::uint64_t value;
};

/// A wait of a cycle, and who has the signal.
struct planned_wait {
  std::size_t queue;
  std::size_t fence;
  std::uint64_t value;
  std::uint64_t current_value;  // once the queues stand still
  std::size_t held_by;

  friend bool operator==(const planned_wait&, const planned_wait&) = default;
};

/// Values begin at 0, and each fence is signalled by one queue.
struct queue_plan {
  std::vector<std::vector<planned_command>> queues;
  std::size_t fences = 0;
  std::vector<planned_wait> cycle;  // of the least queue first; empty if there is none
};

/// Lets a cycle begin with its least queue.
inline std::vector<planned_wait> from_least(std::vector<planned_wait> cycle) {
  const auto is_less = [](const planned_wait& a, const planned_wait& b) { return a.queue < b.queue; };
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end(), is_less), cycle.end());
  return cycle;
}

class queue_planner {
 public:
  queue_planner(random_numbers& random, std::size_t queues) : random_{random}, values_(queues, 0) {
    plan_.queues.resize(queues);
    plan_.fences = queues;
  }

  queue_plan without_cycle() {
    add_commands();
    return std::move(plan_);
  }
  /// \param length  how many of the queues wait in a circle, at least 1
  queue_plan with_cycle(std::size_t length) {
    const std::size_t first_of_cycle = plan_.fences;
    plan_.fences += length;
    std::vector<std::size_t> members(plan_.queues.size());
    std::iota(members.begin(), members.end(), std::size_t{0});
    for (std::size_t i = 0; i < length; ++i) std::swap(members[i], members[i + random_.below(members.size() - i)]);
    members.resize(length);

    std::vector<std::uint64_t> before(length);  // to which the fences of the cycle rise
    for (std::size_t i = 0; i < length; ++i) {
      before[i] = random_.below(3);
      if (before[i] != 0) plan_.queues[members[i]].push_back({false, first_of_cycle + i, before[i]});
    }
    add_commands();
    for (std::size_t i = 0; i < length; ++i) {
      const std::size_t next = (i + 1) % length;
      const std::uint64_t value = before[next] + 1 + random_.below(3);
      plan_.queues[members[i]].push_back({true, first_of_cycle + next, value});
      plan_.cycle.push_back({members[i], first_of_cycle + next, value, before[next], members[next]});
    }
    for (std::size_t i = 0; i < length; ++i) {
      plan_.queues[members[i]].push_back({false, first_of_cycle + i, 10});
    }
    add_commands();
    plan_.cycle = from_least(std::move(plan_.cycle));
    return std::move(plan_);
  }

 private:
  /// Each wait is for a signal that comes earlier in one order of all commands.
  void add_commands() {
    const std::size_t count = plan_.queues.size();
    for (std::size_t made = 0; made < 2 * count; ++made) {
      const std::size_t queue = random_.below(count);
      if (random_.below(2) == 0) {
        plan_.queues[queue].push_back({false, queue, ++values_[queue]});
      } else {
        const std::size_t of = random_.below(count);
        plan_.queues[queue].push_back({true, of, random_.below(values_[of] + 1)});
      }
    }
  }

  random_numbers& random_;
  std::vector<std::uint64_t> values_;  // of the fences that are no part of the cycle
  queue_plan plan_;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_PLANTED_CYCLES_HPP
