// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the event count: a thread that tries in vain is woken by what other threads change, and by a
// timeline. Each check hands plain fields over.
#include "support/lent.hpp"
#include "support/progress.hpp"

#include <tidemark/fence/event_count.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace {

using model::heap_shape;
using model::one_slot;
using model::payload;
using model::progress_fence;
using tidemark::attempt_result;
using tidemark::wait_status;

using event_count = tidemark::basic_event_count<model::platform>;

/// Pieces of memory as a program may lend them: each is taken, or in use until a value. It is a subject of
/// support/lent.hpp.
template <std::size_t Pieces, heap_shape Shape = one_slot>
struct lent_pieces {
  static constexpr std::uint64_t taken = UINT64_MAX;

  progress_fence<Shape> finished;
  event_count given_back;
  std::array<model::platform::atomic<std::uint64_t>, Pieces> until;
  std::array<payload, Pieces> memory;

  lent_pieces() {
    for (auto& each : until) each.store(taken, std::memory_order_relaxed);
  }

  void give(unsigned which) { retire(which, 0); }
  void retire(unsigned which, std::uint64_t value) {
    memory[which].store(7);
    until[which].store(value, std::memory_order_release);
    given_back.notify();
  }

  template <class... Limits>
  wait_status ask(std::size_t, const Limits&... limits) {
    std::size_t mine = 0;
    const auto attempt = [&] { return take_one(mine); };
    wait_status end{};
    if constexpr (model::has_deadline<Limits...>) {
      end = given_back.wait_until(finished, attempt, limits...);
    } else {
      end = given_back.wait(finished, attempt, limits...);
    }
    if (end == wait_status::reached) {
      memory[mine].store(8);
      give(static_cast<unsigned>(mine));
    }
    return end;
  }

 private:
  /// Takes a piece that is free. Otherwise names the value at which one becomes free; none, if all are taken.
  attempt_result take_one(std::size_t& mine) {
    std::uint64_t least = taken;
    for (std::size_t i = 0; i < Pieces; ++i) {
      std::uint64_t seen = until[i].load(std::memory_order_acquire);
      if (seen == taken) continue;
      if (!finished.is_reached(seen)) {
        if (seen < least) least = seen;
        continue;
      }
      if (!until[i].compare_exchange_strong(seen, taken, std::memory_order_acquire, std::memory_order_relaxed))
        return attempt_result::again();  // whoever has it gives it back
      mine = i;
      return true;
    }
    return attempt_result::again_at(least);
  }
};
template <heap_shape Shape>
using given_after_retire = model::given_after_retire<lent_pieces, Shape>;

/// What one thread makes, and another one waits for.
struct made_thing {
  event_count changes;
  model::platform::atomic<std::uint32_t> is_made{0};
  payload thing;

  void make() {
    thing.store(7);
    is_made.store(1, std::memory_order_release);
    changes.notify();
  }
  bool is_there() { return is_made.load(std::memory_order_acquire) != 0; }
  void require() { MODEL_REQUIRE(thing.load() == 7); }
};

/// One thread makes something; the other one tries until it has it. No timeline.
struct notified : model::suite<2>, made_thing {
  void thread(unsigned index) {
    if (index == 0) return make();
    MODEL_REQUIRE(changes.wait([this] { return is_there(); }) == wait_status::reached);
    require();
  }
};

/// Two threads make one thing each, and a third one needs both.
struct notified_by_two : model::suite<3> {
  event_count made;
  std::array<model::platform::atomic<std::uint32_t>, 2> is_made;
  std::array<payload, 2> things;

  void thread(unsigned index) {
    if (index < 2) {
      things[index].store(7);
      is_made[index].store(1, std::memory_order_release);
      made.notify();
    } else {
      const auto has_both = [this] {
        return is_made[0].load(std::memory_order_acquire) + is_made[1].load(std::memory_order_acquire) == 2;
      };
      MODEL_REQUIRE(made.wait(has_both) == wait_status::reached);
      MODEL_REQUIRE(things[0].load() + things[1].load() == 14);
    }
  }
};

/// A stop ends a wait without a timeline.
struct stopped : model::suite<2> {
  event_count made;
  model::stop_source<model::platform> source;

  void thread(unsigned index) {
    if (index == 0) return source.request_stop();
    const auto never = [] { return false; };
    MODEL_REQUIRE(made.wait(never, model::stop_source<model::platform>::token{source}) == wait_status::stopped);
  }
};

/// A wait without a timeline may end at its deadline. What was made before is found.
struct in_time : model::suite<2>, made_thing {
  void thread(unsigned index) {
    if (index == 0) return make();
    const wait_status end = changes.wait_until([this] { return is_there(); }, model::some_time);
    MODEL_REQUIRE(end == wait_status::reached || end == wait_status::timeout);
    if (end == wait_status::reached) require();
  }
};

/// The timeline reaches the value that the attempt names, and nobody notifies.
template <heap_shape Shape>
struct reached : model::suite<2> {
  progress_fence<Shape> timeline;
  event_count changes;
  payload thing;

  void thread(unsigned index) {
    if (index == 0) {
      thing.store(7);
      timeline.signal(1);
    } else {
      const auto attempt = [this]() -> attempt_result {
        return timeline.is_reached(1) ? true : attempt_result::again_at(1);
      };
      MODEL_REQUIRE(changes.wait(timeline.view(), attempt) == wait_status::reached);
      MODEL_REQUIRE(thing.load() == 7);
    }
  }
  void after() { model::require_idle(timeline); }
};

/// The timeline is lost, and the attempt says that it does not matter: what is made after that ends the wait.
template <heap_shape Shape>
struct loss_does_not_matter : model::suite<2>, made_thing {
  progress_fence<Shape> timeline;

  void thread(unsigned index) {
    if (index == 0) {
      timeline.poison();
      return make();
    }
    MODEL_REQUIRE(changes.wait(timeline.view(), [this] { return is_there(); }) == wait_status::reached);
    require();
  }
  void after() { model::require_idle_after_poison(timeline); }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks{
      model::make_check<notified, "notified">(),
      model::make_check<notified_by_two, "notified_by_two">(),
      model::make_check<stopped, "stopped">(),
      model::make_check<in_time, "in_time">(),
  };
  model::add_on_shapes<reached, one_slot, "reached">(checks);
  model::add_on_shapes<loss_does_not_matter, one_slot, "loss_does_not_matter">(checks);
  model::add_on_shapes<given_after_retire, one_slot, "given_after_retire">(checks);
  model::lent_checks<lent_pieces>::add(checks);
  return model::run(argc, argv, checks);
}
