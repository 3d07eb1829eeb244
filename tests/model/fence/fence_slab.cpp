// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the slab: how fences are taken and released, what a late call finds, and that no waiter is missed
// while rooms come and go. The pool makes its first rooms one by one, so that threads meet there.
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/fence/fence_slab.hpp>
#include <tidemark/fence/wait_many.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace {

using tidemark::fence_handle;
using tidemark::slab_signal_status;
using tidemark::wait_status;
using tidemark::writers;

using model::heap_shape;
using model::some_time;

/// A pool whose first block has one room.
struct platform : tidemark::TIDEMARK_MODEL_PLATFORM {
  static constexpr std::uint32_t first_rooms = 1;
};
using payload = platform::var<int>;

constexpr heap_shape two_levels = model::two_levels;
/// A second waiter shares the overflow lane.
constexpr heap_shape one_slot = model::one_slot;

template <writers Signallers, heap_shape Shape>
using slab_of = tidemark::basic_fence_slab<platform, Signallers, model::options_of(Shape)>;
template <heap_shape Shape>
using slab = slab_of<writers::several, Shape>;
template <heap_shape Shape>
using progress = slab_of<writers::one, Shape>;

constexpr std::uint64_t idle() { return platform::heavy_barrier_available() ? tidemark::no_waiter : 0; }

/// A slab of a few fences, of which one is in use.
template <class Slab, std::size_t Fences = 1>
struct one_in_use {
  using slab_type = Slab;

  static tidemark::fence_slab_options options() {
    return {.fences = Fences,
            .value_stride = sizeof(platform::atomic<std::uint64_t>),
            .monitored_stride = sizeof(platform::atomic<std::uint64_t>)};
  }

  tidemark::fence_slab_result<Slab> made = Slab::make(options());
  Slab& fences = *made.slab;
  fence_handle handle = fences.acquire();
  payload data;
  platform::atomic<int> looked_at{0};

  /// Lets a while pass, as the checker decides. A waiter needs some forty operations to fall asleep, and at random a
  /// signal would hardly ever come later.
  void come_late() {
    for (unsigned left = 16 * tidemark::verify::engine::choose(4); left != 0; --left) {
      static_cast<void>(looked_at.load(std::memory_order_relaxed));
    }
  }

  /// [A15] Nobody is registered, and no fence has a room.
  void require_idle(fence_handle of) {
    MODEL_REQUIRE(fences.rooms_in_use() == 0);
    MODEL_REQUIRE(fences.monitored_value(of) == idle());
  }
  /// All fences are free.
  void require_free() {
    require_idle(handle);
    for (std::size_t i = 0; i < Fences; ++i) MODEL_REQUIRE(fences.acquire());
    MODEL_REQUIRE(!fences.acquire());
  }
};

/// [trap 10] The fence is released right after the wait, while its signaller may still be inside.
template <class Slab>
struct released_after_wait : model::suite<2>, one_in_use<Slab> {
  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      MODEL_REQUIRE(this->fences.signal(this->handle, 1) == slab_signal_status::signalled);
    } else {
      MODEL_REQUIRE(this->fences.wait(this->handle, 1) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
      MODEL_REQUIRE(this->fences.release(this->handle));
      MODEL_REQUIRE(!this->fences.release(this->handle));
    }
  }
  void after() { this->require_free(); }
};
/// The same where the signal may come late.
template <class Slab>
struct released_after_sleep : released_after_wait<Slab> {
  void thread(unsigned index) {
    if (index == 0) this->come_late();
    released_after_wait<Slab>::thread(index);
  }
};

