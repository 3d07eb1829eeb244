// SPDX-License-Identifier: BSL-1.0
//
// rename_ring: one resource with several backings, so that who writes it anew need not wait for the executor that still
// reads what was written before.
//
//   rename_ring ring{uploads.view(), {.bytes = 4096, .alignment = 64}, {.max_renames = 3}};
//   auto mapped = ring.map(map_mode::discard);       a backing that nobody reads: the current one if it is idle, another
//   ... write to mapped.memory, submit work that reads it, which signals `serial` ...          one if it is not
//   ring.retire(mapped, serial);                     the backing is in use until the fence reaches that value
//
//   current                                          backings form a circle, in the order in which they were renamed:
//      |                                             the one behind the current one was used longest ago
//      v
//   [ backing ] --> [ backing ] --> [ backing ] -->
//     in use until    mapped          idle
//
// A discard takes the first backing from the current one on that is idle: that has no mapping, and whose values the fence
// has reached. Only where there is none it makes another one, up to `max_renames`; then it waits for the value that comes
// first (B43, B44). A backing is made current after it was taken (trap 26). Mappings nest: a backing is in use until the
// greatest of the values that its mappings were retired with, and until the last one was (B46).
//
// Who discards a backing owns it until it is retired; who maps it otherwise is a guest. A guest that finds the backing
// discarded shares it (they are mappings of one resource), one that finds it trimmed looks for the current one. How they
// see each other is in detail/backing_use.hpp. With one mapping thread (mappers::one) everything is a plain load or store.
//
// What a mapper did before it retired happens before the next discard of the same backing, and what the executor did
// before it signalled happens before the next map that waits for it.
//
// Not promised: that a map for reading runs beside an executor that only reads (it waits for all uses); which backing a
// no_overwrite map gets that runs beside another thread's discard, the one before or the one after it. Two mappings of one
// backing at a time may write the same bytes: that is for those who have them to agree on.
#ifndef TIDEMARK_RENAME_RING_HPP
#define TIDEMARK_RENAME_RING_HPP

#include <algorithm>
#include <atomic>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "detail/assert.hpp"
#include "detail/backing_use.hpp"
#include "detail/retrying.hpp"
#include "fence.hpp"
#include "platform.hpp"

namespace tidemark {

/// What a map is for. A mode is one of
///   `read`, `write`, `read | write`, each of them also with `do_not_wait`;
///   `discard`, `discard | write`; `no_overwrite`, `no_overwrite | write`.
/// Every other combination is invalid, `do_not_wait` with a discard or with no_overwrite too (B13).
enum class map_mode : std::uint32_t {
  read = 1,          ///< What is there. Waits until nothing uses the current backing.
  write = 2,         ///< The same.
  discard = 4,       ///< A backing that nothing uses. Its contents are undefined.
  no_overwrite = 8,  ///< The current backing, whoever uses it: the caller writes only where nobody reads. Never waits.
  do_not_wait = 16,  ///< was_still_drawing instead of a wait.
};
[[nodiscard]] constexpr map_mode operator|(map_mode one, map_mode other) noexcept {
  return static_cast<map_mode>(static_cast<std::uint32_t>(one) | static_cast<std::uint32_t>(other));
}

enum class map_status : std::uint8_t {
  mapped,
  was_still_drawing,  ///< Not now: in use. From the forms that do not wait, or at the deadline. Nothing was changed.
  all_mapped,  ///< Not now, and nothing to wait for: every backing is mapped, or the current one has 2^15 guests (asserted).
  no_memory,  ///< The same, and the source refused to make one more; or it never made the first.
  invalid,    ///< That combination of modes does not exist.
  stopped,    ///< The stop token was triggered first.
};

/// What all backings of a ring have in common (B45).
struct backing_traits {
  std::size_t bytes = 0;
  std::size_t alignment = alignof(std::max_align_t);
};

struct rename_options {
  /// At most so many backings, the first one included; 0: as many as the source makes (B44).
  std::size_t max_renames = 0;
};

/// How many threads map, retire and trim.
enum class mappers : std::uint8_t {
  one,      ///< One at a time; another one later, if the hand-over itself synchronizes.
  several,  ///< Any.
};

/// Where backings come from. create() returns what converts to false where one more is too much: then maps wait for the
/// backings that there are. With several mappers it is called by several threads.
template <class Source>
concept backing_source = requires(Source& source, const typename Source::backing& made, const backing_traits& traits) {
  { source.create(traits) }
  noexcept->std::same_as<typename Source::backing>;
  { source.destroy(made, traits) }
  noexcept;
  static_cast<bool>(made);
};

/// Memory of the process. Refuses, besides what the system refuses: more bytes, with the alignment, than the greatest
/// difference of two pointers; no bytes, and an alignment that is no power of two, both of which are asserted.
struct heap_source {
  using backing = std::byte*;

