// SPDX-License-Identifier: BSL-1.0
//
// Many threads wait for as many distinct values of one fence, and the values are signalled one by one: the signaller
// goes on only when the thread that it released has said so. Nobody exits before the round is over. Beside it the
// floor, one bare futex for each thread, and the peers that wake everybody each time.
//
//   lockstep/<subject>/apart    1,000 threads; the signaller on one core, the waiters on another
//   lockstep/<subject>/free     1,000 threads, put wherever the system likes
//   overflow/<subject>/apart    64 threads, with capacity for 64; for 8, so that the heap grows; and for 8 without
//                               growth, so that 56 share the overflow lane
//
// Counters: `switches`, voluntary context switches of the whole process: each waiter goes back to sleep once, so the
// floor is the number of threads. For the subjects whose name ends in `.counted` the platform counts `unparks`, calls
// that wake (every waiter is known to sleep before the first), and `returns` from the sleep; their times are not
// compared, because two shared counters cost a tenth of the whole.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <tidemark/tidemark.hpp>

#include "peers/ck_ec.hpp"
#include "peers/condition_variable.hpp"
#include "peers/futex.hpp"
#include "peers/std_atomic.hpp"
#include "support/lockstep.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using bench::anywhere;
using bench::apart;
using bench::futex_row;

/// A platform that counts how often it wakes and is woken.
template <class Base>
struct counting : Base {
  using typename Base::park_word;
  using typename Base::sleepers;

  static bool park(park_word& count, std::uint32_t expected, tidemark::deadline until) noexcept {
    const bool in_time = Base::park(count, expected, until);
    returns.fetch_add(1, std::memory_order_relaxed);
    return in_time;
  }

  static bool unpark(sleepers those, std::uint32_t threads) noexcept {
    unparks.fetch_add(1, std::memory_order_relaxed);
    return Base::unpark(those, threads);
  }

  static inline std::atomic<long> unparks{0};
  static inline std::atomic<long> returns{0};
};

using counted_native = counting<tidemark::native_platform>;
using counted_symmetric = counting<tidemark::symmetric_platform>;

template <std::size_t Capacity, class Platform = tidemark::symmetric_platform>
using fence_for = tidemark::basic_fence<Platform, tidemark::fence_options{.capacity = Capacity}>;
template <std::size_t Capacity, class Platform = tidemark::native_platform>
using progress_fence_for = tidemark::basic_progress_fence<Platform, tidemark::fence_options{.capacity = Capacity}>;
constexpr tidemark::fence_options eight_slots{.capacity = 8, .growth = tidemark::heap_growth::forbidden};
template <class Platform>
using fixed_fence = tidemark::basic_fence<Platform, eight_slots>;
template <class Platform>
using fixed_progress_fence = tidemark::basic_progress_fence<Platform, eight_slots>;

template <class Fence>
void add_lockstep(const std::string& name) {
  bench::row("lockstep/" + name + "/apart", apart<Fence, 1000>)->Iterations(1);
  bench::row("lockstep/" + name + "/free", anywhere<Fence, 1000>)->Iterations(1);
}

template <class Fence>
void add_overflow(const std::string& name) {
  bench::row("overflow/" + name + "/apart", apart<Fence, 64>)->Iterations(1);
}

template <class Fence>
void add_size(const std::string& name) {
  benchmark::AddCustomContext("sizeof " + name, std::to_string(sizeof(Fence)));
}

void add_sizes() {
  using tidemark::fence_options;
  using tidemark::native_platform;
  using tidemark::symmetric_platform;
  constexpr fence_options compact{.layout = tidemark::fence_layout::one_line};
  add_size<tidemark::fence>("fence");
  add_size<tidemark::progress_fence>("progress_fence");
  add_size<tidemark::basic_fence<symmetric_platform, compact>>("fence, one line");
  add_size<tidemark::basic_progress_fence<native_platform, compact>>("progress_fence, one line");
  add_size<tidemark::basic_progress_fence<native_platform, fence_options{.capacity = 8}>>("progress_fence, capacity 8");
  add_size<tidemark::basic_progress_fence<native_platform, fence_options{.capacity = 64}>>(
      "progress_fence, capacity 64");
  add_size<tidemark::basic_progress_fence<native_platform, fence_options{.capacity = 1024}>>(
      "progress_fence, capacity 1024");
  add_size<bench::std_atomic_fence>("std_atomic peer");
  add_size<bench::condition_variable_fence>("condition_variable peer");
}

}  // namespace

int main(int argc, char** argv) {
  add_sizes();
  add_lockstep<futex_row<1000>>("futex_row");
  add_lockstep<progress_fence_for<1024>>("progress_fence");
  add_lockstep<fence_for<1024>>("fence");
  add_lockstep<progress_fence_for<1024, counted_native>>("progress_fence.counted");
  add_lockstep<fence_for<1024, counted_symmetric>>("fence.counted");
  add_lockstep<bench::std_atomic_fence>("std_atomic");
  add_lockstep<bench::condition_variable_fence>("condition_variable");
#ifdef TIDEMARK_HAVE_CK
  add_lockstep<bench::ck_ec_fence>("ck_ec");
#else
  std::fputs("ck_ec is left out: <ck_ec.h> was not found when this was built (package libck-dev)\n", stderr);
#endif
  add_overflow<futex_row<64>>("futex_row");
  add_overflow<progress_fence_for<64>>("progress_fence.capacity_64");
  add_overflow<progress_fence_for<8>>("progress_fence.capacity_8");
  add_overflow<fence_for<64>>("fence.capacity_64");
  add_overflow<fence_for<8>>("fence.capacity_8");
  add_overflow<fixed_progress_fence<tidemark::native_platform>>("progress_fence.fixed_8");
  add_overflow<fixed_fence<tidemark::symmetric_platform>>("fence.fixed_8");
  add_overflow<progress_fence_for<64, counted_native>>("progress_fence.capacity_64.counted");
  add_overflow<progress_fence_for<8, counted_native>>("progress_fence.capacity_8.counted");
  add_overflow<fence_for<64, counted_symmetric>>("fence.capacity_64.counted");
  add_overflow<fence_for<8, counted_symmetric>>("fence.capacity_8.counted");
  add_overflow<fixed_progress_fence<counted_native>>("progress_fence.fixed_8.counted");
  add_overflow<fixed_fence<counted_symmetric>>("fence.fixed_8.counted");
  return bench::run_all(argc, argv);
}
