// SPDX-License-Identifier: BSL-1.0
//
// What a hub does with a fence, whatever the fence's type.
#ifndef TIDEMARK_DETAIL_FENCE_OPERATIONS_HPP
#define TIDEMARK_DETAIL_FENCE_OPERATIONS_HPP

#include <cstddef>
#include <cstdint>

namespace tidemark::detail {

/// The first parameter is the fence.
struct fence_operations {
  bool (*publish)(void*, std::uint64_t) noexcept;
  bool (*is_due)(void*, std::uint64_t) noexcept;
  std::size_t (*release)(void*) noexcept;                    ///< by its current value
  std::size_t (*release_by)(void*, std::uint64_t) noexcept;  ///< by this value
};

template <class Fence>
inline constexpr fence_operations operations_of{
    [](void* object, std::uint64_t value) noexcept { return static_cast<Fence*>(object)->publish(value); },
    [](void* object, std::uint64_t value) noexcept { return static_cast<Fence*>(object)->is_due(value); },
    [](void* object) noexcept { return static_cast<Fence*>(object)->release_due_after_barrier(); },
    [](void* object, std::uint64_t value) noexcept {
      return static_cast<Fence*>(object)->release_due_after_barrier(value);
    }};

}  // namespace tidemark::detail

#endif  // TIDEMARK_DETAIL_FENCE_OPERATIONS_HPP