  backing create(const backing_traits& traits) noexcept {
    const bool is_possible = traits.bytes != 0 && std::has_single_bit(traits.alignment);
    TIDEMARK_ASSERT(is_possible, "a backing on the heap has some bytes, and an alignment that is a power of two");
    // The aligned operator new may round the bytes up to the alignment without a look at the overflow.
    constexpr std::size_t most = SIZE_MAX / 2;
    if (!is_possible || traits.alignment > most || traits.bytes > most - traits.alignment) return nullptr;
    return static_cast<backing>(::operator new (traits.bytes, std::align_val_t{traits.alignment}, std::nothrow));
  }
  void destroy(backing made, const backing_traits& traits) noexcept {
    ::operator delete (made, std::align_val_t{traits.alignment});
  }
};

/// \tparam Source   makes and destroys backings, see `backing_source`
/// \tparam View     of a fence that tells which work is finished; once it is poisoned, nothing is in use any more
/// \tparam Mappers  how many threads call functions that are not for looking only
template <backing_source Source = heap_source, class View = progress_fence_view, mappers Mappers = mappers::one>
class rename_ring {
  struct slot;

 public:
  using platform = typename View::platform;
  using backing = typename Source::backing;

  /// A backing that the caller may use as it has asked for, until retire(); or why there is none. May be copied; all copies
  /// end with the first one that is retired.
  struct [[nodiscard]] mapping {
    map_status status = map_status::invalid;
    backing memory{};
    bool renamed = false;  ///< It is another backing than the one that was current before.

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
    std::uint64_t number_ = 0;  // of the discard or of the guest, among those of the slot
  };

  /// Makes the first backing. Where the source refuses, the first discard tries again; until then other maps are
  /// refused.
  explicit rename_ring(View finished, const backing_traits& traits, const rename_options& options = {},
                       Source source = {}) noexcept
      : finished_{finished}, traits_{traits}, options_{options}, source_{std::move(source)}, current_{&first_} {
    // (N25): relaxed alone, nobody else knows the ring yet.
    first_.next.store(&first_, std::memory_order_relaxed);
    const backing made = source_.create(traits_);
    first_.memory.store(made);
    const bool is_there = static_cast<bool>(made);
    if (!is_there) first_.use.give(vacant);
    // (N17): relaxed, as (N18).
    count_.store(is_there ? 1 : 0, std::memory_order_relaxed);
  }
  rename_ring(const rename_ring&) = delete;
  rename_ring& operator=(const rename_ring&) = delete;
  /// Blocking: waits until the fence has reached every value that was passed for a backing, or is poisoned, and destroys the
  /// backings. It does not wait for mappings: a backing that was never retired is destroyed, too. No other call may be under
  /// way.
  ~rename_ring() {
    slot* one = &first_;
    do {
      if (one->use.word() != vacant) {
        static_cast<void>(finished_.wait(in_use_until(*one)));  // reached or lost: nothing uses it any more
        source_.destroy(one->memory.load(), traits_);
      }
      slot* const next = one->next_slot();
      if (one != &first_) delete one;
      one = next;
    } while (one != &first_);
  }

  /// Maps without waiting. What is refused changes nothing. Progress: lock-free; one more backing may be made, by the
  /// source. (B8-B10, B43-B45)
  mapping try_map(map_mode mode) noexcept {
    if (!is_valid(mode)) return map_status::invalid;
    std::uint64_t awaited = 0;
    return attempt(mode, awaited);
  }

  /// Maps, and waits, while it must, for the fence to reach the first value that helps: for ever, or until `limits`, which
  /// are a duration, or a point of the steady or the system clock, or nothing; then a stop token, or nothing. Blocking,
  /// parked, never a poll. (B11-B13)
  template <class... Limits>
  mapping map(map_mode mode, const Limits&... limits) noexcept {
    if (!is_valid(mode)) return map_status::invalid;
    if (has(mode, map_mode::do_not_wait)) return try_map(mode);
    const auto attempt_once = [&](std::uint64_t& awaited) { return attempt(mode, awaited); };
    return detail::retry_while<map_status::was_still_drawing, map_status::stopped>(finished_, attempt_once, limits...);
  }

