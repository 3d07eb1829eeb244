// SPDX-License-Identifier: BSL-1.0
//
// Logs that another process reads: it finds them by itself, follows them where they are replaced, knows them by numbers
// of its own, and goes on with the next process that writes them.
#include <tidemark/log/shared_logs.hpp>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/processes.hpp"
#include "support/shared_memory.hpp"
#include "support/shared_stand.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace tidemark;
using namespace std::chrono_literals;

namespace {

constexpr shared_logs_options few{.logs = 4, .bytes = 16 * 1024, .patience = 2min};
constexpr auto signals = fence_log_type::signal;
constexpr auto waits = fence_log_type::wait;
constexpr queue_id first_queue{1};

using log_type = ring_log<fence_log_entry, std::dynamic_extent>;

/// A producer without a queue.
struct producer {
  producer(const shared_logs::place& at, fence_log_type type, std::uint64_t first = 0)
      : log{at.memory, {.type = static_cast<std::uint32_t>(type), .first_sequence = first}} {
    at.tell_made();
  }
  void append(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t value = first; value <= last; ++value) log.append({.fence_value = value, .fence = fence_id{7}});
  }
  log_type log;
};

struct found_values {
  std::vector<std::uint64_t> values;
  std::uint64_t lost = 0;
};
/// Reads a log until there is nothing more, and checks that the numbers go on.
found_values read_all(shared_logs_reader& from, std::size_t number = 0) {
  found_values found;
  std::array<fence_log_entry, 3> buffer;
  std::optional<std::uint64_t> next;
  for (;;) {
    const auto batch = from.read(number, buffer);
    if (batch.entries.empty() && batch.lost == 0) return found;
    if (next) CHECK(batch.first_sequence - batch.lost == *next);
    next = batch.first_sequence + batch.entries.size();
    found.lost += batch.lost;
    for (const auto& entry : batch.entries) found.values.push_back(entry.fence_value);
  }
}

std::vector<std::uint64_t> from_to(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> all;
  while (first <= last) all.push_back(first++);
  return all;
}

shared_logs made_logs(const shared_logs_options& options = few) {
  auto made = shared_logs::create(options);
  REQUIRE(made);
  return std::move(made.logs);
}
shared_logs_reader reader_of(const shared_logs& of, const shared_logs_options& options = few) {
  auto opened = shared_logs_reader::open(of.files(), options);
  REQUIRE(opened);
  return std::move(opened.logs);
}

}  // namespace

TEST_CASE("[A43][A85] a mapping for reading alone shows what is appended through the first one, and no log before it") {
  auto logs = made_logs();
  auto reader = reader_of(logs);
  const auto place = logs.take(first_queue, signals, 8);
  REQUIRE(place);
  reader.look();
  CHECK(reader.logs() == 0);  // it is not made yet
  producer made{place, signals};
  made.append(1, 3);
  CHECK(reader.logs() == 0);
  reader.look();
  REQUIRE(reader.logs() == 1);
  CHECK(reader.has_new(0));
  CHECK(read_all(reader).values == from_to(1, 3));
  CHECK_FALSE(reader.has_new(0));
  made.append(4, 15);
  const auto found = read_all(reader);
  CHECK(found.lost == 4);
  CHECK(found.values == from_to(8, 15));
}

TEST_CASE("[A81][A85] a reader is told of each log: its queue, its type, and the process that writes it") {
  auto logs = made_logs();
  auto reader = reader_of(logs, {.logs = 4, .bytes = few.bytes, .numbers = {.queues = 100}});
  const producer b{logs.take(queue_id{2}, waits, 8), waits};
  const producer a_signals{logs.take(first_queue, signals, 8), signals};
  const producer a_waits{logs.take(first_queue, waits, 8), waits};
  reader.look();
  REQUIRE(reader.logs() == 3);
  CHECK(reader.at(0).queue == queue_id{101});
  CHECK(reader.at(0).type == waits);
  CHECK(reader.at(1).queue == queue_id{101});
  CHECK(reader.at(1).type == signals);
  CHECK(reader.at(2).queue == queue_id{102});
  CHECK(reader.at(2).type == waits);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(reader.at(i).process == static_cast<std::uint32_t>(::getpid()));
    CHECK(reader.at(i).writer == reader.at(0).writer);
    CHECK(reader.at(i).writer != 0);
  }
}

