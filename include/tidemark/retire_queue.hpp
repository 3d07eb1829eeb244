// SPDX-License-Identifier: BSL-1.0
//
// retire_queue: destroys objects when the queues that may still use them have come so far.
//
//   retire_queue reclaimer{graphics, copies};         the queues (queue.hpp) whose work may use what is retired
//   ... make `mesh` unreachable for new submissions ...
//   reclaimer.retire(mesh, dispose);                  never waits: notes what each queue was given last, and returns
//   reclaimer.drain();                                now and then, by anybody: disposes of what is not used any more
//
// PRECONDITION. First the object becomes unreachable for new submissions, then it is retired: every submission that uses
// it happens before retire() is called. Who retires first, and lets a submission pick the object up afterwards, has it
// freed under that submission's hands, and no snapshot can repair that.
//
// What is noted is the serial of the last work that each queue was given (B4): so later submissions do not delay the
// object, and work that was queued and not begun is waited for (trap 28). An object is disposed of when all those serials
// are finished, not before, and exactly once (B5). An aborted queue counts as finished: stop its executor before abort().
// A queue that gets its work without submit() was never given any.
//
//   top --> chain --> chain --> ...        a stack of chains; retire() pushes a chain of one object
//           |         |
//           object    object --> object    drain() takes all chains, looks at some objects, and puts the others back as
//                                          one chain, before it disposes of those that are due
//
// So nothing is disposed of under a lock, and a disposer may retire other objects. Objects that wait for different queues
// do not wait for each other: those that were looked at in vain go to the end of the chain.
//
// Not promised: any order in which objects are disposed of; that drain() finds what another thread's drain() has in hand
// at that moment.
#ifndef TIDEMARK_RETIRE_QUEUE_HPP
#define TIDEMARK_RETIRE_QUEUE_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "detail/assert.hpp"
#include "queue.hpp"

namespace tidemark {

/// What an object has to have to be retired without an allocation: a base, or a member of which the disposer knows where
/// it is. It belongs to the retire queue from retire() until the disposer is called; retired once more in between, it stays as
/// it is, which is reported as misuse. Two threads that retire it at once race, as two that delete it do.
/// \tparam Queues    how many queues the retire queue knows
/// \tparam Platform  theirs
template <std::size_t Queues, class Platform = native_platform>
class retire_hook {
 public:
  retire_hook() noexcept = default;
  retire_hook(const retire_hook&) noexcept {}  // a copy is not retired
  retire_hook& operator=(const retire_hook&) noexcept { return *this; }

 private:
  template <class...>
  friend class retire_queue;

  template <class T>
  using var = typename Platform::template var<T>;
  using serials = std::array<std::uint64_t, Queues>;
  using disposer = void (*)(retire_hook*) noexcept;

  void use_until(const serials& until) noexcept {
    for (std::size_t i = 0; i < Queues; ++i) used_until_[i].store(until[i]);
  }
  serials used_until() const noexcept {
    serials until;
    for (std::size_t i = 0; i < Queues; ++i) until[i] = used_until_[i].load();
    return until;
  }

  /// False if it is retired already.
  bool become_retired() noexcept {
    if (is_retired()) return false;
    // (R4): relaxed alone, for noticing misuse: who retires has the object.
    retired_.store(1, std::memory_order_relaxed);
    return true;
  }
  bool is_retired() const noexcept {
    // (R5): relaxed alone, as (R4).
    return retired_.load(std::memory_order_relaxed) != 0;
  }
  void give_back() noexcept {
    // (R6): relaxed alone, as (R4): the disposer hands the object on.
    retired_.store(0, std::memory_order_relaxed);
  }

