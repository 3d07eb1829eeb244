// SPDX-License-Identifier: BSL-1.0
//
// loop_operation: what a loop runs, and what waits on it: work by rank, an operation with its waits, and both together
// as coroutines, senders, engines and queues of retired objects have them.
#ifndef TIDEMARK_LOOP_TOOLS_LOOP_OPERATION_HPP
#define TIDEMARK_LOOP_TOOLS_LOOP_OPERATION_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "../../fence/tools/fence_operations.hpp"
#include "../../fence/tools/waker.hpp"
#include "../../platform/platform.hpp"
#include "../../platform/tools/intrusive_lists.hpp"
#include "../../platform/tools/limits.hpp"
#include "../../platform/tools/park_lock.hpp"
#include "../../platform/tools/user_call.hpp"

namespace tidemark::detail {

/// Gives the blocks that wait on a loop access to its parts.
struct loop_access {
  static auto& core_of(auto& loop) noexcept { return loop.core_; }
  static auto& runner_of(auto& loop) noexcept { return loop.runner_; }
  static auto& descriptor_of(auto& loop) noexcept { return loop.descriptor_; }
};

// loop_ready: the work that a loop is to run, by rank. Rank 0 comes first, and work of one rank runs in the order in
// which it became ready. Work that others have been preferred to a few times runs nevertheless, so none starves.
//
// Not thread-safe: the loop's lock protects it.

inline constexpr std::size_t loop_ranks = 3;
inline constexpr std::uint8_t usual_rank = 1;

/// \tparam Work  has the links of a linked_queue; a member `rank`, less than `loop_ranks`, which only
///               change_rank() may change while the work is in here; and a pointer `is_in`
template <class Work>
class loop_ready {
 public:
  bool is_empty() const noexcept { return count_ == 0; }

  void push(Work& added) noexcept {
    ++count_;
    is_mixed_ = is_mixed_ || added.rank != usual_rank;
    push_to(ranks_[added.rank].works, added);
  }
  /// Adds work that runs when all that is ready now has had its turn: take_later() makes it ready.
  void push_later(Work& added) noexcept { push_to(later_, added); }
  void take_later() noexcept {
    while (Work* const next = later_.take()) push(*next);
  }
  /// Adds work that asks for the loop (loop_gate.hpp). take() does not return it.
  void push_alone(Work& added) noexcept { push_to(alone_, added); }
  bool has_alone() const noexcept { return !alone_.is_empty(); }
  Work* take_alone() noexcept { return alone_.take(); }
  void remove(Work& removed) noexcept {
    if (has_turn(removed)) --count_;
    removed.is_in->remove(removed);
  }
  /// Changes the rank of work that is in here. It comes last among the work of its new rank.
  void change_rank(Work& changed, std::uint8_t to) noexcept {
    const bool is_ready = has_turn(changed);
    if (is_ready) remove(changed);
    changed.rank = to;
    if (is_ready) push(changed);
  }
  /// Removes the work that is to run next, and returns it; null if there is none.
  Work* take() noexcept {
    if (count_ == 0) return nullptr;
    --count_;
    if (!is_mixed_) return ranks_[usual_rank].works.take();
    std::size_t taken = 0;
    while (ranks_[taken].works.is_empty()) ++taken;  // one has work, because count_ was not 0
    for (std::size_t each = taken + 1; each < ranks_.size(); ++each) {
      if (!ranks_[each].works.is_empty() && ++ranks_[each].passed_over >= most_passed_over) taken = each;
    }
    ranks_[taken].passed_over = 0;
    return ranks_[taken].works.take();
  }

 private:
  /// Whether take() returns it some time: work that is in here, and neither later nor alone.
  bool has_turn(const Work& one) const noexcept { return one.is_in != &later_ && one.is_in != &alone_; }
  struct rank {
    linked_queue<Work> works;
    unsigned passed_over = 0;  // since one of them was taken
  };
  static constexpr unsigned most_passed_over = 8;

  static void push_to(linked_queue<Work>& of, Work& added) noexcept {
    added.is_in = &of;
    of.push(added);
  }

  std::array<rank, loop_ranks> ranks_{};
  linked_queue<Work> later_;
  linked_queue<Work> alone_;
  std::size_t count_ = 0;  // in the ranks
  bool is_mixed_ = false;  // there was work of another rank than the usual one
};

// What a loop keeps and runs. All of it lies in the objects of the loop's users; the loop links it and allocates
// nothing.
//
//   loop_work        what the loop runs once: a posted callable, or the end of an operation
//   loop_wait        one awaited value of an operation
//   loop_operation   waits for any or for all of its values, at most until a deadline; then it is work
//
// The loop's lock protects all fields but the two links of the stacks, which the threads write that push.

/// What is to be done with work.
enum class loop_action : std::uint8_t {
  run,   ///< Run it.
  drop,  ///< The loop is destroyed before it has run it.
};

/// How a call that runs the loop has ended.
enum class loop_end : std::uint8_t {
  ran,      ///< It has run something.
  timeout,  ///< The deadline has passed.
  stopped,  ///< The loop or the caller's token was stopped.
};

/// An object that must know when the loop is destroyed, although the loop may have nothing of it to run.
struct loop_guest {
  loop_guest* next = nullptr;
  loop_guest* previous = nullptr;
  bool has_lost_loop = false;  // the loop was destroyed before
};

template <platform Platform>
class loop_work {
 public:
  using keeper = lock_keeper<park_lock<Platform>>;

