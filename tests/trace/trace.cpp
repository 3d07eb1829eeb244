// SPDX-License-Identifier: BSL-1.0
//
// trace: joins what was queued and what was executed; gaps; time stamps; which signal released which wait. Files that
// are made of a trace are tested in trace_export.cpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/queue/recorder.hpp>
#include <tidemark/trace/trace.hpp>

#include "support/random.hpp"
#include "support/trace_entries.hpp"

using namespace testing;
using tidemark::fence_log_type;
using tidemark::fence_operation;
using tidemark::trace;
using tidemark::trace_command;
using tidemark::trace_event;

namespace {

constexpr tidemark::queue_id queue_a{0}, queue_b{1}, queue_c{2};
constexpr tidemark::fence_id fence_f{7}, fence_g{8};

/// A clock with ticks of two nanoseconds that does not start at 0.
struct far_clock {
  static std::uint64_t to_nanoseconds(std::uint64_t ticks) { return 1'000'000 + 2 * ticks; }
};

void executed(trace& target, tidemark::queue_id queue, const tidemark::fence_log_entry& entry) {
  target.on_executed<nanosecond_clock>(queue, entry);
}

/// The commands with this operation, fence and value, in their order.
std::vector<trace_command> all_of(const trace& source, fence_operation operation, tidemark::fence_id fence,
                                  std::uint64_t value) {
  std::vector<trace_command> found;
  for (const trace_command& command : source.commands()) {
    const bool same = command.operation == operation && command.fence == fence && command.value == value;
    if (same) found.push_back(command);
  }
  return found;
}

/// Returns when the signal was executed that released the only wait for `value`; 0 if the trace does not name it.
std::uint64_t release_time(const trace& source, std::uint64_t value) {
  const auto commands = source.commands();
  const auto waits = all_of(source, fence_operation::wait_unblocked, fence_f, value);
  REQUIRE(waits.size() == 1);
  const auto by = waits[0].released_by;
  return by ? commands[*by].end_time : 0;
}

}  // namespace

// ---- the join -------------------------------------------------------------------------------------------------------

TEST_CASE("[A91] [A94] in the worked example a wait on one queue and the signal on another have all of their times") {
  constexpr std::uint64_t cpu_t1 = 10, cpu_t2 = 20, gpu_to = 100, gpu_t1 = 300, gpu_t2 = 305, v1 = 42;
  trace source;
  source.on_queued(queue_a, trace_event::wait_queued, fence_f, v1, cpu_t1);
  source.on_queued(queue_b, trace_event::signal_queued, fence_f, v1, cpu_t2);
  executed(source, queue_b, signal_entry(fence_f, v1, gpu_t1));
  executed(source, queue_a, wait_entry(fence_f, v1, gpu_to, gpu_t2));

  const auto commands = source.commands();
  REQUIRE(commands.size() == 2);
  const trace_command& signal = commands[0];
  CHECK(signal.queue == queue_b);
  CHECK(signal.operation == fence_operation::signal_executed);
  CHECK(signal.fence == fence_f);
  CHECK(signal.value == v1);
  CHECK(signal.queued_time == cpu_t2);
  CHECK(signal.observed_time == 0);
  CHECK(signal.end_time == gpu_t1);
  CHECK_FALSE(signal.released_by.has_value());
  const trace_command& wait = commands[1];
  CHECK(wait.queue == queue_a);
  CHECK(wait.operation == fence_operation::wait_unblocked);
  CHECK(wait.fence == fence_f);
  CHECK(wait.value == v1);
  CHECK(wait.queued_time == cpu_t1);
  CHECK(wait.observed_time == gpu_to);
  CHECK(wait.end_time == gpu_t2);
  CHECK(wait.released_by == std::size_t{0});
  for (const trace_command& command : commands) {
    CHECK(command.queued);
    CHECK(command.executed);
    CHECK_FALSE(command.backward);
    CHECK_FALSE(command.uncertain);
  }
}

