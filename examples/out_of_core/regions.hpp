// SPDX-License-Identifier: BSL-1.0
// Pieces of files, and a range of addresses into which they are mapped. An access to
// an address that is not mapped ends the program.

#pragma once

#include "../support/files.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace out_of_core {

inline std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
inline std::size_t whole_pages(std::size_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

struct region {
  std::string path;
  std::size_t file = 0;  // the number of the file
  std::uint64_t offset = 0;
  std::size_t bytes = 0;
};

/// Returns the largest files below a folder, in pieces. They are sorted by name, so that a run can be repeated.
inline std::vector<region> regions_of(const std::string& folder, std::size_t most_files, std::size_t piece) {
  std::vector<std::pair<std::uintmax_t, std::string>> files;
  for (const auto& found : std::filesystem::recursive_directory_iterator{folder}) {
    if (found.is_regular_file() && !found.is_symlink() && found.file_size() > 0) {
      files.emplace_back(found.file_size(), found.path().string());
    }
  }
  std::sort(files.begin(), files.end(), [](const auto& one, const auto& other) {
    return one.first != other.first ? one.first > other.first : one.second < other.second;
  });
  files.resize(std::min(files.size(), most_files));
  std::sort(files.begin(), files.end(), [](const auto& one, const auto& other) { return one.second < other.second; });
  std::vector<region> regions;
  for (std::size_t file = 0; file < files.size(); ++file) {
    for (std::uint64_t offset = 0; offset < files[file].first; offset += whole_pages(piece)) {
      const std::uint64_t left = files[file].first - offset;
      regions.push_back({files[file].second, file, offset,
                         static_cast<std::size_t>(std::min<std::uint64_t>(left, whole_pages(piece)))});
    }
  }
  return regions;
}

class window {
 public:
  explicit window(std::size_t bytes) : bytes_{whole_pages(bytes)}, begin_{reserve(nullptr, bytes_)} {}
  window(const window&) = delete;
  window& operator=(const window&) = delete;
  ~window() { ::munmap(begin_, bytes_); }

  void map(const region& what, std::uint64_t address) {
    const support::open_file file = support::open_input(what.path);
    void* const made = ::mmap(begin_ + address, what.bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE,
                              file.descriptor(), static_cast<off_t>(what.offset));
    if (made == MAP_FAILED) support::fail("map", what.path);
  }
  void unmap(std::size_t bytes, std::uint64_t address) { reserve(begin_ + address, whole_pages(bytes)); }

  std::span<const std::byte> at(const region& what, std::uint64_t address) const {
    return {begin_ + address, what.bytes};
  }

 private:
  static std::byte* reserve(std::byte* where, std::size_t bytes) {
    const int fixed = where == nullptr ? 0 : MAP_FIXED;
    void* const made = ::mmap(where, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
    if (made == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "cannot reserve addresses");
    return static_cast<std::byte*>(made);
  }

  std::size_t bytes_;
  std::byte* begin_;
};

}  // namespace out_of_core
