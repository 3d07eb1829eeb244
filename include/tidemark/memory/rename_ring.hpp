// SPDX-License-Identifier: BSL-1.0
//
// rename_ring: one resource with several backings, so that a thread that writes it anew need not wait for the executor
// that still reads what was written before.
//
//   rename_ring ring{uploads, {.bytes = 4096, .max_renames = 3}};
//   auto mapped = ring.map(map_mode::discard);       a backing that nobody reads: the current one if that is idle
//   ... write to mapped.memory, submit work that reads it and then signals `serial` ...
//   ring.retire(mapped, serial);                     the backing is in use until the timeline reaches that value
//
//   current                                          backings form a circle; as a rule the one behind the current one
//      |                                             was used longest ago
//      v
//   [ backing ] --> [ backing ] --> [ backing ] -->
//     in use until    mapped          idle
//
// A backing is idle while it has no mapping and the timeline has reached its values. A discard takes the first idle
// backing from the current one on. If there is none, it makes another one, up to `max_renames`. If it can't make one,
// it waits for the value that comes first; a source that has refused is not asked again in that call. It makes a
// backing current only after it has taken it, so that no other thread takes it, too. Mappings nest: a backing is in use
// until its last mapping was retired, and until the greatest of the values of its mappings.
//
// A thread that discards a backing is its owner until it retires that mapping. A thread that maps the current backing
// in another mode is a guest. If the backing has an owner, the guest does not wait for it: both have the backing mapped
// at the same time. If another thread trims the backing before the guest has it, the guest tries the backing that is
// current then. How owners and guests see each other is in memory/detail/backing_slot.hpp. With writers::one the ring
// only loads and stores its state. It needs an atomic exchange only to make or to destroy a backing. With
// writers::several, a map that waits is also woken when another thread gives something back (fence/event_count.hpp).
//
// Everything that a thread did before it retired a mapping happens-before the next discard of the same backing.
// Everything that the executor did before it signalled a value happens-before the return of a map that needed this
// value, whether the map has waited for it or has found it reached.
//
// Not promised: that a map for reading runs beside an executor that only reads (it waits for all uses). Nor is it
// promised which backing a no_overwrite map gets while another thread discards: it may be the old current one or the
// new one. Two mappings of one backing may write the same bytes at the same time: the threads that have them must agree
// on who writes where.
#ifndef TIDEMARK_MEMORY_RENAME_RING_HPP
#define TIDEMARK_MEMORY_RENAME_RING_HPP

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "../fence/wait.hpp"  // before the others: then errors about stop tokens are short

#include "../fence/event_count.hpp"
#include "../fence/fence.hpp"
#include "../fence/timeline.hpp"
#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "backing_source.hpp"
#include "detail/backing_slot.hpp"
#include "detail/source_counts.hpp"
#include "map_mode.hpp"
#include "ring_statistics.hpp"
#include "tools/attempts.hpp"

namespace tidemark {

struct rename_options {
  std::size_t bytes = 0;                              ///< The size of each backing. The source says what it refuses.
  std::size_t alignment = alignof(std::max_align_t);  ///< The alignment of each backing, in bytes.
  std::size_t max_renames = 0;  ///< The most backings, the first one included. 0: as many as the source makes.
};

/// One resource with several backings; see the head of this file.
/// \tparam Timeline  tells which work is finished; once it is lost, nothing is in use any more. What is said about
///                   progress does not cover its current_value()
/// \tparam Source    makes and destroys the backings
/// \tparam Writers   how many threads map, retire and trim
template <timeline Timeline = progress_fence_view, backing_source Source = heap_source, writers Writers = writers::one>
class rename_ring {
 public:
  using platform = timeline_platform<Timeline>;
  using backing = typename Source::backing;

 private:
  using slot = detail::backing_slot<platform, backing, Writers>;

 public:
  /// A backing that the caller may use as it has asked for, until retire(); or why there is none. May be copied. All
  /// copies are the same mapping: call retire() for one of them only.
  struct [[nodiscard]] mapping {
    map_status status = map_status::invalid;
    backing memory{};  ///< The backing, as its source made it.
    /// Whether it is another backing than the one that the call found current. With writers::several another thread may
    /// have renamed meanwhile: then compare `memory` with the backing that you have used before.
    bool renamed = false;

    mapping() noexcept = default;
    explicit operator bool() const noexcept { return status == map_status::mapped; }

