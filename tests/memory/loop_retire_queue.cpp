// SPDX-License-Identifier: BSL-1.0
//
// Objects that a loop destroys when queues have come far enough.
#include <tidemark/memory/loop_retire_queue.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <tidemark/queue/queue.hpp>

#include "support/counted_allocations.hpp"
#include "support/loop_kinds.hpp"
#include "support/manual_stop.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using tidemark::run_status;
using tidemark::wait_status;

namespace {

template <class Kind>
using queue_of = tidemark::basic_queue<typename Kind::progress_fence, tidemark::no_log_clock>;
template <class Kind, std::size_t Most = 2>
using reclaimer_of = tidemark::basic_loop_retire_queue<typename Kind::platform, Most>;

/// A queue that finishes its work when the test says so.
template <class Kind>
struct stand {
  typename Kind::progress_fence finished;
  queue_of<Kind> queue{finished, {.log_entries = 8}};

  void submit() {
    static_cast<void>(queue.submit([](std::uint64_t) {}));
  }
};

struct disposed_log {
  std::vector<int> order;
};

/// An object that notes when it is disposed of.
template <std::size_t Most>
struct noted : tidemark::loop_retire_hook<Most> {
  noted(disposed_log& in, int number) : log{&in}, which{number} {}
  disposed_log* log;
  int which;
};
struct note {
  template <std::size_t Most>
  void operator()(noted<Most>& object) const noexcept {
    object.log->order.push_back(object.which);
  }
};

/// A loop that only the test runs, and what disposes of objects there when two queues are done with them.
template <class Kind>
struct two_queues_stand {
  two_queues_stand() {
    REQUIRE(reclaimer.add_queue(graphics.queue));
    REQUIRE(reclaimer.add_queue(copies.queue));
  }

  typename Kind::loop loop;
  stand<Kind> graphics;
  stand<Kind> copies;
  disposed_log log;
  reclaimer_of<Kind> reclaimer{loop};
};

/// Counts its disposals, and calls a function in each.
struct counted_object : tidemark::loop_retire_hook<2> {
  std::function<void()> meanwhile = [] {};
  std::atomic<int> disposals{0};
};
struct count_disposal {
  void operator()(counted_object& of) const noexcept {
    of.meanwhile();
    ++of.disposals;
  }
};

}  // namespace

TEST_CASE_TEMPLATE("[B3][B4][B5] an object is disposed of on the loop when the work that was queued before is finished",
                   Kind, EVERY_LOOP_KIND) {
  two_queues_stand<Kind> at;
  noted<2> mesh{at.log, 1};
  at.graphics.submit();
  at.graphics.submit();
  at.copies.submit();
  CHECK(at.reclaimer.retire(mesh, note{}));
  at.graphics.submit();
  CHECK(at.reclaimer.size() == 1);
  while (at.loop.poll() != 0) {
  }
  at.graphics.queue.complete();
  at.copies.queue.complete();
  while (at.loop.poll() != 0) {
  }
  CHECK(at.log.order.empty());
  at.graphics.queue.complete();
  CHECK(at.log.order.empty());
  while (at.loop.poll() != 0) {
  }
  CHECK(at.log.order == std::vector{1});
  CHECK(at.reclaimer.size() == 0);
  // It may be retired again.
  CHECK(at.reclaimer.retire(mesh, note{}));
  at.graphics.queue.complete();
  while (at.loop.poll() != 0) {
  }
  CHECK(at.log.order == std::vector{1, 1});
  CHECK(is_idle(at.graphics.finished));
}

TEST_CASE_TEMPLATE("an object that nothing uses is disposed of on the loop, too, not in retire()", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  reclaimer_of<Kind> reclaimer(loop);
  disposed_log log;
  noted<2> mesh{log, 1};
  CHECK(reclaimer.retire(mesh, note{}));
  CHECK(log.order.empty());
  CHECK(loop.poll() == 1);
  CHECK(log.order == std::vector{1});
}

