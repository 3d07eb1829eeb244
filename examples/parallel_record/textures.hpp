// SPDX-License-Identifier: BSL-1.0
// What is in the textures, and how they are filled. Each is a piece of memory, wherever it comes from:
//
//   heights   the ground of a tile and of one pixel around it, a float each; filled for each tile
//   skins     cells of grey, one for each ball; filled when a ball comes that has no cell
//   palette   rows of colours: the ground's, and some for balls; filled once
//   sheet     letters and digits, which are filled once, and places for labels; each tile has its label put together
//             there

#pragma once

#include "letters.hpp"
#include "scene.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace parallel_record {

// ---- heights ----

/// How many there are in a row.
inline int heights_across(const scene& of) { return of.tile_size() + 2; }
inline std::size_t heights_bytes(const scene& of) {
  const auto across = static_cast<std::size_t>(heights_across(of));
  return across * across * sizeof(float);
}

/// From about -1 to 1; what is below 0 is water.
inline float height_at(float x, float y) {
  const point at{x * 4.2F + 2.6F, y * 4.2F + 7.9F};
  const float bent_x = cloud({at.x * 0.9F, at.y * 0.9F, 0}, 3);
  const float bent_y = cloud({at.x * 0.9F + 31.7F, at.y * 0.9F + 5.1F, 0}, 3);
  const point bent{at.x + bent_x * 0.9F, at.y + bent_y * 0.9F};
  const float land = cloud({bent.x * 0.7F, bent.y * 0.7F, 0}, 8) * 1.25F + 0.06F;
  const float mountains = ridges({bent.x * 1.2F, bent.y * 1.2F, 0}, 6);
  return land + std::max(0.0F, land) * mountains * 1.6F;
}

inline void fill_heights(const scene& of, const area& tile, float* to) {
  const int across = heights_across(of);
  for (int y = -1; y <= tile.height(); ++y) {
    for (int x = -1; x <= tile.width(); ++x) {
      to[(y + 1) * across + x + 1] =
          height_at(static_cast<float>(tile.left + x) / of.unit(), static_cast<float>(tile.top + y) / of.unit());
    }
  }
}

// ---- skins ----

inline constexpr std::size_t skin_cells = 8;

/// How many texels are in a row and in a column of a skin: fewer than the largest ball has pixels.
inline int skin_size(const scene& of) { return std::clamp(static_cast<int>(of.unit()) / 16, 16, 128); }
inline std::size_t skin_bytes(const scene& of) {
  const auto size = static_cast<std::size_t>(skin_size(of));
  return size * size;
}

/// The side of a ball that is seen, from one edge to the other.
inline void fill_skin(const ball& of, int size, std::uint8_t* to) {
  const auto seed = static_cast<float>(of.number) * 5.3F;
  const bool has_stripes = of.number % 3 != 0;
  for (int row = 0; row < size; ++row) {
    for (int column = 0; column < size; ++column) {
      const float x = (static_cast<float>(column) + 0.5F) * 2 / static_cast<float>(size) - 1;
      const float y = (static_cast<float>(row) + 0.5F) * 2 / static_cast<float>(size) - 1;
      const float z = std::sqrt(std::max(0.0F, 1 - x * x - y * y));
      const point turned{x * 0.8F + y * 0.6F, y * 0.8F - x * 0.6F, z};  // so that stripes are not level
      const float curl = cloud({turned.x * 2.1F + seed, turned.y * 2.1F, turned.z * 2.1F}, 5);
      const float band = turned.y * 5 + curl * 2.2F;
      const float stripe = std::fabs(band - 2 * std::floor(band * 0.5F + 0.5F));  // up and down between 0 and 1
      const float grey = has_stripes ? smooth(stripe) * 0.8F + curl * 0.4F + 0.1F : curl * 1.3F + 0.5F;
      to[row * size + column] = static_cast<std::uint8_t>(std::clamp(grey, 0.0F, 1.0F) * 255);
    }
  }
}

// ---- palette ----

struct colour {
  float red;
  float green;
  float blue;
};
inline colour mix(const colour& from, const colour& to, float t) {
  return {mix(from.red, to.red, t), mix(from.green, to.green, t), mix(from.blue, to.blue, t)};
}

inline constexpr int palette_size = 256;  // colours in a row
inline constexpr std::size_t ball_palettes = 6;
inline constexpr std::size_t palette_row_bytes = palette_size * sizeof(colour);
inline constexpr std::size_t palette_bytes = palette_row_bytes * (1 + ball_palettes);

