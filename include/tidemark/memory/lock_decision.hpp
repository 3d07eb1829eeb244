// SPDX-License-Identifier: BSL-1.0
//
// lock_decision: the way, if there is one, by which the processor gets an address of memory that a device may own; and
// commit_gate, which keeps that memory out of the device's segments while the processor has the address.
//
// decide() is a pure function of four things: the allocation, the segment in which it is resident, the window through
// which the processor sees device memory that it can't address (host_aperture.hpp), and the flags of the call.
//
//                         in system memory,     in a memory segment
//                         or mapped by an       the processor         the processor does not see it
//                         aperture segment      sees all of it
//   uncached access       direct                direct                through the window if it has room, else migrate
//   cached access         direct                migrate               migrate
//   no access             direct                migrate               migrate
//
// "Migrate" means into system memory. An allocation has a set of segments that it supports. Migrating and the window
// both need an aperture segment in that set. Without one the lock is refused, and the reason says what was missing.
// There is one exception: cached access in a segment that the processor sees. Two cases need an explanation. The
// quotations are from the texts that docs/requirements.md lists:
//
//   - Cached access in a segment that the processor sees. The allocation is "guaranteed to be lockable" there.
//     But the processor's caches and the device's memory would disagree, so a cached allocation must lie in an aperture
//     segment "or not be resident in order to be locked". The lock satisfies both by moving the allocation into system
//     memory: it migrates. An allocation that supports no aperture segment then stays out of memory segments until it
//     is unlocked. Such a lock is never direct.
//   - A segment that the processor does not see. "If the CpuHostAperture is out of available space or the allocation
//     doesn't specify an aperture segment, a virtual address is impossible to obtain." Either is enough: a window with
//     room does not help an allocation without an aperture segment, and it is refused. One with an aperture segment, of
//     which the window has too little room, gets no address where it is, but can always be placed in system memory. So
//     one without must not be created: may_be_created(), and supported_segments.hpp.
//
// An allocation that is locked in system memory, and can't be mapped by an aperture segment, must not be committed into
// a memory segment before it is unlocked: the decision says so, and commit_gate ensures it. No other allocation is held
// back: one that supports an aperture segment is committed into that, where no byte moves. mapped_allocation.hpp does
// what is decided here, over real pages.
//
// Not promised: that the window still has room when the lock is made. A caller that then finds none decides again.
#ifndef TIDEMARK_MEMORY_LOCK_DECISION_HPP
#define TIDEMARK_MEMORY_LOCK_DECISION_HPP

#include <atomic>
#include <cstdint>

#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"

namespace tidemark {

/// How the processor may use an allocation.
enum class cpu_access : std::uint8_t {
  none,      ///< Not while it is in a memory segment. In system memory it can be locked, even if mapped for the device.
  uncached,  ///< Without its caches, or write-combined.
  cached,    ///< Through its caches, which do not see what a device does in its own memory.
};

/// Where an allocation is.
enum class residence : std::uint8_t {
  system_memory,     ///< Not resident on the device.
  aperture_segment,  ///< In system memory, and mapped for the device.
  memory_segment,    ///< In memory of the device.
};

template <>
inline constexpr auto detail::names_of<residence> =
    detail::names("system_memory", "aperture_segment", "memory_segment");

/// A memory segment of a device.
struct segment_traits {
  bool cpu_visible = false;  ///< The processor can address all of it.
};

/// The segments of a device that an allocation supports: a set of aperture segments, of memory segments that the
/// processor sees, and of memory segments that it does not see. It keeps no more of them than which of these kinds
/// there are. Pure: any thread may call all functions.
class segment_set {
 public:
  constexpr segment_set() noexcept = default;

  /// Returns the set with one more memory segment.
  [[nodiscard]] constexpr segment_set with(const segment_traits& memory) const noexcept {
    return segment_set{kinds_ | (memory.cpu_visible ? seen : unseen)};
  }
  /// Returns the set with an aperture segment.
  [[nodiscard]] constexpr segment_set with_aperture() const noexcept { return segment_set{kinds_ | aperture}; }

