// SPDX-License-Identifier: BSL-1.0
//
// Which signals raised the values of their fences: only these may have released a wait.
#ifndef TIDEMARK_TRACE_DETAIL_RISES_HPP
#define TIDEMARK_TRACE_DETAIL_RISES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "../../log/ids.hpp"

namespace tidemark::detail {

/// A signal, which is to raise the value of its fence. `command` is the number by which the owner knows it.
struct rise {
  fence_id fence;
  std::uint64_t value;
  std::uint64_t time;
  std::size_t command;
};

/// Returns the signals that raised their fences, sorted by fence and value. Of the signals with a time, taken in the
/// order of time, these are the ones that exceed all before them. A signal without a time counts if no other one has
/// its value.
inline std::vector<rise> only_rises(std::vector<rise> all) {
  std::sort(all.begin(), all.end(), [](const rise& a, const rise& b) {
    return std::tie(a.fence, a.time, a.value, a.command) < std::tie(b.fence, b.time, b.value, b.command);
  });
  const rise* highest = nullptr;
  const auto raises_nothing = [&](const rise& signal) {
    if (signal.time == 0) return false;
    if (highest != nullptr && highest->fence == signal.fence && highest->value >= signal.value) return true;
    highest = &signal;
    return false;
  };
  std::vector<rise> result;
  for (const rise& signal : all) {
    if (!raises_nothing(signal)) result.push_back(signal);
  }
  std::sort(result.begin(), result.end(), [](const rise& a, const rise& b) {
    const bool a_untimed = a.time == 0;
    const bool b_untimed = b.time == 0;
    return std::tie(a.fence, a.value, a_untimed, a.command) < std::tie(b.fence, b.value, b_untimed, b.command);
  });
  const auto same = [](const rise& a, const rise& b) { return a.fence == b.fence && a.value == b.value; };
  result.erase(std::unique(result.begin(), result.end(), same), result.end());
  return result;
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_RISES_HPP
