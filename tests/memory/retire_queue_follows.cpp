// SPDX-License-Identifier: BSL-1.0
//
// What a retire queue can follow: queues and timelines of the program's own, each with every kind of limit. And what it
// does when there is no memory.
#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include <tidemark/memory/retire_queue.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/manual_stop.hpp"
#include "support/observed_timeline.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::assume_not_in_use;
using tidemark::destroy_status;
using tidemark::wait_status;

namespace {

bool next_allocation_fails = false;

}  // namespace

// The form that returns nullptr fails when a test says so.
[[gnu::noinline]] void* operator new(std::size_t size) {
  void* const found = std::malloc(size);
  if (found == nullptr) throw std::bad_alloc{};
  return found;
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::exchange(next_allocation_fails, false) ? nullptr : std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* given) noexcept { std::free(given); }
[[gnu::noinline]] void operator delete(void* given, std::size_t) noexcept { std::free(given); }

namespace {

/// A queue of the program's own, whose progress is a timeline of the program's own. It has what a submission queue must
/// have.
class plain_queue {
 public:
  void submit() { ++last_queued_; }
  void complete() { progress_.signal(++finished_); }
  void abort() { progress_.lose(); }
  const observed_timeline& progress() const { return progress_; }

  std::uint64_t last_queued() const { return last_queued_; }
  bool is_finished(std::uint64_t serial) const { return progress_.current_value() >= serial; }
  wait_status wait_finished(std::uint64_t serial) const { return progress_.wait_until(serial, tidemark::no_deadline); }

 private:
  observed_timeline progress_;
  std::uint64_t last_queued_ = 0;
  std::uint64_t finished_ = 0;
};

/// The same with time limits.
class limited_queue : public plain_queue {
 public:
  wait_status wait_finished_until(std::uint64_t serial, tidemark::deadline until) const {
    return progress().wait_until(serial, until);
  }
};

struct object : tidemark::retire_hook<1> {
  int disposed = 0;
};
struct object_of_two : tidemark::retire_hook<2> {
  int disposed = 0;
};
struct count_it {
  template <class Object>
  void operator()(Object& which) const noexcept {
    ++which.disposed;
  }
};

template <class Queue>
concept can_drain_for = requires(tidemark::retire_queue<Queue>& reclaimer) { reclaimer.drain_for(1ms); };
template <class Queue>
concept can_drain_until_stopped =
    requires(tidemark::retire_queue<Queue>& reclaimer, manual_stop& stop) { reclaimer.drain(stop.get_token()); };
template <class Queue>
concept knows_last_serial =
    requires(tidemark::retire_queue<Queue>& reclaimer, object& one) { reclaimer.retire(one, count_it{}); };

static_assert(tidemark::submission_queue<tidemark::queue>);
static_assert(tidemark::submission_queue<plain_queue>);
static_assert(!tidemark::submission_queue<user_timeline>);
static_assert(tidemark::serial_source<user_timeline>);
static_assert(tidemark::serial_source<tidemark::progress_fence_view>);
static_assert(!tidemark::serial_source<int>);

static_assert(knows_last_serial<plain_queue> && !knows_last_serial<user_timeline>);
static_assert(can_drain_for<limited_queue> && can_drain_for<user_timeline> && !can_drain_for<plain_queue>);
static_assert(can_drain_until_stopped<limited_queue> && can_drain_until_stopped<tidemark::fence>);
static_assert(!can_drain_until_stopped<plain_queue>);

struct with_state {
  int state;
  void operator()(object&) const noexcept {}
};
struct for_another {
  void operator()(int&) const noexcept {}
};
static_assert(tidemark::disposer<count_it, object>);
static_assert(!tidemark::disposer<with_state, object>, "only the type is kept");
static_assert(!tidemark::disposer<void (*)(object&), object>, "only the type is kept");
static_assert(!tidemark::disposer<for_another, object>);
static_assert(tidemark::retirable<object, tidemark::retire_hook<1>>);
static_assert(!tidemark::retirable<object, tidemark::retire_hook<2>>);

template <class Tag>
concept made_of_braces = requires(void (*taking)(Tag)) { taking({}); };
static_assert(!made_of_braces<tidemark::assume_not_in_use_t>, "destroy(object, {}) names no token, and waits");

}  // namespace

TYPE_TO_STRING_AS("plain queue", plain_queue);
TYPE_TO_STRING_AS("queue with limits", limited_queue);

// ---- queues of the program's own -----------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[B3][B4][B5] a queue of the program's own, with a timeline of its own, is followed", Queue,
                   plain_queue, limited_queue) {
  Queue queue;
  tidemark::retire_queue reclaimer{queue};
  object one;
  queue.submit();
  CHECK(reclaimer.retire(one, count_it{}));
  queue.submit();
  CHECK(reclaimer.reclaim() == 0);
  queue.complete();
  CHECK(reclaimer.reclaim() == 1);
  CHECK(one.disposed == 1);
  CHECK(reclaimer.retire(one, count_it{}));
  background owner{[&] { CHECK(reclaimer.drain() == wait_status::reached); }};
  queue.progress().await_waits(1);
  queue.complete();
  owner.join();
  CHECK(one.disposed == 2);
}

