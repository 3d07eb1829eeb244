// SPDX-License-Identifier: BSL-1.0
//
// Contexts that record commands: what they record, to whom errors go, and what becomes of a recording that runs out of
// memory.
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
#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/recordings.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::block_use_status;
using tidemark::context_open_status;
using tidemark::finish_status;
using tidemark::object_id;

namespace {

using texts = std::vector<std::string>;
using numbers = std::vector<int>;
using stand = recording_stand<tidemark::queue>;
using context_type = stand::context_type;

/// A queue whose executor is the test's own thread.
struct own_queue {
  void execute(context_type::list_type list) {
    CHECK(queue.submit([](std::uint64_t) {}));
    CHECK(list.execute_on(queue) == tidemark::wait_status::reached);
    queue.complete();
    CHECK(queue.is_idle());
  }
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
};

/// Counts its objects.
struct counted_object {
  explicit counted_object(int& of) : count{&of} { ++of; }
  counted_object(const counted_object& other) : count{other.count} { ++*count; }
  counted_object& operator=(const counted_object&) = delete;
  ~counted_object() { --*count; }
  int* count;
};

/// The workload of the tests of memory: commands of several sizes, and first uses of objects.
struct workload {
  static constexpr int steps = 300;

  explicit workload(stand& at) {
    for (int i = 0; i < steps / 10; ++i) {
      objects.push_back(i % 3 == 2 ? at.view_of(objects.front()) : at.resource());
    }
  }

  /// Records the step with that number. The work of a list appends to `done`.
  void record(context_type& in, int step, numbers& done) {
    if (step % 10 == 3) {
      static_cast<void>(in.use(objects[static_cast<std::size_t>(step / 10)]));
    } else if (step % 7 == 2) {
      in.run([&done, step, held = counted_object{alive}, large = std::array<std::byte, 300>{}] {
        done.push_back(step + static_cast<int>(large[0]));
      });
    } else if (step % 5 == 1) {
      in.wait(fence, 1);
    } else if (step % 11 == 4) {
      in.signal(fence, 1);
    } else {
      in.run([&done, step, held = counted_object{alive}] { done.push_back(step); });
    }
  }
  void record_all(context_type& in, numbers& done) {
    for (int step = 0; step < steps; ++step) record(in, step, done);
  }

  int alive = 0;
  tidemark::fence fence{1};
  std::vector<object_id> objects;
};

}  // namespace

// ---- recording ------------------------------------------------------------------------------------------------------

TEST_CASE("a list has what was recorded, and the context can record the next one") {
  stand at;
  context_type& in = at.deferred[0];
  own_queue to;
  numbers done;
  in.begin_recording();
  CHECK(in.is_recording());
  in.run([&done] { done.push_back(1); });
  in.run([&done](int one, const int& other) { done.push_back(one + other); }, 2, 3);
  auto first = in.finish();
  CHECK(first.status == finish_status::ended);
  CHECK(first.list.size() == 2);
  CHECK(!in.is_recording());
  in.begin_recording();
  in.run([&done] { done.push_back(9); });
  auto second = in.finish();
  CHECK(done.empty());
  to.execute(std::move(second.list));
  to.execute(std::move(first.list));
  CHECK(done == numbers{9, 1, 5});
}

TEST_CASE("a recording without commands gives an empty list, which takes no memory") {
  stand at;
  at.deferred[0].begin_recording();
  auto finished = at.deferred[0].finish();
  CHECK(finished);
  CHECK(finished.list.is_empty());
  CHECK(at.lists[0]->calls == 0);
}

TEST_CASE("commands keep what they are given, at its alignment, whatever its size") {
  stand at;
  own_queue to;
  int alive = 0;
  std::uint64_t sum = 0;
  struct alignas(64) aligned {
    std::uint64_t content;
  };
  struct huge {
    std::array<std::byte, 100'000> content{};
  };
  at.deferred[0].begin_recording();
  for (std::uint64_t i = 0; i < 50; ++i) {
    at.deferred[0].run(
        [&sum, held = counted_object{alive}, kept = std::make_unique<std::uint64_t>(i)] { sum += *kept; });
    at.deferred[0].run(
        [&sum](const aligned& given) {
          CHECK(reinterpret_cast<std::uintptr_t>(&given) % alignof(aligned) == 0);
          sum += given.content;
        },
        aligned{i});
  }
  at.deferred[0].run([&sum](const huge& given) { sum += 1 + static_cast<std::size_t>(given.content.back()); }, huge{});
  auto finished = at.deferred[0].finish();
  CHECK(finished.list.size() == 101);
  CHECK(alive == 50);
  to.execute(std::move(finished.list));
  CHECK(sum == 2 * 1225 + 1);
  CHECK(alive == 0);
  CHECK(at.lists[0]->bytes == 0);
}

