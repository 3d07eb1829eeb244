// SPDX-License-Identifier: BSL-1.0
//
// wrong_timeline: a placeholder for a type that was given to a block as its timeline and is not one. The block's
// deduction guide picks it, so that the compiler's only error says what the type lacks.
#ifndef TIDEMARK_MEMORY_DETAIL_WRONG_TIMELINE_HPP
#define TIDEMARK_MEMORY_DETAIL_WRONG_TIMELINE_HPP

#include <cstdint>

#include "../../fence/timeline.hpp"

namespace tidemark::detail {

template <class Wrong>
struct wrong_timeline {
  wrong_timeline(const Wrong&) noexcept {
    static_assert(timeline<Wrong>, "this type is no tidemark::timeline, see tidemark/fence/timeline.hpp");
  }
  std::uint64_t current_value() const noexcept;
  wait_status wait_until(std::uint64_t, deadline) const noexcept;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_WRONG_TIMELINE_HPP
