// SPDX-License-Identifier: BSL-1.0
//
// The lock-free min-trees inside a waiter heap: threads set and clear leaves, and the root holds the least leaf.
//
//            root {least, version}  <--- lane, and one top for each block by which the heap has grown
//           /    \                       The root lies in the heap; below it, level by level:
//       node      node                   body_ = [ leaves | first level of nodes | ... | children of the root ]
//      /    \    /    \                  Siblings fill whole cache lines when Arity is 4.
//   leaf  leaf  leaf  leaf
//
// Every word is a double word {value, version}. A leaf holds `target - 1`, or `no_minimum` when it is empty. A node
// holds the least of the values that its last refresh has read from its children, one after the other. The tree of a
// later block looks the same below its top, which is one more child of the root.
//
// Who writes what. The owner of a slot arms its leaf. Of all threads that try to clear the leaf, the one clears it
// whose exchange succeeds. Only refreshes write nodes, from any thread. Each write raises the version of the word,
// which is never reset.
//
// The invariant, for a leaf change C by thread T and the nodes above it: once T has refreshed each of them, from the
// leaf to the root, each node on the path has been written by a refresh that saw C or a later state of that leaf, and
// every later write of these nodes has seen it, too.
//
// Why two tries are enough. T's change C, T's load of the node (H5), the exchange (H8), the child loads (H6) (H7) (H20)
// (H22) and the load of the newest block (H18) are all sequentially consistent. If both tries of T fail, then two
// exchanges x1 and x2 of other threads have succeeded: x1 after T's first load of the node, x2 after T's second. No
// version comes twice, so x2 was based on a load of the node that came after x1.
//
//      T:   C ---- load node ------------ exchange fails, load node ------------ exchange fails
//      others:              x1 succeeds                 (load node, load children,) x2 succeeds
//
// In the single total order, C comes before T's first load, which comes before x1, which comes before x2's load of
// the node, which comes before x2's loads of the children. So x2 has seen C. The argument needs two tries, an
// exchange that does not fail for no reason, versions, and child loads that are not stale; for each of them the model
// checks have a twin without it that fails. It holds for the root's other children, too: their changes are (H8) of a
// top, (H11), (H13) and (H15) of the lane, and (H24), (H26), (H28) and (H34) of the hold.
//
// Not promised: between a leaf change and the end of its refresh, nodes may hold more or less than their least leaf.
#ifndef TIDEMARK_FENCE_DETAIL_MIN_TREE_HPP
#define TIDEMARK_FENCE_DETAIL_MIN_TREE_HPP

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

constexpr std::size_t divide_up(std::size_t count, std::size_t by) noexcept { return (count + by - 1) / by; }

/// Where each level of a tree begins in its array. Level 0 holds the leaves. Level `depth` is the top, which does not
/// lie in the array. Every level is filled up to whole groups of siblings.
template <std::size_t Arity>
class tree_shape {
 public:
  static constexpr std::size_t most_leaves = (std::size_t{1} << 30) - 1;
  static_assert(Arity > 1 && Arity <= most_leaves, "a node of a waiter heap has at least two children");

  /// \param leaves  1 to `most_leaves`
  explicit constexpr tree_shape(std::size_t leaves) noexcept : leaves_{static_cast<std::uint32_t>(leaves)} {
    for (std::size_t groups = divide_up(leaves, Arity);; groups = divide_up(groups, Arity)) {
      first_[depth_ + 1] = first_[depth_] + static_cast<std::uint32_t>(groups * Arity);
      ++depth_;
      if (groups == 1) return;
    }
  }

  constexpr std::size_t leaves() const noexcept { return leaves_; }
  constexpr std::size_t depth() const noexcept { return depth_; }
  constexpr std::size_t first(std::size_t level) const noexcept { return first_[level]; }
  /// Returns how many groups of siblings there are.
  constexpr std::size_t groups() const noexcept { return first(depth()) / Arity; }
  /// Returns how many sets of 64 leaves there are.
  constexpr std::size_t sets() const noexcept { return divide_up(leaves(), 64); }

 private:
  std::uint32_t leaves_;
  std::uint32_t depth_ = 0;
  std::array<std::uint32_t, 31> first_{};  // for 2^30 leaves, where each node has two children
};

/// The least value of a tree in which no leaf is set.
inline constexpr std::uint64_t no_minimum = UINT64_MAX;

template <class Platform>
struct tree_word : Platform::double_word {
  tree_word() noexcept : Platform::double_word(no_minimum) {}
};

