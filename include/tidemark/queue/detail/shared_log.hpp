// SPDX-License-Identifier: BSL-1.0
//
// shared_log: a log of several writers that may be replaced by another one while they write.
//
//   writers  ---> current        the newest log; a writer that comes to one that was closed looks again
//   log ---next---> log ...      each is closed before it has a next one; readers read it to its end, then go on
//
// A replacement takes three steps. First the new log becomes the current one. Then the old one is closed: its position
// takes no more numbers, so the number of its entries is known. Last the new one is linked to it, with the number of
// its first entry. So the numbers go on, a reader finds in the old log all that has a number there, and what a thread
// wrote to the old log comes before what it writes to the new one.
//
// No log is freed before the shared_log is destroyed: a writer may always be about to take a number in it.
//
// A writer that is stopped while it writes to a log that was closed holds the readers up there until it goes on, or
// until a later log has gone once around. Then its entry is counted as lost.
//
// Who calls what: any thread append(). The owner, one thread at a time, all else. A reader's functions are called by
// the thread that has the reader.
#ifndef TIDEMARK_QUEUE_DETAIL_SHARED_LOG_HPP
#define TIDEMARK_QUEUE_DETAIL_SHARED_LOG_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "../../log/ring_log.hpp"
#include "../../platform/assert.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// One of the logs, and the link to the next one.
template <platform Platform, class Entry>
class shared_log_node {
 public:
  using page_type = ring_log_page<Entry, std::dynamic_extent, log_form::stamped, Platform, writers::several>;
  using reader_type = ring_log_reader<page_type>;
  using pointer_word = typename Platform::template atomic<shared_log_node*>;

  /// \param entries  as many as a log can have
  explicit shared_log_node(std::size_t entries) : page_{entries, 0, 0}, producer_{page_} { first_sequence_.store(0); }

  /// Returns false where the log is closed.
  bool append(const Entry& entry) noexcept { return producer_.append(page_, entry); }

  const page_type& page() const noexcept { return page_; }
  /// Returns how many entries have a number in this log, as far as this thread can see; nothing from when it is closed
  /// until it is linked. The position of a closed log also counts threads that came too late, so only the next log says
  /// where this one ended.
  /// \param next  what next() has returned
  std::optional<std::uint64_t> end(const shared_log_node* next) const noexcept {
    if (next != nullptr) return next->first_sequence() - first_sequence();
    const std::uint64_t position = reader_type{page_, 0}.end_sequence();
    return position < log_producer<page_type>::closed ? std::optional{position} : std::nullopt;
  }
  /// Returns whether this log or a later one has gone once around.
  bool has_gone_around() const noexcept {
    for (const shared_log_node* log = this; log != nullptr;) {
      const shared_log_node* const next = log->next();
      if (log->end(next).value_or(0) >= log->page_.entries()) return true;
      log = next;
    }
    return false;
  }

  /// Closes the log, and has it go on in `next`.
  void go_on_in(shared_log_node* next) noexcept {
    next->first_sequence_.store(first_sequence() + producer_.close(page_));
    // (Q24): release, pairs with (Q25): the number of its first entry, and of this log's last one.
    next_.store(next, std::memory_order_release);
  }
  /// Returns the log that follows, or null while this one is not closed.
  shared_log_node* next() const noexcept {
    // (Q25): acquire, pairs with (Q24).
    return next_.load(std::memory_order_acquire);
  }
  /// Returns the number of the first entry. For those who have found the log by the previous one, and for the owner.
  std::uint64_t first_sequence() const noexcept { return first_sequence_.load(); }

 private:
  page_type page_;
  [[no_unique_address]] log_producer<page_type> producer_;
  typename Platform::template var<std::uint64_t> first_sequence_;
  pointer_word next_;
};

/// Reads a shared log through its replacements. The log must outlive it.
template <platform Platform, class Entry>
class shared_log_reader {
 public:
  using entry_type = Entry;
  using batch = log_batch<Entry>;
  using node = shared_log_node<Platform, Entry>;

  explicit shared_log_reader(const node* at) noexcept : node_{at}, reader_{at->page()} {}

