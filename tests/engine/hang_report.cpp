// SPDX-License-Identifier: BSL-1.0
//
// Which queues wait for what, and which of them in a circle.
#include <tidemark/engine/hang_report.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>
#include <version>

#if defined(__cpp_lib_format)
#include <format>
#endif

#include "support/planted_cycles.hpp"
#include "support/random.hpp"

using namespace testing;
using tidemark::engine_id;
using tidemark::fence_id;
using tidemark::find_hangs;
using tidemark::hang_report;
using tidemark::hanging_wait;
using tidemark::pending_command;
using tidemark::pending_queue;
using tidemark::queue_id;

namespace {

pending_command wait(std::uint32_t fence, std::uint64_t value) { return {true, fence, fence_id{fence}, value}; }
pending_command signal(std::uint32_t fence, std::uint64_t value) { return {false, fence, fence_id{fence}, value}; }
pending_queue queue(std::uint32_t number, const char* name, std::vector<pending_command> commands) {
  return {{queue_id{number}, name, {}, {}}, std::move(commands)};
}

/// Of fences that have come to 0.
hang_report hangs_of(const std::vector<pending_queue>& queues) {
  return find_hangs(queues, [](std::uint64_t) { return std::uint64_t{0}; });
}

/// The numbers of the queues of a cycle, from the least one on.
std::vector<std::uint32_t> queues_of(const std::vector<hanging_wait>& cycle) {
  std::vector<std::uint32_t> queues;
  for (const hanging_wait& each : cycle) queues.push_back(to_number(each.queue.id));
  std::rotate(queues.begin(), std::min_element(queues.begin(), queues.end()), queues.end());
  return queues;
}

/// A picture of the queues before any of them has executed something. Each is the only queue of an engine of its own.
std::vector<pending_queue> picture_of(const queue_plan& plan) {
  std::vector<pending_queue> queues;
  for (const auto& planned : plan.queues) {
    pending_queue made = queue(0, "", {});
    made.queue.engine = engine_id{static_cast<std::uint32_t>(queues.size())};
    for (const planned_command& each : planned) {
      const auto fence = static_cast<std::uint32_t>(each.fence);
      made.commands.push_back(each.is_wait ? wait(fence, each.value) : signal(fence, each.value));
    }
    queues.push_back(std::move(made));
  }
  return queues;
}
std::vector<planned_wait> found_in(const std::vector<hanging_wait>& cycle) {
  std::vector<planned_wait> found;
  for (const hanging_wait& each : cycle) {
    found.push_back({to_number(each.queue.engine), to_number(each.fence), each.value, each.current_value,
                     to_number(each.held_by.value().engine)});
  }
  return from_least(std::move(found));
}

std::string printed(const hang_report& report) {
  std::ostringstream out;
  out << report;
  return out.str();
}

TEST_CASE("a report is printed as lines: who waits for what, who has the signal, and the cycles") {
  std::vector<pending_queue> queues{queue(1, "blur", {wait(7, 2), signal(8, 1)}),
                                    queue(2, "", {wait(8, 1), signal(7, 2)}), queue(3, "show", {wait(9, 5)})};
  queues[0].queue.engine_name = "compute";
  const hang_report report = hangs_of(queues);
  CHECK(printed(report) ==
        "blur (compute) waits for 2 of fence 7, which is at 0; queue 2 has the signal\n"
        "queue 2 waits for 1 of fence 8, which is at 0; blur (compute) has the signal\n"
        "show waits for 5 of fence 9, which is at 0; no queue has the signal\n"
        "in a circle: blur (compute), queue 2\n");
  CHECK(to_string(report.waits[2]) == "show waits for 5 of fence 9, which is at 0; no queue has the signal");
}

TEST_CASE("a report of queues that do not wait says so, and how many were not seen") {
  hang_report report = hangs_of({queue(1, "blur", {signal(7, 1)})});
  CHECK(printed(report) == "no queue waits\n");
  report.not_seen = 2;
  CHECK(printed(report) == "no queue waits\nnot seen, because busy: 2\n");
}

#if defined(__cpp_lib_format)
TEST_CASE("a report is formatted as it is printed") {
  const hang_report report = hangs_of({queue(1, "show", {wait(9, 5)})});
  CHECK(std::format("{}", report) == to_string(report));
  CHECK(std::format("{:>8}", report.waits[0].queue) == "    show");
}
#endif

}  // namespace

