// SPDX-License-Identifier: BSL-1.0
// What is to be copied: all that is below a folder, and its files cut into blocks.

#pragma once

#include "../support/files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace uring_copy {

namespace fs = std::filesystem;

/// Paths are relative to the root.
struct file_tree {
  struct folder {
    fs::path path;
    fs::perms mode;
  };
  struct file {
    fs::path path;
    std::uint64_t size;
    mode_t mode;
  };

  fs::path root;
  fs::perms root_mode{};
  std::vector<folder> folders;  // each after the one that it is in
  std::vector<file> files;
  std::vector<fs::path> links;
  std::uint64_t bytes = 0;
};

inline file_tree examine(const fs::path& root) {
  file_tree tree;
  tree.root = root;
  if (!fs::exists(root)) support::fail("read", root.string(), ENOENT);
  if (!fs::is_directory(root)) support::fail("read", root.string(), ENOTDIR);
  tree.root_mode = fs::status(root).permissions();
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const fs::path path = entry.path().lexically_relative(root);
    const fs::file_status status = entry.symlink_status();
    if (fs::is_symlink(status)) {
      tree.links.push_back(path);
    } else if (fs::is_directory(status)) {
      tree.folders.push_back({path, status.permissions()});
    } else if (fs::is_regular_file(status)) {
      tree.files.push_back({path, entry.file_size(), static_cast<mode_t>(status.permissions()) & 0777});
      tree.bytes += tree.files.back().size;
    } else {
      throw std::runtime_error("cannot copy '" + entry.path().string() + "': neither a file, a folder nor a link");
    }
  }
  const auto by_path = [](const auto& one, const auto& other) { return one.path < other.path; };
  std::sort(tree.folders.begin(), tree.folders.end(), by_path);
  std::sort(tree.files.begin(), tree.files.end(), by_path);
  return tree;
}

/// A part of a file that fits into a buffer. An empty file has one block, with nothing in it.
struct block {
  std::size_t file;  // its index in the tree
  std::uint64_t offset;
  std::size_t size;
  bool is_first;
  bool is_last;
};

/// Goes through the blocks of all files, in order.
class block_cursor {
 public:
  block_cursor(const file_tree& tree, std::size_t block_size) : tree_(tree), block_size_(block_size) {}

  [[nodiscard]] std::optional<block> next() {
    if (file_ == tree_.files.size()) return std::nullopt;
    const std::uint64_t rest = tree_.files[file_].size - offset_;
    const bool is_last = rest <= block_size_;
    const block found{file_, offset_, is_last ? static_cast<std::size_t>(rest) : block_size_, offset_ == 0, is_last};
    offset_ = is_last ? 0 : offset_ + block_size_;
    file_ += is_last ? 1 : 0;
    return found;
  }

 private:
  const file_tree& tree_;
  std::size_t block_size_;
  std::size_t file_ = 0;
  std::uint64_t offset_ = 0;
};

/// The new folder. It gets its name when it is complete; if that is never reached, it is removed.
class new_tree {
 public:
  explicit new_tree(const std::string& name) : final_(fs::path(name).lexically_normal()) {
    if (!final_.has_filename()) final_ = final_.parent_path();
    if (fs::exists(fs::symlink_status(final_))) support::fail("create", name, EEXIST);
    incomplete_ = final_.string() + ".incomplete";
    if (::mkdir(incomplete_.c_str(), 0700) != 0) support::fail("create", incomplete_.string());
  }
  new_tree(const new_tree&) = delete;
  new_tree& operator=(const new_tree&) = delete;
  ~new_tree() {
    std::error_code ignored;
    if (!is_complete_) fs::remove_all(incomplete_, ignored);
  }

  [[nodiscard]] const fs::path& path() const { return incomplete_; }

  void make_folders(const file_tree& source) {
    for (const auto& folder : source.folders) fs::create_directory(incomplete_ / folder.path);
  }

  /// After the files: a folder's mode may forbid to write into it.
  void make_links_and_set_modes(const file_tree& source) {
    for (const fs::path& link : source.links) fs::copy_symlink(source.root / link, incomplete_ / link);
    for (auto folder = source.folders.rbegin(); folder != source.folders.rend(); ++folder) {
      fs::permissions(incomplete_ / folder->path, folder->mode);
    }
  }

  void publish(const file_tree& source) {
    fs::permissions(incomplete_, source.root_mode);
    if (::rename(incomplete_.c_str(), final_.c_str()) != 0) support::fail("create", final_.string());
    is_complete_ = true;
  }

 private:
  fs::path final_;
  fs::path incomplete_;
  bool is_complete_ = false;
};

/// Reads source and copy again; throws where they differ.
inline void compare(const file_tree& source, const fs::path& copy) {
  const auto differ = [&](const fs::path& path) {
    throw std::runtime_error("the copy of '" + (source.root / path).string() +
                             "' differs from it (has it been changed " + "meanwhile?)");
  };
  std::vector<std::byte> expected(256 * 1024);
  std::vector<std::byte> found(expected.size());
  for (const auto& file : source.files) {
    auto original = support::open_input((source.root / file.path).string());
    auto duplicate = support::open_input((copy / file.path).string());
    for (std::size_t size = expected.size(); size == expected.size();) {
      size = original.read(expected);
      const auto end = expected.begin() + static_cast<std::ptrdiff_t>(size);
      if (duplicate.read(found) != size || !std::equal(expected.begin(), end, found.begin())) differ(file.path);
    }
  }
  for (const fs::path& link : source.links) {
    if (fs::read_symlink(source.root / link) != fs::read_symlink(copy / link)) differ(link);
  }
  const file_tree again = examine(copy);  // nothing is missing and nothing is there that should not be
  if (again.files.size() != source.files.size() || again.folders.size() != source.folders.size() ||
      again.links.size() != source.links.size()) {
    differ("");
  }
}

}  // namespace uring_copy
