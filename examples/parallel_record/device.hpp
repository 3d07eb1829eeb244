// SPDX-License-Identifier: BSL-1.0
// What executes the lists: textures, the memory that lists are made of, and a device whose state commands change.

#pragma once

#include "drawing.hpp"
#include "objects.hpp"

#include <tidemark/tidemark.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace parallel_record {

using texture = tidemark::renamed_resource<tidemark::fence_view>;

/// Textures that recordings write, each for itself. What is recorded in a list becomes current when the list is
/// submitted; how many backings there are follows from how many lists are on the way.
struct textures {
  static constexpr std::size_t alignment = 64;

  textures(const tidemark::fence& drawn, const scene& of)
      : heights(drawn.view(), {.bytes = heights_bytes(of), .alignment = alignment}),
        skins(drawn.view(), {.bytes = skin_bytes(of) * skin_cells, .alignment = alignment}),
        palette(drawn.view(), {.bytes = palette_bytes, .alignment = alignment}),
        sheet(drawn.view(), {.bytes = sheet_bytes, .alignment = alignment}) {}

  texture heights;
  texture skins;
  texture palette;
  texture sheet;
};

/// How much memory the lists of a context have. The thread that records takes it, and the engine gives it back.
struct list_memory {
  std::optional<std::size_t> fail_after;  // so many records; then it fails once, when a list grows
  std::size_t records = 0;                // of the thread that records, as the next two
  std::optional<std::size_t> failed_at;   // the number of the record for which there was no memory
  std::size_t most_bytes = 0;
  std::atomic<std::size_t> bytes = 0;
};

/// Memory for lists, from the heap.
struct list_source {
  using backing = std::byte*;

  std::byte* create(const tidemark::backing_traits& traits) noexcept {
    if (of->fail_after && !of->failed_at && of->records > *of->fail_after) {
      of->failed_at = of->records;
      return nullptr;
    }
    std::byte* const made = tidemark::heap_source{}.create(traits);
    if (made != nullptr) of->most_bytes = std::max(of->most_bytes, of->bytes += traits.bytes);
    return made;
  }
  void destroy(std::byte* made, const tidemark::backing_traits& traits) noexcept {
    of->bytes -= traits.bytes;
    tidemark::heap_source{}.destroy(made, traits);
  }

  list_memory* of;
};

/// The state that commands change, and draw commands use. Only the commands of the engine's one queue touch it.
struct device {
  const scene* drawn;
  picture* target;
  std::array<const std::byte*, slot_count> slots{};

  void set_view(slot which, const std::byte* bound) { slots[static_cast<std::size_t>(which)] = bound; }
  template <class Texel>
  [[nodiscard]] const Texel* texels(slot which) const {
    return reinterpret_cast<const Texel*>(slots[static_cast<std::size_t>(which)]);
  }

  void ground(const area& tile, const area& rows) {
    draw_ground(*target, *drawn, tile, rows, texels<float>(slot::surface), texels<colour>(slot::palette));
  }
  void shadow_of(const area& tile, const ball& of) { draw_shadow(*target, tile, of); }
  void one_ball(const area& tile, const ball& of) {
    draw_ball(*target, tile, of, texels<std::uint8_t>(slot::surface), skin_size(*drawn), texels<colour>(slot::palette));
  }
  void label_in(const area& tile, const area& place) {
    draw_label(*target, tile, texels<std::uint8_t>(slot::sheet), place);
  }
};

}  // namespace parallel_record
