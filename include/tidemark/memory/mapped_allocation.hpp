// SPDX-License-Identifier: BSL-1.0
//
// mapped_allocation (Linux only): memory of a device, made of pages of this process, and the operation that the texts
// (docs/requirements.md) call Lock: it gives the processor an address of the memory. lock_decision.hpp decides how.
//
//   const supported_segments where{cpu_access::uncached, with_aperture_segment, segment};
//   mapped_allocation texture{uploads, where, {.bytes = 65'536}};
//   const auto held = texture.lock(map_mode::write);     waits until the device has done with it; held.data
//   texture.unlock(held, serial);                        submit work that reads it and then signals `serial`
//
//   texture.used_until(held, later);                     more work that reads it, without a lock
//
//   texture.try_commit(held);                            any thread, for the device: moves it into a segment
//   texture.try_evict(held);                             and back, unless the processor has an address
//
//   route               what a lock does
//   direct              returns where it is: in system memory, or in a segment that the processor sees
//   through_window      takes pages of the window, which show it side by side, until it is unlocked
//   migrate_to_system   copies it into system memory, and gives its pages of the segment back
//   refused             returns the reason
//
// The backings of an allocation are those of a rename_ring. A lock that discards gets one that no work uses. If there
// is no way to an address of it in the segment, it is taken out of the segment without a copy, because its contents are
// undefined. So a discard never returns `refused`. A backing is in use until the timeline has reached every value that
// unlock() and used_until() were given for it.
//
// Two kinds of threads use an allocation. One thread at a time locks, unlocks and names work. It decides the order of
// its locks itself. Any threads move backings: try_commit() and try_evict(). The pin of each backing keeps them apart,
// a commit_gate (lock_decision.hpp):
//
//   locked      the processor has an address. Another lock only adds one to a count
//   committed one thread has it: to move the bytes, to find an address for the first lock, or to write caches back
//
// A move takes the pin only when nothing is missing any more: it has its pages of the segment by then, so it will
// succeed. A move that is refused, that finds no pages, or that sees at its beginning that the backing is there already
// never takes the pin, and makes no lock busy. So a move makes a lock busy only while the bytes of that very backing
// are copied. If a move has the pin and finds that another move was faster, it writes back the caches at most, and
// locks are busy for that time. A discard passes over a backing that is being moved. While the locking thread waits for
// a lock, it does not have the pin of that backing. So the device can still commit the backing, which the work that the
// lock waits for may need. All memory orders are those of the gates, of what says where the bytes are
// (allocation_backing.hpp), of the segments (device_segment.hpp), and of what lets the locking thread sleep
// (fence/event_count.hpp).
//
// Everything that was written under a lock happens-before the moves after its end, and before the next lock. Everything
// that the executor did before it signalled a value happens-before the return of a lock that needed the value. A move
// happens-before the next lock.
//
// An allocation may stay locked for its whole life while the device uses it: used_until() names work, and a nested lock
// waits for it. Between system memory and an aperture segment no byte moves, and the address stays: that is always
// allowed. One commit is held back: that into a memory segment, of what is locked while it is not resident and supports
// no aperture segment. What supports one is placed there instead, where the device gets at it. What is locked in a
// memory segment stays there, because a program can't stop the processor's accesses while it copies, as a kernel can.
//
// What waits. The text lets a lock wait, or say that it "was still drawing", "for map operations requiring
// synchronization (that is, not the above no-overwrite or discard)". So does this: a lock to read or to write is busy
// "if an attempt is made to access an allocation that is currently busy", even if the allocation is locked already.
// Another lock uses the address that the first one has got. It is never refused, up to 2^15 locks of a backing.
//
// Not promised: that a move finds the allocation unlocked, however often it tries. No lock waits until other locks of
// the allocation end, and no move waits for anything.
#ifndef TIDEMARK_MEMORY_MAPPED_ALLOCATION_HPP
#define TIDEMARK_MEMORY_MAPPED_ALLOCATION_HPP

