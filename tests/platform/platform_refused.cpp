// SPDX-License-Identifier: BSL-1.0
//
// A system that refuses membarrier(2), from the start and from some moment on, futex_waitv(2), or futex(2). Here it is
// a filter that a thread puts on itself (seccomp). It can't be taken off, so the test cases named "with ... refused"
// are skipped unless asked for, which the others do in a child process.
//
// Where futexes are refused, the C library ends the program as soon as it has to sleep itself. So these test cases
// take no lock that another thread may hold, and join no thread.
#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <string>
#include <thread>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/wait_many.hpp>

#include "support/child.hpp"
#include "support/kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/race.hpp"
#include "support/refused.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::fence_options;
using tidemark::native_platform;
using tidemark::no_waiter;
using tidemark::wait_status;

namespace {

constexpr int no_filter_here = 77;

/// Runs test cases of this program in a process of their own.
void check_in_child(const std::string& test_cases, bool without_membarrier) {
  const auto probe = run_in_child([] { _exit(refuse(SYS_membarrier) ? 0 : no_filter_here); });
  if (probe.exit_status == no_filter_here) {
    MESSAGE("not tested: this system permits no seccomp filter");
    return;
  }
  const auto end = run_in_child([&] {
    if (without_membarrier && !refuse(SYS_membarrier)) _exit(no_filter_here);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    const std::string only = "--test-case=" + test_cases + "*";
    execl("/proc/self/exe", "platform_refused", only.c_str(), "--no-skip=true", "--no-colors=true", nullptr);
    _exit(127);
  });
  INFO(end.errors);
  CHECK(end.signal == 0);
  CHECK(end.exit_status == 0);
}

/// For the second form: the program has started with membarrier, and loses it now.
void lose_membarrier() {
  if (!native_platform::heavy_barrier_available() || !refuse(SYS_membarrier)) _exit(no_filter_here);
}

bool uses_membarrier() {
  if (native_platform::asymmetric) return true;
  MESSAGE("not tested: this build does not use membarrier");
  return false;
}

constexpr fence_options eager_to_sleep{.max_spin_ns = 0};

/// Waits for several timelines, where not the first one is reached, and waits that end in other ways.
void check_waits_for_several() {
  using platform = progress_native::platform;
  std::array<progress_native::fence<eager_to_sleep>, 3> fences;
  const auto dog = watch(fences[0]);
  const std::array<tidemark::basic_awaited<platform>, 3> list{{{fences[0], 1}, {fences[1], 1}, {fences[2], 1}}};
  manual_stop stop;
  tidemark::wait_any_result first{};
  waiter any{[&] { return (first = tidemark::wait_any(list)).status; }};
  waiter all{[&] { return tidemark::wait_all(list); }};
  waiter stopped{[&] { return tidemark::wait_all(list, stop.get_token()); }};
  CHECK(any.falls_asleep());
  CHECK(all.falls_asleep());
  CHECK(stopped.falls_asleep());
  fences[2].signal(1);
  CHECK(any.status() == wait_status::reached);
  CHECK(first.index == 2);
  stop.request();
  CHECK(stopped.status() == wait_status::stopped);
  CHECK(tidemark::wait_all_for(list, 2ms) == wait_status::timeout);
  fences[0].signal(1);
  fences[1].signal(1);
  CHECK(all.status() == wait_status::reached);
}

}  // namespace

TEST_CASE("[A34] where membarrier is refused from the start, fences say so and work nevertheless") {
  if (uses_membarrier()) check_in_child("with membarrier refused from the start:", true);
}

TEST_CASE("[A34] where membarrier is refused later, waits look again by themselves") {
  if (uses_membarrier()) check_in_child("with membarrier refused later:", false);
}

TEST_CASE("[A65] where no thread can sleep on several words, waits for several look again by themselves") {
  check_in_child("with futex_waitv refused:", false);
}

TEST_CASE("where the system refuses futexes, waits look again by themselves and end in time") {
#if TIDEMARK_HAS_FUTEX && !TIDEMARK_HAS_TSAN
  check_in_child("with futex refused:", false);
#else
  MESSAGE("not tested: this build does not use futexes, or ThreadSanitizer itself needs them");
#endif
}

TEST_CASE("where the system has no futexes with 64-bit times, those with times of the machine's size are used") {
#if TIDEMARK_HAS_FUTEX && defined(SYS_futex_time64) && defined(SYS_futex)
  check_in_child("with futex_time64 refused:", false);
#else
  MESSAGE("not tested: this machine has only one kind of futex");
#endif
}

