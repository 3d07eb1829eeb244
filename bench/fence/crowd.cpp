// SPDX-License-Identifier: BSL-1.0
//
// Many at once: one signal that releases many threads, and one thread that waits for many timelines.
//
//   release_all/<subject>/<waiters>   the signaller's call, `back_ns`, and the time until all of them run, `all_ns`;
//                                     beside as many bare futex wakes
//   list/<subject>/<any|all>/<n>      a wait for n timelines of which one is signalled, or all, one after the other:
//                                     `register_ns`, what the waiter does before it sleeps, with a withdrawal;
//                                     `wake_ns`, from the first signal until the wait has returned; `median_ns`, their
//                                     sum. The peer has 16 other waiters, as a program has that uses one mutex and one
//                                     condition variable; before it sleeps it only looks.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <string>
#include <tidemark/tidemark.hpp>
#include <vector>

#include "peers/condition_variable.hpp"
#include "peers/futex.hpp"
#include "peers/locked_timelines.hpp"
#include "peers/std_atomic.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using benchmark::State;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// ---- one signal, many threads ---------------------------------------------------------------------------------------

/// The floor: each thread has a futex of its own, and all are woken one after the other.
class bare_wakes {
 public:
  void signal(std::uint64_t) noexcept {
    const std::size_t count = registered_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
      words_[i].open.store(1, std::memory_order_release);
      bench::futex_wake(words_[i].open, 1);
    }
  }
  void wait(std::uint64_t) noexcept {
    std::atomic<std::uint32_t>& word = words_[registered_.fetch_add(1, std::memory_order_acq_rel)].open;
    while (word.load(std::memory_order_acquire) == 0) bench::futex_wait(word, 0);
  }

 private:
  struct alignas(64) line {
    std::atomic<std::uint32_t> open{0};
  };
  std::vector<line> words_ = std::vector<line>(1000);
  std::atomic<std::size_t> registered_{0};
};

template <class Subject>
void release_all(State& state, std::size_t count) {
  std::vector<double> back;
  std::vector<double> all;
  for (auto _ : state) {
    const bench::escaped<Subject> subject;
    std::atomic<std::size_t> running{0};
    std::atomic<bench::steady::time_point> last{};
    bench::futex_gate round_is_over;
    bench::thread_group waiters;
    const auto wait_once = [&](std::size_t) {
      static_cast<void>(subject->wait(1));
      if (running.fetch_add(1, std::memory_order_acq_rel) + 1 == count) last.store(bench::steady::now());
      round_is_over.pass();
    };
    waiters.start(count, wait_once);
    waiters.wait_until_parked();
    const auto start = bench::steady::now();
    static_cast<void>(subject->signal(1));
    const auto returned = bench::steady::now();
    // All that run are asleep again at the gate.
    while (running.load(std::memory_order_acquire) != count) waiters.wait_until_parked();
    waiters.wait_until_parked();
    back.push_back(bench::nanoseconds_between(start, returned));
    all.push_back(bench::nanoseconds_between(start, last.load()));
    round_is_over.open();
    waiters.join();
    state.SetIterationTime(all.back() * 1e-9);
  }
  state.counters["back_ns"] = median(back);
  state.counters["all_ns"] = median(all);
}

// ---- one thread, many timelines -------------------------------------------------------------------------------------

enum class quantifier { any, all };

/// A token that lets a wait register, and stops it before it sleeps.
class stops_before_the_sleep {
 public:
  template <class Callback>
  struct callback_type {
    callback_type(stops_before_the_sleep, const Callback&) noexcept {}
  };
  bool stop_requested() const noexcept { return ++looks_ > 1; }

 private:
  mutable int looks_ = 0;
};

class fences {
 public:
  explicit fences(std::size_t count) : fences_(count) {
    for (const auto& fence : fences_) list_.emplace_back(fence, 1);
  }
  void signal(std::size_t which, std::uint64_t value) { fences_[which].signal(value); }
  void wait(quantifier needed, std::uint64_t target) {
    aim(target);
    if (needed == quantifier::all) {
      static_cast<void>(tidemark::wait_all(list_));
    } else {
      static_cast<void>(tidemark::wait_any(list_));
    }
  }
  void register_only(std::uint64_t target) {
    aim(target);
    if (tidemark::wait_any(list_, stops_before_the_sleep{}) != tidemark::wait_status::stopped) bench::fail("no stop");
  }

