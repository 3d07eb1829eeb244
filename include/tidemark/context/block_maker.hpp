// SPDX-License-Identifier: BSL-1.0
//
// block_maker: the concept of what gives the blocks of a context_storage their sizes and their contents, and the types
// that it exchanges with the storage.
//
//   struct my_maker {                                                        the least that is needed
//     enum class kind { texture, view };                                     what objects there are
//     struct description { int width; void* texture; };                      what an object is made from
//     static constexpr std::size_t max_dependencies = 1;                    of one object
//
//     std::size_t list_block_sizes(std::span<block_size<kind>>) const noexcept;               before there are objects
//     block_layout immediate_layout(kind, const description&) const noexcept;                 of one object
//     std::size_t deferred_bytes(kind, const void* immediate) const noexcept;                 of one object
//     void set_dependency(description&, std::size_t which, void* block) noexcept;
//     bool create(const block_arguments<kind, description>&) noexcept;        or a block_create_status
//     void destroy(context_id, kind, void* block) noexcept;
//   };
//
// The maker says how many bytes it needs, the storage says where, and the address is the block's name from then on. The
// immediate context's block of an object is made first. It may have read-only data behind it. (Here "up to" stands
// for padding, "line" for a cache line, and 16 for replica_alignment.)
//
//   immediate   | block | up to the end of its line, and one line more | read-only data |      one allocation
//   deferred    | block | up to the end of its line |                                          shares that data
//   deferred    | block | up to 16 | read-only data | up to the end of its line |              if it is replicated
//
// A deferred block is repeated for each context that uses the object, so keep in it only what changes often. What is
// large and seldom used belongs to the read-only data or elsewhere, with a pointer in the block.
#ifndef TIDEMARK_CONTEXT_BLOCK_MAKER_HPP
#define TIDEMARK_CONTEXT_BLOCK_MAKER_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "../platform/names.hpp"
#include "../platform/platform.hpp"

namespace tidemark {

/// Names a context of a storage. Comparable, and usable as a key of std::map and std::unordered_map.
enum class context_id : std::uint32_t {};

/// The context in which objects are created.
inline constexpr context_id immediate_context{0};

/// Returns the number itself, to print or to store it.
[[nodiscard]] constexpr std::uint32_t to_number(context_id id) noexcept { return static_cast<std::uint32_t>(id); }

/// Returns how many cache lines a block of `bytes` bytes takes. For a budget of the program:
/// `static_assert(lines_of_block(sizeof(texture_state)) <= 1)`.
[[nodiscard]] constexpr std::size_t lines_of_block(std::size_t bytes) noexcept {
  return bytes / cache_line + (bytes % cache_line != 0 ? 1 : 0);
}

/// The copy of the read-only data in a deferred block begins at a multiple of this number of bytes. For the maker:
/// `static_assert(alignof(my_data) <= replica_alignment)`.
inline constexpr std::size_t replica_alignment = 16;

/// One size that deferred blocks of a kind may have. A kind may have several.
template <class Kind>
struct block_size {
  Kind kind{};
  std::size_t bytes = 0;  ///< What the context changes, without a copy of the read-only data.
  /// The bytes of that copy, for objects whose read-only data is replicated. The storage lays it behind the rest.
  std::size_t replica_bytes = 0;

