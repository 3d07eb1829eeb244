// SPDX-License-Identifier: BSL-1.0
//
// What a waiter costs others, and what it costs itself.
//
//   signals_per_wait/<subject>/<load>.<k>   a signaller signals without pause and never looks back; another thread
//                                           waits for each k-th value. Nanoseconds are those of one signal, with what
//                                           the signaller does before it: 20 or 200 multiplications, or 20 and 64
//                                           bytes of payload, which the waiter reads
//   long_waits/<subject>/<length>           waits that take so long; `busy_percent` is the waiter's time on a processor
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/tidemark.hpp>

#include "peers/condition_variable.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using native = tidemark::progress_fence;
using symmetric = tidemark::basic_progress_fence<tidemark::symmetric_platform>;
using parked = tidemark::basic_progress_fence<tidemark::native_platform, tidemark::fence_options{.max_spin_ns = 0}>;

struct load {
  const char* name;
  unsigned multiplications;
  bool has_payload;
};

struct alignas(64) payload {
  std::array<std::byte, 64> bytes;
};

template <class Fence>
void signals_per_wait(benchmark::State& state, load each, std::uint64_t signals_per_wait) {
  constexpr std::size_t payloads = 1024;
  const std::uint64_t signals = std::max<std::uint64_t>(500'000, signals_per_wait);
  const std::uint64_t waits = signals / signals_per_wait;
  std::vector<double> samples;
  for (auto _ : state) {
    const bench::escaped<Fence> fence;
    std::vector<payload> sent(payloads);
    std::atomic<bool> is_there{false};
    bench::thread_group waiter;
    const auto wait_often = [&](std::size_t) {
      is_there.store(true, std::memory_order_release);
      for (std::uint64_t wait = 1; wait <= waits; ++wait) {
        static_cast<void>(fence->wait(wait * signals_per_wait));
        if (each.has_payload) benchmark::DoNotOptimize(sent[wait * signals_per_wait % payloads].bytes[5]);
      }
    };
    waiter.start(1, wait_often, bench::processors()[1]);
    const bench::pinned here(bench::processors()[0]);
    while (!is_there.load(std::memory_order_acquire)) tidemark::native_platform::pause();
    const auto start = bench::steady::now();
    for (std::uint64_t value = 1; value <= signals; ++value) {
      bench::multiply(each.multiplications);
      if (each.has_payload) sent[value % payloads].bytes.fill(static_cast<std::byte>(value));
      static_cast<void>(fence->signal(value));
    }
    const double took = bench::nanoseconds_between(start, bench::steady::now());
    waiter.join();
    state.SetIterationTime(took * 1e-9);
    samples.push_back(took);
  }
  bench::report_per_operation(state, std::move(samples), static_cast<double>(signals));
}

double processor_seconds_of_this_thread() {
  timespec time;
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <class Fence>
void long_waits(benchmark::State& state, std::chrono::microseconds length) {
  const bench::escaped<Fence> fence;
  std::atomic<bool> is_over{false};
  double busy = 0;
  bench::thread_group waiter;
  const auto wait_often = [&](std::size_t) {
    for (std::uint64_t value = 1; !is_over.load(std::memory_order_acquire); ++value)
      static_cast<void>(fence->wait(value));
    busy = processor_seconds_of_this_thread();
  };
  waiter.start(1, wait_often);
  double passed = 0;
  std::uint64_t value = 0;
  for (auto _ : state) {
    const auto start = bench::steady::now();
    std::this_thread::sleep_for(length);
    static_cast<void>(fence->signal(++value));
    const double took = bench::nanoseconds_between(start, bench::steady::now()) * 1e-9;
    state.SetIterationTime(took);
    passed += took;
  }
  is_over.store(true, std::memory_order_release);
  static_cast<void>(fence->signal(++value));
  waiter.join();
  state.counters["busy_percent"] = busy / passed * 100;
}

template <class Fence>
void add(const std::string& name) {
  if (bench::processors().size() < 2) return;
  for (const load& each : {load{"work_20", 20, false}, load{"work_200", 200, false}, load{"payload", 20, true}}) {
    for (const std::uint64_t each_kth : {1ULL, 8ULL, 64ULL, 512ULL, 4096ULL, 1000000ULL}) {
      bench::row("signals_per_wait/" + name + "/" + each.name + "." + std::to_string(each_kth), signals_per_wait<Fence>,
                 each, each_kth)
          ->Iterations(3);
    }
  }
}

template <class Fence>
void add_long_waits(const std::string& name) {
  bench::row("long_waits/" + name + "/1ms", long_waits<Fence>, std::chrono::microseconds{1000})->Iterations(300);
}

}  // namespace

int main(int argc, char** argv) {
  add<native>("progress_fence");
  add<symmetric>("progress_fence.symmetric");
  add<bench::condition_variable_fence>("condition_variable");
  add_long_waits<native>("progress_fence");
  add_long_waits<parked>("progress_fence.parked");
  add_long_waits<bench::condition_variable_fence>("condition_variable");
  return bench::run_all(argc, argv);
}
