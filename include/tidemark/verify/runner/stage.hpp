// SPDX-License-Identifier: BSL-1.0
//
// Where a check is played. Of each number of threads Relacy knows one suite, on which any check is played: so the
// searches are compiled once, in stage_1.cpp and its siblings, and not for each check.
#ifndef TIDEMARK_VERIFY_RUNNER_STAGE_HPP
#define TIDEMARK_VERIFY_RUNNER_STAGE_HPP

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#include "execution.hpp"
#include "relacy.hpp"
#include "search.hpp"

/// Is called where an execution fails, in the thread that fails. It does nothing: for a breakpoint of a debugger.
extern "C" void tidemark_check_failed();

namespace tidemark::verify::runner {

namespace {

/// Whether memory is Relacy's own at the moment is private to it. An explicit instantiation may name that nevertheless.
template <int rl::context::* Member>
struct opened_context {
  friend bool allocates_for_itself(const rl::context& context) { return context.*Member != 0; }
};
bool allocates_for_itself(const rl::context& context);
template struct opened_context<&rl::context::disable_alloc_>;

[[maybe_unused]] bool allocates_for_check() {
  return watching != nullptr && running.now != phase::outside && !allocates_for_itself(rl::ctx());
}

}  // namespace

// A thread's stack has 64 KiB of the heap, with nothing to notice when it overflows. So a page near its end can't be
// touched: who gets there crashes, with a message (runner.cpp).
constexpr std::uintptr_t stack_size = 64 * 1024;
constexpr std::uintptr_t kept_below = 4 * 1024;  // so that the page is surely within the stack
inline void* guards[most_threads] = {};

inline void* guard_stack(void* frame) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (page > kept_below) return nullptr;
  char* const end = static_cast<char*>(frame) - (stack_size - kept_below);
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(end) % page;
  char* const place = beyond == 0 ? end : end + (page - beyond);
  return mprotect(place, page, PROT_NONE) == 0 ? place : nullptr;
}
inline void unguard(void*& place) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (place != nullptr) mprotect(place, page, PROT_READ | PROT_WRITE);
  place = nullptr;
}

/// Relacy's context, which also notes who has failed and how.
template <class Suite, class Scheduler>
class watched_context : public rl::context_impl<Suite, Scheduler> {
 public:
  using rl::context_impl<Suite, Scheduler>::context_impl;

  // The stacks are given back next, and their memory may be used for something else.
  ~watched_context() {
    for (void*& each : guards) unguard(each);
  }

 private:
  void* alloc(std::size_t size) override {
    const bool is_of_check = allocates_for_check();
    void* const memory = rl::context_impl<Suite, Scheduler>::alloc(size);
    if (is_of_check) watching->allocated(memory, size);
    return memory;
  }
  void free(void* memory) override {
    const bool is_of_check = allocates_for_check();
    rl::context_impl<Suite, Scheduler>::free(memory);
    // Relacy keeps the size before the memory, and what was no such memory does not get here.
    if (is_of_check && memory != nullptr)
      watching->freed(memory, *reinterpret_cast<const std::size_t*>(static_cast<const char*>(memory) - rl::alignment));
  }
  // The other forms, which nobody calls.
  void* alloc(std::size_t size, bool is_array, rl::debug_info_param info) override {
    return rl::context_impl<Suite, Scheduler>::alloc(size, is_array, info);
  }
  void free(void* memory, bool is_array, rl::debug_info_param info) override {
    rl::context_impl<Suite, Scheduler>::free(memory, is_array, info);
  }

  void fail_test(const char* text, rl::test_result_e result, rl::debug_info_param info) override {
    failed.text = text;
    failed.thread = engine::this_thread();
    failed.in_last_step = false;
    if (running.steps.recording()) note_step();
    tidemark_check_failed();
    rl::context_impl<Suite, Scheduler>::fail_test(text, result, info);
  }

  void note_step() {
    record::intent& intent = running.steps.intents[failed.thread];
    failed.in_last_step = intent.pending;
    if (intent.pending) running.steps.add(intent.what);
    intent.pending = false;
  }
};