TEST_CASE_TEMPLATE("[B6] what is assumed not to be in use is disposed of on the loop, whatever work is pending", Kind,
                   EVERY_LOOP_KIND) {
  two_queues_stand<Kind> at;
  noted<2> in_use{at.log, 1};
  noted<2> assumed{at.log, 2};
  at.graphics.submit();
  at.copies.submit();
  CHECK(at.reclaimer.retire(in_use, note{}));
  CHECK(at.reclaimer.retire(assumed, note{}, tidemark::assume_not_in_use));
  CHECK(at.log.order.empty());  // not by the caller
  CHECK(at.reclaimer.size() == 2);
  while (at.loop.poll() != 0) {
  }
  CHECK(at.log.order == std::vector{2});
  CHECK(at.reclaimer.retire(assumed, note{}, tidemark::assume_not_in_use));
  CHECK(at.reclaimer.drain_for(std::chrono::milliseconds{0}) == wait_status::timeout);
  CHECK(at.log.order == std::vector{2, 2});
  at.graphics.queue.complete();
  at.copies.queue.complete();
  while (at.loop.poll() != 0) {
  }
  CHECK(at.log.order == std::vector{2, 2, 1});
}

TEST_CASE_TEMPLATE("[B6][B7] destroy() disposes of an object before it returns, after the work or whatever is pending",
                   Kind, EVERY_LOOP_KIND) {
  using namespace std::chrono_literals;
  using tidemark::destroy_status;
  two_queues_stand<Kind> at;
  int plain = 0;  // no hook is needed, and the disposer may be any callable
  noted<2> hooked{at.log, 1};
  at.graphics.submit();
  at.copies.submit();
  const auto add = [by = 2](int& which) { which += by; };
  CHECK(at.reclaimer.destroy(plain, add, tidemark::assume_not_in_use).status == destroy_status::destroyed);
  CHECK(plain == 2);

  CHECK(at.reclaimer.destroy_for(hooked, note{}, 0ms).status == destroy_status::timeout);
  CHECK(at.reclaimer.destroy_until(hooked, note{}, std::chrono::steady_clock::now()).status == destroy_status::timeout);
  manual_stop stop;
  stop.request();
  CHECK(at.reclaimer.destroy(hooked, note{}, stop.get_token()).status == destroy_status::stopped);
  at.copies.queue.complete();
  CHECK(at.reclaimer.destroy_for(hooked, note{}, 0ms).status == destroy_status::timeout);
  CHECK(at.log.order.empty());

  waiter caller{[&] {
    CHECK(at.reclaimer.destroy(hooked, note{}).status == destroy_status::destroyed);
    CHECK(at.log.order == std::vector{1});
    return wait_status::reached;
  }};
  CHECK(caller.falls_asleep());
  at.graphics.queue.complete();
  CHECK(caller.status() == wait_status::reached);
  CHECK(at.reclaimer.size() == 0);
  CHECK(is_idle(at.graphics.finished));
  CHECK(is_idle(at.copies.finished));
  CHECK(at.reclaimer.retire(hooked, note{}));  // it is not retired any more
  CHECK(at.loop.poll() == 1);
  CHECK(at.log.order == std::vector{1, 1});
}

TEST_CASE_TEMPLATE("[A120][B7] destroy() counts a queue that was aborted as finished, and waits for the others", Kind,
                   EVERY_LOOP_KIND) {
  using tidemark::destroy_status;
  for (const bool first_aborts : {true, false}) {
    CAPTURE(first_aborts);
    two_queues_stand<Kind> at;
    noted<2> mesh{at.log, 1};
    at.graphics.submit();
    at.copies.submit();
    (first_aborts ? at.graphics : at.copies).queue.abort();
    CHECK(at.reclaimer.destroy_for(mesh, note{}, std::chrono::milliseconds{0}).status == destroy_status::timeout);
    (first_aborts ? at.copies : at.graphics).queue.complete();
    CHECK(at.reclaimer.destroy(mesh, note{}).status == destroy_status::destroyed);
    CHECK(at.log.order == std::vector{1});
  }
}

