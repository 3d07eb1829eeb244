// SPDX-License-Identifier: BSL-1.0
//
// Model checks of what is built on a loop: senders, and loops that executors run.
#include "support/model_check.hpp"
#include "support/shapes.hpp"
#include "support/waiting.hpp"

#include <tidemark/loop/executor_loop.hpp>
#include <tidemark/loop/senders.hpp>

#include <cstdint>
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
template <heap_shape Shape>
using timeline_of = model::shaped_fence<platform, Shape>;

// ---- senders --------------------------------------------------------------------------------------------------------

/// What a receiver was told. It is not atomic, so two completions at the same time are a race.
struct completion {
  payload times;
  payload how;

  void complete(wait_status status) {
    how.store(static_cast<int>(status));
    times.store(times.load() + 1);
  }
  wait_status status() {
    MODEL_REQUIRE(times.load() == 1);
    return static_cast<wait_status>(how.load());
  }
};

/// Keeps what it is told. If the value is reached, it requires the data of the signal.
template <class Token>
struct receiver {
  completion* kept;
  payload* data;
  Token token;

  void set_value() {
    MODEL_REQUIRE(data->load() == 42);
    kept->complete(wait_status::reached);
  }
  void set_error(wait_status how) { kept->complete(how); }
  void set_stopped() { kept->complete(wait_status::stopped); }
  Token get_stop_token() const { return token; }
};

/// [A19] [A37] A sender's operation starts, and completes on the loop, while its value is signalled.
template <heap_shape Shape>
struct operation_against_signal : model::suite<2> {
  timeline_of<Shape> timeline;
  payload data;
  wait_loop loop;
  completion kept;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else {
      auto operation = when_reached(loop, timeline, 1).connect(receiver<tidemark::never_stops>{&kept, &data, {}});
      operation.start();
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(kept.status() == wait_status::reached);
    }
  }
  void after() { require_idle(timeline); }
};

/// [A14] [trap 11] An operation is stopped while its value is signalled. It completes once, and the receiver may
/// destroy it then.
template <heap_shape Shape>
struct operation_stopped_against_signal : model::suite<3> {
  using token = stop_source<platform>::token;
  timeline_of<Shape> timeline;
  payload data;
  wait_loop loop;
  stop_source<platform> stop;
  completion kept;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else if (index == 1) {
      stop.request_stop();
    } else {
      auto operation = when_reached(loop, timeline, 1).connect(receiver<token>{&kept, &data, token(stop)});
      operation.start();
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
      const wait_status how = kept.status();
      MODEL_REQUIRE(how == wait_status::reached || how == wait_status::stopped);
    }
  }
  void after() { require_idle(timeline); }
};

/// [A28] A thread hands over to a loop that goes to sleep.
struct scheduled_against_sleep : model::suite<2> {
  payload data;
  wait_loop loop;
  completion kept;
  std::optional<tidemark::schedule_operation<platform, receiver<tidemark::never_stops>>> operation;

  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      operation.emplace(loop, receiver<tidemark::never_stops>{&kept, &data, {}});
      operation->start();
    } else {
      MODEL_REQUIRE(loop.run_one() == run_status::ran);
      MODEL_REQUIRE(kept.status() == wait_status::reached);
    }
  }
};

// ---- loops that executors run ---------------------------------------------------------------------------------------

/// An executor with room for one turn that is to be called soon, and for one that waits for a time, which the checker
/// may let come at any moment. All its accesses are relaxed, because the loop must not rely on an order that an
/// executor may give.
class one_turn {
 public:
  void execute(tidemark::basic_loop_turn<platform> turn) {
    MODEL_REQUIRE(is_ready_.exchange(1, std::memory_order_relaxed) == 0);
    keep(std::move(turn));
    platform::unpark(is_ready_, UINT32_MAX);
  }
  /// The thread that calls the turns calls this, too.
  void execute_at(tidemark::deadline, tidemark::basic_loop_turn<platform> turn) { timed_.emplace(std::move(turn)); }

