// SPDX-License-Identifier: BSL-1.0
//
// log_directory: several logs of queues in one memory that processes share, and where they lie. One process writes it.
// Others map it, for reading alone if they like, find the logs, and follow each of them where it is replaced.
//
//   log_record[n]   one for each log
//     number        names the log; the numbers rise. 0: nothing is said here
//     extent        offset << 32 | bytes, in the memory of the logs
//     log           queue_id << 32 | fence_log_type
//     writer        a random number of the process that writes the log
//     process       its number, for people
//     made          the number of the log, from when its producer has made it
//   memory          of the logs
//
// The owner of the queues writes all but `made`. The producer of a log writes that, and the log.
//
// Memory is used again, oldest first, if there is no other: that of logs that were given back, and of processes that
// have ended. Before that, the record takes back the number. A reader copies entries, and then looks whether the number
// is still there; if it is not, the copy counts for nothing. So readers need not say that they have left a log.
//
// A process that is killed leaves a record without a number, or one of a log that is not made, or a log. The next
// process that writes the directory keeps the logs as long as it has other memory.
//
// Invariant: each batch that a reader hands out is of one log, and what it counts as lost comes before it.
//
// Not promised: that what lies here is true. Whoever may write it may write nonsense, and readers get nonsense then.
// They stay within the memory, and each call ends. The process that writes the directory trusts it, as the producers
// of the logs do: nobody else should be able to write it.
#ifndef TIDEMARK_LOG_TOOLS_LOG_DIRECTORY_HPP
#define TIDEMARK_LOG_TOOLS_LOG_DIRECTORY_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "../../platform/assert.hpp"
#include "../../platform/platform.hpp"
#include "../../platform/tools/log_word.hpp"
#include "../fence_log.hpp"
#include "../ids.hpp"
#include "../mapped_log.hpp"
#include "../ring_log_page.hpp"

namespace tidemark::detail {

/// What a record says of a log.
struct log_note {
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  queue_id queue{};
  std::uint32_t type = 0;
  std::uint64_t writer = 0;
  std::uint32_t process = 0;
};

/// One line of the directory. Bytes that are 0 are a record that says nothing.
template <platform Platform>
struct log_record {
  using word = typename Platform::template atomic<std::uint64_t>;

  word number{0};
  word extent{0};
  word log{0};
  word writer{0};
  word process{0};
  word made{0};
  std::array<word, 2> reserved{};

  // ---- the owner of the directory

  /// From now on the memory of the log may be written.
  void withdraw() noexcept {
    // (LD1): relaxed: (LD2) orders it.
    number.store(0, std::memory_order_relaxed);
    // (LD2): release, pairs with (LD4): who finds a word of what is written next finds another number in (LD5). With
    // relaxed, a copy of the next log's words might pass for the old one's. Not stronger: a reader that finds none of
    // these words may find the old number. Where there are no fences, the words are released by (L1).
    if constexpr (Platform::has_thread_fences) Platform::thread_fence(std::memory_order_release);
  }
  /// After withdraw(), and before the producer learns of the memory.
  void put(const log_note& of) noexcept {
    store_log_word<Platform>(extent, of.offset << 32 | of.bytes);
    store_log_word<Platform>(log, std::uint64_t{to_number(of.queue)} << 32 | of.type);
    store_log_word<Platform>(writer, of.writer);
    store_log_word<Platform>(process, of.process);
    // (LD3): relaxed: readers come after (L26).
    number.store(of.number, std::memory_order_relaxed);
  }

  // ---- readers