TEST_CASE_TEMPLATE("disposers that retire objects for ever keep nothing else from the loop", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  reclaimer_of<Kind> reclaimer(loop);
  counted_object again;
  bool goes_on = true;
  again.meanwhile = [&] {
    if (goes_on) CHECK(reclaimer.retire(again, count_disposal{}));
  };
  CHECK(reclaimer.retire(again, count_disposal{}));
  int posted = 0;
  loop.post([&] { posted = again.disposals; });
  for (int i = 0; i < 3; ++i) CHECK(loop.run_one() == run_status::ran);
  CHECK(posted > 0);
  CHECK(posted <= 64);
  CHECK(again.disposals > posted);
  goes_on = false;
  CHECK(reclaimer.drain() == wait_status::reached);
}

TEST_CASE_TEMPLATE(
    "[B5] objects become free in the order of their serials, and those of different queues don't wait for "
    "each other",
    Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  stand<Kind> slow;
  stand<Kind> fast;
  reclaimer_of<Kind> both(loop);
  reclaimer_of<Kind> one(loop);
  REQUIRE(both.add_queue(slow.queue));
  REQUIRE(one.add_queue(fast.queue));
  disposed_log log;
  std::deque<noted<2>> objects;
  for (int i = 0; i < 4; ++i) objects.emplace_back(log, i);
  slow.submit();
  fast.submit();
  CHECK(both.retire(objects[0], note{}));
  CHECK(one.retire(objects[1], note{}));
  fast.submit();
  CHECK(one.retire(objects[2], note{}));
  CHECK(one.retire(objects[3], note{}));
  fast.queue.complete();
  while (loop.poll() != 0) {
  }
  CHECK(log.order == std::vector{1});
  fast.queue.complete();
  while (loop.poll() != 0) {
  }
  CHECK(log.order == std::vector{1, 2, 3});
  slow.queue.complete();
  while (loop.poll() != 0) {
  }
  CHECK(log.order == std::vector{1, 2, 3, 0});
}

TEST_CASE_TEMPLATE("[A120] a queue that is aborted counts as finished, and the others are still waited for", Kind,
                   EVERY_LOOP_KIND) {
  two_queues_stand<Kind> at;
  noted<2> mesh{at.log, 1};
  at.graphics.submit();
  at.copies.submit();
  CHECK(at.reclaimer.retire(mesh, note{}));
  static_cast<void>(at.loop.poll());
  at.graphics.queue.abort();
  while (at.loop.poll() != 0) {
  }
  CHECK(at.log.order.empty());
  at.copies.queue.complete();
  while (at.loop.poll() != 0) {
  }
  CHECK(at.log.order == std::vector{1});
}

TEST_CASE_TEMPLATE("queues come and go while objects wait", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  stand<Kind> first;
  stand<Kind> second;
  stand<Kind> third;
  reclaimer_of<Kind> reclaimer(loop);
  REQUIRE(reclaimer.add_queue(first.queue));
  REQUIRE(reclaimer.add_queue(second.queue));
  CHECK_FALSE(reclaimer.add_queue(third.queue));
  CHECK_FALSE(reclaimer.remove_queue(third.queue));
  disposed_log log;
  noted<2> mesh{log, 1};
  noted<2> later{log, 2};
  for (int i = 0; i < 5; ++i) first.submit();
  second.submit();
  CHECK(reclaimer.retire(mesh, note{}));
  CHECK_FALSE(reclaimer.remove_queue(first.queue));
  for (int i = 0; i < 5; ++i) first.queue.complete();
  // The loop has not run meanwhile. What has waited for the queue goes on.
  CHECK(reclaimer.remove_queue(first.queue));
  CHECK_FALSE(reclaimer.remove_queue(first.queue));
  // In the same place, with lower serials: the first object does not wait for it.
  REQUIRE(reclaimer.add_queue(third.queue));
  third.submit();
  CHECK(reclaimer.retire(later, note{}));
  second.queue.complete();
  while (loop.poll() != 0) {
  }
  CHECK(log.order == std::vector{1});
  third.queue.complete();
  while (loop.poll() != 0) {
  }
  CHECK(log.order == std::vector{1, 2});
}

