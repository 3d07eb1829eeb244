// SPDX-License-Identifier: BSL-1.0
//
// Queues of an engine. A hand-over is a signal of one queue for which the other one waits.
//
//   engine/hand_over/<bare|logs.tsc|logs>    two queues of one engine, on one thread, hand a turn back and forth: once.
//                                            Without logs; with logs, stamped by tsc_log_clock or by the default clock
//   engine/hand_over/bare.two_threads        the same on an engine of two threads, of which one has nothing to do
//   engine/chain/<threads>/<microseconds>    the same with work that lasts so long before each signal
//   engine/between/<engines|spinning|parked> two threads hand a turn back and forth, a round trip: two engines of one
//                                            thread each; two threads that spin; two threads that sleep at once
//   engine/run/<thread|engine>/<threads>     an unbroken run of 8 commands, of its thread or engine-wide, on an engine
//                                            of <threads> threads, which have nothing else to do
//   engine/run/<thread|engine>/<threads>.busy
//                                            the same beside 4 queues that always have commands of a microsecond
//   engine/idle/<queues>                     so many queues that wait for a value each: the part of its time that the
//                                            engine's thread is busy, in percent
#include <benchmark/benchmark.h>

#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tidemark/tidemark.hpp>
#include <utility>
#include <vector>

#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using benchmark::State;
using tidemark::engine;
using tidemark::progress_fence;

struct forgets {
  template <class>
  void on_executed(tidemark::queue_id, const tidemark::fence_log_entry&) {}
  void on_lost(tidemark::queue_id, tidemark::fence_log_type, std::uint64_t, std::uint64_t) {}
};
forgets nowhere;

using no_logs = tidemark::direct_recorder<forgets, tidemark::no_log_clock>;
class bare_queue : public tidemark::basic_engine_queue<tidemark::native_platform, tidemark::no_log_clock,
                                                       tidemark::self_service, no_logs> {
 public:
  explicit bare_queue(engine& on)
      : tidemark::basic_engine_queue<tidemark::native_platform, tidemark::no_log_clock, tidemark::self_service,
                                     no_logs>(on, {}, {}, no_logs(nowhere, tidemark::queue_id{0})) {}
};
template <class Clock>
using logged_queue = tidemark::basic_engine_queue<tidemark::native_platform, Clock>;

/// One of two queues that hand a turn on. It records its own commands, some at a time.
template <class Queue>
class side {
 public:
  /// \param work  how long it works before each signal
  side(engine& on, progress_fence& output, progress_fence& input, bool begins, std::uint64_t turns,
       std::chrono::microseconds work)
      : queue_(on), output_{output}, input_{input}, begins_{begins}, turns_{turns}, work_{work} {}

  void record() {
    for (int i = 0; i < 32 && turn_ < turns_; ++i) {
      ++turn_;
      if (begins_) work_and_signal();
      queue_.wait(input_, turn_);
      if (!begins_) work_and_signal();
    }
    if (turn_ < turns_) queue_.run([this] { record(); });
    if (!queue_.submit()) bench::fail("a submission was refused");
    if (turn_ == turns_) last_.signal(queue_.last_queued());
  }
  void await() {
    static_cast<void>(last_.wait(1));  // It sleeps, so that the engine's thread has its core for itself.
    static_cast<void>(queue_.drain());
  }

 private:
  void work_and_signal() {
    if (work_.count() != 0) {
      queue_.run([end_after = work_] {
        for (const auto end = bench::steady::now() + end_after; bench::steady::now() < end;) {
        }
      });
    }
    queue_.signal(output_, turn_);
  }

  Queue queue_;
  progress_fence& output_;
  progress_fence& input_;
  bool begins_;
  std::uint64_t turns_;
  std::chrono::microseconds work_;
  std::uint64_t turn_ = 0;
  tidemark::fence last_;
};

/// Two queues on the same engine, or on two.
template <class Queue>
double hand_over_once(engine& left, engine& right, std::uint64_t turns, std::chrono::microseconds work) {
  progress_fence there;
  progress_fence back;
  side<Queue> ping(left, there, back, true, turns, work);
  side<Queue> pong(right, back, there, false, turns, work);
  const auto start = bench::steady::now();
  pong.record();
  ping.record();
  ping.await();
  pong.await();
  return bench::nanoseconds_between(start, bench::steady::now());
}

