// SPDX-License-Identifier: BSL-1.0
//
// storage_parts: what a context_storage allocates once, when it is made.
#ifndef TIDEMARK_CONTEXT_DETAIL_STORAGE_PARTS_HPP
#define TIDEMARK_CONTEXT_DETAIL_STORAGE_PARTS_HPP

#include <algorithm>
#include <cstddef>
#include <new>

#include "../../platform/platform.hpp"
#include "context_slot.hpp"
#include "source_array.hpp"

namespace tidemark::detail {

/// \tparam Size       a kind of objects, and the bytes of its deferred blocks
/// \tparam Record     what is known of an object
/// \tparam Recording  what is known of the recordings of a context
template <platform Platform, class Source, std::size_t ObjectsPerPage, class Size, class Record, class Recording>
struct storage_parts {
  using slot = context_slot<Platform, Source, ObjectsPerPage>;
  using table = typename slot::table_type;
  using record_link = typename Platform::template var<Record*>;
  static constexpr std::size_t links_per_line = std::max<std::size_t>(1, cache_line / sizeof(typename table::link));

  /// Asks the maker for its sizes: how many, then which. Returns false if there is no memory, or if the second answer
  /// is not the number of the first.
  template <class Maker>
  bool make_sizes(const Maker& maker, Source& source) noexcept {
    size_count = maker.list_block_sizes({});
    room = std::max<std::size_t>(1, size_count);
    sizes = make_array<Size>(source, room);
    classes = make_array<std::size_t>(source, room);
    if (sizes == nullptr || classes == nullptr) return false;
    if (maker.list_block_sizes({sizes, size_count}) != size_count) return false;
    for (std::size_t i = 0; i < size_count; ++i) {
      const std::size_t bytes = sizes[i].total_bytes();
      if (std::find(classes, classes + class_count, bytes) == classes + class_count) classes[class_count++] = bytes;
    }
    return true;
  }

  /// Returns false if there is no memory.
  bool make_tables(std::size_t max_contexts, std::size_t max_objects, Source& source) noexcept {
    contexts = max_contexts;
    pages = table::pages_for(max_objects);
    none = make_array<typename table::page>(source, 1);
    links_of_each = (pages + links_per_line - 1) / links_per_line * links_per_line;
    links = make_array<typename table::link>(source, contexts * links_of_each, none);
    recordings = make_array<Recording>(source, contexts);
    record_pages = make_array<record_link>(source, pages);
    if (none == nullptr || links == nullptr || recordings == nullptr || record_pages == nullptr) return false;
    context_slots = allocate_array<slot>(source, contexts);
    if (context_slots == nullptr) return false;
    for (std::size_t i = 0; i < contexts; ++i) {
      ::new (static_cast<void*>(context_slots + i)) slot(links + i * links_of_each, pages, none);
    }
    return true;
  }

  /// Gives all of it back, or as much as was made.
  void destroy(Source& source) noexcept {
    destroy_array(source, context_slots, contexts);
    destroy_array(source, record_pages, pages);
    destroy_array(source, recordings, contexts);
    destroy_array(source, links, contexts * links_of_each);
    destroy_array(source, none, 1);
    destroy_array(source, classes, room);
    destroy_array(source, sizes, room);
  }

  Size* sizes = nullptr;
  std::size_t* classes = nullptr;  // the bytes that differ
  std::size_t room = 0;            // of both
  std::size_t size_count = 0;
  std::size_t class_count = 0;
  std::size_t contexts = 0;
  std::size_t pages = 0;  // of each context's table, and of the records
  typename table::page* none = nullptr;
  std::size_t links_of_each = 0;          // of a context: whole lines, at least one link for each page
  typename table::link* links = nullptr;  // of all contexts
  Recording* recordings = nullptr;        // one for each context
  record_link* record_pages = nullptr;
  slot* context_slots = nullptr;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_CONTEXT_DETAIL_STORAGE_PARTS_HPP
