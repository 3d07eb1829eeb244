// SPDX-License-Identifier: BSL-1.0
//
// Which queues wait for what, and which of them in a circle, from their logs alone.
#include <tidemark/trace/trace_hangs.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/hub/hub.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/queue/queued_events.hpp>
#include <tidemark/trace/trace_file.hpp>

#include "support/planted_cycles.hpp"
#include "support/random.hpp"
#include "support/trace_entries.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::fence_id;
using tidemark::fence_log_type;
using tidemark::hang_report;
using tidemark::hanging_wait;
using tidemark::queue_id;
using tidemark::trace;
using tidemark::trace_event;
using tidemark::wait_status;

namespace {

constexpr queue_id blur{1}, upload{2};
constexpr fence_id blurred{7}, uploaded{8};

template <class Target>
void executed(Target& target, queue_id queue, const tidemark::fence_log_entry& entry) {
  target.template on_executed<nanosecond_clock>(queue, entry);
}
tidemark::fence_log_entry cancelled(tidemark::fence_log_entry entry) {
  entry.end_timestamp = tidemark::cancelled_timestamp;
  return entry;
}

/// Two queues that wait for each other, each before its signal.
template <class Target>
void tell_a_circle(Target& target) {
  target.on_queued(blur, trace_event::wait_queued, uploaded, 2, 10);
  target.on_queued(blur, trace_event::signal_queued, blurred, 5, 11);
  target.on_queued(upload, trace_event::signal_queued, uploaded, 1, 12);
  target.on_queued(upload, trace_event::wait_queued, blurred, 5, 13);
  target.on_queued(upload, trace_event::signal_queued, uploaded, 2, 14);
  executed(target, upload, signal_entry(uploaded, 1, 20));
}

/// Queues that are not an engine's: the test executes their commands, one by one.
class stepped_queues {
 public:
  stepped_queues(const queue_plan& plan, std::size_t log_entries)
      : plan_{plan}, fences_(plan.fences), progress_(plan.queues.size()), next_(plan.queues.size(), 0) {
    for (std::size_t i = 0; i < plan.queues.size(); ++i) {
      const queue_id id{static_cast<std::uint32_t>(i)};
      logs_.add(id, queues_.emplace_back(progress_[i], tidemark::queue_options{.log_entries = log_entries}));
      const tidemark::queued_events& events = queued_.emplace_back(64);
      logs_.add(id, events);
      for (const planned_command& each : plan.queues[i]) tell(queued_.back(), each);
    }
  }

  /// Executes a command of some queue. Returns false if all of them wait, or have nothing left.
  bool step(random_numbers& random) {
    const std::size_t first = random.below(queues_.size());
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      if (execute((first + i) % queues_.size())) return true;
    }
    return false;
  }
  void collect() { logs_.collect(told_); }
  hang_report report() const { return find_hangs(told_); }
  bool is_over() const {
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      if (next_[i] != plan_.queues[i].size()) return false;
    }
    return true;
  }

 private:
  static fence_id id_of(const planned_command& of) { return fence_id{static_cast<std::uint32_t>(of.fence)}; }
  static void tell(tidemark::queued_events& to, const planned_command& queued) {
    if (queued.is_wait) {
      to.wait_queued(id_of(queued), queued.value);
    } else {
      to.signal_queued(id_of(queued), queued.value);
    }
  }
  bool execute(std::size_t queue) {
    if (next_[queue] == plan_.queues[queue].size()) return false;
    const planned_command& command = plan_.queues[queue][next_[queue]];
    const tidemark::logged_fence fence{&fences_[command.fence], id_of(command)};
    if (command.is_wait) {
      const auto status = queues_[queue].wait_for(fence, command.value, std::chrono::seconds{0});
      if (status != wait_status::reached) return false;
    } else {
      queues_[queue].signal(fence, command.value);
    }
    ++next_[queue];
    return true;
  }

  const queue_plan& plan_;
  std::deque<tidemark::fence> fences_;
  std::deque<tidemark::progress_fence> progress_;
  std::deque<tidemark::queue> queues_;
  std::deque<tidemark::queued_events> queued_;
  std::vector<std::size_t> next_;
  tidemark::log_collector logs_;
  trace told_;
};

std::vector<planned_wait> found_in(const std::vector<hanging_wait>& cycle) {
  std::vector<planned_wait> found;
  for (const hanging_wait& each : cycle) {
    found.push_back({to_number(each.queue.id), to_number(each.fence), each.value, each.current_value,
                     to_number(each.held_by.value().id)});
  }
  return from_least(std::move(found));
}

}  // namespace

