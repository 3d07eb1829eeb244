// SPDX-License-Identifier: BSL-1.0
//
// Fences whose signals are compared with a shadow of the monitored value first: who rings, who interrupts, and that all
// forms of waits take part.
#include <tidemark/engine/shadowed_fence.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <tidemark/fence/wait_many.hpp>
#include <tidemark/hub/hub.hpp>

#include "support/engines.hpp"
#include "support/loop_kinds.hpp"
#include "support/owned_loop.hpp"
#include "support/queues.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::run_status;
using tidemark::wait_status;

namespace {

template <class Kind>
struct device {
  using platform = typename Kind::platform;
  using fence_type = tidemark::basic_shadowed_fence<platform>;

  /// Runs what was posted, and returns how many pieces of work that were.
  std::size_t step() {
    std::size_t ran = 0;
    while (const std::size_t more = coprocessor.poll() + processor.poll()) ran += more;
    return ran;
  }
  /// Returns the monitored value while nobody waits.
  static std::uint64_t idle() { return platform::heavy_barrier_available() ? tidemark::no_waiter : 0; }

  typename Kind::loop coprocessor;
  typename Kind::loop processor;
  fence_type fence{coprocessor, processor};
};

/// A thread that waits for `target`, and sleeps.
template <class Fence>
std::unique_ptr<waiter> sleeper(const Fence& fence, std::uint64_t target) {
  auto made = std::make_unique<waiter>([&fence, target] { return fence.wait(target); });
  REQUIRE(made->falls_asleep());
  return made;
}

/// Waits for `target` in vain, and long enough to register. The shadow stays at `target` - 1.
template <class Fence>
void wait_in_vain(const Fence& fence, std::uint64_t target) {
  for (std::chrono::milliseconds limit{1}; fence.shadow() != target - 1; limit *= 2) {
    REQUIRE(fence.wait_for(target, limit) == wait_status::timeout);
  }
}

void check_counts(const tidemark::shadow_counts& counts, const tidemark::shadow_counts& expected) {
  CHECK(counts.rings == expected.rings);
  CHECK(counts.looks == expected.looks);
  CHECK(counts.interrupts == expected.interrupts);
}

/// Whether the shadow follows the monitored value here: where the system refuses the heavy barrier, both stay 0.
template <class Kind>
bool is_pinned() {
  if (Kind::platform::heavy_barrier_available()) return false;
  MESSAGE("not tested: the system refuses the heavy barrier");
  return true;
}

/// A platform whose heavy barrier is never available.
struct refused_platform : counting_platform<tidemark::native_platform> {
  static bool heavy_barrier() noexcept {
    full_barrier();
    return false;
  }
  static bool heavy_barrier_available() noexcept { return false; }
};

template <class Fence>
concept signals_in_steps = requires(Fence& fence) { fence.publish(1); } || requires(Fence& fence) {
  fence.is_due(1);
} || requires(Fence& fence) { fence.release_due(); } || requires(Fence& fence) { fence.release_due_after_barrier(); };

}  // namespace

TEST_CASE_TEMPLATE("[A125] a signal that nobody waits for rings nobody", Kind, EVERY_LOOP_KIND) {
  if (is_pinned<Kind>()) return;
  device<Kind> gpu;
  CHECK(gpu.fence.shadow() == gpu.idle());
  CHECK(gpu.fence.signal(41));
  CHECK(gpu.fence.current_value() == 41);
  CHECK_FALSE(gpu.fence.signal(41));
  CHECK(gpu.step() == 0);
  check_counts(gpu.fence.counts(), {});
}

TEST_CASE_TEMPLATE("[A30][A125] a signal below the shadow rings nobody, and one above it interrupts", Kind,
                   EVERY_LOOP_KIND) {
  if (is_pinned<Kind>()) return;
  device<Kind> gpu;
  const auto thread = sleeper(gpu.fence, 5);
  CHECK(gpu.fence.shadow() == 4);
  for (std::uint64_t value = 1; value <= 4; ++value) CHECK(gpu.fence.signal(value));
  CHECK(gpu.step() == 0);
  check_counts(gpu.fence.counts(), {});

  CHECK(gpu.fence.signal(5));
  check_counts(gpu.fence.counts(), {.rings = 1});
  CHECK_FALSE(thread->has_returned());
  CHECK(gpu.coprocessor.poll() == 1);
  check_counts(gpu.fence.counts(), {.rings = 1, .looks = 1, .interrupts = 1});
  CHECK(gpu.processor.poll() == 1);
  CHECK(thread->status() == wait_status::reached);
  CHECK(gpu.fence.shadow() == gpu.idle());
}

