// SPDX-License-Identifier: BSL-1.0
// A picture as a PNG file, through libpng.

#pragma once

#include "../support/files.hpp"
#include "drawing.hpp"

#include <png.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace parallel_record {

/// What libpng is told of a picture, and what it says if something is wrong.
class png_description {
 public:
  explicit png_description(const picture& of) : png_description() {
    image_.width = static_cast<png_uint_32>(of.width());
    image_.height = static_cast<png_uint_32>(of.height());
    image_.format = PNG_FORMAT_RGB;
  }
  png_description() { image_.version = PNG_IMAGE_VERSION; }
  png_description(const png_description&) = delete;
  png_description& operator=(const png_description&) = delete;
  ~png_description() { ::png_image_free(&image_); }

  [[nodiscard]] png_image* image() { return &image_; }
  [[noreturn]] void fail(const char* action) const {
    throw std::runtime_error(std::string("libpng can't ") + action + " the picture: " + image_.message);
  }

 private:
  png_image image_{};
};

/// Returns the size of the file.
inline std::size_t write_png(const picture& drawn, support::open_file& to) {
  png_description png(drawn);
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(*png.image());
  std::vector<std::byte> packed(bytes);
  if (::png_image_write_to_memory(png.image(), packed.data(), &bytes, 0, drawn.bytes().data(), 0, nullptr) == 0) {
    png.fail("pack");
  }
  to.write(std::span(packed).first(bytes));
  return bytes;
}

/// Returns the pixels of a file with this picture, and with `bytes` the size of the file.
inline std::vector<std::uint8_t> read_png(support::open_file& from, const picture& drawn, std::size_t bytes) {
  std::vector<std::byte> packed(bytes);
  from.rewind();
  png_description png;
  if (from.read(packed) != bytes ||
      ::png_image_begin_read_from_memory(png.image(), packed.data(), packed.size()) == 0) {
    png.fail("read");
  }
  png.image()->format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(*png.image()));
  if (pixels.size() != drawn.bytes().size() ||
      ::png_image_finish_read(png.image(), nullptr, pixels.data(), 0, nullptr) == 0) {
    png.fail("read");
  }
  return pixels;
}

}  // namespace parallel_record
