// SPDX-License-Identifier: BSL-1.0
//
// Waits without a thread for each.
//
//   beside/<fence|progress_fence>/<n>   a signal while a loop sleeps that keeps n callables for values far away
//   callables/<in_order|random>/10000   a signal that is due for 10,000 callables, each for a value of its own: the
//                                       time for one of them, on the thread that runs the loop
//   callables/signaller/10000           10,000 callables that run in the signaller, each for a value of its own: a
//                                       signal with its callable
//   operations/10000                    as callables/in_order, for the operations of senders
//   resume/coroutines/10000             10,000 coroutines, each for a value of its own: a signal, and the loop that
//                                       resumes the coroutine on the same thread
//   resume/signaller/10000              10,000 coroutines, each for a value of its own: a signal that resumes one
//   resume/thread/10000                 a signal that wakes a parked thread, until that has answered: half of it
//   hand_over/<fence|progress_fence>/2  two coroutines of one loop hand a turn back and forth: once
//   uring/<futex|poll>/wake             a signal that is due for a loop whose thread sleeps in an io_uring: the
//                                       signaller's call, `back_ns`, and the time until the callable runs, `runs_ns`
//   uring/<futex|poll>/turn             the same on one thread, which does not sleep: it submits the wait, signals,
//                                       takes the completion, and polls the loop
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <random>
#include <string>
#include <tidemark/loop/loop_uring.hpp>
#include <tidemark/loop/senders.hpp>
#include <tidemark/tidemark.hpp>
#include <utility>
#include <vector>

#include "../../tests/support/uring.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using benchmark::State;
using tidemark::callback_progress_fence;
using tidemark::detached;
using tidemark::fence;
using tidemark::progress_fence;
using tidemark::wait_loop;

constexpr std::uint64_t far_away = std::uint64_t{1} << 40;
constexpr std::size_t many = 10'000;

struct counts {
  std::uint64_t* runs;
  void operator()() const { ++*runs; }
};
using callback = tidemark::basic_callback<tidemark::native_platform, counts>;

template <class Fence>
void beside(State& state, std::size_t registered) {
  const bench::escaped<Fence> subject;
  wait_loop loop;
  std::uint64_t runs = 0;
  std::deque<callback> callbacks;
  for (std::size_t i = 0; i < registered; ++i)
    callbacks.emplace_back(loop, tidemark::awaited(*subject, far_away + i), counts{&runs});
  bench::thread_group runner;
  runner.start(1, [&](std::size_t) { static_cast<void>(loop.run()); });
  runner.wait_until_parked();
  bench::measure_blocks(state, [&](std::uint64_t value) { static_cast<void>(subject->signal(value)); });
  if (runs != 0) bench::fail("a callable ran before its value was there");
  loop.stop();
  runner.join();
}

void callables(State& state, bool is_random) {
  std::vector<std::uint64_t> targets(many);
  std::iota(targets.begin(), targets.end(), 1);
  std::mt19937 random;
  if (is_random) std::shuffle(targets.begin(), targets.end(), random);
  std::vector<double> samples;
  for (auto _ : state) {
    wait_loop loop;
    progress_fence subject;
    std::uint64_t runs = 0;
    std::deque<callback> callbacks;
    for (const std::uint64_t target : targets)
      callbacks.emplace_back(loop, tidemark::awaited(subject, target), counts{&runs});
    subject.signal(many);
    const auto start = bench::steady::now();
    loop.poll();
    samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    state.SetIterationTime(samples.back() * 1e-9);
    if (runs != many) bench::fail("not all callables ran");
  }
  bench::report_per_operation(state, std::move(samples), many);
}

detached wait_once(wait_loop& loop, const progress_fence& subject, std::uint64_t target, std::uint64_t& resumed) {
  static_cast<void>(co_await loop.reached(subject, target));
  ++resumed;
}

void resume_coroutines(State& state) {
  std::vector<double> samples;
  for (auto _ : state) {
    wait_loop loop;
    progress_fence subject;
    std::uint64_t resumed = 0;
    for (std::uint64_t target = 1; target <= many; ++target) wait_once(loop, subject, target, resumed);
    const auto start = bench::steady::now();
    for (std::uint64_t value = 1; value <= many; ++value) {
      subject.signal(value);
      loop.poll();
      if (resumed != value) bench::fail("a coroutine was not resumed");
    }
    samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    state.SetIterationTime(samples.back() * 1e-9);
  }
  bench::report_per_operation(state, std::move(samples), many);
}

