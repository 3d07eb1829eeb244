// SPDX-License-Identifier: BSL-1.0
//
// What a waiter pays before it sleeps and after it has given up; and what a pass over the registrations costs.
//
//   register/<subject>/<others>         add and withdraw of a target that lowers the least, `others` being registered
//   register_above/<subject>/<others>   the same for a target above all others
//   release/<subject>/<all>.<due>       one pass that releases those that are due, of so many registrations in all.
//                                       Each has a callable that counts, so no thread is woken. The heap's slots are
//                                       freed by withdraw(), which is not timed; the peer frees its nodes
//   release/nothing/0                   what reading the clock adds to that
//   barrier/<kind>                      what a registration adds in the asymmetric form
//   short_wait/<subject>                a wait of 5 microseconds for a value that never comes, timer slack 1 ns
//
// ck_ec is missing from the last group: its sleeps come in steps that begin at 2 milliseconds.
#include <benchmark/benchmark.h>
#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <thread>
#include <tidemark/tidemark.hpp>
#include <vector>

#include "peers/condition_variable.hpp"
#include "peers/futex.hpp"
#include "peers/locked_callables.hpp"
#include "peers/locked_set.hpp"
#include "support/counting_waker.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using bench::steady;
using benchmark::State;

constexpr std::uint64_t middle = std::uint64_t{1} << 40;

template <class Set>
void add_and_withdraw(State& state, std::size_t others, std::uint64_t target) {
  const bench::escaped<Set> set;
  std::vector<decltype(set->add(middle))> registered;
  registered.reserve(others);
  for (std::size_t index = 0; index < others; ++index) registered.push_back(set->add(middle + index));
  // Not unrolled: a loop costs nothing beside some 100 cycles, and eight copies triple the time of the compiler.
  bench::measure_blocks<1>(state, [&object = *set, target](std::uint64_t) {
    auto ticket = object.add(target);
    static_cast<void>(object.withdraw(ticket));
  });
  for (auto& each : registered) static_cast<void>(set->withdraw(each));
}

template <class Set>
void add_registrations(const std::string& name, std::size_t capacity) {
  constexpr int blocks = 300;
  for (const std::size_t others : {std::size_t{0}, std::size_t{15}, std::size_t{63}, std::size_t{1000}}) {
    if (others >= capacity) continue;
    const std::string variant = name + "/" + std::to_string(others);
    bench::row("register/" + variant, add_and_withdraw<Set>, others, middle - 1)->Iterations(blocks);
    bench::row("register_above/" + variant, add_and_withdraw<Set>, others, middle * 2)->Iterations(blocks);
  }
}

// ---- a pass ---------------------------------------------------------------------------------------------------------

/// Releases `due` of so many registrations, over and over.
template <class Set, class Called>
void release(State& state, std::size_t count, std::size_t due) {
  constexpr bool is_heap = requires(Set& set) { set.pin(); };
  const bench::escaped<Set> set;
  Called called;
  using ticket = decltype(set->add(middle, &called));
  std::vector<ticket> others;
  std::vector<ticket> released;
  const std::size_t step = count / due;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_due = i % step == 0 && i / step < due;
    (is_due ? released : others).push_back(set->add(is_due ? middle : middle + 1 + i, &called));
  }
  std::uint64_t passes = 0;
  const auto free_the_released = [&] {
    if constexpr (is_heap) {
      for (const ticket& each : released) static_cast<void>(set->withdraw(each));
    }
  };
  bench::measure_calls(
      state,
      [&] {
        if (passes++ == 0) return;
        free_the_released();
        for (ticket& each : released) each = set->add(middle, &called);
      },
      [&] { benchmark::DoNotOptimize(set->release_due(middle)); });
  free_the_released();
  for (const ticket& each : others) static_cast<void>(set->withdraw(each));
  if (called.calls() != passes * due) state.SkipWithError("another number was released");
}

void release_nothing(State& state) {
  bench::measure_calls(state, [] {}, [] { benchmark::ClobberMemory(); });
}

void add_releases() {
  const auto add = [](const std::string& name, void (*function)(State&, std::size_t, std::size_t), std::size_t count) {
    for (const std::size_t due : {1u, 4u, 16u, 64u}) {
      std::string row = name + "/" + std::to_string(count);
      row.append(1, '.').append(std::to_string(due));
      bench::row(row, function, count, due)->Iterations(500);
    }
  };
  add("release/heap", release<tidemark::waiter_heap<64>, bench::counting_waker>, 64);
  add("release/heap", release<tidemark::waiter_heap<1024>, bench::counting_waker>, 1000);
  add("release/locked_map", release<bench::locked_callables, bench::called_back>, 64);
  add("release/locked_map", release<bench::locked_callables, bench::called_back>, 1000);
  bench::row("release/nothing/0", release_nothing)->Iterations(500);
}

