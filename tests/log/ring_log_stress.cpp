// SPDX-License-Identifier: BSL-1.0
//
// Ring logs among threads and processes: producers that wait for their readers, producers at full speed, producers
// that are held up, and a reader in another process. Each word of each entry is checked.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tidemark/log/ring_log.hpp>

#include "support/child.hpp"
#include "support/faulty_platform.hpp"
#include "support/interruption.hpp"
#include "support/log_kinds.hpp"
#include "support/pinned.hpp"
#include "support/race.hpp"
#include "support/random.hpp"
#include "support/repetitions.hpp"
#include "support/shared_memory.hpp"
#include "support/watchdog.hpp"

using namespace testing;

namespace {

#if defined(__has_feature)
#define TESTING_HAS_FEATURE(feature) __has_feature(feature)
#else
#define TESTING_HAS_FEATURE(feature) 0
#endif
#if TIDEMARK_HAS_TSAN || defined(__SANITIZE_ADDRESS__) || TESTING_HAS_FEATURE(address_sanitizer) || \
    defined(TIDEMARK_TEST_EMULATED)
constexpr std::uint64_t many_appends = 1'000'000;
#else
constexpr std::uint64_t many_appends = 10'000'000;
#endif
constexpr std::uint64_t enough_entries = 10'000;  // that a reader gets
constexpr std::uint64_t enough_laps = 1'000;      // during which it reads

/// Two readers in threads of their own. They read until finish(), and then what is left.
template <class Log, class IsRight>
class log_readers {
 public:
  /// The second reader has less room.
  log_readers(const Log& log, std::size_t room, const IsRight& is_right) {
    for (const std::size_t rooms : {room, room / 8 + 1}) members_.emplace_back(log.reader(), rooms, is_right);
    for (auto& one : members_) one.thread = std::thread{[this, &one] { run(one); }};
  }
  log_readers(const log_readers&) = delete;
  log_readers& operator=(const log_readers&) = delete;
  ~log_readers() { finish(); }

  void finish() {
    over_.store(true, std::memory_order_release);
    for (auto& one : members_) {
      if (one.thread.joinable()) one.thread.join();
    }
  }

  /// How far the slower reader is, and how many entries the reader with fewer entries has got.
  std::uint64_t next() const { return least(&member::next); }
  std::uint64_t entries() const { return least(&member::entries); }

  /// After finish(): each reader has read every entry or counted it as lost.
  void check(std::uint64_t appended) const {
    for (const auto& one : members_) {
      CHECK(one.reader.mistakes() == 0);
      CHECK(one.reader.entries() + one.reader.lost() == appended);
    }
  }
  std::uint64_t lost() const {
    std::uint64_t sum = 0;
    for (const auto& one : members_) sum += one.reader.lost();
    return sum;
  }
  std::string describe() const {
    return "the readers have come to " + std::to_string(next()) + ", with " + std::to_string(entries()) + " entries";
  }

 private:
  struct member {
    member(const typename Log::reader_type& from, std::size_t room, const IsRight& is_right)
        : reader{from, is_right}, buffer(room), next{from.next_sequence()} {}
    reading<typename Log::reader_type, IsRight> reader;
    std::vector<typename Log::page_type::entry_type> buffer;
    std::atomic<std::uint64_t> next;
    std::atomic<std::uint64_t> entries{0};
    std::thread thread;
  };

  void run(member& one) {
    int idle = 0;
    for (bool is_last = false; !is_last;) {
      is_last = over_.load(std::memory_order_acquire);
      while (one.reader.read(one.buffer)) {
        one.entries.store(one.reader.entries(), std::memory_order_relaxed);
        one.next.store(one.reader.next(), std::memory_order_release);
        idle = 0;
      }
      if (++idle > 100) std::this_thread::yield();
    }
  }

  std::uint64_t least(std::atomic<std::uint64_t> member::* of_member) const {
    std::uint64_t found = UINT64_MAX;
    for (const auto& one : members_) found = std::min(found, (one.*of_member).load(std::memory_order_acquire));
    return found;
  }

  std::atomic<bool> over_{false};
  std::list<member> members_;
};

/// Checks entries that were made from the producer's number and its count: the entries of one producer come in its
/// order.
template <class Kind>
class by_producer {
 public:
  static std::uint64_t number(std::uint64_t producer, std::uint64_t count) { return producer << 48 | count; }

  bool operator()(const typename Kind::entry& found, std::uint64_t sequence) {
    const std::uint64_t producer = found.number() >> 48;
    const std::uint64_t count = found.number() & 0xffff'ffff'ffff;
    if (producer >= last_.size() || !Kind::is_right(found, found.number(), sequence)) return false;
    return count > std::exchange(last_[static_cast<std::size_t>(producer)], count);
  }

