// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the loop: registrations against signals, cancellation, stops and deadlines, and what is posted
// against threads that go to sleep.
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/loop/wait_loop.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace {

using tidemark::callback_state;
using tidemark::run_status;
using tidemark::wait_status;

using model::heap_shape;
using model::require_idle;
using model::some_time;
using model::stop_source;

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using wait_loop = tidemark::basic_wait_loop<platform>;
using awaited = tidemark::basic_awaited<platform>;
template <class Callable>
using callback = tidemark::basic_callback<platform, Callable>;

template <heap_shape Shape>
using timeline_of = model::shaped_fence<platform, Shape>;

/// A timeline that is signalled once, with data.
template <heap_shape Shape>
struct one_signal {
  timeline_of<Shape> timeline;
  payload data;

  void signal() {
    data.store(42);
    timeline.signal(1);
  }
  void require() { MODEL_REQUIRE(data.load() == 42); }
};

/// A callable that requires the data of a signal.
template <heap_shape Shape>
struct requires_data {
  one_signal<Shape>* of;
  void operator()() const { of->require(); }
};

/// A sleep outside of a loop, like poll() on its descriptor: on a word in the place of the descriptor. All its accesses
/// are relaxed, because the loop must not rely on an order that the system may give.
class outside_poll final : public tidemark::detail::outside_sleep {
 public:
  explicit outside_poll(wait_loop& of) : loop_{of} {
    auto& core = tidemark::detail::loop_access::core_of(of);
    const tidemark::detail::lock_keeper kept(core.lock());
    core.set_outside(*this);
  }

  /// Polls the loop, and sleeps in between, until `is_over` is true after a poll.
  void run_until(const auto& is_over) {
    for (loop_.poll(); !is_over(); loop_.poll()) {
      sleep(tidemark::no_deadline, {});
    }
  }
  /// A descriptor that the loop watches becomes ready.
  void make_ready() {
    input_.store(1, std::memory_order_release);
    wake();
  }
  /// What the loop's callable for it posts.
  std::function<void()> on_ready;

  void begin_watch() {
    const tidemark::detail::lock_keeper kept(tidemark::detail::loop_access::core_of(loop_).lock());
    tidemark::detail::loop_access::runner_of(loop_).begin_watch();
  }

  /// Whether the next sleep ends by itself.
  bool is_timed() const { return is_timed_.load(std::memory_order_relaxed) != 0; }

  void wake() noexcept override {
    is_readable_.store(1, std::memory_order_relaxed);
    platform::unpark(is_readable_, UINT32_MAX);
  }
  void set(tidemark::deadline at) noexcept override {
    is_timed_.store(at != tidemark::no_deadline ? 1 : 0, std::memory_order_relaxed);
  }
  void clear() noexcept override {
    is_readable_.store(0, std::memory_order_relaxed);
    if (input_.exchange(0, std::memory_order_acquire) != 0) on_ready();
  }
  void sleep(tidemark::deadline until, tidemark::deadline) noexcept override {
    while (is_readable_.load(std::memory_order_relaxed) == 0) {
      if (!platform::park(is_readable_, 0, is_timed() ? some_time : until)) break;
    }
  }

 private:
  wait_loop& loop_;
  platform::atomic<std::uint32_t> input_{0};
  platform::park_word is_readable_{0};
  platform::atomic<std::uint32_t> is_timed_{0};
};

/// The same in an io_uring, which sleeps on a word where that is enough, as prepare() of loop_uring.hpp arms it. Other
/// threads may poll the loop, too.
class outside_uring final : public tidemark::detail::outside_sleep {
 public:
  explicit outside_uring(wait_loop& of) : loop_{of} {
    auto& core = tidemark::detail::loop_access::core_of(of);
    const tidemark::detail::lock_keeper kept(core.lock());
    core.set_outside(*this);
  }

  /// Polls the loop, and sleeps in between, until `is_over` is true after a poll.
  void run_until(const auto& is_over) {
    for (loop_.poll(); !is_over(); loop_.poll()) {
      if (arm()) {
        platform::park(word_.sleeps_on(), word_.armed, tidemark::no_deadline);
      } else {
        sleep(tidemark::no_deadline, {});
      }
    }
  }

  /// Whether a sleep ends by itself.
  bool is_timed() {
    const tidemark::detail::lock_keeper kept(tidemark::detail::loop_access::core_of(loop_).lock());
    return is_timed_;
  }

  void wake() noexcept override {
    if (!word_.tell()) make_readable();
  }
  void set(tidemark::deadline at) noexcept override {
    disarm();
    is_timed_ = at != tidemark::no_deadline;
  }
  void clear() noexcept override {
    if (word_.clear()) is_readable_.store(0, std::memory_order_relaxed);
  }
  void sleep(tidemark::deadline, tidemark::deadline) noexcept override {
    while (is_readable_.load(std::memory_order_relaxed) == 0) {
      if (!platform::park(is_readable_, 0, some_time)) break;
    }
  }

 private:
  bool arm() {
    const tidemark::detail::lock_keeper kept(tidemark::detail::loop_access::core_of(loop_).lock());
    if (is_timed_) {
      disarm();
    } else {
      word_.arm();
    }
    return !is_timed_;
  }
  void disarm() noexcept {
    if (word_.disarm()) make_readable();
  }
  void make_readable() noexcept {
    is_readable_.store(1, std::memory_order_relaxed);
    platform::unpark(is_readable_, UINT32_MAX);
  }

  wait_loop& loop_;
  tidemark::detail::uring_word<platform> word_;
  platform::park_word is_readable_{0};
  bool is_timed_ = false;
};

/// Awaits as a coroutine would, whose frame is this object.
template <class Awaiter>
class suspended {
 public:
  template <class Make>
  explicit suspended(const Make& make) : awaiter_{make()} {
    is_ready_ = awaiter_.await_ready();
  }
  /// Returns whether a loop will resume it.
  bool suspend() {
    if (!is_ready_) awaiter_.await_suspend(std::noop_coroutine());
    return !is_ready_;
  }
  auto result() { return awaiter_.await_resume(); }

 private:
  Awaiter awaiter_;
  bool is_ready_;
};
template <class Make>
suspended(const Make&) -> suspended<decltype(std::declval<const Make&>()())>;

// ---- callbacks ------------------------------------------------------------------------------------------------------

/// [A19] [A34] [A37] A callable is registered and run while its value is signalled. It has the data.
template <heap_shape Shape>
struct registered_against_signal : model::suite<2>, one_signal<Shape> {
  wait_loop loop;

  void thread(unsigned index) {
    if (index == 0) return this->signal();
    callback<requires_data<Shape>> registered(loop, awaited(this->timeline, 1), {this});
    MODEL_REQUIRE(loop.run_one() == run_status::ran);
    MODEL_REQUIRE(registered.state() == callback_state::ran);
  }
  void after() {
    require_idle(this->timeline);
    this->timeline.require_slots();
  }
};

/// [A31] [A34] The heavy barrier is refused, so that the signal may miss the loop, which looks again therefore.
template <heap_shape Shape>
struct barrier_is_refused : model::suite<2> {
  using refused_later = model::refused_later<platform>;
  struct runs {
    barrier_is_refused* of;
    void operator()() const { MODEL_REQUIRE(of->data.load() == 42); }
  };
  model::shaped_progress_fence<refused_later, Shape> timeline;
  tidemark::basic_wait_loop<refused_later> loop;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else {
      const tidemark::basic_callback<refused_later, runs> registered(
          loop, tidemark::basic_awaited<refused_later>(timeline, 1), runs{this});
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(registered.state() == callback_state::ran);
    }
  }
};

