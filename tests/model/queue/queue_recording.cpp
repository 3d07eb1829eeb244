// SPDX-License-Identifier: BSL-1.0
//
// Model checks of what threads that record commands share with a queue: entries that they reserve, events that they
// tell, and what they are told of the verbose log. Of the logs of events and of executed work, as they grow. And of
// threads that are recorded while others ask what they wait for.
#include "support/model_check.hpp"
#include "support/unsignalled.hpp"

#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/executed_work.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/queue/queued_events.hpp>
#include <tidemark/queue/thread_recorder.hpp>
#include <tidemark/queue/traced_logs.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<std::uint64_t>;
using flag = platform::atomic<std::uint32_t>;
using tidemark::fence_id;
using tidemark::fence_log_entry;
using tidemark::fence_log_type;
using tidemark::log_reservation;
using tidemark::queue_id;
using tidemark::trace_event;

using unsignalled = model::unsignalled<platform>;
using queue = tidemark::basic_queue<unsignalled, tidemark::no_log_clock>;

/// A fence that nobody waits for.
struct output_line {
  using platform = ::platform;
  bool publish(std::uint64_t) noexcept { return false; }
  bool is_due(std::uint64_t) noexcept { return false; }
  std::size_t release_due_after_barrier() noexcept { return 0; }
  std::size_t release_due_after_barrier(std::uint64_t) noexcept { return 0; }
  void release_due() noexcept {}
};

/// [A88] [A90] One thread reserves entries, the executor commits them, and a reader reads. The reader finds the entries
/// in the order of the reservations and finds none that is not committed. A log of two entries never has more than two
/// that are reserved and not committed.
template <unsigned Commands, unsigned Replacements>
struct reserved : model::suite<3> {
  unsignalled progress;
  output_line output;
  queue subject{progress, {.log_entries = 2}};
  queue::reserver_type entries = subject.signal_reserver();
  std::optional<queue::reader_type> log{subject.signal_log()};
  std::array<log_reservation, Commands> list;  // handed over with `data`
  std::array<payload, Commands> data;
  std::array<flag, Commands> recorded;
  flag begun;  // how many commands the executor has begun

  void thread(unsigned index) {
    if (index == 0) {
      for (unsigned n = 0; n < Commands; ++n) record(n);
    } else if (index == 1) {
      for (unsigned n = 0; n < Commands; ++n) execute(n);
    } else {
      for (unsigned time = 0; time < Replacements; ++time) subject.set_log(fence_log_type::signal, 2);
      read();
    }
  }
  void record(unsigned n) {
    const log_reservation entry = entries.reserve();
    if (entry) {
      MODEL_REQUIRE(entry.sequence == n);
      MODEL_REQUIRE(entry.sequence < begun.load(std::memory_order_relaxed) + 2);
    }
    list[n] = entry;
    data[n].store(n + 100);
    recorded[n].store(1, std::memory_order_release);
  }
  void execute(unsigned n) {
    while (recorded[n].load(std::memory_order_acquire) == 0) platform::pause();
    begun.store(n + 1, std::memory_order_relaxed);
    subject.signal(tidemark::logged_fence{&output, fence_id{2}}, n + 1, list[n]);
  }
  void read() {
    std::array<fence_log_entry, 2> buffer;
    const auto batch = log->read(buffer);
    std::uint64_t sequence = batch.first_sequence;
    for (const fence_log_entry& entry : batch.entries) {
      MODEL_REQUIRE(entry.fence_value == sequence + 1);
      MODEL_REQUIRE(data[sequence].load() == sequence + 100);
      ++sequence;
    }
  }
  void after() {
    const auto counts = subject.commits(fence_log_type::signal);
    MODEL_REQUIRE(counts.moved == 0 && counts.out_of_turn == 0);
    const log_reservation next = entries.reserve();
    MODEL_REQUIRE(next && next.sequence == Commands);
    while (log->has_new()) {
      const std::uint64_t before = log->next_sequence();
      read();
      if (log->next_sequence() == before) break;
    }
    MODEL_REQUIRE(log->next_sequence() == Commands);
  }
};

