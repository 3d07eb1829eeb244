// SPDX-License-Identifier: BSL-1.0
//
// Model checks of what a release wakes: many waiters, of which those that wake up wake the rest, and wakers.
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/wait_many.hpp>

#include <array>
#include <cstddef>

namespace {

using tidemark::wait_status;

using model::heap_shape;
using model::require_idle;
using model::some_time;
using model::stop_source;
using model::three_slots;

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;

/// A signaller wakes one waiter itself, and leaves the others to those that wake up.
struct wakes_one : platform {
  static constexpr std::size_t most_woken = 1;
};

/// The same, and each waiter that wakes up wakes one more.
struct helps_one : wakes_one {
  static constexpr std::size_t most_helped = 1;
};

/// A slot for each of three waiters, in two blocks.
constexpr heap_shape three_in_two{.growth = tidemark::heap_growth::allowed, .has_grown = true};

template <heap_shape Shape, class Platform = wakes_one>
struct many : model::shaped_fence<Platform, Shape> {};

/// A signal that is due for all waiters, and the data that it hands over.
template <heap_shape Shape, class Platform = wakes_one>
struct one_signal {
  many<Shape, Platform> timeline;
  payload data;

  void signal() {
    data.store(42);
    timeline.signal(1);
  }
  void wait() { require(timeline.wait(1)); }
  void require(wait_status status) {
    MODEL_REQUIRE(status == wait_status::reached);
    MODEL_REQUIRE(data.load() == 42);
  }
  void after() { require_idle(timeline); }
};

/// [A19] [A37] One signal releases all waiters. Each of them wakes up and has the data.
template <heap_shape Shape, unsigned Waiters>
struct all_wake : model::suite<Waiters + 1>, one_signal<Shape> {
  void thread(unsigned index) { index == 0 ? this->signal() : this->wait(); }
};

/// [A14] [A19] The deadline of one waiter may pass while it is to be woken, or while it is to wake others. Nobody is
/// forgotten.
template <heap_shape Shape, unsigned Timed>
struct one_has_a_deadline : model::suite<4>, one_signal<Shape> {
  void thread(unsigned index) {
    if (index == 0) return this->signal();
    if (index != Timed) return this->wait();
    const wait_status status = this->timeline.wait_until(1, some_time);
    if (status != wait_status::timeout) this->require(status);
  }
};

/// [A14] [A19] A waiter leaves by itself, because it finds the value in time. The one that is to wake it passes it
/// over, and wakes the next one.
template <heap_shape Shape>
struct helped_one_has_left : model::suite<4>, one_signal<Shape, helps_one> {
  void thread(unsigned index) { index == 0 ? this->signal() : this->wait(); }
};

/// [A14] [A19] A waiter is stopped while it is to be woken, or while it is to wake others. Nobody is forgotten. It was
/// released before the stop.
template <heap_shape Shape>
struct one_is_stopped : model::suite<4>, one_signal<Shape> {
  stop_source<wakes_one> source;

  void thread(unsigned index) {
    if (index == 0) {
      this->signal();
      source.request_stop();
    } else if (index == 1) {
      this->require(this->timeline.wait(1, stop_source<wakes_one>::token{source}));
    } else {
      this->wait();
    }
  }
};

/// [A29] Two signals release waiters of their own, and each may wake those of the other.
template <heap_shape Shape>
struct two_passes : model::suite<4> {
  many<Shape> timeline;
  payload data[2];

  void thread(unsigned index) {
    if (index == 0) {
      data[0].store(1);
      timeline.signal(1);
      data[1].store(2);
      timeline.signal(2);
    } else {
      const unsigned target = index == 1 ? 1 : 2;
      MODEL_REQUIRE(timeline.wait(target) == wait_status::reached);
      for (unsigned i = 0; i < target; ++i) MODEL_REQUIRE(data[i].load() == static_cast<int>(i) + 1);
    }
  }
  void after() { require_idle(timeline); }
};

/// A slot whose waiter left before it was woken is freed exactly once: the waiter that comes next has it, or does not,
/// but finds the leaf as its owner left it.
template <heap_shape Shape>
struct slots_are_freed : model::suite<3> {
  model::shaped_heap<wakes_one, Shape> heap;
  std::array<tidemark::waiter_ticket, 2> tickets{heap.add(1), heap.add(1)};

  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(heap.release_due(1) <= 2);
    } else {
      heap.withdraw(tickets[index - 1]);
    }
  }
  void after() {
    // All three slots can be had.
    for (int i = 0; i < 3; ++i) MODEL_REQUIRE(!heap.add(5).is_in_lane());
    MODEL_REQUIRE(heap.add(5).is_in_lane());
  }
};

