// SPDX-License-Identifier: BSL-1.0
//
// timeline_group: several timelines as one, to which timelines are added and from which they are removed while other
// threads look and wait. Its value is the least of theirs. So memory that several readers use can follow it, and
// readers come and go.
//
//   tidemark::timeline_group readers{given_out};             its base: value n means that number n was given out
//   auto blur = readers.add(blur_done);                      values above blur.from() wait for it, too
//   tidemark::upload_ring ring{readers, {.capacity = size}};
//   blur.leave();                                            they don't any more; nor when `blur` is destroyed
//
// All timelines count with the same numbers, as in least_of.hpp. A lost one does not count, as there: a wait returns
// `lost` only when all that are not lost have reached the target. Once the member that was lost has left, such a wait
// returns `reached`.
//
// The base is never removed, so a group is never empty. Without members its value is that of the base. For a base that
// counts what was given out, this means that nobody uses any of it. The base may as well be a reader that stays. When
// the base is lost and no member is left that is not, the group is lost for ever, and can't be joined any more.
//
// The value never falls. A member counts as having reached what the base has reached when it joins, or what the program
// states, but no less than the value of the group. from() returns that number. Up to it memory may have been freed;
// above it nothing is freed before the member has signalled it. So add a member first, and then give it work with
// numbers above from(), and no other. A member that counts from less than what was given out must signal all of that,
// too: a writer that waits for space would wait for it for ever.
//
// The mechanism: members stand in a list, whose links lie in the memberships. A lock lets one thread at a time change
// it. Looks do not take the lock. They are counted in a word while they walk through the list, and a change begins when
// none is there:
//
//   looks    the highest bit: a thread changes the list, or waits for looks to end | 31 bits: how many looks there are
//
// A look that finds the highest bit set takes the lock instead. So each look comes before a change as a whole or after
// it. If it comes before, what a joining member counts from is at least what the look returns, because the change reads
// the values later. If it comes after, the look respects the member.
//
// A waiter sleeps for one timeline at a time, the one that is furthest behind, and for the number of departures, which
// is a fence inside the group. Meanwhile the membership counts it as a waiter. leave() takes the member out of the list
// and signals a departure. Then it waits until the membership has no waiter. So its timeline may be destroyed then.
//
// Not promised: that a wait sleeps once; that current_value() reads all timelines at one moment.
#ifndef TIDEMARK_FENCE_TIMELINE_GROUP_HPP
#define TIDEMARK_FENCE_TIMELINE_GROUP_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <optional>

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "../platform/tools/limits.hpp"
#include "../platform/tools/park_lock.hpp"
#include "awaited.hpp"
#include "fence.hpp"
#include "looked_at.hpp"
#include "timeline.hpp"
#include "wait.hpp"
#include "wait_many.hpp"

namespace tidemark {

/// Timelines as one, whose value is the least of theirs; see the head of this file. It has the functions of `waitable`
/// (wait.hpp): wait(), wait_for() and wait_until(). They return `lost` only when all timelines that are not lost have
/// reached the target. A wait that may sleep takes a lock, and so does a look that meets a change of the members. Any
/// thread may use it. It must outlive its memberships and all blocks that follow it.
/// \tparam Platform  must be asymmetric if one of the timelines is, and park as all of them do
template <platform Platform>
class basic_timeline_group : public waitable<basic_timeline_group<Platform>> {
  using entry = basic_awaited<Platform>;

 public:
  using platform = Platform;

  /// The membership of one timeline, from its construction to leave() or to its destruction. One thread at a time may
  /// use it.
  class [[nodiscard]] membership {
   public:
    /// Adds a timeline to a group; see basic_timeline_group::add().
    template <timeline Timeline>
      requires detail::awaitable_on<Timeline, Platform>
    membership(basic_timeline_group& group, const Timeline& added) noexcept : awaited_{added, 0} {
      group.join(*this, {});
    }
    template <timeline Timeline>
      requires detail::awaitable_on<Timeline, Platform>
    membership(basic_timeline_group& group, const Timeline& added, std::uint64_t from) noexcept : awaited_{added, 0} {
      TIDEMARK_ASSERT(from != UINT64_MAX, "a member of a timeline group counts from the last value of a timeline");
      group.join(*this, from);
    }
    /// A looked_at without a name, or what can't be copied, would be gone.
    template <detail::needs_name Timeline>
    membership(basic_timeline_group& group, const Timeline&& gone) = delete;
    template <detail::needs_name Timeline>
    membership(basic_timeline_group& group, const Timeline&& gone, std::uint64_t from) = delete;
    membership(const membership&) = delete;
    membership& operator=(const membership&) = delete;
    /// Calls leave().
    ~membership() { leave(); }

