// SPDX-License-Identifier: BSL-1.0
//
// The lock-free min-tree inside a waiter heap: leaves that threads set and clear, and a root that holds the least of
// them.
//
//            root {least, version}  <--- lane_ (occupied: counts as 0)
//           /    \                       The root lies beside what is kept hot, the rest follows level by level:
//       node      node                   body_ = [ leaves | first level of nodes | ... | children of the root ]
//      /    \    /    \                  Siblings fill whole cache lines when Arity is 4.
//   leaf  leaf  leaf  leaf
//
// Every word is a double word {value, version}. A leaf holds `target - 1`, or `no_waiter` when it is empty; a node
// holds the least value of its children at some moment of its last refresh.
//
// Who writes: a leaf is armed by the owner of its slot and cleared by whoever wins the one exchange that clears it; a
// node is written by refreshes only, from any thread. Versions rise with every write and are never reset.
//
// The invariant, for a leaf change C by thread T and the nodes above it: once T has returned from refresh_path(), each
// node on the path has been written by a refresh that saw C or a later state of that leaf, and so has every later write
// of these nodes.
//
// Why two tries are enough. T's change C, T's load of the node (H5), the exchange (H8) and the child loads (H6) (H7)
// are one group of sequentially consistent operations. If both tries of T fail, then two exchanges X1 and X2 of others
// succeeded: X1 after T's first load of the node, X2 after T's second. No version comes twice, so X2 was based on a
// load that came after X1.
//
//      T:   C ---- load node ------------ exchange fails, load node ------------ exchange fails
//      others:              X1 succeeds                 (load node, load children,) X2 succeeds
//
// In the single total order C comes before T's first load, that before X1, that before X2's load of the node, and that
// before X2's loads of the children: X2 has seen C. With one try, with an exchange that may fail for no reason, without
// versions, or with a child load that may be stale, this falls; the model checks have one broken twin for each.
//
// Not promised: between a leaf change and the end of its refresh the nodes may hold more or less than the least leaf.
#ifndef TIDEMARK_DETAIL_MIN_TREE_HPP
#define TIDEMARK_DETAIL_MIN_TREE_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../platform.hpp"

namespace tidemark {

/// The value of `monitored_value` when nobody waits (A15).
inline constexpr std::uint64_t no_waiter = UINT64_MAX;

namespace detail {

/// Where each level of the tree lies in one array; level 0 holds the leaves, level `depth` is the root and lies
/// elsewhere.
template <std::size_t Leaves, std::size_t Arity>
struct tree_shape {
  static_assert(Leaves > 0 && Arity > 1);

  static constexpr std::size_t nodes_above(std::size_t children) { return (children + Arity - 1) / Arity; }

  static constexpr std::size_t depth = [] {
    std::size_t levels = 1;
    for (std::size_t width = nodes_above(Leaves); width > 1; width = nodes_above(width)) ++levels;
    return levels;
  }();

  /// first[l] is where level l begins; every level is filled up to whole groups of siblings.
  static constexpr std::array<std::size_t, depth + 1> first = [] {
    std::array<std::size_t, depth + 1> begin{};
    std::size_t groups = nodes_above(Leaves);
    for (std::size_t level = 0; level < depth; ++level, groups = nodes_above(groups)) {
      begin[level + 1] = begin[level] + groups * Arity;
    }
    return begin;
  }();

  static constexpr std::size_t body_size = first[depth];
};

/// The fixed set of slots that a pass over the tree has cleared; lies on the stack.
template <std::size_t Capacity>
class slot_set {
 public:
  void insert(std::size_t slot) noexcept { words_[slot / 64] |= std::uint64_t{1} << (slot % 64); }

  template <class Visit>
  std::size_t for_each(Visit visit) const noexcept {
    std::size_t count = 0;
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (std::uint64_t rest = words_[word]; rest != 0; rest &= rest - 1, ++count) {
        visit(word * 64 + static_cast<std::size_t>(std::countr_zero(rest)));
      }
    }
    return count;
  }

 private:
  std::array<std::uint64_t, (Capacity + 63) / 64> words_{};
};

template <class Platform>
struct tree_word : Platform::double_word {
  tree_word() noexcept : Platform::double_word(no_waiter) {}
};

/// Nothing: the default neighbour of a root.
struct no_neighbor {};

/// `Neighbor` is an object that shall lie on the root's cache line.
template <std::size_t Leaves, class Platform, std::size_t Arity, class Neighbor>
class min_tree {
 public:
  template <class... Arguments>
  explicit min_tree(Arguments&&... neighbor) noexcept : neighbor_(std::forward<Arguments>(neighbor)...), lane_{0} {}
  min_tree(const min_tree&) = delete;
  min_tree& operator=(const min_tree&) = delete;

