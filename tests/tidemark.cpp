// SPDX-License-Identifier: BSL-1.0
//
// All of tidemark through its one header, used as a user would, with nothing defined before.
#include <tidemark/tidemark.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>

#include "support/child.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;

namespace {

// Made before main() runs.
tidemark::progress_fence made_early{5};
const bool barrier_was_there_early = tidemark::native_platform::heavy_barrier_available();

}  // namespace

TEST_CASE("the names of the front page mean what they should") {
  static_assert(std::is_same_v<tidemark::fence, tidemark::basic_fence<tidemark::symmetric_platform>>);
  static_assert(std::is_same_v<tidemark::progress_fence, tidemark::basic_progress_fence<tidemark::native_platform>>);
  static_assert(std::is_same_v<tidemark::fence_view, decltype(std::declval<tidemark::fence&>().view())>);
  static_assert(std::is_same_v<tidemark::waiter_heap<8>, tidemark::waiter_heap<8, tidemark::native_platform>>);
  static_assert(tidemark::no_waiter == UINT64_MAX);
  MESSAGE("sizeof: fence " << sizeof(tidemark::fence) << ", progress_fence " << sizeof(tidemark::progress_fence)
                           << ", waiter_heap<16> " << sizeof(tidemark::waiter_heap<16>));
  CHECK(sizeof(tidemark::fence) % tidemark::cache_line == 0);
#if defined(__x86_64__) && defined(__LP64__)
  // Where a double word has no lock, as it has under ThreadSanitizer.
  if (sizeof(tidemark::native_platform::double_word) == 16) {
    CHECK(sizeof(tidemark::fence) <= 768);
    CHECK(sizeof(tidemark::progress_fence) <= 768);
  }
#endif
}

TEST_CASE("[A34] a fence that is made before main() knows whether there is a heavy barrier") {
  CHECK(barrier_was_there_early == tidemark::native_platform::heavy_barrier_available());
  CHECK((made_early.monitored_value() == tidemark::no_waiter) == barrier_was_there_early);
  CHECK(made_early.signal_next() == 6);
  CHECK(made_early.wait(6) == tidemark::wait_status::reached);
}

TEST_CASE("[A3] two threads hand each other turns with two fences") {
  tidemark::progress_fence work;
  tidemark::fence done;
  const watchdog dog{[&] { return "work: " + state_of(work) + "; done: " + state_of(done); }};
  std::uint64_t sum = 0;  // belongs to whose turn it is
  std::thread worker{[&] {
    for (std::uint64_t turn = 1; work.wait(turn) == tidemark::wait_status::reached && turn <= 1000; ++turn) {
      sum += turn;
      done.signal_next();
      if (turn == 1000) return;
    }
  }};
  for (std::uint64_t turn = 1; turn <= 1000; ++turn) {
    work.signal_next();
    CHECK(done.wait_for(turn, 1h) == tidemark::wait_status::reached);
    sum += turn;
  }
  worker.join();
  CHECK(sum == 1000 * 1001);
}

TEST_CASE("without a hook of one's own, misuse stops a debug build with a message") {
  const auto end = run_in_child([] {
    tidemark::progress_fence fence{7};
    fence.signal(6);
  });
#ifdef NDEBUG
  CHECK(end.exit_status == 0);
  CHECK(end.errors == "");
#else
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("tidemark: a progress fence was signalled backwards (") == 0);
  CHECK(end.errors.find("fence.hpp:") != std::string::npos);
#endif
}