/// [trap 10] The slot is used again at once, if the signaller has left it. Nothing of the signal is seen there.
template <class Slab>
struct used_again : model::suite<2>, one_in_use<Slab> {
  void thread(unsigned index) {
    if (index == 0) {
      this->come_late();
      this->data.store(42);
      MODEL_REQUIRE(this->fences.signal(this->handle, 9) == slab_signal_status::signalled);
    } else {
      MODEL_REQUIRE(this->fences.wait(this->handle, 9) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
      MODEL_REQUIRE(this->fences.release(this->handle));
      if (const fence_handle next = this->fences.acquire(3)) {
        MODEL_REQUIRE(next != this->handle);
        MODEL_REQUIRE(this->fences.current_value(next) == 3);
        MODEL_REQUIRE(this->fences.wait_until(next, 4, tidemark::deadline{}) == wait_status::timeout);
        MODEL_REQUIRE(this->fences.release(next));
      }
    }
  }
  void after() { this->require_free(); }
};

/// The owner of a pin signals without a handle.
template <class Slab>
struct pinned_signaller : model::suite<2>, one_in_use<Slab> {
  void thread(unsigned index) {
    if (index == 0) {
      auto pinned = this->fences.pin(this->handle);
      MODEL_REQUIRE(pinned);
      this->come_late();
      this->data.store(42);
      pinned.signal(1);
      pinned.signal(2);
    } else {
      MODEL_REQUIRE(this->fences.wait(this->handle, 2) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
      MODEL_REQUIRE(this->fences.release(this->handle));
    }
  }
  void after() { this->require_free(); }
};

/// Two threads wait for one fence: one may leave its room while the other one comes.
template <class Slab>
struct two_waiters : model::suite<3>, one_in_use<Slab> {
  void thread(unsigned index) {
    if (index == 0) {
      this->come_late();
      this->data.store(42);
      static_cast<void>(this->fences.signal(this->handle, 1));
      this->come_late();
      static_cast<void>(this->fences.signal(this->handle, 2));
    } else {
      MODEL_REQUIRE(this->fences.wait(this->handle, index) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
    }
  }
  void after() { this->require_idle(this->handle); }
};

/// [trap 2] A thread gives up, and leaves its room, while the signal is under way and another thread waits.
template <class Slab>
struct gives_up_beside_waiter : model::suite<3>, one_in_use<Slab> {
  void thread(unsigned index) {
    if (index == 0) {
      this->come_late();
      this->data.store(42);
      static_cast<void>(this->fences.signal(this->handle, 1));
    } else if (index == 1) {
      const wait_status how = this->fences.wait_until(this->handle, 1, some_time);
      MODEL_REQUIRE(how == wait_status::reached || how == wait_status::timeout);
    } else {
      MODEL_REQUIRE(this->fences.wait(this->handle, 1) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
    }
  }
  void after() { this->require_idle(this->handle); }
};

/// [trap 2] A wait that ends at its deadline leaves nothing behind, and the next one is not missed.
template <class Slab>
struct waits_twice : model::suite<2>, one_in_use<Slab> {
  void thread(unsigned index) {
    if (index == 0) {
      this->come_late();
      this->data.store(42);
      static_cast<void>(this->fences.signal(this->handle, 1));
    } else {
      static_cast<void>(this->fences.wait_until(this->handle, 1, some_time));
      MODEL_REQUIRE(this->fences.wait(this->handle, 1) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
    }
  }
  void after() { this->require_idle(this->handle); }
};

/// One room serves one fence after another, while the signaller of the first may still be in it.
template <class Slab>
struct room_moves : model::suite<2>, one_in_use<Slab, 2> {
  fence_handle second = this->fences.acquire();

  void thread(unsigned index) {
    if (index == 0) {
      this->come_late();
      this->data.store(42);
      static_cast<void>(this->fences.signal(this->handle, 5));
      this->come_late();
      static_cast<void>(this->fences.signal(second, 1));
    } else {
      MODEL_REQUIRE(this->fences.wait(this->handle, 5) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
      MODEL_REQUIRE(this->fences.wait(second, 1) == wait_status::reached);
    }
  }
  void after() {
    this->require_idle(this->handle);
    this->require_idle(second);
  }
};

/// Two threads take rooms for two fences at the same time.
template <class Slab>
struct two_rooms : model::suite<3>, one_in_use<Slab, 2> {
  fence_handle second = this->fences.acquire();

