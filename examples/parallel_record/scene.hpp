// SPDX-License-Identifier: BSL-1.0
// What is drawn: a map with mountains and lakes, and balls that hang above it. The picture is drawn tile by tile, and
// some tiles that follow each other are a part of the work.

#pragma once

#include "noise.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace parallel_record {

/// Pixels from left and top on, without those at right and bottom.
struct area {
  int left;
  int top;
  int right;
  int bottom;

  [[nodiscard]] int width() const { return right - left; }
  [[nodiscard]] int height() const { return bottom - top; }
  [[nodiscard]] bool is_empty() const { return width() <= 0 || height() <= 0; }
};
inline area common_part(const area& one, const area& other) {
  return {std::max(one.left, other.left), std::max(one.top, other.top), std::min(one.right, other.right),
          std::min(one.bottom, other.bottom)};
}

/// In pixels.
struct ball {
  std::uint32_t number;
  float x;
  float y;
  float radius;

  [[nodiscard]] area bounds() const { return around(x, y, radius + 1); }
  /// The sun stands in the upper left.
  [[nodiscard]] float shadow_x() const { return x + radius * 0.55F; }
  [[nodiscard]] float shadow_y() const { return y + radius * 0.7F; }
  [[nodiscard]] float shadow_radius() const { return radius * 1.1F; }
  [[nodiscard]] area shadow_bounds() const { return around(shadow_x(), shadow_y(), shadow_radius() + 1); }

 private:
  static area around(float x, float y, float reach) {
    return {static_cast<int>(std::floor(x - reach)), static_cast<int>(std::floor(y - reach)),
            static_cast<int>(std::ceil(x + reach)) + 1, static_cast<int>(std::ceil(y + reach)) + 1};
  }
};

class scene {
 public:
  static constexpr std::size_t ball_count = 44;

  scene(std::size_t width, std::size_t height, std::size_t tile_size, std::size_t tiles_of_part)
      : width_(static_cast<int>(width)),
        height_(static_cast<int>(height)),
        tile_size_(static_cast<int>(tile_size)),
        columns_((width + tile_size - 1) / tile_size),
        rows_((height + tile_size - 1) / tile_size),
        tiles_of_part_(tiles_of_part),
        unit_(static_cast<float>(std::max(width, height))) {
    for (std::uint32_t i = 0; i < ball_count; ++i) {
      // Later ones are larger, and hang above those before.
      const float order = static_cast<float>(i) / static_cast<float>(ball_count);
      const float radius = unit_ * (0.012F + 0.05F * order * order + 0.012F * random_of(i, 0));
      balls_[i] = {i, random_of(i, 1) * static_cast<float>(width_), random_of(i, 2) * static_cast<float>(height_),
                   radius};
    }
  }

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] int tile_size() const { return tile_size_; }
  [[nodiscard]] std::size_t tiles() const { return columns_ * rows_; }
  [[nodiscard]] std::size_t column_of(std::size_t tile) const { return tile % columns_; }
  [[nodiscard]] std::size_t row_of(std::size_t tile) const { return tile / columns_; }
  [[nodiscard]] area area_of(std::size_t tile) const {
    const int left = static_cast<int>(column_of(tile)) * tile_size_;
    const int top = static_cast<int>(row_of(tile)) * tile_size_;
    return {left, top, std::min(left + tile_size_, width_), std::min(top + tile_size_, height_)};
  }
  [[nodiscard]] const std::array<ball, ball_count>& balls() const { return balls_; }

  [[nodiscard]] std::size_t parts() const { return (tiles() + tiles_of_part_ - 1) / tiles_of_part_; }
  [[nodiscard]] std::size_t first_tile(std::size_t part) const { return std::min(part * tiles_of_part_, tiles()); }

  /// How many pixels are one, whatever size the picture has.
  [[nodiscard]] float unit() const { return unit_; }

 private:
  int width_;
  int height_;
  int tile_size_;
  std::size_t columns_;
  std::size_t rows_;
  std::size_t tiles_of_part_;
  float unit_;
  std::array<ball, ball_count> balls_{};
};

}  // namespace parallel_record
