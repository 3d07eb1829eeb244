// SPDX-License-Identifier: BSL-1.0
//
// Resources that recordings rename for themselves: what a recording sees, what the thread that submits sees before and
// after it adopts a list, and what becomes of backings whose list is never executed.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/context/command_context.hpp>
#include <tidemark/context/renamed_resource.hpp>
#include <tidemark/engine/engine.hpp>
#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/manual_stop.hpp"
#include "support/recordings.hpp"
#include "support/watchdog.hpp"

using namespace std::chrono_literals;
using namespace testing;
using tidemark::finish_status;
using tidemark::map_mode;
using tidemark::map_status;
using tidemark::rename_options;
using tidemark::wait_status;

namespace {

using stand = recording_stand<tidemark::queue>;
using engine_stand = recording_stand<tidemark::engine_queue>;
using context_type = stand::context_type;
using resource_type = tidemark::renamed_resource<tidemark::fence_view, counting_source>;
using numbers = std::vector<std::uint64_t>;

constexpr auto write_anew = map_mode::discard | map_mode::write;

std::uint64_t number_in(const std::byte* memory) {
  std::uint64_t number = 0;
  std::memcpy(&number, memory, sizeof number);
  return number;
}
void put(std::byte* memory, std::uint64_t number) { std::memcpy(memory, &number, sizeof number); }
void copy_number(std::byte* to, const std::byte* from) { put(to, number_in(from)); }

/// A resource of one number, which is 1 at first, and a queue whose executor is the test's own thread.
struct scene {
  explicit scene(std::size_t max_renames = 0)
      : resource{tidemark::fence_view{done}, {.bytes = 64, .max_renames = max_renames}, counting_source{&ledger}} {
    put(resource.current(), 1);
  }
  ~scene() { done.signal(last); }

  /// Adopts a list, executes it and signals its end.
  void submit(context_type::list_type list) {
    list.adopt(++last);
    execute(std::move(list));
  }
  void execute(context_type::list_type list) {
    CHECK(list.execute_on(queue) == wait_status::reached);
    done.signal(last);
  }
  std::uint64_t now() const { return number_in(resource.current()); }

  std::uint64_t last = 0;
  block_ledger ledger;
  tidemark::fence done;
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
  resource_type resource;
};

/// Records a rename in which the resource gets a number.
void rename_to(context_type& in, resource_type& resource, std::uint64_t number) {
  const auto mapped = in.try_map(resource, write_anew);
  REQUIRE(mapped);
  put(mapped.memory, number);
}
/// Records a command that notes the number of the resource.
void note(context_type& in, resource_type& resource, numbers& seen) {
  in.run([bound = in.bind(resource), &seen] { seen.push_back(number_in(bound.memory())); });
}

}  // namespace

// ---- what a recording may do ----------------------------------------------------------------------------------------

TEST_CASE("[B47] the first map in a recording must be a discard, and each recording begins anew") {
  scene of;
  stand at{2};
  context_type& in = at.deferred[0];
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    in.begin_recording();
    CHECK(in.try_map(of.resource, map_mode::no_overwrite).status == map_status::invalid);
    CHECK(in.map(of.resource, map_mode::no_overwrite | map_mode::write).status == map_status::invalid);
    const auto first = in.try_map(of.resource, map_mode::discard);
    REQUIRE(first);
    const auto same = in.try_map(of.resource, map_mode::no_overwrite | map_mode::write);
    REQUIRE(same);
    CHECK(same.memory == first.memory);
    CHECK(in.try_map(of.resource, map_mode::no_overwrite).memory == first.memory);
    const auto second = in.try_map(of.resource, map_mode::discard);
    REQUIRE(second);
    CHECK(second.memory != first.memory);
    CHECK(in.try_map(of.resource, map_mode::no_overwrite).memory == second.memory);
    CHECK(!in.was_removed());
    of.submit(in.finish().list);
  }
  // What one recording has discarded, another one has not.
  at.deferred[0].begin_recording();
  at.deferred[1].begin_recording();
  CHECK(at.deferred[0].try_map(of.resource, map_mode::discard));
  CHECK(at.deferred[1].try_map(of.resource, map_mode::no_overwrite).status == map_status::invalid);
}

