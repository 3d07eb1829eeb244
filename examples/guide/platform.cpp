// SPDX-License-Identifier: BSL-1.0
// The program of docs/guide-platform.md: what a platform is here, and platforms of one's own.

#include "expect.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/platform/platform.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {

using guide::expect;
using tidemark::wait_status;

template <class Platform>
void describe(const char* name) {
  const auto yes_or_no = [](bool is_true) { return is_true ? "yes" : "no"; };
  std::printf("%-20s asymmetric %-4s lock-free %-4s signal handlers %s\n", name,
              yes_or_no(Platform::asymmetric && Platform::heavy_barrier_available()),
              yes_or_no(Platform::double_word::is_always_lock_free), yes_or_no(Platform::is_async_signal_safe));
}

// The same code on any platform.
template <class Platform>
bool hands_over() {
  tidemark::basic_progress_fence<Platform> done;
  int result = 0;
  std::thread worker([&] {
    result = 42;
    done.signal(1);
  });
  const bool is_there = done.wait(1) == wait_status::reached && result == 42;
  worker.join();
  return is_there;
}

// Counts the barriers that waiters pay for.
struct counting_platform : tidemark::native_platform {
  static bool heavy_barrier() noexcept {
    count.fetch_add(1, std::memory_order_relaxed);
    return native_platform::heavy_barrier();
  }
  static inline std::atomic<unsigned> count{0};
};

void count_barriers() {
  tidemark::basic_progress_fence<counting_platform> done;
  done.signal(1);
  expect(done.wait(1) == wait_status::reached, "1 is there");
  expect(counting_platform::count == 0, "neither the signal nor a wait that need not sleep has a heavy barrier");
  expect(done.wait_for(2, std::chrono::milliseconds{1}) == wait_status::timeout, "2 is not there");
  expect(counting_platform::count == 1, "a wait that sleeps has one");
}

// A system on which membarrier(2) is refused, as some sandboxes do.
struct refusing_platform : tidemark::native_platform {
  static constexpr bool heavy_barrier_available() noexcept { return false; }
  static bool heavy_barrier() noexcept {
    full_barrier();
    return false;
  }
};

void look_for_a_refused_barrier() {
  tidemark::basic_progress_fence<refusing_platform> done;
  expect(done.monitored_value() == 0, "every signal takes the slow path");
  tidemark::basic_fence<tidemark::symmetric_platform> other;
  expect(other.monitored_value() == tidemark::no_waiter, "a symmetric fence has no such barrier to refuse");
}

}  // namespace

int main() {
  describe<tidemark::native_platform>("native_platform");
  describe<tidemark::symmetric_platform>("symmetric_platform");
  describe<tidemark::portable_platform>("portable_platform");

  expect(hands_over<tidemark::native_platform>(), "native");
  expect(hands_over<tidemark::symmetric_platform>(), "symmetric");
  expect(hands_over<tidemark::portable_platform>(), "portable");
  expect(hands_over<refusing_platform>(), "refusing");

  count_barriers();
  look_for_a_refused_barrier();
  return guide::result("guide_platform");
}
