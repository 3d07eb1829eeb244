// SPDX-License-Identifier: BSL-1.0
//
// loop_access: gives the other headers of a loop access to its parts.
#ifndef TIDEMARK_FENCE_DETAIL_LOOP_ACCESS_HPP
#define TIDEMARK_FENCE_DETAIL_LOOP_ACCESS_HPP

namespace tidemark::detail {

struct loop_access {
  static auto& core_of(auto& loop) noexcept { return loop.core_; }
  static auto& runner_of(auto& loop) noexcept { return loop.runner_; }
  static auto& descriptor_of(auto& loop) noexcept { return loop.descriptor_; }
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LOOP_ACCESS_HPP