  loop_work(const loop_work&) = delete;
  loop_work& operator=(const loop_work&) = delete;

  /// What it calls may throw, and may destroy the work.
  /// \param kept  has the loop's lock, and gives it up while it calls anything that is not the loop's own
  void act(loop_action what, keeper& kept) { act_(*this, what, kept); }

  loop_work* next = nullptr;
  loop_work* previous = nullptr;
  linked_queue<loop_work>* is_in = nullptr;                          // of the loop's lists of what is ready
  typename Platform::template var<loop_work*> next_posted{nullptr};  // in the stack of what was posted
  call_phase phase = call_phase::idle;
  std::uint8_t rank = usual_rank;  // of loop_ready
  bool is_posted_again = false;    // while it runs
  bool settles = false;            // it calls settle() of the loop itself when it runs
  const bool is_owned;             // by the loop: nobody else knows it

 protected:
  using function = void (*)(loop_work&, loop_action, keeper&);
  explicit loop_work(function does, bool owned = false) noexcept : is_owned{owned}, act_{does} {}
  ~loop_work() = default;

 private:
  function act_;
};

template <platform Platform, class Operations, class Ticket, class WaitStatus>
class loop_core;
template <platform Platform, class Operations, class Ticket, class WaitStatus>
struct loop_operation;

/// One awaited value.
/// \tparam Operations  the table of functions of the fences that it may wait for (fence_operations.hpp)
/// \tparam Ticket      a registration with such a fence
template <platform Platform, class Operations, class Ticket, class WaitStatus>
struct loop_wait : waker {
  using operation = loop_operation<Platform, Operations, Ticket, WaitStatus>;
  struct order {
    static wait_links<loop_wait>& links(loop_wait& of) noexcept { return of.links; }
    static bool comes_before(const loop_wait& a, const loop_wait& b) noexcept {
      return a.to.target != b.to.target ? a.to.target < b.to.target : a.number < b.number;
    }
    static std::uint64_t key(const loop_wait& of) noexcept { return of.to.target; }
  };

  loop_wait(const awaited_target<Operations>& of_fence, operation& of, function on_release) noexcept
      : waker{on_release}, to{of_fence}, part_of{of} {}

  awaited_target<Operations> to;
  operation& part_of;
  std::uint64_t number = 0;  // in the order of registration
  wait_links<loop_wait> links;
  bool is_registered = false;
  bool is_reached = false;  // when it was found to be over

  // The timeline, while this is the least wait for it: all waits for it, the next timeline with the same hash, what
  // links to this one, the list of the loop in which it is, and the registration with the fence, if there is one.
  ordered_waits<loop_wait, order> of_timeline;
  loop_wait* next_of_hash = nullptr;
  loop_wait** link_of_hash = nullptr;
  std::uint32_t looks = 0;  // of the loop, at the value
  linked_queue<loop_wait>* is_in = nullptr;
  loop_wait* next = nullptr;
  loop_wait* previous = nullptr;
  std::optional<Ticket> ticket;
  typename Platform::template var<loop_wait*> next_released{nullptr};  // in the stack of what was released
};

/// When an operation ends at the latest.
template <class Operation>
struct loop_timer {
  struct order {
    static wait_links<loop_timer>& links(loop_timer& of) noexcept { return of.links; }
    static bool comes_before(const loop_timer& a, const loop_timer& b) noexcept {
      return a.at != b.at ? a.at < b.at : a.number < b.number;
    }
  };

  deadline at = no_deadline;
  std::uint64_t number = 0;
  wait_links<loop_timer> links;
  Operation* of = nullptr;
};

/// The operations that end at some time, in the order of their times.
template <class Operation>
class loop_timers {
 public:
  using timer = loop_timer<Operation>;

  /// Returns when the first of them ends; `no_deadline` if there is none.
  deadline next() const noexcept {
    const timer* const first = timers_.least();
    return first != nullptr ? first->at : no_deadline;
  }
  /// Returns whether the timer is the first one now.
  bool insert(timer& added, Operation& of) noexcept {
    added.of = &of;
    added.number = next_number_++;
    timers_.insert(added);
    return timers_.least() == &added;
  }
  void remove(timer& removed) noexcept {
    if (std::exchange(removed.of, nullptr) != nullptr) timers_.remove(removed);
  }
  /// Returns an operation that should have ended by now; null if there is none.
  Operation* late(deadline now) const noexcept {
    const timer* const first = timers_.least();
    return first != nullptr && first->at <= now ? first->of : nullptr;
  }

