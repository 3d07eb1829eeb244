// SPDX-License-Identifier: BSL-1.0
//
// loop_timelines: the timelines that a loop awaits, and for each of them the waits in the order of their targets. The
// least wait of a timeline stands for it. It is in one of three lists:
//
//   watched    the loop looks at the timeline's value
//   armed      the least wait is registered with the fence, whose signaller tells the loop
//   refused    it could not be registered: the loop looks at the value, and must look again soon
//
// A timeline is found by the address of its fence, in a hash table that grows if there is memory.
//
// Not thread-safe: the loop's lock protects it.
#ifndef TIDEMARK_FENCE_DETAIL_LOOP_TIMELINES_HPP
#define TIDEMARK_FENCE_DETAIL_LOOP_TIMELINES_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "fence_operations.hpp"
#include "linked_queue.hpp"

namespace tidemark::detail {

template <class Wait>
class loop_timelines {
 public:
  using list = linked_queue<Wait>;

  list& watched() noexcept { return watched_; }
  list& armed() noexcept { return armed_; }
  list& refused() noexcept { return refused_; }
  bool is_empty() const noexcept { return count_ == 0; }

  /// Adds a wait. If it is the least one of its timeline, the timeline is watched.
  /// \param disarm  is called with the wait that is no longer the least one, if that is armed. It must end its
  ///                registration with the fence.
  template <class Disarm>
  void insert(Wait& added, const Disarm& disarm) noexcept {
    added.is_registered = true;
    Wait*& bucket = bucket_of(added.to.fence);
    Wait* const least = find(bucket, added.to.fence);
    if (least == nullptr) [[likely]] {
      added.of_timeline.insert_one(added);
      return add_timeline(added, bucket);
    }
    least->of_timeline.insert(added);
    if (least->of_timeline.least() == least) return;
    if (least->ticket) disarm(*least);
    remove_timeline(*least);
    added.of_timeline = std::move(least->of_timeline);
    add_timeline(added, bucket);
  }

  /// Removes a wait. If it was the least one of its timeline, the next one is watched.
  template <class Disarm>
  void remove(Wait& removed, const Disarm& disarm) noexcept {
    removed.is_registered = false;
    Wait* const least = find(bucket_of(removed.to.fence), removed.to.fence);
    if (least != &removed) return least->of_timeline.remove(removed);
    if (removed.ticket) disarm(removed);
    remove_timeline(removed);
    auto others = std::move(removed.of_timeline);
    others.remove(removed);
    keep(std::move(others));
  }

  /// Removes the waits of a timeline that are over. Returns the least of them; `links.later` leads to the others.
  /// \param least  the least wait of a timeline that is not armed; it must be over
  /// \param now    the state of the fence
  Wait& take_over(Wait& least, fence_state now) noexcept {
    remove_timeline(least);
    if (!least.of_timeline.has_one()) return take_several_over(least, now);
    least.of_timeline.remove_one();
    take_one_over(least, now);
    return least;
  }

  /// Moves a timeline to another list.
  static void move(Wait& least, list& to) noexcept {
    least.is_in->remove(least);
    to.push(least);
    least.is_in = &to;
  }

  /// Calls `act` for each wait, which must not add or remove any.
  template <class Act>
  void clear(const Act& act) noexcept {
    for (list* const of : {&watched_, &armed_, &refused_}) {
      while (Wait* const least = of->first()) {
        remove_timeline(*least);
        while (Wait* const next = least->of_timeline.least()) {
          least->of_timeline.remove(*next);
          next->is_registered = false;
          act(*next);
        }
      }
    }
  }

 private:
  static void take_one_over(Wait& over, fence_state now) noexcept {
    over.is_registered = false;
    over.is_reached = now.has_reached(over.to.target);
  }
  [[gnu::noinline]] Wait& take_several_over(Wait& least, fence_state now) noexcept {
    auto waits = std::move(least.of_timeline);
    Wait* const first = waits.take_while([now](const Wait& one) { return now.is_over(one.to.target); },
                                         [now](Wait& one) { take_one_over(one, now); });
    keep(std::move(waits));
    return *first;
  }

  std::span<Wait*> buckets() noexcept {
    return many_ ? std::span{many_.get(), many_count_} : std::span{few_.data(), few_.size()};
  }
  static std::size_t hash(const void* fence, std::size_t buckets) noexcept {
    const auto address = as_integer<std::uint64_t>(reinterpret_cast<std::uintptr_t>(fence));
    return as_integer<std::size_t>((address * 0x9e3779b97f4a7c15U) >> 32) & (buckets - 1);
  }
  Wait*& bucket_of(const void* fence) noexcept {
    const std::span<Wait*> all = buckets();
    return all[hash(fence, all.size())];
  }
  static Wait* find(Wait* bucket, const void* fence) noexcept {
    Wait* least = bucket;
    while (least != nullptr && least->to.fence != fence) least = least->next_of_hash;
    return least;
  }

  void keep(decltype(Wait::of_timeline)&& waits) noexcept {
    Wait* const least = waits.least();
    if (least == nullptr) return;
    least->of_timeline = std::move(waits);
    add_timeline(*least, bucket_of(least->to.fence));
  }
  void add_timeline(Wait& least, Wait*& bucket) noexcept {
    link(least, bucket);
    if (++count_ > 2 * buckets().size()) grow();
    least.looks = 0;
    watched_.push(least);
    least.is_in = &watched_;
  }
  void remove_timeline(Wait& least) noexcept {
    --count_;
    *least.link_of_hash = least.next_of_hash;
    if (least.next_of_hash != nullptr) least.next_of_hash->link_of_hash = least.link_of_hash;
    least.is_in->remove(least);
  }
  static void link(Wait& least, Wait*& bucket) noexcept {
    least.next_of_hash = bucket;
    least.link_of_hash = &bucket;
    if (bucket != nullptr) bucket->link_of_hash = &least.next_of_hash;
    bucket = &least;
  }
  /// Without memory, the lists of the table only grow longer.
  void grow() noexcept {
    const std::span<Wait*> before = buckets();
    const std::size_t count = 4 * before.size();
    std::unique_ptr<Wait*[]> made{::new (std::nothrow) Wait* [count] {}};
    if (!made) return;
    for (Wait* rest : before) {
      while (rest != nullptr) {
        Wait* const next = rest->next_of_hash;
        link(*rest, made[hash(rest->to.fence, count)]);
        rest = next;
      }
    }
    many_ = std::move(made);
    many_count_ = count;
  }

  list watched_;
  list armed_;
  list refused_;
  std::size_t count_ = 0;
  std::array<Wait*, 64> few_{};
  std::unique_ptr<Wait*[]> many_;
  std::size_t many_count_ = 0;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_FENCE_DETAIL_LOOP_TIMELINES_HPP