#if defined(__linux__)

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
#include "../platform/names.hpp"
#include "allocation_backing.hpp"
#include "coherency_tracker.hpp"
#include "device_segment.hpp"
#include "lock_decision.hpp"
#include "rename_ring.hpp"
#include "supported_segments.hpp"
#include "tools/attempts.hpp"

namespace tidemark {

enum class lock_status : std::uint8_t {
  locked,  ///< The caller has the address until it unlocks.
  /// Not now: work uses it until the timeline reaches a value, or another thread is moving its bytes. Direct3D says
  /// "was still drawing". Only from forms that do not wait.
  busy,
  timeout,  ///< Still busy at the deadline of a form that waits.
  stopped,  ///< Still busy when the stop token was triggered.
  /// The mode discards, and the caller itself has locked all backings that there may be. Or the backing has 2^15 locks
  /// already, not counting the one that discarded it: then an assertion fails.
  no_space,
  /// There is no backing, or none that will come free, and another one could not be made; or the system has refused a
  /// view of the pages.
  no_memory,
  refused,  ///< There is no way to an address; the reason says why.
  invalid,  ///< There is no such combination of modes, or the allocation has no bytes.
};

template <>
inline constexpr auto detail::names_of<lock_status> =
    detail::names("locked", "busy", "timeout", "stopped", "no_space", "no_memory", "refused", "invalid");

enum class [[nodiscard]] move_status : std::uint8_t {
  placed,  ///< It is where the call wanted it, or was there already.
  /// It was to go into a memory segment, but the processor has an address of it in system memory. It is in an aperture
  /// segment instead, where the device can use it at once. Try again after the last unlock to have it moved.
  placed_in_aperture,
  /// Not now: the locking thread is at it for a moment, another thread is moving it, or another one is looking at the
  /// pages that it needs. Try again.
  busy,
  refused,  ///< The processor has an address, which the move would take away.
  /// The segment has too few free pages. Pages that another move takes for a moment and gives back count as taken.
  no_space,
  invalid,  ///< The lock was of another allocation or none; or the allocation can't be placed there.
};

template <>
inline constexpr auto detail::names_of<move_status> =
    detail::names("placed", "placed_in_aperture", "busy", "refused", "no_space", "invalid");

struct allocation_options {
  std::size_t bytes = 0;        ///< Rounded up to pages.
  std::size_t max_renames = 0;  ///< The most backings, the first one included. 0: no limit.
};

/// An allocation; see the head of this file.
///
/// A device may map it as coherent or not, or both, which is faster for what the processor does not touch. That is said
/// for each piece of work, at run time, as the last argument of unlock() and used_until(): before work through a
/// coherent mapping nothing is written back, and the next lock invalidates nothing for what it has written. Once work
/// has written, work through the other kind of mapping may be named only under or after a lock that reads or writes.
/// That lock waits for the writer, and takes over what it has written. coherency_tracker.hpp explains why.
/// \tparam Timeline  tells which work is finished; once it is lost, nothing is in use any more
/// \tparam Cache     how the caches of the processor are written back and invalidated, for machines whose devices do
///                   not look into them. Where the concept says offsets, it gets addresses here. Its functions must not
///                   throw. It is called for allocations in system memory whose access is not uncached. It is kept by
///                   value. A thread that moves one backing may call it while the locking thread does so for another
///                   one. Each backing of such an allocation has a coherency_tracker: if there is no memory to make it,
///                   the program ends
template <timeline Timeline = progress_fence_view, cache_operations Cache = coherent_caches>
class mapped_allocation {
  using backing = allocation_backing<Timeline, Cache>;
  using place = typename backing::place;
  using taken_pages = typename backing::taken_pages;

  struct backing_maker {
    using backing = allocation_backing<Timeline, Cache>*;
    mapped_allocation* owner;