  /// Ends the mapping: the backing is in use until the fence has reached `finished`, and until the greatest value that was
  /// passed for it before. Returns false, and changes nothing, where there is no such mapping (B46): one that was refused,
  /// that has ended, or that belongs to an earlier discard of a backing which another mapper has now.
  /// Of a discard every second call is noticed. Guests of one backing are counted only: a second call for a guest is noticed
  /// where no guest is left, or where the backing was discarded or trimmed since; otherwise it ends another guest's mapping.
  /// With several mappers, two calls for one mapping must not run at the same time.
  /// \param finished  less than 2^64 - 2^33. A greater value is asserted and refused: false, and the mapping stays.
  /// Progress: lock-free; after a discard, and with one mapper, wait-free.
  bool retire(const mapping& made, std::uint64_t finished) noexcept {
    if (made.slot_ == nullptr || !can_keep(finished)) return false;
    slot& which = *made.slot_;
    if (made.is_guest_) return which.use.may_be_here(made.number_) && retire_guest(which, finished);
    return retire_owner(which, made.number_, finished);
  }
  /// The same for the current backing, by a mapper that has not kept the mapping: for its discard, or, where that has ended,
  /// for one of its guests.
  bool retire(std::uint64_t finished) noexcept requires(Mappers == mappers::one) {
    if (!can_keep(finished)) return false;
    slot& which = current();
    return retire_owner(which, which.use.owner(), finished) || retire_guest(which, finished);
  }
  /// retire() where no work was given the backing meanwhile.
  bool unmap(const mapping& made) noexcept { return retire(made, 0); }

  /// Destroys idle backings, but never the current one, while there are more than `keep`. Returns how many it has destroyed.
  /// Two threads that trim at the same time may leave fewer than `keep`. Progress: lock-free but for the source. (B43)
  std::size_t trim(std::size_t keep = 1) noexcept {
    std::size_t freed = 0;
    slot& first = current();
    for (slot* one = first.next_slot(); one != &first && backings() > keep; one = one->next_slot()) {
      if (one == &current()) continue;
      const std::uint64_t before = take_idle(*one, finished_.current_value(), backing_word::trimmed);
      if (before == not_idle) continue;
      // It may have become current, and idle again, before it was taken.
      if (one == &current()) {
        one->use.give(before);
        continue;
      }
      source_.destroy(one->memory.load(), traits_);
      one->use.give(vacant);
      // (N19): relaxed, as (N18).
      count_.fetch_sub(1, std::memory_order_relaxed);
      ++freed;
    }
    return freed;
  }

  /// Returns how many backings there are, those that are being made included. For looking only. Progress: wait-free.
  [[nodiscard]] std::size_t backings() const noexcept {
    // (N20): relaxed alone, for looking.
    return count_.load(std::memory_order_relaxed);
  }

 private:
  using backing_word = detail::backing_word;
  using backing_use = std::conditional_t<Mappers == mappers::several, detail::shared_backing_use<platform>,
                                         detail::lone_backing_use<platform>>;

  static constexpr std::uint64_t vacant = backing_word::vacant;
  static constexpr std::uint64_t not_idle = UINT64_MAX;

  struct alignas(Mappers == mappers::several ? cache_line : alignof(std::max_align_t)) slot {
    backing_use use;
    typename platform::template var<backing> memory;
    typename platform::template atomic<slot*> next;

    slot* next_slot() const noexcept {
      // (N14): acquire, pairs with (N15): the slot, as it was made.
      return next.load(std::memory_order_acquire);
    }
  };

  static bool has_guests(const slot& one) noexcept { return one.use.guests() % backing_use::arrival != 0; }
  /// By whoever has no mapping now.
  static std::uint64_t in_use_until(const slot& one) noexcept {
    const std::uint64_t word = one.use.word();
    return std::max(backing_word::is_value(word) ? word : 0, one.use.guest_until());
  }

