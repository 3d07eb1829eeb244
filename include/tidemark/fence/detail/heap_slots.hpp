// SPDX-License-Identifier: BSL-1.0
//
// heap_slots: where the waiters of a waiter heap are. Each has a slot in a block, or shares the overflow lane.
#ifndef TIDEMARK_FENCE_DETAIL_HEAP_SLOTS_HPP
#define TIDEMARK_FENCE_DETAIL_HEAP_SLOTS_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "../../platform/platform.hpp"
#include "../tools/waker.hpp"
#include "min_tree.hpp"

namespace tidemark::detail {

/// The overflow lane of a waiter heap: waiters that found no slot share one leaf, which is a child of the root.
///
///   word_   [ least target - 1 of its members, or no_minimum | claims: 32 bits, members: 32 bits ]
///
/// A pass claims the lane like a leaf, as soon as one of its members may be due: the lane is empty then, and all who
/// were its members wake up. Those that are not due must join again. The least target falls when a member joins, and
/// rises only when the last one leaves or the lane is claimed; so it may be lower than it need be.
///
/// The word is a function of who has joined, left and claimed, so the same word twice is the same state. Unlike in the
/// tree the version may fall here, so an exchange that expects a torn load may succeed, but only if the word is in just
/// that state then; and each new word depends on the expected one alone. The number of claims tells members of
/// different rounds apart.
///
/// Not promised: wait-freedom; an exchange is tried again while others succeed.
template <class Platform>
class overflow_lane {
 public:
  using counter = typename Platform::park_word;

  /// Adds a member. Returns the number of claims, which tells its membership from others. The root must be refreshed
  /// afterwards. Progress: lock-free.
  std::uint64_t join(std::uint64_t value) noexcept {
    for (;;) {
      // (H10): relaxed; an older word only makes (H11) fail.
      versioned seen = word_.load(std::memory_order_relaxed);
      const versioned joined{seen.value < value ? seen.value : value, seen.version + 1};
      // (H11): seq_cst, a change of a child of the root like (H2). (H7) and (H12) read it.
      if (word_.compare_exchange_strong(seen, joined, std::memory_order_seq_cst, std::memory_order_relaxed))
        return claims(seen);
    }
  }

  /// Removes a member. Returns false if the lane was claimed since it joined. The root must be refreshed afterwards.
  /// Progress: lock-free.
  bool leave(std::uint64_t joined_at) noexcept {
    for (;;) {
      // (H14): acquire: a member whose lane was claimed sees what the claiming thread saw, like the failure of (H3).
      versioned seen = word_.load(std::memory_order_acquire);
      if (claims(seen) != joined_at) return false;
      TIDEMARK_ASSERT(members(seen) != 0, "a registration was withdrawn twice");
      const versioned left{members(seen) == 1 ? no_minimum : seen.value, seen.version - 1};
      // (H13): seq_cst, like (H11).
      if (word_.compare_exchange_strong(seen, left, std::memory_order_seq_cst, std::memory_order_relaxed)) return true;
    }
  }

  /// Returns whether the lane was claimed since a member joined. Progress: wait-free.
  bool is_claimed(std::uint64_t joined_at) const noexcept {
    // (H21): acquire, like (H4): pairs with the release half of (H15).
    return word_.load_version(std::memory_order_acquire) / one_claim != joined_at;
  }

  /// Returns the least target of the members, minus 1. Progress: wait-free.
  std::uint64_t least() const noexcept {
    // (H7): seq_cst like (H6). The lane's changes are (H11), (H13) and (H15).
    return word_.load_value(std::memory_order_seq_cst);
  }

  /// Returns whether the lane has members. For the destructor of the heap.
  bool has_members() const noexcept {
    // (H35): relaxed alone: whoever destroys the heap knows that all waits have returned.
    return word_.load_version(std::memory_order_relaxed) % one_claim != 0;
  }

