// SPDX-License-Identifier: BSL-1.0
//
// One ring log on the chain of logs that queue_log.hpp describes, with the link to the next one and the count of those
// that still need it.
#ifndef TIDEMARK_QUEUE_DETAIL_QUEUE_LOG_NODE_HPP
#define TIDEMARK_QUEUE_DETAIL_QUEUE_LOG_NODE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "../../log/fence_log.hpp"
#include "../../log/ring_log.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <platform Platform>
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

  /// No other thread uses the log any more. The store is for the model checker, which then reports a reader that is
  /// late.
  ~queue_log_node() { first_sequence_.store(0); }

  /// Makes the log, whose first entry gets this number. Called by the producer, before any reader knows of the log.
  void begin(fence_log_type type, std::uint64_t first_sequence) noexcept {
    log_.emplace(std::span{memory_, bytes_.load()},
                 ring_log_options{.type = static_cast<std::uint32_t>(type), .first_sequence = first_sequence});
    first_sequence_.store(first_sequence);
  }

  log_type& log() noexcept { return *log_; }
  std::uint64_t first_sequence() const noexcept { return first_sequence_.load(); }

  /// Returns the log that follows, or null while the producer has not left this one.
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
    // (Q3): relaxed alone: whoever adds a reference has one already, or has one to the previous log.
    references_.fetch_add(1, std::memory_order_relaxed);
  }
  /// Gives a reference back. The last one frees the log, and what that log alone kept.
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
  typename Platform::template var<std::uint64_t> first_sequence_;
  pointer_word next_;
  typename Platform::template atomic<std::uint32_t> references_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_QUEUE_DETAIL_QUEUE_LOG_NODE_HPP