TEST_CASE("[A81][A91] fences have the numbers that the reader gives them; shared ones keep theirs, none is another's") {
  static constexpr std::array shared{fence_id{7}};
  static constexpr process_numbers numbers{.queues = 1000, .fences = 2000, .count = 10, .shared = shared};
  static_assert(numbers.here(fence_id{7}) == fence_id{7});
  static_assert(numbers.here(fence_id{3}) == fence_id{2003});
  static_assert(numbers.here(fence_id{9}) == fence_id{2009});
  static_assert(numbers.here(fence_id{10}) == fence_id{2009});
  static_assert(numbers.here(fence_id{UINT32_MAX}) == fence_id{2009});
  static_assert(numbers.here(queue_id{UINT32_MAX}) == queue_id{1009});
  auto logs = made_logs();
  auto reader = reader_of(logs, {.logs = 4, .bytes = few.bytes, .numbers = numbers});
  producer made{logs.take(first_queue, signals, 8), signals};
  for (const std::uint32_t fence : {7U, 3U, 77U}) made.log.append({.fence_value = 1, .fence = fence_id{fence}});
  reader.look();
  std::array<fence_log_entry, 8> buffer;
  const auto batch = reader.read(0, buffer);
  REQUIRE(batch.entries.size() == 3);
  CHECK(batch.entries[0].fence == fence_id{7});
  CHECK(batch.entries[1].fence == fence_id{2003});
  CHECK(batch.entries[2].fence == fence_id{2009});
}

TEST_CASE("[A92] a reader reads the old log to its end and goes on in the next one, without a word of the program") {
  auto logs = made_logs();
  progress_fence rendered;
  queue render{rendered};
  REQUIRE(render.set_log(signals, logs.take(first_queue, signals, 8)));
  render.complete();
  auto reader = reader_of(logs);
  reader.look();
  REQUIRE(reader.logs() == 1);
  for (int i = 0; i < 5; ++i) render.complete();
  REQUIRE(render.set_log(signals, logs.take(first_queue, signals, 16)));
  CHECK(read_all(reader).values == from_to(1, 6));
  CHECK_FALSE(reader.has_new(0));  // the next log is not made yet
  for (int i = 0; i < 3; ++i) render.complete();
  CHECK(reader.has_new(0));
  const auto found = read_all(reader);
  CHECK(found.values == from_to(7, 9));
  CHECK(found.lost == 0);
  reader.look();
  CHECK(reader.logs() == 1);
}

TEST_CASE("[A92] a log that was given to a queue and never made is passed over, and what went elsewhere is lost") {
  auto logs = made_logs();
  progress_fence rendered;
  queue render{rendered};
  REQUIRE(render.set_log(signals, logs.take(first_queue, signals, 8)));
  render.complete();
  auto reader = reader_of(logs);
  reader.look();
  REQUIRE(render.set_log(signals, logs.take(first_queue, signals, 8)));  // the queue forgets it
  render.set_log(signals, 20);
  render.complete();
  render.complete();
  CHECK(read_all(reader).values == from_to(1, 1));
  CHECK_FALSE(reader.has_new(0));
  REQUIRE(render.set_log(signals, logs.take(first_queue, signals, 8)));
  render.complete();
  const auto found = read_all(reader);
  CHECK(found.lost == 2);
  CHECK(found.values == from_to(4, 4));
}

TEST_CASE("[A101] a log that grows before it is needed loses nothing that the old one would have lost") {
  auto logs = made_logs({.logs = 4, .bytes = 32 * 1024});
  progress_fence rendered;
  queue render{rendered};
  auto reader = reader_of(logs, {.logs = 4, .bytes = 32 * 1024});
  REQUIRE(render.set_log(signals, logs.take(first_queue, signals)));
  render.complete();
  reader.look();
  REQUIRE(render.set_log(signals, logs.take(first_queue, signals, 400)));
  for (int i = 0; i < 85; ++i) render.complete();
  const auto found = read_all(reader);
  CHECK(found.values == from_to(1, 86));
  CHECK(found.lost == 0);
}

