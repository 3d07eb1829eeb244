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
/// list, and must not be used once the list is destroyed.
template <platform Platform, class Backing>
class bound_backing {
 public:
  using cell = typename Platform::template var<Backing>;

  bound_backing() noexcept = default;
  /// For command_context.
  explicit bound_backing(const cell& at) noexcept : at_{&at} {}

  /// Returns whether it names a place. False if it was made without arguments, or if the recording was removed or was
  /// not open.
  explicit operator bool() const noexcept { return at_ != nullptr; }
  /// Returns the backing. Call it in a command, while the list is executed. The result converts to false if the
  /// resource had none. Progress: wait-free.
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