/// [A14] [trap 11] A callable is cancelled while the loop may run it. It has run or was cancelled, and no loop touches
/// it afterwards.
template <heap_shape Shape>
struct cancelled_against_run : model::suite<3>, one_signal<Shape> {
  struct runs {
    cancelled_against_run* of;
    void operator()() const {
      of->require();
      of->ran.store(of->ran.load() + 1);
    }
  };
  wait_loop loop;
  payload ran;

  void thread(unsigned index) {
    if (index == 0) {
      this->signal();
    } else if (index == 1) {
      static_cast<void>(loop.run_one_until(some_time));
    } else {
      callback<runs> registered(loop, awaited(this->timeline, 1), {this});
      const callback_state how = registered.cancel();
      MODEL_REQUIRE(how == (ran.load() == 1 ? callback_state::ran : callback_state::cancelled));
    }
  }
  void after() {
    MODEL_REQUIRE(loop.poll() == 0);
    require_idle(this->timeline);
    this->timeline.require_slots();
  }
};

/// [A12] While the loop sleeps for a value, another thread registers for a lower one. Both callables run.
template <heap_shape Shape>
struct least_target_falls : model::suite<3> {
  struct runs {
    least_target_falls* of;
    unsigned index;
    void operator()() const {
      MODEL_REQUIRE(of->data[index].load() == 42);
      of->ran[index].store(1);
    }
  };
  timeline_of<Shape> timeline;
  wait_loop loop;
  payload data[2];
  payload ran[2];
  std::optional<callback<runs>> higher;
  std::optional<callback<runs>> lower;

  void before() { higher.emplace(loop, awaited(timeline, 2), runs{this, 1}); }
  void thread(unsigned index) {
    if (index == 0) {
      for (unsigned value = 1; value <= 2; ++value) {
        data[value - 1].store(42);
        timeline.signal(value);
      }
    } else if (index == 1) {
      for (unsigned i = 0; i < 2; ++i) MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(ran[0].load() == 1);
      MODEL_REQUIRE(ran[1].load() == 1);
    } else {
      lower.emplace(loop, awaited(timeline, 1), runs{this, 0});
    }
  }
  void after() {
    lower.reset();
    higher.reset();
    require_idle(timeline);
  }
};

/// [A12] The callable with the lower target is cancelled while the loop sleeps and both values are signalled. The
/// other one runs.
template <heap_shape Shape>
struct least_target_rises : model::suite<3> {
  struct nothing {
    void operator()() const {}
  };
  timeline_of<Shape> timeline;
  wait_loop loop;
  payload data;
  std::optional<callback<nothing>> lower;
  std::optional<callback<nothing>> higher;

  void before() {
    lower.emplace(loop, awaited(timeline, 1), nothing{});
    higher.emplace(loop, awaited(timeline, 2), nothing{});
  }
  void thread(unsigned index) {
    if (index == 0) {
      timeline.signal(1);
      data.store(42);
      timeline.signal(2);
    } else if (index == 1) {
      while (higher->state() != callback_state::ran) MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(data.load() == 42);
    } else {
      lower.reset();
    }
  }
  void after() {
    higher.reset();
    require_idle(timeline);
  }
};

