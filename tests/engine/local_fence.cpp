// SPDX-License-Identifier: BSL-1.0
//
// Fences that only queues of engines wait for and signal.
#include <tidemark/engine/local_fence.hpp>
#include <tidemark/engine/unbroken_run.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

#include "support/engines.hpp"
#include "support/loop_kinds.hpp"
#include "support/queues.hpp"

#include <tidemark/hub/hub.hpp>

using namespace testing;
using tidemark::value_storage;
using tidemark::wait_status;

namespace {

template <class Kind>
using queue_of = unstamped_queue<Kind>;
template <class Kind>
using legacy_queue_of = tidemark::basic_legacy_queue<typename Kind::platform, tidemark::no_log_clock>;

// What a thread could do with a fence.
template <class Fence>
concept waits = requires(Fence& fence) { fence.wait(1); } ||
                requires(Fence& fence) { fence.wait_for(1, std::chrono::seconds{1}); } ||
                requires(Fence& fence) { fence.wait_until(1, std::chrono::steady_clock::now()); } ||
                requires(Fence& fence) { fence.wait_until(1, tidemark::no_deadline); };
template <class Fence>
concept looks = requires(Fence& fence) { fence.current_value(); } || requires(Fence& fence) { fence.is_reached(1); } ||
                requires(Fence& fence) { fence.state(); } || requires(Fence& fence) { fence.is_poisoned(); } ||
                requires(Fence& fence) { fence.view(); };
template <class Fence>
concept shows_monitored_value = requires(Fence& fence) { fence.monitored_value(); };
template <class Fence>
concept signals = requires(Fence& fence) { fence.signal(1); } || requires(Fence& fence) { fence.signal_next(); };
template <class Fence>
concept signals_in_steps =
    requires(Fence& fence) { fence.publish(1); } || requires(Fence& fence) { fence.is_due(1); } ||
    requires(Fence& fence) { fence.release_due(); } || requires(Fence& fence) { fence.release_due_after_barrier(); } ||
    requires(Fence& fence) { fence.release_due_after_barrier(1); };
template <class Fence>
concept is_fence =
    requires(Fence& fence) { []<class P, tidemark::fence_options O>(tidemark::basic_fence<P, O>&) {}(fence); };

template <class Queue, class Fence>
concept records = requires(Queue& queue, Fence& fence) {
  queue.wait(fence, 1);
  queue.signal(fence, 1);
};

}  // namespace

TEST_CASE("[A53] a thread can neither wait for a local fence, nor look at its value, nor signal it") {
  using tidemark::fence;
  using tidemark::local_fence;
  using in_device = tidemark::basic_local_fence<tidemark::symmetric_platform, value_storage::caller>;
  static_assert(waits<fence> && !waits<local_fence> && !waits<in_device>);
  static_assert(looks<fence> && !looks<local_fence> && !looks<in_device>);
  static_assert(shows_monitored_value<fence> && !shows_monitored_value<local_fence>);
  static_assert(signals<fence> && !signals<local_fence> && !signals<in_device>);
  static_assert(signals_in_steps<fence> && !signals_in_steps<local_fence> && !signals_in_steps<in_device>);
  static_assert(is_fence<fence> && !is_fence<local_fence>);
  static_assert(!std::is_convertible_v<local_fence&, const fence&>);
  // So no block that follows or signals a timeline takes it, no loop waits for it, and no hub serves it.
  static_assert(!tidemark::timeline<local_fence> && !tidemark::signalled_timeline<local_fence>);
  static_assert(tidemark::notified_fence<fence> && !tidemark::notified_fence<local_fence>);
  static_assert(tidemark::wait_loop::is_awaited<fence> && !tidemark::wait_loop::is_awaited<local_fence>);
  static_assert(std::is_constructible_v<tidemark::awaited, const fence&, std::uint64_t>);
  static_assert(!std::is_constructible_v<tidemark::awaited, const local_fence&, std::uint64_t>);
  CHECK_FALSE(records<tidemark::queue, local_fence>);  // whose executor is a thread of the program
}

TEST_CASE("[A53] queues of engines wait for a local fence and signal it, also in unbroken runs and older ones") {
  using tidemark::engine_queue;
  using tidemark::local_fence;
  CHECK(records<engine_queue, local_fence>);
  CHECK(records<tidemark::legacy_queue, local_fence>);
  CHECK(records<engine_queue, const tidemark::logged_fence<local_fence>>);
  CHECK_FALSE(records<engine_queue, const local_fence>);  // it can be waited for, and not signalled
  static_assert(requires(engine_queue& queue, const local_fence& fence) { queue.wait(fence, 1); });
  static_assert(requires(tidemark::unbroken_run<engine_queue>& run, local_fence& fence) { run.signal(fence, 1); });
}

