// SPDX-License-Identifier: BSL-1.0
//
// What the code of the user may do to a recording while the context calls it: a sink, or what makes the backings of a
// resource, abandons the recording and begins another one. command_context_misuse_goes_on.cpp has what it may not do.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <tidemark/context/command_context.hpp>
#include <tidemark/context/renamed_resource.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/recordings.hpp"

using namespace testing;
using tidemark::block_use_status;
using tidemark::context_error;
using tidemark::finish_status;
using tidemark::map_mode;
using tidemark::map_status;

namespace {

/// Calls what the test has given it.
struct calling_sink {
  void operator()(tidemark::context_id, context_error error) noexcept { (*call)(error); }
  std::function<void(context_error)>* call;
};
using context_type = tidemark::command_context<recorded_storage, tidemark::queue, calling_sink, counting_source>;

/// One context with such a sink, and a resource whose source can call, too.
struct scene {
  struct calling_source : counting_source {
    std::byte* create(const tidemark::backing_traits& traits) noexcept {
      if (*in_create) std::exchange(*in_create, nullptr)();
      return counting_source::create(traits);
    }
    std::function<void()>* in_create;
  };
  using resource_type = tidemark::renamed_resource<tidemark::fence_view, calling_source>;

  recording_stand<tidemark::queue> at{0};
  block_ledger lists;
  block_ledger backings;
  tidemark::fence done;
  tidemark::fence other;
  tidemark::object_id object = at.resource();
  std::function<void(context_error)> in_sink;
  std::function<void()> in_create;
  resource_type resource{
      tidemark::fence_view{done}, {.bytes = 64, .max_renames = 4}, calling_source{{&backings}, &in_create}};
  context_type in{*at.storage, at.storage->open().context, calling_sink{&in_sink}, counting_source{&lists}};
};

/// A copy that needs a chunk of its own.
struct large_copy {
  void operator()(std::byte*, std::byte*) noexcept {}
  std::array<std::byte, 6000> bytes{};
};

/// Each function that records; returns whether it says that it has recorded, mapped or found something.
const std::vector<std::function<bool(scene&)>> functions{
    [](scene& of) {
      of.in.run([held = large_copy{}]() mutable { held(nullptr, nullptr); });
      return false;
    },
    [](scene& of) {
      of.in.wait(of.other, 1);
      return false;
    },
    [](scene& of) {
      of.in.signal(of.other, 1);
      return false;
    },
    [](scene& of) { return of.in.use(of.object).status != block_use_status::no_memory; },
    [](scene& of) { return of.in.try_map(of.resource, map_mode::discard).status != map_status::no_memory; },
    [](scene& of) { return of.in.map(of.resource, map_mode::discard).status != map_status::no_memory; },
    [](scene& of) { return static_cast<bool>(of.in.bind(of.resource)); },
    [](scene& of) {
      const auto bound = of.in.try_bind_for_copy(of.resource, large_copy{});
      CHECK(static_cast<bool>(bound.bound) == static_cast<bool>(bound));
      return bound.status != map_status::no_memory;
    },
    [](scene& of) { return of.in.bind_for_copy(of.resource, large_copy{}).status != map_status::no_memory; }};

}  // namespace

TEST_CASE("[B47][D36][D38] a sink begins another recording, and the call that had no memory says so") {
  for (std::size_t which = 0; which < functions.size(); ++which) {
    CAPTURE(which);
    std::size_t removals = 0;
    for (std::size_t left = 0; left < 6; ++left) {
      CAPTURE(left);
      scene of;
      bool was_told = false;
      of.in_sink = [&](context_error error) {
        CHECK(error == context_error::no_memory);
        CHECK(of.in.was_removed());
        was_told = true;
        of.lists.calls_left = of.at.blocks.calls_left = SIZE_MAX;
        of.in.abandon();
        of.in.begin_recording();
        of.in.run([] {});
      };
      of.in.begin_recording();
      of.lists.calls_left = of.at.blocks.calls_left = left;
      const bool is_there = functions[which](of);
      of.lists.calls_left = of.at.blocks.calls_left = SIZE_MAX;
      if (was_told) {
        ++removals;
        CHECK(!is_there);
        CHECK(of.in.is_recording());
        CHECK(!of.in.was_removed());
      }
      auto finished = of.in.finish();
      CHECK(finished.status == finish_status::ended);
      if (was_told) {
        CHECK(finished.list.size() == 1);  // what the sink has recorded
        CHECK(!finished.list.needs_adoption());
      }
    }
    CHECK(removals > 0);
  }
}

TEST_CASE("[B47][D36][D38] a sink loses the next recording, too, and the call that had no memory says so") {
  for (const bool copies : {false, true}) {
    CAPTURE(copies);
    scene of;
    std::vector<context_error> errors;
    of.in_sink = [&](context_error error) {
      errors.push_back(error);
      if (errors.size() > 1) return;
      of.in.abandon();
      of.in.begin_recording();
      of.done.poison();
      CHECK(!of.in.bind(of.resource));
    };
    of.in.begin_recording();
    of.lists.calls_left = 0;
    CHECK((copies ? of.in.try_bind_for_copy(of.resource, large_copy{}).status
                  : of.in.try_map(of.resource, map_mode::discard).status) == map_status::no_memory);
    CHECK(errors == std::vector{context_error::no_memory, context_error::lost});
    CHECK(of.in.finish().status == finish_status::lost);
  }
}

