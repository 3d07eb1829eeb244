// SPDX-License-Identifier: BSL-1.0
//
// shared_records: who is attached to a segment that processes share, who of them may signal, and what a process leaves
// behind that was killed. It is made of a platform and of locks, so that the model checker can run it. The locks are
// those of shared_files.hpp, which the kernel takes from a process that ends in whatever way.
//
//   segment_words, in the waiters' file               who writes it
//     looked_at   time of the last look               whoever looks
//     pins        one bit for each attachment         the attachment, or who cleans up behind it
//     record[i]   one line for each attachment        the attachment, or who has the byte of the record
//       state        free or used                     "
//       rights ...   what others may read of it       "
//       guard        the notice of a guard thread     the guard thread; the kernel, when that thread ends
//   signaller_words, in the file of the values
//     incarnation[i]  of the signaller i, or 0        the signaller i; one that closes writes 0 where another has died
//     ended           some signaller has ended        a signaller that closes
//
// An attachment is a byte that is locked, and its record. The record is `used` before the attachment claims anything in
// the segment, and `free` after it has given everything back. So a record that is used while nobody has the byte of its
// attachment is one of the dead. A record has a byte of its own. Whoever takes that one and finds nobody alive may
// clean up, and keeps it until the record is free: a cleaner that is killed leaves what another one begins again. While
// a cleaner is stopped, nobody else can clean up, but the dead one is dead for all.
//
// A signaller is alive if its byte is locked and the record has the same incarnation as the signaller's own word. So
// nobody who may write only the waiters' file can pretend in the values' file that a signaller has ended.
//
// An attachment may have a guard thread (shared_guard.hpp). Then the kernel writes a notice into the record when the
// process dies, before it gives up the lock of the byte. Others take the attachment for dead at once, but nobody cleans
// up behind it while its byte is locked: other threads of the dead process may run for a moment.
//
// Invariant: what belongs to number i is touched by one thread at a time: by the attachment while it has its byte, and
// otherwise by whoever has the byte of the record. Nobody takes the byte of an attachment without that of the record.
// Zero is a harmless state of every word.
//
// Not promised: that what lies here is true. Whoever may write the segment may write nonsense, and others may then see
// attachments that are not there. No index comes from these words, and no loop is longer than the number of records.
#ifndef TIDEMARK_FENCE_DETAIL_SHARED_RECORDS_HPP
#define TIDEMARK_FENCE_DETAIL_SHARED_RECORDS_HPP

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "../../platform/names.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// How many attachments a segment can have at most: one bit of a word for each.
inline constexpr std::uint32_t most_attachments = 64;

/// What an attachment may do. Each includes those before it.
enum class attachment_rights : std::uint32_t {
  look = 1,  ///< Look at the values. It has no record.
  wait,      ///< Wait for values, too.
  signal,    ///< Signal, too.
};
template <>
inline constexpr auto names_of<attachment_rights> = names("?", "look", "wait", "signal");

/// Whether somebody may signal.
enum class signallers : unsigned char {
  none_yet,  ///< Nobody had the right to signal so far.
  present,   ///< An attachment that may signal is alive.
  closed,    ///< There were some, and the last one has closed its attachment.
  died,      ///< There were some, and the last one has ended without that.
};
template <>
inline constexpr auto names_of<signallers> = names("none_yet", "present", "closed", "died");

/// How an attempt to lock a byte has ended.
enum class byte_lock : unsigned char {
  locked,
  taken,    ///< Another attachment has it.
  refused,  ///< By the system.
};

/// What an attachment writes into its record, for others to read. Only a hint but for `incarnation`.
struct attachment_note {
  attachment_rights rights = attachment_rights::wait;
  bool is_registered = false;           // for the global barrier
  std::uint32_t process = 0;            // its number in its own name space
  std::uint64_t name_space = 0;         // that of the process number
  std::uint64_t incarnation = 0;        // a random number, not 0
  std::array<std::uint64_t, 3> name{};  // for people: 24 characters, filled with 0
};

/// What stands in the guard word of an attachment: 0, or the number of its guard thread as the kernel expects it there.
struct guard_word {
  static constexpr std::uint32_t has_sleepers = 0x8000'0000;  // the kernel wakes one of them
  static constexpr std::uint32_t has_ended = 0x4000'0000;     // the kernel's notice: the thread has ended
  static constexpr std::uint32_t thread = 0x3FFF'FFFF;
};

