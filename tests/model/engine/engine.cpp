// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the queues of an engine: submissions against queues that come to rest, waits against signals, and
// what is paused, aborted or destroyed against turns. Commands hand plain data over. Where a queue has logs, they are
// read meanwhile.
#include "support/gone.hpp"
#include "support/model_check.hpp"
#include "support/no_logs.hpp"
#include "support/owned_loop.hpp"
#include "support/shapes.hpp"

#include <tidemark/engine/engine_queue.hpp>
#include <tidemark/engine/unbroken_run.hpp>
#include <tidemark/fence/signaller_callback.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using model::heap_shape;
using tidemark::doorbell_status;
using tidemark::queue_id;
using tidemark::run_status;
using tidemark::wait_status;

using model::forgets;
using model::no_logs;
using engine = tidemark::basic_engine<platform>;
using queue_base = model::queue_without_logs<platform>;

template <heap_shape Shape>
using fence_of = model::shaped_fence<platform, Shape>;

/// An engine whose loop the threads of the check run.
struct stepped {
  forgets nowhere;
  engine on{{.threads = 0}};

  void run_one() { MODEL_REQUIRE(on.loop().run_one() == run_status::ran); }
};
struct queue : queue_base {
  explicit queue(stepped& of, const tidemark::engine_queue_options& options = {})
      : queue_base(of.on, options, {}, no_logs(of.nowhere, queue_id{0})) {}
};
bool is_accepted(queue& submitting) { return submitting.submit().status == doorbell_status::accepted; }

/// [A6] [A37] A queue waits for a value, on the thread that executes it, while that is signalled.
template <heap_shape Shape>
struct parked_against_signal : model::suite<2>, stepped {
  fence_of<Shape> timeline;
  payload data;
  bool has_run = false;
  queue waits{*this};

  void before() {
    waits.wait(timeline, 1);
    waits.run([this] {
      MODEL_REQUIRE(data.load() == 42);
      has_run = true;
    });
    MODEL_REQUIRE(is_accepted(waits));
  }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else {
      while (!has_run) run_one();
      MODEL_REQUIRE(waits.is_idle());
    }
  }
};

/// The priority of a queue is changed twice while a thread submits to it and another one executes it. Each command is
/// executed once, in order.
struct priority_against_turns : model::suite<3>, stepped {
  payload executed;
  int seen = 0;
  queue changed{*this, {.quantum = 1}};

  void thread(unsigned index) {
    if (index == 0) {
      for (int i = 0; i < 2; ++i) {
        changed.run([this, i] {
          MODEL_REQUIRE(executed.load() == i);
          executed.store(i + 1);
          seen = i + 1;
        });
      }
      MODEL_REQUIRE(is_accepted(changed));
    } else if (index == 1) {
      changed.set_priority(tidemark::queue_priority::high);
      changed.set_priority(tidemark::queue_priority::low);
    } else {
      while (seen != 2 || !changed.is_idle()) run_one();
    }
  }
  void after() {
    MODEL_REQUIRE(changed.priority() == tidemark::queue_priority::low);
    // Its last turn may find nothing.
    MODEL_REQUIRE(on.loop().poll() <= 1 && on.loop().poll() == 0);
    MODEL_REQUIRE(executed.load() == 2);
  }
};

/// A queue whose progress the check has made.
template <heap_shape Shape>
struct given {
  using progress_fence = model::shaped_progress_fence<platform, Shape>;
  using queue_type =
      tidemark::basic_engine_queue<platform, tidemark::no_log_clock, tidemark::self_service, no_logs, progress_fence>;
  static void submit(queue_type& filled) { MODEL_REQUIRE(filled.submit().status == doorbell_status::accepted); }
  static queue_type make(stepped& of, progress_fence& drawn) {
    return queue_type(of.on, drawn, {}, {}, no_logs(of.nowhere, queue_id{0}));
  }
};

/// [A54] A thread waits for the progress that a queue was given, while the queue executes two submissions. What the
/// commands of a submission did is there when its serial is.
template <heap_shape Shape>
struct given_progress : model::suite<2>, stepped {
  typename given<Shape>::progress_fence drawn;
  payload data[2];
  typename given<Shape>::queue_type queue{given<Shape>::make(*this, drawn)};

  void before() {
    for (int i = 0; i < 2; ++i) {
      queue.run([this, i] { data[i].store(i + 42); });
      given<Shape>::submit(queue);
    }
  }
  void thread(unsigned index) {
    if (index == 0) {
      while (on.loop().poll() != 0) {
      }
    } else {
      for (int i = 0; i < 2; ++i) {
        MODEL_REQUIRE(drawn.wait(static_cast<std::uint64_t>(i) + 1) == wait_status::reached);
        MODEL_REQUIRE(data[i].load() == i + 42);
      }
    }
  }
  void after() { MODEL_REQUIRE(queue.is_idle() && drawn.current_value() == 2); }
};

/// [A54] [A124] Somebody else loses the progress of a queue while that executes two submissions. The queue learns of it
/// at the end of one of them, or when more is submitted, and executes nothing afterwards.
/// \tparam Waits  whether a thread waits for the progress meanwhile
template <bool Waits>
struct given_progress_lost : model::suite<Waits ? 3 : 2>, stepped {
  using given_to = given<model::one_slot>;
  given_to::progress_fence drawn;
  payload data;
  bool was_lost = false;
  int ran = 0;
  given_to::queue_type queue{given_to::make(*this, drawn)};

