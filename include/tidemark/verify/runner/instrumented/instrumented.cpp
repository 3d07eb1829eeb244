// SPDX-License-Identifier: BSL-1.0
//
// What code calls that was compiled with -fsanitize=thread and is linked without that sanitizer's library: before each
// plain read and write a function, and instead of each atomic operation one. Here they go to the checker.
//
// This file itself and the rest of the runner must be compiled without it.
#if defined(__SANITIZE_THREAD__)
#error "compile the runner without -fsanitize=thread, which is for the checked sources only"
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#error "compile the runner without -fsanitize=thread, which is for the checked sources only"
#endif
#endif

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "../../engine.hpp"
#include "../execution.hpp"
#include "shadow.hpp"
#include "system.hpp"

namespace tidemark::verify::runner {
namespace {

using shadow::use;

void plain(const void* memory, std::size_t bytes, use how, const void* caller, bool is_volatile = false) {
  if (shadow::is_following() && bytes != 0)
    shadow::use_plainly(memory, bytes, how, is_volatile, source_position::of_address(caller));
}

// ---- atomic operations ----------------------------------------------------------------------------------------------

// As the compiler writes an order: with hints in the upper bits.
constexpr std::memory_order order_of(int order) noexcept {
  switch (order & 0xff) {
    case 0:
      return std::memory_order_relaxed;
    case 1:  // consume, which all compilers take for acquire
    case 2:
      return std::memory_order_acquire;
    case 3:
      return std::memory_order_release;
    case 4:
      return std::memory_order_acq_rel;
    default:
      return std::memory_order_seq_cst;
  }
}

template <class T>
T load(const T* memory, int order, const void* caller) {
  if (!shadow::is_following()) return __atomic_load_n(memory, __ATOMIC_SEQ_CST);
  const auto at = source_position::of_address(caller);
  T found;
  {
    shadow::atomic_use it{const_cast<T*>(memory), sizeof(T), at};
    found = static_cast<T>(it.word().load(order_of(order), at));
    it.has_read();
  }
  shadow::has_changed_nothing(memory, found, at);
  return found;
}

template <class T>
void store(T* memory, T value, int order, const void* caller) {
  if (!shadow::is_following()) return __atomic_store_n(memory, value, __ATOMIC_SEQ_CST);
  const auto at = source_position::of_address(caller);
  shadow::atomic_use it{memory, sizeof(T), at};
  it.word().store(value, order_of(order), at);
  it.has_written(value);
  shadow::has_changed_something();
}

/// A read-modify-write, `how` on the word; `outside` is the same where no execution runs.
template <class T, class How, class Result, class Outside>
T change(T* memory, int order, const void* caller, How how, Result result, Outside outside) {
  if (!shadow::is_following()) return outside();
  const auto at = source_position::of_address(caller);
  T found;
  bool same;
  {
    shadow::atomic_use it{memory, sizeof(T), at};
    found = static_cast<T>(how(it.word(), order_of(order), at));
    const T written = result(found);
    it.has_written(written);
    same = written == found;
  }
  if (same) {
    shadow::has_changed_nothing(memory, found, at);
  } else {
    shadow::has_changed_something();
  }
  return found;
}

/// Returns what was found, which is the expected value if and only if the exchange was made.
template <class T>
bool compare_exchange(T* memory, T& expected, T desired, int success, int failure, bool weak, const void* caller) {
  if (!shadow::is_following())
    return __atomic_compare_exchange_n(memory, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  const auto at = source_position::of_address(caller);
  bool exchanged;
  {
    shadow::atomic_use it{memory, sizeof(T), at};
    std::uint64_t found = expected;
    exchanged = weak ? it.word().compare_exchange_weak(found, desired, order_of(success), order_of(failure), at)
                     : it.word().compare_exchange_strong(found, desired, order_of(success), order_of(failure), at);
    expected = static_cast<T>(found);
    if (exchanged) {
      it.has_written(desired);
    } else {
      it.has_read();
    }
  }
  if (exchanged) {
    shadow::has_changed_something();
  } else {
    shadow::has_changed_nothing(memory, expected, at);
  }
  return exchanged;
}

/// The exchange for operations that the checker does not have.
template <class T>
T change_by_exchange(T* memory, T (*result)(T, T), T operand, int order, const void* caller) {
  T found = __atomic_load_n(memory, __ATOMIC_RELAXED);  // the newest value, which lies there
  while (!compare_exchange(memory, found, result(found, operand), order, __ATOMIC_RELAXED, false, caller)) {
  }
  return found;
}

void copy(void* to, const void* from, std::size_t bytes, const void* caller) {
  plain(from, bytes, use::read, caller);
  plain(to, bytes, use::write, caller);
}

void allocated(void* memory, std::size_t bytes) { shadow::forget(memory, bytes); }

const watcher following{shadow::begin, shadow::end, allocated, shadow::free, refusal_of_program};

}  // namespace
}  // namespace tidemark::verify::runner

using namespace tidemark::verify;
using namespace tidemark::verify::runner;

#define CALLER __builtin_return_address(0)

// ---- entry points: plain uses ---------------------------------------------------------------------------------------

#define PLAIN(SIZE)                                                                                           \
  void __tsan_read##SIZE(void* memory) { plain(memory, SIZE, use::read, CALLER); }                            \
  void __tsan_write##SIZE(void* memory) { plain(memory, SIZE, use::write, CALLER); }                          \
  void __tsan_unaligned_read##SIZE(void* memory) { plain(memory, SIZE, use::read, CALLER); }                  \
  void __tsan_unaligned_write##SIZE(void* memory) { plain(memory, SIZE, use::write, CALLER); }                \
  void __tsan_volatile_read##SIZE(void* memory) { plain(memory, SIZE, use::read, CALLER, true); }             \
  void __tsan_volatile_write##SIZE(void* memory) { plain(memory, SIZE, use::write, CALLER, true); }           \
  void __tsan_unaligned_volatile_read##SIZE(void* memory) { plain(memory, SIZE, use::read, CALLER, true); }   \
  void __tsan_unaligned_volatile_write##SIZE(void* memory) { plain(memory, SIZE, use::write, CALLER, true); } \
  void __tsan_read_write##SIZE(void* memory) { plain(memory, SIZE, use::write, CALLER); }                     \
  void __tsan_unaligned_read_write##SIZE(void* memory) { plain(memory, SIZE, use::write, CALLER); }

extern "C" {

void __tsan_init() {
  watching = &following;
  shadow::start();
}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void* memory, std::size_t bytes) { plain(memory, bytes, use::read, CALLER); }
void __tsan_write_range(void* memory, std::size_t bytes) { plain(memory, bytes, use::write, CALLER); }

// A constructor or destructor of a derived class; the same value again is no change.
void __tsan_vptr_update(void** memory, void* value) {
  if (*memory != value) plain(memory, sizeof(void*), use::write, CALLER);
}
void __tsan_vptr_read(void** memory) { plain(memory, sizeof(void*), use::read, CALLER); }

void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  copy(to, from, bytes, CALLER);
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  copy(to, from, bytes, CALLER);
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int byte, std::size_t bytes) {
  plain(to, bytes, use::write, CALLER);
  return std::memset(to, byte, bytes);
}