  Neighbor& neighbor() noexcept { return neighbor_; }
  const Neighbor& neighbor() const noexcept { return neighbor_; }

  /// The root, whose value half is the least value of all leaves.
  const typename Platform::double_word& root() const noexcept { return root_; }

  /// The leaf as its slot's owner finds it. Progress: wait-free.
  versioned peek(std::size_t leaf) const noexcept {
    // (H1): relaxed; only for the owner of the slot, who took over the leaf's last state with (W6). Stronger adds
    // nothing.
    return body_[leaf].load(std::memory_order_relaxed);
  }

  /// Owner only: fills the empty leaf. Returns the version that marks this filling. Progress: wait-free.
  std::uint64_t arm(std::size_t leaf, std::uint64_t value) noexcept {
    versioned empty = peek(leaf);
    const versioned armed{value, empty.version + 1};
    // (H2): seq_cst, the C of the head of this file: a child load (H6) that comes later in the total order must not
    // miss it, nor (H16). A release store survives nearly every test and still loses wake-ups. Nothing is stronger.
    const bool done =
        body_[leaf].compare_exchange_strong(empty, armed, std::memory_order_seq_cst, std::memory_order_relaxed);
    TIDEMARK_ASSERT(done, "a waiter's slot was armed twice");
    static_cast<void>(done);
    return armed.version;
  }

  /// Empties the leaf if it still is `armed`. Of all who try, one wins: claim, withdrawal and time-out are this one
  /// exchange. Progress: wait-free.
  bool clear(std::size_t leaf, versioned armed) noexcept {
    const versioned empty{no_waiter, armed.version + 1};
    // (H3): seq_cst on success, a leaf change like (H2), and its release half hands what the claimer saw to the loser.
    // Acquire on failure: a waiter that finds itself claimed must then see the value that made it due, see (F8).
    return body_[leaf].compare_exchange_strong(armed, empty, std::memory_order_seq_cst, std::memory_order_acquire);
  }

  /// True while the leaf still holds what was armed with `version`. Progress: wait-free.
  bool is_armed(std::size_t leaf, std::uint64_t version) const noexcept {
    // (H4): acquire, pairs with the release half of (H3). Relaxed would let the caller act on its release without
    // seeing why.
    return body_[leaf].load_version(std::memory_order_acquire) == version;
  }

  /// Recomputes every node above a leaf. Progress: wait-free, O(log n).
  void refresh_path(std::size_t leaf) noexcept {
    std::size_t index = leaf / Arity;
    for (std::size_t level = 1; level <= shape::depth; ++level, index /= Arity) refresh(level, index);
  }

  /// Joins those who share the lane. Progress: wait-free.
  void enter_lane() noexcept {
    // (H10): seq_cst, a change of a child of the root like (H2); read by (H7) and (H12).
    lane_.fetch_add(1, std::memory_order_seq_cst);
    refresh(shape::depth, 0);
  }

  /// Progress: wait-free.
  void leave_lane() noexcept {
    // (H11): seq_cst, as (H10).
    const std::uint32_t before = lane_.fetch_sub(1, std::memory_order_seq_cst);
    TIDEMARK_ASSERT((before & ~pinned_bit) != 0, "a registration was withdrawn twice");
    static_cast<void>(before);
    refresh(shape::depth, 0);
  }

  /// Occupies the lane for good, so that the least value is 0 from now on; before the tree is shared.
  void pin() noexcept {
    // (H14): relaxed alone, since no other thread knows the tree yet.
    lane_.store(pinned_bit, std::memory_order_relaxed);
    refresh(shape::depth, 0);
  }

  bool is_pinned() const noexcept {
    // (H15): relaxed alone; the bit never changes once the tree is shared.
    return (lane_.load(std::memory_order_relaxed) & pinned_bit) != 0;
  }

  /// Whether anybody shares the lane, as the clear_due() that this thread has just called found it, or later.
  bool lane_has_members() const noexcept {
    // (H12): relaxed, but only behind clear_due(), which refreshes the root: (H7) has loaded the same word there, and this
    // load can't find an older value. Read before the pass, it may miss (H10).
    return (lane_.load(std::memory_order_relaxed) & ~pinned_bit) != 0;
  }

