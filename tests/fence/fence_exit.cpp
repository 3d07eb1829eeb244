// SPDX-License-Identifier: BSL-1.0
//
// Threads that end while an object of theirs still uses a fence: thread_local objects whose destructors signal or
// wait, and stop callbacks that the exit destroys while they run. And a process that ends while its threads wait.
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <utility>
#include <version>

#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

#include <tidemark/fence/fence.hpp>

#include "support/child.hpp"
#include "support/kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/race.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::no_waiter;
using tidemark::wait_status;

namespace {

/// Runs the given functions when its thread ends, the last one first.
struct exit_list {
  ~exit_list() {
    while (!tasks.empty()) {
      tasks.back()();
      tasks.pop_back();
    }
  }
  std::list<std::function<void()>> tasks;
};
void at_thread_exit(std::function<void()> task) {
  static thread_local exit_list list;
  list.tasks.push_back(std::move(task));
}

/// One interface to the different sources of stops.
struct stop_by_hand {
  using token = manual_stop::token;
  template <class Callback>
  using callback = token::callback_type<Callback>;
  manual_stop source;
  void request() { source.request(); }
};
#if defined(__cpp_lib_jthread)
struct stop_by_standard {
  using token = std::stop_token;
  template <class Callback>
  using callback = std::stop_callback<Callback>;
  std::stop_source source;
  void request() { source.request_stop(); }
};
#define EVERY_STOP stop_by_hand, stop_by_standard
#else
#define EVERY_STOP stop_by_hand
#endif

template <class Fence>
void check_is_empty(const Fence& fence) {
  if (Fence::platform::heavy_barrier_available()) CHECK(fence.monitored_value() == no_waiter);
}

/// A thread that sleeps while it ends, in the destructor of a thread_local object.
class leaver {
 public:
  template <class Task>
  explicit leaver(Task at_exit)
      : thread_{[this, at_exit = std::move(at_exit)] {
          at_thread_exit([this, at_exit] {
            id_ = syscall(SYS_gettid);
            inside_park = &inside_;
            is_leaving_ = true;
            at_exit();
            has_left_ = true;
          });
        }} {}
  leaver(const leaver&) = delete;
  leaver& operator=(const leaver&) = delete;
  ~leaver() { join(); }

  bool falls_asleep() const {
    await([this] { return has_left_ || (is_leaving_ && inside_ && is_asleep(id_)); });
    return !has_left_;
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> inside_{false};
  std::atomic<bool> is_leaving_{false};
  std::atomic<bool> has_left_{false};
  std::atomic<long> id_{0};
  std::thread thread_;
};

}  // namespace

TYPE_TO_STRING_AS("stop by hand", stop_by_hand);
#if defined(__cpp_lib_jthread)
TYPE_TO_STRING_AS("std::stop_token", stop_by_standard);
#endif

// ---- thread_local objects ------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[A37] a thread_local object may signal a fence while its thread ends", Kind, EVERY_KIND) {
  using fence_type = typename Kind::template plain<>;
  fence_type fence;
  const auto dog = watch(fence);
  std::uint64_t payload = 0;  // plain: only the fence synchronizes it
  std::uint64_t mistakes = 0;
  repetitions rounds{200};
  while (rounds.goes_on()) {
    const auto round = rounds.done();
    std::thread leaving{[&] {
      at_thread_exit([&] {
        payload = round;
        fence.signal(round);
      });
    }};
    if (fence.wait(round) != wait_status::reached || payload != round) ++mistakes;
    leaving.join();
  }
  CHECK(mistakes == 0);
  check_is_empty(fence);
}

TEST_CASE_TEMPLATE("[A37] a thread_local object may wait for a fence while its thread ends", Kind, EVERY_KIND) {
  for (const bool is_poisoned : {false, true}) {
    typename Kind::template fence<without_spinning> fence;
    const auto dog = watch(fence);
    wait_status status{};
    leaver leaving{[&] { status = fence.wait(1); }};
    CHECK(leaving.falls_asleep());
    if (is_poisoned) {
      fence.poison();
    } else {
      fence.signal(1);
    }
    leaving.join();
    CHECK(status == (is_poisoned ? wait_status::lost : wait_status::reached));
    check_is_empty(fence);
  }
}