TEST_CASE(
    "[A85][A92] another process drains what queues write, while their logs are replaced: each entry once, or lost") {
  const watchdog dog{[] { return std::string{"logs that are replaced"}; }, 5min};
  constexpr std::uint64_t rounds = 300;
  static constexpr shared_logs_options some{.logs = 16, .bytes = 64 * 1024};
  constexpr std::uint64_t each = 50;
  auto fence = shared_fence::create();
  REQUIRE(fence);
  const auto sockets = [] {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
    return ends;
  }();
  child_process writes{[&] {
    auto told = shared_fence::open(fence.fence.files());
    auto logs = shared_logs::create(some);
    if (!told || !logs || !logs.logs.files().send(sockets[1], true, false)) return 1;
    progress_fence rendered;
    queue render{rendered};
    std::optional<log_location> old;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const auto place = logs.logs.take(first_queue, signals, 60);
      if (!render.set_log(signals, place)) return 2;
      for (std::uint64_t i = 0; i < each; ++i) render.complete();
      told.fence.signal((round + 1) * each);
      if (old && !logs.logs.give_back(*old)) return 3;
      old = place.at;
    }
    return 0;
  }};
  shared_files files;
  REQUIRE(shared_files::receive(files, sockets[0]));
  CHECK(shared_logs::open(files, some).field == shared_field::rights);  // they were sent for reading
  auto opened = shared_logs_reader::open(files, some);
  REQUIRE(opened);
  std::uint64_t next = 0;  // nothing is known before the first entry
  std::uint64_t lost = 0;
  std::array<fence_log_entry, 16> buffer;
  const auto drain = [&] {
    opened.logs.look();
    for (std::size_t i = 0; i < opened.logs.logs(); ++i) {
      // A process that lives may be faster.
      for (int batches = 0; batches < 10'000; ++batches) {
        const auto batch = opened.logs.read(i, buffer);
        if (batch.entries.empty() && batch.lost == 0) break;
        if (next != 0) CHECK(batch.first_sequence - batch.lost == next);
        next = batch.first_sequence + batch.entries.size();
        lost += batch.lost;
        for (std::size_t n = 0; n < batch.entries.size(); ++n) {
          CHECK(batch.entries[n].fence_value == batch.first_sequence + n + 1);
        }
      }
    }
  };
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    CHECK(fence.fence.wait(round * each) == wait_status::reached);
    drain();
  }
  CHECK(writes.wait() == 0);
  drain();
  CHECK(next == rounds * each);
  MESSAGE("lost " << lost << " of " << rounds * each);
  for (const int end : sockets) ::close(end);
}

TEST_CASE("[A85] who opens logs with other numbers, or what is none, is refused by the field in which it differs") {
  auto logs = made_logs();
  const auto refused = [&](const shared_logs_options& options) {
    const auto opened = shared_logs_reader::open(logs.files(), options);
    CHECK(opened.status == shared_open_status::invalid);
    CHECK_FALSE(opened.logs.is_open());
    return opened.field;
  };
  CHECK(refused({.logs = 5, .bytes = few.bytes}) == shared_field::options);
  CHECK(refused({.logs = 4, .bytes = few.bytes * 2}) == shared_field::value_bytes);
  CHECK(refused({.logs = 0, .bytes = few.bytes}) == shared_field::options);
  CHECK(refused({.logs = 4097, .bytes = few.bytes}) == shared_field::options);
  CHECK(refused({.logs = 4, .bytes = few.bytes + 8}) == shared_field::value_bytes);
  CHECK(shared_logs::create({.logs = 4, .bytes = 1U << 30}).field == shared_field::value_bytes);
  CHECK(shared_logs::create({.logs = 4, .bytes = 0}).field == shared_field::value_bytes);
  auto fence = shared_fence::create();
  REQUIRE(fence);
  CHECK(shared_logs_reader::open(fence.fence.files(), few).field == shared_field::value_kind);
  CHECK(shared_fence_reader::open(logs.files()).field == shared_field::value_kind);
  CHECK(shared_logs_reader::open(shared_files{}, few).status == shared_open_status::refused);
}

TEST_CASE("one process writes at a time: a second one is refused while the first one lives") {
  auto logs = made_logs();
  const auto second = shared_logs::open(logs.files(), few);
  CHECK(second.status == shared_open_status::busy);
  CHECK(second.field == shared_field::rights);
  auto reader = reader_of(logs);
  CHECK(reader.writer_state() == shared_signallers::present);
  CHECK(reader.id() == logs.id());
}

TEST_CASE("if there is no memory, or no record, there is no place, and a queue goes on with its old log") {
  auto logs = made_logs({.logs = 2, .bytes = 4096});
  CHECK_FALSE(logs.take(first_queue, signals, 85));
  progress_fence rendered;
  queue render{rendered};
  CHECK_FALSE(render.set_log(signals, logs.take(first_queue, signals, 85)));
  render.complete();
  CHECK(logs.take(first_queue, signals, 40));
  CHECK(logs.take(first_queue, waits, 40));
  CHECK_FALSE(logs.take(queue_id{2}, waits, 2));  // no record
}

