// SPDX-License-Identifier: BSL-1.0
//
// A split table records which allocation each slot of a work item holds at each offset. One thread, the writer,
// applies the entries of the split list while it submits the work item. Any number of readers ask at the same time,
// for example to decide what may be evicted.
//
//   using tidemark::slot_id;
//   tidemark::split_table<texture_id> table{{.max_slot = slot_id{15}}};
//   auto applied = table.apply({.allocation = sky, .slot = slot_id{2}, .split_offset = 4096});  // in list order
//   table.close();                                                    // no entry of this work item follows
//
//   auto reader = table.reader();                                     // each reader is for one thread
//   if (auto rows = reader.rows_after(4096)) use(rows[slot_id{2}]);   // otherwise rows.status is not_yet or stale
//   if (reader.need_of(ground, 0, 4096) == split_need::not_needed) evict(ground);
//
// The table is a log of the entries. Each reader computes the rows at an offset for itself, by replaying the log up to
// there. A table of rows that the writer updates in place can't do this: it has lost the rows at earlier offsets, and
// with 65,536 slots only one of a million copies that a reader made was consistent.
//
//   status    one word: number of the work item | closed (1 bit) | entries applied (as many bits as the capacity needs)
//   entry n   the words of the allocation, then one word {slot 24, split offset 40}
//
// Only the writer writes: first the words of an entry, then the status. It overwrites entries only after reset(), which
// stores the number of the next work item before any word is overwritten. What apply() needs for its checks lies on a
// cache line that a reader touches only in its constructor.
//
// Invariant: an answer holds for the whole work item.
//   - A reader answers `not_yet` while entries that would change the answer may still follow. Entries with the same
//     offset form a group. As long as close() was not called, let x be the offset of the last entry, or 0 if there is
//     none: rows_after() answers `not_yet` for x and all greater offsets, and needed_before() for all offsets greater
//     than x.
//   - A reader answers `stale` once its work item is over, also if that happens during the call.
//   - What the writer did before it applied an entry, or called close(), happens-before the return of a call whose
//     answer depends on that entry, or on close().
//
// Numbers of work items repeat after 2^(63 - b) resets, where b is the number of bits that the capacity needs: 2^46
// with 65,536 entries. A reader that stays behind for that long would take the new work item for its own.
//
// Not promised: that an answer still holds for a later work item; that readers agree on when a work item is over.
#ifndef TIDEMARK_SPLIT_SPLIT_TABLE_HPP
#define TIDEMARK_SPLIT_SPLIT_TABLE_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/log_word.hpp"
#include "split_list.hpp"

namespace tidemark {

/// What became of an entry that a table was given. In every case but `applied` the table is unchanged.
enum class split_apply_status : std::uint8_t {
  applied,   ///< The entry belongs to the work item.
  no_space,  ///< The table is full, until reset().
  closed,    ///< close() was called for this work item.
  invalid,   ///< The entry is wrong; `fault` says why: bad_slot, bad_order or bad_offset.
};

template <>
inline constexpr auto detail::names_of<split_apply_status> = detail::names("applied", "no_space", "closed", "invalid");

/// The result of split_table::apply().
struct [[nodiscard]] split_apply_result {
  split_apply_status status = split_apply_status::applied;
  std::optional<split_fault> fault{};  ///< Present if and only if the status is `invalid`.

  explicit operator bool() const noexcept { return status == split_apply_status::applied; }
};

/// Whether a reader can tell the rows.
enum class split_rows_status : std::uint8_t {
  known,    ///< The rows are those of the whole work item.
  not_yet,  ///< Entries that may change the rows have not been applied yet.
  stale,    ///< The reader's work item is over; call restart().
};

template <>
inline constexpr auto detail::names_of<split_rows_status> = detail::names("known", "not_yet", "stale");

/// What all slots hold at an offset.
template <class Allocation>
struct [[nodiscard]] split_rows {
  split_rows_status status = split_rows_status::not_yet;
  /// One row for each slot, or empty unless the status is `known`. The rows lie in the reader, and are valid until
  /// its next call.
  std::span<const Allocation> rows;

