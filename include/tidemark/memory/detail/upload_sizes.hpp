// SPDX-License-Identifier: BSL-1.0
//
// Sizes of upload rings: how much a ring can have of what it was asked for, so that no arithmetic on positions
// overflows.
#ifndef TIDEMARK_MEMORY_DETAIL_UPLOAD_SIZES_HPP
#define TIDEMARK_MEMORY_DETAIL_UPLOAD_SIZES_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>

#include "../../platform/assert.hpp"

namespace tidemark::detail {

constexpr std::uint64_t too_many_bytes = std::uint64_t{1} << 62;  // for any ring

/// Returns what a ring can have of the bytes that it was asked for: all, or, where that is misuse, none.
inline std::uint64_t possible_bytes(std::uint64_t asked) noexcept {
  TIDEMARK_ASSERT(asked > 0 && asked < too_many_bytes, "an upload ring must have some bytes, and less than 2^62");
  return asked < too_many_bytes ? asked : 0;
}

/// Returns the least power of two that is at least `asked`, and 1 at least. A number that no memory has room for is
/// left to the allocation, which fails.
constexpr std::size_t possible_records(std::size_t asked) noexcept {
  constexpr std::size_t most = (std::numeric_limits<std::size_t>::max)() / 2 + 1;
  return asked < most ? std::bit_ceil(asked) : most;
}

/// Returns `count` records, or nothing where there is no memory for them.
template <class Record>
std::unique_ptr<Record[]> try_make_records(std::size_t count) noexcept {
  // The operator new for arrays may throw where the bytes can't be counted.
  if (count > (std::numeric_limits<std::size_t>::max)() / 2 / sizeof(Record)) return nullptr;
  return std::unique_ptr<Record[]>{new (std::nothrow) Record[count]()};
}

constexpr std::uint64_t align_up(std::uint64_t offset, std::uint64_t alignment) noexcept {
  return (offset + alignment - 1) & ~(alignment - 1);
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_UPLOAD_SIZES_HPP
