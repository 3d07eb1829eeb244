// SPDX-License-Identifier: BSL-1.0
//
// queue_log: one of the logs of a queue, which may be replaced by a new one while the queue works. The entries are
// those of the queue's waits and signals, or the pieces of work that it executed (executed_work.hpp).
//
//   announced ---> a new log, until the producer has changed over
//   producer  ---> log ---next---> log ...        the producer appends to the last one that it changed over to
//   readers   ---> some log on the chain; they read it to its end, then go on with the next
//
// The numbers of entries go on from one log to the next. So for each reader entries + lost is the number of appends
// since the entry with which it began, over all of the logs.
//
// A log is freed when the producer, the owner, the reserver, the previous log and all readers have left it; a count of
// references says when. After a log was replaced, the owner leaves it at its next call of replace(), reader() or
// reserver(), or in the destructor, not before. So each of these calls may free logs, as a reader's destructor may.
//
// Who calls what: the producer, which is the queue's executor, calls append() and commit(). The queue's owner, one
// thread at a time, calls replace(), reader() and reserver(). A reader's own operations are called by the thread that
// has the reader, and those of a reserver by the thread that has the reserver.
#ifndef TIDEMARK_QUEUE_QUEUE_LOG_HPP
#define TIDEMARK_QUEUE_QUEUE_LOG_HPP

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "../log/fence_log.hpp"
#include "../log/ring_log.hpp"
#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "log_reservation.hpp"

namespace tidemark::detail {

/// One ring log on the chain of logs that queue_log.hpp describes, with the link to the next one and the count of those
/// that still need it.
template <platform Platform, class Entry>
class queue_log_node {
 public:
  using log_type = ring_log<Entry, std::dynamic_extent, log_form::stamped, Platform>;
  using page_type = typename log_type::page_type;
  using pointer_word = typename Platform::template atomic<queue_log_node*>;
  using place = log_place<typename Platform::template atomic<std::uint64_t>>;

  /// \param entries  a number that a log can have
  explicit queue_log_node(std::size_t entries)
      : own_{std::make_unique<unit[]>(page_type::bytes_for(entries) / sizeof(unit) + 1)},
        memory_{reinterpret_cast<std::byte*>(own_.get())},
        references_{1} {
    bytes_.store(page_type::bytes_for(entries));
    location_.store(static_cast<std::uint64_t>(unknown_log_location));
    made_.store(nullptr);
  }
  /// \param at  a place whose memory is fit for a log
  explicit queue_log_node(const place& at) noexcept : memory_{at.memory.data()}, references_{1} {
    bytes_.store(at.memory.size());
    location_.store(static_cast<std::uint64_t>(at.at));
    made_.store(at.made);
  }

  /// No other thread uses the log any more. The store is only for the model checker: with it, a reader that comes too
  /// late is a data race.
  ~queue_log_node() { first_sequence_.store(0); }

  /// Makes the log, whose first entry gets this number. Called by the producer, before any reader knows of the log.
  void begin(fence_log_type type, std::uint64_t first_sequence) noexcept {
    log_.emplace(std::span{memory_, bytes_.load()},
                 ring_log_options{.type = static_cast<std::uint32_t>(type), .first_sequence = first_sequence});
    first_sequence_.store(first_sequence);
    const log_location at{location_.load()};
    place{{}, at, made_.load()}.tell_made();
  }

  log_type& log() noexcept { return *log_; }
  const log_type& log() const noexcept { return *log_; }
  std::uint64_t first_sequence() const noexcept { return first_sequence_.load(); }
  /// Returns the size of the memory. For the owner, before the log is announced, and for the producer.
  std::size_t bytes() const noexcept { return bytes_.load(); }

  /// Returns the log that follows, or null while the producer has not left this one.
  queue_log_node* next() const noexcept {
    // (Q1): acquire, pairs with (Q2): this log is at its end, and the next one has begun.
    return next_.load(std::memory_order_acquire);
  }
  /// After the last append to this log. The next one has begun.
  void link(queue_log_node* next) noexcept {
    log_->end_at(log_location{next->location_.load()});
    next->refer();
    // (Q2): release, pairs with (Q1).
    next_.store(next, std::memory_order_release);
  }

