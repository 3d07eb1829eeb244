// SPDX-License-Identifier: BSL-1.0
//
// Locks of a mapped allocation over real pages: each way to an address, each refusal, waits, nesting, moves, caches.
#include <doctest/doctest.h>

#include <tidemark/memory/mapped_allocation.hpp>

#if defined(__linux__)

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "support/counted_progress.hpp"
#include "support/manual_stop.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::allocation_options;
using tidemark::cpu_access;
using tidemark::device_use;
using tidemark::lock_refusal;
using tidemark::lock_route;
using tidemark::lock_status;
using tidemark::map_mode;
using tidemark::memory_pages;
using tidemark::move_status;
using tidemark::residence;
using tidemark::segment_options;
using tidemark::unlock_status;

namespace {

using fence = tidemark::basic_progress_fence<counted>;
using segment_type = tidemark::device_segment<fence>;

std::size_t page_bytes() { return memory_pages::page_bytes(); }

template <class Allocation>
struct basic_stand {
  using locking = typename Allocation::locking;

  basic_stand(const segment_options& where, const allocation_options& options)
      : segment{*segment_type::make(finished, where)}, memory{finished, segment, options} {}
  basic_stand(const basic_stand&) = delete;
  basic_stand& operator=(const basic_stand&) = delete;
  ~basic_stand() { finished.poison(); }  // so that an allocation which is in use can go

  fence finished;
  segment_type segment;
  Allocation memory;

  /// Fills the current backing with a number, and ends the lock.
  locking fill(int number) {
    const locking held = memory.try_lock(map_mode::write);
    REQUIRE(held);
    std::memset(held.data, number, held.bytes);
    CHECK(memory.unlock(held) == unlock_status::unlocked);
    return held;
  }
  /// Returns whether all bytes of a lock are a number.
  static bool has(const locking& held, int number) {
    for (std::size_t i = 0; i < held.bytes; ++i) {
      if (held.data[i] != static_cast<std::byte>(number)) return false;
    }
    return true;
  }
  /// The device writes a number into all bytes.
  void fill_as_device(const locking& of, int number) {
    memory.for_each_page(of, [&](std::byte* page, std::size_t) { std::memset(page, number, page_bytes()); });
  }
  /// Returns whether the device sees a number in all bytes.
  bool device_has(const locking& of, int number) const {
    bool is_right = true;
    memory.for_each_page(of, [&](const std::byte* page, std::size_t) {
      for (std::size_t i = 0; i < page_bytes(); ++i) is_right = is_right && page[i] == static_cast<std::byte>(number);
    });
    return is_right;
  }
};
using allocation = tidemark::mapped_allocation<fence>;
using stand = basic_stand<allocation>;

constexpr segment_options visible{.pages = 8, .cpu_visible = true};
constexpr segment_options windowed{.pages = 8, .window_pages = 2};
constexpr segment_options small_window{.pages = 8, .window_pages = 1};
constexpr segment_options hidden{.pages = 8};

allocation_options two_pages(cpu_access access, bool supports_aperture) {
  return {.bytes = 2 * page_bytes(), .access = access, .supports_aperture_segment = supports_aperture};
}

}  // namespace

// ---- every row of the table ----------------------------------------------------------------------------------------

TEST_CASE("[B17][B25] in system memory, and in an aperture segment, every allocation is locked where it is") {
  for (const segment_options& segment : {visible, windowed, hidden}) {
    for (const cpu_access access : {cpu_access::none, cpu_access::uncached, cpu_access::cached}) {
      for (const bool aperture : {false, true}) {
        stand at{segment, two_pages(access, aperture)};
        const auto first = at.fill(1);
        CHECK(first.route == lock_route::direct);
        CHECK(at.memory.where(first) == residence::system_memory);
        CHECK(at.memory.try_commit(first, residence::aperture_segment) ==
              (aperture ? move_status::placed : move_status::invalid));
        CHECK(at.memory.where(first) == (aperture ? residence::aperture_segment : residence::system_memory));
        const auto second = at.memory.try_lock(map_mode::read);
        REQUIRE(second);
        CHECK(second.route == lock_route::direct);
        CHECK(second.data == first.data);  // [B14]
        CHECK(at.has(second, 1));
        CHECK(at.device_has(second, 1));
        CHECK(at.memory.unlock(second) == unlock_status::unlocked);
      }
    }
  }
}