  /// Empties the lane if a member may be due. Returns how many members it had then, which wake_all() must wake; 0 if it
  /// was not emptied. Progress: lock-free.
  template <class CurrentValue>
  std::size_t claim_if_due(const CurrentValue& current) noexcept {
    for (;;) {
      // (H12): seq_cst, like (H16).
      versioned seen = word_.load(std::memory_order_seq_cst);
      if (seen.value >= current()) return 0;
      const versioned empty{no_minimum, (claims(seen) + 1) * one_claim};
      // (H15): seq_cst, like (H3).
      if (word_.compare_exchange_strong(seen, empty, std::memory_order_seq_cst, std::memory_order_relaxed))
        return as_integer<std::size_t>(members(seen));
    }
  }

  /// Returns the count of wakes, on which all members sleep.
  counter& wakes() noexcept { return wakes_; }
  /// Wakes all threads in the lane.
  void wake_all() noexcept {
    // (W19): release, pairs with (W2), like (W3).
    wakes_.fetch_add(1, std::memory_order_release);
    Platform::unpark(wakes_, UINT32_MAX);
  }

 private:
  static constexpr std::uint64_t one_claim = std::uint64_t{1} << 32;
  static std::uint64_t claims(versioned word) noexcept { return word.version / one_claim; }
  static std::uint64_t members(versioned word) noexcept { return word.version % one_claim; }

  tree_word<Platform> word_;
  counter wakes_;
};

/// Where the words of a block lie.
template <class Platform, std::size_t Arity>
struct slot_words {
  detail::siblings<Platform, Arity>* siblings;                 // one for each group of the tree's shape
  typename Platform::template atomic<std::uint64_t>* taken;    // one for each 64 slots
  typename Platform::template atomic<std::uint64_t>* unwoken;  // likewise
  typename Platform::park_word* states;                        // one for each slot
  typename Platform::template var<waker*>* wakers;             // likewise
};

/// A block of slots of a waiter heap: a tree with one leaf for each slot, and what else belongs to a slot. A heap has
/// one block from the start and may link larger ones to it.
///
///   tree    one leaf for each slot
///   taken   one bit for each slot: set by its owner, which takes it
///   states  one word for each slot, on which its owner sleeps:  [ count of wakes : 30 bits | left | handled ]
///   wakers  for each slot what its release wakes instead, or null
///   unwoken one bit for each slot that was released by a pass over many, whose waiter still has to be woken
///
/// Two threads deal with a released slot: its owner, and the one that wakes the owner. Whichever is done second frees
/// the slot: the waking thread sets `handled` and finds `left`, or the owner finds `handled`. Without a waker neither
/// waits for the other. With a waker the owner waits for `handled`, after which nobody uses the waker any more.
template <class Platform, std::size_t Arity>
class slot_block {
 public:
  using counter = typename Platform::park_word;
  using shape_type = tree_shape<Arity>;
  using words_type = slot_words<Platform, Arity>;
  static constexpr std::size_t no_slot = SIZE_MAX;

  /// Both must outlive the block.
  slot_block(const shape_type& shape, const words_type& words) noexcept
      : tree_{shape, words.siblings},
        taken_{words.taken},
        unwoken_{words.unwoken},
        states_{words.states},
        wakers_{words.wakers} {
    for (std::size_t word = 0; word < shape.sets(); ++word) {
      const std::size_t rest = shape.leaves() - word * 64;
      // (W1): relaxed alone, because no other thread knows the block yet. Bits beyond the last slot stay taken for
      // ever.
      taken_[word].store(rest >= 64 ? 0 : ~std::uint64_t{0} << rest, std::memory_order_relaxed);
    }
  }

  std::size_t size() const noexcept { return tree_.shape().leaves(); }
  auto& tree() noexcept { return tree_; }
  const auto& tree() const noexcept { return tree_; }