/// Signals one value after the other, each of which must count one more.
template <class Fence, class Counted>
void signal_each(State& state, const Counted& register_all) {
  std::vector<double> samples;
  for (auto _ : state) {
    Fence subject;
    std::uint64_t runs = 0;
    const auto registered = register_all(subject, runs);
    const auto start = bench::steady::now();
    for (std::uint64_t value = 1; value <= many; ++value) {
      subject.signal(value);
      if (runs != value) bench::fail("a signal did not run what was due");
    }
    samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    state.SetIterationTime(samples.back() * 1e-9);
    static_cast<void>(registered);
  }
  bench::report_per_operation(state, std::move(samples), many);
}

void callables_in_signaller(State& state) {
  using own_call = decltype(tidemark::call_in_signaller(std::declval<const callback_progress_fence&>(), 1, counts{}));
  signal_each<callback_progress_fence>(state, [](auto& subject, std::uint64_t& runs) {
    std::deque<own_call> calls;
    for (std::uint64_t target = 1; target <= many; ++target) calls.emplace_back(subject, target, counts{&runs});
    return calls;
  });
}

detached wait_in_signaller(const callback_progress_fence& subject, std::uint64_t target, std::uint64_t& resumed) {
  static_cast<void>(co_await tidemark::reached_in_signaller(subject, target));
  ++resumed;
}

void resume_in_signaller(State& state) {
  signal_each<callback_progress_fence>(state, [](auto& subject, std::uint64_t& resumed) {
    for (std::uint64_t target = 1; target <= many; ++target) wait_in_signaller(subject, target, resumed);
    return 0;
  });
}

struct counting_receiver {
  void set_value() noexcept { ++*runs; }
  void set_error(tidemark::wait_status) noexcept {}
  void set_stopped() noexcept {}
  std::uint64_t* runs;
};

void operations(State& state) {
  struct made {
    made(wait_loop& loop, const progress_fence& subject, std::uint64_t target, std::uint64_t& runs)
        : operation(when_reached(loop, subject, target).connect(counting_receiver{&runs})) {
      operation.start();
    }
    decltype(when_reached(std::declval<wait_loop&>(), std::declval<const progress_fence&>(), 1)
                 .connect(counting_receiver{})) operation;
  };
  std::vector<double> samples;
  for (auto _ : state) {
    wait_loop loop;
    progress_fence subject;
    std::uint64_t runs = 0;
    std::deque<made> all;
    for (std::uint64_t target = 1; target <= many; ++target) all.emplace_back(loop, subject, target, runs);
    subject.signal(many);
    const auto start = bench::steady::now();
    loop.poll();
    samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    state.SetIterationTime(samples.back() * 1e-9);
    if (runs != many) bench::fail("not all operations have completed");
  }
  bench::report_per_operation(state, std::move(samples), many);
}

void resume_thread(State& state) {
  using parked = tidemark::basic_progress_fence<tidemark::native_platform, tidemark::fence_options{.max_spin_ns = 0}>;
  std::vector<double> samples;
  for (auto _ : state) {
    parked subject;
    parked answer;
    bench::thread_group waiter;
    waiter.start(1, [&](std::size_t) {
      for (std::uint64_t value = 1; value <= many; ++value) {
        static_cast<void>(subject.wait(value));
        answer.signal(value);
      }
    });
    const auto start = bench::steady::now();
    for (std::uint64_t value = 1; value <= many; ++value) {
      subject.signal(value);
      static_cast<void>(answer.wait(value));
    }
    samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    state.SetIterationTime(samples.back() * 1e-9);
    waiter.join();
  }
  // Each round wakes two threads.
  bench::report_per_operation(state, std::move(samples), 2 * many);
}

template <class Fence>
void hand_over(State& state) {
  std::vector<double> samples;
  for (auto _ : state) {
    wait_loop loop;
    Fence there;
    Fence back;
    const auto ping = [&]() -> detached {
      for (std::uint64_t turn = 1; turn <= many; ++turn) {
        there.signal(turn);
        static_cast<void>(co_await loop.reached(back, turn));
      }
      loop.stop();
    };
    const auto pong = [&]() -> detached {
      for (std::uint64_t turn = 1; turn <= many; ++turn) {
        static_cast<void>(co_await loop.reached(there, turn));
        back.signal(turn);
      }
    };
    const auto start = bench::steady::now();
    pong();
    ping();
    static_cast<void>(loop.run());
    samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    state.SetIterationTime(samples.back() * 1e-9);
  }
  bench::report_per_operation(state, std::move(samples), 2 * many);
}

/// A loop that an io_uring serves.
struct uring_loop {
  explicit uring_loop(tidemark::uring_way way) : ready(loop, ring.descriptor(), way) {}

