// SPDX-License-Identifier: BSL-1.0
// Whether a picture is right: each tile has the bytes that one thread has drawn straight on, and a tile of a list that
// was removed is plain. The sheet, which each list has changed in part, has what the lists have left there together.

#pragma once

#include "drawing.hpp"
#include "painting.hpp"
#include "scene.hpp"
#include "straight.hpp"
#include "textures.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace parallel_record {

inline std::string name_of_tile(const scene& of, std::size_t tile) {
  return text_of(label_of(of.column_of(tile), of.row_of(tile)));
}

/// \param straight  null: only that what is missing is plain is looked at
inline void compare_tile(const scene& of, std::size_t tile, const picture& found, const picture* straight,
                         bool is_missing) {
  const area where = of.area_of(tile);
  for (int y = where.top; y < where.bottom; ++y) {
    const auto row = found.row(where, y);
    const bool is_plain =
        is_missing && std::all_of(row.begin(), row.end(), [](std::uint8_t byte) { return byte == picture::plain; });
    const bool is_right =
        is_missing ? is_plain
                   : straight == nullptr || std::memcmp(row.data(), straight->row(where, y).data(), row.size()) == 0;
    if (!is_right) {
      throw std::runtime_error("tile " + name_of_tile(of, tile) + " is wrong in row " + std::to_string(y) +
                               " of the picture");
    }
  }
}

inline void compare_picture(const scene& of, const painting& made, const picture* straight) {
  for (std::size_t part = 0; part < of.parts(); ++part) {
    for (std::size_t tile = of.first_tile(part); tile < of.first_tile(part + 1); ++tile) {
      compare_tile(of, tile, made.result(), straight, made.is_missing(part));
    }
  }
}

inline void compare_sheet(const scene& of, painting& made) {
  std::vector<std::uint8_t> expected(sheet_bytes);
  fill_sheet(expected.data());
  for (std::size_t part = 0; part < of.parts(); ++part) {
    if (made.is_missing(part)) continue;
    for (std::size_t tile = of.first_tile(part); tile < of.first_tile(part + 1); ++tile) {
      put_label(expected.data(), label_place(tile), label_of(of.column_of(tile), of.row_of(tile)));
    }
  }
  if (std::memcmp(expected.data(), made.sheet(), sheet_bytes) != 0) {
    throw std::runtime_error("the sheet has not what the lists have written, one after the other");
  }
}

/// One recording was removed if that was asked for, and otherwise none.
inline void expect_removals(const options& chosen, const scene& of, const painting& made) {
  std::size_t missing = 0;
  for (std::size_t part = 0; part < of.parts(); ++part) missing += made.is_missing(part) ? 1U : 0U;
  const std::size_t told = made.counted().removals;
  const list_memory& failing = made.memory_of(0);
  if (chosen.fail_after && !failing.failed_at) {
    throw std::runtime_error("the memory of context 1 did not fail: it has " + std::to_string(failing.records) +
                             " records, and no list has grown after " + std::to_string(*chosen.fail_after));
  }
  const std::size_t expected = chosen.fail_after ? 1 : 0;
  if (missing == expected && told == expected) return;
  throw std::runtime_error(std::to_string(missing) + " lists are missing, and contexts have told of " +
                           std::to_string(told) + " removals; it should be " + std::to_string(expected));
}

}  // namespace parallel_record
