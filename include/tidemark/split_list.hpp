// SPDX-License-Identifier: BSL-1.0
//
// The split list of a work item: which allocation each slot holds from which offset on. What split_table.hpp records and
// splitter.hpp cuts at.
//
//   split_list_builder<texture_id> list;
//   check(list.bind(0, 2, sky));                // from offset 0 on slot 2 holds `sky`
//   check(list.bind(4096, 2, ground));          // from 4096 on `ground`, and no longer `sky`
//   check(list.unbind(9000, 2));                // from 9000 on nothing
//   check(parts.begin(list.entries(), 12288));  // of a splitter; check() is yours, and looks whether that is a fault
//
// An entry is {allocation, slot, split_offset}: the work item may run up to `split_offset` without the allocation; from
// there on slot `slot` needs it, and no longer what it held before. `Allocation{}` is no allocation: the slot is unbound.
// Slots begin unbound. Entries with one offset form a group, which takes effect as a whole; of several for one slot the
// last one holds. Offsets do not fall from entry to entry, so they rise from group to group.
//
// Every offset at which a group begins may become a cut (C8), and something else may run there. So the commands behind it
// have to set up again what they rely on (C9). find_binding_leak() finds slots that a split point neither binds again nor
// unbinds; split_list_builder::keep_bound() binds them again by itself.
//
// Plain data for one thread at a time; nothing here is shared.
#ifndef TIDEMARK_SPLIT_LIST_HPP
#define TIDEMARK_SPLIT_LIST_HPP

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

#include "detail/assert.hpp"

namespace tidemark {

/// What a slot can hold: a handle, an index, a pointer. `Allocation{}` means none. Its `==` looks at nothing but the value: a
/// reader of a split table may compare what is half of one and half of another, before it finds out and throws it away.
template <class T>
concept split_allocation =
    std::is_trivially_copyable_v<T> && std::is_nothrow_default_constructible_v<T> && std::equality_comparable<T>;

/// 24 bits, as in the texts (C30).
inline constexpr std::uint32_t largest_slot = (std::uint32_t{1} << 24) - 1;
/// 40 bits: a work item of a tebibyte.
inline constexpr std::uint64_t largest_split_offset = (std::uint64_t{1} << 40) - 1;

/// (C10) (C12)
template <split_allocation Allocation>
struct split_entry {
  Allocation allocation{};
  std::uint32_t slot = 0;
  std::uint64_t split_offset = 0;

  bool operator==(const split_entry&) const = default;
};

/// Why an entry is refused.
enum class split_fault : std::uint8_t {
  none,
  bad_slot,              ///< Above the largest slot of the table (C11).
  bad_order,             ///< An offset below that of the entry before (C16).
  bad_offset,            ///< Above the end of the work item, or above largest_split_offset.
  full,                  ///< The table has no room for another entry.
  finished,              ///< The work item was said to be complete.
  reserved_bits,         ///< Bits that must be 0 are not (C30).
  bad_allocation_index,  ///< Behind the last allocation of the list (C30).
  bad_length,            ///< Not a whole number of 24-byte records.
  no_bytes,              ///< An allocation without a size.
};

/// The first entry that is wrong; `fault` is none where none is.
struct [[nodiscard]] split_list_error {
  split_fault fault = split_fault::none;
  std::size_t index = 0;           ///< Which entry.
  std::uint32_t slot = 0;          ///< What that entry says.
  std::uint64_t split_offset = 0;  ///< What that entry says.

  explicit operator bool() const noexcept { return fault != split_fault::none; }
};

/// A slot that stays bound across a split point which does not mention it.
struct binding_leak {
  std::uint32_t slot = 0;
  std::uint64_t split_offset = 0;  ///< The split point.

