// SPDX-License-Identifier: BSL-1.0
//
// upload_ring: memory for data on its way to an executor, given out from one ring and taken back in order when a
// timeline has reached a value.
//
//   upload_ring ring{uploads, {.capacity = buffer.size()}};     one thread allocates: a few additions
//   upload_part part = ring.allocate(bytes, 16);         an offset into the buffer; waits while the ring is full
//   ... write to buffer + part.offset; more parts; submit work that reads them and then signals `serial` ...
//   ring.retire(serial);                                 all parts so far are in use until that value is reached
//
//   upload_ring<progress_fence, writers::several> ring{uploads, {.capacity = buffer.size()}};    any thread allocates
//   ring.retire(part, serial);                           this part is in use until then
//
//   tail                                    head
//   |  part  |  part  | waste |  part  |    |            parts lie in the order in which they were allocated, and come
//   oldest                      newest                   back in that order
//
// A part never wraps. If the rest at the end of the ring is too short for it, the rest is passed over, and comes back
// together with the part. An empty ring can give out its whole capacity, wherever its head stands, and is never taken
// for a full one. How each form keeps its parts is in memory/detail/upload_parts.hpp.
//
// A thread that reserves the worst case and writes less gives the rest back with try_shrink(), as long as its part is
// the newest one. statistics() says how well the capacity and the alignments fit.
//
// Parts come back by records. With one writer, the parts between two calls of retire() share a record. With several
// writers, each part has a record of its own. Records come back in order: while the oldest one is in use, none behind
// it comes back.
//
// Everything that the executor read before it signalled happens-before the writes of the thread that gets the same
// bytes next.
//
// The destructor does not wait: the caller must make sure that the executor is done before the buffer goes. (A rename
// ring owns its backings, so its destructor does wait.)
//
// Not promised: fairness among threads that wait; room, as long as the oldest part is not retired. With several writers
// allocate() waits until it is.
#ifndef TIDEMARK_MEMORY_UPLOAD_RING_HPP
#define TIDEMARK_MEMORY_UPLOAD_RING_HPP

#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "../fence/wait.hpp"  // before the others: then errors about stop tokens are short

#include "../fence/fence.hpp"
#include "../fence/timeline.hpp"
#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "detail/upload_parts.hpp"
#include "ring_statistics.hpp"

namespace tidemark {

enum class upload_status : std::uint8_t {
  allocated,  ///< The caller has the bytes.
  /// Not now, but another try may succeed. The oldest record is retired, and the timeline has not reached its value
  /// yet. Or, with writers::several, another thread is trimming the ring, or took bytes back during the call. Only
  /// try_allocate() returns it.
  busy,
  /// The deadline of a form that waits has come. With writers::several the last attempt may have found `no_space`
  /// instead of `busy`.
  timeout,
  /// The stop token of a form that waits was triggered, and the last attempt had found `busy`; with writers::several it
  /// may have found `no_space`.
  stopped,
  /// With writers::several, from forms that wait: an attempt has failed that began after the timeline was lost, or had
  /// reached UINT64_MAX: the oldest part was not retired when it looked.
  lost,
  /// Not now, and there is no value to wait for: the oldest part was not retired yet or, with writers::several, was
  /// retired with the value UINT64_MAX. From try_allocate(). With writers::one the forms that wait return it, too,
  /// because no other thread can retire the part.
  no_space,
  /// As `no_space`, and the source refuses to make one more block, or there is no memory for the ring's own part of it.
  /// Only from growing_upload_ring, from all forms.
  no_memory,
  too_large,  ///< Never: more than the capacity.
  invalid,    ///< No bytes, or an alignment that is no power of two.
};

template <>
inline constexpr auto detail::names_of<upload_status> =
    detail::names("allocated", "busy", "timeout", "stopped", "lost", "no_space", "no_memory", "too_large", "invalid");

/// Some bytes of an upload ring, or why there are none.
struct [[nodiscard]] upload_part {
  upload_status status = upload_status::invalid;
  std::uint64_t offset = 0;  ///< In the ring's buffer.
  std::uint64_t bytes = 0;
  std::uint64_t number = 0;  ///< Of the part, for retire(). With writers::one it is always 0.

