// SPDX-License-Identifier: BSL-1.0
//
// Sizes of upload rings: what is possible of what was asked for, so that no arithmetic on positions overflows.
#ifndef TIDEMARK_DETAIL_RING_SIZES_HPP
#define TIDEMARK_DETAIL_RING_SIZES_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tidemark::detail {

constexpr std::uint64_t too_many_bytes = std::uint64_t{1} << 62;  // for any ring

/// What a ring can have of the bytes that it was asked for: all, or, where they are too many, none.
constexpr std::uint64_t possible_bytes(std::uint64_t asked) noexcept { return asked < too_many_bytes ? asked : 0; }

/// At least so many records, 1 at least: a power of two. What is no memory's size is left to the allocation, which fails.
constexpr std::size_t possible_records(std::size_t asked) noexcept {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / 2 + 1;
  return asked < most ? std::bit_ceil(asked) : most;
}

constexpr std::uint64_t align_up(std::uint64_t offset, std::uint64_t alignment) noexcept {
  return (offset + alignment - 1) & ~(alignment - 1);
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_DETAIL_RING_SIZES_HPP