 private:
  std::array<std::uint64_t, 2> last_{};
};

/// What a producer of this kind makes its entries from, and what readers expect.
template <class Kind>
using expected_of = std::conditional_t<Kind::is_several, by_producer<Kind>, in_order<Kind>>;

template <class Kind>
typename Kind::entry made_by(std::uint64_t producer, std::uint64_t count) {
  return Kind::entry::of(Kind::is_several ? by_producer<Kind>::number(producer, count) : count - 1);
}

}  // namespace

// ---- paced ---------------------------------------------------------------------------------------------------------

namespace {

/// Producers look at how far the readers are, and append an entry only when it overwrites none that is unread.
template <class Kind, std::size_t N>
std::uint64_t append_at_the_readers_pace() {
  using log_type = typename Kind::template log<N>;
  const auto log = make_log<log_type>(N);
  log_readers<log_type, expected_of<Kind>> readers{*log, N, {}};
  const watchdog dog{[&] { return readers.describe(); }};
  std::atomic<std::uint64_t> begun{0};
  const auto produce = [&](std::uint64_t producer) {
    repetitions rounds{50'000};
    while (rounds.goes_on()) {
      const std::uint64_t mine = begun.fetch_add(1);
      await_soon([&] { return mine < readers.next() + Kind::readable(N); });
      log->append(made_by<Kind>(producer, rounds.done()));
    }
  };
  std::thread other;
  if (Kind::is_several) other = std::thread{[&] { produce(1); }};
  produce(0);
  if (other.joinable()) other.join();
  readers.finish();
  readers.check(begun);
  CHECK(readers.lost() == 0);
  return begun;
}

}  // namespace

TEST_CASE_TEMPLATE("[A97][trap 15] readers for which the producers wait get every entry, whatever the size", Kind,
                   EVERY_LOG) {
  MESSAGE(append_at_the_readers_pace<Kind, 2>() << " entries through 2");
  MESSAGE(append_at_the_readers_pace<Kind, 3>() << " entries through 3");
  MESSAGE(append_at_the_readers_pace<Kind, 84>() << " entries through 84");
}

// ---- nobody waits for the readers ----------------------------------------------------------------------------------

TEST_CASE_TEMPLATE(
    "[A89][A97][A98][trap 16][trap 17] a producer at full speed: every entry that is read is whole and in order, and "
    "all others are counted",
    Kind, EVERY_LOG_OF_ONE) {
  constexpr std::uint64_t entries = 84;
  using log_type = typename Kind::template log<entries>;
  const auto log = make_log<log_type>(entries);
  log_readers<log_type, in_order<Kind>> readers{*log, entries, {}};
  const watchdog dog{[&] { return readers.describe(); }};
  std::uint64_t appended = 0;
  while (appended < many_appends || readers.entries() < enough_entries || readers.next() < enough_laps * entries) {
    for (int count = 0; count < 1000; ++count) log->append(Kind::entry::of(appended++));
  }
  readers.finish();
  readers.check(appended);
  MESSAGE(appended << " appends, " << readers.entries() << " entries read by one, " << readers.lost()
                   << " lost by both");
}

TEST_CASE_TEMPLATE(
    "[A90][A97][A98] two producers at full speed: every entry that is read is whole, those of each "
    "producer come in its order, and all others are counted",
    Kind, EVERY_LOG_OF_SEVERAL) {
  constexpr std::uint64_t entries = 84;
  using log_type = typename Kind::template log<entries>;
  const auto log = make_log<log_type>(entries);
  log_readers<log_type, by_producer<Kind>> readers{*log, entries, {}};
  const watchdog dog{[&] { return readers.describe(); }};
  std::array<std::uint64_t, 2> appended{};
  const auto produce = [&](std::size_t producer) {
    std::uint64_t count = 0;
    while (count < many_appends / 2 || readers.entries() < enough_entries || readers.next() < enough_laps * entries) {
      for (int more = 0; more < 1000; ++more) log->append(made_by<Kind>(producer, ++count));
    }
    appended.at(producer) = count;
  };
  std::thread other{[&] { produce(1); }};
  produce(0);
  other.join();
  readers.finish();
  readers.check(appended[0] + appended[1]);
  MESSAGE((appended[0] + appended[1]) << " appends, " << readers.entries() << " entries read by one");
}

namespace {

/// Bursts of up to three laps, in threads that lose time at any step.
template <class Kind, std::size_t N>
std::uint64_t append_in_bursts(std::uint64_t seed) {
  using log_type = typename Kind::template log<N, faulty_platform<tidemark::native_platform>>;
  constexpr fault_odds odds{.slow = 50};
  const auto log = make_log<log_type>(N);
  log_readers<log_type, expected_of<Kind>> readers{*log, N, {}};
  const watchdog dog{[&] { return readers.describe() + "; seed " + std::to_string(seed); }};
  std::atomic<std::uint64_t> appended{0};
  const auto produce = [&](std::uint64_t producer) {
    const faults mine{odds, seed, producer};
    random_numbers random{seed, 10 + producer};
    std::uint64_t count = 0;
    repetitions rounds{20'000};
    while (rounds.goes_on()) {
      for (std::uint64_t burst = random.below(3 * N); burst > 0; --burst) log->append(made_by<Kind>(producer, ++count));
      dawdle(random);
    }
    appended += count;
  };
  std::thread other;
  if (Kind::is_several) other = std::thread{[&] { produce(1); }};
  produce(0);
  if (other.joinable()) other.join();
  readers.finish();
  readers.check(appended);
  return appended;
}

}  // namespace

TEST_CASE_TEMPLATE(
    "[A97][A98][trap 17] every entry is whole or counted as lost when producers append in bursts and are held up at "
    "any step",
    Kind, EVERY_LOG) {
  const auto seed = fresh_seed();
  MESSAGE(append_in_bursts<Kind, 2>(seed) << " entries through 2");
  MESSAGE(append_in_bursts<Kind, 84>(seed) << " entries through 84");
}

TEST_CASE_TEMPLATE(
    "[A97][A98] one of two producers stops in the middle of its appends for up to three laps, and readers still get "
    "the other's entries",
    Kind, EVERY_LOG_OF_SEVERAL) {
  constexpr std::uint64_t entries = 5;
  using log_type = typename Kind::template log<entries, interrupted_platform>;
  const auto seed = fresh_seed();
  const auto log = make_log<log_type>(entries);
  log_readers<log_type, by_producer<Kind>> readers{*log, entries, {}};
  std::atomic<std::uint64_t> stopped{0};
  std::atomic<std::uint64_t> released{0};
  std::atomic<bool> over{false};
  const watchdog dog{[&] { return readers.describe() + "; stop " + std::to_string(stopped); }};
  std::uint64_t stopping = 0;
  std::thread other{[&] {
    random_numbers random{seed, 1};
    while (!over) {
      interrupt([&] { log->append(made_by<Kind>(1, ++stopping)); }, random.below(9),
                [&] {
                  const std::uint64_t stop = ++stopped;
                  await_soon([&] { return released >= stop || over; });
                });
    }
  }};
  random_numbers random{seed, 2};
  std::uint64_t appended = 0;
  repetitions rounds{100'000};
  while (rounds.goes_on()) {
    await_soon([&] { return stopped > released; });
    for (std::uint64_t more = random.below(3 * entries + 1); more > 0; --more) {
      log->append(made_by<Kind>(0, ++appended));
    }
    ++released;
  }
  over = true;
  other.join();
  readers.finish();
  readers.check(appended + stopping);
  CHECK(readers.entries() > 0);
  MESSAGE(rounds.done() << " stops, " << readers.entries() << " of " << appended + stopping << " entries read by one");
}

// ---- another process -----------------------------------------------------------------------------------------------

namespace {

template <class Log>
struct shared_log {
  Log log;
  std::atomic<std::uint64_t> read{0};
};

/// In the child: reads up to `end`.
template <class Kind, class Shared>
void drain(Shared& shared, std::uint64_t end) {
  auto reader = reading_in_order<Kind>(shared.log.reader());
  std::array<typename Kind::entry, 100> buffer;
  while (reader.next() != end) {
    if (!reader.read(buffer)) std::this_thread::yield();
    shared.read.store(reader.next(), std::memory_order_release);
  }
  require(reader.lost() == 0, "entries are lost");
  require(reader.entries() == end, "not every entry came");
  require(reader.mistakes() == 0, "an entry is wrong");
}

}  // namespace

TEST_CASE_TEMPLATE("[A85] another process reads the log through a mapping of its own, while entries are appended", Kind,
                   EVERY_LOG) {
  constexpr std::uint64_t appends = 20'000;
  using shared_type = shared_log<typename Kind::template log<84>>;
  const shared_memory memory{sizeof(shared_type)};
  if (memory.here() == nullptr) {
    MESSAGE("not tested: this system gives no shared memory");
    return;
  }
  auto* const shared = ::new (memory.here()) shared_type;
  std::atomic<bool> runs{false};
  std::atomic<bool> over{false};
  std::uint64_t appended = 0;
  std::thread producer{[&] {
    runs = true;
    while (appended < appends && !over) {
      await_soon([&] { return over || appended < shared->read.load(std::memory_order_acquire) + Kind::readable(84); });
      shared->log.append(Kind::entry::of(appended++));
    }
  }};
  await([&] { return runs.load(); });  // no fork while a thread starts
  const auto end = run_in_child([&] {
    alarm(60);  // the child's watchdog
    auto* const there = static_cast<shared_type*>(memory.map());
    require(there != nullptr && there != shared, "no mapping in the child");
    drain<Kind>(*there, appends);
  });
  over = true;
  producer.join();
  INFO(end.errors);
  CHECK(end.signal == 0);
  CHECK(end.exit_status == 0);
  CHECK(appended == appends);
  std::destroy_at(shared);
}
