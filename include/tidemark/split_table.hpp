// SPDX-License-Identifier: BSL-1.0
//
// A split table: which allocation each slot of a work item needs at each offset. One thread applies the entries of the
// split list while it submits; any number of others ask beside it, and decide what may be evicted.
//
//   tidemark::split_table<texture_id> table{max_slot};
//   auto fault = table.apply({.allocation = sky, .slot = 2, .split_offset = 4096});   // the writer, in the list's order
//   table.finish();                                                                   // no more of this work item
//
//   auto reader = table.reader();                                            // each for one thread
//   if (auto rows = reader.rows_after(4096)) use(rows[2]);                   // or not_yet, or stale
//   if (reader.is_needed(ground, 0, 4096) == split_need::not_needed) evict(ground);
//
// The table is a log. What the rows are at an offset, each reader works out for itself by going through the log up to
// there: the rows of a point that lies behind the writer can't be had otherwise, and a reader of rows that the writer
// changes in place, over and over, would have to try forever (one snapshot in a million tries, at 65,536 slots).
//
//   status    one word: work item | finished (1 bit) | entries applied (as many bits as the capacity needs)
//   entry n   the words of the allocation, and {slot 24, split offset 40}
//
// The writer alone writes: the words of an entry, then the status. An entry is not written again before reset(), which
// begins the next work item, with another number, before the first word is overwritten. Its own state, what the checks
// of apply() need, is kept elsewhere.
//
// Invariant: an answer is that of the whole work item. A reader says `not_yet` while entries may follow that change it:
// inside the group that is being applied, or beyond the writer. It says `stale` once its work item is over, also if that
// happens while it looks. What the writer did before it applied an entry, or called finish(), happens before what a reader
// does who was answered because of it.
//
// Numbers of work items repeat after 2^(63 - bits of the capacity) resets; 2^46 of them with 65,536 entries.
#ifndef TIDEMARK_SPLIT_TABLE_HPP
#define TIDEMARK_SPLIT_TABLE_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "detail/assert.hpp"
#include "detail/log_word.hpp"
#include "platform.hpp"
#include "split_list.hpp"

namespace tidemark {

/// Whether an answer can be given.
enum class split_answer : std::uint8_t {
  known,
  not_yet,  ///< Entries that may change it were not applied yet.
  stale,    ///< The reader's work item is over; see follow().
};

/// What all slots hold at some offset.
template <class Allocation>
struct [[nodiscard]] split_rows {
  split_answer answer = split_answer::not_yet;
  std::span<const Allocation> rows;  ///< By slot. The reader's own, until it is asked for something else.

  explicit operator bool() const noexcept { return answer == split_answer::known; }
  const Allocation& operator[](std::uint32_t slot) const noexcept {
    TIDEMARK_ASSERT(slot < rows.size(), "there is no such row");
    return rows[slot];
  }
};

/// Whether a part of a work item uses an allocation. All but `not_needed` mean: leave it where it is.
enum class split_need : std::uint8_t { not_needed, needed, not_yet, stale };

namespace detail {

/// The words that a writer and readers of a split table share.
template <class Allocation, std::size_t Capacity, class Platform>
class split_log {
 public:
  using word = typename Platform::template atomic<std::uint64_t>;
  static constexpr std::size_t allocation_words = (sizeof(Allocation) + 7) / 8;
  static constexpr std::size_t entry_words = allocation_words + 1;
  static constexpr bool is_fixed = Capacity != std::dynamic_extent;
  static constexpr std::size_t most_entries =
      std::min(std::size_t{1} << 31, std::numeric_limits<std::size_t>::max() / 2 / (entry_words * sizeof(word)));

  explicit split_log(std::size_t capacity) : bits_{static_cast<unsigned>(std::bit_width(capacity))} {
    if constexpr (!is_fixed) words_ = std::make_unique<word[]>(capacity * entry_words);
  }

  std::uint64_t count_of(std::uint64_t status) const noexcept { return status & ((std::uint64_t{1} << bits_) - 1); }
  std::uint64_t finished_bit() const noexcept { return std::uint64_t{1} << bits_; }
  std::uint64_t work_item_of(std::uint64_t status) const noexcept { return status >> (bits_ + 1); }
  std::uint64_t status_of(std::uint64_t work_item) const noexcept { return work_item << (bits_ + 1); }

