// SPDX-License-Identifier: BSL-1.0
//
// What the fallbacks of a platform, the lock-based double word and the parking on condition variables, are made of: here
// the standard library's parts. The model checker brings its own (verify/relacy_portable_platform.hpp).
#ifndef TIDEMARK_DETAIL_NATIVE_PRIMITIVES_HPP
#define TIDEMARK_DETAIL_NATIVE_PRIMITIVES_HPP

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

#include "native_atomic.hpp"

namespace tidemark::detail {

struct native_primitives {
  template <class T>
  using atomic = native_atomic<T>;

  static void yield() noexcept { std::this_thread::yield(); }

  /// Where threads sleep on a word.
  struct lot {
    std::mutex guard;
    std::condition_variable changed;
  };
  /// One of a fixed table, chosen by the word's address.
  static lot& lot_of(const native_atomic<std::uint32_t>& word) noexcept {
    constexpr std::size_t lots = 64;
    static lot table[lots];
    return table[(reinterpret_cast<std::uintptr_t>(&word) >> 2) % lots];
  }
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_DETAIL_NATIVE_PRIMITIVES_HPP