  void before() {
    queue.run([this] {
      was_lost = drawn.is_poisoned();
      ++ran;
    });
    given_to::submit(queue);
    queue.run([this] {
      MODEL_REQUIRE(!was_lost);
      ++ran;
    });
    given_to::submit(queue);
  }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      drawn.poison();
    } else if (index == 2) {
      if (drawn.wait(2) != wait_status::reached) {
        MODEL_REQUIRE(drawn.is_poisoned());
        MODEL_REQUIRE(data.load() == 42);
      }
    } else {
      poll_all();
      const bool is_lost = drawn.is_poisoned();
      const bool is_refused = queue.submit().status == doorbell_status::aborted;
      MODEL_REQUIRE(is_refused || !is_lost);
      if (is_refused) MODEL_REQUIRE(data.load() == 42);
    }
  }
  void after() {
    poll_all();
    const int before_the_end = ran;
    queue.run([this] { ++ran; });
    MODEL_REQUIRE(queue.submit().status == doorbell_status::aborted);
    const bool is_all_finished = drawn.state().value == queue.last_queued();
    MODEL_REQUIRE(queue.drain() == (is_all_finished ? wait_status::reached : wait_status::lost));
    poll_all();
    MODEL_REQUIRE(ran == before_the_end);
  }
  void poll_all() {
    while (on.loop().poll() != 0) {
    }
  }
};

/// [A122] Commands are submitted one by one, while the queue comes to rest again and again. All are executed, in order.
template <int Submissions>
struct doorbell_against_rest : model::suite<2>, stepped {
  payload data[Submissions];
  int ran = 0;
  queue filled{*this};

  void thread(unsigned index) {
    if (index == 0) {
      for (int i = 0; i < Submissions; ++i) {
        data[i].store(i + 100);
        filled.run([this, i] {
          MODEL_REQUIRE(ran == i);
          MODEL_REQUIRE(data[i].load() == i + 100);
          ++ran;
        });
        MODEL_REQUIRE(is_accepted(filled));
      }
    } else {
      while (ran != Submissions) run_one();
    }
  }
  void after() { MODEL_REQUIRE(filled.is_idle()); }
};

/// [A122] Commands of several chunks are recorded, while others are executed, and chunks come back. `Published` of them
/// at a time.
template <std::uint64_t Commands, std::uint64_t Published>
struct recorded_against_executor : model::suite<2> {
  tidemark::detail::command_list<platform> list;
  std::uint64_t executed = 0;

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t recorded = 0; recorded != Commands;) {
        list.next().value.store(++recorded);
        list.record();
        if (recorded % Published == 0) list.publish();
      }
    } else {
      // A look for each submission: what comes after the last one, after() executes.
      for (std::uint64_t looks = 0; looks != Commands / Published; ++looks) execute_all();
    }
  }
  void after() {
    execute_all();
    MODEL_REQUIRE(executed == Commands);
  }
  void execute_all() {
    while (auto* const first = list.front()) {
      MODEL_REQUIRE(first->value.load() == ++executed);
      list.pop();
    }
    list.give_back();
  }
};

/// [A122] Two threads execute a queue that a third one fills: never both at the same time.
struct two_execute : model::suite<3>, stepped {
  payload count;
  queue filled{*this, {.quantum = 1}};

  void thread(unsigned index) {
    if (index == 0) {
      filled.run([this] { count.store(count.load() + 1); });
      MODEL_REQUIRE(is_accepted(filled));
      filled.run([this] {
        count.store(count.load() + 1);
        model::owned_loop(on).stop();
      });
      MODEL_REQUIRE(is_accepted(filled));
    } else {
      MODEL_REQUIRE(on.loop().run() == run_status::stopped);
    }
  }
  void after() { MODEL_REQUIRE(count.load() == 2); }
};

/// [A6] Each of two queues waits for a signal of the other one, and two threads execute them.
struct handed_over : model::suite<2>, stepped {
  tidemark::basic_fence<platform> there;
  tidemark::basic_fence<platform> back;
  payload data;
  queue first{*this};
  queue second{*this};

  void before() {
    first.run([this] { data.store(1); });
    first.signal(there, 1);
    first.wait(back, 1);
    first.run([this] {
      MODEL_REQUIRE(data.load() == 2);
      model::owned_loop(on).stop();
    });
    MODEL_REQUIRE(is_accepted(first));
    second.wait(there, 1);
    second.run([this] {
      MODEL_REQUIRE(data.load() == 1);
      data.store(2);
    });
    second.signal(back, 1);
    MODEL_REQUIRE(is_accepted(second));
  }
  void thread(unsigned) { MODEL_REQUIRE(on.loop().run() == run_status::stopped); }
};

/// Two queues of an engine that several threads run. The work of `first` lasts until another thread has run a callable.
/// That thread may sleep by then, and what `first` does next has a turn of its own. `second` parks before the threads
/// begin.
template <heap_shape Shape>
struct beside_sleeper : stepped {
  fence_of<Shape> told;
  fence_of<Shape> there;
  fence_of<Shape> back;
  fence_of<Shape> done;
  payload data;
  queue first{*this, {.quantum = 3}};
  queue second{*this};

  beside_sleeper() {
    first.run([this] { MODEL_REQUIRE(told.wait(1) == wait_status::reached); });
    first.run([this] { data.store(41); });
    first.run([] {});  // the third command, which ends the turn
    first.signal(there, 1);
    second.wait(there, 1);
  }
  void submit_both() {
    MODEL_REQUIRE(is_accepted(second));
    static_cast<void>(on.loop().poll());
    MODEL_REQUIRE(is_accepted(first));
    on.loop().post([this] { told.signal(1); });
  }
  void run() { MODEL_REQUIRE(on.loop().run() == run_status::stopped); }
};

/// [A6] A queue signals, and then its work waits for that of another queue, to which it has signalled. Whichever thread
/// executes the first, another one executes the second, even if it sleeps.
template <unsigned Threads, heap_shape Shape>
struct signalled_before_work : model::suite<Threads> {
  beside_sleeper<Shape> at;

  void before() {
    at.first.run([this] {
      MODEL_REQUIRE(at.done.wait(1) == wait_status::reached);
      MODEL_REQUIRE(at.data.load() == 42);
      model::owned_loop(at.on).stop();
    });
    at.second.run([this] {
      MODEL_REQUIRE(at.data.load() == 41);
      at.data.store(42);
      at.done.signal(1);
    });
    at.submit_both();
  }
  void thread(unsigned) { at.run(); }
};