template <platform Platform>
struct alignas(64) segment_record {
  template <class T>
  using word = typename Platform::template atomic<T>;

  word<std::uint32_t> state{0};
  word<std::uint32_t> rights{0};
  word<std::uint32_t> registered{0};
  word<std::uint32_t> process{0};
  typename Platform::park_word guard{0};
  word<std::uint32_t> reserved{0};
  word<std::uint64_t> name_space{0};
  word<std::uint64_t> incarnation{0};
  std::array<word<std::uint64_t>, 3> name{};
};

/// The words of the waiters' file.
/// \tparam Most  how many attachments there can be; less than most_attachments only in checks
template <platform Platform, std::size_t Most = most_attachments>
struct segment_words {
  template <class T>
  using word = typename Platform::template atomic<T>;

  word<std::uint64_t> looked_at{0};
  word<std::uint64_t> pins{0};
  std::array<segment_record<Platform>, Most> records{};
};

/// The words of the file of the values.
template <platform Platform, std::size_t Most = most_attachments>
struct signaller_words {
  template <class T>
  using word = typename Platform::template atomic<T>;

  std::array<word<std::uint64_t>, Most> incarnation{};
  word<std::uint32_t> ended{0};
};

/// What a claim has come to: an index, or why there is none.
struct [[nodiscard]] claim_outcome {
  byte_lock status = byte_lock::taken;  // taken: all of them, by others
  std::uint32_t index = 0;
};

/// What a look at the others has found.
struct look_outcome {
  std::uint32_t cleaned = 0;  // behind how many it has cleaned up
  bool has_looked = false;    // false if another thread of this attachment looks
  bool has_more = false;      // there may be more, for the next look
};

/// Keeps the compiler from moving accesses of memory across it. The kernel may end this thread between any two
/// instructions, and what it has done before is there for others then. So no stronger order is needed: who takes over
/// from the dead has got its lock from the kernel.
inline void keep_program_order() noexcept {
#if defined(__GNUC__)
  __asm__ __volatile__("" : : : "memory");
#endif
}

/// Returns what stands in the guard word of an attachment.
template <platform Platform, std::size_t Most>
std::uint32_t guard_in(const segment_words<Platform, Most>& words, std::uint32_t index) noexcept {
  // (CL11): acquire, pairs with (CL12): whoever no longer finds the notice, because somebody has cleaned up, no longer
  // finds the byte of the dead one locked either. And with (CL13), which the kernel's exchange hands on: whoever finds
  // the notice finds the incarnation that it is of. Not stronger: nobody compares two words.
  return words.records[index].guard.load(std::memory_order_acquire);
}
/// Returns whether the kernel has said so, or a neighbour that writes nonsense.
template <platform Platform, std::size_t Most>
bool has_died(const segment_words<Platform, Most>& words, std::uint32_t index) noexcept {
  return (guard_in(words, index) & guard_word::has_ended) != 0;
}

/// The records of a segment, for one attachment.
/// \tparam Locks  The bytes of the attachments: try_lock(index) returns a byte_lock, unlock(index) ends it, and
///                is_held(index) returns whether another attachment has the byte. And the bytes of the records:
///                try_lock_record(index) and unlock_record(index). An attachment never finds its own byte taken.
///                Threads of one attachment do not exclude each other
template <platform Platform, class Locks, std::size_t Most = most_attachments>
class segment_records {
 public:
  using words_type = segment_words<Platform, Most>;

  /// \param count  how many attachments there can be, at most most_attachments
  segment_records(words_type& words, Locks& locks, std::uint32_t count) noexcept
      : words_{words}, locks_{locks}, count_{count} {}
  segment_records(const segment_records&) = delete;
  segment_records& operator=(const segment_records&) = delete;