  [[nodiscard]] constexpr bool is_empty() const noexcept { return kinds_ == 0; }
  /// Returns whether it has an aperture segment: the allocation can lie in system memory, and the device still use it.
  [[nodiscard]] constexpr bool has_aperture() const noexcept { return (kinds_ & aperture) != 0; }
  /// Returns whether it has a memory segment that the processor does not see.
  [[nodiscard]] constexpr bool has_unseen() const noexcept { return (kinds_ & unseen) != 0; }

  friend constexpr bool operator==(const segment_set&, const segment_set&) = default;

 private:
  static constexpr unsigned aperture = 1;
  static constexpr unsigned seen = 2;
  static constexpr unsigned unseen = 4;

  explicit constexpr segment_set(unsigned kinds) noexcept : kinds_{kinds} {}

  unsigned kinds_ = 0;
};

/// An allocation that is to be locked.
struct lock_subject {
  cpu_access access = cpu_access::uncached;
  residence where = residence::system_memory;
  segment_set supported{};
  std::uint64_t bytes = 0;
};

/// The window through which the processor sees memory segments that it can't address.
struct window_state {
  bool exists = false;
  std::uint64_t free_bytes = 0;
};

enum class lock_route : std::uint8_t {
  direct,             ///< Where it is.
  through_window,     ///< Through pages of the window.
  migrate_to_system,  ///< After it was moved into system memory.
  refused,            ///< Not at all; the reason says why.
};

template <>
inline constexpr auto detail::names_of<lock_route> =
    detail::names("direct", "through_window", "migrate_to_system", "refused");

/// Why a lock is refused.
enum class lock_refusal : std::uint8_t {
  none,     ///< It is not refused.
  invalid,  ///< A flag bit is set; all bits are reserved.
  /// Cached access to memory of the device that the processor does not see, and no aperture segment to move it to.
  incoherent_cached,
  no_window,            ///< The processor does not see the segment, there is no window, and no aperture segment.
  no_space,             ///< As no_window, but there is a window, which has no room.
  no_aperture_segment,  ///< As no_window, but there is a window, which has room.
  resident,             ///< It is in a memory segment, must not be accessed there, and has no aperture segment.
};

template <>
inline constexpr auto detail::names_of<lock_refusal> =
    detail::names("none", "invalid", "incoherent_cached", "no_window", "no_space", "no_aperture_segment", "resident");

/// What decide() returns.
struct [[nodiscard]] lock_decision {
  lock_route route = lock_route::refused;
  lock_refusal reason = lock_refusal::none;
  bool stays_in_system_memory = false;  ///< It must not be committed into a memory segment until it is unlocked.