  void refer() noexcept {
    // (Q3): relaxed alone: whoever adds a reference has one already, or has one to the previous log.
    references_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Gives a reference back. The last one frees the log, then the next log if only this one kept it, and so on.
  static void leave(queue_log_node* node) noexcept {
    while (node != nullptr) {
      // (Q4): alone, with itself: release for what this thread did with the log, acquire so that the last
      // thread finds all of that done.
      if (node->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
      queue_log_node* const next = node->next();
      delete node;
      node = next;
    }
  }

 private:
  using unit = std::max_align_t;

  std::unique_ptr<unit[]> own_;
  std::byte* memory_;
  std::optional<log_type> log_;
  typename Platform::template var<std::size_t> bytes_;
  typename Platform::template var<std::uint64_t> location_;  // a log_location
  typename Platform::template var<std::uint64_t> first_sequence_;
  pointer_word next_;
  typename Platform::template atomic<std::uint32_t> references_;
  typename Platform::template var<typename Platform::template atomic<std::uint64_t>*> made_;  // as log_place's
};

}  // namespace tidemark::detail

namespace tidemark {

template <platform Platform, class Entry = fence_log_entry>
class basic_queue_log;
template <platform Platform>
class basic_log_reserver;

/// Reads one log of a queue through its replacements; otherwise like ring_log_reader. It may outlive the queue. Moved
/// from, it can only be destroyed or assigned to. A move assignment leaves the log that the target had, at once.
template <platform Platform, class Entry = fence_log_entry>
class queue_log_reader {
 public:
  using entry_type = Entry;
  using batch = log_batch<Entry>;

  queue_log_reader(queue_log_reader&& other) noexcept
      : node_{std::exchange(other.node_, nullptr)}, reader_{other.reader_} {}
  queue_log_reader& operator=(queue_log_reader&& other) noexcept {
    if (this == &other) return *this;
    node::leave(std::exchange(node_, std::exchange(other.node_, nullptr)));
    reader_ = other.reader_;
    return *this;
  }
  ~queue_log_reader() { node::leave(node_); }

  /// Copies the next entries into `buffer`, at most as many as fit, and returns them; `lost` entries come before them.
  ///
  /// A batch ends before a gap, and at the end of a log on the chain. So one that does not fill the buffer does not say
  /// that everything was read. An empty batch whose `lost` is 0 says that there is nothing to read now, or that the
  /// buffer is empty. An empty batch with a `lost` above 0 says that this call found lost entries only: call again.
  ///
  /// One thread at a time. Progress: wait-free, except that a call that goes on to the next log may free the one that
  /// it leaves.
  [[nodiscard]] batch read(std::span<Entry> buffer) noexcept {
    for (;;) {
      // Looked at before the log is read: if there is a next one, this one has come to its end.
      node* const next = node_->next();
      const batch found = reader_.read(buffer);
      if (next == nullptr || !found.entries.empty() || found.lost != 0 || buffer.empty()) return found;
      go_to(next);
    }
  }

  /// Returns whether read() is worth a call. A recent append may not be seen yet. While the producer begins a new log,
  /// this returns true before the first entry is there, and read() may then bring nothing. Progress: wait-free.
  [[nodiscard]] bool has_new() const noexcept { return reader_.has_new() || node_->next() != nullptr; }

  /// Returns the number of the entry that the next batch begins with, unless that entry is lost. Progress: wait-free.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return reader_.next_sequence(); }

  /// Copies the newest entries before the one of number `end` into `buffer`, at most as many as fit, and returns them.
  /// The cursor stays where it is, and may be before or behind them. `first_sequence` of the batch is the `end` of a
  /// call that goes further back. All entries are of one log on the chain, so there may be fewer than fit. An empty
  /// batch says that there is nothing to read before `end`, or that the buffer is empty. Progress: wait-free; it looks
  /// at each log on the chain from the one on that read() reads.
  [[nodiscard]] batch look_back(std::span<Entry> buffer, std::uint64_t end = UINT64_MAX) const noexcept {
    const node* newest = node_;
    while (const node* const next = newest->next()) newest = next;
    end = (std::min)(end, newest->log().reader_from(newest->first_sequence()).end_sequence());
    // A log that begins at `end` or later has none of these.
    const node* from = node_;
    for (const node* next = from->next(); next != nullptr && next->first_sequence() < end; next = next->next()) {
      from = next;
    }
    const std::uint64_t first = from->first_sequence();
    if (end <= first) return {{}, 0, end};
    const auto count = (std::min)(std::uint64_t{buffer.size()}, end - first);
    batch found = from->log().reader_from(end - count).read(buffer.first(static_cast<std::size_t>(count)));
    // Where entries were lost, later ones may have taken their places in the buffer.
    const std::uint64_t before = found.first_sequence < end ? end - found.first_sequence : 0;
    if (found.entries.size() > before) found.entries = found.entries.first(static_cast<std::size_t>(before));
    return found;
  }

 private:
  using node = detail::queue_log_node<Platform, Entry>;
  friend basic_queue_log<Platform, Entry>;
  friend basic_log_reserver<Platform>;

  explicit queue_log_reader(node* at) noexcept : node_{at}, reader_{at->log().reader()} { at->refer(); }

