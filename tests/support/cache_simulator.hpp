// SPDX-License-Identifier: BSL-1.0
//
// Memory behind a cache that the device does not look into: lines come in when they are touched, or for no reason, and
// go out when they like. Who leaves out a cache operation reads old bytes here.
#ifndef TIDEMARK_TESTS_SUPPORT_CACHE_SIMULATOR_HPP
#define TIDEMARK_TESTS_SUPPORT_CACHE_SIMULATOR_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace testing {

class cache_simulator {
 public:
  cache_simulator(std::uint64_t lines, std::uint64_t line_bytes)
      : line_bytes_{line_bytes},
        memory_(static_cast<std::size_t>(lines * line_bytes)),
        cached_(static_cast<std::size_t>(lines)) {}

  std::uint64_t lines() const { return cached_.size(); }

  // ---- the processor ----
  std::uint8_t cpu_read(std::uint64_t offset) {
    fetch(offset / line_bytes_);
    return cached_[static_cast<std::size_t>(offset / line_bytes_)]
        ->bytes[static_cast<std::size_t>(offset % line_bytes_)];
  }
  void cpu_write(std::uint64_t offset, std::uint8_t value) {
    fetch(offset / line_bytes_);
    cached_[static_cast<std::size_t>(offset / line_bytes_)]->bytes[static_cast<std::size_t>(offset % line_bytes_)] =
        value;
    cached_[static_cast<std::size_t>(offset / line_bytes_)]->is_dirty = true;
  }
  /// Also without being asked: a speculative fill.
  void fetch(std::uint64_t line) {
    if (cached_[static_cast<std::size_t>(line)]) return;
    const auto from = memory_.begin() + static_cast<std::ptrdiff_t>(line * line_bytes_);
    cached_[static_cast<std::size_t>(line)] = {{from, from + static_cast<std::ptrdiff_t>(line_bytes_)}, false};
  }
  void evict(std::uint64_t line) {
    clean(line);
    cached_[static_cast<std::size_t>(line)].reset();
  }

  // ---- the device ----
  std::uint8_t device_read(std::uint64_t offset) const { return memory_[static_cast<std::size_t>(offset)]; }
  void device_write(std::uint64_t offset, std::uint8_t value) { memory_[static_cast<std::size_t>(offset)] = value; }

  // ---- what a tracker asks for: "W" or "I", first line, number of lines ----
  void write_back(std::uint64_t offset, std::uint64_t bytes) {
    note('W', offset, bytes);
    if (ignores_write_back) return;
    for (std::uint64_t line = offset / line_bytes_; line < (offset + bytes) / line_bytes_; ++line) clean(line);
  }
  void invalidate(std::uint64_t offset, std::uint64_t bytes) {
    note('I', offset, bytes);
    if (ignores_invalidate) return;
    for (std::uint64_t line = offset / line_bytes_; line < (offset + bytes) / line_bytes_; ++line) evict(line);
  }
  std::string take_log() { return std::exchange(log_, {}); }
  bool was_misaligned() const { return was_misaligned_; }

  bool ignores_write_back = false;
  bool ignores_invalidate = false;

 private:
  struct cached_line {
    std::vector<std::uint8_t> bytes;
    bool is_dirty = false;
  };

  void clean(std::uint64_t line) {
    if (!cached_[static_cast<std::size_t>(line)] || !cached_[static_cast<std::size_t>(line)]->is_dirty) return;
    std::copy(cached_[static_cast<std::size_t>(line)]->bytes.begin(),
              cached_[static_cast<std::size_t>(line)]->bytes.end(),
              memory_.begin() + static_cast<std::ptrdiff_t>(line * line_bytes_));
    cached_[static_cast<std::size_t>(line)]->is_dirty = false;
  }
  void note(char what, std::uint64_t offset, std::uint64_t bytes) {
    was_misaligned_ = was_misaligned_ || offset % line_bytes_ != 0 || bytes % line_bytes_ != 0 || bytes == 0;
    if (!log_.empty()) log_ += ' ';
    log_ += what + std::to_string(offset / line_bytes_) + '+' + std::to_string(bytes / line_bytes_);
  }

  std::uint64_t line_bytes_;
  std::vector<std::uint8_t> memory_;
  std::vector<std::optional<cached_line>> cached_;
  std::string log_;
  bool was_misaligned_ = false;
};

/// What a tracker has instead of a cache: a name for one.
struct simulated_cache {
  cache_simulator* simulator;

  void write_back(std::uint64_t offset, std::uint64_t bytes) { simulator->write_back(offset, bytes); }
  void invalidate(std::uint64_t offset, std::uint64_t bytes) { simulator->invalidate(offset, bytes); }
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_CACHE_SIMULATOR_HPP
