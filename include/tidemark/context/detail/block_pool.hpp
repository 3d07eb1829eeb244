// SPDX-License-Identifier: BSL-1.0
//
// block_pool: memory for the blocks of a context: arrays from its source, pools of blocks of one size, and a list of
// pools.
#ifndef TIDEMARK_CONTEXT_DETAIL_BLOCK_POOL_HPP
#define TIDEMARK_CONTEXT_DETAIL_BLOCK_POOL_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "../../memory/backing_source.hpp"
#include "../../platform/platform.hpp"
#include "../../platform/tools/intrusive_lists.hpp"

namespace tidemark::detail {

// make_array, destroy_array: arrays in memory of a backing source. block_source: a source whose backings are plain
// memory.

template <class Source>
concept block_source = backing_source<Source> && std::same_as<typename Source::backing, std::byte*>;

template <class T>
constexpr backing_traits traits_of_array(std::size_t size) noexcept {
  return {size * sizeof(T), alignof(T) > cache_line ? alignof(T) : cache_line};
}

/// Returns memory for `size` objects, not constructed; null if there is none.
template <class T, block_source Source>
T* allocate_array(Source& source, std::size_t size) noexcept {
  if (size == 0 || size > SIZE_MAX / 4 / sizeof(T)) return nullptr;
  void* const memory = source.create(traits_of_array<T>(size));
  return static_cast<T*>(memory);
}

/// Returns an array of objects that were constructed from `arguments`; null if there is no memory.
template <class T, block_source Source, class... Arguments>
T* make_array(Source& source, std::size_t size, const Arguments&... arguments) noexcept {
  T* const made = allocate_array<T>(source, size);
  if (made == nullptr) return nullptr;
  for (std::size_t i = 0; i < size; ++i) ::new (static_cast<void*>(made + i)) T(arguments...);
  return made;
}

template <class T, block_source Source>
void destroy_array(Source& source, T* array, std::size_t size) noexcept {
  if (array == nullptr) return;
  std::destroy_n(array, size);
  source.destroy(reinterpret_cast<std::byte*>(array), traits_of_array<T>(size));
}

// block_pool: blocks of one size, for one context. Blocks begin at cache lines and share none.
//
//   chunk   | header: a line | 0 to 15 lines | block | block | ... |       4 blocks, then 8, ... then 64
//
// The distance of two blocks is no multiple of 8 lines, and each chunk begins with one line more than the one before,
// of 16. So at most 8 of 64 blocks fall into one set of a cache with 64 sets, which has as many ways.
//
// The context's thread takes blocks. Any thread may give one back; the context's thread finds it when it has none left.

inline constexpr std::size_t most_block_distance = SIZE_MAX / 8 / cache_line * cache_line;  // more than any memory has

/// Returns the distance of two blocks of `bytes` bytes; `most_block_distance` if it would be more.
constexpr std::size_t block_distance(std::size_t bytes) noexcept {
  if (bytes >= most_block_distance - cache_line) return most_block_distance;
  const std::size_t whole_lines = std::max<std::size_t>(1, bytes / cache_line + (bytes % cache_line != 0 ? 1 : 0));
  return (whole_lines % 8 == 0 ? whole_lines + 1 : whole_lines) * cache_line;
}

template <platform Platform, class Source>
class block_pool {
 public:
  /// \param bytes  of a block
  explicit block_pool(std::size_t bytes) noexcept : distance_{block_distance(bytes)} {}
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;

  std::size_t distance() const noexcept { return distance_; }

  /// Returns a block with undefined contents; null if the source has no memory. The context's thread.
  void* take(Source& source) noexcept {
    if (free_ == nullptr) free_ = returned_.take();
    if (free_ != nullptr) {
      free_block* const taken = free_;
      free_ = taken->next.load();
      std::destroy_at(taken);
      return taken;
    }
    if (left_ == 0 && !grow(source)) return nullptr;
    --left_;
    return std::exchange(next_, next_ + distance_);
  }