  var<retire_hook*> next_;   // in its chain
  var<retire_hook*> tail_;   // of a chain's first: its last
  var<retire_hook*> below_;  // of a chain's first: the next chain
  var<disposer> dispose_;
  std::array<var<std::uint64_t>, Queues> used_until_;
  typename Platform::template atomic<std::uint32_t> retired_;
};

/// For retire(): the caller knows that no queue uses the object (B6).
struct assume_not_in_use_t {};
inline constexpr assume_not_in_use_t assume_not_in_use{};

/// \tparam Queues  basic_queue types, all of one platform. The queues outlive this.
template <class... Queues>
class retire_queue {
  static_assert(sizeof...(Queues) > 0, "without a queue nothing is ever in use");

 public:
  using platform = typename std::tuple_element_t<0, std::tuple<Queues...>>::platform;
  using hook = retire_hook<sizeof...(Queues), platform>;
  /// A serial of each queue: 0 where the object is not used.
  using serials = std::array<std::uint64_t, sizeof...(Queues)>;

  explicit retire_queue(Queues&... queues) noexcept : queues_{&queues...} {}
  retire_queue(const retire_queue&) = delete;
  retire_queue& operator=(const retire_queue&) = delete;
  /// Waits for what is still in use, and disposes of everything. No other call may be under way.
  ~retire_queue() { finish(); }

  // ---- retiring: any thread; never waits, never fails, allocates nothing. Progress: lock-free. ------------------------

  /// `dispose(object)` will be called once, by some drain(), when all that was queued before this call is finished. (B3-B5)
  template <class Object, class Dispose>
  void retire(Object& object, const Dispose& dispose) noexcept {
    retire(object, dispose, last_queued());
  }

  /// The same for who tracks what uses the object: up to the given serial of each queue (B1, B2).
  template <class Object, class Dispose>
  void retire(Object& object, const Dispose&, const serials& used_until) noexcept {
    static_assert(std::is_base_of_v<hook, Object>, "a retired object has a retire_hook as its base");
    static_assert(std::is_empty_v<Dispose> && std::is_default_constructible_v<Dispose>,
                  "the disposer is a type: a function object without state");
    hook& retired = object;
    const bool is_first = retired.become_retired();
    TIDEMARK_ASSERT(is_first, twice);
    if (!is_first) return;
    retired.dispose_.store([](hook* which) noexcept { Dispose{}(static_cast<Object&>(*which)); });
    retired.use_until(used_until);
    push_one(retired);
  }

  /// Disposes of it at once: no queue uses it (B6).
  template <class Object, class Dispose>
  void retire(Object& object, const Dispose& dispose, assume_not_in_use_t) noexcept {
    if (!is_free(object)) return;
    dispose(object);
  }

  /// Waits until all that was queued before is finished, then disposes of it: after the return its memory is free (B7).
  /// Blocking.
  template <class Object, class Dispose>
  void retire_and_wait(Object& object, const Dispose& dispose) noexcept {
    if (!is_free(object)) return;
    wait_for(last_queued());
    dispose(object);
  }

  /// `call()` will be called once, as above. Allocates; where that throws, nothing was retired.
  template <class Call>
  void retire_call(Call call) {
    push_one(*std::make_unique<deferred_call<Call>>(std::move(call), last_queued()).release());
  }

  // ---- draining: any thread ------------------------------------------------------------------------------------------

  /// Looks at `most` objects, if there are so many, and disposes of those that are not in use any more; how many. Progress:
  /// lock-free but for the disposers. (B5)
  std::size_t drain(std::size_t most = SIZE_MAX) noexcept {
    chain all = take_all();
    chain due;
    hook* looked_at_first = nullptr;  // of those that went to the end: they are not looked at twice
    for (std::size_t looks = 0; looks < most && all.head != nullptr && all.head != looked_at_first; ++looks) {
      hook* const object = all.pop();
      if (is_finished(object->used_until())) {
        due.append(object);
      } else {
        all.append(object);
        if (looked_at_first == nullptr) looked_at_first = object;
      }
    }
    if (all.head != nullptr) push(all);
    return due.dispose_all();
  }