  /// Returns what the record says, if its log is made.
  std::optional<log_note> look() const noexcept {
    // (L27): acquire, pairs with (L26): the log is there, and the record. Not stronger: who is too early looks again.
    const std::uint64_t found = made.load(std::memory_order_acquire);
    if (found == 0) return std::nullopt;
    const std::uint64_t where = load_log_word<Platform>(extent);
    const std::uint64_t which = load_log_word<Platform>(log);
    const log_note note{.number = found,
                        .offset = where >> 32,
                        .bytes = where & 0xFFFF'FFFF,
                        .queue = queue_id{static_cast<std::uint32_t>(which >> 32)},
                        .type = static_cast<std::uint32_t>(which & 0xFFFF'FFFF),
                        .writer = load_log_word<Platform>(writer),
                        .process = static_cast<std::uint32_t>(load_log_word<Platform>(process) & 0xFFFF'FFFF)};
    return is_still(found) ? std::optional{note} : std::nullopt;
  }
  /// Returns whether what was read of the record and of its log before was of this log.
  bool is_still(std::uint64_t of) const noexcept {
    // (LD4): acquire, pairs with (LD2): orders what was copied before (LD5). Not stronger, like (LD2).
    if constexpr (Platform::has_thread_fences) Platform::thread_fence(std::memory_order_acquire);
    // (LD5): relaxed after (LD4).
    return number.load(std::memory_order_relaxed) == of;
  }
};

/// The directory of one process, which gives out places for the logs of its queues. For one thread at a time.
template <platform Platform>
class log_directory {
 public:
  using record_type = log_record<Platform>;
  using place = log_place<typename record_type::word>;

  /// Takes over what another process has left in the records.
  /// \param memory   of the logs, aligned to a cache line, and less than 4 GiB
  /// \param writer   a number that no other process has, other than 0
  /// \param process  the number of this one, for people
  log_directory(std::span<record_type> records, std::span<std::byte> memory, std::uint64_t writer,
                std::uint32_t process)
      : records_{records}, memory_{memory}, writer_{writer}, process_{process}, kept_(records.size()) {
    by_offset_.reserve(records.size());
    for (std::size_t i = 0; i < records.size(); ++i) take_over(i);
  }

  /// Returns a place for a log of `entries` entries, 2 to 2^31 - 1, which is asserted; or none if there is no memory,
  /// or no record. Allocates nothing.
  place take(queue_id of, fence_log_type type, std::size_t entries) noexcept {
    if (!page::can_have(entries)) return {};
    const std::size_t bytes = page::bytes_for(entries);
    // First without a change: if there is no memory either way, all logs stay.
    if (bytes > memory_.size() || !room_for(bytes, true)) return {};
    std::optional<room> found = room_for(bytes, false);
    while (!found) {
      forget_oldest();
      found = room_for(bytes, false);
    }
    kept& one = kept_[found->record];
    one = {.number = ++newest_, .offset = found->offset, .bytes = bytes, .queue = of};
    note_memory(found->record);
    record_type& to = records_[found->record];
    to.withdraw();
    to.put({one.number, one.offset, one.bytes, of, static_cast<std::uint32_t>(type), writer_, process_});
    return {memory_.subspan(one.offset, bytes), log_location{one.number}, &to.made};
  }

  /// Says that no thread of this process uses the log at this place any more. Returns false if it was not taken here.
  bool give_back(log_location at) noexcept {
    return give_back_if([&](const kept& one) { return log_location{one.number} == at; });
  }
  /// The same of all logs of a queue.
  bool give_back(queue_id of) noexcept {
    return give_back_if([&](const kept& one) { return one.queue == of; });
  }

 private:
  using page = ring_log_page<fence_log_entry, std::dynamic_extent, log_form::stamped, Platform>;

  /// What a record says, as this process knows it. It does not ask the shared one again.
  struct kept {
    std::uint64_t number = 0;  // 0: free
    std::size_t offset = 0;
    std::size_t bytes = 0;
    queue_id queue{};
    bool may_be_used_again = false;
  };
  struct room {
    std::size_t record;
    std::size_t offset;
  };

  /// No process gives out more numbers; what lies above is none.
  static constexpr std::uint64_t greatest_left = UINT64_MAX / 2;

  static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + cache_line - 1) / cache_line * cache_line;
  }

  void take_over(std::size_t index) noexcept {
    // (LD7): relaxed alone: no other thread writes the record. Also of a log that was never made.
    const std::uint64_t number = records_[index].number.load(std::memory_order_relaxed);
    if (number > greatest_left) return;
    newest_ = (std::max)(newest_, number);
    const std::optional<log_note> left = records_[index].look();
    if (!left || left->number > greatest_left || left->offset % cache_line != 0) return;
    if (left->offset > memory_.size() || left->bytes > memory_.size() - left->offset) return;
    kept_[index] = {.number = left->number,
                    .offset = as_integer<std::size_t>(left->offset),
                    .bytes = as_integer<std::size_t>(left->bytes),
                    .queue = left->queue,
                    .may_be_used_again = true};
    note_memory(index);
  }
  /// Of a record that has got memory.
  void note_memory(std::size_t index) noexcept {
    const auto at =
        std::upper_bound(by_offset_.begin(), by_offset_.end(), kept_[index].offset,
                         [this](std::size_t offset, std::size_t one) { return offset < kept_[one].offset; });
    by_offset_.insert(at, index);
  }

  template <class Condition>
  bool give_back_if(const Condition& is_meant) noexcept {
    bool is_there = false;
    for (kept& one : kept_) {
      if (one.number == 0 || one.may_be_used_again || !is_meant(one)) continue;
      one.may_be_used_again = is_there = true;
    }
    return is_there;
  }

  /// Finds a free record and memory that no log has.
  /// \param from_old  logs that may be forgotten count as forgotten
  std::optional<room> room_for(std::size_t bytes, bool from_old) const noexcept {
    const auto is_free = [&](const kept& one) { return one.number == 0 || (from_old && one.may_be_used_again); };
    const auto record = std::find_if(kept_.begin(), kept_.end(), is_free);
    if (record == kept_.end()) return std::nullopt;
    std::size_t offset = 0;
    for (const std::size_t index : by_offset_) {
      const kept& one = kept_[index];
      if (is_free(one)) continue;
      if (offset + bytes <= one.offset) break;
      offset = (std::max)(offset, rounded(one.offset + one.bytes));
    }
    if (offset > memory_.size() || memory_.size() - offset < bytes) return std::nullopt;
    return room{static_cast<std::size_t>(record - kept_.begin()), offset};
  }

  void forget_oldest() noexcept {
    kept* oldest = nullptr;
    for (kept& one : kept_) {
      if (!one.may_be_used_again || one.number == 0) continue;
      if (oldest == nullptr || one.number < oldest->number) oldest = &one;
    }
    if (oldest == nullptr) return;
    const auto index = static_cast<std::size_t>(oldest - kept_.data());
    records_[index].withdraw();
    std::erase(by_offset_, index);
    *oldest = {};
  }

  std::span<record_type> records_;
  std::span<std::byte> memory_;
  std::uint64_t writer_;
  std::uint32_t process_;
  std::uint64_t newest_ = 0;
  std::vector<kept> kept_;
  std::vector<std::size_t> by_offset_;  // the records that have memory
};

/// Reads the logs of a directory that another process writes. For one thread at a time. It writes nothing there. All
/// functions but the constructor allocate nothing.
template <platform Platform>
class log_directory_reader {
 public:
  using record_type = log_record<Platform>;
  using batch = log_batch<fence_log_entry>;

