// SPDX-License-Identifier: BSL-1.0
//
// A 16-byte {value, version} pair: a compare-exchange of both halves at once, and a plain load of each half alone.
//
//   offset 0  value    64 bits
//   offset 8  version  64 bits
//
// The compare-exchange is strong and sequentially consistent, whatever orders its caller names: `lock cmpxchg16b` and
// `ldaxp/stlxp` have no cheaper form worth having. A load of both halves is two loads, version first. The result may
// be torn. Its version is older than the one in memory then, because versions only rise, and a compare-exchange that
// expects it fails. (In the overflow lane of a waiter heap versions may fall; its header says why that is right.)
//
// x86-64 and AArch64 use inline instructions, so that the user needs no compiler flag and no -latomic.
// `locked_double_word` replaces them elsewhere; under ThreadSanitizer, which can't see into inline assembly; and
// where TIDEMARK_FORCE_LOCKED_DOUBLE_WORD is defined, for tests. Its `is_always_lock_free` is false, and signal() must
// not be called then from a signal handler that may interrupt another signal(). It is a template over the words that it
// is made of, so that the model checker can run it, too.
#ifndef TIDEMARK_PLATFORM_DETAIL_DOUBLE_WORD_HPP
#define TIDEMARK_PLATFORM_DETAIL_DOUBLE_WORD_HPP

#include <atomic>
#include <cstdint>

#include "configuration.hpp"
#include "native_parts.hpp"

namespace tidemark::detail {

/// Both halves of a double word.
struct versioned {
  std::uint64_t value = 0;
  std::uint64_t version = 0;

  friend bool operator==(const versioned&, const versioned&) = default;
};

#if TIDEMARK_HAS_WIDE_CAS

class alignas(16) wide_double_word {
 public:
  static constexpr bool is_always_lock_free = true;

  explicit wide_double_word(std::uint64_t value) noexcept : value_{value}, version_{0} {}
  wide_double_word(const wide_double_word&) = delete;
  wide_double_word& operator=(const wide_double_word&) = delete;

  std::uint64_t load_value(std::memory_order order) const noexcept { return value_.load(order); }
  std::uint64_t load_version(std::memory_order order) const noexcept { return version_.load(order); }
  const void* value_address() const noexcept { return &value_; }

  /// Returns whether the value half is less than `bound`: load_value() and a comparison.
  bool is_below(std::uint64_t bound, std::memory_order order) const noexcept {
#if defined(__x86_64__)
    if (order == std::memory_order_relaxed) {
      // Compilers do not fold the load of an atomic into the comparison. The instruction that this saves is a third
      // of the hot path of a signal, whose time depends on the number of instructions.
      // The operands are in the order of each dialect: a program may be compiled with -masm=intel.
      bool below;
      __asm__ __volatile__("{cmpq %[bound], %[value]|cmp %[value], %[bound]}"
                           : "=@ccb"(below)
                           : [value] "m"(value_), [bound] "r"(bound));
      return below;
    }
#endif
    return value_.load(order) < bound;
  }
  /// Returns whether the value half is at most `bound`, in the same way.
  bool is_at_most(std::uint64_t bound, std::memory_order order) const noexcept {
#if defined(__x86_64__)
    if (order == std::memory_order_relaxed) {
      bool at_most;
      __asm__ __volatile__("{cmpq %[bound], %[value]|cmp %[value], %[bound]}"
                           : "=@ccbe"(at_most)
                           : [value] "m"(value_), [bound] "r"(bound));
      return at_most;
    }
#endif
    return value_.load(order) <= bound;
  }

  /// Loads the version first; see the head of this file.
  versioned load(std::memory_order order) const noexcept {
    const auto version = version_.load(order);
    return {value_.load(order), version};
  }