namespace {

/// What a lock of two pages in the memory segment does.
struct row {
  segment_options segment;
  cpu_access access;
  bool supports_aperture;
  lock_route route;
  residence after;
  lock_refusal reason = lock_refusal::none;
};
using enum lock_route;
constexpr residence in_segment = residence::memory_segment;
constexpr residence in_aperture = residence::aperture_segment;
constexpr residence in_system = residence::system_memory;

const std::array every_row{
    // The processor sees the segment.
    row{visible, cpu_access::uncached, true, direct, in_segment},
    row{visible, cpu_access::uncached, false, direct, in_segment},
    row{visible, cpu_access::cached, true, migrate_to_system, in_aperture},
    row{visible, cpu_access::cached, false, migrate_to_system, in_system},
    row{visible, cpu_access::none, true, migrate_to_system, in_aperture},
    row{visible, cpu_access::none, false, refused, in_segment, lock_refusal::resident},
    // It does not: a window with room, one without, none.
    row{windowed, cpu_access::uncached, true, through_window, in_segment},
    row{windowed, cpu_access::uncached, false, refused, in_segment, lock_refusal::no_aperture_segment},
    row{windowed, cpu_access::cached, true, migrate_to_system, in_aperture},
    row{windowed, cpu_access::cached, false, refused, in_segment, lock_refusal::incoherent_cached},
    row{windowed, cpu_access::none, true, migrate_to_system, in_aperture},
    row{windowed, cpu_access::none, false, refused, in_segment, lock_refusal::resident},
    row{small_window, cpu_access::uncached, true, migrate_to_system, in_aperture},
    row{small_window, cpu_access::uncached, false, refused, in_segment, lock_refusal::no_space},
    row{hidden, cpu_access::uncached, true, migrate_to_system, in_aperture},
    row{hidden, cpu_access::uncached, false, refused, in_segment, lock_refusal::no_window},
    row{hidden, cpu_access::cached, true, migrate_to_system, in_aperture},
    row{hidden, cpu_access::cached, false, refused, in_segment, lock_refusal::incoherent_cached},
};

}  // namespace

TEST_CASE("[B17][B19][B21][B22][B23][B26][trap 30] in the memory segment every row of the table has its way") {
  for (const row& one : every_row) {
    CAPTURE(one.segment.cpu_visible);
    CAPTURE(one.segment.window_pages);
    CAPTURE(static_cast<int>(one.access));
    CAPTURE(one.supports_aperture);
    stand at{one.segment, two_pages(one.access, one.supports_aperture)};
    const auto first = at.fill(1);
    REQUIRE(at.memory.try_commit(first) == move_status::placed);
    CHECK(at.segment.free_pages() == 6);
    CHECK(at.device_has(first, 1));
    at.fill_as_device(first, 4);

    const auto held = at.memory.try_lock(map_mode::read | map_mode::write);
    CHECK(held.route == one.route);
    CHECK(held.reason == one.reason);
    CHECK(held.status == (one.route == refused ? lock_status::refused : lock_status::locked));
    CHECK(at.memory.where(first) == one.after);
    CHECK(at.segment.free_pages() == (one.after == in_segment ? 6 : 8));
    const std::size_t taken = one.route == through_window ? 2 : 0;
    CHECK(at.segment.window().free_bytes == (one.segment.window_pages - taken) * page_bytes());
    if (held) {
      CHECK(at.has(held, 4));
      std::memset(held.data, 2, held.bytes);
      CHECK(at.device_has(held, 2));
      CHECK(at.memory.unlock(held) == unlock_status::unlocked);
    }
    CHECK(at.segment.window().free_bytes == one.segment.window_pages * page_bytes());
    CHECK(at.memory.try_evict(first) == move_status::placed);
    CHECK(at.device_has(first, held ? 2 : 4));
    CHECK(at.memory.where(first) == residence::system_memory);
    CHECK(at.segment.free_pages() == 8);
  }
}