  void go_to(node* next) noexcept {
    next->refer();
    reader_ = next->log().reader_from(next->first_sequence());
    node::leave(std::exchange(node_, next));
  }

  node* node_;
  typename node::log_type::reader_type reader_;
};

/// Reserves entries of one log of a queue, which the queue's executor commits later; see log_reservation.hpp. For one
/// thread at a time, which need not be the owner's. It may be moved as a reader may.
template <platform Platform>
class basic_log_reserver {
 public:
  /// Reserves the entry that follows those that were appended or reserved so far. Returns `reserved` with the number of
  /// the entry, or `no_space` if as many entries are reserved and not yet committed as the log has. It may say that too
  /// early, because a recent commit may not be seen yet. It may say it too late, because an entry that was appended
  /// without a reservation counts as a commit. Progress: wait-free, but may free logs that were replaced.
  [[nodiscard]] log_reservation reserve() noexcept {
    while (auto* const next = at_.node_->next()) at_.go_to(next);
    const std::uint64_t written = at_.reader_.end_sequence();
    next_ = (std::max)(next_, written);
    if (next_ - written >= at_.node_->log().page().entries()) return {};
    return {reserve_status::reserved, next_++, turn_++};
  }

  /// Gives back what was reserved from `first` on, because the commands were dropped before any executor has learnt of
  /// them. The next reservations are these entries again. Does nothing if `first` says `no_space`. `first` must have
  /// been reserved here and not given back. Asserts that its turn was given out. Otherwise nothing is given back.
  /// Progress: wait-free.
  void take_back(const log_reservation& first) noexcept {
    if (!first) return;
    TIDEMARK_ASSERT(first.turn < turn_, "an entry is taken back that is not reserved");
    if (first.turn >= turn_) return;
    next_ = first.sequence;
    turn_ = first.turn;
  }

 private:
  friend basic_queue_log<Platform>;

  explicit basic_log_reserver(queue_log_reader<Platform> at) noexcept : at_{std::move(at)} {}

  queue_log_reader<Platform> at_;  // never read: it says which log the producer writes to, and how far it has come
  std::uint64_t next_ = 0;         // the number of the next reservation, or less if others were appended
  std::uint64_t turn_ = 0;
};

/// A log that can be replaced; see the head of this file.
/// \tparam Entry  fence_log_entry, or another type that a ring_log can have
template <platform Platform, class Entry>
class basic_queue_log {
 public:
  using reader_type = queue_log_reader<Platform, Entry>;
  using place = typename detail::queue_log_node<Platform, Entry>::place;

  /// Allocates, and throws what the allocation throws.
  /// \param entries  2 to 2^31 - 1. Asserts that; otherwise it takes the nearest of these
  basic_queue_log(fence_log_type type, std::size_t entries)
      : type_{type},
        current_{new node{page::nearest_entries(entries)}},
        front_{current_},
        entries_{page_entries(current_)} {
    current_->refer();
    current_->begin(type, 0);
  }
  /// The same for a log of other entries, which has no type.
  explicit basic_queue_log(std::size_t entries)
    requires(!std::same_as<Entry, fence_log_entry>)
      : basic_queue_log{fence_log_type{}, entries} {}
  basic_queue_log(const basic_queue_log&) = delete;
  basic_queue_log& operator=(const basic_queue_log&) = delete;
  /// No other thread may be in a function of the log. Readers may outlive it.
  ~basic_queue_log() {
    // (Q7): relaxed alone: no other thread is here any more.
    delete announced_.load(std::memory_order_relaxed);
    node::leave(front_);
    node::leave(current_);
  }