TEST_CASE("queues that do not wait are not reported") {
  CHECK(hangs_of({}).waits.empty());
  const hang_report report = hangs_of({queue(1, "a", {signal(1, 1), wait(1, 1)}), queue(2, "b", {})});
  CHECK(report.waits.empty());
  CHECK(report.cycles.empty());
}

TEST_CASE("a report names the queue, the fence, the values and the queue that has the signal next") {
  const std::vector<pending_queue> queues = {queue(1, "late", {signal(7, 9)}), queue(2, "blur", {wait(7, 5)}),
                                             queue(3, "next", {signal(7, 4), signal(7, 6)}),
                                             queue(4, "shown", {wait(8, 1)})};
  const hang_report report = find_hangs(queues, [](std::uint64_t key) { return key == 7 ? 3U : 0U; });
  REQUIRE(report.waits.size() == 2);
  const hanging_wait& blur = report.waits[0];
  CHECK(blur.queue.id == queue_id{2});
  CHECK(blur.queue.name == "blur");
  CHECK(blur.fence == fence_id{7});
  CHECK(blur.value == 5);
  CHECK(blur.held_by == queues[2].queue);  // 6 is the least value that ends it
  CHECK(report.waits[1].queue.id == queue_id{4});
  CHECK_FALSE(report.waits[1].held_by.has_value());
  CHECK(report.cycles.empty());
}

TEST_CASE("two queues that wait for each other, each before its signal, are a cycle") {
  const hang_report report =
      hangs_of({queue(1, "a", {wait(2, 1), signal(1, 1)}), queue(2, "b", {wait(1, 1), signal(2, 1)})});
  CHECK(report.waits.size() == 2);
  REQUIRE(report.cycles.size() == 1);
  const std::vector<hanging_wait>& cycle = report.cycles[0];
  REQUIRE(cycle.size() == 2);
  CHECK(cycle[0].held_by == cycle[1].queue);
  CHECK(cycle[1].held_by == cycle[0].queue);
  CHECK(cycle[0].fence != cycle[1].fence);
}

TEST_CASE("a queue that waits for its own later signal is a cycle") {
  const hang_report report = hangs_of({queue(5, "", {wait(1, 2), signal(1, 2)})});
  REQUIRE(report.cycles.size() == 1);
  CHECK(queues_of(report.cycles[0]) == std::vector<std::uint32_t>{5});
  CHECK(report.cycles[0][0].held_by == report.cycles[0][0].queue);
}

TEST_CASE("what a signal from outside can free is no cycle") {
  // The second queue of the circle may be freed by a third one, which waits for the program.
  const std::vector<pending_queue> queues = {queue(1, "", {wait(2, 1), signal(1, 1)}),
                                             queue(2, "", {wait(1, 1), signal(2, 1)}),
                                             queue(3, "", {wait(9, 1), signal(1, 1)})};
  const hang_report report = hangs_of(queues);
  CHECK(report.waits.size() == 3);
  CHECK(report.cycles.empty());
}

TEST_CASE("a lower signal of the fence does not end a wait, and a higher one does") {
  CHECK(hangs_of({queue(1, "", {wait(2, 2), signal(1, 1)}), queue(2, "", {signal(2, 1), wait(1, 1), signal(2, 2)})})
            .cycles.size() == 1);
  CHECK(hangs_of({queue(1, "", {wait(2, 2), signal(1, 1)}), queue(2, "", {signal(2, 3), wait(1, 1)})}).cycles.empty());
}

TEST_CASE("queues that wait for a cycle are not part of it, and each cycle is reported once") {
  const hang_report report = hangs_of(
      {queue(1, "", {wait(2, 1)}), queue(2, "", {wait(3, 1), signal(2, 1)}), queue(3, "", {wait(2, 1), signal(3, 1)}),
       queue(4, "", {wait(5, 1), signal(4, 1)}), queue(5, "", {wait(4, 1), signal(5, 1)}), queue(6, "", {wait(3, 1)})});
  CHECK(report.waits.size() == 6);
  REQUIRE(report.cycles.size() == 2);
  CHECK(queues_of(report.cycles[0]) == std::vector<std::uint32_t>{2, 3});
  CHECK(queues_of(report.cycles[1]) == std::vector<std::uint32_t>{4, 5});
}

