// SPDX-License-Identifier: BSL-1.0
//
// The lock-free min-tree inside a waiter heap: threads set and clear its leaves, and the root holds the least leaf.
//
//            root {least, version}  <--- lane_ (occupied: counts as 0)
//           /    \                       The root lies beside the neighbour; the rest follows level by level:
//       node      node                   body_ = [ leaves | first level of nodes | ... | children of the root ]
//      /    \    /    \                  Siblings fill whole cache lines when Arity is 4.
//   leaf  leaf  leaf  leaf
//
// Every word is a double word {value, version}. A leaf holds `target - 1`, or `no_minimum` when it is empty. A node
// holds the least value that its children had at some moment of its last refresh.
//
// Who writes what. The owner of a slot arms its leaf. Of all threads that try to clear the leaf, the one clears it
// whose exchange succeeds. Only refreshes write nodes, from any thread. Each write raises the version of the word,
// which is never reset.
//
// The invariant, for a leaf change C by thread T and the nodes above it: once T has returned from refresh_path(),
// each node on the path has been written by a refresh that saw C or a later state of that leaf, and every later write
// of these nodes has seen it, too.
//
// Why two tries are enough. T's change C, T's load of the node (H5), the exchange (H8) and the child loads (H6) (H7)
// are all sequentially consistent. If both tries of T fail, then two exchanges x1 and x2 of other threads have
// succeeded: x1 after T's first load of the node, x2 after T's second. No version comes twice, so x2 was based on a
// load of the node that came after x1.
//
//      T:   C ---- load node ------------ exchange fails, load node ------------ exchange fails
//      others:              x1 succeeds                 (load node, load children,) x2 succeeds
//
// In the single total order, C comes before T's first load, which comes before x1, which comes before x2's load of
// the node, which comes before x2's loads of the children. So x2 has seen C. The argument needs two tries, an
// exchange that does not fail for no reason, versions, and child loads that are not stale; for each of them the model
// checks have a twin without it that fails.
//
// Not promised: between a leaf change and the end of its refresh, nodes may hold more or less than their least leaf.
#ifndef TIDEMARK_FENCE_DETAIL_MIN_TREE_HPP
#define TIDEMARK_FENCE_DETAIL_MIN_TREE_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// The least value of a tree in which no leaf is set.
inline constexpr std::uint64_t no_minimum = UINT64_MAX;

/// Where each level of the tree lies in one array. Level 0 holds the leaves. Level `depth` is the root, which does
/// not lie in the array.
template <std::size_t Leaves, std::size_t Arity>
struct tree_shape {
  static_assert(Leaves > 0 && Arity > 1);

  static constexpr std::size_t nodes_above(std::size_t children) { return (children + Arity - 1) / Arity; }

  static constexpr std::size_t depth = [] {
    std::size_t levels = 1;
    for (std::size_t width = nodes_above(Leaves); width > 1; width = nodes_above(width)) ++levels;
    return levels;
  }();

  /// first[l] is where level l begins. Every level is filled up to whole groups of siblings.
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

/// The set of slots that a pass over the tree has cleared. It has a fixed size and lies on the stack.
template <std::size_t Capacity>
class slot_set {
 public:
  void insert(std::size_t slot) noexcept { words_[slot / 64] |= std::uint64_t{1} << (slot % 64); }
  bool is_empty() const noexcept {
    std::uint64_t any = 0;
    for (const std::uint64_t word : words_) any |= word;
    return any == 0;
  }

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
  tree_word() noexcept : Platform::double_word(no_minimum) {}
};

/// The default neighbour of a root: nothing.
struct no_neighbor {};

/// \tparam Neighbor  an object that must lie on the root's cache line
template <std::size_t Leaves, class Platform, std::size_t Arity, class Neighbor>
class min_tree {
 public:
  template <class... Arguments>
  explicit min_tree(Arguments&&... neighbor) noexcept : neighbor_(std::forward<Arguments>(neighbor)...), lane_{0} {}
  min_tree(const min_tree&) = delete;
  min_tree& operator=(const min_tree&) = delete;

  Neighbor& neighbor() noexcept { return neighbor_; }
  const Neighbor& neighbor() const noexcept { return neighbor_; }

  /// Returns the root, whose value half is the least value of all leaves.
  const typename Platform::double_word& root() const noexcept { return root_; }

  /// Returns the leaf. Only the owner of its slot may call it. Progress: wait-free.
  versioned peek(std::size_t leaf) const noexcept {
    // (H1): relaxed; only the owner of the slot calls it, and has taken over the leaf's last state with (W6). A
    // stronger order would add nothing.
    return body_[leaf].load(std::memory_order_relaxed);
  }

  /// Fills the empty leaf. Returns the version that marks this filling. Only the owner of the slot may call it.
  /// Progress: wait-free.
  std::uint64_t arm(std::size_t leaf, std::uint64_t value) noexcept {
    versioned empty = peek(leaf);
    const versioned armed{value, empty.version + 1};
    // (H2): seq_cst, the C of the head of this file: neither a child load (H6) nor (H16) that comes later in the total
    // order may miss it. A release store passes nearly every test and still loses wake-ups. Nothing is stronger.
    const bool done =
        body_[leaf].compare_exchange_strong(empty, armed, std::memory_order_seq_cst, std::memory_order_relaxed);
    TIDEMARK_ASSERT(done, "the slot of a waiter was armed twice");
    static_cast<void>(done);
    return armed.version;
  }

