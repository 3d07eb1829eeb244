// SPDX-License-Identifier: BSL-1.0
// The command line of parallel_record.

#pragma once

#include "../support/command_line.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace parallel_record {

using support::usage_error;

inline constexpr std::size_t most_threads = 64;

struct options {
  std::optional<std::string> out;
  std::size_t width = 2048;
  std::size_t height = 2048;
  std::size_t tile_size = 128;
  std::size_t tiles_of_list = 4;
  std::size_t threads = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most_threads);
  std::optional<std::size_t> fail_after;
  bool compare = true;
  bool help = false;
};

inline constexpr const char* help_text =
    "usage: parallel_record [OPTION]...\n"
    "\n"
    "Draws a map with balls above it. Several threads record how its tiles are drawn, each in a context of its own; "
    "they\n"
    "all write the same textures, each for itself. An engine executes what they have recorded, list after list. Then "
    "one\n"
    "thread draws the picture straight on, and the two are compared.\n"
    "\n"
    "  --out FILE      where the picture goes, as PNG (default: a temporary file, which is removed)\n"
    "  --size SIZE     the size of the picture in pixels, as 1920x1080 or 2048, at most 8192 (default 2048)\n"
    "  --tile N        the width and the height of a tile, from 16 to 512 (default 128)\n"
    "  --list N        how many tiles a list draws, at most 64 (default 4)\n"
    "  --threads N     how many threads record, at most 64 (default: one for each core)\n"
    "  --fail-after K  let the memory for the lists of one context fail, once, when a list grows after K records:\n"
    "                  commands and renames. That recording is removed; its tiles stay grey, and all others must be "
    "right\n"
    "  --no-compare    don't draw the picture straight on\n"
    "  --help          this text\n"
    "\n"
    "Exit status: 0 if the picture is right, 1 if not, or after another error, 2 if the command line is wrong.\n";

inline void parse_size(options& result, std::string_view text) {
  const std::size_t cross = text.find('x');
  result.width = support::parse_number("--size", text.substr(0, cross), 1, 8192);
  result.height =
      cross == std::string_view::npos ? result.width : support::parse_number("--size", text.substr(cross + 1), 1, 8192);
}

inline void apply_option(options& result, std::string_view name, std::string_view value) {
  if (name == "--out") {
    if (value.empty()) throw usage_error("--out: the path is empty");
    result.out = value;
  } else if (name == "--size") {
    parse_size(result, value);
  } else if (name == "--tile") {
    result.tile_size = support::parse_number(name, value, 16, 512);
  } else if (name == "--list") {
    result.tiles_of_list = support::parse_number(name, value, 1, 64);
  } else if (name == "--threads") {
    result.threads = support::parse_number(name, value, 1, most_threads);
  } else if (name == "--fail-after") {
    result.fail_after = support::parse_number(name, value, 0, 1'000'000'000);
  } else {
    throw usage_error("unknown option '" + std::string(name) + "'");
  }
}

/// Understands options as `--name value` or `--name=value`.
inline options parse_options(std::vector<std::string_view> arguments) {
  options result;
  result.compare = std::erase(arguments, "--no-compare") == 0;
  result.help = !support::read_arguments(
      arguments, [&](std::string_view name, std::string_view value) { apply_option(result, name, value); },
      [](std::string_view argument) { throw usage_error("unknown argument '" + std::string(argument) + "'"); });
  return result;
}

}  // namespace parallel_record