  word& status() noexcept { return status_; }
  const word& status() const noexcept { return status_; }

  void store(std::uint64_t index, const split_entry<Allocation>& entry) noexcept {
    word* const to = &words_[static_cast<std::size_t>(index) * entry_words];
    std::array<std::uint64_t, allocation_words> allocation{};
    std::memcpy(allocation.data(), &entry.allocation, sizeof entry.allocation);
    for (std::size_t i = 0; i < allocation_words; ++i) store_log_word<Platform>(to[i], allocation[i]);
    store_log_word<Platform>(to[allocation_words], entry.split_offset << 24 | entry.slot);
  }
  split_entry<Allocation> load(std::uint64_t index) const noexcept {
    const word* const from = &words_[static_cast<std::size_t>(index) * entry_words];
    std::array<std::uint64_t, allocation_words> allocation;
    for (std::size_t i = 0; i < allocation_words; ++i) allocation[i] = load_log_word<Platform>(from[i]);
    const std::uint64_t where = load_log_word<Platform>(from[allocation_words]);
    split_entry<Allocation> entry{{}, static_cast<std::uint32_t>(where & largest_slot), where >> 24};
    std::memcpy(static_cast<void*>(&entry.allocation), allocation.data(), sizeof entry.allocation);
    return entry;
  }
  std::uint64_t load_offset(std::uint64_t index) const noexcept {
    return load_log_word<Platform>(words_[static_cast<std::size_t>(index) * entry_words + allocation_words]) >> 24;
  }

 private:
  alignas(cache_line) word status_{0};
  const unsigned bits_;
  alignas(cache_line) std::conditional_t<is_fixed, std::array<word, is_fixed ? Capacity * entry_words : 1>,
                                         std::unique_ptr<word[]>> words_{};
};

}  // namespace detail

/// What one thread knows of a table. Each reader for one thread at a time, any number of them; the table outlives them.
///
/// Progress: wait-free, O(entries that follow those of the last question); of an offset before that of the last one, O(all
/// entries up to there). Nothing that a reader does is seen by the writer.
template <class Allocation, std::size_t Capacity, class Platform>
class split_table_reader {
 public:
  using log_type = detail::split_log<Allocation, Capacity, Platform>;

  /// \param rows  of the table: its largest slot plus 1. Allocates them.
  split_table_reader(const log_type& log, std::size_t rows) : log_{&log}, rows_(rows) { follow(); }

  /// What the commands behind `offset` find bound: all entries up to `offset`, those at it included.
  split_rows<Allocation> rows_after(std::uint64_t offset) & noexcept {
    return rows_below(std::min(offset, largest_split_offset) + 1);
  }

  /// What the part that ends at `offset` still uses there: entries at `offset` don't count, so what they replace is needed
  /// (C14, trap 31).
  split_rows<Allocation> needed_before(std::uint64_t offset) & noexcept { return rows_below(offset); }

  /// Whether the part [from, to) of the work item uses the allocation, anywhere (C14, C15). `from` is below `to`.
  ///
  /// O(rows + entries of the part) more; for each of these entries that binds the allocation, O(its group).
  split_need is_needed(const Allocation& allocation, std::uint64_t from, std::uint64_t to) noexcept {
    TIDEMARK_ASSERT(from < to, "a part that is empty needs nothing");
    TIDEMARK_ASSERT(allocation != Allocation{}, "no allocation is never needed");
    const split_rows<Allocation> first = rows_after(from);
    if (!first) return first.answer == split_answer::stale ? split_need::stale : split_need::not_yet;
    if (std::find(first.rows.begin(), first.rows.end(), allocation) != first.rows.end()) return split_need::needed;
    const std::uint64_t status = look();
    const std::uint64_t bound = known_up_to(status);
    const bool is_bound = is_bound_below(std::min(bound, to), log_->count_of(status), allocation);
    if (!is_current(status) || !is_still_current()) return split_need::stale;
    return is_bound ? split_need::needed : bound >= to ? split_need::not_needed : split_need::not_yet;
  }

