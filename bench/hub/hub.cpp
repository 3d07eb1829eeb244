// SPDX-License-Identifier: BSL-1.0
//
// What it costs that a hub serves a signal, for hubs of 16, 256 and 4,096 fences. A registration wakes nobody here: it
// counts its release. So the times are those of the search alone.
//
//   serve/<how>/<fences>        one signal that makes one waiter due, until that waiter is released. Eight fences are
//                               signalled in turn, and the times are for one of them
//   overrun/<subject>/<fences>  entries of the queue's log were lost [A113]: all fences are looked at, one has a waiter
//                               due. The log has 16 entries, all of which are served first
//
// How a signal is served: `by_fence`; `by_queue`, whose entries have no time, so that the current values are read;
// `log`, the same with times, by the logged values alone; `by_scan`. Beside it stand `fence`, which is signalled
// without a queue; `queue`, which releases the waiters itself and logs the signal with its time; and `locked_map`: a
// mutex, a map from ids to timelines, and for each of them a map from targets to callables. That one has no log.
//
// Beside an overrun stand `fences`: one barrier, and one fence after the other; and `locked_map`, where all timelines
// are looked at under the mutex.
#include <benchmark/benchmark.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/tools/fence_operations.hpp>
#include <tidemark/hub/hub.hpp>
#include <tidemark/log/log_clock.hpp>
#include <vector>

#include "peers/locked_callables.hpp"
#include "support/counting_waker.hpp"
#include "support/measure.hpp"

namespace {

using benchmark::State;
using tidemark::hub_event;
using tidemark::logged_fence;
using tidemark::no_log_clock;
using tidemark::notify_style;
using tidemark::progress_fence;

#if defined(__x86_64__)
using some_clock = tidemark::tsc_log_clock;
#else
using some_clock = tidemark::steady_log_clock;
#endif

constexpr std::size_t signalled = 8;

/// Fences, on which registrations wait that wake nobody.
template <std::size_t Count>
class waited_fences {
 public:
  progress_fence& operator[](std::size_t index) { return fences_[index]; }

  void add(std::size_t index, std::uint64_t target) {
    registered_.push_back({&fences_[index], tidemark::detail::fence_access::add(fences_[index], target, &waker_)});
  }
  /// Returns how many of the registrations had not been released.
  std::size_t withdraw_all() {
    std::size_t left = 0;
    for (const auto& [fence, ticket] : registered_) {
      if (tidemark::detail::fence_access::heap(*fence).withdraw(ticket)) ++left;
    }
    registered_.clear();
    return left;
  }

 private:
  struct registration {
    progress_fence* fence;
    tidemark::waiter_ticket ticket;
  };
  std::deque<progress_fence> fences_ = std::deque<progress_fence>(Count);
  std::vector<registration> registered_;
  bench::counting_waker waker_;
};

// ---- a signal -------------------------------------------------------------------------------------------------------
//
// A subject has add(index, target), signal(index, value), withdraw_all() and is_right().

template <std::size_t Count>
class bare_fences : public waited_fences<Count> {
 public:
  void signal(std::size_t index, std::uint64_t value) { (*this)[index].signal(value); }
  static bool is_right(std::uint64_t) { return true; }
};

template <std::size_t Count>
class queue_alone : public waited_fences<Count> {
 public:
  void signal(std::size_t index, std::uint64_t value) {
    const tidemark::fence_id id{static_cast<std::uint32_t>(index)};
    static_cast<void>(queue_.signal(logged_fence<progress_fence>{&(*this)[index], id}, value));
  }
  static bool is_right(std::uint64_t) { return true; }

 private:
  progress_fence finished_;
  tidemark::basic_queue<progress_fence, some_clock> queue_{finished_};
};

template <std::size_t Count>
using hub_of = tidemark::basic_hub<tidemark::native_platform, tidemark::self_serving, Count>;

/// The progress fence of the queue is one of the hub's fences.
template <std::size_t Count, notify_style Style, class Clock>
class served_by_hub : public waited_fences<Count - 1> {
 public:
  served_by_hub() {
    is_complete_ = bool{hub_.attach(queue_, {.style = Style})};
    for (std::size_t index = 0; index < Count - 1; ++index) {
      const auto added = hub_.add((*this)[index]);
      is_complete_ = is_complete_ && added;
      logged_.push_back(added.fence);
    }
  }
  void signal(std::size_t index, std::uint64_t value) { static_cast<void>(queue_.signal(logged_[index], value)); }
  bool is_right(std::uint64_t signals) const {
    constexpr bool reads_log = Style == notify_style::by_queue && has_times;
    const std::uint64_t by_log = hub_.count(hub_event::log_release);
    const std::uint64_t by_value = hub_.count(hub_event::value_read);
    return is_complete_ && hub_.count(hub_event::pass) == signals && by_log == (reads_log ? signals : 0) &&
           by_value == (reads_log ? 0 : signals * (Style == notify_style::by_scan ? Count : 1));
  }

 private:
  static constexpr bool has_times = !std::same_as<Clock, no_log_clock>;

