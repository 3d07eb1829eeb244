// SPDX-License-Identifier: BSL-1.0
//
// hang_report: who waits for what, which queue has the signal, and which queues wait for each other in a circle.
//
// It is made of a picture of some queues: the waits and signals that each of them still has to execute, in order, and
// what the fences have come to. The report lists the queues that wait as they stand, before anything is executed. To
// find circles, the search executes that picture: all commands as far as the waits allow. Where no queue has the signal
// for a wait, it goes on behind that wait, because the program may still signal it. What is stuck even then waits in a
// circle, or for a queue that does. Of these queues, `cycles` lists only those that are in a circle.
//
// So a cycle is reported only if nothing but a signal from outside of these commands could break it.
//
//   engine.why_waiting()        the queues of one engine (engine.hpp)
//   why_waiting(one, other)     the queues of several, and threads that are recorded (thread_hangs.hpp)
//   find_hangs(trace)           any queues, from what their logs tell (trace/trace_hangs.hpp)
//   find_hangs(queues, ...)     a picture that the program has made itself
//
// A report can be printed: to_string(report), a stream, or std::format where the standard library has it.
#ifndef TIDEMARK_ENGINE_HANG_REPORT_HPP
#define TIDEMARK_ENGINE_HANG_REPORT_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>
#include <version>

#if defined(__cpp_lib_format)
#include <format>
#endif

#include "../log/ids.hpp"
#include "../platform/names.hpp"

namespace tidemark {

/// A wait or a signal that a queue has not executed yet.
struct pending_command {
  bool is_wait;
  std::uint64_t fence_key;  ///< The same for the same fence, and for no other: its address, or its number in logs.
  fence_id fence;           ///< How logs know the fence.
  std::uint64_t value;
};

/// A queue, as a report names it.
struct reported_queue {
  queue_id id;  ///< Among the queues of its engine; from logs, among all.
  std::string name;
  engine_id engine{};       ///< Its place among the engines that were asked for, from 0; from logs, 0.
  std::string engine_name;  ///< Empty if there is no engine, or it has no name.
  bool is_thread = false;   ///< It is a thread that a recorder records (queue/thread_recorder.hpp), no queue.

  friend bool operator==(const reported_queue&, const reported_queue&) = default;
};

/// A queue as it stands: what it still has to execute, in order.
struct pending_queue {
  reported_queue queue;
  std::vector<pending_command> commands;
};

/// A queue that waits.
struct hanging_wait {
  reported_queue queue;
  std::uint64_t fence_key;  ///< As in pending_command.
  fence_id fence;
  std::uint64_t value;          ///< What the queue waits for.
  std::uint64_t current_value;  ///< What the fence has come to.
  /// The queue that has the signal of least value that ends the wait; nothing if none of these queues has one.
  std::optional<reported_queue> held_by;
};

/// The answer; see the head of this file.
struct hang_report {
  /// All queues whose first command is a wait that is not reached, in the order in which they were given. A cycle may
  /// have others, which come to a wait later.
  std::vector<hanging_wait> waits;
  /// Each cycle once: the wait of the first queue ends by a signal of the second, and so on; that of the last one by a
  /// signal of the first.
  std::vector<std::vector<hanging_wait>> cycles;
  /// How many queues were not looked into, because they executed something just then. Their signals count as from
  /// outside: one of them may still end a wait, also one of a cycle.
  std::size_t not_seen = 0;
};

namespace detail {

/// Goes through the waits and signals of some queues as if they were executed. The queues themselves do not change. O(n
/// log n) in the commands.
class hang_search {
 public:
  /// \param value_of  returns what the fence with a key has come to
  template <class ValueOf>
  hang_search(const std::vector<pending_queue>& queues, const ValueOf& value_of)
      : queues_{queues}, next_(queues.size(), 0) {
    for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
      const auto& commands = queues_[queue].commands;
      for (std::size_t i = 0; i < commands.size(); ++i) {
        const auto [found, is_new] = fences_.try_emplace(commands[i].fence_key);
        if (is_new) found->second.found = value_of(commands[i].fence_key);
        if (!commands[i].is_wait) found->second.rises.push_back({commands[i].value, queue, i});
      }
    }
    for (auto& [key, each] : fences_) {
      each.value = each.found;
      std::sort(each.rises.begin(), each.rises.end(), comes_before);
      each.left = each.rises.size();
    }
  }

