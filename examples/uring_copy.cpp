// SPDX-License-Identifier: BSL-1.0
// Copies a folder with io_uring. The kernel is the asynchronous executor: it has many reads and writes at a time, and
// two fences tell how far both are. Staging buffers come back by fence value; nothing else orders reads and writes.
//
// How is in uring_copy/copy_engines.hpp. This file opens, runs, compares and reports. Exit status: 0 if the copy is
// complete, 1 if not, 2 if the command line is wrong, 77 if the kernel refuses io_uring.

#include "uring_copy/copy_engines.hpp"
#include "uring_copy/file_tree.hpp"
#include "uring_copy/kernel_ring.hpp"
#include "uring_copy/options.hpp"

#include "support/command_line.hpp"
#include "support/engine_queues.hpp"
#include "support/files.hpp"
#include "support/trace_files.hpp"

#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>

namespace {

constexpr int refused_status = 77;

void report(const uring_copy::options& options, const uring_copy::file_tree& source, support::engine_queues& queues,
            double seconds) {
  const double bytes = static_cast<double>(source.bytes);
  const double signals = static_cast<double>(queues.signal_count());
  const double silent = signals - static_cast<double>(queues.notify_count());
  std::printf("source    %s: %zu files, %zu folders, %zu links, %" PRIu64 " bytes\n", options.source.c_str(),
              source.files.size(), source.folders.size(), source.links.size(), source.bytes);
  std::printf("copy      %s\n", options.copy.c_str());
  std::printf("engines   reads, writes: an io_uring each; %zu buffers, blocks of %zu bytes\n", options.buffers,
              options.block_size);
  std::printf("speed     %.1f MB/s, %.3f s\n", bytes / 1e6 / seconds, seconds);
  std::printf("signals   %" PRIu64 ", %" PRIu64 " notifications: %.2f %% of the signals needed none\n",
              queues.signal_count(), queues.notify_count(), signals > 0 ? 100 * silent / signals : 100.0);
  std::printf("verified  %s\n",
              options.verify ? "yes: read again, identical byte for byte" : "not asked for, see --verify");
}

void run(const uring_copy::options& options) {
  for (const std::string& trace : options.traces) support::refuse_same_file(trace, options.copy);
  const uring_copy::file_tree source = uring_copy::examine(options.source);
  support::trace_files traces(options.traces);
  uring_copy::staging_buffers buffers(options.buffers, options.block_size);
  support::engine_queues queues({{"reads", "blocks read"}, {"writes", "blocks written"}}, traces.are_wanted());
  (void)uring_copy::kernel_ring{1};  // where io_uring is refused this throws, and nothing has been created yet
  uring_copy::new_tree copy(options.copy);
  copy.make_folders(source);

  const auto start = std::chrono::steady_clock::now();
  uring_copy::copy_engines(source, copy.path(), queues, buffers).run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;

  copy.make_links_and_set_modes(source);
  if (options.verify) uring_copy::compare(source, copy.path());
  if (traces.are_wanted()) traces.write(queues.collect());
  copy.publish(source);
  traces.publish();

  report(options, source, queues, elapsed.count());
  traces.report();
  support::finish_report();
}

}  // namespace

int main(int argc, char** argv) {
  support::survive_file_size_limit();
  return support::run_main("uring_copy", [&] {
    const uring_copy::options options = uring_copy::parse_options({argv + 1, argv + argc});
    if (options.help) return std::fputs(uring_copy::help_text, stdout) < 0 ? 1 : 0;
    try {
      run(options);
    } catch (const uring_copy::refused& error) {
      std::fprintf(stderr, "uring_copy: %s: nothing was copied\n", error.what());
      return refused_status;
    }
    return 0;
  });
}
