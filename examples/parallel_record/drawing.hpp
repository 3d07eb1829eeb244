// SPDX-License-Identifier: BSL-1.0
// How pixels are drawn. The commands of a list call these functions, and so does the thread that draws straight on.

#pragma once

#include "scene.hpp"
#include "textures.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace parallel_record {

inline constexpr std::size_t bytes_of_pixel = 3;  // red, green, blue

/// Pixels, row by row. Those that nothing was drawn to have one plain colour.
class picture {
 public:
  static constexpr std::uint8_t plain = 58;  // of red, green and blue

  explicit picture(const scene& of)
      : width_(of.width()),
        height_(of.height()),
        bytes_(static_cast<std::size_t>(of.width()) * static_cast<std::size_t>(of.height()) * bytes_of_pixel, plain) {}

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] std::uint8_t* at(int x, int y) { return bytes_.data() + offset_of(x, y); }
  [[nodiscard]] std::span<const std::uint8_t> row(const area& of, int y) const {
    return {bytes_.data() + offset_of(of.left, y), static_cast<std::size_t>(of.width()) * bytes_of_pixel};
  }

 private:
  [[nodiscard]] std::size_t offset_of(int x, int y) const {
    return (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)) *
           bytes_of_pixel;
  }

  int width_;
  int height_;
  std::vector<std::uint8_t> bytes_;
};

inline std::uint8_t to_byte(float value) {
  const float with_half = std::clamp(value, 0.0F, 255.0F) + 0.5F;
  return static_cast<std::uint8_t>(with_half);
}
inline void put(std::uint8_t* pixel, const colour& of) {
  pixel[0] = to_byte(of.red);
  pixel[1] = to_byte(of.green);
  pixel[2] = to_byte(of.blue);
}
inline void blend(std::uint8_t* pixel, const colour& of, float cover) {
  put(pixel,
      mix({static_cast<float>(pixel[0]), static_cast<float>(pixel[1]), static_cast<float>(pixel[2])}, of, cover));
}
/// \param at  from 0 to 1
inline colour colour_of(const colour* palette, float at) {
  const float place = std::clamp(at, 0.0F, 1.0F) * (palette_size - 1);
  const int below = std::min(static_cast<int>(place), palette_size - 2);
  return mix(palette[below], palette[below + 1], place - static_cast<float>(below));
}
inline colour lit(const colour& of, float light, float gloss = 0) {
  return {of.red * light + gloss, of.green * light + gloss, of.blue * light + gloss};
}

inline constexpr point to_sun{-0.52F, -0.6F, 0.608F};

/// Some rows of a tile.
inline void draw_ground(picture& to, const scene& of, const area& tile, const area& rows, const float* heights,
                        const colour* palette) {
  const int across = heights_across(of);
  const float steepness = of.unit() * 0.045F;
  for (int y = rows.top; y < rows.bottom; ++y) {
    const float* at = heights + (y - tile.top + 1) * across + (rows.left - tile.left) + 1;
    std::uint8_t* pixel = to.at(rows.left, y);
    for (int x = rows.left; x < rows.right; ++x, ++at, pixel += bytes_of_pixel) {
      const float height = *at;
      const float east = (at[1] - at[-1]) * steepness;
      const float south = (at[across] - at[-across]) * steepness;
      const float length = std::sqrt(east * east + south * south + 1);
      const float light = std::max(0.0F, (to_sun.z - east * to_sun.x - south * to_sun.y) / length);
      const colour base = colour_of(palette, height * 0.42F + 0.5F);
      put(pixel, height < 0 ? lit(base, 0.82F + 0.25F * light) : lit(base, 0.38F + 1.0F * light));
      if (x == tile.left || y == tile.top) blend(pixel, {255, 255, 255}, 0.16F);
    }
  }
}

