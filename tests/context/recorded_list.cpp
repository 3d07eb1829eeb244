// SPDX-License-Identifier: BSL-1.0
//
// Lists of recorded commands: in which order they are executed, on a queue of the program's own and on one of an
// engine, and what becomes of those that are not executed.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/context/command_context.hpp>
#include <tidemark/context/recorded_list.hpp>
#include <tidemark/engine/engine.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/recordings.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::fence_id;
using tidemark::fence_log_entry;
using tidemark::fence_log_type;
using tidemark::logged_fence;
using tidemark::wait_status;

namespace {

using numbers = std::vector<int>;
using own_stand = recording_stand<tidemark::queue>;
using engine_stand = recording_stand<tidemark::engine_queue>;

/// Records `count` commands that append their numbers, from `first` on.
void record_numbers(auto& in, numbers& done, int first, int count) {
  for (int i = first; i < first + count; ++i) in.run([&done, i] { done.push_back(i); });
}
numbers numbers_from(int first, int count) {
  numbers made;
  for (int i = first; i < first + count; ++i) made.push_back(i);
  return made;
}

std::vector<fence_log_entry> entries_of(tidemark::queue& queue, fence_log_type type) {
  std::vector<fence_log_entry> entries(100);
  auto reader = type == fence_log_type::wait ? queue.wait_log() : queue.signal_log();
  const auto read = reader.read(entries);
  entries.resize(read.entries.size());
  return entries;
}

}  // namespace

// ---- a queue of the program's own -----------------------------------------------------------------------------------

TEST_CASE("a list is executed in order, with its waits and signals, which stand in the queue's logs") {
  own_stand at;
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
  tidemark::fence input{3};
  tidemark::fence output;
  numbers done;
  auto& in = at.deferred[0];
  in.begin_recording();
  in.wait(logged_fence{&input, fence_id{5}}, 3);
  in.run([&] { done.push_back(static_cast<int>(output.current_value())); });
  in.signal(logged_fence{&output, fence_id{6}}, 7);
  in.run([&] { done.push_back(static_cast<int>(output.current_value())); });
  in.wait(output, 7);
  in.signal(output, 8);
  auto finished = in.finish();
  CHECK(output.current_value() == 0);
  CHECK(finished.list.execute_on(queue) == wait_status::reached);
  CHECK(done == numbers{0, 7});
  CHECK(output.current_value() == 8);
  CHECK(finished.list.is_empty());
  CHECK(at.lists[0]->bytes == 0);
  const auto waits = entries_of(queue, fence_log_type::wait);
  REQUIRE(waits.size() == 2);
  CHECK(waits[0].fence_value == 3);
  CHECK(waits[0].fence == fence_id{5});
  const auto signals = entries_of(queue, fence_log_type::signal);
  REQUIRE(signals.size() == 2);
  CHECK(signals[0].fence_value == 7);
  CHECK(signals[0].fence == fence_id{6});
  CHECK(signals[1].fence_value == 8);
}

TEST_CASE("a list waits for the timeline whose view it was given, whatever becomes of the view") {
  tidemark::fence reached{2};
  tidemark::fence lost;
  lost.poison();
  auto view = reached.view();
  auto logged = reached.view();
  numbers done;
  const auto record = [&](auto& in) {
    view = logged = reached.view();
    in.begin_recording();
    in.wait(view, 2);
    in.wait(std::as_const(view), 2);
    in.wait(logged_fence{&logged, fence_id{5}}, 2);
    in.wait(reached.view(), 2);
    record_numbers(in, done, 1, 1);
    view = logged = lost.view();
    return std::move(in.finish().list);
  };
  {
    own_stand at;
    tidemark::progress_fence progress;
    tidemark::queue queue{progress};
    auto list = record(at.deferred[0]);
    CHECK(list.execute_on(queue) == wait_status::reached);
    CHECK(done == numbers{1});
    const auto waits = entries_of(queue, fence_log_type::wait);
    REQUIRE(waits.size() == 4);
    CHECK(waits[2].fence == fence_id{5});
  }
  {
    const watchdog guard{[] { return std::string{"a list with views on a queue of an engine"}; }};
    tidemark::engine engine{{.threads = 1}};
    tidemark::engine_queue queue{engine};
    engine_stand at;
    auto list = record(at.deferred[0]);
    list.record_on(queue);
    CHECK(queue.submit());
    CHECK(queue.drain() == wait_status::reached);
    CHECK(done == numbers{1, 1});
  }
}

