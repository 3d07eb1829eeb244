// SPDX-License-Identifier: BSL-1.0
// The objects that threads record against, and what each context knows of them. A context has blocks of its own, so no
// thread waits for another one, and none sees what another one has bound:
//
//   texture   how often this recording has written it anew; how many bytes it has is shared by all contexts
//   view      a part of a texture, and which ball's skin is there if it is a cell of the skins. It depends on the
//             texture, and knows the texture's block of the same context
//   slot      where draw commands find a texture: which view was bound last
//
// From this a recorder knows which state command changes nothing, and leaves it out. What a block says of a recording
// that is over is not true any more, so each says which recording it speaks of.

#pragma once

#include "textures.hpp"

#include <tidemark/tidemark.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>

namespace parallel_record {

/// A recording of a context: 1 is the first.
enum class recording_number : std::uint64_t { none = 0 };

struct texture_state {
  const std::size_t* bytes = nullptr;  // shared by all contexts
  recording_number recording = recording_number::none;
  std::uint32_t renames = 0;     // in that recording
  std::size_t filled_cells = 0;  // of its last backing, if it has cells
};
struct view_state {
  texture_state* texture = nullptr;
  const std::size_t* offset = nullptr;  // shared by all contexts
  std::uint32_t ball = 0;               // whose skin it is, if it is one of the filled cells
};
struct slot_state {
  recording_number recording = recording_number::none;
  const view_state* bound = nullptr;
  std::uint32_t renames = 0;  // of the texture, when it was bound
};
static_assert(tidemark::lines_of_block(sizeof(texture_state)) == 1);
static_assert(tidemark::lines_of_block(sizeof(view_state)) == 1);
static_assert(tidemark::lines_of_block(sizeof(slot_state)) == 1);

struct object_maker {
  enum class kind { texture, view, slot };
  struct description {
    std::size_t number;  // the bytes of a texture, the offset of a view
    void* texture;
  };
  using arguments = tidemark::block_arguments<kind, description>;
  static constexpr std::size_t max_dependencies = 1;
  static constexpr std::array<tidemark::block_size<kind>, 3> all_sizes{
      {{kind::texture, sizeof(texture_state)}, {kind::view, sizeof(view_state)}, {kind::slot, sizeof(slot_state)}}};

  std::size_t list_block_sizes(std::span<tidemark::block_size<kind>> sizes) const noexcept {
    for (std::size_t i = 0; i < sizes.size() && i < all_sizes.size(); ++i) sizes[i] = all_sizes[i];
    return all_sizes.size();
  }
  tidemark::block_layout immediate_layout(kind of, const description&) const noexcept {
    return {.bytes = deferred_bytes(of, nullptr), .read_only_bytes = of == kind::slot ? 0 : sizeof(std::size_t)};
  }
  std::size_t deferred_bytes(kind of, const void*) const noexcept {
    return all_sizes[static_cast<std::size_t>(of)].bytes;
  }
  void set_dependency(description& changed, std::size_t, void* block) noexcept { changed.texture = block; }

  bool create(const arguments& given) noexcept {
    if (!given.read_only_to_fill.empty()) ::new (given.read_only_to_fill.data()) std::size_t{given.description->number};
    const auto* const shared = reinterpret_cast<const std::size_t*>(given.read_only.data());
    switch (given.kind) {
      case kind::texture:
        ::new (given.block) texture_state{.bytes = shared};
        break;
      case kind::view:
        ::new (given.block)
            view_state{.texture = static_cast<texture_state*>(given.description->texture), .offset = shared};
        break;
      case kind::slot:
        ::new (given.block) slot_state{};
        break;
    }
    return true;
  }
  void destroy(tidemark::context_id, kind, void*) noexcept {}  // nothing to do: the storage has the memory
};

using object_storage = tidemark::context_storage<object_maker>;

/// Which slot of the device draw commands look in.
enum class slot : std::size_t { surface, palette, sheet };
inline constexpr std::size_t slot_count = 3;

/// All objects. They are created in the immediate context, and stay.
struct objects {
  objects(const scene& of, std::size_t threads)
      : storage(object_storage::make(object_maker{}, {.max_contexts = static_cast<std::uint32_t>(threads + 1)})) {
    if (!storage) throw std::bad_alloc();
    heights = add(object_maker::kind::texture, heights_bytes(of));
    skins = add(object_maker::kind::texture, skin_bytes(of) * skin_cells);
    palette = add(object_maker::kind::texture, palette_bytes);
    sheet = add(object_maker::kind::texture, sheet_bytes);
    heights_view = add_view(heights, 0);
    for (std::size_t i = 0; i < skin_cells; ++i) skin_views[i] = add_view(skins, i * skin_bytes(of));
    for (std::size_t i = 0; i < palette_views.size(); ++i) palette_views[i] = add_view(palette, i * palette_row_bytes);
    sheet_view = add_view(sheet, 0);
    for (tidemark::object_id& each : slots) each = add(object_maker::kind::slot, 0);
  }

  std::optional<object_storage> storage;
  tidemark::object_id heights;
  tidemark::object_id skins;
  tidemark::object_id palette;
  tidemark::object_id sheet;
  tidemark::object_id heights_view;
  std::array<tidemark::object_id, skin_cells> skin_views;
  std::array<tidemark::object_id, 1 + ball_palettes> palette_views;
  tidemark::object_id sheet_view;
  std::array<tidemark::object_id, slot_count> slots;

 private:
  tidemark::object_id add(object_maker::kind of, std::size_t number) {
    return made(storage->create(of, {.number = number, .texture = nullptr}));
  }
  tidemark::object_id add_view(tidemark::object_id texture, std::size_t offset) {
    return made(storage->create(object_maker::kind::view, {.number = offset, .texture = nullptr}, {texture}));
  }
  static tidemark::object_id made(const tidemark::object_create_result& result) {
    if (!result) throw std::bad_alloc();
    return result.object;
  }
};

}  // namespace parallel_record
