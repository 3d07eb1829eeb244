// SPDX-License-Identifier: BSL-1.0
//
// waiter_heap: the set of awaited targets of one timeline. Its least target tells a signaller, in one load, whether any
// waiter is due.
//
//   line 0   [neighbor] [ root: least target - 1 | version ] [ lane ] [ unwoken ] [ newest block ]
//   then     the first block: one leaf for each slot, [ target - 1, or no_waiter | version ], and the nodes between
//            leaves and root; which slots are taken; for each slot a word on which its waiter sleeps
//   linked   later blocks, each at least twice as large as all before it together; the tops of their trees are
//            children of the root, too
//
// `lane` is the leaf of the overflow lane; `unwoken` counts released waiters that other threads still have to wake. The
// user of the heap writes the neighbor; only this class writes the other words. The waiting thread takes a slot and
// arms its leaf. The waiter, when it withdraws, and threads in release_due() try to empty the leaf by an exchange; only
// one of them succeeds. If the waiter does, it frees the slot at once. Otherwise the waiter and the thread that wakes
// it both still use the slot, and the one that is done last frees it. All of these threads rewrite nodes. A thread that
// wakes or nudges a waiter advances the waiter's count of wakes, on which the waiter sleeps.
//
// The invariant: once add(t) has returned, and until that waiter is released or withdrawn, monitored_value() is at most
// t - 1. It is exactly the least target minus 1 when no operation is in progress, no thread is in the overflow lane,
// and the heap is not pinned. If a call of release_due(v) begins after add(t) has returned, and t <= v, it returns only
// when that waiter has been released or withdrawn. Where the platform's double word takes a lock, this promise about
// release_due() does not hold: the call may return while another thread's call is still releasing the waiter.
// fence/detail/min_tree.hpp says why.
//
// A user whose timeline's value rises meanwhile needs the handshake of fence.hpp: add(), then a StoreLoad barrier,
// then one more look at the value. The heap does not know the value.
//
// If there are more waiters than slots, the waiter that finds none links a block with more. The blocks stay for the
// heap's life. A thread that releases never allocates.
//
// Where growth is forbidden, or where there is no memory or the next block would be too large, the waiter shares the
// overflow lane (overflow_lane in fence/detail/heap_slots.hpp), whose members have one leaf together. If one of them
// may be due, all of them are released and woken. Those that are not due must then withdraw and register again. That is
// slower, but never wrong, and no waiter is ever refused.
//
// If one call of release_due() releases many waiters that have slots, it does not wake all of them itself. It wakes
// four that are asleep. (It wakes the members of the lane all together.) Each waiter that withdraws after its release
// wakes two more, until none is left. So a released waiter must withdraw without delay. Nobody is forgotten. A released
// waiter may also withdraw before it was woken, for example because it saw the value. If the thread that was to wake it
// has been at its slot by then, the waiter wakes two others as usual. If not, the waiter (unless it has a waker) just
// leaves; that thread comes later, finds the slot left, and wakes another waiter in its place (see slot_block::wake()
// and wake_unwoken()).
//
// Not promised: any order among waiters that are released together: from the fifth on, the wake-up of one may wait
// until a thread that was woken before it runs; that a wake-up means a release (a woken thread must look again); that
// monitored_value() is exact while other threads add, withdraw or release; wait-freedom and lock-freedom of add(),
// withdraw() and release_due() where the platform's double word is not lock-free.
//
// Lifetime: the heap must outlive every call on it, also release_due(), which still uses the heap after the waiters
// that it has released may have gone.
#ifndef TIDEMARK_FENCE_WAITER_HEAP_HPP
#define TIDEMARK_FENCE_WAITER_HEAP_HPP

#include <array>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/registering_process.hpp"
#include "detail/heap_slots.hpp"
#include "detail/min_tree.hpp"
#include "detail/root_hold.hpp"
#include "tools/waker.hpp"

