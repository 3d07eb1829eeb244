// SPDX-License-Identifier: BSL-1.0
//
// ring_statistics: what the memory of a ring has come to, as numbers and as text: how large it must be, and what its
// alignments cost. For upload_ring, growing_upload_ring and rename_ring.
//
//   const upload_statistics now = ring.statistics();
//   if (now.largest_free_run < next_batch) ...                    a program decides by the numbers
//   std::cout << now << '\n';                                     a person reads the text
//
//   "640 of 1024 bytes in use, most 1008; largest free run 200; passed over: 96 for alignment, 24 at the end"
//
// The rings look where they take memory back, or make it, so that an allocation pays nothing. Only what is passed over
// must be counted by each allocation: that is a choice of the type, waste::counted. What counts from the beginning is
// never reset: take the difference of two moments.
#ifndef TIDEMARK_MEMORY_RING_STATISTICS_HPP
#define TIDEMARK_MEMORY_RING_STATISTICS_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <version>

#if defined(__cpp_lib_format)
#include <format>
#endif

namespace tidemark {

/// What the parts of an upload ring have come to. All numbers are bytes.
struct upload_statistics {
  std::uint64_t capacity = 0;
  /// What belongs to parts, and was passed over before them. Parts that are free count until they are taken back.
  std::uint64_t in_use = 0;
  /// The most that ever was in use. With writers::several it may be less by what was allocated for the moment in which
  /// another thread took bytes back, but never more than what was in use.
  std::uint64_t most_in_use = 0;
  /// The largest part that can be given out before anything comes back, if its alignment is 1, and there is a record
  /// for it.
  std::uint64_t largest_free_run = 0;
  /// What was passed over for alignments, from the beginning. Only of rings with waste::counted; otherwise 0.
  std::uint64_t passed_for_alignment = 0;
  /// The same at the end of the ring, where the rest was too short for a part.
  std::uint64_t passed_at_end = 0;

  friend bool operator==(const upload_statistics&, const upload_statistics&) = default;
};

/// What the backings of a rename ring have come to.
struct rename_statistics {
  std::size_t bytes_each = 0;
  std::size_t backings = 0;  ///< How many there are now, those that are being made included.
  /// The most that there ever were at a time, without those that the source has refused.
  std::size_t most_backings = 0;
  std::size_t mapped = 0;       ///< Of those there are now: the ones that have a mapping, or are just being taken.
  std::size_t in_use = 0;       ///< The ones that wait for a value of the timeline.
  std::size_t idle = 0;         ///< The ones that a discard, or trim(), could take at once.
  std::uint64_t created = 0;    ///< How many the source has made, from the beginning.
  std::uint64_t destroyed = 0;  ///< How many were trimmed.
  std::uint64_t refused = 0;    ///< How often one could not be made: the source refused, or there was no memory.

  friend bool operator==(const rename_statistics&, const rename_statistics&) = default;
};

/// What the blocks of a growing upload ring have come to.
struct growing_statistics {
  std::size_t block_bytes = 0;
  std::size_t blocks = 0;       ///< How many there are now, those that are being made included.
  std::size_t most_blocks = 0;  ///< The most that there ever were at a time, without those that the source has refused.
  /// Bytes of all blocks, as in upload_statistics. The block that another thread gives back may count as a whole.
  std::uint64_t in_use = 0;
  std::uint64_t largest_free_run = 0;      ///< The same, of the block that has the most.
  std::uint64_t passed_for_alignment = 0;  ///< The same.
  std::uint64_t passed_at_end = 0;         ///< The same, at the ends of blocks.
  std::uint64_t created = 0;               ///< How many blocks the source has made, from the beginning.
  std::uint64_t destroyed = 0;             ///< How many were given back.
  std::uint64_t refused = 0;               ///< How often one could not be made: the source refused, or no memory.

  friend bool operator==(const growing_statistics&, const growing_statistics&) = default;
};

/// Returns the numbers as a line without a newline; see the head of this file.
[[nodiscard]] inline std::string to_string(const upload_statistics& of) {
  return std::to_string(of.in_use) + " of " + std::to_string(of.capacity) + " bytes in use, most " +
         std::to_string(of.most_in_use) + "; largest free run " + std::to_string(of.largest_free_run) +
         "; passed over: " + std::to_string(of.passed_for_alignment) + " for alignment, " +
         std::to_string(of.passed_at_end) + " at the end";
}
/// The same: "3 backings of 4096 bytes, most 5: 1 mapped, 1 in use, 1 idle; 7 created, 4 destroyed, 0 refused".
[[nodiscard]] inline std::string to_string(const rename_statistics& of) {
  return std::to_string(of.backings) + " backings of " + std::to_string(of.bytes_each) + " bytes, most " +
         std::to_string(of.most_backings) + ": " + std::to_string(of.mapped) + " mapped, " + std::to_string(of.in_use) +
         " in use, " + std::to_string(of.idle) + " idle; " + std::to_string(of.created) + " created, " +
         std::to_string(of.destroyed) + " destroyed, " + std::to_string(of.refused) + " refused";
}
/// The same: "2 blocks of 4096 bytes, most 3; 640 bytes in use; largest free run 4096; passed over: 96 for alignment,
/// 24 at the end; 3 created, 1 destroyed, 0 refused".
[[nodiscard]] inline std::string to_string(const growing_statistics& of) {
  return std::to_string(of.blocks) + " blocks of " + std::to_string(of.block_bytes) + " bytes, most " +
         std::to_string(of.most_blocks) + "; " + std::to_string(of.in_use) + " bytes in use; largest free run " +
         std::to_string(of.largest_free_run) + "; passed over: " + std::to_string(of.passed_for_alignment) +
         " for alignment, " + std::to_string(of.passed_at_end) + " at the end; " + std::to_string(of.created) +
         " created, " + std::to_string(of.destroyed) + " destroyed, " + std::to_string(of.refused) + " refused";
}

namespace detail {

template <class T>
concept ring_statistics =
    std::same_as<T, upload_statistics> || std::same_as<T, growing_statistics> || std::same_as<T, rename_statistics>;

}  // namespace detail

/// Writes what to_string() returns. Whoever calls it includes <ostream>.
template <class Traits, detail::ring_statistics Statistics>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const Statistics& of) {
  const std::string text = to_string(of);
  return out << std::basic_string_view<char, Traits>(text.data(), text.size());
}

}  // namespace tidemark

#if defined(__cpp_lib_format)
/// Formats what to_string() returns, with the format specification of a string.
template <tidemark::detail::ring_statistics Statistics>
struct std::formatter<Statistics, char> : std::formatter<std::string_view, char> {
  template <class Context>
  auto format(const Statistics& of, Context& context) const {
    return std::formatter<std::string_view, char>::format(to_string(of), context);
  }
};
#endif

#endif  // TIDEMARK_MEMORY_RING_STATISTICS_HPP
