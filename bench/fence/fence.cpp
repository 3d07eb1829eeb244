// SPDX-License-Identifier: BSL-1.0
//
// What a signal costs: with nobody waiting, with many waiting who are not due, with one who is, behind a payload and
// under the eyes of a polling core. Each beside raw operations and the fences that people have today, in one program.
//
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
#include "support/signals.hpp"
#include "support/threads.hpp"

namespace {

using bench::by_signal;
using bench::distant_waiters;
using bench::due;
using bench::far_away;
using bench::idle;
using bench::nothing;
using bench::paced;
using bench::wakes_only_the_due;
using benchmark::State;

using fence = tidemark::fence;
using progress_fence = tidemark::progress_fence;
using symmetric_progress_fence = tidemark::basic_progress_fence<tidemark::symmetric_platform>;
using one_line_progress_fence =
    tidemark::basic_progress_fence<tidemark::native_platform,
                                   tidemark::fence_options{.layout = tidemark::fence_layout::one_line}>;

/// Fences whose destructor waits for signallers.
constexpr tidemark::fence_options joining{.joins_signallers = true};
using joining_fence = tidemark::basic_fence<tidemark::symmetric_platform, joining>;
using joining_progress_fence = tidemark::basic_progress_fence<tidemark::native_platform, joining>;

struct by_signal_next {
  template <class Subject>
  [[gnu::always_inline]] static void advance(Subject& subject, std::uint64_t) {
    static_cast<void>(subject.signal_next());
  }
};

// ---- nobody is due --------------------------------------------------------------------------------------------------

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
      bench::idle_cycles<100>(chain, value);
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
        ->Iterations(waiters > 64 ? 6 : 40);
  }
}

template <class Subject>
void add_due(const std::string& name) {
  bench::row("due/" + name + "/1", due<Subject>, std::size_t{1})->Iterations(60);
  bench::row("due/" + name + "/1000", due<Subject>, std::size_t{1000})
      ->Iterations(wakes_only_the_due<Subject> ? 60 : 6);
}

void add_signals_of_tidemark() {
  add_idle<progress_fence>("progress_fence.signal");
  add_idle_next<progress_fence>("progress_fence.signal_next");
  add_idle<one_line_progress_fence>("progress_fence.signal/one_line");
  add_idle<symmetric_progress_fence>("progress_fence.signal/symmetric");
  add_idle<joining_progress_fence>("progress_fence.signal/joins_signallers");
  add_idle<joining_fence>("fence.signal/joins_signallers");
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
  add_idle<bench::raw::store_load_and_branch>("raw.store_load_and_branch");
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
  add_signals_of_tidemark();
  add_raw_operations();
  add_peers();
  return bench::run_all(argc, argv);
}
