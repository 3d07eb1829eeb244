// SPDX-License-Identifier: BSL-1.0
//
// The coherency tracker against a list that keeps each line by itself: the same lines are written back and invalidated,
// and the same value is named to wait for.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <tidemark/memory/coherency_tracker.hpp>

#include "input.hpp"

namespace {

using fuzz::require;

constexpr std::uint64_t line_bytes = 8;

struct recorded_lines {
  std::vector<std::uint64_t> written_back;
  std::vector<std::uint64_t> invalidated;

  friend bool operator==(const recorded_lines&, const recorded_lines&) = default;
};
struct recorder {
  recorded_lines* into;

  static void note(std::vector<std::uint64_t>& lines, std::uint64_t offset, std::uint64_t bytes) {
    require(offset % line_bytes == 0 && bytes % line_bytes == 0 && bytes > 0, "operations are of whole lines");
    for (std::uint64_t line = offset / line_bytes; line < (offset + bytes) / line_bytes; ++line) lines.push_back(line);
  }
  void write_back(std::uint64_t offset, std::uint64_t bytes) { note(into->written_back, offset, bytes); }
  void invalidate(std::uint64_t offset, std::uint64_t bytes) { note(into->invalidated, offset, bytes); }
};

struct line {
  bool is_dirty = false;
  bool is_stale = false;
  std::uint64_t written_until = 0;
  std::uint64_t read_until = 0;
};

enum use_kind { cpu_read, cpu_write, device_read, device_write };

/// Returns what the tracker should return, and notes the lines that need an operation.
tidemark::coherency_result use(std::vector<line>& lines, std::uint64_t first, std::uint64_t end, use_kind how,
                               std::uint64_t value, std::uint64_t now, recorded_lines& needed) {
  std::uint64_t awaited = 0;
  for (std::uint64_t i = first; i < end && how <= cpu_write; ++i) {
    awaited = std::max(awaited, lines[static_cast<std::size_t>(i)].written_until);
    if (how == cpu_write) awaited = std::max(awaited, lines[static_cast<std::size_t>(i)].read_until);
  }
  if (awaited > now) return {tidemark::coherency_status::busy, awaited};
  for (std::uint64_t i = first; i < end; ++i) {
    line& one = lines[static_cast<std::size_t>(i)];
    if (how <= cpu_write) {
      if (one.is_stale) needed.invalidated.push_back(i);
      one.is_stale = false;
      one.is_dirty = one.is_dirty || how == cpu_write;
    } else {
      if (one.is_dirty) needed.written_back.push_back(i);
      one.is_dirty = false;
      one.is_stale = one.is_stale || (how == device_write && !fuzz::model_is_broken);
      std::uint64_t& until = how == device_write ? one.written_until : one.read_until;
      until = std::max(until, value);
    }
  }
  return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input from{data, size};
  const std::uint64_t count = 1 + from.below(20);
  tidemark::progress_fence finished;
  recorded_lines seen;
  tidemark::coherency_tracker tracker{
      finished, {.bytes = count * line_bytes, .line_bytes = line_bytes}, recorder{&seen}};
  std::vector<line> lines(static_cast<std::size_t>(count));
  std::uint64_t now = 0;
  for (int step = 0; step < 100 && !from.is_empty(); ++step) {
    const std::uint64_t what = from.below(5);
    if (what == 4) {
      finished.signal(now += from.below(3));
      continue;
    }
    const auto how = static_cast<use_kind>(what);
    const std::uint64_t offset = from.below(count * line_bytes + 1);
    const std::uint64_t bytes = from.below(count * line_bytes - offset + 1);
    const std::uint64_t value = now + from.below(4);
    tidemark::coherency_result result;
    seen = {};
    if (how == cpu_read) result = tracker.try_prepare_cpu_read(offset, bytes);
    if (how == cpu_write) result = tracker.try_prepare_cpu_write(offset, bytes);
    if (how == device_read) tracker.prepare_device_read(offset, bytes, value);
    if (how == device_write) tracker.prepare_device_write(offset, bytes, value);
    recorded_lines needed;
    const std::uint64_t end = bytes == 0 ? 0 : (offset + bytes + line_bytes - 1) / line_bytes;
    const auto expected = use(lines, offset / line_bytes, end, how, value, now, needed);
    require(result == expected, "what there is to wait for");
    require(seen == needed, "which lines are written back and invalidated");
    require(tracker.runs() <= count, "there are no more runs than lines");
  }
  return 0;
}