/// [A120] A timeline is lost while a callable is registered, which is told so.
template <heap_shape Shape>
struct lost_against_registration : model::suite<2> {
  struct told {
    lost_against_registration* of;
    void operator()(wait_status how) const {
      MODEL_REQUIRE(how == wait_status::lost);
      MODEL_REQUIRE(of->data.load() == 42);
    }
  };
  timeline_of<Shape> timeline;
  wait_loop loop;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.poison();
    } else {
      callback<told> registered(loop, awaited(timeline, 1), {this});
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(registered.state() == callback_state::lost);
    }
  }
};

/// [A120] A timeline is signalled and lost while a callable is registered, which is told one of the two.
template <heap_shape Shape>
struct lost_against_signal : model::suite<3>, one_signal<Shape> {
  struct told {
    lost_against_signal* of;
    void operator()(wait_status how) const {
      if (how == wait_status::reached) return of->require();
      MODEL_REQUIRE(how == wait_status::lost);
    }
  };
  wait_loop loop;

  void thread(unsigned index) {
    if (index == 0) {
      this->signal();
    } else if (index == 1) {
      this->timeline.poison();
    } else {
      callback<told> registered(loop, awaited(this->timeline, 1), {this});
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(registered.state() != callback_state::waiting);
    }
  }
};

// ---- coroutines -----------------------------------------------------------------------------------------------------

/// [A65] [trap 11] A coroutine awaits any of two values that two threads signal.
template <heap_shape Shape>
struct any_of_two : model::suite<3> {
  timeline_of<Shape> timelines[2];
  payload data[2];
  wait_loop loop;

  void thread(unsigned index) {
    if (index < 2) {
      data[index].store(42);
      timelines[index].signal(1);
    } else {
      suspended coroutine([&] { return loop.any_of(std::array{awaited(timelines[0], 1), awaited(timelines[1], 1)}); });
      if (coroutine.suspend()) MODEL_REQUIRE(loop.run_one() == run_status::ran);
      const auto result = coroutine.result();
      MODEL_REQUIRE(result == wait_status::reached);
      MODEL_REQUIRE(data[result.index].load() == 42);
      MODEL_REQUIRE(loop.poll() == 0);
    }
  }
  void after() {
    for (const auto& timeline : timelines) require_idle(timeline);
  }
};

/// [A65] A coroutine awaits all of two values.
template <heap_shape Shape>
struct all_of_two : model::suite<3> {
  timeline_of<Shape> timelines[2];
  payload data[2];
  wait_loop loop;

  void thread(unsigned index) {
    if (index < 2) {
      data[index].store(42);
      timelines[index].signal(1);
    } else {
      suspended coroutine([&] { return loop.all_of(std::array{awaited(timelines[0], 1), awaited(timelines[1], 1)}); });
      if (coroutine.suspend()) MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(coroutine.result() == wait_status::reached);
      for (const payload& each : data) MODEL_REQUIRE(each.load() == 42);
    }
  }
  void after() {
    for (const auto& timeline : timelines) require_idle(timeline);
  }
};

/// [A14] A coroutine is stopped while its value is signalled. It has one outcome.
template <heap_shape Shape>
struct stopped_against_signal : model::suite<3>, one_signal<Shape> {
  wait_loop loop;
  stop_source<platform> source;
  payload reason;

  void thread(unsigned index) {
    if (index == 0) {
      this->signal();
    } else if (index == 1) {
      reason.store(7);
      source.request_stop();
    } else {
      suspended coroutine(
          [&] { return loop.reached(this->timeline, 1, typename stop_source<platform>::token(source)); });
      if (coroutine.suspend()) MODEL_REQUIRE(loop.run_one() == run_status::ran);
      if (coroutine.result() == wait_status::reached) {
        this->require();
      } else {
        MODEL_REQUIRE(reason.load() == 7);
      }
    }
  }
  void after() { require_idle(this->timeline); }
};

/// [A14] A coroutine is stopped before or while it begins to wait for a value that nobody signals.
struct stopped_before_it_begins : model::suite<2> {
  timeline_of<model::one_slot> timeline;
  wait_loop loop;
  stop_source<platform> source;

  void thread(unsigned index) {
    if (index == 0) return source.request_stop();
    suspended coroutine([&] { return loop.reached(timeline, 1, stop_source<platform>::token(source)); });
    MODEL_REQUIRE(coroutine.suspend());
    MODEL_REQUIRE(loop.run_one() == run_status::ran);
    MODEL_REQUIRE(coroutine.result() == wait_status::stopped);
  }
  void after() { require_idle(timeline); }
};

/// [A14] The deadline of a coroutine passes while its value is signalled.
template <heap_shape Shape>
struct deadline_against_signal : model::suite<2>, one_signal<Shape> {
  wait_loop loop;

  void thread(unsigned index) {
    if (index == 0) return this->signal();
    suspended coroutine([&] { return loop.reached_until(this->timeline, 1, some_time); });
    if (coroutine.suspend()) MODEL_REQUIRE(loop.run_one() == run_status::ran);
    const wait_status how = coroutine.result();
    MODEL_REQUIRE(how == wait_status::reached || how == wait_status::timeout);
    if (how == wait_status::reached) this->require();
  }
  void after() { require_idle(this->timeline); }
};

/// [A14] Another thread registers an operation with a deadline while the loop sleeps without one.
struct first_deadline_while_asleep : model::suite<2> {
  timeline_of<model::one_slot> timeline;
  wait_loop loop;

