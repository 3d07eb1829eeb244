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
#include "support/hand_over.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using bench::ping_pong;
using bench::setting;
using bench::spinning;
using bench::spinning_word;

constexpr tidemark::fence_options parked{.max_spin_ns = 0};

template <tidemark::fence_options Options>
using any_fence = tidemark::basic_fence<tidemark::symmetric_platform, Options>;
template <tidemark::fence_options Options>
using progress_fence = tidemark::basic_progress_fence<tidemark::native_platform, Options>;
template <tidemark::fence_options Options>
using symmetric_progress_fence = tidemark::basic_progress_fence<tidemark::symmetric_platform, Options>;

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
