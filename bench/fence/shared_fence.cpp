// SPDX-License-Identifier: BSL-1.0
//
// Fences that processes share, beside fences of one process and beside what processes use today.
//
//   shared_signal/<subject>/register   a signal for which nobody waits; what leads to its words stays in registers
//   shared_signal/<subject>/reloaded   the same, where it is read from the fence each time
//   shared_hot/<subject>/<sleepers>    the same while so many threads sleep in ten processes, none of them due
//   between/<subject>/<where>          a turn to another thread or process and back; counters p50_ns, p99_ns, p999_ns
//   watch/<subject>/<sleepers>         processor time of ten processes whose threads sleep: `busy_percent` of one
//                                      processor for all of them
//   death/<MiB>                        from the kill of a signaller with so much memory: `gone_ns` until it is gone for
//                                      who asks, `lost_ns` until a thread that sleeps has found the loss
//   death.guarded/<MiB>                the same where both processes have guards
//
// In `shared_signal`, .of_one are fences of one process, and words_by_address does what no signal can do without.
//
// In `between`, .default are the types as they come, and .parked ones do not spin. `.threads` are two threads of one
// process with a fence of their own.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/shared_fence.hpp>
#include <utility>
#include <vector>

#include "peers/between_processes.hpp"
#include "support/hand_over.hpp"
#include "support/measure.hpp"
#include "support/processes.hpp"
#include "support/signals.hpp"
#include "support/threads.hpp"

namespace {

using benchmark::State;
using tidemark::shared_rights;
using tidemark::writers;

constexpr tidemark::shared_options many{.waiter_slots = 1024, .attachments = 16};

/// A fence that processes share, by its platform and kind.
template <class Platform, writers Signallers>
struct shared {
  using signaller = tidemark::basic_shared_fence<Platform, Signallers, shared_rights::signal>;
  using waiter = tidemark::basic_shared_fence<Platform, Signallers, shared_rights::wait>;
};

/// Platforms whose waiters do not spin.
struct parked_platform : tidemark::shared_platform {
  static constexpr unsigned spin_looks() noexcept { return 0; }
};
struct parked_symmetric_platform : tidemark::symmetric_shared_platform {
  static constexpr unsigned spin_looks() noexcept { return 0; }
};

using any_of_one = tidemark::basic_fence<tidemark::symmetric_platform>;
using progress_of_one = tidemark::progress_fence;
using symmetric_of_one = tidemark::basic_progress_fence<tidemark::symmetric_platform>;
constexpr tidemark::fence_options parked{.max_spin_ns = 0};

using any_shared = shared<tidemark::symmetric_shared_platform, writers::several>;
using progress_shared = shared<tidemark::shared_platform, writers::one>;
using symmetric_shared = shared<tidemark::symmetric_shared_platform, writers::one>;

template <class Fence>
Fence opened(tidemark::shared_open_result<Fence> result) {
  if (!result) bench::fail("a shared fence was not opened");
  return std::move(result.fence);
}

// ---- signals --------------------------------------------------------------------------------------------------------

/// As a program has it that holds the fence in a local variable: nothing else can change where its words lie.
template <std::size_t Unroll, class Fence>
[[gnu::noinline, gnu::flatten]] std::uint64_t run_in_registers(Fence& from, std::uint64_t value, std::uint64_t blocks) {
  Fence of = std::move(from);
  do {
#if defined(__clang__)
#pragma clang loop unroll(full)
#else
#pragma GCC unroll 64
#endif
    for (std::size_t step = 1; step <= Unroll; ++step) static_cast<void>(of.signal(value + step));
    value += Unroll;
  } while (--blocks != 0);
  from = std::move(of);
  return value;
}

template <class Fence>
void measure_in_registers(State& state, Fence& of) {
  const auto run = [&of](std::uint64_t value, std::uint64_t blocks) { return run_in_registers<64>(of, value, blocks); };
  bench::measure_runs_that(state, 64, run, [] { return true; });
}
template <class Fence>
void measure_reloaded(State& state, Fence& of) {
  bench::measure_blocks(state, [&of](std::uint64_t value) { static_cast<void>(of.signal(value)); });
}

/// A fence of one process lies at an address, which is in a register in both.
template <class Fence>
void signal_of_one(State& state) {
  const bench::escaped<Fence> fence;
  measure_reloaded(state, *fence);
}
template <class Kind>
void signal_in_registers(State& state) {
  auto fence = opened(Kind::signaller::create());
  measure_in_registers(state, fence);
}
template <class Kind>
void signal_reloaded(State& state) {
  auto fence = opened(Kind::signaller::create());
  measure_reloaded(state, fence);
}

/// What a signal can't do without where the address of its words is read each time: two loads, a store and a branch; in
/// the symmetric form an exchange instead of the store.
template <bool IsSymmetric>
struct words_by_address {
  void signal(std::uint64_t value) noexcept {
    words* const at = here;
    if constexpr (IsSymmetric) {
      static_cast<void>(at->value.exchange(value, std::memory_order_seq_cst));
    } else {
      at->value.store(value, std::memory_order_release);
      asm volatile("" : : : "memory");
    }
    if (at->least.load(std::memory_order_relaxed) < value) [[unlikely]]
      ++due;
  }