  void thread(unsigned index) {
    if (index == 0) {
      suspended coroutine([&] { return loop.reached_until(timeline, 1, some_time); });
      MODEL_REQUIRE(coroutine.suspend());
      while (resumed.load(std::memory_order_acquire) == 0) platform::park(resumed, 0, tidemark::no_deadline);
      MODEL_REQUIRE(coroutine.result() == wait_status::timeout);
    } else {
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
      resumed.store(1, std::memory_order_release);
      platform::unpark(resumed, 1);
    }
  }
  platform::park_word resumed;
};

// ---- posts, and threads that sleep ----------------------------------------------------------------------------------

/// A task is posted while the loop goes to sleep. It runs, and has the data.
struct posted_against_sleep : model::suite<2> {
  struct runs {
    posted_against_sleep* of;
    void operator()() const { MODEL_REQUIRE(of->data.load() == 42); }
  };
  wait_loop loop;
  payload data;
  tidemark::basic_loop_task<platform, runs> task{loop, runs{this}};

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      MODEL_REQUIRE(task.post());
    } else {
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
    }
  }
};

/// A coroutine moves to the thread that runs the loop, with its data.
struct scheduled_against_sleep : model::suite<2> {
  using awaiter = decltype(std::declval<wait_loop&>().schedule());
  wait_loop loop;
  payload data;
  awaiter moving = loop.schedule();

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      moving.await_suspend(std::noop_coroutine());
    } else {
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
};

/// [trap 10] A coroutine is destroyed in schedule() while other threads post, and take back what they have posted. It
/// is not resumed.
struct destroyed_against_posts : model::suite<3> {
  struct runs {
    void operator()() const {}
  };
  using awaiter = decltype(std::declval<wait_loop&>().schedule());
  wait_loop loop;
  std::optional<awaiter> moving;
  std::optional<tidemark::basic_loop_task<platform, runs>> posted;
  std::optional<tidemark::basic_loop_task<platform, runs>> retracted;

  void before() {
    moving.emplace(tidemark::detail::loop_access::core_of(loop));
    posted.emplace(loop, runs{});
    retracted.emplace(loop, runs{});
    moving->await_suspend(std::noop_coroutine());
  }
  void thread(unsigned index) {
    if (index == 0) {
      moving.reset();
    } else if (index == 1) {
      MODEL_REQUIRE(posted->post());
    } else {
      MODEL_REQUIRE(retracted->post());
      retracted.reset();
    }
  }
  void after() {
    MODEL_REQUIRE(loop.poll() == 1);
    posted.reset();
  }
};

/// Two threads post, and two run the loop. Both tasks run.
struct two_post_two_run : model::suite<4> {
  struct runs {
    two_post_two_run* of;
    unsigned index;
    void operator()() const {
      MODEL_REQUIRE(of->data[index].load() == 42);
      of->data[index].store(43);
    }
  };
  wait_loop loop;
  payload data[2];
  std::optional<tidemark::basic_loop_task<platform, runs>> tasks[2];

  void before() {
    for (unsigned i = 0; i < 2; ++i) tasks[i].emplace(loop, runs{this, i});
  }
  void thread(unsigned index) {
    if (index < 2) {
      data[index].store(42);
      MODEL_REQUIRE(tasks[index]->post());
    } else {
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
    }
  }
  void after() {
    for (const payload& each : data) MODEL_REQUIRE(each.load() == 43);
  }
};

/// One of two sleeping threads leaves the loop at its deadline, while it may have been woken for what is posted. The
/// other one runs it.
struct woken_one_leaves : model::suite<3> {
  struct runs {
    void operator()() const {}
  };
  wait_loop loop;
  tidemark::basic_loop_task<platform, runs> task{loop, runs{}};

  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(task.post());
    } else if (index == 1) {
      // If it has run the task, it posts it again.
      if (loop.run_one_until(some_time) == run_status::ran) MODEL_REQUIRE(task.post());
    } else {
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
    }
  }
};

/// The same where its token stops it. The poster may stop it as soon as it has posted.
struct woken_one_is_stopped : model::suite<3> {
  struct runs {
    void operator()() const {}
  };
  wait_loop loop;
  stop_source<platform> source;
  tidemark::basic_loop_task<platform, runs> task{loop, runs{}};

  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(task.post());
      source.request_stop();
    } else if (index == 1) {
      if (loop.run_one(stop_source<platform>::token(source)) == run_status::ran) MODEL_REQUIRE(task.post());
    } else {
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
    }
  }
};

/// A task that one thread posts twice, each time with a value.
struct two_posts {
  struct runs {
    two_posts* of;
    void operator()() const { of->seen = of->data.load(std::memory_order_relaxed); }
  };
  wait_loop loop;
  platform::atomic<std::uint32_t> data;
  std::uint32_t seen = 0;
  tidemark::basic_loop_task<platform, runs> task{loop, runs{this}};

  void post_twice() {
    for (std::uint32_t value = 1; value <= 2; ++value) {
      data.store(value, std::memory_order_relaxed);
      task.post();
    }
  }
};

/// A task may be posted again as soon as it has begun to run.
struct posted_again : model::suite<2>, two_posts {
  void thread(unsigned index) {
    if (index == 0) {
      post_twice();
    } else {
      // A post that returned false relies on a run that begins later.
      while (seen != 2) MODEL_REQUIRE(loop.run_one() == run_status::ran);
    }
  }
};

