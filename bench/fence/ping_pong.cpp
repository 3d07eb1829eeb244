// SPDX-License-Identifier: BSL-1.0
//
// Two threads hand a turn back and forth through two fences; nanoseconds are those of a whole round trip. Both threads
// are pinned, to one core or to two. This flatters whoever spins, so spinning and parked forms are told apart:
//
//   .parked      no spin at all: each wait sleeps (max_spin_ns = 0)
//   .default     the adaptive spin that the types have by default
//   .spinning    spins for as long as it may take; two cores only
//
// The peers have one form each: the bare futex and the condition variable sleep at once, the others spin a little.
//
//   ping_pong/<subject>/one_core | two_cores
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <tidemark/tidemark.hpp>

#include "peers/ck_ec.hpp"
#include "peers/condition_variable.hpp"
#include "peers/futex.hpp"
#include "peers/std_atomic.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

constexpr tidemark::fence_options parked{.max_spin_ns = 0};
constexpr tidemark::fence_options spinning{.max_spin_ns = 1'000'000};

template <tidemark::fence_options Options>
using any_fence = tidemark::basic_fence<tidemark::symmetric_platform, Options>;
template <tidemark::fence_options Options>
using progress_fence = tidemark::basic_progress_fence<tidemark::native_platform, Options>;
template <tidemark::fence_options Options>
using symmetric_progress_fence = tidemark::basic_progress_fence<tidemark::symmetric_platform, Options>;

/// The floor of all that spin: a word each way.
class spinning_word {
 public:
  void signal(std::uint64_t value) noexcept { value_.store(value, std::memory_order_release); }
  void wait(std::uint64_t target) const noexcept {
    while (value_.load(std::memory_order_acquire) < target) tidemark::native_platform::pause();
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

template <class Fence>
void ping_pong(benchmark::State& state, int cpu_here, int cpu_there) {
  constexpr std::uint64_t turns_per_sample = 16;
  const bench::escaped<Fence> ping;
  const bench::escaped<Fence> pong;
  std::atomic<bool> over{false};
  bench::thread_group partner;
  const auto answer = [&](std::size_t) {
    for (std::uint64_t turn = 1;; ++turn) {
      static_cast<void>(ping->wait(turn));
      if (over.load(std::memory_order_acquire)) return;
      static_cast<void>(pong->signal(turn));
    }
  };
  partner.start(1, answer, cpu_there);
  std::uint64_t turn = 0;
  {
    const bench::pinned here(cpu_here);
    bench::measure_calls(
        state, [] {},
        [&] {
          for (std::uint64_t last = turn + turns_per_sample; turn != last;) {
            static_cast<void>(ping->signal(++turn));
            static_cast<void>(pong->wait(turn));
          }
        });
  }
  for (const char* name : {"min_ns", "median_ns"}) state.counters[name] = state.counters[name].value / turns_per_sample;
  over.store(true, std::memory_order_release);
  static_cast<void>(ping->signal(turn + 1));
  partner.join();
}

template <class Fence>
void on_two_cores(const std::string& name) {
  if (bench::processors().size() < 2) return;
  bench::row("ping_pong/" + name + "/two_cores", ping_pong<Fence>, bench::processors()[0], bench::processors()[1])
      ->Iterations(150);
}

template <class Fence>
void on_one_and_two_cores(const std::string& name) {
  bench::row("ping_pong/" + name + "/one_core", ping_pong<Fence>, bench::processors()[0], bench::processors()[0])
      ->Iterations(150);
  on_two_cores<Fence>(name);
}

void add_tidemark() {
  on_one_and_two_cores<any_fence<parked>>("fence.parked");
  on_one_and_two_cores<symmetric_progress_fence<parked>>("progress_fence.symmetric.parked");
  on_one_and_two_cores<progress_fence<parked>>("progress_fence.parked");
  on_one_and_two_cores<tidemark::fence>("fence.default");
  on_one_and_two_cores<tidemark::progress_fence>("progress_fence.default");
  on_two_cores<any_fence<spinning>>("fence.spinning");
  on_two_cores<progress_fence<spinning>>("progress_fence.spinning");
}

void add_peers() {
  on_one_and_two_cores<bench::futex_fence>("futex");
  on_one_and_two_cores<bench::condition_variable_fence>("condition_variable");
  on_one_and_two_cores<bench::std_atomic_fence>("std_atomic");
  on_two_cores<spinning_word>("spinning_word");
#ifdef TIDEMARK_HAVE_CK
  on_one_and_two_cores<bench::ck_ec_fence>("ck_ec");
#else
  std::fputs("ck_ec is left out: <ck_ec.h> was not found when this was built (package libck-dev)\n", stderr);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  add_tidemark();
  add_peers();
  return bench::run_all(argc, argv);
}
