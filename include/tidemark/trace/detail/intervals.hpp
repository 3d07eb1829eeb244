// SPDX-License-Identifier: BSL-1.0
//
// Spans of time, for the question whether something may have happened in one of them.
#ifndef TIDEMARK_TRACE_DETAIL_INTERVALS_HPP
#define TIDEMARK_TRACE_DETAIL_INTERVALS_HPP

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tidemark::detail {

/// From one time to another, both included. `from` must not be greater than `to`.
struct interval {
  std::uint64_t from;
  std::uint64_t to;
};

/// Returns disjoint intervals, rising, that cover the same times.
inline std::vector<interval> merged(std::vector<interval> intervals) {
  std::sort(intervals.begin(), intervals.end(), [](const interval& a, const interval& b) { return a.from < b.from; });
  std::vector<interval> result;
  for (const interval& next : intervals) {
    if (result.empty() || next.from > result.back().to) {
      result.push_back(next);
    } else {
      result.back().to = (std::max)(result.back().to, next.to);
    }
  }
  return result;
}

/// Returns whether one of the intervals, which must be disjoint and rising, has a time in common with `times`.
inline bool overlaps(const std::vector<interval>& intervals, interval times) {
  const auto ends_before = [](const interval& one, std::uint64_t time) { return one.to < time; };
  const auto found = std::lower_bound(intervals.begin(), intervals.end(), times.from, ends_before);
  return found != intervals.end() && found->from <= times.to;
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_INTERVALS_HPP
