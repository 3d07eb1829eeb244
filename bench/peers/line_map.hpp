// SPDX-License-Identifier: BSL-1.0
//
// What one writes by hand instead of a coherency tracker: a map from the first line of each run to its state. The same
// questions and the same answers, of lines instead of bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>

namespace bench {

template <class Cache, class View>
class line_map {
 public:
  line_map(std::uint64_t lines, View finished, Cache cache) : lines_{lines}, finished_{finished}, cache_{cache} {
    runs_.try_emplace(0);
  }

  std::optional<std::uint64_t> before_cpu_write(std::uint64_t first, std::uint64_t end) {
    std::uint64_t awaited = 0;
    for (auto run = std::prev(runs_.upper_bound(first)); run != runs_.end() && run->first < end; ++run) {
      awaited = std::max({awaited, run->second.written_until, run->second.read_until});
    }
    if (!finished_.is_reached(awaited)) return awaited;
    change(first, end, [this](auto run, auto next) {
      if (run->second.is_stale) cache_.invalidate(run->first, length(run, next));
      run->second.is_stale = false;
      run->second.is_dirty = true;
    });
    return {};
  }
  void before_device_read(std::uint64_t first, std::uint64_t end, std::uint64_t finished) {
    change(first, end, [&](auto run, auto next) {
      if (run->second.is_dirty) cache_.write_back(run->first, length(run, next));
      run->second.is_dirty = false;
      run->second.read_until = std::max(run->second.read_until, finished);
    });
  }
  std::size_t runs() const { return runs_.size(); }

 private:
  struct state {
    bool is_dirty = false;
    bool is_stale = false;
    std::uint64_t written_until = 0;
    std::uint64_t read_until = 0;

    bool operator==(const state&) const = default;
  };
  using map = std::map<std::uint64_t, state>;

  std::uint64_t length(typename map::iterator run, typename map::iterator next) const {
    return (next == runs_.end() ? lines_ : next->first) - run->first;
  }
  typename map::iterator split(std::uint64_t line) {
    if (line == lines_) return runs_.end();
    const auto behind = runs_.upper_bound(line);
    const auto run = std::prev(behind);
    return run->first == line ? run : runs_.emplace_hint(behind, line, run->second);
  }
  template <class Body>
  void change(std::uint64_t first, std::uint64_t end, const Body& body) {
    const auto from = split(first);
    const auto to = split(end);
    for (auto run = from; run != to; ++run) {
      body(run, std::next(run));
      if (finished_.is_reached(run->second.written_until)) run->second.written_until = 0;
      if (finished_.is_reached(run->second.read_until)) run->second.read_until = 0;
    }
    auto run = from == runs_.begin() ? from : std::prev(from);
    for (auto next = std::next(run); next != runs_.end(); next = std::next(run)) {
      const bool is_last = next == to;
      if (run->second == next->second) {
        runs_.erase(next);
      } else {
        run = next;
      }
      if (is_last) break;
    }
  }

  const std::uint64_t lines_;
  const View finished_;
  Cache cache_;
  map runs_;
};

}  // namespace bench
