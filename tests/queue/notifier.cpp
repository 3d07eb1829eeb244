// SPDX-License-Identifier: BSL-1.0
//
// The notifier of a queue: when it is called, what the default one does, and what is no notifier.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>

#include <tidemark/fence/fence.hpp>
#include <tidemark/hub/hub.hpp>
#include <tidemark/queue/notifier.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/queues.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::wait_status;

namespace {

using telling_queue = tidemark::basic_queue<progress, ticking_clock, teller>;

/// Does not say how many it has released.
struct silent_fence : probe {
  void release_due_after_barrier() noexcept {}
  void release_due_after_barrier(std::uint64_t) noexcept {}
};
static_assert(tidemark::notified_fence<probe> && tidemark::notified_fence<progress>);
static_assert(!tidemark::notified_fence<silent_fence>);

}  // namespace

TEST_CASE("[A18] a queue calls its notifier for signals that have a waiter due, and for no others") {
  progress own;
  any_fence fence;
  const auto dog = watch(fence);
  unsigned times = 0;
  std::function<void(fence_id)> told = [&](fence_id) { ++times; };
  telling_queue queue{own, {.progress = own_id}, {&told}};
  const logged_fence logged{&fence, other_id};
  waiter waiting{[&] { return fence.wait(3); }};
  CHECK(waiting.falls_asleep());
  queue.signal(logged, 1);
  queue.signal(logged, 2);
  queue.complete();
  CHECK(times == 0);
  CHECK_FALSE(waiting.has_returned());
  queue.signal(logged, 4);
  CHECK(times == 1);
  CHECK(waiting.status() == wait_status::reached);
  queue.signal(logged, 5);
  CHECK(times == 1);
}

TEST_CASE("a queue without a hub releases the waiters itself, those for its progress too") {
  lone_queue at;
  const auto dog = watch(at.fence);
  waiter for_fence{[&] { return at.fence.wait(2); }};
  waiter for_progress{[&] { return at.own.wait(1); }};
  CHECK(for_fence.falls_asleep());
  CHECK(for_progress.falls_asleep());
  at.queue.signal(at.logged, 2);
  CHECK(for_fence.status() == wait_status::reached);
  at.queue.complete();
  CHECK(for_progress.status() == wait_status::reached);
}

TEST_CASE("a notifier takes a fence that has a waiter due, and does not throw") {
  struct may_throw {
    void operator()(const logged_fence<tidemark::progress_fence>&) const {}
  };
  struct takes_an_id {
    void operator()(fence_id) const noexcept {}
  };
  struct is_told_nothing {
    void operator()() const noexcept {}
  };
  static_assert(tidemark::notifier<tidemark::self_service>);
  static_assert(tidemark::notifier<tidemark::hub_notifier<tidemark::hub>>);
  static_assert(tidemark::notifier<teller, progress>);
  static_assert(!tidemark::notifier<may_throw>);
  static_assert(!tidemark::notifier<takes_an_id>);
  static_assert(!tidemark::notifier<is_told_nothing>);
  static_assert(!tidemark::notifier<int>);
  CHECK(tidemark::notifier<tidemark::self_service, progress>);
}

TEST_CASE("fences can be signalled in steps; a timeline of the program's own and a view can't") {
  static_assert(tidemark::notified_fence<tidemark::fence>);
  static_assert(tidemark::notified_fence<tidemark::progress_fence>);
  static_assert(tidemark::notified_fence<probe>);
  static_assert(!tidemark::notified_fence<user_timeline>);
  static_assert(!tidemark::notified_fence<tidemark::fence_view>);
  CHECK(tidemark::notified_fence<any_fence>);
}