template <class Queue>
void hand_over(State& state, unsigned threads, std::chrono::microseconds work) {
  const std::uint64_t turns = work.count() == 0 ? 100'000 : 2'000;
  std::vector<double> samples;
  for (auto _ : state) {
    engine on({.threads = threads});
    samples.push_back(hand_over_once<Queue>(on, on, turns, work));
    state.SetIterationTime(samples.back() * 1e-9);
  }
  bench::report_per_operation(state, std::move(samples), static_cast<double>(2 * turns));
}

/// This thread runs one of the engines. On each of them, the commands of many turns are recorded before the first turn
/// begins.
void between_engines(State& state) {
  constexpr std::uint64_t turns = 100;
  constexpr std::uint64_t rounds = 200;
  std::vector<double> samples;
  for (auto _ : state) {
    progress_fence recorded;
    progress_fence there;
    progress_fence back;
    engine left({.threads = 0});
    auto& loop = static_cast<tidemark::wait_loop&>(left.loop());  // to stop it: no thread of the engine's runs it
    engine right;
    bare_queue ping(left);
    bare_queue pong(right);
    double taken = 0;
    bench::steady::time_point start;
    for (std::uint64_t first = 1; first <= rounds * turns; first += turns) {
      pong.run([&, first] {
        for (std::uint64_t turn = first; turn < first + turns; ++turn) {
          pong.wait(there, turn);
          pong.signal(back, turn);
        }
        if (!pong.submit()) bench::fail("a submission was refused");
        recorded.signal(first);
      });
      ping.wait(recorded, first);
      ping.run([&] { start = bench::steady::now(); });
      for (std::uint64_t turn = first; turn < first + turns; ++turn) {
        ping.signal(there, turn);
        ping.wait(back, turn);
      }
      ping.run([&] {
        taken += bench::nanoseconds_between(start, bench::steady::now());
        loop.stop();
      });
      if (!ping.submit() || !pong.submit()) bench::fail("a submission was refused");
      static_cast<void>(loop.run());
      loop.restart();
    }
    samples.push_back(taken);
    state.SetIterationTime(taken * 1e-9);
  }
  bench::report_per_operation(state, std::move(samples), rounds * turns);
}

template <std::uint32_t SpinNanoseconds>
void between_threads(State& state) {
  constexpr std::uint64_t turns = SpinNanoseconds != 0 ? 20'000 : 2'000;
  using subject = tidemark::basic_progress_fence<tidemark::native_platform,
                                                 tidemark::fence_options{.max_spin_ns = SpinNanoseconds}>;
  std::vector<double> samples;
  for (auto _ : state) {
    subject there;
    subject back;
    bench::thread_group other;
    other.start(1, [&](std::size_t) {
      for (std::uint64_t turn = 1; turn <= turns; ++turn) {
        static_cast<void>(there.wait(turn));
        back.signal(turn);
      }
    });
    const auto start = bench::steady::now();
    for (std::uint64_t turn = 1; turn <= turns; ++turn) {
      there.signal(turn);
      static_cast<void>(back.wait(turn));
    }
    samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    state.SetIterationTime(samples.back() * 1e-9);
    other.join();
  }
  bench::report_per_operation(state, std::move(samples), turns);
}

/// Keeps an engine busy: some queues, whose commands of about a microsecond submit the next ones.
class busy_queues {
 public:
  explicit busy_queues(engine& on) {
    for (std::size_t i = 0; i < last_.size(); ++i) submit(queues_.emplace_back(on));
  }
  ~busy_queues() {
    is_over_.store(true, std::memory_order_relaxed);
    for (bare_queue& each : queues_) static_cast<void>(last_of(each).wait(1));
    for (bare_queue& each : queues_) static_cast<void>(each.drain());
  }

 private:
  void submit(bare_queue& to) {
    for (int i = 0; i < 8; ++i) {
      to.run([] {
        for (const auto end = bench::steady::now() + std::chrono::microseconds{1}; bench::steady::now() < end;) {
        }
      });
    }
    to.run([this, &to] {
      if (!is_over_.load(std::memory_order_relaxed)) return submit(to);
      last_of(to).signal(1);
    });
    if (!to.submit()) bench::fail("a submission was refused");
  }
  tidemark::fence& last_of(const bare_queue& of) {
    std::size_t i = 0;
    while (&queues_[i] != &of) ++i;
    return last_[i];
  }