TEST_CASE("[A80] a command of which only one half is known stays in the trace") {
  trace source;
  source.on_queued(queue_a, trace_event::wait_queued, fence_f, 5, 10);
  executed(source, queue_a, signal_entry(fence_f, 6, 20));
  const auto commands = source.commands();
  REQUIRE(commands.size() == 2);
  CHECK(commands[0].executed);
  CHECK_FALSE(commands[0].queued);
  CHECK(commands[0].queued_time == 0);
  CHECK_FALSE(commands[0].uncertain);
  CHECK(commands[1].queued);
  CHECK_FALSE(commands[1].executed);
  CHECK(commands[1].end_time == 0);
  CHECK_FALSE(commands[1].released_by.has_value());
  CHECK_FALSE(commands[1].uncertain);
  CHECK(source.queues() == std::vector<tidemark::queue_id>{queue_a});
}

TEST_CASE("[A94] only the same queue, operation, fence and value are one command") {
  trace source;
  source.on_queued(queue_b, trace_event::wait_queued, fence_f, 5, 1);
  source.on_queued(queue_a, trace_event::signal_queued, fence_f, 5, 2);
  source.on_queued(queue_a, trace_event::wait_queued, fence_g, 5, 3);
  source.on_queued(queue_a, trace_event::wait_queued, fence_f, 6, 4);
  executed(source, queue_a, wait_entry(fence_f, 5, 0, 100));
  CHECK(source.commands().size() == 5);
  CHECK_FALSE(source.commands()[0].queued);
  source.on_queued(queue_a, trace_event::wait_queued, fence_f, 5, 5);
  CHECK(source.commands().size() == 5);
  CHECK(source.commands()[0].queued_time == 5);
}

TEST_CASE("[A94] of equal commands, the n-th one executed is the n-th one queued") {
  trace source;
  for (const std::uint64_t time : {10U, 20U, 30U, 40U}) {
    source.on_queued(queue_a, trace_event::wait_queued, fence_f, 5, time);
    if (time < 40) executed(source, queue_a, wait_entry(fence_f, 5, 0, 100 + time));
  }
  const auto commands = source.commands();
  REQUIRE(commands.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) CHECK(commands[i].end_time == 100 + commands[i].queued_time);
  CHECK(commands[3].queued_time == 40);
  CHECK_FALSE(commands[3].executed);
}

TEST_CASE("[A93] queued events count in the order of their times, not of the calls") {
  trace source;
  for (const std::uint64_t time : {30U, 10U, 20U}) {
    source.on_queued(queue_a, trace_event::signal_queued, fence_f, 5, time);
  }
  for (const std::uint64_t end : {110U, 120U, 130U}) executed(source, queue_a, signal_entry(fence_f, 5, end));
  for (const trace_command& command : source.commands()) CHECK(command.end_time == 100 + command.queued_time);
}