  struct words {
    alignas(64) std::atomic<std::uint64_t> value{0};
    alignas(64) std::atomic<std::uint64_t> least{UINT64_MAX};
  };
  words own;
  words* here = &own;
  std::uint64_t due = 0;
};

/// Ten processes whose threads sleep for values that never come.
template <class Kind>
class sleeping_processes {
 public:
  sleeping_processes(const typename Kind::signaller& of, std::size_t sleepers) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) bench::fail("pipe");
    for (std::size_t i = 0; sleepers != 0 && i < processes; ++i) {
      children_.emplace_back([&, count = sleepers / processes] {
        auto own = opened(Kind::waiter::open(of.files(), many));
        bench::thread_group threads;
        threads.start(count, [&own](std::size_t index) { static_cast<void>(own.wait(bench::far_away + index)); });
        threads.wait_until_parked();
        if (::write(ends[1], "x", 1) != 1) ::_exit(1);
        ::close(ends[1]);
        threads.join();
      });
    }
    ::close(ends[1]);  // so that no read waits for a process that has failed
    char got = 0;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (::read(ends[0], &got, 1) != 1) bench::fail("a process with sleepers");
    }
    ::close(ends[0]);
  }

  double processor_seconds() const {
    double all = 0;
    for (const bench::child& each : children_) all += each.processor_seconds();
    return all;
  }

 private:
  static constexpr std::size_t processes = 10;
  std::vector<bench::child> children_;
};

template <class Kind>
void hot(State& state, std::size_t sleepers) {
  auto fence = opened(Kind::signaller::create(many));
  const sleeping_processes<Kind> others(fence, sleepers);
  measure_in_registers(state, fence);
}

template <class Kind>
void watch(State& state, std::size_t sleepers) {
  auto fence = opened(Kind::signaller::create(many));
  const sleeping_processes<Kind> others(fence, sleepers);
  double busy = 0;
  for (auto _ : state) {
    const double before = others.processor_seconds();
    const auto start = bench::steady::now();
    std::this_thread::sleep_for(std::chrono::seconds{2});
    const double took = bench::nanoseconds_between(start, bench::steady::now()) * 1e-9;
    busy = (others.processor_seconds() - before) / took;
    state.SetIterationTime(took);
  }
  state.counters["busy_percent"] = busy * 100;
}

// ---- deaths ---------------------------------------------------------------------------------------------------------

/// A process that may signal, and has so many MiB of memory, is killed: the time until it is gone for who asks, and
/// until a thread that sleeps has found that nobody may signal any more.
void death(State& state, std::size_t mebibytes, bool has_guard) {
  const tidemark::shared_options options{.has_guard = has_guard};
  const auto waiter = opened(progress_shared::waiter::create(options));
  std::uint64_t value = 0;
  double gone = 0;
  double lost = 0;
  for (auto _ : state) {
    ++value;
    const bench::child victim([&] {
      auto own = opened(progress_shared::signaller::open(waiter.files(), options));
      const std::vector<char> memory(mebibytes << 20, 1);
      benchmark::DoNotOptimize(memory.data());
      own.signal(value);
      for (;;) ::pause();
    });
    while (waiter.wait(value) != tidemark::wait_status::reached) {  // until that process has opened it
    }
    bench::steady::time_point found{};
    std::thread sleeper{[&] {
      if (waiter.wait(value + 1) != tidemark::wait_status::lost) bench::fail("a killed signaller has signalled");
      found = bench::steady::now();
    }};
    while (waiter.monitored_value() != value) std::this_thread::yield();
    const auto start = bench::steady::now();
    victim.kill();
    while (waiter.signallers() != tidemark::shared_signallers::died) std::this_thread::yield();
    gone = bench::nanoseconds_between(start, bench::steady::now());
    sleeper.join();
    lost = bench::nanoseconds_between(start, found);
    state.SetIterationTime(gone * 1e-9);
  }
  state.counters["gone_ns"] = gone;
  state.counters["lost_ns"] = lost;
}