  void thread(unsigned index) {
    if (index == 0) {
      this->come_late();
      this->data.store(42);
      static_cast<void>(this->fences.signal(this->handle, 1));
      static_cast<void>(this->fences.signal(second, 1));
    } else {
      MODEL_REQUIRE(this->fences.wait(index == 1 ? this->handle : second, 1) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
    }
  }
  void after() {
    this->require_idle(this->handle);
    this->require_idle(second);
  }
};

/// [A120] The fence is lost while a thread begins to wait; its room is not lost for the next fence.
template <class Slab>
struct poison_against_wait : model::suite<2>, one_in_use<Slab, 2> {
  fence_handle second = this->fences.acquire();

  void thread(unsigned index) {
    if (index == 0) {
      this->come_late();
      this->data.store(42);
      MODEL_REQUIRE(this->fences.poison(this->handle));
      this->come_late();
      static_cast<void>(this->fences.signal(second, 1));
    } else {
      MODEL_REQUIRE(this->fences.wait(this->handle, 1) == wait_status::lost);
      MODEL_REQUIRE(this->fences.loss(this->handle) == &tidemark::unnamed_loss);
      MODEL_REQUIRE(this->data.load() == 42);
      MODEL_REQUIRE(this->fences.wait(second, 1) == wait_status::reached);
    }
  }
  void after() {
    this->require_idle(this->handle);
    this->require_idle(second);
    MODEL_REQUIRE(this->fences.current_value(this->handle) == UINT64_MAX);
  }
};

/// [A120] The same without a signal: the second wait ends at its deadline, and is not lost.
template <class Slab>
struct lost_alone : model::suite<2>, one_in_use<Slab, 2> {
  fence_handle second = this->fences.acquire();

  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      MODEL_REQUIRE(this->fences.poison(this->handle));
    } else {
      MODEL_REQUIRE(this->fences.wait(this->handle, 1) == wait_status::lost);
      MODEL_REQUIRE(this->data.load() == 42);
      MODEL_REQUIRE(this->fences.wait_until(second, 1, some_time) == wait_status::timeout);
    }
  }
  void after() { this->require_idle(second); }
};

/// [A120] Whoever is in a room when a poison is over knows that the fence is lost.
template <class Slab>
struct poison_meets_room : model::suite<2>, one_in_use<Slab> {
  typename Slab::pinned_fence pinned = this->fences.pin(this->handle);
  std::optional<typename Slab::waiting_room> room;

  void thread(unsigned index) {
    if (index == 0) {
      this->data.store(42);
      pinned.poison();
    } else {
      room.emplace(this->fences, this->handle);
      MODEL_REQUIRE(*room);
      if (room->is_poisoned()) MODEL_REQUIRE(this->data.load() == 42);
    }
  }
  void after() {
    MODEL_REQUIRE(room->is_poisoned());
    MODEL_REQUIRE(this->data.load() == 42);
    room.reset();
    this->require_idle(this->handle);
  }
};

/// [trap 10] The same where the room is left first, and bound again, while the poison is on its way into it or out of
/// it. The poison has a pin of its own, so that no pin that is dropped puts the two in order.
template <class Slab>
struct room_bound_again : poison_meets_room<Slab> {
  void before() { this->room.emplace(this->fences, this->handle); }
  void thread(unsigned index) {
    if (index == 1) this->room.reset();
    poison_meets_room<Slab>::thread(index);
  }
};

constexpr tidemark::loss_reason first_reason{1, "the first"};
constexpr tidemark::loss_reason second_reason{2, "the second"};

/// [A120] Of two reasons one counts, for all who look.
template <class Slab>
struct two_poisons : model::suite<3>, one_in_use<Slab> {
  payload first_data;
  payload second_data;

