// SPDX-License-Identifier: BSL-1.0
//
// The logs of a queue: what is in them by default, how they are replaced while the queue works, what readers get over
// all replacements, and what is allocated. What the verbose log holds is in recorder.cpp.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/log/mapped_log.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/child.hpp"
#include "support/manual_stop.hpp"
#include "support/queues.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/shared_memory.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

namespace {

std::atomic<std::uint64_t> allocations{0};
std::atomic<std::int64_t> blocks{0};  // allocated and not freed

void* counted_new(std::size_t size, std::size_t alignment) {
  ++allocations;
  ++blocks;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) != 0) std::abort();
  return memory;
}
void counted_delete(void* memory) noexcept {
  if (memory != nullptr) --blocks;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted_new(size, alignof(std::max_align_t)); }
void* operator new[](std::size_t size) { return counted_new(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted_new(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted_new(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { counted_delete(memory); }
void operator delete[](void* memory) noexcept { counted_delete(memory); }
void operator delete(void* memory, std::size_t) noexcept { counted_delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { counted_delete(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { counted_delete(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { counted_delete(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { counted_delete(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { counted_delete(memory); }

using namespace testing;
using tidemark::wait_status;

namespace {

using page = tidemark::fence_log::page_type;

// What a process allocates once is not counted: condition variables on which threads park, where there are no futexes.
const progress first_of_all;

/// A queue with logs of so many entries, whose executor only completes work, so that entry n has the value n + 1.
struct stand {
  explicit stand(std::size_t entries = 84) : queue{own, {.progress = own_id, .log_entries = entries}} {}

  void complete(std::uint64_t times) {
    for (; times > 0; --times) queue.complete();
  }

  progress own;
  counted_queue queue;
};

std::vector<std::uint64_t> from_to(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> values;
  for (; first <= last; ++first) values.push_back(first);
  return values;
}

/// A sink for operations that need no log.
struct last_operations {
  template <class>
  void on_executed(queue_id by, const fence_log_entry& entry) {
    queue = by;
    (entry.operation == fence_operation::wait_unblocked ? wait : signal) = entry;
  }
  void on_lost(queue_id, fence_log_type, std::uint64_t, std::uint64_t) { FAIL("nothing can be lost without a log"); }

  queue_id queue{};
  fence_log_entry wait;
  fence_log_entry signal;
};

}  // namespace

// ---- what is there by default ---------------------------------------------------------------------------------------

TEST_CASE("[A84][A118] a queue has two logs of 84 entries each, and each fits in 4 KiB") {
  static_assert(page::bytes_for(84) <= 4096);
  static_assert(page::entries_in(4096) == 84);
  stand at;
  auto waits = at.queue.wait_log();
  auto signals = at.queue.signal_log();
  const auto own = at.queue.progress();
  at.complete(84);
  for (std::uint64_t n = 1; n <= 84; ++n) CHECK(at.queue.wait(own, n) == wait_status::reached);
  CHECK(read_all(signals).values() == from_to(1, 84));
  CHECK(read_all(waits).values() == from_to(1, 84));
  at.complete(85);
  for (std::uint64_t n = 1; n <= 85; ++n) CHECK(at.queue.wait(own, n) == wait_status::reached);
  const auto signalled = read_all(signals);
  const auto waited = read_all(waits);
  CHECK(signalled.lost == 1);
  CHECK(waited.lost == 1);
  CHECK(signalled.values() == from_to(86, 169));
  CHECK(waited.values() == from_to(2, 85));
}

TEST_CASE("[A81][A84][A92] the page of each log says of which type it is, and how many entries it has") {
  alignas(64) static std::array<std::byte, 4096> waits{};
  alignas(64) static std::array<std::byte, 4096> signals{};
  const auto word = [](const std::array<std::byte, 4096>& memory, std::size_t at) {
    std::uint32_t found = 0;
    std::memcpy(&found, memory.data() + at, sizeof found);
    return found;
  };
  const auto entries = [](const std::array<std::byte, 4096>& memory) {
    std::uint64_t found = 0;
    std::memcpy(&found, memory.data() + 16, sizeof found);
    return found;
  };
  {
    stand at;
    at.queue.set_log(fence_log_type::wait, waits);
    at.queue.set_log(fence_log_type::signal, signals);
    at.complete(3);
    CHECK(at.queue.wait(at.queue.progress(), 1) == wait_status::reached);
    CHECK(word(waits, 8) == 1);
    CHECK(word(signals, 8) == 2);
    CHECK(entries(waits) == 84);
    CHECK(entries(signals) == 84);
    CHECK(word(waits, 0) == 1);
    CHECK(word(signals, 0) == 3);
  }
}

TEST_CASE("[A82] waits and signals allocate nothing") {
  stand at;
  any_fence fence;
  const logged_fence logged{&fence, fence_id{8}};
  const std::uint64_t before = allocations;
  for (std::uint64_t n = 1; n <= 1000; ++n) {
    at.queue.signal(logged, n);
    static_cast<void>(at.queue.wait(logged, n));
    static_cast<void>(at.queue.submit([](std::uint64_t) {}));
    at.queue.complete();
  }
  CHECK(allocations == before);
}

TEST_CASE("[A83] a queue whose operations are told to a sink has no log, and allocates nothing") {
  using told_recorder = tidemark::direct_recorder<last_operations, ticking_clock>;
  using told_queue = tidemark::basic_queue<progress, ticking_clock, tidemark::self_service, told_recorder>;
  const std::uint64_t before = allocations;
  progress own;
  any_fence fence;
  const logged_fence logged{&fence, fence_id{8}};
  last_operations told;
  told_queue queue{own, {.progress = own_id}, {}, told_recorder{told, queue_id{3}}};
  CHECK(queue.signal(logged, 5));
  const bool value_told = told.signal.fence_value == 5 && told.signal.fence == fence_id{8} && told.queue == queue_id{3};
  const bool is_signal = told.signal.operation == fence_operation::signal_executed && told.signal.end_timestamp != 0;
  CHECK(queue.wait(logged, 5) == wait_status::reached);
  const bool wait_told = told.wait.fence_value == 5 && told.wait.operation == fence_operation::wait_unblocked;
  queue.complete();
  const std::uint64_t after = allocations;
  CHECK(after == before);
  CHECK(value_told);
  CHECK(is_signal);
  CHECK(wait_told);
  CHECK(told.signal.fence == own_id);
}

TEST_CASE("[A119] the verbose log is off by default, and then costs no memory") {
  any_fence output;
  progress own;
  const auto before = blocks.load();
  counted_queue queue{own, {.progress = own_id}};
  const auto of_two_logs = blocks.load() - before;
  const logged_fence target{&output, fence_id{3}};
  waiter waiting{[&] { return output.wait(1); }};
  CHECK(waiting.falls_asleep());
  CHECK(queue.signal(target, 1));
  CHECK(waiting.status() == wait_status::reached);
  CHECK(blocks.load() - before == of_two_logs);
  queue.enable_verbose(tidemark::verbose_events::none);
  CHECK(blocks.load() - before == of_two_logs);
}

// ---- overrun --------------------------------------------------------------------------------------------------------

TEST_CASE("[A97][A98][A100][A102] a reader that stands still delays nobody, and is told its exact loss once") {
  stand at{4};
  auto reader = at.queue.signal_log();
  at.complete(100'000);
  auto found = read_all(reader);
  CHECK(found.lost == 99'996);
  CHECK(found.gaps == 1);
  CHECK(found.values() == from_to(99'997, 100'000));
  found = read_all(reader);
  CHECK(found.lost == 0);
  CHECK(found.entries.empty());
  static_assert(std::is_void_v<decltype(std::declval<tidemark::log_recorder<stepping_platform>&>().record_signal(
                    fence_log_entry{}))>);
}

TEST_CASE(
    "[A85][A97] several readers read by themselves, and one that comes later begins with the oldest entry there is") {
  stand at{4};
  auto first = at.queue.signal_log();
  at.complete(3);
  CHECK(read_all(first).values() == from_to(1, 3));
  auto second = at.queue.signal_log();
  CHECK(read_all(second).values() == from_to(1, 3));
  at.complete(3);
  auto third = at.queue.signal_log();
  const auto of_third = read_all(third);
  CHECK(of_third.values() == from_to(3, 6));
  CHECK(of_third.lost == 0);
  CHECK(read_all(first).values() == from_to(4, 6));
  CHECK(read_all(second).values() == from_to(4, 6));
}

TEST_CASE("[A85] an agent in another process reads the log in the memory that both have mapped") {
  void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  {
    stand at;
    at.queue.set_log(fence_log_type::signal, std::span{static_cast<std::byte*>(memory), 4096});
    at.complete(3);
    std::array<int, 2> go{};
    REQUIRE(pipe(go.data()) == 0);
    // The child is forked first and reads later, so that what it reads can't be its own copy.
    const auto end = run_in_child([&] {
      const pid_t agent = fork();
      if (agent == 0) {
        char ready = 0;
        if (read(go[0], &ready, 1) != 1) _exit(1);
        tidemark::ring_log_reader<page> reader{*static_cast<const page*>(memory)};
        std::array<fence_log_entry, 16> buffer;
        const auto batch = reader.read(buffer);
        bool right = batch.lost == 0 && batch.entries.size() == 5;
        for (const auto& entry : batch.entries) right = right && entry.fence_value == entry.stamp;
        _exit(right ? 0 : 2);
      }
      at.complete(2);
      if (write(go[1], "", 1) != 1) _exit(3);
      int status = 0;
      if (waitpid(agent, &status, 0) != agent) _exit(4);
      _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 5);
    });
    CHECK(end.signal == 0);
    CHECK(end.exit_status == 0);
    close(go[0]);
    close(go[1]);
  }
  munmap(memory, 4096);
}

namespace {

/// Memory that two processes share: in its first page what they tell each other, then the logs.
struct shared_logs {
  static constexpr std::size_t log_bytes = 1024;  // 20 entries
  static constexpr std::uint64_t places = 8;
  static constexpr std::size_t bytes = 4096 + places * log_bytes;
  struct words {
    std::atomic<std::uint64_t> left{1};  // how many places the reader has left, beside the first one
    std::atomic<std::uint64_t> end{0};   // how many entries there were in the end, plus 1
  };

  /// Returns the log with this number. Each place comes again after `places` logs.
  static std::span<std::byte> log(void* memory, std::uint64_t number) {
    return {static_cast<std::byte*>(memory) + 4096 + number % places * log_bytes, log_bytes};
  }
};

/// In the other process: reads all logs, through a mapping in which nothing can be written.
void read_from_afar(const void* memory, shared_logs::words& told) {
  const auto log = [&](std::uint64_t number) {
    return std::span<const std::byte>{shared_logs::log(const_cast<void*>(memory), number)};
  };
  auto opened = tidemark::mapped_fence_log::open(log(1), fence_log_type::signal);
  require(static_cast<bool>(opened), "the first log can't be opened");
  auto& reader = *opened.reader;
  std::uint64_t read = reader.next_sequence();
  std::uint64_t logs = 0;
  for (;;) {
    const std::uint64_t end = told.end.load(std::memory_order_acquire);
    std::array<fence_log_entry, 7> buffer;
    const auto batch = reader.read(buffer);
    read += batch.lost + batch.entries.size();
    require(reader.next_sequence() == read, "the numbers do not go on");
    std::uint64_t number = batch.first_sequence;
    for (const auto& entry : batch.entries) require(entry.fence_value == ++number, "an entry is wrong");
    if (!batch.entries.empty() || batch.lost != 0) continue;
    if (const auto next = reader.next_log()) {
      const auto place = static_cast<std::uint64_t>(*next);
      require(reader.follow(log(place)) == tidemark::log_fault::none, "the next log can't be opened");
      told.left.store(place, std::memory_order_release);
      ++logs;
    } else if (end != 0) {
      require(read + 1 == end, "entries are missing that were not counted");
      require(logs >= 20, "too few logs");
      return;
    }
  }
}

}  // namespace

TEST_CASE(
    "[A85][A92] a reader in another process is told each time where the log goes on, and misses nothing uncounted") {
  const shared_memory memory{shared_logs::bytes};
  if (memory.here() == nullptr) {
    MESSAGE("not tested: this system gives no shared memory");
    return;
  }
  auto* const told = ::new (memory.here()) shared_logs::words;
  progress own;
  counted_queue queue{own, {.progress = own_id}};
  std::uint64_t number = 1;
  const auto announce = [&] {
    return queue.set_log(fence_log_type::signal, shared_logs::log(memory.here(), number),
                         tidemark::log_location{number});
  };
  CHECK(announce());
  queue.complete();  // the first log is there
  std::uint64_t appended = 1;
  std::atomic<bool> over{false};
  std::atomic<bool> runs{false};
  std::thread producer{[&] {
    runs = true;
    for (unsigned rounds = 0; !over && (rounds < 2000 || number < 22); ++rounds) {
      queue.complete();
      ++appended;
      // A place may be used again once the reader has left it.
      if (rounds % 16 == 15 && told->left.load(std::memory_order_acquire) + shared_logs::places > number + 1) {
        ++number;
        if (!announce()) break;
      }
      if (rounds % 8 == 7) std::this_thread::yield();
    }
    told->end.store(appended + 1, std::memory_order_release);
  }};
  await([&] { return runs.load(); });  // no fork while a thread starts
  const auto end = run_in_child([&] {
    alarm(60);  // the child's watchdog
    const void* const there = memory.map(PROT_READ);
    require(there != nullptr && there != memory.here(), "no mapping in the child");
    read_from_afar(there, *told);
  });
  over = true;
  producer.join();
  INFO(end.errors);
  CHECK(end.signal == 0);
  CHECK(end.exit_status == 0);
}

TEST_CASE("[A92] a log that goes on in memory of the queue's own goes on in an unknown place") {
  alignas(8) static std::array<std::byte, 512> memory;
  stand at;
  CHECK(at.queue.set_log(fence_log_type::signal, memory, tidemark::log_location{1}));
  at.complete(1);
  auto opened = tidemark::mapped_log_reader<fence_log_entry, stepping_platform>::open(memory, fence_log_type::signal);
  REQUIRE(opened);
  at.queue.set_log(fence_log_type::signal, 16);
  CHECK(opened.reader->replaced_by() == tidemark::no_log_location);  // the executor has not come to it
  at.complete(1);
  CHECK(opened.reader->replaced_by() == tidemark::unknown_log_location);
}

// ---- replacement ----------------------------------------------------------------------------------------------------

TEST_CASE("[A92][trap 20] a reader reads the old log to its end and goes on in the new one, and the numbers go on") {
  stand at{8};
  auto reader = at.queue.signal_log();
  at.complete(5);
  at.queue.set_log(fence_log_type::signal, 16);
  at.complete(9);
  const auto found = read_all(reader);
  CHECK(found.lost == 0);
  CHECK(found.values() == from_to(1, 14));
}

TEST_CASE("[A92][trap 20] what the old log had lost before it was replaced is counted, and nothing else") {
  stand at{4};
  auto reader = at.queue.signal_log();
  at.complete(6);  // two are overwritten
  at.queue.set_log(fence_log_type::signal, 3);
  at.complete(5);  // and two of these
  const auto found = read_all(reader);
  CHECK(found.values() == std::vector<std::uint64_t>{3, 4, 5, 6, 9, 10, 11});
  CHECK(found.lost == 4);
  CHECK(found.gaps == 2);
}

TEST_CASE("[A92] until the next entry nothing changes, and a reader sees the new log's first entry as something new") {
  stand at;
  auto reader = at.queue.signal_log();
  at.complete(2);
  at.queue.set_log(fence_log_type::signal, 16);
  CHECK(read_all(reader).values() == from_to(1, 2));
  CHECK_FALSE(reader.has_new());
  at.complete(1);
  CHECK(reader.has_new());
  CHECK(read_all(reader).values() == from_to(3, 3));
  CHECK_FALSE(reader.has_new());
}

TEST_CASE("[A92] a reader that lags behind several replacements gets everything") {
  alignas(8) static std::array<std::byte, page::bytes_for(8)> ours{};
  {
    stand at{8};
    auto reader = at.queue.signal_log();
    std::uint64_t appended = 0;
    for (std::size_t n = 0; n < 6; ++n) {
      at.complete(8);
      appended += 8;
      if (n == 3) {
        at.queue.set_log(fence_log_type::signal, ours);
      } else {
        at.queue.set_log(fence_log_type::signal, 8 + n);
      }
    }
    at.complete(8);
    const auto found = read_all(reader);
    CHECK(found.lost == 0);
    CHECK(found.values() == from_to(1, appended + 8));
  }
}

TEST_CASE("[A92] of two new logs before the next entry, the later one is taken") {
  stand at{8};
  auto reader = at.queue.signal_log();
  at.complete(1);
  at.queue.set_log(fence_log_type::signal, 4);
  at.queue.set_log(fence_log_type::signal, 32);
  at.complete(32);
  auto found = read_all(reader);
  CHECK(found.lost == 0);
  CHECK(found.values() == from_to(1, 33));
  at.queue.set_log(fence_log_type::signal, 32);
  at.queue.set_log(fence_log_type::signal, 4);
  at.complete(32);
  found = read_all(reader);
  CHECK(found.lost == 28);
  CHECK(found.values() == from_to(62, 65));
}

TEST_CASE("[A92] replacing one log leaves the other as it was") {
  stand at;
  auto waits = at.queue.wait_log();
  const auto own = at.queue.progress();
  at.complete(1);
  at.queue.set_log(fence_log_type::signal, 2);
  for (unsigned n = 0; n < 85; ++n) CHECK(at.queue.wait(own, 1) == wait_status::reached);
  CHECK(read_all(waits).lost == 1);
}

TEST_CASE("[A92] the numbers go on for a reader that is made after a replacement") {
  stand at{8};
  at.complete(20);
  at.queue.set_log(fence_log_type::signal, 8);
  at.complete(3);
  auto reader = at.queue.signal_log();
  const auto found = read_all(reader);
  REQUIRE_FALSE(found.entries.empty());
  CHECK(found.entries.back().fence_value == 23);
  CHECK(found.entries.back().stamp == 23);
}

TEST_CASE(
    "[A92] a new reader begins with the oldest entry of the log that the queue writes, and an older reader goes on") {
  stand at{8};
  auto there = at.queue.signal_log();
  at.complete(5);
  at.queue.set_log(fence_log_type::signal, 8);
  auto before_the_change = at.queue.signal_log();
  at.complete(2);
  auto after_it = at.queue.signal_log();
  CHECK(read_all(there).values() == from_to(1, 7));
  CHECK(read_all(before_the_change).values() == from_to(1, 7));
  CHECK(read_all(after_it).values() == from_to(6, 7));
}

TEST_CASE("[A92] logs that nobody can read any more are freed, though nobody asks for a reader") {
  stand at{4};
  at.complete(1);
  std::int64_t after_some = 0;
  for (unsigned n = 1; n <= 100; ++n) {
    at.queue.set_log(fence_log_type::signal, 4);
    at.complete(1);
    if (n == 10) after_some = blocks;
  }
  CHECK(blocks.load() == after_some);
}

TEST_CASE(
    "[A92] all logs are freed in the end, also those that never began, and also where a reader is the last to leave") {
  const std::int64_t before = blocks;
  {
    std::optional<stand> at{std::in_place, std::size_t{4}};
    auto reader = at->queue.signal_log();
    auto late = at->queue.signal_log();
    at->complete(3);
    at->queue.set_log(fence_log_type::signal, 4);
    at->complete(2);
    CHECK(read_all(late).values() == from_to(1, 5));
    at->queue.set_log(fence_log_type::signal, 4);
    at->queue.set_log(fence_log_type::wait, 4);
    at.reset();
    const auto found = read_all(reader);
    CHECK(found.values() == from_to(1, 5));
    CHECK(found.lost == 0);
    CHECK_FALSE(reader.has_new());
    const auto moved = std::move(reader);
    CHECK(moved.next_sequence() == 5);
  }
  CHECK(blocks.load() == before);
}

TEST_CASE("[A85][A92] a reader may be moved over another, and each log is freed once") {
  const std::int64_t before = blocks;
  {
    stand a;
    stand b;
    auto of_a = a.queue.signal_log();
    auto of_b = b.queue.signal_log();
    a.complete(2);
    b.complete(3);
    of_a = std::move(of_b);
    CHECK(read_all(of_a).values() == from_to(1, 3));
    auto& itself = of_a;
    of_a = std::move(itself);
    b.complete(2);
    CHECK(read_all(of_a).values() == from_to(4, 5));
  }
  CHECK(blocks.load() == before);
}

TEST_CASE("[A88][A90][A92] under load every number is read once or reported lost, over all replacements") {
  constexpr std::uint64_t most_entries = 400'000;
  tidemark::progress_fence own;
  tidemark::queue queue{own, {.progress = own_id}};
  const auto dog = watch(own);
  const auto seed = fresh_seed();
  std::atomic<bool> enough{false};
  std::atomic<std::uint64_t> replacements{0};
  std::uint64_t appended = 0;
  std::atomic<bool> finished{false};
  struct tally {
    explicit tally(tidemark::queue::reader_type from) : reader{std::move(from)} {}
    tidemark::queue::reader_type reader;
    std::uint64_t read = 0;
    std::uint64_t lost = 0;
    std::uint64_t mistakes = 0;

    /// Returns false when there is nothing new.
    bool go_on() {
      std::array<fence_log_entry, 32> buffer;
      const std::uint64_t before = reader.next_sequence();
      const auto batch = reader.read(buffer);
      std::uint64_t number = batch.first_sequence;
      if (number != before + batch.lost) ++mistakes;
      for (const auto& entry : batch.entries) {
        ++number;
        if (entry.fence_value != number || entry.stamp != number || entry.fence != own_id) ++mistakes;
      }
      read += batch.entries.size();
      lost += batch.lost;
      return !batch.entries.empty() || batch.lost != 0;
    }
  };
  std::deque<tally> tallies;
  for (int n = 0; n < 2; ++n) tallies.emplace_back(queue.signal_log());
  std::vector<std::thread> readers;
  for (auto& tally : tallies) {
    readers.emplace_back([&] {
      for (;;) {
        const bool was_last = finished;
        if (tally.go_on()) continue;
        if (was_last) return;
        std::this_thread::yield();
      }
    });
  }
  std::thread executor{[&] {
    repetitions times{most_entries};
    while (times.goes_on() || replacements < 50) {
      queue.complete();
      ++appended;
      if (appended % 256 == 0) std::this_thread::yield();
    }
    enough = true;
  }};
  random_numbers random{seed};
  while (!enough) {  // this thread is the owner
    queue.set_log(fence_log_type::signal, 2 + random.below(std::size_t{200}));
    ++replacements;
    if (random.below(4) == 0) static_cast<void>(queue.signal_log());
    if (random.below(2) == 0) std::this_thread::yield();
  }
  executor.join();
  finished = true;
  for (auto& reader : readers) reader.join();
  for (const auto& tally : tallies) {
    CHECK(tally.mistakes == 0);
    CHECK(tally.read + tally.lost == appended);
    CHECK(tally.read > 0);
  }
  MESSAGE(appended << " entries, " << replacements.load() << " logs, read " << tallies[0].read);
}

// ---- tracing --------------------------------------------------------------------------------------------------------

TEST_CASE("[A101][trap 20] once tracing is enabled, a burst that would have overrun the old logs loses nothing") {
  stand at;
  auto waits = at.queue.wait_log();
  auto signals = at.queue.signal_log();
  const auto own = at.queue.progress();
  at.complete(85);
  CHECK(read_all(signals).lost == 1);
  at.queue.enable_tracing();
  at.complete(85);
  for (std::uint64_t n = 1; n <= 85; ++n) CHECK(at.queue.wait(own, n) == wait_status::reached);
  const auto signalled = read_all(signals);
  const auto waited = read_all(waits);
  CHECK(signalled.lost == 0);
  CHECK(signalled.values() == from_to(86, 170));
  CHECK(waited.lost == 0);
  CHECK(waited.values() == from_to(1, 85));
}

TEST_CASE("[A101][trap 20] what was in the old logs when tracing was enabled is not lost either") {
  stand at;
  auto signals = at.queue.signal_log();
  at.complete(84);
  at.queue.enable_tracing(200);
  at.complete(200);
  const auto found = read_all(signals);
  CHECK(found.lost == 0);
  CHECK(found.values() == from_to(1, 284));
}

TEST_CASE(
    "[A109] flushing makes all entries visible that were appended before, with one heavy barrier and no notification") {
  stand at;
  auto reader = at.queue.signal_log();
  std::atomic<bool> appended{false};
  const auto dog = watch(at.own);
  background executor{[&] {
    at.complete(40);
    appended.store(true, std::memory_order_relaxed);
  }};
  await([&] { return appended.load(std::memory_order_relaxed); });
  const meter<stepping_platform> during;
  counted_queue::flush_logs();
  CHECK(during.heavy_barriers() == 1);
  CHECK(during.unparks() == 0);
  CHECK(read_all(reader).values() == from_to(1, 40));
}