TEST_CASE_TEMPLATE("[A125] a stale shadow costs a ring, and never an interrupt or a wake-up", Kind, EVERY_LOOP_KIND) {
  if (is_pinned<Kind>()) return;
  device<Kind> gpu;
  wait_in_vain(gpu.fence, 5);
  CHECK(gpu.fence.monitored_value() == gpu.idle());
  CHECK(gpu.fence.signal(5));
  CHECK(gpu.fence.signal(6));
  CHECK(gpu.step() == 1);
  check_counts(gpu.fence.counts(), {.rings = 2, .looks = 1});
  CHECK(gpu.fence.shadow() == gpu.idle());
  CHECK(gpu.fence.signal(7));
  check_counts(gpu.fence.counts(), {.rings = 2, .looks = 1});

  // A waiter that comes after the signal and before the look is released by it.
  wait_in_vain(gpu.fence, 9);
  CHECK(gpu.fence.signal(9));
  const auto thread = sleeper(gpu.fence, 10);
  CHECK(gpu.step() == 1);
  CHECK_FALSE(thread->has_returned());
  CHECK(gpu.fence.shadow() == 9);
  CHECK(gpu.fence.signal(10));
  CHECK(gpu.step() == 2);
  CHECK(thread->status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A125] the processor brings the shadow to the least target that is left", Kind, EVERY_LOOP_KIND) {
  if (is_pinned<Kind>()) return;
  device<Kind> gpu;
  const auto late = sleeper(gpu.fence, 8);
  CHECK(gpu.fence.shadow() == 7);
  const auto early = sleeper(gpu.fence, 3);
  CHECK(gpu.fence.shadow() == 2);
  CHECK(gpu.fence.signal(4));
  CHECK(gpu.step() == 2);
  CHECK(early->status() == wait_status::reached);
  CHECK_FALSE(late->has_returned());
  CHECK(gpu.fence.shadow() == 7);
  CHECK(gpu.fence.signal(7));
  CHECK(gpu.step() == 0);
  CHECK(gpu.fence.signal(9));
  CHECK(gpu.step() == 2);
  CHECK(late->status() == wait_status::reached);
}

TEST_CASE_TEMPLATE("[A120][A125] a loss releases the waiters without the co-processor", Kind, EVERY_LOOP_KIND) {
  device<Kind> gpu;
  const auto thread = sleeper(gpu.fence, 5);
  gpu.fence.poison();
  CHECK(thread->status() == wait_status::lost);
  CHECK(gpu.step() == 0);
}

TEST_CASE_TEMPLATE("[A18][A125] a wait for any of several fences, and work of a loop, lower the shadow, too", Kind,
                   EVERY_LOOP_KIND) {
  if (is_pinned<Kind>()) return;
  device<Kind> gpu;
  typename Kind::fence other;
  const std::vector<typename Kind::awaited> both{{other, 1}, {gpu.fence, 4}};
  waiter any{[&] { return tidemark::wait_any(both).status; }};
  REQUIRE(any.falls_asleep());
  CHECK(gpu.fence.shadow() == 3);
  CHECK(gpu.fence.signal(4));
  CHECK(gpu.step() == 2);
  CHECK(any.status() == wait_status::reached);

  typename Kind::loop loop;
  auto callback = loop.on_reached(gpu.fence, 6, [&] { loop.stop(); });
  background runs{[&] { static_cast<void>(loop.run()); }};
  REQUIRE(runs.falls_asleep());
  CHECK(gpu.fence.shadow() == 5);
  CHECK(gpu.fence.signal(6));
  CHECK(gpu.step() == 2);
  runs.join();
  CHECK(loop.run_for(0s) == run_status::stopped);
}

TEST_CASE_TEMPLATE("[A54][A125] queues of engines wait for it, signal it, and take it as their progress", Kind,
                   EVERY_LOOP_KIND) {
  if (is_pinned<Kind>()) return;
  device<Kind> gpu;
  device<Kind> progress;
  stepped<Kind> draw_engine;
  stepped<Kind> copy_engine;
  int picture = 0;
  int drawn = 0;
  {
    unstamped_queue<Kind> draws{draw_engine.engine};
    tidemark::basic_engine_queue copies{copy_engine.engine, progress.fence};
    draws.wait(gpu.fence, 1);
    draws.run([&] { drawn = picture; });
    REQUIRE(draws.submit());
    background runs{[&] { static_cast<void>(draw_engine.engine.loop().run()); }};
    REQUIRE(runs.falls_asleep());
    CHECK(gpu.fence.shadow() == 0);
    copies.run([&] { picture = 7; });
    copies.signal(gpu.fence, 1);
    REQUIRE(copies.submit());
    copy_engine.step();
    CHECK(gpu.step() == 2);
    CHECK(draws.drain() == wait_status::reached);
    owned_loop(draw_engine.engine).stop();
  }
  CHECK(drawn == 7);
  CHECK(progress.fence.current_value() == 1);
  check_counts(progress.fence.counts(), {});
}