TEST_CASE("memory that was given back is used again, the oldest first, and only if there is no other") {
  auto logs = made_logs({.logs = 3, .bytes = 4096});
  auto reader = reader_of(logs, {.logs = 3, .bytes = 4096});
  const auto a = logs.take(first_queue, signals, 30);
  const auto b = logs.take(queue_id{2}, signals, 30);
  CHECK_FALSE(logs.give_back(log_location{77}));
  CHECK(logs.give_back(a.at));
  CHECK_FALSE(logs.give_back(a.at));
  CHECK(logs.give_back(queue_id{2}));
  const auto c = logs.take(queue_id{3}, signals, 10);
  CHECK(c.memory.data() != a.memory.data());
  CHECK(c.memory.data() != b.memory.data());
  const auto d = logs.take(queue_id{4}, signals, 30);
  CHECK(d.memory.data() == a.memory.data());
  CHECK_FALSE(logs.take(queue_id{5}, signals, 85));
  const auto e = logs.take(queue_id{5}, signals, 30);
  CHECK(e.memory.data() == b.memory.data());
  CHECK_FALSE(logs.take(queue_id{6}, signals, 30));
}

TEST_CASE("what is asked for in vain takes nothing from readers: logs that were given back stay") {
  auto logs = made_logs({.logs = 4, .bytes = 4096});
  auto reader = reader_of(logs, {.logs = 4, .bytes = 4096});
  const auto a = logs.take(first_queue, signals, 30);
  producer made{a, signals};
  made.append(1, 5);
  CHECK(logs.give_back(a.at));
  CHECK_FALSE(logs.take(queue_id{2}, signals, 100));
  reader.look();
  REQUIRE(reader.logs() == 1);
  CHECK(read_all(reader).values == from_to(1, 5));
}

TEST_CASE("[A92] where memory is used again, what was not read is lost, up to the next log, or as far as it was seen") {
  auto logs = made_logs({.logs = 2, .bytes = 4096});
  auto reader = reader_of(logs, {.logs = 2, .bytes = 4096});
  const auto a = logs.take(first_queue, signals, 20);
  producer first{a, signals};
  first.append(1, 4);
  reader.look();
  std::array<fence_log_entry, 1> one;
  CHECK(reader.read(0, one).entries.size() == 1);
  first.append(5, 9);
  const auto b = logs.take(first_queue, signals, 20);
  {
    producer second{b, signals, 9};
    first.log.end_at(b.at);
    second.append(10, 12);
  }
  CHECK(logs.give_back(a.at));
  const auto c = logs.take(queue_id{2}, signals, 15);
  REQUIRE(c.memory.data() == a.memory.data());
  const producer third{c, signals, 1000};
  const auto found = read_all(reader);
  CHECK(found.lost == 8);
  CHECK(found.values == from_to(10, 12));

  // And now without a next log.
  reader.look();
  REQUIRE(reader.logs() == 2);
  std::size_t mine = reader.at(0).queue == first_queue ? 0 : 1;
  CHECK(logs.give_back(b.at));
  CHECK(logs.give_back(c.at));
  REQUIRE(logs.take(queue_id{3}, signals, 80));
  CHECK(read_all(reader, mine).lost == 0);
  CHECK_FALSE(reader.has_new(mine));
  reader.look();
  CHECK(reader.logs() <= 1);
}

TEST_CASE("[A92] entries that a reader has seen, and not read, are counted when the memory is used again") {
  auto logs = made_logs({.logs = 2, .bytes = 4096});
  auto reader = reader_of(logs, {.logs = 2, .bytes = 4096});
  const auto a = logs.take(first_queue, signals, 80);
  producer first{a, signals};
  first.append(1, 30);
  reader.look();
  std::array<fence_log_entry, 1> one;
  CHECK(reader.read(0, one).entries.size() == 1);
  CHECK(logs.give_back(a.at));
  producer second{logs.take(queue_id{2}, waits, 80), waits, 5000};
  second.append(1, 3);
  const auto last = reader.read(0, one);
  CHECK(last.entries.empty());
  CHECK(last.lost == 29);
  CHECK(last.first_sequence == 30);
  CHECK(reader.read(0, one).lost == 0);
}

