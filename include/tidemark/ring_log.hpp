// SPDX-License-Identifier: BSL-1.0
//
// A ring log: the last N entries, overwritten from the oldest on. Appending never waits and never fails; readers find
// out by themselves what they have missed.
//
//   tidemark::ring_log<sample, 84> log;
//   auto reader = log.reader();
//   log.append(s);                                                    // one producer at a time
//   auto [entries, lost, first_sequence] = reader.read(buffer);       // any thread, each reader has its own cursor
//
// Memory, one page of 64-bit words; N is any number, not only a power of two:
//
//   position           u32 first_free_entry_index in [0, N), u32 wraparound_count: one atomic word, so that a snapshot
//                      of both is never torn (trap 16). The entries written so far are wraps * N + index, modulo
//                      N * 2^32
//   type, number_of_entries, first_sequence                           constants
//   slot[N]            a slot is the words of an entry, and what the form needs before them
//
// Written by the producer alone: slots, then the position. Its own state is kept outside the page. Entries are numbered
// from first_sequence on; these numbers have 64 bits and don't wrap.
//
// What proves to a reader that an entry was whole while it was copied (trap 17), the form:
//
//   stamped         each slot has a word with the number of its entry plus 1, written before the other words and looked
//                   at after them. All N entries are readable, `lost` is exact for ever. The stamp is a word of the
//                   entry (log_stamp_word) or stands before it.
//   header_only     nothing is added: the position, looked at again after the copy, proves N - 1 entries. A reader that
//                   sleeps through N * 2^32 appends concludes that nothing was appended.
//   many_producers  any thread appends. A slot is owned through its stamp: odd while its entry is written, even when it
//                   is whole. Who finds the slot of the lap before still busy drops the new entry, which readers count
//                   as lost. The position is the plain number of entries begun.
//
// Invariant: what a reader hands out was appended as it is, in order, none twice; and entries + lost is the number of
// appends. A reader copies in chunks and makes one pass, so behind a fast producer a call may bring no entry.
//
// Not promised: a lower bound on what a slow reader gets; that entries of several producers are in the order of time;
// an order between different logs. A thread stopped inside append() with many producers holds up the readers at its
// entry for up to a lap; with one producer nobody waits for anybody.
#ifndef TIDEMARK_RING_LOG_HPP
#define TIDEMARK_RING_LOG_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "detail/log_page.hpp"
#include "platform.hpp"

namespace tidemark {

/// What read() brings: after `lost` entries that can't be had any more, `entries`, the first of which has the number
/// `first_sequence`; they follow each other without a gap.
template <class Entry>
struct log_batch {
  std::span<Entry> entries;
  std::uint64_t lost = 0;
  std::uint64_t first_sequence = 0;
};

namespace detail {

/// The one producer's own state, which no reader looks at.
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
    // (L3): the stamp, or the position before, comes before the words: who sees one of these in (L2) finds the other
    // after (L4), and who sees the stamp in (L17) the position before. A release store of the position in (L5) would
    // not hold back the words of the next entry.
    if constexpr (platform::has_thread_fences) platform::thread_fence(std::memory_order_release);
    store_words<Page>(words, entry);
    next_ = after(position, page.entries());
    // (L5): the whole entry comes before it; pairs with (L6). Nothing later has to wait for it.
    page.position().store(index_first(next_), std::memory_order_release);
  }