  explicit operator bool() const noexcept { return status == split_rows_status::known; }
  /// Returns what the slot holds; the null handle if it is unbound. Asserts that the rows are known, and that the slot
  /// is not above the largest one. Otherwise it is unbound, too.
  Allocation operator[](slot_id slot) const noexcept {
    const std::size_t row = detail::row_of(slot);
    TIDEMARK_ASSERT(row < rows.size(), "the slot has no row");
    return row < rows.size() ? rows[row] : Allocation{};
  }
};

/// Whether a part of a work item uses an allocation. Do not evict it for any other answer than `not_needed`.
enum class [[nodiscard]] split_need : std::uint8_t {
  not_needed,  ///< No command of the part uses the allocation.
  needed,      ///< A command of the part uses it.
  not_yet,     ///< Entries that may change the answer have not been applied yet.
  stale,       ///< The reader's work item is over; call restart().
};

template <>
inline constexpr auto detail::names_of<split_need> = detail::names("not_needed", "needed", "not_yet", "stale");

/// The choices of a split table whose capacity is fixed at compile time.
template <std::size_t Capacity = std::dynamic_extent>
struct split_table_options {
  slot_id max_slot{};  ///< The largest slot, at most largest_slot (asserted). Each slot from 0 on has a row.
};

/// The choices of a split table that allocates its log.
template <>
struct split_table_options<std::dynamic_extent> {
  slot_id max_slot{};  ///< As in the primary template.
  /// The greatest number of entries of a work item, 1 to 2^31 (asserted); fewer with 32-bit addresses.
  std::size_t capacity = 65'536;
};

template <split_allocation Allocation, std::size_t Capacity, platform Platform>
class split_table_reader;

namespace detail {

/// The words that the writer and the readers of a split table share.
template <class Allocation, std::size_t Capacity, class Platform>
class split_log {
 public:
  using word = typename Platform::template atomic<std::uint64_t>;
  static constexpr std::size_t allocation_words = (sizeof(Allocation) + 7) / 8;
  static constexpr std::size_t entry_words = allocation_words + 1;
  static constexpr bool is_fixed = Capacity != std::dynamic_extent;
  static constexpr std::size_t most_entries =
      (std::min)(std::size_t{1} << 31, (std::numeric_limits<std::size_t>::max)() / 2 / (entry_words * sizeof(word)));
  using storage =
      std::conditional_t<is_fixed, std::array<word, is_fixed ? Capacity * entry_words : 1>, std::unique_ptr<word[]>>;

  explicit split_log(std::size_t capacity)
    requires(is_fixed)
      : bits_{bits_for(capacity)} {}
  split_log(std::size_t capacity, storage words) noexcept
    requires(!is_fixed)
      : bits_{bits_for(capacity)}, words_{std::move(words)} {}

  std::uint64_t count_of(std::uint64_t status) const noexcept { return status & ((std::uint64_t{1} << bits_) - 1); }
  std::uint64_t closed_bit() const noexcept { return std::uint64_t{1} << bits_; }
  std::uint64_t work_item_of(std::uint64_t status) const noexcept { return status >> (bits_ + 1); }
  std::uint64_t status_of(std::uint64_t work_item) const noexcept { return work_item << (bits_ + 1); }

  word& status() noexcept { return status_; }
  const word& status() const noexcept { return status_; }

