// SPDX-License-Identifier: BSL-1.0
//
// Contexts that record for a device that is lost: which call says so, and what becomes of the recording.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/context/command_context.hpp>
#include <tidemark/context/renamed_resource.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/recordings.hpp"
#include "support/user_timeline.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::block_use_status;
using tidemark::context_error;
using tidemark::finish_status;
using tidemark::map_mode;
using tidemark::map_status;
using tidemark::object_id;

namespace {

using texts = std::vector<std::string>;

/// Notes what it is told, and calls what the test has given it.
struct calling_sink {
  void operator()(tidemark::context_id in, context_error error) noexcept {
    noting_sink{log}(in, error);
    if (*call) (*call)();
  }
  error_log* log;
  std::function<void()>* call;
};
template <class Device>
using context_of = tidemark::command_context<recorded_storage, tidemark::queue, calling_sink, counting_source, Device>;
using context_type = context_of<tidemark::fence_view>;

/// A device, a context that records for it, and a resource that renames on a timeline of its own.
struct scene {
  using resource_type = tidemark::renamed_resource<tidemark::fence_view, counting_source>;

  ~scene() { CHECK(lists.bytes == 0); }

  /// Executes a list, which must have been adopted if it needs that.
  void execute(context_type::list_type list) {
    CHECK(queue.submit([](std::uint64_t) {}));
    CHECK(list.execute_on(queue) == tidemark::wait_status::reached);
    queue.complete();
  }

  recording_stand<tidemark::queue> at{0};
  block_ledger lists;
  block_ledger backings;
  error_log errors;
  std::function<void()> in_sink;
  tidemark::fence device;
  tidemark::fence done;
  tidemark::fence other{1};
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
  object_id object = at.resource();
  resource_type resource{tidemark::fence_view{done}, {.bytes = 64, .max_renames = 12}, {&backings}};
  int executed = 0;
  context_type in{device.view(), *at.storage, at.storage->open().context, calling_sink{&errors, &in_sink},
                  counting_source{&lists}};
};

/// Each function that records. Returns whether it says that the device is lost, where it says anything.
struct function {
  const char* name;
  std::function<bool(scene&)> call;
};
const std::vector<function> functions{
    {"run",
     [](scene& of) {
       of.in.run([&count = of.executed] { ++count; });
       return true;
     }},
    {"run with arguments",
     [](scene& of) {
       of.in.run([&count = of.executed](int by) { count += by; }, 1);
       return true;
     }},
    {"wait",
     [](scene& of) {
       of.in.wait(of.other, 1);
       return true;
     }},
    {"signal",
     [](scene& of) {
       of.in.signal(of.other, 1);
       return true;
     }},
    {"use", [](scene& of) { return of.in.use(of.object).status == block_use_status::lost; }},
    {"try_map", [](scene& of) { return of.in.try_map(of.resource, map_mode::discard).status == map_status::lost; }},
    {"map", [](scene& of) { return of.in.map(of.resource, map_mode::discard).status == map_status::lost; }},
    {"bind", [](scene& of) { return !of.in.bind(of.resource); }},
    {"try_bind_for_copy",
     [](scene& of) {
       return of.in.try_bind_for_copy(of.resource, [](std::byte*, std::byte*) noexcept {}).status == map_status::lost;
     }},
    {"bind_for_copy", [](scene& of) {
       return of.in.bind_for_copy(of.resource, [](std::byte*, std::byte*) noexcept {}).status == map_status::lost;
     }}};

}  // namespace

// ---- which call says so ---------------------------------------------------------------------------------------------

TEST_CASE("[D36] each function that records may find that the device is lost, and says so from then on") {
  for (const auto& first : functions) {
    CAPTURE(first.name);
    scene of;
    of.in.begin_recording();
    for (const auto& each : functions) static_cast<void>(each.call(of));
    const std::size_t backings = of.backings.calls;
    CHECK(of.errors.told.empty());
    CHECK(of.lists.bytes > 0);
    of.device.poison();
    CHECK(first.call(of));
    CHECK(of.in.was_removed());
    CHECK(of.in.is_recording());  // as far as the program knows [D38]
    CHECK(of.lists.bytes == 0);   // at once
    for (const auto& each : functions) CHECK(each.call(of));
    CHECK(of.errors.told == texts{"lost in 1"});
    CHECK(of.lists.bytes == 0);
    CHECK(of.backings.calls == backings);
    const auto finished = of.in.finish();
    CHECK(!finished);
    CHECK(finished.status == finish_status::lost);
    CHECK(finished.list.is_empty());
    CHECK(of.executed == 0);
  }
}

