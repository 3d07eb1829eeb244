// SPDX-License-Identifier: BSL-1.0
// The command line of out_of_core.

#pragma once

#include "../support/command_line.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace out_of_core {

using support::usage_error;

struct options {
  std::string folder = TIDEMARK_DEMO_FOLDER;
  std::size_t budget = 1 * support::mebibyte;
  std::size_t region = 256 * support::kibibyte;
  std::size_t files = 64;
  bool rebind = false;
  bool help = false;
};

inline constexpr const char* help_text =
    "usage: out_of_core [FOLDER] [OPTION]...\n"
    "\n"
    "Finds which files of a folder have text in common, by comparing every file with every other one. The files are\n"
    "mapped piece by piece into an address space of the size of the budget, which is less than all of them need. A\n"
    "splitter cuts the work where the next piece does not fit. Then everything is mapped at once, and the two results\n"
    "are compared.\n"
    "\n"
    "  FOLDER          the folder (default: that of the compiler's headers)\n"
    "  --budget BYTES  how much may be mapped at one time, also as 512K or 4M (default 1M)\n"
    "  --region BYTES  the size of the pieces of larger files, rounded up to whole pages (default 256K)\n"
    "  --files N       compare the N largest files, 2 to 1000 (default 64)\n"
    "  --rebind        bind slot 0 again at every step, so that its piece may move at a cut; smaller budgets are\n"
    "                  enough then, but the samples of a piece that has moved are taken again\n"
    "  --help          this text\n"
    "\n"
    "Exit status: 0 if both results are the same, 1 if not, or if the work can't be done within the budget, 2 if the\n"
    "command line is wrong.\n";

inline void apply_option(options& result, std::string_view name, std::string_view value) {
  constexpr std::size_t most_bytes = std::size_t{1024} * support::mebibyte;
  if (name == "--budget") {
    result.budget = support::parse_number(name, value, 1, most_bytes, true);
  } else if (name == "--region") {
    result.region = support::parse_number(name, value, 1, most_bytes, true);
  } else if (name == "--files") {
    result.files = support::parse_number(name, value, 2, 1000);
  } else {
    throw usage_error("unknown option '" + std::string(name) + "'");
  }
}

/// Understands a folder, and options as `--name value` or `--name=value`.
inline options parse_options(const std::vector<std::string_view>& arguments) {
  options result;
  bool has_folder = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::size_t equals = argument.find('=');
    if (argument == "--help") {
      result.help = true;
      return result;
    }
    if (argument == "--rebind") {
      result.rebind = true;
      continue;
    }
    if (!argument.starts_with("--")) {
      if (has_folder) throw usage_error("more than one folder");
      result.folder = argument;
      has_folder = true;
    } else if (equals != std::string_view::npos) {
      apply_option(result, argument.substr(0, equals), argument.substr(equals + 1));
    } else {
      if (++i == arguments.size()) throw usage_error(std::string(argument) + ": the value is missing");
      apply_option(result, argument, arguments[i]);
    }
  }
  return result;
}

}  // namespace out_of_core