// ---- wakers ---------------------------------------------------------------------------------------------------------

/// A waker that writes plain fields: a race if it is used after its registration was withdrawn, or by two threads.
class counting_waker : public tidemark::detail::waker {
 public:
  counting_waker() : waker{&on_release} {}
  ~counting_waker() { uses_.store(-1); }
  int uses() const { return uses_.load(); }

 private:
  static bool on_release(waker& self, tidemark::detail::release_reason) noexcept {
    auto& mine = static_cast<counting_waker&>(self);
    mine.uses_.store(mine.uses_.load() + 1);
    return false;
  }
  payload uses_;
};

/// [A19] A registration with a waker is withdrawn while it is released, and the waker is destroyed at once. It was used
/// exactly once if the registration was released, and never after that.
template <heap_shape Shape>
struct waker_outlives_its_use : model::suite<2> {
  model::shaped_heap<platform, Shape> heap;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      heap.release_due(1);
    } else {
      counting_waker woken;
      const auto ticket = heap.add(1, &woken);
      const bool withdrawn = heap.withdraw(ticket);
      MODEL_REQUIRE(woken.uses() == (withdrawn || ticket.is_in_lane() ? 0 : 1));
      if (!withdrawn) MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == heap.idle_value()); }
};

/// The same in a pass over many, where another waiter may be the one that uses the waker.
template <heap_shape Shape>
struct waker_among_many : model::suite<3> {
  model::shaped_heap<wakes_one, Shape> heap;
  tidemark::waiter_ticket other = heap.add(1);

  void thread(unsigned index) {
    if (index == 0) {
      heap.release_due(1);
    } else if (index == 1) {
      heap.withdraw(other);
    } else {
      counting_waker woken;
      const auto ticket = heap.add(1, &woken);
      const bool withdrawn = heap.withdraw(ticket);
      MODEL_REQUIRE(woken.uses() == (withdrawn ? 0 : 1));
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == heap.idle_value()); }
};

/// [A29] A waiter that one pass has released finds one that another pass has left unwoken, and wakes it, with all that
/// the other pass knew.
template <heap_shape Shape>
struct another_pass_is_helped : model::suite<3> {
  model::shaped_heap<wakes_one, Shape> heap;
  tidemark::waiter_ticket other = heap.add(1);

  void thread(unsigned index) {
    if (index == 0) {
      heap.release_due(1);
    } else if (index == 1) {
      heap.withdraw(other);
    } else {
      std::array<counting_waker, 2> woken;
      const std::array<tidemark::waiter_ticket, 2> tickets{heap.add(2, &woken[0]), heap.add(2, &woken[1])};
      heap.release_due(2);
      for (unsigned i = 0; i < 2; ++i) {
        MODEL_REQUIRE(!heap.withdraw(tickets[i]));
        MODEL_REQUIRE(woken[i].uses() == 1);
      }
    }
  }
  void after() { MODEL_REQUIRE(heap.monitored_value() == heap.idle_value()); }
};

/// [A65] A slot changes from a registration with a waker to a thread that parks.
struct slot_changes_its_waker : model::suite<2> {
  many<model::one_slot> timeline;
  payload data[2];

  void thread(unsigned index) {
    if (index == 0) {
      for (unsigned value = 1; value <= 2; ++value) {
        data[value - 1].store(42);
        timeline.signal(value);
      }
    } else {
      const std::array<tidemark::basic_awaited<wakes_one>, 1> list{{{timeline, 1}}};
      MODEL_REQUIRE(tidemark::wait_all(list) == wait_status::reached);
      MODEL_REQUIRE(data[0].load() == 42);
      MODEL_REQUIRE(timeline.wait(2) == wait_status::reached);
      MODEL_REQUIRE(data[1].load() == 42);
    }
  }
  void after() { require_idle(timeline); }
};

/// [A65] Of three waiters that one signal releases, one waits for all of a list, and sleeps on. It is not the one that
/// wakes the others.
struct one_sleeps_on : model::suite<4> {
  many<three_slots> timeline;
  many<model::one_slot> other;
  payload data[2];