TEST_CASE("[B9][B17] a lock that discards always has a way: what would be refused leaves the segment") {
  for (const row& one : every_row) {
    stand at{one.segment, two_pages(one.access, one.supports_aperture)};
    const auto first = at.fill(1);
    REQUIRE(at.memory.try_commit(first) == move_status::placed);
    const auto held = at.memory.try_lock(map_mode::discard);
    REQUIRE(held);
    CHECK_FALSE(held.renamed);
    CHECK(held.route == (one.route == refused ? direct : one.route));
    CHECK(at.memory.where(held) == (one.route == refused ? in_system : one.after));
    std::memset(held.data, 3, held.bytes);
    CHECK(at.device_has(held, 3));
    CHECK(at.memory.unlock(held) == unlock_status::unlocked);
  }
}

TEST_CASE("[B24] what may not be created for a segment is not made") {
  const fence finished;
  auto seen = segment_type::make(finished, visible);
  auto unseen = segment_type::make(finished, windowed);
  REQUIRE(seen);
  REQUIRE(unseen);
  for (const cpu_access access : {cpu_access::none, cpu_access::uncached, cpu_access::cached}) {
    for (const bool aperture : {false, true}) {
      CHECK(allocation::make(finished, *seen, two_pages(access, aperture)).has_value());
      CHECK(allocation::make(finished, *unseen, two_pages(access, aperture)).has_value() ==
            (aperture || access == cpu_access::none));
    }
  }
  CHECK_FALSE(allocation::make(finished, *seen, {.bytes = 0}).has_value());
}

// ---- busy, and the forms that wait ---------------------------------------------------------------------------------

TEST_CASE("[B10] what work still uses is busy, and nothing has changed") {
  stand at{visible, {.bytes = 100, .supports_aperture_segment = true, .max_renames = 1}};
  const auto held = at.memory.try_lock(map_mode::write);
  REQUIRE(held);
  CHECK(held.bytes == 100);
  CHECK(at.memory.unlock(held, 5) == unlock_status::unlocked);
  for (const map_mode mode : {map_mode::read, map_mode::write, map_mode::discard}) {
    CHECK(at.memory.try_lock(mode).status == lock_status::busy);
    CHECK(at.memory.lock_for(mode, 0ns).status == lock_status::timeout);
    CHECK(at.memory.lock_until(mode, std::chrono::steady_clock::now()).status == lock_status::timeout);
  }
  CHECK(at.memory.lock(map_mode::read | map_mode::do_not_wait).status == lock_status::busy);
  CHECK(at.memory.try_commit(held) == move_status::placed);  // so it is not locked
  at.finished.signal(5);
  CHECK(at.memory.unlock(at.memory.lock(map_mode::read)) == unlock_status::unlocked);
}

TEST_CASE("[B11][B12] a lock sleeps until the device has done with the memory") {
  for (const map_mode mode : {map_mode::read, map_mode::discard}) {
    stand at{windowed, {.bytes = 8, .supports_aperture_segment = true, .max_renames = 1}};
    CHECK(at.memory.unlock(at.memory.try_lock(map_mode::write), 7) == unlock_status::unlocked);
    const meter<counted> during;
    lock_status status = lock_status::invalid;
    background locking{[&] {
      const auto held = at.memory.lock(mode);
      status = held.status;
      if (held) static_cast<void>(at.memory.unlock(held));
    }};
    CHECK(locking.falls_asleep());
    at.finished.signal(7);
    locking.join();
    CHECK(status == lock_status::locked);
    CHECK(during.parks() >= 1);
  }
}