  void store(std::uint64_t index, const split_entry<Allocation>& entry) noexcept {
    word* const to = &words_[as_integer<std::size_t>(index) * entry_words];
    std::array<std::uint64_t, allocation_words> allocation{};
    std::memcpy(allocation.data(), static_cast<const void*>(&entry.allocation), sizeof entry.allocation);
    for (std::size_t i = 0; i < allocation_words; ++i) store_log_word<Platform>(to[i], allocation[i]);
    store_log_word<Platform>(to[allocation_words], entry.split_offset << 24 | row_of(entry.slot));
  }
  split_entry<Allocation> load(std::uint64_t index) const noexcept {
    const word* const from = &words_[as_integer<std::size_t>(index) * entry_words];
    std::array<std::uint64_t, allocation_words> allocation;
    for (std::size_t i = 0; i < allocation_words; ++i) allocation[i] = load_log_word<Platform>(from[i]);
    const std::uint64_t where = load_log_word<Platform>(from[allocation_words]);
    split_entry<Allocation> entry{{}, slot_id{static_cast<std::uint32_t>(where & row_of(largest_slot))}, where >> 24};
    std::memcpy(static_cast<void*>(&entry.allocation), allocation.data(), sizeof entry.allocation);
    return entry;
  }
  std::uint64_t load_offset(std::uint64_t index) const noexcept {
    return load_log_word<Platform>(words_[as_integer<std::size_t>(index) * entry_words + allocation_words]) >> 24;
  }

 private:
  static unsigned bits_for(std::size_t capacity) noexcept { return static_cast<unsigned>(std::bit_width(capacity)); }

  alignas(cache_line) word status_{0};
  const unsigned bits_;
  alignas(cache_line) storage words_{};
};

}  // namespace detail

/// The table, as its writer sees it. apply(), close(), reset() and size() are for the writer: one thread at a time.
/// Another thread may take over if the hand-over itself synchronizes.
/// \tparam Allocation  what a slot holds; `Allocation{}` is the null handle
/// \tparam Capacity    the greatest number of entries of a work item, 1 to 2^31 (asserted by the constructor). With
///                     std::dynamic_extent, the default, it is an option, and the constructor allocates the log.
template <split_allocation Allocation, std::size_t Capacity = std::dynamic_extent, platform Platform = native_platform>
class split_table {
  using log_type = detail::split_log<Allocation, Capacity, Platform>;
  struct checked {};

 public:
  using entry = split_entry<Allocation>;
  using options = split_table_options<Capacity>;
  using reader_type = split_table_reader<Allocation, Capacity, Platform>;

  /// A table whose log lies inside it; nothing is allocated.
  explicit split_table(const options& chosen) noexcept
    requires(log_type::is_fixed)
      : log_{checked_capacity(Capacity)}, room_{Capacity}, max_slot_{checked_slot(chosen)}, capacity_{Capacity} {}
  /// A table that allocates its log. Throws std::bad_alloc; make() does not.
  explicit split_table(const options& chosen)
    requires(!log_type::is_fixed)
      : split_table{checked{}, chosen, std::make_unique<word[]>(words_for(chosen))} {}
  /// For make() only: nobody else can name the first parameter's type.
  split_table(checked, const options& chosen, std::unique_ptr<typename log_type::word[]> words) noexcept
    requires(!log_type::is_fixed)
      : log_{chosen.capacity, std::move(words)},
        room_{chosen.capacity},
        max_slot_{checked_slot(chosen)},
        capacity_{chosen.capacity} {}
  split_table(const split_table&) = delete;
  split_table& operator=(const split_table&) = delete;

  /// Returns a table that has allocated its log; absent if the system refused the memory. Throws nothing.
  [[nodiscard]] static std::optional<split_table> make(const options& chosen) noexcept
    requires(!log_type::is_fixed)
  {
    std::unique_ptr<word[]> words{new (std::nothrow) word[words_for(chosen)]};
    if (words == nullptr) return std::nullopt;
    return std::optional<split_table>{std::in_place, checked{}, chosen, std::move(words)};
  }

