// SPDX-License-Identifier: BSL-1.0
//
// log_reservation: an entry of a queue's log that is reserved when a list of commands is recorded, and committed when
// the list is executed.
//
//   tidemark::log_reserver entries = queue.signal_reserver();      the owner, once
//
//   recording thread                                               executor, later
//   auto entry = entries.reserve();                                queue.signal(output, 4, entry);
//
// The reservation says at once which number the entry will have. That number stays right if every wait, or every
// signal, that the queue executes has a reservation. An operation without one takes the next entry of the log, as
// always. Then the entries that are reserved and not yet committed move up by one. No thread waits because of that, and
// no entry is lost.
//
// A reservation writes nothing. Readers see an entry when it is committed, and all entries before it then, too.
//
// Turns. Commands must be executed in the order in which their entries were reserved. That is asserted of each entry.
// One that is committed out of turn nevertheless is counted, and written at the next place. A reserved command that
// will never be executed must be cancelled (cancelled_command.hpp), or its turn is missing. If no executor has learnt
// of the command yet, its reservation can be taken back: entries.take_back(entry).
//
// No space. As many entries may be reserved and not yet committed as the log has. After that reserve() returns
// `no_space`. An operation that is given this result does what it does without a reservation.
//
// Replacement. Numbers go on from one log of a queue to the next, so a reservation outlives the replacement of the log.
#ifndef TIDEMARK_QUEUE_LOG_RESERVATION_HPP
#define TIDEMARK_QUEUE_LOG_RESERVATION_HPP

#include <atomic>
#include <cstdint>

#include "../platform/names.hpp"
#include "../platform/platform.hpp"

namespace tidemark {

enum class reserve_status {
  reserved,
  no_space,  ///< As many entries are reserved and not yet committed as the log has.
};

template <>
inline constexpr auto detail::names_of<reserve_status> = detail::names("reserved", "no_space");

/// What reserve() returns. It converts to true if an entry was reserved. One that says `no_space` may be given to the
/// executor's functions, too. They then do what they do without a reservation.
struct [[nodiscard]] log_reservation {
  reserve_status status = reserve_status::no_space;
  std::uint64_t sequence = 0;  ///< The number that the entry will have.
  std::uint64_t turn = 0;      ///< How many entries of this log were reserved before it.

  explicit operator bool() const noexcept { return status == reserve_status::reserved; }
};

/// How the reserved entries of a log were committed.
struct log_commits {
  std::uint64_t in_place = 0;  ///< Under the number that was reserved.
  std::uint64_t moved = 0;     ///< Under another number: one without a reservation came before, or a turn was missing.
  std::uint64_t out_of_turn = 0;

  friend bool operator==(const log_commits&, const log_commits&) = default;
};

namespace detail {

/// Checks the order of the commits to one log, and counts them. All functions but counts() are for the executor.
template <platform Platform>
class log_turns {
 public:
  /// \param next  the number that the entry gets
  void note(const log_reservation& reserved, std::uint64_t next) noexcept {
    if (!reserved) return;
    const bool in_turn = reserved.turn == turn_;
    TIDEMARK_ASSERT(in_turn, "an entry of a log is committed out of turn");
    if (!in_turn) {
      count(out_of_turn_);
    } else {
      count(reserved.sequence == next ? in_place_ : moved_);
    }
    if (reserved.turn >= turn_) turn_ = reserved.turn + 1;
  }
  /// Returns the turn that is next.
  std::uint64_t next() const noexcept { return turn_; }
  log_commits counts() const noexcept { return {get(in_place_), get(moved_), get(out_of_turn_)}; }

 private:
  using word = typename Platform::template atomic<std::uint64_t>;

  static std::uint64_t get(const word& counted) noexcept {
    // (Q20): relaxed alone, a statistic.
    return counted.load(std::memory_order_relaxed);
  }
  static void count(word& counted) noexcept {
    // (Q21): relaxed alone, as (Q20). One thread counts.
    counted.store(get(counted) + 1, std::memory_order_relaxed);
  }

  std::uint64_t turn_ = 0;
  word in_place_;
  word moved_;
  word out_of_turn_;
};

}  // namespace detail

}  // namespace tidemark

#endif  // TIDEMARK_QUEUE_LOG_RESERVATION_HPP