inline void draw_shadow(picture& to, const area& within, const ball& of) {
  const area part = common_part(within, of.shadow_bounds());
  for (int y = part.top; y < part.bottom; ++y) {
    std::uint8_t* pixel = to.at(part.left, y);
    for (int x = part.left; x < part.right; ++x, pixel += bytes_of_pixel) {
      const float dx = (static_cast<float>(x) + 0.5F - of.shadow_x()) / of.shadow_radius();
      const float dy = (static_cast<float>(y) + 0.5F - of.shadow_y()) / of.shadow_radius();
      const float inside = 1 - std::sqrt(dx * dx + dy * dy);
      if (inside > 0) blend(pixel, {6, 10, 28}, 0.5F * smooth(std::min(1.0F, inside * 2.5F)));
    }
  }
}

/// What a skin has at a place, between its texels, too.
/// \param x, y  from -1 to 1
inline float grey_at(const std::uint8_t* skin, int size, float x, float y) {
  const auto across = static_cast<float>(size);
  const float column = std::clamp((x + 1) * 0.5F * across - 0.5F, 0.0F, across - 1.001F);
  const float row = std::clamp((y + 1) * 0.5F * across - 0.5F, 0.0F, across - 1.001F);
  const int left = static_cast<int>(column);
  const int top = static_cast<int>(row);
  const std::uint8_t* const at = skin + top * size + left;
  const float t = column - static_cast<float>(left);
  const float above = mix(static_cast<float>(at[0]), static_cast<float>(at[1]), t);
  const float below = mix(static_cast<float>(at[size]), static_cast<float>(at[size + 1]), t);
  return mix(above, below, row - static_cast<float>(top)) / 255;
}

inline void draw_ball(picture& to, const area& within, const ball& of, const std::uint8_t* skin, int size,
                      const colour* palette) {
  const area part = common_part(within, of.bounds());
  for (int y = part.top; y < part.bottom; ++y) {
    std::uint8_t* pixel = to.at(part.left, y);
    for (int x = part.left; x < part.right; ++x, pixel += bytes_of_pixel) {
      const float dx = (static_cast<float>(x) + 0.5F - of.x) / of.radius;
      const float dy = (static_cast<float>(y) + 0.5F - of.y) / of.radius;
      const float square = dx * dx + dy * dy;
      const float cover = std::clamp((1 - std::sqrt(square)) * of.radius + 0.5F, 0.0F, 1.0F);
      if (cover <= 0) continue;
      const float dz = std::sqrt(std::max(0.0F, 1 - square));
      const float toward = dx * to_sun.x + dy * to_sun.y + dz * to_sun.z;
      const float light = 0.2F + 0.95F * std::max(0.0F, toward) + 0.1F * dz;
      const float mirrored = std::max(0.0F, 2 * toward * dz - to_sun.z);  // towards the eye, which is straight above
      const float squared = mirrored * mirrored * mirrored * mirrored;
      const float gloss = 170 * squared * squared * squared;
      blend(pixel, lit(colour_of(palette, grey_at(skin, size, dx, dy)), light, gloss), cover);
    }
  }
}

/// Draws what is written in a place of the sheet into the lower left corner of a tile.
inline void draw_label(picture& to, const area& tile, const std::uint8_t* sheet, const area& place) {
  const int scale = tile.height() >= 96 ? 2 : 1;
  const int margin = 3 * scale;
  const int left = tile.left + margin;
  const int top = tile.bottom - margin - letter_height * scale;
  const auto ink_at = [&](int x, int y) {
    if (x < 0 || y < 0 || x >= place.width() * scale || y >= place.height() * scale) return 0;
    return static_cast<int>(sheet[(place.top + y / scale) * sheet_width + place.left + x / scale]);
  };
  const area whole{left, top, left + place.width() * scale + scale, top + (letter_height + 1) * scale};
  const area part = common_part(whole, tile);
  for (int y = part.top; y < part.bottom; ++y) {
    for (int x = part.left; x < part.right; ++x) {
      if (ink_at(x - left, y - top) != 0) {
        blend(to.at(x, y), {255, 255, 255}, 0.85F);
      } else if (ink_at(x - left - scale, y - top - scale) != 0) {
        blend(to.at(x, y), {0, 0, 0}, 0.55F);
      }
    }
  }
}

}  // namespace parallel_record
