// SPDX-License-Identifier: BSL-1.0
//
// lock_decision: by which way, if any, the processor gets an address of memory that a device may own; and the pin that
// keeps memory where it is while the processor has that address.
//
// decide() is a pure function of four things: the allocation, the segment that it is resident in, the window through
// which the processor sees device memory that it can't address (host_aperture.hpp), and the flags of the call.
//
//                         in system memory,     in a memory segment
//                         or mapped by an       the processor         the processor does not see it
//                         aperture segment      sees all of it
//   uncached access       direct                direct                through the window if it has room, else migrate
//   cached access         direct                migrate               migrate
//   no access             direct                migrate               migrate
//
// "Migrate" means into system memory, which needs an aperture segment among those that the allocation supports; where it
// has none, the lock is refused, and the reason says what was missing (B17-B26). Cached access is never direct in a memory
// segment, not even where the processor sees it: its caches and the device's memory would disagree (B19, B20, trap 30).
//
// What was locked in system memory and can't be mapped by an aperture segment must not be committed into a memory
// segment before it is unlocked (B27): the decision says so, and commit_pin keeps it.
//
// Not promised: that the window still has room when the lock is made; who loses that race decides again.
#ifndef TIDEMARK_LOCK_DECISION_HPP
#define TIDEMARK_LOCK_DECISION_HPP

#include <atomic>
#include <cstdint>

#include "detail/assert.hpp"
#include "platform.hpp"

namespace tidemark {

/// How the processor may use an allocation.
enum class cpu_access : std::uint8_t {
  none,      ///< Not at all while the device has it; behind it is a section of system memory.
  uncached,  ///< Without its caches, or write-combined.
  cached,    ///< Through its caches, which do not see what a device does in its own memory.
};

/// Where an allocation is.
enum class residence : std::uint8_t {
  system_memory,     ///< Not resident on the device.
  aperture_segment,  ///< In system memory, and mapped for the device.
  memory_segment,    ///< In memory of the device.
};

/// An allocation that is to be locked.
struct lock_subject {
  cpu_access access = cpu_access::uncached;
  residence where = residence::system_memory;
  bool supports_aperture_segment = false;  ///< So that it can be placed in system memory and still be used.
  std::uint64_t bytes = 0;
};

/// A memory segment of a device.
struct segment_traits {
  bool cpu_visible = false;  ///< The processor can address all of it (B18).
};

/// The window through which the processor sees memory segments that it can't address.
struct window_state {
  bool exists = false;
  std::uint64_t free_bytes = 0;
};

enum class lock_route : std::uint8_t {
  direct,             ///< Where it is.
  through_window,     ///< Some pages of the window are mapped to it.
  migrate_to_system,  ///< It is first moved into system memory.
  refused,
};

/// Why a lock is refused.
enum class lock_refusal : std::uint8_t {
  none,
  reserved_flags,     ///< A flag bit is set; there are none (B28).
  incoherent_cached,  ///< Cached access to memory of the device, and no aperture segment to move it to (B19, B20).
  no_window,          ///< The processor does not see the segment, there is no window, and no aperture segment (B23).
  no_window_space,    ///< The same, and the window is there but has no room (B23).
  resident,           ///< No access while it is resident, and no aperture segment to move it to (B26).
};

struct lock_decision {
  lock_route route = lock_route::refused;
  lock_refusal reason = lock_refusal::none;
  bool pins_in_system_memory = false;  ///< Not to be committed into a memory segment until it is unlocked (B27).

