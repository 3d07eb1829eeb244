// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the queue: the order of value, entry and notification, the replacement of its logs, and submission.
#include "support/model_check.hpp"
#include "support/shapes.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>

#include <array>
#include <optional>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<std::uint64_t>;
using flag = platform::atomic<std::uint32_t>;
using model::heap_shape;
using tidemark::fence_log_entry;
using tidemark::fence_log_type;
using tidemark::queue_id;
using tidemark::wait_status;

template <heap_shape Shape>
using fence_of = model::shaped_fence<platform, Shape>;
using any_fence = fence_of<model::one_slot>;
template <heap_shape Shape>
using progress_of = model::shaped_progress_fence<platform, Shape>;
using progress_fence = tidemark::basic_progress_fence<platform>;
template <class Notifier = tidemark::self_service>
using queue_with = tidemark::basic_queue<progress_fence, tidemark::no_log_clock, Notifier>;
using queue = queue_with<>;
using reader = queue::reader_type;

/// Reads once. The entries must be the next ones, and the data that was written before each must be visible. Returns
/// the number of lost entries.
template <std::size_t Entries>
std::uint64_t read_in_order(reader& from, std::array<payload, Entries>& data) {
  std::array<fence_log_entry, Entries> buffer;
  const std::uint64_t before = from.next_sequence();
  const auto batch = from.read(buffer);
  MODEL_REQUIRE(batch.first_sequence == before + batch.lost);
  std::uint64_t sequence = batch.first_sequence;
  for (const fence_log_entry& entry : batch.entries) {
    MODEL_REQUIRE(entry.fence_value == sequence + 1);
    MODEL_REQUIRE(data[sequence].load() == sequence + 100);
    ++sequence;
  }
  MODEL_REQUIRE(from.next_sequence() == sequence);
  return batch.lost;
}

/// [A95] [A96] [trap 18] When a notifier is called, the value is stored and its entry is in the log. All waiters are
/// released.
template <class Fence, unsigned Waiters = 1>
struct entry_before_notification : model::suite<Waiters + 1> {
  struct looking {
    entry_before_notification* check;
    void operator()(const tidemark::logged_fence<Fence>& due) const noexcept {
      MODEL_REQUIRE(due.fence->current_value() == 1);
      MODEL_REQUIRE(check->log.has_new());
      MODEL_REQUIRE(read_in_order(check->log, check->data) == 0);
      MODEL_REQUIRE(check->log.next_sequence() == 1);
      due.fence->release_due();
    }
    void operator()(const tidemark::logged_fence<progress_fence>&) const noexcept { MODEL_REQUIRE(false); }
  };
  Fence output;
  progress_fence progress;
  queue_with<looking> subject{progress, {.log_entries = 2}, looking{this}};
  reader log = subject.signal_log();
  std::array<payload, 1> data;

  void thread(unsigned index) {
    if (index == 0) {
      data[0].store(100);
      subject.signal(tidemark::logged_fence{&output, tidemark::fence_id{2}}, 1);
    } else {
      MODEL_REQUIRE(output.wait(1) == wait_status::reached);
      MODEL_REQUIRE(data[0].load() == 100);
    }
  }
  void after() {
    if (log.next_sequence() == 0) read_in_order(log, data);
    MODEL_REQUIRE(log.next_sequence() == 1);
  }
};

/// [A92] The logs are replaced while the queue works and a reader reads. Each entry is read once or lost, in order.
template <unsigned Replacements, std::uint64_t Signals>
struct log_replaced : model::suite<3> {
  progress_fence output;
  progress_fence progress;
  queue subject{progress, {.log_entries = 2}};
  std::optional<reader> log{subject.signal_log()};
  std::array<payload, Signals> data;

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t value = 1; value <= Signals; ++value) {
        data[value - 1].store(value + 99);
        subject.signal(tidemark::logged_fence{&output, tidemark::fence_id{2}}, value);
      }
    } else if (index == 1) {
      for (unsigned time = 0; time < Replacements; ++time) subject.set_log(fence_log_type::signal, 2);
    } else {
      read_in_order(*log, data);
      read_in_order(*log, data);
    }
  }
  void after() {
    while (log->has_new()) {
      const std::uint64_t before = log->next_sequence();
      read_in_order(*log, data);
      if (log->next_sequence() == before) break;
    }
    MODEL_REQUIRE(log->next_sequence() == Signals);
  }
};

/// [A92] A reader leaves a log for the next one while the producer leaves that one too. The last of them frees the log,
/// after all the others have left it.
struct log_left : model::suite<2> {
  progress_fence output;
  progress_fence progress;
  queue subject{progress, {.log_entries = 2}};
  std::optional<reader> log{subject.signal_log()};
  std::array<payload, 3> data;

