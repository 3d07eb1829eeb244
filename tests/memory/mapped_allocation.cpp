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
#include <optional>
#include <utility>
#include <vector>

#include "support/counted_progress.hpp"
#include "support/interruption.hpp"
#include "support/manual_stop.hpp"
#include "support/segments.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::coherency;
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

/// An allocation that may lie in one memory segment.
struct wanted {
  std::size_t bytes = 0;
  cpu_access access = cpu_access::uncached;
  bool supports_aperture_segment = false;
  std::size_t max_renames = 0;

  tidemark::allocation_options options() const { return {.bytes = bytes, .max_renames = max_renames}; }
  tidemark::supported_segments<fence> in(segment_type& memory) const {
    return segments_of(access, supports_aperture_segment, memory);
  }
};

template <class Allocation>
struct basic_stand {
  using locking = typename Allocation::locking;

  basic_stand(const segment_options& where, const wanted& kind)
      : segment{*segment_type::make(finished, where)}, memory{finished, kind.in(segment), kind.options()} {}
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

/// What a lock in another thread has come to.
struct locking_result {
  lock_status status = lock_status::invalid;
  const std::byte* data = nullptr;

  void take(const allocation::locking& made) {
    status = made.status;
    data = made.data;
  }
};

constexpr segment_options visible{.pages = 8, .cpu_visible = true};
constexpr segment_options windowed{.pages = 8, .window_pages = 2};
constexpr segment_options small_window{.pages = 8, .window_pages = 1};
constexpr segment_options hidden{.pages = 8};

wanted two_pages(cpu_access access, bool supports_aperture) {
  return {.bytes = 2 * page_bytes(), .access = access, .supports_aperture_segment = supports_aperture};
}

}  // namespace

// ---- every row of the table ----------------------------------------------------------------------------------------