TEST_CASE_TEMPLATE("[trap 9] a disposer may retire other objects, and its own one again", Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  stand<Kind> queue;
  reclaimer_of<Kind> reclaimer(loop);
  REQUIRE(reclaimer.add_queue(queue.queue));
  struct chained : tidemark::loop_retire_hook<2> {
    reclaimer_of<Kind>* by = nullptr;
    chained* next = nullptr;
    int disposals = 0;
  };
  struct retires_more {
    void operator()(chained& object) const noexcept {
      if (++object.disposals != 1 || object.next == nullptr) return;
      object.by->retire(*object.next, retires_more{});
      object.by->retire(object, retires_more{});
    }
  };
  chained second;
  chained first;
  first.by = &reclaimer;
  first.next = &second;
  CHECK(reclaimer.retire(first, retires_more{}));
  while (loop.poll() != 0) {
  }
  CHECK(first.disposals == 2);
  CHECK(second.disposals == 1);
}

TEST_CASE_TEMPLATE("[B5] drain() disposes of everything without anybody who runs the loop, and so does the end", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  stand<Kind> queue;
  disposed_log log;
  std::deque<noted<2>> objects;
  for (int i = 0; i < 3; ++i) objects.emplace_back(log, i);
  {
    reclaimer_of<Kind> reclaimer(loop);
    REQUIRE(reclaimer.add_queue(queue.queue));
    queue.submit();
    CHECK(reclaimer.retire(objects[0], note{}));
    queue.submit();
    CHECK(reclaimer.retire(objects[1], note{}));
    background executor{[&] {
      queue.queue.complete();
      queue.queue.complete();
    }};
    CHECK(reclaimer.drain() == wait_status::reached);
    CHECK(log.order == std::vector{0, 1});
    queue.submit();
    CHECK(reclaimer.retire(objects[2], note{}));
    executor.join();
    queue.queue.complete();
  }
  CHECK(log.order == std::vector{0, 1, 2});
  CHECK(loop.poll() == 0);
  CHECK(is_idle(queue.finished));
}

TEST_CASE_TEMPLATE("[B5] drain() awaits what a disposer retires, and not what a third thread retires", Kind,
                   EVERY_LOOP_KIND) {
  enum class shape { the_disposer_retires, a_third_thread_retires, the_end_drains };
  for (const shape of : {shape::the_disposer_retires, shape::a_third_thread_retires, shape::the_end_drains}) {
    CAPTURE(static_cast<int>(of));
    typename Kind::loop loop;
    stand<Kind> queue;
    const watchdog dog = watch(queue.finished);
    std::optional<reclaimer_of<Kind>> reclaimer(loop);
    REQUIRE(reclaimer->add_queue(queue.queue));
    counted_object first;
    counted_object second;
    std::atomic<bool> is_disposing{false};
    std::atomic<bool> may_end{false};
    first.meanwhile = [&] {
      is_disposing = true;
      await([&] { return may_end.load(); });
      if (of != shape::a_third_thread_retires) CHECK(reclaimer->retire(second, count_disposal{}));
    };
    CHECK(reclaimer->retire(first, count_disposal{}));
    background runner{[&] {
      while (first.disposals == 0) static_cast<void>(loop.poll());
    }};
    await([&] { return is_disposing.load(); });
    queue.submit();
    background drainer{[&] {
      if (of == shape::the_end_drains) {
        reclaimer.reset();
      } else {
        CHECK(reclaimer->drain() == wait_status::reached);
      }
    }};
    CHECK(drainer.falls_asleep());
    if (of == shape::a_third_thread_retires) CHECK(reclaimer->retire(second, count_disposal{}));
    may_end = true;
    runner.join();
    CHECK(second.disposals == 0);
    // Nobody runs the loop any more.
    if (of == shape::a_third_thread_retires) {
      await([&] { return drainer.has_returned(); });
      CHECK(reclaimer->size() == 1);
    }
    queue.queue.complete();
    drainer.join();
    if (of == shape::a_third_thread_retires) CHECK(reclaimer->drain() == wait_status::reached);
    CHECK(second.disposals == 1);
  }
}

