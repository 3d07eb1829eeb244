// SPDX-License-Identifier: BSL-1.0
//
// domain_access: what the queues of engines ask of a fence of domains (domain.hpp, local_fence.hpp).
#ifndef TIDEMARK_QUEUE_TOOLS_DOMAIN_ACCESS_HPP
#define TIDEMARK_QUEUE_TOOLS_DOMAIN_ACCESS_HPP

#include <cstdint>

namespace tidemark::detail {

/// Gives the queues access to parts of a fence of domains that are not public.
struct domain_access {
  /// Returns the fence that a queue waits for where its wait is not held.
  static auto native_of(const auto& fence) noexcept -> decltype(fence.native()) { return fence.native(); }
  static auto native_of(const auto& fence) noexcept -> decltype(fence.fence_inside()) { return fence.fence_inside(); }
  /// Returns a wait of a queue of the kind, which must be held.
  static auto held_wait_of(const auto& fence, std::uint64_t value) noexcept -> decltype(fence.held_wait(value)) {
    return fence.held_wait(value);
  }
  /// Returns the fence that a queue signals where only queues of engines may signal.
  static auto signalled_of(auto& fence) noexcept -> decltype(fence.signalled()) { return fence.signalled(); }
  static bool is_held(const auto& fence, auto kind) noexcept { return fence.is_held(kind); }
};

template <class Fence>
concept is_of_domain = requires(const Fence& fence) { domain_access::native_of(fence); };
template <class Fence>
concept is_signalled_by_engines = requires(Fence& fence) { domain_access::signalled_of(fence); };
template <class Fence>
concept may_hold = requires(const Fence& fence) { domain_access::held_wait_of(fence, 0); };

}  // namespace tidemark::detail

#endif  // TIDEMARK_QUEUE_TOOLS_DOMAIN_ACCESS_HPP