  /// Returns how many bytes a block takes, with the copy and the bytes between the two. Meant for lines_of_block().
  /// Returns SIZE_MAX if it would be more.
  [[nodiscard]] constexpr std::size_t total_bytes() const noexcept {
    if (replica_bytes == 0) return bytes;
    const std::size_t padding = (replica_alignment - bytes % replica_alignment) % replica_alignment;
    const bool is_possible = padding <= SIZE_MAX - bytes && replica_bytes <= SIZE_MAX - bytes - padding;
    return is_possible ? bytes + padding + replica_bytes : SIZE_MAX;
  }
};

/// What the immediate context's block of an object needs.
struct block_layout {
  std::size_t bytes = 0;            ///< Of the block, at least 1.
  std::size_t read_only_bytes = 0;  ///< Of the data that no context changes, which lies behind it.
  /// Whether each deferred block has a copy of the read-only data. The copy lies behind the bytes that deferred_bytes()
  /// tells, at the next multiple of replica_alignment. The storage makes it, and the room for it.
  bool is_replicated = false;
};

/// What the maker is given to create one block.
template <class Kind, class Description>
struct block_arguments {
  context_id context{};
  Kind kind{};
  /// In the immediate context the description of the object, with its dependencies. In a deferred context it is null
  /// for an object without dependencies. Otherwise it names a description of which set_dependency() has set the
  /// dependencies, and all other bytes are zero. They are blocks of the same context. Valid during the call only.
  const Description* description = nullptr;
  void* block = nullptr;      ///< Where to create it: uninitialized memory at the start of a cache line.
  void* immediate = nullptr;  ///< The object's immediate block, maybe in use meanwhile; null while it is created.
  /// Uninitialized memory at the start of a cache line, which the maker fills. Empty in a deferred context.
  std::span<std::byte> read_only_to_fill;
  /// The read-only data of the object, or this context's copy. It stays there as long as the block.
  std::span<const std::byte> read_only;
};

/// What became of a block that a maker was to create. A maker whose device can't be lost may return a bool instead:
/// whether the block is created.
enum class block_create_status : std::uint8_t {
  ready,      ///< The block is there.
  no_memory,  ///< There is no memory for it, and no block.
  lost,       ///< The device is lost ("removed"), and there is no block.
};

template <>
inline constexpr auto detail::names_of<block_create_status> = detail::names("ready", "no_memory", "lost");

namespace detail {

template <class Result>
concept block_creation = std::same_as<Result, bool> || std::same_as<Result, block_create_status>;

template <class Maker>
concept has_block_types =
    requires {
      typename Maker::kind;
      typename Maker::description;
      { Maker::max_dependencies } -> std::convertible_to<std::size_t>;
    } && std::is_enum_v<typename Maker::kind> && std::is_trivially_copyable_v<typename Maker::description> &&
    std::default_initializable<typename Maker::description>;

}  // namespace detail

/// What makes the blocks of a storage. None of the functions may throw.
///
///   list_block_sizes(sizes)           returns how many sizes there are, and writes the first ones as far as `sizes`
///                                     has room. An empty span asks for the number alone. The answer must not depend
///                                     on a device that can be lost
///   immediate_layout(kind, given)     returns what the immediate block of an object needs
///   deferred_bytes(kind, immediate)   returns the bytes of the object's deferred blocks, without a copy of read-only
///                                     data. They must be listed for the kind, with `replica_bytes` as large as the
///                                     read-only data if that is replicated, and 0 otherwise. Asserts that. Otherwise
///                                     the object is refused. It is asked once, right after the immediate block was
///                                     created
///   set_dependency(given, n, block)   writes the n-th dependency into a description
///   create(arguments)                 creates a block. Returns true, or false if it has no memory; then there is no
///                                     block. If the device can be lost, it returns a block_create_status
///   destroy(context, kind, block)     destroys it
///
/// The thread of a context calls set_dependency() and create() for it, so several threads may call these at the same
/// time. Any thread may call destroy() for any context, at the same time. The storage calls no two of these functions
/// for one block at the same time.
///
/// create() may use other objects in its context. It must not use the object whose block it creates, nor end the
/// recording or close the context. In the immediate context it must not destroy a dependency either. Asserts that.
/// Otherwise the recording and the context go on. An object whose dependency was destroyed is not created. If create()
/// used its own object all the same, the block that this use has created stays, and the outer one is destroyed.
/// destroy() may destroy and retire other objects and close contexts, but not while the storage itself is destroyed. It
/// must not use a command_context that is being reset or destroyed: asserts that.
template <class Maker>
concept block_maker =
    detail::has_block_types<Maker> &&
    requires(Maker& maker, const Maker& asked, typename Maker::kind kind, typename Maker::description& description,
             const typename Maker::description& given, std::span<block_size<typename Maker::kind>> sizes,
             const block_arguments<typename Maker::kind, typename Maker::description>& arguments, std::size_t which,
             void* block, const void* immediate, context_id context) {
      { asked.list_block_sizes(sizes) } noexcept -> std::same_as<std::size_t>;
      { asked.immediate_layout(kind, given) } noexcept -> std::same_as<block_layout>;
      { asked.deferred_bytes(kind, immediate) } noexcept -> std::same_as<std::size_t>;
      { maker.set_dependency(description, which, block) } noexcept;
      { maker.create(arguments) } noexcept -> detail::block_creation;
      { maker.destroy(context, kind, block) } noexcept;
    };

}  // namespace tidemark

#endif  // TIDEMARK_CONTEXT_BLOCK_MAKER_HPP