TEST_CASE("[B47] a recording that only binds a resource must discard it before it maps it") {
  scene of;
  stand at;
  context_type& in = at.deferred[0];
  in.begin_recording();
  CHECK(in.bind(of.resource));
  CHECK(in.try_map(of.resource, map_mode::no_overwrite).status == map_status::invalid);
  CHECK(of.resource.backings() == 1);
}

TEST_CASE("[B13][B47] a recording can't read, and invalid modes change nothing") {
  scene of;
  stand at;
  context_type& in = at.deferred[0];
  in.begin_recording();
  using enum map_mode;
  for (const map_mode mode : {read, write, read | write, read | do_not_wait, discard | do_not_wait,
                              no_overwrite | do_not_wait, discard | no_overwrite, discard | read, map_mode{}}) {
    CHECK(in.try_map(of.resource, mode).status == map_status::invalid);
    CHECK(in.map(of.resource, mode).status == map_status::invalid);
    CHECK(in.map_for(of.resource, mode, 1s).status == map_status::invalid);
  }
  CHECK(of.resource.backings() == 1);
  CHECK(at.lists[0]->calls == 0);
}

// ---- adoption -------------------------------------------------------------------------------------------------------

TEST_CASE("[B47] the thread that submits sees nothing of a recording until its list is adopted") {
  scene of;
  stand at;
  context_type& in = at.deferred[0];
  std::byte* const before = of.resource.current();
  in.begin_recording();
  rename_to(in, of.resource, 2);
  CHECK(of.resource.current() == before);
  CHECK(of.now() == 1);
  auto list = std::move(in.finish().list);
  CHECK(list.needs_adoption());
  CHECK(list.size() == 0);
  CHECK(of.resource.current() == before);
  const auto read = of.resource.try_map(map_mode::read);
  REQUIRE(read);
  CHECK(number_in(read.memory) == 1);
  const auto written = of.resource.try_map(map_mode::no_overwrite);
  REQUIRE(written);
  put(written.memory, 11);
  CHECK(of.now() == 11);

  list.adopt(++of.last);
  CHECK(!list.needs_adoption());
  CHECK(of.resource.current() != before);
  CHECK(of.now() == 2);
  CHECK(of.resource.try_map(map_mode::read).status == map_status::busy);  // the list may use it
  CHECK(of.resource.map_for(map_mode::read, 1us).status == map_status::timeout);
  of.execute(std::move(list));
  CHECK(number_in(of.resource.map(map_mode::read).memory) == 2);
}

TEST_CASE("[B47] of several renames in a recording the last one becomes current, and each command sees its own") {
  scene of;
  stand at;
  context_type& in = at.deferred[0];
  numbers seen;
  in.begin_recording();
  note(in, of.resource, seen);  // what is current when the list is adopted
  for (std::uint64_t number = 2; number <= 5; ++number) {
    rename_to(in, of.resource, number);
    note(in, of.resource, seen);
    note(in, of.resource, seen);
  }
  CHECK(of.resource.backings() == 5);
  auto list = std::move(in.finish().list);
  // An earlier list changes what is current.
  put(of.resource.map(write_anew).memory, 10);
  list.adopt(++of.last);
  CHECK(of.now() == 5);
  CHECK(seen.empty());
  // All are in use until the list's end.
  CHECK(of.resource.trim() == 0);
  of.execute(std::move(list));
  CHECK(seen == numbers{10, 2, 2, 3, 3, 4, 4, 5, 5});
  CHECK(of.resource.trim() == 4);
  CHECK(of.now() == 5);
}

TEST_CASE("[B47] the order of adoption decides, not the order of recording") {
  for (const bool swapped : {false, true}) {
    CAPTURE(swapped);
    scene of;
    stand at{2};
    numbers seen;
    at.deferred[0].begin_recording();
    at.deferred[1].begin_recording();
    for (std::size_t i = 0; i < 2; ++i) {
      context_type& in = at.deferred[i];
      note(in, of.resource, seen);
      rename_to(in, of.resource, 20 + i);
      note(in, of.resource, seen);
    }
    auto first = std::move(at.deferred[0].finish().list);
    auto second = std::move(at.deferred[1].finish().list);
    if (swapped) std::swap(first, second);
    first.adopt(1);
    second.adopt(2);
    of.last = 2;
    CHECK(of.now() == (swapped ? 20 : 21));
    CHECK(first.execute_on(of.queue) == wait_status::reached);
    CHECK(second.execute_on(of.queue) == wait_status::reached);
    CHECK(seen == (swapped ? numbers{1, 21, 21, 20} : numbers{1, 20, 20, 21}));
  }
}