   private:
    friend rename_ring;
    mapping(map_status why) noexcept : status{why} {}
    mapping(slot& which, bool is_guest, std::uint64_t number, bool is_renamed) noexcept
        : status{map_status::mapped},
          memory{which.memory.load()},
          renamed{is_renamed},
          is_guest_{is_guest},
          slot_{&which},
          number_{number} {}

    bool is_guest_ = false;
    slot* slot_ = nullptr;
    std::uint64_t number_ = 0;  // which discard of the slot this is, or which guest
  };

  /// Makes the first backing. If the source refuses, the ring has none: then maps return `no_memory`, and each discard
  /// asks the source again.
  /// \param finished  is copied if it is copyable (a view); otherwise it must outlive the ring
  rename_ring(const Timeline& finished, const rename_options& options, Source source = {}) noexcept
      : finished_{finished},
        traits_{options.bytes, options.alignment},
        max_renames_{options.max_renames},
        source_{std::move(source)},
        current_{&first_} {
    // (N25): relaxed alone, nobody else knows the ring yet.
    first_.next.store(&first_, std::memory_order_relaxed);
    const std::size_t number = counts_.add(0);
    const backing made = source_.create(traits_);
    first_.memory.store(made);
    const bool is_there = static_cast<bool>(made);
    if (!is_there) first_.use.give(vacant);
    is_there ? counts_.made(number) : counts_.refused();
  }
  /// A timeline that can't be copied would be gone.
  rename_ring(const Timeline&& gone, const rename_options& options, Source source = {})
    requires(!std::copyable<Timeline>)
  = delete;
  rename_ring(const rename_ring&) = delete;
  rename_ring& operator=(const rename_ring&) = delete;
  /// Destroys the backings one after another. Before each it blocks until the timeline has reached every value that was
  /// passed for this backing, or is lost. It does not wait for mappings: a backing that was never retired is destroyed,
  /// too. No other call may be under way.
  ~rename_ring() {
    slot* one = &first_;
    do {
      if (one->use.word() != vacant) {
        static_cast<void>(finished_.wait(one->in_use_until()));  // reached or lost: nothing uses it any more
        source_.destroy(one->memory.load(), traits_);
      }
      slot* const next = one->next_slot();
      if (one != &first_) delete one;
      one = next;
    } while (one != &first_);
  }

  // ---- mapping: one thread at a time, or, with writers::several, any thread ----------------------------------------

  /// Maps if that is possible now. Returns the mapping, or `busy`, `no_space`, `no_memory` or `invalid` (map_mode.hpp
  /// says when), and then nothing was changed. A map without discard asserts that the current backing has fewer than
  /// 2^15 guests; otherwise it returns `no_space`. A discard may have the source make one more backing, and then
  /// allocates the ring's own part of it. Never waits. Progress: lock-free but for the source, the heap, what it asks
  /// of the timeline, and a system call: an attempt that fails may have kept a backing from other threads for a moment,
  /// and then wakes those that wait.
  mapping try_map(map_mode mode) noexcept {
    if (!is_valid(mode)) return map_status::invalid;
    std::uint64_t target = 0;
    bool was_refused = false;
    return attempt(mode, target, was_refused);
  }

  /// As try_map(), for a block that keeps some backings to itself for a while. A discard asks `may_take(backing)` for
  /// each idle backing that it is about to return, and passes over it if the answer is false. It may ask for one
  /// backing several times. It asks about a backing that it has just made, too, but returns that one whatever the
  /// answer is. If the result is `busy`, `target` becomes the first value of the timeline at which another try may
  /// help. If no value helps, but only another answer of `may_take`, the result is `busy`, too, and `target` keeps the
  /// value that the caller gave it. For mapped_allocation.
  template <class MayTake>
  mapping try_map_if(map_mode mode, std::uint64_t& target, const MayTake& may_take) noexcept
    requires(Writers == writers::one)
  {
    if (!is_valid(mode)) return map_status::invalid;
    bool was_refused = false;
    return attempt(mode, target, was_refused, may_take);
  }