/// [A6] A queue parks, and another one, to which it has signalled, works meanwhile, and waits for what the first one
/// does next. Another thread executes that, even if it sleeps.
template <unsigned Threads, heap_shape Shape>
struct parked_before_work : model::suite<Threads> {
  beside_sleeper<Shape> at;

  void before() {
    at.first.wait(at.back, 1);
    at.first.run([this] {
      MODEL_REQUIRE(at.data.load() == 42);
      at.data.store(43);
      at.done.signal(1);
    });
    at.second.run([this] {
      MODEL_REQUIRE(at.data.load() == 41);
      at.data.store(42);
      at.back.signal(1);
      MODEL_REQUIRE(at.done.wait(1) == wait_status::reached);
      MODEL_REQUIRE(at.data.load() == 43);
      model::owned_loop(at.on).stop();
    });
    at.submit_both();
  }
  void thread(unsigned) { at.run(); }
};

/// A signal of a queue that runs code of the user: of a timeline that is the user's own, or with a callable.
template <class Code, bool IsOwnTimeline>
class signal_with_code {
 public:
  explicit signal_with_code(Code code) : own_{code}, called_(fence_, 1, code) {}
  void record(queue& in) {
    if constexpr (IsOwnTimeline) {
      in.signal(own_, 1);
    } else {
      in.signal(fence_, 1);
    }
  }

 private:
  using fence = tidemark::basic_fence<platform, model::options_with_callbacks(model::one_slot)>;
  struct timeline {
    std::uint64_t current_value() const noexcept { return 0; }
    wait_status wait_until(std::uint64_t, tidemark::deadline) const noexcept { return wait_status::timeout; }
    void signal(std::uint64_t) { code(); }
    Code code;
  };

  timeline own_;
  fence fence_;
  tidemark::signaller_callback<tidemark::detail::fence_core<platform, fence::options>, Code> called_;
};

/// [A6] A queue signals, and then code of the user that runs in its next signal waits for that of another queue.
/// Another thread executes that, even if it sleeps.
template <unsigned Threads, heap_shape Shape, bool IsOwnTimeline>
struct signalled_before_code : model::suite<Threads> {
  struct code {
    void operator()() const {
      MODEL_REQUIRE(at->done.wait(1) == wait_status::reached);
      MODEL_REQUIRE(at->data.load() == 42);
      model::owned_loop(at->on).stop();
    }
    beside_sleeper<Shape>* at;
  };
  beside_sleeper<Shape> at;
  signal_with_code<code, IsOwnTimeline> last{code{&at}};

  void before() {
    last.record(at.first);
    at.second.run([this] {
      MODEL_REQUIRE(at.data.load() == 41);
      at.data.store(42);
      at.done.signal(1);
    });
    at.submit_both();
  }
  void thread(unsigned) { at.run(); }
};

/// [A6] A queue parks, and code of the user that runs in a signal of another one lets it go on, and waits for what it
/// does next. Another thread executes that, even if it sleeps.
template <unsigned Threads, heap_shape Shape, bool IsOwnTimeline>
struct parked_before_code : model::suite<Threads> {
  struct code {
    void operator()() const {
      MODEL_REQUIRE(at->data.load() == 41);
      at->data.store(42);
      at->back.signal(1);
      MODEL_REQUIRE(at->done.wait(1) == wait_status::reached);
      MODEL_REQUIRE(at->data.load() == 43);
      model::owned_loop(at->on).stop();
    }
    beside_sleeper<Shape>* at;
  };
  beside_sleeper<Shape> at;
  signal_with_code<code, IsOwnTimeline> last{code{&at}};

  void before() {
    at.first.wait(at.back, 1);
    at.first.run([this] {
      MODEL_REQUIRE(at.data.load() == 42);
      at.data.store(43);
      at.done.signal(1);
    });
    last.record(at.second);
    at.submit_both();
  }
  void thread(unsigned) { at.run(); }
};

enum class left { in_work, signalled, parked };

/// [A6] A thread runs what is ready, and leaves the engine. What is to go on then goes on on another thread, even if
/// that sleeps: `first`, which has more to do; `second`, to which it has signalled; or `first`, when it has parked, and
/// the thread makes its signal afterwards.
template <unsigned Threads, heap_shape Shape, left When>
struct left_after_turn : model::suite<Threads> {
  static constexpr bool parks = When == left::parked;
  beside_sleeper<Shape> at;
  payload late;

  void before() {
    if (parks) at.first.wait(at.back, 1);
    (parks ? at.first : at.second).run([this] {
      MODEL_REQUIRE(parks ? late.load() == 42 : at.data.load() == 41);
      model::owned_loop(at.on).stop();
    });
    at.submit_both();
  }
  void thread(unsigned index) {
    if (index != 0) return at.run();
    static_cast<void>(at.on.loop().poll());
    if (When == left::in_work) return;
    static_cast<void>(at.on.loop().poll());
    if (!parks) return;
    late.store(42);
    at.back.signal(1);
  }
};

/// [A122] A queue is aborted while it is filled and executed. What was accepted is executed or dropped, once.
struct aborted_against_submission : model::suite<3>, stepped {
  payload data;
  bool was_accepted = false;
  bool has_run = false;
  queue filled{*this};

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      filled.run([this] {
        MODEL_REQUIRE(data.load() == 42);
        MODEL_REQUIRE(!has_run);
        has_run = true;
      });
      const doorbell_status answer = filled.submit().status;
      MODEL_REQUIRE(answer != doorbell_status::retry);
      was_accepted = answer == doorbell_status::accepted;
    } else if (index == 1) {
      filled.abort();
    } else {
      static_cast<void>(on.loop().poll());
    }
  }
  void after() {
    MODEL_REQUIRE(filled.submit().status == doorbell_status::aborted);
    while (on.loop().poll() != 0) {
    }
    if (was_accepted && !has_run) MODEL_REQUIRE(filled.drain() == wait_status::lost);
    MODEL_REQUIRE(was_accepted || !has_run);
  }
};