TEST_CASE("[D38] a sink finishes the recording that was removed, and the call after it is outside") {
  scene of;
  finish_status status = finish_status::ended;
  of.in_sink = [&](context_error) { status = of.in.finish().status; };
  of.in.begin_recording();
  of.lists.calls_left = 0;
  of.in.run([] {});
  CHECK(status == finish_status::no_memory);
  CHECK(!of.in.is_recording());
  of.lists.calls_left = SIZE_MAX;
  of.in.begin_recording();
  CHECK(of.in.finish());
}

TEST_CASE("[D41] a sink resets its context") {
  scene of;
  of.in_sink = [&](context_error) { CHECK(of.in.reset() == tidemark::context_open_status::ready); };
  of.in.begin_recording();
  of.at.blocks.calls_left = 0;
  CHECK(of.in.use(of.object).status == block_use_status::no_memory);
  of.at.blocks.calls_left = SIZE_MAX;
  CHECK(!of.in.is_recording());
  of.in.begin_recording();
  CHECK(of.in.use(of.object));
  CHECK(of.in.finish());
}

TEST_CASE("[D33] a sink of the immediate context creates another object") {
  scene of;
  std::function<void(context_error)> again;
  context_type immediate{*of.at.storage, calling_sink{&again}, counting_source{&of.lists}};
  tidemark::object_id second;
  again = [&](context_error error) {
    CHECK(error == context_error::invalid);
    second = immediate.create(test_kind::resource, {});
  };
  CHECK(immediate.create(test_kind::view, {.deferred = 40}, {tidemark::object_id{99, 1}}) == tidemark::object_id{});
  CHECK(of.at.storage->immediate().find(second) != nullptr);
}

TEST_CASE("[B47] what makes a backing abandons the recording that asked for it, and the backing is given back") {
  for (int how = 0; how < 4; ++how) {
    CAPTURE(how);
    scene of;
    of.in_create = [&] {
      of.in.abandon();
      if (how % 2 == 1) of.in.begin_recording();
    };
    of.in.begin_recording();
    const map_status status = how < 2 ? of.in.try_map(of.resource, map_mode::discard).status
                                      : of.in.try_bind_for_copy(of.resource, large_copy{}).status;
    if (how % 2 == 1) {  // it belongs to the recording that is open
      CHECK(status == map_status::mapped);
      CHECK(of.in.finish().list.needs_adoption());
    } else {
      CHECK(status == map_status::no_memory);
      CHECK(!of.in.is_recording());
      CHECK(of.lists.bytes == 0);
    }
    of.resource.trim();
    CHECK(of.resource.backings() <= 2);
  }
}

TEST_CASE("a maker creates, uses and destroys other objects") {
  scene of;
  auto& storage = *of.at.storage;
  const auto second = of.at.resource();
  auto opened = storage.open();
  opened.context.begin_recording();
  void* seen = nullptr;
  of.at.driver.in_create = [&] { seen = opened.context.use(second).block; };
  const auto used = opened.context.use(of.object);
  CHECK(used);
  CHECK(seen != nullptr);
  CHECK(seen != used.block);
  CHECK(opened.context.find(second) == seen);
  opened.context.end_recording();

  tidemark::object_id third;
  of.at.driver.in_create = [&] { third = storage.create(test_kind::resource, {}).object; };
  const auto fourth = storage.create(test_kind::resource, {}).object;
  CHECK(!(third == fourth));
  CHECK(storage.immediate().find(third) != nullptr);
  CHECK(storage.immediate().find(fourth) != nullptr);

  // One in whose destruction others are destroyed and retired, and the context is closed.
  bool is_first = true;
  of.at.driver.in_destroy = [&] {
    if (!std::exchange(is_first, false)) return;
    // It is done when this call of the maker is over, so the calling thread can't wait for it.
    CHECK(storage.destroy(second, tidemark::assume_not_in_use).status == tidemark::object_destroy_status::retired);
    CHECK(storage.retire(third));
    opened.context.close();
  };
  CHECK(storage.destroy(fourth, tidemark::assume_not_in_use));
  of.at.driver.in_destroy = nullptr;
  storage.reclaim();
  CHECK(storage.immediate().find(second) == nullptr);
  CHECK(storage.immediate().find(third) == nullptr);
  CHECK(storage.immediate().find(of.object) != nullptr);
}

