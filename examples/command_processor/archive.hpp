// SPDX-License-Identifier: BSL-1.0
// The archive: the files of a folder one after the other, in blocks that are compressed one by one.
//
//   file     8 bytes its size, 4 bytes the length of its path, the path
//   block    4 bytes its size, 4 bytes its packed size, 4 bytes its CRC-32, the packed bytes (zlib)
//
// A file is followed by its blocks; one without content has one empty block. Numbers are little-endian.

#pragma once

#include "../support/files.hpp"
#include "../uring_copy/file_tree.hpp"

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>

namespace command_processor {

using uring_copy::block;
using uring_copy::file_tree;

inline constexpr std::size_t most_path_bytes = 4096;
inline constexpr std::size_t file_record_bytes = 12;
inline constexpr std::size_t block_record_bytes = 12;

/// Returns how many bytes a block takes in the archive at most, with the record of its file.
inline std::size_t most_packed_bytes(std::size_t block_size) {
  return file_record_bytes + most_path_bytes + block_record_bytes + ::compressBound(block_size);
}

inline const Bytef* as_zlib(const std::byte* bytes) { return reinterpret_cast<const Bytef*>(bytes); }
inline Bytef* as_zlib(std::byte* bytes) { return reinterpret_cast<Bytef*>(bytes); }

inline std::uint32_t checksum_of(std::span<const std::byte> content) {
  return static_cast<std::uint32_t>(::crc32_z(::crc32_z(0, nullptr, 0), as_zlib(content.data()), content.size()));
}

inline void put_number(std::byte* to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}
inline std::uint64_t get_number(const std::byte* from, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return value;
}

/// Packs a block, behind the record of its file if it is the first one. Returns how many bytes that takes.
/// \param to  has room for most_packed_bytes()
inline std::size_t pack_block(const file_tree::file& of, const block& which, std::span<const std::byte> content,
                              std::span<std::byte> to) {
  std::byte* at = to.data();
  if (which.is_first) {
    const std::string& path = of.path.native();
    put_number(at, of.size, 8);
    put_number(at + 8, path.size(), 4);
    std::memcpy(at + file_record_bytes, path.data(), path.size());
    at += file_record_bytes + path.size();
  }
  std::byte* const packed = at + block_record_bytes;
  uLongf size = static_cast<uLongf>(to.data() + to.size() - packed);
  if (::compress2(as_zlib(packed), &size, as_zlib(content.data()), content.size(), Z_DEFAULT_COMPRESSION) != Z_OK) {
    throw std::runtime_error("zlib can't compress a block of '" + of.path.string() + "': not enough memory");
  }
  put_number(at, content.size(), 4);
  put_number(at + 4, size, 4);
  put_number(at + 8, checksum_of(content), 4);
  return static_cast<std::size_t>(packed + size - to.data());
}

/// Returns the folder's files, of which each fits into an archive.
inline file_tree examine_folder(const std::string& folder) {
  file_tree tree = uring_copy::examine(folder);
  if (tree.files.empty()) throw std::runtime_error("no files in '" + folder + "'");
  for (const file_tree::file& each : tree.files) {
    if (each.path.native().size() > most_path_bytes) support::fail("pack", each.path.string(), ENAMETOOLONG);
  }
  return tree;
}

}  // namespace command_processor