/// [A94] Two threads say what they have queued while a collector collects. It tells each event once, or counts it as
/// lost, and what came before the event is visible.
template <std::size_t Entries>
struct queued_by_two : model::suite<3> {
  tidemark::basic_queued_events<platform, tidemark::no_log_clock> events{Entries};
  tidemark::basic_log_collector<platform, tidemark::no_log_clock> collector;
  std::array<payload, 2> data;
  std::array<unsigned, 2> told{};
  std::uint64_t lost = 0;

  void before() { collector.add(queue_id{1}, events); }
  void thread(unsigned index) {
    if (index < 2) {
      data[index].store(42);
      events.signal_queued(fence_id{index}, index);
    } else {
      collect();
    }
  }
  void collect() { lost += collector.collect(*this).queued_lost; }
  void after() {
    collect();
    MODEL_REQUIRE(told[0] + told[1] + lost == 2);
    MODEL_REQUIRE(lost == 0);
  }

  void on_queued(queue_id, trace_event event, fence_id fence, std::uint64_t value, std::uint64_t) {
    MODEL_REQUIRE(event == trace_event::signal_queued && to_number(fence) == value);
    MODEL_REQUIRE(++told[value] == 1);
    MODEL_REQUIRE(data[value].load() == 42);
  }
  template <class Clock>
  void on_executed(queue_id, const fence_log_entry&) {
    MODEL_REQUIRE(false);
  }
  void on_lost(queue_id, fence_log_type, std::uint64_t, std::uint64_t) { MODEL_REQUIRE(false); }
};

/// [A92] [A101] The log of the work grows while the queue executes and a collector collects. It tells each piece once,
/// in order, and what came before the piece is visible. Nothing is lost, since each log has room for all.
struct work_grows : model::suite<3> {
  static constexpr std::uint64_t pieces = 2;
  tidemark::basic_executed_work<platform, tidemark::no_log_clock> work{2};
  tidemark::basic_log_collector<platform, tidemark::no_log_clock> collector;
  tidemark::basic_traced_logs<platform> device;
  std::array<payload, pieces> data;
  std::uint64_t next = 0;  // the next piece, if none is lost
  std::uint64_t lost = 0;

  void before() {
    collector.add(queue_id{1}, work);
    device.add(queue_id{1}, work);
  }
  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t n = 0; n < pieces; ++n) work.execute(std::string_view{names}.substr(n, 1), [&] { write(n); });
    } else if (index == 1) {
      MODEL_REQUIRE(device.grow(3) == 1);
    } else {
      collector.collect(*this);
    }
  }
  void write(std::uint64_t n) { data[n].store(n + 100); }
  void after() {
    collector.collect(*this);
    MODEL_REQUIRE(next == pieces);
    MODEL_REQUIRE(lost == 0);
  }

  template <class Clock>
  void on_work(queue_id, std::string_view name, std::uint64_t, std::uint64_t) {
    MODEL_REQUIRE(name == std::string_view{names}.substr(next, 1));
    MODEL_REQUIRE(data[next].load() == next + 100);
    ++next;
  }
  void on_work_lost(queue_id, std::uint64_t count) {
    next += count;
    lost += count;
  }
  template <class Clock>
  void on_executed(queue_id, const fence_log_entry&) {
    MODEL_REQUIRE(false);
  }
  void on_lost(queue_id, fence_log_type, std::uint64_t, std::uint64_t) { MODEL_REQUIRE(false); }

  static constexpr const char* names = "ab";
};

/// [A92] [A101] The log of the events grows while a thread says what it has queued and a collector collects, or while
/// two threads do so. Each event is told once, those of a thread in order, or counted as lost. What came before an
/// event is visible.
template <unsigned Writers>
struct events_grow : model::suite<3> {
  static constexpr std::uint64_t each = 2;

  tidemark::basic_queued_events<platform, tidemark::no_log_clock> events{2};
  tidemark::basic_log_collector<platform, tidemark::no_log_clock> collector;
  tidemark::basic_traced_logs<platform> device;
  std::array<payload, Writers * each> data;
  std::array<std::uint64_t, Writers> last{};
  std::uint64_t lost = 0;

