// SPDX-License-Identifier: BSL-1.0
//
// Fences and POSIX signal handlers: a handler signals a fence while the thread that it interrupts is in the middle of
// a wait or a signal, at each of its steps and at random moments; and a handler waits, on a stack of its own.
#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include <tidemark/fence/fence.hpp>

#include "support/faulty_platform.hpp"
#include "support/kinds.hpp"
#include "support/posix_signal.hpp"
#include "support/race.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::fence_options;
using tidemark::no_waiter;
using tidemark::wait_status;

namespace {

/// What the handler of this file does; set before a POSIX signal can arrive.
std::function<void()> in_handler;
void run_in_handler(int) { in_handler(); }

/// Interrupts its own thread at chosen steps: the handler runs there, before the next step.
class stepper {
 public:
  /// Interrupts before the step `first` from now, counted from 0, and then after every `gap` steps, `times` times in
  /// all. All interruptions that are left happen before a park, because nothing else would end the sleep.
  static void arm(std::uint64_t first, std::uint64_t times = 1, std::uint64_t gap = 0) {
    steps_ = first;
    gap_ = gap;
    left_ = times;
    done_ = 0;
    at_park_ = 0;
  }
  static void disarm() { left_ = 0; }
  /// Interruptions since arm(), and how many of them were at a park.
  static std::uint64_t done() { return done_; }
  static std::uint64_t at_park() { return at_park_; }

  static void visit(seam next) noexcept {
    if (is_inside_ || left_ == 0) return;
    if (next == seam::park) {
      for (at_park_ = left_; left_ > 0;) interrupt();
    } else if (steps_ > 0) {
      --steps_;
    } else {
      interrupt();
    }
  }
  static bool weak_exchange_fails() noexcept { return false; }
  static bool relaxed_look_misses() noexcept { return false; }

 private:
  static void interrupt() noexcept {
    --left_;
    ++done_;
    steps_ = gap_;
    is_inside_ = true;  // the handler takes steps, too
    raise(SIGUSR1);
    is_inside_ = false;
  }

  static inline thread_local std::uint64_t steps_ = 0;
  static inline thread_local std::uint64_t gap_ = 0;
  static inline thread_local std::uint64_t left_ = 0;
  static inline thread_local std::uint64_t done_ = 0;
  static inline thread_local std::uint64_t at_park_ = 0;
  static inline thread_local bool is_inside_ = false;
};

template <class Base>
using stepped_platform = seamed_platform<counting_platform<Base>, stepper>;
constexpr fence_options few_slots{.capacity = 5, .max_spin_ns = 0};
using stepped_symmetric = tidemark::basic_fence<stepped_platform<tidemark::symmetric_platform>, few_slots>;
using stepped_native = tidemark::basic_fence<stepped_platform<tidemark::native_platform>, few_slots>;
using stepped_progress = tidemark::basic_progress_fence<stepped_platform<tidemark::native_platform>, few_slots>;

template <class Fence>
void check_is_empty(const Fence& fence) {
  if (Fence::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
}

/// Sleepers that wait for 1, 2, ... `count`.
template <class Fence>
class sleepers {
 public:
  sleepers(const Fence& fence, std::uint64_t count) {
    for (std::uint64_t target = 1; target <= count; ++target) {
      CHECK(all_.emplace_back([&fence, target] { return fence.wait(target); }).falls_asleep());
    }
  }
  void check_all_reached() {
    for (auto& one : all_) CHECK(one.status() == wait_status::reached);
  }

 private:
  std::list<waiter> all_;
};

}  // namespace

TYPE_TO_STRING_AS("fence/symmetric", stepped_symmetric);
TYPE_TO_STRING_AS("fence/native", stepped_native);
TYPE_TO_STRING_AS("progress_fence/native", stepped_progress);

// ---- at each step --------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A28][A37] a handler that interrupts a wait, at each of its steps, may signal its fence", Fence,
                   stepped_symmetric, stepped_native, stepped_progress) {
  const handling signals{SIGUSR1, run_in_handler};
  std::uint64_t steps = 0;
  for (bool came_to_park = false; !came_to_park; ++steps) {
    Fence fence;
    const auto dog = watch(fence);
    in_handler = [&] { fence.signal(3); };
    errno = 77;
    stepper::arm(steps);
    const auto status = fence.wait(2);
    stepper::disarm();
    const int error = errno;
    CHECK(status == wait_status::reached);
    CHECK(error == 77);
    REQUIRE(stepper::done() == 1);
    came_to_park = stepper::at_park() == 1;
    check_is_empty(fence);
  }
  CHECK(steps > 10);
  MESSAGE(steps << " steps");
}