  /// Maps. Blocks, parked, while it is busy, until the timeline reaches the first value that helps. With
  /// map_mode::do_not_wait it is try_map().
  ///
  /// If a discard finds all max_renames backings mapped: with writers::one it returns `no_space`. With writers::several
  /// it waits until another thread retires or trims something, so a thread that has mapped all of them itself waits
  /// until `token` is triggered or the timeline is lost; use try_map() or map_for() there.
  ///
  /// Returns as try_map(), but, unless the mode has do_not_wait, never `busy`. It tries once at least: `stopped` comes
  /// only if a try fails and `token` is triggered. With writers::several and without do_not_wait it never returns
  /// `no_space` either: where try_map() does, it waits; or it returns `lost` if the timeline is lost or has reached
  /// UINT64_MAX.
  ///
  /// A map of the current contents that waits does not notice at once that another backing has become current. It looks
  /// again when any mapping is retired, or when the value that it waits for is reached. What other threads do may be
  /// noticed a millisecond late if the timeline is neither a fence nor a view of one, if the fence has no slot and does
  /// not grow, or if the system refuses a heavy barrier; otherwise when the spin of the waiter is over
  /// (basic_event_count::notify()) at the latest.
  template <stop_token_like Token = never_stops>
  mapping map(map_mode mode, Token token = {}) noexcept {
    return map_within(mode, std::move(token));
  }
  /// The same for `timeout` at most, and then returns `timeout`.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  mapping map_for(map_mode mode, const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    return map_within(mode, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  mapping map_until(map_mode mode, const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept {
    return map_within(mode, at, std::move(token));
  }

  /// As map() with a discard, for a thread that has a backing mapped and can use that backing again once the timeline
  /// has reached a value. If `own` is a mapping, returns what is possible first: another backing, with `renamed` true;
  /// or, once the timeline has reached `until`, `own` itself, which stays mapped, with `renamed` false. It never
  /// returns `no_memory` or `lost`, since it can wait for `until`. If `own` is no mapping, it does what map() with a
  /// discard does, but `renamed` is always true. In both cases it blocks as map() does, up to the same limits. For
  /// renamed_resource, which has its current backing mapped.
  /// \param own     a discard of the calling thread that was not retired
  /// \param until   less than UINT64_MAX, which is not checked: with UINT64_MAX the call may sleep on after the
  ///                timeline was lost. It is read again before each attempt, and so is `own`. A source may change both
  ///                when it is asked for a backing: for example a source that submits work when memory is short
  /// \param limits  what map(), map_for() or map_until() takes behind the mode
  template <class... Limits>
  mapping map_beside(const mapping& own, const std::uint64_t& until, const Limits&... limits) noexcept
    requires(Writers == writers::several)
  {
    bool was_refused = false;
    const auto attempt_once = [&](std::uint64_t& target) {
      const bool is_own = own && finished_.is_reached(until);
      mapping made = is_own ? own : map_idle(target, was_refused);
      made.renamed = !is_own;
      if (made || !own) return made;
      target = (std::min)(target, until);
      return mapping{map_status::busy};
    };
    return detail::wait_for_space(given_back_, finished_, attempt_once, limits...);
  }

  /// Ends a mapping: its backing is in use until the timeline has reached `finished`, and until the greatest value that
  /// was passed for it before. Returns true. Returns false and changes nothing if there is no such mapping: it was
  /// refused, has ended, or belongs to an earlier discard of a backing that has another owner now. Two calls for one
  /// mapping must not run at the same time. The caller is the thread that has mapped, or one that was given the
  /// mapping.
  ///
  /// What is not noticed: a mapping of another ring, which the call ends in that ring; and a second call for a guest,
  /// because guests are only counted. Such a call ends the mapping of another guest. If no guest is left, or if the
  /// backing was discarded or trimmed since, it returns false. If another thread retires the last guest during the
  /// call, it also returns false, but the backing may stay in use until the value of that call. After a discard, a
  /// second call always returns false.
  /// \param finished  less than 2^64 - 2^33 - 1. Asserts that; otherwise the result is false, and the mapping stays.
  /// Progress: lock-free, wait-free after a discard and with writers::one, but for the system call that wakes others.
  bool retire(const mapping& made, std::uint64_t finished) noexcept {
    if (made.slot_ == nullptr || !keeps(finished)) return false;
    slot& which = *made.slot_;
    const bool was_mapped = made.is_guest_ ? which.use.may_be_here(made.number_) && which.retire_guest(finished)
                                           : which.retire_owner(made.number_, finished);
    if (was_mapped) gave_back();
    return was_mapped;
  }
  /// The same for the current backing, for a caller that has not kept the mapping. Ends the discard of the current
  /// backing; if that has ended, ends the mapping of one of its guests. Only with writers::one.
  bool retire(std::uint64_t finished) noexcept
    requires(Writers == writers::one)
  {
    if (!keeps(finished)) return false;
    slot& which = current();
    return which.retire_owner(which.use.owner(), finished) || which.retire_guest(finished);
  }
  /// Ends a mapping whose memory no submitted work uses. It is retire() with the value 0, which every timeline has
  /// reached, and returns the same.
  bool unmap(const mapping& made) noexcept { return retire(made, 0); }