TEST_CASE("[B7] destroy() ends at its deadline or when it is stopped, and the object is the caller's as before") {
  limited_queue queue;
  tidemark::retire_queue reclaimer{queue};
  object one;
  queue.submit();
  CHECK(reclaimer.destroy_for(one, count_it{}, 1ms).status == destroy_status::timeout);
  CHECK(reclaimer.destroy_for(one, count_it{}, 0s).status == destroy_status::timeout);
  CHECK(reclaimer.destroy_until(one, count_it{}, std::chrono::steady_clock::now()).status == destroy_status::timeout);
  CHECK_FALSE(reclaimer.destroy_until(one, count_it{}, std::chrono::system_clock::now() + 1ms));

  manual_stop stop;
  const unsigned waits = queue.progress().waits();
  background stopped{
      [&] { CHECK(reclaimer.destroy(one, count_it{}, stop.get_token()).status == destroy_status::stopped); }};
  queue.progress().await_waits(waits + 1);
  stop.request();
  stopped.join();

  CHECK(one.disposed == 0);
  queue.complete();
  CHECK(reclaimer.destroy_for(one, count_it{}, 0s).status == destroy_status::destroyed);
  CHECK(one.disposed == 1);
  CHECK(reclaimer.retire(one, count_it{}));  // it is not retired any more
  CHECK(reclaimer.reclaim() == 1);
}

// ---- limits of drain() ---------------------------------------------------------------------------------------------

TEST_CASE("[B5] drain() ends at its deadline or when it is stopped: what is in use stays, all else is disposed of") {
  limited_queue first;
  limited_queue second;
  tidemark::retire_queue reclaimer{first, second};
  std::array<object_of_two, 4> objects;
  first.submit();
  second.submit();
  second.complete();
  const auto disposed = [&] {
    int sum = 0;
    for (const auto& one : objects) sum += one.disposed;
    return sum;
  };
  CHECK(reclaimer.retire(objects[0], count_it{}));
  CHECK(reclaimer.retire(objects[1], count_it{}, {0, 1}));
  CHECK(reclaimer.drain_for(1ms) == wait_status::timeout);
  CHECK(disposed() == 1);
  CHECK(reclaimer.drain_for(0s) == wait_status::timeout);
  CHECK(reclaimer.drain_until(std::chrono::steady_clock::now()) == wait_status::timeout);
  CHECK(reclaimer.drain_until(std::chrono::system_clock::now() + 1ms) == wait_status::timeout);
  CHECK(reclaimer.retire(objects[2], count_it{}));

  manual_stop stop;
  const unsigned waits = first.progress().waits();
  background stopped{[&] { CHECK(reclaimer.drain(stop.get_token()) == wait_status::stopped); }};
  first.progress().await_waits(waits + 1);
  CHECK(reclaimer.retire(objects[3], count_it{}, {0, 0}));
  stop.request();
  stopped.join();
  CHECK(objects[0].disposed == 0);
  CHECK(objects[2].disposed == 0);

  first.complete();
  CHECK(reclaimer.drain_for(24h, stop.get_token()) == wait_status::reached);
  CHECK(disposed() == 4);
  CHECK(reclaimer.drain_for(0s) == wait_status::reached);
}

// ---- timelines -----------------------------------------------------------------------------------------------------

TEST_CASE("a retire queue follows queues, fences, views and timelines of the program's own, and its type is deduced") {
  const tidemark::progress_fence uploads;
  const user_timeline mine;
  plain_queue queue;
  tidemark::retire_queue reclaimer{uploads, uploads.view(), mine, queue};
  static_assert(
      std::is_same_v<
          decltype(reclaimer),
          tidemark::retire_queue<tidemark::progress_fence, tidemark::progress_fence_view, user_timeline, plain_queue>>);
  struct object_of_four : tidemark::retire_hook<4> {
    int disposed = 0;
  } one;
  CHECK(reclaimer.retire(one, count_it{}, {0, 0, 0, 0}));
  CHECK(reclaimer.reclaim() == 1);
  CHECK(one.disposed == 1);
}

TEST_CASE(
    "[B1][B2][B5] with timelines each retire() names the values, and the object is disposed of after the last one") {
  user_timeline copies;
  tidemark::progress_fence draws;
  tidemark::retire_queue reclaimer{copies, draws.view()};
  object_of_two one;
  object_of_two other;
  CHECK(reclaimer.retire(one, count_it{}, {7, 2}));
  CHECK(reclaimer.retire(other, count_it{}, {0, 1}));
  CHECK(reclaimer.reclaim() == 0);
  draws.signal(2);
  CHECK(reclaimer.reclaim() == 1);
  CHECK(other.disposed == 1);
  copies.signal(6);
  CHECK(reclaimer.drain_for(1ms) == wait_status::timeout);
  copies.signal(7);
  CHECK(reclaimer.drain() == wait_status::reached);
  CHECK(one.disposed == 1);
}

