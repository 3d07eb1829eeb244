// SPDX-License-Identifier: BSL-1.0
//
// The lists of pages that callers hand in. <ranges> has a concept for them, and 3,500 lines.
#ifndef TIDEMARK_MEMORY_DETAIL_PAGE_LIST_HPP
#define TIDEMARK_MEMORY_DETAIL_PAGE_LIST_HPP

#include <concepts>
#include <cstddef>
#include <iterator>

namespace tidemark::detail {

/// A range that knows its size, and can be iterated as const.
template <class List>
concept page_list = requires(const List& list) {
  std::begin(list);
  std::end(list);
  { std::size(list) } -> std::convertible_to<std::size_t>;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_PAGE_LIST_HPP
