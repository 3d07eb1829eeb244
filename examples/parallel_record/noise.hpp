// SPDX-License-Identifier: BSL-1.0
// Noise that looks like nature: gradient noise on a grid, and sums of it. It has the same bits wherever it is computed,
// as long as the compiler does not join multiplications and additions.

#pragma once

#include <cmath>
#include <cstdint>

namespace parallel_record {

struct point {
  float x;
  float y;
  float z = 0;
};

constexpr std::uint32_t hash_of(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  std::uint32_t mixed = x * 0x9E37'79B1U ^ y * 0x85EB'CA77U ^ z * 0xC2B2'AE3DU;
  mixed ^= mixed >> 15;
  mixed *= 0x2C1B'3C6DU;
  mixed ^= mixed >> 12;
  mixed *= 0x297A'2D39U;
  return mixed ^ mixed >> 15;
}
/// From 0 up to 1.
constexpr float random_of(std::uint32_t number, std::uint32_t which) {
  return static_cast<float>(hash_of(number, which, 7) >> 8) / static_cast<float>(1U << 24);
}

inline float smooth(float t) { return t * t * t * (t * (t * 6 - 15) + 10); }
inline float mix(float from, float to, float t) { return from + (to - from) * t; }

/// The slope that a corner of the grid has, along the way to a point.
inline float slope_at(std::int32_t x, std::int32_t y, std::int32_t z, const point& way) {
  const std::uint32_t hash =
      hash_of(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(z));
  const float one = (hash & 8) != 0 ? way.y : way.x;
  const float other = (hash & 4) != 0 ? way.z : (hash & 8) != 0 ? way.x : way.y;
  return ((hash & 1) != 0 ? -one : one) + ((hash & 2) != 0 ? -other : other) * 0.75F;
}

/// In the plane of the grid with this z, from about -1 to 1.
/// \param way_z  from the plane to the point
inline float noise_in_plane(const point& at, std::int32_t z, float way_z) {
  const float x0 = std::floor(at.x);
  const float y0 = std::floor(at.y);
  const auto x = static_cast<std::int32_t>(x0);
  const auto y = static_cast<std::int32_t>(y0);
  const point way{at.x - x0, at.y - y0, way_z};
  const float u = smooth(way.x);
  const float above = mix(slope_at(x, y, z, way), slope_at(x + 1, y, z, {way.x - 1, way.y, way_z}), u);
  const float below = mix(slope_at(x, y + 1, z, {way.x, way.y - 1, way_z}),
                          slope_at(x + 1, y + 1, z, {way.x - 1, way.y - 1, way_z}), u);
  return mix(above, below, smooth(way.y));
}
/// From about -1 to 1. Where z is a whole number, half of the work is enough.
inline float noise(const point& at) {
  const float z0 = std::floor(at.z);
  const auto z = static_cast<std::int32_t>(z0);
  const float near = noise_in_plane(at, z, at.z - z0);
  if (at.z == z0) return near;
  return mix(near, noise_in_plane(at, z + 1, at.z - z0 - 1), smooth(at.z - z0));
}

/// A sum of noise, each time twice as fine and half as high.
inline float cloud(point at, int octaves) {
  float sum = 0;
  float height = 0.5F;
  for (int i = 0; i < octaves; ++i) {
    sum += height * noise(at);
    at = {at.x * 2.03F + 17.1F, at.y * 2.03F - 9.3F, at.z * 2.03F};
    height *= 0.5F;
  }
  return sum;
}

/// The same with crests, as mountains have them: from 0 to 1.
inline float ridges(point at, int octaves) {
  float sum = 0;
  float height = 0.5F;
  float below = 1;
  for (int i = 0; i < octaves; ++i) {
    const float crest = 1 - std::fabs(noise(at));
    const float sharp = crest * crest * below;
    sum += height * sharp;
    below = sharp;
    at = {at.x * 2.07F - 5.2F, at.y * 2.07F + 11.9F, at.z};
    height *= 0.5F;
  }
  return sum;
}

}  // namespace parallel_record