TEST_CASE("[A120][B5] once a timeline is lost, drain() goes on, and what it used is disposed of") {
  observed_timeline copies;
  tidemark::retire_queue reclaimer{copies};
  object one;
  CHECK(reclaimer.retire(one, count_it{}, {5}));
  background owner{[&] { CHECK(reclaimer.drain() == wait_status::reached); }};
  copies.await_waits(1);
  copies.lose();
  owner.join();
  CHECK(one.disposed == 1);
}

TEST_CASE("[B5] the destructor waits for a timeline of the program's own") {
  observed_timeline copies;
  object one;
  background owner{[&] {
    tidemark::retire_queue reclaimer{copies};
    CHECK(reclaimer.retire(one, count_it{}, {5}));
  }};
  copies.await_waits(1);
  copies.signal(5);
  owner.join();
  CHECK(one.disposed == 1);
}

// ---- objects -------------------------------------------------------------------------------------------------------

TEST_CASE("a hook may be a member: the disposer computes where the object is") {
  struct mesh {
    int disposed = 0;
    tidemark::retire_hook<1> hook;
  };
  struct dispose_mesh {
    void operator()(tidemark::retire_hook<1>& hook) const noexcept {
      auto* const address = reinterpret_cast<std::byte*>(&hook) - offsetof(mesh, hook);
      ++reinterpret_cast<mesh*>(address)->disposed;
    }
  };
  static_assert(std::is_standard_layout_v<mesh>, "or offsetof is not portable");
  user_timeline copies;
  tidemark::retire_queue reclaimer{copies};
  mesh one;
  CHECK(reclaimer.retire(one.hook, dispose_mesh{}, {1}));
  CHECK(reclaimer.reclaim() == 0);
  copies.signal(1);
  CHECK(reclaimer.reclaim() == 1);
  CHECK(one.disposed == 1);
}

TEST_CASE("[B6][B7] an object without a hook can be disposed of at once, or waited for, by any callable") {
  plain_queue queue;
  tidemark::retire_queue reclaimer{queue};
  int one = 0;
  const auto add = [by = 2](int& which) { which += by; };
  CHECK(reclaimer.destroy(one, add, assume_not_in_use));
  CHECK(reclaimer.destroy(one, add));
  CHECK(one == 4);
}

TEST_CASE("[B6][B7] with timelines, too, there are all four forms, and each that waits names the values") {
  user_timeline copies;
  tidemark::progress_fence draws;
  tidemark::retire_queue reclaimer{copies, draws.view()};
  object_of_two later;
  object_of_two assumed;
  int one = 0;
  int calls = 0;
  const auto add = [by = 2](int& which) { which += by; };
  CHECK(reclaimer.retire(later, count_it{}, {1, 2}));
  CHECK(reclaimer.retire(assumed, count_it{}, assume_not_in_use));
  CHECK(reclaimer.retire_call([&] { ++calls; }, {1, 2}));
  CHECK(reclaimer.destroy(one, add, assume_not_in_use));
  CHECK(one == 2);
  CHECK(reclaimer.reclaim() == 1);
  CHECK(assumed.disposed == 1);
  CHECK(reclaimer.destroy_for(one, add, {1, 2}, 0s).status == destroy_status::timeout);
  copies.signal(1);
  CHECK(reclaimer.destroy_for(one, add, {1, 2}, 0s).status == destroy_status::timeout);
  CHECK(reclaimer.destroy_until(one, add, {1, 2}, std::chrono::steady_clock::now()).status == destroy_status::timeout);
  CHECK(reclaimer.destroy_for(one, add, {1, 0}, 0s).status == destroy_status::destroyed);
  draws.signal(2);
  CHECK(reclaimer.destroy(one, add, {1, 2}).status == destroy_status::destroyed);
  CHECK(one == 6);
  CHECK(reclaimer.reclaim() == 2);
  CHECK(later.disposed == 1);
  CHECK(calls == 1);
}

TEST_CASE("[A120][B7] destroy() counts a lost timeline as finished, and still waits for the others") {
  observed_timeline copies;
  tidemark::progress_fence draws;
  tidemark::retire_queue reclaimer{copies, draws.view()};
  object_of_two one;
  copies.lose();
  CHECK(reclaimer.destroy_for(one, count_it{}, {5, 1}, 0s).status == destroy_status::timeout);
  draws.signal(1);
  CHECK(reclaimer.destroy(one, count_it{}, {5, 1}));
  CHECK(one.disposed == 1);
}

TEST_CASE("where there is no memory for a callable, it stays the caller's and nothing is retired") {
  plain_queue queue;
  tidemark::retire_queue reclaimer{queue};
  int called = 0;
  auto call = [&called, owned = std::array<int, 3>{1, 2, 3}] { called += owned[2]; };
  next_allocation_fails = true;
  CHECK_FALSE(reclaimer.retire_call(std::move(call)));
  CHECK_FALSE(next_allocation_fails);
  CHECK(reclaimer.reclaim() == 0);
  CHECK(reclaimer.retire_call(call));
  CHECK(reclaimer.reclaim() == 1);
  CHECK(called == 3);
}