TEST_CASE("a command that can't be copied into the list is not there, and the recording goes on") {
  struct throws_when_copied {
    throws_when_copied() = default;
    throws_when_copied(const throws_when_copied&) { throw 7; }
    void operator()() const {}
  };
  stand at;
  at.deferred[0].begin_recording();
  at.deferred[0].run([] {});
  const throws_when_copied work;
  CHECK_THROWS_AS(at.deferred[0].run(work), int);
  at.deferred[0].run([] {});
  auto finished = at.deferred[0].finish();
  CHECK(finished);
  CHECK(finished.list.size() == 2);
}

TEST_CASE("a recording holds the destruction of objects up until it is finished, abandoned or removed") {
  stand at;
  context_type& in = at.deferred[0];
  for (int how = 0; how < 3; ++how) {
    CAPTURE(how);
    const object_id object = at.resource();
    in.begin_recording();
    CHECK(in.use(object));
    CHECK(at.storage->retire(object));
    CHECK(at.storage->reclaim() == 0);
    if (how == 0) CHECK(in.finish());
    if (how == 1) in.abandon();
    if (how == 2) {
      at.lists[0]->calls_left = 0;
      in.run([] {});
      CHECK(in.was_removed());
    }
    CHECK(at.storage->reclaim() == 1);
  }
}

// ---- errors ---------------------------------------------------------------------------------------------------------

TEST_CASE("[D33][D34] creating an object returns no error: the immediate context's sink is told, with its number") {
  stand at{2};
  CHECK(at.storage->immediate().find(at.resource()) != nullptr);
  CHECK(at.immediate_errors.told.empty());
  const object_id none = at.immediate->create(test_kind::view, {.deferred = 40}, {object_id{}});
  CHECK(none == object_id{});
  CHECK(std::exchange(at.immediate_errors.told, {}) == texts{"invalid in 0"});
  at.driver.creations_left = 0;
  CHECK(at.resource() == object_id{});
  CHECK(std::exchange(at.immediate_errors.told, {}) == texts{"no_memory in 0"});
  CHECK(at.errors[0]->told.empty());
  CHECK(at.errors[1]->told.empty());
}

TEST_CASE("[D34] the immediate context says so when there are as many objects as there may be") {
  test_driver driver;
  block_ledger ledger;
  error_log errors;
  auto storage = recorded_storage::make(test_maker{driver}, {.max_contexts = 1, .max_objects = 1}, {&ledger});
  REQUIRE(storage);
  tidemark::command_context<recorded_storage, tidemark::queue, noting_sink> immediate{*storage, noting_sink{&errors}};
  CHECK(immediate.id() == tidemark::immediate_context);
  CHECK(immediate.create(test_kind::resource, {}) != object_id{});
  CHECK(immediate.create(test_kind::resource, {}) == object_id{});
  CHECK(errors.told == texts{"no_space in 0"});
}

TEST_CASE("[D35] an error goes to the sink of the context in which it happened, with that context's number") {
  stand at{3};
  const object_id object = at.resource();
  for (context_type& each : at.deferred) each.begin_recording();
  at.lists[1]->calls_left = 0;
  for (context_type& each : at.deferred) each.run([] {});
  CHECK(at.errors[0]->told.empty());
  CHECK(at.errors[1]->told == texts{"no_memory in 2"});
  CHECK(at.errors[2]->told.empty());
  // A stale object is no reason to remove a recording.
  CHECK(at.storage->destroy(object, tidemark::assume_not_in_use));
  CHECK(at.deferred[2].use(object).status == block_use_status::stale);
  CHECK(at.errors[2]->told == texts{"stale in 3"});
  CHECK(!at.deferred[2].was_removed());
  CHECK(at.deferred[2].finish());
  CHECK(at.immediate_errors.told.empty());
}

