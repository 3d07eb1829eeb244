// SPDX-License-Identifier: BSL-1.0
//
// A collector that reads the logs of another process beside those of its own: one sequence, with the numbers of this
// process.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tidemark/log/shared_logs.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/trace/trace.hpp>

#include "support/processes.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace tidemark;
using namespace std::chrono_literals;

namespace {

constexpr auto signals = fence_log_type::signal;
constexpr auto waits = fence_log_type::wait;
constexpr shared_logs_options few{.logs = 8, .bytes = 64 * 1024, .patience = 2min};
constexpr fence_id decoded_id{1};
constexpr std::array shared_fences{decoded_id};
constexpr process_numbers numbers{.queues = 100, .fences = 100, .count = 50};

struct told {
  template <class Clock>
  void on_executed(queue_id by, const fence_log_entry& entry) {
    if (throws_at && entries.size() == *throws_at) {
      throws_at.reset();
      throw std::runtime_error{"not now"};
    }
    entries.emplace_back(by, entry.operation, entry.fence, entry.fence_value);
  }
  void on_lost(queue_id of, fence_log_type log, std::uint64_t first, std::uint64_t count) {
    losses.emplace_back(of, log, first, count);
  }

  std::vector<std::tuple<queue_id, fence_operation, fence_id, std::uint64_t>> entries;
  std::vector<std::tuple<queue_id, fence_log_type, std::uint64_t, std::uint64_t>> losses;
  std::optional<std::size_t> throws_at;
};
using expected_entries = decltype(told::entries);

/// A shared fence that a queue waits for and signals.
struct queued_fence : latched_fence<shared_fence> {
  explicit queued_fence(shared_fence& of) noexcept : latched_fence<shared_fence>{of}, of_{of} {}
  bool signal(std::uint64_t value) noexcept { return of_.signal(value); }

 private:
  shared_fence& of_;
};

/// A queue whose logs another process could read, and a reader of them in this one.
struct stand {
  stand() : made{shared_logs::create(few)} {
    REQUIRE(made);
    REQUIRE(theirs.set_log(waits, made.logs.take(queue_id{2}, waits, 8)));
    REQUIRE(theirs.set_log(signals, made.logs.take(queue_id{2}, signals, 8)));
    shared_logs_options options = few;
    options.numbers = numbers;
    auto opened = shared_logs_reader::open(made.logs.files(), options);
    REQUIRE(opened);
    reader = std::move(opened.logs);
    logs.add(reader);
  }

  shared_logs_result<shared_logs> made;
  progress_fence their_progress;
  queue theirs{their_progress, {.progress = fence_id{3}}};
  shared_logs_reader reader;
  log_collector logs;
  told sink;
};

}  // namespace

TEST_CASE("[A81][A91] entries of another process are told with the numbers of this one, waits before signals") {
  stand at;
  progress_fence own_progress;
  queue own{own_progress, {.progress = fence_id{3}}};
  at.logs.add(queue_id{2}, own);
  CHECK(at.logs.collect(at.sink) == collected_entries{});
  at.theirs.complete();
  own.complete();
  CHECK(at.theirs.wait(at.theirs.progress(), 1) == wait_status::reached);
  CHECK(at.logs.collect(at.sink) == collected_entries{3, 3, 0});
  CHECK(at.sink.entries == expected_entries{{queue_id{2}, fence_operation::signal_executed, fence_id{3}, 1},
                                            {queue_id{102}, fence_operation::wait_unblocked, fence_id{103}, 1},
                                            {queue_id{102}, fence_operation::signal_executed, fence_id{103}, 1}});
  CHECK(at.logs.collect(at.sink) == collected_entries{});
}

TEST_CASE("[A92] entries of another process that were overwritten are told as lost, also where a log was replaced") {
  stand at;
  for (int i = 0; i < 11; ++i) at.theirs.complete();
  CHECK(at.logs.collect(at.sink) == collected_entries{1, 8, 0});
  for (int i = 0; i < 11; ++i) at.theirs.complete();
  CHECK(at.logs.collect(at.sink) == collected_entries{1, 8, 3});
  at.theirs.complete();
  REQUIRE(at.theirs.set_log(signals, at.made.logs.take(queue_id{2}, signals, 200)));
  for (int i = 0; i < 150; ++i) at.theirs.complete();
  CHECK(at.logs.collect(at.sink) == collected_entries{1, 151, 0});
  CHECK(std::get<3>(at.sink.entries.back()) == 173);
  using expected = decltype(at.sink.losses);
  CHECK(at.sink.losses == expected{{queue_id{102}, signals, 11, 3}});
}

TEST_CASE("whichever entry of another process a sink throws at, nothing is lost, and nothing else is told twice") {
  for (std::size_t call = 0; call < 12; ++call) {
    CAPTURE(call);
    stand at;
    progress_fence own_progress;
    queue own{own_progress, {.progress = fence_id{3}}};
    at.logs.add(queue_id{2}, own);
    for (int i = 0; i < 4; ++i) {
      own.complete();
      at.theirs.complete();
      CHECK(at.theirs.wait(at.theirs.progress(), 1) == wait_status::reached);
    }
    at.sink.throws_at = call;
    CHECK_THROWS_AS(at.logs.collect(at.sink), std::runtime_error);
    CHECK(at.sink.entries.size() == call);
    while (at.logs.collect(at.sink).logs != 0) continue;
    CHECK(at.sink.entries.size() == 12);
    expected_entries sorted = at.sink.entries;
    std::sort(sorted.begin(), sorted.end());
    CHECK(std::adjacent_find(sorted.begin(), sorted.end()) ==
          std::adjacent_find(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
            return a == b && std::get<1>(a) == fence_operation::wait_unblocked;
          }));
  }
}

