// SPDX-License-Identifier: BSL-1.0
//
// line_runs: the runs of lines that a coherency tracker keeps apart. They are in order and without gaps; each run goes
// up to the first line of the next one.
//
//   line 0: [run run run ...)   line 96: [run run ...)   line 4711: [run run run run ...)
//
// Runs lie in chunks of at most 32, and the chunks in a map, by the first line of their first run. A vector of all runs
// would move every run behind one that is made or joined. A map of single runs would allocate for each run, and miss
// the cache at each step. Here an access searches the chunks, and moves runs only within the chunks that it touches.
//
// Invariant: the first run begins at line 0; no chunk is empty; its key is the first line of its first run.
//
// Not promised: thread-safety.
#ifndef TIDEMARK_MEMORY_DETAIL_LINE_RUNS_HPP
#define TIDEMARK_MEMORY_DETAIL_LINE_RUNS_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <type_traits>
#include <utility>

namespace tidemark::detail {

/// Lines [first, end).
struct line_range {
  std::uint64_t first;
  std::uint64_t end;
};

/// \tparam Run  has a line `first`, and says with `is_like(other)` whether two neighbours may be one
template <class Run>
class line_runs {
  static_assert(std::is_trivially_copyable_v<Run>, "a run is moved without a chance to fail");

  static constexpr std::size_t most_in_chunk = 32;
  struct chunk {
    std::array<Run, most_in_chunk> runs{};
    std::size_t count = 0;

    /// Returns the index of the run that has this line. The line must not be before the first run.
    std::size_t index_of(std::uint64_t line) const noexcept {
      const auto end = runs.begin() + static_cast<std::ptrdiff_t>(count);
      const auto behind = std::upper_bound(runs.begin(), end, line,
                                           [](std::uint64_t wanted, const Run& one) { return wanted < one.first; });
      return static_cast<std::size_t>(behind - runs.begin()) - 1;
    }
    /// Moves the runs from index `from` on to index `to`.
    void shift(std::size_t from, std::size_t to) noexcept {
      const auto at = [this](std::size_t index) { return runs.begin() + static_cast<std::ptrdiff_t>(index); };
      to < from ? void(std::copy(at(from), at(count), at(to)))
                : void(std::copy_backward(at(from), at(count), at(count + to - from)));
      count = count + to - from;
    }
  };
  using chunk_map = std::map<std::uint64_t, chunk>;
  using iterator = typename chunk_map::iterator;

 public:
  /// Where a run is; valid until runs are made or joined.
  struct position {
    iterator at;
    std::size_t index;
  };

  /// Makes one run of all lines.
  explicit line_runs(std::uint64_t count) : lines_{count} { chunks_[0].count = 1; }

  std::size_t size() const noexcept { return size_; }
  std::uint64_t line_count() const noexcept { return lines_; }

  /// Returns where the run is that has this line.
  position find(std::uint64_t line) noexcept {
    const iterator at = std::prev(chunks_.upper_bound(line));
    return {at, at->second.index_of(line)};
  }

  /// Calls `body(run, its lines)` for each run from a position on that begins before the line `end`.
  template <class Body>
  void for_each(position from, std::uint64_t end, const Body& body) {
    for (iterator at = from.at; at != chunks_.end(); ++at) {
      chunk& here = at->second;
      for (std::size_t i = at == from.at ? from.index : 0; i < here.count; ++i) {
        if (here.runs[i].first >= end) return;
        body(here.runs[i], line_range{here.runs[i].first, end_of(at, i)});
      }
    }
  }

  /// Makes runs begin and end where the range does. Returns where the first run of the range is. Where it throws, it
  /// makes no run.
  /// \param from  where the run is that has the first line of the range
  position cut(position from, const line_range& range) {
    position last = from;
    for (position next = behind(last); next.at != chunks_.end() && run_of(next).first < range.end;
         next = behind(last)) {
      last = next;
    }
    const bool ends_within = range.end < end_of(last.at, last.index);
    // Room for both before either is made, so that nothing throws in between.
    if (ends_within) make_room(last, from);
    if (run_of(from).first < range.first) make_room(from, last);
    if (ends_within) begin_run(last, range.end);
    return run_of(from).first < range.first ? begin_run(from, range.first) : from;
  }

