// SPDX-License-Identifier: BSL-1.0
//
// context_slot: what a context_storage keeps for one context. A slot is used again when its context is closed.
//
//   table   where the blocks are
//   pools   one for each size class; null until the context creates its first block
#ifndef TIDEMARK_CONTEXT_DETAIL_CONTEXT_SLOT_HPP
#define TIDEMARK_CONTEXT_DETAIL_CONTEXT_SLOT_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "../../platform/platform.hpp"
#include "block_pool.hpp"
#include "block_table.hpp"
#include "source_array.hpp"
#include "turns.hpp"

namespace tidemark::detail {

template <platform Platform, class Source, std::size_t ObjectsPerPage>
class alignas(cache_line) context_slot : public teardown_request<Platform> {
 public:
  using pool = block_pool<Platform, Source>;
  using table_type = block_table<Platform, ObjectsPerPage>;

  /// The arguments are those of the table.
  context_slot(typename table_type::link* links, std::size_t pages, typename table_type::page* none) noexcept
      : teardown_request<Platform>{true}, table{links, pages, none} {}

  /// Returns whether the slot was free and is the caller's now. Any thread.
  bool open() noexcept {
    std::uint32_t expected = 0;
    // (CC1): acquire, pairs with (CC2): the new context finds the slot as it was left.
    return is_open_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void set_free() noexcept {
    // (CC2): release, pairs with (CC1).
    is_open_.store(0, std::memory_order_release);
  }
  bool was_open() const noexcept {
    // (CC3): relaxed alone, for noticing misuse.
    return is_open_.load(std::memory_order_relaxed) != 0;
  }

  /// Returns the pool of a size class; null if there is no memory for the pools. The context's thread.
  /// \param bytes  of all size classes
  pool* pool_of(std::uint32_t size_class, std::span<const std::size_t> bytes, Source& source) noexcept {
    pool* pools = pools_.load();
    if (pools == nullptr) {
      pools = allocate_array<pool>(source, bytes.size());
      if (pools == nullptr) return nullptr;
      for (std::size_t i = 0; i < bytes.size(); ++i) ::new (static_cast<void*>(pools + i)) pool(bytes[i]);
      pools_.store(pools);
    }
    return pools + size_class;
  }
  /// The same for a context that has a block of this size class. For the thread that destroys that block.
  pool& pool_of(std::uint32_t size_class) noexcept { return pools_.load()[size_class]; }

  /// Gives all memory back. No block may be left.
  void clear(std::size_t size_classes, Source& source) noexcept {
    table.clear(source);
    pool* const pools = pools_.load();
    if (pools == nullptr) return;
    for (std::size_t i = 0; i < size_classes; ++i) pools[i].clear(source);
    destroy_array(source, pools, size_classes);
    pools_.store(nullptr);
  }

  table_type table;
  typename Platform::template var<std::uint32_t>
      creating;  // calls of the maker that are under way. The context's thread

 private:
  typename Platform::template var<pool*> pools_;
  typename Platform::template atomic<std::uint32_t> is_open_{0};
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_CONTEXT_DETAIL_CONTEXT_SLOT_HPP