  void thread(unsigned index) {
    if (index == 0) {
      data[0].store(1);
      timeline.signal(1);
    } else if (index == 1) {
      const std::array<tidemark::basic_awaited<wakes_one>, 2> list{{{timeline, 1}, {other, 1}}};
      MODEL_REQUIRE(tidemark::wait_all(list) == wait_status::reached);
      MODEL_REQUIRE(data[0].load() + data[1].load() == 3);
    } else {
      MODEL_REQUIRE(timeline.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data[0].load() == 1);
      if (index == 3) {
        data[1].store(2);
        other.signal(1);
      }
    }
  }
  void after() {
    require_idle(timeline);
    require_idle(other);
  }
};

/// A word that wakes its thread when both registrations are released, with what both releasing threads did before.
struct word_of_two : model::suite<3> {
  tidemark::detail::shared_word<platform> woken{2};
  payload data[2];

  void thread(unsigned index) {
    if (index < 2) {
      data[index].store(1);
      woken.wake(tidemark::detail::release_reason::due);
    } else {
      for (std::uint32_t rest = woken.prepare(); rest != 0; rest = woken.prepare())
        woken.park(rest, tidemark::no_deadline);
      MODEL_REQUIRE(data[0].load() + data[1].load() == 2);
    }
  }
};

/// [A120] One of the two is lost, which wakes the thread at once.
struct word_that_is_lost : model::suite<2> {
  tidemark::detail::shared_word<platform> woken{2};
  platform::atomic<std::uint32_t> is_lost;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(1);
      is_lost.store(1, std::memory_order_relaxed);
      woken.wake(tidemark::detail::release_reason::lost);
    } else {
      for (;;) {
        const std::uint32_t rest = woken.prepare();
        if (rest == 1) break;
        woken.park(rest, tidemark::no_deadline);
      }
      MODEL_REQUIRE(is_lost.load(std::memory_order_relaxed) == 1);
      MODEL_REQUIRE(data.load() == 1);
    }
  }
};

/// A nudge wakes the thread, which sees what the other one did before.
struct word_that_is_nudged : model::suite<2> {
  tidemark::detail::shared_word<platform> woken{1};
  platform::atomic<std::uint32_t> is_stopped;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(1);
      is_stopped.store(1, std::memory_order_release);
      woken.nudge();
    } else {
      for (;;) {
        const std::uint32_t rest = woken.prepare();
        if (is_stopped.load(std::memory_order_acquire) != 0) break;
        woken.park(rest, tidemark::no_deadline);
      }
      MODEL_REQUIRE(data.load() == 1);
    }
  }
};

template <heap_shape Shape>
using two_wake = all_wake<Shape, 2>;
template <heap_shape Shape>
using three_wake = all_wake<Shape, 3>;

}  // namespace

int main(int argc, char** argv) {
  using namespace model;
  std::vector<check> checks{
      make_check<three_wake<three_slots>, "all_wake.three">(),
      make_check<three_wake<two_levels>, "all_wake.three.two_levels">(),
      make_check<three_wake<three_in_two>, "all_wake.three.grown">(),
      make_check<one_has_a_deadline<three_slots, 1>, "one_has_a_deadline.first">(),
      make_check<one_has_a_deadline<three_slots, 2>, "one_has_a_deadline.second">(),
      make_check<helped_one_has_left<three_slots>, "helped_one_has_left">(),
      make_check<helped_one_has_left<two_levels>, "helped_one_has_left.two_levels">(),
      make_check<one_is_stopped<three_slots>, "one_is_stopped">(),
      make_check<two_passes<three_slots>, "two_passes">(),
      make_check<slots_are_freed<three_slots>, "slots_are_freed">(),
      make_check<slots_are_freed<two_levels>, "slots_are_freed.two_levels">(),
      make_check<waker_among_many<three_slots>, "waker_among_many">(),
      make_check<waker_among_many<two_levels>, "waker_among_many.two_levels">(),
      make_check<another_pass_is_helped<three_slots>, "another_pass_is_helped">(),
      make_check<another_pass_is_helped<two_levels>, "another_pass_is_helped.two_levels">(),
      make_check<slot_changes_its_waker, "slot_changes_its_waker">(),
      make_check<one_sleeps_on, "one_sleeps_on">(),
      make_check<word_of_two, "word_of_two">(),
      make_check<word_that_is_lost, "word_that_is_lost">(),
      make_check<word_that_is_nudged, "word_that_is_nudged">(),
  };
  add_on_shapes<two_wake, two_slots, "all_wake.two">(checks);
  add_on_shapes<waker_outlives_its_use, one_slot, "waker_outlives_its_use">(checks);
  return run(argc, argv, checks);
}
