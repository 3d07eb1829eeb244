// SPDX-License-Identifier: BSL-1.0
//
// fork() in a process that uses fences: what the child may do with its copies of them; see fence_core in fence.hpp.
#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <list>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/signaller_callback.hpp>
#include <tidemark/loop/wait_loop.hpp>

#include "support/child.hpp"
#include "support/kinds.hpp"
#include "support/race.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/threads.hpp"
#include "support/threads_after_fork.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::fence_options;
using tidemark::native_platform;
using tidemark::no_waiter;
using tidemark::wait_status;

namespace {

/// For the child, where doctest does not work: prints what is wrong, and exits with a failure.
void require(bool condition, const char* what) {
  if (condition) return;
  const auto written = write(STDERR_FILENO, what, std::strlen(what));
  _exit(written < 0 ? 2 : 1);
}

/// Forks, runs `body` in the child, and checks that the child has come to its end.
template <class Body>
void check_child(const Body& body) {
  const auto end = run_in_child([&] {
    alarm(60);  // the child's watchdog
    body();
  });
  INFO(end.errors);
  CHECK(end.signal == 0);
  CHECK(end.exit_status == 0);
}

bool child_may_start_threads() {
  if (may_start_threads_after_fork) return true;
  MESSAGE("not tested: threads in the child, since ThreadSanitizer or the emulator starts none after such a fork");
  return false;
}

/// Condition variables do not work in the child of a process in which other threads slept on them.
template <class Kind>
bool sleepers_survive_fork() {
  if (Kind::platform::wakes_without_lock) return true;
  MESSAGE("not tested: this build parks on condition variables");
  return false;
}

template <class Fence>
bool is_empty(const Fence& fence) {
  return !Fence::platform::heavy_barrier_available() || fence.monitored_value() == no_waiter;
}

/// For the child: checks that the fence's waits and signals work. `first` is a value that is not reached yet.
template <class Fence>
void require_works(Fence& fence, std::uint64_t first, bool with_threads) {
  require(fence.wait_for(first, 1ms) == wait_status::timeout, "a wait in the child does not time out");
  if (!with_threads) {
    fence.signal(first + 3);
  } else {
    std::atomic<int> reached{0};
    std::list<std::thread> threads;
    for (std::uint64_t target = first; target < first + 4; ++target) {
      threads.emplace_back([&, target] { reached += fence.wait(target) == wait_status::reached ? 1 : 0; });
    }
    for (std::uint64_t value = first; value < first + 4; ++value) fence.signal(value);
    for (auto& thread : threads) thread.join();
    require(reached == 4, "a thread of the child has waited in vain");
  }
  require(fence.current_value() == first + 3, "a signal in the child was lost");
  require(fence.wait(first + 3) == wait_status::reached, "the child does not reach the value that it has signalled");
}

constexpr fence_options four_slots{.capacity = 4, .max_spin_ns = 0, .statistics = true};

}  // namespace

TEST_CASE_TEMPLATE("the child of a fork has a copy of each fence, independent of the parent's", Kind, EVERY_KIND) {
  typename Kind::template plain<> fence{5};
  fence.signal(6);
  check_child([&] {
    require(fence.current_value() == 6, "the child has another value");
    require_works(fence, 7, true);
    require(is_empty(fence), "a waiter is left in the child's copy");
  });
  CHECK(fence.current_value() == 6);  // the child has changed only its copy
  check_child([&] {
    fence.poison();
    require(fence.wait(7) == wait_status::lost, "the child's copy is not poisoned");
  });
  CHECK_FALSE(fence.is_poisoned());
}

TEST_CASE("[A34] the heavy barrier works in the child of a fork, and in its child, as it does in the parent") {
  if (!native_platform::heavy_barrier_available()) {
    MESSAGE("not tested: the system refuses membarrier");
    return;
  }
  CHECK(native_platform::heavy_barrier());
  check_child([] {
    require(native_platform::heavy_barrier_available(), "the child has no heavy barrier");
    require(native_platform::heavy_barrier(), "the heavy barrier fails in the child");
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(native_platform::heavy_barrier() ? 0 : 1);
    int status = -1;
    require(waitpid(grandchild, &status, 0) == grandchild && status == 0, "the heavy barrier fails in its child");
  });
}