TEST_CASE("[B17][B25] in system memory, and in an aperture segment, every allocation is locked where it is") {
  for (const segment_options& segment : {visible, windowed, hidden}) {
    for (const cpu_access access : {cpu_access::none, cpu_access::uncached, cpu_access::cached}) {
      for (const bool aperture : {false, true}) {
        if (!aperture && !segment.cpu_visible && access != cpu_access::none) continue;  // must not be created
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
    row{windowed, cpu_access::cached, true, migrate_to_system, in_aperture},
    row{windowed, cpu_access::none, true, migrate_to_system, in_aperture},
    row{windowed, cpu_access::none, false, refused, in_segment, lock_refusal::resident},
    row{small_window, cpu_access::uncached, true, migrate_to_system, in_aperture},
    row{hidden, cpu_access::uncached, true, migrate_to_system, in_aperture},
    row{hidden, cpu_access::cached, true, migrate_to_system, in_aperture},
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
  const auto used = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.unlock(used, 3) == unlock_status::unlocked);
  const meter<counted> during;
  for (const map_mode mode : {map_mode::no_overwrite, map_mode::no_overwrite | map_mode::write}) {
    for (const bool may_wait : {false, true}) {
      const auto held = may_wait ? at.memory.lock(mode) : at.memory.try_lock(mode);
      REQUIRE(held);
      CHECK(held.data == used.data);
      CHECK_FALSE(held.renamed);
      held.data[7] = std::byte{9};
      at.memory.for_each_page(first, [](const std::byte* page, std::size_t) { CHECK(page[7] == std::byte{9}); });
      held.data[7] = std::byte{0};
      CHECK(at.memory.unlock(held, 4) == unlock_status::unlocked);
    }
  }
  CHECK(during.parks() + during.heavy_barriers() == 0);
  CHECK(at.memory.backings() == 1);
  CHECK(at.memory.try_lock(map_mode::write).status == lock_status::busy);  // so it was in use
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

TEST_CASE("[B46] what is locked can be locked a thousand times more, where a first lock would find no way") {
  // The window has no room for a second view.
  stand at{small_window, {.bytes = page_bytes(), .supports_aperture_segment = true}};
  CHECK(at.memory.try_commit(at.fill(1)) == move_status::placed);
  const auto first = at.memory.try_lock(map_mode::write);
  REQUIRE(first.route == lock_route::through_window);
  CHECK(at.segment.window().free_bytes == 0);
  std::vector<allocation::locking> nested;
  for (int i = 0; i < 1'000; ++i) {
    nested.push_back(at.memory.try_lock(i % 2 == 0 ? map_mode::read : map_mode::no_overwrite));
    REQUIRE(nested.back().data == first.data);
    REQUIRE(nested.back().route == lock_route::through_window);
  }
  for (const auto& one : nested) REQUIRE(at.memory.unlock(one) == unlock_status::still_locked);
  CHECK(at.memory.unlock(first) == unlock_status::unlocked);
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

TEST_CASE("[B10][B46] a lock of what is locked has the same address as soon as the work that it waits for is done") {
  stand at{windowed, two_pages(cpu_access::uncached, true)};
  CHECK(at.memory.try_commit(at.fill(1)) == move_status::placed);
  const auto first = at.memory.try_lock(map_mode::write);
  const auto second = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.unlock(second, 4, device_use::writes) == unlock_status::still_locked);
  // "Return WasStillDrawing if an attempt is made to access an allocation that is currently busy", locked or not.
  for (const map_mode mode : {map_mode::read, map_mode::write})
    CHECK(at.memory.try_lock(mode).status == lock_status::busy);
  const auto beside = at.memory.try_lock(map_mode::no_overwrite);
  REQUIRE(beside);
  CHECK(beside.data == first.data);
  locking_result third;
  background locking{[&] { third.take(at.memory.lock(map_mode::read)); }};
  CHECK(locking.falls_asleep());
  at.finished.signal(4);
  locking.join();
  CHECK(third.status == lock_status::locked);
  CHECK(third.data == first.data);
  for (int i = 0; i < 2; ++i) CHECK(at.memory.unlock(first) == unlock_status::still_locked);
  CHECK(at.memory.unlock(first) == unlock_status::unlocked);
}

// ---- work that is named without a lock ------------------------------------------------------------------------------

TEST_CASE("[B1][B2][B11] work that is named without a lock is waited for, and the allocation stays on the device") {
  stand at{hidden, two_pages(cpu_access::cached, true)};
  const auto first = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.unlock(first, 1) == unlock_status::unlocked);
  CHECK(at.memory.try_commit(first) == move_status::placed);
  at.finished.signal(1);
  at.memory.used_until(first, 3);
  at.memory.used_until(2);  // the greatest value counts
  CHECK(at.memory.where(first) == residence::memory_segment);
  for (const std::uint64_t reached : {1u, 2u}) {
    at.finished.signal(reached);
    for (const map_mode mode : {map_mode::read, map_mode::write, map_mode::no_overwrite})
      CHECK(at.memory.try_lock(mode).status == lock_status::busy);
    CHECK(at.memory.where(first) == residence::memory_segment);
  }
  locking_result made;
  background locking{[&] { made.take(at.memory.lock(map_mode::write)); }};
  CHECK(locking.falls_asleep());
  at.finished.signal(3);
  locking.join();
  CHECK(made.status == lock_status::locked);
  CHECK(at.memory.unlock(first) == unlock_status::unlocked);
}

TEST_CASE("[B9][B11] a discard takes another backing while work was named that uses this one, whichever it is") {
  stand at{visible, {.bytes = 8, .max_renames = 2}};
  const auto first = at.memory.try_lock(map_mode::discard);
  CHECK(at.memory.unlock(first) == unlock_status::unlocked);
  at.memory.used_until(1);
  const auto second = at.memory.try_lock(map_mode::discard);
  REQUIRE(second);
  CHECK(second.renamed);
  CHECK(at.memory.unlock(second) == unlock_status::unlocked);
  at.memory.used_until(first, 3);   // not the current one any more
  at.memory.used_until(second, 2);  // the current one
  CHECK(at.memory.try_lock(map_mode::discard).status == lock_status::busy);
  CHECK(at.memory.try_lock(map_mode::read).status == lock_status::busy);
  at.finished.signal(2);
  const auto third = at.memory.try_lock(map_mode::discard);
  CHECK(third.data == second.data);
  CHECK(at.memory.try_lock(map_mode::discard).status == lock_status::busy);
  at.finished.signal(3);
  const auto fourth = at.memory.try_lock(map_mode::discard);
  CHECK(fourth.data == first.data);
  CHECK(at.memory.unlock(third) == unlock_status::unlocked);
  CHECK(at.memory.unlock(fourth) == unlock_status::unlocked);
}

TEST_CASE("[B2][B10] work that is named while the allocation is locked is waited for by the next lock of it") {
  stand at{visible, {.bytes = 8}};
  const auto held = at.memory.try_lock(map_mode::write);
  at.memory.used_until(held, 5);
  CHECK(at.memory.try_lock(map_mode::read).status == lock_status::busy);
  CHECK(at.memory.unlock(held, 3) == unlock_status::unlocked);
  at.finished.signal(4);
  CHECK(at.memory.try_lock(map_mode::read).status == lock_status::busy);
  at.finished.signal(5);
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::read)) == unlock_status::unlocked);
}

TEST_CASE("[B2] work that was named before there is a backing changes nothing") {
  stand huge{visible, {.bytes = SIZE_MAX}};
  huge.memory.used_until(1);
  huge.finished.signal(1);
  CHECK(huge.memory.try_lock(map_mode::write).status == lock_status::no_memory);
}

// ---- moves ---------------------------------------------------------------------------------------------------------

TEST_CASE("[B27][trap 30] what supports no aperture segment is not committed while it is locked; other backings are") {
  stand at{visible, {.bytes = 8}};
  const auto first = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.try_commit(first) == move_status::refused);
  CHECK(at.memory.unlock(first, 1) == unlock_status::unlocked);
  const auto second = at.memory.try_lock(map_mode::discard);
  REQUIRE(second.renamed);
  CHECK(at.memory.try_commit(first) == move_status::placed);
  CHECK(at.memory.try_commit(second) == move_status::refused);
  CHECK(at.memory.unlock(second) == unlock_status::unlocked);
  CHECK(at.memory.try_commit(second) == move_status::placed);
  CHECK(at.memory.try_commit(second) == move_status::placed);  // it is there
}