/// Recomputes a node of the tree after a change of one of its children. Progress: wait-free.
/// \param least_child  returns the least value of the node's children, each loaded with seq_cst
template <class Node, class LeastChild>
void refresh_node(Node& node, const LeastChild& least_child) noexcept {
  for (int attempt = 0; attempt < 2; ++attempt) {
    // (H5): seq_cst, the load of the node in the argument at the head; the children are read after it, by (H6) (H7).
    versioned seen = node.load(std::memory_order_seq_cst);
    const versioned next{least_child(), seen.version + 1};
    // (H8): seq_cst, the x of the head; of a root its release half is for (SF15). The version rises even when the least
    // value does not change; otherwise x2 could rest on old children. Relaxed on failure: the next (H5) reads the node
    // again.
    if (node.compare_exchange_strong(seen, next, std::memory_order_seq_cst, std::memory_order_relaxed)) return;
  }
}

/// Siblings, which share a cache line if there is room.
template <class Platform, std::size_t Arity>
struct alignas(std::bit_floor(Arity * 16) < cache_line ? std::bit_floor(Arity * 16) : cache_line) siblings {
  std::array<tree_word<Platform>, Arity> words;
};

/// The leaves and nodes of one tree, without its top node. They lie in memory of somebody else.
template <class Platform, std::size_t Arity>
class min_tree {
 public:
  using shape_type = tree_shape<Arity>;
  /// \param body  as many as the shape has groups
  min_tree(const shape_type& shape, siblings<Platform, Arity>* body) noexcept : shape_{&shape}, body_{body} {}
  min_tree(const min_tree&) = delete;
  min_tree& operator=(const min_tree&) = delete;

  const shape_type& shape() const noexcept { return *shape_; }

  /// Fills the empty leaf. Returns the version that marks this filling. Only the owner of the slot may call it.
  /// Progress: wait-free.
  std::uint64_t arm(std::size_t leaf, std::uint64_t value) noexcept {
    versioned armed{value, 0};
    const bool done = try_arm(leaf, armed);
    TIDEMARK_ASSERT(done, "the slot of a waiter was armed twice");
    static_cast<void>(done);
    return armed.version;
  }

  /// Fills the leaf with `armed.value`, whatever it held, and sets `armed.version` to what marks this filling. Returns
  /// false if another thread has changed the leaf meanwhile; where only the owner of the slot calls it, and leaves are
  /// empty when they change hands, that does not happen. Progress: wait-free.
  bool try_arm(std::size_t leaf, versioned& armed) noexcept {
    // (H1): relaxed; only the owner of the slot calls it, and has taken over the leaf's last state with (W6), or (SF1)
    // in a shared heap. A stronger order would add nothing.
    versioned before = word(leaf).load(std::memory_order_relaxed);
    armed.version = before.version + 1;
    // (H2): seq_cst, the C of the head of this file: neither a child load (H6) nor (H16) that comes later in the total
    // order may miss it. A release store passes nearly every test and still loses wake-ups.
    return word(leaf).compare_exchange_strong(before, armed, std::memory_order_seq_cst, std::memory_order_relaxed);
  }

  /// Empties the leaf if it is still `armed`, and returns whether it did. Of all threads that try, exactly one
  /// succeeds: a claim, a withdrawal and a time-out all are this exchange. Progress: wait-free.
  bool clear(std::size_t leaf, versioned armed) noexcept {
    const versioned empty{no_minimum, armed.version + 1};
    // (H3): seq_cst on success, a leaf change like (H2). Its release half hands over what the thread that succeeds
    // has seen to the one that fails. Acquire on failure: a waiter that finds itself claimed must see the value that
    // made it due, see (F8).
    return word(leaf).compare_exchange_strong(armed, empty, std::memory_order_seq_cst, std::memory_order_acquire);
  }

  /// Empties the leaf, whatever it holds, if no other thread changes it meanwhile. Returns whether it is empty now.
  /// Progress: wait-free.
  bool clear_any(std::size_t leaf) noexcept {
    // (H30): relaxed alone: an older one only makes (H3) fail. Whoever cleans knows of the owner's (H2) by its lock.
    const versioned seen = word(leaf).load(std::memory_order_relaxed);
    return seen.value == no_minimum || clear(leaf, seen);
  }

  /// Empties the leaves and nodes that were made of bytes of 0 and never changed. The nodes must be refreshed then.
  /// Each thread must have called it before it uses the tree, or come after one that has. Progress: wait-free.
  void fill_zeros() noexcept {
    for (std::size_t at = 0; at < shape().first(shape().depth()); ++at) {
      versioned zero{};
      // (H32): relaxed alone: no C or x of the head. Whoever loads or changes a word has made this exchange before, or
      // comes after it by (SF15). So it finds that state or a later one, also where its own exchange has failed.
      word(at).compare_exchange_strong(zero, {no_minimum, 1}, std::memory_order_relaxed, std::memory_order_relaxed);
    }
  }

