// SPDX-License-Identifier: BSL-1.0
// Moves a real file through three engines on three threads that are ordered by progress fences alone, compares the copy
// with the original, and measures the same pipeline on fences made of a mutex and a condition variable.
//
// What the fences do is in pipeline/copy_pipeline.hpp. This file runs it, several rounds for each kind of fence, and if
// a trace is wanted once more through queues, and reports. Exit status: 0 if the copy is complete, 1 if not, 2 if the
// command line is wrong.

#include "pipeline/condvar_fence.hpp"
#include "pipeline/copy_pipeline.hpp"
#include "pipeline/fnv1a.hpp"
#include "pipeline/options.hpp"
#include "pipeline/timelines.hpp"
#include "support/files.hpp"
#include "support/trace_files.hpp"

#include <tidemark/tidemark.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

using pipeline::condvar_fence;
// Some engine sleeps for every third or fourth block: too often for a fence whose sleepers pay a system-wide barrier.
using counting_fence =
    tidemark::basic_progress_fence<tidemark::symmetric_platform, tidemark::fence_options{.statistics = true}>;

/// All the rounds with one kind of fence.
struct measurement {
  std::vector<double> seconds;  // a round each, in ascending order once sorted
  std::uint64_t signals = 0;
  std::uint64_t notifications = 0;

  void sort() { std::sort(seconds.begin(), seconds.end()); }
  [[nodiscard]] double median() const { return (seconds[(seconds.size() - 1) / 2] + seconds[seconds.size() / 2]) / 2; }
};

/// The file, its copy, and what is known about both.
struct copy_job {
  support::open_file input;
  support::output_file output;
  pipeline::staging_ring ring;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
  std::uint64_t copies = 0;
};

/// Reads input and copy again and compares every byte, and the checksum that the engine has taken.
void verify(copy_job& job) {
  std::vector<std::byte> expected(256 * pipeline::kibibyte);
  std::vector<std::byte> found(expected.size());
  pipeline::fnv1a sum;
  job.input.rewind();
  job.output.file().rewind();
  for (std::uint64_t offset = 0;;) {
    const std::size_t expected_size = job.input.read(expected);
    const std::size_t found_size = job.output.file().read(found);
    const auto common = static_cast<std::ptrdiff_t>(std::min(expected_size, found_size));
    const auto difference = std::mismatch(expected.begin(), expected.begin() + common, found.begin());
    const auto equal = static_cast<std::size_t>(difference.first - expected.begin());
    if (equal != expected_size || equal != found_size) {
      throw std::runtime_error("the copy of '" + job.input.name() + "' differs from it at byte " +
                               std::to_string(offset + equal) + " (has the file been changed meanwhile?)");
    }
    if (equal == 0) break;
    sum.add({expected.data(), equal});
    offset += equal;
  }
  if (sum.value() != job.checksum) throw std::runtime_error("the checksum of '" + job.input.name() + "' is wrong");
}

/// Copies the file once, from the start; adds to `result` how long the engines took.
template <class Timelines>
void copy_once(copy_job& job, measurement& result, Timelines& timelines) {
  job.input.rewind();
  if (!job.output.is_device()) job.output.file().restart();

  pipeline::copy_pipeline<Timelines> engines(job.input, job.output.file(), job.ring, timelines);
  const auto start = std::chrono::steady_clock::now();
  engines.run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;

  result.seconds.push_back(elapsed.count());
  result.signals += timelines.signal_count();
  result.notifications += timelines.notify_count();
  job.bytes = engines.bytes();
  job.checksum = engines.checksum();
  ++job.copies;
  if (!job.output.is_device()) verify(job);
}

template <class Fence>
void copy_once(copy_job& job, measurement& result) {
  pipeline::fence_timelines<Fence> timelines;
  copy_once(job, result, timelines);
}

void copy_once_traced(copy_job& job, measurement& result, support::trace_files& traces) {
  pipeline::queue_timelines timelines;
  copy_once(job, result, timelines);
  traces.write(timelines.collect());
}

struct both_measurements {
  measurement tidemark;
  measurement condvar;
};

/// A warm-up and then the rounds, in alternating order.
both_measurements measure(copy_job& job, std::size_t rounds) {
  both_measurements result;
  measurement warm_up;
  copy_once<counting_fence>(job, warm_up);
  copy_once<condvar_fence>(job, warm_up);
  for (std::size_t round = 0; round < rounds; ++round) {
    if (round % 2 == 0) copy_once<counting_fence>(job, result.tidemark);
    copy_once<condvar_fence>(job, result.condvar);
    if (round % 2 != 0) copy_once<counting_fence>(job, result.tidemark);
  }
  result.tidemark.sort();
  result.condvar.sort();
  return result;
}

