// SPDX-License-Identifier: BSL-1.0
//
// map_mode, map_status: what a resource that has several backings is mapped for, and what comes of it. For rename_ring
// and for what is built on it.
#ifndef TIDEMARK_MEMORY_MAP_MODE_HPP
#define TIDEMARK_MEMORY_MAP_MODE_HPP

#include <cstdint>

#include "../platform/names.hpp"

namespace tidemark {

/// What a map is for. A mode is one of
///   `read`, `write`, `read | write`, each of them also with `do_not_wait`;
///   `discard`, `discard | write`; `no_overwrite`, `no_overwrite | write`.
/// Every other combination is invalid, `do_not_wait` with a discard or with no_overwrite too.
enum class map_mode : std::uint32_t {
  /// The current contents. Waits until the timeline has reached all values that were passed for the current backing.
  /// Does not wait for mappings that were not retired yet: it shares the backing with them.
  read = 1,
  write = 2,         ///< The same.
  discard = 4,       ///< A backing that nothing uses. Its contents are undefined.
  no_overwrite = 8,  ///< The current backing, in use or not: the caller writes only where nobody reads. Never waits.
  do_not_wait = 16,  ///< map() behaves as try_map(). For programs whose own callers pass such flags.
};
[[nodiscard]] constexpr map_mode operator|(map_mode one, map_mode other) noexcept {
  return static_cast<map_mode>(static_cast<std::uint32_t>(one) | static_cast<std::uint32_t>(other));
}

enum class map_status : std::uint8_t {
  mapped,  ///< The caller has the backing until it retires the mapping.
  /// Not now: in use until the timeline reaches a value. Direct3D says "was still drawing". Only from forms that do not
  /// wait.
  busy,
  timeout,  ///< Still in use, or mapped by others, at the deadline of a form that waits.
  stopped,  ///< Still in use, or mapped by others, when the stop token was triggered.
  lost,     ///< As `no_space`, and the timeline is lost. From forms that wait, with writers::several.
  /// Not now, and there is no value to wait for: every backing is mapped, or another thread is just making, taking or
  /// trimming it. Also where the current one has 2^15 guests already: an assertion fails then. With writers::several, a
  /// form that waits then waits for a guest to leave, with no_overwrite, too. From forms that do not wait; with
  /// writers::one from all forms, because no other thread can give a backing back.
  no_space,
  /// There is no value to wait for, and one more backing could not be made: the source refused, or there was no memory
  /// for the ring's own part of it. From all forms. Also where the ring has no backing at all, because the source
  /// refused the first one. From command_context also where the recording was removed.
  no_memory,
  /// There is no such combination of modes. From command_context also for a mode other than discard and no_overwrite,
  /// and for no_overwrite where the recording must discard first.
  invalid,
};

template <>
inline constexpr auto detail::names_of<map_status> =
    detail::names("mapped", "busy", "timeout", "stopped", "lost", "no_space", "no_memory", "invalid");

namespace detail {

constexpr bool has_mode(map_mode mode, map_mode asked) noexcept {
  return (static_cast<std::uint32_t>(mode) & static_cast<std::uint32_t>(asked)) != 0;
}
constexpr map_mode without_mode(map_mode mode, map_mode left_out) noexcept {
  return static_cast<map_mode>(static_cast<std::uint32_t>(mode) & ~static_cast<std::uint32_t>(left_out));
}

constexpr bool is_discard(map_mode mode) noexcept { return without_mode(mode, map_mode::write) == map_mode::discard; }
constexpr bool is_no_overwrite(map_mode mode) noexcept {
  return without_mode(mode, map_mode::write) == map_mode::no_overwrite;
}
/// Returns whether it is one of the combinations that map_mode lists.
constexpr bool is_valid_mode(map_mode mode) noexcept {
  using enum map_mode;
  if (is_discard(mode) || is_no_overwrite(mode)) return true;
  const map_mode access = without_mode(mode, do_not_wait);
  return access == read || access == write || access == (read | write);
}

}  // namespace detail

}  // namespace tidemark

#endif  // TIDEMARK_MEMORY_MAP_MODE_HPP