  /// Goes over to the work item of now.
  void follow() noexcept {
    work_item_ = log_->work_item_of(look());
    rewind();
  }

  /// Whether the reader's work item is not over. It may be over the moment after.
  [[nodiscard]] bool was_current() const noexcept { return is_current(look()); }

 private:
  std::uint64_t look() const noexcept {
    // (S1): the entries that it counts are written; pairs with (S2) and (S6). Not more: whether the item was over meanwhile,
    // (S5) looks for itself.
    return log_->status().load(std::memory_order_acquire);
  }
  bool is_current(std::uint64_t status) const noexcept { return log_->work_item_of(status) == work_item_; }

  /// Whether the words that were loaded before were those of the reader's work item.
  bool is_still_current() const noexcept {
    // (S4): who found a word of the next work item finds that item in (S5); pairs with (S3). Not more: words that were
    // loaded before are all that has to be held back.
    if constexpr (Platform::has_thread_fences) Platform::thread_fence(std::memory_order_acquire);
    // (S5): relaxed: (S4), or (L2), goes before it, and nothing that comes after depends on it.
    return is_current(log_->status().load(std::memory_order_relaxed));
  }

  /// All entries below it were applied: one that lies at it was, or there are no more.
  std::uint64_t known_up_to(std::uint64_t status) const noexcept {
    if ((status & log_->finished_bit()) != 0) return std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t count = log_->count_of(status);
    return count == 0 ? 0 : log_->load_offset(count - 1);
  }

  split_rows<Allocation> rows_below(std::uint64_t bound) noexcept {
    const std::uint64_t status = look();
    if (!is_current(status)) return {split_answer::stale, {}};
    const bool is_known = bound <= known_up_to(status);
    if (is_known) fold(log_->count_of(status), bound);
    if (!is_still_current()) return {split_answer::stale, {}};
    if (!is_known) return {split_answer::not_yet, {}};
    return {split_answer::known, rows_};
  }

  /// Whether an entry below `bound`, behind those that are in the rows, makes a slot hold the allocation.
  bool is_bound_below(std::uint64_t bound, std::uint64_t count, const Allocation& allocation) const noexcept {
    for (std::uint64_t index = folded_; index < count; ++index) {
      const split_entry<Allocation> found = log_->load(index);
      if (found.split_offset >= bound) return false;
      if (found.allocation == allocation && !is_superseded(found, index, count)) return true;
    }
    return false;
  }

  /// Whether a later entry of the same group is for the same slot.
  bool is_superseded(const split_entry<Allocation>& entry, std::uint64_t index, std::uint64_t count) const noexcept {
    while (++index < count) {
      const split_entry<Allocation> later = log_->load(index);
      if (later.split_offset != entry.split_offset) return false;
      if (later.slot == entry.slot) return true;
    }
    return false;
  }

  void fold(std::uint64_t count, std::uint64_t bound) noexcept {
    if (folded_ > 0 && last_offset_ >= bound) rewind();
    for (; folded_ < count; ++folded_) {
      const split_entry<Allocation> next = log_->load(folded_);
      if (next.split_offset >= bound) return;
      rows_[next.slot] = next.allocation;
      last_offset_ = next.split_offset;
    }
  }

  void rewind() noexcept {
    std::fill(rows_.begin(), rows_.end(), Allocation{});
    folded_ = 0;
  }

  const log_type* log_;
  std::uint64_t work_item_ = 0;
  std::vector<Allocation> rows_;  // after the first `folded_` entries
  std::uint64_t folded_ = 0;
  std::uint64_t last_offset_ = 0;  // of these
};

/// \tparam Allocation  what a slot holds; `Allocation{}` is none
/// \tparam Capacity    entries of a work item; std::dynamic_extent: said at construction, which allocates
template <split_allocation Allocation, std::size_t Capacity = std::dynamic_extent, class Platform = native_platform>
class split_table {
 public:
  using entry = split_entry<Allocation>;
  using log_type = detail::split_log<Allocation, Capacity, Platform>;
  using reader_type = split_table_reader<Allocation, Capacity, Platform>;