/// Tells a check that it was dropped, and requires its data if it is called.
template <class Check>
struct dropped_work {
  explicit dropped_work(Check& check) : of{&check} {}
  dropped_work(dropped_work&& from) noexcept : of{std::exchange(from.of, nullptr)} {}
  ~dropped_work() {
    if (of != nullptr) of->is_dropped = true;
  }
  void operator()() const { MODEL_REQUIRE(of->data.load() == 42); }
  Check* of;
};

/// [A122] A queue that waits is aborted while its value is signalled. It executes its work, or drops it.
template <heap_shape Shape>
struct aborted_against_signal : model::suite<3>, stepped {
  fence_of<Shape> timeline;
  payload data;
  bool is_dropped = false;
  queue waits{*this};

  void before() {
    waits.wait(timeline, 1);
    waits.run(dropped_work(*this));
    MODEL_REQUIRE(is_accepted(waits));
    static_cast<void>(on.loop().poll());
  }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else if (index == 1) {
      waits.abort();
    } else {
      while (!is_dropped) run_one();
    }
  }
};

/// [A122] A queue is aborted while it may park for a value that nobody signals. It drops its work, with its data.
struct aborted_against_park : model::suite<2>, stepped {
  tidemark::basic_fence<platform> never;
  payload data;
  bool is_dropped = false;
  queue waits{*this};

  struct work : dropped_work<aborted_against_park> {
    using dropped_work::dropped_work;
    work(work&& from) noexcept : dropped_work(std::move(from)) {}
    ~work() {
      if (of != nullptr) MODEL_REQUIRE(of->data.load() == 42);
    }
  };

  void before() {
    waits.wait(never, 1);
    waits.run(work(*this));
    MODEL_REQUIRE(is_accepted(waits));
  }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      waits.abort();
    } else {
      while (!is_dropped) run_one();
    }
  }
};

enum class ended_by { abort, engine_abort, loss };

/// [A124] A queue is given up while it waits, may begin to wait, or may see its value. Once drain() says that, nobody
/// looks at the fence any more: it is destroyed.
template <ended_by How, heap_shape Shape, unsigned Threads = 2>
struct fence_gone_after_loss : model::suite<Threads>, stepped {
  std::optional<fence_of<Shape>> timeline;
  bool is_dropped = false;
  queue waits{*this};

  struct work {
    explicit work(fence_gone_after_loss& check) : of{&check} {}
    work(work&& from) noexcept : of{std::exchange(from.of, nullptr)} {}
    ~work() {
      if (of == nullptr) return;
      of->is_dropped = true;
      model::owned_loop(of->on).stop();
    }
    void operator()() const { MODEL_REQUIRE(false); }
    fence_gone_after_loss* of;
  };

  void before() {
    timeline.emplace();
    waits.wait(*timeline, 1);
    waits.run(work(*this));
    MODEL_REQUIRE(is_accepted(waits));
  }
  void thread(unsigned index) {
    if (index != 0) {
      MODEL_REQUIRE(on.loop().run() == run_status::stopped);
      return;
    }
    if (How == ended_by::abort) waits.abort();
    if (How == ended_by::engine_abort) on.abort();
    if (How == ended_by::loss) timeline->poison();
    MODEL_REQUIRE(waits.drain() == wait_status::lost);
    model::destroy(timeline);
  }
  void after() {
    MODEL_REQUIRE(is_dropped);
    model::owned_loop(on).restart();
  }
};
template <heap_shape Shape>
using fence_gone_after_abort = fence_gone_after_loss<ended_by::abort, Shape>;
template <heap_shape Shape>
using lost_fence_gone = fence_gone_after_loss<ended_by::loss, Shape>;

/// The same while a report is made. It does not look into a queue that is given up.
struct fence_gone_beside_report : model::suite<2>, stepped {
  std::optional<tidemark::basic_fence<platform>> timeline;
  queue waits{*this};

  void before() {
    timeline.emplace();
    waits.wait(*timeline, 1);
    MODEL_REQUIRE(is_accepted(waits));
    static_cast<void>(on.loop().poll());
  }
  void thread(unsigned index) {
    if (index == 0) {
      waits.abort();
      MODEL_REQUIRE(waits.drain() == wait_status::lost);
      model::destroy(timeline);
    } else {
      MODEL_REQUIRE(on.why_waiting().waits.size() <= 1);
    }
  }
  void after() {
    MODEL_REQUIRE(on.why_waiting().waits.empty());
    static_cast<void>(on.loop().poll());
  }
};

/// A queue is destroyed while it may have its turn. What the turn did is visible then.
struct destroyed_against_turn : model::suite<2>, stepped {
  payload data;
  std::optional<queue> filled;

  void before() {
    filled.emplace(*this);
    filled->run([this] { data.store(42); });
    MODEL_REQUIRE(is_accepted(*filled));
  }
  void thread(unsigned index) {
    if (index == 0) {
      filled.reset();
      data.store(1);
    } else {
      static_cast<void>(on.loop().poll());
    }
  }
};

/// A queue is destroyed while its engine gives all queues up. It drops its work once, before its destructor returns,
/// and the engine does not touch it afterwards. There is another queue, for which the engine gives its lock up, too.
template <unsigned Threads>
struct destroyed_against_engine_abort : model::suite<Threads>, stepped {
  payload data;
  queue other{*this};
  std::unique_ptr<queue> filled;  // on the heap, so that the checker knows when it is gone

  struct work {
    explicit work(destroyed_against_engine_abort& check) : of{&check} {}
    work(work&& from) noexcept : of{std::exchange(from.of, nullptr)} {}
    ~work() {
      if (of != nullptr) of->data.store(of->data.load() + 41);
    }
    void operator()() const { MODEL_REQUIRE(false); }
    destroyed_against_engine_abort* of;
  };

  void before() {
    data.store(1);
    filled = std::make_unique<queue>(*this);
    filled->run(work(*this));
    MODEL_REQUIRE(is_accepted(*filled));
  }
  void thread(unsigned index) {
    if (index == 0) {
      filled.reset();
      MODEL_REQUIRE(data.load() == 42);
    } else {
      on.abort();
    }
  }
};