TEST_CASE("[D36] finish() itself may be the call that finds the device lost") {
  scene of;
  of.in.begin_recording();
  for (const auto& each : functions) static_cast<void>(each.call(of));
  of.device.poison();
  auto finished = of.in.finish();
  CHECK(finished.status == finish_status::lost);
  CHECK(finished.list.is_empty());
  CHECK_FALSE(finished.list.needs_adoption());
  CHECK(of.errors.told == texts{"lost in 1"});
  CHECK(of.lists.bytes == 0);
  CHECK(!of.in.is_recording());
  // A recording without commands, too.
  of.in.begin_recording();
  CHECK(!of.in.was_removed());
  CHECK(of.in.finish().status == finish_status::lost);
  CHECK(of.errors.told == texts(2, "lost in 1"));
}

TEST_CASE("[D36] a device may be any timeline, and each recording that begins after its loss is lost") {
  recording_stand<tidemark::queue> at{0};
  block_ledger lists;
  error_log errors;
  std::function<void()> in_sink;
  user_timeline device;
  context_of<user_timeline> in{device, *at.storage, at.storage->open().context, calling_sink{&errors, &in_sink},
                               counting_source{&lists}};
  for (const bool is_lost : {false, true}) {
    if (is_lost) device.signal(UINT64_MAX);
    for (int round = 1; round <= 2; ++round) {
      in.begin_recording();
      in.run([] {});
      CHECK(in.was_removed() == is_lost);
      CHECK(in.finish().status == (is_lost ? finish_status::lost : finish_status::ended));
      CHECK(errors.told == texts(is_lost ? static_cast<std::size_t>(round) : 0, "lost in 1"));
    }
  }
}

TEST_CASE("[D36] the loss of a renamed resource's timeline is found by the calls that use the resource") {
  for (const auto& each : functions) {
    CAPTURE(each.name);
    scene of;
    const bool uses_it = std::string{each.name}.find("map") != std::string::npos ||
                         std::string{each.name}.find("bind") != std::string::npos;
    of.in.begin_recording();
    for (const auto& before : functions) static_cast<void>(before.call(of));
    CHECK(!of.resource.is_lost());
    of.done.poison();
    CHECK(of.resource.is_lost());
    const bool says_lost = each.call(of);
    CHECK(of.in.was_removed() == uses_it);
    if (!uses_it) {
      of.in.abandon();
      continue;
    }
    CHECK(says_lost);
    CHECK(of.in.finish().status == finish_status::lost);
    CHECK(of.errors.told == texts{"lost in 1"});
  }
}

TEST_CASE("[D36] a map that sleeps for a backing finds the loss, and the recording is lost") {
  scene of;
  context_type second{of.device.view(), *of.at.storage, of.at.storage->open().context,
                      calling_sink{&of.errors, &of.in_sink}, counting_source{&of.lists}};
  second.begin_recording();
  for (int i = 0; i < 11; ++i) CHECK(second.try_map(of.resource, map_mode::discard));  // with the current one, all
  of.in.begin_recording();
  CHECK(of.in.try_map(of.resource, map_mode::discard).status == map_status::no_space);
  CHECK(!of.in.was_removed());
  std::thread loser{[&] { of.done.poison(); }};
  CHECK(of.in.map(of.resource, map_mode::discard).status == map_status::lost);
  loser.join();
  CHECK(of.in.finish().status == finish_status::lost);
  second.abandon();
}

// ---- memory and loss ------------------------------------------------------------------------------------------------

TEST_CASE("[D36] no memory and a lost device are told apart, and what came first is reported") {
  for (const bool memory_first : {true, false}) {
    CAPTURE(memory_first);
    scene of;
    of.in.begin_recording();
    of.lists.calls_left = 0;
    if (!memory_first) of.device.poison();
    of.in.run([] {});
    if (memory_first) of.device.poison();
    of.in.run([] {});
    CHECK(of.in.use(of.object).status == (memory_first ? block_use_status::no_memory : block_use_status::lost));
    CHECK(of.in.try_map(of.resource, map_mode::discard).status ==
          (memory_first ? map_status::no_memory : map_status::lost));
    CHECK(of.errors.told == texts{memory_first ? "no_memory in 1" : "lost in 1"});
    CHECK(of.in.finish().status == (memory_first ? finish_status::no_memory : finish_status::lost));
  }
}