  void before() {
    subject.set_log(fence_log_type::signal, 2);
    signal(1);
    static_cast<void>(subject.signal_log());  // the owner leaves the first log
  }
  void signal(std::uint64_t value) {
    data[value - 1].store(value + 99);
    subject.signal(tidemark::logged_fence{&output, tidemark::fence_id{2}}, value);
  }
  void thread(unsigned index) {
    if (index == 0) {
      subject.set_log(fence_log_type::signal, 2);
      signal(2);
      static_cast<void>(subject.signal_log());  // and the second
      signal(3);
    } else {
      read_in_order(*log, data);
      log.reset();
    }
  }
};

/// [A109] An entry that was appended before the logs are flushed is readable afterwards, although no order hands it
/// over.
struct flushed : model::suite<2> {
  progress_fence output;
  progress_fence progress;
  queue subject{progress, {.log_entries = 2}};
  reader log = subject.signal_log();
  std::array<payload, 1> data;
  flag appended;

  void thread(unsigned index) {
    if (index == 0) {
      data[0].store(100);
      subject.signal(tidemark::logged_fence{&output, tidemark::fence_id{2}}, 1);
      appended.store(1, std::memory_order_relaxed);
    } else {
      while (appended.load(std::memory_order_relaxed) == 0) platform::pause();
      subject.flush_logs();
      read_in_order(log, data);
      MODEL_REQUIRE(log.next_sequence() == 1);
    }
  }
};

/// [A108] From a log that has new entries the collector collects all entries that were appended before its round,
/// although no order hands them over.
struct collected : model::suite<2> {
  any_fence output;
  progress_fence progress;
  queue subject{progress, {.log_entries = 2}};
  reader log = subject.signal_log();
  tidemark::basic_log_collector<platform, tidemark::no_log_clock> collector;
  std::array<payload, 2> data;
  flag appended;

  void before() { collector.add(queue_id{1}, subject); }
  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t value = 1; value <= 2; ++value) {
        data[value - 1].store(value + 99);
        subject.signal(tidemark::logged_fence{&output, tidemark::fence_id{2}}, value);
      }
      appended.store(1, std::memory_order_relaxed);
    } else {
      while (appended.load(std::memory_order_relaxed) == 0 || !log.has_new()) platform::pause();
      MODEL_REQUIRE((collector.collect(*this) == tidemark::collected_entries{1, 2, 0}));
    }
  }

  template <class Clock>
  void on_executed(queue_id, const fence_log_entry& entry) {
    MODEL_REQUIRE(data[entry.fence_value - 1].load() == entry.fence_value + 99);
  }
  void on_lost(queue_id, fence_log_type, std::uint64_t, std::uint64_t) { MODEL_REQUIRE(false); }
};

/// [A108] The same with two queues that both work.
struct collected_from_two : model::suite<3> {
  struct source {
    any_fence output;
    progress_fence progress;
    queue subject{progress, {.log_entries = 2}};
    reader log = subject.signal_log();
    payload data;
    flag appended;
  };
  std::array<source, 2> from;
  tidemark::basic_log_collector<platform, tidemark::no_log_clock> collector;
  unsigned found = 0;

  void before() {
    for (std::uint32_t number = 0; number < 2; ++number) collector.add(queue_id{number}, from[number].subject);
  }
  void thread(unsigned index) {
    if (index < 2) {
      from[index].data.store(42);
      from[index].subject.signal(tidemark::logged_fence{&from[index].output, tidemark::fence_id{2}}, 1);
      from[index].appended.store(1, std::memory_order_relaxed);
    } else {
      for (source& one : from) {
        if (one.appended.load(std::memory_order_relaxed) == 0 || !one.log.has_new()) return;
      }
      MODEL_REQUIRE((collector.collect(*this) == tidemark::collected_entries{2, 2, 0}));
    }
  }

  template <class Clock>
  void on_executed(queue_id id, const fence_log_entry&) {
    MODEL_REQUIRE(from[to_number(id)].data.load() == 42);
  }
  void on_lost(queue_id, fence_log_type, std::uint64_t, std::uint64_t) { MODEL_REQUIRE(false); }
};

/// [A119] The verbose log is turned on while the executor begins a wait. The log holds the stall or does not, and is
/// intact.
template <heap_shape Shape>
struct verbose_enabled : model::suite<2> {
  fence_of<Shape> input;
  progress_fence progress;
  queue subject{progress, {.log_entries = 2}};

  void thread(unsigned index) {
    if (index == 0) {
      subject.enable_verbose(tidemark::verbose_events::stalls, 2);
      input.signal(1);
    } else {
      MODEL_REQUIRE(subject.wait(tidemark::logged_fence{&input, tidemark::fence_id{2}}, 1) == wait_status::reached);
    }
  }
  void after() {
    reader log = subject.verbose_log();
    std::array<fence_log_entry, 2> buffer;
    const auto batch = log.read(buffer);
    MODEL_REQUIRE(batch.lost == 0 && batch.entries.size() <= 1);
    for (const fence_log_entry& entry : batch.entries) {
      MODEL_REQUIRE(entry.fence_value == 1);
      MODEL_REQUIRE(entry.operation == tidemark::fence_operation::wait_stalled);
    }
  }
};