  void submit() {
    if (!ring.submit([&](io_uring_sqe& entry) { ready.prepare(entry); })) bench::fail("an io_uring takes nothing");
  }
  void take() {
    if (!ring.take().is_complete) bench::fail("an io_uring does not wait");
    loop.poll();
  }

  wait_loop loop;
  testing::uring ring;
  tidemark::loop_uring_wait<wait_loop> ready;
};

/// Returns whether the system has what a row is about.
bool has_uring(State& state, tidemark::uring_way way) {
  const uring_loop tried(way);
  if (tried.ring.is_open() && tried.ready.way() == way) return true;
  state.SkipWithError("the system refuses io_uring, or has no futex operation");
  return false;
}

void turn_uring(State& state, tidemark::uring_way way) {
  if (!has_uring(state, way)) return;
  uring_loop served(way);
  progress_fence subject;
  std::uint64_t runs = 0;
  std::deque<callback> callbacks;
  const auto calls = static_cast<std::uint64_t>(state.max_iterations);
  for (std::uint64_t target = 1; target <= calls; ++target)
    callbacks.emplace_back(served.loop, tidemark::awaited(subject, target), counts{&runs});
  // The first wait is over at once.
  served.submit();
  served.take();
  const auto nothing = [] {};
  bench::measure_calls(state, nothing, [&] {
    served.submit();
    subject.signal(runs + 1);
    served.take();
  });
  if (runs != calls) bench::fail("not all callables ran");
}

void wake_uring(State& state, tidemark::uring_way way) {
  if (!has_uring(state, way)) return;
  uring_loop served(way);
  progress_fence subject;
  std::atomic<std::uint64_t> value{0};
  std::atomic<bench::steady::rep> ran_at{0};
  std::deque<tidemark::basic_callback<tidemark::native_platform, std::function<void()>>> callbacks;
  const auto calls = static_cast<std::uint64_t>(state.max_iterations);
  for (std::uint64_t target = 1; target <= calls; ++target) {
    callbacks.emplace_back(served.loop, tidemark::awaited(subject, target), [&, target] {
      ran_at.store(bench::steady::now().time_since_epoch().count(), std::memory_order_relaxed);
      value.store(target, std::memory_order_release);
    });
  }
  bench::thread_group server;
  // Otherwise the thread that is woken may interrupt the signaller.
  const bench::pinned here(bench::processors().front());
  server.start(
      1,
      [&](std::size_t) {
        while (value.load(std::memory_order_relaxed) != calls) {
          served.submit();
          served.take();
        }
      },
      bench::processors().back());
  std::vector<double> back;
  std::vector<double> runs;
  std::uint64_t signalled = 0;
  for (auto _ : state) {
    server.wait_until_parked();
    const auto start = bench::steady::now();
    subject.signal(++signalled);
    back.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    while (value.load(std::memory_order_acquire) != signalled) tidemark::native_platform::pause();
    const bench::steady::time_point ran{bench::steady::duration{ran_at.load(std::memory_order_relaxed)}};
    runs.push_back(bench::nanoseconds_between(start, ran));
    state.SetIterationTime(runs.back() * 1e-9);
  }
  state.counters["back_ns"] = bench::median(std::move(back));
  state.counters["runs_ns"] = bench::median(std::move(runs));
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::size_t count : std::initializer_list<std::size_t>{0, many}) {
    bench::row("beside/progress_fence/" + std::to_string(count), beside<progress_fence>, count)->Iterations(50);
    bench::row("beside/fence/" + std::to_string(count), beside<fence>, count)->Iterations(50);
  }
  bench::row("callables/in_order/10000", callables, false)->Iterations(10);
  bench::row("callables/random/10000", callables, true)->Iterations(10);
  bench::row("callables/signaller/10000", callables_in_signaller)->Iterations(5);
  bench::row("operations/10000", operations)->Iterations(10);
  bench::row("resume/signaller/10000", resume_in_signaller)->Iterations(5);
  bench::row("resume/coroutines/10000", resume_coroutines)->Iterations(5);
  bench::row("resume/thread/10000", resume_thread)->Iterations(1);
  bench::row("hand_over/progress_fence/2", hand_over<progress_fence>)->Iterations(10);
  bench::row("hand_over/fence/2", hand_over<fence>)->Iterations(10);
  for (const auto way : {tidemark::uring_way::futex, tidemark::uring_way::poll}) {
    const std::string name = way == tidemark::uring_way::futex ? "uring/futex/" : "uring/poll/";
    bench::row(name + "wake", wake_uring, way)->Iterations(2'000);
    bench::row(name + "turn", turn_uring, way)->Iterations(many);
  }
  return bench::run_all(argc, argv);
}