  /// Takes a backing that is idle now that the fence has `reached` a value; it is `as` then. What it was before, or
  /// `not_idle`.
  static std::uint64_t take_idle(slot& one, std::uint64_t reached, std::uint64_t as) noexcept {
    for (;;) {
      const std::uint64_t before = one.use.word();
      if (before > reached || !backing_word::is_value(before)) return not_idle;
      if (has_guests(one) || one.use.guest_until() > reached) return not_idle;
      if (!one.use.take(before, as)) continue;
      const std::uint64_t guests = one.use.guests();
      if (guests % backing_use::arrival == 0 && one.use.guest_until() <= reached) {
        if (guests != 0) one.use.all_left(guests);  // somebody came, ever
        return before;
      }
      one.use.give(before);
      return not_idle;
    }
  }

  static constexpr bool has(map_mode mode, map_mode asked) noexcept {
    return (static_cast<std::uint32_t>(mode) & static_cast<std::uint32_t>(asked)) != 0;
  }
  static constexpr bool is_valid(map_mode mode) noexcept {
    using enum map_mode;
    const auto without = [mode](map_mode flag) {
      return static_cast<map_mode>(static_cast<std::uint32_t>(mode) & ~static_cast<std::uint32_t>(flag));
    };
    if (without(write) == discard || without(write) == no_overwrite) return true;
    const map_mode access = without(do_not_wait);
    return access == read || access == write || access == (read | write);
  }

  /// `awaited`: what to wait for when it was still drawing.
  mapping attempt(map_mode mode, std::uint64_t& awaited) noexcept {
    if (has(mode, map_mode::discard)) return map_idle(awaited);
    return map_current(has(mode, map_mode::no_overwrite), awaited);
  }

  mapping map_current(bool in_use_too, std::uint64_t& awaited) noexcept {
    for (;;) {
      slot& one = current();
      awaited = in_use_until(one);
      if (!in_use_too && !finished_.is_reached(awaited)) return map_status::was_still_drawing;
      const std::uint64_t before = one.use.enter();
      const std::uint64_t word = one.use.word_for_guest();
      // Who trims it looks whether it is current once more, and for guests, and gives it back.
      const bool is_there = word < backing_word::trimmed || (word == backing_word::trimmed && &one == &current());
      awaited = std::max(backing_word::is_value(word) ? word : 0, one.use.guest_until());
      const bool is_crowded = before % backing_use::arrival >= backing_use::most_guests;
      TIDEMARK_ASSERT(!is_crowded, "a backing has at most 2^15 guests at a time");
      if (is_there && !is_crowded && (in_use_too || finished_.is_reached(awaited)))
        return {one, true, before / backing_use::arrival, false};
      one.use.leave();
      if (is_crowded) return map_status::all_mapped;
      if (is_there) return map_status::was_still_drawing;
      // The first backing could not be made, if it was not there while it was current.
      if (&one == &current() && one.use.word() == word) return map_status::no_memory;
    }
  }

  mapping map_idle(std::uint64_t& awaited) noexcept {
    const std::uint64_t reached = finished_.current_value();
    slot& first = current();
    if (take_idle(first, reached, backing_word::mapped) != not_idle) return make_current(first, false);
    slot& oldest = *first.next_slot();
    if (take_idle(oldest, reached, backing_word::mapped) != not_idle) return make_current(oldest, true);
    return search_idle(awaited);
  }

  [[gnu::noinline]] mapping search_idle(std::uint64_t& awaited) noexcept {
    std::uint64_t seen_before = 0;
    for (;;) {
      slot& first = current();
      slot* vacant_slot = nullptr;
      slot* one = &first;
      bool is_awaited = false;
      bool is_idle = false;
      std::uint64_t seen = 0;
      const std::uint64_t mark = next_mark();
      const std::uint64_t reached = finished_.current_value();
      do {
        if (take_idle(*one, reached, backing_word::mapped) != not_idle) return make_current(*one, one != &first);
        std::uint64_t word = one->use.word();
        const std::uint64_t guests = one->use.guests();
        if (word == vacant) vacant_slot = one;
        if (word == backing_word::mapped) word = one->use.mark(word, mark);
        if (backing_word::is_value(word) && guests % backing_use::arrival == 0) {
          const std::uint64_t until = std::max(word, one->use.guest_until());
          is_idle = is_idle || until <= reached;
          awaited = is_awaited ? std::min(awaited, until) : until;
          is_awaited = true;
        }
        seen = mixed(mixed(seen, word), guests);
        one = one->next_slot();
      } while (one != &first);
      if (is_idle) continue;  // just now
      const mapping grown = map_new(first, vacant_slot);
      if (grown) return grown;
      if (is_awaited) return map_status::was_still_drawing;
      // Of 2^32 marks no two are the same, nor of 2^48 numbers of guests that came. So if two rounds saw the same, every
      // backing was mapped at the end of the first; they are compared by 64 bits.
      if (seen == seen_before) return grown;
      seen_before = seen;
    }
  }

