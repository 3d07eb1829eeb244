// SPDX-License-Identifier: BSL-1.0
//
// What an engine says of the work that a queue executed: when it began and ended, how it is collected, and what a trace
// shows of it. The tests step the engine's loop themselves.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/engine/unbroken_run.hpp>
#include <tidemark/queue/executed_work.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/trace/trace.hpp>
#include <tidemark/trace/trace_work.hpp>

#include "support/queues.hpp"

using namespace testing;
using tidemark::collected_entries;
using tidemark::named_work;

namespace {

using platform = stepping_platform;
using engine = tidemark::basic_engine<platform>;
using engine_queue = tidemark::basic_engine_queue<platform, ticking_clock>;
using executed = tidemark::basic_executed_work<platform, ticking_clock>;
using collector = tidemark::basic_log_collector<platform, ticking_clock>;
using fence = tidemark::basic_fence<platform>;

void step(engine& on) {
  while (on.loop().poll() != 0) {
  }
}

/// A sink that keeps what it is told of work, and may throw instead.
struct told {
  template <class Clock>
  void on_executed(queue_id, const fence_log_entry&) {}
  void on_lost(queue_id, fence_log_type, std::uint64_t, std::uint64_t) {}
  template <class Clock>
  void on_work(queue_id queue, std::string_view name, std::uint64_t begin, std::uint64_t end) {
    may_throw();
    CHECK(begin < end);
    work.emplace_back(queue, name);
  }
  void on_work_lost(queue_id, std::uint64_t count) {
    may_throw();
    lost.push_back(count);
  }
  void may_throw() {
    if (throws-- == 0) throw 1;
  }

  std::vector<std::tuple<queue_id, std::string>> work;
  std::vector<std::uint64_t> lost;
  int throws = -1;
};
using expected = decltype(told::work);

/// Executes pieces that are named by letters: "a" for the first one.
struct lettered {
  explicit lettered(std::size_t pieces) : work{pieces} {}
  void execute(std::size_t times) {
    for (std::size_t n = 0; n < times; ++n) work.execute(alphabet.substr(executed_so_far++, 1), [] {});
  }

  static constexpr std::string_view alphabet = "abcdefghijklmnopqrstuvwxyz";
  executed work;
  std::size_t executed_so_far = 0;
};

/// Returns the names of all that a sink was told, one behind the other.
std::string names_in(const told& sink) {
  std::string all;
  for (const auto& [queue, name] : sink.work) all += name;
  return all;
}

/// Takes what is executed, and no work.
struct executed_only {
  template <class Clock>
  void on_executed(queue_id, const fence_log_entry&) {}
  void on_lost(queue_id, fence_log_type, std::uint64_t, std::uint64_t) {}
};
static_assert(tidemark::work_sink<told, ticking_clock>);
static_assert(tidemark::work_sink<tidemark::trace, ticking_clock>);
static_assert(!tidemark::work_sink<executed_only, ticking_clock>);

}  // namespace

TEST_CASE("[A91] a trace shows what a queue did between its waits and signals, and that it was parked") {
  engine on{{.threads = 0}};
  fence input;
  executed work;
  engine_queue queue{on, {.name = "blur"}};
  collector logs;
  logs.add(queue.id(), queue.timeline());
  logs.add(queue.id(), work);
  std::array<std::uint64_t, 4> times{};
  const auto note = [&](std::size_t number) { times[number] = ticking_clock::now(); };
  queue.tell_work(&work);
  queue.run(named_work{"load"}, note, 0U);
  queue.wait(logged_fence{&input, other_id}, 1);
  queue.run(named_work{"tile"}, note, 1U);
  queue.run(note, 2U);
  queue.tell_work(nullptr);
  queue.run(named_work{"not told"}, note, 3U);
  REQUIRE(queue.submit());
  step(on);
  input.signal(1);
  step(on);

  tidemark::trace trace;
  const auto found = logs.collect(trace);
  CHECK(found.work == 3);
  CHECK(found.work_lost == 0);
  CHECK(found.logs == 3);
  const auto spans = tidemark::work_of(trace);
  REQUIRE(spans.size() == 3);
  CHECK(spans[0].name == "load");
  CHECK(spans[1].name == "tile");
  CHECK(spans[2].name == "blur");  // as the queue
  for (std::size_t n = 0; n < 3; ++n) {
    CHECK(spans[n].queue == queue.id());
    CHECK_FALSE(spans[n].derived);
    CHECK(spans[n].begin_time < times[n]);
    CHECK(times[n] < spans[n].end_time);
  }
  // The queue was parked between the first piece and the second.
  const auto commands = trace.commands();
  REQUIRE(commands[0].operation == fence_operation::wait_unblocked);
  CHECK(spans[0].end_time < commands[0].observed_time);
  CHECK(commands[0].observed_time < commands[0].end_time);
  CHECK(commands[0].end_time < spans[1].begin_time);
  CHECK(logs.collect(trace) == collected_entries{});
}

TEST_CASE("work without a name is called as its queue, or else \"work\"") {
  engine on{{.threads = 0}};
  executed work;
  engine_queue named{on, {.name = "blur"}};
  engine_queue plain{on};
  executed other;
  named.tell_work(&work);
  plain.tell_work(&other);
  for (engine_queue* queue : {&named, &plain}) {
    queue->run([] {});
    queue->run(named_work{}, [](int) {}, 1);
    {
      tidemark::unbroken_run run{*queue};
      run.run(named_work{"tile"}, [] {});
    }
    REQUIRE(queue->submit());
  }
  step(on);
  collector logs;
  logs.add(queue_id{1}, work);
  logs.add(queue_id{2}, other);
  told sink;
  logs.collect(sink);
  CHECK(sink.work == expected{{queue_id{1}, "blur"},
                              {queue_id{1}, "blur"},
                              {queue_id{1}, "tile"},
                              {queue_id{2}, "work"},
                              {queue_id{2}, "work"},
                              {queue_id{2}, "tile"}});
}