template <unsigned Threads>
class stage : public rl::test_suite<stage<Threads>, static_cast<rl::thread_id_t>(Threads)> {
 public:
  stage() {
    if (executions_ != 0 && is_over()) rl::ctx().rl_until("", rl::debug_info{});
    ++executions_;
    ++running.number;
    running.now = phase::construction;
    running.aligned_allocations = 0;
    if (running.steps.recording()) running.steps.begin();
    if (watching != nullptr) watching->begin();
    guarded([] { played_->construct(place_); });
  }
  ~stage() {
    played_->destroy(place_);
    if (watching != nullptr) watching->end();
    if (running.aligned_allocations > 0)
      rl::ctx().fail_test("memory leak detected", rl::test_result_memory_leak, rl::debug_info{});
    running.now = phase::outside;
  }
  void before() {
    running.now = phase::before;
    guarded([] { played_->before(place_); });
    running.now = phase::threads;
  }
  void thread(unsigned index) {
    if (guards[index] == nullptr) guards[index] = guard_stack(__builtin_frame_address(0));
    guarded([index] { played_->thread(place_, index); });
  }
  void after() {
    running.now = phase::after;
    guarded([] { played_->after(place_); });
  }

  static outcome play(const entry& played, const search& how) {
    played_ = &played;
    place_ = std::aligned_alloc(played.alignment,
                                (played.size + played.alignment - 1) / played.alignment * played.alignment);
    if (place_ == nullptr) throw std::bad_alloc{};
    how_ = &how;
    plays_here = true;
    running.check = played.name;
    failed = {};
    began_ = std::clock();
    executions_ = 0;
    const outcome found =
        how.bounded ? run<rl::context_bound_scheduler<count>>(how) : run<rl::random_scheduler<count>>(how);
    running.now = phase::outside;
    std::free(place_);
    return found;
  }

  static constexpr auto count = static_cast<rl::thread_id_t>(Threads);

 private:
  /// An exception that leaves the check is a failure.
  template <class Part>
  static void guarded(Part part) {
#if defined(__cpp_exceptions)
    try {
      part();
      return;
    } catch (const std::exception& thrown) {
      std::snprintf(thrown_, sizeof thrown_, "an exception has left the check: %s", thrown.what());
    } catch (...) {
      std::snprintf(thrown_, sizeof thrown_, "an exception has left the check");
    }
    engine::fail(thrown_, {"where the check was called", 0, 0, ""});
#else
    part();
#endif
  }

  /// A repetition is one execution, and a search may have a limit of time.
  static bool is_over() {
    if (how_->repeats) return true;
    if (how_->seconds == 0 || executions_ % 64 != 0) return false;
    return static_cast<double>(std::clock() - began_) > how_->seconds * CLOCKS_PER_SEC;
  }

  template <class Scheduler>
  static outcome run(const search& how) {
    std::ostream silence{nullptr};
    rl::test_params params;
    params.output_stream = params.progress_stream = &silence;
    params.search_type = how.bounded ? rl::fair_context_bound_scheduler_type : rl::random_scheduler_type;
    params.iteration_count = how.executions;
    params.context_bound = how.bound;
    // An atomic operation that is watched counts twice.
    params.execution_depth_limit = watching == nullptr ? how.most_steps : 2 * how.most_steps;
    params.initial_state = how.state;
    rl::istringstream initial{params.initial_state};
    rl::ostringstream final;
    typename Scheduler::shared_context_t shared;
    outcome found;
    // Not longer than that: while there is a context, memory comes from it.
    const rl::test_result_e result = watched_context<stage, Scheduler>{params, shared}.simulate(final, initial, false);
    found.cut_off = result == rl::test_result_until_condition_hit;
    found.failed = result != rl::test_result_success && !found.cut_off;
    found.what = rl::test_result_str(result);
    found.executions = params.stop_iteration;
    found.state = final.str();
    return found;
  }

  static inline const entry* played_ = nullptr;
  static inline void* place_ = nullptr;
  static inline const search* how_ = nullptr;
  static inline std::clock_t began_ = 0;  // of the processor's time
  static inline char thrown_[256] = {};
  static inline unsigned long executions_ = 0;
};

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_STAGE_HPP