TEST_CASE("[A93] a command may be told to be queued after it was executed, with a time that is minutes earlier") {
  constexpr std::uint64_t minutes = 5 * 60 * std::uint64_t{1'000'000'000};
  trace source;
  executed(source, queue_a, signal_entry(fence_f, 1, minutes));
  source.on_queued(queue_a, trace_event::signal_queued, fence_f, 1, 3);
  CHECK(source.commands().size() == 1);
  CHECK(source.commands()[0].queued_time == 3);
}

TEST_CASE("[A93] queued events count in the order of the calls if one of them has no time") {
  trace source;
  for (const std::uint64_t time : {30U, 0U, 20U}) {
    source.on_queued(queue_a, trace_event::signal_queued, fence_f, 5, time);
  }
  for (const std::uint64_t end : {1U, 2U, 3U}) executed(source, queue_a, signal_entry(fence_f, 5, end));
  const auto commands = source.commands();
  REQUIRE(commands.size() == 3);
  CHECK(commands[0].queued_time == 30);
  CHECK(commands[1].queued_time == 0);
  CHECK(commands[1].queued);
  CHECK(commands[2].queued_time == 20);
}

// ---- losses ---------------------------------------------------------------------------------------------------------

TEST_CASE("[A100] there is one marker for each gap, with its count and the times around it") {
  trace source;
  executed(source, queue_a, wait_entry(fence_f, 1, 0, 100));
  source.on_lost(queue_a, fence_log_type::wait, 1, 10);
  CHECK(source.losses() == std::vector<tidemark::trace_loss>{{queue_a, fence_log_type::wait, 1, 10, 100, 0}});
  executed(source, queue_a, wait_entry(fence_f, 12, 0, 0));
  source.on_lost(queue_a, fence_log_type::wait, 12, 3);
  source.on_lost(queue_a, fence_log_type::signal, 0, 7);
  executed(source, queue_a, wait_entry(fence_f, 16, 0, 160));
  executed(source, queue_a, wait_entry(fence_f, 17, 0, 170));
  const std::vector<tidemark::trace_loss> expected{{queue_a, fence_log_type::wait, 1, 10, 100, 160},
                                                   {queue_a, fence_log_type::wait, 12, 3, 100, 160},
                                                   {queue_a, fence_log_type::signal, 0, 7, 0, 0}};
  CHECK(source.losses() == expected);
}

TEST_CASE("[A100] a gap that is reported in parts or twice is one gap") {
  trace source;
  source.on_lost(queue_a, fence_log_type::wait, 0, 5);
  source.on_lost(queue_a, fence_log_type::wait, 5, 2);  // continues the gap
  source.on_lost(queue_a, fence_log_type::wait, 0, 5);  // repeats it
  source.on_lost(queue_a, fence_log_type::wait, 6, 4);  // repeats and continues it
  executed(source, queue_a, signal_entry(fence_f, 1, 10));
  executed(source, queue_b, wait_entry(fence_f, 1, 0, 10));
  source.on_lost(queue_a, fence_log_type::wait, 10, 1);  // other logs have entries, which do not end the gap
  source.on_lost(queue_a, fence_log_type::wait, 11, 0);  // no entry
  REQUIRE(source.losses().size() == 1);
  CHECK(source.losses()[0].first_sequence == 0);
  CHECK(source.losses()[0].count == 11);
  source.on_lost(queue_a, fence_log_type::wait, 20, 1);  // another gap
  source.on_lost(queue_a, fence_log_type::wait, 0, 1);   // the log was created anew [A92]
  CHECK(source.losses().size() == 3);
}

TEST_CASE("[A100] without a loss there is no marker") {
  trace source;
  source.on_lost(queue_a, fence_log_type::wait, 0, 0);
  executed(source, queue_a, wait_entry(fence_f, 1, 0, 10));
  CHECK(source.losses().empty());
}

TEST_CASE("[A94] [A100] a queued command without an executed half is uncertain if entries of its log were lost") {
  trace source;
  source.on_queued(queue_a, trace_event::wait_queued, fence_f, 1, 10);
  source.on_queued(queue_a, trace_event::signal_queued, fence_f, 1, 11);
  source.on_queued(queue_b, trace_event::wait_queued, fence_f, 1, 12);
  source.on_lost(queue_a, fence_log_type::wait, 0, 1);
  const auto commands = source.commands();
  REQUIRE(commands.size() == 3);
  CHECK(commands[0].uncertain);
  CHECK_FALSE(commands[1].uncertain);  // its log has no gap
  CHECK_FALSE(commands[2].uncertain);  // its queue has no gap
}

TEST_CASE("[A94] [A100] a command that occurs once is joined across a loss") {
  trace source;
  for (const std::uint64_t value : {1U, 2U, 3U}) {
    source.on_queued(queue_a, trace_event::signal_queued, fence_f, value, 10 * value);
  }
  executed(source, queue_a, signal_entry(fence_f, 1, 100));
  source.on_lost(queue_a, fence_log_type::signal, 1, 1);
  executed(source, queue_a, signal_entry(fence_f, 3, 300));
  const auto commands = source.commands();
  REQUIRE(commands.size() == 3);
  CHECK(commands[0].queued_time == 10);
  CHECK(commands[1].queued_time == 30);
  CHECK_FALSE(commands[1].uncertain);
  CHECK(commands[2].value == 2);
  CHECK(commands[2].uncertain);
}

TEST_CASE(
    "[A94] [A100] a repeated command is joined before a loss, and after it only if none of its entries is missing") {
  const auto run = [](std::uint64_t queued_count) {
    trace source;
    for (std::uint64_t i = 1; i <= queued_count; ++i) {
      source.on_queued(queue_a, trace_event::wait_queued, fence_f, 5, i);
    }
    executed(source, queue_a, wait_entry(fence_f, 5, 0, 101));
    source.on_lost(queue_a, fence_log_type::wait, 1, 1);
    executed(source, queue_a, wait_entry(fence_f, 5, 0, 102));
    return source.commands();
  };
  const auto missing_none = run(2);
  REQUIRE(missing_none.size() == 2);
  for (const trace_command& command : missing_none) {
    CHECK(command.end_time == 100 + command.queued_time);
    CHECK_FALSE(command.uncertain);
  }
  const auto missing_one = run(3);
  REQUIRE(missing_one.size() == 4);
  CHECK(missing_one[0].queued_time == 1);
  CHECK_FALSE(missing_one[0].uncertain);
  for (std::size_t i = 1; i < 4; ++i) CHECK(missing_one[i].uncertain);
  CHECK_FALSE(missing_one[1].queued);
  CHECK_FALSE(missing_one[2].executed);
  const auto never_queued = run(1);
  REQUIRE(never_queued.size() == 2);
  CHECK_FALSE(never_queued[1].queued);
  CHECK_FALSE(never_queued[1].uncertain);  // no queued command is left to join it with
}

TEST_CASE("[A94] [A100] whatever is lost, no command is joined with the queued event of another one") {
  random_numbers random{fresh_seed()};
  std::size_t joined = 0;
  std::size_t lost = 0;
  for (int round = 0; round < 300; ++round) {
    trace source;
    std::map<std::uint64_t, std::uint64_t> end_of;  // the end of each command, by the time at which it was queued
    std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
    const std::uint64_t count = 1 + random.below(40);
    const std::uint64_t executed_count = random.below(count + 1);
    const bool may_lose = random.below(4) != 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t value = 1 + random.below(4);
      calls.emplace_back(i + 1, value);
      if (i >= executed_count) continue;
      if (may_lose && random.below(8) == 0) {
        source.on_lost(queue_a, fence_log_type::wait, i, 1);
        ++lost;
        continue;
      }
      end_of[i + 1] = 1000 + i;
      executed(source, queue_a, wait_entry(fence_f, value, 0, 1000 + i));
    }
    for (std::size_t i = calls.size(); i > 1; --i) std::swap(calls[i - 1], calls[random.below(i)]);
    for (const auto& [time, value] : calls) source.on_queued(queue_a, trace_event::wait_queued, fence_f, value, time);
    for (const trace_command& command : source.commands()) {
      if (command.queued && command.executed) CHECK(end_of.at(command.queued_time) == command.end_time);
      if (command.queued && command.executed) ++joined;
      if (source.losses().empty()) CHECK(command.queued);
      if (source.losses().empty()) CHECK(command.executed == (end_of.count(command.queued_time) != 0));
      if (source.losses().empty()) CHECK_FALSE(command.uncertain);
      if (!source.losses().empty() && !(command.queued && command.executed)) CHECK(command.uncertain);
    }
  }
  CHECK(joined > 1000);
  CHECK(lost > 100);
}