TEST_CASE_TEMPLATE("[A29][A37] two handlers that interrupt one wait, at each pair of its steps, may release others",
                   Fence, stepped_symmetric, stepped_native, stepped_progress) {
  const handling signals{SIGUSR1, run_in_handler};
  std::uint64_t pairs = 0;
  std::uint64_t first = 0;
  for (bool first_at_park = false; !first_at_park; ++first) {
    bool second_at_park = false;
    for (std::uint64_t gap = 0; !second_at_park; ++gap, ++pairs) {
      Fence fence;
      const auto dog = watch(fence);
      sleepers other{fence, 1};
      // The first handler releases the other thread, the second one both.
      in_handler = [&] { fence.signal(fence.current_value() + 1); };
      stepper::arm(first, 2, gap);
      CHECK(fence.wait(2) == wait_status::reached);
      stepper::disarm();
      REQUIRE(stepper::done() == 2);
      second_at_park = stepper::at_park() > 0;
      first_at_park = stepper::at_park() > 1;
      other.check_all_reached();
      check_is_empty(fence);
    }
  }
  CHECK(first > 10);
  MESSAGE(pairs << " pairs of steps");
}

TEST_CASE_TEMPLATE("[A19][A29][A37] a handler that interrupts a signal, at each of its steps, may signal its fence",
                   Fence, stepped_symmetric, stepped_native) {
  const handling signals{SIGUSR1, run_in_handler};
  for (const bool handler_first : {false, true}) {
    std::uint64_t steps = 0;
    for (bool was_interrupted = true; was_interrupted; ++steps) {
      Fence fence;
      const auto dog = watch(fence);
      sleepers others{fence, 3};
      in_handler = [&] { fence.signal(handler_first ? 3 : 2); };
      errno = 77;
      stepper::arm(steps);
      fence.signal(handler_first ? 2 : 3);
      stepper::disarm();
      CHECK(errno == 77);
      was_interrupted = stepper::done() == 1;
      if (!was_interrupted) in_handler();
      CHECK(fence.current_value() == 3);
      others.check_all_reached();
      check_is_empty(fence);
    }
    CHECK(steps > 10);
    MESSAGE(steps << " steps");
  }
}

TEST_CASE_TEMPLATE("[A29][A37] a handler may signal a fence before every single step of a signal of the same fence",
                   Fence, stepped_symmetric, stepped_native) {
  const handling signals{SIGUSR1, run_in_handler};
  Fence fence;
  const auto dog = watch(fence);
  sleepers others{fence, 1};
  std::uint64_t steps = 0;
  std::uint64_t handled = 0;
  in_handler = [&] {
    // Not before the interrupted signal has found out that it is due, or it would have no further steps.
    if (++steps <= 3) return;
    fence.signal_next();
    ++handled;
  };
  stepper::arm(0, UINT64_MAX);
  const auto own = fence.signal_next();
  stepper::disarm();
  CHECK(own <= handled + 1);
  CHECK(fence.current_value() == handled + 1);
  CHECK(handled >= 9);
  others.check_all_reached();
  check_is_empty(fence);
}

// ---- at random moments ---------------------------------------------------------------------------------------------

namespace {

/// What the interrupted thread is doing.
enum class place : int { elsewhere, waiting, signalling };

/// One thread signals and waits in turns, and another one interrupts it; only a handler ends each wait.
/// \tparam Own       the fence that the thread signals
/// \tparam Handlers  the fence that the thread waits for and that the handler signals
template <class Own, class Handlers>
class interrupted_thread {
 public:
  static constexpr std::uint64_t most = 20'000;

