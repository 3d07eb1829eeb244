// SPDX-License-Identifier: BSL-1.0
//
// A process that writes nonsense where its logs should be, into the directory and into the logs, while others read.
// They read nonsense, but they do not crash, they read nothing else, and all their calls end.
//
// TIDEMARK_HOSTILE_SECONDS says how long it is tried; otherwise it is about a second each.
#include <tidemark/log/shared_logs.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/queue/log_collector.hpp>
#include <tidemark/queue/queue.hpp>
#include <tidemark/trace/trace.hpp>

#include "support/processes.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace tidemark;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t places = 8;
// The files then end with a page, and so does what may be read.
constexpr shared_logs_options options{
    .logs = places,
    .bytes = 4 * detail::segment_page - 64 * places - (detail::segment_page == 4096 ? 0 : detail::values_in_file),
    .patience = 2min,
    .numbers = {.queues = 1000, .fences = 1000, .count = 100}};

std::chrono::seconds wanted_seconds() {
  const char* const wanted = std::getenv("TIDEMARK_HOSTILE_SECONDS");
  return std::chrono::seconds{wanted != nullptr ? std::strtoll(wanted, nullptr, 10) : 1};
}

/// Writes nonsense into words: into the records, and into the headers and the stamps of logs above all.
class hostile {
 public:
  explicit hostile(std::span<std::uint64_t> words) : words_{words} {}

  void write(random_numbers& random) {
    std::size_t at = random.below(words_.size());
    switch (random.below(4U)) {
      case 0:
      case 1:
        at = random.below(std::size_t{places * 8});
        break;
      case 2:
        at = place_in_log(random);
        break;
      default:
        break;
    }
    std::atomic_ref<std::uint64_t> word{words_[at]};
    if (random.below(3U) == 0) {
      // One half, as a number that stands beside another one.
      const bool is_low = random.below(2U) == 0;
      const std::uint64_t kept = word.load(std::memory_order_relaxed) & (is_low ? ~UINT64_C(0xFFFF'FFFF) : 0xFFFF'FFFF);
      const std::uint64_t half = nonsense(random, kept) & 0xFFFF'FFFF;
      word.store(kept | (is_low ? half : half << 32), std::memory_order_relaxed);
    } else {
      word.store(nonsense(random, word.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    }
  }

 private:
  /// A word of the header, or one behind it, of the log that a record names.
  std::size_t place_in_log(random_numbers& random) const {
    const std::size_t record = random.below(std::size_t{places});
    const std::uint64_t offset = words_[record * 8 + 1] >> 32;
    const std::uint64_t at = places * 8 + offset / 8 + random.below(8U) + 6 * random.below(4U);
    return at < words_.size() ? static_cast<std::size_t>(at) : 0;
  }
  std::uint64_t nonsense(random_numbers& random, std::uint64_t before) const {
    const std::uint64_t bytes = words_.size() * 8 - 64 * places;
    const std::array<std::uint64_t, 16> chosen{0,
                                               1,
                                               2,
                                               UINT64_MAX,
                                               UINT64_MAX - 1,
                                               UINT64_MAX / 2,
                                               UINT64_MAX / 2 + 1,
                                               std::uint64_t{1} << 32,
                                               bytes,
                                               bytes << 32,
                                               (bytes - 64) << 32 | 64,
                                               (bytes - 64) << 32 | 65,
                                               bytes - 40,
                                               bytes / 48,
                                               0xFFFF'FFFF,
                                               std::uint64_t{1} << 31};
    switch (random.below(6U)) {
      case 0:
      case 1:
        return chosen[random.below(chosen.size())];
      case 2:
        return before + 1;
      case 3:
        return words_[random.below(words_.size())];
      case 4:
        return before ^ std::uint64_t{1} << random.below(64U);
      default:
        return random.below(UINT64_MAX);
    }
  }

  std::span<std::uint64_t> words_;
};

/// A process's logs, as they should be: so that what is nonsense lies beside what is none.
struct honest {
  explicit honest(shared_logs& logs) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      made.push_back(std::make_unique<one>(logs, queue_id{i}));
    }
  }
  void go_on(random_numbers& random) {
    for (const auto& each : made) {
      for (std::uint64_t n = random.below(20U); n != 0; --n) each->work.complete();
    }
  }

  struct one {
    one(shared_logs& logs, queue_id id) {
      static_cast<void>(work.set_log(fence_log_type::signal, logs.take(id, fence_log_type::signal, 20)));
      work.complete();
      static_cast<void>(work.set_log(fence_log_type::signal, logs.take(id, fence_log_type::signal, 10)));
      static_cast<void>(work.set_log(fence_log_type::wait, logs.take(id, fence_log_type::wait, 10)));
      work.complete();
      static_cast<void>(work.wait(work.progress(), 1));
    }
    progress_fence done;
    queue work{done};
  };
  std::vector<std::unique_ptr<one>> made;
};

/// Checks what it is told as far as it can be known.
struct careful {
  template <class Clock>
  void on_executed(queue_id by, const fence_log_entry& entry) {
    if (!is_ours(to_number(by)) || !is_ours(to_number(entry.fence))) std::abort();
    if (entry.operation != fence_operation::wait_unblocked && entry.operation != fence_operation::signal_executed) {
      std::abort();
    }
    ++told;
  }
  void on_lost(queue_id of, fence_log_type log, std::uint64_t, std::uint64_t) {
    if (!is_ours(to_number(of)) || (log != fence_log_type::wait && log != fence_log_type::signal)) std::abort();
    ++lost;
  }
  static bool is_ours(std::uint32_t number) { return number >= 1000 && number < 1100; }

