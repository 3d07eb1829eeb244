// SPDX-License-Identifier: BSL-1.0
//
// traced_logs: the logs of all queues of a device grow in one call, all of them or none.
#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <optional>
#include <vector>

#include <tidemark/queue/executed_work.hpp>
#include <tidemark/queue/queued_events.hpp>
#include <tidemark/queue/traced_logs.hpp>

#include "support/counted_allocations.hpp"
#include "support/queues.hpp"

using namespace testing;

namespace {

/// Queues of one device, and their logs.
struct device {
  explicit device(std::size_t count) {
    for (std::size_t n = 0; n < count; ++n) {
      auto& queue = queues.emplace_back(own.emplace_back(), tidemark::queue_options{.progress = own_id});
      logs.add(queue_id{static_cast<std::uint32_t>(n)}, queue);
      readers.push_back(queue.signal_log());
    }
  }
  void complete(std::uint64_t times) {
    for (auto& queue : queues) {
      for (std::uint64_t n = 0; n < times; ++n) queue.complete();
    }
  }
  std::uint64_t lost() {
    std::uint64_t all = 0;
    for (auto& reader : readers) all += read_all(reader).lost;
    return all;
  }

  std::deque<progress> own;
  std::deque<counted_queue> queues;
  std::vector<counted_queue::reader_type> readers;
  tidemark::basic_traced_logs<stepping_platform> logs;
};

/// Queues of one device, and for each the work that was executed and what was queued. Of each a log keeps 84.
struct working_device : device {
  explicit working_device(std::size_t count) : device{count} {
    for (std::size_t n = 0; n < count; ++n) {
      const queue_id id{static_cast<std::uint32_t>(n)};
      logs.add(id, work.emplace_back(84U));
      logs.add(id, events.emplace_back(84U));
      work_readers.push_back(work.back().reader());
      event_readers.push_back(events.back().reader());
    }
  }
  /// Of each queue so many pieces and events.
  void execute(std::size_t times) {
    for (auto& one : work) {
      for (std::size_t n = 0; n < times; ++n) one.execute("tile", [] {});
    }
    for (auto& one : events) {
      for (std::size_t n = 0; n < times; ++n) one.wait_queued(other_id, n);
    }
  }
  /// Reads all. Returns how many were lost, of all queues.
  std::uint64_t lost_work() { return lost_to(work_readers); }
  std::uint64_t lost_events() { return lost_to(event_readers); }

  template <class Readers>
  static std::uint64_t lost_to(Readers& readers) {
    std::uint64_t all = 0;
    for (auto& reader : readers) {
      std::array<typename Readers::value_type::entry_type, 7> buffer;
      for (;;) {
        const auto batch = reader.read(buffer);
        if (batch.entries.empty() && batch.lost == 0) break;
        all += batch.lost;
      }
    }
    return all;
  }

  using executed = tidemark::basic_executed_work<stepping_platform, ticking_clock>;
  using queued = tidemark::basic_queued_events<stepping_platform, ticking_clock>;
  std::deque<executed> work;
  std::deque<queued> events;
  std::vector<executed::reader_type> work_readers;
  std::vector<queued::reader_type> event_readers;
};

}  // namespace

TEST_CASE("[A101] one call grows the logs of all queues, so that a burst that would have overrun them loses nothing") {
  device at{3};
  at.complete(85);
  CHECK(at.lost() == 3);
  CHECK(at.logs.grow(500) == 6);
  at.complete(500);
  CHECK(at.lost() == 0);
}

TEST_CASE("[A101] what was in the old logs is not lost either") {
  device at{2};
  at.complete(84);
  CHECK(at.logs.grow(200) == 4);
  at.complete(200);
  CHECK(at.lost() == 0);
}

TEST_CASE("[A101] a log that is large enough stays as it is, also one that was given larger memory") {
  device at{2};
  at.queues[0].set_log(fence_log_type::signal, 1000);
  alignas(8) static std::array<std::byte, 48 * 1001> memory;
  at.queues[1].set_log(fence_log_type::wait, memory);
  CHECK(at.logs.grow(900) == 2);
  CHECK(at.logs.grow(900) == 0);
  CHECK(at.logs.grow(84) == 0);
  at.complete(900);
  CHECK(at.lost() == 0);
  CHECK(at.logs.grow(1001) == 4);
}

TEST_CASE("[A101] the waits' logs grow, too") {
  device at{2};
  at.complete(1);
  std::array logs{at.queues[0].wait_log(), at.queues[1].wait_log()};
  CHECK(at.logs.grow(300) == 4);
  for (auto& queue : at.queues) {
    for (int n = 0; n < 300; ++n) CHECK(queue.wait(queue.progress(), 1) == tidemark::wait_status::reached);
  }
  for (auto& log : logs) {
    const auto found = read_all(log);
    CHECK(found.lost == 0);
    CHECK(found.entries.size() == 300);
  }
}