/// A task is posted again while another thread may run it. It runs once more, and never twice at the same time.
struct posted_while_it_runs : model::suite<3> {
  struct runs {
    posted_while_it_runs* of;
    void operator()() const { of->count.store(of->count.load() + 1); }
  };
  wait_loop loop;
  payload count;
  int posts = 0;
  std::optional<tidemark::basic_loop_task<platform, runs>> task;

  void before() { task.emplace(loop, runs{this}); }
  void thread(unsigned index) {
    if (index == 0) {
      for (int i = 0; i < 2; ++i) posts += task->post() ? 1 : 0;
    } else {
      static_cast<void>(loop.run_one_until(some_time));
    }
  }
  void after() {
    while (loop.poll() != 0) {
    }
    MODEL_REQUIRE(count.load() == posts);
    task.reset();
  }
};

/// A task is destroyed while it may run on another thread, and was posted again. It does not run afterwards.
struct task_destroyed_while_it_runs : model::suite<2> {
  struct runs {
    task_destroyed_while_it_runs* of;
    void operator()() const { of->count.store(of->count.load() + 1); }
  };
  wait_loop loop;
  payload count;

  void thread(unsigned index) {
    if (index == 0) {
      {
        tidemark::basic_loop_task<platform, runs> task(loop, runs{this});
        for (int i = 0; i < 2; ++i) task.post();
      }
      MODEL_REQUIRE(count.load() <= 2);
    } else {
      static_cast<void>(loop.run_one_until(some_time));
    }
  }
  void after() { MODEL_REQUIRE(loop.poll() == 0); }
};

/// A task posts itself while another thread may destroy it. It does not run afterwards.
struct task_destroyed_while_it_posts_itself : model::suite<2> {
  struct runs {
    task_destroyed_while_it_posts_itself* of;
    void operator()() const {
      MODEL_REQUIRE(!of->is_destroyed.load());
      of->task->post();
    }
  };
  wait_loop loop;
  platform::var<bool> is_destroyed{false};
  std::optional<tidemark::basic_loop_task<platform, runs>> task;

  void before() {
    task.emplace(loop, runs{this});
    MODEL_REQUIRE(task->post());
  }
  void thread(unsigned index) {
    if (index == 0) {
      task.reset();
      is_destroyed.store(true);
    } else {
      for (int i = 0; i < 2; ++i) static_cast<void>(loop.run_one_until(some_time));
    }
  }
  void after() { MODEL_REQUIRE(loop.poll() == 0); }
};

/// The loop is stopped while threads go to sleep.
template <unsigned Runners>
struct stopped_against_sleep : model::suite<Runners + 1> {
  wait_loop loop;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      loop.stop();
    } else {
      MODEL_REQUIRE(loop.run() == run_status::stopped);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
};

/// The call that runs the loop is stopped by its token while the thread goes to sleep.
struct token_against_sleep : model::suite<2> {
  wait_loop loop;
  stop_source<platform> source;
  payload data;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      source.request_stop();
    } else {
      MODEL_REQUIRE(loop.run(stop_source<platform>::token(source)) == run_status::stopped);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
};

/// A platform whose heavy barrier the system refuses from some moment on.
struct lately_refusing : platform {
  static inline bool refuses = false;
  using position = tidemark::verify::source_position;
  static bool heavy_barrier(position at = position::current()) { return platform::heavy_barrier(at) && !refuses; }
};

/// [A34] The barrier is refused while a thread sleeps in the loop, and a wait takes the place of the one that was
/// registered before. The thread looks again.
struct refused_while_asleep : model::suite<2> {
  using loop_type = tidemark::basic_wait_loop<lately_refusing>;
  using awaited_type = tidemark::basic_awaited<lately_refusing>;
  struct requires_data {
    refused_while_asleep* of;
    void operator()() const { MODEL_REQUIRE(of->data.load() == 42); }
  };
  using callback_type = tidemark::basic_callback<lately_refusing, requires_data>;

  tidemark::basic_progress_fence<lately_refusing> timeline;
  loop_type loop;
  payload data;
  std::optional<callback_type> first;
  std::optional<callback_type> second;

  void before() {
    lately_refusing::refuses = false;
    first.emplace(loop, awaited_type(timeline, 1), requires_data{this});
    second.emplace(loop, awaited_type(timeline, 2), requires_data{this});
  }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      // An access at which the other thread may have its turn, and fall asleep: the flag is none.
      static_cast<void>(timeline.monitored_value());
      lately_refusing::refuses = true;
      MODEL_REQUIRE(first->cancel() == callback_state::cancelled);
      timeline.signal(2);
    } else {
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(second->state() == callback_state::ran);
    }
  }
};

/// Work of a loop that signals in its turn, and wakes no other thread for what that releases.
class quiet_signal final : public tidemark::detail::loop_work<platform> {
 public:
  quiet_signal(wait_loop& of, std::function<void()> signal)
      : loop_work(&act), core_{tidemark::detail::loop_access::core_of(of)}, signal_{std::move(signal)} {}

  void post() { core_.post(*this); }

 private:
  static void act(loop_work& of, tidemark::detail::loop_action what, keeper& kept) {
    MODEL_REQUIRE(what == tidemark::detail::loop_action::run);
    auto& self = static_cast<quiet_signal&>(of);
    self.core_.put_wakes_off();
    {
      const keeper::without lock(kept);
      self.signal_();
    }
    self.core_.drop_wakes();
    self.core_.has_run(self);
  }

