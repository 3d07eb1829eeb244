// SPDX-License-Identifier: BSL-1.0
//
// Signals for which nobody waits, that find all who wait asleep and not due, or that wake one of them. For all kinds of
// fences, and for raw operations on which nobody can wait.
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "../peers/futex.hpp"
#include "measure.hpp"
#include "threads.hpp"

namespace bench {

/// No benchmark signals as far as this unless it wants to release everybody.
inline constexpr std::uint64_t far_away = std::uint64_t{1} << 40;

struct by_signal {
  template <class Subject>
  [[gnu::always_inline]] static void advance(Subject& subject, std::uint64_t value) {
    static_cast<void>(subject.signal(value));
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
  distant_waiters(Subject& subject, std::size_t count, int cpu = any_processor) : subject_{subject} {
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
    if constexpr (waitable<Subject>) release_all(subject_, far_away + threads_.size());
    gate_.open();
    threads_.join();
  }

  thread_group& threads() { return threads_; }

 private:
  Subject& subject_;
  futex_gate gate_;
  thread_group threads_;
};

// ---- signals -------------------------------------------------------------------------------------------------------

/// Nobody waits.
template <class Subject, class How>
void idle(benchmark::State& state) {
  const escaped<Subject> subject;
  measure_blocks(state, [&object = *subject](std::uint64_t value) { How::advance(object, value); });
}

/// The signaller keeps to one processor and the waiters to another: where a woken thread is put otherwise decides the
/// price of the system call.
template <class Subject>
void paced(benchmark::State& state, std::size_t waiters) {
  const pinned here(processors().front());
  const escaped<Subject> subject;
  distant_waiters<Subject> sleepers(*subject, waiters, processors().back());
  std::uint64_t value = 0;
  measure_paced(state, sleepers.threads(), [&] { by_signal::advance(*subject, ++value); });
}

/// Whether the others sleep on. To ask the system whether 999 threads sleep takes milliseconds and leaves its caches
/// with other data, so that a bare futex takes several times as long as it does otherwise.
template <class Subject>
constexpr bool wakes_only_the_due =
    std::same_as<Subject, futex_fence> || requires(Subject& subject) { subject.monitored_value(); };

template <class Subject>
void due(benchmark::State& state, std::size_t waiters) {
  const pinned here(processors().front());
  const int there = processors().back();
  const escaped<Subject> subject;
  std::atomic<bool> over{false};
  std::uint64_t value = 0;
  distant_waiters<Subject> others(*subject, waiters - 1, there);
  thread_group next_in_line;
  const auto wait_again_and_again = [&](std::size_t) {
    for (std::uint64_t target = 1; !over.load(std::memory_order_acquire); ++target) {
      static_cast<void>(subject->wait(target));
    }
  };
  next_in_line.start(1, wait_again_and_again, there);
  const auto all_sleep = [&] {
    next_in_line.wait_until_parked();
    if constexpr (!wakes_only_the_due<Subject>) others.threads().wait_until_parked();
    sweep_cache();
  };
  measure_calls(state, all_sleep, [&] { by_signal::advance(*subject, ++value); });
  others.threads().wait_until_parked();
  over.store(true, std::memory_order_release);
  by_signal::advance(*subject, ++value);
  next_in_line.join();
}

}  // namespace bench