TEST_CASE("[D36][D39] a loss at any call costs the recording, leaks nothing, and nothing is executed") {
  constexpr std::size_t rounds = 4;
  for (std::size_t lost_at = 0; lost_at <= rounds * functions.size(); ++lost_at) {
    CAPTURE(lost_at);
    scene of;
    of.in.begin_recording();
    for (std::size_t step = 0; step < rounds * functions.size(); ++step) {
      if (step == lost_at) of.device.poison();
      CHECK(functions[step % functions.size()].call(of) == (step >= lost_at || step % functions.size() < 4));
    }
    if (lost_at == rounds * functions.size()) of.device.poison();
    CHECK(of.in.finish().status == finish_status::lost);
    CHECK(of.errors.told == texts{"lost in 1"});
    CHECK(of.lists.bytes == 0);
    CHECK(of.executed == 0);
    // All backings are back, and the storage's recording is over.
    for (int i = 0; i < 11; ++i) CHECK(of.resource.try_take());
    CHECK(of.at.storage->retire(of.object));
    CHECK(of.at.storage->reclaim() == 1);
  }
}

TEST_CASE("[D36][D41] a recording that is lost can be abandoned, and a list that was finished before is whole") {
  scene of;
  of.in.begin_recording();
  of.in.run([&of] { ++of.executed; });
  auto finished = of.in.finish();
  CHECK(finished);
  of.in.begin_recording();
  of.in.run([&of] { ++of.executed; });
  of.device.poison();
  of.in.run([] {});
  CHECK(of.in.was_removed());
  of.in.abandon();
  CHECK(!of.in.is_recording());
  of.execute(std::move(finished.list));
  CHECK(of.executed == 1);
}

// ---- the sink -------------------------------------------------------------------------------------------------------

TEST_CASE("[D36][D38] a sink abandons a recording that is lost and begins another, and the call still says lost") {
  for (const auto& each : functions) {
    CAPTURE(each.name);
    scene of;
    int told = 0;
    of.in_sink = [&] {
      if (++told > 1) return;
      of.in.abandon();
      of.in.begin_recording();
    };
    of.in.begin_recording();
    of.device.poison();
    CHECK(each.call(of));
    CHECK(told == 1);
    CHECK(of.in.is_recording());
    CHECK(!of.in.was_removed());
    CHECK(of.in.finish().status == finish_status::lost);
    CHECK(told == 2);
  }
}

TEST_CASE("[D36] a sink that finish() tells of the loss finds the recording over, and may begin another one") {
  scene of;
  of.in.begin_recording();
  of.in.run([] {});
  of.device.poison();
  of.in_sink = [&] {
    of.in_sink = nullptr;
    CHECK(!of.in.is_recording());
    CHECK(!of.at.storage->immediate().is_recording());
    of.in.begin_recording();
  };
  CHECK(of.in.finish().status == finish_status::lost);
  CHECK(of.in.is_recording());
  CHECK(of.in.finish().status == finish_status::lost);
  CHECK(of.errors.told == texts(2, "lost in 1"));
}

// ---- the maker ------------------------------------------------------------------------------------------------------

namespace {

/// A maker that says why it creates nothing.
struct telling_maker : test_maker {
  explicit telling_maker(test_driver& driver) noexcept : test_maker{driver}, driver_{&driver} {}
  tidemark::block_create_status create(const tidemark::block_arguments<kind, description>& given) noexcept {
    if (driver_->is_lost) return tidemark::block_create_status::lost;
    return test_maker::create(given) ? tidemark::block_create_status::ready : tidemark::block_create_status::no_memory;
  }

 private:
  test_driver* driver_;
};
static_assert(tidemark::block_maker<telling_maker>);
static_assert(tidemark::block_maker<test_maker>);
using told_storage = tidemark::context_storage<telling_maker, counting_source>;

struct told_stand {
  template <class... Opened>
  auto record_in(Opened&&... opened) {
    return tidemark::command_context<told_storage, tidemark::queue, noting_sink, counting_source>{
        *storage, std::forward<Opened>(opened)..., noting_sink{&errors}, counting_source{&lists}};
  }
  ~told_stand() {
    storage.reset();
    CHECK(lists.bytes == 0);
    CHECK(blocks.bytes == 0);
    CHECK(driver.names.empty());
  }