/// A queue is paused and resumed while it is executed. Its work is done once.
struct paused_against_turn : model::suite<2>, stepped {
  payload data;
  int ran = 0;
  queue filled{*this};

  void before() {
    data.store(1);
    for (int i = 0; i < 2; ++i) {
      filled.run([this] {
        data.store(data.load() + 1);
        ++ran;
      });
    }
    MODEL_REQUIRE(is_accepted(filled));
  }
  void thread(unsigned index) {
    if (index == 0) {
      filled.pause();
      filled.resume();
    } else {
      while (ran != 2) run_one();
    }
  }
  void after() { MODEL_REQUIRE(data.load() == 3); }
};

/// A report is made while a queue is filled and executed.
struct reported_against_turn : model::suite<2>, stepped {
  tidemark::basic_fence<platform> never;
  payload data;
  queue filled{*this};

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      filled.run([this] { MODEL_REQUIRE(data.load() == 42); });
      filled.wait(never, 5);
      MODEL_REQUIRE(is_accepted(filled));
      static_cast<void>(on.loop().poll());
    } else {
      const auto report = on.why_waiting();
      MODEL_REQUIRE(report.cycles.empty());
      for (const auto& each : report.waits) MODEL_REQUIRE(each.value == 5 && each.current_value == 0);
    }
  }
  void after() {
    static_cast<void>(on.loop().poll());
    MODEL_REQUIRE(on.why_waiting().waits.size() == 1);
  }
};

/// [C5] Two threads execute a run of one queue and the commands of another one. Between the commands of the run, the
/// thread that executes it executes nothing else. The run sees what was done before its submission.
template <bool Aborts>
struct unbroken_against_others : model::suite<3>, stepped {
  payload data;
  payload within;  // how much of the run is executed
  int last[4]{};   // what each thread has executed, and the one behind them
  int ran = 0;
  queue parts{*this, {.quantum = 1}};
  queue other{*this, {.quantum = 1}};

  static unsigned thread_of() { return tidemark::verify::engine::this_thread(); }
  void note(int part) {
    MODEL_REQUIRE(part == 1 || last[thread_of()] == part - 1);
    last[thread_of()] = part;
    MODEL_REQUIRE(data.load() == 42);
    within.store(part);
    ++ran;
  }
  void before() {
    for (int n = 0; n < 2; ++n) other.run([this] { last[thread_of()] = 100; });
    MODEL_REQUIRE(is_accepted(other));
    MODEL_REQUIRE(is_accepted(parts));  // so that the queue has its turn when the run is submitted
  }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      {
        tidemark::unbroken_run run{parts};
        for (int part = 1; part <= 2; ++part) run.run([this, part] { note(part); });
      }
      MODEL_REQUIRE(is_accepted(parts));
      if constexpr (Aborts) {
        parts.abort();
      } else {
        parts.pause();
        parts.resume();
      }
    } else {
      static_cast<void>(on.loop().poll());
    }
  }
  void after() {
    while (on.loop().poll() != 0) {
    }
    MODEL_REQUIRE(ran == 2 || (Aborts && ran < 2));
    if (ran != 0) MODEL_REQUIRE(within.load() == ran);
  }
};

/// What an engine-wide run has to itself: the run and foreign work write it. Two at a time are a race.
struct alone_or_not : stepped {
  payload inside;
  int ran = 0;               // commands of the run
  int foreign = 0;           // pieces of other work
  bool is_given_up = false;  // the run, perhaps in the middle

  /// \param stops  whether the run stops the loop
  void record_run(queue& in, bool stops = false) {
    tidemark::unbroken_run run{in, tidemark::unbroken_scope::whole_engine};
    run.run([this, stops] {
      MODEL_REQUIRE(inside.load() == 0);
      inside.store(1);
      ++ran;
      if (stops) model::owned_loop(on).stop();
    });
    run.run([this] {
      MODEL_REQUIRE(inside.load() == 1);
      inside.store(0);
      ++ran;
    });
  }
  void work() {
    MODEL_REQUIRE(inside.load() == 0 || is_given_up);
    inside.store(0);
    ++foreign;
  }
  void run_until_stopped() { MODEL_REQUIRE(on.loop().run() == run_status::stopped); }
  void run_all() {
    while (on.loop().poll() != 0) {
    }
  }
};

/// [C5] Two threads execute an engine-wide run and other work. A third one gives the queue of the run up, or pauses it.
template <bool Aborts>
struct alone_against_others : model::suite<3>, alone_or_not {
  queue parts{*this, {.quantum = 1}};
  queue other{*this, {.quantum = 1}};

  void before() {
    inside.store(0);
    is_given_up = Aborts;
    record_run(parts);
    MODEL_REQUIRE(is_accepted(parts));
    for (int n = 0; n < 2; ++n) other.run([this] { work(); });
    MODEL_REQUIRE(is_accepted(other));
  }
  void thread(unsigned index) {
    if (index != 0) {
      static_cast<void>(on.loop().poll());
    } else if constexpr (Aborts) {
      parts.abort();
    } else {
      parts.pause();
      parts.resume();
    }
  }
  void after() {
    run_all();
    MODEL_REQUIRE(ran == 2 || (Aborts && ran < 2));
    MODEL_REQUIRE(foreign == 2);
  }
};

/// [C5] Two queues begin engine-wide runs at once. One comes after the other.
struct two_alone : model::suite<2>, alone_or_not {
  queue one{*this, {.quantum = 1}};
  queue another{*this, {.quantum = 1}};

  void before() {
    inside.store(0);
    for (queue* each : {&one, &another}) {
      record_run(*each);
      MODEL_REQUIRE(is_accepted(*each));
    }
  }
  void thread(unsigned) { static_cast<void>(on.loop().poll()); }
  void after() {
    run_all();
    MODEL_REQUIRE(ran == 4);
  }
};

