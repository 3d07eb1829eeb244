// SPDX-License-Identifier: BSL-1.0
//
// Processes for the benchmarks: children that end with their parent, an object that they share, and turns that two
// processes hand back and forth. Linux only.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <new>
#include <utility>

#include "hand_over.hpp"
#include "measure.hpp"
#include "threads.hpp"

namespace bench {

/// A child that runs `body()` and ends. It is killed with this object, unless it has ended.
class child {
 public:
  template <class Body>
  explicit child(const Body& body, int cpu = any_processor) {
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    number_ = ::fork();
    if (number_ < 0) fail("fork");
    if (number_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    if (cpu != any_processor) {
      const cpu_set_t set = only(cpu);
      if (::sched_setaffinity(0, sizeof set, &set) != 0) fail("sched_setaffinity");
    }
    body();
    ::_exit(0);
  }
  child(child&& from) noexcept : number_{std::exchange(from.number_, 0)} {}
  child& operator=(child&&) = delete;
  ~child() {
    if (number_ <= 0) return;
    ::kill(number_, SIGKILL);
    ::waitpid(number_, nullptr, 0);
  }

  void kill() const { ::kill(number_, SIGKILL); }
  /// What it has used of its processors so far.
  double processor_seconds() const {
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(number_, &clock) != 0 || ::clock_gettime(clock, &used) != 0) fail("clock_getcpuclockid");
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  }

 private:
  pid_t number_ = 0;
};

/// A `T` that children share at the same address.
template <class T>
class shared_object {
 public:
  template <class... Arguments>
  explicit shared_object(Arguments&&... arguments) {
    void* const made = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) fail("mmap");
    object_ = ::new (made) T(std::forward<Arguments>(arguments)...);
  }
  shared_object(const shared_object&) = delete;
  shared_object& operator=(const shared_object&) = delete;
  ~shared_object() { ::munmap(object_, sizeof(T)); }

  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }

 private:
  T* object_;
};

/// Two processes hand a turn back and forth, as two threads do in ping_pong().
/// \tparam Way  a way for a turn from one process to another. It is made before the fork; then one process calls
///              open_signaller() and signal(value), and the other one open_waiter() and wait(value)
template <class Way>
void ping_pong_of_processes(benchmark::State& state, setting where) {
  Way there;
  Way back;
  const pinned here(where.cpu_here);
  const child partner(
      [&] {
        there.open_waiter();
        back.open_signaller();
        for (std::uint64_t turn = 1;; ++turn) {
          there.wait(turn);
          multiply(where.multiplications);
          back.signal(turn);
        }
      },
      where.cpu_there);
  there.open_signaller();
  back.open_waiter();
  std::uint64_t turn = 0;
  const auto take_turn = [&] {
    multiply(where.multiplications);
    there.signal(++turn);
    back.wait(turn);
  };
  for (int cold = 0; cold < cold_turns; ++cold) take_turn();
  measure_percentiles(state, take_turn);
}

}  // namespace bench