  /// Says that submitted work uses a backing: the backing is in use until the timeline has reached `value`, too. Of
  /// several values the greatest counts. Asserts that the mapping was not refused, and that retire() would take the
  /// value. Otherwise nothing changes. Only with writers::one; several writers map and retire instead. Progress:
  /// wait-free.
  /// \param of  any mapping of the backing, also one that has ended, as long as the backing was not trimmed
  void used_until(const mapping& of, std::uint64_t value) noexcept
    requires(Writers == writers::one)
  {
    TIDEMARK_ASSERT(of.slot_ != nullptr, "what was refused is not in use");
    if (of.slot_ != nullptr && keeps(value)) of.slot_->use.extend(value);
  }
  /// The same for the current backing, for a caller that has not kept a mapping.
  void used_until(std::uint64_t value) noexcept
    requires(Writers == writers::one)
  {
    if (keeps(value)) current().use.extend(value);
  }

  /// Destroys idle backings, but never the current one, while there are more than `keep`. Returns how many it has
  /// destroyed. May leave fewer than `keep` if another thread trims at the same time, or tries to make one more backing
  /// and fails: that backing counts until it fails. The ring's own part of a backing stays, and serves the next backing
  /// that is made. Progress: lock-free but for the source, what it asks of the timeline, and the system call that wakes
  /// threads that wait.
  std::size_t trim(std::size_t keep = 1) noexcept {
    std::size_t freed = 0;
    slot& first = current();
    for (slot* one = first.next_slot(); one != &first && backings() > keep; one = one->next_slot()) {
      if (one == &current()) continue;
      const std::uint64_t before = take_idle(*one, finished_.current_value(), backing_word::trimmed);
      if (before == slot::not_idle) continue;
      // It may have become current, and idle again, before it was taken.
      if (one == &current()) {
        one->use.give(before);
        gave_back();
        continue;
      }
      source_.destroy(one->memory.load(), traits_);
      one->memory.store(backing{});  // a backing may own something
      one->use.give(vacant);
      counts_.destroyed();
      gave_back();
      ++freed;
    }
    return freed;
  }

  // ---- any thread --------------------------------------------------------------------------------------------------

  /// Returns whether a backing can be in use until the timeline has reached `value`: whether it is less than
  /// 2^64 - 2^33 - 1.
  [[nodiscard]] static constexpr bool can_keep(std::uint64_t value) noexcept {
    return detail::backing_word::is_value(value);
  }

  /// Returns how many backings there are, those that are being made included. Another thread may change the number at
  /// any moment. Progress: wait-free.
  [[nodiscard]] std::size_t backings() const noexcept { return counts_.now(); }

  /// Returns what the backings have come to (ring_statistics.hpp). While other threads map, retire and trim, the
  /// numbers are of slightly different moments. Progress: wait-free but for the timeline; O(backings).
  [[nodiscard]] rename_statistics statistics() const noexcept {
    rename_statistics now{.bytes_each = traits_.bytes, .backings = backings()};
    const std::uint64_t reached = finished_.current_value();
    const slot* const first = &current();
    const slot* one = first;
    do {
      const std::uint64_t word = one->use.word();
      if (word != vacant) {
        const bool is_mapped = !backing_word::is_value(word) || one->has_guests();
        ++(is_mapped ? now.mapped : one->in_use_until() > reached ? now.in_use : now.idle);
      }
      one = one->next_slot();
    } while (one != first);
    now.most_backings = counts_.most();
    counts_.write_totals(now);
    return now;
  }

 private:
  using backing_word = detail::backing_word;
  using backing_use = typename slot::use_type;

  static constexpr std::uint64_t vacant = backing_word::vacant;

  struct take_any {
    constexpr bool operator()(const backing&) const noexcept { return true; }
  };

  static constexpr bool has(map_mode mode, map_mode asked) noexcept { return detail::has_mode(mode, asked); }
  static constexpr bool is_valid(map_mode mode) noexcept { return detail::is_valid_mode(mode); }

  template <class... Limits>
  mapping map_within(map_mode mode, const Limits&... limits) noexcept {
    if (!is_valid(mode)) return map_status::invalid;
    if (has(mode, map_mode::do_not_wait)) return try_map(mode);
    bool was_refused = false;
    const auto attempt_once = [&](std::uint64_t& target) { return attempt(mode, target, was_refused); };
    if constexpr (Writers == writers::several) {
      return detail::wait_for_space(given_back_, finished_, attempt_once, limits...);
    } else {
      return detail::retry_while_busy<platform>(finished_, attempt_once, limits...);
    }
  }

