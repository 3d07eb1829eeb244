// SPDX-License-Identifier: BSL-1.0
// Whether an archive is right: it has the same bytes as one that a single thread packs straight on, and unpacked it is
// the folder.

#pragma once

#include "archive.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

namespace command_processor {

class verification {
 public:
  /// \param archive  as written, to be read again
  verification(const file_tree& tree, std::size_t block_size, support::open_file& archive)
      : tree_(tree),
        block_size_(block_size),
        archive_(archive),
        content_(block_size),
        found_(most_packed_bytes(block_size)) {}

  /// Packs the folder as one thread does it, and compares. Returns the size of the archive.
  std::uint64_t pack_straight_on() {
    std::uint64_t archive_size = 0;
    std::vector<std::byte> packed(most_packed_bytes(block_size_));
    archive_.rewind();
    for_each_block([&](const file_tree::file& file, const block& which) {
      const std::size_t size = pack_block(file, which, std::span(content_).first(which.size), packed);
      const std::span<const std::byte> found = next_bytes(size);
      if (!std::equal(found.begin(), found.end(), packed.begin())) fail("differs from the straight run", file);
      archive_size += size;
    });
    expect_end();
    return archive_size;
  }

  /// Unpacks the archive, and compares what is in it with the folder.
  void unpack() {
    std::vector<std::byte> unpacked(block_size_);
    archive_.rewind();
    for_each_block([&](const file_tree::file& file, const block& which) {
      if (which.is_first) expect_file(file);
      const std::span<const std::byte> record = next_bytes(block_record_bytes);
      const std::uint64_t size = get_number(record.data(), 4);
      const std::uint64_t packed_size = get_number(record.data() + 4, 4);
      const std::uint64_t checksum = get_number(record.data() + 8, 4);
      if (size != which.size || packed_size > found_.size()) fail("has a block of the wrong size", file);
      const std::span<const std::byte> packed = next_bytes(packed_size);
      uLongf unpacked_size = block_size_;
      const int result = ::uncompress(as_zlib(unpacked.data()), &unpacked_size, as_zlib(packed.data()), packed.size());
      const auto whole = std::span<const std::byte>(unpacked).first(which.size);
      if (result != Z_OK || unpacked_size != which.size || checksum_of(whole) != checksum ||
          !std::equal(whole.begin(), whole.end(), content_.begin())) {
        fail("unpacks to something else", file);
      }
    });
    expect_end();
  }

 private:
  /// Calls `use(file, block)` with each block of the folder, whose content was read before.
  template <class Use>
  void for_each_block(const Use& use) {
    std::optional<support::open_file> input;
    uring_copy::block_cursor blocks(tree_, block_size_);
    while (const std::optional<block> next = blocks.next()) {
      const file_tree::file& file = tree_.files[next->file];
      if (next->is_first) {
        input.reset();
        input.emplace(support::open_input((tree_.root / file.path).string()));
      }
      if (input->read(std::span(content_).first(next->size)) != next->size) fail("is longer than the file", file);
      use(file, *next);
    }
  }

  void expect_file(const file_tree::file& file) {
    const std::span<const std::byte> record = next_bytes(file_record_bytes);
    const std::uint64_t size = get_number(record.data(), 8);
    const std::uint64_t path_size = get_number(record.data() + 8, 4);
    const auto path = std::as_bytes(std::span(file.path.native()));
    if (size != file.size || path_size != path.size()) fail("has another size or name", file);
    const std::span<const std::byte> found = next_bytes(path.size());
    if (!std::equal(path.begin(), path.end(), found.begin())) fail("has another name", file);
  }

  /// Valid until the next call.
  std::span<const std::byte> next_bytes(std::uint64_t size) {
    const std::span<std::byte> found = std::span(found_).first(static_cast<std::size_t>(size));
    if (archive_.read(found) != size) throw std::runtime_error("the archive is too short");
    return found;
  }
  void expect_end() {
    if (archive_.read(std::span(found_).first(1)) != 0) throw std::runtime_error("the archive is too long");
  }
  [[noreturn]] static void fail(const char* what, const file_tree::file& file) {
    throw std::runtime_error("the archive of '" + file.path.string() + "' " + what +
                             " (has it been changed meanwhile?)");
  }

  const file_tree& tree_;
  const std::size_t block_size_;
  support::open_file& archive_;
  std::vector<std::byte> content_;
  std::vector<std::byte> found_;
};

}  // namespace command_processor