// ---- time stamps ----------------------------------------------------------------------------------------------------

TEST_CASE("[A103] [A104] times that are zero or repeat are no error") {
  trace source;
  std::uint64_t value = 0;
  for (const std::uint64_t time : {5U, 0U, 6U, 6U, 0U, 0U, 6U, 7U}) {
    executed(source, queue_a, signal_entry(fence_f, ++value, time));
  }
  CHECK(source.backward_count() == 0);
  for (const trace_command& command : source.commands()) CHECK_FALSE(command.backward);
  CHECK(source.commands()[1].end_time == 0);
}

TEST_CASE("[A105] a time that falls is marked once, and each log is judged by itself") {
  trace source;
  std::uint64_t value = 0;
  for (const std::uint64_t time : {5U, 0U, 4U, 4U, 5U, 3U}) {
    executed(source, queue_a, signal_entry(fence_f, ++value, time));
  }
  executed(source, queue_a, wait_entry(fence_f, 1, 0, 1));    // in another log
  executed(source, queue_b, signal_entry(fence_g, 1, 1));     // on another queue
  executed(source, queue_b, wait_entry(fence_g, 1, 20, 10));  // ends before it begins
  CHECK(source.backward_count() == 3);
  const auto commands = source.commands();
  std::vector<std::size_t> marked;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (commands[i].backward) marked.push_back(i);
  }
  CHECK(marked == std::vector<std::size_t>{2, 5, 8});
}