  /// Gives a block back. Any thread.
  void give_back(void* block) noexcept {
    auto* const made = ::new (block) free_block;
    returned_.push(*made, made->next);
  }

  /// Gives all memory back. No block may be in use, and no other call may be under way.
  void clear(Source& source) noexcept {
    destroy_free(std::exchange(free_, nullptr));
    destroy_free(returned_.take());
    left_ = 0;
    while (chunks_ != nullptr) {
      chunk* const gone = std::exchange(chunks_, chunks_->below);
      const std::size_t bytes = gone->bytes;
      std::destroy_at(gone);
      source.destroy(reinterpret_cast<std::byte*>(gone), {.bytes = bytes, .alignment = cache_line});
    }
    made_ = 0;
  }

 private:
  struct free_block {
    typename Platform::template var<free_block*> next;
  };
  struct chunk {
    chunk* below;
    std::size_t bytes;
  };
  static constexpr std::size_t most_bytes = std::size_t{64} * 1024;  // of a chunk with more than one block
  static constexpr std::size_t most_blocks = 64;
  static_assert(sizeof(chunk) <= cache_line && sizeof(std::uintptr_t) <= cache_line);

  static void destroy_free(free_block* first) noexcept {
    while (first != nullptr) {
      free_block* const next = first->next.load();
      std::destroy_at(first);
      first = next;
    }
  }

  bool grow(Source& source) noexcept {
    if (distance_ >= most_block_distance) return false;
    const std::size_t wanted = (std::min)(most_blocks, std::size_t{4} << std::min<std::size_t>(made_, 4));
    const std::size_t blocks = std::max<std::size_t>(1, (std::min)(wanted, most_bytes / distance_));
    const std::size_t before = (1 + made_ % 16) * cache_line;
    const std::size_t bytes = before + blocks * distance_;
    std::byte* const memory = source.create({.bytes = bytes, .alignment = cache_line});
    if (memory == nullptr) return false;
    chunks_ = ::new (static_cast<void*>(memory)) chunk{chunks_, bytes};
    next_ = memory + before;
    left_ = blocks;
    ++made_;
    return true;
  }

  const std::size_t distance_;
  std::byte* next_ = nullptr;  // in the newest chunk
  std::size_t left_ = 0;       // blocks there that were never taken
  std::size_t made_ = 0;       // chunks
  chunk* chunks_ = nullptr;
  free_block* free_ = nullptr;
  alignas(cache_line) push_stack<Platform, free_block> returned_;
};

/// pool_list: the pools of the immediate context, whose blocks have sizes that nobody has listed. A pool is made for a
/// size when it is needed first.
template <platform Platform, class Source>
class pool_list {
 public:
  using pool = block_pool<Platform, Source>;

  /// Returns a pool of blocks of `bytes` bytes or a little more; null if there is no memory for it. The context's
  /// thread.
  pool* of(std::size_t bytes, Source& source) noexcept {
    const std::size_t distance = block_distance(bytes);
    for (node* each = first_; each != nullptr; each = each->next) {
      if (each->blocks.distance() == distance) return &each->blocks;
    }
    node* const made = make_array<node>(source, 1, bytes);
    if (made == nullptr) return nullptr;
    made->next = std::exchange(first_, made);
    return &made->blocks;
  }

  /// Gives all memory back. No block may be in use.
  void clear(Source& source) noexcept {
    while (first_ != nullptr) {
      node* const gone = std::exchange(first_, first_->next);
      gone->blocks.clear(source);
      destroy_array(source, gone, 1);
    }
  }

 private:
  struct node {
    explicit node(std::size_t bytes) noexcept : blocks{bytes} {}
    pool blocks;
    node* next = nullptr;
  };

  node* first_ = nullptr;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_CONTEXT_DETAIL_BLOCK_POOL_HPP
