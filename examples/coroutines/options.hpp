// SPDX-License-Identifier: BSL-1.0
// The command line of coroutines.

#pragma once

#include "../support/command_line.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coroutines {

using support::usage_error;

struct options {
  std::optional<std::string> input;
  std::optional<std::string> output;
  std::size_t threads = 1;
  std::size_t rounds = 5;
  std::size_t block_size = 64 * support::kibibyte;
  std::size_t ring_length = 8;
  std::vector<std::string> traces;
  bool help = false;
};

inline constexpr std::size_t max_ring_memory = 1024 * support::mebibyte;

inline constexpr const char* help_text =
    "usage: coroutines [INPUT] [OPTION]...\n"
    "\n"
    "Moves a file through the three engines of the pipeline example, each of which is a coroutine: no thread waits for "
    "a\n"
    "fence. Compares the copy with the original, and says how long one and two threads take that run the coroutines,\n"
    "and how long three threads that wait by themselves.\n"
    "\n"
    "  --out FILE      keep the copy there\n"
    "  --threads N     of the copy that is traced: how many threads run the coroutines, 1 to 16 (default 1)\n"
    "  --rounds N      how often each is measured (default 5)\n"
    "  --block SIZE    bytes of a block, such as 4096 or 64K (default 64K)\n"
    "  --ring N        how many blocks are on their way at most, 2 to 65536 (default 8)\n"
    "  --trace FILE    a page (.html) or Chrome trace events (.json); may be given twice\n"
    "  --help          this text\n"
    "\n"
    "Exit status: 0 if every copy is complete, 1 if not, 2 if the command line is wrong.\n";

inline void apply_option(options& result, std::string_view name, std::string_view value) {
  if (name == "--out") {
    if (value.empty()) throw usage_error("--out: the path is empty");
    result.output = value;
  } else if (name == "--threads") {
    result.threads = support::parse_number(name, value, 1, 16);
  } else if (name == "--rounds") {
    result.rounds = support::parse_number(name, value, 1, 1'000);
  } else if (name == "--block") {
    result.block_size = support::parse_number(name, value, 1, 64 * support::mebibyte, true);
  } else if (name == "--ring") {
    result.ring_length = support::parse_number(name, value, 2, 65'536);
  } else if (name == "--trace") {
    support::add_trace_path(result.traces, value);
  } else {
    throw usage_error("unknown option '" + std::string(name) + "'");
  }
}

inline options parse_options(const std::vector<std::string_view>& arguments) {
  options result;
  result.help = !support::read_arguments(
      arguments, [&](std::string_view name, std::string_view value) { apply_option(result, name, value); },
      [&](std::string_view path) {
        if (result.input) throw usage_error("there is more than one input: '" + std::string(path) + "'");
        result.input = path;
      });
  if (result.ring_length > max_ring_memory / result.block_size) {
    throw usage_error("a ring of " + std::to_string(result.ring_length) + " buffers of " +
                      std::to_string(result.block_size) + " bytes is larger than 1 GiB");
  }
  return result;
}

}  // namespace coroutines
