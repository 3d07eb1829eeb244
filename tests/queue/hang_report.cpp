// SPDX-License-Identifier: BSL-1.0
//
// Which queues wait for what, and which of them in a circle.
#include <tidemark/queue/hang_report.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "support/random.hpp"

using namespace testing;
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

/// Of fences that have come to 0.
hang_report hangs_of(const std::vector<pending_queue>& queues) {
  return find_hangs(queues, [](std::uint64_t) { return std::uint64_t{0}; });
}

/// The numbers of the queues of a cycle, from the least one on.
std::vector<std::uint32_t> queues_of(const std::vector<hanging_wait>& cycle) {
  std::vector<std::uint32_t> queues;
  for (const hanging_wait& each : cycle) queues.push_back(to_number(each.queue));
  std::rotate(queues.begin(), std::min_element(queues.begin(), queues.end()), queues.end());
  return queues;
}

/// Queues that end, whatever the order: each wait is for a signal of a command that comes earlier in one order of all.
std::vector<pending_queue> random_queues(random_numbers& random, std::size_t count) {
  std::vector<pending_queue> queues(count);
  for (std::size_t i = 0; i < count; ++i) queues[i].queue = queue_id{static_cast<std::uint32_t>(i)};
  std::vector<std::uint64_t> values(count, 0);
  for (std::size_t made = 0; made < 4 * count; ++made) {
    const std::size_t queue = random.below(count);
    if (random.below(2) == 0) {
      queues[queue].commands.push_back(signal(static_cast<std::uint32_t>(queue), ++values[queue]));
    } else {
      const auto of = static_cast<std::uint32_t>(random.below(count));
      // 0 is reached from the start.
      queues[queue].commands.push_back(wait(of, random.below(values[of] + 1)));
    }
  }
  return queues;
}

}  // namespace

TEST_CASE("queues that do not wait are not reported") {
  CHECK(hangs_of({}).waits.empty());
  const hang_report report = hangs_of({{queue_id{1}, "a", {signal(1, 1), wait(1, 1)}}, {queue_id{2}, "b", {}}});
  CHECK(report.waits.empty());
  CHECK(report.cycles.empty());
}

TEST_CASE("a report names the queue, the fence, the values and the queue that has the signal next") {
  const std::vector<pending_queue> queues = {{queue_id{1}, "late", {signal(7, 9)}},
                                             {queue_id{2}, "blur", {wait(7, 5)}},
                                             {queue_id{3}, "next", {signal(7, 4), signal(7, 6)}},
                                             {queue_id{4}, "shown", {wait(8, 1)}}};
  const hang_report report = find_hangs(queues, [](std::uint64_t key) { return key == 7 ? 3U : 0U; });
  REQUIRE(report.waits.size() == 2);
  const hanging_wait& blur = report.waits[0];
  CHECK(blur.queue == queue_id{2});
  CHECK(blur.name == "blur");
  CHECK(blur.fence == fence_id{7});
  CHECK(blur.value == 5);
  CHECK(blur.held_by == queue_id{3});  // 6 is the least value that ends it
  CHECK(report.waits[1].queue == queue_id{4});
  CHECK_FALSE(report.waits[1].held_by.has_value());
  CHECK(report.cycles.empty());
}

TEST_CASE("two queues that wait for each other, each before its signal, are a cycle") {
  const hang_report report =
      hangs_of({{queue_id{1}, "a", {wait(2, 1), signal(1, 1)}}, {queue_id{2}, "b", {wait(1, 1), signal(2, 1)}}});
  CHECK(report.waits.size() == 2);
  REQUIRE(report.cycles.size() == 1);
  const std::vector<hanging_wait>& cycle = report.cycles[0];
  REQUIRE(cycle.size() == 2);
  CHECK(cycle[0].held_by == cycle[1].queue);
  CHECK(cycle[1].held_by == cycle[0].queue);
  CHECK(cycle[0].fence != cycle[1].fence);
}

TEST_CASE("a queue that waits for its own later signal is a cycle") {
  const hang_report report = hangs_of({{queue_id{5}, "", {wait(1, 2), signal(1, 2)}}});
  REQUIRE(report.cycles.size() == 1);
  CHECK(queues_of(report.cycles[0]) == std::vector<std::uint32_t>{5});
  CHECK(report.cycles[0][0].held_by == queue_id{5});
}

TEST_CASE("what a signal from outside can free is no cycle") {
  // The second queue of the circle may be freed by a third one, which waits for the program.
  const std::vector<pending_queue> queues = {{queue_id{1}, "", {wait(2, 1), signal(1, 1)}},
                                             {queue_id{2}, "", {wait(1, 1), signal(2, 1)}},
                                             {queue_id{3}, "", {wait(9, 1), signal(1, 1)}}};
  const hang_report report = hangs_of(queues);
  CHECK(report.waits.size() == 3);
  CHECK(report.cycles.empty());
}

TEST_CASE("a lower signal of the fence does not end a wait, and a higher one does") {
  CHECK(hangs_of({{queue_id{1}, "", {wait(2, 2), signal(1, 1)}},
                  {queue_id{2}, "", {signal(2, 1), wait(1, 1), signal(2, 2)}}})
            .cycles.size() == 1);
  CHECK(hangs_of({{queue_id{1}, "", {wait(2, 2), signal(1, 1)}}, {queue_id{2}, "", {signal(2, 3), wait(1, 1)}}})
            .cycles.empty());
}

TEST_CASE("queues that wait for a cycle are not part of it, and each cycle is reported once") {
  const hang_report report = hangs_of({{queue_id{1}, "", {wait(2, 1)}},
                                       {queue_id{2}, "", {wait(3, 1), signal(2, 1)}},
                                       {queue_id{3}, "", {wait(2, 1), signal(3, 1)}},
                                       {queue_id{4}, "", {wait(5, 1), signal(4, 1)}},
                                       {queue_id{5}, "", {wait(4, 1), signal(5, 1)}},
                                       {queue_id{6}, "", {wait(3, 1)}}});
  CHECK(report.waits.size() == 6);
  REQUIRE(report.cycles.size() == 2);
  CHECK(queues_of(report.cycles[0]) == std::vector<std::uint32_t>{2, 3});
  CHECK(queues_of(report.cycles[1]) == std::vector<std::uint32_t>{4, 5});
}

TEST_CASE("no cycle is found where there is none, and each of those that are planted is named exactly") {
  random_numbers random{fresh_seed()};
  for (int round = 0; round < 10'000; ++round) {
    const std::vector<pending_queue> queues = random_queues(random, 2 + random.below(std::size_t{12}));
    REQUIRE(hangs_of(queues).cycles.empty());
  }
  for (int round = 0; round < 100; ++round) {
    const std::size_t count = 3 + random.below(std::size_t{12});
    std::vector<pending_queue> queues = random_queues(random, count);
    // Some of the queues wait in a circle for fences of their own, and signal these afterwards.
    const std::size_t length = 1 + random.below(count);
    std::vector<std::uint32_t> planted;
    for (std::size_t i = 0; i < length; ++i) {
      const auto fence = static_cast<std::uint32_t>(1000 + i);
      const auto awaited = static_cast<std::uint32_t>(1000 + (i + 1) % length);
      queues[i].commands.push_back(wait(awaited, 1));
      queues[i].commands.push_back(signal(fence, 1));
      planted.push_back(static_cast<std::uint32_t>(i));
    }
    const hang_report report = hangs_of(queues);
    REQUIRE(report.cycles.size() == 1);
    REQUIRE(queues_of(report.cycles[0]) == planted);
  }
}