  std::atomic<bool> is_over_{false};
  std::array<tidemark::fence, 4> last_;
  std::deque<bare_queue> queues_;
};

/// Runs, each of which is a submission of its own, so that others have turns in between.
void unbroken(State& state, tidemark::unbroken_scope scope, unsigned threads, bool is_busy) {
  constexpr std::uint64_t runs = 2'000;
  std::vector<double> samples;
  for (auto _ : state) {
    engine on({.threads = threads});
    std::optional<busy_queues> others;
    if (is_busy) others.emplace(on);
    bare_queue queue(on);
    const auto start = bench::steady::now();
    for (std::uint64_t run = 0; run < runs; ++run) {
      {
        tidemark::unbroken_run unbroken{queue, scope};
        for (int i = 0; i < 8; ++i) unbroken.run([] {});
      }
      if (!queue.submit()) bench::fail("a submission was refused");
    }
    static_cast<void>(queue.drain());
    samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    state.SetIterationTime(samples.back() * 1e-9);
  }
  bench::report_per_operation(state, std::move(samples), static_cast<double>(runs));
}

double processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& of) {
    return static_cast<double>(of.tv_sec) + 1e-6 * static_cast<double>(of.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

void idle(State& state, std::size_t count) {
  constexpr std::chrono::milliseconds time{200};
  progress_fence never;
  engine on;
  std::deque<bare_queue> queues;
  for (std::size_t i = 0; i < count; ++i) {
    bare_queue& queue = queues.emplace_back(on);
    queue.wait(never, 1'000'000 + i);
    if (!queue.submit()) bench::fail("a submission was refused");
  }
  // Its wait is registered when all have had their turns, and the thread goes to sleep.
  progress_fence registered;
  bare_queue last(on);
  last.wait(registered, 1);
  if (!last.submit()) bench::fail("a submission was refused");
  double busy = 0;
  for (auto _ : state) {
    while (registered.monitored_value() == tidemark::no_waiter) std::this_thread::yield();
    // The system charges a thread for what it has used some milliseconds late.
    std::this_thread::sleep_for(time / 10);
    const double before = processor_seconds();
    std::this_thread::sleep_for(time);
    busy = processor_seconds() - before;
    state.SetIterationTime(std::chrono::duration<double>(time).count());
  }
  state.counters["busy_percent"] = 100 * busy / std::chrono::duration<double>(time).count();
  state.counters["bytes"] = sizeof(bare_queue);
  for (bare_queue& each : queues) each.abort();
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::chrono::microseconds no_work{0};
  bench::row("engine/hand_over/bare", hand_over<bare_queue>, 1U, no_work)->Iterations(5);
  bench::row("engine/hand_over/bare.two_threads", hand_over<bare_queue>, 2U, no_work)->Iterations(5);
  for (const unsigned threads : {1U, 2U, 3U}) {
    for (const int work : {3, 20}) {
      bench::row("engine/chain/" + std::to_string(threads) + "/" + std::to_string(work), hand_over<bare_queue>, threads,
                 std::chrono::microseconds(work))
          ->Iterations(3);
    }
  }
  bench::row("engine/hand_over/logs.tsc", hand_over<logged_queue<tidemark::tsc_log_clock>>, 1U, no_work)->Iterations(5);
  bench::row("engine/hand_over/logs", hand_over<logged_queue<tidemark::default_log_clock>>, 1U, no_work)->Iterations(5);
  bench::row("engine/between/engines", between_engines)->Iterations(5);
  bench::row("engine/between/spinning", between_threads<200'000>)->Iterations(5);
  bench::row("engine/between/parked", between_threads<0>)->Iterations(2);
  for (const unsigned threads : {1U, 3U}) {
    for (const bool is_busy : {false, true}) {
      const std::string name = std::to_string(threads) + (is_busy ? ".busy" : "");
      bench::row("engine/run/thread/" + name, unbroken, tidemark::unbroken_scope::one_thread, threads, is_busy)
          ->Iterations(3);
      bench::row("engine/run/engine/" + name, unbroken, tidemark::unbroken_scope::whole_engine, threads, is_busy)
          ->Iterations(3);
    }
  }
  bench::row("engine/idle/10000", idle, std::size_t{10'000})->Iterations(1);
  return bench::run_all(argc, argv);
}
