// SPDX-License-Identifier: BSL-1.0
// Moves a real file through the engines of the pipeline example as coroutines: on one thread, on two, and, for
// comparison, on three threads that wait by themselves. The engines are in coroutines/coroutine_pipeline.hpp.
//
// Exit status: 0 if every copy is complete, 1 if not, 2 if the command line is wrong.

#include "coroutines/coroutine_pipeline.hpp"
#include "coroutines/options.hpp"
#include "pipeline/comparison.hpp"
#include "pipeline/copy_job.hpp"
#include "support/files.hpp"
#include "support/trace_files.hpp"

#include <tidemark/tidemark.hpp>

#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using pipeline::copy_job;
using pipeline::queue_timelines;

/// Copies the file once and compares the copy. Returns how many seconds the engines took.
template <class Engines, class... Threads>
double copy_once(copy_job& job, queue_timelines& timelines, Threads... threads) {
  job.input.rewind();
  job.output.file().restart();
  Engines engines(job.input, job.output.file(), job.ring, timelines, threads...);
  const auto start = std::chrono::steady_clock::now();
  engines.run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  job.bytes = engines.bytes();
  job.checksum = engines.checksum();
  ++job.copies;
  verify(job);
  return elapsed.count();
}

double copy_by_coroutines(copy_job& job, queue_timelines& timelines, std::size_t threads) {
  return copy_once<coroutines::coroutine_pipeline<queue_timelines>>(job, timelines, threads);
}
double copy_by_threads(copy_job& job) {
  queue_timelines timelines;
  return copy_once<pipeline::copy_pipeline<queue_timelines>>(job, timelines);
}

struct row {
  const char* who;
  std::size_t threads;  // that run coroutines; 0: the engines are threads
  pipeline::repetitions times;
};

void measure(copy_job& job, std::size_t rounds, std::vector<row>& rows) {
  for (std::size_t round = 0; round <= rounds; ++round) {
    for (row& each : rows) {
      queue_timelines timelines;
      const double seconds =
          each.threads == 0 ? copy_by_threads(job) : copy_by_coroutines(job, timelines, each.threads);
      if (round != 0) each.times.add(seconds);  // the first round does not count
    }
  }
}

void run(const coroutines::options& options) {
  for (const std::string& trace : options.traces) {
    support::refuse_same_file(trace, *options.input);
    if (options.output) support::refuse_same_file(trace, *options.output);
  }
  copy_job job{.input = support::open_input(*options.input),
               .output = support::output_file(options.output),
               .ring = {options.ring_length, options.block_size}};
  if (job.output.is_device()) throw support::usage_error("--out: a device can not be read back");
  support::trace_files traces(options.traces);

  std::vector<row> rows{{"coroutines, 1 thread", 1, {}},
                        {"coroutines, 2 threads", 2, {}},
                        {"3 threads, which wait by themselves", 0, {}}};
  measure(job, options.rounds, rows);
  if (traces.are_wanted()) {
    queue_timelines timelines;
    static_cast<void>(copy_by_coroutines(job, timelines, options.threads));
    traces.write(timelines.collect());
  }
  job.output.publish();
  traces.publish();

  std::printf("input     %s, %" PRIu64 " bytes\n", job.input.name().c_str(), job.bytes);
  std::printf("output    %s\n", job.output.description().c_str());
  std::printf("checksum  %016" PRIx64 " (FNV-1a, 64 bits)\n", job.checksum);
  std::printf("verified  %" PRIu64 " copies, each identical to the input byte for byte\n", job.copies);
  for (const row& each : rows) {
    const auto speed = [&](double seconds) { return static_cast<double>(job.bytes) / 1e6 / seconds; };
    std::printf("speed     %-36s %8.1f MB/s (%.1f to %.1f)\n", each.who, speed(each.times.median()),
                speed(each.times.greatest()), speed(each.times.least()));
  }
  traces.report();
}

/// The file that is copied when none is named.
#ifdef TIDEMARK_DEMO_INPUT
constexpr const char* default_input = TIDEMARK_DEMO_INPUT;
#else
constexpr const char* default_input = "";
#endif

}  // namespace

int main(int argc, char** argv) {
  return support::run_main("coroutines", [&] {
    coroutines::options options = coroutines::parse_options({argv + 1, argv + argc});
    if (options.help) {
      std::fputs(coroutines::help_text, stdout);
      if (*default_input != '\0') std::printf("\nINPUT is %s if none is given.\n", default_input);
      return 0;
    }
    if (!options.input) options.input = default_input;
    if (options.input->empty()) throw coroutines::usage_error("no input is given");
    run(options);
    return 0;
  });
}
