// SPDX-License-Identifier: BSL-1.0
//
// Deferred destruction: what is waited for, what is not, and that everything is destroyed exactly once.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <tidemark/memory/retire_queue.hpp>

#include "support/queues.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::assume_not_in_use;
using tidemark::destroy_status;
using tidemark::wait_status;

namespace {

using counted_queue = tidemark::basic_queue<progress, ticking_clock>;

struct lane {
  /// Queues work, which complete() finishes.
  void submit() {
    CHECK(queue.submit([](std::uint64_t) {}));
  }

  progress own;
  counted_queue queue{own};
};

using one_queue = tidemark::retire_queue<counted_queue>;
using two_queues = tidemark::retire_queue<counted_queue, counted_queue>;

/// An object that says how often it was disposed of.
template <std::size_t Queues>
struct counted_object : tidemark::retire_hook<Queues, stepping_platform> {
  int disposed = 0;
};
struct count_it {
  template <class Object>
  void operator()(Object& object) const noexcept {
    ++object.disposed;
  }
};

}  // namespace

// ---- what is waited for --------------------------------------------------------------------------------------------

TEST_CASE(
    "[B3][B4][B5][trap 28] an object is freed when the work that was queued before is finished, neither earlier nor "
    "later") {
  lane at;
  one_queue reclaimer{at.queue};
  counted_object<1> object;
  at.submit();
  at.submit();
  reclaimer.retire(object, count_it{});
  at.submit();  // does not use it
  CHECK(reclaimer.reclaim() == 0);
  at.queue.complete();
  CHECK(reclaimer.reclaim() == 0);
  at.queue.complete();
  CHECK(object.disposed == 0);
  CHECK(reclaimer.reclaim() == 1);
  CHECK(object.disposed == 1);
  CHECK(reclaimer.reclaim() == 0);
}

TEST_CASE("[B4][trap 28] work that was queued and has not begun is waited for") {
  lane at;
  one_queue reclaimer{at.queue};
  counted_object<1> object;
  at.submit();
  CHECK(at.own.current_value() == 0);
  reclaimer.retire(object, count_it{});
  CHECK(reclaimer.reclaim() == 0);
  at.queue.complete();
  CHECK(reclaimer.reclaim() == 1);
}

TEST_CASE("[B4][B5][trap 28] an object that several queues use is freed after the last of them") {
  std::array<lane, 2> at;
  two_queues reclaimer{at[0].queue, at[1].queue};
  for (const std::size_t last : {0u, 1u}) {
    counted_object<2> object;
    at[0].submit();
    at[1].submit();
    reclaimer.retire(object, count_it{});
    at[1 - last].queue.complete();
    CHECK(reclaimer.reclaim() == 0);
    at[last].queue.complete();
    CHECK(reclaimer.reclaim() == 1);
    CHECK(object.disposed == 1);
  }
}

TEST_CASE("[B1][B2] with serials of the caller's only those serials are waited for") {
  std::array<lane, 2> at;
  two_queues reclaimer{at[0].queue, at[1].queue};
  counted_object<2> used_by_second;
  counted_object<2> used_by_none;
  at[0].submit();
  at[1].submit();
  CHECK(reclaimer.retire(used_by_second, count_it{}, {0, 1}));
  CHECK(reclaimer.retire(used_by_none, count_it{}, {0, 0}));
  CHECK(reclaimer.reclaim() == 1);
  CHECK(used_by_none.disposed == 1);
  at[1].queue.complete();
  CHECK(reclaimer.reclaim() == 1);
  CHECK(used_by_second.disposed == 1);
  at[0].queue.complete();
}

TEST_CASE("[B6] an object that is assumed not to be in use is destroyed at once, even while work is pending") {
  lane at;
  one_queue reclaimer{at.queue};
  counted_object<1> object;
  at.submit();
  CHECK(reclaimer.destroy(object, count_it{}, assume_not_in_use).status == destroy_status::destroyed);
  CHECK(object.disposed == 1);
  CHECK(reclaimer.reclaim() == 0);
  at.queue.complete();
}

TEST_CASE("[B3][B6] or it is retired, and the next reclaim() disposes of it, even while work is pending") {
  lane at;
  one_queue reclaimer{at.queue};
  counted_object<1> in_use;
  counted_object<1> object;
  int calls = 0;
  at.submit();
  CHECK(reclaimer.retire(in_use, count_it{}));
  CHECK(reclaimer.retire(object, count_it{}, assume_not_in_use));
  CHECK(reclaimer.retire_call([&] { ++calls; }, assume_not_in_use));
  CHECK(object.disposed + calls == 0);  // not by the caller
  std::thread cleaner{[&] { CHECK(reclaimer.reclaim() == 2); }};
  cleaner.join();
  CHECK(object.disposed == 1);
  CHECK(calls == 1);
  CHECK(in_use.disposed == 0);
  at.queue.complete();
  CHECK(reclaimer.reclaim() == 1);
}

