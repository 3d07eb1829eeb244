// SPDX-License-Identifier: BSL-1.0
// The command line of stream_mesh.

#pragma once

#include "../support/command_line.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stream_mesh {

using support::usage_error;

struct options {
  std::size_t frames = 600;
  std::size_t vertices = 20'000;
  std::size_t behind = 2;
  std::size_t budget = 0;  // bytes; 0: no limit
  bool help = false;
};

inline constexpr const char* help_text =
    "usage: stream_mesh [OPTION]...\n"
    "\n"
    "Streams a mesh to an executor that is some frames behind: each frame discards the vertices and writes them anew,\n"
    "appends sparks without overwriting, uploads what each draw needs, and drops a decal that was drawn for the last\n"
    "time. Everything that the executor reads is summed up on both sides and compared.\n"
    "\n"
    "  --frames N      how many frames (default 600)\n"
    "  --vertices N    how many vertices the mesh has (default 20000)\n"
    "  --behind N      how many frames the executor is behind, 1 to 16 (default 2)\n"
    "  --budget BYTES  for the backings of the mesh, such as 512K or 4M; without it there are as many as needed.\n"
    "                  With too little, maps wait for the executor; idle backings are given up between the scenes\n"
    "  --help          this text\n"
    "\n"
    "Exit status: 0 if the executor saw what was written, 1 if not, 2 if the command line is wrong.\n";

inline void apply_option(options& result, std::string_view name, std::string_view value) {
  if (name == "--frames") {
    result.frames = support::parse_number(name, value, 1, 1'000'000);
  } else if (name == "--vertices") {
    result.vertices = support::parse_number(name, value, 1, 10'000'000);
  } else if (name == "--behind") {
    result.behind = support::parse_number(name, value, 1, 16);
  } else if (name == "--budget") {
    result.budget = support::parse_number(name, value, 1, 1024 * support::mebibyte, true);
  } else {
    throw usage_error("unknown option '" + std::string(name) + "'");
  }
}

inline options parse_options(const std::vector<std::string_view>& arguments) {
  options result;
  result.help = !support::read_arguments(
      arguments, [&](std::string_view name, std::string_view value) { apply_option(result, name, value); },
      [](std::string_view other) { throw usage_error("'" + std::string(other) + "' is not an option"); });
  return result;
}

}  // namespace stream_mesh