  explicit constexpr operator bool() const noexcept { return route != lock_route::refused; }
  friend constexpr bool operator==(const lock_decision&, const lock_decision&) = default;
};

/// Returns the way to an address, by the table at the head. Pure: any thread may call it.
/// \param segment  is looked at only for an allocation in a memory segment
/// \param flags    0: all bits are reserved
[[nodiscard]] constexpr lock_decision decide(const lock_subject& subject, const segment_traits& segment,
                                             const window_state& window, std::uint32_t flags) noexcept {
  if (flags != 0) return {lock_route::refused, lock_refusal::invalid};
  const bool has_aperture = subject.supported.has_aperture();
  if (subject.where != residence::memory_segment) {
    const bool only_there = subject.where == residence::system_memory && !has_aperture;
    return {lock_route::direct, lock_refusal::none, only_there};
  }
  const bool has_address = subject.access == cpu_access::uncached;
  const bool has_room = window.exists && window.free_bytes >= subject.bytes;
  if (has_address && segment.cpu_visible) return {lock_route::direct};
  if (has_aperture) return {has_address && has_room ? lock_route::through_window : lock_route::migrate_to_system};
  if (subject.access == cpu_access::none) return {lock_route::refused, lock_refusal::resident};
  if (segment.cpu_visible) return {lock_route::migrate_to_system, lock_refusal::none, true};
  if (!has_address) return {lock_route::refused, lock_refusal::incoherent_cached};
  if (!window.exists) return {lock_route::refused, lock_refusal::no_window};
  return {lock_route::refused, has_room ? lock_refusal::no_aperture_segment : lock_refusal::no_space};
}

/// Returns whether an allocation that supports these segments may be created. Returns false if there are none. Returns
/// false if the processor is to use the allocation, does not see one of its memory segments, and none is an aperture
/// segment: while such an allocation is in that memory segment, every lock is refused. Pure.
[[nodiscard]] constexpr bool may_be_created(cpu_access access, const segment_set& supported) noexcept {
  if (supported.is_empty()) return false;
  return access == cpu_access::none || !supported.has_unseen() || supported.has_aperture();
}

/// What an unlock has left behind.
enum class [[nodiscard]] unlock_status : std::uint8_t {
  unlocked,      ///< The last lock has ended.
  still_locked,  ///< Other locks are held.
  /// The last lock has ended, and a commit was deferred: the allocation is committed, and the caller must move it now.
  commit_now,
  invalid,  ///< No lock was held; nothing was done.
};

template <>
inline constexpr auto detail::names_of<unlock_status> =
    detail::names("unlocked", "still_locked", "commit_now", "invalid");

/// Keeps an allocation out of memory segments while it is locked in system memory.
///
///   one word    bit 0 committed, bit 1 a commit was deferred, from bit 2 on the number of locks
///
/// Everything that the processor wrote while it had a lock happens-before the commit. Everything that the device left
/// in system memory before an eviction happens-before the next lock. Locks are counted: several threads may have locks
/// at a time, and one thread several. Any thread may call any function, but see evict(). Progress: all functions are
/// lock-free.
template <platform Platform = native_platform>
class basic_commit_gate {
 public:
  basic_commit_gate() noexcept = default;
  basic_commit_gate(const basic_commit_gate&) = delete;
  basic_commit_gate& operator=(const basic_commit_gate&) = delete;

  /// Takes a lock, and returns true. Returns false, and changes nothing, while the allocation is committed: then decide
  /// again. There can be 2^30 - 1 locks at a time. Asserts that there are no more. Otherwise returns false and changes
  /// nothing. Never waits. A commit that is deferred does not keep new locks out: the caller must see to it that the
  /// locks end some time.
  [[nodiscard]] bool try_lock() noexcept {
    // (K1): relaxed, (K2) does the rest.
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    do {
      if ((seen & committed) != 0) return false;
      const bool can_count = seen < UINT32_MAX - one_lock;
      TIDEMARK_ASSERT(can_count, "more locks than a commit gate can count");
      if (!can_count) return false;
      // (K2): acquire, pairs with (K6) and (K10): what was left is there. Not stronger: a lock hands nothing over.
    } while (!word_.compare_exchange_weak(seen, seen + one_lock, std::memory_order_acquire, std::memory_order_relaxed));
    return true;
  }

  /// Ends a lock. Returns what that has left behind. Without a lock it returns `invalid`; no assertion fails.
  unlock_status unlock() noexcept {
    // (K3): relaxed, (K4) does the rest.
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    std::uint32_t next = 0;
    do {
      if (seen < one_lock) return unlock_status::invalid;
      next = seen - one_lock;
      if (next == deferred) next = committed;
      // (K4): release for (K5), (K9) and for the (K4) that is the last: what was written under the lock; acquire so
      // that the thread whose unlock is the last has what the others wrote.
    } while (!word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed));
    if (next == committed) return unlock_status::commit_now;
    return next < one_lock ? unlock_status::unlocked : unlock_status::still_locked;
  }