  bool operator==(const binding_leak&) const = default;
};

namespace detail {

/// What is wrong with an entry behind one at `before`.
constexpr split_fault entry_fault(std::uint32_t slot, std::uint64_t offset, std::uint64_t before,
                                  std::uint32_t max_slot, std::uint64_t end) noexcept {
  if (slot > max_slot) return split_fault::bad_slot;
  if (offset < before) return split_fault::bad_order;
  if (offset > end) return split_fault::bad_offset;
  return split_fault::none;
}

/// How many entries, from the first one on, share its offset.
template <class Allocation>
std::size_t group_length(std::span<const split_entry<Allocation>> entries) noexcept {
  std::size_t length = 0;
  while (length < entries.size() && entries[length].split_offset == entries[0].split_offset) ++length;
  return length;
}

}  // namespace detail

/// Whether the list can be used: slots up to max_slot, offsets in order and at most `end`, which is the length of the work
/// item. Offsets of `end` itself are allowed: such entries take effect after the last command.
///
/// O(entries), no allocation.
template <split_allocation Allocation>
split_list_error check_split_list(std::span<const split_entry<Allocation>> entries, std::uint32_t max_slot,
                                  std::uint64_t end) noexcept {
  std::uint64_t before = 0;
  for (std::size_t index = 0; index < entries.size(); ++index) {
    const auto& [allocation, slot, offset] = entries[index];
    const split_fault fault = detail::entry_fault(slot, offset, before, max_slot, std::min(end, largest_split_offset));
    if (fault != split_fault::none) return {fault, index, slot, offset};
    before = offset;
  }
  return {};
}

/// The strict rule (C29): every split point binds again or unbinds each slot that was bound before it. The first slot that
/// one of them forgets, by offset and then by slot; nothing if there is none. The list has passed check_split_list(). No work
/// item is cut at its `end`, so that a group there is no split point.
///
/// O(entries * log(bound slots)).
template <split_allocation Allocation>
[[nodiscard]] std::optional<binding_leak> find_binding_leak(
    std::span<const split_entry<Allocation>> entries, std::uint64_t end = std::numeric_limits<std::uint64_t>::max()) {
  std::map<std::uint32_t, std::size_t> bound;  // slots, and the group that mentioned each last
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
      entry.allocation == Allocation{} ? void(bound.erase(entry.slot)) : void(bound[entry.slot] = group);
    }
    entries = entries.subspan(here.size());
  }
  return {};
}

/// Writes a list in order, a split point for each bind and unbind (C23).
template <split_allocation Allocation>
class split_list_builder {
 public:
  using entry = split_entry<Allocation>;

  /// From `offset` on, in bytes or whatever the work item is counted in, the slot holds the allocation, which is one. A
  /// split_fault where the offset is below the last one, or offset or slot too large; nothing is added then.
  [[nodiscard]] split_fault bind(std::uint64_t offset, std::uint32_t slot, Allocation allocation) {
    TIDEMARK_ASSERT(allocation != Allocation{}, "no allocation is what unbind() is for");
    return add({allocation, slot, offset});
  }
  /// From `offset` on the slot holds nothing (C24). Harmless where it held nothing before.
  [[nodiscard]] split_fault unbind(std::uint64_t offset, std::uint32_t slot) { return add({{}, slot, offset}); }

  /// Binds the slot again at every later split point that does not mention it, so that what it holds may be moved there
  /// (C26, C28); for large allocations. Until it is told otherwise.
  void keep_bound(std::uint32_t slot, bool is_kept = true) {
    if (is_kept) {
      kept_.try_emplace(slot, held_by(slot));
    } else {
      complete_group();
      kept_.erase(slot);
    }
  }

  /// The list so far, which later calls change.
  [[nodiscard]] std::span<const entry> entries() {
    complete_group();
    return entries_;
  }
  /// An empty list; no slot is kept bound.
  void clear() noexcept {
    entries_.clear();
    kept_.clear();
    completed_ = 0;
  }

 private:
  split_fault add(const entry& added) {
    if (added.slot > largest_slot) return split_fault::bad_slot;
    if (added.split_offset > largest_split_offset) return split_fault::bad_offset;
    if (!entries_.empty()) {
      const std::uint64_t last = entries_.back().split_offset;
      if (added.split_offset < last) return split_fault::bad_order;
      if (added.split_offset > last) complete_group();
    }
    entries_.push_back(added);
    return split_fault::none;
  }

  /// Adds the kept slots that the last group does not mention.
  void complete_group() {
    if (completed_ == entries_.size()) return;
    for (std::size_t i = completed_; i < entries_.size(); ++i) {
      const entry& mentioned = entries_[i];
      if (const auto kept = kept_.find(mentioned.slot); kept != kept_.end()) kept->second = mentioned.allocation;
    }
    const std::uint64_t offset = entries_.back().split_offset;
    std::map<std::uint32_t, Allocation> missing = kept_;
    for (auto last = entries_.rbegin(); last != entries_.rend() && last->split_offset == offset; ++last) {
      missing.erase(last->slot);
    }
    for (const auto& [slot, held] : missing) {
      if (held != Allocation{}) entries_.push_back({held, slot, offset});
    }
    completed_ = entries_.size();  // not before: who comes back after an exception goes on here
  }

  Allocation held_by(std::uint32_t slot) const noexcept {
    const auto last =
        std::find_if(entries_.rbegin(), entries_.rend(), [slot](const entry& e) { return e.slot == slot; });
    return last == entries_.rend() ? Allocation{} : last->allocation;
  }

  std::vector<entry> entries_;
  std::map<std::uint32_t, Allocation> kept_;  // slots, and what each holds after the completed groups
  std::size_t completed_ = 0;                 // entries of complete groups
};

}  // namespace tidemark

#endif  // TIDEMARK_SPLIT_LIST_HPP