  hang_report find() {
    hang_report report;
    for (const pending_queue& queue : queues_) {
      if (const pending_command* const first = first_of(queue))
        report.waits.push_back(wait_of(queue, *first, next_holder(*first)));
    }
    std::vector<std::size_t> able(queues_.size());
    std::iota(able.begin(), able.end(), std::size_t{0});
    while (!able.empty()) {
      execute(std::move(able));
      able = take_outside();
    }
    for (auto& [key, each] : fences_) {
      std::erase_if(each.rises, [this](const pending_signal& one) { return is_executed(one); });
    }
    find_cycles(report);
    return report;
  }

  /// Returns how many looks at commands, at stuck waits and at signals it has taken so far.
  std::size_t steps() const noexcept { return steps_; }

 private:
  struct pending_signal {
    std::uint64_t value;
    std::size_t queue;
    std::size_t command;
  };
  /// By value; equal ones in the order of the queues and of their commands.
  static bool comes_before(const pending_signal& one, const pending_signal& other) noexcept {
    return std::tie(one.value, one.queue, one.command) < std::tie(other.value, other.queue, other.command);
  }
  struct fence {
    std::uint64_t found = 0;                                  // what it has come to
    std::uint64_t value = 0;                                  // what it comes to as the commands are executed
    std::vector<pending_signal> rises;                        // in the order of their values, and of their queues
    std::size_t left = 0;                                     // index into `rises`; from there on all are executed
    std::set<std::pair<std::uint64_t, std::size_t>> waiting;  // the values, and the queues that are stuck there
  };

  static bool has_less_value(const pending_signal& a, const pending_signal& b) noexcept { return a.value < b.value; }

  /// Returns the wait in which the queue stands now; null if it does not wait.
  const pending_command* first_of(const pending_queue& queue) const {
    if (queue.commands.empty() || !queue.commands[0].is_wait) return nullptr;
    const pending_command& first = queue.commands[0];
    return fences_.at(first.fence_key).value < first.value ? &first : nullptr;
  }
  bool is_stuck(std::size_t queue) const { return next_[queue] < queues_[queue].commands.size(); }
  const pending_command& stuck_in(std::size_t queue) const { return queues_[queue].commands[next_[queue]]; }
  bool is_executed(const pending_signal& of) const { return next_[of.queue] > of.command; }

  /// Executes what these queues can execute, and what becomes possible by that.
  void execute(std::vector<std::size_t> able) {
    while (!able.empty()) {
      const std::size_t queue = able.back();
      able.pop_back();
      for (; is_stuck(queue); ++next_[queue]) {
        ++steps_;
        const pending_command& each = stuck_in(queue);
        fence& of = fences_.at(each.fence_key);
        if (each.is_wait && of.value >= each.value) continue;
        touched_.push_back(&of);
        if (each.is_wait) {
          of.waiting.insert({each.value, queue});
          break;
        }
        raise(of, each.value, able);
      }
    }
  }
  void raise(fence& of, std::uint64_t value, std::vector<std::size_t>& able) {
    if (value <= of.value) return;
    of.value = value;
    while (!of.waiting.empty() && of.waiting.begin()->first <= value) {
      ++steps_;
      able.push_back(of.waiting.begin()->second);
      of.waiting.erase(of.waiting.begin());
    }
  }

  /// Counts each wait as reached for which no queue has a signal any more. Returns the queues that go on.
  std::vector<std::size_t> take_outside() {
    std::vector<std::size_t> freed;
    for (fence* const of : std::exchange(touched_, {})) {
      ++steps_;
      for (; of->left != 0 && is_executed(of->rises[of->left - 1]); --of->left) ++steps_;
      while (!of->waiting.empty()) {
        const auto [value, queue] = *of->waiting.rbegin();
        if (of->left != 0 && of->rises[of->left - 1].value >= value) break;
        ++steps_;
        of->waiting.erase(std::prev(of->waiting.end()));
        ++next_[queue];
        freed.push_back(queue);
      }
    }
    return freed;
  }

  void find_cycles(hang_report& report) {
    std::vector<std::size_t> visit(queues_.size(), 0);  // the number of the walk that has been here
    std::size_t walk = 0;
    for (std::size_t start = 0; start < queues_.size(); ++start) {
      if (!is_stuck(start) || visit[start] != 0) continue;
      ++walk;
      std::size_t at = start;
      for (; visit[at] == 0; at = *holder_of(at)) visit[at] = walk;
      if (visit[at] != walk) continue;
      std::vector<hanging_wait>& cycle = report.cycles.emplace_back();
      const std::size_t first = at;
      do {
        const std::optional<std::size_t> holder = holder_of(at);
        cycle.push_back(wait_of(queues_[at], stuck_in(at), holder));
        at = *holder;
      } while (at != first);
    }
  }