TEST_CASE("[A30][A125] where the system refuses the heavy barrier, each signal rings and interrupts") {
  device<loop_kind<refused_platform>> gpu;
  CHECK(gpu.fence.shadow() == 0);
  CHECK(gpu.fence.signal(1));
  CHECK(gpu.step() == 2);
  const auto thread = sleeper(gpu.fence, 3);
  CHECK(gpu.fence.shadow() == 0);
  CHECK(gpu.fence.signal(2));
  CHECK(gpu.step() == 2);
  CHECK_FALSE(thread->has_returned());
  CHECK(gpu.fence.signal(3));
  CHECK(gpu.step() == 2);
  CHECK(thread->status() == wait_status::reached);
  check_counts(gpu.fence.counts(), {.rings = 3, .looks = 3, .interrupts = 3});
}

TEST_CASE_TEMPLATE("[A125] a fence may go while a ring or an interrupt is posted", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop coprocessor;
  typename Kind::loop processor;
  for (const bool has_looked : {false, true}) {
    tidemark::basic_shadowed_fence<typename Kind::platform> fence{coprocessor, processor};
    const auto thread = sleeper(fence, 1);
    CHECK(fence.signal(1));
    if (has_looked) CHECK(coprocessor.poll() == 1);
    // Released without the loops.
    fence.poison();
    CHECK(thread->status() == wait_status::reached);
  }
  CHECK(coprocessor.poll() + processor.poll() == 0);
}

template <class Fence>
concept has_signal_next = requires(Fence& fence) { fence.signal_next(); };
template <class Fence>
concept reports = requires(Fence& fence) { fence.report_registrations({}); };

TEST_CASE("[A125] a shadowed fence has no steps of a signal, so no hub takes it") {
  static_assert(!signals_in_steps<tidemark::shadowed_fence> && !tidemark::notified_fence<tidemark::shadowed_fence>);
  static_assert(signals_in_steps<tidemark::fence> && tidemark::notified_fence<tidemark::fence>);
  static_assert(!has_signal_next<tidemark::shadowed_fence> && has_signal_next<tidemark::fence>);
  static_assert(!reports<tidemark::shadowed_fence>);
  static_assert(tidemark::signalled_timeline<tidemark::shadowed_fence>);
  CHECK(tidemark::timeline<tidemark::shadowed_fence>);
}

TEST_CASE_TEMPLATE("[A30][A31][A125] threads that wait while others signal miss nothing", Kind, EVERY_LOOP_KIND) {
  device<Kind> gpu;
  constexpr std::uint64_t last = 20'000;
  std::atomic<std::uint64_t> seen{0};
  {
    background coprocessor{[&] { static_cast<void>(gpu.coprocessor.run()); }};
    background processor{[&] { static_cast<void>(gpu.processor.run()); }};
    std::vector<std::unique_ptr<waiter>> threads;
    for (std::uint64_t step : {1U, 3U, 7U}) {
      threads.push_back(std::make_unique<waiter>([&, step] {
        for (std::uint64_t target = step; target < last; target += step) {
          if (gpu.fence.wait(target) != wait_status::reached || gpu.fence.current_value() < target)
            return wait_status::lost;
          seen.store(target);
        }
        return gpu.fence.wait(last);
      }));
    }
    for (std::uint64_t value = 1; value <= last; ++value) {
      gpu.fence.signal(value);
      // Now and then nothing follows before a waiter has come so far, so a wake-up that is lost is noticed.
      if (value % 64 == 0) await([&] { return seen.load() + 7 >= value; });
    }
    for (const auto& thread : threads) CHECK(thread->status() == wait_status::reached);
    gpu.coprocessor.stop();
    gpu.processor.stop();
  }
  gpu.step();
  CHECK(gpu.fence.shadow() <= gpu.fence.monitored_value());
  const tidemark::shadow_counts counts = gpu.fence.counts();
  CHECK(counts.looks <= counts.rings);
  CHECK(counts.interrupts <= counts.looks);
}
