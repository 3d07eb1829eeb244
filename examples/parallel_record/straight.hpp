// SPDX-License-Identifier: BSL-1.0
// The same picture as one thread draws it straight on, without any of the library.

#pragma once

#include "drawing.hpp"
#include "scene.hpp"
#include "textures.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace parallel_record {

/// Which ball each cell of the skins is for. When all cells are taken, all are forgotten.
class cell_owners {
 public:
  struct cell {
    std::size_t number;
    bool is_new;  ///< Its skin must be filled.
  };
  cell cell_for(const ball& of) {
    const auto end = owners_.begin() + static_cast<std::ptrdiff_t>(taken_);
    const auto found = std::find(owners_.begin(), end, of.number);
    if (found != end) return {static_cast<std::size_t>(found - owners_.begin()), false};
    if (taken_ == skin_cells) taken_ = 0;
    owners_[taken_] = of.number;
    return {taken_++, true};
  }

 private:
  std::array<std::uint32_t, skin_cells> owners_{};
  std::size_t taken_ = 0;
};

class straight_drawing {
 public:
  explicit straight_drawing(const scene& of)
      : scene_(of),
        picture_(of),
        heights_(heights_bytes(of) / sizeof(float)),
        skins_(skin_bytes(of) * skin_cells),
        palette_(palette_bytes / sizeof(colour)),
        sheet_(sheet_bytes) {}

  void run() {
    fill_palette(palette_.data());
    fill_sheet(sheet_.data());
    for (std::size_t part = 0; part < scene_.parts(); ++part) {
      cell_owners owners;
      for (std::size_t tile = scene_.first_tile(part); tile < scene_.first_tile(part + 1); ++tile) draw(tile, owners);
    }
  }

  [[nodiscard]] const picture& result() const { return picture_; }

 private:
  void draw(std::size_t number, cell_owners& owners) {
    const area tile = scene_.area_of(number);
    fill_heights(scene_, tile, heights_.data());
    draw_ground(picture_, scene_, tile, tile, heights_.data(), palette_.data());
    for (const ball& each : scene_.balls()) draw_shadow(picture_, tile, each);
    for (const ball& each : scene_.balls()) {
      if (common_part(tile, each.bounds()).is_empty()) continue;
      const cell_owners::cell cell = owners.cell_for(each);
      std::uint8_t* const skin = skins_.data() + cell.number * skin_bytes(scene_);
      if (cell.is_new) fill_skin(each, skin_size(scene_), skin);
      draw_ball(picture_, tile, each, skin, skin_size(scene_),
                palette_.data() + (1 + each.number % ball_palettes) * palette_size);
    }
    const area place = label_place(number);
    put_label(sheet_.data(), place, label_of(scene_.column_of(number), scene_.row_of(number)));
    draw_label(picture_, tile, sheet_.data(), place);
  }

  const scene& scene_;
  picture picture_;
  std::vector<float> heights_;
  std::vector<std::uint8_t> skins_;
  std::vector<colour> palette_;
  std::vector<std::uint8_t> sheet_;
};

}  // namespace parallel_record