  /// Takes a byte, cleans up behind whoever had it, and writes the record. One thread calls it, before the others know
  /// of the attachment.
  /// \param clean  clean(index) gives back all that belongs to the index. It may have been killed before in the middle
  template <class Clean>
  claim_outcome claim(const attachment_note& note, Clean&& clean) noexcept {
    claim_outcome outcome;
    for (std::uint32_t index = 0; index < count_; ++index) {
      outcome.status = claim_at(index, note, clean);
      outcome.index = index;
      if (outcome.status != byte_lock::taken) break;
    }
    return outcome;
  }

  /// Gives the attachment's record and its byte back. No other thread uses the attachment any more.
  template <class Clean>
  void release(std::uint32_t index, Clean&& clean) noexcept {
    clean_up(index, clean);
    locks_.unlock(index);
  }

  /// Looks for attachments whose process has ended without closing them, and cleans up behind them, at most `most`.
  /// Returns at once while another thread of this attachment looks.
  /// \param own  the index of this attachment
  template <class Clean>
  look_outcome look(std::uint32_t own, std::uint32_t most, Clean&& clean) noexcept {
    look_outcome outcome;
    // (CL2): acquire, pairs with (CL3): what the look before has left in first_. Not stronger: the flag alone keeps
    // the other thread out.
    if (is_looking_.exchange(1, std::memory_order_acquire) != 0) return outcome;
    outcome.has_looked = true;
    const std::uint32_t first = first_.load();
    for (std::uint32_t n = 0; n < count_; ++n) {
      const std::uint32_t index = (first + n) % count_;
      if (index == own || !is_used(index)) continue;
      if (outcome.cleaned == most) {
        // A neighbour may have marked all records as used. The next look begins here.
        outcome.has_more = true;
        first_.store(index);
        break;
      }
      // First whether it lives, which is the usual answer.
      if (locks_.is_held(index) || locks_.try_lock_record(index) != byte_lock::locked) continue;
      // Another one may have cleaned up, and a new attachment may have come.
      if (is_used(index) && !locks_.is_held(index)) {
        clean_up(index, clean);
        ++outcome.cleaned;
      }
      locks_.unlock_record(index);
    }
    // (CL3): release, pairs with (CL2).
    is_looking_.store(0, std::memory_order_release);
    return outcome;
  }

  /// Returns whether the index is attached now, as the system says.
  bool is_attached(std::uint32_t index) const noexcept { return locks_.is_held(index); }
  /// Returns whether the attachment `index` is the one with that incarnation, and lives.
  bool is_alive(std::uint32_t index, std::uint64_t incarnation) const noexcept {
    // The kernel writes the notice before it gives up the byte. And the incarnation comes last: where it is that of
    // the dead one, nobody has taken the byte since.
    if (has_died(words_, index)) return false;
    if (!locks_.is_held(index)) return false;
    // (CL4): acquire, pairs with (CL5): if it has closed, its word in the values' file says so. Not stronger.
    return words_.records[index].incarnation.load(std::memory_order_acquire) == incarnation;
  }

  /// By the guard thread of an attachment: lets the kernel write there when the thread ends.
  /// \param thread  the number of the thread in its own name space; 0 if the kernel shall do nothing
  void set_guard(std::uint32_t index, std::uint32_t thread) noexcept {
    const std::uint32_t value = thread == 0 ? 0 : thread | guard_word::has_sleepers;
    keep_program_order();
    // (CL13): release, pairs with (CL11). Not stronger: the kernel looks for it when this thread has ended.
    words_.records[index].guard.store(value, std::memory_order_release);
    keep_program_order();
  }

 private:
  using record = segment_record<Platform>;

  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t used = 1;

  bool is_used(std::uint32_t index) const noexcept {
    // (CL6): relaxed alone: a hint without the byte, and with it as (CL1).
    return words_.records[index].state.load(std::memory_order_relaxed) != free;
  }

  template <class Clean>
  byte_lock claim_at(std::uint32_t index, const attachment_note& note, Clean& clean) noexcept {
    if (const byte_lock of_record = locks_.try_lock_record(index); of_record != byte_lock::locked) return of_record;
    byte_lock result = byte_lock::taken;
    if (!locks_.is_held(index)) {
      record& own = words_.records[index];
      // (CL1): relaxed alone: the bytes order what is in the record. Others that see it try them.
      own.state.store(used, std::memory_order_relaxed);
      keep_program_order();
      // Also if the record was free: a neighbour may have written that. And before the byte is taken, because a dead
      // one that had the number would live again otherwise.
      clean(index);
      forget(index);
      result = locks_.try_lock(index);
      if (result == byte_lock::locked) {
        write(own, note);
        keep_program_order();
      }
    }
    locks_.unlock_record(index);
    return result;
  }