TEST_CASE("[B14][B27] no byte moves between system memory and an aperture segment, so a lock holds none of that back") {
  for (const segment_options& segment : {visible, windowed, hidden}) {
    for (const cpu_access access : {cpu_access::none, cpu_access::uncached, cpu_access::cached}) {
      stand at{segment, two_pages(access, true)};
      const auto held = at.memory.try_lock(map_mode::write);
      REQUIRE(held);
      std::memset(held.data, 1, held.bytes);
      CHECK(at.memory.try_evict(held) == move_status::placed);  // it is there
      CHECK(at.memory.try_commit(held, residence::aperture_segment) == move_status::placed);
      CHECK(at.memory.where(held) == residence::aperture_segment);
      CHECK(at.device_has(held, 1));
      std::memset(held.data, 2, held.bytes);
      const auto again = at.memory.try_lock(map_mode::read);
      CHECK(again.data == held.data);
      CHECK(at.device_has(held, 2));
      CHECK(at.memory.try_evict(held) == move_status::placed);
      CHECK(at.memory.try_commit(held) == move_status::placed_in_aperture);  // its bytes would move
      CHECK(at.memory.where(held) == residence::aperture_segment);
      CHECK(at.segment.free_pages() == at.segment.memory().pages());
      CHECK(at.memory.try_commit(held) == move_status::placed_in_aperture);
      CHECK(at.has(held, 2));
      CHECK(at.memory.try_evict(held) == move_status::placed);
      CHECK(at.memory.where(held) == residence::system_memory);
      CHECK(at.memory.unlock(again) == unlock_status::still_locked);
      CHECK(at.memory.unlock(held) == unlock_status::unlocked);
    }
  }
}

TEST_CASE("[B14][B27] what is locked in the memory segment stays there, and is there for who asks") {
  for (const segment_options& segment : {visible, windowed}) {
    stand at{segment, two_pages(cpu_access::uncached, true)};
    CHECK(at.memory.try_commit(at.fill(1)) == move_status::placed);
    const auto held = at.memory.try_lock(map_mode::read);
    REQUIRE(held);
    CHECK(at.memory.try_commit(held, residence::aperture_segment) == move_status::refused);
    CHECK(at.memory.try_evict(held) == move_status::refused);
    CHECK(at.memory.try_commit(held) == move_status::placed);
    CHECK(at.memory.where(held) == residence::memory_segment);
    CHECK(at.has(held, 1));
    CHECK(at.memory.unlock(held) == unlock_status::unlocked);
  }
}

TEST_CASE("[B14] an allocation can be locked until it is destroyed, which gives its pages back") {
  for (const map_mode mode : {map_mode::write, map_mode::discard}) {
    for (const segment_options& of : {visible, windowed}) {
      fence finished;
      segment_type segment{*segment_type::make(finished, of)};
      {
        allocation memory{finished, segments_of(cpu_access::uncached, true, segment), {.bytes = 2 * page_bytes()}};
        const auto first = memory.try_lock(map_mode::write);
        CHECK(memory.unlock(first) == unlock_status::unlocked);
        CHECK(memory.try_commit(first) == move_status::placed);
        CHECK(memory.try_lock(mode));
        CHECK(segment.free_pages() == segment.memory().pages() - 2);
      }
      CHECK(segment.free_pages() == segment.memory().pages());
      CHECK(segment.window().free_bytes == of.window_pages * page_bytes());
    }
  }
}

namespace {

/// An allocation that is locked once, before the first frame, and never unlocked. In each frame the processor writes a
/// number into all bytes and names work. The device, in another thread, commits the allocation, finds the number,
/// writes another one and evicts. The processor waits for the work by a nested lock.
struct locked_for_life {
  static constexpr std::uint64_t frames = 1'000;

  locked_for_life(const segment_options& where, const wanted& kind, bool is_on_device)
      : at{where, kind}, starts_on_device{is_on_device} {}

  stand at;
  const bool starts_on_device;
  fence submitted;
  std::atomic<std::uint64_t> failures{0};
  std::atomic<std::uint64_t> commits{0};

  static int written_in(std::uint64_t frame) { return static_cast<int>(frame % 120); }
  static int answer_in(std::uint64_t frame) { return written_in(frame) + 128; }

  void run() {
    if (starts_on_device) CHECK(at.memory.try_commit(at.fill(0)) == move_status::placed);
    const auto held = at.memory.lock(map_mode::write);
    REQUIRE(held);
    const residence where = at.memory.where(held);
    background device{[&] { be_device(held, where); }};
    for (std::uint64_t frame = 1; frame <= frames; ++frame) {
      std::memset(held.data, written_in(frame), held.bytes);
      at.memory.used_until(held, frame, device_use::writes);
      submitted.signal(frame);
      const auto done = at.memory.lock(map_mode::read);
      if (!done || done.data != held.data || !stand::has(done, answer_in(frame))) ++failures;
      if (at.memory.unlock(done) != unlock_status::still_locked) ++failures;
    }
    device.join();
    CHECK(failures == 0);
    CHECK(commits == frames);
    CHECK(at.memory.backings() == 1);
    const std::size_t kept = where == residence::memory_segment ? 2u : 0u;
    CHECK(at.segment.free_pages() == at.segment.memory().pages() - kept);
  }
  void be_device(const allocation::locking& of, residence where) {
    const bool is_resident = where == residence::memory_segment;
    for (std::uint64_t frame = 1; frame <= frames; ++frame) {
      static_cast<void>(submitted.wait(frame));
      const move_status expected = is_resident ? move_status::placed : move_status::placed_in_aperture;
      if (at.memory.try_commit(of) == expected) ++commits;
      const residence now = at.memory.where(of);
      if (now != (is_resident ? residence::memory_segment : residence::aperture_segment)) ++failures;
      if (!at.device_has(of, written_in(frame))) ++failures;
      at.fill_as_device(of, answer_in(frame));
      const move_status evicted = at.memory.try_evict(of);  // before the signal: no work is running
      if (evicted != (is_resident ? move_status::refused : move_status::placed)) ++failures;
      at.finished.signal(frame);
    }
  }
};

}  // namespace