namespace tidemark {

/// The monitored value of a timeline that no thread waits for.
inline constexpr std::uint64_t no_waiter = detail::no_minimum;

/// What a waiter does that finds no free slot.
enum class heap_growth : unsigned char {
  allowed,    ///< It allocates memory for more slots.
  forbidden,  ///< It shares the overflow lane. Nothing is ever allocated.
};

namespace detail {

/// The default neighbour of a root: nothing.
struct no_neighbor {};

struct does_nothing {
  void operator()() const noexcept {}
};

struct hook_access;

}  // namespace detail

/// The registration of one waiter. waiter_heap::add() makes it, and withdraw() ends it; withdraw() must be called
/// exactly once for each.
class waiter_ticket {
 public:
  /// Returns whether the waiter shares the overflow lane.
  bool is_in_lane() const noexcept { return slot_ == lane; }

 private:
  template <std::size_t, platform, std::size_t, class, heap_growth>
  friend class waiter_heap;
  friend detail::hook_access;
  static constexpr std::size_t lane = SIZE_MAX;

  waiter_ticket(void* block, std::size_t slot, versioned armed) noexcept : block_{block}, slot_{slot}, armed_{armed} {}

  void* block_;  // null for the lane; for a hook, what names its registration
  std::size_t slot_;
  versioned armed_;  // what is in the leaf; for the lane, its version is when the waiter joined
};

/// A lock-free set of awaited targets.
/// \tparam Capacity  how many slots the heap has from the start; it takes about 34 bytes for each
/// \tparam Platform  see platform.hpp
/// \tparam Arity     the number of children of a node; with 4, siblings fill one cache line
/// \tparam Neighbor  an object to keep on the root's cache line, such as the value of a fence (fence.hpp). Beyond 16
///                   bytes it makes the heap larger by a line
/// \tparam Growth    what a waiter does that finds no free slot
template <std::size_t Capacity, platform Platform = native_platform, std::size_t Arity = 4,
          class Neighbor = detail::no_neighbor, heap_growth Growth = heap_growth::allowed>
class waiter_heap {
 public:
  static_assert(Capacity > 0 && Capacity <= detail::tree_shape<Arity>::most_leaves,
                "a waiter heap has 1 to 2^30 - 1 slots");

  using ticket = waiter_ticket;
  using counter = typename Platform::park_word;

  /// An empty heap. The arguments, if any, construct the neighbour.
  template <class... Arguments>
  explicit waiter_heap(Arguments&&... neighbor) noexcept : neighbor_(std::forward<Arguments>(neighbor)...) {}
  waiter_heap(const waiter_heap&) = delete;
  waiter_heap& operator=(const waiter_heap&) = delete;
  /// Asserts that all waiters have withdrawn; but not in the child of a fork, whose copy may have waits of threads that
  /// it does not have. No other call may be under way.
  ~waiter_heap() {
    TIDEMARK_ASSERT(!has_waiters() || !process::is_this<Platform>(),
                    "a timeline was destroyed before the waits for it had ended");
    for (grown* rest = newest_block(); rest != nullptr;) delete std::exchange(rest, rest->next);
  }

  /// Returns the least awaited target minus 1; `no_waiter` if no thread waits; 0 if the heap is pinned. While threads
  /// are in the overflow lane, it may be less than the least target minus 1, but never more: the target of a thread
  /// that has left the lane may still count until the lane is empty. Progress: wait-free, one load. On an asymmetric
  /// platform (platform.hpp) the root may be held at 0. The hold does not show here: if the load finds 0 and the heap
  /// is not pinned, the call loads each child of the root, too, and returns the least of their values. Any thread may
  /// call it.
  std::uint64_t monitored_value() const noexcept {
    // (W14): relaxed alone: it synchronizes nothing, and a signaller uses monitored_word(). (SH2) copies what this
    // reads: its thread has registered before, or has the lock after a thread that has, so this is no older than that.
    const std::uint64_t least = root_.load_value(std::memory_order_relaxed);
    return Platform::asymmetric && least == 0 && !is_pinned_ ? least_below_root() : least;
  }