// ---- the asymmetric form's barrier ----------------------------------------------------------------------------------

void heavy_barrier(State& state, bool beside_a_running_thread) {
  std::atomic<bool> running{!beside_a_running_thread};
  std::atomic<bool> over{false};
  const bench::pinned here(bench::processors().front());
  bench::thread_group runner;
  const auto run = [&](std::size_t) {
    running.store(true, std::memory_order_relaxed);
    while (!over.load(std::memory_order_relaxed)) {
    }
  };
  if (beside_a_running_thread) runner.start(1, run, bench::processors().back());
  while (!running.load(std::memory_order_relaxed)) std::this_thread::yield();
  bench::measure_blocks<8>(state, [](std::uint64_t) { tidemark::native_platform::heavy_barrier(); });
  over.store(true, std::memory_order_relaxed);
  runner.join();
}

void full_barrier(State& state) {
  std::atomic<std::uint64_t> word{0};
  std::atomic<std::uint64_t>* const address = &word;
  bench::measure_blocks<64>(state, [address](std::uint64_t value) {
    address->store(value, std::memory_order_relaxed);  // clang merges barriers that have nothing between them
    std::atomic_thread_fence(std::memory_order_seq_cst);
  });
}

// ---- waits that time out --------------------------------------------------------------------------------------------

constexpr std::chrono::microseconds patience{5};

/// On CLOCK_MONOTONIC, which is the steady clock here.
[[maybe_unused]] timespec as_timespec(steady::time_point at) {
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
  return {static_cast<std::time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
}

template <class Fence>
void short_wait(State& state) {
  const bench::escaped<Fence> fence;
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  bench::measure_calls(
      state, [] {},
      [&] {
        const steady::time_point until = steady::now() + patience;
        if constexpr (requires { fence->wait_until(middle, until); }) {
          static_cast<void>(fence->wait_until(middle, until));
        } else {
          static_cast<void>(fence->wait_until(middle, as_timespec(until)));
        }
      });
  ::prctl(PR_SET_TIMERSLACK, 0UL, 0UL, 0UL, 0UL);
}

/// The floor: one system call.
class futex_sleeper {
 public:
  bool wait_until(std::uint64_t, const timespec& deadline) noexcept {
    bench::futex_wait(word_, 0, &deadline);
    return false;
  }

 private:
  std::atomic<std::uint32_t> word_{0};
};

void add_short_waits() {
  constexpr int calls = 1000;
  using parked_fence = tidemark::basic_fence<tidemark::symmetric_platform, tidemark::fence_options{.max_spin_ns = 0}>;
  using parked_progress_fence =
      tidemark::basic_progress_fence<tidemark::native_platform, tidemark::fence_options{.max_spin_ns = 0}>;
  bench::row("short_wait/fence.parked", short_wait<parked_fence>)->Iterations(calls);
  bench::row("short_wait/progress_fence.parked", short_wait<parked_progress_fence>)->Iterations(calls);
  bench::row("short_wait/fence.default", short_wait<tidemark::fence>)->Iterations(calls);
  bench::row("short_wait/progress_fence.default", short_wait<tidemark::progress_fence>)->Iterations(calls);
  bench::row("short_wait/futex", short_wait<futex_sleeper>)->Iterations(calls);
  bench::row("short_wait/condition_variable", short_wait<bench::condition_variable_fence>)->Iterations(calls);
}

}  // namespace

int main(int argc, char** argv) {
  add_registrations<tidemark::waiter_heap<16>>("heap_16", 16);
  add_registrations<tidemark::waiter_heap<64>>("heap_64", 64);
  add_registrations<tidemark::waiter_heap<1024>>("heap_1024", 1024);
  add_registrations<bench::locked_set>("locked_set", SIZE_MAX);
  add_releases();
  bench::row("barrier/heavy/alone", heavy_barrier, false)->Iterations(2000);
  if (bench::processors().size() > 1) {
    bench::row("barrier/heavy/beside_a_running_thread", heavy_barrier, true)->Iterations(2000);
  }
  bench::row("barrier/full", full_barrier)->Iterations(300);
  add_short_waits();
  return bench::run_all(argc, argv);
}