struct palette_stop {
  float at;
  colour is;
};
inline constexpr std::array ground_stops{
    palette_stop{0, {8, 22, 58}},          palette_stop{0.38F, {18, 62, 112}},    palette_stop{0.47F, {40, 118, 150}},
    palette_stop{0.498F, {120, 190, 186}}, palette_stop{0.505F, {222, 208, 160}}, palette_stop{0.53F, {134, 160, 82}},
    palette_stop{0.62F, {60, 112, 56}},    palette_stop{0.72F, {88, 96, 62}},     palette_stop{0.82F, {128, 112, 96}},
    palette_stop{0.9F, {176, 170, 166}},   palette_stop{0.95F, {244, 246, 250}},  palette_stop{1, {255, 255, 255}}};
inline constexpr std::array<std::array<palette_stop, 3>, ball_palettes> ball_stops{
    {{{{0, {120, 20, 30}}, {0.5F, {214, 66, 44}}, {1, {250, 214, 150}}}},
     {{{0, {16, 40, 110}}, {0.5F, {48, 120, 200}}, {1, {226, 240, 250}}}},
     {{{0, {92, 52, 18}}, {0.5F, {222, 150, 52}}, {1, {252, 236, 180}}}},
     {{{0, {20, 84, 66}}, {0.5F, {70, 168, 110}}, {1, {232, 246, 196}}}},
     {{{0, {64, 28, 96}}, {0.5F, {160, 88, 178}}, {1, {246, 206, 232}}}},
     {{{0, {46, 46, 54}}, {0.5F, {142, 142, 150}}, {1, {246, 244, 238}}}}}};

inline void fill_palette_row(std::span<const palette_stop> stops, colour* to) {
  std::size_t next = 1;
  for (int i = 0; i < palette_size; ++i) {
    const float at = static_cast<float>(i) / (palette_size - 1);
    while (next + 1 < stops.size() && stops[next].at < at) ++next;
    const palette_stop& from = stops[next - 1];
    to[i] = mix(from.is, stops[next].is, (at - from.at) / (stops[next].at - from.at));
  }
}
inline void fill_palette(colour* to) {
  fill_palette_row(ground_stops, to);
  for (std::size_t i = 0; i < ball_palettes; ++i) fill_palette_row(ball_stops[i], to + (i + 1) * palette_size);
}

// ---- sheet ----

inline constexpr int sheet_width = 128;
inline constexpr int letters_across = sheet_width / letter_width;
inline constexpr int letter_rows = (static_cast<int>(letter_count) + letters_across - 1) / letters_across;
inline constexpr int label_length = 5;  // two letters and three digits
inline constexpr int label_width = label_length * letter_width;
inline constexpr int labels_across = sheet_width / label_width;
inline constexpr int label_rows = 13;
inline constexpr std::size_t label_places = std::size_t{labels_across} * label_rows;
inline constexpr int sheet_height = (letter_rows + label_rows) * letter_height;
inline constexpr std::size_t sheet_bytes = std::size_t{sheet_width} * sheet_height;

inline void fill_sheet(std::uint8_t* to) {
  std::memset(to, 0, sheet_bytes);
  for (int letter = 0; letter < static_cast<int>(letter_count); ++letter) {
    const int left = letter % letters_across * letter_width;
    const int top = letter / letters_across * letter_height;
    for (int y = 0; y < letter_height; ++y) {
      for (int x = 0; x < letter_width; ++x) {
        to[(top + y) * sheet_width + left + x] = is_inked(static_cast<std::size_t>(letter), x, y) ? 255 : 0;
      }
    }
  }
}

/// Where the label of a tile is put together. Tiles far apart have the same place.
inline area label_place(std::size_t tile) {
  const int place = static_cast<int>(tile % label_places);
  const int left = place % labels_across * label_width;
  const int top = (letter_rows + place / labels_across) * letter_height;
  return {left, top, left + label_width, top + letter_height};
}

/// Copies the letters of a label to its place, and clears the rest of the place.
inline void put_label(std::uint8_t* sheet, const area& place, const label& text) {
  for (int y = 0; y < letter_height; ++y) {
    std::uint8_t* const to = sheet + (place.top + y) * sheet_width + place.left;
    std::memset(to, 0, label_width);
    for (int i = 0; i < static_cast<int>(text.length); ++i) {
      const int letter = text.letters[static_cast<std::size_t>(i)];
      const int from =
          (letter / letters_across * letter_height + y) * sheet_width + letter % letters_across * letter_width;
      std::memcpy(to + i * letter_width, sheet + from, letter_width);
    }
  }
}

}  // namespace parallel_record