  /// Returns the root. Its value half is 0 while the root is held; otherwise it is what monitored_value() returns. A
  /// signaller loads it with the order that its handshake needs. Any thread may call it.
  const typename Platform::double_word& monitored_word() const noexcept { return root_; }

  /// Returns how many slots the heap has now: `Capacity`, and those by which it has grown. Progress: wait-free. Any
  /// thread may call it.
  std::size_t capacity() const noexcept {
    std::size_t count = Capacity;
    for (const grown* of = newest_block(); of != nullptr; of = of->next) count += of->size();
    return count;
  }

  /// Registers a waiter for `target`, and returns its ticket. Never fails. Progress: wait-free, O(log n) for n slots,
  /// plus O(n / 64) to find a slot, or O(n) if other threads take slots at the same time; lock-free where the heap
  /// grows or the waiter joins the overflow lane. Throws nothing; allocates only where the heap grows. Any thread may
  /// call it.
  /// \param target  at least 1 (asserted): a wait for 0 is over before it begins
  [[nodiscard]] ticket add(std::uint64_t target) noexcept { return add(target, nullptr); }

  /// The same for a registration whose release wakes something else than a thread that parks here.
  /// \param woken  what the release of the registration wakes; null for a thread that parks. It must live until
  ///               withdraw() has returned. In the overflow lane it is not used: if the ticket is in the lane, the
  ///               caller must look at the value from time to time
  [[nodiscard]] ticket add(std::uint64_t target, detail::waker* woken) noexcept {
    TIDEMARK_ASSERT(target > 0, "a waiter was added for 0, which every timeline has reached");
    TIDEMARK_ASSERT(process::note(), "the destructor knows which process has registered waiters");
    const std::size_t slot = first_.take_slot();
    if (slot != block::no_slot) return arm(first_, slot, target, woken);
    if constexpr (Growth == heap_growth::allowed) {
      const slot_of taken = take_grown_slot();
      if (taken.of != nullptr) return arm(*taken.of, taken.slot, target, woken);
    }
    const std::uint64_t joined_at = lane_.join(target - 1);
    refresh_root();
    return ticket{nullptr, ticket::lane, versioned{0, joined_at}};
  }

  /// Ends a registration: frees its slot, or leaves the lane. Returns true if this call has withdrawn the waiter.
  /// Returns false if the waiter had been released before; what the releasing thread had seen is visible then. The
  /// ticket must not be used again. A second call with the same ticket is misuse. An assertion detects it only where
  /// the slot is still free, or the lane empty. Otherwise another waiter may lose its place without notice. Progress:
  /// wait-free, O(log n), while the waiter has not been released, and lock-free in the lane. If the waiter has been
  /// released, and a thread has already come to wake it, the call also wakes others that were released and not woken
  /// yet: one after the other, with one system call at most for each, until it has woken two that were asleep, or none
  /// is left. That part is lock-free. If the registration has a waker, it waits for the thread that uses the waker. One
  /// thread for each ticket.
  bool withdraw(const ticket& waiting) noexcept {
    if (waiting.is_in_lane()) {
      const bool withdrawn = lane_.leave(waiting.armed_.version);
      if (withdrawn) refresh_root();
      return withdrawn;
    }
    return withdraw(block_of(waiting), waiting);
  }

  /// Returns whether release_due() has released this waiter. If it returns true, what the releasing thread had seen is
  /// visible. A waiter in the overflow lane may be released before it is due. Progress: wait-free, one load. Any
  /// thread may call it before withdraw().
  bool is_released(const ticket& waiting) const noexcept {
    if (waiting.is_in_lane()) return lane_.is_claimed(waiting.armed_.version);
    return !block_of(waiting).tree().is_armed(waiting.slot_, waiting.armed_.version);
  }

