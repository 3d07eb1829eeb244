// SPDX-License-Identifier: BSL-1.0
//
// shared_records: who is attached to a segment that processes share, who of them may signal, and what a process leaves
// behind that was killed. It is made of a platform and of locks, so that the model checker can run it. The locks are
// those of shared_files.hpp, which the kernel takes from a process that ends in whatever way.
//
//   segment_words, in the waiters' file               who writes it
//     looked_at   time of the last look               whoever looks
//     pins        one bit for each attachment         the attachment, or who cleans up behind it
//     record[i]   one line for each attachment        who holds byte i
//       state        free or used                     "
//       rights ...   what others may read of it       "
//       bell         a futex word, only counts up     whoever has something to tell the attachment
//   signaller_words, in the file of the values
//     incarnation[i]  of the signaller i, or 0        the signaller i; one that closes writes 0 where another has died
//     ended           some signaller has ended        a signaller that closes
//
// An attachment is a byte that is locked, and its record. The record is `used` before the attachment claims anything in
// the segment, and `free` after it has given everything back. So a record that is used while nobody has its byte is one
// of the dead. Whoever takes that byte may clean up, and keeps the byte until the record is free: a cleaner that is
// killed leaves what another one begins again.
//
// A signaller is alive if its byte is locked and the record has the same incarnation as the signaller's own word. So
// nobody who may write only the waiters' file can pretend in the values' file that a signaller has ended.
//
// Invariant: what byte i protects is touched by one thread at a time. Zero is a harmless state of every word.
//
// Not promised: that what lies here is true. Whoever may write the segment may write nonsense, and others may then see
// attachments that are not there. No index comes from these words, and no loop is longer than the number of records.
#ifndef TIDEMARK_FENCE_DETAIL_SHARED_RECORDS_HPP
#define TIDEMARK_FENCE_DETAIL_SHARED_RECORDS_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

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

/// Whether somebody may signal.
enum class signallers : unsigned char {
  none_yet,  ///< Nobody had the right to signal so far.
  present,   ///< An attachment that may signal is alive.
  closed,    ///< There were some, and the last one has closed its attachment.
  died,      ///< There were some, and the last one has ended without that.
};

/// How an attempt to lock a byte has ended.
enum class byte_lock : unsigned char {
  locked,
  taken,    ///< Another attachment has it.
  refused,  ///< By the system.
};

/// What an attachment writes into its record, for others to read. Only a hint but for `incarnation`.
struct attachment_note {
  attachment_rights rights = attachment_rights::wait;
  bool is_registered = false;        // for the global barrier
  std::uint32_t process = 0;         // its number in its own name space
  std::uint64_t name_space = 0;      // that of the process number
  std::uint64_t incarnation = 0;     // a random number, not 0
  std::array<char, 24> name{};       // for people; need not end with 0
};

template <platform Platform>
struct alignas(64) segment_record {
  template <class T>
  using word = typename Platform::template atomic<T>;

  word<std::uint32_t> state{0};
  word<std::uint32_t> rights{0};
  word<std::uint32_t> registered{0};
  typename Platform::park_word bell{0};
  word<std::uint32_t> process{0};
  word<std::uint32_t> reserved{0};
  word<std::uint64_t> name_space{0};
  word<std::uint64_t> incarnation{0};
  std::array<word<std::uint64_t>, 3> name{};
};

/// The words of the waiters' file.
template <platform Platform>
struct segment_words {
  template <class T>
  using word = typename Platform::template atomic<T>;

  word<std::uint64_t> looked_at{0};
  word<std::uint64_t> pins{0};
  std::array<segment_record<Platform>, most_attachments> records{};
};

/// The words of the file of the values.
template <platform Platform>
struct signaller_words {
  template <class T>
  using word = typename Platform::template atomic<T>;

  std::array<word<std::uint64_t>, most_attachments> incarnation{};
  word<std::uint32_t> ended{0};
};

/// What a claim has come to: an index, or why there is none.
struct claim_outcome {
  byte_lock status = byte_lock::taken;  // taken: by others, all of them
  std::uint32_t index = 0;
};

/// What a look at the others has found.
struct look_outcome {
  std::uint32_t cleaned = 0;       ///< How many of the dead it has cleaned up behind.
  bool has_looked = false;         ///< False if another thread of this attachment looks.
  bool has_more = false;           ///< There are more, for the next look.
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_RECORDS_HPP