TEST_CASE("[A104] a clock turns ticks into nanoseconds, but an unknown time stays unknown") {
  trace source;
  source.on_executed<far_clock>(queue_a, wait_entry(fence_f, 1, 0, 50));
  source.on_executed<far_clock>(queue_a, wait_entry(fence_f, 2, 60, 70));
  source.on_executed<far_clock>(queue_a, wait_entry(fence_f, 3, 0, 0));
  const auto commands = source.commands();
  CHECK(commands[0].observed_time == 0);
  CHECK(commands[0].end_time == 1'000'100);
  CHECK(commands[1].observed_time == 1'000'120);
  CHECK(commands[1].end_time == 1'000'140);
  CHECK(commands[2].end_time == 0);
}

TEST_CASE(
    "[A91] time stamps are ticks of the default clock, on the time line of the steady clock, if no clock is named") {
  const auto steady = [] {
    const std::chrono::nanoseconds since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(since.count());
  };
  trace source;
  const std::uint64_t queued = steady();
  source.on_executed(queue_a, signal_entry(fence_f, 1, tidemark::default_log_clock::now()));
  const std::uint64_t seen = steady();
  CHECK(queued <= source.commands()[0].end_time);
  CHECK(source.commands()[0].end_time <= seen);
}

// ---- who released whom ----------------------------------------------------------------------------------------------

TEST_CASE("[A91] a wait is released by the first signal that reaches its value, on any queue") {
  trace source;
  executed(source, queue_c, signal_entry(fence_f, 9, 400));
  executed(source, queue_b, signal_entry(fence_g, 5, 50));  // of another fence
  executed(source, queue_b, signal_entry(fence_f, 4, 100));
  executed(source, queue_b, signal_entry(fence_f, 6, 200));
  executed(source, queue_b, signal_entry(fence_f, 7, 300));
  executed(source, queue_a, wait_entry(fence_f, 4, 0, 100));
  executed(source, queue_a, wait_entry(fence_f, 5, 150, 210));
  executed(source, queue_a, wait_entry(fence_f, 9, 220, 410));
  executed(source, queue_a, wait_entry(fence_f, 10, 420, 500));
  CHECK(release_time(source, 4) == 100);
  CHECK(release_time(source, 5) == 200);
  CHECK(release_time(source, 9) == 400);
  CHECK(release_time(source, 10) == 0);  // the trace has no such signal
}

