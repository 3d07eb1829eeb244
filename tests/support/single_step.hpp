// SPDX-License-Identifier: BSL-1.0
//
// Kills a process after each instruction of an operation, one process for each instruction.
//
// The first process is stepped through the whole operation, which proves how many instructions it has and where they
// are. Each further one runs up to one of them, by a breakpoint, and is killed there. What differs between two runs,
// such as a loop that the kernel makes longer, can make it miss the place. Then it is killed behind the end, and
// kill_at() says so.
//
// Linux on x86-64 alone, without sanitizers, and where the system allows ptrace().
#ifndef TIDEMARK_TESTS_SUPPORT_SINGLE_STEP_HPP
#define TIDEMARK_TESTS_SUPPORT_SINGLE_STEP_HPP

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <sys/ptrace.h>
#include <sys/user.h>
#endif

#include "support/random.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TIDEMARK_TEST_IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TIDEMARK_TEST_IS_SANITIZED 1
#endif
#endif

namespace testing {

/// Steps through one operation.
/// \tparam Prepare    prepare() runs in the child before the operation, and is not stepped
/// \tparam Operation  operation() is what is killed
template <class Prepare, class Operation>
class single_stepper {
 public:
  single_stepper(Prepare prepare, Operation operation) : prepare_{prepare}, operation_{operation} {
    void* const made = ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(made != MAP_FAILED);
    is_over_ = static_cast<volatile int*>(made);
  }
  single_stepper(const single_stepper&) = delete;
  single_stepper& operator=(const single_stepper&) = delete;
  ~single_stepper() { ::munmap(const_cast<int*>(is_over_), sizeof(int)); }

#if defined(__x86_64__) && !defined(TIDEMARK_TEST_IS_SANITIZED) && !defined(TIDEMARK_TEST_EMULATED)

  /// Steps through the whole operation, and ends its process. Returns how many instructions there are; 0 if the system
  /// does not allow it.
  std::size_t record() {
    places_.clear();
    passes_.clear();
    const pid_t child = start();
    if (child < 0) return 0;
    std::unordered_map<std::uint64_t, std::size_t> passed;
    while (*is_over_ == 0) {
      const std::uint64_t at = place_of(child);
      places_.push_back(at);
      passes_.push_back(passed[at]++);
      if (!step(child)) return places_.clear(), end(child), 0;
    }
    end(child);
    return places_.size();
  }

  /// Does so several times, calls `check()` after each, and keeps the way of middle length, which most processes take:
  /// some make a detour, as over more slots, and some find nothing to do. Leaves out the first time, when the linker
  /// resolves what this process calls.
  template <class Check>
  std::size_t record_usual(const Check& check) {
    std::vector<std::pair<std::vector<std::uint64_t>, std::vector<std::size_t>>> ways;
    for (int times = 0; times < 10; ++times) {
      if (record() == 0) return 0;
      check();
      if (times != 0) ways.emplace_back(std::move(places_), std::move(passes_));
    }
    const auto middle = ways.begin() + 4;
    std::nth_element(ways.begin(), middle, ways.end(),
                     [](const auto& a, const auto& b) { return a.first.size() < b.first.size(); });
    std::tie(places_, passes_) = std::move(*middle);
    return places_.size();
  }

  /// Runs a process up to its instruction `at`, which is less than what record_usual() has returned, and kills it
  /// before that. Returns whether the operation had not ended.
  bool kill_at(std::size_t at) {
    const pid_t child = start();
    REQUIRE(child >= 0);
    const std::uint64_t place = places_[at];
    if (!run_to(child, place, passes_[at])) return end(child), false;
    const bool was_inside = *is_over_ == 0;
    end(child);
    return was_inside;
  }

 private:
  static constexpr std::uint64_t breakpoint = 0xCC;

  /// Starts a child that has stopped before the operation.
  pid_t start() {
    *is_over_ = 0;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(3);
      prepare_();
      ::raise(SIGSTOP);
      operation_();
      *is_over_ = 1;
      ::raise(SIGSTOP);
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    while (WIFSTOPPED(status) && WSTOPSIG(status) != SIGSTOP) {  // such as SIGCHLD, from what is prepared
      ::ptrace(PTRACE_CONT, child, nullptr, as_pointer(static_cast<std::uint64_t>(WSTOPSIG(status))));
      REQUIRE(::waitpid(child, &status, 0) == child);
    }
    return WIFSTOPPED(status) ? child : -1;
  }