  progress_fence finished_;
  hub_of<Count> hub_;
  tidemark::basic_queue<progress_fence, Clock, tidemark::hub_notifier<hub_of<Count>>> queue_{finished_};
  std::vector<logged_fence<progress_fence>> logged_;
  bool is_complete_ = false;
};

template <std::size_t Count>
class locked_map {
 public:
  void add(std::size_t index, std::uint64_t target) {
    map_.add(static_cast<std::uint32_t>(index), target, &called_);
    ++expected_;
  }
  void signal(std::size_t index, std::uint64_t value) { map_.signal(static_cast<std::uint32_t>(index), value); }
  void look_at_all() { map_.release_all(); }
  std::size_t withdraw_all() { return expected_ - called_.calls(); }
  static bool is_right(std::uint64_t) { return true; }

 private:
  bench::locked_callables_by_id map_{Count};
  bench::called_back called_;
  std::uint64_t expected_ = 0;
};

template <class Subject>
void serve(State& state, std::size_t fences) {
  const bench::escaped<Subject> subject;
  const std::size_t step = (fences - 1) / signalled;
  std::uint64_t value = 0;
  std::uint64_t signals = 0;
  std::size_t left = 0;
  std::vector<double> samples;
  for (auto _ : state) {
    ++value;
    for (std::size_t i = 0; i < signalled; ++i) subject->add(i * step, value);
    const auto start = bench::steady::now();
    for (std::size_t i = 0; i < signalled; ++i) subject->signal(i * step, value);
    samples.push_back(bench::nanoseconds_between(start, bench::steady::now()));
    state.SetIterationTime(samples.back() * 1e-9);
    left += subject->withdraw_all();
    signals += signalled;
  }
  if (left != 0 || !subject->is_right(signals)) return state.SkipWithError("it was not served as was meant");
  bench::report_per_operation(state, std::move(samples), signalled);
}

// ---- lost entries ---------------------------------------------------------------------------------------------------
//
// A subject has add(), signal(), withdraw_all() and look_at_all().

template <std::size_t Count>
class fences_in_turn : public bare_fences<Count> {
 public:
  void look_at_all() {
    tidemark::native_platform::full_barrier();
    for (std::size_t index = 0; index < Count; ++index) (*this)[index].release_due_after_barrier();
  }
};

template <std::size_t Count>
class overrun_hub : public waited_fences<Count - 1> {
 public:
  overrun_hub() {
    queue_id_ = hub_.attach(queue_).queue;
    for (std::size_t index = 0; index < Count - 1; ++index) logged_.push_back(hub_.add((*this)[index]).fence);
  }
  void signal(std::size_t index, std::uint64_t value) { static_cast<void>(queue_.signal(logged_[index], value)); }
  void look_at_all() { hub_.notify_queue(queue_id_); }
  bool is_right(std::uint64_t overruns) const {
    return hub_.count(hub_event::overrun) == overruns && hub_.count(hub_event::value_read) == overruns * Count;
  }

 private:
  progress_fence finished_;
  hub_of<Count> hub_;
  tidemark::basic_queue<progress_fence, some_clock> queue_{finished_, {.log_entries = 16}};
  std::vector<logged_fence<progress_fence>> logged_;
  tidemark::queue_id queue_id_{};
};

template <class Subject>
void overrun(State& state, std::size_t fences) {
  const bench::escaped<Subject> subject;
  const std::size_t last = fences - 2;
  std::uint64_t value = 0;
  std::uint64_t others = 0;
  std::uint64_t times = 0;
  std::size_t left = 0;
  bench::measure_calls(
      state,
      [&] {
        left += subject->withdraw_all();
        subject->signal(last, ++value);
        for (int i = 0; i < 32; ++i) subject->signal(0, ++others);
        subject->add(last, value);
        ++times;
      },
      [&] { subject->look_at_all(); });
  left += subject->withdraw_all();
  if (left != 0 || !subject->is_right(times)) state.SkipWithError("not all fences were looked at");
}

template <std::size_t Count>
void add_rows() {
  std::string variant{'/'};
  variant += std::to_string(Count);
  const auto add = [&](const std::string& name, void (*function)(State&, std::size_t), int iterations) {
    bench::row(name + variant, function, Count)->Iterations(iterations);
  };
  add("serve/fence", serve<bare_fences<Count>>, 300);
  add("serve/queue", serve<queue_alone<Count>>, 300);
  add("serve/by_fence", serve<served_by_hub<Count, notify_style::by_fence, some_clock>>, 300);
  add("serve/by_queue", serve<served_by_hub<Count, notify_style::by_queue, no_log_clock>>, 300);
  add("serve/log", serve<served_by_hub<Count, notify_style::by_queue, some_clock>>, 300);
  add("serve/by_scan", serve<served_by_hub<Count, notify_style::by_scan, some_clock>>, 40);
  add("serve/locked_map", serve<locked_map<Count>>, 300);
  add("overrun/hub", overrun<overrun_hub<Count>>, 200);
  add("overrun/fences", overrun<fences_in_turn<Count>>, 200);
  add("overrun/locked_map", overrun<locked_map<Count>>, 200);
}

}  // namespace

int main(int argc, char** argv) {
  add_rows<16>();
  add_rows<256>();
  add_rows<4'096>();
  return bench::run_all(argc, argv);
}