  /// Commits the allocation, or defers that. Returns true if this call commits it: the caller moves it into the memory
  /// segment. Returns false while it is locked: the unlock that ends the last lock returns `commit_now`. A commit that
  /// is deferred can't be withdrawn, and a second request changes nothing. Asserts that the allocation is not committed
  /// already. Otherwise returns false, and the caller must not move the allocation again.
  [[nodiscard]] bool request_commit() noexcept {
    // (K7): relaxed, (K5) does the rest.
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    std::uint32_t next = 0;
    do {
      TIDEMARK_ASSERT((seen & committed) == 0, "an allocation was committed twice");
      if ((seen & committed) != 0) return false;
      next = seen < one_lock ? committed : seen | deferred;
      // (K5): acquire, pairs with (K4): what was written under the lock. Not stronger: a request hands nothing over.
    } while (!word_.compare_exchange_weak(seen, next, std::memory_order_acquire, std::memory_order_relaxed));
    return next == committed;
  }

  /// Commits the allocation, and returns true: the caller moves it. Returns false, and changes nothing, while it is
  /// locked or committed. Nothing is deferred, and no assertion fails: for threads that ask again later, and that may
  /// find another one committing.
  [[nodiscard]] bool try_commit() noexcept {
    std::uint32_t before = 0;
    // (K9): acquire, pairs with (K4): what was written under the last lock; and with (K6): what the thread that
    // committed before has left. Not stronger: as (K5). The failure hands nothing over.
    return word_.compare_exchange_strong(before, committed, std::memory_order_acquire, std::memory_order_relaxed);
  }

  /// Notes that the allocation is in system memory again. Only the thread that moved it into the memory segment may
  /// call it, or one to which that thread has handed it on. Asserts that it is committed. Otherwise nothing changes.
  void evict() noexcept {
    std::uint32_t before = committed;
    // (K6): release, pairs with (K2) and (K9). Not stronger: the thread that evicts has committed, and has had what was
    // there since. The failure is misuse.
    const bool was_committed =
        word_.compare_exchange_strong(before, 0, std::memory_order_release, std::memory_order_relaxed);
    TIDEMARK_ASSERT(was_committed, "an allocation was evicted that was not committed");
    static_cast<void>(was_committed);
  }

  /// As evict(), and the caller has a lock at once: no thread commits in between. For a thread that has committed only
  /// to keep others from moving the allocation while it looked for an address. Asserts that it is committed. Otherwise
  /// nothing changes.
  void evict_and_lock() noexcept {
    std::uint32_t before = committed;
    // (K10): release, pairs with (K2): what the caller did while it had committed. Not stronger: as (K6).
    const bool was_committed =
        word_.compare_exchange_strong(before, one_lock, std::memory_order_release, std::memory_order_relaxed);
    TIDEMARK_ASSERT(was_committed, "a gate was locked in place of a commit that there was not");
    static_cast<void>(was_committed);
  }

  /// Returns whether it is committed. Another thread may change that at any moment. Progress: wait-free.
  [[nodiscard]] bool is_committed() const noexcept { return (peek() & committed) != 0; }
  /// Returns how many locks are held. Another thread may change that at any moment. Progress: wait-free.
  [[nodiscard]] std::uint32_t lock_count() const noexcept { return peek() / one_lock; }

 private:
  static constexpr std::uint32_t committed = 1;
  static constexpr std::uint32_t deferred = 2;
  static constexpr std::uint32_t one_lock = 4;

  std::uint32_t peek() const noexcept {
    // (K8): relaxed alone, for looking.
    return word_.load(std::memory_order_relaxed);
  }

  typename Platform::template atomic<std::uint32_t> word_;
};

using commit_gate = basic_commit_gate<>;

}  // namespace tidemark

#endif  // TIDEMARK_MEMORY_LOCK_DECISION_HPP