TEST_CASE("[A91] no signal is named if the first one that reaches the value was executed after the wait had ended") {
  trace source;
  executed(source, queue_b, signal_entry(fence_f, 5, 200));
  executed(source, queue_a, wait_entry(fence_f, 5, 100, 150));
  CHECK(release_time(source, 5) == 0);
}

TEST_CASE("[A91] the signal that is first in time released the wait, though a lower value follows") {
  trace source;
  executed(source, queue_b, signal_entry(fence_f, 10, 100));
  executed(source, queue_c, signal_entry(fence_f, 7, 200));  // changes nothing
  executed(source, queue_a, wait_entry(fence_f, 6, 50, 300));
  CHECK(release_time(source, 6) == 100);
}

TEST_CASE("[A104] without time stamps, the least value that reaches the awaited one is the first") {
  trace source;
  executed(source, queue_b, signal_entry(fence_f, 9, 500));
  executed(source, queue_b, signal_entry(fence_f, 6, 0));
  executed(source, queue_b, signal_entry(fence_f, 4, 0));
  executed(source, queue_a, wait_entry(fence_f, 5, 0, 0));
  executed(source, queue_a, wait_entry(fence_f, 7, 0, 0));
  const auto commands = source.commands();
  CHECK(commands[3].released_by == std::size_t{1});
  CHECK(commands[4].released_by == std::size_t{0});
}

TEST_CASE("[A91] [A100] no signal is named if the one that released the wait may have been lost") {
  const auto run = [](std::uint64_t lost_after, std::uint64_t lost_before, fence_log_type log) {
    trace source;
    executed(source, queue_b, signal_entry(fence_f, 1, 100));
    executed(source, queue_b, signal_entry(fence_f, 8, 200));
    if (lost_after != 0) executed(source, queue_c, entry_of(log, fence_g, 1, lost_after));
    source.on_lost(queue_c, log, 1, 3);
    if (lost_before != 0) executed(source, queue_c, entry_of(log, fence_g, 2, lost_before));
    executed(source, queue_a, wait_entry(fence_f, 5, 50, 300));
    executed(source, queue_a, wait_entry(fence_f, 8, 50, 300));
    CHECK(release_time(source, 8) == 200);  // no lost signal can have reached exactly this value
    return release_time(source, 5);
  };
  CHECK(run(110, 190, fence_log_type::signal) == 0);
  CHECK(run(0, 0, fence_log_type::signal) == 0);
  CHECK(run(190, 0, fence_log_type::signal) == 0);
  CHECK(run(0, 110, fence_log_type::signal) == 0);
  CHECK(run(10, 90, fence_log_type::signal) == 200);  // all lost signals came before value 1
  CHECK(run(210, 0, fence_log_type::signal) == 200);  // all lost signals came after value 8
  CHECK(run(110, 190, fence_log_type::wait) == 200);  // waits release nothing
}

TEST_CASE("[A100] [A105] a gap around which the time went backward covers both times") {
  trace source;
  executed(source, queue_b, signal_entry(fence_f, 1, 150));
  executed(source, queue_b, signal_entry(fence_f, 8, 200));
  executed(source, queue_c, signal_entry(fence_g, 1, 190));
  source.on_lost(queue_c, fence_log_type::signal, 1, 3);
  executed(source, queue_c, signal_entry(fence_g, 2, 110));
  executed(source, queue_a, wait_entry(fence_f, 5, 50, 300));
  executed(source, queue_a, wait_entry(fence_f, 8, 50, 300));
  CHECK(release_time(source, 5) == 0);
  CHECK(release_time(source, 8) == 200);
}