// What code tells that sanitizer where it would not see an order. Here the orders themselves are seen.
void AnnotateHappensBefore(const char*, int, const volatile void*) {}
void AnnotateHappensAfter(const char*, int, const volatile void*) {}
void __tsan_acquire(void*) {}
void __tsan_release(void*) {}

// ---- entry points: memory of the C library, see memory_calls.hpp ----------------------------------------------------

namespace {

void* fresh(void* memory) {
  if (memory != nullptr && shadow::is_following()) shadow::forget(memory, malloc_usable_size(memory));
  return memory;
}
void give_back(void* memory, const void* caller) {
  if (memory != nullptr && shadow::is_following())
    shadow::free_of_c(memory, malloc_usable_size(memory), source_position::of_address(caller));
}

}  // namespace

void* tidemark_malloc(std::size_t bytes) { return fresh(std::malloc(bytes)); }
void* tidemark_calloc(std::size_t count, std::size_t bytes) { return fresh(std::calloc(count, bytes)); }
void* tidemark_realloc(void* memory, std::size_t bytes) {
  give_back(memory, CALLER);
  return fresh(std::realloc(memory, bytes));
}
void tidemark_free(void* memory) {
  give_back(memory, CALLER);
  std::free(memory);
}

// ---- entry points: atomic operations --------------------------------------------------------------------------------