  /// The calling thread has given back something that others may wait for.
  void gave_back() noexcept {
    if constexpr (Writers == writers::several) given_back_.notify();
  }

  /// Where it is busy, `target` is the value to wait for. Where there is no space, `target` stays as it is.
  /// \param was_refused  whether the source has refused the caller a backing: then it is not asked again
  template <class MayTake = take_any>
  mapping attempt(map_mode mode, std::uint64_t& target, bool& was_refused, const MayTake& may_take = {}) noexcept {
    if (has(mode, map_mode::discard)) return map_idle(target, was_refused, may_take);
    return map_current(has(mode, map_mode::no_overwrite), target);
  }

  mapping map_current(bool in_use_too, std::uint64_t& target) noexcept {
    for (;;) {
      slot& one = current();
      const std::uint64_t in_use_until = one.in_use_until();
      if (!in_use_too && !finished_.is_reached(in_use_until)) {
        target = in_use_until;
        return map_status::busy;
      }
      const std::uint64_t before = one.use.enter();
      const std::uint64_t word = one.use.word_for_guest();
      // A thread that trims it looks once more whether it is current, and for guests, and gives it back.
      const bool is_there = word < backing_word::trimmed || (word == backing_word::trimmed && &one == &current());
      const std::uint64_t until = (std::max)(backing_word::is_value(word) ? word : 0, one.use.guest_until());
      const bool is_crowded = before % backing_use::arrival >= backing_use::most_guests;
      TIDEMARK_ASSERT(!is_crowded, "a backing has at most 2^15 guests at a time");
      if (is_there && !is_crowded && (in_use_too || finished_.is_reached(until)))
        return {one, true, before / backing_use::arrival, false};
      one.use.leave();
      // If it woke those who wait for a place while there is none, they would wake one another for ever. But others may
      // have left meanwhile, and those whom they woke may have counted this one.
      if (!is_crowded || one.use.guests() % backing_use::arrival < backing_use::most_guests) gave_back();
      if (is_crowded) return map_status::no_space;
      if (is_there) {
        target = until;
        return map_status::busy;
      }
      // It was not there while it was current: the first backing could not be made.
      if (&one == &current() && one.use.word() == word) return map_status::no_memory;
    }
  }

  template <class MayTake = take_any>
  mapping map_idle(std::uint64_t& target, bool& was_refused, const MayTake& may_take = {}) noexcept {
    slot& first = current();
    const std::uint64_t reached = finished_.current_value();
    if (take(first, reached, may_take) == taking::taken) return make_current(first, false);
    slot& oldest = *first.next_slot();
    if (take(oldest, reached, may_take) == taking::taken) return make_current(oldest, &oldest != &first);
    return search_idle(target, was_refused, may_take);
  }

  template <class MayTake>
  [[gnu::noinline]] mapping search_idle(std::uint64_t& target, bool& was_refused, const MayTake& may_take) noexcept {
    std::uint64_t seen_before = 0;
    for (;;) {
      slot& first = current();
      slot* vacant_slot = nullptr;
      slot* one = &first;
      std::uint64_t least = UINT64_MAX;
      bool is_idle = false;
      bool was_passed = false;
      std::uint64_t seen = 0;
      const std::uint64_t mark = next_mark();
      const std::uint64_t reached = finished_.current_value();
      do {
        const taking how = take(*one, reached, may_take);
        if (how == taking::taken) return make_current(*one, one != &first);
        std::uint64_t word = one->use.word();
        const std::uint64_t guests = one->use.guests();
        if (word == vacant) vacant_slot = one;
        if (word == backing_word::mapped) word = one->use.mark(word, mark);
        if (how == taking::passed) {
          was_passed = true;
        } else if (backing_word::is_value(word) && guests % backing_use::arrival == 0) {
          const std::uint64_t until = (std::max)(word, one->use.guest_until());
          is_idle = is_idle || until <= reached;
          least = (std::min)(least, until);
        }
        seen = mixed(mixed(seen, word), guests);
        one = one->next_slot();
      } while (one != &first);
      if (is_idle) continue;  // since a moment ago
      mapping grown = was_refused ? mapping{map_status::no_memory} : map_new(first, vacant_slot, may_take);
      if (grown) return grown;
      // While it was counted, another thread may have found that there is no room for one more. Once, because threads
      // that wait beside a source that refuses would wake one another for ever.
      if (grown.status == map_status::no_memory && !std::exchange(was_refused, true)) gave_back();
      if (least != UINT64_MAX) {
        target = least;
        return map_status::busy;
      }
      if (was_passed) return map_status::busy;
      // Of 2^32 marks no two are the same, nor of 2^48 numbers of guests that came. So if two rounds saw the same,
      // every backing was mapped at the end of the first round. The rounds are compared by 64 bits.
      if (seen == seen_before) return grown;
      seen_before = seen;
    }
  }

