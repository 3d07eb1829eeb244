// SPDX-License-Identifier: BSL-1.0
//
// One of the two logs of a queue, which may be replaced by a new one while the queue works (A92, A101).
//
//   announced ---> a new log, until the producer has changed over
//   producer  ---> log ---next---> log ...        the producer appends to the last one that it changed over to
//   readers   ---> some log on the chain; they read it to its end, then go on with the next
//
// Numbers of entries go on from one log to the next, so that entries + lost is the number of appends over all of them.
// A log is freed when the producer, the log before it and all readers have left it; the links are counted.
//
// Who calls what: append() the producer, the queue's executor; replace() and reader() the queue's owner, one thread at
// a time; a reader's own operations whoever has the reader.
#ifndef TIDEMARK_DETAIL_QUEUE_LOG_HPP
#define TIDEMARK_DETAIL_QUEUE_LOG_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "../fence_log.hpp"
#include "../ring_log.hpp"

namespace tidemark::detail {

template <class Platform>
class queue_log_node {
 public:
  using log_type = ring_log<fence_log_entry, std::dynamic_extent, log_form::stamped, Platform>;
  using page_type = typename log_type::page_type;
  using pointer_word = typename Platform::template atomic<queue_log_node*>;

  /// \param entries  as many as a log can have
  explicit queue_log_node(std::size_t entries)
      : own_{std::make_unique<unit[]>(page_type::bytes_for(entries) / sizeof(unit) + 1)},
        memory_{reinterpret_cast<std::byte*>(own_.get())},
        references_{1} {
    bytes_.store(page_type::bytes_for(entries));
  }
  /// \param memory  fit for a log
  explicit queue_log_node(std::span<std::byte> memory) noexcept : memory_{memory.data()}, references_{1} {
    bytes_.store(memory.size());
  }

  /// Nobody else is left: the store is not for the machine but for the model checker, which sees a reader that is late.
  ~queue_log_node() { first_sequence_.store(0); }

  /// By the producer, before anybody reads it: the log begins with this number.
  void begin(fence_log_type type, std::uint64_t first_sequence) noexcept {
    log_.emplace(std::span{memory_, bytes_.load()}, static_cast<std::uint32_t>(type), first_sequence);
    first_sequence_.store(first_sequence);
  }

  log_type& log() noexcept { return *log_; }
  std::uint64_t first_sequence() const noexcept { return first_sequence_.load(); }

  /// The log that follows, once the producer has left this one for it.
  queue_log_node* next() const noexcept {
    // (Q1): acquire, pairs with (Q2): this log is at its end, and the next one has begun.
    return next_.load(std::memory_order_acquire);
  }
  void link(queue_log_node* next) noexcept {
    next->refer();
    // (Q2): release, pairs with (Q1).
    next_.store(next, std::memory_order_release);
  }

