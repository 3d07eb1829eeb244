// SPDX-License-Identifier: BSL-1.0
//
// Stands for tidemark/verify/relacy_platform.hpp where a check is compiled for a second opinion; see check.hpp. The
// symmetric platform is what the first checker's is. The asymmetric one has a fence on both sides, which is more than
// the machine's: what fails with it is wrong, but what holds may still be.
#ifndef TIDEMARK_VERIFY_RELACY_PLATFORM_HPP
#define TIDEMARK_VERIFY_RELACY_PLATFORM_HPP

#include "check.hpp"
// Behind the assertion of check.hpp.
#include <tidemark/platform/platform.hpp>

namespace tidemark::verify {

/// Both halves in eight bytes: the lower 32 bits of each. A value of all ones, such as that of a poisoned fence, stays
/// one.
class packed_double_word {
 public:
  static constexpr bool is_always_lock_free = true;

  explicit packed_double_word(std::uint64_t value) : packed_{pack({value, 0})} {}
  packed_double_word(const packed_double_word&) = delete;
  packed_double_word& operator=(const packed_double_word&) = delete;

  std::uint64_t load_value(std::memory_order order) const { return unpack(packed_.load(order)).value; }
  std::uint64_t load_version(std::memory_order order) const { return unpack(packed_.load(order)).version; }
  bool is_below(std::uint64_t bound, std::memory_order order) const { return load_value(order) < bound; }
  bool is_at_most(std::uint64_t bound, std::memory_order order) const { return load_value(order) <= bound; }
  versioned load(std::memory_order order) const {
    const std::uint64_t version = load_version(order);
    return {load_value(order), version};
  }
  bool compare_exchange_strong(versioned& expected, versioned desired, std::memory_order success,
                               std::memory_order failure) {
    std::uint64_t found = pack(expected);
    const bool exchanged = packed_.compare_exchange_strong(found, pack(desired), success, failure);
    if (!exchanged) expected = unpack(found);
    return exchanged;
  }

 private:
  static std::uint64_t pack(const versioned& whole) { return whole.version << 32 | (whole.value & 0xffff'ffff); }
  static versioned unpack(std::uint64_t packed) {
    const auto value = static_cast<std::int32_t>(static_cast<std::uint32_t>(packed));
    return {static_cast<std::uint64_t>(std::int64_t{value}), packed >> 32};
  }

  std::atomic<std::uint64_t> packed_;
};

template <bool Asymmetric>
struct basic_second_platform {
  template <class T>
  using atomic = std::atomic<T>;
  template <class T>
  using var = verify::var<T>;
  using double_word = packed_double_word;
  using parking = basic_second_platform;
  using park_word = verify::atomic<std::uint32_t>;

  class sleepers {
   public:
    sleepers(park_word& word) noexcept : word_{&word} {}

   private:
    friend basic_second_platform;
    park_word* word_;
  };

  static constexpr bool asymmetric = Asymmetric;
  static constexpr bool has_thread_fences = true;
  static void thread_fence(std::memory_order order) { std::atomic_thread_fence(order); }

  static void light_barrier() { full_barrier(); }
  static constexpr bool heavy_barrier_available() noexcept { return true; }
  static bool heavy_barrier() {
    full_barrier();
    return true;
  }
  static void full_barrier() {
    if constexpr (Asymmetric) thread_fence(std::memory_order_seq_cst);
  }

  static bool park(park_word& word, std::uint32_t expected, deadline until) {
    if (until != no_deadline) return false;
    word.park(expected);
    return true;
  }
  static bool unpark(sleepers those, std::uint32_t) {
    those.word_->notify_all();
    return true;
  }

  static void pause() { second::pause(); }
  static unsigned long current_thread() { return this_thread(); }
  static constexpr unsigned spin_looks() noexcept { return 1; }
  static constexpr deadline now() noexcept { return deadline{}; }
};

}  // namespace tidemark::verify

namespace tidemark {

using relacy_platform = verify::basic_second_platform<true>;
using relacy_symmetric_platform = verify::basic_second_platform<false>;

}  // namespace tidemark

#endif  // TIDEMARK_VERIFY_RELACY_PLATFORM_HPP
