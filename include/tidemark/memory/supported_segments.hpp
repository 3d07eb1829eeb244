// SPDX-License-Identifier: BSL-1.0
//
// supported_segments: the segments in which an allocation may be placed, and how the processor uses it. An allocation
// that must not be created has none, so it can't be made. For mapped_allocation.hpp. Linux only.
//
//   const supported_segments both{cpu_access::uncached, with_aperture_segment, local, far};      always possible
//   const auto seen = supported_segments<Timeline>::make(cpu_access::cached, local);             or nothing
//
// The text that docs/requirements.md lists says which allocations there are: "all CPU-accessible allocations in
// non-CPU-accessible memory segments must contain an aperture segment in their supported segment set". So a set with an
// aperture segment is made by the constructor. A set without one is made by make(), which returns nothing if the
// processor is to use the allocation and does not see one of the segments. There is no other way, and an allocation is
// made of such a set only.
//
// A set stays possible: a segment that the processor sees once, it always sees (device_segment.hpp).
//
// Not promised: that two sets of the same segments place an allocation alike. The order counts: a commit goes into the
// first segment that has room.
#ifndef TIDEMARK_MEMORY_SUPPORTED_SEGMENTS_HPP
#define TIDEMARK_MEMORY_SUPPORTED_SEGMENTS_HPP

#if defined(__linux__)

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>

#include "../fence/fence.hpp"
#include "../fence/timeline.hpp"
#include "device_segment.hpp"
#include "lock_decision.hpp"

namespace tidemark {

/// The type of with_aperture_segment.
struct with_aperture_segment_t {
  explicit with_aperture_segment_t() = default;
};
/// The allocation supports an aperture segment: it can lie in system memory, and the device still use it.
inline constexpr with_aperture_segment_t with_aperture_segment{};

/// The segments of an allocation; see the head of this file. The segments must outlive it and its copies, and stay
/// where they are. Any thread may call all functions.
template <timeline Timeline = progress_fence_view>
class supported_segments {
 public:
  using segment = device_segment<Timeline>;
  /// The most memory segments of a set.
  static constexpr std::size_t max_memory_segments = 8;

  /// Makes the set of an aperture segment and of any memory segments, the preferred one first. One that is named twice
  /// counts once.
  template <std::same_as<segment>... More>
    requires(sizeof...(More) <= max_memory_segments)
  supported_segments(cpu_access access, with_aperture_segment_t, More&... memory) noexcept : access_{access} {
    set_ = set_.with_aperture();
    (add(memory), ...);
  }

  /// Returns the set of these memory segments alone, the preferred one first. Returns nothing if the processor is to
  /// use the allocation, and does not see all of them.
  template <std::same_as<segment>... More>
    requires(sizeof...(More) < max_memory_segments)
  [[nodiscard]] static std::optional<supported_segments> make(cpu_access access, segment& first,
                                                              More&... more) noexcept {
    supported_segments made{access};
    made.add(first);
    (made.add(more), ...);
    if (!may_be_created(access, made.set_)) return std::nullopt;
    return made;
  }

  [[nodiscard]] cpu_access access() const noexcept { return access_; }
  [[nodiscard]] bool has_aperture() const noexcept { return set_.has_aperture(); }
  /// Returns the set for decide() (lock_decision.hpp), as it was when this was made: it may count a segment as unseen
  /// that was resized since.
  [[nodiscard]] const segment_set& set() const noexcept { return set_; }

  /// Returns the memory segments, the preferred one first.
  [[nodiscard]] std::span<segment* const> memory() const noexcept { return {memory_.data(), size_}; }
  /// Returns the index of a memory segment in memory(); or the number of these if it is not one of them.
  [[nodiscard]] std::size_t index_of(const segment& of) const noexcept {
    std::size_t index = 0;
    while (index != size_ && memory_[index] != &of) ++index;
    return index;
  }

 private:
  explicit supported_segments(cpu_access access) noexcept : access_{access} {}

  void add(segment& memory) noexcept {
    if (index_of(memory) != size_) return;
    memory_[size_++] = &memory;
    set_ = set_.with(memory.traits());
  }

  cpu_access access_;
  segment_set set_;
  std::size_t size_ = 0;
  std::array<segment*, max_memory_segments> memory_{};
};
template <class Timeline, class... More>
supported_segments(cpu_access, with_aperture_segment_t, device_segment<Timeline>&, More&...)
    -> supported_segments<Timeline>;

}  // namespace tidemark

#endif

#endif  // TIDEMARK_MEMORY_SUPPORTED_SEGMENTS_HPP