/// Two queues with engine-wide runs, of which one is given up.
struct one_of_two : alone_or_not {
  std::optional<queue> given_up{std::in_place, *this, tidemark::engine_queue_options{.quantum = 1}};
  queue parts{*this};

  void submit_both() {
    inside.store(0);
    {
      tidemark::unbroken_run run{*given_up, tidemark::unbroken_scope::whole_engine};
      run.run([this] { MODEL_REQUIRE(inside.load() == 0); });
    }
    MODEL_REQUIRE(is_accepted(*given_up));
    record_run(parts);
    MODEL_REQUIRE(is_accepted(parts));
  }
  void give_up(bool destroys) { destroys ? given_up.reset() : given_up->abort(); }
  void after() {
    run_all();
    MODEL_REQUIRE(ran == 2);
    MODEL_REQUIRE(foreign == 1);
  }
};

/// [C5] Two queues begin engine-wide runs, and one of them is given up, perhaps while the other run is executed. That
/// is executed all the same, and foreign work goes on behind it.
template <bool Destroys>
struct two_alone_one_given_up : model::suite<3>, one_of_two {
  void before() {
    submit_both();
    on.loop().post([this] { work(); });
  }
  void thread(unsigned index) {
    if (index != 0) {
      static_cast<void>(on.loop().poll());
    } else {
      give_up(Destroys);
    }
  }
  void after() { one_of_two::after(); }
};

/// [C5] Two queues have come to engine-wide runs, and wait for the work of another thread: the one does so in a call
/// that work of the other one makes. The first one is given up, and the other run is executed all the same.
template <bool Destroys>
struct two_wait_one_given_up : model::suite<2>, one_of_two {
  tidemark::basic_fence<platform> begun;
  tidemark::basic_fence<platform> done;

  void before() {
    on.loop().post([this] {
      begun.signal(1);
      MODEL_REQUIRE(done.wait(1) == wait_status::reached);
      work();
    });
    parts.run([this] { static_cast<void>(on.loop().poll()); });
    MODEL_REQUIRE(is_accepted(parts));
    submit_both();
  }
  void thread(unsigned index) {
    if (index == 0) return run_one();
    MODEL_REQUIRE(begun.wait(1) == wait_status::reached);
    static_cast<void>(on.loop().poll());
    give_up(Destroys);
    done.signal(1);
  }
  void after() { one_of_two::after(); }
};

/// [C5] A thread comes to an engine-wide run while another one is in the middle of some work, and sleeps. The other one
/// executes the run, or leaves the loop and wakes it.
struct alone_after_work : model::suite<2>, alone_or_not {
  queue parts{*this};

  void before() {
    inside.store(0);
    record_run(parts);
    parts.run([this] { model::owned_loop(on).stop(); });
    on.loop().post([this] { work(); });
    MODEL_REQUIRE(is_accepted(parts));
  }
  void thread(unsigned index) {
    if (index == 0) {
      static_cast<void>(on.loop().run_one());
    } else {
      run_until_stopped();
    }
  }
  void after() { MODEL_REQUIRE(ran == 2); }
};

/// [C5] An engine-wide run waits for work that lasts until foreign work is done. It is given up, and then that goes on.
template <bool Destroys>
struct alone_given_up : model::suite<3>, alone_or_not {
  tidemark::basic_fence<platform> done;
  std::optional<queue> parts{std::in_place, *this};

  void before() {
    inside.store(0);
    is_given_up = true;
    record_run(*parts);
    on.loop().post([this] { MODEL_REQUIRE(done.wait(1) == wait_status::reached); });
    MODEL_REQUIRE(is_accepted(*parts));
    on.loop().post([this] {
      work();
      model::owned_loop(on).stop();
      done.signal(1);
    });
  }
  void thread(unsigned index) {
    if (index == 2) {
      Destroys ? parts.reset() : parts->abort();
    } else {
      run_until_stopped();
    }
  }
  void after() { MODEL_REQUIRE(foreign == 1); }
};

/// [C5] A command runs the loop, and sleeps there until an engine-wide run stops it. It goes on when the run is over.
struct alone_against_caller : model::suite<2>, alone_or_not {
  queue parts{*this};
  queue calling{*this};

  void before() {
    inside.store(0);
    calling.run([this] {
      static_cast<void>(on.loop().run_one());
      work();
    });
    MODEL_REQUIRE(is_accepted(calling));
  }
  void thread(unsigned index) {
    if (index == 1) {
      record_run(parts, true);
      MODEL_REQUIRE(is_accepted(parts));
    }
    static_cast<void>(on.loop().poll());
  }
  void after() {
    model::owned_loop(on).restart();
    on.loop().post([] {});  // if the command runs now, it must not sleep
    run_all();
    MODEL_REQUIRE(ran == 2);
    MODEL_REQUIRE(foreign == 1);
  }
};

/// Reads the log of a queue's submissions, each of which has written to `data` first: they are executed up to some one,
/// and the others are cancelled. A cancelled entry says that what came before the end of the queue has happened.
template <std::uint64_t Submissions>
struct read_submissions : stepped {
  using logged_queue = tidemark::basic_engine_queue<platform, tidemark::no_log_clock>;

  std::array<payload, Submissions> data;
  payload ended;
  std::optional<logged_queue> subject{std::in_place, on, tidemark::engine_queue_options{.log_entries = Submissions}};
  std::optional<logged_queue::timeline_type::reader_type> log{subject->timeline().signal_log()};
  bool was_cancelled = false;