  /// Takes a free slot and returns it, or no_slot. Tries each bit at most once, so other threads can't delay this one.
  std::size_t take_slot() noexcept {
    for (std::size_t word = 0; word < sets(); ++word) {
      // (W5): relaxed alone: a guess, which (W6) verifies.
      std::uint64_t free = ~taken_[word].load(std::memory_order_relaxed);
      while (free != 0) {
        const std::uint64_t bit = free & (~free + 1);
        // (W6): acquire, pairs with (W7): the new owner finds the leaf as the old one has left it, see (H1). Not
        // stronger: no other thread depends on who owns the slot.
        const std::uint64_t before = taken_[word].fetch_or(bit, std::memory_order_acquire);
        if ((before & bit) == 0) return word * 64 + static_cast<std::size_t>(std::countr_zero(bit));
        free &= ~before & ~bit;
      }
    }
    return no_slot;
  }
  void free_slot(std::size_t slot) noexcept {
    // (W7): release, pairs with (W6). With relaxed, the next owner might arm the leaf on top of an old version.
    const std::uint64_t before = taken_[slot / 64].fetch_and(~bit_of(slot), std::memory_order_release);
    TIDEMARK_ASSERT((before & bit_of(slot)) != 0, "a registration was withdrawn twice");
    static_cast<void>(before);
  }

  /// Returns whether a slot is taken. For the destructor of the heap.
  bool has_taken() const noexcept {
    for (std::size_t word = 0; word < sets(); ++word) {
      const std::size_t rest = size() - word * 64;
      const std::uint64_t beyond = rest >= 64 ? 0 : ~std::uint64_t{0} << rest;
      // (W23): relaxed alone: whoever destroys the heap knows that all waits have returned.
      if ((taken_[word].load(std::memory_order_relaxed) & ~beyond) != 0) return true;
    }
    return false;
  }

  /// Says what the release of the slot wakes; null for its own thread. Only the owner may call it, before it arms.
  void set_waker(std::size_t slot, waker* woken) noexcept { wakers_[slot].store(woken); }

  /// Whether only the thread that has released the slot may wake its owner. Only that thread may ask.
  bool is_for_signaller(std::size_t slot) noexcept {
    const waker* const woken = wakers_[slot].load();
    return woken != nullptr && woken->caller() == waker_caller::signaller;
  }

  /// Returns the word on which the owner sleeps.
  counter& state(std::size_t slot) noexcept { return states_[slot]; }

  /// Lets the owner look again, without a release.
  void nudge(std::size_t slot) noexcept {
    // (W3): release, pairs with (W2). The word is a counter and not a state, so a late wake only makes the slot's next
    // owner look once more.
    states_[slot].fetch_add(one_wake, std::memory_order_release);
    Platform::unpark(states_[slot], 1);
  }

  /// Wakes the owner of a slot that the calling thread has released, or whose bit it has taken with take_unwoken().
  /// Returns whether it may have woken a thread, which will withdraw the registration. Where it has not, the owner may
  /// be a thread that looks by itself, or one that a fork has left behind.
  bool wake(std::size_t slot, release_reason why) noexcept {
    waker* const woken = wakers_[slot].load();
    const bool is_awake = woken != nullptr && woken->wake(why);
    // (W4): acq_rel. Release for (W2) and (W8): a waiter that sees the count of its release also sees the value that
    // made it due; and a waker is not used after it. Acquire, pairs with (W9): whoever frees the slot has seen what its
    // owner did.
    const std::uint32_t before = states_[slot].fetch_add(one_wake | handled, std::memory_order_acq_rel);
    if (woken != nullptr) {
      if ((before & left) != 0) Platform::unpark(states_[slot], 1);
      return is_awake;
    }
    if ((before & left) != 0) {
      finish(slot);
      return false;
    }
    return Platform::unpark(states_[slot], 1);
  }