TEST_CASE_TEMPLATE("[B5] drain() ends although another object is retired before each one is free", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  stand<Kind> frames;
  const watchdog dog = watch(frames.finished);
  disposed_log log;
  std::deque<noted<2>> objects;
  reclaimer_of<Kind> reclaimer(loop);
  REQUIRE(reclaimer.add_queue(frames.queue));
  const auto retire_next = [&] {
    frames.submit();
    CHECK(reclaimer.retire(objects.emplace_back(log, 0), note{}));
  };
  retire_next();
  const background drainer{[&] { CHECK(reclaimer.drain() == wait_status::reached); }};
  CHECK(drainer.falls_asleep());
  // There is never a moment at which nothing is retired.
  retire_next();
  frames.queue.complete();
  await([&] { return drainer.has_returned(); });
  CHECK(log.order.size() == 1);
  CHECK(reclaimer.size() == 1);
  frames.queue.complete();
}

TEST_CASE_TEMPLATE("[B5] each of several threads in drain() waits for what was retired before its own call", Kind,
                   EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  stand<Kind> queue;
  const watchdog dog = watch(queue.finished);
  reclaimer_of<Kind> reclaimer(loop);
  REQUIRE(reclaimer.add_queue(queue.queue));
  // Its disposer retires another one, which belongs to the same drains, and is free one serial later.
  struct pair : tidemark::loop_retire_hook<2> {
    reclaimer_of<Kind>* by = nullptr;
    pair* other = nullptr;
    std::atomic<int> disposals{0};
  };
  struct retires_other {
    void operator()(pair& of) const noexcept {
      if (of.other != nullptr) CHECK(of.by->retire(*of.other, retires_other{}));
      ++of.disposals;  // behind it: the test submits more when it sees this, for which the other one must not wait
    }
  };
  std::array<pair, 2> first;
  std::array<pair, 2> second;
  std::array<std::optional<background>, 2> drainers;
  for (std::size_t i = 0; i < 2; ++i) {
    first[i].by = &reclaimer;
    first[i].other = &second[i];
    queue.submit();
    CHECK(reclaimer.retire(first[i], retires_other{}));
    drainers[i].emplace([&] { CHECK(reclaimer.drain() == wait_status::reached); });
    CHECK(drainers[i]->falls_asleep());
  }
  queue.submit();
  queue.queue.complete();
  await([&] { return first[0].disposals == 1; });
  queue.submit();
  queue.queue.complete();
  await([&] { return first[1].disposals == 1; });
  for (auto& each : drainers) CHECK(each->falls_asleep());
  queue.queue.complete();
  await([&] { return drainers[0]->has_returned(); });
  CHECK(second[0].disposals == 1);
  CHECK(drainers[1]->falls_asleep());
  CHECK(second[1].disposals == 0);
  queue.queue.complete();
  await([&] { return drainers[1]->has_returned(); });
  CHECK(second[1].disposals == 1);
}