TEST_CASE("[B11] a lock waits for what uses its own backing, and a discard for the backing that comes free first") {
  stand at{visible, {.bytes = 8, .max_renames = 2}};
  const watchdog dog = watch(at.finished);
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::discard), 9) == unlock_status::unlocked);
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::discard), 7) == unlock_status::unlocked);
  for (const map_mode mode : {map_mode::read, map_mode::discard}) {
    lock_status status = lock_status::invalid;
    background locking{[&] {
      const auto held = at.memory.lock(mode);
      status = held.status;
      if (held) static_cast<void>(at.memory.unlock(held, mode == map_mode::read ? 8u : 0u));
    }};
    CHECK(locking.falls_asleep());
    at.finished.signal(mode == map_mode::read ? 7 : 8);
    locking.join();
    CHECK(status == lock_status::locked);
  }
}

TEST_CASE("[B8] a lock that does not overwrite never waits where the backing is, and shares it with the device") {
  stand at{visible, {.bytes = 8, .supports_aperture_segment = true}};
  const auto first = at.fill(1);
  CHECK(at.memory.try_commit(first) == move_status::placed);
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::write), 3) == unlock_status::unlocked);
  const auto held = at.memory.try_lock(map_mode::no_overwrite);
  REQUIRE(held);
  held.data[7] = std::byte{9};
  CHECK(at.memory.unlock(held, 4) == unlock_status::unlocked);
  at.memory.for_each_page(first, [](const std::byte* page, std::size_t) { CHECK(page[7] == std::byte{9}); });
}

TEST_CASE("[B8][B22] it is busy only where the backing would have to be moved while work uses it") {
  stand at{hidden, {.bytes = 8, .supports_aperture_segment = true}};
  const auto held = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.unlock(held, 3) == unlock_status::unlocked);
  CHECK(at.memory.try_commit(held) == move_status::placed);
  CHECK(at.memory.try_lock(map_mode::no_overwrite).status == lock_status::busy);
  CHECK(at.memory.where(held) == residence::memory_segment);
  lock_status status = lock_status::invalid;
  background locking{[&] {
    const auto again = at.memory.lock(map_mode::no_overwrite);
    status = again.status;
    if (again) static_cast<void>(at.memory.unlock(again));
  }};
  CHECK(locking.falls_asleep());
  at.finished.signal(3);
  locking.join();
  CHECK(status == lock_status::locked);
}

TEST_CASE("[B9][B43][B44] a discard renames while the backing is in use, up to the cap, and reuses what is idle") {
  stand at{visible, {.bytes = 8, .max_renames = 2}};
  const auto first = at.memory.try_lock(map_mode::discard);
  CHECK_FALSE(first.renamed);
  CHECK(at.memory.unlock(first, 1) == unlock_status::unlocked);
  const auto second = at.memory.try_lock(map_mode::discard);
  REQUIRE(second);
  CHECK(second.renamed);
  CHECK(second.data != first.data);
  CHECK(at.memory.backings() == 2);
  CHECK(at.memory.unlock(second, 2) == unlock_status::unlocked);
  CHECK(at.memory.try_lock(map_mode::discard).status == lock_status::busy);
  at.finished.signal(1);
  const auto third = at.memory.try_lock(map_mode::discard);
  REQUIRE(third);
  CHECK(third.data == first.data);
  CHECK(at.memory.unlock(third) == unlock_status::unlocked);
}

TEST_CASE("a lock that waits ends when its token is triggered, and a lost timeline keeps nobody waiting") {
  stand at{visible, {.bytes = 8, .max_renames = 1}};
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::write), 7) == unlock_status::unlocked);
  manual_stop stop;
  lock_status status = lock_status::invalid;
  background locking{[&] { status = at.memory.lock(map_mode::read, stop.get_token()).status; }};
  CHECK(locking.falls_asleep());
  stop.request();
  locking.join();
  CHECK(status == lock_status::stopped);
  at.finished.poison();
  CHECK(at.memory.unlock(at.memory.lock(map_mode::read)) == unlock_status::unlocked);
}

// ---- nesting -------------------------------------------------------------------------------------------------------