    /// Returns whether the timeline is a member. False after leave(), and if the group was lost when it was to be
    /// added.
    explicit operator bool() const noexcept { return group_ != nullptr; }

    /// Returns what the member counts as having reached from the start. Threads that wait for more wait for it, too.
    std::uint64_t from() const noexcept { return from_.load(); }

    /// Takes the timeline out of the group, whose value may rise by that. Threads that have only waited for it wake up.
    /// Does nothing if the timeline is no member. Blocks until no look is under way that began before, until the
    /// threads that sleep for this timeline have woken up, and while another thread changes the members. So when it
    /// returns, the group does not touch the timeline any more, which may be destroyed. What was done before the call
    /// happens-before the return of looks and waits that need not regard the member any more. Throws and allocates
    /// nothing. The caller must have made sure that nobody uses what the timeline protects.
    void leave() noexcept {
      if (group_ == nullptr) return;
      group_->remove(*this);
      group_ = nullptr;
    }

   private:
    friend basic_timeline_group;
    template <class T>
    using field = typename Platform::template var<T>;

    membership* next() const noexcept { return next_.load(); }
    void count_waiters(int added) noexcept {
      const int now = waiters_.load() + added;
      waiters_.store(now);
    }
    /// Returns whether leave() waits for nobody any more.
    bool is_abandoned() const noexcept {
      if (waiters_.load() != 0) return false;
      return is_leaving_.load();
    }

    basic_timeline_group* group_ = nullptr;
    const entry awaited_;
    field<std::uint64_t> from_{0};
    field<membership*> next_{nullptr};
    // The lock protects the following.
    field<int> waiters_{0};  // threads that may sleep for the timeline
    field<bool> is_leaving_{false};
  };

  /// A group whose only timeline is `base`, which must outlive it: one of the list in awaited.hpp. Of a 32-bit fence it
  /// takes the view().
  template <timeline Base>
    requires detail::awaitable_on<Base, Platform>
  explicit basic_timeline_group(const Base& base) noexcept : base_{base, 0} {}
  /// A looked_at without a name, or what can't be copied, would be gone.
  template <class Timeline>
    requires(!std::same_as<Timeline, basic_timeline_group>) && detail::needs_name<Timeline>
  explicit basic_timeline_group(const Timeline&& gone) = delete;
  basic_timeline_group(const basic_timeline_group&) = delete;
  basic_timeline_group& operator=(const basic_timeline_group&) = delete;
  /// Asserts that all members have left. No other call may be under way.
  ~basic_timeline_group() {
    TIDEMARK_ASSERT(first_.load() == nullptr, "a timeline group was destroyed before its memberships");
  }

  /// Adds a timeline, which counts from the value that the base has reached; if the base is lost, from that of the
  /// group. Returns its membership, which is false if the group is lost. Each look and each wait that ends after the
  /// return respects the member for values above its from(), also a wait that has begun before. A timeline that is
  /// added twice counts until both memberships have ended. Blocks until looks that are under way have ended, and while
  /// another thread changes the members. Throws and allocates nothing.
  /// \param added  such a timeline as the base, which must outlive the membership
  template <timeline Timeline>
    requires detail::awaitable_on<Timeline, Platform>
  membership add(const Timeline& added) noexcept {
    return membership{*this, added};
  }
  /// Does the same, but the member counts from `from`, or from the value of the group if that is greater. The member
  /// must signal greater values, also those that were given out before it came. Asserts that `from` is less than
  /// UINT64_MAX.
  template <timeline Timeline>
    requires detail::awaitable_on<Timeline, Platform>
  membership add(const Timeline& added, std::uint64_t from) noexcept {
    return membership{*this, added, from};
  }
  /// A looked_at without a name, or what can't be copied, would be gone.
  template <detail::needs_name Timeline>
  membership add(const Timeline&& gone) = delete;
  template <detail::needs_name Timeline>
  membership add(const Timeline&& gone, std::uint64_t from) = delete;