    backing create(const backing_traits&) noexcept { return owner->make_backing(); }
    void destroy(backing made, const backing_traits&) noexcept { owner->destroy_backing(made); }
  };
  using ring = rename_ring<Timeline, backing_maker>;

 public:
  using platform = timeline_platform<Timeline>;

  /// What a lock returns. May be copied: all copies are the same lock, and unlock() is called for one of them only.
  /// After that, a copy still names the backing, for those who move or use it. Do not use it after the allocation is
  /// destroyed: an allocation made later at the same address would take it for a lock of its own.
  struct [[nodiscard]] locking {
    lock_status status = lock_status::invalid;
    lock_route route = lock_route::refused;
    lock_refusal reason = lock_refusal::none;  ///< Only if the status is `refused`.
    bool renamed = false;                      ///< It is another backing than before.
    std::byte* data = nullptr;
    std::size_t bytes = 0;

    explicit operator bool() const noexcept { return status == lock_status::locked; }

   private:
    friend mapped_allocation;
    const mapped_allocation* owner_ = nullptr;
    typename ring::mapping mapped_{};
    bool may_write_ = false;
  };

  /// Makes the first backing, in system memory. If the system refuses it, locks return `no_memory`, but each discard
  /// asks the system again.
  /// \param finished  is copied if it is copyable (a view); otherwise it must outlive the allocation
  /// \param segments  where it may be placed, and how the processor uses it. There are none for an allocation that must
  ///                  not be created (supported_segments.hpp)
  mapped_allocation(const Timeline& finished, const supported_segments<Timeline>& segments,
                    const allocation_options& options, Cache cache = {}) noexcept
      : finished_{finished},
        segments_{segments},
        options_{options},
        cache_{std::move(cache)},
        ring_{finished, {.bytes = options.bytes, .max_renames = options.max_renames}, backing_maker{this}} {}

  /// A timeline that can't be copied would be gone.
  mapped_allocation(const Timeline&& gone, const supported_segments<Timeline>& segments,
                    const allocation_options& options, Cache cache = {})
    requires(!std::copyable<Timeline>)
  = delete;
  mapped_allocation(const mapped_allocation&) = delete;
  mapped_allocation& operator=(const mapped_allocation&) = delete;
  /// Blocks until the timeline has reached every value that unlock() and used_until() were given, or is lost. No other
  /// call may be under way. Ends the locks that are held: their addresses become invalid.
  ~mapped_allocation() = default;

  // ---- locking, and naming work: one thread at a time ---------------------------------------------------------------

  /// Locks if that is possible now. Returns the address, or `busy`, `no_space`, `no_memory`, `refused` or `invalid`,
  /// and then nothing was changed. Progress: never waits. Lock-free but for the system calls that make a backing or a
  /// view, the heap, and copies of the bytes.
  ///
  /// A lock of what is locked already has the same address. No move makes it busy, and it is never `refused`; it is
  /// `busy` only if it reads or writes while work uses the backing. A backing has at most 2^15 locks at a time, a
  /// discard not counted. Asserts that this is not one more. Otherwise it is `no_space`. A discard never gets a backing
  /// that is locked.
  /// \param mode  what rename_ring::map() takes. With `no_overwrite` the caller writes only where no work reads. On
  ///              machines with cache operations, it may write only lines that no work has touched since the last lock
  ///              that found the backing idle. Others may be stale in the cache, and what work has written there would
  ///              be lost when they are written back. A no_overwrite lock is `busy` only while another thread moves the
  ///              bytes, or if the lock itself would have to move them while work uses them. A discard is `busy` only
  ///              while every backing is in use, being moved or locked, and no further one is allowed or could be made
  locking try_lock(map_mode mode) noexcept {
    std::uint64_t target = 0;
    attempted_lock made = attempt(mode, target);
    if (made.status == attempt_status::busy) made.made.status = lock_status::busy;
    return made.made;
  }

