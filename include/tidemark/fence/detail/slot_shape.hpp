// SPDX-License-Identifier: BSL-1.0
//
// How many slots a block of a waiter heap has, and where each level of its tree lies in one array. The first block's
// shape is known to the compiler. Later blocks, by which a heap grows, learn theirs when they are made.
#ifndef TIDEMARK_FENCE_DETAIL_SLOT_SHAPE_HPP
#define TIDEMARK_FENCE_DETAIL_SLOT_SHAPE_HPP

#include <array>
#include <cstddef>
#include <new>

namespace tidemark::detail {

constexpr std::size_t divide_up(std::size_t count, std::size_t by) noexcept { return (count + by - 1) / by; }

/// Where each level of a tree begins. Level 0 holds the leaves. Level `depth` is the top, which does not lie in the
/// array. Every level is filled up to whole groups of siblings.
template <std::size_t MostLevels>
struct tree_levels {
  constexpr tree_levels(std::size_t leaves, std::size_t arity) noexcept {
    std::size_t groups = divide_up(leaves, arity);
    for (;; groups = divide_up(groups, arity)) {
      first[depth + 1] = first[depth] + groups * arity;
      ++depth;
      if (groups == 1) return;
    }
  }

  std::size_t depth = 0;
  std::array<std::size_t, MostLevels + 1> first{};
};

/// An array whose length the compiler knows.
template <class T, std::size_t Size>
class fixed_array {
 public:
  static constexpr bool has_memory() noexcept { return true; }
  T& operator[](std::size_t at) noexcept { return items_[at]; }
  const T& operator[](std::size_t at) const noexcept { return items_[at]; }

 private:
  std::array<T, Size> items_;
};

/// An array that is allocated. (Not a unique_ptr: <memory> would add a fifth to the preprocessed size of fence.hpp.)
template <class T>
class grown_array {
 public:
  explicit grown_array(std::size_t size) noexcept : items_{::new(std::nothrow) T[size]} {}
  grown_array(const grown_array&) = delete;
  grown_array& operator=(const grown_array&) = delete;
  ~grown_array() { delete[] items_; }
  bool has_memory() const noexcept { return items_ != nullptr; }
  T& operator[](std::size_t at) noexcept { return items_[at]; }
  const T& operator[](std::size_t at) const noexcept { return items_[at]; }

 private:
  T* items_;
};

/// The shape of a heap's first block.
template <std::size_t Leaves, std::size_t Arity>
class fixed_shape {
  static_assert(Leaves > 0 && Arity > 1);
  static constexpr tree_levels<64> levels{Leaves, Arity};

  /// An array that is constructed with the shape.
  template <class T, std::size_t Size>
  struct sized : fixed_array<T, Size> {
    explicit sized(const fixed_shape&) noexcept {}
  };

 public:
  static constexpr std::size_t arity = Arity;
  static constexpr std::size_t leaves() noexcept { return Leaves; }
  static constexpr std::size_t depth() noexcept { return levels.depth; }
  static constexpr std::size_t first(std::size_t level) noexcept { return levels.first[level]; }

  /// One T for each group of siblings, for each slot, and for each 64 slots.
  template <class T>
  using groups = sized<T, levels.first[levels.depth] / Arity>;
  template <class T>
  using slot_array = sized<T, Leaves>;
  template <class T>
  using sets = sized<T, divide_up(Leaves, 64)>;
};

/// The shape of a block by which a heap has grown.
template <std::size_t Arity>
class grown_shape {
 public:
  static constexpr std::size_t arity = Arity;
  explicit grown_shape(std::size_t leaves) noexcept : leaves_{leaves}, levels_{leaves, Arity} {}

  std::size_t leaves() const noexcept { return leaves_; }
  std::size_t depth() const noexcept { return levels_.depth; }
  std::size_t first(std::size_t level) const noexcept { return levels_.first[level]; }

  template <class T>
  struct groups : grown_array<T> {
    explicit groups(const grown_shape& shape) noexcept : grown_array<T>{shape.first(shape.depth()) / Arity} {}
  };
  template <class T>
  struct slot_array : grown_array<T> {
    explicit slot_array(const grown_shape& shape) noexcept : grown_array<T>{shape.leaves()} {}
  };
  template <class T>
  struct sets : grown_array<T> {
    explicit sets(const grown_shape& shape) noexcept : grown_array<T>{divide_up(shape.leaves(), 64)} {}
  };

 private:
  std::size_t leaves_;
  tree_levels<64> levels_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SLOT_SHAPE_HPP