  static constexpr std::uint64_t mixed(std::uint64_t seen, std::uint64_t next) noexcept {
    const std::uint64_t product = (seen ^ next) * 0x9E37'79B9'7F4A'7C15;  // odd: nothing is lost
    return product ^ product >> 32;
  }

  std::uint64_t next_mark() noexcept {
    if constexpr (Mappers == mappers::one) return backing_word::mapped;
    // (N21): relaxed alone, it only has to be another one each time.
    return backing_word::mapped + 1 + marks_.fetch_add(1, std::memory_order_relaxed) % UINT32_MAX;
  }

  /// One more backing, in a slot that has none or in a new one behind `after`.
  mapping map_new(slot& after, slot* vacant_slot) noexcept {
    if (!count_one_more()) return map_status::all_mapped;
    const backing made = source_.create(traits_);
    if (static_cast<bool>(made)) {
      const bool fills = vacant_slot != nullptr && fill(*vacant_slot, made);
      if (slot* const filled = fills ? vacant_slot : insert(after, made)) return make_current(*filled, true);
      source_.destroy(made, traits_);
    }
    // (N22): relaxed, as (N18).
    count_.fetch_sub(1, std::memory_order_relaxed);
    return map_status::no_memory;
  }

  bool count_one_more() noexcept {
    if (options_.max_renames == 0) {
      // (N24): relaxed, as (N18).
      count_.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    std::size_t seen = backings();
    do {
      if (seen >= options_.max_renames) return false;
      // (N18): relaxed alone, it hands nothing over.
    } while (!count_.compare_exchange_weak(seen, seen + 1, std::memory_order_relaxed, std::memory_order_relaxed));
    return true;
  }

  bool fill(slot& which, const backing& made) noexcept {
    if (!which.use.take(vacant, backing_word::made)) return false;
    which.memory.store(made);
    which.use.give(backing_word::mapped);
    return true;
  }

  slot* insert(slot& after, const backing& made) noexcept {
    slot* const added = new (std::nothrow) slot;
    if (added == nullptr) return nullptr;
    added->memory.store(made);
    added->use.give(backing_word::mapped);
    // (N16): relaxed, (N15) does the rest.
    slot* behind = after.next.load(std::memory_order_relaxed);
    do {
      // (N23): relaxed, (N15) is behind it.
      added->next.store(behind, std::memory_order_relaxed);
      // (N15): release, pairs with (N14); those that were inserted here before keep their release. Slots stay as long as
      // the ring.
    } while (!after.next.compare_exchange_weak(behind, added, std::memory_order_release, std::memory_order_relaxed));
    return added;
  }

  static bool can_keep(std::uint64_t finished) noexcept {
    TIDEMARK_ASSERT(backing_word::is_value(finished), "a rename ring knows values less than 2^64 - 2^33");
    return backing_word::is_value(finished);
  }
  static bool retire_owner(slot& which, std::uint64_t number, std::uint64_t finished) noexcept {
    if (!which.use.is_owned(number)) return false;
    which.use.disown(number);
    which.use.give(finished);
    return true;
  }
  static bool retire_guest(slot& which, std::uint64_t finished) noexcept {
    if (!has_guests(which)) return false;
    which.use.extend(finished);
    return which.use.leave();
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

  const View finished_;
  const backing_traits traits_;
  const rename_options options_;
  [[no_unique_address]] Source source_;
  typename platform::template atomic<std::size_t> count_;
  typename platform::template atomic<std::uint64_t> marks_;
  alignas(cache_line) typename platform::template atomic<slot*> current_;
  slot first_;
};

/// Of several mapping threads.
template <backing_source Source = heap_source, class View = progress_fence_view>
using shared_rename_ring = rename_ring<Source, View, mappers::several>;

}  // namespace tidemark

#endif  // TIDEMARK_RENAME_RING_HPP