  tidemark::detail::core_of_loop<platform>& core_;
  std::function<void()> signal_;
};

/// [A37] A thread leaves the loop after it has signalled, and has woken nobody for that. A thread that sleeps, or is
/// about to, finds what was released.
template <heap_shape Shape>
struct released_quietly : model::suite<2>, one_signal<Shape> {
  struct stops_loop {
    released_quietly* of;
    void operator()() const {
      of->require();
      of->loop.stop();
    }
  };
  wait_loop loop;
  callback<stops_loop> registered{loop, awaited(this->timeline, 1), {this}};
  quiet_signal work{loop, [this] { this->signal(); }};

  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(loop.run() == run_status::stopped);
    } else {
      work.post();
      static_cast<void>(loop.poll());
    }
  }
};

// ---- threads that sleep outside -------------------------------------------------------------------------------------

/// [A19] [A34] [A37] A value is signalled while the thread that polls the loop leaves it.
template <heap_shape Shape>
struct left_against_signal : model::suite<2>, one_signal<Shape> {
  wait_loop loop;

  void thread(unsigned index) {
    if (index == 0) return this->signal();
    outside_poll outside(loop);
    callback<requires_data<Shape>> registered(loop, awaited(this->timeline, 1), {this});
    outside.run_until([&] { return registered.state() == callback_state::ran; });
  }
  void after() { require_idle(this->timeline); }
};

/// A task is posted twice while the thread that polls the loop leaves it. It runs after the second post.
struct left_against_post : model::suite<2>, two_posts {
  std::optional<outside_poll> outside;

  void thread(unsigned index) {
    if (index == 0) {
      post_twice();
    } else {
      // Only now, so that the poster knows of it through the loop alone.
      outside.emplace(loop).run_until([&] { return seen == 2; });
    }
  }
};

/// One thread runs the loop, one polls it and sleeps outside, and one posts a task that stops it. Both come back.
struct left_beside_run : model::suite<3> {
  struct stops {
    left_beside_run* of;
    void operator()() const {
      MODEL_REQUIRE(of->data.load() == 42);
      of->loop.stop();
    }
  };
  wait_loop loop;
  outside_poll outside{loop};
  payload data;
  tidemark::basic_loop_task<platform, stops> task{loop, stops{this}};

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      MODEL_REQUIRE(task.post());
    } else if (index == 1) {
      MODEL_REQUIRE(loop.run() == run_status::stopped);
    } else {
      outside.run_until([&] { return loop.is_stopped(); });
    }
  }
  void after() { MODEL_REQUIRE(loop.is_stopped()); }
};

/// [A14] Another thread registers an operation with a deadline while no thread is in the loop. The one outside is told.
struct first_deadline_while_left : model::suite<2> {
  timeline_of<model::one_slot> timeline;
  wait_loop loop;
  outside_poll outside{loop};
  payload data;
  platform::park_word is_told;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      suspended coroutine([&] { return loop.reached_until(timeline, 1, some_time); });
      MODEL_REQUIRE(coroutine.suspend());
      while (is_told.load(std::memory_order_acquire) == 0) platform::park(is_told, 0, tidemark::no_deadline);
    } else {
      outside.run_until([&] { return outside.is_timed(); });
      MODEL_REQUIRE(data.load() == 42);
      is_told.store(1, std::memory_order_release);
      platform::unpark(is_told, 1);
    }
  }
  void after() { require_idle(timeline); }
};

/// A loop is let run again, while the thread that has left it is outside.
struct restarted_while_left : model::suite<2> {
  struct runs {
    restarted_while_left* of;
    void operator()() const {
      MODEL_REQUIRE(of->data.load() == 42);
      of->has_run = true;
    }
  };
  wait_loop loop;
  outside_poll outside{loop};
  payload data;
  bool has_run = false;
  tidemark::basic_loop_task<platform, runs> task{loop, runs{this}};

  void before() { loop.stop(); }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      MODEL_REQUIRE(task.post());
      loop.restart();
    } else {
      outside.run_until([&] { return has_run; });
    }
  }
};

// ---- an io_uring ----------------------------------------------------------------------------------------------------

/// [A19] [A34] [A37] A value is signalled while an io_uring begins to wait for the loop.
struct uring_against_signal : model::suite<2>, one_signal<model::one_slot> {
  wait_loop loop;

  void thread(unsigned index) {
    if (index == 0) return signal();
    outside_uring outside(loop);
    callback<requires_data<model::one_slot>> registered(loop, awaited(timeline, 1), {this});
    outside.run_until([&] { return registered.state() == callback_state::ran; });
  }
  void after() { require_idle(timeline); }
};

/// A task is posted twice, with data, while an io_uring begins to wait for the loop. It runs after the second post.
struct uring_against_post : model::suite<2>, two_posts {
  std::optional<outside_uring> outside;

  void thread(unsigned index) {
    if (index == 0) {
      post_twice();
    } else {
      outside.emplace(loop).run_until([&] { return seen == 2; });
    }
  }
};

/// [A14] Another thread registers an operation with a deadline while an io_uring waits without one. It is told.
struct first_deadline_in_uring : model::suite<2> {
  timeline_of<model::one_slot> timeline;
  wait_loop loop;
  outside_uring outside{loop};
  payload data;
  platform::park_word is_told;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      suspended coroutine([&] { return loop.reached_until(timeline, 1, some_time); });
      MODEL_REQUIRE(coroutine.suspend());
      while (is_told.load(std::memory_order_acquire) == 0) platform::park(is_told, 0, tidemark::no_deadline);
    } else {
      outside.run_until([&] { return outside.is_timed(); });
      MODEL_REQUIRE(data.load() == 42);
      is_told.store(1, std::memory_order_release);
      platform::unpark(is_told, 1);
    }
  }
  void after() { require_idle(timeline); }
};

