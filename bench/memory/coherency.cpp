// SPDX-License-Identifier: BSL-1.0
//
// What tracking costs where a processor and a device use memory in turn: one access of one line, in random order, in
// memory of so many runs.
//
//   access/<subject>/<runs>   every other line was written. In turn the processor writes a line between two written
//                             ones, which joins three runs, and the device reads that line, which makes three runs of
//                             them again
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>

#include <tidemark/fence/fence.hpp>
#include <tidemark/memory/coherency_tracker.hpp>

#include "peers/line_map.hpp"
#include "support/measure.hpp"

namespace {

using benchmark::State;

constexpr std::uint64_t line_bytes = 64;

struct counting_cache {
  std::uint64_t* lines_written_back;

  void write_back(std::uint64_t, std::uint64_t count) { *lines_written_back += count; }
  void invalidate(std::uint64_t, std::uint64_t) {}
};

class tracker {
 public:
  tracker(std::uint64_t lines, std::uint64_t& written_back)
      : tracker_{finished_.view(), {.bytes = lines * line_bytes}, {&written_back}} {}

  bool write(std::uint64_t line) {
    return static_cast<bool>(tracker_.try_prepare_cpu_write(line * line_bytes, line_bytes));
  }
  void read_by_device(std::uint64_t line) { tracker_.prepare_device_read(line * line_bytes, line_bytes, 0); }
  std::size_t runs() const { return tracker_.runs(); }

 private:
  tidemark::progress_fence finished_;
  tidemark::coherency_tracker<tidemark::progress_fence_view, counting_cache> tracker_;
};

class map {
 public:
  map(std::uint64_t lines, std::uint64_t& written_back) : map_{lines, finished_.view(), {&written_back}} {}

  bool write(std::uint64_t line) { return !map_.before_cpu_write(line, line + 1); }
  void read_by_device(std::uint64_t line) { map_.before_device_read(line, line + 1, 0); }
  std::size_t runs() const { return map_.runs(); }

 private:
  tidemark::progress_fence finished_;
  bench::line_map<counting_cache, tidemark::progress_fence_view> map_;
};

/// Well mixed, so that no access is near the one before.
std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

template <class Subject>
void access(State& state, std::uint64_t lines) {
  std::uint64_t written_back = 0;
  Subject subject{lines, written_back};
  bool is_right = true;
  for (std::uint64_t line = 1; line < lines; line += 2) is_right = subject.write(line) && is_right;
  is_right = is_right && subject.runs() == lines;
  // Not unrolled: an access takes hundreds of cycles, and 16 copies of all that it calls are 200 KB of code, which a
  // compiler needs minutes for.
  bench::measure_blocks<1>(state, [&](std::uint64_t value) {
    const std::uint64_t line = mixed(value / 2) % (lines / 2) * 2;
    if (value % 2 == 0) {
      is_right = subject.write(line) && is_right;
    } else {
      subject.read_by_device(line);
    }
  });
  if (!is_right || subject.runs() < lines - 2 || written_back == 0) {
    state.SkipWithError("not every operation did what is measured");
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (const std::uint64_t runs : {16u, 1'024u, 128'000u}) {
    std::string variant{'/'};
    variant += std::to_string(runs);
    bench::row("access/coherency_tracker" + variant, access<tracker>, runs)->Iterations(500);
    bench::row("access/map" + variant, access<map>, runs)->Iterations(500);
  }
  return bench::run_all(argc, argv);
}