TEST_CASE("[B14][B27] an allocation is locked for its whole life, while the device uses it in 1,000 frames") {
  for (const bool starts_on_device : {false, true}) {
    for (const segment_options& segment : {visible, windowed, hidden}) {
      for (const cpu_access access : {cpu_access::none, cpu_access::uncached, cpu_access::cached}) {
        CAPTURE(starts_on_device);
        CAPTURE(segment.cpu_visible);
        CAPTURE(segment.window_pages);
        CAPTURE(static_cast<int>(access));
        locked_for_life one{segment, two_pages(access, true), starts_on_device};
        one.run();
      }
    }
  }
  // Without an aperture segment it is on the device when it is locked.
  locked_for_life one{visible, two_pages(cpu_access::uncached, false), true};
  one.run();
}

TEST_CASE(
    "[B27] without an aperture segment only the commit into a memory segment is held back, and only while locked") {
  stand at{visible, two_pages(cpu_access::uncached, false)};
  const auto held = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.try_commit(held) == move_status::refused);
  CHECK(at.memory.try_evict(held) == move_status::placed);  // it is there
  at.memory.used_until(held, 1);
  CHECK(at.memory.try_commit(held) == move_status::refused);
  at.finished.signal(1);
  CHECK(at.memory.unlock(held) == unlock_status::unlocked);
  CHECK(at.memory.try_commit(held) == move_status::placed);
  // Locked where it is resident, it stays there, and the device uses it.
  const auto there = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.try_commit(there) == move_status::placed);
  CHECK(at.memory.unlock(there) == unlock_status::unlocked);
}

// ---- several segments ----------------------------------------------------------------------------------------------

namespace {

/// An allocation of two pages that supports two memory segments: a small one first, which the processor sees.
struct two_segments {
  explicit two_segments(cpu_access access)
      : memory{finished, {access, tidemark::with_aperture_segment, near, far}, {.bytes = 2 * page_bytes()}},
        other{finished, {access, tidemark::with_aperture_segment, near, far}, {.bytes = 2 * page_bytes()}} {}

  static allocation::locking fill(allocation& which, int number) {
    const auto held = which.try_lock(map_mode::write);
    REQUIRE(held);
    std::memset(held.data, number, held.bytes);
    CHECK(which.unlock(held) == unlock_status::unlocked);
    return held;
  }

  fence finished;
  segment_type near{*segment_type::make(finished, {.pages = 2, .cpu_visible = true})};
  segment_type far{*segment_type::make(finished, {.pages = 4, .window_pages = 2})};
  allocation memory;
  allocation other;
};

}  // namespace

TEST_CASE("[B17] a commit goes into the first segment of the set that has room, and the lock goes by that segment") {
  two_segments at{cpu_access::uncached};
  const auto first = two_segments::fill(at.memory, 1);
  const auto second = two_segments::fill(at.other, 2);
  CHECK(at.memory.segment_of(first) == nullptr);
  CHECK(at.memory.try_commit(first) == move_status::placed);
  CHECK(at.memory.segment_of(first) == &at.near);
  CHECK(at.other.try_commit(second) == move_status::placed);
  CHECK(at.other.segment_of(second) == &at.far);
  const auto direct = at.memory.try_lock(map_mode::read);
  const auto through = at.other.try_lock(map_mode::read);
  CHECK(direct.route == lock_route::direct);
  CHECK(through.route == lock_route::through_window);
  CHECK((stand::has(direct, 1) && stand::has(through, 2)));
  CHECK(at.far.window().free_bytes == 0);
  CHECK(at.memory.unlock(direct) == unlock_status::unlocked);
  CHECK(at.other.unlock(through) == unlock_status::unlocked);
  CHECK(at.far.window().free_bytes == 2 * page_bytes());
}