  /// Locks. While that is busy it blocks, parked, until the timeline reaches the value that helps, or until the move is
  /// over. Returns as try_lock(), but instead of `busy` it returns `stopped` once `token` is triggered. With
  /// map_mode::do_not_wait it is try_lock(). It may notice a millisecond late that another thread's move is over, in
  /// the same cases as rename_ring::map().
  template <stop_token_like Token = never_stops>
  locking lock(map_mode mode, Token token = {}) noexcept {
    return lock_within(mode, std::move(token));
  }
  /// The same for `timeout` at most, and then returns `timeout`.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  locking lock_for(map_mode mode, const std::chrono::duration<Rep, Period>& timeout, Token token = {}) noexcept {
    return lock_within(mode, timeout, std::move(token));
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  locking lock_until(map_mode mode, const std::chrono::time_point<Clock, Duration>& at, Token token = {}) noexcept {
    return lock_within(mode, at, std::move(token));
  }

  /// Ends a lock, and writes the caches back if work is to use the bytes, whichever lock they were written under. So
  /// call it before you submit that work. Returns `unlocked`, or `still_locked` if the backing has other locks. Asserts
  /// that the lock was not refused, has not ended, and is of this allocation. Otherwise returns `invalid` and changes
  /// nothing. Locks that do not discard are only counted: a second call for one may end another one of the same
  /// backing. Progress: never waits; makes a system call if it ends a view through the window.
  /// \param finished  the value that the timeline reaches when the work is done that uses the backing. Less than
  ///                  2^64 - 2^33 - 1. Asserts that; otherwise the result is `invalid`
  /// \param use       what that work does
  /// \param through   the kind of the device's mapping through which it does so. Asserts that no work has written
  ///                  through the other kind since a lock that has waited for it; see the class. Otherwise
  ///                  somebody may read old bytes
  unlock_status unlock(const locking& held, std::uint64_t finished, device_use use = device_use::reads,
                       coherency through = coherency::software) noexcept {
    const bool can_keep = ring::can_keep(finished);
    TIDEMARK_ASSERT(can_keep, "a mapped allocation keeps values less than 2^64 - 2^33 - 1");
    if (!can_keep) return unlock_status::invalid;
    const bool was_locked = is_mine(held) && held && ring_.retire(held.mapped_, finished);
    TIDEMARK_ASSERT(was_locked, "an allocation was unlocked that was not locked");
    if (!was_locked) return unlock_status::invalid;
    backing& one = *held.mapped_.memory;
    one.extend_use(finished);
    if (held.may_write_) one.end_processor_write();
    if (use != device_use::none) {
      require_allowed(one, through);
      if (through == coherency::software) one.prepare_device();
    }
    if (use == device_use::writes) one.note_device_write(through);
    if (one.pin.lock_count() == 1) one.leave_window();
    return one.pin.unlock();
  }
  /// Ends a lock whose memory no submitted work uses.
  unlock_status unlock(const locking& held) noexcept { return unlock(held, 0, device_use::none); }

