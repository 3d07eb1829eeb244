// SPDX-License-Identifier: BSL-1.0
//
// span_lanes: gives spans of time lanes, so that of two spans in one lane either one lies within the other, or they
// have no time in common. Readers of traces draw no other ones in one lane.
#ifndef TIDEMARK_TRACE_DETAIL_SPAN_LANES_HPP
#define TIDEMARK_TRACE_DETAIL_SPAN_LANES_HPP

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace tidemark::detail {

class span_lanes {
 public:
  /// Returns the lane of a span: that of the shortest open span that it lies in; if there is none, the first lane
  /// without an open span. Spans must come in the order of their begins, and of those with one begin the longest first.
  /// O(log n) in the number of lanes, and O(log n) once more when the span ends.
  /// \param end  greater than `begin`; that time itself is outside
  std::size_t place(std::uint64_t begin, std::uint64_t end) {
    close(begin);
    const std::size_t lane = take(end);
    open_[lane].push_back(end);
    innermost_.emplace(end, lane);
    return lane;
  }
  /// Returns how many lanes there are.
  std::size_t size() const noexcept { return open_.size(); }

 private:
  /// Takes out what has ended.
  void close(std::uint64_t now) {
    while (!innermost_.empty() && innermost_.begin()->first <= now) {
      const std::size_t lane = innermost_.begin()->second;
      innermost_.erase(innermost_.begin());
      open_[lane].pop_back();
      if (open_[lane].empty()) {
        free_.insert(lane);
      } else {
        innermost_.emplace(open_[lane].back(), lane);
      }
    }
  }

  std::size_t take(std::uint64_t end) {
    if (const auto around = innermost_.lower_bound({end, 0}); around != innermost_.end()) {
      const std::size_t lane = around->second;
      innermost_.erase(around);
      return lane;
    }
    if (!free_.empty()) {
      const std::size_t lane = *free_.begin();
      free_.erase(free_.begin());
      return lane;
    }
    open_.emplace_back();
    return open_.size() - 1;
  }

  std::vector<std::vector<std::uint64_t>> open_;               // by lane: the ends of open spans, each within the last
  std::set<std::pair<std::uint64_t, std::size_t>> innermost_;  // end and lane of the innermost open span of each lane
  std::set<std::size_t> free_;                                 // the lanes without an open span
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_SPAN_LANES_HPP
