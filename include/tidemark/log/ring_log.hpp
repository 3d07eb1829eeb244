// SPDX-License-Identifier: BSL-1.0
//
// ring_log: the last N entries, overwritten from the oldest on. An append never waits, and with one producer it never
// fails; each reader finds out by itself what it has missed.
//
//   tidemark::ring_log<sample, 84> log;
//   auto reader = log.reader();
//   log.append(s);                                                    // one producer at a time
//   auto [entries, lost, first_sequence] = reader.read(buffer);       // any thread; each reader has its own cursor
//
// The memory is one page of 64-bit words (ring_log_page.hpp). N is any number, not only a power of two:
//
//   position           u32 first_free_entry_index in [0, N), u32 wraparound_count: one atomic word, so that a snapshot
//                      of both is never torn. wraps * N + index is the number of the next entry, modulo
//                      N * 2^32
//   type, version, number_of_entries, first_sequence                  constants
//   successor                                                         0, or where the log goes on (mapped_log.hpp)
//   slot[N]            first what the form needs (such as a stamp), then the words of an entry
//
// Only producers write. One producer writes the slot, and then the position. Several producers first take a number from
// the position, and then write the slot. The state of the one producer is kept outside the page. Entries are numbered
// from first_sequence on. These numbers have 64 bits and don't wrap.
//
// What proves to a reader that an entry was whole while it was copied:
//
//   log_form::stamped       Each slot has a stamp. With one producer it is the number of the entry plus 1, written
//                           before the other words and checked after them. With several producers it is 2 * number + 1
//                           while the entry is written, and 2 * number + 2 when it is whole. All N entries are
//                           readable, and `lost` is always exact. The stamp is a word of the entry (log_stamp_word), or
//                           stands before it.
//   log_form::header_only   Nothing is added. A reader loads the position again after the copy, which proves the last
//                           N - 1 entries. A reader that sleeps through N * 2^32 appends does not count them: from then
//                           on its numbers are too small by N * 2^32, and nothing reports it.
//   writers::several        Any thread appends, to a stamped log only. A producer owns a slot through its stamp, which
//                           is odd while the entry is written and even when it is whole. A producer drops its entry if
//                           its slot is still busy from an earlier lap, or is taken by a later lap already. Readers
//                           count that entry as lost. The position is the plain number of the next entry to begin,
//                           and its top bit closes the log.
//
// Invariant: every entry that a reader hands out was appended exactly so (but for the word that serves as the stamp),
// in order, none twice; and those that it hands out and those that it counts as lost are together all appends since it
// began (for header_only, see above). A reader copies in chunks and makes one pass, so behind a fast producer a call
// may bring few entries or none.
//
// Not promised: that a slow reader gets any entries; that entries of several producers are in the order of time; any
// order between different logs. With several producers, readers stop at the entry of a thread that is suspended inside
// append(), until it goes on or N more appends have begun. With one producer no thread waits for another.
#ifndef TIDEMARK_LOG_RING_LOG_HPP
#define TIDEMARK_LOG_RING_LOG_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "ring_log_page.hpp"

namespace tidemark::detail {

// The producer's side of a ring log: where the next entry goes, and in which order its words are written. The head of
// ring_log.hpp says what proves to a reader that an entry is whole.

/// The state of the one producer, which no reader looks at.
template <class Page>
class log_producer {
 public:
  explicit log_producer(const Page& page) noexcept
      : next_{index_first(packed_position(page.first_sequence(), page.entries()))},
        stamp_of_first_slot_{page.first_sequence() - page.first_sequence() % page.entries() + 1} {}

  void append(Page& page, const typename Page::entry_type& entry) noexcept {
    using platform = typename Page::platform_type;
    using slot = typename Page::slot;
    const std::uint64_t position = next_;
    const std::uint64_t index = position & 0xffff'ffff;
    const auto words = page.slot_at(index);
    if constexpr (slot::has_stamp) store_log_word<platform>(words[slot::stamp], stamp_of_first_slot_ + index);
    // (L3): the stamp, or the previous position, comes before the words. A reader that sees one of the words in (L2)
    // finds the stamp or the position after (L4); a reader that sees the stamp in (L17) finds the previous position. A
    // release store of the position in (L5) would not hold back the words of the next entry.
    if constexpr (platform::has_thread_fences) platform::thread_fence(std::memory_order_release);
    store_words<Page>(words, entry);
    next_ = after(position, page.entries());
    // (L5): release, pairs with (L6): the whole entry comes before it. Nothing later has to wait for it.
    page.position().store(index_first(next_), std::memory_order_release);
  }

