// SPDX-License-Identifier: BSL-1.0
//
// Two threads hand a turn back and forth through two fences. Each round trip is timed alone, after 1,000 that are not;
// the counters are its percentiles p50_ns, p99_ns and p999_ns. Spinning and parked forms are told apart, because a
// hand-over flatters whoever spins:
//
//   .parked      no spin at all: each wait sleeps (max_spin_ns = 0)
//   .default     the types as they come: waiters learn how long to spin
//   .spinning    looks until the value is there, and never sleeps; on two cores only
//
// The peers have one form each: the bare futex and the condition variable sleep at once, the others spin a little.
//
//   ping_pong/<subject>/one_core      both threads on one core
//   ping_pong/<subject>/two_cores     a core for each
//   ping_pong/<subject>/work_3000     the same; each thread makes so many multiplications, one after the other, before
//   ping_pong/<subject>/work_20000    it hands over: about 1 and 6 microseconds
//   ping_pong/<subject>/crowded       as many pairs as cores, wherever the system puts them; one of them is timed
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <tidemark/tidemark.hpp>

#include "peers/ck_ec.hpp"
#include "peers/condition_variable.hpp"
#include "peers/futex.hpp"
#include "peers/std_atomic.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

constexpr tidemark::fence_options parked{.max_spin_ns = 0};

template <tidemark::fence_options Options>
using any_fence = tidemark::basic_fence<tidemark::symmetric_platform, Options>;
template <tidemark::fence_options Options>
using progress_fence = tidemark::basic_progress_fence<tidemark::native_platform, Options>;
template <tidemark::fence_options Options>
using symmetric_progress_fence = tidemark::basic_progress_fence<tidemark::symmetric_platform, Options>;

/// A fence whose waiters never sleep.
template <class Fence>
struct spinning : Fence {
  void wait(std::uint64_t target) const noexcept {
    while (!this->is_reached(target)) tidemark::native_platform::pause();
  }
};

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

/// Where the two threads run, what they do between two turns, and how many pairs of them there are.
struct setting {
  const char* name;
  int cpu_here;
  int cpu_there;
  unsigned multiplications = 0;
  std::size_t pairs = 1;
};

/// Two threads: this one, and one that the pair starts.
template <class Fence>
class pair {
 public:
  explicit pair(const setting& where) : work_{where.multiplications} {
    const auto answer = [this](std::size_t) {
      for (std::uint64_t turn = 1;; ++turn) {
        static_cast<void>(ping_->wait(turn));
        if (is_over_.load(std::memory_order_acquire)) return;
        bench::multiply(work_);
        static_cast<void>(pong_->signal(turn));
      }
    };
    partner_.start(1, answer, where.cpu_there);
  }
  pair(const pair&) = delete;
  ~pair() {
    is_over_.store(true, std::memory_order_release);
    static_cast<void>(ping_->signal(turn_ + 1));
    partner_.join();
  }

  void take_turn() {
    bench::multiply(work_);
    static_cast<void>(ping_->signal(++turn_));
    static_cast<void>(pong_->wait(turn_));
  }

 private:
  const bench::escaped<Fence> ping_;
  const bench::escaped<Fence> pong_;
  const unsigned work_;
  std::uint64_t turn_ = 0;
  std::atomic<bool> is_over_{false};
  bench::thread_group partner_;
};

template <class Fence>
void ping_pong(benchmark::State& state, setting where) {
  constexpr int cold_turns = 1000;
  std::atomic<bool> is_over{false};
  bench::thread_group crowd;
  const auto play = [&](std::size_t) {
    for (pair<Fence> other{where}; !is_over.load(std::memory_order_relaxed);) other.take_turn();
  };
  if (where.pairs > 1) crowd.start(where.pairs - 1, play);
  {
    std::optional<bench::pinned> here;
    if (where.cpu_here != bench::any_processor) here.emplace(where.cpu_here);
    pair<Fence> timed{where};
    for (int turn = 0; turn < cold_turns; ++turn) timed.take_turn();
    bench::measure_percentiles(state, [&] { timed.take_turn(); });
  }
  is_over.store(true, std::memory_order_relaxed);
  crowd.join();
}

std::vector<setting> settings(bool spins_for_ever) {
  const std::vector<int>& cpus = bench::processors();
  std::vector<setting> all;
  if (cpus.size() > 1) {
    all.push_back({"two_cores", cpus[0], cpus[1]});
    all.push_back({"work_3000", cpus[0], cpus[1], 3000});
    all.push_back({"work_20000", cpus[0], cpus[1], 20000});
  }
  if (!spins_for_ever) {
    all.push_back({"one_core", cpus[0], cpus[0]});
    all.push_back({"crowded", bench::any_processor, bench::any_processor, 0, cpus.size()});
  }
  return all;
}

template <class Fence>
void add(const std::string& name, bool spins_for_ever = false) {
  for (const setting& where : settings(spins_for_ever))
    bench::row("ping_pong/" + name + "/" + where.name, ping_pong<Fence>, where)->Iterations(4000);
}

void add_tidemark() {
  add<any_fence<parked>>("fence.parked");
  add<symmetric_progress_fence<parked>>("progress_fence.symmetric.parked");
  add<progress_fence<parked>>("progress_fence.parked");
  add<tidemark::fence>("fence.default");
  add<tidemark::progress_fence>("progress_fence.default");
  add<spinning<tidemark::fence>>("fence.spinning", true);
  add<spinning<tidemark::progress_fence>>("progress_fence.spinning", true);
}

void add_peers() {
  add<bench::futex_fence>("futex");
  add<bench::condition_variable_fence>("condition_variable");
  add<bench::std_atomic_fence>("std_atomic");
  add<spinning_word>("spinning_word", true);
#ifdef TIDEMARK_HAVE_CK
  add<bench::ck_ec_fence>("ck_ec");
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