TEST_CASE("[B6][B7] each of the four forms waits, or does not, and disposes of the object here, or later") {
  for (const bool assumes : {false, true}) {
    for (const bool at_once : {false, true}) {
      CAPTURE(assumes);
      CAPTURE(at_once);
      lane at;
      one_queue reclaimer{at.queue};
      counted_object<1> object;
      at.submit();
      waiter caller{[&] {
        if (at_once) {
          CHECK((assumes ? reclaimer.destroy(object, count_it{}, assume_not_in_use)
                         : reclaimer.destroy(object, count_it{})));
          CHECK(object.disposed == 1);
        } else {
          CHECK((assumes ? reclaimer.retire(object, count_it{}, assume_not_in_use)
                         : reclaimer.retire(object, count_it{})));
          CHECK(object.disposed == 0);
        }
        return wait_status::reached;
      }};
      if (at_once && !assumes) {
        CHECK(caller.falls_asleep());
        at.queue.complete();
      }
      CHECK(caller.status() == wait_status::reached);
      if (!at_once) CHECK(reclaimer.reclaim() == (assumes ? 1 : 0));
      if (assumes || !at_once) at.queue.complete();
      CHECK(reclaimer.drain() == wait_status::reached);
      CHECK(object.disposed == 1);
    }
  }
}

TEST_CASE("[B6] a drain() that ends early disposes of what is assumed not to be in use") {
  using namespace std::chrono_literals;
  lane at;
  one_queue reclaimer{at.queue};
  counted_object<1> in_use;
  counted_object<1> object;
  at.submit();
  CHECK(reclaimer.retire(in_use, count_it{}));
  CHECK(reclaimer.retire(object, count_it{}, assume_not_in_use));
  CHECK(reclaimer.drain_for(0ms) == wait_status::timeout);
  CHECK(object.disposed == 1);
  CHECK(in_use.disposed == 0);
  at.queue.complete();
  CHECK(reclaimer.drain() == wait_status::reached);
  CHECK(in_use.disposed == 1);
}

TEST_CASE("[B7] destroy() parks until the object is not in use, and disposes of it before it returns") {
  lane at;
  one_queue reclaimer{at.queue};
  counted_object<1> object;
  at.submit();
  waiter caller{[&] {
    CHECK(reclaimer.destroy(object, count_it{}));
    return wait_status::reached;
  }};
  CHECK(caller.falls_asleep());
  at.queue.complete();
  CHECK(caller.status() == wait_status::reached);
  CHECK(object.disposed == 1);
}

TEST_CASE("[B5] an object of any type may be retired, also one whose hooks are private or several") {
  struct nothing_of_it : private tidemark::retire_hook<1> {};
  struct left : tidemark::retire_hook<1> {};
  struct right : tidemark::retire_hook<1> {};
  struct both : left, right {};
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
  tidemark::retire_queue<tidemark::queue> reclaimer{queue};
  int disposals = 0;
  const auto count = [&](auto&) noexcept { ++disposals; };
  nothing_of_it one;
  both two;
  CHECK(reclaimer.destroy(one, count).status == tidemark::destroy_status::destroyed);
  CHECK(reclaimer.destroy(two, count).status == tidemark::destroy_status::destroyed);
  CHECK(disposals == 2);
}

TEST_CASE("[B3] retire() does not wait and makes no system call") {
  lane at;
  one_queue reclaimer{at.queue};
  std::array<counted_object<1>, 100> objects;
  at.submit();
  const meter<stepping_platform> during;
  for (auto& object : objects) reclaimer.retire(object, count_it{});
  CHECK(during.parks() + during.heavy_barriers() + during.unparks() == 0);
  at.queue.complete();
  CHECK(reclaimer.reclaim() == objects.size());
}

// ---- the steps of reclaim() ----------------------------------------------------------------------------------------

TEST_CASE("[B5] an object that is still in use does not delay others") {
  std::array<lane, 2> at;
  two_queues reclaimer{at[0].queue, at[1].queue};
  std::array<counted_object<2>, 3> objects;
  at[0].submit();
  reclaimer.retire(objects[0], count_it{});
  at[0].queue.complete();
  at[1].submit();
  reclaimer.retire(objects[1], count_it{}, {0, 1});
  reclaimer.retire(objects[2], count_it{}, {1, 0});
  CHECK(reclaimer.reclaim() == 2);
  CHECK(objects[1].disposed == 0);
  at[1].queue.complete();
  CHECK(reclaimer.reclaim() == 1);
}