  /// Appends an entry. In a full log it writes over the oldest one. For the producer. Progress: wait-free, except that
  /// the first entry of a new log may free the old one. That append also clears the whole new log, which takes time in
  /// proportion to its size.
  void append(const Entry& entry) noexcept {
    // (Q5): relaxed, (Q6) does the rest.
    if (announced_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      change_over();
    current_->log().append(entry);
  }

  /// Appends the entry that was reserved. log_reservation.hpp says what happens if it is not its turn, or if its place
  /// is taken. If nothing was reserved, it does what append() does. For the producer. Progress: as append().
  void commit(const log_reservation& reserved, const Entry& entry) noexcept {
    turns_.note(reserved, current_->log().next_sequence());
    append(entry);
  }
  /// Returns the turn of the reservation that must be committed next. For the producer.
  [[nodiscard]] std::uint64_t next_turn() const noexcept { return turns_.next(); }
  /// Returns how the reserved entries were committed. Exact while the producer appends nothing. Any thread.
  [[nodiscard]] log_commits commits() const noexcept { return turns_.counts(); }

  /// From its next entry on the producer writes to a new log of `entries` entries. A log that was announced before and
  /// has not begun is forgotten. Asserts, already in this call, that `entries` is 2 to 2^31 - 1. Otherwise returns
  /// false and changes nothing. For the owner. Allocates, and throws what the allocation throws.
  bool replace(std::size_t entries) {
    prepared next = prepare(entries);
    if (!next) return false;
    replace(std::move(next));
    return true;
  }
  /// The same with a log in this memory, which must be aligned to 8 bytes, be large enough for 2 entries, belong to no
  /// other log, and outlive the queue, its readers and the log's reserver. The log has as many entries as fit, at most
  /// 2^31 - 1. Memory that is misaligned or too small is refused in the same way. This allocates, too.
  ///
  /// `at` says to readers of the old log in other mappings (mapped_log.hpp) where the new one is; it must not be
  /// no_log_location, which is asserted and refused in the same way. The memory of the old log must stay as it is until
  /// these readers have left it.
  bool replace(std::span<std::byte> memory, log_location at = unknown_log_location) {
    TIDEMARK_ASSERT(at != no_log_location, "a log in memory must not lie at no_log_location");
    return replace(place{memory, at});
  }
  /// The same at a place that a directory of logs has given out (shared_logs.hpp). Returns false, and the old log goes
  /// on, where the directory had none to give. The producer tells readers elsewhere when the log is made.
  bool replace(const place& at) {
    if (!at || !page::can_have(page::entries_in(at.memory.size())) || !page::can_lie_in(at.memory.data())) return false;
    announce(new node{at});
    return true;
  }

  /// Does what replace(entries) does, in two steps: prepare() makes the log, which then takes the place of the old one
  /// in replace(). prepare() asserts that the number of entries is possible, and otherwise returns nothing. replace()
  /// asserts that it is given a log. Otherwise it does nothing. It allocates nothing. Both are for the owner.
  using prepared = std::unique_ptr<detail::queue_log_node<Platform, Entry>>;
  [[nodiscard]] prepared prepare(std::size_t entries) const {
    return can_have(entries) ? std::make_unique<node>(entries) : nullptr;
  }
  void replace(prepared next) noexcept {
    TIDEMARK_ASSERT(next != nullptr, "a log is replaced by one that was not prepared");
    if (next != nullptr) announce(next.release());
  }
  /// Returns whether a log can have this number of entries, 2 to 2^31 - 1. Asserts that it can. Any thread.
  static bool can_have(std::size_t entries) noexcept { return page::can_have(entries); }
  /// Returns how many entries the log has that was announced last, or the first one. For the owner.
  [[nodiscard]] std::size_t entries() const noexcept { return entries_; }

  /// Returns a reader that begins with the oldest entry of the log that the producer writes to now. For the owner.
  /// Allocates nothing.
  [[nodiscard]] reader_type reader() noexcept {
    follow();
    return reader_type{front_};
  }

  /// Returns what reserves entries of the log. Asserts that this is called once for a log, since the reserver counts
  /// the turns from 0. Otherwise the entries of the second one may be committed out of turn. For the owner. Allocates
  /// nothing.
  [[nodiscard]] basic_log_reserver<Platform> reserver() noexcept
    requires(std::same_as<Entry, fence_log_entry>)
  {
    TIDEMARK_ASSERT(!has_reserver_, "a log has one reserver");
    has_reserver_ = true;
    return basic_log_reserver<Platform>{reader()};
  }

 private:
  using node = detail::queue_log_node<Platform, Entry>;
  using page = typename node::page_type;

  static std::size_t page_entries(const node* log) noexcept { return page::entries_in(log->bytes()); }

  /// Leaves the logs that the producer has left.
  void follow() noexcept {
    while (node* const next = front_->next()) {
      next->refer();
      node::leave(std::exchange(front_, next));
    }
  }

  void announce(node* log) noexcept {
    follow();
    entries_ = page_entries(log);
    // (Q8): release, pairs with (Q6). The log that comes back, if any, was announced by the owner and has not begun.
    delete announced_.exchange(log, std::memory_order_release);
  }

  [[gnu::noinline]] void change_over() noexcept {
    // (Q6): acquire, pairs with (Q8): the new log is there as the owner made it.
    node* const next = announced_.exchange(nullptr, std::memory_order_acquire);
    next->begin(type_, current_->log().next_sequence());
    current_->link(next);
    node::leave(std::exchange(current_, next));
  }

  fence_log_type type_;
  typename node::pointer_word announced_;
  node* current_;              // the producer's
  node* front_;                // the owner's: where new readers begin
  std::size_t entries_;        // the owner's
  bool has_reserver_ = false;  // the owner's
  detail::log_turns<Platform> turns_;
};

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_QUEUE_LOG_HPP