TEST_CASE("[A92] a queue that is made anew with the same number is read, behind the rest of the one before") {
  auto logs = made_logs();
  auto reader = reader_of(logs);
  std::array<fence_log_entry, 16> buffer;
  producer first{logs.take(first_queue, signals, 8), signals};
  first.append(1, 5);
  reader.look();
  REQUIRE(reader.logs() == 1);
  CHECK(read_all(reader).values == from_to(1, 5));
  first.append(6, 7);
  // The first 2 of 10 are overwritten.
  producer second{logs.take(first_queue, signals, 8), signals};
  second.append(1, 10);
  reader.look();
  REQUIRE(reader.logs() == 1);
  CHECK(reader.read(0, buffer).entries.size() == 2);
  CHECK(reader.has_new(0));
  const auto found = reader.read(0, buffer);
  CHECK(found.entries.size() == 8);
  CHECK(found.lost == 0);
  CHECK(found.first_sequence == 2);
  CHECK_FALSE(reader.has_new(0));
  // All of them were destroyed; a record is left for one more.
  CHECK(logs.give_back(first_queue));
  producer third{logs.take(first_queue, signals, 8), signals};
  third.append(1, 2);
  reader.look();
  CHECK(reader.read(0, buffer).entries.size() == 2);
}

TEST_CASE("[A92] of a queue that was made anew in the memory of the one before, what that one lost is told first") {
  auto logs = made_logs({.logs = 1, .bytes = 16 * 1024});
  auto reader = reader_of(logs, {.logs = 1, .bytes = 16 * 1024});
  producer first{logs.take(first_queue, signals, 8), signals};
  first.append(1, 5);
  reader.look();
  CHECK(logs.give_back(first_queue));
  producer second{logs.take(first_queue, signals, 8), signals};
  second.append(1, 3);
  reader.look();
  REQUIRE(reader.logs() == 1);
  std::array<fence_log_entry, 16> buffer;
  const auto lost = reader.read(0, buffer);
  CHECK(lost.entries.empty());
  CHECK(lost.lost == 5);
  CHECK(lost.first_sequence == 5);
  const auto found = reader.read(0, buffer);
  CHECK(found.entries.size() == 3);
  CHECK(found.lost == 0);
  CHECK(found.first_sequence == 0);
}

TEST_CASE("logs that nobody reads keep no room for others when their memory is used again") {
  auto logs = made_logs({.logs = 2, .bytes = 16 * 1024});
  auto reader = reader_of(logs, {.logs = 2, .bytes = 16 * 1024});
  for (std::uint32_t round = 1; round <= 10; ++round) {
    producer unread{logs.take(queue_id{100 + round}, fence_log_type::verbose, 8), fence_log_type::verbose};
    unread.append(1, 3);
    producer read{logs.take(queue_id{round}, signals, 8), signals};
    read.append(1, 3);
    reader.look();
    std::optional<std::size_t> number;
    for (std::size_t i = 0; i < reader.logs(); ++i) {
      if (reader.at(i).queue == queue_id{round}) number = i;
    }
    REQUIRE(number);
    CHECK(read_all(reader, *number).values == from_to(1, 3));
    CHECK(logs.give_back(queue_id{100 + round}));
    CHECK(logs.give_back(queue_id{round}));
  }
}

TEST_CASE("[A85] the next process goes on in the same memory, and what the last one has logged can still be read") {
  const watchdog dog{[] { return std::string{"the next process"}; }, 5min};
  shared_files files;
  {
    auto logs = made_logs();
    files = {detail::open_anew(logs.files().values(), O_RDWR), detail::open_anew(logs.files().waiters(), O_RDWR), true};
  }
  const auto live = [&](std::uint64_t count) {
    return child_process{[&files, count] {
      auto logs = shared_logs::open(files, few);
      if (!logs) return 1;
      progress_fence rendered;
      queue render{rendered};
      if (!render.set_log(signals, logs.logs.take(first_queue, signals, 20))) return 2;
      for (std::uint64_t i = 0; i < count; ++i) render.complete();
      ::raise(SIGKILL);
      return 3;
    }};
  };
  auto opened = shared_logs_reader::open(files, few);
  REQUIRE(opened);
  CHECK(live(5).wait() == 128 + SIGKILL);
  CHECK(opened.logs.writer_state() == shared_signallers::died);
  CHECK(live(7).wait() == 128 + SIGKILL);
  opened.logs.look();
  REQUIRE(opened.logs.logs() == 2);
  CHECK(opened.logs.at(0).queue == opened.logs.at(1).queue);
  CHECK(opened.logs.at(0).writer != opened.logs.at(1).writer);
  CHECK(read_all(opened.logs, 0).values.size() + read_all(opened.logs, 1).values.size() == 12);
  // Many more: the memory of the oldest is used again.
  for (std::uint64_t n = 1; n <= 20; ++n) {
    CHECK(live(n % 10 + 1).wait() == 128 + SIGKILL);
    opened.logs.look();
    std::uint64_t read = 0;
    for (std::size_t i = 0; i < opened.logs.logs(); ++i) {
      const auto found = read_all(opened.logs, i);
      CHECK(found.lost == 0);
      read += found.values.size();
    }
    CHECK(read == n % 10 + 1);
  }
}