  void refer() noexcept {
    // (Q3): relaxed alone: who adds a reference has one, or has one to the log before.
    references_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Frees the log, and what it alone kept, when nobody is left.
  static void leave(queue_log_node* node) noexcept {
    while (node != nullptr) {
      // (Q4): alone, with itself: release for what this thread did with the log, acquire so that the last one finds all
      // of that done.
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
  typename Platform::template var<std::uint64_t> first_sequence_;
  pointer_word next_;
  typename Platform::template atomic<std::uint32_t> references_;
};

}  // namespace tidemark::detail

namespace tidemark {

/// Reads one log of a queue through its replacements; otherwise like ring_log_reader. It may outlive the queue.
template <class Platform>
class queue_log_reader {
 public:
  using batch = log_batch<fence_log_entry>;

  queue_log_reader(queue_log_reader&& other) noexcept
      : node_{std::exchange(other.node_, nullptr)}, reader_{other.reader_} {}
  queue_log_reader& operator=(queue_log_reader&& other) noexcept {
    std::swap(node_, other.node_);
    std::swap(reader_, other.reader_);
    return *this;
  }
  ~queue_log_reader() { node::leave(node_); }

  /// Copies the entries that follow, as many as fit, from one log: `lost` come before them (A98). Progress: wait-free.
  /// One thread at a time.
  [[nodiscard]] batch read(std::span<fence_log_entry> buffer) noexcept {
    for (;;) {
      // Looked at before the log: if there is a next one, this one is read to its end.
      node* const next = node_->next();
      const batch found = reader_.read(buffer);
      if (next == nullptr || !found.entries.empty() || found.lost != 0 || buffer.empty()) return found;
      go_to(next);
    }
  }

  /// Whether read() is worth a call (A108). Progress: wait-free.
  [[nodiscard]] bool has_new() const noexcept { return reader_.has_new() || node_->next() != nullptr; }

  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return reader_.next_sequence(); }

 private:
  using node = detail::queue_log_node<Platform>;
  template <class>
  friend class basic_queue_log;

  explicit queue_log_reader(node* at) noexcept : node_{at}, reader_{at->log().reader()} { at->refer(); }

  void go_to(node* next) noexcept {
    next->refer();
    reader_ = next->log().reader_from(next->first_sequence());
    node::leave(std::exchange(node_, next));
  }

  node* node_;
  typename node::log_type::reader_type reader_;
};

/// See the head of this file.
template <class Platform>
class basic_queue_log {
 public:
  using reader_type = queue_log_reader<Platform>;

  /// \param entries  2 to 2^31 - 1; other numbers are asserted and taken for the nearest of these
  basic_queue_log(fence_log_type type, std::size_t entries)
      : type_{type}, current_{new node{page::nearest_entries(entries)}}, front_{current_} {
    current_->refer();
    current_->begin(type, 0);
  }
  basic_queue_log(const basic_queue_log&) = delete;
  basic_queue_log& operator=(const basic_queue_log&) = delete;
  ~basic_queue_log() {
    // (Q7): relaxed alone: nobody else is here any more.
    delete announced_.load(std::memory_order_relaxed);
    node::leave(front_);
    node::leave(current_);
  }

  /// By the producer. Progress: wait-free, but for the entry with which it changes over to a new log.
  void append(const fence_log_entry& entry) noexcept {
    // (Q5): relaxed, (Q6) does the rest.
    if (announced_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      change_over();
    current_->log().append(entry);
  }

  /// By the owner: from its next entry on the producer writes to a new log of so many entries, or in this memory, which
  /// must outlive the queue and its readers. What was announced before and not begun is forgotten. Returns false, and
  /// nothing changes, where that can't be a log: it is asserted here, not when the producer comes to the log.
  bool replace(std::size_t entries) {
    if (!page::can_have(entries)) return false;
    announce(new node{entries});
    return true;
  }
  bool replace(std::span<std::byte> memory) {
    if (!page::can_have(page::entries_in(memory.size())) || !page::can_lie_in(memory.data())) return false;
    announce(new node{memory});
    return true;
  }

  /// By the owner: begins with the oldest entry of the log that the producer writes to.
  [[nodiscard]] reader_type reader() noexcept {
    follow();
    return reader_type{front_};
  }

 private:
  using node = detail::queue_log_node<Platform>;
  using page = typename node::page_type;

  /// Leaves the logs that the producer has left.
  void follow() noexcept {
    while (node* const next = front_->next()) {
      next->refer();
      node::leave(std::exchange(front_, next));
    }
  }

  void announce(node* log) noexcept {
    follow();
    // (Q8): release, pairs with (Q6). What comes back the owner had announced itself.
    delete announced_.exchange(log, std::memory_order_release);
  }

  [[gnu::noinline]] void change_over() noexcept {
    // (Q6): acquire, pairs with (Q8): the new log as it was made.
    node* const next = announced_.exchange(nullptr, std::memory_order_acquire);
    next->begin(type_, current_->log().next_sequence());
    current_->link(next);
    node::leave(std::exchange(current_, next));
  }

  fence_log_type type_;
  typename node::pointer_word announced_;
  node* current_;  // the producer's
  node* front_;    // the owner's: where new readers begin
};

}  // namespace tidemark

#endif  // TIDEMARK_DETAIL_QUEUE_LOG_HPP