TEST_CASE("a list that finds a timeline lost keeps the rest, which can be executed later, cancelled or dropped") {
  for (int how = 0; how < 3; ++how) {
    CAPTURE(how);
    own_stand at;
    tidemark::progress_fence progress;
    tidemark::queue queue{progress};
    tidemark::fence lost;
    tidemark::fence output;
    numbers done;
    auto& in = at.deferred[0];
    in.begin_recording();
    record_numbers(in, done, 1, 2);
    in.wait(logged_fence{&lost, fence_id{5}}, 3);
    record_numbers(in, done, 3, 2);
    in.signal(logged_fence{&output, fence_id{6}}, 1);
    auto list = std::move(in.finish().list);
    lost.poison();
    CHECK(list.execute_on(queue) == wait_status::lost);
    CHECK(done == numbers{1, 2});
    CHECK(list.size() == 4);
    CHECK(list.execute_on(queue) == wait_status::lost);
    if (how == 0) {
      list.cancel_on(queue);
      const auto waits = entries_of(queue, fence_log_type::wait);
      REQUIRE(waits.size() == 1);
      CHECK(is_cancelled(waits[0]));
      CHECK(waits[0].fence == fence_id{5});
      CHECK(waits[0].fence_value == 3);
      const auto signals = entries_of(queue, fence_log_type::signal);
      REQUIRE(signals.size() == 1);
      CHECK(is_cancelled(signals[0]));
      CHECK(signals[0].fence == fence_id{6});
    } else if (how == 1) {
      list.clear();
      CHECK(entries_of(queue, fence_log_type::wait).empty());
    }
    if (how < 2) {
      CHECK(list.is_empty());
      CHECK(at.lists[0]->bytes == 0);
    }
    CHECK(done == numbers{1, 2});
    CHECK(output.current_value() == 0);
  }
}

TEST_CASE("an empty list, and one that was moved from, execute nothing") {
  own_stand at;
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
  numbers done;
  auto& in = at.deferred[0];
  in.begin_recording();
  auto empty = std::move(in.finish().list);
  CHECK(empty.execute_on(queue) == wait_status::reached);
  in.begin_recording();
  record_numbers(in, done, 1, 3);
  auto first = std::move(in.finish().list);
  auto second = std::move(first);
  CHECK(first.is_empty());  // NOLINT(bugprone-use-after-move): what is left
  CHECK(first.execute_on(queue) == wait_status::reached);
  CHECK(done.empty());
  empty = std::move(second);
  CHECK(empty.execute_on(queue) == wait_status::reached);
  CHECK(done == numbers_from(1, 3));
}

TEST_CASE("a list that another one is moved to drops its own commands at once, and the other one is empty") {
  own_stand at;
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
  numbers done;
  auto& in = at.deferred[0];
  const auto kept = std::make_shared<int>(1);
  in.begin_recording();
  in.run([&done, kept] { done.push_back(*kept); });
  auto first = std::move(in.finish().list);
  in.begin_recording();
  record_numbers(in, done, 2, 2);
  auto second = std::move(in.finish().list);
  const std::size_t bytes_of_both = at.lists[0]->bytes;
  first = std::move(second);
  CHECK(kept.use_count() == 1);
  CHECK(at.lists[0]->bytes == bytes_of_both / 2);
  CHECK(second.is_empty());  // NOLINT(bugprone-use-after-move): what is left
  auto& itself = first;
  first = std::move(itself);
  CHECK(first.size() == 2);
  CHECK(second.execute_on(queue) == wait_status::reached);
  CHECK(done.empty());
  CHECK(first.execute_on(queue) == wait_status::reached);
  CHECK(done == numbers_from(2, 2));
}

TEST_CASE("lists of several threads are executed by another one, each in its own order") {
  const watchdog guard{[] { return std::string{"lists of several threads"}; }};
  constexpr int threads = 3;
  constexpr int rounds = 40;
  own_stand at{threads};
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
  tidemark::fence handed;  // counts the lists
  std::mutex submitting;
  std::vector<own_stand::context_type::list_type> lists;
  std::array<numbers, threads> done;
  std::vector<std::thread> recording;
  for (std::size_t which = 0; which < threads; ++which) {
    recording.emplace_back([&, which] {
      for (int round = 0; round < rounds; ++round) {
        auto& in = at.deferred[which];
        in.begin_recording();
        record_numbers(in, done[which], round * 10, 10);
        auto finished = in.finish();
        const std::lock_guard lock{submitting};
        static_cast<void>(queue.submit([&](std::uint64_t serial) {
          lists.push_back(std::move(finished.list));
          handed.signal(serial);
        }));
      }
    });
  }
  for (std::size_t serial = 1; serial <= threads * rounds; ++serial) {
    CHECK(handed.wait(serial) == wait_status::reached);
    std::optional<own_stand::context_type::list_type> list;
    {
      const std::lock_guard lock{submitting};
      list.emplace(std::move(lists[serial - 1]));
    }
    CHECK(list->execute_on(queue) == wait_status::reached);
    CHECK(queue.complete() == serial);
  }
  for (std::thread& each : recording) each.join();
  for (const numbers& each : done) CHECK(each == numbers_from(0, rounds * 10));
}

// ---- a queue of an engine -------------------------------------------------------------------------------------------