  /// Releases every waiter whose target is at most the value that `current()` returns, and all waiters in the lane if
  /// one of them may be due. Wakes those in the lane, and up to four others that are asleep. Those wake the rest when
  /// they withdraw. Returns how many it released. Makes exactly one pass. Progress: lock-free except for the system
  /// calls that wake; wait-free if it releases at most four waiters and no thread is in the lane; O(k log n) for k
  /// released slots. Any thread may call it.
  /// \param current  a callable that throws nothing and has no side effects. It is called at the beginning, again for
  ///                 each leaf that the pass visits, and at least once for the lane. If the value rises during the
  ///                 pass, the pass may miss waiters that only the new value makes due. The thread that raises the
  ///                 value must release those.
  /// \param before_waking  a callable that throws nothing. It is called once, after the pass and before this call wakes
  ///                       its first waiter. Only wakers that the releasing thread itself must call are called earlier,
  ///                       during the pass. It is not called if the pass has released nobody, or only registrations
  ///                       whose wakers the releasing thread itself must call (waker_caller::signaller in
  ///                       tools/waker.hpp). Other threads do not wait for it: they may wake the fifth released waiter,
  ///                       and those after it, before it is called.
  /// \param at_the_end  a callable that throws nothing. It is called last, if the pass has called wakers that only the
  ///                    releasing thread may call (waker_caller::signaller in tools/waker.hpp). Without this argument
  ///                    the call treats such a waker like any other, and another thread may call it. So no registration
  ///                    may have one then.
  template <class CurrentValue, std::invocable BeforeWaking = detail::does_nothing,
            std::invocable AtTheEnd = detail::does_nothing>
    requires requires(const CurrentValue& current) { static_cast<std::uint64_t>(current()); }
  std::size_t release_due(const CurrentValue& current, const BeforeWaking& before_waking = {},
                          const AtTheEnd& at_the_end = {}) noexcept {
    constexpr bool has_calls = !std::same_as<AtTheEnd, detail::does_nothing>;
    few_released few;
    std::size_t released = 0;
    std::size_t called = 0;
    const auto release_from = [&](block& of, std::uint64_t reached) {
      of.tree().clear_due(reached, current, [&](std::size_t slot) {
        if (has_calls && of.is_for_signaller(slot)) {
          of.wake(slot, reason());
          ++called;
        } else if (released++ < few.due.size()) {
          few.due[few.count++] = {&of, slot};
        } else {
          put_unwoken(of, slot);
        }
      });
    };
    const std::uint64_t reached = current();
    release_from(first_, reached);
    const std::size_t released_in_lane = lane_.claim_if_due(current);
    for (grown* of = newest_block(); of != nullptr; of = of->next) {
      // (H19): seq_cst, like (H9).
      if (of->top.load_value(std::memory_order_seq_cst) >= reached) continue;
      release_from(*of, reached);
      refresh_top(*of);
    }
    refresh_root();
    if (released + released_in_lane != 0) {
      before_waking();
      if (released_in_lane != 0) lane_.wake_all();
      std::size_t awake = 0;
      for (std::size_t i = 0; i < few.count; ++i) {
        if (wake(few.due[i])) ++awake;
      }
      if (released > few.count) wake_unwoken(few.count - awake);
    }
    if (called != 0) at_the_end();
    return released + released_in_lane + called;
  }

  /// Does the same for a value that does not change.
  std::size_t release_due(std::uint64_t value) noexcept {
    return release_due([value] { return value; });
  }

  /// Releases and wakes all waiters, because the timeline is lost. From then on each release has the reason `lost`
  /// (tools/waker.hpp), also those of later calls of release_due(). Progress: as release_due(). Any thread may call it.
  /// \param at_the_end  as in release_due()
  template <std::invocable AtTheEnd = detail::does_nothing>
  void release_lost(const AtTheEnd& at_the_end = {}) noexcept {
    // (W15): relaxed alone: other threads that wake what this thread has released learn of it through (W10) (W11).
    unwoken_.fetch_or(lost_mark, std::memory_order_relaxed);
    release_due([] { return UINT64_MAX; }, detail::does_nothing{}, at_the_end);
  }