  /// Empties the leaf if it is still `armed`, and returns whether it did. Of all threads that try, exactly one
  /// succeeds: a claim, a withdrawal and a time-out all are this exchange. Progress: wait-free.
  bool clear(std::size_t leaf, versioned armed) noexcept {
    const versioned empty{no_minimum, armed.version + 1};
    // (H3): seq_cst on success, a leaf change like (H2). Its release half hands over what the thread that succeeds
    // has seen to the one that fails. Acquire on failure: a waiter that finds itself claimed must see the value that
    // made it due, see (F8).
    return body_[leaf].compare_exchange_strong(armed, empty, std::memory_order_seq_cst, std::memory_order_acquire);
  }

  /// Returns whether the leaf still holds what was armed with `version`. Progress: wait-free.
  bool is_armed(std::size_t leaf, std::uint64_t version) const noexcept {
    // (H4): acquire, pairs with the release half of (H3). With relaxed, a caller could find itself released without
    // seeing the value that released it.
    return body_[leaf].load_version(std::memory_order_acquire) == version;
  }

  /// Recomputes every node above a leaf. Progress: wait-free, O(log n).
  void refresh_path(std::size_t leaf) noexcept {
    std::size_t index = leaf / Arity;
    for (std::size_t level = 1; level <= shape::depth; ++level, index /= Arity) refresh(level, index);
  }

  /// Adds the calling thread to the lane. Progress: wait-free.
  void enter_lane() noexcept {
    // (H10): seq_cst, a change of a child of the root like (H2). (H7) and (H12) read it.
    lane_.fetch_add(1, std::memory_order_seq_cst);
    refresh(shape::depth, 0);
  }

  /// Removes a thread from the lane. Progress: wait-free.
  void leave_lane() noexcept {
    // (H11): seq_cst, like (H10).
    const std::uint32_t before = lane_.fetch_sub(1, std::memory_order_seq_cst);
    TIDEMARK_ASSERT((before & ~pinned_bit) != 0, "a registration was withdrawn twice");
    static_cast<void>(before);
    refresh(shape::depth, 0);
  }

  /// Occupies the lane for ever, so that the least value is 0 from now on. Must be called before the tree is shared.
  void pin() noexcept {
    // (H14): relaxed alone, because no other thread knows the tree yet.
    lane_.store(pinned_bit, std::memory_order_relaxed);
    refresh(shape::depth, 0);
  }

  bool is_pinned() const noexcept {
    // (H15): relaxed alone; the bit does not change once the tree is shared.
    return (lane_.load(std::memory_order_relaxed) & pinned_bit) != 0;
  }

  /// Returns whether any thread is in the lane. To be called after clear_due(), by the same thread: it does not miss
  /// a thread that was in the lane when that clear_due() looked.
  bool lane_has_members() const noexcept {
    // (H12): relaxed, but only after clear_due(), which refreshes the root: (H7) has loaded the same word there, and
    // this load can't return an older value. Before the pass it might miss (H10).
    return (lane_.load(std::memory_order_relaxed) & ~pinned_bit) != 0;
  }

  /// Makes one pass: empties each leaf whose value is less than `current()`, and puts its slot into `cleared`;
  /// refreshes every node that it enters, children before parents. Progress: wait-free, O(k log n).
  /// \param current  any callable that returns the value reached so far
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
      // (H5): seq_cst, the load of the node in the argument at the head; the children are read after it, by (H6) (H7).
      versioned seen = node.load(std::memory_order_seq_cst);
      const versioned next{least_child(level, index), seen.version + 1};
      // (H8): seq_cst, the x of the head. The version rises even when the least value does not change; otherwise x2
      // could rest on old children. Relaxed on failure: the next (H5) reads the node again.
      if (node.compare_exchange_strong(seen, next, std::memory_order_seq_cst, std::memory_order_relaxed)) return;
    }
  }

  std::uint64_t least_child(std::size_t level, std::size_t index) const noexcept {
    std::uint64_t least = no_minimum;
    const std::size_t begin = shape::first[level - 1] + index * Arity;
    for (std::size_t child = begin; child < begin + Arity; ++child) {
      // (H6): seq_cst, so that it is never older than a change (H2) (H3) (H8) that comes before it in the total order.
      const std::uint64_t value = body_[child].load_value(std::memory_order_seq_cst);
      if (value < least) least = value;
    }
    if (level != shape::depth) return least;
    // (H7): seq_cst like (H6). The lane's word is a child of the root, too; its changes are (H10) and (H11).
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
      // (H9): seq_cst, in the total order after the signal (F1) that the caller knows of. A waiter that registered
      // before that signal is found, because its (H8) comes before this load; a waiter that registers later sees the
      // value. Relaxed or acquire is not enough if the caller has learnt of the signal from a log and not from the
      // root: it may not have seen any (H8) below the root then.
      const std::uint64_t least = body_[shape::first[level - 1] + child].load_value(std::memory_order_seq_cst);
      if (least < reached) clear_due_below(level - 1, child, reached, current, cleared);
    }
    refresh(level, index);
  }

  /// Reads the leaf before the current value. In a tree that is used again for a second timeline, a late pass of the
  /// first one must not compare a leaf of the second with the value of the first.
  template <class CurrentValue>
  bool clear_if_due(std::size_t leaf, const CurrentValue& current) noexcept {
    // (H16): seq_cst, in the total order after (F2). Its acquire half pairs with (H2): a leaf of the second timeline
    // brings that timeline's value with it. Acquire alone is not enough: where a double word is written half by half
    // (in the fallback, and in the model), the version may come out older than the value. The exchange would fail
    // then, and the waiter would sleep on.
    const versioned seen = body_[leaf].load(std::memory_order_seq_cst);
    return seen.value < current() && clear(leaf, seen);
  }

  [[no_unique_address]] Neighbor neighbor_;
  tree_word<Platform> root_;
  typename Platform::template atomic<std::uint32_t> lane_;
  alignas(cache_line) std::array<tree_word<Platform>, shape::body_size> body_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_MIN_TREE_HPP
