// SPDX-License-Identifier: BSL-1.0
//
// What a signal costs: with nobody waiting, with many waiting who are not due, with one who is, behind a payload and
// under the eyes of a polling core. Each beside raw operations and the fences that people have today, in one program.
//
//   probe/one_cycle_loop          nanoseconds of one dependent addition: is the core undisturbed?
//   probe/round_trip              a word to the other core and back: does the machine keep both cores close?
//   idle/<subject>[/variant]      nobody waits, 64 signals unrolled
//   hot/<subject>/<waiters>       the same with sleepers; only for subjects that do not wake them
//   paced/<subject>/<waiters>     one signal at a time, all asleep again before each, caches swept; for all subjects,
//                                 and for nothing at all, which is the price of reading the clock
//   due/<subject>/<waiters>       as paced, but one of the waiters is due and wakes; whether the others sleep is asked
//                                 only of subjects that wake them
//   payload/<subject>/<bytes>     that many bytes are written before each signal
//   polled/<subject>              another core polls the value; some 100 cycles of arithmetic between signals
#include <benchmark/benchmark.h>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <thread>
#include <tidemark/tidemark.hpp>
#include <utility>
#include <vector>

#include "peers/ck_ec.hpp"
#include "peers/condition_variable.hpp"
#include "peers/futex.hpp"
#include "peers/raw.hpp"
#include "peers/std_atomic.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using benchmark::State;

using fence = tidemark::fence;
using progress_fence = tidemark::progress_fence;
using symmetric_progress_fence = tidemark::basic_progress_fence<tidemark::symmetric_platform>;
using one_line_progress_fence =
    tidemark::basic_progress_fence<tidemark::native_platform,
                                   tidemark::fence_options{.layout = tidemark::fence_layout::one_line}>;

/// No benchmark signals as far as this unless it wants to release everybody.
constexpr std::uint64_t far_away = std::uint64_t{1} << 40;

struct by_signal {
  template <class Subject>
  [[gnu::always_inline]] static void advance(Subject& subject, std::uint64_t value) {
    static_cast<void>(subject.signal(value));
  }
};

struct by_signal_next {
  template <class Subject>
  [[gnu::always_inline]] static void advance(Subject& subject, std::uint64_t) {
    static_cast<void>(subject.signal_next());
  }
};

/// The price of measuring.
struct nothing {
  void signal(std::uint64_t) noexcept { benchmark::ClobberMemory(); }
};

template <class Subject>
concept waitable = requires(Subject& subject) { subject.wait(far_away); };

/// Threads that sleep on targets which are never due, or, where nobody can wait on the subject, merely sleep.
template <class Subject>
class distant_waiters {
 public:
  distant_waiters(Subject& subject, std::size_t count, int cpu = bench::any_processor) : subject_{subject} {
    const auto sleep = [this](std::size_t index) {
      if constexpr (waitable<Subject>) {
        static_cast<void>(subject_.wait(far_away + index));
      } else {
        gate_.pass();
      }
    };
    threads_.start(count, sleep, cpu);
    threads_.wait_until_parked();
  }
  distant_waiters(const distant_waiters&) = delete;
  distant_waiters& operator=(const distant_waiters&) = delete;
  ~distant_waiters() {
    if constexpr (waitable<Subject>) bench::release_all(subject_, far_away + threads_.size());
    gate_.open();
    threads_.join();
  }

  bench::thread_group& threads() { return threads_; }

 private:
  Subject& subject_;
  bench::futex_gate gate_;
  bench::thread_group threads_;
};

// ---- is the machine usable? -----------------------------------------------------------------------------------------

/// `Steps` additions, each of which needs the one before: a cycle each. (Adding a constant may cost nothing at all.)
template <unsigned Steps>
[[gnu::always_inline]] inline void idle_cycles(std::uint64_t& chain, std::uint64_t increment) {
  for (unsigned step = 0; step < Steps; ++step) {
    chain += increment;
    asm volatile("" : "+r"(chain));
  }
}

void one_cycle_loop(State& state) {
  bench::measure_blocks<1>(state, [](std::uint64_t value) {
    std::uint64_t chain = value;
    idle_cycles<512>(chain, value);
  });
  for (const char* name : {"min_ns", "median_ns"}) state.counters[name] = state.counters[name].value / 512;
}