  test_driver driver;
  block_ledger blocks;
  block_ledger lists;
  error_log errors;
  std::optional<told_storage> storage = told_storage::make(telling_maker{driver}, {.max_contexts = 3}, {&blocks});
};

}  // namespace

TEST_CASE("[D36] a maker tells a lost device from missing memory, and so does the first use of an object") {
  for (const bool is_lost : {false, true}) {
    CAPTURE(is_lost);
    told_stand at;
    REQUIRE(at.storage);
    const auto resource = at.storage->create(test_kind::resource, {});
    const auto view = at.storage->create(test_kind::view, {.deferred = 40}, {resource.object});
    REQUIRE(view);
    auto in = at.record_in(at.storage->open().context);
    in.begin_recording();
    in.run([] {});
    (is_lost ? at.driver.is_lost = true : at.driver.creations_left = 0);
    const auto expected = is_lost ? block_use_status::lost : block_use_status::no_memory;
    CHECK(in.use(view.object).status == expected);
    CHECK(in.use(resource.object).status == expected);
    CHECK(in.was_removed());
    CHECK(at.lists.bytes == 0);
    CHECK(at.errors.told == texts{is_lost ? "lost in 1" : "no_memory in 1"});
    CHECK(in.finish().status == (is_lost ? finish_status::lost : finish_status::no_memory));

    // The storage's own context reports it, too. Once the device is back, a use tries again.
    auto opened = at.storage->open();
    opened.context.begin_recording();
    CHECK(opened.context.use(view.object).status == expected);
    at.driver.is_lost = false;
    at.driver.creations_left = SIZE_MAX;
    CHECK(opened.context.use(view.object));
    opened.context.end_recording();
  }
}

TEST_CASE("[D33][D36] an object that can't be created on a lost device is told to the immediate context's sink") {
  told_stand at;
  REQUIRE(at.storage);
  at.driver.is_lost = true;
  CHECK(at.storage->create(test_kind::resource, {}).status == tidemark::object_create_status::lost);
  {
    auto in = at.record_in();
    CHECK(in.create(test_kind::resource, {}) == object_id{});
    CHECK(at.errors.told == texts{"lost in 0"});
    in.begin_recording();  // which the loss of an object does not remove
    CHECK(in.create(test_kind::resource, {}) == object_id{});
    CHECK(!in.was_removed());
    at.driver.is_lost = false;
    CHECK(!(in.create(test_kind::resource, {}) == object_id{}));
    CHECK(in.finish().status == finish_status::ended);
    CHECK(at.errors.told == texts(2, "lost in 0"));
  }
}

TEST_CASE("[D33][D36] an immediate context that follows its device creates nothing once that is lost") {
  recording_stand<tidemark::queue> at{0};
  block_ledger lists;
  error_log errors;
  std::function<void()> in_sink;
  tidemark::fence device;
  at.immediate.reset();
  {
    context_type in{device.view(), *at.storage, calling_sink{&errors, &in_sink}, counting_source{&lists}};
    CHECK(!(in.create(test_kind::resource, {}) == object_id{}));
    device.poison();
    at.driver.log.take();
    CHECK(in.create(test_kind::resource, {}) == object_id{});
    CHECK(at.driver.log.take().empty());
    CHECK(errors.told == texts{"lost in 0"});
    in.begin_recording();
    in.run([] {});
    CHECK(in.finish().status == finish_status::lost);
    CHECK(errors.told == texts(2, "lost in 0"));
  }
}

TEST_CASE("[D36] the loss that a maker meets while it records in the context is told when it is done") {
  scene of;
  bool was_told_early = false;
  of.at.driver.in_create = [&] {
    of.in.run([] {});
    of.device.poison();
    of.in.run([] {});
    CHECK(of.in.was_removed());
    CHECK(of.lists.bytes == 0);
    was_told_early = !of.errors.told.empty();
  };
  of.in.begin_recording();
  CHECK(of.in.use(of.object).status == block_use_status::lost);
  CHECK_FALSE(was_told_early);
  CHECK(of.errors.told == texts{"lost in 1"});
  CHECK(of.in.finish().status == finish_status::lost);
}