  std::uint64_t told = 0;
  std::uint64_t lost = 0;
};

/// Does one of the things that a reader can do.
template <class Logs>
void use(Logs& logs, random_numbers& random, std::span<fence_log_entry> buffer) {
  logs.look();
  const std::size_t count = logs.logs();
  CHECK(count <= 2 * places);
  for (std::size_t i = 0; i < count; ++i) {
    static_cast<void>(logs.at(i));
    if (random.below(2U) == 0) static_cast<void>(logs.has_new(i));
    const std::size_t room = random.below(buffer.size() + 1);
    const auto batch = logs.read(i, buffer.first(room));
    if (batch.entries.size() > room) std::abort();
  }
}

}  // namespace

TEST_CASE("[A85] whatever lies in the directory and in the logs, a reader stays within them, and its calls end") {
  const watchdog dog{[] { return std::string{"nonsense in memory"}; }, wanted_seconds() + 5min};
  random_numbers random{fresh_seed()};
  auto made = shared_logs::create(options);
  REQUIRE(made);
  honest writes{made.logs};
  // A sanitizer sees an access beyond the copy.
  const std::size_t count = (64 * places + options.bytes) / 8;
  std::uint64_t written = 0;
  std::uint64_t calls = 0;
  std::array<fence_log_entry, 40> buffer;
  const auto end = std::chrono::steady_clock::now() + wanted_seconds();
  do {
    writes.go_on(random);
    const detail::file_descriptor file = detail::open_anew(made.logs.files().values(), O_RDWR);
    std::vector<std::uint64_t> words(count);
    REQUIRE(::pread(file.get(), words.data(), count * 8, detail::values_in_file) == static_cast<ssize_t>(count * 8));
    hostile neighbour{words};
    void* const first = words.data();
    using record = detail::log_record<native_platform>;
    const auto memory = std::as_writable_bytes(std::span{words}.subspan(places * 8));
    struct in_memory : detail::log_directory_reader<native_platform> {
      using detail::log_directory_reader<native_platform>::log_directory_reader;
      detail::log_directory_reader<native_platform>& followed() { return *this; }
    };
    in_memory reader{std::span<const record>{static_cast<const record*>(first), places}, memory, options.numbers};
    in_memory collected{std::span<const record>{static_cast<const record*>(first), places}, memory, options.numbers};
    log_collector logs;
    logs.add(collected);
    careful sink;
    trace all;
    for (std::uint64_t rounds = random.below(60U); rounds != 0; --rounds) {
      use(reader, random, buffer);
      static_cast<void>(logs.collect(sink, random.below(200U)));
      if (random.below(8U) == 0) static_cast<void>(logs.collect(all, 10));
      for (std::uint64_t n = random.below(30U); n != 0; --n, ++written) neighbour.write(random);
      ++calls;
    }
    static_cast<void>(all.commands());
    // A process that takes it over writes only in it, too.
    detail::log_directory<native_platform> next{std::span<record>{static_cast<record*>(first), places}, memory, 5, 6};
    for (std::size_t entries = 2; entries < 200; entries *= 3) {
      const auto place = next.take(queue_id{1}, fence_log_type::signal, entries);
      if (place) ring_log<fence_log_entry, std::dynamic_extent>{place.memory, {.type = 2}}.append({});
    }
  } while (std::chrono::steady_clock::now() < end);
  MESSAGE(written << " words written, " << calls << " rounds of calls");
}

TEST_CASE("[A85] whatever another process writes while its logs are read, the reader neither crashes nor hangs") {
  const std::chrono::seconds seconds = wanted_seconds();
  const watchdog dog{[] { return std::string{"a hostile process"}; }, seconds + 5min};
  const std::uint64_t seed = fresh_seed();
  random_numbers random{seed};
  shared_files files;
  {
    auto made = shared_logs::create(options);
    REQUIRE(made);
    files = {detail::open_anew(made.logs.files().values(), O_RDWR), detail::file_descriptor{}, true};
    honest writes{made.logs};
    writes.go_on(random);
  }
  const std::size_t bytes = 64 * places + options.bytes;
  child_process neighbour{[&]() -> int {
    alarm(static_cast<unsigned>(seconds.count()) + 600);
    void* const at =
        ::mmap(nullptr, detail::values_in_file + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, files.values(), 0);
    if (at == MAP_FAILED) return 1;
    auto* const first = static_cast<std::byte*>(at) + detail::values_in_file;
    void* const words = first;
    hostile writes{{static_cast<std::uint64_t*>(words), bytes / 8}};
    std::vector<std::byte> before(first, first + bytes);
    random_numbers own{seed + 1};
    for (;;) {
      for (std::uint64_t burst = own.below(60U); burst != 0; --burst) writes.write(own);
      // Otherwise nothing looks like a log any more.
      std::copy(before.begin(), before.end(), first);
    }
  }};
  std::array<fence_log_entry, 40> buffer;
  careful sink;
  std::uint64_t rounds = 0;
  std::uint64_t found = 0;
  const auto end = std::chrono::steady_clock::now() + seconds;
  do {
    auto opened = shared_logs_reader::open(files, options);
    REQUIRE(opened);
    auto collected = shared_logs_reader::open(files, options);
    REQUIRE(collected);
    log_collector logs;
    logs.add(collected.logs);
    for (int times = 0; times < 200; ++times, ++rounds) {
      use(opened.logs, random, buffer);
      found += opened.logs.logs();
      static_cast<void>(logs.collect(sink, random.below(200U)));
    }
  } while (std::chrono::steady_clock::now() < end);
  neighbour.kill_now();
  MESSAGE(rounds << " rounds, " << found << " logs; " << sink.told << " entries told, " << sink.lost << " losses");
}