/// [A14] [A37] A thread polls the loop beside an io_uring that waits for it. Either one runs a task that registers an
/// operation with a deadline, possibly while the io_uring begins to wait without one. It is told.
struct uring_beside_poll : model::suite<2> {
  struct begins {
    uring_beside_poll* of;
    void operator()() const {
      of->coroutine.emplace([of = of] { return of->loop.reached_until(of->timeline, 1, some_time); });
      MODEL_REQUIRE(of->coroutine->suspend());
    }
  };
  using awaiter = decltype(std::declval<wait_loop&>().reached_until(std::declval<const timeline_of<model::one_slot>&>(),
                                                                    1, some_time));

  timeline_of<model::one_slot> timeline;
  wait_loop loop;
  outside_uring outside{loop};
  std::optional<suspended<awaiter>> coroutine;
  tidemark::basic_loop_task<platform, begins> task{loop, begins{this}};

  void thread(unsigned index) {
    if (index == 0) {
      loop.poll();
      MODEL_REQUIRE(task.post());
      loop.poll();
    } else {
      outside.run_until([&] { return outside.is_timed(); });
    }
  }
  void after() { coroutine.reset(); }
};

// ---- watched descriptors --------------------------------------------------------------------------------------------

/// [A19] [A37] A thread runs the loop, and sleeps outside because of a watch, while a value is signalled.
template <heap_shape Shape>
struct watched_against_signal : model::suite<2>, one_signal<Shape> {
  wait_loop loop;
  outside_poll outside{loop};

  void before() { outside.begin_watch(); }
  void thread(unsigned index) {
    if (index == 0) return this->signal();
    callback<requires_data<Shape>> registered(loop, awaited(this->timeline, 1), {this});
    MODEL_REQUIRE(loop.run_one() == run_status::ran);
    MODEL_REQUIRE(registered.state() == callback_state::ran);
  }
  void after() { require_idle(this->timeline); }
};

/// A loop with a watch, whose descriptor becomes ready once, with data. Its callable stops the loop.
struct watched_input {
  struct stops {
    watched_input* of;
    void operator()() const {
      MODEL_REQUIRE(of->data.load() == 42);
      of->loop.stop();
    }
  };
  wait_loop loop;
  outside_poll outside{loop};
  payload data;
  tidemark::basic_loop_task<platform, stops> task{loop, stops{this}};

  watched_input() {
    outside.on_ready = [this] { task.post(); };
  }
  void make_ready() {
    data.store(42);
    outside.make_ready();
  }
};

/// [A37] The first watch begins while a thread sleeps on the loop's word.
struct watch_begins_while_asleep : model::suite<2>, watched_input {
  void thread(unsigned index) {
    if (index == 0) {
      outside.begin_watch();
      make_ready();
    } else {
      MODEL_REQUIRE(loop.run() == run_status::stopped);
    }
  }
};

/// [A37] Two threads run a loop with a watch. The one that finds the descriptor ready stops both.
struct watched_by_two : model::suite<3>, watched_input {
  void before() { outside.begin_watch(); }
  void thread(unsigned index) {
    if (index == 0) return make_ready();
    MODEL_REQUIRE(loop.run() == run_status::stopped);
  }
};

/// [A37] Two threads run a loop with a watch, one of them a task first, and a third one stops it. Both return.
struct two_watchers_stopped : model::suite<3> {
  struct counts {
    payload* runs;
    void operator()() const { runs->store(runs->load() + 1); }
  };
  wait_loop loop;
  outside_poll outside{loop};
  payload data;
  payload runs;
  tidemark::basic_loop_task<platform, counts> task{loop, counts{&runs}};

  void before() {
    outside.begin_watch();
    MODEL_REQUIRE(task.post());
  }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      loop.stop();
    } else {
      MODEL_REQUIRE(loop.run() == run_status::stopped);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() { MODEL_REQUIRE(runs.load() <= 1); }
};

/// [A14] [A37] Of two threads that run a loop with a watch, one is stopped. The other one takes its place outside, and
/// finds the descriptor ready.
struct one_of_two_watchers_stopped : model::suite<3>, watched_input {
  stop_source<platform> source;

  void before() { outside.begin_watch(); }
  void thread(unsigned index) {
    if (index == 0) {
      source.request_stop();
      make_ready();
    } else if (index == 1) {
      MODEL_REQUIRE(loop.run(stop_source<platform>::token(source)) == run_status::stopped);
    } else {
      MODEL_REQUIRE(loop.run() == run_status::stopped);
    }
  }
};

/// [A14] [A37] A thread polls the loop while another one sleeps outside because of a watch, and is stopped.
struct polled_beside_watch : model::suite<3> {
  wait_loop loop;
  outside_poll outside{loop};
  stop_source<platform> source;
  payload data;

  void before() { outside.begin_watch(); }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      source.request_stop();
    } else if (index == 1) {
      MODEL_REQUIRE(loop.run(stop_source<platform>::token(source)) == run_status::stopped);
      MODEL_REQUIRE(data.load() == 42);
    } else {
      MODEL_REQUIRE(loop.poll() == 0);
    }
  }
};