TEST_CASE("logs tell who waits, for what, who has the signal, and name a circle") {
  trace source;
  source.name_queue(blur, "blur");
  source.name_engine(blur, "compute");
  source.on_queued(queue_id{9}, trace_event::wait_queued, fence_id{99}, 1, 15);
  tell_a_circle(source);
  const hang_report report = find_hangs(source);
  REQUIRE(report.waits.size() == 3);
  const hanging_wait& first = report.waits[0];
  CHECK(first.queue == tidemark::reported_queue{blur, "blur", {}, "compute"});
  CHECK(first.fence == uploaded);
  CHECK(first.value == 2);
  CHECK(first.current_value == 1);
  CHECK(first.held_by == report.waits[1].queue);
  CHECK(report.waits[1].queue.name == "queue 2");
  CHECK(report.waits[1].current_value == 0);
  CHECK(report.waits[1].held_by == first.queue);
  CHECK_FALSE(report.waits[2].held_by.has_value());
  REQUIRE(report.cycles.size() == 1);
  CHECK(report.cycles[0].size() == 2);

  // A signal of the program's breaks the circle, and the logs show it by what comes next.
  executed(source, blur, wait_entry(uploaded, 2, 20, 30));
  CHECK(find_hangs(source).cycles.empty());
  executed(source, blur, signal_entry(blurred, 5, 31));
  CHECK(find_hangs(source).waits.size() == 1);
}

TEST_CASE("what is queued and not executed is told for each queue, in the order of the times") {
  trace source;
  source.on_queued(blur, trace_event::signal_queued, blurred, 2, 30);
  source.on_queued(blur, trace_event::wait_queued, uploaded, 1, 20);
  source.on_queued(blur, trace_event::signal_queued, blurred, 1, 10);
  source.on_queued(upload, trace_event::signal_queued, uploaded, 9, 0);  // not known when
  source.on_queued(upload, trace_event::signal_queued, uploaded, 3, 5);
  executed(source, blur, signal_entry(blurred, 1, 40));
  const auto pending = pending_queues(source, source.commands());
  REQUIRE(pending.size() == 2);
  REQUIRE(pending[0].commands.size() == 2);
  CHECK(pending[0].commands[0].is_wait);
  CHECK(pending[0].commands[0].fence == uploaded);
  CHECK_FALSE(pending[0].commands[1].is_wait);
  CHECK(pending[0].commands[1].value == 2);
  REQUIRE(pending[1].commands.size() == 2);
  CHECK(pending[1].commands[0].value == 9);
  CHECK(pending[1].commands[1].value == 3);
}

TEST_CASE("a fence has come to what was signalled, and to what a queue got past") {
  trace source;
  source.on_queued(blur, trace_event::wait_queued, uploaded, 4, 10);
  executed(source, upload, wait_entry(uploaded, 3, 0, 20));
  REQUIRE(find_hangs(source).waits.size() == 1);
  CHECK(find_hangs(source).waits[0].current_value == 3);
  executed(source, upload, signal_entry(uploaded, 4, 21));
  CHECK(find_hangs(source).waits.empty());
}

TEST_CASE("[A124] what was cancelled will never be executed: nobody waits in it, and it has no signal") {
  for (const bool by_file : {false, true}) {
    std::stringstream file;
    tidemark::trace_file_writer writer(file);
    trace source;
    const auto tell = [&](auto& target) {
      tell_a_circle(target);
      executed(target, upload, cancelled(wait_entry(blurred, 5, 0, 0)));
      executed(target, upload, cancelled(signal_entry(uploaded, 2, 0)));
      executed(target, upload, cancelled(signal_entry(uploaded, 77, 0)));  // which nobody said was queued
    };
    if (by_file) {
      tell(writer);
      REQUIRE(writer.close() == tidemark::trace_write_status::written);
      REQUIRE(tidemark::read_trace_file(file, source));
    } else {
      tell(source);
    }
    std::size_t marked = 0;
    for (const auto& each : source.commands()) marked += each.cancelled ? 1 : 0;
    CHECK(marked == 2);
    const hang_report report = find_hangs(source);
    REQUIRE(report.waits.size() == 1);
    CHECK(report.waits[0].queue.id == blur);
    CHECK_FALSE(report.waits[0].held_by.has_value());
    CHECK(report.cycles.empty());
  }
}

TEST_CASE("[A100] what may have been executed, because its entry may be lost, is no hang") {
  trace source;
  tell_a_circle(source);
  source.on_lost(blur, fence_log_type::wait, 0, 1);
  source.on_lost(blur, fence_log_type::signal, 0, 1);
  CHECK(find_hangs(source).cycles.empty());
  // A command that was queued later than all that its queue has executed is still to be executed.
  source.on_queued(blur, trace_event::signal_queued, blurred, 6, 15);
  source.on_queued(blur, trace_event::wait_queued, uploaded, 3, 16);
  executed(source, blur, signal_entry(blurred, 6, 50));
  const hang_report report = find_hangs(source);
  REQUIRE(report.waits.size() == 1);  // the other queue's wait is over: the fence has come to 6
  CHECK(report.waits[0].queue.id == blur);
  CHECK(report.waits[0].value == 3);
}