// ---- turns ----------------------------------------------------------------------------------------------------------

template <class Kind>
class shared_way {
 public:
  shared_way() : maker_{opened(Kind::waiter::create())} {}

  void open_signaller() { signaller_ = opened(Kind::signaller::open(maker_.files())); }
  void open_waiter() { waiter_ = opened(Kind::waiter::open(maker_.files())); }
  void signal(std::uint64_t value) noexcept { static_cast<void>(signaller_.signal(value)); }
  void wait(std::uint64_t target) noexcept {
    while (waiter_.wait(target) != tidemark::wait_status::reached) {  // until the other process has opened it
    }
  }

 private:
  typename Kind::waiter maker_;
  typename Kind::signaller signaller_;
  typename Kind::waiter waiter_;
};

std::vector<bench::setting> places() {
  const std::vector<int>& cpus = bench::processors();
  std::vector<bench::setting> all{{"one_core", cpus.front(), cpus.front()}};
  if (cpus.size() > 1) all.push_back({"two_cores", cpus[0], cpus[1]});
  return all;
}
template <class Way>
void add_processes(const std::string& name) {
  for (const bench::setting& where : places())
    bench::row("between/" + name + "/" + where.name, bench::ping_pong_of_processes<Way>, where)->Iterations(4000);
}
template <class Fence>
void add_threads(const std::string& name) {
  for (const bench::setting& where : places())
    bench::row("between/" + name + "/" + where.name, bench::ping_pong<Fence>, where)->Iterations(4000);
}

template <class OfOne, class Kind>
void add_signals(const std::string& name) {
  bench::row("shared_signal/" + name + ".of_one/reloaded", signal_of_one<OfOne>)->Iterations(3000);
  bench::row("shared_signal/" + name + "/register", signal_in_registers<Kind>)->Iterations(3000);
  bench::row("shared_signal/" + name + "/reloaded", signal_reloaded<Kind>)->Iterations(3000);
  for (const std::size_t sleepers : {std::size_t{0}, std::size_t{1000}})
    bench::row("shared_hot/" + name + "/" + std::to_string(sleepers), hot<Kind>, sleepers)->Iterations(3000);
}

}  // namespace

int main(int argc, char** argv) {
  bench::row("shared_signal/words_by_address/reloaded", signal_of_one<words_by_address<false>>)->Iterations(3000);
  bench::row("shared_signal/words_by_address.symmetric/reloaded", signal_of_one<words_by_address<true>>)
      ->Iterations(3000);
  add_signals<progress_of_one, progress_shared>("progress_fence");
  add_signals<symmetric_of_one, symmetric_shared>("progress_fence.symmetric");
  add_signals<any_of_one, any_shared>("fence");
  bench::row("watch/progress_fence/1000", watch<progress_shared>, std::size_t{1000})->Iterations(1);
  bench::row("watch/fence/1000", watch<any_shared>, std::size_t{1000})->Iterations(1);

  for (const std::size_t mebibytes : {1U, 256U, 1024U, 4096U}) {
    for (const bool has_guard : {false, true}) {
      const std::string name = has_guard ? "death.guarded/" : "death/";
      bench::row(name + std::to_string(mebibytes), death, mebibytes, has_guard)->Iterations(1);
    }
  }

  add_processes<shared_way<progress_shared>>("progress_fence.default");
  add_processes<shared_way<symmetric_shared>>("progress_fence.symmetric.default");
  add_processes<shared_way<any_shared>>("fence.default");
  add_threads<progress_of_one>("progress_fence.default.threads");
  add_threads<symmetric_of_one>("progress_fence.symmetric.default.threads");
  add_threads<any_of_one>("fence.default.threads");
  add_processes<shared_way<shared<parked_platform, writers::one>>>("progress_fence.parked");
  add_processes<shared_way<shared<parked_symmetric_platform, writers::one>>>("progress_fence.symmetric.parked");
  add_processes<shared_way<shared<parked_symmetric_platform, writers::several>>>("fence.parked");
  add_threads<tidemark::basic_progress_fence<tidemark::native_platform, parked>>("progress_fence.parked.threads");
  add_processes<bench::shared_futex>("futex");
  add_processes<bench::shared_futex_with_limit>("futex.with_limit");
  if (tidemark::detail::global_barrier::is_available())
    add_processes<bench::shared_futex_with_barrier>("futex.with_barrier");
  add_processes<bench::posix_semaphore>("semaphore");
  add_processes<bench::robust_mutex>("robust_mutex");
  add_processes<bench::event_descriptor>("eventfd");
  add_processes<bench::pipe_way>("pipe");
  return bench::run_all(argc, argv);
}