  /// Names work that uses a backing, without ending a lock: until the timeline has reached `value`, locks wait for that
  /// work, too. Of several values the greatest counts. The backing stays where it is. If the caches hold what the
  /// processor has written, even under a lock that is still held, it writes them back. So call it before you submit the
  /// work. If another thread is moving the backing, that writes them back before its move is over. Asserts that the
  /// lock names a backing, and that unlock() would take the value. Otherwise nothing changes. Progress: lock-free.
  /// \param of     any lock of the backing, held or ended
  /// \param value  as in unlock(), and so are the others
  void used_until(const locking& of, std::uint64_t value, device_use use = device_use::reads,
                  coherency through = coherency::software) noexcept {
    const bool can_keep = ring::can_keep(value);
    TIDEMARK_ASSERT(can_keep, "a mapped allocation keeps values less than 2^64 - 2^33 - 1");
    TIDEMARK_ASSERT(is_mine(of), "this lock names no backing of the allocation");
    if (!can_keep || !is_mine(of)) return;
    ring_.used_until(of.mapped_, value);
    name_work(*of.mapped_.memory, value, use, through);
  }
  /// The same for the current backing: the one that was discarded last, which locks without a discard return.
  void used_until(std::uint64_t value, device_use use = device_use::reads,
                  coherency through = coherency::software) noexcept {
    const bool can_keep = ring::can_keep(value);
    TIDEMARK_ASSERT(can_keep, "a mapped allocation keeps values less than 2^64 - 2^33 - 1");
    if (!can_keep) return;
    ring_.used_until(value);
    if (current_ != nullptr) name_work(*current_, value, use, through);
  }

  // ---- moving: any thread -----------------------------------------------------------------------------------------

  /// Moves a backing into the first of its memory segments that has room, or into an aperture segment. No work may be
  /// running that uses it; work that was submitted and has not begun finds it where it is then. From system memory into
  /// an aperture segment no byte moves, and only the device's mapping changes: that succeeds while the backing is
  /// locked, too. A move of what is locked from there into a memory segment returns `placed_in_aperture`, or `refused`
  /// if the backing supports no aperture segment. Any other move of what is locked returns `refused`. None waits for a
  /// lock. Progress: lock-free but for copying the bytes, and for the system calls that end a view of the segment and
  /// wake the locking thread; no other thread waits but that one.
  /// \param of  any lock of the backing, held or ended
  move_status try_commit(const locking& of, residence to = residence::memory_segment) noexcept {
    if (!is_mine(of) || to == residence::system_memory) return move_status::invalid;
    if (to == residence::memory_segment) return enter(*of.mapped_.memory, 0, segments_.memory().size());
    return segments_.has_aperture() ? leave(*of.mapped_.memory, to) : move_status::invalid;
  }
  /// Moves a backing into a memory segment of its set, also from another one. Otherwise as try_commit() above.
  move_status try_commit(const locking& of, const device_segment<Timeline>& to) noexcept {
    if (!is_mine(of)) return move_status::invalid;
    const std::size_t index = segments_.index_of(to);
    const bool is_supported = index != segments_.memory().size();
    return is_supported ? enter(*of.mapped_.memory, index, index + 1) : move_status::invalid;
  }
  /// Moves a backing into system memory, so that it is not resident on the device. Otherwise as try_commit(): out of an
  /// aperture segment no byte moves.
  move_status try_evict(const locking& of) noexcept {
    return is_mine(of) ? leave(*of.mapped_.memory, residence::system_memory) : move_status::invalid;
  }

  // ---- for work that uses the backing, and for threads that may move it -------------------------------------------
  //
  // From an unlock until its value is reached, only try_commit() and try_evict() move a backing. As long as nobody
  // calls these, the calls below need no care.

  /// Returns where a backing is. Asserts that the lock names one. Otherwise returns system_memory.
  [[nodiscard]] residence where(const locking& of) const noexcept {
    const bool is_there = is_mine(of);
    TIDEMARK_ASSERT(is_there, "this lock names no backing of the allocation");
    return is_there ? of.mapped_.memory->where() : residence::system_memory;
  }
  /// Returns the memory segment in which a backing is; nullptr if it is in none. Asserts that the lock names one.
  /// Otherwise returns nullptr.
  [[nodiscard]] const device_segment<Timeline>* segment_of(const locking& of) const noexcept {
    const bool is_there = is_mine(of);
    TIDEMARK_ASSERT(is_there, "this lock names no backing of the allocation");
    return is_there ? of.mapped_.memory->where_now().segment : nullptr;
  }
  /// Calls `body(page, index)` for the first byte of each page, as the device sees it. Asserts that the lock names a
  /// backing. Otherwise calls nothing.
  template <class Body>
  void for_each_page(const locking& of, const Body& body) const {
    const bool is_there = is_mine(of);
    TIDEMARK_ASSERT(is_there, "this lock names no backing of the allocation");
    if (!is_there) return;
    const backing& one = *of.mapped_.memory;
    for (std::size_t i = 0; i < one.pages(); ++i) body(one.page(i), i);
  }