  /// Undoes what release_lost() has said of later releases, for a heap that serves another timeline next. Nobody else
  /// may use the heap meanwhile, and nobody may be registered. Progress: wait-free.
  void forget_loss() noexcept {
    // (W22): relaxed alone: nobody else uses the heap, and who does next gets it by what hands it over.
    unwoken_.fetch_and(~lost_mark, std::memory_order_relaxed);
  }

  /// Returns the waiter's count of wakes, for park(). Take it before the last look at whatever ends the wait. Progress:
  /// wait-free, one load. One thread for each ticket.
  std::uint32_t wakes(const ticket& waiting) noexcept {
    // (W2): acquire, pairs with (W3) (W4) (W19): a waiter that sees the count of its release also sees the value that
    // made it due. Not stronger: a count that is too old only makes park() return at once.
    return wakes_of(waiting).load(std::memory_order_acquire);
  }

  /// Blocks while the waiter's count of wakes is `seen`, until the deadline at most. Returns false only if the deadline
  /// has passed. Returns true if the waiter was released or nudged, or for no reason. If it is woken at about the time
  /// of the deadline, it may return either. One thread for each ticket.
  bool park(const ticket& waiting, std::uint32_t seen, deadline until) noexcept {
    return Platform::park(wakes_of(waiting), seen, until);
  }

  /// Wakes the thread that parks with this ticket, without releasing it; in the lane it wakes all threads there. It
  /// does not call a waker. Any thread may call it, but only before the waiter withdraws. Progress: wait-free except
  /// for the system call.
  void nudge(const ticket& waiting) noexcept {
    if (waiting.is_in_lane()) return lane_.wake_all();
    block_of(waiting).nudge(waiting.slot_);
  }

  /// Pins the heap: keeps monitored_value() at 0 for the life of the heap, so that every signal takes its slow path. A
  /// fence does so if the heavy barrier is missing or its value is shared. Must be called before the heap is shared.
  /// Progress: wait-free.
  void pin() noexcept {
    is_pinned_ = true;
    static_cast<void>(hold_.forbid());
    refresh_root();
  }
  /// Returns whether pin() was called. Progress: wait-free. Any thread may call it.
  bool is_pinned() const noexcept { return is_pinned_; }

  // ---- The hold: for a time, the root is kept at 0 as if the heap were pinned (detail/root_hold.hpp).

  /// Returns the state of the hold. A waiter asks after add(), and then issues a barrier before its last look at the
  /// value: if the state `holds()`, Platform::full_barrier() is enough; otherwise it must be Platform::heavy_barrier().
  /// Progress: wait-free. Any thread may call it.
  detail::hold_state hold() const noexcept { return hold_.look(); }
  /// Begins a hold if enough passes have released somebody since the last hold, and returns whether it has begun one.
  /// If so, the caller must issue its heavy barrier, and then call finish_beginning(). Progress: wait-free. Any thread
  /// may call it after add().
  /// \param seen  before the call: what hold() has returned. After it, if the result is true: what finish_beginning()
  ///              needs
  [[gnu::cold, gnu::noinline]] bool begin_hold(detail::hold_state& seen) noexcept {
    if (!hold_.begin(seen)) return false;
    refresh_root();
    return true;
  }
  /// Ends what begin_hold() has begun. If `is_ordered`, other waiters may rely on the hold from now on. Otherwise the
  /// barrier was refused, and holds are forbidden for the life of the heap. Progress: wait-free.
  [[gnu::cold, gnu::noinline]] void finish_beginning(detail::hold_state begun, bool is_ordered) noexcept {
    if (is_ordered) return hold_.confirm(begun);
    forbid_hold();
  }
  /// Counts a call of release_due(), after it has returned. Too many in vain end a hold. Progress: wait-free. Any
  /// thread may call it.
  void count_pass(bool has_released) noexcept {
    if (hold_.count_pass(has_released)) refresh_root();
  }
  /// Ends a hold, and forbids others for the life of the heap. Progress: wait-free. Any thread may call it.
  [[gnu::cold, gnu::noinline]] void forbid_hold() noexcept {
    if (hold_.forbid()) refresh_root();
  }