  /// With the byte of the record, or with the own one: the record becomes free when nothing is left.
  template <class Clean>
  void clean_up(std::uint32_t index, Clean& clean) noexcept {
    clean(index);
    forget(index);
    keep_program_order();
    // (CL7): relaxed alone, as (CL1).
    words_.records[index].state.store(free, std::memory_order_relaxed);
    keep_program_order();
  }

  void forget(std::uint32_t index) noexcept {
    // (CL8): relaxed alone: the dead does not signal, and the owner has stopped to.
    words_.pins.fetch_and(~(std::uint64_t{1} << index), std::memory_order_relaxed);
    // (CL5): release, pairs with (CL4): an owner that closes has cleared its word in the values' file before. Not
    // stronger: a cleaner changes no such word.
    words_.records[index].incarnation.store(0, std::memory_order_release);
    // (CL12): release, pairs with (CL11). Not stronger: where the notice is still seen, it is right.
    words_.records[index].guard.store(0, std::memory_order_release);
  }

  static void write(record& own, const attachment_note& note) noexcept {
    put(own.rights, static_cast<std::uint32_t>(note.rights));
    put(own.registered, std::uint32_t{note.is_registered});
    put(own.process, note.process);
    put(own.name_space, note.name_space);
    for (std::size_t i = 0; i < own.name.size(); ++i) put(own.name[i], note.name[i]);
    put(own.incarnation, note.incarnation);
  }
  template <class Word, class T>
  static void put(Word& to, T value) noexcept {
    // (CL9): relaxed alone: hints, but for the incarnation, which (SG1) publishes.
    to.store(value, std::memory_order_relaxed);
  }

  words_type& words_;
  Locks& locks_;
  const std::uint32_t count_;
  typename Platform::template atomic<std::uint32_t> is_looking_{0};
  typename Platform::template var<std::uint32_t> first_{0};  // where the next look begins
};

/// Returns what the record of the attachment `index` says. Others may change it meanwhile.
template <platform Platform, std::size_t Most>
attachment_note note_in(const segment_words<Platform, Most>& words, std::uint32_t index) noexcept {
  const segment_record<Platform>& of = words.records[index];
  attachment_note note;
  const auto get = [](const auto& from) {
    // (CL10): relaxed alone: hints, as (CL9) says.
    return from.load(std::memory_order_relaxed);
  };
  const bool may_signal = get(of.rights) == static_cast<std::uint32_t>(attachment_rights::signal);
  note.rights = may_signal ? attachment_rights::signal : attachment_rights::wait;
  note.is_registered = get(of.registered) == 1;
  note.process = get(of.process);
  note.name_space = get(of.name_space);
  note.incarnation = get(of.incarnation);
  for (std::size_t i = 0; i < of.name.size(); ++i) note.name[i] = get(of.name[i]);
  return note;
}

/// Whether somebody may signal: the words of the values' file. The functions take `is_alive(index, incarnation)`.
template <platform Platform, std::size_t Most = most_attachments>
class signaller_history {
 public:
  using words_type = signaller_words<Platform, Most>;

  /// \param count  how many attachments there can be
  signaller_history(words_type& words, std::uint32_t count) noexcept : words_{words}, count_{count} {}

  /// Before the first signal of an attachment, which has written its record.
  void begin(std::uint32_t index, std::uint64_t incarnation) noexcept {
    // (SG1): release, pairs with (SG2): whoever sees the incarnation sees it in the record, and the byte locked.
    words_.incarnation[index].store(incarnation, std::memory_order_release);
    keep_program_order();
  }