  interrupted_thread(Own& own, Handlers& handlers) : own_{own}, handlers_{handlers} {
    in_handler = [this] {
      const place where = where_.load(std::memory_order_relaxed);
      ++(where == place::waiting ? in_wait_ : where == place::signalling ? in_signal_ : elsewhere_);
      handlers_.signal_next();
      handled_.fetch_add(1, std::memory_order_release);
    };
  }

  void run(std::uint64_t seed) {
    const handling signals{SIGUSR1, run_in_handler};
    std::thread subject{[this] { take_turns(); }};
    // Others sleep, too, so that signals have waiters to release.
    std::thread observer{[this] { follow(own_); }};
    std::thread other{[this] { follow(handlers_); }};
    random_numbers random{seed};
    repetitions rounds{most};
    while (rounds.goes_on()) {
      pthread_kill(subject.native_handle(), SIGUSR1);
      await([&] { return handled_.load(std::memory_order_acquire) == rounds.done(); });
      // Often long enough for the thread to get to any point of its turns.
      for (std::uint64_t moments = random.below(random.below(2) == 0 ? 16 : 400); moments > 0; --moments)
        dawdle(random);
    }
    is_over_ = true;
    handlers_.poison();
    own_.poison();
    for (auto* const thread : {&subject, &observer, &other}) thread->join();
    MESSAGE(rounds.done() << " handlers: " << in_wait_ << " during a wait, " << in_signal_ << " during a signal; "
                          << own_signals_ << " signals by the thread itself");
    CHECK(handled_ == rounds.done());
    CHECK(in_wait_ > 0);  // chance decides how many come during a signal; the tests above interrupt it at each step
    CHECK(mistakes_ == 0);
  }

  std::uint64_t handled() const { return handled_; }
  std::uint64_t own_signals() const { return own_signals_; }

 private:
  void take_turns() {
    errno = 77;
    while (!is_over_) {
      where_.store(place::signalling, std::memory_order_relaxed);
      for (int signals = 0; signals < 50; ++signals, ++own_signals_) own_.signal_next();
      where_.store(place::elsewhere, std::memory_order_relaxed);
      const auto target = handlers_.current_value() + 1;
      if (target == 0) break;  // poisoned
      where_.store(place::waiting, std::memory_order_relaxed);
      const auto status = handlers_.wait(target);
      where_.store(place::elsewhere, std::memory_order_relaxed);
      if (status == wait_status::lost) break;
      if (status != wait_status::reached || handlers_.current_value() < target) ++mistakes_;
    }
    if (errno != 77) ++mistakes_;
  }

  template <class Fence>
  void follow(const Fence& fence) {
    for (std::uint64_t value = 1; value != 0 && fence.wait(value) == wait_status::reached;) {
      value = fence.current_value() + 1;
    }
  }

  Own& own_;
  Handlers& handlers_;
  std::atomic<place> where_{place::elsewhere};
  std::uint64_t in_wait_ = 0;  // only the handler writes these three
  std::uint64_t in_signal_ = 0;
  std::uint64_t elsewhere_ = 0;
  std::uint64_t own_signals_ = 0;
  std::atomic<std::uint64_t> handled_{0};
  std::atomic<std::uint64_t> mistakes_{0};
  std::atomic<bool> is_over_{false};
};

/// A handler that runs at any moment may find a lock that the interrupted thread holds.
template <class Fence>
bool has_lock_here() {
  if (Fence::platform::is_async_signal_safe) return false;
  MESSAGE("not tested: the double words or parks of this build have locks, so a signal handler must not signal");
  return true;
}

constexpr fence_options two_slots{.capacity = 2, .max_spin_ns = 16};

}  // namespace