TEST_CASE_TEMPLATE("a wait in the destructor of a thread_local object can be stopped", Stop, EVERY_STOP) {
  progress_native::fence<without_spinning> fence;
  const auto dog = watch(fence);
  Stop stop;
  wait_status status{};
  leaver leaving{[&] { status = fence.wait(1, stop.source.get_token()); }};
  CHECK(leaving.falls_asleep());
  stop.request();
  leaving.join();
  CHECK(status == wait_status::stopped);
  check_is_empty(fence);
}

// ---- stop callbacks ------------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("a stop callback that signals a fence runs once or never when its thread ends meanwhile", Stop,
                   EVERY_STOP) {
  const auto seed = fresh_seed();
  std::uint64_t ran = 0;
  std::uint64_t mistakes = 0;
  repetitions rounds{1'000};
  random_numbers random{seed};
  while (rounds.goes_on()) {
    auto fence = std::make_unique<tidemark::fence>();
    const auto dog = watch(*fence);
    Stop stop;
    std::atomic<bool> is_registered{false};
    std::atomic<bool> is_about_to_stop{false};
    std::thread leaving{[&] {
      const auto signal = [&] { fence->signal_next(); };
      const auto callback =
          std::make_shared<typename Stop::template callback<decltype(signal)>>(stop.source.get_token(), signal);
      at_thread_exit([callback] {});  // keeps it until the thread's end
      is_registered = true;
      await_soon([&] { return is_about_to_stop.load(); });
    }};
    await_soon([&] { return is_registered.load(); });
    is_about_to_stop = true;
    for (std::uint64_t moments = random.below(64); moments > 0; --moments) dawdle(random);  // an exit takes longer
    stop.request();
    const auto value = fence->current_value();
    leaving.join();
    if (fence->current_value() != value || value > 1) ++mistakes;  // no callback runs after the request has returned
    ran += value;
    fence.reset();  // no thread may touch it any more
  }
  CHECK(mistakes == 0);
  CHECK(ran > 0);
  MESSAGE(ran << " of " << rounds.done() << " callbacks ran");
}

TEST_CASE_TEMPLATE("a thread may end as soon as its wait was stopped, although the stop callback has just run", Stop,
                   EVERY_STOP) {
  const auto seed = fresh_seed();
  random_numbers random{seed};
  std::uint64_t stopped = 0;
  std::uint64_t mistakes = 0;
  repetitions rounds{1'000};
  while (rounds.goes_on()) {
    auto fence = std::make_unique<progress_native::plain<tidemark::fence_options{.max_spin_ns = 0}>>();
    const auto dog = watch(*fence);
    Stop stop;
    wait_status status{};
    tidemark::fence begun;
    std::thread leaving{[&] {
      begun.signal(1);
      status = fence->wait(1, stop.source.get_token());
    }};
    if (begun.wait(1) != wait_status::reached) ++mistakes;
    dawdle(random);
    if (random.below(4) == 0) fence->signal(1);
    stop.request();
    leaving.join();
    if (status == wait_status::stopped) {
      ++stopped;
    } else if (status != wait_status::reached || fence->current_value() != 1) {
      ++mistakes;
    }
    fence.reset();
  }
  CHECK(mistakes == 0);
  CHECK(stopped > 0);
  MESSAGE(stopped << " of " << rounds.done() << " waits were stopped");
}

#if defined(__cpp_lib_jthread)
TEST_CASE("a std::jthread that waits is stopped and joined by its destructor") {
  tidemark::progress_fence fence;
  const auto dog = watch(fence);
  wait_status status{};
  {
    const std::jthread thread{[&](const std::stop_token& token) { status = fence.wait(1, token); }};
    await([&] { return fence.monitored_value() == 0; });
  }
  CHECK(status == wait_status::stopped);
  check_is_empty(fence);
}
#endif

// ---- the end of the process ----------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("a process exits although a detached thread of it still waits", Kind, EVERY_KIND) {
  const auto end = run_in_child([] {
    alarm(60);  // kills a process that hangs
    // Never destroyed, because the thread outlives every object that is.
    static auto& fence = *new typename Kind::template fence<without_spinning>;
    static background& sleeper = *new background{[] { static_cast<void>(fence.wait(1)); }};
    if (!sleeper.falls_asleep()) _exit(2);
    std::exit(0);  // destroys static objects
  });
  INFO(end.errors);
  CHECK(end.signal == 0);
  CHECK(end.exit_status == 0);
}