  /// Sleeps until a turn is there, or a time has come, and calls the turn.
  void call() {
    while (is_ready_.load(std::memory_order_relaxed) == 0) {
      if (!platform::park(is_ready_, 0, timed_ ? some_time : tidemark::no_deadline)) {
        const tidemark::basic_loop_turn<platform> turn = *std::exchange(timed_, std::nullopt);
        return turn();
      }
    }
    is_ready_.store(0, std::memory_order_relaxed);
    (*turn_)();
  }

 private:
  /// There is one loop, so all turns that are called soon are alike.
  void keep(tidemark::basic_loop_turn<platform> turn) {
    if (!turn_) turn_.emplace(std::move(turn));
  }

  platform::park_word is_ready_{0};
  std::optional<tidemark::basic_loop_turn<platform>> turn_;
  std::optional<tidemark::basic_loop_turn<platform>> timed_;
};
using executor_loop = tidemark::basic_executor_loop<platform, one_turn>;

/// [A19] [A37] An executor runs turns while a value is signalled. There is never a second turn that was not called.
template <heap_shape Shape>
struct turns_against_signal : model::suite<2> {
  struct runs {
    turns_against_signal* of;
    void operator()() const {
      MODEL_REQUIRE(of->data.load() == 42);
      of->ran.store(1);
    }
  };
  using callback = tidemark::basic_callback<platform, runs>;
  timeline_of<Shape> timeline;
  payload data;
  payload ran;
  one_turn executor;
  std::optional<executor_loop> loop;

  void before() { loop.emplace(executor); }
  void thread(unsigned index) {
    if (index == 0) {
      data.store(42);
      timeline.signal(1);
    } else {
      callback registered(*loop, tidemark::basic_awaited<platform>(timeline, 1), runs{this});
      while (registered.state() != callback_state::ran) executor.call();
      MODEL_REQUIRE(ran.load() == 1);
    }
  }
  void after() {
    loop.reset();
    require_idle(timeline);
  }
};

/// [A28] Two threads post to a loop that an executor runs.
struct turns_against_two_posts : model::suite<3> {
  payload data[2];
  payload ran;
  one_turn executor;
  std::optional<executor_loop> loop;

  struct runs {
    turns_against_two_posts* of;
    unsigned index;
    void operator()() const {
      MODEL_REQUIRE(of->data[index].load() == 42);
      of->ran.store(of->ran.load() + 1);
    }
  };
  using task = tidemark::basic_loop_task<platform, runs>;
  std::optional<task> tasks[2];

  void before() {
    loop.emplace(executor);
    for (unsigned i = 0; i < 2; ++i) tasks[i].emplace(*loop, runs{this, i});
  }
  void thread(unsigned index) {
    if (index < 2) {
      data[index].store(42);
      MODEL_REQUIRE(tasks[index]->post());
    } else {
      while (ran.load() != 2) executor.call();
    }
  }
  void after() {
    for (auto& each : tasks) each.reset();
    loop.reset();
  }
};

/// A loop ends while its executor runs a turn, or is about to. No turn runs anything afterwards.
struct end_against_turn : model::suite<2> {
  payload data;
  one_turn executor;
  std::optional<executor_loop> loop;

  void before() {
    loop.emplace(executor);
    loop->post([this] { data.store(1); });
  }
  void thread(unsigned index) {
    if (index == 0) {
      executor.call();
    } else {
      loop.reset();
      data.store(2);
    }
  }
  void after() { MODEL_REQUIRE(data.load() == 2); }
};

}  // namespace

int main(int argc, char** argv) {
  using model::add_on_shapes, model::one_slot;
  std::vector<model::check> checks{
      model::make_check<scheduled_against_sleep, "scheduled_against_sleep">(),
      model::make_check<turns_against_two_posts, "turns_against_two_posts">(),
      model::make_check<end_against_turn, "end_against_turn">(),
  };
  add_on_shapes<operation_against_signal, one_slot, "operation_against_signal">(checks);
  add_on_shapes<operation_stopped_against_signal, one_slot, "operation_stopped_against_signal">(checks);
  add_on_shapes<turns_against_signal, one_slot, "turns_against_signal">(checks);
  return model::run(argc, argv, checks);
}