  /// Applies the next entry of the work item. Returns `applied`; `closed` after close(); `no_space` if the table is
  /// full; otherwise `invalid` if the slot is above max_slot(), or the offset is below that of the entry before or
  /// above largest_split_offset. An entry that is not applied changes nothing. The writer only.
  ///
  /// Progress: wait-free; one store for each word of the entry and one for the status, no fence instruction.
  split_apply_result apply(const entry& added) noexcept {
    if (count_ == room_) [[unlikely]] {
      return {(begun_ & log_.closed_bit()) == 0 ? split_apply_status::no_space : split_apply_status::closed};
    }
    const bool is_valid =
        detail::is_valid_entry(added.slot, added.split_offset, last_offset_, max_slot_, largest_split_offset);
    if (!is_valid) [[unlikely]]
      return {split_apply_status::invalid, fault_of(added)};
    log_.store(count_, added);
    ++count_;
    last_offset_ = added.split_offset;
    // (S2): release, pairs with (S1): the words of the entry are stored before the status that counts it. Not stronger:
    // nothing later has to wait for this store; the words of the next entry may become visible before it.
    log_.status().store(begun_ + count_, std::memory_order_release);
    return {};
  }

  /// Closes the work item: no entry follows, so readers can answer for all offsets. A second call changes nothing. The
  /// writer only. Progress: wait-free, one store.
  void close() noexcept {
    room_ = count_;
    begun_ |= log_.closed_bit();
    // (S6): release like (S2), pairs with (S1): what the writer did before happens-before the actions of a reader that
    // finds the work item closed.
    log_.status().store(begun_ + count_, std::memory_order_release);
  }

  /// Begins the next work item, with all slots unbound; the one before need not be closed. Its readers answer `stale`
  /// as soon as they see this. The writer only. Progress: wait-free; one store, and on machines other than x86-64 a
  /// fence instruction.
  void reset() noexcept {
    begun_ = log_.status_of(log_.work_item_of(begun_) + 1);
    count_ = 0;
    room_ = capacity_;
    last_offset_ = 0;
    // (S7): relaxed: this status counts no entry. (S3) orders it before the words that follow.
    log_.status().store(begun_, std::memory_order_relaxed);
    // (S3): release, pairs with (S4): the status is stored before the words that follow. A release order in (S7)
    // would not hold those words back. Within one work item nothing has to be held back.
    if constexpr (Platform::has_thread_fences) Platform::thread_fence(std::memory_order_release);
  }

  /// Returns a reader of the current work item. Any thread may call it. Allocates the rows, and throws std::bad_alloc;
  /// split_table_reader::make() does not throw.
  [[nodiscard]] reader_type reader() const { return reader_type{*this}; }

  /// Returns the largest slot. Any thread may call it.
  slot_id max_slot() const noexcept { return max_slot_; }
  /// Returns the greatest number of entries of a work item. Any thread may call it.
  std::size_t capacity() const noexcept { return capacity_; }
  /// Returns how many entries of the current work item were applied. The writer only.
  std::size_t size() const noexcept { return count_; }

 private:
  friend reader_type;
  using word = typename log_type::word;

  std::optional<split_fault> fault_of(const entry& wrong) const noexcept {
    return detail::entry_fault(wrong.slot, wrong.split_offset, last_offset_, max_slot_, largest_split_offset);
  }

  static std::size_t checked_capacity(std::size_t capacity) noexcept {
    TIDEMARK_ASSERT(capacity >= 1 && capacity <= log_type::most_entries, "a split table has 1 to 2^31 entries");
    return capacity;
  }
  static slot_id checked_slot(const options& chosen) noexcept {
    TIDEMARK_ASSERT(chosen.max_slot <= largest_slot, "a slot has 24 bits");
    return chosen.max_slot;
  }
  static std::size_t words_for(const options& chosen) noexcept {
    return checked_capacity(chosen.capacity) * log_type::entry_words;
  }