  void thread(unsigned index) {
    if (index == 0) {
      first_data.store(1);
      MODEL_REQUIRE(this->fences.poison(this->handle, first_reason));
    } else if (index == 1) {
      second_data.store(2);
      MODEL_REQUIRE(this->fences.poison(this->handle, second_reason));
    } else if (const tidemark::loss_reason* const why = this->fences.loss(this->handle)) {
      MODEL_REQUIRE(*why == first_reason ? first_data.load() == 1 : second_data.load() == 2);
      MODEL_REQUIRE(this->fences.loss(this->handle) == why);
    }
  }
};

/// [trap 24] A thread with a handle that becomes stale never sees the next use of the slot.
template <class Slab>
struct stale_look : model::suite<2>, one_in_use<Slab> {
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(this->fences.release(this->handle));
      const fence_handle next = this->fences.acquire(7);
      MODEL_REQUIRE(next);
      static_cast<void>(this->fences.signal(next, 8));
    } else {
      const std::uint64_t value = this->fences.current_value(this->handle);
      MODEL_REQUIRE(value == 0 || value == UINT64_MAX);
    }
  }
};

/// [trap 24] A late signal never reaches the next use of the slot.
template <class Slab>
struct stale_signal : model::suite<2>, one_in_use<Slab> {
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(this->fences.release(this->handle));
      if (const fence_handle next = this->fences.acquire(3)) {
        MODEL_REQUIRE(this->fences.current_value(next) == 3);
        MODEL_REQUIRE(this->fences.signal(next, 4) == slab_signal_status::signalled);
        MODEL_REQUIRE(this->fences.current_value(next) == 4);
      }
    } else {
      const slab_signal_status how = this->fences.signal(this->handle, 9);
      MODEL_REQUIRE(how == slab_signal_status::signalled || how == slab_signal_status::stale);
    }
  }
};

/// What calls do with a slot is over when the slot is used again.
template <class Slab>
struct used_after_pins : model::suite<3>, one_in_use<Slab> {
  payload touched;
  payload released;

  void thread(unsigned index) {
    if (index == 0) {
      const auto pinned = this->fences.pin(this->handle);
      if (pinned) touched.store(1);
    } else if (index == 1) {
      released.store(1);
      MODEL_REQUIRE(this->fences.release(this->handle));
    } else if (this->fences.acquire()) {
      touched.store(2);
      MODEL_REQUIRE(released.load() == 1);
    }
  }
};

/// Each free fence is taken once, also where it was taken and put back while another thread was about to take it.
template <class Slab>
struct taken_once : model::suite<2>, one_in_use<Slab, 2> {
  payload owner[2];

  void before() { MODEL_REQUIRE(this->fences.release(this->handle)); }
  static std::size_t slot_of(fence_handle of) { return static_cast<std::uint32_t>(of.number()); }
  void own(fence_handle taken, int thread) {
    if (!taken) return;
    owner[slot_of(taken)].store(thread);
    MODEL_REQUIRE(owner[slot_of(taken)].load() == thread);
  }
  void thread(unsigned index) {
    const int self = static_cast<int>(index);
    const fence_handle first = this->fences.acquire();
    own(first, self);
    const fence_handle second = this->fences.acquire();
    own(second, self);
    if (index == 1 && first) MODEL_REQUIRE(this->fences.release(first));
    own(second, self);
  }
};

/// A thread takes the first free fence as another one has put it back, and no free fence is forgotten.
template <class Slab>
struct taken_when_put_back : model::suite<2>, one_in_use<Slab, 2> {
  payload owner[2];

  void before() { MODEL_REQUIRE(this->fences.release(this->handle)); }
  void thread(unsigned index) {
    const fence_handle taken = this->fences.acquire();
    MODEL_REQUIRE(taken);
    payload& mine = owner[static_cast<std::uint32_t>(taken.number())];
    mine.store(static_cast<int>(index));
    MODEL_REQUIRE(mine.load() == static_cast<int>(index));
    if (index == 1) MODEL_REQUIRE(this->fences.release(taken));
  }
  void after() {
    MODEL_REQUIRE(this->fences.acquire());
    MODEL_REQUIRE(!this->fences.acquire());
  }
};

/// The same for three threads, of which each puts back what it has taken.
template <class Slab>
struct taken_by_three : model::suite<3>, one_in_use<Slab, 2> {
  payload owner[2];