  /// \param max_slot  the largest slot (C11), at most largest_slot. The table has a row for each slot from 0 on
  explicit split_table(std::uint32_t max_slot) requires(log_type::is_fixed) : split_table{max_slot, Capacity, {}} {}
  /// \param capacity  entries of a work item, 1 to 2^31
  explicit split_table(std::uint32_t max_slot, std::size_t capacity = 65'536) requires(!log_type::is_fixed)
      : split_table{max_slot, capacity, {}} {}
  split_table(const split_table&) = delete;
  split_table& operator=(const split_table&) = delete;

  /// The next entry of the work item. One thread at a time, the writer. What is refused changes nothing: `bad_slot`,
  /// `bad_order`, `bad_offset`, `full`, `finished`.
  ///
  /// Progress: wait-free; a store for each word of the entry and one for the status, no fence instruction.
  [[nodiscard]] split_fault apply(const entry& added) noexcept {
    if (count_ == room_) [[unlikely]]
      return (begun_ & log_.finished_bit()) == 0 ? split_fault::full : split_fault::finished;
    const split_fault fault =
        detail::entry_fault(added.slot, added.split_offset, last_offset_, max_slot_, largest_split_offset);
    if (fault != split_fault::none) [[unlikely]]
      return fault;
    log_.store(count_, added);
    ++count_;
    last_offset_ = added.split_offset;
    // (S2): the words of the entry come before it; pairs with (S1). Not more: nothing later has to wait for it, the next
    // entry's words may well be seen first.
    log_.status().store(begun_ + count_, std::memory_order_release);
    return split_fault::none;
  }

  /// No entry follows, so all offsets can be answered. The writer. Progress: wait-free, one store.
  void finish() noexcept {
    room_ = count_;
    begun_ |= log_.finished_bit();
    // (S6): as (S2), pairs with (S1): what was done before happens before who finds the work item finished acts on it.
    log_.status().store(begun_ + count_, std::memory_order_release);
  }

  /// Begins the next work item, with all slots unbound. The writer. Answers for the one before are stale from now on.
  /// Progress: wait-free; one store, and on machines other than x86-64 a fence.
  void reset() noexcept {
    begun_ = log_.status_of(log_.work_item_of(begun_) + 1);
    count_ = 0;
    room_ = capacity_;
    last_offset_ = 0;
    // (S7): relaxed: no entry comes with it. (S3) puts it before the words that follow.
    log_.status().store(begun_, std::memory_order_relaxed);
    // (S3): the status comes before the words that follow: pairs with (S4). A release store in (S7) would not hold them
    // back, and before entries of the same work item nothing has to be.
    if constexpr (Platform::has_thread_fences) Platform::thread_fence(std::memory_order_release);
  }

  /// A reader of the work item of now. Any thread. Allocates the rows.
  [[nodiscard]] reader_type reader() const { return reader_type{log_, std::size_t{max_slot_} + 1}; }

  std::uint32_t max_slot() const noexcept { return max_slot_; }
  std::size_t capacity() const noexcept { return capacity_; }
  /// Entries of the work item so far. For the writer.
  std::size_t size() const noexcept { return count_; }

 private:
  struct checked {};
  split_table(std::uint32_t max_slot, std::size_t capacity, checked)
      : log_{checked_capacity(capacity)}, room_{capacity}, max_slot_{max_slot}, capacity_{capacity} {
    TIDEMARK_ASSERT(max_slot <= largest_slot, "a slot has 24 bits");
  }
  /// Before anything is allocated.
  static std::size_t checked_capacity(std::size_t capacity) {
    TIDEMARK_ASSERT(capacity >= 1 && capacity <= log_type::most_entries, "a split table has 1 to 2^31 entries");
    return capacity;
  }

  log_type log_;
  // The order keeps the two that every entry changes apart: a compiler that stores them at once, from a vector register,
  // makes the next entry wait for it.
  alignas(cache_line) std::size_t count_ = 0;
  std::size_t room_;  // the capacity, or what there is once the work item is finished
  std::uint64_t last_offset_ = 0;
  std::uint64_t begun_ = 0;  // the status without its entries
  const std::uint32_t max_slot_;
  const std::size_t capacity_;
};

}  // namespace tidemark

#endif  // TIDEMARK_SPLIT_TABLE_HPP
