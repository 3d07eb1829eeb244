// SPDX-License-Identifier: BSL-1.0
//
// bound_backing: where a command finds the backing of a renamed resource when it is executed.
//
//   auto bound = recording.bind(texture);
//   recording.run([bound] { draw(bound.memory()); });
#ifndef TIDEMARK_CONTEXT_BOUND_BACKING_HPP
#define TIDEMARK_CONTEXT_BOUND_BACKING_HPP

#include "../memory/map_mode.hpp"
#include "../platform/platform.hpp"

namespace tidemark {

/// What command_context::bind() returns, for the commands of that recording. May be copied. It names a place in the
/// list, and ends with the list.
template <platform Platform, class Backing>
class bound_backing {
 public:
  using cell = typename Platform::template var<Backing>;

  bound_backing() noexcept = default;
  /// For command_context.
  explicit bound_backing(const cell& at) noexcept : at_{&at} {}

  /// Returns whether there is such a place: false from a recording that was removed.
  explicit operator bool() const noexcept { return at_ != nullptr; }
  /// Returns the backing: in a command, while the list is executed. False if the resource had none. Progress:
  /// wait-free.
  [[nodiscard]] Backing memory() const noexcept { return at_ != nullptr ? Backing(at_->load()) : Backing{}; }

 private:
  const cell* at_ = nullptr;
};

/// What command_context::bind_for_copy() returns.
template <platform Platform, class Backing>
struct [[nodiscard]] bound_copy {
  map_status status = map_status::invalid;
  bound_backing<Platform, Backing> bound;  ///< Only where the status is `mapped`.

  explicit operator bool() const noexcept { return status == map_status::mapped; }
};

}  // namespace tidemark

#endif  // TIDEMARK_CONTEXT_BOUND_BACKING_HPP