TEST_CASE("[D37] the sink is told when the memory is back") {
  struct looking_sink {
    void operator()(tidemark::context_id, tidemark::context_error) noexcept { bytes_then = ledger->bytes; }
    block_ledger* ledger;
    std::size_t& bytes_then;
  };
  stand at{0};
  block_ledger ledger;
  std::size_t bytes_then = 1;
  auto opened = at.storage->open();
  REQUIRE(opened);
  tidemark::command_context<recorded_storage, tidemark::queue, looking_sink, counting_source> in{
      *at.storage, std::move(opened.context), looking_sink{&ledger, bytes_then}, counting_source{&ledger}};
  in.begin_recording();
  ledger.calls_left = 2;
  while (!in.was_removed()) in.run([] {});
  CHECK(bytes_then == 0);
  CHECK(ledger.calls == 3);
}

// ---- local removal --------------------------------------------------------------------------------------------------

TEST_CASE("[D36] each function that records may find that there is no memory") {
  for (int which = 0; which < 4; ++which) {
    CAPTURE(which);
    stand at;
    tidemark::fence fence;
    const object_id object = at.resource();
    context_type& in = at.deferred[0];
    in.begin_recording();
    at.lists[0]->calls_left = 0;
    at.blocks.calls_left = 0;
    if (which == 0) in.run([] {});
    if (which == 1) in.wait(fence, 1);
    if (which == 2) in.signal(fence, 1);
    if (which == 3) CHECK(in.use(object).status == block_use_status::no_memory);
    CHECK(in.was_removed());
    CHECK(at.errors[0]->told == texts{"no_memory in 1"});
    CHECK(in.finish().status == finish_status::no_memory);
  }
}

TEST_CASE("[D36][D37][D38][D39][D40] a source that fails at any allocation costs that recording, and nothing else") {
  // What the other context records, without any failure.
  stand alone;
  workload of_alone{alone};
  own_queue to;
  numbers expected;
  alone.deferred[0].begin_recording();
  of_alone.record_all(alone.deferred[0], expected);
  to.execute(alone.deferred[0].finish().list);
  REQUIRE(expected.size() > 60);
  const std::size_t of_lists = alone.lists[0]->calls;
  REQUIRE(of_lists > 3);
  REQUIRE(alone.lists[0]->bytes == 0);

  std::size_t removals = 0;
  for (const bool of_blocks : {false, true}) {
    for (std::size_t left = 0;; ++left) {
      CAPTURE(of_blocks);
      CAPTURE(left);
      stand at{2};
      workload load{at};
      context_type& failing = at.deferred[0];
      context_type& other = at.deferred[1];
      numbers done_failing;
      numbers done_other;
      // The other one has its blocks: both take them from one source.
      other.begin_recording();
      for (const object_id each : load.objects) CHECK(other.use(each));
      other.abandon();
      const std::size_t blocks_before = at.blocks.bytes;
      (of_blocks ? at.blocks.calls_left : at.lists[0]->calls_left) = left;
      failing.begin_recording();
      other.begin_recording();
      bool was_removed = false;
      std::size_t bytes_of_blocks = 0;
      for (int step = 0; step < workload::steps; ++step) {
        load.record(failing, step, done_failing);
        if (failing.was_removed() && !was_removed) {
          was_removed = true;
          CHECK(at.lists[0]->bytes == 0);  // at once [D37]
          bytes_of_blocks = at.blocks.bytes;
          at.blocks.calls_left = SIZE_MAX;
          at.lists[0]->calls_left = SIZE_MAX;
        }
        CHECK(failing.is_recording());  // as far as the program knows [D38]
        load.record(other, step, done_other);
      }
      if (was_removed) {
        ++removals;
        CHECK(at.lists[0]->bytes == 0);
        CHECK(at.blocks.bytes == bytes_of_blocks);  // no growth [D38]
        CHECK(at.errors[0]->told == texts{"no_memory in 1"});
        auto finished = failing.finish();
        CHECK(finished.status == finish_status::no_memory);
        CHECK(finished.list.is_empty());
        CHECK(done_failing.empty());
      } else {
        to.execute(failing.finish().list);
        CHECK(done_failing == expected);
      }

      // The other context has noticed nothing [D40].
      CHECK(at.errors[1]->told.empty());
      CHECK(at.lists[1]->calls == of_lists);
      to.execute(other.finish().list);
      CHECK(done_other == expected);

      // The next recording is clean [D39].
      at.blocks.calls_left = SIZE_MAX;
      at.lists[0]->calls_left = SIZE_MAX;
      done_failing.clear();
      failing.begin_recording();
      CHECK(!failing.was_removed());
      load.record_all(failing, done_failing);
      auto next = failing.finish();
      CHECK(next.status == finish_status::ended);
      to.execute(std::move(next.list));
      CHECK(done_failing == expected);
      CHECK(load.alive == 0);
      CHECK(at.errors[0]->told.size() == (was_removed ? 1 : 0));

      // With its blocks given back, too, all memory is where it was.
      CHECK(failing.reset() == context_open_status::ready);
      CHECK(at.blocks.bytes == blocks_before);
      CHECK(at.lists[0]->bytes == 0);
      if (!was_removed) break;
    }
  }
  CHECK(removals > 10);
}