TEST_CASE("[B17] a commit that names a segment of the set moves the bytes there, also from another one") {
  two_segments at{cpu_access::uncached};
  const auto first = two_segments::fill(at.memory, 5);
  CHECK(at.memory.try_commit(first, at.far) == move_status::placed);
  CHECK(at.memory.segment_of(first) == &at.far);
  CHECK(at.memory.try_commit(first) == move_status::placed);  // it is in one of them
  CHECK(at.memory.segment_of(first) == &at.far);
  CHECK(at.memory.try_commit(first, at.near) == move_status::placed);
  CHECK(at.memory.segment_of(first) == &at.near);
  CHECK((at.near.free_pages() == 0 && at.far.free_pages() == 4));
  const auto held = at.memory.try_lock(map_mode::write);
  CHECK(held.route == lock_route::direct);
  CHECK(stand::has(held, 5));
  CHECK(at.memory.try_commit(held, at.far) == move_status::refused);  // its address would go
  CHECK(at.memory.try_commit(held, at.near) == move_status::placed);
  CHECK(at.far.free_pages() == 4);
  CHECK(at.memory.unlock(held) == unlock_status::unlocked);

  const auto second = two_segments::fill(at.other, 6);
  CHECK(at.other.try_commit(second, at.near) == move_status::no_space);
  CHECK(at.other.where(second) == residence::system_memory);
  const auto stranger = segment_type::make(at.finished, visible);
  CHECK(at.other.try_commit(second, *stranger) == move_status::invalid);
  CHECK(at.other.try_commit({}, at.near) == move_status::invalid);
}

TEST_CASE("[B17] an allocation of an aperture segment alone is in no memory segment, and can always be locked") {
  fence finished;
  allocation memory{finished, {cpu_access::cached, tidemark::with_aperture_segment}, {.bytes = 8}};
  const auto held = memory.try_lock(map_mode::write);
  REQUIRE(held);
  CHECK(memory.try_commit(held) == move_status::invalid);
  CHECK(memory.try_commit(held, residence::aperture_segment) == move_status::placed);
  CHECK(memory.where(held) == residence::aperture_segment);
  CHECK(memory.unlock(held) == unlock_status::unlocked);
  CHECK(memory.try_commit(held) == move_status::invalid);
}

TEST_CASE("[B21][B29] a segment is resized at run time: locks after that are direct, and those before keep their way") {
  stand at{windowed, two_pages(cpu_access::uncached, true)};
  const auto first = at.fill(1);
  CHECK(at.memory.try_commit(first) == move_status::placed);
  const auto before = at.memory.try_lock(map_mode::write);
  REQUIRE(before.route == lock_route::through_window);
  at.segment.resize();
  const auto nested = at.memory.try_lock(map_mode::read);
  CHECK(nested.route == lock_route::through_window);
  CHECK(nested.data == before.data);
  CHECK(at.memory.unlock(nested) == unlock_status::still_locked);
  std::memset(before.data, 2, before.bytes);
  CHECK(at.memory.unlock(before) == unlock_status::unlocked);
  const auto after = at.memory.try_lock(map_mode::read);
  CHECK(after.route == lock_route::direct);
  CHECK(at.memory.where(after) == residence::memory_segment);
  CHECK(at.segment.window().free_bytes == 2 * page_bytes());
  CHECK(at.has(after, 2));
  CHECK(at.memory.unlock(after) == unlock_status::unlocked);
}

TEST_CASE("a commit of what is locked takes no page from another allocation's") {
  stand at{{.pages = 2, .cpu_visible = true}, two_pages(cpu_access::uncached, false)};
  allocation other{at.finished, segments_of(cpu_access::uncached, false, at.segment), {.bytes = 2 * page_bytes()}};
  const auto held = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.try_commit(held) == move_status::refused);
  CHECK(at.segment.free_pages() == 2);
  const auto second = other.try_lock(map_mode::write);
  CHECK(other.unlock(second) == unlock_status::unlocked);
  CHECK(other.try_commit(second) == move_status::placed);
  CHECK(at.memory.try_commit(held) == move_status::refused);  // rather than that there is no space
  CHECK(at.memory.unlock(held) == unlock_status::unlocked);
  CHECK(at.memory.try_commit(held) == move_status::no_space);
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
  allocation other{at.finished, segments_of(cpu_access::uncached, false, at.segment), {.bytes = 2 * page_bytes()}};
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
  allocation other{at.finished, segments_of(cpu_access::uncached, true, at.segment), {.bytes = 2 * page_bytes()}};
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

TEST_CASE("[B16] an address is linear, in whatever order the pages of the segment lie") {
  for (const segment_options& of :
       {segment_options{.pages = 6, .cpu_visible = true}, segment_options{.pages = 6, .window_pages = 3}}) {
    stand at{of, {.bytes = 3 * page_bytes(), .supports_aperture_segment = true}};
    std::vector<tidemark::aperture_view> others;
    for (int i = 0; i < 6; ++i) others.push_back(at.segment.places().try_map(std::vector<int>(1)));
    for (const std::size_t i : {5u, 0u, 2u}) CHECK(at.segment.places().unmap(others[i]));
    CHECK(at.memory.try_commit(at.fill(0)) == move_status::placed);
    const auto held = at.memory.try_lock(map_mode::write);
    REQUIRE(held);
    REQUIRE(at.memory.where(held) == residence::memory_segment);
    for (std::size_t i = 0; i < held.bytes; ++i) held.data[i] = static_cast<std::byte>(i % 251);
    std::vector<const std::byte*> found;
    at.memory.for_each_page(held, [&](const std::byte* page, std::size_t index) {
      found.push_back(page);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < page_bytes(); ++i)
        wrong += page[i] == static_cast<std::byte>((index * page_bytes() + i) % 251) ? 0u : 1u;
      CHECK(wrong == 0);
    });
    REQUIRE(found.size() == 3);
    const auto step = static_cast<std::ptrdiff_t>(page_bytes());
    CHECK_FALSE((found[1] - found[0] == step && found[2] - found[1] == step));
    CHECK(at.memory.unlock(held) == unlock_status::unlocked);
  }
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
        memory{finished, segments_of(access, true, segment), {.bytes = 8}, {&log}} {}

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