  /// Waits for all that is still in use, and disposes of it; what the disposers retire too. Blocking.
  void finish() noexcept {
    for (chain all = take_all(); all.head != nullptr; all = take_all()) {
      for (const hook* object = all.head; object != nullptr; object = object->next_.load()) {
        wait_for(object->used_until());
      }
      all.dispose_all();
    }
  }

 private:
  /// Objects that belong to one thread.
  struct chain {
    hook* head = nullptr;
    hook* tail = nullptr;

    hook* pop() noexcept {
      hook* const first = head;
      head = first->next_.load();
      first->next_.store(nullptr);
      if (head == nullptr) tail = nullptr;
      return first;
    }
    void append(hook* object) noexcept {
      tail == nullptr ? void(head = object) : tail->next_.store(object);
      tail = object;
    }
    /// How many. An object is not touched any more once its disposer was called.
    std::size_t dispose_all() noexcept {
      std::size_t count = 0;
      for (; head != nullptr; ++count) {
        hook* const object = pop();
        object->give_back();
        object->dispose_.load()(object);
      }
      return count;
    }
  };

  template <class Call>
  struct deferred_call : hook {
    deferred_call(Call&& made, const serials& used_until) : call{std::move(made)} {
      this->use_until(used_until);
      this->dispose_.store([](hook* which) noexcept {
        const std::unique_ptr<deferred_call> own{static_cast<deferred_call*>(which)};
        own->call();
      });
    }
    Call call;
  };

  static constexpr const char* twice = "an object was retired twice";

  template <class Object>
  static bool is_free(const Object& object) noexcept {
    if constexpr (std::is_base_of_v<hook, Object>) {
      const hook& retired = object;
      TIDEMARK_ASSERT(!retired.is_retired(), twice);
      return !retired.is_retired();
    } else {
      return true;
    }
  }

  serials last_queued() const noexcept {
    return std::apply([](const auto*... each) { return serials{each->last_queued()...}; }, queues_);
  }

  bool is_finished(const serials& used_until) const noexcept {
    return for_each_queue(used_until, [](const auto& one, std::uint64_t serial) { return one.is_finished(serial); });
  }
  void wait_for(const serials& used_until) const noexcept {
    for_each_queue(used_until, [](const auto& one, std::uint64_t serial) {
      static_cast<void>(one.wait_finished(serial));  // finished or lost: it is not in use any more
      return true;
    });
  }
  template <class Body>
  bool for_each_queue(const serials& used_until, const Body& body) const noexcept {
    std::size_t index = 0;
    return std::apply([&](const auto*... each) { return (body(*each, used_until[index++]) && ...); }, queues_);
  }

  void push_one(hook& object) noexcept {
    object.next_.store(nullptr);
    push({&object, &object});
  }

  void push(const chain& made) noexcept {
    made.head->tail_.store(made.tail);
    // (R1): relaxed, (R2) does the rest.
    hook* below = top_.load(std::memory_order_relaxed);
    do {
      made.head->below_.store(below);
      // (R2): release, pairs with (R3): the objects and their links. Not stronger: nobody reads through what was there.
    } while (!top_.compare_exchange_weak(below, made.head, std::memory_order_release, std::memory_order_relaxed));
  }

  /// In the order in which they were retired or put back.
  chain take_all() noexcept {
    // (R3): acquire, pairs with (R2), also with those that were pushed before the last one, whose release it heads.
    hook* newest = top_.exchange(nullptr, std::memory_order_acquire);
    chain all;
    while (newest != nullptr) {
      hook* const below = newest->below_.load();
      hook* const tail = newest->tail_.load();
      tail->next_.store(all.head);
      if (all.head == nullptr) all.tail = tail;
      all.head = newest;
      newest = below;
    }
    return all;
  }

  std::tuple<const Queues*...> queues_;
  typename platform::template atomic<hook*> top_;
};

}  // namespace tidemark

#endif  // TIDEMARK_RETIRE_QUEUE_HPP
