// SPDX-License-Identifier: BSL-1.0
//
// A user's program under ThreadSanitizer: plain data that one thread hands to another with nothing but a fence. Without
// an argument it prints the names of its hand-overs; with a name it runs that one, and exits with 1 if the data was not
// right. Who reads the data is told nothing else that could order it.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>
#include <version>

#include <tidemark/tidemark.hpp>

#if defined(__cpp_lib_jthread)
#include <stop_token>
#endif

namespace {

using namespace std::chrono_literals;
using tidemark::wait_status;

constexpr std::uint64_t target = 5;
constexpr tidemark::fence_options with_one_slot{
    .capacity = 1, .growth = tidemark::heap_growth::forbidden, .statistics = true};

template <class Condition>
void until(const Condition& condition) {
  while (!condition()) std::this_thread::yield();
}

/// Tells that the time has come, and orders nothing.
class hint {
 public:
  void give() { given_.store(true, std::memory_order_relaxed); }
  void await() const {
    until([this] { return given_.load(std::memory_order_relaxed); });
  }

 private:
  std::atomic<bool> given_{false};
};

// ---- by a value ----------------------------------------------------------------------------------------------------

/// The reader looks again and again, and never sleeps.
template <class Fence>
bool looked_at() {
  Fence fence;
  std::uint64_t data = 0;
  std::uint64_t seen = 0;
  std::thread reader{[&] {
    until([&] { return fence.is_reached(target); });
    seen = data;
  }};
  data = 7;
  fence.signal(target);
  reader.join();
  return seen == 7;
}

/// One value after the other; the reader sleeps or is in time, as it happens.
template <class Fence>
bool pipelined() {
  constexpr std::uint64_t last = 200;
  Fence fence;
  std::vector<std::uint64_t> data(last + 1);  // clang does not watch stores into an array on the stack
  std::uint64_t right = 0;
  std::thread reader{[&] {
    for (std::uint64_t value = 1; value <= last; ++value) {
      if (fence.wait(value) == wait_status::reached && data[value] == value * value) ++right;
    }
  }};
  for (std::uint64_t value = 1; value <= last; ++value) {
    data[value] = value * value;
    fence.signal(value);
    if (value % 16 == 0) std::this_thread::sleep_for(200us);
  }
  reader.join();
  return right == last;
}

/// The reader has registered, and most likely sleeps, before the data is written.
template <class Fence>
bool parked() {
  Fence fence;
  std::uint64_t data = 0;
  std::uint64_t seen = 0;
  std::thread reader{[&] {
    if (fence.wait(target) == wait_status::reached) seen = data;
  }};
  until([&] { return fence.monitored_value() == target - 1; });
  std::this_thread::sleep_for(1ms);
  data = 7;
  fence.signal(target);
  reader.join();
  return seen == 7;
}

/// Two readers and one slot: the other one sleeps in the overflow lane.
template <class Fence>
bool overflowing() {
  Fence fence;
  std::uint64_t data = 0;
  std::uint64_t seen[2] = {};
  const auto read = [&](std::uint64_t& into) {
    if (fence.wait(target) == wait_status::reached) into = data;
  };
  std::thread first{[&] { read(seen[0]); }};
  std::thread second{[&] { read(seen[1]); }};
  until([&] { return fence.overflow_count() == 1; });
  std::this_thread::sleep_for(1ms);
  data = 7;
  fence.signal(target);
  first.join();
  second.join();
  return seen[0] == 7 && seen[1] == 7;
}

/// The reader has timed out, and waits again.
template <class Fence>
bool timed_out() {
  Fence fence;
  hint has_timed_out;
  std::uint64_t data = 0;
  std::uint64_t seen = 0;
  std::thread reader{[&] {
    const auto first = fence.wait_for(target, 1ms);
    has_timed_out.give();
    if (first == wait_status::timeout && fence.wait_for(target, 24h) == wait_status::reached) seen = data;
  }};
  has_timed_out.await();
  data = 7;
  fence.signal(target);
  reader.join();
  return seen == 7;
}

#if defined(__cpp_lib_jthread)
/// The reader was stopped, and waits again. What the stopping thread did before is handed over by the stop token.
template <class Fence>
bool stopped() {
  Fence fence;
  std::stop_source stop;
  hint has_stopped;
  std::uint64_t reason = 0;
  std::uint64_t data = 0;
  std::uint64_t seen = 0;
  std::thread reader{[&, token = stop.get_token()] {
    const bool was_stopped = fence.wait(target, token) == wait_status::stopped && reason == 3;
    has_stopped.give();
    if (was_stopped && fence.wait(target) == wait_status::reached) seen = data;
  }};
  until([&] { return fence.monitored_value() == target - 1; });
  reason = 3;
  stop.request_stop();
  has_stopped.await();
  data = 7;
  fence.signal(target);
  reader.join();
  return seen == 7;
}
#endif

// ---- by poison -----------------------------------------------------------------------------------------------------

/// Whoever learns that the device is lost may read why.
template <class Fence>
bool poisoned() {
  Fence fence;
  std::uint64_t reason = 0;
  std::uint64_t seen_by_waiter = 0;
  std::uint64_t seen_by_looker = 0;
  std::thread waiter{[&] {
    if (fence.wait(target) == wait_status::lost) seen_by_waiter = reason;
  }};
  std::thread looker{[&] {
    until([&] { return fence.is_poisoned(); });
    seen_by_looker = reason;
  }};
  until([&] { return fence.monitored_value() == target - 1; });
  reason = 3;
  fence.poison();
  waiter.join();
  looker.join();
  return seen_by_waiter == 3 && seen_by_looker == 3;
}

// ---- by a loop -----------------------------------------------------------------------------------------------------

/// The loop looks at the value again and again, and never sleeps.
template <class Fence>
bool polled() {
  Fence fence;
  std::uint64_t data = 0;
  std::uint64_t seen = 0;
  std::thread runner{[&] {
    tidemark::wait_loop loop;
    auto registered = loop.on_reached(fence, target, [&] { seen = data; });
    until([&] { return loop.poll() != 0; });
  }};
  data = 7;
  fence.signal(target);
  runner.join();
  return seen == 7;
}

/// The loop has registered, and its thread most likely sleeps, before the data is written.
template <class Fence>
bool awoken() {
  Fence fence;
  std::uint64_t data = 0;
  std::uint64_t seen = 0;
  std::thread runner{[&] {
    tidemark::wait_loop loop;
    auto registered = loop.on_reached(fence, target, [&] { seen = data; });
    static_cast<void>(loop.run_one());
  }};
  until([&] { return fence.monitored_value() == target - 1; });
  std::this_thread::sleep_for(1ms);
  data = 7;
  fence.signal(target);
  runner.join();
  return seen == 7;
}

// ---- by an engine --------------------------------------------------------------------------------------------------

/// A queue waits for the data of this thread, and this thread for that of the queue.
template <class Fence>
bool executed() {
  Fence ready;
  Fence done;
  std::uint64_t data = 0;
  std::uint64_t result = 0;
  tidemark::engine compute;
  tidemark::engine_queue queue{compute};
  queue.wait(ready, target);
  queue.run([&] { result = data + 1; });
  queue.signal(done, 1);
  if (!queue.submit()) return false;
  data = 7;
  ready.signal(target);
  return done.wait(1) == wait_status::reached && result == 8;
}

/// The same between queues of two engines. One of these most likely sleeps.
template <class Fence>
bool executed_by_two() {
  Fence ready;
  std::uint64_t data = 0;
  std::uint64_t seen = 0;
  tidemark::engine copy;
  tidemark::engine compute;
  tidemark::engine_queue uploads{copy};
  tidemark::engine_queue blurs{compute};
  blurs.wait(ready, target);
  blurs.run([&] { seen = data; });
  if (!blurs.submit()) return false;
  until([&] { return ready.monitored_value() == target - 1; });
  std::this_thread::sleep_for(1ms);
  uploads.run([&] { data = 7; });
  uploads.signal(ready, target);
  if (!uploads.submit()) return false;
  return blurs.drain() == wait_status::reached && seen == 7;
}

struct hand_over {
  std::string_view name;
  bool (*run)();
};

using tidemark::fence;
using tidemark::progress_fence;
using crowded_fence = tidemark::basic_fence<tidemark::symmetric_platform, with_one_slot>;
using crowded_progress_fence = tidemark::basic_progress_fence<tidemark::native_platform, with_one_slot>;

constexpr hand_over hand_overs[] = {
    {"progress_fence,looked_at", looked_at<progress_fence>},
    {"progress_fence,pipelined", pipelined<progress_fence>},
    {"progress_fence,parked", parked<progress_fence>},
    {"progress_fence,overflowing", overflowing<crowded_progress_fence>},
    {"progress_fence,timed_out", timed_out<progress_fence>},
    {"progress_fence,poisoned", poisoned<progress_fence>},
    {"progress_fence,polled", polled<progress_fence>},
    {"progress_fence,awoken", awoken<progress_fence>},
    {"progress_fence,executed", executed<progress_fence>},
    {"progress_fence,executed_by_two", executed_by_two<progress_fence>},
    {"fence,looked_at", looked_at<fence>},
    {"fence,pipelined", pipelined<fence>},
    {"fence,parked", parked<fence>},
    {"fence,overflowing", overflowing<crowded_fence>},
    {"fence,timed_out", timed_out<fence>},
    {"fence,poisoned", poisoned<fence>},
    {"fence,polled", polled<fence>},
    {"fence,awoken", awoken<fence>},
    {"fence,executed", executed<fence>},
    {"fence,executed_by_two", executed_by_two<fence>},
#if defined(__cpp_lib_jthread)
    {"progress_fence,stopped", stopped<progress_fence>},
    {"fence,stopped", stopped<fence>},
#endif
};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& one : hand_overs) {
    if (argc < 2) {
      std::printf("%s\n", one.name.data());
    } else if (one.name == argv[1]) {
      return one.run() ? 0 : 1;
    }
  }
  return argc < 2 ? 0 : 2;
}