TEST_CASE("[A101] where memory is short, none of the logs grows, and the queues go on with the old ones") {
  std::size_t failures = 0;
  for (std::size_t spared = 0;; ++spared) {
    device at{2};
    bool has_thrown = false;
    std::size_t grown = 0;
    {
      const counted_allocations during{true, spared};
      try {
        grown = at.logs.grow(100);
      } catch (const std::bad_alloc&) {
        has_thrown = true;
      }
    }
    at.complete(100);
    CHECK(at.lost() == (has_thrown ? 2 * 16 : 0));
    if (!has_thrown) {
      CHECK(grown == 4);
      break;
    }
    ++failures;
  }
  CHECK(failures >= 4);
}

TEST_CASE("[A101] a queue that was removed keeps its logs") {
  device at{2};
  at.logs.remove(queue_id{0});
  at.logs.remove(queue_id{9});
  CHECK(at.logs.grow(100) == 2);
  at.complete(100);
  CHECK(read_all(at.readers[0]).lost == 16);
  CHECK(read_all(at.readers[1]).lost == 0);
}

TEST_CASE("[A101] an engine's queue is added by its timeline, and queues of several kinds stand side by side") {
  progress own;
  progress other;
  tidemark::basic_queue<progress, ticking_clock> plain{own};
  tidemark::basic_queue<progress, tidemark::no_log_clock, teller> telling{other, {}, teller{nullptr}};
  tidemark::basic_traced_logs<stepping_platform> logs;
  logs.add(queue_id{1}, plain);
  logs.add(queue_id{2}, telling);
  CHECK(logs.grow() == 4);
}

TEST_CASE("[A101] without queues nothing grows") {
  tidemark::traced_logs logs;
  CHECK(logs.grow() == 0);
}

TEST_CASE("[A101][A92] the logs of work and events grow in the same call, and what was in the old ones is not lost") {
  working_device at{3};
  at.execute(85);
  CHECK(at.lost_work() == 3);
  CHECK(at.lost_events() == 3);
  at.execute(84);
  CHECK(at.logs.grow(500) == 12);
  CHECK(at.logs.grow(500) == 0);
  at.complete(500);
  at.execute(500);
  CHECK(at.lost() == 0);
  CHECK(at.lost_work() == 0);
  CHECK(at.lost_events() == 0);
}

TEST_CASE("[A101] where memory is short, neither the logs of the queues grow nor those of work and events") {
  std::size_t failures = 0;
  for (std::size_t spared = 0;; ++spared) {
    working_device at{2};
    std::optional<std::size_t> grown;
    {
      const counted_allocations during{true, spared};
      try {
        grown = at.logs.grow(100);
      } catch (const std::bad_alloc&) {
        ++failures;
      }
    }
    at.complete(100);
    at.execute(100);
    const std::uint64_t expected = grown ? 0 : 2 * 16;
    CHECK(at.lost() == expected);
    CHECK(at.lost_work() == expected);
    CHECK(at.lost_events() == expected);
    if (grown) {
      CHECK(*grown == 8);
      break;
    }
  }
  CHECK(failures >= 8);  // a log for each, at least
}

TEST_CASE("[A101] what can't be added for lack of memory is not added, and can be added later") {
  working_device::executed work{84};
  working_device::queued events{84};
  tidemark::basic_traced_logs<stepping_platform> logs;
  {
    const counted_allocations during{true};
    CHECK_THROWS_AS(logs.add(queue_id{1}, work), std::bad_alloc);
    CHECK_THROWS_AS(logs.add(queue_id{1}, events), std::bad_alloc);
  }
  CHECK(logs.grow(100) == 0);
  logs.add(queue_id{1}, work);
  logs.add(queue_id{1}, events);
  CHECK(logs.grow(100) == 2);
}

TEST_CASE("[A101] what was removed with its queue keeps its log, and a log that is large enough stays") {
  working_device at{2};
  at.logs.remove(queue_id{0});
  CHECK(at.work[1].set_log(200));
  CHECK(at.logs.grow(100) == 3);
  CHECK(at.events[1].set_log(200));
  CHECK(at.logs.grow(150) == 2);
  at.execute(200);
  CHECK(at.lost_work() == 116);
  CHECK(at.lost_events() == 116);
}

TEST_CASE("[A101] events and work for which a larger log can't be allocated go on in the old one") {
  for (std::size_t spared = 0;; ++spared) {
    working_device at{1};
    bool has_both = false;
    {
      const counted_allocations during{true, spared};
      try {
        at.work[0].set_log(100);
        at.events[0].set_log(100);
        has_both = true;
      } catch (const std::bad_alloc&) {
      }
    }
    at.execute(100);
    CHECK(at.lost_events() == (has_both ? 0 : 16));
    if (has_both) {
      CHECK(at.lost_work() == 0);
      CHECK(spared >= 2);
      break;
    }
  }
}