  /// Returns how many backings there are. The locking thread may change the number at any moment. Progress: wait-free.
  [[nodiscard]] std::size_t backings() const noexcept { return ring_.backings(); }

 private:
  static constexpr bool is_coherent = std::is_same_v<Cache, coherent_caches>;

  /// The words of tools/attempts.hpp; `ended` is every outcome that does not wait.
  enum class attempt_status : std::uint8_t { ended, busy, no_space, timeout, stopped, lost };
  struct attempted_lock {
    attempt_status status = attempt_status::busy;
    locking made{};
  };

  static constexpr bool has(map_mode mode, map_mode asked) noexcept { return detail::has_mode(mode, asked); }
  bool is_mine(const locking& of) const noexcept { return of.owner_ == this; }

  backing* make_backing() noexcept {
    const std::size_t page = memory_pages::page_bytes();
    const std::size_t pages = options_.bytes / page + (options_.bytes % page != 0 ? 1 : 0);
    const bool is_tracked = !is_coherent && segments_.access() != cpu_access::uncached;
    backing* const made = backing::make(finished_.get(), segments_, pages, is_tracked ? &cache_ : nullptr);
    if (made == nullptr) return nullptr;
    made->next = std::exchange(all_, made);
    if (current_ == nullptr) current_ = made;
    return made;
  }

  void destroy_backing(backing* made) noexcept {
    backing** link = &all_;
    while (*link != made) link = &(*link)->next;
    *link = made->next;
    if (current_ == made) current_ = nullptr;
    delete made;
  }

  template <class... Limits>
  locking lock_within(map_mode mode, const Limits&... limits) noexcept {
    if (has(mode, map_mode::do_not_wait)) return try_lock(mode);
    const auto attempt_once = [&](std::uint64_t& target) { return attempt(mode, target); };
    attempted_lock made = detail::wait_for_space(given_back_, finished_, attempt_once, limits...);
    if (made.status == attempt_status::timeout) made.made.status = lock_status::timeout;
    if (made.status == attempt_status::stopped) made.made.status = lock_status::stopped;
    return made.made;
  }

  static attempted_lock ended(lock_status why) noexcept {
    attempted_lock made{.status = attempt_status::ended};
    made.made.status = why;
    return made;
  }

  /// Where it is busy, `target` is the value to wait for. If a thread is moving a backing, `target` stays as it is.
  attempted_lock attempt(map_mode mode, std::uint64_t& target) noexcept {
    if (options_.bytes == 0) return ended(lock_status::invalid);
    const auto mapped = ring_.try_map_if(mode, target, [](backing* one) { return one->pin.try_commit(); });
    switch (mapped.status) {
      case map_status::mapped:
        break;
      case map_status::busy:
        return {};
      case map_status::no_space:
        return ended(lock_status::no_space);
      case map_status::no_memory:
        return ended(lock_status::no_memory);
      default:
        return ended(lock_status::invalid);
    }
    backing& one = *mapped.memory;
    const bool discards = has(mode, map_mode::discard);
    if (discards) current_ = &one;
    const lock_status status = discards ? show_discarded(one) : show(one, target);
    if (status != lock_status::locked) {
      ring_.unmap(mapped);
      if (status == lock_status::busy) return {};
      attempted_lock refused = ended(status);
      if (status == lock_status::refused) refused.made.reason = one.decided.reason;
      return refused;
    }
    // Where work may still use it, the caller does not read what that writes.
    if (!has(mode, map_mode::no_overwrite) || is_idle(one)) {
      one.prepare_processor_read();
      one.take_over_written();
    }
    attempted_lock made = ended(lock_status::locked);
    made.made.route = one.decided.route;
    made.made.renamed = mapped.renamed;
    made.made.data = one.address();
    made.made.bytes = options_.bytes;
    made.made.owner_ = this;
    made.made.mapped_ = mapped;
    made.made.may_write_ = !has(mode, map_mode::read) || has(mode, map_mode::write);
    if (made.made.may_write_) one.begin_processor_write();
    return made;
  }