/// [A14] The token of a thread is triggered that sleeps outside because of a watch.
struct token_against_watch : model::suite<2> {
  wait_loop loop;
  outside_poll outside{loop};
  stop_source<platform> source;
  payload data;

  void before() { outside.begin_watch(); }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      source.request_stop();
    } else {
      MODEL_REQUIRE(loop.run(stop_source<platform>::token(source)) == run_status::stopped);
      MODEL_REQUIRE(data.load() == 42);
    }
  }
};

/// The lock of the loop alone.
template <unsigned Threads>
struct lock_excludes : model::suite<Threads> {
  tidemark::detail::park_lock<platform> lock;
  payload count;

  void thread(unsigned) {
    const tidemark::detail::lock_keeper kept(lock);
    count.store(count.load() + 1);
  }
  void after() { MODEL_REQUIRE(count.load() == static_cast<int>(Threads)); }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  model::add_on_shapes<registered_against_signal, model::one_slot, "registered_against_signal">(checks);
  checks.push_back(model::make_check<barrier_is_refused<model::one_slot>, "barrier_is_refused">());
  checks.push_back(model::make_check<barrier_is_refused<model::two_levels>, "barrier_is_refused.two_levels">());
  model::add_on_shapes<cancelled_against_run, model::one_slot, "cancelled_against_run">(checks);
  model::add_on_shapes<least_target_falls, model::one_slot, "least_target_falls">(checks);
  model::add_on_shapes<least_target_rises, model::one_slot, "least_target_rises">(checks);
  model::add_on_shapes<lost_against_registration, model::one_slot, "lost_against_registration">(checks);
  model::add_on_shapes<lost_against_signal, model::one_slot, "lost_against_signal">(checks);
  model::add_on_shapes<any_of_two, model::one_slot, "any_of_two">(checks);
  model::add_on_shapes<all_of_two, model::one_slot, "all_of_two">(checks);
  model::add_on_shapes<stopped_against_signal, model::one_slot, "stopped_against_signal">(checks);
  model::add_on_shapes<deadline_against_signal, model::one_slot, "deadline_against_signal">(checks);
  checks.push_back(model::make_check<stopped_before_it_begins, "stopped_before_it_begins">());
  checks.push_back(model::make_check<first_deadline_while_asleep, "first_deadline_while_asleep">());
  checks.push_back(model::make_check<posted_against_sleep, "posted_against_sleep">());
  checks.push_back(model::make_check<scheduled_against_sleep, "scheduled_against_sleep">());
  checks.push_back(model::make_check<two_post_two_run, "two_post_two_run">());
  checks.push_back(model::make_check<woken_one_leaves, "woken_one_leaves">());
  checks.push_back(model::make_check<woken_one_is_stopped, "woken_one_is_stopped">());
  checks.push_back(model::make_check<posted_again, "posted_again">());
  checks.push_back(model::make_check<posted_while_it_runs, "posted_while_it_runs">());
  checks.push_back(model::make_check<task_destroyed_while_it_runs, "task_destroyed_while_it_runs">());
  checks.push_back(model::make_check<task_destroyed_while_it_posts_itself, "task_destroyed_while_it_posts_itself">());
  checks.push_back(model::make_check<stopped_against_sleep<1>, "stopped_against_sleep">());
  checks.push_back(model::make_check<stopped_against_sleep<2>, "stopped_against_sleep.two">());
  checks.push_back(model::make_check<refused_while_asleep, "refused_while_asleep">());
  model::add_on_shapes<released_quietly, model::one_slot, "released_quietly">(checks);
  checks.push_back(model::make_check<token_against_sleep, "token_against_sleep">());
  model::add_on_shapes<left_against_signal, model::one_slot, "left_against_signal">(checks);
  checks.push_back(model::make_check<left_against_post, "left_against_post">());
  checks.push_back(model::make_check<left_beside_run, "left_beside_run">());
  checks.push_back(model::make_check<first_deadline_while_left, "first_deadline_while_left">());
  checks.push_back(model::make_check<restarted_while_left, "restarted_while_left">());
  checks.push_back(model::make_check<uring_against_signal, "uring_against_signal">());
  checks.push_back(model::make_check<uring_against_post, "uring_against_post">());
  checks.push_back(model::make_check<first_deadline_in_uring, "first_deadline_in_uring">());
  checks.push_back(model::make_check<uring_beside_poll, "uring_beside_poll">());
  model::add_on_shapes<watched_against_signal, model::one_slot, "watched_against_signal">(checks);
  checks.push_back(model::make_check<watch_begins_while_asleep, "watch_begins_while_asleep">());
  checks.push_back(model::make_check<watched_by_two, "watched_by_two">());
  checks.push_back(model::make_check<two_watchers_stopped, "two_watchers_stopped">());
  checks.push_back(model::make_check<one_of_two_watchers_stopped, "one_of_two_watchers_stopped">());
  checks.push_back(model::make_check<polled_beside_watch, "polled_beside_watch">());
  checks.push_back(model::make_check<token_against_watch, "token_against_watch">());
  checks.push_back(model::make_check<destroyed_against_posts, "destroyed_against_posts">());
  checks.push_back(model::make_check<lock_excludes<2>, "lock_excludes">());
  checks.push_back(model::make_check<lock_excludes<3>, "lock_excludes.three">());
  return model::run(argc, argv, checks);
}
