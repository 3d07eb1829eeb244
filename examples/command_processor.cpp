// SPDX-License-Identifier: BSL-1.0
// A small GPU in user mode: three engines with their queues and threads pack the files of a folder into an archive. A
// thread records command buffers; fences alone order what the engines do. An engine can be lost in the middle, and the
// archive is right nevertheless; two queues that wait for each other are named.
//
// The engines and their recovery are in command_processor/processor.hpp, the recording in packing.hpp. This file runs
// them, has the archive verified and reports. Exit status: 0 if the archive is right, 1 if not, 2 if the command line
// is wrong, 3 if queues wait for each other.

#include "command_processor/archive.hpp"
#include "command_processor/lane.hpp"
#include "command_processor/options.hpp"
#include "command_processor/packing.hpp"
#include "command_processor/processor.hpp"
#include "command_processor/verification.hpp"
#include "support/command_line.hpp"
#include "support/files.hpp"
#include "support/trace_files.hpp"

#include <tidemark/tidemark.hpp>

#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

using command_processor::engine_of;
using command_processor::file_tree;
using command_processor::options;
using command_processor::registry;

constexpr int deadlock_status = 3;

struct outcome {
  std::uint64_t parts = 0;
  std::uint64_t buffers = 0;
  std::uint64_t recorded_again = 0;
  std::size_t backings = 0;
  double seconds = 0;
};

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

outcome pack(const file_tree& tree, const options& chosen, support::open_file& archive, registry& registry) {
  // In this order: commands use the memory, and `written` says when they don't any more.
  tidemark::fence written;
  command_processor::device_memory memory{written, chosen};
  command_processor::processor processor{registry, archive, written, chosen};
  command_processor::packing packing{tree, chosen, memory, processor};

  if (chosen.deadlock) processor.plant_deadlock();
  const double seconds = seconds_of([&] { packing.run(); });
  for (const command_processor::planned_loss& missing : processor.missing_losses()) {
    throw std::runtime_error("the " + std::string(engine_of(missing.of)) + " engine was not lost: it had only " +
                             std::to_string(processor.submissions(missing.of)) + " submissions");
  }
  return {packing.parts(), packing.buffers(), processor.recorded_again(), memory.outputs.backings(), seconds};
}

void report(const file_tree& tree, const options& chosen, const std::string& archive, std::uint64_t size,
            const outcome& found, double straight_seconds) {
  std::printf("folder    %s: %zu files, %" PRIu64 " bytes\n", chosen.folder.c_str(), tree.files.size(), tree.bytes);
  std::printf("archive   %s: %" PRIu64 " bytes\n", archive.c_str(), size);
  std::printf("work      %" PRIu64 " command buffers in %" PRIu64 " parts\n", found.buffers, found.parts);
  std::printf("memory    %zu bytes for uploads, %zu output buffers\n", chosen.upload_bytes, found.backings);
  for (const command_processor::planned_loss& each : chosen.losses) {
    std::printf("lost      the %s engine, in its submission %zu\n", engine_of(each.of), each.submission);
  }
  if (!chosen.losses.empty()) {
    std::printf("recovered %" PRIu64 " command buffers were recorded again\n", found.recorded_again);
  }
  std::printf("verified  the same bytes as a straight run on one thread; unpacked again, the same files\n");
  std::printf("time      %.3f s; the straight run %.3f s\n", found.seconds, straight_seconds);
}

void run(const options& chosen) {
  for (const std::string& trace : chosen.traces) {
    if (chosen.archive) support::refuse_same_file(trace, *chosen.archive);
  }
  const file_tree tree = command_processor::examine_folder(chosen.folder);
  support::output_file archive(chosen.archive);
  if (archive.is_device()) throw support::usage_error("--out: a device can not be read back");
  support::trace_files traces(chosen.traces);
  registry registry(traces.are_wanted());

  const outcome found = pack(tree, chosen, archive.file(), registry);
  command_processor::verification verification(tree, chosen.block_size, archive.file());
  std::uint64_t size = 0;
  const double straight_seconds = seconds_of([&] { size = verification.pack_straight_on(); });
  verification.unpack();
  if (traces.are_wanted()) {
    registry.collect();  // what was logged last
    traces.write(registry.trace());
  }
  archive.publish();
  traces.publish();

  report(tree, chosen, archive.description(), size, found, straight_seconds);
  traces.report();
  support::finish_report();
}

}  // namespace

int main(int argc, char** argv) {
  support::survive_file_size_limit();
  return support::run_main("command_processor", [&] {
    const options chosen = command_processor::parse_options({argv + 1, argv + argc});
    if (chosen.help) return std::fputs(command_processor::help_text, stdout) < 0 ? 1 : 0;
    try {
      run(chosen);
    } catch (const command_processor::deadlock& found) {
      std::fprintf(stderr, "command_processor: %s\n", found.what());
      return deadlock_status;
    }
    return 0;
  });
}
