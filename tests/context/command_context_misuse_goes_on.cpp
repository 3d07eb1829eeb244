// SPDX-License-Identifier: BSL-1.0
//
// Misuse of contexts that record commands breaks nothing where the hook of TIDEMARK_ASSERT returns: here it notes the
// text. command_context_misuse.cpp has each text with the misuse that it reports.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include <tidemark/context/command_context.hpp>
#include <tidemark/context/renamed_resource.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/recordings.hpp"

using namespace testing;
using tidemark::block_use_status;
using tidemark::finish_status;

namespace {

using stand = recording_stand<tidemark::queue>;

}  // namespace

TEST_CASE("commands outside a recording do nothing, and the next recording is clean") {
  stand at;
  tidemark::fence fence;
  const auto object = at.resource();
  auto& in = at.deferred[0];
  in.run([] {});
  in.wait(fence, 1);
  in.signal(fence, 1);
  CHECK(in.use(object).status == block_use_status::no_memory);
  CHECK(take_said() == texts(4, "a command was recorded outside a recording"));
  CHECK(at.lists[0]->calls == 0);
  CHECK(at.errors[0]->told.empty());
  in.begin_recording();
  CHECK(in.finish().list.is_empty());
  CHECK(take_said().empty());
}

TEST_CASE("[D39] recordings that do not match change nothing, and an error is returned once") {
  stand at;
  auto& in = at.deferred[0];
  CHECK(in.finish().status == finish_status::invalid);
  CHECK(take_said() == texts{"a context finished a recording that it had not begun"});
  in.begin_recording();
  in.run([] {});
  in.begin_recording();
  CHECK(take_said() == texts{"a context began to record twice"});
  CHECK(in.finish().list.size() == 1);
  in.begin_recording();
  at.lists[0]->calls_left = 0;
  in.run([] {});
  CHECK(in.finish().status == finish_status::no_memory);
  CHECK(take_said().empty());
  CHECK(in.finish().status == finish_status::invalid);
  CHECK(take_said() == texts{"a context finished a recording that it had not begun"});
}

TEST_CASE("what only one kind of context can do, the other kind does not") {
  stand at;
  CHECK(at.deferred[0].create(test_kind::resource, {}) == tidemark::object_id{});
  CHECK(take_said() == texts{"objects are created in the immediate context"});
  const auto object = at.resource();
  at.immediate->begin_recording();
  at.immediate->run([] {});
  CHECK(at.immediate->reset() == tidemark::context_open_status::ready);
  CHECK(take_said() == texts{"the immediate context can't be closed"});
  CHECK(!at.immediate->is_recording());
  CHECK(at.immediate_lists.bytes == 0);
  CHECK(at.storage->immediate().find(object) != nullptr);
}

TEST_CASE("[B47] a list that was not adopted stays as it is, and one that was adopted twice is adopted once") {
  tidemark::fence done;
  tidemark::renamed_resource resource{tidemark::fence_view{done}, {.bytes = 64}};
  stand at;
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
  auto& in = at.deferred[0];
  int calls = 0;
  in.begin_recording();
  const auto mapped = in.try_map(resource, tidemark::map_mode::discard);
  in.run([&calls] { ++calls; });
  auto list = std::move(in.finish().list);
  CHECK(list.execute_on(queue) == tidemark::wait_status::stopped);
  CHECK(take_said() == texts{"a list that uses renamed resources was not adopted"});
  CHECK(list.size() == 1);
  CHECK(calls == 0);
  CHECK(resource.current() != mapped.memory);
  list.adopt(1);
  list.adopt(2);
  CHECK(take_said() == texts{"a list was adopted twice"});
  CHECK(resource.current() == mapped.memory);
  CHECK(list.execute_on(queue) == tidemark::wait_status::reached);
  CHECK(calls == 1);
  done.signal(1);  // the first value counts
  CHECK(resource.try_map(tidemark::map_mode::read));
  CHECK(take_said().empty());
}

TEST_CASE("[B47] values that can't be kept change nothing") {
  tidemark::fence done;
  tidemark::renamed_resource resource{tidemark::fence_view{done}, {.bytes = 64}};
  resource.used_until(UINT64_MAX);
  CHECK(take_said() == texts{"a renamed resource keeps values less than 2^64 - 2^33 - 1"});
  CHECK(resource.try_map(tidemark::map_mode::read));
  resource.used_until(3);
  const auto taken = resource.try_take();
  REQUIRE(taken);
  resource.adopt(taken, UINT64_MAX);
  CHECK(take_said() == texts{"a renamed resource keeps values less than 2^64 - 2^33 - 1"});
  CHECK(resource.current() == taken.memory);
  CHECK(resource.try_map(tidemark::map_mode::read).status == tidemark::map_status::busy);  // as long as the one before
  CHECK(!resource.give_back({}));
  done.signal(3);
  CHECK(resource.try_map(tidemark::map_mode::read));
}

// ---- commands that call what makes, executes or drops them ----------------------------------------------------------

