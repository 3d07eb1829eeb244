// SPDX-License-Identifier: BSL-1.0
//
// Where the 8 bytes of a fence's value are: inside the fence, or in memory of the caller (A8).
#ifndef TIDEMARK_DETAIL_FENCE_VALUE_HPP
#define TIDEMARK_DETAIL_FENCE_VALUE_HPP

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

 private:
  mutable word word_;
};

/// The value, kept in the caller's memory, which outlives this.
template <class Platform>
class placed_value {
 public:
  using word = typename Platform::template atomic<std::uint64_t>;
  placed_value(void* storage, std::uint64_t initial) noexcept : word_{place(storage, initial)} {}
  word& get() const noexcept { return *word_; }

 private:
  static word* place(void* storage, std::uint64_t initial) noexcept {
    TIDEMARK_ASSERT(storage != nullptr && reinterpret_cast<std::uintptr_t>(storage) % alignof(word) == 0,
                    "a fence's value needs 8 bytes aligned to 8");
    return ::new (storage) word{initial};
  }

  word* word_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_DETAIL_FENCE_VALUE_HPP