  log_type log_;
  // This order keeps count_ and last_offset_ apart, which every entry changes. Side by side, a compiler stores both at
  // once from a vector register, and the next entry has to wait for that store.
  alignas(cache_line) std::size_t count_ = 0;
  std::size_t room_;  // the capacity; the number of entries once the work item is closed
  std::uint64_t last_offset_ = 0;
  std::uint64_t begun_ = 0;  // the status without the number of entries
  const slot_id max_slot_;
  const std::size_t capacity_;
};

/// One thread's view of a table. A table may have any number of readers; each one is for one thread at a time. The
/// table must outlive its readers. A reader belongs to the work item that was current when the reader was made or
/// restarted.
///
/// Progress of all questions: wait-free. A question costs O(entries between the offset of the last question and its
/// own). If the last question counted an entry that this one must not count, the reader begins again at the first
/// entry, and the question costs O(rows + all entries up to its offset). restart() is wait-free, too, and costs
/// O(rows). The writer does not notice its readers.
template <split_allocation Allocation, std::size_t Capacity, platform Platform>
class split_table_reader {
 public:
  using table_type = split_table<Allocation, Capacity, Platform>;

  /// A reader of the current work item. Allocates the rows, and throws std::bad_alloc.
  explicit split_table_reader(const table_type& table)
      : split_table_reader{table, std::make_unique<Allocation[]>(rows_of(table))} {}
  /// Returns a reader of the current work item; absent if the system refused the memory. Throws nothing.
  [[nodiscard]] static std::optional<split_table_reader> make(const table_type& table) noexcept {
    std::unique_ptr<Allocation[]> rows{new (std::nothrow) Allocation[rows_of(table)]};
    if (rows == nullptr) return std::nullopt;
    return split_table_reader{table, std::move(rows)};
  }

  /// Returns what the commands behind `offset` find bound: the rows after all entries whose offset is at most `offset`;
  /// or `not_yet` or `stale`.
  split_rows<Allocation> rows_after(std::uint64_t offset) & noexcept {
    return rows_below((std::min)(offset, largest_split_offset) + 1);
  }

  /// Returns what is still bound at the end of the part that ends at `offset`: the rows after all entries whose offset
  /// is below `offset`. Allocations that entries at `offset` replace are among them, because the part needs them up to
  /// its end. Or returns `not_yet` or `stale`.
  split_rows<Allocation> needed_before(std::uint64_t offset) & noexcept { return rows_below(offset); }

  /// Returns whether any command of the part [from, to) of the work item uses the allocation. Asserts that `from` is
  /// below `to`, and that the allocation is not the null handle.
  ///
  /// A group is complete when an entry with a greater offset has been applied, or close() was called. Returns `not_yet`
  /// until rows_after(from) is known. From then on it returns `needed` as soon as one of the rows after `from` holds
  /// the allocation, or a complete group of the part binds it. If none does, it returns `not_yet` until an entry at or
  /// behind `to` has been applied or close() was called, and `not_needed` after that. Returns `stale` once the work
  /// item is over. Costs what rows_after(from) costs, and O(rows + entries of the part), and O(entries of its group)
  /// for each entry that binds the allocation.
  split_need need_of(const Allocation& allocation, std::uint64_t from, std::uint64_t to) noexcept {
    TIDEMARK_ASSERT(from < to, "need_of() was asked for an empty part");
    TIDEMARK_ASSERT(allocation != Allocation{}, "need_of() was asked for the null handle");
    const split_rows<Allocation> first = rows_after(from);
    if (!first) return first.status == split_rows_status::stale ? split_need::stale : split_need::not_yet;
    if (std::find(first.rows.begin(), first.rows.end(), allocation) != first.rows.end()) return split_need::needed;
    const std::uint64_t status = look();
    const std::uint64_t bound = known_up_to(status);
    const bool is_bound = is_bound_below((std::min)(bound, to), log_->count_of(status), allocation);
    if (!is_current(status) || !is_still_current()) return split_need::stale;
    return is_bound ? split_need::needed : bound >= to ? split_need::not_needed : split_need::not_yet;
  }

