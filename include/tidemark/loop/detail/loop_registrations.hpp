// SPDX-License-Identifier: BSL-1.0
//
// loop_registrations: what a loop awaits, and which of that is registered with fences. It looks at the values of the
// timelines that are watched, and on request registers the least wait of each with its fence. The signaller to which
// that one is due releases it: it pushes it on a stack, and then wakes the loop (loop_core.hpp).
//
// The loop's lock protects all but push_released() and has_released().
#ifndef TIDEMARK_LOOP_DETAIL_LOOP_REGISTRATIONS_HPP
#define TIDEMARK_LOOP_DETAIL_LOOP_REGISTRATIONS_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "../../fence/tools/fence_operations.hpp"
#include "../../platform/platform.hpp"
#include "../../platform/tools/intrusive_lists.hpp"

namespace tidemark::detail {

/// loop_timelines: the timelines that a loop awaits, and for each of them the waits in the order of their targets. The
/// least wait of a timeline stands for it. It is in one of three lists:
///
///   watched    the loop looks at the timeline's value
///   armed      the least wait is registered with the fence, whose signaller tells the loop
///   refused    it could not be registered: the loop looks at the value, and must look again soon
///
/// A timeline is found by its address and, if it is of the program's, its type, in a hash table that grows if there is
/// memory.
///
/// Not thread-safe: the loop's lock protects it.
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
    Wait* const least = find(bucket, added);
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
    Wait* const least = find(bucket_of(removed.to.fence), removed);
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
  /// Finds the least wait of the timeline for which `one` waits.
  static Wait* find(Wait* bucket, const Wait& one) noexcept {
    Wait* least = bucket;
    while (least != nullptr && !least->to.is_of_same(one.to)) least = least->next_of_hash;
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

/// The functions that find waits to be over call `on_over` with the least wait of each timeline for which that is so.
/// That one and all to which `links.later` leads are over, and have been removed. `on_over` may remove other waits.
/// \tparam Wait  a loop_wait
template <platform Platform, class Wait>
class loop_registrations {
 public:
  void insert(Wait& added) noexcept {
    timelines_.insert(added, [this](Wait& least) { disarm(least); });
  }
  void remove(Wait& removed) noexcept {
    timelines_.remove(removed, [this](Wait& least) { disarm(least); });
  }
  /// Removes all, and calls `act` for each, which must not add or remove any.
  template <class Act>
  void clear(const Act& act) noexcept {
    while (Wait* const least = timelines_.armed().first()) {
      end_registration(*least);
      timelines_.move(*least, timelines_.watched());
    }
    take_released();
    timelines_.clear(act);
  }

  /// For the signaller that releases the wait.
  void push_released(Wait& released) noexcept { released_.push(released, released.next_released); }
  /// Whether something was released, perhaps by this thread, that nobody has taken. Needs no lock.
  bool has_released() const noexcept { return !released_.is_empty(); }
  /// Ends the registrations that were released, and watches their timelines.
  void take_released() noexcept {
    Wait* rest = released_.take();
    while (rest != nullptr) {
      Wait* const next = rest->next_released.load();
      // It may have been withdrawn since.
      if (rest->ticket) {
        end_registration(*rest);
        timelines_.move(*rest, timelines_.watched());
      }
      rest = next;
    }
  }

  /// Looks at the value of each timeline that is not registered.
  template <class OnOver>
  void look(const OnOver& on_over) noexcept {
    list over;
    list stale;
    look_at(timelines_.watched(), over, &stale);
    look_at(timelines_.refused(), over, nullptr);
    if (!stale.is_empty()) arm_all(stale, on_over);
    while (Wait* const least = over.take()) on_over(*least);
  }
  /// Registers the least wait of each timeline that is not registered.
  template <class OnOver>
  void arm(const OnOver& on_over) noexcept {
    while (Wait* const least = timelines_.refused().first()) timelines_.move(*least, timelines_.watched());
    // What was over may have been the least wait of its timeline. Then that is watched again.
    while (!timelines_.watched().is_empty()) arm_all(timelines_.watched(), on_over);
  }
  /// Whether there is a timeline that is not registered.
  bool has_unregistered() noexcept { return !timelines_.watched().is_empty() || !timelines_.refused().is_empty(); }
  /// Returns whether a timeline has refused a registration, so that the loop must look at its value again soon.
  bool must_look_again() noexcept { return !timelines_.refused().is_empty(); }
  /// Returns how soon that is.
  deadline::duration look_interval() noexcept {
    auto least = (deadline::duration::max)();
    for (const Wait* one = timelines_.refused().first(); one != nullptr; one = one->next)
      least = (std::min)(least, one->to.look_interval());
    return least;
  }

 private:
  using list = typename loop_timelines<Wait>::list;

  /// A loop that is never idle looks again and again. After this number of looks, a registration costs less than they
  /// did.
  static constexpr std::uint32_t most_looks = 4096;

  /// Ends the registration of a wait. Returns whether it was withdrawn before it was released.
  static bool end_registration(Wait& least) noexcept {
    const bool is_withdrawn = least.to.withdraw(*least.ticket);
    least.ticket.reset();
    return is_withdrawn;
  }
  /// Does the same, and takes the wait off the stack on which its signaller has put it. Its owner may destroy it then.
  void disarm(Wait& least) noexcept {
    if (!end_registration(least)) take_released();
  }

  /// \param stale  gets the timelines that were looked at too often, if it is not null
  void look_at(list& those, list& over, list* stale) noexcept {
    for (Wait* least = those.first(); least != nullptr;) {
      Wait* const next = least->next;
      const fence_state now = least->to.look();
      if (now.is_over(least->to.target)) {
        over.push(timelines_.take_over(*least, now));
      } else if (stale != nullptr && ++least->looks >= most_looks) {
        timelines_.move(*least, *stale);
      }
      least = next;
    }
  }
  template <class OnOver>
  void take_over(Wait& least, const OnOver& on_over) noexcept {
    on_over(timelines_.take_over(least, least.to.look()));
  }

  template <class OnOver>
  void arm_all(list& those, const OnOver& on_over) noexcept {
    list added;
    bool is_asymmetric = false;
    while (Wait* const least = those.first()) {
      // A target of 0 can't be registered.
      if (least->to.is_over()) {
        take_over(*least, on_over);
        continue;
      }
      auto ticket = least->to.add(least);
      // The lane would not call the waker.
      if (ticket.is_in_lane()) {
        static_cast<void>(least->to.withdraw(ticket));
        timelines_.move(*least, timelines_.refused());
        continue;
      }
      least->ticket = ticket;
      is_asymmetric = is_asymmetric || least->to.operations->is_asymmetric;
      timelines_.move(*least, added);
    }
    if (added.is_empty()) return;
    // (Y10): w2 of all these timelines at once. For each of them it is what (F21) is for one: between (H2) (H8) and
    // (F3), against (F22). If it is refused, a signaller may miss the registrations that rely on it.
    const bool is_ordered = !is_asymmetric || Platform::heavy_barrier();
    while (Wait* const least = added.first()) {
      timelines_.move(*least, timelines_.armed());
      const bool is_over = least->to.is_over();
      if (!is_over && (is_ordered || !least->to.needs_barrier())) continue;
      disarm(*least);
      timelines_.move(*least, is_over ? timelines_.watched() : timelines_.refused());
      if (is_over) take_over(*least, on_over);
    }
  }

  loop_timelines<Wait> timelines_;
  push_stack<Platform, Wait> released_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_LOOP_DETAIL_LOOP_REGISTRATIONS_HPP