  explicit operator bool() const noexcept { return status == upload_status::allocated; }
};

struct upload_options {
  /// The size of the buffer in bytes. The constructor asserts that it is more than 0 and less than 2^62. A ring with
  /// any other capacity has no bytes: whatever is asked for is `too_large`.
  std::uint64_t capacity = 0;
  /// The most records at a time: 1 at least, rounded up to a power of two. Each takes 24 bytes at most. A record counts
  /// until it is taken back. While there are that many, a ring of writers::several gives out no more parts: the status
  /// is `busy` or `no_space`, and allocate() waits. A ring of writers::one goes on: parts that it retires meanwhile
  /// join the newest record.
  std::size_t max_records = 256;
};

/// Whether a ring counts the bytes that it passes over for alignments and at its end.
enum class waste : std::uint8_t {
  not_counted,  ///< An allocation costs what it costs without statistics.
  counted,      ///< It takes an addition more.
};

/// A ring of memory for uploads; see the head of this file.
/// \tparam Timeline  tells which work is finished; once it is lost, every retired part is free. What is said about
///                   progress does not cover its current_value()
/// \tparam Writers   how many threads allocate, retire, reclaim and trim
/// \tparam Waste     whether statistics() counts what is passed over. With writers::several that takes an atomic
///                   addition for each part which passes over something
template <timeline Timeline = progress_fence_view, writers Writers = writers::one, waste Waste = waste::not_counted>
class upload_ring {
  using ring_type = std::conditional_t<Writers == writers::several,
                                       detail::upload_parts<Timeline, upload_part, Waste == waste::counted>,
                                       detail::upload_batches<Timeline, upload_part, Waste == waste::counted>>;
  using record = typename ring_type::record;
  struct made_records {
    explicit made_records(std::unique_ptr<record[]> made) noexcept : all{std::move(made)} {}
    std::unique_ptr<record[]> all;
  };

 public:
  using platform = timeline_platform<Timeline>;

  /// Throws std::bad_alloc where there is no memory for the records.
  /// \param finished  is copied if it is copyable (a view); otherwise it must outlive the ring
  upload_ring(const Timeline& finished, const upload_options& options)
      : upload_ring{finished, options,
                    made_records{std::make_unique<record[]>(detail::possible_records(options.max_records))}} {}

  /// A timeline that can't be copied would be gone.
  upload_ring(const Timeline&& gone, const upload_options& options)
    requires(!std::copyable<Timeline>)
  = delete;

  /// Returns a ring as the constructor makes it, or nothing where there is no memory for the records.
  [[nodiscard]] static std::optional<upload_ring> make(const Timeline& finished,
                                                       const upload_options& options) noexcept {
    made_records records{detail::try_make_records<record>(detail::possible_records(options.max_records))};
    if (records.all == nullptr) return std::nullopt;
    return std::optional<upload_ring>{std::in_place, finished, options, std::move(records)};
  }

  static std::optional<upload_ring> make(const Timeline&& gone, const upload_options& options)
    requires(!std::copyable<Timeline>)
  = delete;

  /// For make() and for the constructor above: nobody else can name made_records.
  upload_ring(const Timeline& finished, const upload_options& options, made_records records) noexcept
      : ring_{finished, options.capacity, std::move(records.all), detail::possible_records(options.max_records)} {}

  upload_ring(const upload_ring&) = delete;
  upload_ring& operator=(const upload_ring&) = delete;
  /// Does not wait for what is in use. No other call may be under way.
  ~upload_ring() = default;

  // ---- allocating and retiring: one thread at a time, or, with writers::several, any thread ------------------------