namespace {

/// Calls something when it is copied, executed or destroyed, where the test has asked for it.
struct calling_command {
  struct calls {
    std::function<void()> in_copy;
    std::function<void()> in_execution;
    std::function<void()> in_destructor;
  };
  explicit calling_command(calls& of) noexcept : to{&of} {}
  calling_command(const calling_command& other) : to{other.to} { call(to->in_copy); }
  calling_command& operator=(const calling_command&) = delete;
  ~calling_command() { call(to->in_destructor); }
  void operator()() const { call(to->in_execution); }
  static void call(std::function<void()>& which) {
    if (which) std::exchange(which, nullptr)();
  }
  calls* to;
};

/// Calls something when it is copied or moved. Can be called with anything.
struct moving_work {
  explicit moving_work(std::function<void()> call) : on_move{std::move(call)} {}
  moving_work(const moving_work& other) : on_move{other.on_move} { call(); }
  // NOLINTNEXTLINE(performance-move-constructor-init): both call afterwards
  moving_work(moving_work&& other) noexcept : on_move{other.on_move}, skips{other.skips} {
    if (skips > 0) {
      --skips;
    } else {
      call();
    }
  }
  void operator()(auto...) const noexcept {}
  void call() const { on_move(); }
  std::function<void()> on_move;
  int skips = 0;  // moves that call nothing
};

/// Calls each function of a context that records; returns how many of them are asserted.
std::size_t call_all(stand::context_type& in, stand& at, tidemark::fence& fence) {
  in.run([] {});
  in.wait(fence, 1);
  in.signal(fence, 1);
  CHECK(in.use(at.resource()).status == block_use_status::no_memory);
  in.begin_recording();
  CHECK(in.finish().status == finish_status::invalid);
  in.abandon();
  CHECK(in.reset() == tidemark::context_open_status::ready);
  return 8;
}

}  // namespace

TEST_CASE("a command that calls its context while it is made or dropped does nothing") {
  for (int which = 0; which < 4; ++which) {
    CAPTURE(which);
    stand at;
    tidemark::fence fence;
    auto& in = at.deferred[0];
    calling_command::calls calls;
    std::size_t called = 0;
    const auto call = [&] { called += call_all(in, at, fence); };
    in.begin_recording();
    in.run([] {});
    const calling_command command{calls};
    if (which == 0) calls.in_copy = call;
    in.run(command);
    in.run([] {});
    CHECK(in.is_recording());
    if (which == 0) CHECK(in.finish().list.size() == 3);
    if (which > 0) calls.in_destructor = call;
    if (which == 1) in.abandon();
    if (which == 2) {
      at.lists[0]->calls_left = 0;
      while (!in.was_removed()) in.run([] {});
      at.lists[0]->calls_left = SIZE_MAX;
      CHECK(in.finish().status == finish_status::no_memory);
    }
    if (which == 3) CHECK(in.reset() == tidemark::context_open_status::ready);
    CHECK(called > 0);
    CHECK(take_said() == texts(called, "the context was used while it makes or drops a command, or closes"));
    CHECK(!in.is_recording());
    CHECK(at.lists[0]->bytes == 0);
    in.begin_recording();
    in.run([] {});
    CHECK(in.finish().list.size() == 1);
    CHECK(take_said().empty());
  }
}

TEST_CASE("a command that creates objects while it is made or dropped creates none") {
  for (int which = 0; which < 3; ++which) {
    CAPTURE(which);
    stand at;
    auto& in = *at.immediate;
    const auto before = at.resource();
    calling_command::calls calls;
    std::size_t called = 0;
    const auto create = [&] {
      CHECK(in.create(test_kind::resource, {}) == tidemark::object_id{});
      CHECK(in.create(test_kind::resource, {}, {before}) == tidemark::object_id{});
      CHECK(in.reset() == tidemark::context_open_status::ready);
      called += 3;
    };
    in.begin_recording();
    const calling_command command{calls};
    if (which == 0) calls.in_copy = create;
    if (which > 0) calls.in_destructor = create;
    in.run(command);
    if (which == 1) in.abandon();
    if (which == 2) {
      at.immediate_lists.calls_left = 0;
      while (!in.was_removed()) in.run([] {});
      at.immediate_lists.calls_left = SIZE_MAX;
    }
    CHECK(called == 3);
    CHECK(take_said() == texts(called, "the context was used while it makes or drops a command, or closes"));
    in.abandon();
    // No object was made in between.
    CHECK(at.resource().index() == before.index() + 1);
    CHECK(take_said().empty());
  }
}