void round_trip(State& state) {
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
        for (std::uint64_t seen = 0; seen != far_away;) {
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
  there.value.store(far_away, std::memory_order_release);
  echo.join();
}

// ---- nobody is due --------------------------------------------------------------------------------------------------

template <class Subject, class How>
void idle(State& state) {
  const bench::escaped<Subject> subject;
  bench::measure_blocks(state, [&object = *subject](std::uint64_t value) { How::advance(object, value); });
}

/// One thread waits on an object of the same type that has nothing to do with the one that is signalled.
template <class Subject>
void idle_beside_unrelated_waiter(State& state) {
  const bench::escaped<Subject> unrelated;
  distant_waiters<Subject> waiter(*unrelated, 1);
  idle<Subject, by_signal>(state);
}

template <class Subject, class How>
void hot(State& state, std::size_t waiters) {
  const bench::escaped<Subject> subject;
  distant_waiters<Subject> sleepers(*subject, waiters);
  bench::measure_blocks(state, [&object = *subject](std::uint64_t value) { How::advance(object, value); });
}

/// The signaller keeps to one processor and the waiters to another: where a woken thread is put otherwise decides the
/// price of the system call.
template <class Subject>
void paced(State& state, std::size_t waiters) {
  const bench::pinned here(bench::processors().front());
  const bench::escaped<Subject> subject;
  distant_waiters<Subject> sleepers(*subject, waiters, bench::processors().back());
  std::uint64_t value = 0;
  bench::measure_paced(state, sleepers.threads(), [&] { by_signal::advance(*subject, ++value); });
}

// ---- one waiter is due ----------------------------------------------------------------------------------------------

/// Whether the others sleep on. To ask the system whether 999 threads sleep takes milliseconds and leaves its caches
/// with other data, so that a bare futex takes several times as long as it does otherwise.
template <class Subject>
constexpr bool wakes_only_the_due =
    std::same_as<Subject, bench::futex_fence> || requires(Subject& subject) { subject.monitored_value(); };

template <class Subject>
void due(State& state, std::size_t waiters) {
  const bench::pinned here(bench::processors().front());
  const int there = bench::processors().back();
  const bench::escaped<Subject> subject;
  std::atomic<bool> over{false};
  std::uint64_t value = 0;
  distant_waiters<Subject> others(*subject, waiters - 1, there);
  bench::thread_group next_in_line;
  const auto wait_again_and_again = [&](std::size_t) {
    for (std::uint64_t target = 1; !over.load(std::memory_order_acquire); ++target) {
      static_cast<void>(subject->wait(target));
    }
  };
  next_in_line.start(1, wait_again_and_again, there);
  const auto all_sleep = [&] {
    next_in_line.wait_until_parked();
    if constexpr (!wakes_only_the_due<Subject>) others.threads().wait_until_parked();
    bench::sweep_cache();
  };
  bench::measure_calls(state, all_sleep, [&] { by_signal::advance(*subject, ++value); });
  others.threads().wait_until_parked();
  over.store(true, std::memory_order_release);
  by_signal::advance(*subject, ++value);
  next_in_line.join();
}

// ---- what a loop of signals alone does not show ---------------------------------------------------------------------

using sixteen_bytes [[gnu::vector_size(16)]] = std::uint64_t;

template <std::size_t Bytes>
struct payload {
  static constexpr std::size_t count = Bytes / sizeof(sixteen_bytes);

  /// Straight stores, no loop: with one, the end of the loop is what is measured.
  [[gnu::always_inline]] void write(std::uint64_t value) {
    const sixteen_bytes pattern = {value, value};
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      ((words[Index] = pattern), ...);
    }(std::make_index_sequence<count>{});
    sixteen_bytes* const written = words;
    asm volatile("" : : "r"(written) : "memory");
  }

  alignas(64) sixteen_bytes words[count];
};

template <class Subject, std::size_t Bytes, class How = by_signal>
void behind_payload(State& state) {
  const bench::escaped<Subject> subject;
  const bench::escaped<payload<Bytes>> data;
  bench::measure_blocks<8>(state, [&object = *subject, &bytes = *data](std::uint64_t value) {
    bytes.write(value);
    How::advance(object, value);
  });
}

template <class Subject>
void polled(State& state) {
  const std::vector<int>& cpus = bench::processors();
  if (cpus.size() < 2) return state.SkipWithError("one processor only");
  const bench::escaped<Subject> subject;
  std::atomic<bool> running{false};
  std::atomic<bool> over{false};
  bench::thread_group poller;
  poller.start(
      1,
      [&](std::size_t) {
        running.store(true, std::memory_order_relaxed);
        while (!over.load(std::memory_order_relaxed)) {
          if constexpr (requires { subject->current_value(); }) {
            if (subject->current_value() >= far_away) break;
          }
        }
      },
      cpus[1]);
  {
    const bench::pinned here(cpus[0]);
    while (!running.load(std::memory_order_relaxed)) std::this_thread::yield();
    bench::measure_blocks<16>(state, [&object = *subject](std::uint64_t value) {
      by_signal::advance(object, value);
      std::uint64_t chain = value;
      idle_cycles<100>(chain, value);
    });
  }
  over.store(true, std::memory_order_relaxed);
  poller.join();
}

// ---- the table of rows ----------------------------------------------------------------------------------------------

constexpr int blocks_per_repetition = 1000;

template <class Subject>
void add_idle(const std::string& name) {
  bench::row("idle/" + name, idle<Subject, by_signal>)->Iterations(blocks_per_repetition);
}

template <class Subject>
void add_idle_next(const std::string& name) {
  bench::row("idle/" + name, idle<Subject, by_signal_next>)->Iterations(blocks_per_repetition);
}

