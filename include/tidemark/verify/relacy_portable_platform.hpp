// SPDX-License-Identifier: BSL-1.0
//
// The platform of the model checker that runs the fallbacks of portable_platform: the lock-based double word,
// and parking on condition variables, made of the checker's words, mutex and condition variable. See
// relacy_platform.hpp.
//
// The sites of these words are in platform/detail/double_word.hpp and platform/detail/lot_parking.hpp. There is none
// for a compare-exchange of a double word as a whole.
#ifndef TIDEMARK_VERIFY_RELACY_PORTABLE_PLATFORM_HPP
#define TIDEMARK_VERIFY_RELACY_PORTABLE_PLATFORM_HPP

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "relacy_platform.hpp"
// Behind the assertion of check.hpp.
#include "../platform/portable_platform.hpp"

namespace tidemark::verify {

/// The parts of which portable_platform is made, in the checker's terms.
struct relacy_primitives {
  class mutex {
   public:
    void lock(source_position at = source_position::current()) { cell_.lock(at); }
    void unlock(source_position at = source_position::current()) { cell_.unlock(at); }

   private:
    friend relacy_primitives;
    engine::lock_cell cell_;
  };

  class condition_variable {
   public:
    void wait(std::unique_lock<mutex>& lock, source_position at = source_position::current()) {
      cell_.wait(lock.mutex()->cell_, at);
    }
    std::cv_status wait_until(std::unique_lock<mutex>& lock, deadline,
                              source_position at = source_position::current()) {
      return cell_.wait_timed(lock.mutex()->cell_, at) ? std::cv_status::no_timeout : std::cv_status::timeout;
    }
    void notify_all(source_position at = source_position::current()) { cell_.notify_all(at); }

   private:
    engine::condition_cell cell_;
  };

  static void yield(source_position at = source_position::current()) { engine::yield(at); }

  /// The place at which the threads sleep that wait for a change of a word. Here each word has one of its own.
  struct lot {
    mutex guard;
    condition_variable changed;
    tidemark::detail::lot_sleepers sleepers;
  };
  class park_word : public verify::atomic<std::uint32_t> {
   public:
    using verify::atomic<std::uint32_t>::atomic;

   private:
    friend relacy_primitives;
    lot lot_;
  };
  static lot& lot_of(park_word& word) { return word.lot_; }

  template <class T>
  using atomic = verify::atomic<T>;
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
