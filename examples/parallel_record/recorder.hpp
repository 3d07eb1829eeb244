// SPDX-License-Identifier: BSL-1.0
// Records how tiles are drawn, in a context of its own. For one thread.
//
//   heights   discarded for each tile: a backing of the recording's own, which the thread fills at once
//   skins     discarded when all cells have a skin. The next cells are filled without a discard (no_overwrite), because
//             the commands that are recorded already read other cells
//   palette   only bound: what is current when the list is submitted
//   sheet     commands copy letters to a label, which is a part of it: copied on write, once in a recording
//
// The context's blocks know what is bound, so a state command that changes nothing is left out.

#pragma once

#include "device.hpp"
#include "objects.hpp"

#include <tidemark/tidemark.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

namespace parallel_record {

/// Counts the errors of a context.
struct error_counter {
  void operator()(tidemark::context_id, tidemark::context_error error) noexcept {
    if (error == tidemark::context_error::no_memory) ++*removals;
  }
  std::size_t* removals;
};

class recorder {
 public:
  using context_type = tidemark::command_context<object_storage, tidemark::engine_queue, error_counter, list_source>;
  using list_type = context_type::list_type;

  /// What was done, for the report.
  struct counts {
    std::size_t renames = 0;
    std::size_t left_out = 0;  // state commands
    std::size_t removals = 0;  // as the sink was told
  };

  recorder(const scene& drawn, device& on, textures& with, objects& known, object_storage::context&& opened,
           list_memory& memory)
      : scene_(drawn),
        device_(on),
        textures_(with),
        objects_(known),
        memory_(memory),
        context_(*known.storage, std::move(opened), error_counter{&counts_.removals}, list_source{&memory}) {}
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  /// Returns the list that draws some tiles; nothing if there was not enough memory to record it.
  std::optional<list_type> record(std::size_t part) noexcept {
    number_ = static_cast<recording_number>(static_cast<std::uint64_t>(number_) + 1);
    lacks_memory_ = false;
    context_.begin_recording();
    for (std::size_t tile = scene_.first_tile(part); tile < scene_.first_tile(part + 1); ++tile) {
      if (!lacks_memory_ && !context_.was_removed()) record_tile(tile);
    }
    if (lacks_memory_ && !context_.was_removed()) {  // there was enough for the list, but not for all textures
      context_.abandon();
      return std::nullopt;
    }
    context_type::finish_result finished = context_.finish();
    if (!finished) return std::nullopt;
    return std::move(finished.list);
  }

  [[nodiscard]] const counts& counted() const { return counts_; }

 private:
  static constexpr int rows_of_command = 16;

  void record_tile(std::size_t number) noexcept {
    const area tile = scene_.area_of(number);
    record_ground(tile);
    for (const ball& each : scene_.balls()) {
      if (common_part(tile, each.shadow_bounds()).is_empty()) continue;
      keep([on = &device_, tile, each] { on->shadow_of(tile, each); });
    }
    for (const ball& each : scene_.balls()) {
      if (!common_part(tile, each.bounds()).is_empty()) record_ball(tile, each);
    }
    record_label(tile, number);
  }

  void record_ground(const area& tile) noexcept {
    std::byte* const to = discard(textures_.heights, objects_.heights);
    if (to == nullptr) return;
    fill_heights(scene_, tile, reinterpret_cast<float*>(to));
    for (int top = tile.top; top < tile.bottom; top += rows_of_command) {
      set_view(slot::surface, textures_.heights, objects_.heights_view);
      set_view(slot::palette, textures_.palette, objects_.palette_views[0]);
      const area rows{tile.left, top, tile.right, std::min(top + rows_of_command, tile.bottom)};
      keep([on = &device_, tile, rows] { on->ground(tile, rows); });
    }
  }

  void record_ball(const area& tile, const ball& of) noexcept {
    const tidemark::object_id* const skin = view_with_skin(of);
    if (skin == nullptr) return;
    set_view(slot::surface, textures_.skins, *skin);
    set_view(slot::palette, textures_.palette, objects_.palette_views[1 + of.number % ball_palettes]);
    keep([on = &device_, tile, of] { on->one_ball(tile, of); });
  }

