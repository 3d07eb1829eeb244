// SPDX-License-Identifier: BSL-1.0
//
// backing_source: the concept of what makes and destroys the backings of a rename ring, and heap_source, which takes
// them from the heap of the process.
//
//   struct my_source {                                               the least that is needed
//     using backing = my_buffer*;                                    small, copyable; false means that there is none
//     backing create(const tidemark::backing_traits& traits) noexcept;
//     void destroy(backing made, const tidemark::backing_traits& traits) noexcept;
//   };
//
//   tidemark::rename_ring ring{uploads, {.bytes = 4096}, my_source{device}};
#ifndef TIDEMARK_MEMORY_BACKING_SOURCE_HPP
#define TIDEMARK_MEMORY_BACKING_SOURCE_HPP

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>

#include "../platform/assert.hpp"

namespace tidemark {

/// What all backings of a ring have in common: their size and their alignment, both in bytes.
struct backing_traits {
  std::size_t bytes = 0;
  std::size_t alignment = alignof(std::max_align_t);
};

/// What makes and destroys backings. create() returns a backing that converts to false if it refuses to make one more.
/// Then a discard waits for one of the backings that the ring has (try_map() returns `busy`), or returns `no_memory` if
/// there is no value to wait for. A discard that the source has refused does not ask it again while it waits; the next
/// discard does. Neither function may throw. The ring moves the source into itself. A backing must be
/// default-constructible and copyable, without exceptions. With writers::several, several threads call both functions
/// at the same time. Both functions may map, retire and trim in the ring that calls them, unless that is being made or
/// destroyed. A trim() within destroy() still counts the backing that is being destroyed. While create() runs, the
/// ring's backings() and its limit max_renames count the backing that is being made. The first one, which the ring's
/// constructor makes, is counted afterwards.
template <class Source>
concept backing_source = requires { typename Source::backing; } && std::copyable<typename Source::backing> &&
                         std::default_initializable<typename Source::backing> &&
                         requires(Source& source, const typename Source::backing& made, const backing_traits& traits) {
                           { source.create(traits) } noexcept -> std::same_as<typename Source::backing>;
                           { source.destroy(made, traits) } noexcept;
                           static_cast<bool>(made);
                         };

/// Takes backings from the heap of the process. It refuses to make a backing if the system has no memory for it, or if
/// its bytes and its alignment together are more than SIZE_MAX / 2. Asserts that a backing has bytes, and that its
/// alignment is a power of two. Otherwise it is refused, too.
struct heap_source {
  using backing = std::byte*;

  /// Returns memory with undefined contents, or nullptr. Any thread may call it.
  backing create(const backing_traits& traits) noexcept {
    const bool is_possible = traits.bytes != 0 && std::has_single_bit(traits.alignment);
    TIDEMARK_ASSERT(is_possible, "a backing on the heap must have some bytes, and an alignment that is a power of two");
    // The aligned operator new may round the bytes up to the alignment without a look at the overflow.
    constexpr std::size_t most = SIZE_MAX / 2;
    if (!is_possible || traits.alignment > most || traits.bytes > most - traits.alignment) return nullptr;
    return static_cast<backing>(::operator new(traits.bytes, std::align_val_t{traits.alignment}, std::nothrow));
  }
  /// Gives memory back that create() has returned for the same traits. Any thread may call it.
  void destroy(backing made, const backing_traits& traits) noexcept {
    ::operator delete(made, std::align_val_t{traits.alignment});
  }
};

namespace detail {

/// Placeholder for a type that is no backing_source, so that the compiler reports only what it lacks.
template <class Wrong>
struct wrong_source : heap_source {
  wrong_source(const Wrong&) noexcept {
    static_assert(backing_source<Wrong>, "this type is no tidemark::backing_source, see memory/backing_source.hpp");
  }
};

}  // namespace detail

}  // namespace tidemark

#endif  // TIDEMARK_MEMORY_BACKING_SOURCE_HPP