TEST_CASE("[B47] a resource that a list only reads is in use until the list's end") {
  scene of;
  stand at;
  context_type& in = at.deferred[0];
  numbers seen;
  in.begin_recording();
  note(in, of.resource, seen);
  auto list = std::move(in.finish().list);
  CHECK(list.needs_adoption());
  list.adopt(++of.last);
  CHECK(of.resource.try_map(map_mode::write).status == map_status::busy);
  std::byte* const read_by_list = of.resource.current();
  // A discard takes another one.
  const auto anew = of.resource.try_map(write_anew);
  REQUIRE(anew);
  CHECK(anew.memory != read_by_list);
  put(anew.memory, 3);
  of.execute(std::move(list));
  CHECK(seen == numbers{1});
  CHECK(of.now() == 3);
}

TEST_CASE("[B47] copies into a resource go to a copy of what is current when the list is adopted") {
  scene of;
  stand at;
  context_type& in = at.deferred[0];
  numbers seen;
  in.begin_recording();
  for (int i = 0; i < 2; ++i) {
    // Only the first one copies; the second one finds that the recording has a backing of its own.
    const auto copied = in.try_bind_for_copy(of.resource, &copy_number);
    REQUIRE(copied);
    in.run([bound = copied.bound, &seen] {
      seen.push_back(number_in(bound.memory()));
      put(bound.memory(), number_in(bound.memory()) + 100);
    });
  }
  CHECK(of.resource.backings() == 2);
  CHECK(in.try_map(of.resource, map_mode::no_overwrite));
  note(in, of.resource, seen);
  auto list = std::move(in.finish().list);
  CHECK(list.size() == 4);
  put(of.resource.map(map_mode::write).memory, 5);  // after the recording
  std::byte* const before = of.resource.current();
  list.adopt(++of.last);
  CHECK(number_in(before) == 5);
  of.execute(std::move(list));
  CHECK(seen == numbers{5, 105, 205});
  CHECK(of.now() == 205);
  CHECK(number_in(before) == 5);
}

TEST_CASE("[B43] a discard by the thread that submits renames only if the current backing is in use") {
  scene of;
  std::byte* const before = of.resource.current();
  CHECK(of.resource.try_map(write_anew).memory == before);
  of.resource.used_until(++of.last);
  of.resource.used_until(0);  // the greatest counts
  const auto other = of.resource.map(write_anew);
  REQUIRE(other);
  CHECK(other.memory != before);
  CHECK(of.resource.current() == other.memory);
  of.done.signal(of.last);
  CHECK(of.resource.try_map(map_mode::discard).memory == other.memory);
  CHECK(of.resource.backings() == 2);
}

TEST_CASE("maps of the thread that submits wait for the values, for a time, or until they are stopped") {
  const watchdog guard{[] { return std::string{"maps of a renamed resource"}; }};
  scene of{1};
  of.resource.used_until(++of.last);
  CHECK(of.resource.map_for(map_mode::read, 1us).status == map_status::timeout);
  CHECK(of.resource.map_until(map_mode::read, std::chrono::steady_clock::now()).status == map_status::timeout);
  CHECK(of.resource.map_for(write_anew, 1us).status == map_status::timeout);
  CHECK(of.resource.try_map(write_anew).status == map_status::busy);
  CHECK(of.resource.map(map_mode::read | map_mode::do_not_wait).status == map_status::busy);
  manual_stop stop;
  stop.request();
  CHECK(of.resource.map(map_mode::write, stop.get_token()).status == map_status::stopped);
  CHECK(of.resource.map(map_mode{}).status == map_status::invalid);
  CHECK(of.resource.map(map_mode::no_overwrite));
  std::thread executor{[&] { of.done.signal(of.last); }};
  CHECK(of.resource.map(map_mode::read));
  executor.join();
  CHECK(of.resource.map_for(write_anew, 1h));
}