  enum class taking : std::uint8_t { taken, not_idle, passed };

  /// Takes a backing for a discard. Returns `passed` if it is idle but must not be taken.
  template <class MayTake>
  taking take(slot& one, std::uint64_t reached, const MayTake& may_take) noexcept {
    const std::uint64_t before = take_idle(one, reached, backing_word::mapped);
    if (before == slot::not_idle) return taking::not_idle;
    if (may_take(one.memory.load())) return taking::taken;
    one.use.give(before);
    return taking::passed;
  }

  std::uint64_t take_idle(slot& one, std::uint64_t reached, std::uint64_t as) noexcept {
    return one.take_idle(reached, as, [this] { gave_back(); });
  }

  static constexpr std::uint64_t mixed(std::uint64_t seen, std::uint64_t next) noexcept {
    const std::uint64_t product = (seen ^ next) * 0x9E37'79B9'7F4A'7C15;  // odd: nothing is lost
    return product ^ product >> 32;
  }

  std::uint64_t next_mark() noexcept {
    if constexpr (Writers == writers::one) return backing_word::mapped;
    // (N21): relaxed alone, it only has to be another one each time.
    return backing_word::mapped + 1 + marks_.fetch_add(1, std::memory_order_relaxed) % UINT32_MAX;
  }

  /// Maps one more backing, in a slot that is vacant or in a new one behind `after`. Calls `may_take` for it, and takes
  /// it whatever the answer is, since nobody else knows it yet.
  template <class MayTake>
  mapping map_new(slot& after, slot* vacant_slot, const MayTake& may_take) noexcept {
    const std::size_t number = counts_.add(max_renames_);
    if (number == 0) return map_status::no_space;
    const backing made = source_.create(traits_);
    if (static_cast<bool>(made)) {
      const bool fills = vacant_slot != nullptr && vacant_slot->fill(made);
      if (slot* const filled = fills ? vacant_slot : after.insert(made)) {
        static_cast<void>(may_take(made));
        counts_.made(number);
        return make_current(*filled, true);
      }
      source_.destroy(made, traits_);
    }
    counts_.refused();
    return map_status::no_memory;
  }

  static bool keeps(std::uint64_t finished) noexcept {
    TIDEMARK_ASSERT(can_keep(finished), "a rename ring keeps values less than 2^64 - 2^33 - 1");
    return can_keep(finished);
  }

  slot& current() const noexcept {
    // (N12): acquire, pairs with (N13): the slot, as it was made.
    return *current_.load(std::memory_order_acquire);
  }
  mapping make_current(slot& taken, bool is_renamed) noexcept {
    const std::uint64_t number = taken.use.own();
    // (N13): release, pairs with (N12).
    current_.store(&taken, std::memory_order_release);
    return {taken, false, number, is_renamed};
  }

  const detail::follower<Timeline> finished_;
  const backing_traits traits_;
  const std::size_t max_renames_;
  [[no_unique_address]] Source source_;
  detail::source_counts<platform> counts_;
  typename platform::template atomic<std::uint64_t> marks_;
  struct no_waiters {};  // with writers::one no thread waits for another one
  [[no_unique_address]] std::conditional_t<Writers == writers::several, basic_event_count<platform>, no_waiters>
      given_back_;
  alignas(cache_line) typename platform::template atomic<slot*> current_;
  slot first_;
};

// What is given and is no timeline or no source gets an error of its own.
template <class Wrong, class... More>
  requires(!timeline<Wrong>)
rename_ring(const Wrong&, const rename_options&, const More&...) -> rename_ring<detail::wrong_timeline<Wrong>>;
template <timeline Timeline, class Wrong>
  requires(!backing_source<Wrong>)
rename_ring(const Timeline&, const rename_options&, const Wrong&) -> rename_ring<Timeline, detail::wrong_source<Wrong>>;

}  // namespace tidemark

#endif  // TIDEMARK_MEMORY_RENAME_RING_HPP