TEST_CASE("[A85] by name: a reader finds the logs while a process writes them, and nobody can afterwards") {
  const stand_name name{"logs"};
  const shared_name there = name;
  CHECK(shared_logs_reader::open(there, few).status == shared_open_status::unknown);
  auto made = shared_logs::open_or_create(there, few);
  REQUIRE(made);
  producer first{made.logs.take(first_queue, signals, 8), signals};
  first.append(1, 3);
  auto opened = shared_logs_reader::open(there, few);
  REQUIRE(opened);
  CHECK(opened.logs.id() == made.logs.id());
  made.logs.close();
  CHECK_FALSE(made.logs.is_open());
  CHECK_FALSE(name.is_there());
  CHECK(shared_logs_reader::open(there, few).status == shared_open_status::unknown);
  opened.logs.look();
  REQUIRE(opened.logs.logs() == 1);
  CHECK(read_all(opened.logs).values == from_to(1, 3));
  CHECK(opened.logs.writer_state() == shared_signallers::closed);
}

TEST_CASE("[A85] by name: behind a process that was killed the next one has new memory, and the old one is read on") {
  const watchdog dog{[] { return std::string{"a name"}; }, 5min};
  const stand_name name{"logs-killed"};
  const shared_name there = name;
  std::optional<shared_logs_reader> reader;
  {
    stand_child dies{[&](auto arrive) {
      auto made = shared_logs::open_or_create(there, few);
      require(static_cast<bool>(made), "it is not opened");
      producer first{made.logs.take(first_queue, signals, 8), signals};
      first.append(1, 3);
      arrive();
      first.append(4, 5);
      ::raise(SIGKILL);
    }};
    CHECK(dies.has_arrived());
    auto opened = shared_logs_reader::open(there, few);
    REQUIRE(opened);
    reader = std::move(opened.logs);
  }
  auto next = shared_logs::open_or_create(there, few);
  REQUIRE(next);
  CHECK(next.logs.id() != reader->id());
  reader->look();
  REQUIRE(reader->logs() == 1);
  CHECK(read_all(*reader).values.size() >= 3);
  CHECK(reader->writer_state() == shared_signallers::died);
}

TEST_CASE("logs can be moved, closed twice, and opened again") {
  auto logs = made_logs();
  producer first{logs.take(first_queue, signals, 8), signals};
  first.append(1, 2);
  shared_logs moved = std::move(logs);
  auto reader = reader_of(moved);
  shared_logs_reader other = std::move(reader);
  other.look();
  CHECK(read_all(other).values == from_to(1, 2));
  moved = made_logs();
  CHECK(moved.is_open());
  moved.close();
  moved.close();
  CHECK_FALSE(moved.is_open());
  CHECK_FALSE(shared_logs{}.is_open());
  CHECK_FALSE(shared_logs_reader{}.is_open());
}

TEST_CASE("the child of a fork may close its copies, and open the memory of a reader of its own") {
  auto logs = made_logs();
  auto reader = reader_of(logs);
  producer first{logs.take(first_queue, signals, 8), signals};
  first.append(1, 2);
  child_process child{[&] {
    auto own = shared_logs_reader::open(logs.files(), few);
    if (!own) return 1;
    logs.close();
    {
      const shared_logs_reader copy = std::move(reader);
    }
    own.logs.look();
    std::array<fence_log_entry, 4> buffer;
    return own.logs.logs() == 1 && own.logs.read(0, buffer).entries.size() == 2 ? 0 : 2;
  }};
  CHECK(child.wait() == 0);
  CHECK(reader.writer_state() == shared_signallers::present);
  first.append(3, 3);
  reader.look();
  CHECK(read_all(reader).values == from_to(1, 3));
}
