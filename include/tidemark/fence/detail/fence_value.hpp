// SPDX-License-Identifier: BSL-1.0
//
// Holds the 8 bytes of a fence's value: inside the fence, in memory of the caller [A8], or in a word that several
// fences share [A68].
//
// A poisoned fence does not touch the caller's memory any more [A120]. For that poison() moves the value into the
// fence, by a change of the one word that says where the value lies. Signals read that word anyway, so this costs
// them nothing.
#ifndef TIDEMARK_FENCE_DETAIL_FENCE_VALUE_HPP
#define TIDEMARK_FENCE_DETAIL_FENCE_VALUE_HPP

#include <atomic>
#include <cstdint>
#include <new>
#include <type_traits>

#include "../../platform/assert.hpp"

namespace tidemark::detail {

template <class Platform>
using value_word = typename Platform::template atomic<std::uint64_t>;

/// Holds the value inside the fence.
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

/// What a fence counts.
template <class Platform>
struct fence_counts {
  own_value<Platform> notifies{0};
  own_value<Platform> overflows{0};
};

/// Holds the value in the caller's memory until leave_storage(). That memory must outlive all signals, looks and waits
/// that begin before leave_storage() returns.
template <class Platform>
class placed_value {
 public:
  using word = typename Platform::template atomic<std::uint64_t>;
  placed_value(void* storage, std::uint64_t initial) noexcept : at_{place(storage, initial)}, own_{initial} {}

  word& get() const noexcept {
    // (F23): acquire, pairs with (F24): a thread that finds the value inside the fence finds at least the value that
    // was moved. Not stronger: a signal that still finds the caller's memory counts as before the poison, and no
    // thread can tell the difference.
    return *at_.load(std::memory_order_acquire);
  }

  /// Moves the value into the fence. Called once, by the thread that poisons. The value of a signal that runs at the
  /// same time may be left behind.
  void leave_storage() noexcept {
    // (F25): acquire, pairs with the release half of (F1) (F16) (F19) (F20): (F24) hands on what was done before that
    // value was signalled. Not stronger: a later value may be left behind.
    const std::uint64_t value = get().load(std::memory_order_acquire);
    // (F26): relaxed, because (F24) comes after it.
    own_.store(value, std::memory_order_relaxed);
    // (F24): release, pairs with (F23): hands over the value, and what was done before it was signalled.
    at_.store(&own_, std::memory_order_release);
  }

 private:
  static word* place(void* storage, std::uint64_t initial) noexcept {
    TIDEMARK_ASSERT(storage != nullptr && reinterpret_cast<std::uintptr_t>(storage) % alignof(word) == 0,
                    "the storage of a fence's value must be 8 bytes, aligned to 8");
    return ::new (storage) word{initial};
  }

  typename Platform::template atomic<word*> at_;
  word own_;  // the value after a poison
};

/// Holds the value in a word that several fences have. It stays there when one of them is poisoned.
template <class Platform>
class shared_value {
 public:
  using word = value_word<Platform>;
  explicit shared_value(word& at) noexcept : at_{at} {}
  word& get() const noexcept { return at_; }
  void leave_storage() noexcept {}

 private:
  word& at_;
};

/// \tparam Storage  a value_storage (fence_options.hpp)
template <class Platform, auto Storage, class Choice = decltype(Storage)>
using value_holder =
    std::conditional_t<Storage == Choice::own, own_value<Platform>,
                       std::conditional_t<Storage == Choice::caller, placed_value<Platform>, shared_value<Platform>>>;

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_FENCE_VALUE_HPP
