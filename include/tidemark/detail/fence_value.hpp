// SPDX-License-Identifier: BSL-1.0
//
// Where the 8 bytes of a fence's value are: inside the fence, or in memory of the caller (A8).
//
// A poisoned timeline leaves the caller's memory alone (A120): poison() makes the value go on inside the fence, by one word
// that says where it is. Signals read that word in any case, so this costs them nothing.
#ifndef TIDEMARK_DETAIL_FENCE_VALUE_HPP
#define TIDEMARK_DETAIL_FENCE_VALUE_HPP

#include <atomic>
#include <cstdint>
#include <new>

#include "assert.hpp"

namespace tidemark::detail {

/// The value, kept inside.
template <class Platform>
class own_value {
 public:
  using word = typename Platform::template atomic<std::uint64_t>;
  explicit own_value(std::uint64_t initial) noexcept : word_{initial} {}
  word& get() const noexcept { return word_; }
  void leave_storage() noexcept {}

 private:
  mutable word word_;
};

/// The value, kept in the caller's memory until leave_storage(), which must outlive the signals that began before that.
template <class Platform>
class placed_value {
 public:
  using word = typename Platform::template atomic<std::uint64_t>;
  placed_value(void* storage, std::uint64_t initial) noexcept : at_{place(storage, initial)}, own_{initial} {}

  word& get() const noexcept {
    // (F23): acquire, pairs with (F24): whoever finds the value inside finds at least what it was. Not stronger: a signal
    // that still finds the caller's memory comes before the poison, as far as anybody can tell.
    return *at_.load(std::memory_order_acquire);
  }

  /// From now on the value is inside. By the thread that poisons, once. A signal that runs beside it may be left behind.
  void leave_storage() noexcept {
    // (F25): acquire, pairs with the release half of (F1) (F16) (F19) (F20): what was done before that value was signalled
    // is handed on by (F24). Not stronger: a later value may be left behind.
    const std::uint64_t value = get().load(std::memory_order_acquire);
    // (F26): relaxed, (F24) is behind it.
    own_.store(value, std::memory_order_relaxed);
    // (F24): release, pairs with (F23): the value, and what was done before it was signalled.
    at_.store(&own_, std::memory_order_release);
  }

 private:
  static word* place(void* storage, std::uint64_t initial) noexcept {
    TIDEMARK_ASSERT(storage != nullptr && reinterpret_cast<std::uintptr_t>(storage) % alignof(word) == 0,
                    "a fence's value needs 8 bytes aligned to 8");
    return ::new (storage) word{initial};
  }

  typename Platform::template atomic<word*> at_;
  word own_;  // where signals go after a poison
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_DETAIL_FENCE_VALUE_HPP
