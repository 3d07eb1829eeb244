// SPDX-License-Identifier: BSL-1.0
// How much text two pieces of files have in common.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <unordered_map>

namespace out_of_core {

/// The samples of one piece, by a hash of the text there. They are addresses, so the piece must keep its place.
class samples {
 public:
  static constexpr std::size_t bytes = 32;

  explicit samples(std::span<const std::byte> text) {
    for_each_sample(text, [this](std::uint64_t hash, const std::byte* where) { places_.try_emplace(hash, where); });
  }

  /// Returns how many samples of another piece occur in this one, too.
  std::uint64_t in_common_with(std::span<const std::byte> text) const {
    std::uint64_t found = 0;
    for_each_sample(text, [&](std::uint64_t hash, const std::byte* where) {
      const auto same = places_.find(hash);
      if (same != places_.end() && std::memcmp(same->second, where, bytes) == 0) ++found;
    });
    return found;
  }

 private:
  /// Calls `use(hash, place)` for one place in 64. A hash that rolls over the text chooses them, so equal text is
  /// sampled at the same places wherever it stands.
  template <class Use>
  static void for_each_sample(std::span<const std::byte> text, const Use& use) {
    constexpr std::uint64_t factor = 0x9E37'79B9'7F4A'7C15;
    std::uint64_t leaving = 1;  // factor to the power of `bytes`
    for (std::size_t i = 0; i < bytes; ++i) leaving *= factor;
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      hash = hash * factor + std::to_integer<std::uint64_t>(text[i]);
      if (i >= bytes) hash -= leaving * std::to_integer<std::uint64_t>(text[i - bytes]);
      if (i + 1 >= bytes && hash >> 58 == 0) use(hash, &text[i + 1 - bytes]);
    }
  }

  std::unordered_map<std::uint64_t, const std::byte*> places_;
};

}  // namespace out_of_core
