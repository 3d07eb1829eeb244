// SPDX-License-Identifier: BSL-1.0
//
// What most users ask first, and no more, so that the first figures come soon. The other programs ask the same in more
// ways. In each group the subjects are tidemark, the least that it could cost, and what people use today.
//
//   idle/<subject>             a signal that nobody waits for
//   paced/<subject>/1000       a signal that finds 1,000 threads asleep, none of them due
//   due/<subject>/1000         a signal that wakes one of 1,000 sleeping threads
//   ping_pong/<subject>/<where>   a turn to another thread and back, a core for each, or both on one
//   lockstep/<subject>/free    1,000 threads wait for 1,000 values, which are signalled one by one
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include <tidemark/fence/fence.hpp>

#include "peers/ck_ec.hpp"
#include "peers/condition_variable.hpp"
#include "peers/futex.hpp"
#include "peers/raw.hpp"
#include "peers/std_atomic.hpp"
#include "support/hand_over.hpp"
#include "support/lockstep.hpp"
#include "support/measure.hpp"
#include "support/signals.hpp"

namespace {

using tidemark::progress_fence;

/// With a slot for each of the 1,000 threads, as lockstep.cpp has it.
using wide_progress_fence =
    tidemark::basic_progress_fence<tidemark::native_platform, tidemark::fence_options{.capacity = 1024}>;

template <class Subject>
void add_idle(const std::string& name) {
  bench::row("idle/" + name, bench::idle<Subject, bench::by_signal>)->Iterations(1000);
}

/// Until 1,000 threads that were woken for nothing sleep again, a busy machine takes seconds.
template <class Subject>
constexpr bool wakes_a_herd = bench::waitable<Subject> && !bench::wakes_only_the_due<Subject>;

template <class Subject>
void add_paced(const std::string& name) {
  bench::row("paced/" + name + "/1000", bench::paced<Subject>, std::size_t{1000})
      ->Iterations(wakes_a_herd<Subject> ? 5 : 40);
}

template <class Subject>
void add_due(const std::string& name) {
  bench::row("due/" + name + "/1000", bench::due<Subject>, std::size_t{1000})
      ->Iterations(wakes_a_herd<Subject> ? 5 : 60);
}

template <class Subject>
void add_hand_over(const std::string& name, bool spins_for_ever = false) {
  const std::vector<int>& cpus = bench::processors();
  const bool alone = cpus.size() == 1;
  if (alone && spins_for_ever) return;
  const bench::setting where{alone ? "one_core" : "two_cores", cpus.front(), cpus.back()};
  bench::row("ping_pong/" + name + "/" + where.name, bench::ping_pong<Subject>, where)->Iterations(4000);
}

template <class Subject>
void add_lockstep(const std::string& name) {
  bench::row("lockstep/" + name + "/free", bench::anywhere<Subject, 1000>)->Iterations(1);
}

template <class Peer>
void add_peer(const std::string& name) {
  add_idle<Peer>(name);
  add_paced<Peer>(name);
  add_due<Peer>(name);
  add_hand_over<Peer>(name);
  add_lockstep<Peer>(name);
}

}  // namespace

int main(int argc, char** argv) {
  add_idle<bench::raw::release_store>("release_store");
  add_idle<bench::raw::store_load_and_branch>("store_load_and_branch");
  add_paced<bench::raw::release_store>("release_store");
  add_paced<bench::raw::store_load_and_branch>("store_load_and_branch");
  add_due<bench::futex_fence>("futex");
  add_hand_over<bench::futex_fence>("futex");
  add_hand_over<bench::spinning_word>("spinning_word", true);
  add_hand_over<bench::spinning<progress_fence>>("progress_fence.spinning", true);
  add_lockstep<bench::futex_row<1000>>("futex");

  add_idle<progress_fence>("progress_fence");
  add_paced<progress_fence>("progress_fence");
  add_due<progress_fence>("progress_fence");
  add_hand_over<progress_fence>("progress_fence");
  add_lockstep<wide_progress_fence>("progress_fence");

  add_peer<bench::std_atomic_fence>("std_atomic");
  add_peer<bench::condition_variable_fence>("condition_variable");
#ifdef TIDEMARK_HAVE_CK
  add_peer<bench::ck_ec_fence>("ck_ec");
#else
  std::fputs("ck_ec is left out: <ck_ec.h> was not found when this was built (package libck-dev)\n", stderr);
#endif
  return bench::run_all(argc, argv);
}