 private:
  ordered_waits<timer, typename timer::order> timers_;
  std::uint64_t next_number_ = 0;
};

enum class loop_needs : std::uint8_t { all, any };

template <platform Platform, class Operations, class Ticket, class WaitStatus>
struct loop_operation : loop_work<Platform> {
  using wait = loop_wait<Platform, Operations, Ticket, WaitStatus>;
  using timer_type = loop_timer<loop_operation>;

  loop_operation(loop_needs what, typename loop_work<Platform>::function does) noexcept
      : loop_work<Platform>{does}, needs{what} {}

  /// Returns whether the values are reached, and keeps that as the outcome. Needs no lock before it has begun.
  [[gnu::noinline]] bool look_for_reached() noexcept {
    // Of no values, all are reached; and to wait for any of them is to wait for nothing.
    const bool all = needs == loop_needs::all || waits.empty();
    std::size_t i = 0;
    while (i < waits.size() && waits[i].to.is_reached() == all) ++i;
    if ((i == waits.size()) != all) return false;
    index = i;
    status = WaitStatus::reached;
    return true;
  }
  /// Keeps an outcome: `otherwise` if the values are neither reached nor lost.
  void conclude(WaitStatus otherwise) noexcept {
    index = waits.size();
    status = otherwise;
    if (look_for_reached()) return;
    std::size_t i = 0;
    while (i < waits.size() && !waits[i].to.is_lost()) ++i;
    // A value may have been reached since the first look, and before this timeline was lost.
    if (i == waits.size() || look_for_reached()) return;
    index = i;
    status = WaitStatus::lost;
  }
  /// Keeps the outcome of an operation that ends because one of its waits is over.
  void conclude_by(const wait& over) noexcept {
    status = over.is_reached ? WaitStatus::reached : WaitStatus::lost;
    index = needs == loop_needs::all && over.is_reached ? waits.size() : static_cast<std::size_t>(&over - waits.data());
    // A value may have been reached since, or, of several, before.
    if (!over.is_reached || waits.size() != 1) static_cast<void>(look_for_reached());
  }

  loop_core<Platform, Operations, Ticket, WaitStatus>* loop = nullptr;  // null before it begins
  std::span<wait> waits;
  timer_type* timer = nullptr;  // null without a deadline
  std::size_t open = 0;         // waits that are registered
  std::size_t index = 0;        // which of them has ended the operation
  WaitStatus status{};
  loop_needs needs;
  bool is_stopped = false;  // before the loop knew it
};

// loop_waits: an operation of a loop together with its waits and its timer, as it lies in a coroutine's frame or in the
// state of a sender's operation.

/// \tparam Core   the loop's
/// \tparam Count  how many values it waits for
/// \tparam Token  stops it
template <class Core, std::size_t Count, class Token>
class loop_waits : protected Core::operation {
 public:
  loop_waits(const loop_waits&) = delete;
  loop_waits& operator=(const loop_waits&) = delete;

 protected:
  using operation = typename Core::operation;
  using keeper = typename Core::keeper;

  /// \param does     runs the operation's end
  /// \param targets  an array of `Count` awaited targets
  loop_waits(Core& on, loop_needs what, typename operation::function does, const auto& targets, Token token) noexcept
      : loop_waits(on, what, does, targets, std::move(token), std::make_index_sequence<Count>{}) {}
  ~loop_waits() = default;

  /// Must be called before the operation begins.
  void end_at(deadline until) noexcept {
    timer_.at = until;
    this->timer = until != no_deadline ? &timer_ : nullptr;
  }
  /// Returns whether the values are reached, and keeps that as the outcome. Must be called before the operation begins.
  bool is_reached_already() noexcept {
    // A wait for one value ends here as a rule.
    if (Count == 1 && !waits_[0].to.is_reached()) return false;
    return this->look_for_reached();
  }
  /// Lets the token stop the operation. Must be called before the operation begins, because another thread may end it
  /// then and destroy this object. A stop that comes in between is kept in the operation.
  void listen() { stopping_.emplace(token_, stop{this}); }
  /// Waits for a stop that is under way. Must be called without the loop's lock, before this object is destroyed.
  void stop_listening() noexcept { stopping_.reset(); }
  void begin() noexcept {
    const keeper kept(core_.lock());
    core_.begin(*this);
  }

  Core& core() const noexcept { return core_; }

 private:
  struct stop {
    loop_waits* of;
    void operator()() const noexcept {
      const keeper kept(of->core_.lock());
      of->core_.stop(*of);
    }
  };

  template <std::size_t... Index>
  loop_waits(Core& on, loop_needs what, typename operation::function does, const auto& targets, Token token,
             std::index_sequence<Index...>) noexcept
      : operation(what, does),
        core_{on},
        waits_{typename operation::wait(targets[Index], *this, &Core::on_release)...},
        token_{std::move(token)} {
    this->waits = std::span{waits_.data(), Count};
  }

  Core& core_;
  std::array<typename operation::wait, Count> waits_;
  typename operation::timer_type timer_;
  [[no_unique_address]] Token token_;
  std::optional<typename stop_callback_for<Token, stop>::type> stopping_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_LOOP_TOOLS_LOOP_OPERATION_HPP