TEST_CASE("a bounded reclaim() looks at so many objects and no more, and the next one goes on with the others") {
  std::array<lane, 2> at;
  two_queues reclaimer{at[0].queue, at[1].queue};
  std::deque<counted_object<2>> stuck(5);
  std::deque<counted_object<2>> due(5);
  at[0].submit();
  for (auto& object : stuck) reclaimer.retire(object, count_it{}, {1, 0});
  for (auto& object : due) reclaimer.retire(object, count_it{}, {0, 0});
  CHECK(reclaimer.reclaim(5) == 0);  // those that are stuck: they go to the end
  CHECK(reclaimer.reclaim(2) == 2);
  CHECK(reclaimer.reclaim(3) == 3);
  CHECK(reclaimer.reclaim(0) == 0);
  CHECK(reclaimer.reclaim() == 0);
  at[0].queue.complete();
  CHECK(reclaimer.reclaim(4) == 4);
  CHECK(reclaimer.reclaim(4) == 1);
  for (const auto& object : stuck) CHECK(object.disposed == 1);
  for (const auto& object : due) CHECK(object.disposed == 1);
}

TEST_CASE("a disposer may retire other objects, and reclaim") {
  static lane at;
  static one_queue reclaimer{at.queue};
  static counted_object<1> second;
  struct retire_second {
    void operator()(counted_object<1>&) const noexcept {
      reclaimer.retire(second, count_it{});
      reclaimer.reclaim();
    }
  };
  counted_object<1> first;
  reclaimer.retire(first, retire_second{});
  CHECK(reclaimer.reclaim() == 1);
  CHECK(second.disposed == 1);
}

// ---- any callable --------------------------------------------------------------------------------------------------

TEST_CASE("any callable may be retired, also one that can't be copied") {
  lane at;
  one_queue reclaimer{at.queue};
  const auto owned = std::make_shared<int>(7);
  int called = 0;
  at.submit();
  CHECK(reclaimer.retire_call([&called, own = std::make_unique<std::shared_ptr<int>>(owned)] { called += **own; }));
  CHECK(owned.use_count() == 2);
  CHECK(reclaimer.reclaim() == 0);
  at.queue.complete();
  CHECK(reclaimer.reclaim() == 1);
  CHECK(called == 7);
  CHECK(owned.use_count() == 1);
}

TEST_CASE("where moving a callable throws, nothing is retired") {
  lane at;
  one_queue reclaimer{at.queue};
  struct refuses_to_move {
    refuses_to_move() = default;
    refuses_to_move(const refuses_to_move&) = default;
    // NOLINTNEXTLINE(performance-noexcept-move-constructor): what is tested
    refuses_to_move(refuses_to_move&&) { throw std::runtime_error{"no"}; }
    void operator()() const {}
  };
  CHECK_THROWS_AS(static_cast<void>(reclaimer.retire_call(refuses_to_move{})), std::runtime_error);
  CHECK(reclaimer.reclaim() == 0);
}

// ---- the end -------------------------------------------------------------------------------------------------------

TEST_CASE("[B5] the destructor waits for everything that was retired, and disposes of it once") {
  lane at;
  counted_object<1> object;
  int called = 0;
  at.submit();
  waiter owner{[&] {
    one_queue reclaimer{at.queue};
    reclaimer.retire(object, count_it{});
    CHECK(reclaimer.retire_call([&] { ++called; }));
    return wait_status::reached;
  }};
  CHECK(owner.falls_asleep());
  at.queue.complete();
  CHECK(owner.status() == wait_status::reached);
  CHECK(object.disposed == 1);
  CHECK(called == 1);
}

TEST_CASE("[B5] drain() waits for objects in use, and disposes of all objects") {
  std::array<lane, 2> at;
  two_queues reclaimer{at[0].queue, at[1].queue};
  std::array<counted_object<2>, 3> objects;
  at[0].submit();
  reclaimer.retire(objects[0], count_it{});
  reclaimer.retire(objects[1], count_it{}, {0, 0});
  at[1].submit();
  reclaimer.retire(objects[2], count_it{});
  const auto disposed = [&] { return objects[0].disposed + objects[2].disposed; };
  waiter owner{[&] { return reclaimer.drain(); }};
  CHECK(owner.falls_asleep());
  CHECK(disposed() == 0);
  at[0].queue.complete();
  CHECK(owner.falls_asleep());
  CHECK(objects[2].disposed == 0);
  at[1].queue.complete();
  CHECK(owner.status() == wait_status::reached);
  for (const auto& object : objects) CHECK(object.disposed == 1);
  CHECK(reclaimer.reclaim() == 0);
}