  /// Returns the least value of all timelines: one that all of them have reached, or count as having reached. Those
  /// that are lost do not count; UINT64_MAX once all are lost. Never falls. Progress: two read-modify-writes, and a
  /// look at each timeline; blocks while another thread changes the members.
  std::uint64_t current_value() const noexcept {
    return look([this] { return least_value(); });
  }

  /// Returns whether current_value() is at least `target`.
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return current_value() >= target; }

 private:
  friend waitable<basic_timeline_group>;

  using lock_type = detail::park_lock<Platform>;
  using keeper = detail::lock_keeper<lock_type>;
  using departures = basic_fence<Platform, fence_options{.capacity = 4, .max_spin_ns = 0}>;
  static constexpr std::uint32_t is_changing = std::uint32_t{1} << 31;

  // ---- looks; the list must not change meanwhile

  static detail::fence_state state_of(const entry& one) noexcept {
    return detail::awaited_access::target_of(one).look();
  }
  static std::uint64_t value_of(const entry& one) noexcept {
    const detail::fence_state now = state_of(one);
    return now.is_poisoned ? UINT64_MAX : now.value;
  }
  static std::uint64_t value_of(const membership& one) noexcept {
    return (std::max)(one.from_.load(), value_of(one.awaited_));
  }
  membership* first() const noexcept { return first_.load(); }
  std::uint64_t least_value() const noexcept {
    std::uint64_t least = value_of(base_);
    for (const membership* one = first(); one != nullptr; one = one->next()) least = (std::min)(least, value_of(*one));
    return least;
  }

  /// Returns how a wait ends, if it ends now.
  std::optional<wait_status> end_of(std::uint64_t target) const noexcept {
    bool is_lost = false;
    const auto is_over = [&](const entry& one) {
      const detail::fence_state now = state_of(one);
      if (now.is_poisoned && !now.has_reached(target)) is_lost = true;
      return now.is_over(target);
    };
    if (!is_over(base_)) return {};
    for (const membership* one = first(); one != nullptr; one = one->next()) {
      if (one->from_.load() < target && !is_over(one->awaited_)) return {};
    }
    return is_lost ? wait_status::lost : wait_status::reached;
  }

  /// Returns the member that is furthest behind a target; null if that is the base. Returns nothing if none is behind
  /// it: a member that counts as having reached it may never signal it.
  std::optional<membership*> furthest_behind(std::uint64_t target) const noexcept {
    std::optional<membership*> found;
    std::uint64_t least = target;
    if (const std::uint64_t value = value_of(base_); value < least) {
      least = value;
      found = nullptr;
    }
    for (membership* one = first(); one != nullptr; one = one->next()) {
      const std::uint64_t value = value_of(*one);
      if (value >= least) continue;
      least = value;
      found = one;
    }
    return found;
  }

  /// Calls `body` while the list does not change, and returns its result.
  template <class Body>
  auto look(const Body& body) const noexcept {
    // (TG1): acquire, pairs with (TG5): the list as the last change has left it. Not stronger: its place among the
    // changes of the word alone decides whether it comes before a change.
    if ((looks_.fetch_add(1, std::memory_order_acquire) & is_changing) == 0) {
      const auto result = body();
      end_look();
      return result;
    }
    end_look();
    const keeper lock{changing_};
    return body();
  }
  void end_look() const noexcept {
    // (TG2): release, pairs with (TG4): the list is not read any more, and what it returns is not more than what the
    // changing thread reads. Not stronger: nothing follows that others rely on.
    if (looks_.fetch_sub(1, std::memory_order_release) == (is_changing | 1)) Platform::unpark(looks_, 1);
  }

