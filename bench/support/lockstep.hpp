// SPDX-License-Identifier: BSL-1.0
//
// Many threads wait for as many distinct values of one fence, and the values are signalled one by one: the signaller
// goes on only when the thread that it released has said so. Nobody exits before the round is over.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <tidemark/platform/platform.hpp>

#include "../peers/futex.hpp"
#include "measure.hpp"
#include "threads.hpp"

namespace bench {

/// The floor: each target has a futex of its own, so that one store and one system call wake exactly one thread.
template <std::size_t Threads>
class futex_row {
 public:
  void signal(std::uint64_t value) noexcept {
    std::atomic<std::uint32_t>& word = words_[value].open;
    word.store(1, std::memory_order_release);
    futex_wake(word, 1);
  }
  void wait(std::uint64_t target) noexcept {
    std::atomic<std::uint32_t>& word = words_[target].open;
    while (word.load(std::memory_order_acquire) == 0) futex_wait(word, 0);
  }

 private:
  struct alignas(64) line {
    std::atomic<std::uint32_t> open{0};
  };
  line words_[Threads + 1];
};

template <class Fence>
constexpr bool is_counted = requires { Fence::platform::unparks; };

struct tally {
  long unparks = 0;
  long returns = 0;
  long switches = 0;
};

template <class Fence>
tally count_so_far() {
  tally now;
  if constexpr (is_counted<Fence>) {
    now.unparks = Fence::platform::unparks.load(std::memory_order_relaxed);
    now.returns = Fence::platform::returns.load(std::memory_order_relaxed);
  }
  now.switches = count_switches().voluntary;
  return now;
}

/// Spins, because a signaller that slept would add a second context switch to each step; gives way if the released
/// thread was put behind it.
inline void await(const std::atomic<std::uint64_t>& acknowledged, std::uint64_t value) {
  for (unsigned looks = 0; acknowledged.load(std::memory_order_acquire) != value; ++looks) {
    if (looks < 2000) {
      tidemark::native_platform::pause();
    } else {
      std::this_thread::yield();
    }
  }
}

/// One round of `Threads` signals. Targets are dealt out in a fixed disorder, so that neither slots nor wake-ups run in
/// the order of the threads.
template <class Fence, std::size_t Threads>
void one_round(benchmark::State& state, int cpu_of_waiters) {
  static_assert(Threads % 389 != 0 && 389 % Threads != 0, "each target is to be dealt once");
  struct alignas(64) {
    std::atomic<std::uint64_t> value{0};
  } acknowledged;
  const escaped<Fence> fence;
  futex_gate round_is_over;
  thread_group waiters;
  const auto wait_once = [&](std::size_t index) {
    const std::uint64_t target = index * 389 % Threads + 1;
    static_cast<void>(fence->wait(target));
    acknowledged.value.store(target, std::memory_order_release);
    round_is_over.pass();
  };
  waiters.start(Threads, wait_once, cpu_of_waiters);
  waiters.wait_until_parked();

  const tally before = count_so_far<Fence>();
  const auto start = steady::now();
  for (std::uint64_t value = 1; value <= Threads; ++value) {
    static_cast<void>(fence->signal(value));
    await(acknowledged.value, value);
  }
  const auto end = steady::now();
  waiters.wait_until_parked();
  const tally after = count_so_far<Fence>();

  round_is_over.open();
  waiters.join();
  state.SetIterationTime(nanoseconds_between(start, end) * 1e-9);
  if constexpr (is_counted<Fence>) {
    state.counters["unparks"] = static_cast<double>(after.unparks - before.unparks);
    state.counters["returns"] = static_cast<double>(after.returns - before.returns);
  }
  state.counters["switches"] = static_cast<double>(after.switches - before.switches);
  state.counters["median_ns"] = nanoseconds_between(start, end);
  state.counters["min_ns"] = nanoseconds_between(start, end);
}

template <class Fence, std::size_t Threads>
void apart(benchmark::State& state) {
  const pinned here(processors().front());
  for (auto _ : state) one_round<Fence, Threads>(state, processors().back());
}

template <class Fence, std::size_t Threads>
void anywhere(benchmark::State& state) {
  for (auto _ : state) one_round<Fence, Threads>(state, any_processor);
}

}  // namespace bench