/// [A122] [trap 13] A thread that sees a piece of work, but not its end, never finds the queue idle. Serials rise in
/// the order of submission.
struct idle_check : model::suite<3> {
  progress_fence progress;
  queue subject{progress, {.log_entries = 2}};
  flag visible;
  flag finished;
  payload work;

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint32_t expected = 1; expected <= 2; ++expected) {
        const auto submitted = subject.submit([&](std::uint64_t given) {
          if (given == 1) work.store(5);
          visible.store(static_cast<std::uint32_t>(given), std::memory_order_release);
        });
        MODEL_REQUIRE(submitted && submitted.serial == expected);
      }
    } else if (index == 1) {
      if (visible.load(std::memory_order_acquire) == 0) return;
      MODEL_REQUIRE(work.load() == 5);
      finished.store(1, std::memory_order_release);
      MODEL_REQUIRE(subject.complete() == 1);
    } else {
      const std::uint32_t seen = visible.load(std::memory_order_acquire);
      const bool idle = subject.is_idle();
      if (seen == 2) MODEL_REQUIRE(!idle);
      if (seen == 1 && idle) MODEL_REQUIRE(finished.load(std::memory_order_acquire) == 1);
    }
  }
};

/// The default heap of a queue's progress fence.
constexpr heap_shape default_heap{.capacity = 16, .arity = 4};
constexpr heap_shape default_heap_beside_lane{.capacity = 16, .arity = 4, .lane_is_occupied = true};

/// [A122] One thread aborts the queue while another one submits. Waiters for its progress are released, and a refused
/// submitter sees the reason. The default heap of a progress fence has two levels.
template <heap_shape Shape, unsigned Waiters = 0>
struct abort_beside_submission : model::suite<2 + Waiters> {
  model::shaped<progress_fence, Shape> progress;
  queue subject{progress, {.log_entries = 2}};
  payload reason;

  void thread(unsigned index) {
    if (index == 0) {
      reason.store(7);
      subject.abort();
    } else if (index > 1) {
      MODEL_REQUIRE(subject.wait_finished(1) == wait_status::lost);
      MODEL_REQUIRE(reason.load() == 7);
    } else {
      if (!subject.submit([](std::uint64_t) {})) {
        MODEL_REQUIRE(reason.load() == 7);
      } else {
        MODEL_REQUIRE(subject.drain() == wait_status::lost);
      }
    }
  }
  void after() { MODEL_REQUIRE(!subject.is_idle()); }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(
      argc, argv,
      {
          model::make_check<entry_before_notification<fence_of<model::one_slot>>, "entry_before_notification">(),
          model::make_check<entry_before_notification<fence_of<model::two_levels>>,
                            "entry_before_notification.two_levels">(),
          model::make_check<entry_before_notification<fence_of<model::beside_lane>>,
                            "entry_before_notification.beside_lane">(),
          model::make_check<entry_before_notification<fence_of<model::in_lane>>, "entry_before_notification.in_lane">(),
          model::make_check<entry_before_notification<progress_of<model::two_levels>>,
                            "entry_before_notification.progress">(),
          model::make_check<entry_before_notification<fence_of<model::two_levels>, 2>,
                            "entry_before_notification.two_waiters">(),
          model::make_check<log_replaced<1, 2>, "log_replaced">(),
          model::make_check<log_replaced<1, 3>, "log_replaced_and_overwritten">(),
          model::make_check<log_replaced<2, 2>, "log_replaced_twice">(),
          model::make_check<log_left, "log_left">(),
          model::make_check<flushed, "flushed">(),
          model::make_check<collected, "collected">(),
          model::make_check<collected_from_two, "collected_from_two">(),
          model::make_check<verbose_enabled<model::one_slot>, "verbose_enabled">(),
          model::make_check<verbose_enabled<model::two_levels>, "verbose_enabled.two_levels">(),
          model::make_check<verbose_enabled<model::beside_lane>, "verbose_enabled.beside_lane">(),
          model::make_check<verbose_enabled<model::in_lane>, "verbose_enabled.in_lane">(),
          model::make_check<idle_check, "idle_check">(),
          model::make_check<abort_beside_submission<default_heap>, "abort_beside_submission">(),
          model::make_check<abort_beside_submission<default_heap_beside_lane>, "abort_beside_submission.beside_lane">(),
          model::make_check<abort_beside_submission<default_heap, 1>, "abort_beside_submission.two_waiters">(),
      });
}