  /// A log that is followed through its replacements, by the numbers of this process.
  struct log {
    queue_id queue{};
    fence_log_type type{};
    std::uint64_t writer = 0;   ///< A random number of the process that writes it: another one if that starts again.
    std::uint32_t process = 0;  ///< The number of that process in its own name space, as it says.
  };

  /// \param memory  of the logs
  log_directory_reader(std::span<const record_type> records, std::span<const std::byte> memory,
                       const process_numbers& numbers = {})
      : records_{records}, memory_{memory}, numbers_{numbers}, seen_(records.size()) {
    // Those whose memory is used again stay until they were read.
    logs_.reserve(2 * records.size());
  }

  /// Looks for logs that were made since the last call, and forgets those whose memory is used again and that have no
  /// next log. Such a log stays until it was read, or until there is no room for another one: then what it has lost is
  /// not told. The numbers of the logs may be others afterwards. Progress: wait-free; a load for each record, and for
  /// each log that is new some more.
  void look() noexcept {
    std::erase_if(logs_, [this](const followed& one) {
      return one.is_gone || (one.seen_end <= one.reader.next_sequence() && is_past(one));
    });
    bool has_made_room = false;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      // (LD6): relaxed alone, a hint: look() of the record decides.
      const std::uint64_t made = records_[i].made.load(std::memory_order_relaxed);
      if (made == 0 || made == seen_[i]) continue;
      if (logs_.size() == logs_.capacity()) {
        if (!std::exchange(has_made_room, true)) std::erase_if(logs_, [this](const auto& one) { return is_past(one); });
        if (logs_.size() == logs_.capacity()) continue;
      }
      if (begin(i)) seen_[i] = made;
    }
  }

  /// Returns how many logs there are. They are sorted by queues, and the log of a queue's waits comes before that of
  /// its signals.
  [[nodiscard]] std::size_t logs() const noexcept { return logs_.size(); }
  /// Returns which log this is. Asserts that the number is less than logs(). Otherwise returns an empty one.
  [[nodiscard]] log at(std::size_t number) const noexcept {
    if (!is_one(number)) return {};
    const followed& one = logs_[number];
    return {numbers_.here(one.key.queue), static_cast<fence_log_type>(one.key.type), one.key.writer, one.process};
  }