TEST_CASE("[B46] locks nest, with one address; the last unlock ends the view through the window") {
  stand at{windowed, two_pages(cpu_access::uncached, true)};
  CHECK(at.memory.try_commit(at.fill(1)) == move_status::placed);
  const auto first = at.memory.try_lock(map_mode::read);
  REQUIRE(first.route == lock_route::through_window);
  // The window has no room for a second view, but the lock needs none.
  const auto second = at.memory.try_lock(map_mode::write);
  const auto third = at.memory.try_lock(map_mode::no_overwrite);
  CHECK(second.route == lock_route::through_window);
  CHECK((second.data == first.data && third.data == first.data));
  CHECK(at.memory.unlock(second) == unlock_status::still_locked);
  CHECK(at.memory.unlock(first) == unlock_status::still_locked);
  CHECK(at.segment.window().free_bytes == 0);
  CHECK(at.memory.unlock(third) == unlock_status::unlocked);
  CHECK(at.segment.window().free_bytes == 2 * page_bytes());
}

TEST_CASE("[B46] a discard of what is locked gets another backing, and without one there is no space") {
  stand at{visible, {.bytes = 8, .max_renames = 2}};
  const auto first = at.memory.try_lock(map_mode::write);
  const auto second = at.memory.try_lock(map_mode::discard);
  REQUIRE(second);
  CHECK(second.renamed);
  // Nobody else can end these locks, so the form that waits does not.
  CHECK(at.memory.try_lock(map_mode::discard).status == lock_status::no_space);
  CHECK(at.memory.lock(map_mode::discard).status == lock_status::no_space);
  CHECK(at.memory.unlock(first) == unlock_status::unlocked);
  CHECK(at.memory.unlock(second) == unlock_status::unlocked);
}

// ---- moves ---------------------------------------------------------------------------------------------------------

TEST_CASE("[B27][trap 30] a backing is neither committed nor evicted while it is locked; other backings are") {
  stand at{visible, {.bytes = 8, .supports_aperture_segment = true}};
  const auto first = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.try_commit(first) == move_status::refused);
  CHECK(at.memory.try_commit(first, residence::aperture_segment) == move_status::refused);
  CHECK(at.memory.try_evict(first) == move_status::refused);
  CHECK(at.memory.unlock(first, 1) == unlock_status::unlocked);
  const auto second = at.memory.try_lock(map_mode::discard);
  REQUIRE(second.renamed);
  CHECK(at.memory.try_commit(first) == move_status::placed);
  CHECK(at.memory.try_commit(second) == move_status::refused);
  CHECK(at.memory.unlock(second) == unlock_status::unlocked);
  CHECK(at.memory.try_commit(second) == move_status::placed);
  CHECK(at.memory.try_commit(second) == move_status::placed);  // it is there
}

TEST_CASE("[B27] a lock that made the allocation not resident keeps it so until it is unlocked") {
  stand at{visible, two_pages(cpu_access::cached, false)};
  CHECK(at.memory.try_commit(at.fill(1)) == move_status::placed);
  const auto held = at.memory.try_lock(map_mode::read);
  REQUIRE(held.route == lock_route::migrate_to_system);
  CHECK(at.memory.try_commit(held) == move_status::refused);
  CHECK(at.has(held, 1));
  CHECK(at.memory.unlock(held) == unlock_status::unlocked);
  CHECK(at.memory.try_commit(held) == move_status::placed);
}

TEST_CASE("a commit needs free pages, and a move that makes no sense is invalid") {
  stand at{{.pages = 3, .cpu_visible = true}, two_pages(cpu_access::uncached, false)};
  allocation other{at.finished, at.segment, two_pages(cpu_access::uncached, false)};
  const auto first = at.fill(1);
  const auto second = other.try_lock(map_mode::write);
  CHECK(other.unlock(second) == unlock_status::unlocked);
  CHECK(at.memory.try_commit(first) == move_status::placed);
  CHECK(other.try_commit(second) == move_status::no_space);
  CHECK(at.memory.try_evict(first) == move_status::placed);
  CHECK(other.try_commit(second) == move_status::placed);
  CHECK(at.memory.try_commit(first, residence::system_memory) == move_status::invalid);
  CHECK(at.memory.try_commit(first, residence::aperture_segment) == move_status::invalid);
  CHECK(at.memory.try_commit(second) == move_status::invalid);
  CHECK(at.memory.try_evict({}) == move_status::invalid);
}

