// SPDX-License-Identifier: BSL-1.0
// The command line of the pipeline.

#pragma once

#include "../support/command_line.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipeline {

using support::kibibyte;
using support::mebibyte;
using support::parse_number;
using support::usage_error;

inline constexpr std::size_t max_ring_memory = 1024 * mebibyte;

struct options {
  std::optional<std::string> input;   // none: the one chosen when the program was built
  std::optional<std::string> output;  // none: a temporary file
  std::size_t block_size = 16 * kibibyte;
  std::size_t ring_length = 16;
  std::size_t rounds = 5;
  std::vector<std::string> traces;  // where a trace goes, if one is wanted
  std::size_t sleepers = 1000;
  bool copy_only = false;
  bool help = false;
};

inline constexpr const char* help_text =
    "usage: pipeline [OPTION]... [INPUT]\n"
    "\n"
    "Copies the file INPUT through a ring of staging buffers with three threads (read, checksum, write) that are\n"
    "ordered by fences alone, and compares the copy with INPUT. Then says in a table what tidemark's fences cost "
    "beside\n"
    "fences made of a mutex and a condition variable: in that copy, with one producer and eight consumers, and with a\n"
    "thousand threads asleep.\n"
    "\n"
    "  --out PATH    where the copy goes; an existing file is replaced when the copy is complete, and not before;\n"
    "                a device or pipe is written to once. Default: a temporary file, removed at the end\n"
    "  --block SIZE  bytes in a staging buffer, also as 64K or 1M (default 16K); small ones show the cost of a fence\n"
    "  --ring N      how many staging buffers there are (default 16)\n"
    "  --rounds N    how often each kind of fence is measured (default 5); less than 3 give no verdict\n"
    "  --sleepers N  how many threads sleep in the last rows of the table (default 1000)\n"
    "  --copy-only   only copies the file: the table has no other rows\n"
    "  --trace FILE  copies once more, through tidemark's queues, and writes what each engine waited for and "
    "signalled,\n"
    "                and when: FILE.html is a page for any browser, FILE.json has Chrome trace events, for Perfetto;\n"
    "                may be given twice\n"
    "  --help        this text\n";

inline void apply_option(options& result, std::string_view name, std::string_view value) {
  if (name == "--out") {
    if (value.empty()) throw usage_error("--out: the path is empty");
    result.output = value;
  } else if (name == "--block") {
    result.block_size = parse_number(name, value, 1, max_ring_memory, true);
  } else if (name == "--ring") {
    result.ring_length = parse_number(name, value, 1, 1'000'000);
  } else if (name == "--trace") {
    support::add_trace_path(result.traces, value);
  } else if (name == "--sleepers") {
    result.sleepers = parse_number(name, value, 1, 10'000);
  } else {
    result.rounds = parse_number(name, value, 1, 1'000);
  }
}

/// Reads the arguments behind the program's name: `--name value`, `--name=value` and at most one path, `--` before it
/// if it begins with a dash.
inline options parse_options(const std::vector<std::string_view>& arguments) {
  options result;
  bool only_paths = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (only_paths || !argument.starts_with('-')) {
      if (result.input) throw usage_error("there is more than one input: '" + std::string(argument) + "'");
      result.input = argument;
      continue;
    }
    if (argument == "--") {
      only_paths = true;
      continue;
    }
    if (argument == "--help") {
      result.help = true;
      return result;
    }
    if (argument == "--copy-only") {
      result.copy_only = true;
      continue;
    }
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    if (name != "--out" && name != "--block" && name != "--ring" && name != "--rounds" && name != "--trace" &&
        name != "--sleepers") {
      throw usage_error("unknown option '" + std::string(argument) + "'");
    }
    if (equals != std::string_view::npos) {
      apply_option(result, name, argument.substr(equals + 1));
    } else {
      if (++i == arguments.size()) throw usage_error(std::string(name) + ": the value is missing");
      apply_option(result, name, arguments[i]);
    }
  }
  if (result.ring_length > max_ring_memory / result.block_size) {
    throw usage_error("a ring of " + std::to_string(result.ring_length) + " buffers of " +
                      std::to_string(result.block_size) + " bytes is larger than 1 GiB");
  }
  return result;
}

}  // namespace pipeline