  /// Restarts the reader at the work item that is current now. A reader whose work item is over answers nothing but
  /// `stale` until this is called.
  void restart() noexcept {
    work_item_ = log_->work_item_of(look());
    rewind();
  }

  /// Returns whether the reader's work item is not over yet. The answer may be outdated when it is returned.
  [[nodiscard]] bool was_current() const noexcept { return is_current(look()); }

 private:
  using log_type = detail::split_log<Allocation, Capacity, Platform>;

  split_table_reader(const table_type& table, std::unique_ptr<Allocation[]> rows) noexcept
      : log_{&table.log_}, rows_{std::move(rows)}, row_count_{rows_of(table)} {
    restart();
  }
  static std::size_t rows_of(const table_type& table) noexcept { return detail::row_of(table.max_slot()) + 1; }

  std::uint64_t look() const noexcept {
    // (S1): acquire, pairs with (S2) and (S6): the words of all entries that the status counts are visible. Not
    // stronger: whether the work item ended meanwhile is what (S5) finds out.
    return log_->status().load(std::memory_order_acquire);
  }
  bool is_current(std::uint64_t status) const noexcept { return log_->work_item_of(status) == work_item_; }

  /// Returns whether the words that were loaded before belong to the reader's work item.
  bool is_still_current() const noexcept {
    // (S4): acquire, pairs with (S3): a reader that has loaded a word of the next work item finds that work item in
    // (S5). Not stronger: only the loads of the words have to stay before (S5).
    if constexpr (Platform::has_thread_fences) Platform::thread_fence(std::memory_order_acquire);
    // (S5): relaxed: (S4), or (L2), comes before it, and nothing later depends on it.
    return is_current(log_->status().load(std::memory_order_relaxed));
  }

  /// Returns a bound: all entries below it have been applied. It is the offset of the last entry, or the greatest
  /// number once the work item is closed.
  std::uint64_t known_up_to(std::uint64_t status) const noexcept {
    if ((status & log_->closed_bit()) != 0) return (std::numeric_limits<std::uint64_t>::max)();
    const std::uint64_t count = log_->count_of(status);
    return count == 0 ? 0 : log_->load_offset(count - 1);
  }

  split_rows<Allocation> rows_below(std::uint64_t bound) noexcept {
    const std::uint64_t status = look();
    if (!is_current(status)) return {split_rows_status::stale, {}};
    const bool is_known = bound <= known_up_to(status);
    if (is_known) fold(log_->count_of(status), bound);
    if (!is_still_current()) return {split_rows_status::stale, {}};
    if (!is_known) return {split_rows_status::not_yet, {}};
    return {split_rows_status::known, {rows_.get(), row_count_}};
  }

  /// Returns whether an entry below `bound` that is not in the rows yet makes a slot hold the allocation.
  bool is_bound_below(std::uint64_t bound, std::uint64_t count, const Allocation& allocation) const noexcept {
    for (std::uint64_t index = folded_; index < count; ++index) {
      const split_entry<Allocation> found = log_->load(index);
      if (found.split_offset >= bound) return false;
      if (found.allocation == allocation && !is_superseded(found, index, count)) return true;
    }
    return false;
  }

  /// Returns whether a later entry of the same group names the same slot.
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
      rows_[detail::row_of(next.slot)] = next.allocation;
      last_offset_ = next.split_offset;
    }
  }

  void rewind() noexcept {
    std::fill_n(rows_.get(), row_count_, Allocation{});
    folded_ = 0;
  }

  const log_type* log_;
  std::uint64_t work_item_ = 0;
  std::unique_ptr<Allocation[]> rows_;  // the rows after the first `folded_` entries
  std::size_t row_count_;
  std::uint64_t folded_ = 0;
  std::uint64_t last_offset_ = 0;  // of the last of the first `folded_` entries
};

}  // namespace tidemark

#endif  // TIDEMARK_SPLIT_SPLIT_TABLE_HPP
