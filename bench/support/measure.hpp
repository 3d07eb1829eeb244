// SPDX-License-Identifier: BSL-1.0
//
// Four ways to time a signal.
//
//   measure_blocks   a few cycles: many operations in a row, unrolled, counter in a register, timed in blocks of some
//                    20 microseconds. `min_ns` is the best block, which no interrupt or neighbour has touched.
//   measure_paced    anything with sleepers: before each timed operation all threads are proved asleep again and the
//                    first-level cache is swept, so that each count of waiters starts from the same state.
//   measure_calls    a call that is much longer than reading the clock: one at a time, `median_ns` and `min_ns`.
//   measure_percentiles   the same, and how long the slow ones take: `p50_ns`, `p99_ns`, `p999_ns`.
//
// All give manual time to the benchmark library and the counters named above, per operation and in nanoseconds.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "threads.hpp"

#if defined(__clang__)
#define BENCH_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define BENCH_COMPILER "g++ " __VERSION__
#else
#define BENCH_COMPILER "unknown"
#endif

namespace bench {

using steady = std::chrono::steady_clock;

inline double nanoseconds_between(steady::time_point from, steady::time_point to) {
  return std::chrono::duration<double, std::nano>(to - from).count();
}

inline double median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// `samples` are nanoseconds for `operations` operations each.
inline void report_per_operation(benchmark::State& state, std::vector<double> samples, double operations) {
  if (samples.empty()) return;
  state.counters["min_ns"] = *std::min_element(samples.begin(), samples.end()) / operations;
  state.counters["median_ns"] = median(std::move(samples)) / operations;
}

/// An object at the start of a cache line whose address the optimiser must assume to be known elsewhere.
template <class T>
class escaped {
 public:
  escaped() : object_{std::make_unique<slot>()} {
    T* address = &object_->value;
    benchmark::DoNotOptimize(address);
    benchmark::ClobberMemory();
  }
  T& operator*() const { return object_->value; }
  T* operator->() const { return &object_->value; }

 private:
  struct alignas(128) slot {
    T value;
  };
  std::unique_ptr<slot> object_;
};

/// `blocks` times `Unroll` operations, at most 64, each with the next value. Not inlined, so that it can be found and
/// read in the disassembly under its own name. There is one call of the operation, which is inlined with all that it
/// calls, as in ordinary code, and then the loop is unrolled; faced with 64 calls in a row a compiler begins to spare.
template <std::size_t Unroll, class Operation>
[[gnu::noinline, gnu::flatten]] std::uint64_t run_blocks(Operation operation, std::uint64_t value,
                                                         std::uint64_t blocks) {
  static_assert(Unroll <= 64);
  do {
#if defined(__clang__)
#pragma clang loop unroll(full)
#else
#pragma GCC unroll 64
#endif
    for (std::size_t step = 1; step <= Unroll; ++step) operation(value + step);
    value += Unroll;
  } while (--blocks != 0);
  return value;
}

/// Times `run(value, blocks)`, which does `blocks` times `unroll` operations and returns the last value. `counts()` is
/// asked after each block, and once before, whether what happened since it was last asked is of interest; other blocks
/// are timed again.
template <class Run, class Counts>
void measure_runs_that(benchmark::State& state, std::size_t unroll, const Run& run, Counts counts,
                       std::uint64_t value = 0) {
  constexpr double wanted_ns = 20'000;
  const auto time_once = [&](std::uint64_t blocks) {
    const auto start = steady::now();
    value = run(value, blocks);
    return nanoseconds_between(start, steady::now());
  };
  std::uint64_t blocks = 1;
  for (double took = 0; took < wanted_ns && blocks < (std::uint64_t{1} << 20); blocks *= 2) {
    // The least of some, because one that was interrupted would leave blocks that take no longer than the clock.
    took = time_once(blocks);
    for (int again = 0; again < 4 && took >= wanted_ns / 2; ++again) took = std::min(took, time_once(blocks));
    took *= 2;
  }
  std::vector<double> samples;
  static_cast<void>(counts());
  for (auto _ : state) {
    double took = 0;
    do {
      took = time_once(blocks);
    } while (!counts());
    state.SetIterationTime(took * 1e-9);
    samples.push_back(took);
  }
  const std::uint64_t operations = blocks * unroll;
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(operations));
  report_per_operation(state, std::move(samples), static_cast<double>(operations));
}

template <std::size_t Unroll, class Operation, class Counts>
void measure_blocks_that(benchmark::State& state, Operation operation, Counts counts, std::uint64_t value = 0) {
  const auto run = [&operation](std::uint64_t from, std::uint64_t blocks) {
    return run_blocks<Unroll>(operation, from, blocks);
  };
  measure_runs_that(state, Unroll, run, counts, value);
}

template <std::size_t Unroll = 64, class Operation>
void measure_blocks(benchmark::State& state, Operation operation, std::uint64_t value = 0) {
  measure_blocks_that<Unroll>(state, operation, [] { return true; }, value);
}