TEST_CASE("cycles of queues that are no engine's are named exactly by their logs, and none is found without one") {
  random_numbers random{fresh_seed()};
  for (int round = 0; round < 10'000; ++round) {
    const queue_plan plan = queue_planner(random, 2 + random.below(std::size_t{4})).without_cycle();
    // With small logs entries are lost.
    stepped_queues queues(plan, round % 2 == 0 ? 84 : 2);
    while (queues.step(random)) {
      if (random.below(3) != 0) continue;
      queues.collect();
      REQUIRE(queues.report().cycles.empty());
    }
    REQUIRE(queues.is_over());
  }
  for (int round = 0; round < 100; ++round) {
    const std::size_t count = 2 + random.below(std::size_t{5});
    const queue_plan plan = queue_planner(random, count).with_cycle(1 + random.below(count));
    stepped_queues queues(plan, 84);
    while (queues.step(random)) {
      if (random.below(8) == 0) queues.collect();
    }
    queues.collect();
    const hang_report report = queues.report();
    REQUIRE(report.cycles.size() == 1);
    REQUIRE(found_in(report.cycles[0]) == plan.cycle);
  }
}

TEST_CASE(
    "queues that wait for each other's progress are a circle in their logs, too, if the ends are told as queued") {
  for (const bool is_told : {false, true}) {
    CAPTURE(is_told);
    tidemark::engine engine{{.threads = 0}};
    std::deque<tidemark::engine_queue> queues;
    std::array<tidemark::queued_events, 2> queued;
    tidemark::log_collector logs;
    for (std::uint32_t i = 0; i < 2; ++i) {
      queues.emplace_back(engine, tidemark::engine_queue_options{.progress = fence_id{i}});
      logs.add(queue_id{i}, queues[i].timeline());
      logs.add(queue_id{i}, queued[i]);
    }
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto other = queues[1 - i].progress();
      queues[i].wait(other, 1);
      queued[i].wait_queued(other.id, 1);
      const auto rung = queues[i].submit();
      REQUIRE(rung);
      if (is_told) queued[i].signal_queued(queues[i].progress().id, rung.serial);
    }
    while (engine.loop().poll() != 0) {
    }
    trace source;
    logs.collect(source);
    const hang_report report = find_hangs(source);
    REQUIRE(report.waits.size() == 2);
    CHECK(report.cycles.size() == (is_told ? 1 : 0));
    CHECK(report.waits[0].held_by.has_value() == is_told);
    CHECK(engine.why_waiting().cycles.size() == 1);
  }
}

TEST_CASE("threads that wait for each other, with a hub and a collector, are found by their logs") {
  tidemark::hub hub;
  std::array<tidemark::progress_fence, 2> done;
  std::array<tidemark::fence, 2> fences;
  std::deque<tidemark::hub_queue> queues;
  std::array<tidemark::queued_events, 2> queued;
  tidemark::log_collector logs;
  std::vector<tidemark::logged_fence<tidemark::fence>> known;
  for (std::size_t i = 0; i < 2; ++i) {
    REQUIRE(hub.attach(queues.emplace_back(done[i])));
    known.push_back(hub.add(fences[i]).fence);
    logs.add(queue_id{static_cast<std::uint32_t>(i)}, queues[i]);
    logs.add(queue_id{static_cast<std::uint32_t>(i)}, queued[i]);
  }
  // Each signals 1, and waits for that of the other one. Then each waits for 2, and would signal it afterwards.
  for (std::size_t i = 0; i < 2; ++i) {
    queued[i].signal_queued(known[i].id, 1);
    queued[i].wait_queued(known[1 - i].id, 1);
    queued[i].wait_queued(known[1 - i].id, 2);
    queued[i].signal_queued(known[i].id, 2);
  }
  const auto run = [&](std::size_t self) {
    queues[self].signal(known[self], 1);
    static_cast<void>(queues[self].wait(known[1 - self], 1));
    static_cast<void>(queues[self].wait(known[1 - self], 2));
    queues[self].signal(known[self], 2);
  };
  std::thread first{run, 0};
  std::thread second{run, 1};
  trace source;
  hang_report report;
  {
    const watchdog dog([&] { return state_of(fences[0]) + "; " + state_of(fences[1]); });
    await([&] {
      logs.collect(source);
      report = find_hangs(source);
      return report.waits.size() == 2 && report.waits[0].value == 2 && report.waits[1].value == 2;
    });
  }
  CHECK(report.cycles.size() == 1);
  for (const auto& cycle : report.cycles) {
    for (const hanging_wait& each : cycle) {
      CHECK(each.fence == known[1 - to_number(each.queue.id)].id);
      CHECK(each.current_value == 1);
      CHECK((each.held_by && each.held_by->id == queue_id{1 - to_number(each.queue.id)}));
    }
  }
  fences[0].signal(2);  // the program's, which breaks it
  hub.notify_all();
  first.join();
  second.join();
  logs.collect(source);
  CHECK(find_hangs(source).waits.empty());
  for (std::size_t i = 0; i < 2; ++i) {
    hub.remove(known[i].id);
    hub.remove(queues[i].progress().id);
  }
}