  /// Returns the object on the root's cache line. Progress: wait-free. Any thread may call it.
  Neighbor& neighbor() noexcept { return neighbor_; }
  const Neighbor& neighbor() const noexcept { return neighbor_; }

 private:
  using process = detail::registering_process;
  using block = detail::slot_block<Platform, Arity>;
  using grown = detail::grown_block<Platform, Arity>;

  /// How many waiters a pass wakes itself. When it was 16, signal() took three to six times as long for 8 to 64
  /// waiters, and the last of them ran at most an eighth sooner. When it was 2, groups of fewer than 8 waiters ran a
  /// quarter later. A platform may say another number, for tests of what happens beyond it.
  static constexpr std::size_t most_woken = [] {
    if constexpr (requires { Platform::most_woken; }) {
      return Platform::most_woken;
    } else {
      return std::size_t{4};
    }
  }();
  /// The same for those that a woken waiter wakes.
  static constexpr std::size_t most_helped = [] {
    if constexpr (requires { Platform::most_helped; }) {
      return Platform::most_helped;
    } else {
      return std::size_t{2};
    }
  }();
  static constexpr std::uint32_t lost_mark = std::uint32_t{1} << 31;

  struct slot_of {
    block* of = nullptr;
    std::size_t slot = 0;
  };
  struct few_released {
    std::array<slot_of, most_woken> due;
    std::size_t count = 0;
  };

  bool has_waiters() const noexcept {
    if (lane_.has_members() || first_.has_taken()) return true;
    for (const grown* of = newest_block(); of != nullptr; of = of->next) {
      if (of->has_taken()) return true;
    }
    return false;
  }

  static block& block_of(const ticket& waiting) noexcept { return *static_cast<block*>(waiting.block_); }

  counter& wakes_of(const ticket& waiting) noexcept {
    return waiting.is_in_lane() ? lane_.wakes() : block_of(waiting).state(waiting.slot_);
  }

  grown* newest_block() const noexcept {
    // (H18): seq_cst. A pass that must find a waiter in a new block finds the block, and so does a refresh of the root:
    // (H17) comes before the waiter's (H2) (H8) in the single total order. Its acquire half pairs with (H17).
    return newest_.load(std::memory_order_seq_cst);
  }

  /// Takes a free slot of a later block; links a new one if there is none. Returns null if there is no memory, or if
  /// the new block would have 2^30 slots or more.
  [[gnu::cold, gnu::noinline]] slot_of take_grown_slot() noexcept {
    for (grown* newest = newest_block();;) {
      std::size_t count = Capacity;
      for (grown* of = newest; of != nullptr; of = of->next) {
        const std::size_t slot = of->take_slot();
        if (slot != block::no_slot) return {of, slot};
        count += of->size();
      }
      grown* const made = grown::make(2 * count, newest);
      if (made == nullptr) return {};
      const std::size_t slot = made->take_slot();
      // (H17): seq_cst, see (H18); release half for what the block holds. Acquire on failure: for the block of the
      // thread that was faster.
      if (newest_.compare_exchange_strong(newest, made, std::memory_order_seq_cst, std::memory_order_acquire))
        return {made, slot};
      delete made;
    }
  }

  ticket arm(block& of, std::size_t slot, std::uint64_t target, detail::waker* woken) noexcept {
    of.set_waker(slot, woken);
    const std::uint64_t version = of.tree().arm(slot, target - 1);
    refresh_path(of, slot);
    return ticket{&of, slot, versioned{target - 1, version}};
  }