TEST_CASE("another allocation's view takes the room of the window, and the lock goes another way") {
  stand at{windowed, two_pages(cpu_access::uncached, true)};
  allocation other{at.finished, at.segment, two_pages(cpu_access::uncached, true)};
  const auto second = other.try_lock(map_mode::write);
  CHECK(other.unlock(second) == unlock_status::unlocked);
  CHECK(other.try_commit(second) == move_status::placed);
  CHECK(at.memory.try_commit(at.fill(1)) == move_status::placed);
  const auto through = other.try_lock(map_mode::read);
  CHECK(through.route == lock_route::through_window);
  const auto held = at.memory.try_lock(map_mode::read);
  CHECK(held.route == lock_route::migrate_to_system);
  CHECK(at.has(held, 1));
  CHECK(at.memory.unlock(held) == unlock_status::unlocked);
  CHECK(other.unlock(through) == unlock_status::unlocked);
}

TEST_CASE("[B22] a window whose pages are still in use has room, but no pages: the lock goes another way") {
  stand at{windowed, two_pages(cpu_access::uncached, true)};
  auto& window = *at.segment.window_pages();
  CHECK(window.retire(window.try_map(std::vector<int>(1)), 5));
  CHECK(at.segment.window().free_bytes == 2 * page_bytes());
  CHECK(at.memory.try_commit(at.fill(1)) == move_status::placed);
  const auto held = at.memory.try_lock(map_mode::read);
  CHECK(held.route == lock_route::migrate_to_system);
  CHECK(at.has(held, 1));
  CHECK(at.memory.unlock(held) == unlock_status::unlocked);
}

TEST_CASE("[B14] the address in a segment that the processor sees is the same for each lock until a move") {
  stand at{visible, two_pages(cpu_access::uncached, true)};
  const auto first = at.fill(1);
  CHECK(at.memory.try_commit(first) == move_status::placed);
  const auto second = at.fill(2);
  CHECK(second.data != first.data);
  // If its view had gone, this would have its addresses.
  const auto view = tidemark::mapped_view::make(at.segment.memory(), std::vector<int>{0, 1});
  const auto third = at.fill(3);
  CHECK(third.data == second.data);
  CHECK(at.device_has(third, 3));
}

TEST_CASE("bad arguments have a status") {
  stand at{visible, {.bytes = 0}};
  CHECK(at.memory.try_lock(map_mode::write).status == lock_status::invalid);
  CHECK(at.memory.lock(map_mode::discard).status == lock_status::invalid);
  stand huge{visible, {.bytes = SIZE_MAX}};
  CHECK(huge.memory.try_lock(map_mode::write).status == lock_status::no_memory);
  CHECK(huge.memory.lock(map_mode::discard).status == lock_status::no_memory);
  stand good{visible, {.bytes = 8}};
  for (const map_mode mode : {map_mode{}, map_mode::discard | map_mode::read, map_mode::discard | map_mode::do_not_wait,
                              map_mode::no_overwrite | map_mode::do_not_wait, static_cast<map_mode>(32)}) {
    CHECK(good.memory.try_lock(mode).status == lock_status::invalid);
    CHECK(good.memory.lock(mode).status == lock_status::invalid);
  }
}

// ---- caches --------------------------------------------------------------------------------------------------------

namespace {

/// Counts what it is asked to do, and can hold up the thread that asks.
struct watched_cache {
  struct log {
    int written_back = 0;
    int invalidated = 0;
    std::atomic<bool> holds_up{false};
    std::atomic<bool> is_held_up{false};
    bool operator==(const std::pair<int, int>& other) const { return std::pair{written_back, invalidated} == other; }
  };
  log* to;