  std::uint64_t written() const noexcept { return stamp_of_first_slot_ - 1 + (next_ & 0xffff'ffff); }

 private:
  std::uint64_t after(std::uint64_t position, std::uint64_t entries) noexcept {
    if ((position & 0xffff'ffff) + 1 < entries) return position + 1;
    stamp_of_first_slot_ += entries;
    return ((position >> 32) + 1) << 32;
  }

  // Where the page has 4096 bytes and this follows it, as in fence_log, a load of next_ would have the low 12 bits of its
  // address in common with the position, stored just before, and processors look at these first (Zen 5: an append took
  // 1.3 to 2.7 times as long). With a word between it shares them with what is constant in the page.
  [[maybe_unused]] std::uint64_t apart_ = 0;
  std::uint64_t next_;                 // the position after the next append, its index in the low half
  std::uint64_t stamp_of_first_slot_;  // in this lap
};

/// With many producers the state is in the page.
template <class Page>
requires(Page::form == log_form::many_producers) class log_producer<Page> {
 public:
  explicit log_producer(const Page&) noexcept {}

  void append(Page& page, const typename Page::entry_type& entry) noexcept {
    using platform = typename Page::platform_type;
    using slot = typename Page::slot;
    // (L10): a number of its own for each entry, alone: what readers may see of the entry, its stamp says.
    const std::uint64_t sequence = page.position().fetch_add(1, std::memory_order_relaxed);
    const auto words = page.slot_at(sequence % page.entries());
    if (!own(words[slot::stamp], sequence)) return give_up(words[slot::given_up], sequence);
    // (L11): the busy stamp comes before the words, as in (L3); (L4) is the other end.
    if constexpr (platform::has_thread_fences) platform::thread_fence(std::memory_order_release);
    store_words<Page>(words, entry);
    // (L12): the whole entry comes before it; pairs with (L7), and with (L13) of the producer a lap later.
    words[slot::stamp].store(whole(sequence), std::memory_order_release);
  }

  static constexpr std::uint64_t busy(std::uint64_t sequence) noexcept { return 2 * sequence + 1; }
  static constexpr std::uint64_t whole(std::uint64_t sequence) noexcept { return 2 * sequence + 2; }

 private:
  /// False where the producer of an older lap is still at it, or that of a newer one has been.
  static bool own(typename Page::word& stamp, std::uint64_t sequence) noexcept {
    // (L14): only a first look, alone: (L13) decides.
    std::uint64_t seen = stamp.load(std::memory_order_relaxed);
    if (seen % 2 != 0 || seen > busy(sequence)) return false;
    // (L13): the words of the entry before are written, pairs with (L12): ours come later. Readers that see ours find
    // the stamp by (L11), so nothing is released here.
    return stamp.compare_exchange_strong(seen, busy(sequence), std::memory_order_acquire, std::memory_order_relaxed);
  }

  /// Readers at this entry need not wait for it. Of two that are given up here the later one stands; the readers of the
  /// other see that they were lapped.
  static void give_up(typename Page::word& given_up, std::uint64_t sequence) noexcept {
    // (L15): alone, no data comes with it.
    std::uint64_t seen = given_up.load(std::memory_order_relaxed);
    while (seen < sequence + 1) {
      // (L16): alone, as (L15). At most as many turns as producers are here.
      if (given_up.compare_exchange_strong(seen, sequence + 1, std::memory_order_relaxed, std::memory_order_relaxed))
        return;
    }
  }
};

}  // namespace detail

/// A cursor of its own in a log. Any number of readers; each for one thread at a time. It holds a reference to the
/// page.
///
/// Progress: wait-free. Nothing a reader does is seen by a producer.
template <class Page>
class ring_log_reader {
 public:
  using entry_type = typename Page::entry_type;
  using batch = log_batch<entry_type>;

  /// Begins with the oldest entry that can be had.
  explicit ring_log_reader(const Page& page) noexcept : page_{&page}, next_{page.first_sequence()} {
    const std::uint64_t begun = written();
    if (begun - next_ > readable()) next_ = begun - readable();
  }

  /// Begins with the entry of this number; what is gone of it is counted as lost. The log must have come so far, and
  /// not N * 2^32 entries further in the header_only form.
  ring_log_reader(const Page& page, std::uint64_t sequence) noexcept : page_{&page}, next_{sequence} {}

  /// Copies the entries that follow, as many as fit (A97, A98). Those that were overwritten before they were copied
  /// whole are counted, once (trap 19). An empty batch with lost = 0 says that there is nothing to read now: the log has
  /// nothing new, or the buffer is empty, or, with many producers, the next entry is not whole yet.
  [[nodiscard]] batch read(std::span<entry_type> buffer) noexcept {
    std::uint64_t lost = 0;
    const std::uint64_t end = written();
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

  /// Returns whether the log has moved past the cursor: one load (A108). By the position alone, so it is false in the
  /// moment at which exactly N * 2^32 entries were appended since.
  [[nodiscard]] bool has_new() const noexcept {
    // (L9): a hint, alone: read() looks for itself.
    const std::uint64_t position = page_->position().load(std::memory_order_relaxed);
    return position != (is_many ? next_ : detail::packed_position(next_, page_->entries()));
  }

  /// Returns the number of the entry that the next batch begins with, unless it is lost.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return next_; }

 private:
  using platform = typename Page::platform_type;
  using slot = typename Page::slot;
  static constexpr bool is_many = Page::form == log_form::many_producers;

  struct outcome {
    std::size_t whole = 0;  // at the front of the buffer
    std::uint64_t lost = 0;
    bool ends = false;  // the next entry is not there yet
  };

  /// With one producer the last N entries, of which the position alone proves one less (osv #146, trap 17).
  std::uint64_t readable() const noexcept { return page_->entries() - (Page::form == log_form::header_only ? 1 : 0); }

  /// How many entries were written, not counting from first_sequence but from 0; never more than there are.
  std::uint64_t written() const noexcept {
    if constexpr (is_many) {
      // (L18): alone: what may be read, the stamps say.
      return page_->position().load(std::memory_order_relaxed);
    }
    const std::uint64_t bound = lower_bound();
    // (L6): the entries before it are whole, pairs with (L5).
    return bound + distance(bound, page_->position().load(std::memory_order_acquire));
  }

  /// Not more than the entries of which the position, loaded next, tells.
  std::uint64_t lower_bound() const noexcept {
    if constexpr (Page::form == log_form::header_only) return next_;
    // The stamp of an entry q was stored after the fence of the entry before, so at least q - 1 entries are written:
    // the 64 bits that the position lacks. Any slot will do; this one is needed next.
    const std::uint64_t stamp = detail::load_log_word<platform>(page_->slot_at(next_ % page_->entries())[slot::stamp]);
    if constexpr (platform::has_thread_fences) {
      // (L17): a position that is loaded later in (L6) is not older than the stamp; pairs with (L3).
      platform::thread_fence(std::memory_order_acquire);
    }
    return stamp < next_ + 2 ? next_ : stamp - 2;
  }

  /// From a number of entries to the next one that the position can mean.
  std::uint64_t distance(std::uint64_t from, std::uint64_t position) const noexcept {
    const std::uint64_t modulus = page_->entries() << 32;
    const std::uint64_t to = detail::unpacked_position(position, page_->entries());
    return (to + modulus - from % modulus) % modulus;
  }

  /// The next entries into the front of the buffer: one chunk, one pass.
  outcome copy(std::span<entry_type> buffer, std::uint64_t end) const noexcept {
    if constexpr (is_many) return copy_one(buffer[0]);
    constexpr std::uint64_t chunk = 8;
    const auto count = static_cast<std::size_t>(std::min({chunk, std::uint64_t{buffer.size()}, end - next_}));
    for (std::size_t entry = 0; entry < count; ++entry) {
      detail::load_words<Page>(page_->slot_at((next_ + entry) % page_->entries()), buffer[entry]);
    }
    // (L4): what (L8) finds is not older than the words; pairs with (L3) and (L11).
    if constexpr (platform::has_thread_fences) platform::thread_fence(std::memory_order_acquire);
    const std::size_t lost = overwritten(count);
    std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(lost), buffer.begin() + static_cast<std::ptrdiff_t>(count),
              buffer.begin());
    return {count - lost, lost, false};
  }

  /// Of the next `count` entries, up to which the copies are not proved whole. The newest is looked at first: nothing
  /// that is overwritten meanwhile comes after it.
  std::size_t overwritten(std::size_t count) const noexcept {
    if constexpr (Page::form == log_form::header_only) {
      // (L19): has the producer come round? (L4) goes before it.
      const std::uint64_t now = distance(next_, page_->position().load(std::memory_order_relaxed));
      return now <= readable() ? 0 : static_cast<std::size_t>(std::min(now - readable(), std::uint64_t{count}));
    }
    while (count > 0 && stamp_of(next_ + count - 1) == next_ + count) --count;
    return count;
  }

  std::uint64_t stamp_of(std::uint64_t sequence) const noexcept {
    // (L8): has the producer come round? (L4) goes before it.
    return page_->slot_at(sequence % page_->entries())[slot::stamp].load(std::memory_order_relaxed);
  }

  /// With many producers.
  outcome copy_one(entry_type& entry) const noexcept {
    using producer = detail::log_producer<Page>;
    const auto words = page_->slot_at(next_ % page_->entries());
    // (L7): the words are written; pairs with (L12).
    const std::uint64_t stamp = words[slot::stamp].load(std::memory_order_acquire);
    if (stamp < producer::whole(next_)) {
      // (L20): alone, as (L15).
      const bool dropped = words[slot::given_up].load(std::memory_order_relaxed) == next_ + 1;
      return {0, dropped ? std::uint64_t{1} : 0, !dropped};
    }
    detail::load_words<Page>(words, entry);
    // (L21): as (L4), against (L11).
    if constexpr (platform::has_thread_fences) platform::thread_fence(std::memory_order_acquire);
    const bool is_whole = stamp_of(next_) == producer::whole(next_);
    return {is_whole ? std::size_t{1} : 0, is_whole ? std::uint64_t{0} : 1, false};
  }

  const Page* page_;
  std::uint64_t next_;
};

/// A page and its producer's state.
///
/// \tparam Entry     trivially copyable
/// \tparam N         how many entries; std::dynamic_extent: said at construction, which allocates
/// \tparam Form      see the head of this file
template <class Entry, std::size_t N = 84, log_form Form = log_form::stamped, class Platform = native_platform>
class ring_log {
 public:
  using page_type = ring_log_page<Entry, N, Form, Platform>;
  using reader_type = ring_log_reader<page_type>;
  using batch = log_batch<Entry>;

  /// \param type            for the page's header (A81)
  /// \param first_sequence  what the first entry is numbered; goes on where another log ended (A92)
  explicit ring_log(std::uint32_t type = 0, std::uint64_t first_sequence = 0) noexcept requires(page_type::is_fixed)
      : page_{N, type, first_sequence}, producer_{page_} {}
  /// \param entries  2 to 2^31 - 1; other numbers are asserted and taken for the nearest of these
  explicit ring_log(std::size_t entries, std::uint32_t type = 0,
                    std::uint64_t first_sequence = 0) requires(!page_type::is_fixed)
      : page_{entries, type, first_sequence}, producer_{page_} {}
  /// In the caller's memory, which outlives the log and is aligned to 8 bytes: as many entries as fit, see
  /// page_type::bytes_for(). 4,096 bytes hold 84 of 48 bytes. Memory that is misaligned or too small for 2 entries is
  /// asserted and not touched: the log then allocates its own.
  explicit ring_log(std::span<std::byte> memory, std::uint32_t type = 0,
                    std::uint64_t first_sequence = 0) requires(!page_type::is_fixed)
      : page_{memory, type, first_sequence}, producer_{page_} {}

  /// Writes over the oldest entry (A97, A102). One thread at a time, unless the form is many_producers.
  ///
  /// Progress: wait-free; one store for each word of the entry and one for the position. With many producers one
  /// fetch_add and one compare-exchange more; an entry is dropped where a producer was stopped inside append() a lap
  /// ago.
  void append(const Entry& entry) noexcept { producer_.append(page_, entry); }

  /// Returns a reader that begins with the oldest entry that is still there; or, to go on elsewhere, with the entry of
  /// this number. Any thread, also while entries are appended. The log must outlive the reader.
  [[nodiscard]] reader_type reader() const noexcept { return reader_type{page_}; }
  [[nodiscard]] reader_type reader_from(std::uint64_t sequence) const noexcept { return reader_type{page_, sequence}; }

  /// Returns the number that the next entry will have. For the producer.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept requires(Form != log_form::many_producers) {
    return producer_.written();
  }

  const page_type& page() const noexcept { return page_; }

 private:
  page_type page_;
  detail::log_producer<page_type> producer_;
};

}  // namespace tidemark

#endif  // TIDEMARK_RING_LOG_HPP