TEST_CASE("work that was overwritten is told as lost, and a sink that throws loses nothing") {
  engine on{{.threads = 0}};
  executed work{2};
  engine_queue queue{on};
  queue.tell_work(&work);
  collector logs;
  logs.add(queue_id{1}, work);
  for (int n = 0; n < 5; ++n) queue.run([] {});
  REQUIRE(queue.submit());
  step(on);
  executed_only none;
  CHECK(logs.collect(none) == collected_entries{});
  told sink;
  for (int time = 0; time < 3; ++time) {
    sink.throws = time == 0 ? 0 : 1;  // at the loss, at the first piece, at the second
    if (time != 2) CHECK_THROWS_AS(logs.collect(sink), int);
  }
  sink.throws = -1;
  logs.collect(sink);
  CHECK(sink.lost == std::vector<std::uint64_t>{3});
  CHECK(sink.work == expected(2, {queue_id{1}, "work"}));
  CHECK(logs.collect(sink) == collected_entries{});
}

TEST_CASE("[A124] work whose command is dropped is not told, and its callable is destroyed") {
  engine on{{.threads = 0}};
  executed work;
  auto kept = std::make_shared<int>(1);
  std::optional<engine_queue> queue{std::in_place, on};
  queue->tell_work(&work);
  queue->run([kept] {});
  queue->run([&] { queue->abort(); });
  queue->run([kept] {});
  REQUIRE(queue->submit());
  queue->run([kept] {});
  CHECK(kept.use_count() == 4);
  step(on);
  queue.reset();
  CHECK(kept.use_count() == 1);
  collector logs;
  logs.add(queue_id{1}, work);
  told sink;
  CHECK(logs.collect(sink).work == 2);
  logs.remove(queue_id{1});
  CHECK(logs.collect(sink) == collected_entries{});
}

TEST_CASE("[A101][A92] work goes on in a larger log; the old one is read first, and what it had lost counts once") {
  lettered at{4};
  collector logs;
  logs.add(queue_id{1}, at.work);
  at.execute(6);
  CHECK(at.work.set_log(10));
  told sink;
  CHECK(logs.collect(sink, 1).work == 1);  // the round ends after the loss and a piece
  at.execute(10);
  logs.collect(sink);
  CHECK(names_in(sink) == "cdefghijklmnop");
  CHECK(sink.lost == std::vector<std::uint64_t>{2});
  CHECK(logs.collect(sink) == collected_entries{});
}

TEST_CASE("[A92] a sink that throws between two logs of work loses nothing") {
  for (int at_call = 0; at_call < 6; ++at_call) {
    lettered at{4};
    collector logs;
    logs.add(queue_id{1}, at.work);
    at.execute(3);
    at.work.set_log(2);
    at.execute(3);
    told sink;
    sink.throws = at_call;
    CHECK_THROWS_AS(logs.collect(sink), int);
    logs.collect(sink);
    CHECK(names_in(sink) == "abcef");
    CHECK(sink.lost == std::vector<std::uint64_t>{1});
  }
}

TEST_CASE("[A92] who begins to read after work went on in a new log begins there, and may outlive the work") {
  std::optional<lettered> at{std::in_place, 4U};
  collector early;
  early.add(queue_id{1}, at->work);
  at->execute(2);
  at->work.set_log(4);
  at->work.set_log(8);  // of two, the later one is taken
  at->execute(8);
  collector late;
  late.add(queue_id{1}, at->work);
  at.reset();
  told all;
  early.collect(all);
  CHECK(names_in(all) == "abcdefghij");
  told some;
  late.collect(some);
  CHECK(names_in(some) == "cdefghij");
  CHECK(all.lost.empty());
  CHECK(some.lost.empty());
}

TEST_CASE("[A92] while logs of work replace one another, each piece is read once, in order, or counted as lost") {
  constexpr std::uint64_t pieces = 20'000;
  tidemark::basic_executed_work<> work{2};
  auto reader = work.reader();
  std::atomic<bool> finished{false};
  std::uint64_t number = 0;
  std::thread executor{[&] {
    for (; number < pieces; ++number) {
      work.execute("piece", [] {});
      if (number % 64 == 0) std::this_thread::yield();
    }
    finished = true;
  }};
  std::uint64_t read = 0;
  std::uint64_t lost = 0;
  std::uint64_t mistakes = 0;
  std::thread tool{[&] {
    std::array<tidemark::executed_piece, 16> buffer;
    std::uint64_t last = 0;
    for (;;) {
      const bool was_last = finished;
      const std::uint64_t before = reader.next_sequence();
      const auto batch = reader.read(buffer);
      if (batch.first_sequence != before + batch.lost) ++mistakes;
      for (const auto& piece : batch.entries) {
        if (piece.name != "piece" || piece.begin < last || piece.end < piece.begin) ++mistakes;
        last = piece.end;
      }
      read += batch.entries.size();
      lost += batch.lost;
      if (!batch.entries.empty() || batch.lost != 0) continue;
      if (was_last) return;
      std::this_thread::yield();
    }
  }};
  for (std::size_t n = 0; !finished; ++n) {  // this thread is the owner
    work.set_log(2 + n % 100);
    if (n % 4 == 0) static_cast<void>(work.reader());
    std::this_thread::yield();
  }
  executor.join();
  tool.join();
  CHECK(mistakes == 0);
  CHECK(read + lost == pieces);
}