  void submit_all() {
    for (payload& written : data) {
      subject->run([&written] { written.store(7); });
      MODEL_REQUIRE(subject->submit().status == doorbell_status::accepted);
    }
  }
  void read() {
    std::array<tidemark::fence_log_entry, Submissions> buffer;
    const auto batch = log->read(buffer);
    MODEL_REQUIRE(batch.lost == 0);
    std::uint64_t number = batch.first_sequence;
    for (const auto& entry : batch.entries) {
      MODEL_REQUIRE(entry.fence_value == ++number);
      if (is_cancelled(entry)) {
        was_cancelled = true;
        MODEL_REQUIRE(ended.load() == 42);
      } else {
        MODEL_REQUIRE(!was_cancelled);
        MODEL_REQUIRE(data[number - 1].load() == 7);
      }
    }
  }
  void read_rest() {
    while (on.loop().poll() != 0) {
    }
    read();
    MODEL_REQUIRE(log->next_sequence() == Submissions);
  }
};

/// [A124] A queue is aborted while it is executed and its log is read.
struct aborted_against_reader : model::suite<3>, read_submissions<2> {
  void before() { submit_all(); }
  void thread(unsigned index) {
    if (index == 0) {
      ended.store(42);
      subject->abort();
    } else if (index == 1) {
      static_cast<void>(on.loop().poll());
    } else {
      read();
    }
  }
  void after() { read_rest(); }
};

/// [A124] The timeline is lost for which a queue waits, while that is executed and its log is read.
struct lost_against_reader : model::suite<3>, read_submissions<2> {
  tidemark::basic_fence<platform> never;
  std::optional<logged_queue::timeline_type::reader_type> waits{subject->timeline().wait_log()};

  void before() {
    subject->wait(never, 1);
    submit_all();
  }
  void thread(unsigned index) {
    if (index == 0) {
      ended.store(42);
      never.poison();
    } else if (index == 1) {
      static_cast<void>(on.loop().poll());
    } else {
      read();
    }
  }
  void after() {
    read_rest();
    MODEL_REQUIRE(was_cancelled);
    std::array<tidemark::fence_log_entry, 2> buffer;
    const auto batch = waits->read(buffer);
    MODEL_REQUIRE(batch.entries.size() == 1 && is_cancelled(batch.entries[0]));
  }
};

/// [A124] A queue is destroyed while it is executed and its log is read.
struct destroyed_against_reader : model::suite<3>, read_submissions<2> {
  void before() { submit_all(); }
  void thread(unsigned index) {
    if (index == 0) {
      ended.store(42);
      subject.reset();
    } else if (index == 1) {
      static_cast<void>(on.loop().poll());
    } else {
      read();
    }
  }
  void after() { read_rest(); }
};

/// A report is made while a queue that waits is given more commands. It finds all of them that it knows of.
struct reported_against_submission : model::suite<2>, stepped {
  tidemark::basic_fence<platform> never;
  queue filled{*this};

  void before() {
    filled.wait(never, 5);
    MODEL_REQUIRE(is_accepted(filled));
    static_cast<void>(on.loop().poll());
  }
  void thread(unsigned index) {
    if (index == 0) {
      filled.signal(never, 5);
      MODEL_REQUIRE(is_accepted(filled));
    } else {
      MODEL_REQUIRE(on.why_waiting().waits.size() == 1);
    }
  }
  void after() { MODEL_REQUIRE(on.why_waiting().cycles.size() == 1); }
};

/// Two threads report on the same engines, in different orders, while a queue goes on. Neither waits for ever, and
/// neither finds a circle: at no moment do the queues wait for each other.
struct reported_in_two_orders : model::suite<2>, stepped {
  engine second{{.threads = 0}};
  tidemark::basic_fence<platform> there;
  tidemark::basic_fence<platform> back;
  queue filled{*this};
  queue_base answers{second, {}, {}, no_logs(nowhere, queue_id{0})};

  void before() {
    filled.signal(there, 1);
    filled.wait(back, 1);
    MODEL_REQUIRE(is_accepted(filled));
    answers.wait(there, 1);
    answers.signal(back, 1);
    MODEL_REQUIRE(answers.submit().status == doorbell_status::accepted);
  }
  void thread(unsigned index) {
    if (index == 0) {
      static_cast<void>(on.loop().poll());
      MODEL_REQUIRE(tidemark::why_waiting(on, second).cycles.empty());
    } else {
      static_cast<void>(second.loop().poll());
      MODEL_REQUIRE(tidemark::why_waiting(second, on).cycles.empty());
    }
  }
  void after() {
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(on.loop().poll());
      static_cast<void>(second.loop().poll());
    }
    MODEL_REQUIRE(filled.is_idle() && answers.is_idle());
  }
};

/// Adds the checks of an engine that other threads sleep beside.
template <unsigned Threads, heap_shape Shape, model::name Suffix>
void add_beside_sleepers(std::vector<model::check>& checks) {
  checks.push_back(model::make_check<signalled_before_work<Threads, Shape>, "signalled_before_work" + Suffix>());
  checks.push_back(model::make_check<parked_before_work<Threads, Shape>, "parked_before_work" + Suffix>());
  checks.push_back(
      model::make_check<signalled_before_code<Threads, Shape, true>, "signalled_before_code.own" + Suffix>());
  checks.push_back(
      model::make_check<signalled_before_code<Threads, Shape, false>, "signalled_before_code.callable" + Suffix>());
  checks.push_back(model::make_check<parked_before_code<Threads, Shape, true>, "parked_before_code.own" + Suffix>());
  checks.push_back(
      model::make_check<parked_before_code<Threads, Shape, false>, "parked_before_code.callable" + Suffix>());
  checks.push_back(model::make_check<left_after_turn<Threads, Shape, left::in_work>, "left_in_work" + Suffix>());
  checks.push_back(model::make_check<left_after_turn<Threads, Shape, left::signalled>, "left_after_turn" + Suffix>());
  checks.push_back(model::make_check<left_after_turn<Threads, Shape, left::parked>, "left_parked" + Suffix>());
}