TEST_CASE_TEMPLATE("[B5] drain() disposes of what a thread has retired that leaves its own drain()", Kind,
                   EVERY_LOOP_KIND) {
  using namespace std::chrono_literals;
  enum class form { plain, with_token, within_time, until_time };
  const auto drain_as = [](form which, reclaimer_of<Kind>& of) {
    manual_stop never;
    if (which == form::plain) return of.drain();
    if (which == form::with_token) return of.drain(never.get_token());
    if (which == form::within_time) return of.drain_for(1h);
    return of.drain_until(std::chrono::steady_clock::now() + 1h, never.get_token());
  };
  for (const form which : {form::plain, form::with_token, form::within_time, form::until_time}) {
    for (const bool is_free_at_once : {true, false}) {
      CAPTURE(static_cast<int>(which));
      CAPTURE(is_free_at_once);
      typename Kind::loop loop;
      stand<Kind> first;
      stand<Kind> second;
      const watchdog dog = watch(second.finished);
      reclaimer_of<Kind> reclaimer(loop);
      REQUIRE(reclaimer.add_queue(first.queue));
      counted_object early;
      counted_object later;
      counted_object last;
      counted_object made;  // by the disposer of `later`
      std::atomic<bool> is_disposing{false};
      std::atomic<bool> early_may_end{false};
      std::atomic<bool> later_may_end{false};
      // So two threads dispose of the two.
      early.meanwhile = [&] { await([&] { return is_disposing && early_may_end; }); };
      later.meanwhile = [&] {
        is_disposing = true;
        await([&] { return later_may_end.load(); });
        if (is_free_at_once) second.queue.complete();
        CHECK(reclaimer.retire(made, count_disposal{}));
      };
      first.submit();
      CHECK(reclaimer.retire(early, count_disposal{}));
      // They wait for `early` alone, but dispose of what they find.
      const background one{[&] { CHECK(drain_as(which, reclaimer) == wait_status::reached); }};
      const background another{[&] { CHECK(drain_as(which, reclaimer) == wait_status::reached); }};
      CHECK(one.falls_asleep());
      CHECK(another.falls_asleep());
      CHECK(reclaimer.retire(later, count_disposal{}));
      REQUIRE(reclaimer.add_queue(second.queue));
      second.submit();
      CHECK(reclaimer.retire(last, count_disposal{}));
      first.queue.complete();
      await([&] { return is_disposing.load(); });
      const background drainer{[&] { CHECK(drain_as(which, reclaimer) == wait_status::reached); }};
      CHECK(drainer.falls_asleep());
      early_may_end = true;
      await([&] { return one.has_returned() || another.has_returned(); });
      later_may_end = true;
      await([&] { return one.has_returned() && another.has_returned(); });
      if (!is_free_at_once) {
        // The work of the second queue was queued before the object was retired.
        while (loop.poll() != 0) {
        }
        CHECK(made.disposals == 0);
        CHECK(last.disposals == 0);
        second.queue.complete();
      }
      await([&] { return drainer.has_returned(); });
      CHECK(made.disposals == 1);
      CHECK(last.disposals == 1);
    }
  }
}

TEST_CASE_TEMPLATE("[B5] drain() ends at its deadline or by a stop token, and the objects stay retired", Kind,
                   EVERY_LOOP_KIND) {
  using namespace std::chrono_literals;
  typename Kind::loop loop;
  stand<Kind> queue;
  const watchdog dog = watch(queue.finished);
  reclaimer_of<Kind> reclaimer(loop);
  REQUIRE(reclaimer.add_queue(queue.queue));
  disposed_log log;
  noted<2> mesh{log, 1};
  manual_stop stopped;
  CHECK(reclaimer.drain_for(0ms) == wait_status::reached);
  CHECK(reclaimer.drain_until(std::chrono::steady_clock::now() - 1h) == wait_status::reached);
  queue.submit();
  CHECK(reclaimer.retire(mesh, note{}));
  CHECK(reclaimer.drain_for(0ms) == wait_status::timeout);
  CHECK(reclaimer.drain_for(2ms) == wait_status::timeout);
  CHECK(reclaimer.drain_until(std::chrono::steady_clock::now() + 2ms) == wait_status::timeout);
  CHECK(reclaimer.drain_until(std::chrono::system_clock::now() + 2ms) == wait_status::timeout);
  for (int form = 0; form < 3; ++form) {
    manual_stop now;
    background drainer{[&] {
      const wait_status end = form == 0 ? reclaimer.drain(now.get_token())
                              : form == 1
                                  ? reclaimer.drain_for(1h, now.get_token())
                                  : reclaimer.drain_until(std::chrono::steady_clock::now() + 1h, now.get_token());
      CHECK(end == wait_status::stopped);
    }};
    CHECK(drainer.falls_asleep());
    now.request();
    await([&] { return drainer.has_returned(); });
  }
  stopped.request();
  CHECK(reclaimer.drain(stopped.get_token()) == wait_status::stopped);
  CHECK(log.order.empty());
  CHECK(reclaimer.size() == 1);
  queue.queue.complete();
  CHECK(reclaimer.drain_for(0ms, stopped.get_token()) == wait_status::reached);
  CHECK(log.order == std::vector{1});
}