TEST_CASE_TEMPLATE(
    "queues of an engine wait for a local fence, and its value may lie in memory of a device [A24] [A53]", Kind,
    EVERY_LOOP_KIND) {
  alignas(8) std::uint64_t in_device = 99;
  tidemark::basic_local_fence<typename Kind::platform, value_storage::caller> copied{&in_device, 1};
  stepped<Kind> on;
  queue_of<Kind> waits{on.engine};
  legacy_queue_of<Kind> older{on.engine};
  queue_of<Kind> signals{on.engine};
  int ran = 0;
  const auto fill = [&](auto& queue) {
    queue.wait(copied, 2);
    queue.run([&] { ++ran; });
    REQUIRE(queue.submit());
  };
  fill(waits);
  fill(older);
  on.step();
  CHECK(ran == 0);
  const auto report = on.engine.why_waiting();
  REQUIRE(report.waits.size() == 2);
  CHECK(report.waits[0].current_value == 1);
  signals.signal(copied, 2);
  REQUIRE(signals.submit());
  on.step();
  CHECK(ran == 2);
  CHECK(in_device == 2);
}

TEST_CASE_TEMPLATE("[A53] a signal of a local fence wakes an engine that sleeps, and the greatest value wins", Kind,
                   EVERY_LOOP_KIND) {
  tidemark::basic_local_fence<typename Kind::platform> copied;
  tidemark::basic_engine<typename Kind::platform> near;
  tidemark::basic_engine<typename Kind::platform> far;
  queue_of<Kind> waits{near};
  queue_of<Kind> signals{far};
  std::uint64_t painted = 0;
  for (std::uint64_t round = 1; round <= 500; ++round) {
    waits.wait(copied, 2 * round);
    waits.run([&, round] { CHECK(painted == round); });
    REQUIRE(waits.submit());
    signals.run([&, round] { painted = round; });
    signals.signal(copied, 2 * round);
    signals.signal(copied, 2 * round - 1);  // changes nothing
    REQUIRE(signals.submit());
    REQUIRE(waits.drain() == wait_status::reached);
  }
}

TEST_CASE_TEMPLATE("[A53] a local fence that is lost takes the queues with it that wait for it", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  tidemark::basic_local_fence<typename Kind::platform> copied{3};
  queue_of<Kind> reaches{on.engine};
  queue_of<Kind> waits{on.engine};
  reaches.wait(copied, 3);
  REQUIRE(reaches.submit());
  waits.wait(copied, 4);
  REQUIRE(waits.submit());
  on.step();
  copied.poison();
  on.step();
  CHECK(reaches.drain() == wait_status::reached);
  CHECK(waits.drain() == wait_status::lost);
}

TEST_CASE_TEMPLATE("[A53] waits and signals of a local fence are logged, and their entries may be reserved", Kind,
                   EVERY_LOOP_KIND) {
  stepped<Kind> on;
  tidemark::basic_local_fence<typename Kind::platform> copied;
  const logged_fence logged{&copied, other_id};
  queue_of<Kind> queue{on.engine, {.progress = own_id}};
  auto signals = queue.timeline().signal_log();
  auto waits = queue.timeline().wait_log();
  auto of_signals = queue.timeline().signal_reserver();
  auto of_waits = queue.timeline().wait_reserver();
  queue.signal(logged, 7, of_signals.reserve());
  queue.wait(logged, 7, of_waits.reserve());
  REQUIRE(queue.submit(of_signals.reserve()));
  on.step();
  const auto signalled = read_all(signals);
  REQUIRE(signalled.entries.size() == 2);
  CHECK(signalled.entries[0].fence == other_id);
  CHECK(signalled.entries[0].fence_value == 7);
  CHECK(signalled.entries[1].fence == own_id);
  CHECK(read_all(waits).values() == std::vector<std::uint64_t>{7});
}

TEST_CASE("[A53] the queue that signals a local fence releases its waiters, although its notifier is a hub's") {
  using hub_type = tidemark::basic_hub<tidemark::native_platform>;
  using notified_queue =
      tidemark::basic_engine_queue<tidemark::native_platform, tidemark::no_log_clock, tidemark::hub_notifier<hub_type>>;
  hub_type hub;
  tidemark::engine near{{.threads = 0}};
  tidemark::engine far{{.threads = 1}};
  tidemark::local_fence copied;
  tidemark::engine_queue waits{far};
  notified_queue signals{near};
  REQUIRE(hub.attach(signals.timeline()));
  waits.wait(copied, 1);
  REQUIRE(waits.submit());
  signals.signal(copied, 1);
  REQUIRE(signals.submit());
  while (near.loop().poll() != 0) {
  }
  CHECK(waits.drain() == wait_status::reached);  // nobody runs the hub
}
