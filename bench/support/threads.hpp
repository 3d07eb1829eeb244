// SPDX-License-Identifier: BSL-1.0
//
// Threads for the benchmarks: many of them on small stacks, pinned where asked, a gate that proves them asleep in the
// kernel, and a watchdog that ends the process with a message instead of leaving it hung. Linux only.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../peers/futex.hpp"

namespace bench {

[[noreturn]] inline void fail(const char* what) {
  std::fprintf(stderr, "benchmark aborted: %s\n", what);
  std::fflush(nullptr);
  std::_Exit(3);
}

/// The processors this process may run on.
inline const std::vector<int>& processors() {
  static const std::vector<int> usable = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) != 0) fail("sched_getaffinity");
    std::vector<int> found;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) found.push_back(cpu);
    }
    return found;
  }();
  return usable;
}

inline cpu_set_t only(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  return set;
}

/// Keeps the calling thread on one processor for a while.
class pinned {
 public:
  explicit pinned(int cpu) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    const cpu_set_t set = only(cpu);
    if (::sched_setaffinity(0, sizeof set, &set) != 0) fail("sched_setaffinity");
  }
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;
  ~pinned() { ::sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_;
};

inline constexpr int any_processor = -1;

/// A number of threads that run `body(index)`. Joined by the destructor: whoever stops early must let them end first.
class thread_group {
 public:
  thread_group() = default;
  thread_group(const thread_group&) = delete;
  thread_group& operator=(const thread_group&) = delete;
  ~thread_group() { join(); }

  void start(std::size_t count, std::function<void(std::size_t)> body, int cpu = any_processor) {
    body_ = std::move(body);
    members_ = std::vector<member>(count);
    pthread_attr_t attributes;
    ::pthread_attr_init(&attributes);
    ::pthread_attr_setstacksize(&attributes, stack_bytes);
    if (cpu != any_processor) {
      const cpu_set_t set = only(cpu);
      ::pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    }
    for (std::size_t index = 0; index < count; ++index) {
      members_[index].group = this;
      members_[index].index = index;
      if (::pthread_create(&members_[index].handle, &attributes, &run, &members_[index]) != 0) fail("pthread_create");
    }
    ::pthread_attr_destroy(&attributes);
  }

  std::size_t size() const { return members_.size(); }

  /// Returns when all members sleep in the kernel, seen twice in a row: a thread that only queues for a mutex is found
  /// awake by one of the two looks, as long as some other thread holds it.
  void wait_until_parked() {
    for (int clean = 0; clean < 2;) {
      if (all_asleep()) {
        ++clean;
      } else {
        clean = 0;
        std::this_thread::sleep_for(std::chrono::microseconds{100});
      }
    }
  }

  void join() {
    for (member& each : members_) {
      ::pthread_join(each.handle, nullptr);
      if (each.state_file >= 0) ::close(each.state_file);
    }
    members_.clear();
  }

 private:
  static constexpr std::size_t stack_bytes = 128 * 1024;

  struct member {
    thread_group* group = nullptr;
    std::size_t index = 0;
    pthread_t handle{};
    int state_file = -1;
    std::atomic<pid_t> id{0};
  };

  static void* run(void* argument) {
    member& self = *static_cast<member*>(argument);
    self.id.store(static_cast<pid_t>(::syscall(SYS_gettid)), std::memory_order_release);
    self.group->body_(self.index);
    return nullptr;
  }

  bool all_asleep() {
    return std::all_of(members_.begin(), members_.end(), [](member& each) { return is_asleep(each); });
  }

  /// The letter after the command's name in /proc/self/task/<id>/stat: S sleeps, R runs or is ready to, D is busy in
  /// the kernel.
  static bool is_asleep(member& each) {
    const pid_t id = each.id.load(std::memory_order_acquire);
    if (id == 0) return false;
    if (each.state_file < 0) {
      const std::string path = "/proc/self/task/" + std::to_string(id) + "/stat";
      each.state_file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (each.state_file < 0) fail("no state file for a thread: it ended early, or too many files are open");
    }
    char text[96];
    const ssize_t length = ::pread(each.state_file, text, sizeof text, 0);
    if (length <= 0) fail("a thread ended before it was released");
    const std::string_view line(text, static_cast<std::size_t>(length));
    const std::size_t name_end = line.rfind(')');
    return name_end != std::string_view::npos && name_end + 2 < line.size() && line[name_end + 2] == 'S';
  }

  std::function<void(std::size_t)> body_;
  std::vector<member> members_;
};

/// Ends the process with a message when a scope takes longer than two minutes.
class watchdog {
 public:
  explicit watchdog(const char* scope) {
    static const bool watching = (std::thread{watch}.detach(), true);
    static_cast<void>(watching);
    scope_.store(scope, std::memory_order_relaxed);
    bites_at_.store(now() + limit_seconds, std::memory_order_release);
  }
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  ~watchdog() { bites_at_.store(never, std::memory_order_release); }

 private:
  static constexpr long limit_seconds = 120;
  static constexpr long never = -1;

  static long now() {
    timespec time;
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
  }

  static void watch() {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::seconds{1});
      const long at = bites_at_.load(std::memory_order_acquire);
      if (at == never || now() < at) continue;
      std::fprintf(stderr, "%s: not finished after %ld s\n", scope_.load(std::memory_order_relaxed), limit_seconds);
      fail("watchdog");
    }
  }

  static inline std::atomic<long> bites_at_{never};
  static inline std::atomic<const char*> scope_{""};
};

/// One thread that sleeps on a futex for the whole life of the process. glibc drops lock prefixes while a process has
/// a single thread, which would halve the price of some peers.
inline thread_group& companion() {
  static futex_gate* const gate = new futex_gate;
  static thread_group* const group = [] {
    auto* const started = new thread_group;  // never joined, on purpose
    started->start(1, [](std::size_t) { gate->pass(); });
    return started;
  }();
  group->wait_until_parked();
  return *group;
}

/// Context switches of all threads of this process so far: those made to sleep, and those forced.
struct switches {
  long voluntary;
  long forced;
};

inline switches count_switches() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {usage.ru_nvcsw, usage.ru_nivcsw};
}

/// Room for one state file per waiter. Call once, early.
inline void allow_many_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace bench