TEST_CASE("[A91] [A100] whatever is lost, a wait is never said to be released by the wrong signal") {
  random_numbers random{fresh_seed()};
  std::size_t told = 0;
  for (int round = 0; round < 300; ++round) {
    trace source;
    std::map<std::uint64_t, std::uint64_t> signals;  // the time of each signal, by value
    std::uint64_t value = 0;
    std::uint64_t time = 1000;
    std::uint64_t sequence[2] = {0, 0};
    for (std::uint64_t i = 0; i < 30; ++i) {
      const tidemark::queue_id queue = random.below(2) == 0 ? queue_b : queue_c;
      value += 1 + random.below(3);
      time += 1 + random.below(5);
      signals[value] = time;
      const std::uint64_t number = sequence[queue == queue_b ? 0 : 1]++;
      if (random.below(5) == 0) {
        source.on_lost(queue, fence_log_type::signal, number, 1);
      } else {
        executed(source, queue, signal_entry(fence_f, value, random.below(12) == 0 ? 0 : time));
      }
    }
    for (std::uint64_t target = 1; target <= value; ++target) {
      const std::uint64_t reached = signals.lower_bound(target)->second;
      executed(source, queue_a, wait_entry(fence_f, target, 1, reached + random.below(8)));
    }
    const auto commands = source.commands();
    for (const trace_command& command : commands) {
      if (!command.released_by) continue;
      ++told;
      CHECK(commands[*command.released_by].value == signals.lower_bound(command.value)->first);
    }
  }
  CHECK(told > 1000);
}

// ---- the shape of a sink --------------------------------------------------------------------------------------------

TEST_CASE("a trace can be told what log_collector tells to a sink, with any clock") {
  static_assert(tidemark::trace_sink<trace, tidemark::default_log_clock>);
  static_assert(!tidemark::trace_sink<std::string, tidemark::default_log_clock>);

  trace source;
  source.on_executed<far_clock>(tidemark::queue_id{1}, signal_entry(tidemark::fence_id{2}, 3, 4));
  source.on_lost(tidemark::queue_id{1}, fence_log_type::signal, 1, 2);
  CHECK(source.commands().size() == 1);
}

// ---- names ----------------------------------------------------------------------------------------------------------

TEST_CASE("queues and fences are called by their names, otherwise by their numbers") {
  trace source;
  source.name_queue(tidemark::queue_id{4}, "copy");
  source.name_fence(tidemark::fence_id{5}, "uploaded");
  executed(source, tidemark::queue_id{2}, signal_entry(tidemark::fence_id{5}, 1, 10));
  CHECK(source.queue_name(tidemark::queue_id{4}) == "copy");
  CHECK(source.queue_name(tidemark::queue_id{2}) == "queue 2");
  CHECK(source.queue_name(tidemark::queue_id{77}) == "queue 77");
  CHECK(source.fence_name(tidemark::fence_id{5}) == "uploaded");
  CHECK(source.fence_name(tidemark::fence_id{6}) == "fence 6");
  CHECK(source.queues() == std::vector<tidemark::queue_id>{tidemark::queue_id{2}, tidemark::queue_id{4}});
}

TEST_CASE("[A124] of commands that look alike, each that was cancelled takes its own time of queueing with it") {
  trace source;
  for (const std::uint64_t time : {10U, 20U, 30U, 40U}) {
    source.on_queued(queue_a, trace_event::wait_queued, fence_f, 5, time);
  }
  executed(source, queue_a, wait_entry(fence_f, 5, 0, tidemark::cancelled_timestamp));
  executed(source, queue_a, wait_entry(fence_f, 5, 21, 25));
  executed(source, queue_a, wait_entry(fence_f, 5, 0, tidemark::cancelled_timestamp));
  executed(source, queue_a, wait_entry(fence_f, 5, 41, 45));
  std::vector<std::uint64_t> joined;
  std::vector<std::uint64_t> given_up;
  for (const trace_command& each : source.commands()) {
    if (each.executed) CHECK(each.end_time == each.queued_time + 5);
    (each.executed ? joined : given_up).push_back(each.queued_time);
    CHECK(each.cancelled != each.executed);
    CHECK_FALSE(each.uncertain);
  }
  CHECK(joined == std::vector<std::uint64_t>{20, 40});
  CHECK(given_up == std::vector<std::uint64_t>{10, 30});
}