TEST_CASE_TEMPLATE("[A7][A37] a handler may signal a fence that its thread is signalling or waiting for at that moment",
                   Kind, fence_symmetric, fence_native) {
  using fence_type = typename Kind::template plain<two_slots>;
  if (has_lock_here<fence_type>()) return;
  fence_type fence;
  const auto dog = watch(fence);
  const auto seed = fresh_seed();
  interrupted_thread thread{fence, fence};
  thread.run(seed);
  check_is_empty(fence);
}

TEST_CASE_TEMPLATE("[A7][A37] a handler may signal a progress fence of which it is the only signaller", Kind,
                   progress_native, progress_symmetric) {
  using fence_type = typename Kind::template plain<two_slots>;
  if (has_lock_here<fence_type>()) return;
  fence_type own;
  fence_type handlers;
  const watchdog dog{[&] { return "own: " + state_of(own) + "; handler's: " + state_of(handlers); }};
  const auto seed = fresh_seed();
  interrupted_thread thread{own, handlers};
  thread.run(seed);
  check_is_empty(own);
  check_is_empty(handlers);
}

// ---- on an alternate stack -----------------------------------------------------------------------------------------

namespace {

/// A stack for the signal handlers of the thread that constructs this object.
class alternate_stack {
 public:
  alternate_stack() : memory_(256 * 1024) {
    stack_t wanted{};
    wanted.ss_sp = memory_.data();
    wanted.ss_size = memory_.size();
    REQUIRE(sigaltstack(&wanted, &before_) == 0);
  }
  alternate_stack(const alternate_stack&) = delete;
  alternate_stack& operator=(const alternate_stack&) = delete;
  ~alternate_stack() { sigaltstack(&before_, nullptr); }

  bool holds(const void* address) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= begin && at < begin + memory_.size();
  }

 private:
  std::vector<std::byte> memory_;
  stack_t before_{};
};

}  // namespace

TEST_CASE_TEMPLATE("a handler on an alternate stack may wait for a fence that another thread signals", Kind,
                   fence_symmetric, fence_native, progress_native) {
  typename Kind::template fence<without_spinning> fence;
  const auto dog = watch(fence);
  const handling signals{SIGUSR1, run_in_handler, SA_ONSTACK};
  bool on_stack = false;
  wait_status inside{};
  waiter thread{[&] {
    const alternate_stack stack;
    in_handler = [&] {
      on_stack = stack.holds(__builtin_frame_address(0));
      inside = fence.wait(1);
    };
    raise(SIGUSR1);
    return inside;
  }};
  CHECK(thread.falls_asleep());
  fence.signal(1);
  CHECK(thread.status() == wait_status::reached);
  CHECK(on_stack);
  check_is_empty(fence);
}

TEST_CASE_TEMPLATE("a handler on an alternate stack may wait while the wait that it interrupted is not over", Kind,
                   fence_symmetric, fence_native, progress_native) {
  using fence_type = typename Kind::template fence<without_spinning>;
  if (has_lock_here<fence_type>()) return;
  fence_type fence;
  const auto dog = watch(fence);
  const handling signals{SIGUSR1, run_in_handler, SA_ONSTACK};
  std::atomic<pthread_t> id{};
  std::atomic<bool> entered{false};
  std::atomic<bool> left{false};
  bool on_stack = false;
  wait_status inside{};
  waiter thread{[&] {
    const alternate_stack stack;
    in_handler = [&] {
      on_stack = stack.holds(__builtin_frame_address(0));
      entered = true;
      inside = fence.wait(1);
      left = true;
    };
    id = pthread_self();
    return fence.wait(2);
  }};
  REQUIRE(thread.falls_asleep());
  if (fence_type::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == 1);
  const meter<typename Kind::platform> during;
  pthread_kill(id, SIGUSR1);
  await([&] { return entered && during.parks() > 0; });
  CHECK(thread.falls_asleep());
  CHECK_FALSE(left);
  if (fence_type::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == 0);
  fence.signal(1);
  await([&] { return left.load(); });
  CHECK(thread.falls_asleep());  // the outer wait goes on
  fence.signal(2);
  CHECK(thread.status() == wait_status::reached);
  CHECK(inside == wait_status::reached);
  CHECK(on_stack);
  check_is_empty(fence);
}
