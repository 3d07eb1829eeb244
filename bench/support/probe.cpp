// SPDX-License-Identifier: BSL-1.0
//
// Whether the machine is fit for measuring. The report runs this program first, last, and between.
//
//   probe/one_cycle_loop   nanoseconds of one dependent addition: is the core undisturbed?
//   probe/round_trip       a word to the other core and back: does the machine keep both cores close?
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

void one_cycle_loop(benchmark::State& state) {
  bench::measure_blocks<1>(state, [](std::uint64_t value) {
    std::uint64_t chain = value;
    bench::idle_cycles<512>(chain, value);
  });
  for (const char* name : {"min_ns", "median_ns"}) state.counters[name] = state.counters[name].value / 512;
}

constexpr std::uint64_t the_end = UINT64_MAX;

void round_trip(benchmark::State& state) {
  const std::vector<int>& cpus = bench::processors();
  if (cpus.size() < 2) return state.SkipWithError("one processor only");
  struct alignas(128) word {
    std::atomic<std::uint64_t> value{0};
  };
  word there;
  word back;
  bench::thread_group echo;
  echo.start(
      1,
      [&](std::size_t) {
        for (std::uint64_t seen = 0; seen != the_end;) {
          const std::uint64_t next = there.value.load(std::memory_order_acquire);
          if (next == seen) continue;
          seen = next;
          back.value.store(seen, std::memory_order_release);
        }
      },
      cpus[1]);
  {
    const bench::pinned here(cpus[0]);
    bench::measure_blocks<16>(state, [&](std::uint64_t value) {
      there.value.store(value, std::memory_order_release);
      while (back.value.load(std::memory_order_acquire) != value) {
      }
    });
  }
  there.value.store(the_end, std::memory_order_release);
  echo.join();
}

}  // namespace

int main(int argc, char** argv) {
  bench::row("probe/one_cycle_loop", one_cycle_loop)->Iterations(1000);
  bench::row("probe/round_trip", round_trip)->Iterations(1000);
  return bench::run_all(argc, argv);
}