  /// Returns whether read() is worth a call. A recent append may not be seen yet. Asserts that the number is less than
  /// logs(). Otherwise returns false. Progress: wait-free; a load for each record where the log was replaced.
  [[nodiscard]] bool has_new(std::size_t number) const noexcept {
    if (!is_one(number)) return false;
    const followed& one = logs_[number];
    if (one.is_gone) return false;
    return one.reader.has_new() || !is_there(one) || (is_over(one) && next_of(one));
  }

  /// Copies the next entries of a log into `buffer`, at most as many as fit, and returns them, as ring_log_reader does,
  /// with the numbers of this process. Where the log was replaced, it goes on in the next one that is in the directory;
  /// what the queue has written elsewhere in between counts as lost. Where the queue was made anew, the numbers of the
  /// entries begin anew, with the oldest one that can still be read. Where its memory is used again, what was not read
  /// counts as lost: up to the next log, or if there is none, as far as this reader has seen that log. Asserts that the
  /// number is less than logs(). Otherwise returns an empty batch. Progress: wait-free.
  [[nodiscard]] batch read(std::size_t number, std::span<fence_log_entry> buffer) noexcept {
    if (!is_one(number)) return {buffer.first(0), 0, 0};
    followed& one = logs_[number];
    batch found{buffer.first(0), 0, one.reader.next_sequence()};
    for (int logs = 0; logs < 4 && !one.is_gone; ++logs) {
      const reader_type before = one.reader;
      found = one.reader.read(buffer);
      const std::uint64_t end = one.reader.end_sequence();
      if (!is_there(one)) {
        // What was copied counts for nothing.
        const std::uint64_t first = before.next_sequence();
        one.reader = before;
        found = {buffer.first(0), 0, first};
        const std::uint64_t unread = one.seen_end > first ? one.seen_end - first : 0;
        const step next = go_on(one);
        if (next == step::done || next == step::changed) continue;
        one.is_gone = next == step::none;
        found = {buffer.first(0), unread, first + unread};
        if (one.is_gone || unread != 0) break;
        continue;
      }
      one.seen_end = end;
      if (!found.entries.empty() || found.lost != 0 || !is_over(one)) break;
      if (go_on(one) == step::none) break;
    }
    translate(one.key.type, found.entries);
    return found;
  }

 private:
  using reader_type = mapped_log_reader<fence_log_entry, Platform>;

  /// What all logs that replace each other have in common.
  struct log_key {
    queue_id queue{};
    std::uint32_t type = 0;
    std::uint64_t writer = 0;

    friend bool operator==(const log_key&, const log_key&) = default;
    friend bool operator<(const log_key& a, const log_key& b) noexcept {
      return std::tie(a.queue, a.type, a.writer) < std::tie(b.queue, b.type, b.writer);
    }
  };
  struct followed {
    log_key key;
    std::uint32_t process;
    std::size_t record;
    std::uint64_t number;
    reader_type reader;
    std::uint64_t seen_end;  // of the log, as far as a look has found it still there
    std::uint64_t newest;    // the number of the newest log of these that was found, or less
    bool is_gone = false;
  };

  static log_key key_of(const log_note& note) noexcept { return {note.queue, note.type, note.writer}; }

  bool is_one(std::size_t number) const noexcept {
    TIDEMARK_ASSERT(number < logs_.size(), "a directory has no log of this number");
    return number < logs_.size();
  }
  bool is_there(const followed& one) const noexcept { return records_[one.record].is_still(one.number); }
  /// Returns whether its memory is used again, and there is no next log.
  bool is_past(const followed& one) const noexcept { return !is_there(one) && !next_of(one); }
  /// Returns whether nothing is appended to it any more, once nothing more can be read. Of a queue that was destroyed
  /// and made anew, only the newer log says so.
  static bool is_over(const followed& one) noexcept { return one.newest > one.number || one.reader.next_log(); }

  /// Returns the memory of a log; none if what the note says is impossible.
  std::span<const std::byte> memory_of(const log_note& note) const noexcept {
    if (note.offset > memory_.size() || note.bytes > memory_.size() - note.offset) return {};
    return memory_.subspan(as_integer<std::size_t>(note.offset), as_integer<std::size_t>(note.bytes));
  }