  /// Gives out some bytes of the ring's buffer, at a multiple of `alignment`, if they are free. Returns the part, or
  /// `busy`, `no_space`, `too_large` or `invalid`, and then nothing was given out. The status is `no_space` if there is
  /// no room and the oldest part was not retired yet: no value of the timeline would help.
  /// \param alignment  of the offset, in bytes; a power of two, otherwise the status is `invalid`. The caller must
  ///                   align the buffer itself
  /// Progress: never waits. Apart from its calls of the timeline it is wait-free with writers::one, and lock-free with
  /// writers::several. With writers::one it takes a few additions, and O(records that come back) only if the contiguous
  /// rest is too short.
  upload_part try_allocate(std::uint64_t bytes, std::uint64_t alignment = 1) noexcept {
    return ring_.try_allocate(bytes, alignment);
  }

  /// Gives out some bytes. Tries as try_allocate() does. While that is `busy`, it blocks, parked, until the timeline
  /// has reached the value of the oldest record, and tries again; it may sleep several times. It tries once at least:
  /// `stopped` comes only if a try fails and `token` is triggered. Never returns `busy`. With writers::one it may
  /// return `no_space`, even after a sleep. With writers::several it waits instead, until another thread has retired
  /// the oldest part, or is done with a trim; it returns `lost` if the timeline is lost or has reached UINT64_MAX, and
  /// the oldest part is not retired. So a thread that has the oldest part itself waits until `token` is triggered or
  /// the timeline is lost: use try_allocate() or a form with a time limit there. It may notice up to a millisecond late
  /// what other threads do: where the timeline is neither a fence nor a view of one, where the fence has no free slot
  /// for a waiter and does not grow (fence_options.hpp), or where the system refuses heavy barriers.
  template <stop_token_like Token = never_stops>
  upload_part allocate(std::uint64_t bytes, std::uint64_t alignment = 1, Token token = {}) noexcept {
    return ring_.allocate_within(bytes, alignment, std::move(token));
  }
  /// The same for `timeout` at most, and then returns `timeout`.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  upload_part allocate_for(std::uint64_t bytes, std::uint64_t alignment,
                           const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    return ring_.allocate_within(bytes, alignment, timeout, std::move(token));
  }
  /// The same at any offset.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  upload_part allocate_for(std::uint64_t bytes, const std::chrono::duration<Rep, Period>& timeout,
                           Token token = {}) noexcept {
    return ring_.allocate_within(bytes, 1, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  upload_part allocate_until(std::uint64_t bytes, std::uint64_t alignment,
                             const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept {
    return ring_.allocate_within(bytes, alignment, at, std::move(token));
  }
  /// The same at any offset.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  upload_part allocate_until(std::uint64_t bytes, const std::chrono::time_point<Clock, Duration>& at,
                             Token token = {}) noexcept {
    return ring_.allocate_within(bytes, 1, at, std::move(token));
  }

  /// Retires all parts that were allocated since the last call: they are in use until the timeline has reached
  /// `finished`. They share one record: their bytes come back when all records before are free too. If there are
  /// `max_records` already, they join the newest one, which then is in use until the greater of the two values. Records
  /// that are free but were not taken back yet count, too. Returns true. Returns false if no part was allocated since
  /// the last call. Only with writers::one. Progress: wait-free.
  bool retire(std::uint64_t finished) noexcept
    requires(Writers == writers::one)
  {
    return ring_.retire(finished);
  }
  /// Retires one part: it is in use until the timeline has reached `finished`, and its bytes come back when all parts
  /// before it are free too. Only the thread that has the part may call it: the one that allocated it, or one to which
  /// it was handed on. Returns true. Asserts that the part was not refused and not retired before. Otherwise returns
  /// false and changes nothing. A part that this ring has not given out is misuse: it may be taken for one of this
  /// ring's parts, now or later. The only check is an assertion that the ring has given out a part with this number.
  /// Only with writers::several. Progress: wait-free, except for the system call that wakes other threads if they wait
  /// for room.
  bool retire(const upload_part& part, std::uint64_t finished) noexcept
    requires(Writers == writers::several)
  {
    return ring_.retire(part, finished);
  }

  /// Gives back the end of the newest part: the part has `bytes` bytes from now on, at the same place, and what lay
  /// behind them can be given out again at once. `part` then says so. With 0 bytes the part is empty. Returns true.
  /// Returns false and changes nothing if another part was given out since. Asserts that the part was not refused, that
  /// `bytes` is not more than it has, and, with writers::several, that the part was not retired. Otherwise returns
  /// false and changes nothing. Threads: with writers::several, only the thread that has the part; no work may have
  /// been submitted that uses the bytes which are given back. What that thread wrote there happens-before the writes of
  /// the thread that gets them next. If another thread allocates at the same time, one of the two comes first: either
  /// the part shrinks, and the other thread gets bytes behind its new end, or the call returns false. The part must
  /// still be retired, also with 0 bytes; with writers::one only if there are others or bytes that were passed over
  /// before it, as the result of retire() says. Progress: wait-free, except for the system call that wakes other
  /// threads if they wait for room.
  ///
  /// What is not noticed: a part of another ring, a part that has shrunk in another copy, and, with writers::one, a
  /// part that was retired, if the newest part ends where that one did.
  bool try_shrink(upload_part& part, std::uint64_t bytes) noexcept { return ring_.try_shrink(part, bytes); }

  /// Takes back what is free from the oldest record on. Returns how many bytes came back, those that were passed over
  /// included. With writers::several it may be more than the capacity: in an empty ring a part as large as the ring may
  /// follow bytes that were passed over. An allocation that finds no room takes back what is free, too. Progress: never
  /// waits. Apart from its calls of the timeline it is wait-free with writers::one, and lock-free with
  /// writers::several.
  std::uint64_t reclaim() noexcept { return ring_.reclaim(); }

  /// Calls `release(offset)` for pieces of the buffer that are free. The caller may drop their contents, and give their
  /// memory back to the system until it is written again. Returns how many bytes the pieces had. With writers::one all
  /// free pieces are released. With writers::several there are pieces only if the ring is empty: no part is allocated,
  /// and none waits for its value. The call then takes the whole ring as one part: until it returns, try_allocate() of
  /// other threads returns `busy`, and allocate() waits. Afterwards all bytes are free again. What `release` throws
  /// passes through, and the ring is as after any other trim.
  /// \param bytes  the size and the alignment of each piece; a power of two. Asserts that; otherwise there are none
  /// \param release  is called as const with an offset (std::uint64_t), and must not call the ring
  /// Progress: lock-free but for `release`, what it asks of the timeline, and the system call that wakes threads that
  /// wait.
  template <class Release>
  std::uint64_t trim(std::uint64_t bytes, const Release& release) {
    TIDEMARK_ASSERT(std::has_single_bit(bytes), "an upload ring is trimmed by pieces whose size is a power of two");
    if (!std::has_single_bit(bytes)) return 0;
    return ring_.trim(bytes, release);
  }

  /// Returns how many bytes belong to parts, those that were passed over at the end of the ring or for the alignment
  /// included. Parts that are free count until reclaim(), or an allocation that needs room, takes them back. With
  /// writers::several any thread may call it; while others allocate and reclaim, the number is not exact, but never
  /// greater than the capacity. Progress: wait-free.
  [[nodiscard]] std::uint64_t bytes_in_use() const noexcept { return ring_.bytes_in_use(); }

  /// Returns what the ring's parts have come to (ring_statistics.hpp). Threads: as bytes_in_use(). While others
  /// allocate and reclaim, the numbers are of slightly different moments. Progress: wait-free, but for a division with
  /// writers::several.
  [[nodiscard]] upload_statistics statistics() const noexcept { return ring_.template statistics<upload_statistics>(); }

  /// Returns how many bytes the buffer has. Any thread may call it.
  [[nodiscard]] std::uint64_t capacity() const noexcept { return ring_.capacity(); }

 private:
  ring_type ring_;
};

// What is given and is no timeline gets an error of its own.
template <class Wrong>
  requires(!timeline<Wrong>)
upload_ring(const Wrong&, const upload_options&) -> upload_ring<detail::wrong_timeline<Wrong>>;

}  // namespace tidemark

#endif  // TIDEMARK_MEMORY_UPLOAD_RING_HPP
