// SPDX-License-Identifier: BSL-1.0
//
// Sources of backings: which types are one, and what the one for the heap makes and refuses.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include <tidemark/memory/backing_source.hpp>

#include "support/backings.hpp"

namespace {

using tidemark::backing_source;
using tidemark::backing_traits;
using tidemark::heap_source;

struct without_backing {
  int* create(const backing_traits&) noexcept { return nullptr; }
  void destroy(int*, const backing_traits&) noexcept {}
};
struct that_throws {
  using backing = int*;
  backing create(const backing_traits&) { return nullptr; }
  void destroy(backing, const backing_traits&) noexcept {}
};
struct of_void {
  struct backing {};
  backing create(const backing_traits&) noexcept { return {}; }
  void destroy(backing, const backing_traits&) noexcept {}
};

struct of_references {
  struct backing {
    explicit backing(int& bytes) noexcept : memory{&bytes} {}
    explicit operator bool() const noexcept { return true; }
    int* memory;
  };
  backing create(const backing_traits&) noexcept { return backing{memory}; }
  void destroy(backing, const backing_traits&) noexcept {}
  int memory = 0;
};

static_assert(backing_source<heap_source>);
static_assert(backing_source<testing::counted_source>);
static_assert(!backing_source<without_backing>);
static_assert(!backing_source<that_throws>, "maps are noexcept");
static_assert(!backing_source<of_void>, "nothing says whether there is a backing");
static_assert(!backing_source<of_references>, "a map that is refused returns a backing, too");
static_assert(!backing_source<int>);

}  // namespace

TEST_CASE("[B16][B45] the heap makes memory of each alignment, which can be written from end to end") {
  heap_source heap;
  for (const std::size_t alignment : {1u, 2u, 16u, 64u, 4096u}) {
    const backing_traits traits{.bytes = 1000, .alignment = alignment};
    std::array<std::byte*, 3> all{};  // at the same time: no byte of one belongs to another
    for (std::size_t which = 0; which < all.size(); ++which) {
      all[which] = heap.create(traits);
      REQUIRE(all[which] != nullptr);
      CHECK(reinterpret_cast<std::uintptr_t>(all[which]) % alignment == 0);
      for (std::size_t i = 0; i < traits.bytes; ++i) all[which][i] = static_cast<std::byte>(i + which);
    }
    std::size_t wrong = 0;
    for (std::size_t which = 0; which < all.size(); ++which) {
      for (std::size_t i = 0; i < traits.bytes; ++i)
        wrong += all[which][i] == static_cast<std::byte>(i + which) ? 0u : 1u;
      heap.destroy(all[which], traits);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("[B45] the heap refuses what has no address, also where the bytes would be counted wrongly") {
  heap_source heap;
  for (const std::size_t alignment : {std::size_t{1}, std::size_t{4096}, SIZE_MAX / 2 + 1}) {
    for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 4094, SIZE_MAX / 2 + 1, SIZE_MAX / 2}) {
      CHECK(heap.create({.bytes = bytes, .alignment = alignment}) == nullptr);
    }
  }
}