TEST_CASE("[D36][D38] a maker records in the context, and has no memory: the recording is removed when it is done") {
  for (int how = 0; how < 3; ++how) {
    CAPTURE(how);
    scene of;
    const auto second = of.at.resource();
    const auto retired = of.at.resource();
    bool is_maker_done = false;
    int told = 0;
    of.in_sink = [&](context_error error) {
      CHECK(error == context_error::no_memory);
      CHECK(is_maker_done);
      ++told;
      if (how != 1) return;
      of.in.abandon();
      of.in.begin_recording();
    };
    of.in.begin_recording();
    of.in.run([] {});
    of.at.driver.in_create = [&] {
      if (how < 2) {
        of.lists.calls_left = 0;
        of.in.run([held = large_copy{}]() mutable { held(nullptr, nullptr); });
        of.lists.calls_left = SIZE_MAX;
      } else {
        of.at.driver.creations_left = 0;
        CHECK(of.in.use(second).status == block_use_status::no_memory);
        of.at.driver.creations_left = SIZE_MAX;
      }
      CHECK(of.in.was_removed());
      CHECK(of.lists.bytes == 0);
      of.in.run([] {});
      is_maker_done = true;
    };
    CHECK(of.in.use(of.object).status == block_use_status::no_memory);
    CHECK(told == 1);
    CHECK(of.at.storage->retire(retired));
    CHECK(of.at.storage->reclaim() == (how == 1 ? 0 : 1));  // the sink may have begun another one
    CHECK(of.in.finish().status == (how == 1 ? finish_status::ended : finish_status::no_memory));
    of.in.begin_recording();
    CHECK(of.in.use(of.object));
    CHECK(of.in.finish().status == finish_status::ended);
  }
}

TEST_CASE("[D33][D34][D36] a maker calls the immediate context, whose sink is told when the object is there") {
  for (int how = 0; how < 5; ++how) {
    CAPTURE(how);
    scene of;
    const auto retired = of.at.resource();
    const tidemark::object_id none{99, 1};
    std::function<void(context_error)> in_sink;
    std::vector<context_error> told;
    int makers = 0;
    context_type in{*of.at.storage, calling_sink{&in_sink}, counting_source{&of.lists}};
    in_sink = [&](context_error error) {
      CHECK(makers == 0);
      told.push_back(error);
      if (how != 1) return;
      in.abandon();
      in.begin_recording();
    };
    const auto record = [&] {
      of.lists.calls_left = 0;
      in.run([held = large_copy{}]() mutable { held(nullptr, nullptr); });
      of.lists.calls_left = SIZE_MAX;
      CHECK(in.was_removed());
      CHECK(of.lists.bytes == 0);
      in.run([] {});
    };
    const auto fail = [&] { CHECK(in.create(test_kind::view, {.deferred = 40}, {none}) == tidemark::object_id{}); };
    if (how != 4) in.begin_recording();
    if (how != 4) in.run([] {});
    of.at.driver.in_create = [&] {
      ++makers;
      if (how == 4) in.begin_recording();
      if (how != 2) record();
      if (how >= 2) fail();
      if (how == 3) {
        of.at.driver.in_create = [&] {
          fail();
          of.at.driver.creations_left = 0;
        };
        CHECK(in.create(test_kind::resource, {}) == tidemark::object_id{});
      }
      --makers;
    };
    const bool is_there = in.create(test_kind::resource, {}) != tidemark::object_id{};
    of.at.driver.creations_left = SIZE_MAX;
    CHECK(is_there == (how != 3));
    using enum context_error;
    const std::vector<context_error> expected[] = {
        {no_memory}, {no_memory}, {invalid}, {no_memory, no_memory, invalid, no_memory}, {no_memory, invalid}};
    CHECK(told == expected[how]);  // of the recording, of the objects in create(), and of the object itself
    CHECK(of.at.storage->retire(retired));
    CHECK(of.at.storage->reclaim() == (how == 1 || how == 2 ? 0 : 1));
    const bool is_removed = how != 1 && how != 2;
    CHECK(in.finish().status == (is_removed ? finish_status::no_memory : finish_status::ended));
    CHECK(told.size() == expected[how].size());
    in.begin_recording();
    in.run([] {});
    CHECK(in.finish().list.size() == 1);
  }
}

TEST_CASE("a recording that was removed while the storage itself created an object is over when it is finished") {
  for (const bool is_abandoned : {false, true}) {
    CAPTURE(is_abandoned);
    scene of;
    const auto retired = of.at.resource();
    std::function<void(context_error)> in_sink = [](context_error) {};
    context_type in{*of.at.storage, calling_sink{&in_sink}, counting_source{&of.lists}};
    in.begin_recording();
    of.at.driver.in_create = [&] {
      of.lists.calls_left = 0;
      in.run([] {});
      of.lists.calls_left = SIZE_MAX;
    };
    CHECK(of.at.storage->create(test_kind::resource, {}));
    CHECK(in.was_removed());
    if (is_abandoned) {
      in.abandon();
    } else {
      CHECK(in.finish().status == finish_status::no_memory);
    }
    CHECK(of.at.storage->retire(retired));
    CHECK(of.at.storage->reclaim() == 1);
    in.begin_recording();
    CHECK(in.finish());
  }
}
