// SPDX-License-Identifier: BSL-1.0
// The command line of command_processor.

#pragma once

#include "../support/command_line.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace command_processor {

using support::usage_error;

/// What is done with a block, each stage by an engine of its own.
enum class stage : std::size_t { read, pack, write };
inline constexpr std::array all_stages{stage::read, stage::pack, stage::write};
inline constexpr std::array<const char*, 3> engine_names{"copy", "compute", "present"};
inline constexpr std::array<const char*, 3> stage_names{"read", "pack", "write"};
constexpr const char* engine_of(stage of) { return engine_names[static_cast<std::size_t>(of)]; }
constexpr const char* name_of(stage of) { return stage_names[static_cast<std::size_t>(of)]; }

/// An engine that is to be lost, and in the middle of which of its submissions.
struct planned_loss {
  stage of;
  std::size_t submission;
};

/// Each command buffer on the way may have as many as it has blocks.
inline constexpr std::size_t most_open_files = 512;

struct options {
  std::string folder = TIDEMARK_DEMO_FOLDER;
  std::optional<std::string> archive;
  std::size_t block_size = 32 * support::kibibyte;
  std::size_t blocks = 8;
  std::size_t files = 8;
  std::size_t upload_bytes = 2 * support::mebibyte;
  std::size_t backings = 8;
  std::vector<planned_loss> losses;
  bool deadlock = false;
  std::vector<std::string> traces;
  bool help = false;
};

inline constexpr const char* help_text =
    "usage: command_processor [FOLDER] [OPTION]...\n"
    "\n"
    "Packs the files of a folder into an archive as a small GPU would: one engine copies their blocks into upload "
    "memory,\n"
    "one compresses them with two threads, and one appends them to the archive. A thread records the commands. Then "
    "the\n"
    "folder is packed once more by one thread alone, the two archives are compared, and the archive is unpacked and\n"
    "compared with the folder.\n"
    "\n"
    "  FOLDER           the folder (default: that of the compiler's headers); links in it are left out\n"
    "  --out FILE       where the archive goes (default: a temporary file, which is removed)\n"
    "  --block BYTES    the size of the blocks that are compressed, also as 64K, at most 1M (default 32K)\n"
    "  --blocks N       the most blocks in a command buffer, at most 64 (default 8)\n"
    "  --files N        the most files in a part of the work, at most 64 (default 8)\n"
    "  --upload BYTES   the upload memory, at least two full command buffers, at most 1024M (default 2M)\n"
    "  --backings N     the most output buffers, at most 64 (default 8)\n"
    "  --lose ENGINE:N  lose the engine (copy, compute or present) in the middle of its submission N, and recover; "
    "may\n"
    "                   be given several times\n"
    "  --deadlock       let two queues wait for each other, and name them\n"
    "  --trace FILE     write what the queues did and waited for: FILE.html is a page for any browser, FILE.json has\n"
    "                   Chrome trace events, for Perfetto; may be given twice. It is kept in memory until the end\n"
    "  --help           this text\n"
    "\n"
    "Exit status: 0 if the archive is right, 1 if not, or after another error, 2 if the command line is wrong, 3 if "
    "queues\n"
    "wait for each other.\n";

inline planned_loss parse_loss(std::string_view text) {
  const std::size_t colon = text.find(':');
  for (const stage each : all_stages) {
    if (colon == std::string_view::npos || text.substr(0, colon) != engine_of(each)) continue;
    return {each, support::parse_number("--lose", text.substr(colon + 1), 1, 1'000'000'000)};
  }
  throw usage_error("--lose: '" + std::string(text) + "' is not ENGINE:N, where ENGINE is copy, compute or present");
}

inline void apply_option(options& result, std::string_view name, std::string_view value) {
  if (name == "--out") {
    if (value.empty()) throw usage_error("--out: the path is empty");
    result.archive = value;
  } else if (name == "--block") {
    result.block_size = support::parse_number(name, value, 1, support::mebibyte, true);
  } else if (name == "--blocks") {
    result.blocks = support::parse_number(name, value, 1, 64);
  } else if (name == "--files") {
    result.files = support::parse_number(name, value, 1, 64);
  } else if (name == "--upload") {
    result.upload_bytes = support::parse_number(name, value, 1, 1024 * support::mebibyte, true);
  } else if (name == "--backings") {
    result.backings = support::parse_number(name, value, 1, 64);
  } else if (name == "--lose") {
    result.losses.push_back(parse_loss(value));
  } else if (name == "--trace") {
    support::add_trace_path(result.traces, value);
  } else {
    throw usage_error("unknown option '" + std::string(name) + "'");
  }
}

/// Understands a folder, and options as `--name value` or `--name=value`.
inline options parse_options(std::vector<std::string_view> arguments) {
  options result;
  result.deadlock = std::erase(arguments, "--deadlock") != 0;
  bool has_folder = false;
  const auto add_folder = [&](std::string_view path) {
    if (has_folder) throw usage_error("more than one folder");
    if (path.empty()) throw usage_error("the path of the folder is empty");
    result.folder = path;
    has_folder = true;
  };
  result.help = !support::read_arguments(
      arguments, [&](std::string_view name, std::string_view value) { apply_option(result, name, value); }, add_folder);
  if (result.upload_bytes / 2 / result.block_size < result.blocks) {
    throw usage_error("--upload: " + std::to_string(result.upload_bytes) + " bytes are less than two command buffers");
  }
  if ((result.backings + 1) * std::min(result.files, result.blocks) > most_open_files) {
    throw usage_error("more than " + std::to_string(most_open_files) +
                      " files might be open: --backings, --files or --blocks is too large");
  }
  if (result.deadlock && !result.losses.empty()) throw usage_error("--deadlock and --lose exclude each other");
  return result;
}

}  // namespace command_processor