  /// One pass: empties each leaf whose value is less than `current()` and puts its slot into `cleared`; refreshes every
  /// node that it enters, children before parents. `current` is any callable that returns the value reached so far.
  /// Progress: wait-free, O(k log n).
  template <class CurrentValue>
  void clear_due(const CurrentValue& current, slot_set<Leaves>& cleared) noexcept {
    clear_due_below(shape::depth, 0, current(), current, cleared);
  }

 private:
  using shape = tree_shape<Leaves, Arity>;
  static constexpr std::uint32_t pinned_bit = std::uint32_t{1} << 31;

  typename Platform::double_word& node_at(std::size_t level, std::size_t index) noexcept {
    return level == shape::depth ? root_ : body_[shape::first[level] + index];
  }

  void refresh(std::size_t level, std::size_t index) noexcept {
    auto& node = node_at(level, index);
    for (int attempt = 0; attempt < 2; ++attempt) {
      // (H5): seq_cst, the load of the node in the head's argument; the children (H6) (H7) are read after it.
      versioned seen = node.load(std::memory_order_seq_cst);
      const versioned next{least_child(level, index), seen.version + 1};
      // (H8): seq_cst, the X of the head; the version rises even when the least value stays, or X2 could rest on old
      // children. Relaxed on failure: the next (H5) reads the node again.
      if (node.compare_exchange_strong(seen, next, std::memory_order_seq_cst, std::memory_order_relaxed)) return;
    }
  }

  std::uint64_t least_child(std::size_t level, std::size_t index) const noexcept {
    std::uint64_t least = no_waiter;
    const std::size_t begin = shape::first[level - 1] + index * Arity;
    for (std::size_t child = begin; child < begin + Arity; ++child) {
      // (H6): seq_cst, so that it can't be older than a change (H2) (H3) (H8) that comes before it in the total order.
      const std::uint64_t value = body_[child].load_value(std::memory_order_seq_cst);
      if (value < least) least = value;
    }
    if (level != shape::depth) return least;
    // (H7): seq_cst like (H6); the lane's own word is a child of the root, its changes are (H10) and (H11).
    const std::uint32_t occupied = lane_.load(std::memory_order_seq_cst);
    return occupied == 0 ? least : 0;
  }

  template <class CurrentValue>
  void clear_due_below(std::size_t level, std::size_t index, std::uint64_t reached, const CurrentValue& current,
                       slot_set<Leaves>& cleared) noexcept {
    const std::size_t begin = index * Arity;
    for (std::size_t child = begin; child < begin + Arity; ++child) {
      if (level == 1) {
        if (child < Leaves && clear_if_due(child, current)) cleared.insert(child);
        continue;
      }
      // (H9): seq_cst, in the total order after the signal (F1) that the caller knows of. A waiter that registered before
      // that signal is found, because its (H8) comes first; a waiter that registers later sees the value. Relaxed or
      // acquire is not enough where the caller learnt of the signal from a log and not from the root: then nothing has
      // shown it the (H8) below the root.
      const std::uint64_t least = body_[shape::first[level - 1] + child].load_value(std::memory_order_seq_cst);
      if (least < reached) clear_due_below(level - 1, child, reached, current, cleared);
    }
    refresh(level, index);
  }

  /// The leaf is read before the current value: in a tree that is used again for another timeline, a pass left over
  /// from the first one must not measure a leaf of the second by the value of the first.
  template <class CurrentValue>
  bool clear_if_due(std::size_t leaf, const CurrentValue& current) noexcept {
    // (H16): seq_cst, in the total order after (F2). Its acquire half pairs with (H2): a leaf of the second timeline
    // brings that timeline's value along. With no more than that a version may come out older than its value where a
    // double word is written half by half (the fallback, and the model); the exchange then fails, and the waiter sleeps
    // on.
    const versioned seen = body_[leaf].load(std::memory_order_seq_cst);
    return seen.value < current() && clear(leaf, seen);
  }

  [[no_unique_address]] Neighbor neighbor_;
  tree_word<Platform> root_;
  typename Platform::template atomic<std::uint32_t> lane_;
  alignas(cache_line) std::array<tree_word<Platform>, shape::body_size> body_;
};

}  // namespace detail
}  // namespace tidemark

#endif  // TIDEMARK_DETAIL_MIN_TREE_HPP
