// SPDX-License-Identifier: BSL-1.0
// Several threads record a picture, as programs with deferred contexts do: each in a context of its own, against the
// same textures, which each of them writes for itself. An engine executes what they have recorded. The picture is the
// one that a single thread draws straight on, byte for byte; if one recording runs out of memory, only its tiles are
// missing.
//
// The recording is in parallel_record/recorder.hpp, threads and engine in painting.hpp, and what is drawn in scene.hpp,
// textures.hpp and drawing.hpp. This file runs them, compares and reports. Exit status: 0 if the picture is right, 1 if
// not, 2 if the command line is wrong.

#include "parallel_record/comparison.hpp"
#include "parallel_record/options.hpp"
#include "parallel_record/painting.hpp"
#include "parallel_record/png_file.hpp"
#include "parallel_record/scene.hpp"
#include "parallel_record/straight.hpp"
#include "support/command_line.hpp"
#include "support/files.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>

namespace {

using parallel_record::options;
using parallel_record::painting;
using parallel_record::scene;

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::size_t number_of_missing_tiles(const scene& of, const painting& made) {
  std::size_t count = 0;
  for (std::size_t part = 0; part < of.parts(); ++part) {
    if (made.is_missing(part)) count += of.first_tile(part + 1) - of.first_tile(part);
  }
  return count;
}

void report_failure(const scene& of, const painting& made) {
  std::printf("failed    context 1 got no memory for its record %zu, and the recording was removed\n",
              *made.memory_of(0).failed_at);
  std::printf("missing  ");
  for (std::size_t part = 0; part < of.parts(); ++part) {
    if (!made.is_missing(part)) continue;
    for (std::size_t tile = of.first_tile(part); tile < of.first_tile(part + 1); ++tile) {
      std::printf(" %s", parallel_record::name_of_tile(of, tile).c_str());
    }
  }
  std::printf("\n");
}

void report(const options& chosen, const scene& of, const painting& made, const std::string& file, std::size_t bytes,
            double seconds, std::optional<double> straight_seconds) {
  const std::size_t missing = number_of_missing_tiles(of, made);
  const parallel_record::recorder::counts counts = made.counted();
  std::printf("picture   %s: %d x %d pixels, %zu bytes\n", file.c_str(), of.width(), of.height(), bytes);
  std::printf("tiles     %zu of %zu\n", of.tiles() - missing, of.tiles());
  std::printf("lists     %zu, recorded by %zu thread%s\n", of.parts() - (missing == 0 ? 0 : 1), chosen.threads,
              chosen.threads == 1 ? "" : "s");
  std::printf("commands  %zu; %zu that change no state were left out\n", made.commands(), counts.left_out);
  std::printf("renames   %zu, in %zu backings of 4 textures\n", counts.renames, made.backings());
  std::printf("memory    %zu KiB of textures, at most %zu KiB of lists\n", made.backing_bytes() / 1024,
              (made.list_bytes() + 1023) / 1024);
  if (chosen.fail_after) report_failure(of, made);
  if (!straight_seconds) {
    std::printf("time      %.3f s\n", seconds);
    return;
  }
  std::printf("verified  %s the same bytes as one thread draws straight on\n",
              missing == 0 ? "all tiles have" : "all other tiles have");
  std::printf("time      %.3f s; one thread straight on %.3f s: %.2f times as fast\n", seconds, *straight_seconds,
              *straight_seconds / seconds);
}

/// Writes the picture, and reads it back. Returns the size of the file.
std::size_t write_picture(const parallel_record::picture& drawn, support::open_file& file) {
  const std::size_t bytes = parallel_record::write_png(drawn, file);
  const auto pixels = parallel_record::read_png(file, drawn, bytes);
  if (!std::equal(pixels.begin(), pixels.end(), drawn.bytes().begin(), drawn.bytes().end())) {
    throw std::runtime_error("the file has another picture");
  }
  return bytes;
}

void run(const options& chosen) {
  support::output_file file(chosen.out);
  if (file.is_device()) throw support::usage_error("--out: a device can not be read back");
  const scene drawn(chosen.width, chosen.height, chosen.tile_size, chosen.tiles_of_list);

  painting made(drawn, chosen);
  const double seconds = seconds_of([&] { made.run(); });
  parallel_record::expect_removals(chosen, drawn, made);

  std::optional<double> straight_seconds;
  if (chosen.compare) {
    parallel_record::straight_drawing straight(drawn);
    straight_seconds = seconds_of([&] { straight.run(); });
    parallel_record::compare_picture(drawn, made, &straight.result());
  } else {
    parallel_record::compare_picture(drawn, made, nullptr);
  }
  parallel_record::compare_sheet(drawn, made);
  const std::size_t bytes = write_picture(made.result(), file.file());
  file.publish();

  report(chosen, drawn, made, file.description(), bytes, seconds, straight_seconds);
  support::finish_report();
}

}  // namespace

int main(int argc, char** argv) {
  support::survive_file_size_limit();
  return support::run_main("parallel_record", [&] {
    const options chosen = parallel_record::parse_options({argv + 1, argv + argc});
    if (chosen.help) return std::fputs(parallel_record::help_text, stdout) < 0 ? 1 : 0;
    run(chosen);
    return 0;
  });
}
