// SPDX-License-Identifier: BSL-1.0
//
// Writes the pages that browser_test.mjs opens: an ordinary trace, and traces at the edges of what a page can show.
//
//   write_trace_pages FOLDER
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/trace/trace_export.hpp>

#include "support/trace_entries.hpp"

using namespace testing;
using tidemark::fence_id;
using tidemark::fence_log_type;
using tidemark::queue_id;
using tidemark::trace;
using tidemark::trace_event;

namespace {

constexpr std::uint64_t second = 1'000'000'000;

void executed(trace& target, queue_id queue, const tidemark::fence_log_entry& entry) {
  target.on_executed<nanosecond_clock>(queue, entry);
}

/// Three queues work on blocks in turn. The second one loses entries of both logs at one time, a stamp goes backward,
/// some times are missing, one command is never executed.
trace ordinary() {
  trace source;
  const std::vector<std::pair<std::string, std::string>> names{
      {"copy", "uploaded"}, {"blur, with a name that is too long for the gutter", "blurred"}, {"present", "presented"}};
  for (std::uint32_t i = 0; i < names.size(); ++i) {
    source.name_queue(queue_id{i}, names[i].first);
    source.name_fence(fence_id{10 + i}, names[i].second);
  }
  std::uint64_t time = 5 * second;
  for (std::uint64_t block = 1; block <= 12; ++block) {
    for (std::uint32_t queue = 0; queue < 3; ++queue) {
      const bool lost = queue == 1 && block > 4 && block < 8;
      const std::uint32_t input = queue == 0 ? 12 : 9 + queue;
      const std::uint64_t awaited = queue == 0 ? block - 1 : block;
      source.on_queued(queue_id{queue}, trace_event::wait_queued, fence_id{input}, awaited, time - 40'000);
      source.on_queued(queue_id{queue}, trace_event::signal_queued, fence_id{10 + queue}, block, time - 39'000);
      if (lost && block == 5) {
        source.on_lost(queue_id{queue}, fence_log_type::wait, 4, 3);
        source.on_lost(queue_id{queue}, fence_log_type::signal, 4, 3);
      }
      const std::uint64_t observed = time - 20'000 + 1'000 * (block % 5);
      time += 9'000 + 700 * ((block * 7 + queue * 5) % 11);
      if (lost) continue;
      executed(source, queue_id{queue}, wait_entry(fence_id{input}, awaited, observed, time));
      const std::uint64_t end = block == 9 ? 0 : block == 10 && queue == 2 ? time - 90'000 : time + 4'000;
      executed(source, queue_id{queue}, signal_entry(fence_id{10 + queue}, block, end));
    }
  }
  source.on_queued(queue_id{2}, trace_event::wait_queued, fence_id{11}, 99, time - 100'000);
  return source;
}

/// Two engines with three queues, which tell what they do. The queue that presents is on no engine and tells nothing.
trace three_queues() {
  trace source;
  const char* const names[] = {"present", "upload", "blur"};
  const char* const fences[] = {"presented", "uploaded", "blurred"};
  for (std::uint32_t i = 0; i < 3; ++i) {
    source.name_queue(queue_id{i}, names[i]);
    source.name_fence(fence_id{10 + i}, fences[i]);
  }
  source.name_engine(queue_id{1}, "copy engine");
  source.name_engine(queue_id{2}, "compute");
  std::uint64_t time = 2 * second;
  for (std::uint64_t frame = 1; frame <= 16; ++frame) {
    std::uint64_t ready = time;
    for (const std::uint32_t queue : {1U, 2U, 0U}) {
      const std::uint32_t input = queue == 1 ? 10 : queue == 2 ? 11 : 12;
      const std::uint64_t begin = ready + 200;
      const std::uint64_t end = begin + 20'000 + 6'000 * ((frame * 5 + queue) % 4);
      const std::uint64_t awaited = queue == 1 ? frame - 1 : frame;
      executed(source, queue_id{queue}, wait_entry(fence_id{input}, awaited, ready - 11'000, begin));
      if (queue == 1) source.on_work<nanosecond_clock>(queue_id{1}, "copy to device", begin, end - 300);
      if (queue == 2) {
        const std::uint64_t middle = begin + (end - begin) / 3;
        source.on_work<nanosecond_clock>(queue_id{2}, "blur x", begin, middle);
        source.on_work<nanosecond_clock>(queue_id{2}, "blur y", middle + 400, end - 300);
      }
      executed(source, queue_id{queue}, signal_entry(fence_id{10 + queue}, frame, end));
      ready = end;
    }
    time = ready + 3'000;
  }
  return source;
}

/// A queue of which three signals are in flight at a time, and one that waits for some of them.
trace three_in_flight() {
  trace source;
  source.name_queue(queue_id{0}, "copy");
  source.name_queue(queue_id{1}, "blur");
  source.name_fence(fence_id{10}, "copied");
  for (std::uint64_t n = 1; n <= 24; ++n) {
    const std::uint64_t time = second + n * 1'000;
    source.on_queued(queue_id{0}, trace_event::signal_queued, fence_id{10}, n, time);
    executed(source, queue_id{0}, signal_entry(fence_id{10}, n, time + 2'900));
    if (n % 4 != 0) continue;
    source.on_queued(queue_id{1}, trace_event::wait_queued, fence_id{10}, n, time - 3'500);
    executed(source, queue_id{1}, wait_entry(fence_id{10}, n, time - 500, time + 2'950));
  }
  source.on_queued(queue_id{0}, trace_event::signal_queued, fence_id{10}, 25, second + 26'000);
  return source;
}

/// Forty queues on four engines, each of which waits for the one before it.
trace forty_queues() {
  std::mt19937_64 random{3};
  trace source;
  const char* const engines[] = {"graphics", "compute", "copy", "video"};
  for (std::uint32_t queue = 0; queue < 40; ++queue) {
    source.name_queue(queue_id{queue}, "stage " + std::to_string(queue));
    source.name_fence(fence_id{queue}, "stage " + std::to_string(queue) + " done");
    source.name_engine(queue_id{queue}, engines[queue % 4]);
  }
  std::uint64_t start = second;
  for (std::uint64_t round = 1; round <= 10; ++round, start += 600'000) {
    std::uint64_t time = start;
    for (std::uint32_t queue = 0; queue < 40; ++queue) {
      const std::uint64_t end = time + 10'000 + random() % 9'000;
      if (queue > 0)
        executed(source, queue_id{queue}, wait_entry(fence_id{queue - 1}, round, start - 50'000, time + 50));
      if (queue % 2 == 0) {
        source.on_work<nanosecond_clock>(queue_id{queue}, queue % 4 == 0 ? "draw" : "transfer", time + 60, end - 90);
      }
      executed(source, queue_id{queue}, signal_entry(fence_id{queue}, round, end));
      time = end + 100;
    }
  }
  return source;
}

/// More commands than a screen has pixels.
trace many(std::uint32_t queues, std::uint64_t rounds) {
  std::mt19937_64 random{1};
  const auto below = [&](std::uint64_t bound) { return random() % bound; };
  trace source;
  std::uint64_t time = second;
  for (std::uint64_t value = 1; value <= rounds; ++value) {
    for (std::uint32_t queue = 0; queue < queues; ++queue) {
      const std::uint32_t previous = 10 + (queue + queues - 1) % queues;
      source.on_queued(queue_id{queue}, trace_event::wait_queued, fence_id{previous}, value, time - below(second / 2));
      const std::uint64_t observed = time - below(500);
      time += 100 + below(900);
      if (below(2'000) == 0) source.on_lost(queue_id{queue}, fence_log_type::signal, value - 1, 1 + below(9));
      executed(source, queue_id{queue}, wait_entry(fence_id{previous}, queue == 0 ? value - 1 : value, observed, time));
      executed(source, queue_id{queue},
               signal_entry(fence_id{10 + queue}, value, below(200) == 0 ? 0 : time + below(90)));
    }
  }
  return source;
}

trace one_signal() {
  trace source;
  executed(source, queue_id{0}, signal_entry(fence_id{1}, 1, second));
  return source;
}

trace named_only() {
  trace source;
  source.name_queue(queue_id{0}, "idle");
  source.name_queue(queue_id{1}, "idle, too");
  return source;
}

trace lost_only() {
  trace source;
  source.on_lost(queue_id{0}, fence_log_type::wait, 0, UINT64_MAX);
  source.on_lost(queue_id{0}, fence_log_type::signal, 0, 1);
  return source;
}

trace without_times() {
  trace source;
  executed(source, queue_id{0}, wait_entry(fence_id{1}, 1, 0, 0));
  source.on_queued(queue_id{1}, trace_event::signal_queued, fence_id{1}, 1, 0);
  return source;
}

/// What was queued has the times of another clock, 30 years away.
trace far_apart() {
  trace source = ordinary();
  source.on_queued(queue_id{0}, trace_event::signal_queued, fence_id{10}, 1'000, UINT64_MAX / 18);
  source.on_queued(queue_id{0}, trace_event::signal_queued, fence_id{10}, 1'001, 1);
  return source;
}

trace hostile_names() {
  trace source = ordinary();
  source.name_queue(queue_id{0}, "</script><script>window.broken = true</script>");
  source.name_queue(queue_id{1}, "<img src=x onerror='window.broken = true'>");
  source.name_queue(queue_id{2},
                    "\xF0\x9F\x8C\x8A\xF0\x9F\x8C\x8A\xF0\x9F\x8C\x8A\xF0\x9F\x8C\x8A\xF0\x9F\x8C\x8A\xFF\"\\${}`");
  source.name_fence(fence_id{10}, "<!-- <script>");
  source.name_engine(queue_id{2}, "<b>engine</b>");
  source.on_work<nanosecond_clock>(queue_id{2}, "<script>work</script>", 5 * second, 5 * second + 3'000);
  return source;
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::fputs("usage: write_trace_pages FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder{arguments[1]};
  std::filesystem::create_directories(folder);
  const std::pair<const char*, trace> pages[] = {{"ordinary", ordinary()},
                                                 {"empty", trace{}},
                                                 {"one_signal", one_signal()},
                                                 {"named_only", named_only()},
                                                 {"lost_only", lost_only()},
                                                 {"without_times", without_times()},
                                                 {"many_commands", many(4, 12'500)},
                                                 {"many_queues", many(60, 8)},
                                                 {"far_apart", far_apart()},
                                                 {"hostile_names", hostile_names()},
                                                 {"three_queues", three_queues()},
                                                 {"forty_queues", forty_queues()},
                                                 {"three_in_flight", three_in_flight()}};
  for (const auto& [name, source] : pages) {
    const std::filesystem::path path = folder / (std::string{name} + ".html");
    std::ofstream file{path, std::ios::binary};
    tidemark::write_trace_page(source, file);
    file.close();
    if (!file) {
      std::fprintf(stderr, "write_trace_pages: %s can't be written\n", path.string().c_str());
      return 1;
    }
  }
  return 0;
}