  /// Exchanges both halves if they are the expected ones, and never fails otherwise. On failure `expected` becomes
  /// what was found, which may be torn, as with load().
#if defined(__x86_64__) && defined(__clang__)
  // Clang may address the variables of a function by rbx, if it calls alloca() and has widely aligned ones. It does not
  // always save it for a statement in assembler (14 and 19 were seen not to), so this is not inlined there.
  [[gnu::noinline]]
#endif
  bool compare_exchange_strong(versioned& expected, versioned desired, std::memory_order, std::memory_order) noexcept {
#if defined(__x86_64__)
    bool exchanged;
    __asm__ __volatile__("lock cmpxchg16b %[value]"
                         : "=@ccz"(exchanged), [value] "+m"(value_), "+m"(version_), "+a"(expected.value),
                           "+d"(expected.version)
                         : "b"(desired.value), "c"(desired.version)
                         : "memory");
    return exchanged;
#else
    // This is one statement, because between two statements a compiler may place loads and stores of its own, which
    // can clear the exclusive monitor each time. The loop retries only after a lost monitor, and only while both
    // halves are the expected ones. A mismatch that ldaxp has seen can be trusted without a store: each half is read
    // whole, so a half that differs has differed at that instant.
    std::uint64_t value;
    std::uint64_t version;
    std::uint32_t failed;
    __asm__ __volatile__(
        "0: ldaxp %[value], %[version], %[word]\n\t"
        "cmp %[value], %[expected_value]\n\t"
        "ccmp %[version], %[expected_version], #0, eq\n\t"
        "b.ne 1f\n\t"
        "stlxp %w[failed], %[new_value], %[new_version], %[word]\n\t"
        "cbnz %w[failed], 0b\n\t"
        "b 2f\n"
        "1: clrex\n\t"
        "mov %w[failed], #1\n"
        "2:"
        : [value] "=&r"(value), [version] "=&r"(version), [failed] "=&r"(failed), [word] "+Q"(value_), "+m"(version_)
        : [expected_value] "r"(expected.value), [expected_version] "r"(expected.version),
          [new_value] "r"(desired.value), [new_version] "r"(desired.version)
        : "cc", "memory");
    if (failed != 0) expected = {value, version};
    return failed == 0;
#endif
  }

 private:
  std::atomic<std::uint64_t> value_;
  std::atomic<std::uint64_t> version_;
};

#endif  // TIDEMARK_HAS_WIDE_CAS

/// The fallback: writers exclude each other by a lock, and readers load the halves without it.
template <class Words>
class alignas(16) locked_double_word {
 public:
  static constexpr bool is_always_lock_free = false;

  explicit locked_double_word(std::uint64_t value) noexcept : value_{value}, version_{0}, locked_{0} {}
  locked_double_word(const locked_double_word&) = delete;
  locked_double_word& operator=(const locked_double_word&) = delete;

  std::uint64_t load_value(std::memory_order order) const noexcept { return value_.load(order); }
  std::uint64_t load_version(std::memory_order order) const noexcept { return version_.load(order); }
  const void* value_address() const noexcept { return &value_; }
  bool is_below(std::uint64_t bound, std::memory_order order) const noexcept { return value_.load(order) < bound; }
  bool is_at_most(std::uint64_t bound, std::memory_order order) const noexcept { return value_.load(order) <= bound; }

  versioned load(std::memory_order order) const noexcept {
    const auto version = version_.load(order);
    return {value_.load(order), version};
  }

  bool compare_exchange_strong(versioned& expected, versioned desired, std::memory_order, std::memory_order) noexcept {
    // (V1): acquire, takes over what (V2) released: both halves as the last holder has left them, and, if they are
    // not the expected ones, everything their writer did before. Not stronger: (V5) and (V6) are what others see.
    while (locked_.exchange(1, std::memory_order_acquire) != 0) Words::yield();
    // (V3): relaxed alone; the version is written under the lock only, so (V1) has brought the newest one.
    const auto version = version_.load(std::memory_order_relaxed);
    // (V4): relaxed alone, like (V3).
    const versioned found{value_.load(std::memory_order_relaxed), version};
    const bool exchanged = found == expected;
    if (exchanged) {
      // (V5): seq_cst, a change of a leaf or node in the single total order of fence/detail/min_tree.hpp, see (H5)
      // and (H6). It comes before (V6), so that a load, which reads the version first, never pairs a new version with
      // an old value.
      value_.store(desired.value, std::memory_order_seq_cst);
      // (V6): seq_cst like (V5), and after it.
      version_.store(desired.version, std::memory_order_seq_cst);
    } else {
      expected = found;
    }
    // (V2): release, taken over by (V1). Not stronger: the lock orders nothing that comes after it.
    locked_.store(0, std::memory_order_release);
    return exchanged;
  }

 private:
  using word = typename Words::template atomic<std::uint64_t>;
  word value_;
  word version_;
  typename Words::template atomic<std::uint32_t> locked_;
};

#if TIDEMARK_HAS_WIDE_CAS
using native_double_word = wide_double_word;
#else
using native_double_word = locked_double_word<native_words>;
#endif

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_DETAIL_DOUBLE_WORD_HPP
