// SPDX-License-Identifier: BSL-1.0
// The command line of uring_copy.

#pragma once

#include "../support/command_line.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace uring_copy {

using support::usage_error;

inline constexpr std::size_t max_buffers = 256;  // each may have a file open for reading and one for writing
inline constexpr std::size_t max_block_size = 64 * support::mebibyte;
inline constexpr std::size_t max_memory = 1024 * support::mebibyte;

struct options {
  std::string source;
  std::string copy;
  std::size_t buffers = 32;
  std::size_t block_size = 64 * support::kibibyte;
  bool verify = false;
  std::vector<std::string> traces;
  bool help = false;
};

inline constexpr const char* help_text =
    "usage: uring_copy [OPTION]... SOURCE COPY\n"
    "\n"
    "Copies the folder SOURCE, with all files, folders and links in it, to COPY, which must not exist. Reads and "
    "writes\n"
    "are given to the kernel (io_uring), many at a time; two fences tell how far both are, and order them.\n"
    "Modes are kept; owners, times and other attributes are not. Until it is complete the copy is called\n"
    "COPY.incomplete; it is removed after an error, and left if the program is interrupted.\n"
    "\n"
    "  --buffers N   how many staging buffers there are, at most 256 (default 32)\n"
    "  --block SIZE  bytes in a staging buffer, also as 64K or 1M, at most 64M (default 64K)\n"
    "  --verify      read source and copy again and compare every byte\n"
    "  --trace FILE  write what the two engines waited for and signalled, and when: FILE.html is a page for any "
    "browser,\n"
    "                FILE.json has Chrome trace events, for Perfetto; may be given twice\n"
    "  --help        this text\n"
    "\n"
    "Exit status: 0 if the copy is complete, 1 if not, 2 if the command line is wrong, 77 if the kernel refuses "
    "io_uring.\n";

inline void apply_option(options& result, std::string_view name, std::string_view value) {
  if (name == "--buffers") {
    result.buffers = support::parse_number(name, value, 1, max_buffers);
  } else if (name == "--block") {
    result.block_size = support::parse_number(name, value, 1, max_block_size, true);
  } else {
    support::add_trace_path(result.traces, value);
  }
}

/// `--name value`, `--name=value` and two paths, `--` before them if one begins with a dash.
inline options parse_options(const std::vector<std::string_view>& arguments) {
  options result;
  std::vector<std::string_view> paths;
  bool only_paths = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    if (only_paths || !argument.starts_with('-')) {
      paths.push_back(argument);
    } else if (argument == "--") {
      only_paths = true;
    } else if (argument == "--help") {
      result.help = true;
      return result;
    } else if (argument == "--verify") {
      result.verify = true;
    } else if (name != "--buffers" && name != "--block" && name != "--trace") {
      throw usage_error("unknown option '" + std::string(argument) + "'");
    } else if (equals != std::string_view::npos) {
      apply_option(result, name, argument.substr(equals + 1));
    } else {
      if (++i == arguments.size()) throw usage_error(std::string(name) + ": the value is missing");
      apply_option(result, name, arguments[i]);
    }
  }
  if (paths.size() != 2) throw usage_error("two paths are needed, the source and the copy");
  if (paths[0].empty() || paths[1].empty()) throw usage_error("a path is empty");
  result.source = paths[0];
  result.copy = paths[1];
  if (result.buffers > max_memory / result.block_size) {
    throw usage_error(std::to_string(result.buffers) + " buffers of " + std::to_string(result.block_size) +
                      " bytes are larger than 1 GiB");
  }
  return result;
}

}  // namespace uring_copy