  void before() { MODEL_REQUIRE(this->fences.release(this->handle)); }
  void thread(unsigned index) {
    if (const fence_handle taken = this->fences.acquire()) {
      payload& mine = owner[static_cast<std::uint32_t>(taken.number())];
      mine.store(static_cast<int>(index));
      MODEL_REQUIRE(mine.load() == static_cast<int>(index));
      MODEL_REQUIRE(this->fences.release(taken));
    }
  }
  void after() {
    MODEL_REQUIRE(this->fences.acquire());
    MODEL_REQUIRE(this->fences.acquire());
    MODEL_REQUIRE(!this->fences.acquire());
  }
};

/// A wait for several timelines registers in the room of a fence.
template <class Slab>
struct room_for_many : model::suite<2>, one_in_use<Slab> {
  void thread(unsigned index) {
    if (index == 0) {
      this->come_late();
      this->data.store(42);
      static_cast<void>(this->fences.signal(this->handle, 1));
    } else {
      const auto room = this->fences.waiters(this->handle);
      MODEL_REQUIRE(room);
      using awaited = tidemark::basic_awaited<platform>;
      const awaited list[]{{room, 1}};
      MODEL_REQUIRE(tidemark::wait_any(list) == wait_status::reached);
      MODEL_REQUIRE(this->data.load() == 42);
    }
  }
  void after() { this->require_idle(this->handle); }
};

/// Adds a check for both kinds of signallers.
template <template <class> class Suite, heap_shape Shape, model::name Name>
void add(std::vector<model::check>& checks) {
  checks.push_back(model::make_check<Suite<slab<Shape>>, Name + ".fence">());
  checks.push_back(model::make_check<Suite<progress<Shape>>, Name + ".progress">());
}
template <template <class> class Suite, model::name Name>
void add_on_shapes(std::vector<model::check>& checks) {
  add<Suite, one_slot, Name>(checks);
  checks.push_back(model::make_check<Suite<slab<two_levels>>, Name + ".fence.two_levels">());
  checks.push_back(model::make_check<Suite<progress<two_levels>>, Name + ".progress.two_levels">());
}

}  // namespace

int main(int argc, char** argv) {
  using model::make_check;
  std::vector<model::check> checks{make_check<two_poisons<slab<one_slot>>, "two_poisons">(),
                                   make_check<stale_look<slab<one_slot>>, "stale_look">(),
                                   make_check<used_after_pins<slab<one_slot>>, "used_after_pins">(),
                                   make_check<taken_once<slab<one_slot>>, "taken_once">(),
                                   make_check<taken_when_put_back<slab<one_slot>>, "taken_when_put_back">(),
                                   make_check<taken_by_three<slab<one_slot>>, "taken_by_three">()};
  add<stale_signal, one_slot, "stale_signal">(checks);
  add_on_shapes<released_after_wait, "released_after_wait">(checks);
  add_on_shapes<released_after_sleep, "released_after_sleep">(checks);
  add<used_again, one_slot, "used_again">(checks);
  add<pinned_signaller, one_slot, "pinned_signaller">(checks);
  add_on_shapes<two_waiters, "two_waiters">(checks);
  add_on_shapes<gives_up_beside_waiter, "gives_up_beside_waiter">(checks);
  add<waits_twice, one_slot, "waits_twice">(checks);
  add_on_shapes<room_moves, "room_moves">(checks);
  add<two_rooms, one_slot, "two_rooms">(checks);
  add<poison_against_wait, one_slot, "poison_against_wait">(checks);
  add<lost_alone, one_slot, "lost_alone">(checks);
  add<poison_meets_room, one_slot, "poison_meets_room">(checks);
  add<room_bound_again, one_slot, "room_bound_again">(checks);
  add<room_for_many, one_slot, "room_for_many">(checks);
  return model::run(argc, argv, checks);
}
