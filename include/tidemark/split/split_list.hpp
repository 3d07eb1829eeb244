// SPDX-License-Identifier: BSL-1.0
//
// The split list of a work item. It says which allocation each slot holds from which offset on. A split table
// (split_table.hpp) records the list, and a splitter (splitter.hpp) cuts the work item at its offsets.
//
//   using tidemark::slot_id;
//   tidemark::split_list_builder<texture_id> list;
//   check(list.bind(0, slot_id{2}, sky));        // from offset 0 on, slot 2 holds `sky`
//   check(list.bind(4096, slot_id{2}, ground));  // from 4096 on, it holds `ground` and no longer `sky`
//   check(list.unbind(9000, slot_id{2}));        // from 9000 on, it holds nothing
//   check(parts.begin(list.entries(), 12288));   // of a splitter; check() is yours, and takes a result as a bool
//
// An entry is {allocation, slot, split_offset}. Up to `split_offset` the work item may run without the allocation.
// From there on, the slot needs it, and no longer needs what it held before. `Allocation{}` is the null handle: an
// entry with it unbinds the slot. Every slot begins unbound.
//
// Entries with the same offset form a group, which takes effect as a whole. If several entries of a group name the same
// slot, the last one counts. Offsets never fall from one entry to the next, so they rise from group to group.
//
// A splitter may cut at every offset at which a group begins (a split point), and other work may run at a cut. So the
// commands behind a split point must set up again whatever state they rely on. Either the work item does so itself at
// every split point: split_list_builder::keep_bound() binds a slot again at each of them. Or a prologue does so where a
// cut is made (submit_parts.hpp). find_binding_leak() finds slots that a split point neither binds again nor unbinds,
// and that no prologue binds.
//
// Offsets are in bytes, or in whatever unit the work item is counted. All types here are plain data for one thread at a
// time; nothing is shared.
#ifndef TIDEMARK_SPLIT_SPLIT_LIST_HPP
#define TIDEMARK_SPLIT_SPLIT_LIST_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "../platform/assert.hpp"
#include "../platform/names.hpp"

namespace tidemark {

/// What a slot can hold: a handle, an index or a pointer. `Allocation{}` is the null handle.
///
/// Its operator== must look at nothing but the bytes of the two values. A reader of a split table may compare a torn
/// value, which is half of one allocation and half of another, before it finds that out and discards the result.
template <class T>
concept split_allocation =
    std::is_trivially_copyable_v<T> && std::is_nothrow_default_constructible_v<T> && std::equality_comparable<T>;

/// The number of a slot: 24 bits, the SlotId of a patch location (patch_location.hpp).
enum class slot_id : std::uint32_t {};

/// The largest slot that a list can name.
inline constexpr slot_id largest_slot{(std::uint32_t{1} << 24) - 1};
/// The largest offset that a list can name: 40 bits, enough for a work item of a tebibyte.
inline constexpr std::uint64_t largest_split_offset = (std::uint64_t{1} << 40) - 1;

/// One entry of a split list: from `split_offset` on, `slot` holds `allocation`.
template <split_allocation Allocation>
struct split_entry {
  Allocation allocation{};  ///< The null handle unbinds the slot.
  slot_id slot{};
  std::uint64_t split_offset = 0;

  bool operator==(const split_entry&) const = default;
};

/// What is wrong with an entry whose status is `invalid`.
enum class split_fault : std::uint8_t {
  bad_slot,              ///< The slot is above the largest one.
  bad_order,             ///< The offset is below that of the entry before.
  bad_offset,            ///< The offset is above the end of the work item, or above largest_split_offset.
  reserved_bits,         ///< Bits that must be 0 are not.
  bad_allocation_index,  ///< The index is not below the number of allocations.
  bad_length,            ///< The bytes are not a whole number of 24-byte records.
  no_bytes,              ///< The size of the allocation is 0.
};

template <>
inline constexpr auto detail::names_of<split_fault> = detail::names(
    "bad_slot", "bad_order", "bad_offset", "reserved_bits", "bad_allocation_index", "bad_length", "no_bytes");

/// The first entry of a list that is wrong, and what is wrong with it.
struct split_defect {
  split_fault fault = split_fault::bad_slot;
  std::size_t index = 0;           ///< The position of the entry in the list, from 0 on.
  slot_id slot{};                  ///< The slot that the entry names.
  std::uint64_t split_offset = 0;  ///< The offset that the entry names.

  bool operator==(const split_defect&) const = default;
};

/// What a check of a list found.
enum class split_check_status : std::uint8_t {
  valid,    ///< The list can be used.
  invalid,  ///< An entry is wrong; `defect` says which one.
};

template <>
inline constexpr auto detail::names_of<split_check_status> = detail::names("valid", "invalid");

/// The result of a check of a list.
struct [[nodiscard]] split_check_result {
  split_check_status status = split_check_status::valid;
  std::optional<split_defect> defect{};  ///< Present if and only if the status is `invalid`.