TEST_CASE(
    "[B37][B41] work that is named without a lock finds in memory what the processor wrote, before it is submitted") {
  cached_stand at{cpu_access::cached};
  const auto held = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.unlock(held) == unlock_status::unlocked);
  at.memory.used_until(held, 0, device_use::none);
  CHECK(at.log == std::pair{0, 0});
  at.memory.used_until(held, 1);
  CHECK(at.log == std::pair{1, 0});
  at.memory.used_until(1);
  CHECK(at.log == std::pair{1, 0});
  CHECK(at.memory.try_commit(held) == move_status::placed);  // so the caches keep nobody away any more
  at.finished.signal(1);
}

TEST_CASE("[B37][B41] work that is named while a lock to write is held finds what was written so far, each time") {
  cached_stand at{cpu_access::cached};
  for (const map_mode mode : {map_mode::no_overwrite, map_mode::write, map_mode::discard}) {
    at.log.written_back = 0;
    const auto held = at.memory.try_lock(mode);
    REQUIRE(held);
    at.memory.used_until(held, 0);
    CHECK(at.log.written_back == 1);
    at.memory.used_until(0);  // it may have written meanwhile
    CHECK(at.log.written_back == 2);
    const auto reader = at.memory.try_lock(map_mode::read);
    at.memory.used_until(reader, 0, device_use::none);
    CHECK(at.log.written_back == 2);
    CHECK(at.memory.unlock(reader, 0) == unlock_status::still_locked);
    CHECK(at.log.written_back == 3);
    CHECK(at.memory.unlock(held, 0) == unlock_status::unlocked);
    CHECK(at.log.written_back == 4);
    at.memory.used_until(held, 0);
    CHECK(at.log.written_back == 4);
  }
  const auto writer = at.memory.try_lock(map_mode::write);
  const auto reader = at.memory.try_lock(map_mode::read);
  CHECK(at.memory.unlock(writer, 0) == unlock_status::still_locked);
  CHECK(at.log.written_back == 5);
  at.memory.used_until(reader, 0);  // nobody writes any more
  CHECK(at.memory.unlock(reader, 0) == unlock_status::unlocked);
  CHECK(at.log.written_back == 5);
}

TEST_CASE("[B38][B41][B42] what work wrote that was named without a lock is invalidated by the next lock") {
  cached_stand at{cpu_access::cached};
  at.memory.used_until(1, device_use::writes);
  CHECK(at.memory.try_lock(map_mode::read).status == lock_status::busy);
  at.finished.signal(1);
  const auto held = at.memory.try_lock(map_mode::read);
  CHECK(at.log == std::pair{0, 1});
  at.memory.used_until(held, 2, device_use::writes);  // while it is locked
  at.finished.signal(2);
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::read)) == unlock_status::still_locked);
  CHECK(at.log == std::pair{0, 2});
  CHECK(at.memory.unlock(held) == unlock_status::unlocked);
}

TEST_CASE("[B48][B37] of two mappings of one allocation only that which is not coherent has caches written back") {
  cached_stand at{cpu_access::cached};
  const auto held = at.memory.try_lock(map_mode::write);
  at.memory.used_until(held, 1, device_use::reads, coherency::hardware);
  CHECK(at.memory.unlock(held, 2, device_use::reads, coherency::hardware) == unlock_status::unlocked);
  at.memory.used_until(2, device_use::reads, coherency::hardware);
  CHECK(at.log == std::pair{0, 0});
  at.memory.used_until(3, device_use::reads, coherency::software);
  CHECK(at.log == std::pair{1, 0});
  at.memory.used_until(3, device_use::reads, coherency::hardware);
  at.memory.used_until(3);
  CHECK(at.log == std::pair{1, 0});
  at.finished.signal(3);
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::write), 3) == unlock_status::unlocked);
  CHECK(at.log == std::pair{2, 0});
}

TEST_CASE(
    "[B48][B38] what work wrote through a coherent mapping is not invalidated, and is written back for the other") {
  cached_stand at{cpu_access::cached};
  at.memory.used_until(1, device_use::writes, coherency::hardware);
  CHECK(at.memory.try_lock(map_mode::read).status == lock_status::busy);
  at.memory.used_until(1, device_use::reads, coherency::hardware);
  at.finished.signal(1);
  const auto held = at.memory.try_lock(map_mode::read);
  REQUIRE(held);
  CHECK(at.log == std::pair{0, 0});
  at.memory.used_until(held, 2, device_use::reads, coherency::hardware);
  CHECK(at.log == std::pair{0, 0});
  CHECK(at.memory.unlock(held, 2) == unlock_status::unlocked);  // until now it may have been in the caches alone
  CHECK(at.log == std::pair{1, 0});

  at.memory.used_until(3, device_use::writes);
  at.finished.signal(3);
  const auto again = at.memory.try_lock(map_mode::read);
  CHECK(at.log == std::pair{1, 1});  // so that work which looks into the caches finds nothing old there
  CHECK(at.memory.unlock(again, 4, device_use::writes, coherency::hardware) == unlock_status::unlocked);
  CHECK(at.log == std::pair{1, 1});
  at.finished.signal(4);
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::write), 4) == unlock_status::unlocked);
  CHECK(at.log == std::pair{2, 1});
}