TEST_CASE("[D38] calls after a removal allocate nothing and copy nothing into the list") {
  stand at;
  context_type& in = at.deferred[0];
  tidemark::fence fence;
  const object_id object = at.resource();
  int alive = 0;
  in.begin_recording();
  at.lists[0]->calls_left = 0;
  in.run([] {});
  REQUIRE(in.was_removed());
  at.lists[0]->calls_left = SIZE_MAX;
  const std::size_t of_blocks = at.blocks.calls;
  const std::size_t of_lists = at.lists[0]->calls;
  for (int i = 0; i < 1000; ++i) {
    in.run([held = counted_object{alive}] {});
    in.wait(fence, 1);
    in.signal(fence, 1);
    CHECK(!in.use(object));
  }
  CHECK(at.blocks.calls == of_blocks);
  CHECK(at.lists[0]->calls == of_lists);
  CHECK(alive == 0);
  CHECK(at.errors[0]->told.size() == 1);
}

TEST_CASE("[D39][D41] a recording that was removed can be abandoned, and then no later one returns its error") {
  stand at;
  context_type& in = at.deferred[0];
  in.begin_recording();
  at.lists[0]->calls_left = 0;
  in.run([] {});
  CHECK(in.was_removed());
  in.abandon();
  CHECK(!in.is_recording());
  CHECK(!in.was_removed());
  in.begin_recording();
  CHECK(in.finish().status == finish_status::ended);
}