TEST_CASE("a process that is removed is not told of any more") {
  stand at;
  at.theirs.complete();
  at.sink.throws_at = 0;
  CHECK_THROWS_AS(at.logs.collect(at.sink), std::runtime_error);
  at.logs.remove(at.reader);
  CHECK(at.logs.collect(at.sink) == collected_entries{});
  CHECK(at.sink.entries.empty());
}

TEST_CASE("a round reads no more of each log of another process than it is told to, and the next one goes on") {
  stand at;
  REQUIRE(at.theirs.set_log(signals, at.made.logs.take(queue_id{2}, signals, 1000)));
  for (int i = 0; i < 900; ++i) at.theirs.complete();
  CHECK(at.logs.collect(at.sink, 100).entries <= 164);
  while (at.logs.collect(at.sink, 100).entries != 0) continue;
  CHECK(at.sink.entries.size() == 900);
}

TEST_CASE("[A91] a wait in one process and the signal that released it in another are joined, in the order of time") {
  const watchdog dog{[] { return std::string{"two processes and a collector"}; }, 5min};
  auto decoded = shared_fence::create();
  auto shown = shared_fence::create();
  REQUIRE(decoded);
  REQUIRE(shown);
  auto made = shared_logs::create(few);
  REQUIRE(made);
  const shared_files files{detail::open_anew(made.logs.files().values(), O_RDWR),
                           detail::open_anew(made.logs.files().waiters(), O_RDWR), true};
  made.logs.close();
  child_process decodes{[&] {
    auto signaller = shared_fence::open(decoded.fence.files());
    auto waiter = shared_fence::open(shown.fence.files());
    auto logs = shared_logs::open(files, few);
    if (!signaller || !waiter || !logs) return 1;
    const queued_fence input{waiter.fence};
    queued_fence output{signaller.fence};
    progress_fence own;
    queue decode{own, {.progress = fence_id{9}}};
    if (!decode.set_log(waits, logs.logs.take(queue_id{1}, waits)) ||
        !decode.set_log(signals, logs.logs.take(queue_id{1}, signals))) {
      return 2;
    }
    for (std::uint64_t frame = 1; frame <= 20; ++frame) {
      if (decode.wait(logged_fence{&input, fence_id{5}}, frame - 1) != wait_status::reached) return 3;
      decode.signal(logged_fence{&output, decoded_id}, frame);
    }
    return 0;
  }};
  shared_logs_options options = few;
  options.numbers = numbers;
  options.numbers.shared = shared_fences;
  auto opened = shared_logs_reader::open(files, options);
  REQUIRE(opened);
  const queued_fence input{decoded.fence};
  progress_fence own;
  queue show{own, {.progress = fence_id{9}}};
  log_collector logs;
  trace all;
  logs.add(queue_id{1}, show);
  logs.add(opened.logs);
  for (std::uint64_t frame = 1; frame <= 20; ++frame) {
    CHECK(show.wait(logged_fence{&input, decoded_id}, frame) == wait_status::reached);
    CHECK(logs.collect(all).lost == 0);
    shown.fence.signal(frame);
  }
  CHECK(decodes.wait() == 0);
  while (logs.collect(all).logs != 0) continue;
  const auto commands = all.commands();
  std::size_t joined = 0;
  for (const trace_command& each : commands) {
    CHECK_FALSE(each.backward);
    if (each.queue != queue_id{1} || each.operation != fence_operation::wait_unblocked) continue;
    CHECK(each.fence == decoded_id);
    // Of such a timeline a queue logs the entry before it signals, so no wait ends before it.
    REQUIRE(each.released_by);
    const trace_command& by = commands[*each.released_by];
    CHECK(by.queue == queue_id{101});
    CHECK(by.value == each.value);
    CHECK(by.end_time <= each.end_time);
    CHECK(by.observed_time == 0);
    ++joined;
  }
  CHECK(joined == 20);
  CHECK(commands.size() == 60);
}

TEST_CASE("what another process writes in place of an operation, or of a fence, is told as what it can be") {
  stand at;
  REQUIRE(at.theirs.set_log(signals, at.made.logs.take(queue_id{77}, signals, 8)));
  at.theirs.complete();
  at.theirs.signal(logged_fence{&at.their_progress, fence_id{4'000'000'000}}, 2);
  at.logs.collect(at.sink);
  for (const auto& each : at.sink.entries) {
    CHECK(std::get<0>(each) >= queue_id{100});
    CHECK(std::get<0>(each) < queue_id{150});
    CHECK(std::get<2>(each) >= fence_id{100});
    CHECK(std::get<2>(each) < fence_id{150});
  }
  CHECK(at.sink.entries.size() == 2);
}
