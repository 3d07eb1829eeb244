// SPDX-License-Identifier: BSL-1.0
//
// trace_lifetimes: from when each command was queued to when it was executed, and how many were in flight at a time.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/trace/trace.hpp>
#include <tidemark/trace/trace_lifetimes.hpp>

#include "support/random.hpp"
#include "support/trace_entries.hpp"

using namespace testing;
using tidemark::trace;
using tidemark::trace_depth;
using tidemark::trace_event;
using tidemark::trace_lifetime;

namespace {

constexpr tidemark::queue_id queue_a{0}, queue_b{1};
constexpr tidemark::fence_id fence_f{7};

void executed(trace& target, tidemark::queue_id queue, const tidemark::fence_log_entry& entry) {
  target.on_executed<nanosecond_clock>(queue, entry);
}
void queued(trace& target, std::uint64_t value, std::uint64_t time) {
  target.on_queued(queue_a, trace_event::signal_queued, fence_f, value, time);
}
void signalled(trace& target, std::uint64_t value, std::uint64_t end) {
  executed(target, queue_a, signal_entry(fence_f, value, end));
}

/// Returns "begin-end@level", with a sign where it is open, and spaces between them.
std::string text_of(const std::vector<trace_lifetime>& lifetimes) {
  std::string text;
  for (const trace_lifetime& each : lifetimes) {
    text += (text.empty() ? "" : " ") + std::to_string(each.begin_time) + "-" + std::to_string(each.end_time) + "@" +
            std::to_string(each.level) + (each.open ? "+" : "");
  }
  return text;
}
std::string text_of(const std::vector<trace_depth>& depths) {
  std::string text;
  for (const trace_depth& each : depths) {
    text += (text.empty() ? "" : " ") + std::to_string(each.time) + ":" + std::to_string(each.depth);
  }
  return text;
}

}  // namespace

TEST_CASE("[A131] with three in flight, each is a box from its queueing to its end, and the depth is three") {
  trace source;
  for (std::uint64_t n = 1; n <= 3; ++n) queued(source, n, 10 * n);
  signalled(source, 1, 100);
  queued(source, 4, 110);
  for (std::uint64_t n = 2; n <= 4; ++n) signalled(source, n, 100 * n);
  CHECK(text_of(lifetimes_of(source)) == "10-100@0 20-200@1 30-300@2 110-400@0");
  CHECK(text_of(depth_of(source, queue_a)) == "10:1 20:2 30:3 100:2 110:3 200:2 300:1 400:0");
  CHECK(depth_of(source, queue_b).empty());
}

TEST_CASE(
    "[A131] a command that ends when another one is queued leaves its level to it, and the depth does not change") {
  trace source;
  queued(source, 1, 10);
  queued(source, 2, 50);
  signalled(source, 1, 50);
  signalled(source, 2, 80);
  CHECK(text_of(lifetimes_of(source)) == "10-50@0 50-80@0");
  CHECK(text_of(depth_of(source, queue_a)) == "10:1 80:0");
}

TEST_CASE("[A131] what is not executed is in flight until the last time of the trace") {
  trace source;
  queued(source, 1, 10);
  queued(source, 2, 20);
  signalled(source, 1, 30);
  source.on_work<nanosecond_clock>(queue_b, "blur", 5, 90);
  CHECK(text_of(lifetimes_of(source)) == "10-30@0 20-90@1+");
  CHECK(text_of(depth_of(source, queue_a)) == "10:1 20:2 30:1");
}

TEST_CASE("[A131] commands that are queued at the last time of the trace are in flight, each in a level of its own") {
  trace source;
  queued(source, 1, 10);
  signalled(source, 1, 50);
  queued(source, 2, 50);
  queued(source, 3, 50);
  CHECK(text_of(lifetimes_of(source)) == "10-50@0 50-50@0+ 50-50@1+");
  CHECK(text_of(depth_of(source, queue_a)) == "10:1 50:2");
}

TEST_CASE(
    "[A131] a command of which a time is missing or wrong, or that was cancelled or may be lost, does not count") {
  trace source;
  signalled(source, 1, 10);  // nobody told when it was queued
  queued(source, 2, 20);
  signalled(source, 2, 0);  // its end has no time
  queued(source, 3, 40);
  signalled(source, 3, 30);  // it ended before it was queued
  queued(source, 4, 50);
  signalled(source, 4, tidemark::cancelled_timestamp);
  queued(source, 5, 0);  // and is not executed
  CHECK(lifetimes_of(source).empty());
  CHECK(depth_of(source, queue_a).empty());
  queued(source, 6, 35);  // before one that was certainly executed
  source.on_lost(queue_a, tidemark::fence_log_type::signal, 4, 1);
  signalled(source, 7, 80);
  CHECK(lifetimes_of(source).empty());
}

TEST_CASE(
    "[A131] of random commands, no two of one level overlap, and levels and depth are those of a count at each time") {
  for (int round = 0; round < 20; ++round) {
    random_numbers random{fresh_seed()};
    trace source;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> times;
    for (std::uint64_t n = 1; n <= 60; ++n) {
      const std::uint64_t begin = 1 + random.below(200);
      times.emplace_back(begin, begin + random.below(60));
      queued(source, n, begin);
    }
    for (std::size_t n = 1; n <= times.size(); ++n) signalled(source, n, times[n - 1].second);
    const std::vector<trace_lifetime> lifetimes = lifetimes_of(source);
    REQUIRE(lifetimes.size() == times.size());
    const std::vector<trace_depth> depths = depth_of(lifetimes, queue_a);
    std::size_t next = 0;
    std::uint64_t depth = 0;
    std::uint64_t greatest = 0;
    for (std::uint64_t time = 0; time <= 270; ++time) {
      std::uint64_t count = 0;
      for (const auto& [begin, end] : times) count += begin <= time && time < end ? 1 : 0;
      if (next < depths.size() && depths[next].time == time) depth = depths[next++].depth;
      CHECK(depth == count);
      greatest = count > greatest ? count : greatest;
      std::set<std::uint32_t> levels;
      for (const trace_lifetime& each : lifetimes) {
        if (each.begin_time <= time && time < each.end_time) CHECK(levels.insert(each.level).second);
      }
    }
    CHECK(next == depths.size());
    std::uint64_t rows = 0;
    for (const trace_lifetime& each : lifetimes) {
      if (each.begin_time != each.end_time) rows = each.level + 1 > rows ? each.level + 1 : rows;
    }
    CHECK(rows == greatest);
  }
}
