// SPDX-License-Identifier: BSL-1.0
//
// Stands for tidemark/verify/check.hpp where a check is compiled for a second opinion (export.cmake): as a program of
// one check that has threads of the system, or, with TIDEMARK_GENMC, as one for GenMC, which plays through all its
// executions. Everything is an atomic or a plain field of the language there.
//
// What is different from the first checker:
//   - A sleep hands over what was done before the wake-up, so it may hide a missing release or acquire.
//   - notify_one() wakes all who sleep. A deadline passes at once.
//   - An order that an operation can't have is not looked for.
#ifndef TIDEMARK_VERIFY_CHECK_HPP
#define TIDEMARK_VERIFY_CHECK_HPP

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#if defined(TIDEMARK_GENMC)
extern "C" {
void __VERIFIER_assert_fail(const char* text, const char* file, int line) noexcept;
void* __VERIFIER_malloc(std::size_t bytes) noexcept;
void* __VERIFIER_malloc_aligned(std::size_t alignment, std::size_t bytes) noexcept;
void __VERIFIER_free(void* memory) noexcept;
long __VERIFIER_thread_create(const void* attributes, void* (*body)(void*), void* given) noexcept;
void* __VERIFIER_thread_join(long thread) noexcept;
long __VERIFIER_thread_self() noexcept;
}