  /// The owner gives up a slot that was released, and must not use it afterwards. Returns whether the wake was handled
  /// by then. For a slot with a waker it waits until the wake is handled.
  /// \param handle_unwoken  called if this thread has taken the slot's unwoken bit; it must wake() the slot
  bool leave_released(std::size_t slot, const auto& handle_unwoken) noexcept {
    // (W21): relaxed alone: the owner looks at its own bit.
    const bool is_taken = (taken_[slot / 64].load(std::memory_order_relaxed) & bit_of(slot)) != 0;
    TIDEMARK_ASSERT(is_taken, "a registration was withdrawn twice");
    if (!is_taken) return false;
    const bool has_waker = wakers_[slot].load() != nullptr;
    const auto look = [&] {
      // (W8): acquire, pairs with (W4). Not stronger: without the mark, (W9) looks again.
      return (states_[slot].load(std::memory_order_acquire) & handled) != 0;
    };
    bool is_handled = look();
    // A thread that uses a waker is mostly about to return from the call that has woken this one.
    for (unsigned looks = 1; has_waker && !is_handled && looks < most_looks; ++looks) {
      Platform::pause();
      is_handled = look();
    }
    while (!is_handled) {
      if (has_waker && take_unwoken(slot)) handle_unwoken();
      // (W9): acq_rel, pairs with (W4): see there. The thread that comes second frees the slot.
      const std::uint32_t before = states_[slot].fetch_or(left, std::memory_order_acq_rel);
      is_handled = (before & handled) != 0;
      if (is_handled) break;
      if (!has_waker) return false;
      Platform::park(states_[slot], before | left, no_deadline);
    }
    finish(slot);
    return true;
  }

  /// Leaves a released slot to whoever takes it, to be woken. Called by the thread that has released it.
  void put_unwoken(std::size_t slot) noexcept {
    // (W10): release, pairs with (W11): whoever wakes the owner has seen what released it.
    unwoken_[slot / 64].fetch_or(bit_of(slot), std::memory_order_release);
  }
  /// Takes the slot if nobody else has. The thread that takes it must wake its owner.
  bool take_unwoken(std::size_t slot) noexcept {
    // (W11): acquire, pairs with (W10).
    return (unwoken_[slot / 64].fetch_and(~bit_of(slot), std::memory_order_acquire) & bit_of(slot)) != 0;
  }
  /// Takes one of the slots and returns it, or no_slot.
  std::size_t take_unwoken() noexcept {
    for (std::size_t word = 0; word < sets(); ++word) {
      // (W12): relaxed alone: a guess, which (W11) verifies. A thread whose wake was handled (W4) sees the bits of the
      // pass that released it, see (W16).
      for (std::uint64_t rest = unwoken_[word].load(std::memory_order_relaxed); rest != 0; rest &= rest - 1) {
        const std::size_t slot = word * 64 + static_cast<std::size_t>(std::countr_zero(rest));
        if (take_unwoken(slot)) return slot;
      }
    }
    return no_slot;
  }

 private:
  static constexpr std::uint32_t handled = 1;
  static constexpr std::uint32_t left = 2;
  static constexpr std::uint32_t one_wake = 4;
  static constexpr unsigned most_looks = [] {
    if constexpr (requires { Platform::spin_looks(); }) {
      return 1U;  // under a model checker
    } else {
      return 200U;
    }
  }();

  std::size_t sets() const noexcept { return tree_.shape().sets(); }
  static constexpr std::uint64_t bit_of(std::size_t slot) noexcept { return std::uint64_t{1} << (slot % 64); }

  /// Both threads are done with the slot.
  void finish(std::size_t slot) noexcept {
    // (W13): relaxed alone: the other thread is done with the word.
    const std::uint32_t state = states_[slot].load(std::memory_order_relaxed);
    // (W20): relaxed alone: the next owner gets the word through (W7) (W6).
    states_[slot].store(state & ~(handled | left), std::memory_order_relaxed);
    free_slot(slot);
  }