  /// Joins neighbours that are alike: from the run before `from` up to the run that begins at the line `end`.
  void join(position from, std::uint64_t end) noexcept {
    iterator at = from.at;
    std::size_t index = from.index;
    bool is_last = false;
    const std::size_t before = size_;
    while (at != chunks_.end() && !is_last) {
      chunk& here = at->second;
      const Run* kept = index > 0 ? &here.runs[index - 1] : last_before(at);
      std::size_t stays = index;
      for (; index < here.count && !is_last; ++index) {
        const Run one = here.runs[index];
        is_last = one.first >= end;
        if (kept != nullptr && one.is_like(*kept)) continue;
        here.runs[stays] = one;
        kept = &here.runs[stays++];
      }
      size_ -= index - stays;
      here.shift(index, stays);
      at = stays < index ? settle(at) : std::next(at);
      index = 0;
    }
    if (size_ < before && at != chunks_.end()) merge_with_previous(at);
  }

 private:
  std::uint64_t end_of(iterator at, std::size_t index) const noexcept {
    if (index + 1 < at->second.count) return at->second.runs[index + 1].first;
    const auto next = std::next(at);
    return next == chunks_.end() ? lines_ : next->first;
  }
  const Run* last_before(iterator at) const noexcept {
    if (at == chunks_.begin()) return nullptr;
    const chunk& before = std::prev(at)->second;
    return &before.runs[before.count - 1];
  }

  static Run& run_of(const position& of) noexcept { return of.at->second.runs[of.index]; }
  static position behind(const position& of) noexcept {
    if (of.index + 1 < of.at->second.count) return {of.at, of.index + 1};
    return {std::next(of.at), 0};
  }

  /// Makes room for two more runs in the chunk of `one`. No run is changed, and both positions still mean the same
  /// runs.
  void make_room(position& one, position& other) {
    const iterator at = one.at;
    chunk& full = at->second;
    if (full.count + 2 <= most_in_chunk) return;
    const std::size_t half = full.count / 2;
    const iterator added = chunks_.try_emplace(std::next(at), full.runs[half].first);
    std::copy(full.runs.begin() + static_cast<std::ptrdiff_t>(half),
              full.runs.begin() + static_cast<std::ptrdiff_t>(full.count), added->second.runs.begin());
    added->second.count = full.count - half;
    full.count = half;
    for (position* each : {&one, &other}) {
      if (each->at == at && each->index >= half) *each = {added, each->index - half};
    }
  }

  /// Ends a run before one of its lines, which is not its first one. A run that is like it begins there. Returns where
  /// that is.
  position begin_run(const position& before, std::uint64_t line) noexcept {
    chunk& here = before.at->second;
    here.shift(before.index, before.index + 1);
    here.runs[before.index + 1].first = line;
    ++size_;
    return {before.at, before.index + 1};
  }

  /// Mends the map after runs have left a chunk: corrects its key, or removes it where it is empty. Returns the next
  /// chunk.
  iterator settle(iterator at) noexcept {
    const iterator next = std::next(at);
    if (at->second.count == 0) return chunks_.erase(at);
    if (const std::uint64_t first = at->second.runs[0].first; first != at->first) {
      auto node = chunks_.extract(at);
      if (!node.empty()) node.key() = first;  // which it never is, but compilers warn
      at = chunks_.insert(next, std::move(node));
    }
    merge_with_previous(at);
    return next;
  }

  /// Merges only where the chunk is at most half full afterwards, so that chunks are not made and merged in turn.
  void merge_with_previous(iterator at) noexcept {
    if (at == chunks_.begin()) return;
    chunk& before = std::prev(at)->second;
    const chunk& here = at->second;
    if (before.count + here.count > most_in_chunk / 2) return;
    std::copy(here.runs.begin(), here.runs.begin() + static_cast<std::ptrdiff_t>(here.count),
              before.runs.begin() + static_cast<std::ptrdiff_t>(before.count));
    before.count += here.count;
    chunks_.erase(at);
  }

  std::uint64_t lines_;
  std::size_t size_ = 1;
  chunk_map chunks_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_LINE_RUNS_HPP