TEST_CASE("[B44][B47] a discard by the thread that submits waits for what is current while recordings have the rest") {
  const watchdog guard{[] { return std::string{"a discard beside recordings"}; }};
  scene of{2};
  stand at;
  context_type& in = at.deferred[0];
  in.begin_recording();
  rename_to(in, of.resource, 2);
  std::byte* const before = of.resource.current();
  of.resource.used_until(++of.last);
  CHECK(of.resource.try_map(write_anew).status == map_status::busy);
  CHECK(of.resource.map_for(write_anew, 1us).status == map_status::timeout);
  std::thread executor{[&] { of.done.signal(of.last); }};
  CHECK(of.resource.map(write_anew).memory == before);
  executor.join();
  // It is still the resource's own: the recording waits in vain.
  CHECK(in.try_map(of.resource, write_anew).status == map_status::no_space);
  CHECK(of.resource.map_for(write_anew, 1us).memory == before);

  // What another thread gives back helps, too, and before the value.
  of.resource.used_until(++of.last);
  std::thread gives_up{[&] { in.abandon(); }};
  const auto other = of.resource.map(write_anew);
  gives_up.join();
  REQUIRE(other);
  CHECK(other.memory != before);
  CHECK(of.resource.current() == other.memory);
  CHECK(of.resource.trim() == 0);  // what was current is in use
  of.done.signal(of.last);
  CHECK(of.resource.trim() == 1);
  CHECK(of.resource.current() == other.memory);
}

TEST_CASE("[B12][B44] a source that names work while a discard asks it for a backing is heeded") {
  const watchdog guard{[] { return std::string{"a discard whose source names work"}; }};
  for (const bool adopts : {false, true}) {
    CAPTURE(adopts);
    scene of{3};
    resource_type::taken other;
    if (adopts) {
      other = of.resource.try_take();
      REQUIRE(other);
    }
    std::byte* const before = of.resource.current();
    of.ledger.calls_left = 0;
    of.resource.used_until(of.last = 5);
    // As a source does that submits work when memory is short: the backing is in use for longer than the call had seen.
    std::atomic<bool> was_asked{false};
    of.ledger.in_refusal = [&] {
      if (adopts) {
        of.resource.adopt(other, 100);
      } else {
        of.resource.used_until(100);
      }
      was_asked = true;
      was_asked.notify_one();
    };
    std::thread executor{[&] {
      was_asked.wait(false);
      of.done.signal(5);
    }};
    const auto mapped = of.resource.map_for(write_anew, 20ms);
    executor.join();
    if (adopts) {  // what was current until then is free from 5 on
      CHECK((mapped.status == map_status::timeout || mapped.memory == before));
    } else {
      CHECK(mapped.status == map_status::timeout);
    }
    CHECK(of.ledger.in_refusal == nullptr);
    of.done.signal(of.last = 100);
    CHECK(of.resource.map(write_anew));
  }
}

// ---- lists that are not executed ------------------------------------------------------------------------------------

TEST_CASE("[B47][D37][D41] what is not adopted gives its backings back, and the current one stays") {
  for (int how = 0; how < 5; ++how) {
    CAPTURE(how);
    scene of;
    stand at;
    context_type& in = at.deferred[0];
    numbers seen;
    in.begin_recording();
    note(in, of.resource, seen);
    rename_to(in, of.resource, 2);
    rename_to(in, of.resource, 3);
    note(in, of.resource, seen);
    CHECK(of.resource.backings() == 3);
    CHECK(of.resource.trim() == 0);
    if (how == 0) in.abandon();
    if (how == 1) static_cast<void>(in.reset());
    if (how == 2) {
      at.lists[0]->calls_left = 0;
      while (!in.was_removed()) in.run([] {});
      CHECK(of.resource.trim() == 1);  // at once
      CHECK(in.finish().status == finish_status::no_memory);
    }
    if (how == 3) in.finish().list.clear();
    if (how == 4) in.finish().list.cancel_on(of.queue);
    CHECK(of.resource.trim() == (how == 2 ? 0 : 1));
    CHECK(of.resource.backings() == 2);  // the current one, and the one that was taken last
    CHECK(of.now() == 1);
    CHECK(seen.empty());
    CHECK(of.resource.try_map(map_mode::write));
    CHECK(at.lists[0]->bytes == 0);
  }
}

TEST_CASE("[B47] a list that was adopted and is dropped has its backings in use until its value") {
  scene of;
  stand at;
  context_type& in = at.deferred[0];
  in.begin_recording();
  rename_to(in, of.resource, 2);
  rename_to(in, of.resource, 3);
  auto list = std::move(in.finish().list);
  list.adopt(++of.last);
  list.clear();
  CHECK(of.resource.trim() == 1);  // what was current, and is not in use
  CHECK(of.now() == 3);
  of.done.signal(of.last);
  CHECK(of.resource.trim() == 1);
}