TEST_CASE("[D40] contexts on other threads record on while one of them is removed again and again") {
  const watchdog guard{[] { return std::string{"contexts that record on three threads"}; }};
  stand at{3};
  workload load{at};
  std::array<int, 3> lists{};
  at.lists[0]->calls_left = 3;
  const auto record = [&](std::size_t which) {
    context_type& in = at.deferred[which];
    tidemark::progress_fence progress;
    tidemark::queue queue{progress};
    for (int round = 0; round < 50; ++round) {
      numbers done;
      if (which == 0) {
        const std::lock_guard lock{at.lists[0]->guard};
        at.lists[0]->calls_left = static_cast<std::size_t>(round % 3);
      }
      in.begin_recording();
      for (int step = 0; step < workload::steps; ++step) {
        if (step % 10 == 3) {
          static_cast<void>(in.use(load.objects[static_cast<std::size_t>(step / 10)]));
        } else {
          in.run([&done, step, large = std::array<std::byte, 100>{}] {
            done.push_back(step + static_cast<int>(large[0]));
          });
        }
      }
      auto finished = in.finish();
      if (!finished) continue;
      static_cast<void>(finished.list.execute_on(queue));
      if (done.size() == workload::steps / 10 * 9) ++lists[which];
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 3; ++i) threads.emplace_back(record, i);
  for (std::thread& each : threads) each.join();
  CHECK(lists == std::array{0, 50, 50});
  CHECK(at.errors[0]->told.size() == 50);
  CHECK(at.errors[1]->told.empty());
  CHECK(at.errors[2]->told.empty());
}

// ---- abandoning and beginning anew ----------------------------------------------------------------------------------

TEST_CASE("[D41] a context that is abandoned or finished has no commands left, and gives the memory back") {
  stand at;
  context_type& in = at.deferred[0];
  int alive = 0;
  for (int i = 0; i < 3; ++i) {
    in.begin_recording();
    for (int k = 0; k < 100; ++k) in.run([held = counted_object{alive}] {});
    CHECK(alive == 100);
    in.abandon();
    CHECK(alive == 0);
    CHECK(at.lists[0]->bytes == 0);
  }
  in.begin_recording();
  CHECK(in.finish().list.is_empty());
}

TEST_CASE("[D41] a context that is reset is as a new one: no block, no memory, and it records again") {
  stand at{7};  // as many as there may be
  context_type& in = at.deferred[0];
  const object_id object = at.resource();
  const std::size_t before = at.blocks.bytes;
  in.begin_recording();
  in.use(object).as<test_state>().is_bound = 1;
  in.run([] {});
  CHECK(in.reset() == context_open_status::ready);
  CHECK(in.is_open());
  CHECK(!in.is_recording());
  CHECK(at.blocks.bytes == before);
  CHECK(at.lists[0]->bytes == 0);
  in.begin_recording();
  CHECK(in.use(object).as<test_state>().is_bound == 0);
  CHECK(in.finish().list.is_empty());
}

TEST_CASE("[D41] a reset that another thread's destruction delays is refused, and can be tried again") {
  struct hooked_maker : test_maker {
    hooked_maker(test_driver& driver, std::function<void()>& at) noexcept : test_maker{driver}, at_destroy{&at} {}
    void destroy(tidemark::context_id context, kind of, void* block) noexcept {
      if (*at_destroy) (*at_destroy)();
      test_maker::destroy(context, of, block);
    }
    std::function<void()>* at_destroy;
  };
  using storage_type = tidemark::context_storage<hooked_maker>;
  test_driver driver;
  error_log errors;
  std::function<void()> at_destroy;
  auto storage = storage_type::make(hooked_maker{driver, at_destroy}, {.max_contexts = 2});
  REQUIRE(storage);
  const auto made = storage->create(test_kind::resource, {});
  auto opened = storage->open();
  REQUIRE(opened);
  tidemark::command_context<storage_type, tidemark::queue, noting_sink> in{*storage, std::move(opened.context),
                                                                           noting_sink{&errors}};
  auto status = context_open_status::ready;
  at_destroy = [&] { status = in.reset(); };
  CHECK(storage->destroy(made.object, tidemark::assume_not_in_use));
  at_destroy = nullptr;
  CHECK(status == context_open_status::no_space);
  CHECK(!in.is_open());
  CHECK(in.reset() == context_open_status::ready);
  CHECK(in.is_open());
  in.begin_recording();
  CHECK(in.finish());
}

TEST_CASE("a context that goes while it records ends the recording, the immediate one too") {
  stand at;
  const object_id object = at.resource();
  at.immediate->begin_recording();
  CHECK(at.storage->immediate().is_recording());
  at.immediate->run([] {});
  at.immediate.reset();
  CHECK(!at.storage->immediate().is_recording());
  at.deferred[0].begin_recording();
  CHECK(at.deferred[0].use(object));
  at.deferred.clear();
  CHECK(at.storage->retire(object));
  CHECK(at.storage->reclaim() == 1);
}

TEST_CASE("lists outlive their context and their storage") {
  block_ledger ledger;
  error_log errors;
  numbers done;
  std::optional<context_type::list_type> list;
  {
    stand at{0};
    auto opened = at.storage->open();
    REQUIRE(opened);
    context_type in{*at.storage, std::move(opened.context), noting_sink{&errors}, counting_source{&ledger}};
    in.begin_recording();
    in.run([&done] { done.push_back(4); });
    list.emplace(in.finish().list);
    in.begin_recording();
    in.run([&done] { done.push_back(5); });
  }
  own_queue to;
  to.execute(std::move(*list));
  CHECK(done == numbers{4});
  CHECK(ledger.bytes == 0);
}