  hanging_wait wait_of(const pending_queue& queue, const pending_command& wait,
                       std::optional<std::size_t> holder) const {
    std::optional<reported_queue> held_by;
    if (holder) held_by = queues_[*holder].queue;
    const std::uint64_t value = fences_.at(wait.fence_key).found;
    return {queue.queue, wait.fence_key, wait.fence, wait.value, value, std::move(held_by)};
  }
  /// Returns the queue that has the signal of least value that ends the wait in which `queue` is stuck.
  std::optional<std::size_t> holder_of(std::size_t queue) { return next_holder(stuck_in(queue)); }
  /// Returns the queue that has the signal of least value that ends a wait.
  std::optional<std::size_t> next_holder(const pending_command& wait) {
    ++steps_;
    const std::vector<pending_signal>& rises = fences_.at(wait.fence_key).rises;
    const auto least = std::lower_bound(rises.begin(), rises.end(), pending_signal{wait.value, 0, 0}, has_less_value);
    return least != rises.end() ? std::optional(least->queue) : std::nullopt;
  }

  const std::vector<pending_queue>& queues_;
  std::vector<std::size_t> next_;  // of each queue, the command that it has come to
  std::map<std::uint64_t, fence> fences_;
  std::vector<fence*> touched_;  // whose waits may have lost their signals
  std::size_t steps_ = 0;
};

}  // namespace detail

/// Returns who waits for what, and the cycles. O(n log n) in the commands, however many of them have one fence.
/// \param value_of  returns what the fence with a key has come to; it is called once for each fence
template <class ValueOf>
[[nodiscard]] hang_report find_hangs(const std::vector<pending_queue>& queues, const ValueOf& value_of) {
  return detail::hang_search(queues, value_of).find();
}

/// Returns the name of a queue, or its number where it has none, and the name of its engine.
[[nodiscard]] inline std::string to_string(const reported_queue& of) {
  const std::string kind = of.is_thread ? "thread " : "queue ";
  std::string text = of.name.empty() ? kind + std::to_string(to_number(of.id)) : of.name;
  if (of.is_thread && !of.name.empty()) text = kind + text;
  if (!of.engine_name.empty()) text += " (" + of.engine_name + ")";
  return text;
}

/// Returns who waits for what and who has the signal, in one line without a newline: "blur (compute) waits for 2 of
/// fence 7, which is at 1; upload (copy) has the signal".
[[nodiscard]] inline std::string to_string(const hanging_wait& wait) {
  std::string text = to_string(wait.queue) + " waits for " + std::to_string(wait.value) + " of fence " +
                     std::to_string(to_number(wait.fence)) + ", which is at " + std::to_string(wait.current_value);
  text += wait.held_by ? "; " + to_string(*wait.held_by) + " has the signal" : "; no queue has the signal";
  return text;
}

/// Returns the report as lines, each with its end: the waits, and the cycles; if there is neither, that no queue waits;
/// and how many queues were not seen, if there are any.
[[nodiscard]] inline std::string to_string(const hang_report& report) {
  std::string text;
  for (const hanging_wait& wait : report.waits) text += to_string(wait) + '\n';
  for (const std::vector<hanging_wait>& cycle : report.cycles) {
    text += "in a circle:";
    for (std::size_t i = 0; i < cycle.size(); ++i) text += (i == 0 ? " " : ", ") + to_string(cycle[i].queue);
    text += '\n';
  }
  if (report.waits.empty() && report.cycles.empty()) text += "no queue waits\n";
  if (report.not_seen != 0) text += "not seen, because busy: " + std::to_string(report.not_seen) + '\n';
  return text;
}

namespace detail {

/// What a hang report is made of, and the report.
template <class T>
concept part_of_hang_report =
    std::same_as<T, reported_queue> || std::same_as<T, hanging_wait> || std::same_as<T, hang_report>;

}  // namespace detail

/// Writes what to_string() returns. Whoever calls it includes <ostream>.
template <class Traits, detail::part_of_hang_report Part>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Part& part) {
  const std::string text = to_string(part);
  return out << std::basic_string_view<char, Traits>(text.data(), text.size());
}

}  // namespace tidemark

#if defined(__cpp_lib_format)
/// Formats what to_string() returns, with the format specification of a string.
template <tidemark::detail::part_of_hang_report Part>
struct std::formatter<Part, char> : std::formatter<std::string_view, char> {
  template <class Context>
  auto format(const Part& part, Context& context) const {
    return std::formatter<std::string_view, char>::format(to_string(part), context);
  }
};
#endif

#endif  // TIDEMARK_ENGINE_HANG_REPORT_HPP
