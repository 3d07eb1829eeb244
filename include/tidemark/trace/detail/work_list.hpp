// SPDX-License-Identifier: BSL-1.0
//
// Spans of work that a trace has received. Each name is kept once.
#ifndef TIDEMARK_TRACE_DETAIL_WORK_LIST_HPP
#define TIDEMARK_TRACE_DETAIL_WORK_LIST_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../../log/ids.hpp"

namespace tidemark::detail {

/// For one thread at a time.
class work_list {
 public:
  struct span {
    queue_id queue;
    std::uint32_t name;  ///< index into names()
    std::uint64_t begin;
    std::uint64_t end;
  };

  void add(queue_id queue, std::string_view name, std::uint64_t begin, std::uint64_t end) {
    auto found = names_.find(name);
    if (found == names_.end()) found = names_.emplace(name, static_cast<std::uint32_t>(names_.size())).first;
    spans_.push_back({queue, found->second, begin, end});
  }

  const std::vector<span>& spans() const noexcept { return spans_; }

  /// Returns the names, by their numbers. Their characters stay as long as the list.
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> result(names_.size());
    for (const auto& [name, number] : names_) result[number] = name;
    return result;
  }

 private:
  /// Not std::less<>, whose header is ten times as long as ours.
  struct by_characters {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const noexcept { return a < b; }
  };

  std::map<std::string, std::uint32_t, by_characters> names_;
  std::vector<span> spans_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_WORK_LIST_HPP
