// SPDX-License-Identifier: BSL-1.0
//
// trace_work: spans of work that were told, and those that are derived from waits and signals.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tidemark/trace/trace.hpp>
#include <tidemark/trace/trace_work.hpp>

#include "support/random.hpp"
#include "support/trace_entries.hpp"

using namespace testing;
using tidemark::fence_log_type;
using tidemark::trace;
using tidemark::trace_work;

namespace {

constexpr tidemark::queue_id queue_a{0}, queue_b{1};
constexpr tidemark::fence_id fence_f{7};

struct double_clock {
  static std::uint64_t to_nanoseconds(std::uint64_t ticks) { return 2 * ticks; }
};

void executed(trace& target, tidemark::queue_id queue, const tidemark::fence_log_entry& entry) {
  target.on_executed<nanosecond_clock>(queue, entry);
}
void signalled(trace& target, std::uint64_t value, std::uint64_t end) {
  executed(target, queue_a, signal_entry(fence_f, value, end));
}
void waited(trace& target, std::uint64_t value, std::uint64_t observed, std::uint64_t end) {
  executed(target, queue_a, wait_entry(fence_f, value, observed, end));
}

/// Returns the derived spans of the first queue as "begin-end", with spaces between them.
std::string derived(const trace& source) {
  std::string text;
  for (const trace_work& span : work_of(source)) {
    CHECK(span.derived);
    CHECK(span.queue == queue_a);
    text += (text.empty() ? "" : " ") + std::to_string(span.begin_time) + "-" + std::to_string(span.end_time);
  }
  return text;
}

}  // namespace

// ---- told -----------------------------------------------------------------------------------------------------------

TEST_CASE("work that was told keeps its name and its times, which are ticks of the clock, in the order of the calls") {
  trace source;
  std::string name = "blur";
  source.on_work<double_clock>(queue_b, name, 50, 60);
  name = "other";
  source.on_work<nanosecond_clock>(queue_a, name, 10, 10);
  source.on_work<nanosecond_clock>(queue_b, "blur", 1, 2);
  const std::vector<trace_work> expected{
      {queue_b, "blur", 100, 120, false}, {queue_a, "other", 10, 10, false}, {queue_b, "blur", 1, 2, false}};
  CHECK(source.told_work() == expected);
  CHECK(work_of(source) == expected);
  CHECK(source.queues() == std::vector<tidemark::queue_id>{queue_a, queue_b});
}

TEST_CASE("work without a time, or that ends before it begins, is not added") {
  trace source;
  source.on_work<nanosecond_clock>(queue_a, "blur", 0, 10);
  source.on_work<nanosecond_clock>(queue_a, "blur", 10, 0);
  source.on_work<nanosecond_clock>(queue_a, "blur", 10, 9);
  CHECK(source.told_work().empty());
  CHECK(source.queues().size() == 1);
}

TEST_CASE("a copy of a trace has its own names") {
  std::vector<trace_work> spans;
  trace copy;
  {
    trace source;
    source.on_work<nanosecond_clock>(queue_a, "a name that is too long for the string itself", 1, 2);
    copy = source;
    spans = copy.told_work();
  }
  REQUIRE(spans.size() == 1);
  CHECK(spans[0].name == "a name that is too long for the string itself");
  const trace moved = std::move(copy);
  CHECK(spans[0].name == moved.told_work()[0].name);
}

TEST_CASE("of a queue of which any work was told none is derived") {
  trace source;
  signalled(source, 1, 100);
  signalled(source, 2, 200);
  CHECK(derived(source) == "100-200");
  source.on_work<nanosecond_clock>(queue_a, "blur", 120, 130);
  CHECK(work_of(source) == source.told_work());
}

// ---- derived --------------------------------------------------------------------------------------------------------

TEST_CASE("[A91] work lies between the end of a wait or a signal and the next stall, end or signal") {
  trace source;
  waited(source, 1, 100, 150);
  signalled(source, 1, 180);
  waited(source, 2, 0, 200);  // did not stall
  waited(source, 3, 230, 260);
  signalled(source, 2, 260);  // at once
  signalled(source, 3, 300);
  CHECK(derived(source) == "150-180 180-200 200-230 260-300");
}

TEST_CASE("one command alone gives no work, and a queue without events none, either") {
  trace source;
  source.name_queue(queue_b, "idle");
  signalled(source, 1, 100);
  CHECK(derived(source).empty());
}

TEST_CASE("what was only queued, has no time, or went backward does not divide work") {
  trace source;
  signalled(source, 1, 100);
  signalled(source, 2, 0);
  source.on_queued(queue_a, tidemark::trace_event::wait_queued, fence_f, 9, 150);
  signalled(source, 3, 90);  // backward
  signalled(source, 4, 200);
  CHECK(derived(source) == "100-200");
}

TEST_CASE("[A100] there is no work where entries of one of the queue's logs were lost, and there is up to the gap") {
  trace source;
  signalled(source, 1, 100);
  signalled(source, 2, 120);
  source.on_lost(queue_a, fence_log_type::signal, 2, 3);
  waited(source, 1, 0, 140);
  signalled(source, 6, 160);
  signalled(source, 7, 170);
  CHECK(derived(source) == "100-120 160-170");
  source.on_lost(queue_b, fence_log_type::signal, 0, 3);  // of another queue
  CHECK(derived(source) == "100-120 160-170");
  source.on_lost(queue_a, fence_log_type::wait, 1, 1);
  CHECK(derived(source) == "100-120");
}

TEST_CASE("derived work never overlaps a wait, and neither is a signal within it") {
  random_numbers random{fresh_seed()};
  for (int round = 0; round < 200; ++round) {
    trace source;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> busy;
    std::uint64_t time = 1 + random.below(5);
    for (std::uint64_t value = 1; value <= 20; ++value) {
      const std::uint64_t observed = time + random.below(4);
      time = observed + random.below(4);
      if (random.below(2) == 0) {
        waited(source, value, observed, time);
        busy.emplace_back(observed, time);
      } else {
        signalled(source, value, time);
        busy.emplace_back(time, time);
      }
    }
    std::uint64_t covered = 0;
    for (const trace_work& span : work_of(source)) {
      CHECK(span.begin_time < span.end_time);
      covered += span.end_time - span.begin_time;
      for (const auto& [from, to] : busy) CHECK((to <= span.begin_time || from >= span.end_time));
    }
    for (const auto& [from, to] : busy) covered += to - from;
    CHECK(covered == busy.back().second - busy.front().first);
  }
}
