// SPDX-License-Identifier: BSL-1.0
//
// block_table: where a context has its blocks. It is indexed by the numbers of objects, and made of pages, which are
// allocated when they are needed first.
//
//   links   one for each page; at first all of them name `none`, a page without blocks that all tables share
//   entry   the block, and the id of its object as a number; 0: there is no block. Then the context's thread may keep
//           something else in its place
//
// The context's thread adds pages and writes entries. The thread that destroys an object clears the object's entry,
// which the context does not use any more then. So links are atomic, because that thread reads them while the context
// adds other pages, and entries need not be.
#ifndef TIDEMARK_CONTEXT_DETAIL_BLOCK_TABLE_HPP
#define TIDEMARK_CONTEXT_DETAIL_BLOCK_TABLE_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "../../platform/platform.hpp"
#include "source_array.hpp"

namespace tidemark::detail {

template <platform Platform, std::size_t ObjectsPerPage>
class block_table {
  template <class T>
  using var = typename Platform::template var<T>;

 public:
  struct entry {
    var<void*> block;
    var<std::uint64_t> id;

    /// Returns the block if it is that object's; otherwise null.
    void* block_of(std::uint64_t object) const noexcept {
      if (id.load() != object) return nullptr;
      return block.load();
    }
    void clear() noexcept {
      block.store(nullptr);
      id.store(0);
    }
  };
  using page = std::array<entry, ObjectsPerPage>;
  using link = typename Platform::template atomic<page*>;

  static constexpr std::size_t pages_for(std::size_t objects) noexcept {
    return objects / ObjectsPerPage + (objects % ObjectsPerPage != 0 ? 1 : 0);
  }

  /// \param links  one for each page, which name `none`
  /// \param none   a page without blocks
  block_table(link* links, std::size_t pages, page* none) noexcept : links_{links}, pages_{pages}, none_{none} {}

  /// Returns the entry of an object; without a block if its page was never added. The context's thread.
  static const entry& find(const link* links, std::uint32_t index) noexcept {
    // (CB1): relaxed alone: the context's thread reads what it has written.
    return (*links[index / ObjectsPerPage].load(std::memory_order_relaxed))[index % ObjectsPerPage];
  }
  const entry& find(std::uint32_t index) const noexcept { return find(links_, index); }

  /// Returns the entry of an object, to be written; null if there is no memory for its page. The context's thread.
  template <class Source>
  entry* add(std::uint32_t index, Source& source) noexcept {
    link& named = links_[index / ObjectsPerPage];
    // (CB2): relaxed alone, as (CB1).
    page* found = named.load(std::memory_order_relaxed);
    if (found == none_) {
      found = make_array<page>(source, 1);
      if (found == nullptr) return nullptr;
      // (CB3): release, pairs with (CB4): the entries of the page are there.
      named.store(found, std::memory_order_release);
    }
    return &(*found)[index % ObjectsPerPage];
  }

  /// Returns the entry of an object that the context does not use any more; null if there is no block. Any thread.
  entry* look(std::uint32_t index) noexcept {
    // (CB4): acquire, pairs with (CB3). Not stronger: the entry itself was handed over by the end of the recording.
    page* const found = links_[index / ObjectsPerPage].load(std::memory_order_acquire);
    entry& asked = (*found)[index % ObjectsPerPage];
    return asked.id.load() == 0 ? nullptr : &asked;
  }

  /// Calls `body(index, entry)` for each block. For the only thread that uses the table.
  template <class Body>
  void for_each(const Body& body) noexcept {
    for (std::size_t at = 0; at < pages_; ++at) {
      // (CB5): relaxed alone: the caller is alone with the table, which was handed over to it.
      page* const found = links_[at].load(std::memory_order_relaxed);
      if (found == none_) continue;
      for (std::size_t i = 0; i < ObjectsPerPage; ++i) {
        if ((*found)[i].id.load() != 0) body(static_cast<std::uint32_t>(at * ObjectsPerPage + i), (*found)[i]);
      }
    }
  }

  /// Gives the pages back, whose entries must have no blocks. Other threads may look for objects without blocks here
  /// only if the caller serves them one after the other.
  template <class Source>
  void clear(Source& source) noexcept {
    for (std::size_t at = 0; at < pages_; ++at) {
      // (CB6): relaxed alone, as (CB5).
      page* const found = links_[at].load(std::memory_order_relaxed);
      if (found == none_) continue;
      // (CB7): relaxed alone: whoever reads it next is served later, or has opened the context anew.
      links_[at].store(none_, std::memory_order_relaxed);
      destroy_array(source, found, 1);
    }
  }

  const link* links() const noexcept { return links_; }

 private:
  link* const links_;
  const std::size_t pages_;
  page* const none_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_CONTEXT_DETAIL_BLOCK_TABLE_HPP