void __tsan_atomic_thread_fence(int order) {
  if (!shadow::is_following()) return;
  shadow::settle();
  const shadow::own_errno kept;
  engine::thread_fence(order_of(order), source_position::of_address(CALLER));
}
void __tsan_atomic_signal_fence(int) {}  // for the compiler alone

#define CHANGE(SIZE, NAME, RESULT, OUTSIDE)                                                                  \
  std::uint##SIZE##_t __tsan_atomic##SIZE##_##NAME(std::uint##SIZE##_t* memory, std::uint##SIZE##_t operand, \
                                                   int order) {                                              \
    using value = std::uint##SIZE##_t;                                                                       \
    return change(                                                                                           \
        memory, order, CALLER,                                                                               \
        [operand](engine::word& word, std::memory_order with, const source_position& at) {                   \
          return word.NAME(operand, with, at);                                                               \
        },                                                                                                   \
        [operand]([[maybe_unused]] value found) { return static_cast<value>(RESULT); },                      \
        [=] { return OUTSIDE(memory, operand, __ATOMIC_SEQ_CST); });                                         \
  }

#define ATOMIC(SIZE)                                                                                                  \
  std::uint##SIZE##_t __tsan_atomic##SIZE##_load(const std::uint##SIZE##_t* memory, int order) {                      \
    return load(memory, order, CALLER);                                                                               \
  }                                                                                                                   \
  void __tsan_atomic##SIZE##_store(std::uint##SIZE##_t* memory, std::uint##SIZE##_t value, int order) {               \
    store(memory, value, order, CALLER);                                                                              \
  }                                                                                                                   \
  CHANGE(SIZE, exchange, operand, __atomic_exchange_n)                                                                \
  CHANGE(SIZE, fetch_add, found + operand, __atomic_fetch_add)                                                        \
  CHANGE(SIZE, fetch_sub, found - operand, __atomic_fetch_sub)                                                        \
  CHANGE(SIZE, fetch_and, found& operand, __atomic_fetch_and)                                                         \
  CHANGE(SIZE, fetch_or, found | operand, __atomic_fetch_or)                                                          \
  CHANGE(SIZE, fetch_xor, found ^ operand, __atomic_fetch_xor)                                                        \
  std::uint##SIZE##_t __tsan_atomic##SIZE##_fetch_nand(std::uint##SIZE##_t* memory, std::uint##SIZE##_t operand,      \
                                                       int order) {                                                   \
    using value = std::uint##SIZE##_t;                                                                                \
    return change_by_exchange<value>(                                                                                 \
        memory, [](value found, value with) { return static_cast<value>(~(found & with)); }, operand, order, CALLER); \
  }                                                                                                                   \
  int __tsan_atomic##SIZE##_compare_exchange_strong(std::uint##SIZE##_t* memory, std::uint##SIZE##_t* expected,       \
                                                    std::uint##SIZE##_t desired, int success, int failure) {          \
    return compare_exchange(memory, *expected, desired, success, failure, false, CALLER);                             \
  }                                                                                                                   \
  int __tsan_atomic##SIZE##_compare_exchange_weak(std::uint##SIZE##_t* memory, std::uint##SIZE##_t* expected,         \
                                                  std::uint##SIZE##_t desired, int success, int failure) {            \
    return compare_exchange(memory, *expected, desired, success, failure, true, CALLER);                              \
  }                                                                                                                   \
  std::uint##SIZE##_t __tsan_atomic##SIZE##_compare_exchange_val(                                                     \
      std::uint##SIZE##_t* memory, std::uint##SIZE##_t expected, std::uint##SIZE##_t desired, int success,            \
      int failure) {                                                                                                  \
    compare_exchange(memory, expected, desired, success, failure, false, CALLER);                                     \
    return expected;                                                                                                  \
  }

ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

}  // extern "C"
