// SPDX-License-Identifier: BSL-1.0
// Moves a real file through three engines on three threads that are ordered by progress fences alone, compares the copy
// with the original, and says in a table what the same program costs on fences made of a mutex and a condition
// variable: this pipeline, a producer with many consumers, and a crowd asleep.
//
// What the fences do is in pipeline/copy_pipeline.hpp, fan_out.hpp and crowd.hpp; what they are compared with in
// condvar_fence.hpp and sorted_condvar_fence.hpp. This file runs them and reports. Exit status: 0 if the copy is
// complete, 1 if not, 2 if the command line is wrong.

#include "pipeline/comparison.hpp"
#include "pipeline/condvar_fence.hpp"
#include "pipeline/copy_job.hpp"
#include "pipeline/crowd.hpp"
#include "pipeline/fan_out.hpp"
#include "pipeline/options.hpp"
#include "pipeline/sorted_condvar_fence.hpp"
#include "support/command_line.hpp"
#include "support/files.hpp"
#include "support/trace_files.hpp"

#include <tidemark/tidemark.hpp>

#include <cinttypes>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using pipeline::comparison;
using pipeline::condvar_fence;
using pipeline::copy_job;
using pipeline::measurement;
using tidemark::progress_fence;

double megabytes_per_second(const copy_job& job, double seconds) {
  return static_cast<double>(job.bytes) / 1e6 / seconds;
}

void report(const copy_job& job, const pipeline::options& options, const measurement& copies) {
  std::printf("input     %s, %" PRIu64 " bytes\n", job.input.name().c_str(), job.bytes);
  std::printf("output    %s\n", job.output.description().c_str());
  std::printf("engines   read, checksum, write; a ring of %zu buffers, blocks of %zu bytes\n", options.ring_length,
              options.block_size);
  std::printf("checksum  %016" PRIx64 " (FNV-1a, 64 bits)\n", job.checksum);
  if (job.output.is_device()) {
    std::printf("verified  no: a device or a pipe is written to once and can not be read back\n");
  } else {
    std::printf("verified  %" PRIu64 " copies, each identical to the input byte for byte\n", job.copies);
  }
  std::printf("signals   %" PRIu64 " in %zu round(s), %" PRIu64 " notifications: %.2f %% of the signals needed none\n",
              copies.signals, copies.times.count(), copies.notifications,
              100 * static_cast<double>(copies.signals - copies.notifications) / static_cast<double>(copies.signals));
  std::printf("speed     %.1f MB/s (%.1f to %.1f)\n", megabytes_per_second(job, copies.times.median()),
              megabytes_per_second(job, copies.times.greatest()), megabytes_per_second(job, copies.times.least()));
}

void add_other_rows(std::vector<comparison>& rows, const pipeline::options& options) {
  using pipeline::compare_crowds;
  using pipeline::compare_fan_out;
  using pipeline::sorted_condvar_fence;
  const std::size_t rounds = options.rounds;
  const std::string sorts = "  peer that sorts";

  rows.push_back(
      compare_fan_out<progress_fence, condvar_fence>({.far_behind = 0}, rounds, "8 consumers, 0 far behind: a block"));
  rows.push_back(
      compare_fan_out<progress_fence, condvar_fence>({.far_behind = 4}, rounds, "8 consumers, 4 far behind: a block"));
  rows.push_back(compare_fan_out<progress_fence, sorted_condvar_fence>({.far_behind = 4}, rounds, sorts + ": a block"));
  const pipeline::fan_out_shape short_ring{.far_behind = 4, .ring_length = 64};
  rows.push_back(compare_fan_out<progress_fence, condvar_fence>(short_ring, rounds, "the same, a ring of 64: a block"));

  const auto add = [&](const std::vector<comparison>& more) { rows.insert(rows.end(), more.begin(), more.end()); };
  const std::string crowd = std::to_string(options.sleepers) + " asleep";
  add(compare_crowds<progress_fence, condvar_fence>(options.sleepers, rounds, crowd));
  add(compare_crowds<progress_fence, sorted_condvar_fence>(options.sleepers, rounds, sorts));
}

void explain_rows(const pipeline::options& options) {
  std::printf(
      "\nBoth sides have run %zu times, in turns, after a passage that does not count. The rows:\n"
      "  copy       the file, once. Files and checksums take most of the time, unless blocks are small (--block 256)\n",
      options.rounds);
  if (options.copy_only) return;
  std::printf(
      "  consumers  one producer and %zu threads that take its blocks of %zu bytes one by one; those that are far "
      "behind\n"
      "             take half the ring of 1,024 at once, and need no signal in between. In a short ring all wait for\n"
      "             one another most of the time\n"
      "  asleep     threads that wait for different values of one fence\n"
      "One condition variable wakes all who wait, due or not, and these rows show it at its worst. So there is a peer\n"
      "that sorts, too: each thread has a variable of its own, and a signal wakes only the threads that are due.\n",
      pipeline::fan_out_consumers, pipeline::fan_out_block_size);
}

/// Opens the files, copies, reports and compares. The copy and the traces get their names last, when nothing else can
/// go wrong with them.
void run(const pipeline::options& options) {
  for (const std::string& trace : options.traces) {
    support::refuse_same_file(trace, *options.input);
    if (options.output) support::refuse_same_file(trace, *options.output);
  }
  copy_job job{.input = support::open_input(*options.input),
               .output = support::output_file(options.output),
               .ring = {options.ring_length, options.block_size}};
  support::trace_files traces(options.traces);
  const auto copies = pipeline::copy_all(job, options.rounds, traces);
  job.output.publish();
  traces.publish();
  report(job, options, copies.tidemark);
  traces.report();
  support::finish_report();

  std::vector<comparison> rows;
  if (!job.output.is_device()) {
    rows.push_back({.row = "copy, blocks of " + std::to_string(options.block_size) + " bytes",
                    .tidemark = copies.tidemark.times,
                    .peer = copies.condvar.times});
  }
  if (!options.copy_only) add_other_rows(rows, options);
  if (rows.empty()) return;
  explain_rows(options);
  std::puts("");
  pipeline::print_table(rows);
  support::finish_report();
}

/// The file that is copied when none is named.
#ifdef TIDEMARK_DEMO_INPUT
constexpr const char* default_input = TIDEMARK_DEMO_INPUT;
#else
constexpr const char* default_input = "";
#endif

void print_help() {
  std::fputs(pipeline::help_text, stdout);
  if (*default_input != '\0') std::printf("\nINPUT is %s if none is given.\n", default_input);
}

void ignore(int) {}

}  // namespace

int main(int argc, char** argv) {
  // A reader that goes away shall be an error of write(), not the end of the program.
  std::signal(SIGPIPE, ignore);
  support::survive_file_size_limit();

  return support::run_main("pipeline", [&] {
    pipeline::options options = pipeline::parse_options({argv + 1, argv + argc});
    if (options.help) return print_help(), 0;
    if (!options.input) options.input = default_input;
    if (options.input->empty()) throw pipeline::usage_error("no input is given");
    run(options);
    return 0;
  });
}
