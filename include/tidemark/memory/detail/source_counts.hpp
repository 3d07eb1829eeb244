// SPDX-License-Identifier: BSL-1.0
//
// source_counts: how much a ring has of what its source makes, and what it has asked for so far.
#ifndef TIDEMARK_MEMORY_DETAIL_SOURCE_COUNTS_HPP
#define TIDEMARK_MEMORY_DETAIL_SOURCE_COUNTS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tidemark::detail {

/// Any thread writes every field, but only where something is made, destroyed or refused. One that is being made counts
/// from add() on, so that no two threads exceed a limit. Of that count the most is taken, too: when one is made,
/// another one may have been destroyed that was there beside it. What the source refuses was never there, and raises
/// nothing.
///
/// All accesses are relaxed: a count hands nothing over. How a backing comes from one thread to another is the matter
/// of the ring.
template <class Platform>
class source_counts {
  using counter = typename Platform::template atomic<std::uint64_t>;
  using size = typename Platform::template atomic<std::size_t>;

 public:
  /// Counts one more that is about to be made. made() or refused() follows.
  /// \param limit  the most that there may be; 0 for any number
  /// Returns how many there are with it; 0 if there are as many as there may be.
  std::size_t add(std::size_t limit) noexcept {
    std::size_t seen = now();
    do {
      if (limit != 0 && seen >= limit) return 0;
      // (SC1): relaxed alone, see the class.
    } while (!count_.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed, std::memory_order_relaxed));
    return seen + 1;
  }
  /// \param number  what add() returned
  void made(std::size_t number) noexcept {
    note(created_);
    // (SC2): relaxed alone, as (SC1).
    std::size_t seen = most_.load(std::memory_order_relaxed);
    while (seen < number) {
      // (SC3): relaxed alone, as (SC1).
      if (most_.compare_exchange_weak(seen, number, std::memory_order_relaxed, std::memory_order_relaxed)) return;
    }
  }
  void refused() noexcept {
    remove();
    note(refused_);
  }
  void destroyed() noexcept {
    note(destroyed_);
    remove();
  }

  std::size_t now() const noexcept {
    // (SC4): relaxed alone, as (SC1).
    return count_.load(std::memory_order_relaxed);
  }
  std::size_t most() const noexcept {
    // (SC5): relaxed alone, as (SC1).
    return most_.load(std::memory_order_relaxed);
  }
  std::uint64_t destroyed_so_far() const noexcept { return noted(destroyed_); }

  /// \param to  a structure that has these three fields
  template <class Statistics>
  void write_totals(Statistics& to) const noexcept {
    to.created = noted(created_);
    to.destroyed = noted(destroyed_);
    to.refused = noted(refused_);
  }

 private:
  void remove() noexcept {
    // (SC6): relaxed alone, as (SC1).
    count_.fetch_sub(1, std::memory_order_relaxed);
  }
  static void note(counter& which) noexcept {
    // (SC7): relaxed alone, as (SC1).
    which.fetch_add(1, std::memory_order_relaxed);
  }
  static std::uint64_t noted(const counter& which) noexcept {
    // (SC8): relaxed alone, as (SC1).
    return which.load(std::memory_order_relaxed);
  }

  size count_;
  size most_;
  counter created_;
  counter destroyed_;
  counter refused_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_MEMORY_DETAIL_SOURCE_COUNTS_HPP