  /// Returns the value of a leaf, for audits. Progress: wait-free.
  std::uint64_t value_of(std::size_t leaf) const noexcept {
    // (H31): relaxed alone: it takes part in no handshake.
    return word(leaf).load_value(std::memory_order_relaxed);
  }

  /// Returns whether the leaf still holds what was armed with `version`. Progress: wait-free.
  bool is_armed(std::size_t leaf, std::uint64_t version) const noexcept {
    // (H4): acquire, pairs with the release half of (H3). With relaxed, a caller could find itself released without
    // seeing the value that released it.
    return word(leaf).load_version(std::memory_order_acquire) == version;
  }

  /// Recomputes every node above a leaf except the top, which must follow. Progress: wait-free, O(log n).
  void refresh_path(std::size_t leaf) noexcept {
    std::size_t index = leaf / Arity;
    for (std::size_t level = 1; level < shape().depth(); ++level, index /= Arity) refresh(level, index);
  }

  /// Returns the least of the top's children in this tree. Progress: wait-free.
  std::uint64_t least_below_top() const noexcept { return least_child(shape().depth(), 0); }

  /// Makes one pass: empties each leaf whose value is less than `current()`, and calls `on_cleared(leaf)`; refreshes
  /// every node that it enters, children before parents, except the top, which must follow. Progress: wait-free,
  /// O(k log n).
  /// \param reached  what `current()` has returned before
  template <class CurrentValue, class OnCleared>
  void clear_due(std::uint64_t reached, const CurrentValue& current, const OnCleared& on_cleared) noexcept {
    clear_due_below(shape().depth(), 0, reached, current, on_cleared);
  }

 private:
  tree_word<Platform>& word(std::size_t at) const noexcept { return body_[at / Arity].words[at % Arity]; }

  void refresh(std::size_t level, std::size_t index) noexcept {
    refresh_node(word(shape().first(level) + index), [&] { return least_child(level, index); });
  }

  std::uint64_t least_child(std::size_t level, std::size_t index) const noexcept {
    std::uint64_t least = no_minimum;
    for (const auto& child : body_[shape().first(level - 1) / Arity + index].words) {
      // (H6): seq_cst, so that it is never older than a change (H2) (H3) (H8) that comes before it in the total order.
      const std::uint64_t value = child.load_value(std::memory_order_seq_cst);
      if (value < least) least = value;
    }
    return least;
  }

  template <class CurrentValue, class OnCleared>
  void clear_due_below(std::size_t level, std::size_t index, std::uint64_t reached, const CurrentValue& current,
                       const OnCleared& on_cleared) noexcept {
    const std::size_t begin = index * Arity;
    for (std::size_t child = begin; child < begin + Arity; ++child) {
      if (level == 1) {
        if (child < shape().leaves() && clear_if_due(child, current)) on_cleared(child);
        continue;
      }
      // (H9): seq_cst, in the total order after the signal (F1) that the caller knows of. A waiter that registered
      // before that signal is found, because its (H8) comes before this load; a waiter that registers later sees the
      // value. Relaxed or acquire is not enough if the caller has learnt of the signal from a log and not from the
      // root: it may not have seen any (H8) below the root then.
      const std::uint64_t least = word(shape().first(level - 1) + child).load_value(std::memory_order_seq_cst);
      if (least >= reached) continue;
      clear_due_below(level - 1, child, reached, current, on_cleared);
      refresh(level - 1, child);
    }
  }

  /// Reads the leaf before the current value. In a tree that is used again for a second timeline, a late pass of the
  /// first one must not compare a leaf of the second with the value of the first.
  template <class CurrentValue>
  bool clear_if_due(std::size_t leaf, const CurrentValue& current) noexcept {
    // (H16): seq_cst, in the total order after (F2). Its acquire half pairs with (H2): a leaf of the second timeline
    // brings that timeline's value with it. Acquire alone is not enough: where a double word is written half by half
    // (in the fallback, and in the model), the version may come out older than the value. The exchange would fail
    // then, and the waiter would sleep on.
    const versioned seen = word(leaf).load(std::memory_order_seq_cst);
    return seen.value < current() && clear(leaf, seen);
  }

  const shape_type* shape_;
  siblings<Platform, Arity>* body_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_MIN_TREE_HPP