// ---- from the start ------------------------------------------------------------------------------------------------

TEST_CASE("with membarrier refused from the start: the platform says so" * doctest::skip()) {
  CHECK_FALSE(native_platform::heavy_barrier_available());
  errno = 77;
  const bool ordered = native_platform::heavy_barrier();
  const int error = errno;
  CHECK_FALSE(ordered);
  CHECK(error == 77);
}

TEST_CASE("with membarrier refused from the start: each signal takes the slow path" * doctest::skip()) {
  progress_native::fence<> fence;
  const tidemark::progress_fence users;
  const tidemark::fence symmetric;
  CHECK(users.monitored_value() == 0);
  CHECK(symmetric.monitored_value() == no_waiter);  // it needs no barrier, so nothing changes
  const meter<progress_native::platform> during;
  for (std::uint64_t value = 1; value <= 1000; ++value) fence.signal(value);
  CHECK(fence.monitored_value() == 0);
  CHECK(fence.notify_count() == 1000);
  CHECK(during.full_barriers() == 1000);
  CHECK(during.unparks() == 0);
}

TEST_CASE_TEMPLATE("with membarrier refused from the start: waits end in every way" * doctest::skip(), Kind,
                   progress_native, fence_native) {
  typename Kind::template fence<> fence;
  const auto dog = watch(fence);
  manual_stop stop;
  waiter due_at_3{[&] { return fence.wait(3); }};
  waiter due_at_5{[&] { return fence.wait_for(5, 24h); }};
  waiter stopped{[&] { return fence.wait(9, stop.get_token()); }};
  waiter lost{[&] { return fence.wait(9); }};
  for (const waiter* const one : {&due_at_3, &due_at_5, &stopped, &lost}) CHECK(one->falls_asleep());
  fence.signal(4);
  CHECK(due_at_3.status() == wait_status::reached);
  CHECK(due_at_5.falls_asleep());
  fence.signal(5);
  CHECK(due_at_5.status() == wait_status::reached);
  stop.request();
  CHECK(stopped.status() == wait_status::stopped);
  CHECK(fence.wait_for(9, 2ms) == wait_status::timeout);
  fence.poison();
  CHECK(lost.status() == wait_status::lost);
  CHECK(fence.monitored_value() == 0);
}