TEST_CASE("[B48][B27] a lock that may run beside work leaves open what that wrote through a coherent mapping") {
  cached_stand at{cpu_access::cached};
  at.memory.used_until(1, device_use::writes, coherency::hardware);
  const auto beside = at.memory.try_lock(map_mode::no_overwrite);
  CHECK(at.memory.unlock(beside, 1, device_use::reads, coherency::hardware) == unlock_status::unlocked);
  CHECK(at.log == std::pair{0, 0});
  at.finished.signal(1);
  CHECK(at.memory.try_commit(beside) == move_status::placed);
  const auto moved = at.memory.try_lock(map_mode::read);
  CHECK(at.memory.unlock(moved, 1) == unlock_status::unlocked);
}

TEST_CASE("[B27][B37] what a move left in system memory is written back, so that a lock of it lets the device in") {
  cached_stand at{cpu_access::cached};
  const auto held = at.memory.try_lock(map_mode::write);
  CHECK(at.memory.unlock(held) == unlock_status::unlocked);
  CHECK(at.memory.try_commit(held) == move_status::placed);
  CHECK(at.log == std::pair{0, 0});
  CHECK(at.memory.try_evict(held) == move_status::placed);
  CHECK(at.log == std::pair{1, 0});
  CHECK(at.memory.try_commit(held, residence::aperture_segment) == move_status::placed);
  CHECK(at.log == std::pair{1, 0});
}

namespace {

using interrupted_fence = tidemark::basic_progress_fence<interrupted_platform>;
using interrupted_allocation = tidemark::mapped_allocation<interrupted_fence, watched_cache>;

/// A move out of the segment, during which the locking thread writes and names work: it locks, writes and unlocks after
/// `steps` steps of the move, and names work `more` steps later.
struct named_beside_an_eviction {
  explicit named_beside_an_eviction(residence where) : to{where} {}

  void run(std::uint64_t steps, std::uint64_t more) {
    const auto first = memory.try_lock(map_mode::discard);
    CHECK(memory.unlock(first) == unlock_status::unlocked);
    REQUIRE(memory.try_commit(first) == move_status::placed);
    std::optional<interruption> later;
    interrupt([&] { static_cast<void>(move(first)); }, steps, [&] { write_and_name(more, later); });
  }
  move_status move(const interrupted_allocation::locking& of) {
    return to == residence::system_memory ? memory.try_evict(of) : memory.try_commit(of, to);
  }
  void write_and_name(std::uint64_t more, std::optional<interruption>& later) {
    const auto held = memory.try_lock(map_mode::write);
    if (!held) return;  // the move has its pin
    CHECK(memory.unlock(held) == unlock_status::unlocked);
    before = log.written_back;
    later.emplace(more, [this, held] {
      memory.used_until(held, 0);
      is_named = true;
    });
  }

  const residence to;
  int before = 0;         // how often it was written back, before work was named
  bool is_named = false;  // in the middle of the move
  watched_cache::log log;
  interrupted_fence finished;
  tidemark::device_segment<interrupted_fence> segment{
      *tidemark::device_segment<interrupted_fence>::make(finished, {.pages = 1, .cpu_visible = true})};
  interrupted_allocation memory{finished, segments_of(cpu_access::cached, true, segment), {.bytes = 8}, {&log}};
};

}  // namespace

TEST_CASE("[B27][B37] work that is named beside a move which finds nothing left to do reads what was written") {
  int named = 0;
  for (const residence to : {residence::system_memory, residence::aperture_segment}) {
    for (std::uint64_t steps = 0; steps < 24; ++steps) {
      for (std::uint64_t more = 0; more < 24; ++more) {
        named_beside_an_eviction both{to};
        both.run(steps, more);
        if (!both.is_named) continue;
        ++named;
        CAPTURE(steps);
        CAPTURE(more);
        CHECK(both.log.written_back == both.before + 1);
      }
    }
  }
  CHECK(named > 0);
}

namespace {

/// Two backings: the device moves the first one, and is held up in the middle. The second one is locked.
struct held_up_move {
  held_up_move() {
    CHECK(at.memory.unlock(first, 0, device_use::writes) == unlock_status::unlocked);
    at.log.holds_up = true;
    device.emplace([this] { moved = at.memory.try_commit(first); });
    await([this] { return at.log.is_held_up.load(); });
  }
  ~held_up_move() {
    at.log.holds_up = false;
    device->join();
    CHECK(moved == move_status::placed);
    CHECK(at.memory.unlock(second) == unlock_status::unlocked);
  }

  cached_stand at{cpu_access::cached};
  cached_allocation::locking first = at.memory.try_lock(map_mode::write);
  cached_allocation::locking second = at.memory.try_lock(map_mode::discard);
  move_status moved = move_status::invalid;
  std::optional<background> device;
};

}  // namespace