/// [A6] A signal is announced when it is queued, and executed later. Whoever saw the announcement waits for the signal.
template <heap_shape Shape>
struct announced_against_executor : model::suite<3>, stepped {
  fence_of<Shape> drawn;
  fence_of<Shape> drawn_queued;
  payload data;
  payload drawing;
  queue draws{*this};

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      draws.run([this] { drawing.store(43); });
      draws.signal(drawn, 1);
      draws.announce(drawn_queued, 1);
      MODEL_REQUIRE(is_accepted(draws));
    } else if (index == 1) {
      MODEL_REQUIRE(drawn_queued.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data.load() == 42);
      MODEL_REQUIRE(drawn.wait(1) == wait_status::reached);
      MODEL_REQUIRE(drawing.load() == 43);
    } else {
      while (!drawn.is_reached(1)) run_one();
    }
  }
};

/// [A122] What a queue that is aborted did not accept is not announced.
struct announced_against_abort : model::suite<2>, stepped {
  fence_of<model::one_slot> drawn;
  fence_of<model::one_slot> drawn_queued;
  bool was_accepted = false;
  queue draws{*this};

  std::uint64_t announced() const { return was_accepted ? 1 : 0; }
  void thread(unsigned index) {
    if (index == 0) {
      draws.signal(drawn, 1);
      draws.announce(drawn_queued, 1);
      was_accepted = is_accepted(draws);
      MODEL_REQUIRE(drawn_queued.current_value() == announced());
    } else {
      draws.abort();
    }
  }
  void after() {
    static_cast<void>(on.loop().poll());
    MODEL_REQUIRE(drawn_queued.current_value() == announced());
  }
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks;
  model::add_on_shapes<parked_against_signal, model::one_slot, "parked_against_signal">(checks);
  model::add_on_shapes<aborted_against_signal, model::one_slot, "aborted_against_signal">(checks);
  checks.push_back(model::make_check<doorbell_against_rest<2>, "doorbell_against_rest">());
  checks.push_back(model::make_check<doorbell_against_rest<4>, "doorbell_against_rest.four">());
  checks.push_back(model::make_check<recorded_against_executor<10, 2>, "recorded_against_executor">());
  checks.push_back(model::make_check<recorded_against_executor<16, 8>, "recorded_against_executor.bursts">());
  add_beside_sleepers<2, model::one_slot, "">(checks);
  add_beside_sleepers<2, model::two_levels, ".two_levels">(checks);
  add_beside_sleepers<2, model::in_lane, ".in_lane">(checks);
  add_beside_sleepers<2, model::beside_lane, ".beside_lane">(checks);
  add_beside_sleepers<3, model::two_levels, ".three_threads">(checks);
  checks.push_back(model::make_check<two_execute, "two_execute">());
  checks.push_back(model::make_check<handed_over, "handed_over">());
  checks.push_back(model::make_check<aborted_against_submission, "aborted_against_submission">());
  checks.push_back(model::make_check<aborted_against_park, "aborted_against_park">());
  model::add_on_shapes<fence_gone_after_abort, model::one_slot, "fence_gone_after_abort">(checks);
  model::add_on_shapes<lost_fence_gone, model::one_slot, "lost_fence_gone">(checks);
  checks.push_back(model::make_check<fence_gone_after_loss<ended_by::abort, model::one_slot, 3>,
                                     "fence_gone_after_abort.three_threads">());
  checks.push_back(model::make_check<fence_gone_after_loss<ended_by::engine_abort, model::one_slot>,
                                     "fence_gone_after_abort.engine">());
  checks.push_back(model::make_check<fence_gone_beside_report, "fence_gone_beside_report">());
  checks.push_back(model::make_check<destroyed_against_turn, "destroyed_against_turn">());
  checks.push_back(model::make_check<destroyed_against_engine_abort<2>, "destroyed_against_engine_abort">());
  checks.push_back(
      model::make_check<destroyed_against_engine_abort<3>, "destroyed_against_engine_abort.three_threads">());
  checks.push_back(model::make_check<paused_against_turn, "paused_against_turn">());
  checks.push_back(model::make_check<priority_against_turns, "priority_against_turns">());
  checks.push_back(model::make_check<unbroken_against_others<false>, "unbroken_against_others">());
  checks.push_back(model::make_check<unbroken_against_others<true>, "unbroken_against_others.aborted">());
  checks.push_back(model::make_check<alone_against_others<false>, "alone_against_others">());
  checks.push_back(model::make_check<alone_against_others<true>, "alone_against_others.aborted">());
  checks.push_back(model::make_check<two_alone, "two_alone">());
  checks.push_back(model::make_check<two_alone_one_given_up<false>, "two_alone_one_given_up">());
  checks.push_back(model::make_check<two_alone_one_given_up<true>, "two_alone_one_given_up.destroyed">());
  checks.push_back(model::make_check<two_wait_one_given_up<false>, "two_wait_one_given_up">());
  checks.push_back(model::make_check<two_wait_one_given_up<true>, "two_wait_one_given_up.destroyed">());
  checks.push_back(model::make_check<alone_after_work, "alone_after_work">());
  checks.push_back(model::make_check<alone_given_up<false>, "alone_given_up">());
  checks.push_back(model::make_check<alone_given_up<true>, "alone_given_up.destroyed">());
  checks.push_back(model::make_check<alone_against_caller, "alone_against_caller">());
  model::add_on_shapes<given_progress, model::one_slot, "given_progress">(checks);
  checks.push_back(model::make_check<given_progress_lost<false>, "given_progress_lost">());
  checks.push_back(model::make_check<given_progress_lost<true>, "given_progress_lost.waited">());
  checks.push_back(model::make_check<aborted_against_reader, "aborted_against_reader">());
  checks.push_back(model::make_check<lost_against_reader, "lost_against_reader">());
  checks.push_back(model::make_check<destroyed_against_reader, "destroyed_against_reader">());
  checks.push_back(model::make_check<reported_against_turn, "reported_against_turn">());
  checks.push_back(model::make_check<reported_against_submission, "reported_against_submission">());
  checks.push_back(model::make_check<reported_in_two_orders, "reported_in_two_orders">());
  model::add_on_shapes<announced_against_executor, model::one_slot, "announced_against_executor">(checks);
  checks.push_back(model::make_check<announced_against_abort, "announced_against_abort">());
  return model::run(argc, argv, checks);
}