TEST_CASE("[D40] lists are executed on a queue of an engine, in order, beside a context that was removed") {
  const watchdog guard{[] { return std::string{"lists on a queue of an engine"}; }};
  tidemark::engine engine;
  tidemark::engine_queue queue{engine};
  engine_stand at{2};
  tidemark::fence output;
  numbers done;
  at.lists[1]->calls_left = 0;
  for (int round = 0; round < 20; ++round) {
    for (auto& each : at.deferred) {
      each.begin_recording();
      record_numbers(each, done, round * 10, 10);
      each.signal(output, static_cast<std::uint64_t>(round) + 1);
    }
    auto finished = at.deferred[0].finish();
    CHECK(at.deferred[1].finish().status == tidemark::finish_status::no_memory);
    finished.list.record_on(queue);
    CHECK(finished.list.is_empty());
    CHECK(queue.submit());
  }
  CHECK(queue.drain() == wait_status::reached);
  CHECK(done == numbers_from(0, 200));
  CHECK(output.current_value() == 20);
  CHECK(at.lists[0]->bytes == 0);
}

TEST_CASE("a wait in a list parks the engine's queue, and the list goes on when the value comes") {
  const watchdog guard{[] { return std::string{"a list that waits on a queue of an engine"}; }};
  tidemark::engine engine{{.threads = 1}};
  tidemark::engine_queue queue{engine};
  tidemark::engine_queue other{engine};
  engine_stand at;
  tidemark::fence input;
  tidemark::fence passed;
  numbers done;
  auto& in = at.deferred[0];
  in.begin_recording();
  record_numbers(in, done, 1, 2);
  in.signal(passed, 1);
  in.wait(input, 1);
  record_numbers(in, done, 3, 2);
  in.finish().list.record_on(queue);
  CHECK(queue.submit());
  CHECK(passed.wait(1) == wait_status::reached);
  other.run([] {});  // by the engine's only thread
  CHECK(other.submit());
  CHECK(other.drain() == wait_status::reached);
  CHECK(!queue.is_idle());
  CHECK(at.lists[0]->bytes != 0);
  input.signal(1);
  CHECK(queue.drain() == wait_status::reached);
  CHECK(done == numbers_from(1, 4));
  CHECK(at.lists[0]->bytes == 0);
}

TEST_CASE("a queue of an engine that is given up drops a list, with its memory and what its commands keep") {
  const watchdog guard{[] { return std::string{"a list on a queue that is given up"}; }};
  engine_stand at;
  const auto kept = std::make_shared<int>(1);
  {
    tidemark::engine engine;
    tidemark::engine_queue queue{engine};
    tidemark::fence never;
    auto& in = at.deferred[0];
    in.begin_recording();
    in.wait(never, 1);
    in.run([kept] {});
    in.finish().list.record_on(queue);
    CHECK(queue.submit());
    CHECK(kept.use_count() == 2);
    queue.abort();
  }
  CHECK(kept.use_count() == 1);
  CHECK(at.lists[0]->bytes == 0);
}

TEST_CASE("what a queue of an engine has recorded and not submitted can be dropped, and the list with it") {
  tidemark::engine engine;
  tidemark::engine_queue queue{engine};
  engine_stand at;
  const auto kept = std::make_shared<int>(1);
  auto& in = at.deferred[0];
  in.begin_recording();
  for (int i = 0; i < 100; ++i) in.run([kept] {});
  in.finish().list.record_on(queue);
  CHECK(kept.use_count() == 101);
  queue.discard();
  CHECK(kept.use_count() == 1);
  CHECK(at.lists[0]->bytes == 0);
}

namespace {

/// A queue that records, and throws at a command of the test's choice.
struct throwing_queue {
  template <class Work>
  void run(Work work) {
    if (left-- == 0) throw 7;
    calls.push_back(
        std::make_shared<std::function<void()>>([own = std::make_shared<Work>(std::move(work))] { (*own)(); }));
  }
  void discard() {
    ++discarded;
    calls.clear();
  }
  int left = 0;
  int discarded = 0;
  std::vector<std::shared_ptr<std::function<void()>>> calls;
};

}  // namespace

TEST_CASE("a list that a queue can't record for want of memory is dropped, and leaves nothing on the queue") {
  for (int left = 0; left <= 5; ++left) {
    CAPTURE(left);
    recording_stand<throwing_queue> at;
    throwing_queue queue;
    const auto kept = std::make_shared<int>(1);
    int done = 0;
    auto& in = at.deferred[0];
    in.begin_recording();
    for (int i = 0; i < 4; ++i) in.run([kept, &done] { ++done; });
    auto finished = in.finish();
    queue.left = left;
    if (left < 5) {
      CHECK_THROWS_AS(finished.list.record_on(queue), int);
      CHECK(queue.discarded == 1);
      CHECK(queue.calls.empty());
    } else {
      finished.list.record_on(queue);
      CHECK(queue.discarded == 0);
      for (const auto& each : queue.calls) (*each)();
      CHECK(done == 4);
    }
    CHECK(finished.list.is_empty());
    CHECK(kept.use_count() == 1);
    CHECK(at.lists[0]->bytes == 0);
  }
}