 private:
  void aim(std::uint64_t target) {
    for (std::size_t i = 0; i < list_.size(); ++i) list_[i] = {fences_[i], target};
  }

  std::deque<tidemark::basic_progress_fence<tidemark::native_platform, tidemark::fence_options{.max_spin_ns = 0}>>
      fences_;
  std::vector<tidemark::awaited> list_;
};

class locked {
 public:
  explicit locked(std::size_t count) : count_{count}, timelines_{count + 1} {
    others_.start(16, [this](std::size_t) { timelines_.wait(count_, 1); });
    others_.wait_until_parked();
  }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;
  ~locked() {
    timelines_.signal(count_, 1);
    others_.join();
  }
  void signal(std::size_t which, std::uint64_t value) { timelines_.signal(which, value); }
  void wait(quantifier needed, std::uint64_t target) {
    needed == quantifier::all ? timelines_.wait_all(count_, target) : timelines_.wait_any(count_, target);
  }
  void register_only(std::uint64_t target) { benchmark::DoNotOptimize(timelines_.look(count_, target)); }

 private:
  std::size_t count_;
  bench::locked_timelines timelines_;
  bench::thread_group others_;
};

template <class Timelines, quantifier Needed>
void list(State& state, std::size_t count) {
  Timelines timelines(count);
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> returned{0};
  std::atomic<bench::steady::time_point> at{};
  std::atomic<double> registering{0};
  const auto wait_again_and_again = [&](std::size_t) {
    for (std::uint64_t target = 1; !over.load(std::memory_order_acquire); ++target) {
      const auto start = bench::steady::now();
      timelines.register_only(target);
      registering.store(bench::nanoseconds_between(start, bench::steady::now()), std::memory_order_relaxed);
      timelines.wait(Needed, target);
      at.store(bench::steady::now(), std::memory_order_relaxed);
      returned.store(target, std::memory_order_release);
    }
  };
  bench::thread_group waiter;
  waiter.start(1, wait_again_and_again);
  std::vector<double> to_register;
  std::vector<double> to_wake;
  std::uint64_t value = 0;
  const auto signal = [&] {
    ++value;
    for (std::size_t i = Needed == quantifier::all ? 0 : count - 1; i < count; ++i) timelines.signal(i, value);
  };
  for (auto _ : state) {
    waiter.wait_until_parked();
    to_register.push_back(registering.load(std::memory_order_relaxed));
    const auto start = bench::steady::now();
    signal();
    while (returned.load(std::memory_order_acquire) != value) waiter.wait_until_parked();
    to_wake.push_back(bench::nanoseconds_between(start, at.load(std::memory_order_relaxed)));
    state.SetIterationTime(to_wake.back() * 1e-9);
  }
  waiter.wait_until_parked();
  over.store(true, std::memory_order_release);
  signal();
  waiter.join();
  state.counters["register_ns"] = median(to_register);
  state.counters["wake_ns"] = median(to_wake);
  state.counters["median_ns"] = median(to_register) + median(to_wake);
}

template <class Subject>
void add_release_all(const std::string& name) {
  for (const std::size_t count : std::initializer_list<std::size_t>{2, 4, 8, 16, 64, 1000}) {
    bench::row("release_all/" + name + "/" + std::to_string(count), release_all<Subject>, count)
        ->Iterations(count <= 64 ? 15 : 3);
  }
}

template <class Timelines>
void add_list(const std::string& name) {
  for (const std::size_t count : std::initializer_list<std::size_t>{1, 64, 65, 1000}) {
    bench::row("list/" + name + "/any/" + std::to_string(count), list<Timelines, quantifier::any>, count)
        ->Iterations(20);
    bench::row("list/" + name + "/all/" + std::to_string(count), list<Timelines, quantifier::all>, count)
        ->Iterations(count > 100 ? 5 : 20);
  }
}

}  // namespace

int main(int argc, char** argv) {
  add_release_all<bare_wakes>("bare_wakes");
  add_release_all<tidemark::progress_fence>("progress_fence");
  add_release_all<tidemark::fence>("fence");
  add_release_all<bench::condition_variable_fence>("condition_variable");
  add_release_all<bench::std_atomic_fence>("std_atomic");
  add_list<fences>("progress_fence");
  add_list<locked>("condition_variable");
  return bench::run_all(argc, argv);
}