TEST_CASE("[B47][D36][D40] a source that fails at any record costs that recording, its backings and nothing else") {
  std::size_t removals = 0;
  for (std::size_t left = 0;; ++left) {
    CAPTURE(left);
    scene of;
    stand at{2};
    numbers of_failing;
    numbers of_other;
    const auto record = [&](context_type& in, numbers& seen) {
      in.begin_recording();
      for (std::uint64_t number = 2; number < 60; ++number) {
        if (number % 7 == 0) static_cast<void>(in.try_bind_for_copy(of.resource, &copy_number));
        const auto mapped = in.try_map(of.resource, write_anew);
        if (mapped) put(mapped.memory, number);
        CHECK(mapped.status == (in.was_removed() ? map_status::no_memory : map_status::mapped));
        const auto bound = in.bind(of.resource);
        CHECK(static_cast<bool>(bound) == !in.was_removed());
        in.run([bound, &seen] { seen.push_back(number_in(bound.memory())); });
      }
    };
    at.lists[0]->calls_left = left;
    record(at.deferred[0], of_failing);
    record(at.deferred[1], of_other);
    auto failing = at.deferred[0].finish();
    const bool was_removed = failing.status == finish_status::no_memory;
    if (was_removed) {
      ++removals;
      CHECK(at.errors[0]->told == std::vector<std::string>{"no_memory in 1"});
      CHECK(at.lists[0]->bytes == 0);
      CHECK(!failing.list.needs_adoption());
    } else {
      of.submit(std::move(failing.list));
      CHECK(of_failing.size() == 58);
    }
    of.submit(at.deferred[1].finish().list);
    REQUIRE(of_other.size() == 58);
    for (std::size_t number = 2; number < 60; ++number) CHECK(of_other[number - 2] == number);
    CHECK(of.now() == 59);
    of.resource.trim();
    CHECK(of.resource.backings() == 1);
    CHECK(of.ledger.bytes == 64);
    if (!was_removed) break;
  }
  CHECK(removals >= 3);  // one for each block, of which there are fewer where pointers have 32 bits
}

TEST_CASE("[B47] a resource whose source has refused has no backing until one is discarded or adopted") {
  block_ledger ledger;
  tidemark::fence done;
  ledger.calls_left = 0;
  resource_type resource{tidemark::fence_view{done}, {.bytes = 64}, counting_source{&ledger}};
  stand at;
  CHECK(resource.current() == nullptr);
  CHECK(resource.backings() == 0);
  CHECK(resource.try_map(map_mode::read).status == map_status::no_memory);
  CHECK(resource.try_map(map_mode::discard).status == map_status::no_memory);
  context_type& in = at.deferred[0];
  in.begin_recording();
  CHECK(in.try_map(resource, write_anew).status == map_status::no_memory);
  CHECK(!in.was_removed());  // the resource has no memory; the list has
  std::byte* found = nullptr;
  std::byte* found_before = nullptr;
  in.run([bound = in.bind(resource), &found_before] { found_before = bound.memory(); });
  ledger.calls_left = 1;
  CHECK(in.try_map(resource, write_anew));
  in.run([bound = in.bind(resource), &found] { found = bound.memory(); });
  auto list = std::move(in.finish().list);
  list.adopt(1);
  CHECK(resource.current() != nullptr);
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
  CHECK(list.execute_on(queue) == wait_status::reached);
  CHECK(found_before == nullptr);
  CHECK(found == resource.current());
  done.signal(1);
}

// ---- waiting for a backing ------------------------------------------------------------------------------------------

TEST_CASE("[B44][B47] a recording waits while others have all backings, for a time, or until it is stopped") {
  const watchdog guard{[] { return std::string{"recordings that wait for backings"}; }};
  scene of{2};
  stand at{2};
  context_type& in = at.deferred[0];
  context_type& other = at.deferred[1];
  in.begin_recording();
  other.begin_recording();
  rename_to(other, of.resource, 2);
  CHECK(in.try_map(of.resource, write_anew).status == map_status::no_space);
  CHECK(in.map_for(of.resource, write_anew, 1us).status == map_status::timeout);
  CHECK(in.map_until(of.resource, write_anew, std::chrono::steady_clock::now()).status == map_status::timeout);
  CHECK(in.bind_for_copy_for(of.resource, &copy_number, 1us).status == map_status::timeout);
  CHECK(in.bind_for_copy_until(of.resource, &copy_number, std::chrono::steady_clock::now()).status ==
        map_status::timeout);
  manual_stop stop;
  stop.request();
  CHECK(in.map(of.resource, write_anew, stop.get_token()).status == map_status::stopped);
  CHECK(in.bind_for_copy(of.resource, &copy_number, stop.get_token()).status == map_status::stopped);
  CHECK(!in.was_removed());
  std::thread gives_up{[&] { other.abandon(); }};
  CHECK(in.map(of.resource, write_anew));
  gives_up.join();
}

