// SPDX-License-Identifier: BSL-1.0
//
// What the functions of a context_storage take and return: ids of objects, options, and results.
#ifndef TIDEMARK_CONTEXT_STORAGE_RESULTS_HPP
#define TIDEMARK_CONTEXT_STORAGE_RESULTS_HPP

#include <cstdint>

#include "../platform/assert.hpp"
#include "../platform/names.hpp"

namespace tidemark {

/// Names an object of a storage. One that was made without arguments names no object. An id of an object that was
/// destroyed is stale; it is found out until the object's number was used again 2^32 times.
class object_id {
 public:
  constexpr object_id() noexcept = default;
  /// \param index       the object's number in its storage
  /// \param generation  which of the objects that had this number
  constexpr object_id(std::uint32_t index, std::uint32_t generation) noexcept
      : number_{std::uint64_t{generation} << 32 | index} {}

  [[nodiscard]] constexpr std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(number_); }
  [[nodiscard]] constexpr std::uint32_t generation() const noexcept {
    return static_cast<std::uint32_t>(number_ >> 32);
  }
  /// Returns both as one number, to print or to store it. It is never 0.
  [[nodiscard]] constexpr std::uint64_t number() const noexcept { return number_; }

  friend constexpr bool operator==(const object_id&, const object_id&) noexcept = default;

 private:
  std::uint64_t number_ = std::uint64_t{UINT32_MAX} << 32;  // no object has this generation
};

/// What became of an object that was to be created.
enum class object_create_status : std::uint8_t {
  added,      ///< It has its block in the immediate context.
  no_memory,  ///< The source, or the maker, has no memory for it.
  no_space,   ///< There are as many objects as the storage may have.
  invalid,    ///< It has too many dependencies, or one of them is no object, or is destroyed.
  refused,    ///< The maker has told a size that it has not listed for the kind [D27].
};

template <>
inline constexpr auto detail::names_of<object_create_status> =
    detail::names("added", "no_memory", "no_space", "invalid", "refused");

/// The result of context_storage::create().
struct [[nodiscard]] object_create_result {
  object_create_status status = object_create_status::invalid;
  object_id object{};  ///< Names an object only if the status is `added`.

  explicit operator bool() const noexcept { return status == object_create_status::added; }
};

/// Whether a context has its block of an object.
enum class block_use_status : std::uint8_t {
  ready,      ///< The block is there.
  no_memory,  ///< The source, or the maker, has no memory for it, or for a block that it depends on.
  stale,      ///< There is no such object any more.
};

template <>
inline constexpr auto detail::names_of<block_use_status> = detail::names("ready", "no_memory", "stale");

/// The result of a use of an object.
struct [[nodiscard]] block_use_result {
  block_use_status status = block_use_status::stale;
  void* block = nullptr;  ///< Null unless the status is `ready`.

  explicit operator bool() const noexcept { return status == block_use_status::ready; }
  /// The block as what the maker has created there. Asserts that there is one.
  template <class State>
  State& as() const noexcept {
    TIDEMARK_ASSERT(block != nullptr, "there is no block");
    return *static_cast<State*>(block);
  }
};

/// Whether a context was opened.
enum class context_open_status : std::uint8_t {
  ready,     ///< It is open.
  no_space,  ///< As many contexts are open as the storage may have.
};

template <>
inline constexpr auto detail::names_of<context_open_status> = detail::names("ready", "no_space");

/// The choices of a storage.
struct context_storage_options {
  std::uint32_t max_contexts = 16;     ///< With the immediate one; at least 1 (asserted).
  std::uint32_t max_objects = 65'536;  ///< That exist at the same time; at least 1 (asserted).
};

}  // namespace tidemark

#endif  // TIDEMARK_CONTEXT_STORAGE_RESULTS_HPP