  bool withdraw(block& of, const ticket& waiting) noexcept {
    const std::size_t slot = waiting.slot_;
    // Look first: an exchange that fails would take the leaf's cache line away from the threads that release.
    if (of.tree().is_armed(slot, waiting.armed_.version) && of.tree().clear(slot, waiting.armed_)) {
      refresh_path(of, slot);
      of.free_slot(slot);
      return true;
    }
    const bool is_handled = of.leave_released(slot, [&] {
      count_unwoken(-1);
      of.wake(slot, reason());
    });
    // (W16): relaxed: `is_handled` came by (W8) or (W9) from (W4), so this thread sees the counts that were raised
    // before (W4): by the pass itself, or by a helper that learnt of them through (W10) (W11).
    if (is_handled && (unwoken_.load(std::memory_order_relaxed) & ~lost_mark) != 0) wake_unwoken(most_helped);
    return false;
  }

  detail::release_reason reason() const noexcept {
    // (W17): relaxed alone, see (W15).
    const bool is_lost = (unwoken_.load(std::memory_order_relaxed) & lost_mark) != 0;
    return is_lost ? detail::release_reason::lost : detail::release_reason::due;
  }
  bool wake(const slot_of& released) noexcept { return released.of->wake(released.slot, reason()); }

  void count_unwoken(std::int32_t change) noexcept {
    // (W18): relaxed alone: the count is at least the number of bits, because it rises before (W10) and falls after
    // (W11), which order it.
    unwoken_.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_relaxed);
  }
  void put_unwoken(block& of, std::size_t slot) noexcept {
    count_unwoken(1);
    of.put_unwoken(slot);
  }
  /// Takes and wakes unwoken waiters, until `most` of them were asleep, or until none is left.
  [[gnu::cold, gnu::noinline]] void wake_unwoken(std::size_t most) noexcept {
    std::size_t awake = wake_unwoken(first_, most);
    for (grown* of = newest_block(); of != nullptr && awake < most; of = of->next)
      awake += wake_unwoken(*of, most - awake);
  }
  std::size_t wake_unwoken(block& of, std::size_t most) noexcept {
    std::size_t awake = 0;
    while (awake < most) {
      const std::size_t slot = of.take_unwoken();
      if (slot == of.no_slot) break;
      count_unwoken(-1);
      if (of.wake(slot, reason())) ++awake;
    }
    return awake;
  }

  [[gnu::noinline]] void refresh_path(block& of, std::size_t slot) noexcept {
    of.tree().refresh_path(slot);
    if (&of != &first_) refresh_top(static_cast<grown&>(of));
    refresh_root();
  }
  static void refresh_top(grown& of) noexcept {
    detail::refresh_node(of.top, [&] { return of.tree().least_below_top(); });
  }
  void refresh_root() noexcept {
    detail::refresh_node(
        root_, [this] { return is_pinned_ || hold_.keeps_root_low() ? std::uint64_t{0} : least_below_root(); });
  }
  std::uint64_t least_below_root() const noexcept {
    std::uint64_t least = lane_.least();
    const auto include = [&least](std::uint64_t other) { least = other < least ? other : least; };
    include(first_.tree().least_below_top());
    for (const grown* of = newest_block(); of != nullptr; of = of->next) {
      // (H20): seq_cst like (H6).
      include(of->top.load_value(std::memory_order_seq_cst));
    }
    return least;
  }

  // Without unique addresses, an object can use the bytes that pad the one before.
  [[no_unique_address]] Neighbor neighbor_;
  detail::tree_word<Platform> root_;
  [[no_unique_address]] detail::overflow_lane<Platform> lane_;
  typename Platform::template atomic<std::uint32_t>
      unwoken_;  // at least how many released slots are left to others to wake; and lost_mark
  typename Platform::template atomic<grown*> newest_;
  [[no_unique_address]] alignas(cache_line) detail::first_block<Platform, Capacity, Arity> first_;
  [[no_unique_address]] detail::hold_of<Platform> hold_;
  bool is_pinned_ = false;
};

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_WAITER_HEAP_HPP
