// SPDX-License-Identifier: BSL-1.0
//
// held_waits: those who wait for a fence in a domain of the older kind: queues whose work is held, and threads. They
// stand on two lists, in the order in which they came. Whoever learns that the value has changed looks at it once, and
// releases those who are due.
//
// Why no wait is missed: a waiter looks at the value and joins its list with the lock. A scan looks at the value with
// the lock, too, and after the signal. If the scan has the lock first, the waiter sees the value that the scan saw.
// Otherwise the scan finds the waiter.
//
// The lock protects all members.
#ifndef TIDEMARK_ENGINE_DETAIL_HELD_WAITS_HPP
#define TIDEMARK_ENGINE_DETAIL_HELD_WAITS_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../../fence/fence.hpp"
#include "../../fence/wait.hpp"
#include "../../platform/assert.hpp"
#include "../../platform/platform.hpp"
#include "../../platform/tools/intrusive_lists.hpp"
#include "../../platform/tools/limits.hpp"
#include "../../platform/tools/park_lock.hpp"

namespace tidemark::detail {

/// What was released, and why.
struct held_counts {
  std::uint64_t scans = 0;   // after a notification of another domain
  std::uint64_t native = 0;  // registrations with the fence
  std::uint64_t queues = 0;  // from the list of queues
  std::uint64_t threads = 0;
};

/// \tparam Fence  has the value, and may be poisoned
template <class Fence>
class held_waits {
  struct entry {
    entry* next = nullptr;
    entry* previous = nullptr;
    std::uint64_t target = 0;
    bool is_listed = false;
  };

 public:
  using platform = typename Fence::platform;

  /// A wait of a queue. It may be moved until it is begun. It must be gone before the list is.
  class queue_wait : entry {
   public:
    queue_wait(held_waits& in, std::uint64_t value) noexcept : in_{in} { this->target = value; }
    queue_wait(queue_wait&& from) noexcept : queue_wait(from.in_, from.target) {}
    queue_wait& operator=(queue_wait&&) = delete;
    ~queue_wait() {
      if (task_ == nullptr) return;
      const keeper kept(in_.lock_);
      if (this->is_listed) in_.queues_.remove(*this);
    }

    fence_state look() const noexcept { return in_.look(); }
    /// Joins the list, and returns true; or returns false if the wait is over. `release` is called with `task` once the
    /// wait is over.
    bool begin(void* task, void (*release)(void* task) noexcept) noexcept {
      const keeper kept(in_.lock_);
      if (look().is_over(this->target)) return false;
      task_ = task;
      release_ = release;
      this->is_listed = true;
      in_.queues_.push(*this);
      return true;
    }

   private:
    friend held_waits;
    held_waits& in_;
    void* task_ = nullptr;
    void (*release_)(void*) noexcept = nullptr;
  };

  explicit held_waits(const Fence& fence) noexcept : fence_{fence} {}
  held_waits(const held_waits&) = delete;
  held_waits& operator=(const held_waits&) = delete;
  ~held_waits() {
    TIDEMARK_ASSERT(queues_.is_empty() && threads_.is_empty(), "an attachment was destroyed before its waits");
  }

  /// A wait of a thread. Blocks.
  template <class Token>
  void wait(std::uint64_t target, deadline until, const Token& token) noexcept {
    const auto wake = [this] {
      const keeper kept(lock_);
      released_.wake_all();
    };
    const typename stop_callback_for<Token, std::remove_const_t<decltype(wake)>>::type stopping(token, wake);
    entry self{};
    self.target = target;
    keeper kept(lock_);
    if (look().is_over(target)) return;
    self.is_listed = true;
    threads_.push(self);
    while (self.is_listed && !token.stop_requested()) {
      if (!released_.wait(kept, until)) break;
    }
    if (self.is_listed) threads_.remove(self);
  }

  /// Looks at the value, and releases those who are due. Returns how many they were.
  /// \param natively  how many registrations with the fence were released before, to be counted
  /// \param is_told   whether another domain has told of the signal
  std::size_t scan(std::size_t natively, bool is_told) noexcept {
    const keeper kept(lock_);
    counts_.scans += is_told ? 1 : 0;
    counts_.native += natively;
    const fence_state now = look();
    const std::size_t threads = take_over(threads_, now, [](entry&) {});
    if (threads != 0) released_.wake_all();
    const std::size_t queues = take_over(queues_, now, [](entry& one) {
      auto& due = static_cast<queue_wait&>(one);
      due.release_(due.task_);
    });
    counts_.threads += threads;
    counts_.queues += queues;
    return natively + threads + queues;
  }

  held_counts counts() noexcept {
    const keeper kept(lock_);
    return counts_;
  }

 private:
  using keeper = lock_keeper<park_lock<platform>>;

  fence_state look() const noexcept { return fence_.state(); }
  template <class Release>
  static std::size_t take_over(linked_queue<entry>& list, const fence_state& now, const Release& release) noexcept {
    std::size_t taken = 0;
    for (entry* each = list.first(); each != nullptr;) {
      entry* const next = each->next;
      if (now.is_over(each->target)) {
        list.remove(*each);
        each->is_listed = false;
        release(*each);
        ++taken;
      }
      each = next;
    }
    return taken;
  }

  const Fence& fence_;
  park_lock<platform> lock_;
  lock_condition<platform> released_;
  linked_queue<entry> queues_;
  linked_queue<entry> threads_;
  held_counts counts_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_ENGINE_DETAIL_HELD_WAITS_HPP