TEST_CASE("no cycle is found where there is none, and each of those that are planted is named exactly") {
  random_numbers random{fresh_seed()};
  for (int round = 0; round < 10'000; ++round) {
    const queue_plan plan = queue_planner(random, 2 + random.below(std::size_t{12})).without_cycle();
    REQUIRE(hangs_of(picture_of(plan)).cycles.empty());
  }
  for (int round = 0; round < 1000; ++round) {
    const std::size_t count = 3 + random.below(std::size_t{12});
    queue_plan plan = queue_planner(random, count).with_cycle(1 + random.below(count));
    for (planned_wait& each : plan.cycle) each.current_value = 0;
    const hang_report report = hangs_of(picture_of(plan));
    REQUIRE(report.cycles.size() == 1);
    REQUIRE(found_in(report.cycles[0]) == plan.cycle);
  }
}

TEST_CASE("queues of the same number are told apart by their engines") {
  const std::vector<pending_queue> queues = {{{queue_id{0}, "a", engine_id{0}, "x"}, {wait(2, 1), signal(1, 1)}},
                                             {{queue_id{0}, "b", engine_id{1}, "y"}, {wait(1, 1), signal(2, 1)}}};
  const hang_report report = hangs_of(queues);
  REQUIRE(report.waits.size() == 2);
  CHECK(report.waits[0].held_by == queues[1].queue);
  CHECK(report.waits[1].held_by == queues[0].queue);
  REQUIRE(report.cycles.size() == 1);
  CHECK(report.cycles[0][0].queue != report.cycles[0][1].queue);
}

TEST_CASE("in a cycle, too, the queue is named that has the signal of the least value") {
  const hang_report report =
      hangs_of({queue(1, "late", {wait(1, 1), signal(2, 9)}), queue(2, "next", {wait(1, 1), signal(2, 1)}),
                queue(3, "first", {wait(2, 1), signal(1, 1)})});
  REQUIRE(report.cycles.size() == 1);
  CHECK(queues_of(report.cycles[0]) == std::vector<std::uint32_t>{2, 3});
}

// ---- what it costs --------------------------------------------------------------------------------------------------

namespace {

/// So many queues and commands, of which the worst ones have one fence in common.
std::vector<pending_queue> many_waits(int shape, std::uint32_t count) {
  std::vector<pending_queue> queues;
  std::vector<pending_command> others;
  for (std::uint32_t i = 1; i <= count; ++i) {
    if (shape != 2) queues.push_back(queue(i, "", {wait(1, i), signal(2, i)}));
    if (shape == 0) others.push_back(signal(1, i));
    if (shape == 2) others.push_back(wait(i, 1));
  }
  if (shape == 1) {
    others.push_back(wait(2, count));
    for (std::uint32_t i = 1; i <= count; ++i) others.push_back(signal(1, i));
  }
  queues.push_back(queue(0, "", std::move(others)));
  return queues;
}
std::size_t steps_of(const std::vector<pending_queue>& queues) {
  tidemark::detail::hang_search search(queues, [](std::uint64_t) { return std::uint64_t{0}; });
  static_cast<void>(search.find());
  return search.steps();
}

}  // namespace

TEST_CASE("a report takes a few steps for each command, however many of them have one fence") {
  constexpr std::uint32_t count = 500;
  for (const int shape : {0, 1, 2}) {
    CAPTURE(shape);
    const std::vector<pending_queue> queues = many_waits(shape, count);
    std::size_t commands = 0;
    for (const pending_queue& each : queues) commands += each.commands.size();
    CHECK(steps_of(queues) <= 6 * commands);
  }
  CHECK(hangs_of(many_waits(0, count)).cycles.empty());
  CHECK(hangs_of(many_waits(1, count)).cycles.size() == 1);
  CHECK(hangs_of(many_waits(2, count)).cycles.empty());
}
