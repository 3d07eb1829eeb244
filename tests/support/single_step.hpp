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

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#if defined(__x86_64__)
#include <sys/ptrace.h>
#include <sys/user.h>
#endif

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

  /// Runs a process up to its instruction `at`, which is less than what record() has returned, and kills it before
  /// that. Returns whether the operation had not ended.
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
  static constexpr long breakpoint = 0xCC;

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
    if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP) return child;
    if (WIFSTOPPED(status)) end(child);
    return -1;
  }

  void end(pid_t child) {
    ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) == child && !WIFSIGNALED(status) && !WIFEXITED(status)) {
    }
  }

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
        auto* const at = reinterpret_cast<void*>(place);
        const long before = ::ptrace(PTRACE_PEEKTEXT, child, at, nullptr);
        if (errno != 0) return false;
        auto* const trap = reinterpret_cast<void*>((before & ~0xFFL) | breakpoint);
        if (::ptrace(PTRACE_POKETEXT, child, at, trap) != 0 || !go_on(PTRACE_CONT, child)) return false;
        user_regs_struct registers{};
        ::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
        --registers.rip;
        ::ptrace(PTRACE_SETREGS, child, nullptr, &registers);
        ::ptrace(PTRACE_POKETEXT, child, at, reinterpret_cast<void*>(before));
      }
      if (passes == 0) return true;
      if (!step(child)) return false;
    }
  }

  std::vector<std::uint64_t> places_;
  std::vector<std::size_t> passes_;  // how often the same place comes before

#else

  std::size_t record() { return 0; }
  bool kill_at(std::size_t) { return false; }

 private:
#endif

  Prepare prepare_;
  Operation operation_;
  volatile int* is_over_ = nullptr;
};

/// Kills a process at each instruction of the operation, or at every `stride`th, and calls `check(at)` after each.
/// Returns how many were killed inside; prints how many instructions there are.
template <class Prepare, class Operation, class Check>
std::size_t kill_at_each_instruction(const char* name, std::size_t stride, Prepare prepare, Operation operation,
                                     const Check& check) {
  single_stepper stepper{prepare, operation};
  const std::size_t count = stepper.record();
  if (count == 0) {
    MESSAGE("not tested: " << name << ", since ptrace is refused, or is none of this build");
    return 0;
  }
  check(count);
  std::size_t inside = 0;
  std::size_t killed = 0;
  for (std::size_t at = 0; at < count; at += stride) {
    inside += stepper.kill_at(at) ? 1 : 0;
    ++killed;
    check(at);
  }
  MESSAGE(name << ": " << count << " instructions, killed at " << killed << ", inside " << inside);
  // All but those that the kernel made different.
  CHECK(inside * 10 >= killed * 9);
  return inside;
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_SINGLE_STEP_HPP
