// SPDX-License-Identifier: BSL-1.0
//
// A signal that a queue executes, with its logs off, on, and on with a clock. Beside it stand the bare fence's signal,
// and what a program does that keeps a log of its signals by hand. Waiters are there, too [trap 35].
//
//   signal/<subject>          nobody waits
//   signal_waited/<subject>   a thread sleeps on the fence, and is not due
//   signal_due/<subject>      a thread that sleeps is due each time
//
// The subjects: `fence`; `queue.off` has no log; `queue.on` has one, without times; `queue.<clock>` stamps the entries.
// `fence_and_log` and `fence_and_locked_array` append the same entry after the signal, to a log of one page and to an
// array under a mutex.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tidemark/fence/fence.hpp>
#include <tidemark/log/fence_log.hpp>
#include <tidemark/log/log_clock.hpp>
#include <tidemark/queue/queue.hpp>

#include "peers/log_arrays.hpp"
#include "support/measure.hpp"
#include "support/signals.hpp"
#include "support/threads.hpp"

namespace {

using benchmark::State;
using tidemark::fence_id;
using tidemark::fence_log_entry;
using tidemark::no_log_clock;
using tidemark::progress_fence;

constexpr fence_id output_id{7};

/// A fence that others wait for, while somebody else signals it.
class waited_for {
 public:
  auto wait(std::uint64_t target) { return output_.wait(target); }
  std::uint64_t monitored_value() const { return output_.monitored_value(); }

 protected:
  progress_fence output_;
};

struct empty_sink {
  template <class Clock>
  void on_executed(tidemark::queue_id, const fence_log_entry&) noexcept {}
  void on_lost(tidemark::queue_id, tidemark::fence_log_type, std::uint64_t, std::uint64_t) noexcept {}
};
using no_logs = tidemark::direct_recorder<empty_sink, no_log_clock>;
using logs = tidemark::log_recorder<tidemark::native_platform>;

template <class Clock, class Recorder = logs>
class queue_with : public waited_for {
 public:
  void signal(std::uint64_t value) {
    static_cast<void>(queue_.signal(tidemark::logged_fence<progress_fence>{&output_, output_id}, value));
  }

 private:
  using queue = tidemark::basic_queue<progress_fence, Clock, tidemark::self_service, Recorder>;

  queue make() {
    if constexpr (queue::has_logs) {
      return queue{finished_};
    } else {
      return queue{finished_, {}, {}, Recorder{sink_, tidemark::queue_id{1}}};
    }
  }

  progress_fence finished_;
  empty_sink sink_;
  queue queue_ = make();
};

template <class Log, class Clock>
class fence_and : public waited_for {
 public:
  void signal(std::uint64_t value) {
    output_.signal(value);
    log_.append({value, output_id, tidemark::fence_operation::signal_executed, 0, 0, 0, Clock::now()});
  }

 private:
  Log log_;
};
using one_page = tidemark::fence_log;
using locked_array = bench::locked_array<fence_log_entry>;

/// Not more often: with 64 copies of each subject's slow path the compiler takes minutes.
constexpr std::size_t unrolled = 8;

template <class Subject>
void signals(State& state, std::size_t sleepers) {
  const bench::escaped<Subject> subject;
  bench::distant_waiters<Subject> asleep(*subject, sleepers);
  bench::measure_blocks<unrolled>(state, [&object = *subject](std::uint64_t value) { object.signal(value); });
}

template <class Subject>
void add(const std::string& name) {
  bench::row("signal/" + name, signals<Subject>, std::size_t{0})->Iterations(500);
  bench::row("signal_waited/" + name, signals<Subject>, std::size_t{1})->Iterations(500);
}

template <class Subject>
void add_due(const std::string& name) {
  bench::row("signal_due/" + name, bench::due<Subject>, std::size_t{1})->Iterations(200);
}

}  // namespace

int main(int argc, char** argv) {
  using queue_off = queue_with<no_log_clock, no_logs>;
  using queue_on = queue_with<no_log_clock>;
  using queue_stamped = queue_with<tidemark::steady_log_clock>;
  add<progress_fence>("fence");
  add<queue_off>("queue.off");
  add<queue_on>("queue.on");
  add<fence_and<one_page, no_log_clock>>("fence_and_log");
  add<fence_and<locked_array, no_log_clock>>("fence_and_locked_array");
#if defined(__x86_64__)
  add<queue_with<tidemark::tsc_log_clock>>("queue.tsc");
  add<fence_and<one_page, tidemark::tsc_log_clock>>("fence_and_log.tsc");
#endif
  add<queue_stamped>("queue.steady");
  add<fence_and<one_page, tidemark::steady_log_clock>>("fence_and_log.steady");
  add_due<progress_fence>("fence");
  add_due<queue_off>("queue.off");
  add_due<queue_on>("queue.on");
  add_due<queue_stamped>("queue.steady");
  return bench::run_all(argc, argv);
}