  min_tree<Platform, Arity> tree_;
  typename Platform::template atomic<std::uint64_t>* taken_;
  typename Platform::template atomic<std::uint64_t>* unwoken_;
  counter* states_;
  typename Platform::template var<waker*>* wakers_;
};

/// The words of a block whose number of slots the compiler knows.
template <class Platform, std::size_t Slots, std::size_t Arity>
class fixed_slots {
 protected:
  static constexpr tree_shape<Arity> shape{Slots};

  slot_words<Platform, Arity> words() noexcept {
    return {siblings_.data(), taken_.data(), unwoken_.data(), states_.data(), wakers_.data()};
  }

 private:
  std::array<siblings<Platform, Arity>, shape.groups()> siblings_;
  std::array<typename Platform::template atomic<std::uint64_t>, shape.sets()> taken_;
  std::array<typename Platform::template atomic<std::uint64_t>, shape.sets()> unwoken_;
  std::array<typename Platform::park_word, Slots> states_;
  std::array<typename Platform::template var<waker*>, Slots> wakers_;
};

/// The first block of a heap.
template <class Platform, std::size_t Slots, std::size_t Arity>
struct first_block : private fixed_slots<Platform, Slots, Arity>, slot_block<Platform, Arity> {
  first_block() noexcept : slot_block<Platform, Arity>{this->shape, this->words()} {}
};

/// The words of a block that is made later. They are allocated.
template <class Platform, std::size_t Arity>
class grown_slots {
 public:
  [[gnu::cold]] explicit grown_slots(std::size_t count) noexcept
      : shape_{count},
        has_memory_{allocate(words_.siblings, shape_.groups()) && allocate(words_.taken, shape_.sets()) &&
                    allocate(words_.unwoken, shape_.sets()) && allocate(words_.states, count) &&
                    allocate(words_.wakers, count)} {}
  grown_slots(grown_slots&& from) noexcept
      : shape_{from.shape_}, words_{std::exchange(from.words_, {})}, has_memory_{from.has_memory_} {}
  grown_slots& operator=(grown_slots&&) = delete;
  ~grown_slots() {
    delete[] words_.siblings;
    delete[] words_.taken;
    delete[] words_.unwoken;
    delete[] words_.states;
    delete[] words_.wakers;
  }

  bool has_memory() const noexcept { return has_memory_; }
  const tree_shape<Arity>& shape() const noexcept { return shape_; }
  const slot_words<Platform, Arity>& words() const noexcept { return words_; }

 private:
  template <class Word>
  static bool allocate(Word*& words, std::size_t count) noexcept {
    words = ::new (std::nothrow) Word[count];
    return words != nullptr;
  }

  tree_shape<Arity> shape_;
  slot_words<Platform, Arity> words_{};
  bool has_memory_;
};

/// A block by which a heap has grown. Its top is a child of the heap's root.
template <class Platform, std::size_t Arity>
class grown_block : private grown_slots<Platform, Arity>, public slot_block<Platform, Arity> {
 public:
  /// Returns null if there is no memory for it, or if it had too many slots.
  /// \param older  the block that was linked before, or null
  [[gnu::cold, gnu::noinline]] static grown_block* make(std::size_t count, grown_block* older) noexcept {
    if (count > tree_shape<Arity>::most_leaves) return nullptr;
    grown_slots<Platform, Arity> made{count};
    return made.has_memory() ? ::new (std::nothrow) grown_block{std::move(made), older} : nullptr;
  }

  tree_word<Platform> top;
  grown_block* const next;

 private:
  grown_block(grown_slots<Platform, Arity>&& made, grown_block* older) noexcept
      : grown_slots<Platform, Arity>{std::move(made)},
        slot_block<Platform, Arity>{grown_slots<Platform, Arity>::shape(), grown_slots<Platform, Arity>::words()},
        next{older} {}
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_HEAP_SLOTS_HPP