  /// Does what ring_log_reader::read() does. A batch ends at the end of a log, too. While a log is being replaced,
  /// there may be nothing to read for a moment.
  [[nodiscard]] batch read(std::span<Entry> buffer) noexcept {
    for (;;) {
      const node* const next = node_->next();
      const std::optional<std::uint64_t> end = node_->end(next);
      if (!end) return {buffer.first(0), 0, next_sequence()};
      batch found = reader_.read(buffer, *end);
      found.first_sequence += node_->first_sequence();
      if (next == nullptr || !found.entries.empty() || found.lost != 0 || buffer.empty()) return found;
      if (reader_.next_sequence() != *end) return next->has_gone_around() ? left_out(buffer) : found;
      node_ = next;
      reader_ = typename node::reader_type{next->page(), 0};
    }
  }

  /// Returns whether read() is worth a call. It may bring nothing. Progress: wait-free, one load.
  [[nodiscard]] bool has_new() const noexcept { return reader_.has_new(); }

  /// Returns the number of the entry that the next batch begins with, unless that entry is lost. Progress: wait-free.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept {
    return node_->first_sequence() + reader_.next_sequence();
  }

 private:
  /// Leaves out the next entry, whose writer has not come to its end.
  batch left_out(std::span<Entry> buffer) noexcept {
    reader_ = typename node::reader_type{node_->page(), reader_.next_sequence() + 1};
    return {buffer.first(0), 1, next_sequence()};
  }

  const node* node_;
  typename node::reader_type reader_;
};

/// The log; see the head of this file.
template <platform Platform, class Entry>
class shared_log {
 public:
  using reader_type = shared_log_reader<Platform, Entry>;
  using prepared = std::unique_ptr<shared_log_node<Platform, Entry>>;

  /// Allocates, and throws what the allocation throws.
  /// \param entries  2 to 2^31 - 1. Asserts that; otherwise it takes the nearest of these
  explicit shared_log(std::size_t entries)
      : first_{new node{page::nearest_entries(entries)}}, last_{first_}, current_{first_} {}
  shared_log(const shared_log&) = delete;
  shared_log& operator=(const shared_log&) = delete;
  /// No other thread may be in a function of the log, or have a reader.
  ~shared_log() {
    while (first_ != nullptr) delete std::exchange(first_, first_->next());
  }

  /// Appends an entry, as ring_log does. Progress: wait-free, except that it begins again for each time that the log is
  /// replaced meanwhile.
  void append(const Entry& entry) noexcept {
    for (;;) {
      // (Q22): acquire, pairs with (Q23): the log is there as the owner made it. A writer that finds this log closed
      // has seen by (L25) that (Q23) put another one in its place.
      node* const log = current_.load(std::memory_order_acquire);
      if (log->append(entry)) [[likely]]
        return;
    }
  }

  /// Returns a reader that begins with the oldest entry of the newest log. Allocates nothing.
  [[nodiscard]] reader_type reader() const noexcept { return reader_type{last_}; }
  /// Returns how many entries the newest log has.
  [[nodiscard]] std::size_t entries() const noexcept { return as_integer<std::size_t>(last_->page().entries()); }

  /// Makes a log that replace() puts in the place of the newest one. Asserts that a log can have this number. Otherwise
  /// returns nothing. Allocates, and throws what the allocation throws.
  [[nodiscard]] prepared prepare(std::size_t entries) const {
    return can_have(entries) ? std::make_unique<node>(entries) : nullptr;
  }
  /// Returns whether a log can have this number of entries. Asserts that it can.
  static bool can_have(std::size_t entries) noexcept { return page::can_have(entries); }
  /// Asserts that there is a log. Otherwise does nothing.
  void replace(prepared next) noexcept {
    TIDEMARK_ASSERT(next != nullptr, "a log is replaced by one that was not prepared");
    if (next == nullptr) return;
    node* const to = next.release();
    // (Q23): release, pairs with (Q22). Before the old log is closed, so that no writer finds a closed one twice.
    current_.store(to, std::memory_order_release);
    last_->go_on_in(to);
    last_ = to;
  }

 private:
  using node = shared_log_node<Platform, Entry>;
  using page = typename node::page_type;

  node* first_;  // the owner's, as `last_`
  node* last_;
  typename node::pointer_word current_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_QUEUE_DETAIL_SHARED_LOG_HPP