  /// Begins to follow the logs to which that of a record belongs, unless they are followed already.
  /// Returns false if memory was used again meanwhile, so that it must look once more.
  bool begin(std::size_t seen) noexcept {
    const std::optional<log_note> found = records_[seen].look();
    if (!found) return true;  // it was used again, and is not made yet
    const log_key key = key_of(*found);
    const auto next = std::lower_bound(logs_.begin(), logs_.end(), key,
                                       [](const followed& one, const log_key& other) { return one.key < other; });
    if (next != logs_.end() && next->key == key) {
      next->newest = (std::max)(next->newest, found->number);
      return true;
    }
    const std::optional<std::size_t> oldest = oldest_of(key, 0);
    if (!oldest) return false;
    const record_type& record = records_[*oldest];
    const std::optional<log_note> note = record.look();
    if (!note || key_of(*note) != key) return false;
    const auto opened = reader_type::open(memory_of(*note), note->type);
    if (!opened) return record.is_still(note->number);
    const std::uint64_t end = opened.reader->end_sequence();
    if (!record.is_still(note->number)) return false;
    const std::uint64_t newest = (std::max)(found->number, note->number);
    logs_.insert(next, followed{key, note->process, *oldest, note->number, *opened.reader, end, newest});
    return true;
  }

  /// Returns the record of the oldest log of these with a number above `above`.
  std::optional<std::size_t> oldest_of(const log_key& key, std::uint64_t above) const noexcept {
    std::optional<std::size_t> found;
    std::uint64_t oldest = 0;
    // Twice: a log that was made later may be seen earlier, when its turn comes later. Behind it all older ones are
    // seen.
    for (int times = 0; times < 2; ++times) {
      for (std::size_t i = 0; i < records_.size(); ++i) {
        const std::optional<log_note> note = records_[i].look();
        if (!note || note->number <= above || key_of(*note) != key || (found && note->number >= oldest)) continue;
        found = i;
        oldest = note->number;
      }
    }
    return found;
  }
  /// Returns the record of the log that replaces the one that is followed, or of the one after it if the first one's
  /// memory is used again.
  std::optional<std::size_t> next_of(const followed& one) const noexcept { return oldest_of(one.key, one.number); }

  enum class step : unsigned char {
    done,
    anew,     ///< The next log is of a queue that was made anew with the same number.
    none,     ///< There is no next log.
    changed,  ///< Its memory was used again meanwhile: look once more.
  };
  /// Goes on in the next log.
  step go_on(followed& one) noexcept {
    const std::optional<std::size_t> record = next_of(one);
    if (!record) return step::none;
    const std::optional<log_note> note = records_[*record].look();
    if (!note || note->number <= one.number || key_of(*note) != one.key) return step::changed;
    const reader_type before = one.reader;
    log_fault fault = one.reader.follow(memory_of(*note));
    // The next log of the same queue does not begin before the end of this one.
    const bool is_anew =
        fault == log_fault::not_next || (fault == log_fault::none && one.reader.next_sequence() < one.seen_end);
    if (is_anew) {
      const auto opened = reader_type::open(memory_of(*note), note->type);
      fault = opened.fault;
      if (opened) one.reader = *opened.reader;
    }
    const std::uint64_t end = fault == log_fault::none ? one.reader.end_sequence() : 0;
    if (const bool is_still = records_[*record].is_still(note->number); fault != log_fault::none || !is_still) {
      one.reader = before;
      return is_still ? step::none : step::changed;
    }
    one.record = *record;
    one.number = note->number;
    one.seen_end = end;
    return is_anew ? step::anew : step::done;
  }

  /// Entries by the numbers of this process. What an entry of a log of waits, or of signals, is, is known.
  void translate(std::uint32_t type, std::span<fence_log_entry> entries) const noexcept {
    for (fence_log_entry& each : entries) {
      each.fence = numbers_.here(each.fence);
      if (type == static_cast<std::uint32_t>(fence_log_type::wait)) each.operation = fence_operation::wait_unblocked;
      if (type == static_cast<std::uint32_t>(fence_log_type::signal)) each.operation = fence_operation::signal_executed;
    }
  }

  std::span<const record_type> records_;
  std::span<const std::byte> memory_;
  process_numbers numbers_;
  std::vector<std::uint64_t> seen_;
  std::vector<followed> logs_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_LOG_TOOLS_LOG_DIRECTORY_HPP