// What the C++ library has and its interpreter has not.
const std::nothrow_t std::nothrow{};
void* operator new(std::size_t bytes) { return __VERIFIER_malloc(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return __VERIFIER_malloc(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return __VERIFIER_malloc_aligned(static_cast<std::size_t>(alignment), bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return __VERIFIER_malloc_aligned(static_cast<std::size_t>(alignment), bytes);
}
void operator delete(void* memory) noexcept { __VERIFIER_free(memory); }
void operator delete(void* memory, std::size_t) noexcept { __VERIFIER_free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { __VERIFIER_free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { __VERIFIER_free(memory); }
void* operator new[](std::size_t bytes) { return __VERIFIER_malloc(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return __VERIFIER_malloc(bytes); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return __VERIFIER_malloc_aligned(static_cast<std::size_t>(alignment), bytes);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return __VERIFIER_malloc_aligned(static_cast<std::size_t>(alignment), bytes);
}
void operator delete[](void* memory) noexcept { __VERIFIER_free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { __VERIFIER_free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { __VERIFIER_free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { __VERIFIER_free(memory); }
#endif

namespace tidemark::verify {

namespace second {

inline void fail(const char* text, const char* file, int line) {
#if defined(TIDEMARK_GENMC)
  __VERIFIER_assert_fail(text, file, line);
#else
  std::fprintf(stderr, "%s:%d: FAILS: %s\n", file, line, text);
  std::_Exit(1);
#endif
}

/// In a loop that waits.
inline void pause() {
#if !defined(TIDEMARK_GENMC)
  sched_yield();
#endif
}

}  // namespace second

template <unsigned Threads>
struct check {
  static constexpr unsigned threads = Threads;
};

inline void expect(bool condition, const char* text, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!condition) second::fail(text, file, line);
}

/// A number for each thread.
inline unsigned long this_thread() {
#if defined(TIDEMARK_GENMC)
  return static_cast<unsigned long>(__VERIFIER_thread_self()) + 1;
#else
  return pthread_self();
#endif
}

inline void yield() { second::pause(); }
inline void thread_fence(std::memory_order order) { std::atomic_thread_fence(order); }

/// std::atomic, on which threads can sleep.
template <class T>
class atomic : public std::atomic<T> {
  using base = std::atomic<T>;

 public:
  constexpr atomic() noexcept : base{T{}} {}
  constexpr atomic(T value) noexcept : base{value} {}
  using base::operator=;

  void wait(T old, std::memory_order order = std::memory_order_seq_cst) const {
    while (base::load(order) == old) park(old);
  }
  void notify_one() { notify_all(); }
  void notify_all() { wakes_.fetch_add(1, both_ways); }

  /// Sleeps while it has this value, as a futex does: only a notification wakes.
  void park(T expected) const {
    const unsigned before = wakes_.fetch_add(0, both_ways);
    if (base::load(newest_known) != expected) return;
    while (wakes_.load(woken) == before) second::pause();
  }

 private:
  // A sleeper that counts itself first is woken; one that comes later finds the value for which it would be woken.
  static constexpr auto both_ways = std::memory_order_acq_rel;
  static constexpr auto newest_known = std::memory_order_relaxed;
  static constexpr auto woken = std::memory_order_acquire;

  mutable std::atomic<unsigned> wakes_{0};
};

/// A plain field.
template <class T>
class var {
 public:
  var() noexcept : value_{} {}
  explicit var(T value) noexcept : value_{value} {}
  var(const var&) = delete;
  T operator=(T value) {
    store(value);
    return value;
  }
  var& operator=(const var&) = delete;

  T load() const { return value_; }
  void store(T value) { value_ = value; }
  operator T() const { return load(); }
  T operator+=(T by) { return operator=(static_cast<T>(value_ + by)); }
  T operator-=(T by) { return operator=(static_cast<T>(value_ - by)); }
  T operator++() { return operator=(static_cast<T>(value_ + 1)); }
  T operator--() { return operator=(static_cast<T>(value_ - 1)); }
  T operator++(int) { return std::exchange(value_, static_cast<T>(value_ + 1)); }
  T operator--(int) { return std::exchange(value_, static_cast<T>(value_ - 1)); }

 private:
  T value_;
};

/// A check in the file. Only run() plays it.
template <class Check>
struct checked {
  using suite = Check;
  constexpr explicit checked(const char*) noexcept {}
};
enum class fails_by : std::uint8_t { anything, race, assertion, deadlock, livelock, freed_memory, leak };
template <class Check>
struct twin : checked<Check> {
  constexpr explicit twin(const char* name, fails_by = fails_by::anything) noexcept : checked<Check>{name} {}
};

namespace second {

template <class Check>
struct player {
  struct one {
    Check* of;
    unsigned index;
  };
  static inline one all[Check::threads];

  static void* body(void* given) {
    const one& mine = *static_cast<const one*>(given);
    mine.of->thread(mine.index);
    return nullptr;
  }

  static void play() {
    auto* const made = new Check;
    if constexpr (requires { made->before(); }) made->before();
#if defined(TIDEMARK_GENMC)
    long threads[Check::threads];
#else
    pthread_t threads[Check::threads];
#endif
    for (unsigned i = 0; i < Check::threads; ++i) {
      all[i].of = made;
      all[i].index = i;
    }
    for (unsigned i = 0; i < Check::threads; ++i) {
#if defined(TIDEMARK_GENMC)
      threads[i] = __VERIFIER_thread_create(nullptr, body, &all[i]);
#else
      if (pthread_create(&threads[i], nullptr, body, &all[i]) != 0) std::abort();
#endif
    }
    for (unsigned i = 0; i < Check::threads; ++i) {
#if defined(TIDEMARK_GENMC)
      __VERIFIER_thread_join(threads[i]);
#else
      pthread_join(threads[i], nullptr);
#endif
    }
    if constexpr (requires { made->after(); }) made->after();
    delete made;
  }
};

}  // namespace second

/// Plays a check as often as the argument of the program says, or a thousand times. GenMC plays all its executions.
template <class Check>
int run(const checked<Check>&, [[maybe_unused]] char** words) {
#if defined(TIDEMARK_GENMC)
  second::player<Check>::play();
#else
  const long times = words[0] != nullptr && words[1] != nullptr ? std::atol(words[1]) : 1000;
  for (long i = 0; i < times; ++i) second::player<Check>::play();
#endif
  return 0;
}

}  // namespace tidemark::verify

// Misuse of our headers fails the execution, if this header is included before them.
#ifndef TIDEMARK_ASSERT
#define TIDEMARK_ASSERT(condition, text) \
  ((condition) ? static_cast<void>(0) : ::tidemark::verify::second::fail(text, __FILE__, __LINE__))
#endif

#endif  // TIDEMARK_VERIFY_CHECK_HPP