  /// After the last signal of an attachment, while it still has its byte. Where others have died before, it says that
  /// they have ended, since this one was not the last that died.
  template <class IsAlive>
  void end(std::uint32_t index, const IsAlive& is_alive) noexcept {
    // (SG3): relaxed: (SG4) publishes it, for (SG7).
    words_.ended.store(1, std::memory_order_relaxed);
    keep_program_order();
    for (std::uint32_t other = 0; other < count_; ++other) {
      std::uint64_t before = look_at(other);
      if (other == index || before == 0 || is_alive(other, before)) continue;
      // (SG5): relaxed: it leads to the same as (SG4). It fails if another one has begun or ended meanwhile.
      words_.incarnation[other].compare_exchange_strong(before, 0, std::memory_order_relaxed,
                                                        std::memory_order_relaxed);
    }
    keep_program_order();
    // (SG4): release, pairs with (SG2): whoever sees the 0 sees (SG3).
    words_.incarnation[index].store(0, std::memory_order_release);
    keep_program_order();
  }

  template <class IsAlive>
  static signallers state(const words_type& words, std::uint32_t count, const IsAlive& is_alive) noexcept {
    const signallers first = state_once(words, count, is_alive);
    // The last one may have closed between, after the look at one that has died before. Its end takes back what the
    // dead has left.
    return first == signallers::died ? state_once(words, count, is_alive) : first;
  }

 private:
  static std::uint64_t look_at(const words_type& words, std::uint32_t index) noexcept {
    // (SG2): acquire, pairs with (SG1) and (SG4).
    return words.incarnation[index].load(std::memory_order_acquire);
  }
  std::uint64_t look_at(std::uint32_t index) const noexcept { return look_at(words_, index); }

  template <class IsAlive>
  static signallers state_once(const words_type& words, std::uint32_t count, const IsAlive& is_alive) noexcept {
    bool has_died = false;
    for (std::uint32_t index = 0; index < count; ++index) {
      const std::uint64_t seen = look_at(words, index);
      if (seen == 0) continue;
      if (is_alive(index, seen)) return signallers::present;
      // It may have closed since then, or another one may have begun.
      const std::uint64_t now = look_at(words, index);
      if (now != seen && now != 0) return signallers::present;
      has_died = has_died || now == seen;
    }
    if (has_died) return signallers::died;
    // (SG7): relaxed: (SG2) has brought what (SG3) has written, if the last one has closed.
    return words.ended.load(std::memory_order_relaxed) != 0 ? signallers::closed : signallers::none_yet;
  }

  words_type& words_;
  const std::uint32_t count_;
};

/// When an attachment must look at the others: all of them together once in each interval of the clock, and each once
/// in 20 intervals, whatever the neighbours write.
template <platform Platform>
class look_schedule {
 public:
  static constexpr std::uint64_t interval = 50'000'000;  // nanoseconds
  static constexpr std::uint64_t own_intervals = 20;

  static std::uint64_t nanoseconds_of(deadline now) noexcept {
    const auto since = std::chrono::nanoseconds{now.time_since_epoch()}.count();
    return since < 0 ? 0 : static_cast<std::uint64_t>(since);
  }

  /// Returns whether the caller must look now.
  /// \param looked_at  when somebody has looked: the word of the segment, or one of this attachment alone
  /// \param now        in nanoseconds of the steady clock. That of another process may be another one
  bool is_due(typename Platform::template atomic<std::uint64_t>& looked_at, std::uint64_t now) noexcept {
    // (LK1): relaxed alone, and so are all accesses of the two words: at worst somebody looks in vain.
    std::uint64_t last = looked_at.load(std::memory_order_relaxed);
    // (LK2): relaxed alone, as (LK1).
    const std::uint64_t own = own_.load(std::memory_order_relaxed);
    const bool is_overdue = now / interval >= own / interval + own_intervals;
    // Of several that wake up together, another one may have read the clock later, in the next interval already. An
    // earlier time, which is due, becomes a great number here.
    const std::uint64_t ahead = last / interval - now / interval;
    if (ahead <= 1 && !is_overdue) return false;
    // (LK3): relaxed alone, as (LK1).
    const bool is_first =
        looked_at.compare_exchange_strong(last, now, std::memory_order_relaxed, std::memory_order_relaxed);
    if (!is_first && !is_overdue) return false;
    // (LK4): relaxed alone, as (LK1).
    own_.store(now, std::memory_order_relaxed);
    return true;
  }

 private:
  typename Platform::template atomic<std::uint64_t> own_{0};  // the attachment's own last look
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_RECORDS_HPP