  bool is_idle(const backing& one) const noexcept { return finished_.is_reached(one.used_until()); }

  /// Takes a lock of a backing that was discarded, whose pin this thread has committed. Returns `locked`.
  lock_status show_discarded(backing& one) noexcept {
    while (find_way(one, false) != lock_status::locked) one.leave_segment(residence::system_memory, false);
    one.pin.evict_and_lock();
    return lock_status::locked;
  }

  /// Takes a lock of the current backing. Returns `locked`, `busy`, `no_memory`, `no_space` or `refused`. If a thread
  /// is moving the backing, `target` stays as it is.
  lock_status show(backing& one, std::uint64_t& target) noexcept {
    if (one.is_locked()) return one.pin.try_lock() ? lock_status::locked : lock_status::no_space;  // too many
    // Without the pin, so that a lock that must fail hinders no move.
    const place now = one.where_now();
    const lock_status foreseen = decide_for(one, now, window_of(now));
    if (foreseen == lock_status::busy) target = one.used_until();
    if (foreseen != lock_status::locked) return foreseen;
    if (!one.pin.try_commit()) return lock_status::busy;
    const lock_status status = find_way(one, true);
    if (status == lock_status::busy) target = one.used_until();
    status == lock_status::locked ? one.pin.evict_and_lock() : one.pin.evict();
    return status;
  }

  static window_state window_of(const place& now) noexcept {
    return now.segment != nullptr ? now.segment->window() : window_state{};
  }
  /// Decides which way a lock of the backing goes, from where it is now. Returns `locked` if it can go; `busy` if the
  /// bytes would have to be moved while work uses them; or `refused`.
  lock_status decide_for(backing& one, const place& now, const window_state& window) noexcept {
    const lock_subject subject{segments_.access(), now.where, segments_.set(), one.bytes()};
    const segment_traits traits = now.segment != nullptr ? now.segment->traits() : segment_traits{};
    one.decided = decide(subject, traits, window, 0);
    if (!one.decided) return lock_status::refused;
    const bool moves = one.decided.route == lock_route::migrate_to_system;
    return moves && !is_idle(one) ? lock_status::busy : lock_status::locked;
  }

  /// Gets an address of the backing, whose pin this thread has committed, in the way that decide_for() finds. That
  /// stays in `decided`. Returns `locked`, `busy`, `no_memory` or `refused`.
  /// \param keeps  whether the bytes must stay
  lock_status find_way(backing& one, bool keeps) noexcept {
    const place now = one.where_now();
    window_state window = window_of(now);
    for (;;) {
      const lock_status status = decide_for(one, now, window);
      if (status != lock_status::locked) return status;
      if (one.decided.route == lock_route::migrate_to_system) {
        one.leave_segment(one.decided.stays_in_system_memory ? residence::system_memory : residence::aperture_segment,
                          keeps);
        return lock_status::locked;
      }
      if (one.decided.route == lock_route::direct)
        return now.segment == nullptr || one.show() ? lock_status::locked : lock_status::no_memory;
      const aperture_status shown = one.show_through_window();
      if (shown == aperture_status::mapped) return lock_status::locked;
      if (shown == aperture_status::invalid) return lock_status::no_memory;
      window.free_bytes = 0;  // another allocation was faster
    }
  }