TEST_CASE("what a command is made of calls the context while it is copied or moved, and does nothing") {
  constexpr const char* of_command = "the context was used while it makes or drops a command, or closes";
  for (int which = 0; which < 3; ++which) {
    CAPTURE(which);
    stand at;
    tidemark::fence fence;
    tidemark::renamed_resource resource{tidemark::fence_view{fence}, {.bytes = 64, .max_renames = 2}};
    auto& in = at.deferred[0];
    std::size_t called = 0;
    const moving_work work{[&] { called += call_all(in, at, fence); }};
    in.begin_recording();
    if (which == 0) in.run([](const moving_work& of, int) { CHECK(of.on_move); }, work, 3);
    if (which == 1) in.run(work, 1);
    if (which == 2) {
      // The parameter is the caller's: the context makes the command from it.
      moving_work copy{[&] { called += call_all(in, at, fence); }};
      copy.skips = 1;
      CHECK(in.bind_for_copy(resource, std::move(copy)));
    }
    CHECK(called > 0);
    CHECK(take_said() == texts(called, of_command));
    CHECK(in.is_recording());
    CHECK(in.finish().list.size() == 1);
    CHECK(take_said().empty());
  }
}

TEST_CASE("a maker can't use the context that is reset while it destroys a block of it") {
  for (int which = 0; which < 4; ++which) {
    CAPTURE(which);
    stand at;
    const auto object = at.resource();
    auto& in = at.deferred[0];
    in.begin_recording();
    REQUIRE(in.use(object));
    in.abandon();
    int calls = 0;
    at.driver.in_destroy = [&] {
      if (++calls > 1) return;
      if (which == 0) in.begin_recording();
      if (which == 1) CHECK(in.reset() == tidemark::context_open_status::ready);
      if (which == 2) in.abandon();
      if (which == 3) {
        static_cast<void>(in.reset());
        in.begin_recording();
      }
    };
    CHECK(in.reset() == tidemark::context_open_status::ready);
    at.driver.in_destroy = nullptr;
    CHECK(calls == 1);
    CHECK(take_said() ==
          texts(which == 3 ? 2 : 1, "the context was used while it makes or drops a command, or closes"));
    // It is as a new one, and its recordings are known to the storage.
    CHECK_FALSE(in.is_recording());
    in.begin_recording();
    CHECK(in.use(object));
    CHECK(at.storage->retire(object));
    CHECK(at.storage->reclaim() == 0);
    in.abandon();
    CHECK(at.storage->reclaim() == 1);
    CHECK(take_said().empty());
  }
}

TEST_CASE("a maker can't end the recording that it creates a block for, and it goes on") {
  constexpr const char* of_maker = "a maker ended the recording that it was creating a block for";
  for (int round = 0; round < 8; ++round) {
    const bool is_immediate = round >= 4;
    const int which = round % 4;
    CAPTURE(is_immediate);
    CAPTURE(which);
    stand at;
    const auto object = at.resource();
    const auto retired = at.resource();
    auto& in = is_immediate ? *at.immediate : at.deferred[0];
    in.begin_recording();
    in.run([] {});
    at.driver.in_create = [&] {
      if (which == 0) in.abandon();
      if (which == 1) CHECK(in.finish().status == finish_status::invalid);
      if (which == 2) CHECK(in.reset() == tidemark::context_open_status::ready);
      if (which == 3) {
        in.abandon();
        in.begin_recording();
      }
    };
    if (is_immediate) {
      CHECK(at.resource() != tidemark::object_id{});
    } else {
      CHECK(in.use(object));
    }
    CHECK(take_said() == (which == 3 ? texts{of_maker, "a context began to record twice"} : texts{of_maker}));
    CHECK(in.is_recording());
    const auto finished = in.finish();
    CHECK(finished.status == finish_status::ended);
    CHECK(finished.list.size() == 1);
    CHECK(at.storage->retire(retired));
    CHECK(at.storage->reclaim() == 1);  // no recording is open
    CHECK(take_said().empty());
  }
}

TEST_CASE("a command that calls its list while it is executed, cancelled or dropped does nothing") {
  for (int which = 0; which < 4; ++which) {
    CAPTURE(which);
    stand at;
    tidemark::progress_fence progress;
    tidemark::queue queue{progress};
    auto& in = at.deferred[0];
    calling_command::calls calls;
    in.begin_recording();
    auto other = std::move(in.finish().list);
    int executed = 0;
    in.begin_recording();
    in.run([&executed] { ++executed; });
    in.run(calling_command{calls});
    in.run([&executed] { ++executed; });
    auto list = std::move(in.finish().list);
    bool is_called = false;
    const auto call = [&] {
      is_called = true;
      CHECK(list.execute_on(queue) == tidemark::wait_status::stopped);
      list.cancel_on(queue);
      list.clear();
      list.adopt(1);
      const auto taken = std::move(list);
      CHECK(taken.is_empty());
      other = std::move(list);  // NOLINT(bugprone-use-after-move): what misuse does
      CHECK(other.is_empty());
      list = std::move(other);
    };
    if (which == 0) {
      calls.in_execution = call;
    } else {
      calls.in_destructor = call;
    }
    if (which < 2) CHECK(list.execute_on(queue) == tidemark::wait_status::reached);
    if (which == 2) list.cancel_on(queue);
    if (which == 3) list.clear();
    CHECK(is_called);
    CHECK(executed == (which < 2 ? 2 : 0));
    CHECK(take_said() == texts(7, "a command used the list that executes or drops it"));
    CHECK(list.is_empty());
    CHECK(at.lists[0]->bytes == 0);
  }
}