  explicit operator bool() const noexcept { return status == split_check_status::valid; }
};

/// What became of an entry that a builder was given.
enum class split_add_status : std::uint8_t {
  added,    ///< The entry is in the list.
  invalid,  ///< The entry is wrong; the list is unchanged, and `fault` says why.
};

template <>
inline constexpr auto detail::names_of<split_add_status> = detail::names("added", "invalid");

/// The result of split_list_builder::bind() and unbind().
struct [[nodiscard]] split_add_result {
  split_add_status status = split_add_status::added;
  std::optional<split_fault> fault{};  ///< Present if and only if the status is `invalid`.

  explicit operator bool() const noexcept { return status == split_add_status::added; }
};

/// A slot and what it holds.
template <split_allocation Allocation>
struct split_binding {
  slot_id slot{};
  Allocation allocation{};

  bool operator==(const split_binding&) const = default;
};

/// A slot that stays bound across a split point that does not mention it.
struct binding_leak {
  slot_id slot{};
  std::uint64_t split_offset = 0;  ///< The split point.

  bool operator==(const binding_leak&) const = default;
};

namespace detail {

/// The slot as an index into rows.
constexpr std::size_t row_of(slot_id slot) noexcept { return static_cast<std::size_t>(slot); }

/// Returns whether an entry that follows one at the offset `before` is valid.
constexpr bool is_valid_entry(slot_id slot, std::uint64_t offset, std::uint64_t before, slot_id max_slot,
                              std::uint64_t end) noexcept {
  return slot <= max_slot && offset >= before && offset <= end;
}

/// Returns what is wrong with such an entry, if anything is.
constexpr std::optional<split_fault> entry_fault(slot_id slot, std::uint64_t offset, std::uint64_t before,
                                                 slot_id max_slot, std::uint64_t end) noexcept {
  if (slot > max_slot) return split_fault::bad_slot;
  if (offset < before) return split_fault::bad_order;
  if (offset > end) return split_fault::bad_offset;
  return std::nullopt;
}

/// Returns how many entries, from the first one on, have the offset of the first one.
template <class Allocation>
std::size_t group_length(std::span<const split_entry<Allocation>> entries) noexcept {
  std::size_t length = 0;
  while (length < entries.size() && entries[length].split_offset == entries[0].split_offset) ++length;
  return length;
}

}  // namespace detail

/// Returns whether a list can be used. In a valid list no slot is above `max_slot` or largest_slot, offsets never fall,
/// and no offset is above `end` (the length of the work item) or largest_split_offset. An offset that equals `end` is
/// valid; such an entry takes effect after the last command.
///
/// O(entries); allocates nothing. Any thread may call it.
template <split_allocation Allocation>
split_check_result check_split_list(std::span<const split_entry<Allocation>> entries, slot_id max_slot,
                                    std::uint64_t end) noexcept {
  const slot_id last_slot = (std::min)(max_slot, largest_slot);
  const std::uint64_t last_offset = (std::min)(end, largest_split_offset);
  std::uint64_t before = 0;
  for (std::size_t index = 0; index < entries.size(); ++index) {
    const auto& [allocation, slot, offset] = entries[index];
    const auto fault = detail::entry_fault(slot, offset, before, last_slot, last_offset);
    if (fault) return {split_check_status::invalid, split_defect{*fault, index, slot, offset}};
    before = offset;
  }
  return {};
}

/// Checks the strict rule: every split point binds again, or unbinds, each slot that was bound before it. Returns the
/// first slot that a split point forgets, by offset and then by slot; absent if there is none.
///
/// A group at `end` is no split point, because a work item is never cut at its end. Precondition: check_split_list()
/// finds the list valid. O(entries * (log(bound slots) + slots of the prologue)); allocates, and throws std::bad_alloc.
/// Any thread may call it.
/// \param in_prologue  the slots that the prologue of each part binds again, so that no split point forgets them
template <split_allocation Allocation>
[[nodiscard]] std::optional<binding_leak> find_binding_leak(
    std::span<const split_entry<Allocation>> entries, std::uint64_t end = (std::numeric_limits<std::uint64_t>::max)(),
    std::span<const slot_id> in_prologue = {}) {
  const auto is_in_prologue = [in_prologue](slot_id slot) {
    return std::find(in_prologue.begin(), in_prologue.end(), slot) != in_prologue.end();
  };
  std::map<slot_id, std::size_t> bound;  // the bound slots, and the group that mentioned each one last
  for (std::size_t group = 1; !entries.empty(); ++group) {
    const auto here = entries.first(detail::group_length(entries));
    if (here[0].split_offset == end) return {};
    std::size_t mentioned = 0;
    for (const split_entry<Allocation>& entry : here) {
      const auto known = bound.find(entry.slot);
      if (known == bound.end() || known->second == group) continue;
      known->second = group;
      ++mentioned;
    }
    if (mentioned != bound.size()) {
      const auto leaking =
          std::find_if(bound.begin(), bound.end(), [group](auto& slot) { return slot.second != group; });
      return binding_leak{leaking->first, here[0].split_offset};
    }
    for (const split_entry<Allocation>& entry : here) {
      if (entry.allocation == Allocation{} || is_in_prologue(entry.slot)) {
        bound.erase(entry.slot);
      } else {
        bound[entry.slot] = group;
      }
    }
    entries = entries.subspan(here.size());
  }
  return {};
}

/// Builds a list in order. Each entry that bind() or unbind() adds declares a split point at its offset. One thread at
/// a time. All functions but clear() may throw std::bad_alloc, also entries(), which may have to add entries of kept
/// slots. A call that has thrown may be repeated.
template <split_allocation Allocation>
class split_list_builder {
 public:
  using entry = split_entry<Allocation>;