TEST_CASE_TEMPLATE("the parent's waiters stay registered in the child until a signal, and keep their slots", Kind,
                   fence_symmetric, fence_native, progress_native, progress_symmetric) {
  if (!sleepers_survive_fork<Kind>()) return;
  typename Kind::template fence<four_slots> fence;
  const auto dog = watch(fence);
  const bool with_threads = child_may_start_threads();
  waiter low{[&] { return fence.wait(2); }};
  waiter high{[&] { return fence.wait(9); }};
  CHECK(low.falls_asleep());
  CHECK(high.falls_asleep());
  check_child([&] {
    if (Kind::platform::heavy_barrier_available()) {
      require(fence.monitored_value() == 1, "the parent's waiters are not registered in the child");
      fence.signal(2);
      require(fence.monitored_value() == 8, "a signal in the child has not released the due waiter");
      require(fence.notify_count() == 1, "a signal in the child has not taken the slow path");
    }
    require_works(fence, 3, with_threads);
    fence.signal(9);
    require(is_empty(fence), "a waiter is left in the child's copy");
    require_works(fence, 10, with_threads);  // 4 waiters and 2 slots: some are in the overflow lane
    require(is_empty(fence), "a waiter is left in the overflow lane of the child's copy");
  });
  CHECK(fence.current_value() == 0);
  CHECK_FALSE(low.has_returned());
  CHECK_FALSE(high.has_returned());
  fence.signal(2);
  CHECK(low.status() == wait_status::reached);
  fence.signal(9);
  CHECK(high.status() == wait_status::reached);
  CHECK(is_empty(fence));
}

TEST_CASE_TEMPLATE("if waiters of the parent share the overflow lane, a signal in the child releases them once", Kind,
                   fence_symmetric, fence_native, progress_native, progress_symmetric) {
  if (!sleepers_survive_fork<Kind>()) return;
  constexpr fence_options one_slot{
      .capacity = 1, .growth = tidemark::heap_growth::forbidden, .max_spin_ns = 0, .statistics = true};
  typename Kind::template fence<one_slot> fence;
  const auto dog = watch(fence);
  const bool with_threads = child_may_start_threads();
  waiter in_slot{[&] { return fence.wait(20); }};
  CHECK(in_slot.falls_asleep());
  waiter in_lane{[&] { return fence.wait(20); }};
  CHECK(in_lane.falls_asleep());
  check_child([&] {
    const auto before = fence.notify_count();
    fence.signal(20);
    fence.signal(21);
    require(fence.notify_count() == before + 1, "a signal in the child was due for waiters that are gone");
    require(is_empty(fence), "a waiter is left in the overflow lane of the child's copy");
    require_works(fence, 22, with_threads);
  });
  fence.signal(20);
  CHECK(in_slot.status() == wait_status::reached);
  CHECK(in_lane.status() == wait_status::reached);
  CHECK(is_empty(fence));
}

TEST_CASE(
    "what waits on a loop of the parent, or for its signallers, goes on after a fork, whatever the child signals") {
  tidemark::wait_loop loop;
  tidemark::callback_fence fence;
  int runs = 0;
  auto on_loop = loop.on_reached(fence, 1, [&] { ++runs; });
  auto in_signaller = tidemark::call_in_signaller(fence, 2, [&] { runs += 10; });
  for (const bool has_descriptor : {false, true}) {
    if (has_descriptor) CHECK(loop.descriptor() >= 0);
    CHECK(loop.poll() == 0);
    const child_end ended = run_in_child([&] {
      // Its own copy, so neither of the two is told.
      fence.signal(1);
    });
    CHECK(ended.exit_status == 0);
    CHECK(loop.poll() == 0);
  }
  CHECK(runs == 0);
  fence.signal(2);
  CHECK(runs == 10);
  CHECK(loop.poll() == 1);
  CHECK(runs == 11);
}

TEST_CASE_TEMPLATE("a fork at any moment of other threads' signals and waits leaves a fence that works", Kind,
                   fence_symmetric, fence_native, progress_native, progress_symmetric) {
  using fence_type = typename Kind::template plain<four_slots>;
  if (!sleepers_survive_fork<Kind>()) return;
  if (!fence_type::platform::double_word::is_always_lock_free) {
    MESSAGE("not tested: the double word of this build is not lock-free, so a fork may leave its lock taken");
    return;
  }
  fence_type fence;
  const auto seed = fresh_seed();
  const watchdog dog{[&] { return state_of(fence); }};
  const bool with_threads = child_may_start_threads();
  std::atomic<bool> is_over{false};
  std::atomic<int> running{0};
  std::list<std::thread> threads;
  threads.emplace_back([&] {
    random_numbers random{seed, 1};
    ++running;
    while (!is_over) {
      fence.signal_next();
      dawdle(random);
    }
  });
  for (std::uint64_t stream = 2; stream < 6; ++stream) {
    threads.emplace_back([&, stream] {
      random_numbers random{seed, stream};
      ++running;
      while (fence.wait_for(fence.current_value() + 1 + random.below(3), 100us) != wait_status::lost) {
        if (is_over) return;
      }
    });
  }
  // A sanitizer holds locks of its own while a thread begins; the child would find them taken.
  await([&] { return running == 5; });
  random_numbers random{seed};
  repetitions forks{100};
  while (forks.goes_on()) {
    dawdle(random);
    check_child([&] { require_works(fence, fence.current_value() + 1, with_threads); });
  }
  is_over = true;
  for (auto& thread : threads) thread.join();
  CHECK(is_empty(fence));
  MESSAGE(forks.done() << " forks");
}