  // ---- changes of the list, by the thread that has the lock

  /// Keeps looks away for the life of the object.
  class change {
   public:
    explicit change(const basic_timeline_group& of) noexcept : of_{of} {
      // (TG3): relaxed alone: each look has counted itself before, or sees the bit.
      of.looks_.fetch_or(is_changing, std::memory_order_relaxed);
      for (;;) {
        // (TG4): acquire, pairs with (TG2): after all looks that have ended. Not stronger: like (TG1).
        const std::uint32_t seen = of.looks_.load(std::memory_order_acquire);
        if (seen == is_changing) return;
        Platform::park(of.looks_, seen, no_deadline);
      }
    }
    change(const change&) = delete;
    change& operator=(const change&) = delete;
    ~change() {
      // (TG5): release, pairs with (TG1): looks find the list as it is now. Not stronger: nothing is read after it that
      // a look has written.
      of_.looks_.fetch_and(~is_changing, std::memory_order_release);
    }

   private:
    const basic_timeline_group& of_;
  };

  using link = typename Platform::template var<membership*>;
  static link& next_of(const link& one) noexcept { return one.load()->next_; }

  /// \param from  what the member is to count from at least. Nothing for the value of the base
  void join(membership& one, std::optional<std::uint64_t> from) noexcept {
    const keeper lock{changing_};
    const change alone{*this};
    const std::uint64_t least = least_value();
    if (least == UINT64_MAX) return;
    if (!from && !state_of(base_).is_poisoned) from = state_of(base_).value;
    one.group_ = this;
    one.from_.store((std::max)(least, from.value_or(least)));
    one.next_.store(first());
    first_.store(&one);
  }

  void remove(membership& one) noexcept {
    keeper lock{changing_};
    {
      const change alone{*this};
      link* at = &first_;
      while (at->load() != &one) at = &next_of(*at);
      at->store(one.next());
    }
    if (one.waiters_.load() == 0) return;
    one.is_leaving_.store(true);
    departed_.signal_next();
    while (one.waiters_.load() != 0) abandoned_.wait(lock);
  }

  // ---- waits

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    // Before the look, so that it sees what was reached before the stop.
    const bool is_stopped = token.stop_requested();
    if (const auto end = look([&] { return end_of(target); })) return *end;
    if (is_stopped) return wait_status::stopped;
    if (until == detail::at_once) return wait_status::timeout;
    if (until == no_deadline || until > Platform::now()) return wait_longer(target, until, token);
    // After the deadline.
    return look([&] { return end_of(target); }).value_or(wait_status::timeout);
  }

  template <class Token>
  wait_status wait_longer(std::uint64_t target, deadline until, const Token& token) const noexcept {
    keeper lock{changing_};
    for (wait_status ended = wait_status::reached;;) {
      if (const auto end = end_of(target)) return *end;
      // This look was made after the deadline or the stop.
      if (ended == wait_status::timeout || ended == wait_status::stopped) return ended;
      const auto found = furthest_behind(target);
      if (!found) continue;  // the values have risen since the look
      membership* const last = *found;
      if (last != nullptr) last->count_waiters(1);
      const std::array<entry, 2> list{
          detail::awaited_access::with_target(last != nullptr ? last->awaited_ : base_, target),
          entry{departed_, departed_.current_value() + 1}};
      {
        const typename keeper::without unlocked{lock};
        ended = detail::many_waits<Platform>{detail::quantifier::any, list}(until, token).status;
      }
      if (last == nullptr) continue;
      last->count_waiters(-1);
      if (last->is_abandoned()) abandoned_.wake_all();
    }
  }

  const entry base_;
  link first_{nullptr};
  mutable typename Platform::park_word looks_{0};
  mutable lock_type changing_;
  departures departed_;                                 // counts departures for which a thread may wait
  mutable detail::lock_condition<Platform> abandoned_;  // a member that leaves has no waiter any more
};

/// A group of timelines of the default platforms.
using timeline_group = basic_timeline_group<native_platform>;

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_TIMELINE_GROUP_HPP
