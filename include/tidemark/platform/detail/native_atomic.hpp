// SPDX-License-Identifier: BSL-1.0
//
// std::atomic without defaults: every operation names its memory order, and no operator hides one. Every platform's
// `atomic<T>` must have this shape; that of the model checker has it, too.
#ifndef TIDEMARK_PLATFORM_DETAIL_NATIVE_ATOMIC_HPP
#define TIDEMARK_PLATFORM_DETAIL_NATIVE_ATOMIC_HPP

#include <atomic>
#include <cstdint>
#include <utility>

namespace tidemark::detail {

template <class T>
class native_atomic {
 public:
  static_assert(std::atomic<T>::is_always_lock_free, "a shared word must never be torn [A11]");

  constexpr native_atomic() noexcept : value_{} {}
  constexpr explicit native_atomic(T value) noexcept : value_{value} {}
  native_atomic(const native_atomic&) = delete;
  native_atomic& operator=(const native_atomic&) = delete;

  T load(std::memory_order order) const noexcept { return value_.load(order); }
  void store(T value, std::memory_order order) noexcept { value_.store(value, order); }
  T exchange(T value, std::memory_order order) noexcept { return value_.exchange(value, order); }
  T fetch_add(T value, std::memory_order order) noexcept { return value_.fetch_add(value, order); }
  T fetch_sub(T value, std::memory_order order) noexcept { return value_.fetch_sub(value, order); }
  T fetch_and(T value, std::memory_order order) noexcept { return value_.fetch_and(value, order); }
  T fetch_or(T value, std::memory_order order) noexcept { return value_.fetch_or(value, order); }

  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure) noexcept {
    return value_.compare_exchange_strong(expected, desired, success, failure);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) noexcept {
    return value_.compare_exchange_weak(expected, desired, success, failure);
  }

  /// Returns the word itself, for parking only: the operating system waits on its address.
  std::atomic<T>& underlying() noexcept { return value_; }

 private:
  std::atomic<T> value_;
};

/// A plain field that one thread hands to another. Here it is just a T; the model checker checks it for races.
template <class T>
class native_var {
 public:
  native_var() noexcept : value_{} {}
  explicit native_var(T value) noexcept : value_{value} {}
  native_var(const native_var&) = delete;
  native_var& operator=(const native_var&) = delete;

  T load() const noexcept { return value_; }
  void store(T value) noexcept { value_ = std::move(value); }

 private:
  T value_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_DETAIL_NATIVE_ATOMIC_HPP