  /// The ring has been told. A thread may be moving the backing: then it writes the caches back itself.
  void name_work(backing& one, std::uint64_t value, device_use use, coherency through) noexcept {
    one.extend_use(value);
    if (use == device_use::none || !one.is_tracked()) return;
    require_allowed(one, through);
    if (use == device_use::writes) one.note_device_write(through);
    if (through == coherency::hardware) return;
    if (one.is_locked()) {
      one.prepare_device();
    } else if (one.pin.try_commit()) {
      one.prepare_device();
      one.pin.evict();
    }
  }

  static void require_allowed([[maybe_unused]] const backing& one, [[maybe_unused]] coherency through) noexcept {
    TIDEMARK_ASSERT(one.allows(through),
                    "work has written through a mapping of the other kind, and no lock has taken that over");
  }

  /// Whether a backing is in one of some memory segments, which are given by their indices.
  bool is_in(const backing& one, std::size_t first, std::size_t end) const noexcept {
    const place now = one.where_now();
    if (now.segment == nullptr) return false;
    const std::size_t index = segments_.index_of(*now.segment);
    return index >= first && index < end;
  }

  /// Into the first of some memory segments that has room.
  move_status enter(backing& one, std::size_t first, std::size_t end) noexcept {
    if (first == end) return move_status::invalid;
    if (is_in(one, first, end)) return move_status::placed;
    if (one.is_locked()) return enter_locked(one, first, end);
    const taken_pages taken = one.take_pages(first, end);
    if (!taken.view) return taken.view.status == aperture_status::busy ? move_status::busy : move_status::no_space;
    if (!one.pin.try_commit()) {
      one.give_back(taken);
      return one.is_locked() ? enter_locked(one, first, end) : move_status::busy;
    }
    put(one, taken, is_in(one, first, end));
    one.pin.evict();
    given_back_.notify();
    return move_status::placed;
  }
  /// The same while the processor has an address: the device gets at the bytes where they are, if it can.
  move_status enter_locked(backing& one, std::size_t first, std::size_t end) noexcept {
    if (segments_.has_aperture() && one.settle(residence::aperture_segment)) return move_status::placed_in_aperture;
    return is_in(one, first, end) ? move_status::placed : move_status::refused;
  }
  /// \param is_there  whether another thread has moved it into one of the segments, since enter() has looked
  static void put(backing& one, const taken_pages& taken, bool is_there) noexcept {
    if (is_there) {
      one.give_back(taken);
    } else {
      if (one.is_in_segment()) one.leave_segment(residence::system_memory, true);  // of another segment
      one.enter_segment(taken);
    }
  }

  /// Out of the memory segment in which it is, if it is in one.
  move_status leave(backing& one, residence to) noexcept {
    if (one.settle(to)) return move_status::placed;
    if (one.is_locked()) return move_status::refused;
    if (!one.pin.try_commit()) return one.is_locked() ? move_status::refused : move_status::busy;
    // If another thread was faster, bytes in system memory are written back from the caches all the same. The locking
    // thread may have named work meanwhile, and has left that to the thread that has the pin.
    one.settle(to) ? one.prepare_device() : one.leave_segment(to, true);
    one.pin.evict();
    given_back_.notify();
    return move_status::placed;
  }

  const detail::follower<Timeline> finished_;
  const supported_segments<Timeline> segments_;
  const allocation_options options_;
  [[no_unique_address]] Cache cache_;
  backing* all_ = nullptr;
  backing* current_ = nullptr;  // the one that was discarded last
  basic_event_count<platform> given_back_;
  ring ring_;
};
template <class Timeline, class Cache = coherent_caches>
mapped_allocation(const Timeline&, const supported_segments<Timeline>&, const allocation_options&, Cache = {})
    -> mapped_allocation<Timeline, Cache>;

}  // namespace tidemark

#endif

#endif  // TIDEMARK_MEMORY_MAPPED_ALLOCATION_HPP
