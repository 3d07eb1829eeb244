// SPDX-License-Identifier: BSL-1.0
//
// lot_sleepers: lists the words of the threads that sleep on one condition variable. So a thread that wakes them can
// say whether anybody slept on its word.
//
// The lock of the lot guards the list. A woken thread stays listed until it has the lock again.
#ifndef TIDEMARK_PLATFORM_DETAIL_LOT_SLEEPERS_HPP
#define TIDEMARK_PLATFORM_DETAIL_LOT_SLEEPERS_HPP

namespace tidemark::detail {

class lot_sleepers {
 public:
  /// A thread that sleeps, as long as this object exists. The lock must be held when it is made and when it goes.
  class sleeper {
   public:
    sleeper(lot_sleepers& there, const void* word) noexcept : there_{there}, word_{word}, next_{there.first_} {
      there.first_ = this;
    }
    sleeper(const sleeper&) = delete;
    sleeper& operator=(const sleeper&) = delete;
    ~sleeper() {
      sleeper** at = &there_.first_;
      while (*at != this) at = &(*at)->next_;
      *at = next_;
    }

   private:
    friend lot_sleepers;
    lot_sleepers& there_;
    const void* const word_;
    sleeper* next_;
  };

  /// Returns whether a thread sleeps on the word.
  bool has(const void* word) const noexcept {
    for (const sleeper* one = first_; one != nullptr; one = one->next_) {
      if (one->word_ == word) return true;
    }
    return false;
  }

 private:
  sleeper* first_ = nullptr;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_DETAIL_LOT_SLEEPERS_HPP