  /// Adds an entry: from `offset` on, `slot` holds `allocation`. Returns `added`, or `invalid` where the offset is
  /// below that of the last entry, or the offset or the slot is too large; the list is unchanged then. Asserts that
  /// `allocation` is not the null handle. Otherwise the entry unbinds the slot.
  split_add_result bind(std::uint64_t offset, slot_id slot, Allocation allocation) {
    TIDEMARK_ASSERT(allocation != Allocation{}, "bind() was given the null handle; use unbind()");
    return add({allocation, slot, offset});
  }
  /// Adds an entry: from `offset` on, `slot` holds nothing. Unbinding a slot that holds nothing is harmless. Returns as
  /// bind() does.
  split_add_result unbind(std::uint64_t offset, slot_id slot) { return add({{}, slot, offset}); }

  /// Keeps `slot` bound: from now on, the builder binds the slot again at each split point that does not mention it, as
  /// long as the slot holds an allocation. So a splitter may move that allocation there. Meant for large allocations.
  /// The first split point where it may do so is the one that was added last; or that of the next entry, if entries(),
  /// or keep_bound() with `false`, was called since then.
  /// \param is_kept  false ends this: the split point that was added last is then the last one to bind the slot again
  void keep_bound(slot_id slot, bool is_kept = true) {
    if (is_kept) {
      kept_.try_emplace(slot, held_by(slot));
    } else {
      complete_group();
      kept_.erase(slot);
    }
  }

  /// Returns the list so far. The next call of any other member function makes the span invalid.
  [[nodiscard]] std::span<const entry> entries() {
    complete_group();
    return entries_;
  }
  /// Empties the list, and keeps no slot bound any more.
  void clear() noexcept {
    entries_.clear();
    kept_.clear();
    completed_ = 0;
  }

 private:
  split_add_result add(const entry& added) {
    const std::uint64_t last = entries_.empty() ? 0 : entries_.back().split_offset;
    const auto fault = detail::entry_fault(added.slot, added.split_offset, last, largest_slot, largest_split_offset);
    if (fault) return {split_add_status::invalid, fault};
    if (added.split_offset > last) complete_group();
    entries_.push_back(added);
    return {};
  }

  /// Adds the kept slots that the last group does not mention.
  void complete_group() {
    if (completed_ == entries_.size()) return;
    for (std::size_t i = completed_; i < entries_.size(); ++i) {
      const entry& mentioned = entries_[i];
      if (const auto kept = kept_.find(mentioned.slot); kept != kept_.end()) kept->second = mentioned.allocation;
    }
    const std::uint64_t offset = entries_.back().split_offset;
    std::map<slot_id, Allocation> missing = kept_;
    for (auto last = entries_.rbegin(); last != entries_.rend() && last->split_offset == offset; ++last) {
      missing.erase(last->slot);
    }
    for (const auto& [slot, held] : missing) {
      if (held != Allocation{}) entries_.push_back({held, slot, offset});
    }
    completed_ = entries_.size();  // last: if push_back() throws, the next call finishes the group
  }

  Allocation held_by(slot_id slot) const noexcept {
    const auto last =
        std::find_if(entries_.rbegin(), entries_.rend(), [slot](const entry& e) { return e.slot == slot; });
    return last == entries_.rend() ? Allocation{} : last->allocation;
  }

  std::vector<entry> entries_;
  std::map<slot_id, Allocation> kept_;  // the kept slots, and what each one holds after the completed groups
  std::size_t completed_ = 0;           // how many entries belong to completed groups
};

}  // namespace tidemark

#endif  // TIDEMARK_SPLIT_SPLIT_LIST_HPP