TEST_CASE_TEMPLATE("[B5] drain() ends at its deadline or by a stop token while another thread disposes", Kind,
                   EVERY_LOOP_KIND) {
  using namespace std::chrono_literals;
  typename Kind::loop loop;
  stand<Kind> queue;
  const watchdog dog = watch(queue.finished);
  reclaimer_of<Kind> reclaimer(loop);
  struct object : tidemark::loop_retire_hook<2> {
    std::atomic<bool> is_disposing{false};
    std::atomic<bool> may_end{false};
  };
  struct dispose {
    void operator()(object& of) const noexcept {
      of.is_disposing = true;
      await([&of] { return of.may_end.load(); });
    }
  };
  object last;
  CHECK(reclaimer.retire(last, dispose{}));
  const background runner{[&] { CHECK(loop.poll() == 1); }};
  await([&] { return last.is_disposing.load(); });
  CHECK(reclaimer.drain_for(0ms) == wait_status::timeout);
  CHECK(reclaimer.drain_for(2ms) == wait_status::timeout);
  manual_stop now;
  const background drainer{[&] { CHECK(reclaimer.drain_for(1h, now.get_token()) == wait_status::stopped); }};
  CHECK(drainer.falls_asleep());
  now.request();
  await([&] { return drainer.has_returned(); });
  CHECK(reclaimer.drain(now.get_token()) == wait_status::stopped);
  last.may_end = true;
  CHECK(reclaimer.drain() == wait_status::reached);
  CHECK(reclaimer.size() == 0);
}

TEST_CASE_TEMPLATE("while another thread disposes of an object, drain() disposes of the next one, and ends with both",
                   Kind, EVERY_LOOP_KIND) {
  typename Kind::loop loop;
  stand<Kind> queue;
  const watchdog dog = watch(queue.finished);
  reclaimer_of<Kind> reclaimer(loop);
  REQUIRE(reclaimer.add_queue(queue.queue));
  struct object : tidemark::loop_retire_hook<2> {
    std::atomic<bool> is_disposing{false};
    std::atomic<bool> may_end{false};
    std::atomic<bool> is_disposed{false};
  };
  struct dispose {
    void operator()(object& of) const noexcept {
      of.is_disposing = true;
      await([&of] { return of.may_end.load(); });
      of.is_disposed = true;
    }
  };
  object last;
  object next;
  next.may_end = true;
  CHECK(reclaimer.retire(last, dispose{}));
  const background runner{[&] { CHECK(loop.poll() == 1); }};
  await([&] { return last.is_disposing.load(); });
  const background first{[&] { CHECK(reclaimer.drain() == wait_status::reached); }};
  const background second{[&] { CHECK(reclaimer.drain() == wait_status::reached); }};
  CHECK(first.falls_asleep());
  CHECK(second.falls_asleep());
  CHECK(reclaimer.retire(next, dispose{}));
  await([&] { return next.is_disposed.load(); });
  CHECK(first.falls_asleep());
  CHECK(second.falls_asleep());
  last.may_end = true;
  await([&] { return first.has_returned() && second.has_returned(); });
  CHECK(reclaimer.size() == 0);
}

namespace {

/// An object whose disposal lets a queue finish its work.
template <class Kind>
struct awaited_by_queue : tidemark::loop_retire_hook<2> {
  explicit awaited_by_queue(stand<Kind>& of) : then{&of} {}
  stand<Kind>* then;
};
struct lets_queue_go_on {
  template <class Kind>
  void operator()(awaited_by_queue<Kind>& object) const noexcept {
    object.then->queue.complete();
  }
};

}  // namespace

TEST_CASE_TEMPLATE("[B4] [B5] drain() disposes of an object as soon as its own queue has come far enough", Kind,
                   EVERY_LOOP_KIND) {
  two_queues_stand<Kind> at;
  noted<2> last{at.log, 1};
  awaited_by_queue<Kind> first{at.graphics};
  at.copies.submit();
  CHECK(at.reclaimer.retire(first, lets_queue_go_on{}));
  at.graphics.submit();
  CHECK(at.reclaimer.retire(last, note{}));
  const background drainer{[&] { CHECK(at.reclaimer.drain() == wait_status::reached); }};
  CHECK(drainer.falls_asleep());
  at.copies.queue.complete();
  await([&] { return drainer.has_returned(); });
  CHECK(at.log.order == std::vector{1});
}