  void record_label(const area& tile, std::size_t number) noexcept {
    ++memory_.records;
    const auto copy = context_.bind_for_copy(
        textures_.sheet, [](std::byte* to, const std::byte* from) noexcept { std::memcpy(to, from, sheet_bytes); });
    texture_state* const state = state_of<texture_state>(objects_.sheet);
    if (!copy) lacks_memory_ = true;
    if (!copy || state == nullptr) return;
    if (state->recording != number_) note_rename(*state);
    const area place = label_place(number);
    const label text = label_of(scene_.column_of(number), scene_.row_of(number));
    keep(
        [sheet = copy.bound, place, text] { put_label(reinterpret_cast<std::uint8_t*>(sheet.memory()), place, text); });
    set_view(slot::sheet, textures_.sheet, objects_.sheet_view);
    keep([on = &device_, tile, place] { on->label_in(tile, place); });
  }

  /// Returns the view of a cell that has the ball's skin, and fills one if none has; null if there is no memory.
  const tidemark::object_id* view_with_skin(const ball& of) noexcept {
    texture_state* const skins = state_of<texture_state>(objects_.skins);
    if (skins == nullptr) return nullptr;
    if (skins->recording == number_) {
      for (std::size_t i = 0; i < skins->filled_cells; ++i) {
        const view_state* const cell = state_of<view_state>(objects_.skin_views[i]);
        if (cell != nullptr && cell->ball == of.number) return &objects_.skin_views[i];
      }
    }
    std::byte* const to = memory_for_skin(*skins);
    if (to == nullptr) return nullptr;
    const tidemark::object_id& taken = objects_.skin_views[skins->filled_cells];
    view_state* const cell = state_of<view_state>(taken);
    if (cell == nullptr) return nullptr;
    fill_skin(of, skin_size(scene_), reinterpret_cast<std::uint8_t*>(to + *cell->offset));
    cell->ball = of.number;
    ++skins->filled_cells;
    return &taken;
  }
  /// Returns the backing that has a cell which is not filled yet.
  std::byte* memory_for_skin(const texture_state& skins) noexcept {
    if (skins.recording != number_ || skins.filled_cells == skin_cells) return discard(textures_.skins, objects_.skins);
    return context_.try_map(textures_.skins, tidemark::map_mode::no_overwrite).memory;
  }

  /// Returns a backing that this recording alone has, in the place of the one before.
  std::byte* discard(texture& of, tidemark::object_id known_as) noexcept {
    ++memory_.records;
    const texture::mapping made = context_.map(of, tidemark::map_mode::discard);
    texture_state* const state = state_of<texture_state>(known_as);
    if (!made) lacks_memory_ = true;
    if (!made || state == nullptr) return nullptr;
    note_rename(*state);
    return made.memory;
  }
  void note_rename(texture_state& of) noexcept {
    of.renames = of.recording == number_ ? of.renames + 1 : 1;
    of.recording = number_;
    of.filled_cells = 0;
    ++counts_.renames;
  }

  /// Binds a view, unless that is what the slot has.
  void set_view(slot which, texture& of, tidemark::object_id known_as) noexcept {
    slot_state* const state = state_of<slot_state>(objects_.slots[static_cast<std::size_t>(which)]);
    const view_state* const view = state_of<view_state>(known_as);
    if (state == nullptr || view == nullptr) return;
    const texture_state& viewed = *view->texture;
    const std::uint32_t renames = viewed.recording == number_ ? viewed.renames : 0;
    if (state->recording == number_ && state->bound == view && state->renames == renames) {
      ++counts_.left_out;
      return;
    }
    *state = {number_, view, renames};
    ++memory_.records;  // before the binding, for which the list may grow, too
    context_.run([on = &device_, which, bound = context_.bind(of), offset = *view->offset] {
      on->set_view(which, bound.memory() + offset);
    });
  }

  /// Returns this context's block of an object; null if there is no memory for it.
  template <class State>
  State* state_of(tidemark::object_id object) noexcept {
    const tidemark::block_use_result used = context_.use(object);
    if (!used) lacks_memory_ = true;
    return used ? &used.as<State>() : nullptr;
  }

  template <class Command>
  void keep(const Command& command) noexcept {
    ++memory_.records;
    context_.run(command);
  }

  const scene& scene_;
  device& device_;
  textures& textures_;
  const objects& objects_;
  list_memory& memory_;
  recording_number number_ = recording_number::none;
  bool lacks_memory_ = false;  // in this recording
  counts counts_;
  context_type context_;
};

}  // namespace parallel_record