  friend constexpr bool operator==(const lock_decision&, const lock_decision&) = default;
};

/// The way to an address, see the table at the head. `segment` counts only for what is in a memory segment. Pure.
/// (B17-B26, B28)
[[nodiscard]] constexpr lock_decision decide(const lock_subject& subject, const segment_traits& segment,
                                             const window_state& window, std::uint32_t flags) noexcept {
  if (flags != 0) return {lock_route::refused, lock_refusal::reserved_flags};
  if (subject.where != residence::memory_segment) {
    const bool only_there = subject.where == residence::system_memory && !subject.supports_aperture_segment;
    return {lock_route::direct, lock_refusal::none, only_there};
  }
  const bool has_address = subject.access == cpu_access::uncached;
  const bool has_room = window.exists && window.free_bytes >= subject.bytes;
  if (has_address && segment.cpu_visible) return {lock_route::direct};
  if (has_address && has_room) return {lock_route::through_window};
  if (subject.supports_aperture_segment) return {lock_route::migrate_to_system};
  if (subject.access == cpu_access::cached) return {lock_route::refused, lock_refusal::incoherent_cached};
  if (subject.access == cpu_access::none) return {lock_route::refused, lock_refusal::resident};
  return {lock_route::refused, window.exists ? lock_refusal::no_window_space : lock_refusal::no_window};
}

/// What decide() says of `supports_aperture_segment` when it would be too late: whether an allocation may be created that
/// is meant for such a segment. False for one that the processor shall use, in a segment that it does not see, without
/// an aperture segment (B24): whether it can be locked would be up to the window.
[[nodiscard]] constexpr bool may_be_created(const lock_subject& subject, const segment_traits& segment) noexcept {
  return subject.access == cpu_access::none || segment.cpu_visible || subject.supports_aperture_segment;
}

/// Keeps an allocation out of memory segments while it is locked in system memory (B27).
///
///   one word    bit 0 committed, bit 1 a commit was deferred, from bit 2 on the number of locks
///
/// What the processor wrote while it had the lock happens before the commit, and what the device left in system memory
/// before an eviction happens before the next lock. Locks nest, also of several threads (B46). All operations are
/// lock-free and thread-safe.
template <class Platform = native_platform>
class basic_commit_pin {
 public:
  enum class unlocked : std::uint8_t {
    still_locked,  ///< Others hold locks.
    free,
    commit_now,  ///< A commit was deferred, and is the caller's to do: the allocation counts as committed.
    unmatched,   ///< Nobody held a lock; nothing was done (B46).
  };

  basic_commit_pin() noexcept = default;
  basic_commit_pin(const basic_commit_pin&) = delete;
  basic_commit_pin& operator=(const basic_commit_pin&) = delete;

  /// False while it is committed: decide again. More than 2^30 - 2 locks at a time are misuse, and refused.
  [[nodiscard]] bool try_lock() noexcept {
    // (K1): relaxed, (K2) does the rest.
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    do {
      if ((seen & committed) != 0) return false;
      const bool can_count = seen < UINT32_MAX - one_lock;
      TIDEMARK_ASSERT(can_count, "more locks than a commit pin can count");
      if (!can_count) return false;
      // (K2): acquire, pairs with (K6): what the device had left is there. Not stronger: a lock hands nothing over.
    } while (!word_.compare_exchange_weak(seen, seen + one_lock, std::memory_order_acquire, std::memory_order_relaxed));
    return true;
  }

  [[nodiscard]] unlocked unlock() noexcept {
    // (K3): relaxed, (K4) does the rest.
    std::uint32_t seen = word_.load(std::memory_order_relaxed);
    std::uint32_t next = 0;
    do {
      if (seen < one_lock) return unlocked::unmatched;
      next = seen - one_lock;
      if (next == deferred) next = committed;
      // (K4): release for (K5) and for the (K4) that is the last: what was written under the lock; acquire so that who
      // is the last has what the others wrote.
    } while (!word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed));
    if (next == committed) return unlocked::commit_now;
    return next < one_lock ? unlocked::free : unlocked::still_locked;
  }

  /// By who manages the memory. True: committed, go on. False: it is locked, and whoever unlocks it last will be told. A commit
  /// of what is committed already is misuse, and false: its memory is not to be moved there again.
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

  /// It is in system memory again. By who has committed it; of anything else this is misuse, and changes nothing.
  void evict() noexcept {
    std::uint32_t before = committed;
    // (K6): release, pairs with (K2). Not stronger: who evicts has committed, and has had what was there since. The failure
    // is misuse.
    const bool was_committed =
        word_.compare_exchange_strong(before, 0, std::memory_order_release, std::memory_order_relaxed);
    TIDEMARK_ASSERT(was_committed, "an allocation was evicted that was not committed");
    static_cast<void>(was_committed);
  }

  /// For looking only. Progress: wait-free.
  [[nodiscard]] bool is_committed() const noexcept { return (peek() & committed) != 0; }
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

using commit_pin = basic_commit_pin<>;

}  // namespace tidemark

#endif  // TIDEMARK_LOCK_DECISION_HPP