template <class Subject, class How = by_signal>
void add_payload(const std::string& name) {
  bench::row("payload/" + name + "/64", behind_payload<Subject, 64, How>)->Iterations(blocks_per_repetition);
  bench::row("payload/" + name + "/256", behind_payload<Subject, 256, How>)->Iterations(blocks_per_repetition);
  bench::row("payload/" + name + "/1024", behind_payload<Subject, 1024, How>)->Iterations(blocks_per_repetition);
}

template <class Subject>
void add_payload_and_polled(const std::string& name) {
  add_payload<Subject>(name);
  bench::row("polled/" + name, polled<Subject>)->Iterations(blocks_per_repetition);
}

constexpr std::size_t waiter_counts[] = {0, 1, 16, 17, 64, 1000, 5000};

template <class Subject, class How = by_signal>
void add_hot(const std::string& name) {
  for (const std::size_t waiters : waiter_counts) {
    bench::row("hot/" + name + "/" + std::to_string(waiters), hot<Subject, How>, waiters)
        ->Iterations(blocks_per_repetition);
  }
}

/// Not for 5,000: that all of them sleep is proved anew before each signal.
template <class Subject>
void add_paced(const std::string& name) {
  for (const std::size_t waiters : std::initializer_list<std::size_t>{0, 1, 16, 17, 64, 1000}) {
    bench::row("paced/" + name + "/" + std::to_string(waiters), paced<Subject>, waiters)
        ->Iterations(waiters > 64 ? 10 : 40);
  }
}

template <class Subject>
void add_due(const std::string& name) {
  bench::row("due/" + name + "/1", due<Subject>, std::size_t{1})->Iterations(60);
  bench::row("due/" + name + "/1000", due<Subject>, std::size_t{1000})
      ->Iterations(wakes_only_the_due<Subject> ? 60 : 15);
}

void add_signals_of_tidemark() {
  add_idle<progress_fence>("progress_fence.signal");
  add_idle_next<progress_fence>("progress_fence.signal_next");
  add_idle<one_line_progress_fence>("progress_fence.signal/one_line");
  add_idle<symmetric_progress_fence>("progress_fence.signal/symmetric");
  add_idle<fence>("fence.signal");
  add_idle_next<fence>("fence.signal_next");
  add_hot<progress_fence>("progress_fence.signal");
  add_hot<progress_fence, by_signal_next>("progress_fence.signal_next");
  add_hot<fence>("fence.signal");
  add_paced<progress_fence>("progress_fence");
  add_paced<fence>("fence");
  add_due<progress_fence>("progress_fence");
  add_due<fence>("fence");
  add_payload_and_polled<progress_fence>("progress_fence");
  add_payload<progress_fence, by_signal_next>("progress_fence.signal_next");
  add_payload_and_polled<one_line_progress_fence>("progress_fence.one_line");
  add_payload_and_polled<fence>("fence");
}

void add_raw_operations() {
  add_idle<bench::raw::release_store>("raw.release_store");
  add_idle<bench::raw::store_and_load>("raw.store_and_load");
  add_idle<bench::raw::store_and_branch>("raw.store_and_branch");
  add_idle<bench::raw::load_add_store>("raw.load_add_store");
  add_idle<bench::raw::exchange>("raw.exchange");
  add_idle<bench::raw::fetch_add>("raw.fetch_add");
  add_idle<bench::raw::compare_exchange_maximum>("raw.compare_exchange_maximum");
  add_idle<bench::raw::store_barrier_load>("raw.store_barrier_load");
  add_hot<bench::raw::release_store>("raw.release_store");
  add_paced<bench::raw::release_store>("raw.release_store");
  add_paced<nothing>("nothing");
  add_payload_and_polled<nothing>("nothing");
  add_payload_and_polled<bench::raw::release_store>("raw.release_store");
  add_payload_and_polled<bench::raw::exchange>("raw.exchange");
  add_payload_and_polled<bench::raw::store_barrier_load>("raw.store_barrier_load");
}

template <class Peer>
void add_peer(const std::string& name) {
  add_idle<Peer>(name);
  add_paced<Peer>(name);
  add_due<Peer>(name);
}

void add_peers() {
  add_peer<bench::std_atomic_fence>("std_atomic");
  bench::row("idle/std_atomic/unrelated_waiter", idle_beside_unrelated_waiter<bench::std_atomic_fence>)
      ->Iterations(blocks_per_repetition);
  add_payload_and_polled<bench::std_atomic_fence>("std_atomic");
  add_peer<bench::condition_variable_fence>("condition_variable");
  add_idle<bench::futex_fence>("futex");
  add_due<bench::futex_fence>("futex");
#ifdef TIDEMARK_HAVE_CK
  add_peer<bench::ck_ec_fence>("ck_ec");
  add_payload_and_polled<bench::ck_ec_fence>("ck_ec");
#else
  std::fputs("ck_ec is left out: <ck_ec.h> was not found when this was built (package libck-dev)\n", stderr);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  bench::row("probe/one_cycle_loop", one_cycle_loop)->Iterations(blocks_per_repetition);
  bench::row("probe/round_trip", round_trip)->Iterations(blocks_per_repetition);
  add_signals_of_tidemark();
  add_raw_operations();
  add_peers();
  return bench::run_all(argc, argv);
}