TEST_CASE_TEMPLATE("[B5] an object that comes to its second queue late does not wait for the serials of others", Kind,
                   EVERY_LOOP_KIND) {
  two_queues_stand<Kind> at;
  noted<2> early{at.log, 1};
  noted<2> late{at.log, 2};
  at.graphics.submit();
  at.copies.submit();
  CHECK(at.reclaimer.retire(early, note{}));
  while (at.loop.poll() != 0) {
  }
  // The loop has not run when the second object finds the first queue finished. So this one is the first to wait for
  // the other queue, and for a greater serial.
  at.graphics.queue.complete();
  at.copies.submit();
  CHECK(at.reclaimer.retire(late, note{}));
  while (at.loop.poll() != 0) {
  }
  CHECK(at.log.order.empty());
  at.copies.queue.complete();
  while (at.loop.poll() != 0) {
  }
  CHECK(at.log.order == std::vector{1});
  at.copies.queue.complete();
  while (at.loop.poll() != 0) {
  }
  CHECK(at.log.order == std::vector{1, 2});
}

TEST_CASE("10,000 objects at distinct serials are disposed of in order, and nothing is allocated") {
  tidemark::wait_loop loop;
  tidemark::progress_fence finished;
  tidemark::queue queue{finished};
  tidemark::loop_retire_queue<2> reclaimer(loop);
  REQUIRE(reclaimer.add_queue(queue));
  struct counted : tidemark::loop_retire_hook<2> {
    int* disposals = nullptr;
  };
  struct count {
    void operator()(counted& object) const noexcept { ++*object.disposals; }
  };
  int disposals = 0;
  std::vector<counted> objects(10'000);
  const counted_allocations during;
  for (counted& each : objects) {
    each.disposals = &disposals;
    static_cast<void>(queue.submit([](std::uint64_t) {}));
    reclaimer.retire(each, count{});
  }
  for (int i = 1; i <= 10'000; ++i) {
    queue.complete();
    while (loop.poll() != 0) {
    }
    if (disposals != i) break;
  }
  CHECK(disposals == 10'000);
  CHECK(during.count() == 0);
}

TEST_CASE_TEMPLATE(
    "[B5] [A37] two threads run the loop, two retire, and a queue finishes: each object is disposed of once", Kind,
    EVERY_LOOP_KIND) {
  constexpr int rounds = 3'000;
  typename Kind::loop loop;
  stand<Kind> graphics;
  reclaimer_of<Kind> reclaimer(loop);
  REQUIRE(reclaimer.add_queue(graphics.queue));
  struct used : tidemark::loop_retire_hook<2> {
    int data = 0;
    std::uint64_t last_use = 0;
    typename Kind::progress_fence* finished = nullptr;
    std::atomic<int>* disposals = nullptr;
    std::atomic<int>* wrong = nullptr;
  };
  struct check {
    void operator()(used& object) const noexcept {
      if (object.finished->current_value() < object.last_use) ++*object.wrong;
      ++*object.disposals;
      delete &object;
    }
  };
  std::atomic<int> disposals{0};
  std::atomic<int> wrong{0};
  std::atomic<bool> has_retired{false};
  const background first{[&] { CHECK(loop.run() == run_status::stopped); }};
  const background second{[&] { CHECK(loop.run() == run_status::stopped); }};
  const auto retire = [&] {
    for (int i = 0; i < rounds; ++i) {
      auto* const object = new used;
      object->last_use = graphics.queue.last_queued();
      object->finished = &graphics.finished;
      object->disposals = &disposals;
      object->wrong = &wrong;
      reclaimer.retire(*object, check{});
    }
  };
  const background executor{[&] {
    random_numbers random{fresh_seed()};
    while (!has_retired) {
      graphics.submit();
      if (random.below(2) == 0) std::this_thread::yield();
      graphics.queue.complete();
    }
  }};
  {
    const background other{retire};
    retire();
  }
  has_retired = true;
  await([&] { return executor.has_returned() && disposals == 2 * rounds; });
  CHECK(wrong == 0);
  loop.stop();
  await([&] { return first.has_returned() && second.has_returned(); });
}