  void end(pid_t child) {
    ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) == child && !WIFSIGNALED(status) && !WIFEXITED(status)) {
    }
  }

  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in another process
  static void* as_pointer(std::uint64_t number) { return reinterpret_cast<void*>(number); }

  static std::uint64_t place_of(pid_t child) {
    user_regs_struct registers{};
    ::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
    return registers.rip;
  }

  /// Lets the child go on with a request until it stops by the trap.
  static bool go_on(__ptrace_request request, pid_t child) {
    if (::ptrace(request, child, nullptr, nullptr) != 0) return false;
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  }
  static bool step(pid_t child) { return go_on(PTRACE_SINGLESTEP, child); }

  /// Runs until the child has come to the place for the time after `passes`.
  bool run_to(pid_t child, std::uint64_t place, std::size_t passes) {
    for (;; --passes) {
      if (place_of(child) != place) {
        errno = 0;
        void* const at = as_pointer(place);
        const long before = ::ptrace(PTRACE_PEEKTEXT, child, at, nullptr);
        if (errno != 0) return false;
        void* const trap = as_pointer((static_cast<std::uint64_t>(before) & ~std::uint64_t{0xFF}) | breakpoint);
        if (::ptrace(PTRACE_POKETEXT, child, at, trap) != 0 || !go_on(PTRACE_CONT, child)) return false;
        user_regs_struct registers{};
        ::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
        --registers.rip;
        ::ptrace(PTRACE_SETREGS, child, nullptr, &registers);
        ::ptrace(PTRACE_POKETEXT, child, at, as_pointer(static_cast<std::uint64_t>(before)));
      }
      if (passes == 0) return true;
      if (!step(child)) return false;
    }
  }

  std::vector<std::uint64_t> places_;
  std::vector<std::size_t> passes_;  // how often the same place comes before

#else

  template <class Check>
  std::size_t record_usual(const Check&) {
    return 0;
  }
  bool kill_at(std::size_t) { return false; }

 private:
#endif

  Prepare prepare_;
  Operation operation_;
  volatile int* is_over_ = nullptr;
};

/// Returns how many instructions of an operation are tried: all of them if TIDEMARK_KILL_AT_ALL is set.
inline std::size_t most_kills() { return std::getenv("TIDEMARK_KILL_AT_ALL") != nullptr ? SIZE_MAX : 200; }

/// Kills a process at each instruction of the operation, or at 200 that lie apart, and calls `check(at)` after each.
/// Prints how many instructions there are.
template <class Prepare, class Operation, class Check>
void kill_at_each_instruction(const std::string& name, Prepare prepare, Operation operation, const Check& check) {
  single_stepper stepper{prepare, operation};
  std::size_t count = stepper.record_usual([&] { check(0); });
  if (count == 0) {
    MESSAGE("not tested: " << name << ", since the system refuses ptrace, or this build can't be stepped");
    return;
  }
  const std::size_t stride = count / most_kills() + 1;
  const std::size_t first = random_numbers{fresh_seed()}.below(stride);
  std::size_t inside = 0;
  std::size_t killed = 0;
  std::size_t missed = 0;  // since the way was recorded
  for (std::size_t at = first; at < count; at += stride) {
    bool was_inside = false;
    // Under other conditions, as where its sleeper does not sleep yet, the operation takes another way, and ends
    // before.
    for (int tries = 0; tries < 10 && !was_inside; ++tries) {
      was_inside = stepper.kill_at(at);
      check(at);
    }
    inside += was_inside ? 1U : 0U;
    ++killed;
    // What was usual when the way was recorded, such as on a busy machine, may not be so any longer.
    if (!was_inside && ++missed == 3) {
      count = stepper.record_usual([&] { check(0); });
      REQUIRE(count != 0);
      missed = 0;
    }
  }
  MESSAGE(name << ": " << count << " instructions, killed at " << killed << ", inside " << inside);
  // All but some for which the kernel has gone another way.
  CHECK(inside * 10 >= killed * 8);
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_SINGLE_STEP_HPP