/// All copies. A device gets the file once, so there is nothing to compare; a trace is of a copy that is not measured.
both_measurements copy_all(copy_job& job, std::size_t rounds, support::trace_files& traces) {
  both_measurements result;
  if (!job.output.is_device()) {
    result = measure(job, rounds);
    measurement not_measured;
    if (traces.are_wanted()) copy_once_traced(job, not_measured, traces);
  } else if (traces.are_wanted()) {
    copy_once_traced(job, result.tidemark, traces);
  } else {
    copy_once<counting_fence>(job, result.tidemark);
  }
  return result;
}

double megabytes_per_second(const copy_job& job, double seconds) {
  return static_cast<double>(job.bytes) / 1e6 / seconds;
}

void print_speed(const char* name, const copy_job& job, const measurement& result) {
  std::printf("  %-18s %8.1f MB/s (%.1f to %.1f)\n", name, megabytes_per_second(job, result.median()),
              megabytes_per_second(job, result.seconds.back()), megabytes_per_second(job, result.seconds.front()));
}

void print_signals(const measurement& result) {
  const auto silent = static_cast<double>(result.signals - result.notifications);
  std::printf("signals   %" PRIu64 " in %zu round(s), %" PRIu64 " notifications: %.2f %% of the signals needed none\n",
              result.signals, result.seconds.size(), result.notifications,
              100 * silent / static_cast<double>(result.signals));
}

void print_comparison(const copy_job& job, const both_measurements& result) {
  std::printf("\nfences of ...      throughput, median (slowest to fastest) of %zu rounds, taken in turns\n",
              result.tidemark.seconds.size());
  print_speed("tidemark", job, result.tidemark);
  print_speed("mutex and condvar", job, result.condvar);
  const bool overlap = result.tidemark.seconds.back() >= result.condvar.seconds.front() &&
                       result.condvar.seconds.back() >= result.tidemark.seconds.front();
  std::printf("  tidemark / mutex and condvar: %.2f%s\n", result.condvar.median() / result.tidemark.median(),
              overlap ? ", but the ranges overlap: no clear difference" : "");
}

void report(const copy_job& job, const pipeline::options& options, const both_measurements& result) {
  std::printf("input     %s, %" PRIu64 " bytes\n", job.input.name().c_str(), job.bytes);
  std::printf("output    %s\n", job.output.description().c_str());
  std::printf("engines   read, checksum, write; a ring of %zu buffers, blocks of %zu bytes\n", options.ring_length,
              options.block_size);
  std::printf("checksum  %016" PRIx64 " (FNV-1a, 64 bits)\n", job.checksum);
  if (job.output.is_device()) {
    std::printf("verified  no: a device or a pipe is written to once and can not be read back\n");
    print_signals(result.tidemark);
    std::printf("speed     %.1f MB/s\n", megabytes_per_second(job, result.tidemark.median()));
    return;
  }
  std::printf("verified  %" PRIu64 " copies, each identical to the input byte for byte\n", job.copies);
  print_signals(result.tidemark);
  print_comparison(job, result);
  std::puts(
      options.block_size >= 4 * pipeline::kibibyte
          ? "Blocks of this size: most of the time is file access and checksum. --block 256 shows more of the fences."
          : "Blocks of this size: each costs two system calls, read and write, beside its three signals.");
}

/// Opens the files, copies and compares. The copy and the traces get their names last, when nothing else can go wrong.
void run(const pipeline::options& options) {
  for (const std::string& trace : options.traces) {
    support::refuse_same_file(trace, *options.input);
    if (options.output) support::refuse_same_file(trace, *options.output);
  }
  copy_job job{.input = support::open_input(*options.input),
               .output = support::output_file(options.output),
               .ring = {options.ring_length, options.block_size}};
  support::trace_files traces(options.traces);
  const both_measurements result = copy_all(job, options.rounds, traces);
  job.output.publish();
  traces.publish();
  report(job, options, result);
  traces.report();
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    throw std::system_error(errno, std::generic_category(), "cannot print the report");
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
  // A reader that goes away or a limit on the size of files shall be an error of write(), not the end of the program.
  std::signal(SIGPIPE, ignore);
  std::signal(SIGXFSZ, ignore);

  return support::run_main("pipeline", [&] {
    pipeline::options options = pipeline::parse_options({argv + 1, argv + argc});
    if (options.help) return print_help(), 0;
    if (!options.input) options.input = default_input;
    if (options.input->empty()) throw pipeline::usage_error("no input is given");
    run(options);
    return 0;
  });
}
