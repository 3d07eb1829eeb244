// SPDX-License-Identifier: BSL-1.0
//
// Processes that write logs for others, and are killed: after each instruction of an append, of a replacement, and of
// opening behind a dead one; and at random moments. Whatever is killed, a reader finds all that was appended, and the
// next process goes on.
#include <tidemark/log/shared_logs.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/processes.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/shared_memory.hpp"
#include "support/single_step.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace tidemark;
using namespace std::chrono_literals;

namespace {

constexpr shared_logs_options few{.logs = 4, .bytes = 8 * 1024, .patience = 2min};
constexpr auto signals = fence_log_type::signal;

shared_files files_of_logs() {
  auto made = shared_logs::create(few);
  REQUIRE(made);
  return {detail::open_anew(made.logs.files().values(), O_RDWR), detail::open_anew(made.logs.files().waiters(), O_RDWR),
          true};
}

/// A process whose queue writes one log, whose values are those of the progress, from 1.
struct writing {
  void open(const shared_files& files) {
    auto opened = shared_logs::open(files, few);
    require(static_cast<bool>(opened), "it is not opened");
    logs = std::move(opened.logs);
  }
  void use_new_log(std::size_t entries) {
    const auto place = logs.take(queue_id{1}, signals, entries);
    require(render.set_log(signals, place), "there is no place");
    now = place.at;
  }
  void complete(int times) {
    for (int i = 0; i < times; ++i) render.complete();
  }

  shared_logs logs;
  progress_fence rendered;
  queue render{rendered};
  log_location now{};
};

/// Reads all that is new, by each process's log, and checks that the values of each go on.
class survivor {
 public:
  explicit survivor(const shared_files& files) {
    auto opened = shared_logs_reader::open(files, few);
    REQUIRE(opened);
    reader_ = std::move(opened.logs);
  }

  /// Returns how far the process has come of which something is new.
  std::uint64_t drain() {
    std::uint64_t last = 0;
    reader_.look();
    for (std::size_t i = 0; i < reader_.logs(); ++i) {
      std::array<fence_log_entry, 4> buffer;
      // A process that lives may be faster.
      for (int batches = 0; batches < 100'000; ++batches) {
        const auto batch = reader_.read(i, buffer);
        if (batch.entries.empty() && batch.lost == 0) break;
        for (std::size_t n = 0; n < batch.entries.size(); ++n) {
          CHECK(batch.entries[n].fence_value == batch.first_sequence + n + 1);
          last = batch.entries[n].fence_value;
        }
      }
    }
    return last;
  }
  shared_logs_reader& reader() { return reader_; }

 private:
  shared_logs_reader reader_;
};

/// The next process writes, and the reader finds it.
void check_that_next_goes_on(survivor& reader, const shared_files& files) {
  writing next;
  auto opened = shared_logs::open(files, few);
  REQUIRE(opened);
  next.logs = std::move(opened.logs);
  next.use_new_log(8);
  next.complete(3);
  CHECK(reader.drain() == 3);
}

}  // namespace

TEST_CASE("[A85][A92] a process that is killed at any instruction of an append has appended all before it") {
  const watchdog dog{[] { return std::string{"appending"}; }, 20min};
  const shared_files files = files_of_logs();
  survivor reader{files};
  auto writer = std::make_unique<writing>();
  kill_at_each_instruction(
      "append",
      [&] {
        writer->open(files);
        writer->use_new_log(4);
        writer->complete(6);
      },
      [&] { writer->complete(1); },
      [&](std::size_t at) {
        INFO(at);
        const std::uint64_t last = reader.drain();
        CHECK(last >= 6);
        CHECK(last <= 7);
        check_that_next_goes_on(reader, files);
      });
}

TEST_CASE("[A85][A92] a process that is killed at any instruction of a replacement loses no entry of either log") {
  const watchdog dog{[] { return std::string{"replacing"}; }, 20min};
  const shared_files files = files_of_logs();
  survivor reader{files};
  auto writer = std::make_unique<writing>();
  kill_at_each_instruction(
      "replacement",
      [&] {
        writer->open(files);
        writer->use_new_log(8);
        writer->complete(5);
      },
      [&] {
        const log_location old = writer->now;
        writer->use_new_log(16);
        writer->complete(2);
        writer->logs.give_back(old);
      },
      [&](std::size_t at) {
        INFO(at);
        const std::uint64_t last = reader.drain();
        CHECK(last >= 5);
        CHECK(last <= 7);
        check_that_next_goes_on(reader, files);
      });
}

TEST_CASE(
    "[A85] a process that is killed at any instruction while it opens behind a dead one leaves the dead one's logs") {
  const watchdog dog{[] { return std::string{"opening behind a dead one"}; }, 20min};
  const shared_files files = files_of_logs();
  survivor reader{files};
  auto writer = std::make_unique<writing>();
  const auto leave_dead = [&] {
    child_process dead{[&] {
      writing made;
      made.open(files);
      made.use_new_log(8);
      made.complete(4);
      ::raise(SIGKILL);
      return 0;
    }};
    CHECK(dead.wait() == 128 + SIGKILL);
  };
  leave_dead();
  kill_at_each_instruction(
      "open and begin a log", [] {},
      [&] {
        writer->open(files);
        writer->use_new_log(8);
      },
      [&](std::size_t at) {
        INFO(at);
        CHECK(reader.drain() == 4);
        check_that_next_goes_on(reader, files);
        leave_dead();
      });
}

TEST_CASE(
    "[A85][A92] processes that are killed at random, one after the other, lose nothing that was signalled before") {
  const watchdog dog{[] { return std::string{"random kills"}; }, 20min};
  random_numbers random{fresh_seed()};
  const shared_files files = files_of_logs();
  survivor reader{files};
  auto fence = shared_fence::create();
  REQUIRE(fence);
  if (!shared_fence::survives_kills) return;
  std::uint64_t kills = 0;
  std::uint64_t all = 0;
  repetitions rounds{2000};
  while (rounds.goes_on()) {
    const std::uint64_t before = fence.fence.current_value();
    const std::uint64_t entries = 2 + random.below(30U);
    child_process dies{[&] {
      auto told = shared_fence::open(fence.fence.files());
      if (!told) return 1;
      writing made;
      made.open(files);
      for (std::uint64_t value = 1;; ++value) {
        if (value % 7 == 1) {
          const log_location old = made.now;
          made.use_new_log(static_cast<std::size_t>(entries));
          made.complete(1);
          if (value != 1) made.logs.give_back(old);
        } else {
          made.complete(1);
        }
        told.fence.signal(before + value);
      }
      return 2;
    }};
    const std::uint64_t wanted = 1 + random.below(200U);
    CHECK(fence.fence.wait(before + wanted) == wait_status::reached);
    std::uint64_t last = random.below(2U) == 0 ? reader.drain() : 0;
    dies.kill_now();
    ++kills;
    last = (std::max)(last, reader.drain());
    const std::uint64_t signalled = fence.fence.current_value() - before;
    // One that was appended may not be signalled any more. What was drained before may be all.
    CHECK(last >= signalled);
    CHECK(last <= signalled + 1);
    all += last;
  }
  check_that_next_goes_on(reader, files);
  MESSAGE(kills << " processes were killed, which had appended " << all << " entries");
}