/// Measures while another thread does `body()` over and over on another processor. On a busy machine it may not be
/// running: only those blocks count during which it was.
template <std::size_t Unroll, class Body, class Operation>
void measure_beside(benchmark::State& state, const Body& body, const Operation& operation) {
  const std::vector<int>& cpus = processors();
  if (cpus.size() < 2) return state.SkipWithError("one processor only");
  std::atomic<std::uint64_t> turns{0};
  std::atomic<bool> over{false};
  thread_group other;
  other.start(
      1,
      [&](std::size_t) {
        for (std::uint64_t done = 1; !over.load(std::memory_order_relaxed); ++done) {
          body();
          turns.store(done, std::memory_order_relaxed);
        }
      },
      cpus[1]);
  {
    const pinned here(cpus[0]);
    measure_blocks_that<Unroll>(state, operation, [&turns, last = std::uint64_t{0}]() mutable {
      constexpr std::uint64_t least = 8;
      const std::uint64_t before = std::exchange(last, turns.load(std::memory_order_relaxed));
      return last - before >= least;
    });
  }
  over.store(true, std::memory_order_relaxed);
  other.join();
}

/// `Steps` additions, each of which needs the one before: a cycle each. (Adding a constant may cost nothing at all.)
template <unsigned Steps>
[[gnu::always_inline]] inline void idle_cycles(std::uint64_t& chain, std::uint64_t increment) {
  for (unsigned step = 0; step < Steps; ++step) {
    chain += increment;
    asm volatile("" : "+r"(chain));
  }
}

/// Work that no compiler removes: so many multiplications, each of which needs the result of the one before.
inline void multiply(unsigned times) {
  std::uint64_t product = times + 3;
  for (unsigned i = 0; i < times; ++i) {
    product *= 0x9E3779B97F4A7C15;
    benchmark::DoNotOptimize(product);
  }
}

/// Sweeps through twice the first-level data cache.
inline void sweep_cache() {
  static std::array<unsigned char, 128 * 1024> memory{};
  for (std::size_t at = 0; at < memory.size(); at += 64) ++memory[at];
  benchmark::ClobberMemory();
}

/// `call()` is timed alone; `prepare()` runs before it and is not timed.
template <class Prepare, class Call>
void measure_calls(benchmark::State& state, Prepare prepare, Call call) {
  std::vector<double> samples;
  for (auto _ : state) {
    prepare();
    const auto start = steady::now();
    call();
    const double took = nanoseconds_between(start, steady::now());
    state.SetIterationTime(took * 1e-9);
    samples.push_back(took);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
  report_per_operation(state, std::move(samples), 1);
}

/// Times each call alone, and reports percentiles.
template <class Call>
void measure_percentiles(benchmark::State& state, Call call) {
  std::vector<double> samples;
  for (auto _ : state) {
    const auto start = steady::now();
    call();
    const double took = nanoseconds_between(start, steady::now());
    state.SetIterationTime(took * 1e-9);
    samples.push_back(took);
  }
  if (samples.empty()) return;
  std::sort(samples.begin(), samples.end());
  const auto percentile = [&](double share) {
    return samples[static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1))];
  };
  state.counters["p50_ns"] = percentile(0.5);
  state.counters["p99_ns"] = percentile(0.99);
  state.counters["p999_ns"] = percentile(0.999);
}

template <class Call>
void measure_paced(benchmark::State& state, thread_group& waiters, Call call) {
  thread_group& always_there = companion();
  measure_calls(
      state,
      [&] {
        waiters.wait_until_parked();
        always_there.wait_until_parked();
        sweep_cache();
      },
      call);
}

/// Releases whoever still waits for a value up to `last`, on any kind of fence.
template <class Fence>
void release_all(Fence& fence, std::uint64_t last) {
  if constexpr (requires { fence.jump(last); }) {
    fence.jump(last);
  } else {
    static_cast<void>(fence.signal(last));
  }
}

/// Names of rows are `group/subject/variant`; the report script relies on it.
template <class Function, class... Arguments>
benchmark::internal::Benchmark* row(const std::string& name, Function function, Arguments... arguments) {
  return benchmark::RegisterBenchmark(name.c_str(),
                                      [=](benchmark::State& state) {
                                        const watchdog guard(name.c_str());
                                        function(state, arguments...);
                                      })
      ->UseManualTime();
}

/// What every executable does first and last.
inline int run_all(int argc, char** argv) {
  benchmark::AddCustomContext("compiler", BENCH_COMPILER);
#if defined(_LIBCPP_VERSION)
  benchmark::AddCustomContext("standard_library", "libc++");
#else
  benchmark::AddCustomContext("standard_library", "libstdc++");
#endif
#if defined(BENCH_FLAGS)
  benchmark::AddCustomContext("flags", BENCH_FLAGS);
#endif
#if defined(NDEBUG) && defined(__OPTIMIZE__)
  benchmark::AddCustomContext("build", "optimised, no assertions");
#else
  benchmark::AddCustomContext("build", "NOT FOR MEASURING: not optimised, or with assertions");
#endif
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  allow_many_files();
  companion();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace bench
