// SPDX-License-Identifier: BSL-1.0
//
// The platform of the Relacy race detector that runs the fallbacks of portable_platform: the lock-based double word,
// and parking on condition variables, made of Relacy's words, mutex and condition variable. Include it last; see
// relacy_platform.hpp.
//
// `observer` and `seam` get the operations of these words, at positions in platform/detail/double_word.hpp and
// platform/detail/parking.hpp. They never get a compare-exchange of a double word as a whole.
#ifndef TIDEMARK_VERIFY_RELACY_PORTABLE_PLATFORM_HPP
#define TIDEMARK_VERIFY_RELACY_PORTABLE_PLATFORM_HPP

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "../platform/detail/lot_sleepers.hpp"
#include "relacy_platform.hpp"

namespace tidemark::verify {

/// The parts of which portable_platform is made, in Relacy's terms.
struct relacy_primitives {
  class mutex {
   public:
    void lock(source_position at = source_position::current()) { mutex_.lock(at.info()); }
    void unlock(source_position at = source_position::current()) { mutex_.unlock(at.info()); }

   private:
    friend relacy_primitives;
    rl::mutex mutex_;
  };

  class condition_variable {
   public:
    void wait(std::unique_lock<mutex>& lock, source_position at = source_position::current()) {
      changed_.wait(lock.mutex()->mutex_, at.info());
    }
    std::cv_status wait_until(std::unique_lock<mutex>& lock, deadline until,
                              source_position at = source_position::current()) {
      const bool woken = changed_.wait_for(lock.mutex()->mutex_, until, at.info());
      return woken ? std::cv_status::no_timeout : std::cv_status::timeout;
    }
    void notify_all(source_position at = source_position::current()) { changed_.notify_all(at.info()); }

   private:
    rl::condition_variable changed_;
  };

  static void yield(source_position at = source_position::current()) { rl::yield(1, at.info()); }

  /// The place at which the threads sleep that wait for a change of a word. Here each word has one of its own.
  struct lot {
    mutex guard;
    condition_variable changed;
    tidemark::detail::lot_sleepers sleepers;
  };
  class park_word : public relacy_atomic<std::uint32_t> {
   public:
    using relacy_atomic<std::uint32_t>::relacy_atomic;

   private:
    friend relacy_primitives;
    lot lot_;
  };
  static lot& lot_of(park_word& word) { return word.lot_; }

  template <class T>
  using atomic = relacy_atomic<T>;
};

struct portable_relacy_platform : basic_relacy_platform<barrier_form::symmetric>,
                                  tidemark::detail::lot_parking<relacy_primitives> {
  using double_word = tidemark::detail::locked_double_word<relacy_primitives>;
  using parking = tidemark::detail::lot_parking<relacy_primitives>;
  using park_word = parking::park_word;
  using sleepers = parking::sleepers;
  using tidemark::detail::lot_parking<relacy_primitives>::park;
  using tidemark::detail::lot_parking<relacy_primitives>::unpark;
};

}  // namespace tidemark::verify

namespace tidemark {

using relacy_portable_platform = verify::portable_relacy_platform;

}  // namespace tidemark

#endif  // TIDEMARK_VERIFY_RELACY_PORTABLE_PLATFORM_HPP