  void before() {
    collector.add(queue_id{1}, events);
    device.add(queue_id{1}, events);
  }
  void thread(unsigned index) {
    if (index < Writers) {
      for (std::uint64_t value = 1; value <= each; ++value) {
        data[index * each + value - 1].store(value + 100);
        events.signal_queued(fence_id{index}, value);
      }
    } else if (index == 2) {
      MODEL_REQUIRE(device.grow(3) == 1);
    } else {
      collect();
    }
  }
  void collect() { lost += collector.collect(*this).queued_lost; }
  void after() {
    collect();
    collect();
    MODEL_REQUIRE(told + lost == Writers * each);
    if (Writers == 1) MODEL_REQUIRE(lost == 0);
  }

  void on_queued(queue_id, trace_event event, fence_id fence, std::uint64_t value, std::uint64_t) {
    MODEL_REQUIRE(event == trace_event::signal_queued && to_number(fence) < Writers);
    MODEL_REQUIRE(value > last[to_number(fence)] && value <= each);
    last[to_number(fence)] = value;
    MODEL_REQUIRE(data[to_number(fence) * each + value - 1].load() == value + 100);
    ++told;
  }
  template <class Clock>
  void on_executed(queue_id, const fence_log_entry&) {
    MODEL_REQUIRE(false);
  }
  void on_lost(queue_id, fence_log_type, std::uint64_t, std::uint64_t) { MODEL_REQUIRE(false); }

  std::uint64_t told = 0;
};

/// [A119] A thread that is told that the verbose log is on finds what the owner has made ready for it.
struct verbose_told : model::suite<2> {
  unsignalled progress;
  queue subject{progress, {.log_entries = 2}};
  payload ready;

  void thread(unsigned index) {
    if (index == 0) {
      ready.store(7);
      subject.enable_verbose(tidemark::verbose_events::stalls, 2);
      subject.enable_verbose(tidemark::verbose_events::none);
    } else if (subject.verbose_wanted() == tidemark::verbose_events::stalls) {
      MODEL_REQUIRE(ready.load() == 7);
    }
  }
  void after() { MODEL_REQUIRE(subject.verbose_wanted() == tidemark::verbose_events::none); }
};

/// A thread waits and then destroys the fence, while another one asks what it waits for, and signals it. Whoever asks
/// finds the fence as it was made, or nothing. At the end nobody waits, and what was announced is the one signal left.
struct thread_asked : model::suite<2> {
  /// Says that it is looked at, so that a look after its end is a data race.
  struct watched : tidemark::basic_fence<platform> {
    [[nodiscard]] std::uint64_t current_value() const noexcept {
      MODEL_REQUIRE(made.load() == 42);
      return tidemark::basic_fence<platform>::current_value();
    }
    platform::var<std::uint64_t> made{0};
  };
  watched fence;
  watched other;
  tidemark::basic_thread_recorder<platform, tidemark::no_log_clock> recorder{queue_id{1}, {}, 2};
  std::uint64_t announced = 0;

  void thread(unsigned index) {
    if (index == 0) {
      fence.made.store(42);
      MODEL_REQUIRE(recorder.wait(tidemark::logged_fence{&fence, fence_id{7}}, 1) == tidemark::wait_status::reached);
      fence.made.store(0);  // it is gone
    } else {
      ask();
      fence.signal(1);
      ask();
    }
  }
  void ask() {
    using access = tidemark::detail::thread_access;
    const tidemark::detail::lock_keeper kept(access::lock_of(recorder));
    access::look_at(
        recorder,
        [&](const void* at, fence_id id, std::uint64_t value, std::uint64_t current) {
          MODEL_REQUIRE(at == &fence && id == fence_id{7} && value == 1 && current <= 1);
        },
        [&](const void*, fence_id, std::uint64_t) { ++announced; });
  }
  void after() {
    recorder.will_signal(tidemark::logged_fence{&other, fence_id{8}}, 2);
    ask();
    MODEL_REQUIRE(announced == 1);
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<reserved<2, 0>, "reserved">(),
                        model::make_check<reserved<3, 0>, "reserved_no_space">(),
                        model::make_check<reserved<2, 1>, "reserved_and_replaced">(),
                        model::make_check<queued_by_two<2>, "queued_by_two">(),
                        model::make_check<work_grows, "work_grows">(),
                        model::make_check<events_grow<1>, "events_grow">(),
                        model::make_check<events_grow<2>, "events_grow.two">(),
                        model::make_check<verbose_told, "verbose_told">(),
                        model::make_check<thread_asked, "thread_asked">(),
                    });
}