  void write_back(std::uint64_t, std::uint64_t) { ++to->written_back; }
  void invalidate(std::uint64_t, std::uint64_t) {
    ++to->invalidated;
    to->is_held_up = to->holds_up.load();
    await([this] { return !to->holds_up; });
  }
};
using cached_allocation = tidemark::mapped_allocation<fence, watched_cache>;

struct cached_stand {
  explicit cached_stand(cpu_access access)
      : segment{*segment_type::make(finished, visible)},
        memory{finished, segment, {.bytes = 8, .access = access, .supports_aperture_segment = true}, {&log}} {}

  fence finished;
  segment_type segment;
  watched_cache::log log;
  cached_allocation memory;
};

}  // namespace

TEST_CASE("[B36][B37][B41] what the processor wrote is written back at the unlock that hands it to the device") {
  cached_stand at{cpu_access::cached};
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::write)) == unlock_status::unlocked);
  CHECK(at.log == std::pair{0, 0});  // no work uses it yet
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::read), 0) == unlock_status::unlocked);
  CHECK(at.log == std::pair{1, 0});
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::read), 0) == unlock_status::unlocked);
  CHECK(at.log == std::pair{1, 0});
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::no_overwrite), 0) == unlock_status::unlocked);
  CHECK(at.log == std::pair{2, 0});
}

TEST_CASE("[B38][B41][B42] what the device wrote is invalidated by the next lock, after the device is done") {
  cached_stand at{cpu_access::cached};
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::read), 1, device_use::writes) == unlock_status::unlocked);
  CHECK(at.memory.try_lock(map_mode::read).status == lock_status::busy);
  CHECK(at.log == std::pair{0, 0});
  at.finished.signal(1);
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::read)) == unlock_status::unlocked);
  CHECK(at.log == std::pair{0, 1});
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::read)) == unlock_status::unlocked);
  CHECK(at.log == std::pair{0, 1});
}

TEST_CASE("[B36][B42] a move before the work has run does not make the lock after it forget to invalidate") {
  cached_stand at{cpu_access::cached};
  const auto held = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.unlock(held, 1, device_use::writes) == unlock_status::unlocked);
  CHECK(at.memory.try_commit(held) == move_status::placed);
  CHECK(at.memory.try_commit(held, residence::aperture_segment) == move_status::placed);
  const int written_back = at.log.written_back;
  CHECK(written_back == 2);  // before the work that was submitted, and what the move wrote
  const int invalidated = at.log.invalidated;
  at.finished.signal(1);  // the work ran in the aperture segment
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::read)) == unlock_status::unlocked);
  CHECK(at.log == std::pair{written_back, invalidated + 1});
}

TEST_CASE("[B34] memory without caches needs no operation, and neither does a machine whose devices look into them") {
  cached_stand at{cpu_access::uncached};
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::write), 0, device_use::writes) == unlock_status::unlocked);
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::read)) == unlock_status::unlocked);
  CHECK(at.log == std::pair{0, 0});
}

TEST_CASE("[B12][B27] a lock that meets a move is busy, or sleeps until the move is over") {
  cached_stand at{cpu_access::cached};
  const auto held = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.unlock(held, 0, device_use::writes) == unlock_status::unlocked);
  at.log.holds_up = true;
  move_status moved = move_status::invalid;
  background device{[&] { moved = at.memory.try_commit(held); }};
  await([&] { return at.log.is_held_up.load(); });
  CHECK(at.memory.try_lock(map_mode::read).status == lock_status::busy);
  CHECK(at.memory.lock_for(map_mode::discard, 0ns).status == lock_status::timeout);
  CHECK(at.memory.backings() == 1);
  CHECK(at.memory.try_evict(held) == move_status::busy);
  lock_status status = lock_status::invalid;
  background locking{[&] {
    const auto again = at.memory.lock(map_mode::read);
    status = again.status;
    if (again) static_cast<void>(at.memory.unlock(again));
  }};
  CHECK(locking.falls_asleep());
  at.log.holds_up = false;
  device.join();
  locking.join();
  CHECK(moved == move_status::placed);
  CHECK(status == lock_status::locked);
}

#endif