TEST_CASE("[B8][B9][B46] a move of one backing holds up no lock of another one, and a discard passes over the first") {
  held_up_move both;
  auto& memory = both.at.memory;
  for (const map_mode mode : {map_mode::read, map_mode::write, map_mode::no_overwrite}) {
    const auto nested = memory.try_lock(mode);
    CHECK(nested.data == both.second.data);
    CHECK(memory.unlock(nested) == unlock_status::still_locked);
  }
  const auto third = memory.try_lock(map_mode::discard);
  REQUIRE(third);  // the first one is idle, too
  CHECK(memory.backings() == 3);
  CHECK(memory.unlock(third) == unlock_status::unlocked);
  const auto again = memory.lock(map_mode::discard);
  CHECK(again.data == third.data);
  CHECK(memory.unlock(again) == unlock_status::unlocked);
}

TEST_CASE("[B27] a move of one backing keeps no other backing from being moved") {
  held_up_move both;
  const auto third = both.at.memory.try_lock(map_mode::discard);
  CHECK(both.at.memory.unlock(third) == unlock_status::unlocked);
  CHECK(both.at.memory.try_commit(third) == move_status::placed);
  CHECK(both.at.memory.try_commit(both.second, residence::aperture_segment) == move_status::placed);
  CHECK(both.at.memory.try_commit(both.second) == move_status::placed_in_aperture);
}

TEST_CASE("[B2] work can be named while another thread moves the backing, and is waited for") {
  held_up_move both;
  both.at.memory.used_until(both.first, 1, device_use::writes);
  both.at.log.holds_up = false;
  both.device->join();
  CHECK(both.at.memory.try_evict(both.first) == move_status::placed);
  const auto third = both.at.memory.try_lock(map_mode::discard);
  REQUIRE(third);
  CHECK(both.at.memory.backings() == 3);  // rather than the first one
  CHECK(both.at.memory.unlock(third) == unlock_status::unlocked);
  both.at.finished.signal(1);
}

TEST_CASE("[B12] a discard that finds only backings which are moved sleeps until a move is over") {
  fence finished;
  auto segment = *segment_type::make(finished, visible);
  watched_cache::log log;
  cached_allocation memory{
      finished, segments_of(cpu_access::cached, false, segment), {.bytes = 8, .max_renames = 1}, {&log}};
  const watchdog dog = watch(finished);
  const auto first = memory.try_lock(map_mode::write);
  CHECK(memory.unlock(first, 0, device_use::writes) == unlock_status::unlocked);
  log.holds_up = true;
  background device{[&] { CHECK(memory.try_commit(first) == move_status::placed); }};
  await([&] { return log.is_held_up.load(); });
  CHECK(memory.try_lock(map_mode::discard).status == lock_status::busy);
  CHECK(memory.lock_for(map_mode::discard, 0ns).status == lock_status::timeout);
  lock_status status = lock_status::invalid;
  background locking{[&] {
    const auto again = memory.lock(map_mode::discard);
    status = again.status;
    if (again) static_cast<void>(memory.unlock(again));
  }};
  CHECK(locking.falls_asleep());
  log.holds_up = false;
  device.join();
  locking.join();
  CHECK(status == lock_status::locked);
}

TEST_CASE("[B8][B9][B46] no lock is busy beside a thread that only asks for moves, none of which moves a byte") {
  stand at{{.pages = 1, .cpu_visible = true}, {.bytes = 8, .supports_aperture_segment = true}};
  allocation full{at.finished,
                  segments_of(cpu_access::uncached, false, at.segment),
                  {.bytes = 8}};  // has the only page of the segment
  const auto taken = full.try_lock(map_mode::write);
  CHECK(full.unlock(taken) == unlock_status::unlocked);
  CHECK(full.try_commit(taken) == move_status::placed);
  const auto idle = at.memory.try_lock(map_mode::discard);
  const auto held = at.memory.try_lock(map_mode::discard);
  CHECK(at.memory.unlock(idle) == unlock_status::unlocked);

  std::atomic<bool> is_done{false};
  std::atomic<int> asked{0};
  std::atomic<int> moved{0};
  background device{[&] {
    while (!is_done) {
      if (at.memory.try_commit(held) != move_status::placed_in_aperture) ++moved;
      if (at.memory.try_evict(held) != move_status::placed) ++moved;
      if (at.memory.try_commit(idle) == move_status::placed) ++moved;
      if (at.memory.try_evict(idle) != move_status::placed) ++moved;
      ++asked;
    }
  }};
  await([&] { return asked > 0; });
  int busy = 0;
  for (int i = 0; i < 20'000; ++i) {
    for (const map_mode mode : {map_mode::read, map_mode::no_overwrite, map_mode::discard}) {
      const auto made = at.memory.try_lock(mode);
      if (!made) ++busy;
      if (mode == map_mode::discard && made) CHECK(at.memory.unlock(made) == unlock_status::unlocked);
      if (mode != map_mode::discard && made) static_cast<void>(at.memory.unlock(made));
    }
  }
  is_done = true;
  device.join();
  CHECK(busy == 0);
  CHECK(moved == 0);
  CHECK(at.memory.unlock(held) == unlock_status::unlocked);
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
  CHECK(at.memory.lock_for(map_mode::write, 0ns).status == lock_status::timeout);
  CHECK(at.memory.lock(map_mode::read | map_mode::do_not_wait).status == lock_status::busy);
  CHECK(at.memory.try_commit(held) == move_status::busy);
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