TEST_CASE("[B5] drain() disposes of what disposers retire, too, also of the same object again") {
  static lane at;
  static one_queue reclaimer{at.queue};
  static std::array<counted_object<1>, 2> later;
  struct again {
    void operator()(counted_object<1>& object) const noexcept {
      if (++object.disposed < 3) return static_cast<void>(reclaimer.retire(object, again{}));
      for (auto& other : later) reclaimer.retire(other, count_it{});
    }
  };
  counted_object<1> first;
  int called = 0;
  at.submit();
  reclaimer.retire(first, again{});
  CHECK(reclaimer.retire_call([&called] { CHECK(reclaimer.retire_call([&called] { ++called; })); }));
  at.queue.complete();
  CHECK(reclaimer.drain() == wait_status::reached);
  CHECK(first.disposed == 3);
  for (const auto& other : later) CHECK(other.disposed == 1);
  CHECK(called == 1);
  CHECK(reclaimer.reclaim() == 0);
}

TEST_CASE("[A120][B5] what an aborted queue used is disposed of once, and not waited for") {
  lane at;
  one_queue reclaimer{at.queue};
  counted_object<1> before;
  counted_object<1> after;
  at.submit();
  reclaimer.retire(before, count_it{});
  at.queue.abort();
  CHECK(reclaimer.reclaim() == 1);
  CHECK(reclaimer.destroy(after, count_it{}).status == destroy_status::destroyed);
  CHECK(before.disposed == 1);
  CHECK(after.disposed == 1);
}

TEST_CASE("[A120][B5] beside an aborted queue the others are still waited for") {
  using namespace std::chrono_literals;
  for (const bool first_aborts : {true, false}) {
    CAPTURE(first_aborts);
    lane first;
    lane second;
    lane& aborts = first_aborts ? first : second;
    lane& works = first_aborts ? second : first;
    two_queues reclaimer{first.queue, second.queue};
    counted_object<2> retired;
    counted_object<2> waited_for;
    aborts.submit();
    works.submit();
    reclaimer.retire(retired, count_it{});
    aborts.queue.abort();
    CHECK(reclaimer.reclaim() == 0);
    CHECK(reclaimer.drain_for(0ms) == wait_status::timeout);
    CHECK(reclaimer.destroy_for(waited_for, count_it{}, 0ms).status == destroy_status::timeout);
    works.queue.complete();
    CHECK(reclaimer.destroy_for(waited_for, count_it{}, 0ms).status == destroy_status::destroyed);
    CHECK(reclaimer.drain() == wait_status::reached);
    CHECK(retired.disposed == 1);
    CHECK(waited_for.disposed == 1);
  }
}

TEST_CASE("[B3][B5] under load no object is freed while it is used, and every object is freed once") {
  constexpr std::uint64_t frames = 5'000;
  struct resource {
    std::uint64_t payload = 0;  // the work that uses it
  };
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
  std::vector<const resource*> commands(frames + 1);
  std::atomic<std::uint64_t> visible{0};
  std::uint64_t used_dead = 0;
  std::atomic<std::uint64_t> freed{0};
  const auto dog = watch(progress);
  {
    tidemark::retire_queue reclaimer{queue};
    std::thread executor{[&] {
      for (std::uint64_t serial = 1; serial <= frames; ++serial) {
        while (visible.load(std::memory_order_acquire) < serial) std::this_thread::yield();
        used_dead += commands[static_cast<std::size_t>(serial)]->payload == serial ? 0U : 1U;
        queue.complete();
      }
    }};
    std::atomic<bool> done{false};
    std::thread cleaner{[&] {
      while (!done.load(std::memory_order_relaxed)) reclaimer.reclaim(16);
    }};
    for (std::uint64_t i = 0; i < frames; ++i) {
      auto made = std::make_unique<resource>();
      CHECK(queue
                .submit([&](std::uint64_t serial) {
                  made->payload = serial;
                  commands[static_cast<std::size_t>(serial)] = made.get();
                  visible.store(serial, std::memory_order_release);
                })
                .serial == i + 1);
      // The memory itself is freed, so that AddressSanitizer reports a use that comes too late.
      CHECK(reclaimer.retire_call([own = std::move(made), &freed]() mutable {
        own->payload = 0;
        own.reset();
        freed.fetch_add(1, std::memory_order_relaxed);
      }));
      if (i % 64 == 0) reclaimer.reclaim(8);
    }
    executor.join();
    done = true;
    cleaner.join();
  }
  CHECK(used_dead == 0);
  CHECK(freed == frames);
}