  std::uint64_t written() const noexcept { return stamp_of_first_slot_ - 1 + (next_ & 0xffff'ffff); }

 private:
  std::uint64_t after(std::uint64_t position, std::uint64_t entries) noexcept {
    if ((position & 0xffff'ffff) + 1 < entries) return position + 1;
    stamp_of_first_slot_ += entries;
    return ((position >> 32) + 1) << 32;
  }

  // Where the page has 4096 bytes and this object follows it, as in fence_log, next_ would lie exactly 4096 bytes
  // behind the position, which was stored just before. Processors compare the low 12 bits of two addresses first, so
  // the load would wait for the store (Zen 5: an append took 1.3 to 2.7 times as long). With this word in front, next_
  // lies 4096 bytes behind a constant of the page.
  [[maybe_unused]] std::uint64_t apart_ = 0;
  std::uint64_t next_;                 // the position of the next entry, its index in the low half
  std::uint64_t stamp_of_first_slot_;  // in this lap
};

/// With several producers the state is in the page.
template <class Page>
  requires(Page::producers == writers::several)
class log_producer<Page> {
 public:
  explicit log_producer(const Page&) noexcept {}

  /// Positions from here on are those of a log that is closed.
  static constexpr std::uint64_t closed = closed_position;

  /// Returns false, and does nothing else, where the log is closed.
  bool append(Page& page, const typename Page::entry_type& entry) noexcept {
    using platform = typename Page::platform_type;
    using slot = typename Page::slot;
    // (L10): relaxed: a number of its own for each entry; the stamp says what readers may see of it. After (L24) it
    // carries that release on to (L25).
    const std::uint64_t sequence = page.position().fetch_add(1, std::memory_order_relaxed);
    if (sequence >= closed) [[unlikely]]
      return see_closed(page);
    const auto words = page.slot_at(sequence % page.entries());
    if (!own(words[slot::stamp], sequence)) {
      give_up(words[slot::given_up], sequence);
      return true;
    }
    // (L11): release, pairs with (L4) and (L21): the busy stamp comes before the words, as in (L3).
    if constexpr (platform::has_thread_fences) platform::thread_fence(std::memory_order_release);
    store_words<Page>(words, entry);
    // (L12): release: the whole entry comes before it; pairs with (L7), and with (L13) of the producer a lap later.
    words[slot::stamp].store(whole(sequence), std::memory_order_release);
    return true;
  }

  /// From now on no entry gets a number. Returns the number that the next one would have had. Called once.
  static std::uint64_t close(Page& page) noexcept {
    // (L24): release, pairs with (L25): who finds the log closed sees what came before that.
    return page.position().fetch_add(closed, std::memory_order_release);
  }

  static constexpr std::uint64_t busy(std::uint64_t sequence) noexcept { return 2 * sequence + 1; }
  static constexpr std::uint64_t whole(std::uint64_t sequence) noexcept { return 2 * sequence + 2; }

 private:
  /// Returns false where the producer of an older lap is still writing, or that of a newer lap was here.
  static bool own(typename Page::word& stamp, std::uint64_t sequence) noexcept {
    // (L14): relaxed alone, a first look: (L13) decides.
    std::uint64_t seen = stamp.load(std::memory_order_relaxed);
    if (seen % 2 != 0 || seen > busy(sequence)) return false;
    // (L13): acquire, pairs with (L12): the words of the previous entry are written before ours. Readers that see ours
    // find the stamp by (L11), so nothing is released here.
    return stamp.compare_exchange_strong(seen, busy(sequence), std::memory_order_acquire, std::memory_order_relaxed);
  }

  static bool see_closed(const Page& page) noexcept {
    // (L25): acquire, pairs with (L24), through the additions of (L10) that came after it.
    static_cast<void>(page.position().load(std::memory_order_acquire));
    return false;
  }

  /// Tells readers that have come to this entry not to wait for it. A slot notes only the latest entry that was dropped
  /// in it. Readers that wait for an earlier one find that they were lapped.
  static void give_up(typename Page::word& given_up, std::uint64_t sequence) noexcept {
    // (L15): relaxed alone: no data comes with it.
    std::uint64_t seen = given_up.load(std::memory_order_relaxed);
    while (seen < sequence + 1) {
      // (L16): relaxed alone, as (L15). It fails at most once for each other producer that is here.
      if (given_up.compare_exchange_strong(seen, sequence + 1, std::memory_order_relaxed, std::memory_order_relaxed))
        return;
    }
  }
};

}  // namespace tidemark::detail

namespace tidemark {

/// The options of a log.
struct ring_log_options {
  std::uint32_t type = 0;  ///< Stands in the page's header; without a meaning to the log.
  /// The number of the first entry, to go on where another log ended. Asserts that it is less than 2^63 if there are
  /// several producers. Otherwise the log begins with this number less 2^63.
  std::uint64_t first_sequence = 0;
};

/// What read() brings: first `lost` entries that can't be read any more, then `entries`, the first of which has the
/// number `first_sequence`. The lost and the returned ones are consecutive. Where `entries` is empty, `first_sequence`
/// is the number of the entry that the next call begins with.
template <class Entry>
struct log_batch {
  std::span<Entry> entries;
  std::uint64_t lost = 0;
  std::uint64_t first_sequence = 0;
};

/// A cursor of its own in a log. Any number of readers may read one log, each used by one thread at a time. A reader
/// refers to the page, which must outlive it. Producers notice nothing of what a reader does.
///
/// Progress: wait-free. No function allocates or asserts.
template <class Page>
class ring_log_reader {
 public:
  using entry_type = typename Page::entry_type;
  using batch = log_batch<entry_type>;

  /// Begins with the oldest entry that can still be read. In the header_only form fewer than N * 2^32 entries must have
  /// been appended so far, which is not checked: otherwise its numbers are too small, and it may miss readable entries.
  explicit ring_log_reader(const Page& page) noexcept : page_{&page}, next_{page.first_sequence()} {
    const std::uint64_t begun = written();
    if (begun - next_ > readable()) next_ = begun - readable();
  }

  /// Begins with the entry of this number; those of the following entries that are overwritten are counted as lost. The
  /// number must not be below the log's first_sequence, nor above the number of the next entry that will be appended.
  /// In the header_only form it must also be less than N * 2^32 below the number of the next entry. This is not
  /// checked: with any other number the counts and the numbers are wrong, and in the header_only form the entries, too.
  ring_log_reader(const Page& page, std::uint64_t sequence) noexcept : page_{&page}, next_{sequence} {}

  /// Copies the next entries into `buffer`, at most as many as fit, and returns them. `lost` counts those before them
  /// that were overwritten before they were copied whole, or dropped; each is counted once.
  ///
  /// A batch ends before a gap, so one that does not fill the buffer does not say that everything was read. An empty
  /// batch whose `lost` is 0 says that there is nothing to read now: nothing was appended; or the buffer is empty; or,
  /// with several producers, the next entry is not whole yet. An empty batch with a `lost` above 0 says that this call
  /// found lost entries only: call again. What the buffer holds behind the returned entries is not specified.
  [[nodiscard]] batch read(std::span<entry_type> buffer) noexcept { return read(buffer, written()); }

  /// The same, but reads only entries before the one of number `end`. That must not be below next_sequence(), nor above
  /// the number of the next entry that will be appended, which is not checked.
  [[nodiscard]] batch read(std::span<entry_type> buffer, std::uint64_t end) noexcept {
    std::uint64_t lost = 0;
    if (end - next_ > readable()) {
      lost = end - readable() - next_;
      next_ = end - readable();
    }
    std::size_t kept = 0;
    while (kept < buffer.size() && next_ != end) {
      const outcome chunk = copy(buffer.subspan(kept), end);
      if (chunk.lost != 0 && kept != 0) break;  // the gap goes into the next batch, which looks again
      lost += chunk.lost;
      next_ += chunk.lost + chunk.whole;
      kept += chunk.whole;
      if (chunk.ends) break;
    }
    return {buffer.first(kept), lost, next_ - kept};
  }

  /// Returns whether the log has moved past the cursor: one load. A recent append may not be seen yet. It compares
  /// positions alone. With one producer the position repeats after N * 2^32 entries. So it is false, too, if the log is
  /// ahead of the cursor by exactly that many entries, or by a multiple of that. With several it may be true before the
  /// next entry is whole, when read() brings nothing.
  [[nodiscard]] bool has_new() const noexcept {
    // (L9): relaxed alone, a hint: read() looks for itself.
    const std::uint64_t position = page_->position().load(std::memory_order_relaxed);
    return position != (is_several ? next_ : detail::packed_position(next_, page_->entries()));
  }

  /// Returns the number of the entry at the cursor. The next batch begins with it; if it is lost by then, the batch
  /// counts it as lost.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return next_; }

  /// Returns the number that the next append will give to its entry, as far as this thread can see: it may be higher
  /// already. The cursor stays where it is. Progress: wait-free.
  [[nodiscard]] std::uint64_t end_sequence() const noexcept { return written(); }

 private:
  using platform = typename Page::platform_type;
  using slot = typename Page::slot;
  static constexpr bool is_several = Page::producers == writers::several;

  struct outcome {
    std::size_t whole = 0;  // at the front of the buffer
    std::uint64_t lost = 0;
    bool ends = false;  // the next entry is not there yet
  };

  /// The last N entries; one fewer where only the position proves them.
  std::uint64_t readable() const noexcept { return page_->entries() - (Page::form == log_form::header_only ? 1 : 0); }

  /// Returns one more than the number of the last entry that was written, or with several producers begun. It may be
  /// outdated, but is never too great unless the log is closed (log_producer::closed).
  std::uint64_t written() const noexcept {
    if constexpr (is_several) {
      // (L18): relaxed alone: the stamps say what may be read.
      return page_->position().load(std::memory_order_relaxed);
    }
    const std::uint64_t bound = lower_bound();
    // (L6): acquire, pairs with (L5): the entries before this position are whole.
    return bound + distance(bound, page_->position().load(std::memory_order_acquire));
  }

  /// Returns a lower bound of the number of entries that the position stands for, if the position is loaded after this
  /// call.
  std::uint64_t lower_bound() const noexcept {
    if constexpr (Page::form == log_form::header_only) return next_;
    // The stamp of an entry q was stored after the fence of the entry before it, so at least q - 1 entries are written.
    // That gives the upper bits that the position lacks. Any slot will do; this one is needed next.
    const std::uint64_t stamp = detail::load_log_word<platform>(page_->slot_at(next_ % page_->entries())[slot::stamp]);
    if constexpr (platform::has_thread_fences) {
      // (L17): acquire, pairs with (L3): the position that (L6) loads later is not older than the stamp.
      platform::thread_fence(std::memory_order_acquire);
    }
    return stamp < next_ + 2 ? next_ : stamp - 2;
  }

  /// Returns how far the position is ahead of the number `from`, modulo N * 2^32.
  std::uint64_t distance(std::uint64_t from, std::uint64_t position) const noexcept {
    const std::uint64_t modulus = page_->entries() << 32;
    const std::uint64_t to = detail::unpacked_position(position, page_->entries());
    return (to + modulus - from % modulus) % modulus;
  }

  /// Copies the next entries to the front of the buffer: one chunk, one pass.
  outcome copy(std::span<entry_type> buffer, std::uint64_t end) const noexcept {
    if constexpr (is_several) return copy_one(buffer[0]);
    constexpr std::uint64_t chunk = 8;
    const auto count = detail::as_integer<std::size_t>((std::min)({chunk, std::uint64_t{buffer.size()}, end - next_}));
    for (std::size_t entry = 0; entry < count; ++entry) {
      detail::load_words<Page>(page_->slot_at((next_ + entry) % page_->entries()), buffer[entry]);
    }
    // (L4): acquire, pairs with (L3) and (L11): what (L8) finds is not older than the words.
    if constexpr (platform::has_thread_fences) platform::thread_fence(std::memory_order_acquire);
    const std::size_t lost = overwritten(count);
    std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(lost), buffer.begin() + static_cast<std::ptrdiff_t>(count),
              buffer.begin());
    return {count - lost, lost, false};
  }

  /// Returns how many of the next `count` entries are not proved whole; these are the oldest ones. It looks at the
  /// newest one first: whatever is overwritten meanwhile comes before it.
  std::size_t overwritten(std::size_t count) const noexcept {
    if constexpr (Page::form == log_form::header_only) {
      // (L19): relaxed after (L4): has the producer overwritten them?
      const std::uint64_t now = distance(next_, page_->position().load(std::memory_order_relaxed));
      return now <= readable() ? 0 : static_cast<std::size_t>((std::min)(now - readable(), std::uint64_t{count}));
    }
    while (count > 0 && stamp_of(next_ + count - 1) == next_ + count) --count;
    return count;
  }

  std::uint64_t stamp_of(std::uint64_t sequence) const noexcept {
    // (L8): relaxed after (L4): has the producer overwritten it?
    return page_->slot_at(sequence % page_->entries())[slot::stamp].load(std::memory_order_relaxed);
  }

  /// With several producers.
  outcome copy_one(entry_type& entry) const noexcept {
    using producer = detail::log_producer<Page>;
    const auto words = page_->slot_at(next_ % page_->entries());
    // (L7): acquire, pairs with (L12): the words are written.
    const std::uint64_t stamp = words[slot::stamp].load(std::memory_order_acquire);
    if (stamp < producer::whole(next_)) {
      // (L20): relaxed alone, as (L15).
      const bool dropped = words[slot::given_up].load(std::memory_order_relaxed) == next_ + 1;
      return {0, dropped ? std::uint64_t{1} : 0, !dropped};
    }
    detail::load_words<Page>(words, entry);
    // (L21): acquire, as (L4), pairs with (L11).
    if constexpr (platform::has_thread_fences) platform::thread_fence(std::memory_order_acquire);
    const bool is_whole = stamp_of(next_) == producer::whole(next_);
    return {is_whole ? std::size_t{1} : 0, is_whole ? std::uint64_t{0} : 1, false};
  }

  const Page* page_;
  std::uint64_t next_;
};

/// A page and the state of its producer.
///
/// \tparam Entry    trivially copyable and, for read(), copy-assignable
/// \tparam N        how many entries; with std::dynamic_extent the constructor takes the number, or the memory
/// \tparam Form     what proves that an entry is whole; see the head of this file
/// \tparam Writers  how many threads append; several only with log_form::stamped
template <class Entry, std::size_t N = 84, log_form Form = log_form::stamped, platform Platform = native_platform,
          writers Writers = writers::one>
class ring_log {
 public:
  using page_type = ring_log_page<Entry, N, Form, Platform, Writers>;
  using reader_type = ring_log_reader<page_type>;
  using batch = log_batch<Entry>;

  /// For a fixed N. The page is a part of the log; nothing is allocated.
  explicit ring_log(const ring_log_options& options = {}) noexcept
    requires(page_type::is_fixed)
      : page_{N, options.type, options.first_sequence}, producer_{page_} {}
  /// Allocates, and throws what the allocation throws.
  /// \param entries  2 to 2^31 - 1; an address space of 32 bits may have room for fewer. Asserts that; otherwise it
  ///                 takes the nearest number that a log can have
  explicit ring_log(std::size_t entries, const ring_log_options& options = {})
    requires(!page_type::is_fixed)
      : page_{entries, options.type, options.first_sequence}, producer_{page_} {}
  /// In the caller's memory, which must outlive the log and be aligned to 8 bytes: as many entries as fit, but less
  /// than 2^31; see page_type::bytes_for(). 4,096 bytes hold 84 slots of 48 bytes. Asserts that the memory is aligned
  /// and has room for 2 entries. Without assertions it leaves unfit memory alone and allocates its own: for as many
  /// entries as would have fitted, and for 2 at least. Then it throws what that allocation throws.
  explicit ring_log(std::span<std::byte> memory, const ring_log_options& options = {})
    requires(!page_type::is_fixed)
      : page_{memory, options.type, options.first_sequence}, producer_{page_} {}

  /// Writes over the oldest entry. One thread at a time, unless `Writers` says several.
  ///
  /// Progress: wait-free. One store for each word of the entry and of its stamp, and one for the position. Several
  /// producers do not store the position: they add to it by a fetch_add, and take the slot by a compare-exchange of its
  /// stamp. The entry is dropped if another producer is still writing to its slot in an earlier lap, or if this thread
  /// was suspended in append() while others filled the log once. The caller is not told; readers count the entry as
  /// lost.
  void append(const Entry& entry) noexcept { producer_.append(page_, entry); }

  /// Returns a reader that begins with the oldest entry that can still be read; see ring_log_reader for a header_only
  /// log that is very old. Any thread may call it, also while entries are appended. The log must outlive the reader.
  [[nodiscard]] reader_type reader() const noexcept { return reader_type{page_}; }
  /// The same, but the reader begins with the entry of this number, as to go on where another reader stopped. The
  /// constructor of ring_log_reader says which numbers are possible; that is not checked.
  [[nodiscard]] reader_type reader_from(std::uint64_t sequence) const noexcept { return reader_type{page_, sequence}; }

  /// Returns the number that the next entry will have. Only the producer may call it.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept
    requires(Writers == writers::one)
  {
    return producer_.written();
  }

  /// Says to readers in other mappings (mapped_log.hpp) that this log has come to its end, and where the next one is,
  /// whose page must be there already. The next log must begin with the number that the next entry would have here. No
  /// producer may append after this; of several, one calls it when the others append no more. Asserts that `next` is
  /// not no_log_location; unknown_log_location is allowed. Otherwise nothing is done. Progress: wait-free.
  void end_at(log_location next) noexcept {
    TIDEMARK_ASSERT(next != no_log_location, "a log ends, and goes on nowhere");
    if (next != no_log_location) page_.end_at(next);
  }

  /// Returns the page, which readers may read by themselves. The reference is valid as long as the log. Any thread.
  const page_type& page() const noexcept { return page_; }

 private:
  page_type page_;
  detail::log_producer<page_type> producer_;
};

}  // namespace tidemark

#endif  // TIDEMARK_LOG_RING_LOG_HPP