namespace {

/// Hands lists from one thread to another one, in turns that count from 1.
struct list_exchange {
  using list_type = engine_stand::context_type::list_type;

  void put(list_type given, std::uint64_t turn) {
    list.emplace(std::move(given));
    is_there.signal(turn);
    wrong_ends += is_taken.wait(turn) == wait_status::reached ? 0 : 1;
  }
  list_type take(std::uint64_t turn) {
    wrong_ends += is_there.wait(turn) == wait_status::reached ? 0 : 1;
    list_type taken = std::move(*list);
    is_taken.signal(turn);
    return taken;
  }

  tidemark::fence is_there;
  tidemark::fence is_taken;
  std::optional<list_type> list;
  std::atomic<int> wrong_ends{0};  // of waits
};

}  // namespace

TEST_CASE("[B47] threads that record take turns with few backings while another one submits and an engine executes") {
  const watchdog guard{[] { return std::string{"recordings on two threads, and an engine"}; }};
  constexpr std::uint64_t rounds = 200;
  tidemark::engine engine;
  tidemark::engine_queue queue{engine};
  engine_stand at{2};
  tidemark::fence done;
  block_ledger ledger;
  tidemark::renamed_resource<tidemark::fence_view, counting_source> resource{
      tidemark::fence_view{done}, {.bytes = 64, .max_renames = 4}, counting_source{&ledger}};
  put(resource.current(), 0);
  std::array<numbers, 2> seen;
  std::array<list_exchange, 2> handed;
  std::vector<std::thread> recording;
  for (std::size_t which = 0; which < 2; ++which) {
    recording.emplace_back([&, which] {
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        auto& in = at.deferred[which];
        in.begin_recording();
        const auto mapped = in.map(resource, write_anew);
        if (mapped) put(mapped.memory, 1000 * (which + 1) + round);
        in.run([bound = in.bind(resource), &into = seen[which]] { into.push_back(number_in(bound.memory())); });
        handed[which].put(in.finish().list, round);
      }
    });
  }
  std::uint64_t serial = 0;
  std::uint64_t wrong = 0;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    for (std::size_t which = 0; which < 2; ++which) {
      auto list = handed[which].take(round);
      list.adopt(++serial);
      if (number_in(resource.current()) != 1000 * (which + 1) + round) ++wrong;
      list.record_on(queue);
      queue.signal(done, serial);
      CHECK(queue.submit());
    }
  }
  for (std::thread& each : recording) each.join();
  CHECK(queue.drain() == wait_status::reached);
  CHECK(wrong == 0);
  for (std::size_t which = 0; which < 2; ++which) {
    CHECK(handed[which].wrong_ends == 0);
    REQUIRE(seen[which].size() == rounds);
    for (std::size_t round = 1; round <= rounds; ++round) {
      CHECK(seen[which][round - 1] == 1000 * (which + 1) + round);
    }
  }
  CHECK(resource.backings() <= 4);
}

TEST_CASE("[B47] several resources are renamed in one recording, each by itself") {
  scene of;
  stand at;
  std::vector<std::unique_ptr<resource_type>> others;
  for (int i = 0; i < 20; ++i) {
    others.push_back(std::make_unique<resource_type>(tidemark::fence_view{of.done}, rename_options{.bytes = 64},
                                                     counting_source{&of.ledger}));
    put(others.back()->current(), 100);
  }
  context_type& in = at.deferred[0];
  numbers seen;
  in.begin_recording();
  for (std::size_t i = 0; i < 20; i += 2) rename_to(in, *others[i], 200 + i);
  for (const auto& each : others) note(in, *each, seen);
  rename_to(in, of.resource, 2);
  of.submit(in.finish().list);
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(seen[i] == (i % 2 == 0 ? 200 + i : 100));
    CHECK(number_in(others[i]->current()) == seen[i]);
  }
  CHECK(of.now() == 2);
}