TEST_CASE_TEMPLATE("with membarrier refused from the start: no wake-up is lost" * doctest::skip(), Kind,
                   progress_native, fence_native) {
  MESSAGE(race<typename Kind::template plain<eager_to_sleep>>(1, 50'000) << " races");
  MESSAGE(race<typename Kind::template plain<eager_to_sleep>>(3, 50'000) << " rounds of 3 races");
}

TEST_CASE("with membarrier refused from the start: waits for several end in every way" * doctest::skip()) {
  check_waits_for_several();
}

// ---- later ---------------------------------------------------------------------------------------------------------

TEST_CASE("with membarrier refused later: the barrier fails and waits end" * doctest::skip()) {
  constexpr fence_options on_callers{.max_spin_ns = 0, .storage = tidemark::value_storage::caller};
  alignas(8) std::uint64_t storage = 0;
  tidemark::basic_progress_fence<native_platform, on_callers> fence{&storage};
  lose_membarrier();
  CHECK(native_platform::heavy_barrier_available());
  CHECK_FALSE(native_platform::heavy_barrier());
  const auto dog = watch(fence);
  CHECK(fence.wait_for(1, 3ms) == wait_status::timeout);
  waiter missed{[&] { return fence.wait(1); }};
  await([&] { return fence.monitored_value() == 0; });
  // Sets only the value, as if the signal had looked for waiters before this one was registered.
  std::atomic_ref{storage}.store(1, std::memory_order_release);
  CHECK(missed.status() == wait_status::reached);
  CHECK(fence.monitored_value() == no_waiter);
}

TEST_CASE_TEMPLATE("with membarrier refused later: a race delays a wake-up at worst" * doctest::skip(), Kind,
                   progress_native, fence_native) {
  lose_membarrier();
  MESSAGE(race<typename Kind::template plain<eager_to_sleep>>(1, 50'000) << " races");
  MESSAGE(race<typename Kind::template plain<eager_to_sleep>>(3, 50'000) << " rounds of 3 races");
}

TEST_CASE("with membarrier refused later: waits for several end in every way" * doctest::skip()) {
  lose_membarrier();
  check_waits_for_several();
}

// ---- futex_waitv ---------------------------------------------------------------------------------------------------

TEST_CASE("with futex_waitv refused: waits for several end in every way" * doctest::skip()) {
#if defined(SYS_futex_waitv)
  if (!refuse(SYS_futex_waitv)) _exit(no_filter_here);
#endif
  check_waits_for_several();
}

// ---- futex ---------------------------------------------------------------------------------------------------------

namespace {

void lose_futexes(std::uint32_t error) {
#if defined(SYS_futex)
  if (!refuse(SYS_futex, error)) _exit(no_filter_here);
#endif
#if defined(SYS_futex_time64)
  if (!refuse(SYS_futex_time64, error)) _exit(no_filter_here);
#endif
}

/// Signals from a thread that was started before the filter was set, and that ends with the process. Its wake-ups
/// reach no thread, because the waiter does not sleep in the kernel.
template <class Fence>
class early_signaller {
 public:
  early_signaller() {
    std::thread{[this] {
      await([this] { return is_asked_.load(); });
      fence.signal(1);
    }}.detach();
  }
  void ask() { is_asked_ = true; }

  Fence fence;

 private:
  std::atomic<bool> is_asked_{false};
};

template <class Kind>
void check_waits_without_futexes(std::uint32_t error) {
  using fence_type = typename Kind::template fence<without_spinning>;
  static auto& signallers = *new std::list<early_signaller<fence_type>>;  // used until the process ends
  auto& signaller = signallers.emplace_back();
  fence_type& fence = signaller.fence;
  lose_futexes(error);
  alarm(60);  // ends a program that hangs; a watchdog could not sleep
  errno = 77;

  const meter<typename Kind::platform> during;
  const auto start = std::chrono::steady_clock::now();
  CHECK(fence.wait_for(1, 50ms) == wait_status::timeout);
  CHECK(std::chrono::steady_clock::now() - start >= 50ms);
  CHECK(during.parks() <= 51);  // a millisecond or more each
  CHECK(fence.wait_until(1, std::chrono::system_clock::now() + 5ms) == wait_status::timeout);

  using platform = typename Kind::base;
  fence_type other;
  const std::array<tidemark::basic_awaited<typename Kind::platform>, 2> both{{{fence, 1}, {other, 1}}};
  CHECK(tidemark::wait_any_for(both, 5ms) == wait_status::timeout);
  typename platform::park_word word{1};
  CHECK_FALSE(platform::park(word, 1, tidemark::deadline::min()));
  CHECK(platform::park(word, 0, tidemark::no_deadline));  // the word has another value

  signaller.ask();
  CHECK(fence.wait(1) == wait_status::reached);
  CHECK(errno == 77);
}

}  // namespace

TEST_CASE_TEMPLATE("with futex refused: waits with a deadline end in time, and others with the signal" *
                       doctest::skip(),
                   Kind, fence_symmetric, progress_native) {
  SUBCASE("as not permitted") { check_waits_without_futexes<Kind>(EPERM); }
  SUBCASE("as not there") { check_waits_without_futexes<Kind>(ENOSYS); }
}

TEST_CASE("with futex refused: a wait on a cancelled thread ends as any other" * doctest::skip()) {
#if defined(PTHREAD_CANCEL_DISABLE)
  progress_native::fence<without_spinning> fence;
  lose_futexes(EPERM);
  alarm(60);
  pthread_cancel(pthread_self());
  const wait_status status = fence.wait_for(1, 2ms);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);  // this thread is still needed
  CHECK(status == wait_status::timeout);
#endif
}

TEST_CASE_TEMPLATE("with futex_time64 refused: waits end in every way" * doctest::skip(), Kind, fence_symmetric,
                   progress_native) {
#if defined(SYS_futex_time64)
  for (const auto error : {std::uint32_t{EPERM}, std::uint32_t{ENOSYS}}) {
    if (!refuse(SYS_futex_time64, error)) _exit(no_filter_here);
    typename Kind::template fence<without_spinning> fence;
    const auto dog = watch(fence);
    const meter<typename Kind::platform> during;
    for (const auto timeout : {1ms, 30ms}) {
      const auto start = std::chrono::steady_clock::now();
      CHECK(fence.wait_for(1, timeout) == wait_status::timeout);
      CHECK(std::chrono::steady_clock::now() - start >= timeout);
    }
    waiter patient{[&] { return fence.wait(1); }};
    waiter distant{[&] { return fence.wait_until(1, tidemark::deadline{std::chrono::hours{24 * 365 * 100}}); }};
    CHECK(patient.falls_asleep());
    CHECK(distant.falls_asleep());
    fence.signal(1);
    CHECK(patient.status() == wait_status::reached);
    CHECK(distant.status() == wait_status::reached);
  }
#endif
}
