// SPDX-License-Identifier: BSL-1.0
//
// The upload ring: what is given out, what is refused and why, and what comes back. With one writer and with several.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

#include <tidemark/memory/upload_ring.hpp>

#include "support/counted_progress.hpp"
#include "support/manual_stop.hpp"
#include "support/observed_timeline.hpp"
#include "support/poison.hpp"
#include "support/random.hpp"
#include "support/threads.hpp"
#include "support/user_timeline.hpp"
#include "support/watchdog.hpp"

using namespace testing;
using namespace std::chrono_literals;
using tidemark::upload_part;
using tidemark::upload_status;
using tidemark::writers;

namespace {

using lone_ring = tidemark::upload_ring<counted_view>;
using shared_ring = tidemark::upload_ring<counted_view, writers::several>;

template <class Ring>
struct stand {
  static constexpr bool is_shared = std::is_same_v<Ring, shared_ring>;

  explicit stand(std::uint64_t capacity, std::size_t records = 1024)
      : ring{finished.view(), {.capacity = capacity, .max_records = records}} {}

  /// Retires the part that was allocated last.
  bool retire([[maybe_unused]] const upload_part& part, std::uint64_t until) {
    if constexpr (is_shared) {
      return ring.retire(part, until);
    } else {
      return ring.retire(until);
    }
  }
  /// Allocates, and has work use the part until the given value.
  upload_part use(std::uint64_t bytes, std::uint64_t until, std::uint64_t alignment = 1) {
    const upload_part part = ring.try_allocate(bytes, alignment);
    if (part) CHECK(retire(part, until));
    return part;
  }

  counted_fence finished;
  Ring ring;
};

}  // namespace

TYPE_TO_STRING_AS("one writer", lone_ring);
TYPE_TO_STRING_AS("several writers", shared_ring);

// ---- what is given out ---------------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[B4] parts do not overlap after 2^64 bytes, whatever the capacity", Kind, lone_ring, shared_ring) {
  for (const std::uint64_t capacity : {std::uint64_t{3} << 60, (std::uint64_t{1} << 62) - 1, std::uint64_t{5} << 59}) {
    CAPTURE(capacity);
    stand<Kind> at{capacity};
    const std::uint64_t bytes = capacity / 3 - 1;
    upload_part before = at.use(bytes, 1);
    for (std::uint64_t i = 2; i < 100; ++i) {  // more than five times 2^64 bytes
      const upload_part part = at.use(bytes, i);
      REQUIRE(part);
      CHECK(part.offset <= capacity - bytes);
      CHECK((part.offset + bytes <= before.offset || before.offset + bytes <= part.offset));
      at.finished.signal(i - 1);
      if (i % 10 == 0) static_cast<void>(at.ring.trim(std::uint64_t{1} << 58, [](std::uint64_t) {}));
      before = part;
    }
  }
}

TEST_CASE_TEMPLATE("parts follow each other, each at its alignment", Ring, lone_ring, shared_ring) {
  stand<Ring> at{1024};
  CHECK(at.use(10, 1).offset == 0);
  CHECK(at.use(10, 1).offset == 10);
  CHECK(at.use(10, 1, 16).offset == 32);
  CHECK(at.use(1, 1, 512).offset == 512);
  CHECK(at.use(1, 1).offset == 513);
  CHECK(at.ring.bytes_in_use() == 514);
}

TEST_CASE_TEMPLATE(
    "[trap 27] a part never lies across the end: the rest there is passed over, and comes back with the part", Ring,
    lone_ring, shared_ring) {
  stand<Ring> at{100};
  CHECK(at.use(40, 1).offset == 0);
  CHECK(at.use(40, 2).offset == 40);
  at.finished.signal(1);
  const upload_part wrapped = at.use(30, 3);
  CHECK(wrapped.offset == 0);
  CHECK(at.ring.bytes_in_use() == 40 + 20 + 30);
  CHECK(at.use(11, 4).status == upload_status::busy);
  CHECK(at.use(10, 4).offset == 30);
  CHECK(at.ring.bytes_in_use() == 100);
  at.finished.signal(2);
  at.ring.reclaim();
  CHECK(at.ring.bytes_in_use() == 20 + 30 + 10);
  at.finished.signal(4);
  CHECK(at.ring.reclaim() == 60);
  CHECK(at.ring.bytes_in_use() == 0);
}

TEST_CASE_TEMPLATE("[trap 27] of an empty ring the whole capacity can be had, wherever its head stands", Ring,
                   lone_ring, shared_ring) {
  stand<Ring> at{100};
  for (std::uint64_t first = 1; first <= 100; ++first) {
    CHECK(at.use(first, 0));
    at.ring.reclaim();
    CHECK(at.ring.bytes_in_use() == 0);
    const upload_part whole = at.use(100, 0);
    CHECK(whole);
    CHECK(whole.offset == 0);
    at.ring.reclaim();
  }
}

TEST_CASE_TEMPLATE("[trap 27] a full ring is not taken for an empty one, nor an empty one for a full one", Ring,
                   lone_ring, shared_ring) {
  stand<Ring> at{64};
  CHECK(at.use(64, 1));
  CHECK(at.ring.bytes_in_use() == 64);
  CHECK(at.use(1, 1).status == upload_status::busy);
  at.finished.signal(1);
  CHECK(at.use(64, 2));
  CHECK(at.use(64, 2).status == upload_status::busy);
}

// ---- what is refused, and why --------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("what can never be had is refused at once by all forms, and changes nothing", Ring, lone_ring,
                   shared_ring) {
  stand<Ring> at{64};
  for (const bool waits : {false, true}) {
    const auto ask = [&](std::uint64_t bytes, std::uint64_t alignment) {
      return waits ? at.ring.allocate(bytes, alignment).status : at.ring.try_allocate(bytes, alignment).status;
    };
    CHECK(ask(65, 1) == upload_status::too_large);
    CHECK(ask(UINT64_MAX, 1) == upload_status::too_large);
    CHECK(ask(0, 1) == upload_status::invalid);
    CHECK(ask(1, 0) == upload_status::invalid);
    CHECK(ask(1, 3) == upload_status::invalid);
  }
  CHECK(at.ring.bytes_in_use() == 0);
  CHECK(at.use(64, 1, std::uint64_t{1} << 63).offset == 0);  // at the beginning everything is aligned
}

TEST_CASE(
    "with several writers, try_allocate() returns no_space until the oldest part is retired, and busy from then on") {
  stand<shared_ring> at{64};
  const upload_part oldest = at.ring.try_allocate(32);
  CHECK(at.use(32, 1));
  at.finished.signal(1);
  CHECK(at.ring.try_allocate(1).status == upload_status::no_space);
  CHECK(at.ring.allocate_for(1, 1, 1ms).status == upload_status::timeout);
  at.ring.retire(oldest, 2);
  CHECK(at.ring.try_allocate(1).status == upload_status::busy);
  at.finished.signal(2);
  CHECK(at.ring.allocate(1, 1));
}

TEST_CASE("[B12] with one writer, all forms return no_space until a batch is retired, and busy from then on") {
  stand<lone_ring> at{64};
  CHECK(at.ring.try_allocate(32));
  CHECK(at.ring.try_allocate(32));
  CHECK(at.ring.try_allocate(1).status == upload_status::no_space);
  CHECK(at.ring.allocate(1, 1).status == upload_status::no_space);
  CHECK(at.ring.allocate_for(1, 1, 24h).status == upload_status::no_space);
  at.ring.retire(1);
  CHECK(at.ring.try_allocate(1).status == upload_status::busy);
  at.finished.signal(1);
  CHECK(at.ring.allocate_for(1, 1, 24h));
}

TEST_CASE("open parts that leave no room give no_space, also after every batch has come back") {
  stand<lone_ring> at{64};
  CHECK(at.use(16, 1));
  CHECK(at.ring.try_allocate(48));
  CHECK(at.ring.try_allocate(32).status == upload_status::busy);
  at.finished.signal(1);
  CHECK(at.ring.try_allocate(32).status == upload_status::no_space);
  CHECK(at.ring.try_allocate(16));
}

TEST_CASE("no more parts are given out than there are records, however small the parts are") {
  stand<shared_ring> at{1024, 3};  // rounded up to 4
  for (int i = 0; i < 4; ++i) CHECK(at.use(1, 1));
  CHECK(at.use(1, 1).status == upload_status::busy);
  at.finished.signal(1);
  CHECK(at.use(1, 2).offset == 4);
}

TEST_CASE("batches beyond the number of records join the newest record, and none comes back too early") {
  stand<lone_ring> at{1024, 3};  // rounded up to 4
  for (std::uint64_t until = 1; until <= 4; ++until) CHECK(at.use(10, until));
  CHECK(at.use(10, 9));
  CHECK(at.use(10, 5));
  at.finished.signal(8);
  CHECK(at.ring.reclaim() == 30);
  at.finished.signal(9);
  CHECK(at.ring.reclaim() == 30);
}

TEST_CASE("[trap 27] a batch that joins another one which lies across the end lies across the end, too") {
  stand<lone_ring> at{100, 1};
  CHECK(at.use(40, 1));
  at.finished.signal(1);
  CHECK(at.ring.try_allocate(20).offset == 40);  // one open part, so that the ring does not begin anew
  at.ring.reclaim();
  CHECK(at.ring.try_allocate(40).offset == 60);
  CHECK(at.ring.try_allocate(10).offset == 0);
  at.ring.retire(2);  // the only batch: across the end
  CHECK(at.use(10, 3).offset == 10);
  CHECK(at.ring.try_allocate(5).offset == 20);
  at.finished.signal(3);
  CHECK(at.ring.reclaim() == 80);
  CHECK(at.ring.bytes_in_use() == 5);
  CHECK(at.ring.try_allocate(75).offset == 25);
}

// ---- what comes back -----------------------------------------------------------------------------------------------

TEST_CASE("[B4][trap 27] bytes come back in the order of the parts, in whatever order the parts are finished") {
  stand<shared_ring> at{30};
  const upload_part first = at.ring.try_allocate(10);
  const upload_part second = at.ring.try_allocate(10);
  const upload_part third = at.ring.try_allocate(10);
  at.ring.retire(third, 1);
  at.ring.retire(second, 2);
  at.finished.signal(2);
  CHECK(at.ring.reclaim() == 0);
  at.ring.retire(first, 3);
  CHECK(at.ring.reclaim() == 0);
  at.finished.signal(3);
  CHECK(at.ring.reclaim() == 30);
  CHECK(at.ring.reclaim() == 0);
}

TEST_CASE("[B4] all parts since the last retire() are one batch, which comes back as a whole") {
  stand<lone_ring> at{100};
  CHECK(at.ring.try_allocate(10));
  CHECK(at.ring.try_allocate(10));
  CHECK(at.ring.retire(1));
  CHECK_FALSE(at.ring.retire(7));  // nothing was allocated since
  CHECK(at.use(10, 2));
  at.finished.signal(1);
  CHECK(at.ring.reclaim() == 20);
  at.finished.signal(2);
  CHECK(at.ring.reclaim() == 10);
}

// ---- what is given back early ------------------------------------------------------------------------------------

TEST_CASE_TEMPLATE("[trap 27] the newest part gives its end back, and the next part begins there", Ring, lone_ring,
                   shared_ring) {
  stand<Ring> at{100};
  upload_part first = at.ring.try_allocate(60);
  CHECK(at.ring.try_allocate(50).status == upload_status::no_space);
  CHECK(at.ring.try_shrink(first, 20));
  CHECK(first.bytes == 20);
  CHECK(at.ring.bytes_in_use() == 20);
  upload_part second = at.ring.try_allocate(50, 16);
  CHECK(second.offset == 32);
  CHECK_FALSE(at.ring.try_shrink(first, 10));  // not the newest any more
  CHECK(first.bytes == 20);
  CHECK(at.ring.try_shrink(second, 40));
  CHECK(at.ring.try_shrink(second, 40));  // nothing less
  CHECK(at.ring.try_shrink(second, 18));  // once more
  CHECK(at.ring.try_allocate(50).offset == 50);
}

TEST_CASE_TEMPLATE("[trap 27] a part that has shrunk comes back as a whole, and so does a ring full of them", Ring,
                   lone_ring, shared_ring) {
  stand<Ring> at{100, 4};
  for (std::uint64_t round = 1; round <= 50; ++round) {
    upload_part part = at.ring.try_allocate(100 - round);
    REQUIRE(part);
    REQUIRE(at.ring.try_shrink(part, round % 30));
    at.retire(part, round);
    CHECK(at.ring.statistics().most_in_use >= 99);
    at.finished.signal(round);
    at.ring.reclaim();
    CHECK(at.ring.bytes_in_use() == 0);
  }
  CHECK(at.use(100, 51));
}

TEST_CASE_TEMPLATE("[trap 27] a part behind the end of the ring shrinks like any other, to nothing, too", Ring,
                   lone_ring, shared_ring) {
  stand<Ring> at{100};
  CHECK(at.use(50, 1));
  CHECK(at.use(40, 2));
  at.finished.signal(1);
  upload_part part = at.ring.try_allocate(30);
  CHECK(part.offset == 0);
  CHECK(at.ring.try_shrink(part, 10));
  CHECK(at.ring.try_allocate(41).status == upload_status::busy);
  CHECK(at.ring.try_shrink(part, 0));
  CHECK(part);
  CHECK(part.bytes == 0);
  CHECK(at.ring.try_shrink(part, 0));
  at.retire(part, 3);
  at.finished.signal(3);
  at.ring.reclaim();
  CHECK(at.ring.bytes_in_use() == 0);
  CHECK(at.use(100, 4));
}

TEST_CASE("a batch whose only part has shrunk to nothing is none") {
  stand<lone_ring> at{100};
  upload_part part = at.ring.try_allocate(10);
  CHECK(at.ring.try_shrink(part, 0));
  CHECK_FALSE(at.ring.retire(1));
  CHECK(at.use(100, 1));
  CHECK_FALSE(at.ring.try_shrink(part, 0));  // there is no open part
}

TEST_CASE("[B12] a thread that waits for room gets what another one gives back before it retires") {
  stand<shared_ring> at{64};
  upload_part part = at.ring.try_allocate(64);
  upload_part other;
  background waiting{[&] { other = at.ring.allocate(32, 1); }};
  CHECK(waiting.falls_asleep());
  CHECK(at.ring.try_shrink(part, 32));
  waiting.join();
  CHECK(other.offset == 32);
  CHECK_FALSE(at.ring.try_shrink(part, 0));
  at.ring.retire(other, 0);
  at.ring.retire(part, 0);
  CHECK(at.ring.reclaim() == 64);
}

TEST_CASE("[B5] several threads reserve, write, give the rest back and retire: no byte has two owners, none is lost") {
  constexpr std::uint64_t bytes = 512;
  tidemark::fence finished;
  tidemark::upload_ring<tidemark::fence_view, writers::several> ring{finished.view(),
                                                                     {.capacity = bytes, .max_records = 8}};
  std::array<std::atomic<std::uint32_t>, bytes> owner{};
  std::atomic<int> shrunk{0};
  std::vector<std::thread> all;
  for (std::uint32_t self = 1; self <= 3; ++self) {
    all.emplace_back([&, self] {
      random_numbers random{self};
      for (int round = 0; round < 3000; ++round) {
        upload_part part = ring.allocate(1 + random.below(200), 1);
        const std::uint64_t left = random.below(part.bytes + 1);
        if (ring.try_shrink(part, left)) ++shrunk;
        const std::span owned{owner.data() + part.offset, static_cast<std::size_t>(part.bytes)};
        for (auto& each : owned) {
          if (each.exchange(self, std::memory_order_relaxed) != 0) FAIL_CHECK("two owners");
        }
        for (auto& each : owned) each.store(0, std::memory_order_relaxed);
        ring.retire(part, 0);
      }
    });
  }
  for (std::thread& one : all) one.join();
  CHECK(shrunk > 0);
  ring.reclaim();
  CHECK(ring.bytes_in_use() == 0);
  CHECK(ring.try_allocate(bytes));
}

TEST_CASE_TEMPLATE("an idle ring can be trimmed in pieces, and used as before", Ring, lone_ring, shared_ring) {
  stand<Ring> at{1024 + 100};
  for (std::uint64_t round = 1; round <= 3; ++round) {
    std::vector<std::uint64_t> released;
    const auto release = [&](std::uint64_t offset) { released.push_back(offset); };
    CHECK(at.ring.trim(256, release) == 1024);
    CHECK(released == std::vector<std::uint64_t>{0, 256, 512, 768});
    CHECK(at.ring.trim(2048, release) == 0);
    CHECK(at.use(1000, round));
    CHECK(at.ring.trim(1024, release) == 0);
    CHECK(at.ring.bytes_in_use() == 1000);
    at.finished.signal(round);
  }
  CHECK(at.use(1024 + 100, 3));
}

TEST_CASE("with one writer, the free rest of a ring in use can be trimmed") {
  stand<lone_ring> at{1024};
  const auto trimmed = [&] {
    std::vector<std::uint64_t> released;
    const std::uint64_t bytes = at.ring.trim(256, [&](std::uint64_t offset) { released.push_back(offset); });
    CHECK(bytes == released.size() * 256);
    std::sort(released.begin(), released.end());
    return released;
  };
  CHECK(at.use(256, 1));
  CHECK(at.use(257, 2, 256));
  CHECK(trimmed() == std::vector<std::uint64_t>{768});
  at.finished.signal(1);
  CHECK(trimmed() == std::vector<std::uint64_t>{0, 768});
  CHECK(at.use(512, 3).status == upload_status::busy);
  CHECK(at.use(256, 3, 256).offset == 768);
  CHECK(at.ring.try_allocate(1));  // open, and stays open
  CHECK(trimmed().empty());
  at.ring.retire(4);
  at.finished.signal(3);
  CHECK(trimmed() == std::vector<std::uint64_t>{256, 512, 768});
}

TEST_CASE("a thread that needs room while another one trims waits for the trim, and does not get no_space") {
  stand<shared_ring> at{64};
  upload_part part;
  upload_status at_deadline{};
  std::optional<background> waiting;
  CHECK(at.ring.trim(64, [&](std::uint64_t) {
    std::thread{[&] {
      CHECK(at.ring.bytes_in_use() == 64);
      CHECK(at.ring.try_allocate(1).status == upload_status::busy);
      at_deadline = at.ring.allocate_for(1, 1, 1ms).status;
    }}.join();
    waiting.emplace([&] { part = at.ring.allocate(64, 1); });
    CHECK(waiting->falls_asleep());
  }) == 64);
  waiting->join();
  CHECK(part);
  CHECK(at_deadline == upload_status::timeout);
  CHECK(at.ring.try_allocate(1).status == upload_status::no_space);
  at.ring.retire(part, 0);
}

TEST_CASE("a trim that finds the ring in use makes no other thread wait for it") {
  stand<shared_ring> at{64};
  const upload_part open = at.ring.try_allocate(64);
  CHECK(at.ring.trim(64, [](std::uint64_t) {}) == 0);
  CHECK(at.ring.try_allocate(1).status == upload_status::no_space);
  at.ring.retire(open, 0);
}

TEST_CASE_TEMPLATE("what release() throws passes through trim(), and the ring is as before", Ring, lone_ring,
                   shared_ring) {
  stand<Ring> at{64};
  CHECK(at.use(48, 0));
  for (int round = 0; round < 3; ++round) {
    int released = 0;
    CHECK_THROWS_AS(at.ring.trim(16,
                                 [&](std::uint64_t) {
                                   if (++released == 2) throw 7;
                                 }),
                    int);
    CHECK(released == 2);
    at.ring.reclaim();
    CHECK(at.ring.bytes_in_use() == 0);
  }
  CHECK(at.ring.trim(16, [](std::uint64_t) {}) == 64);
  const upload_part whole = at.ring.allocate(64, 1);
  CHECK(whole);
  at.retire(whole, 0);
}

TEST_CASE_TEMPLATE("[B12] a wait for room parks until the oldest part is free, with one heavy barrier", Ring, lone_ring,
                   shared_ring) {
  stand<Ring> at{64};
  CHECK(at.use(64, 5));
  const meter<counted> during;
  upload_part part;
  background waiting{[&] { part = at.ring.allocate(64, 1); }};
  CHECK(waiting.falls_asleep());
  at.finished.signal(4);
  CHECK(waiting.falls_asleep());
  at.finished.signal(5);
  waiting.join();
  CHECK(part);
  CHECK(during.parks() >= 1);
  CHECK(during.heavy_barriers() == 1);
}

TEST_CASE_TEMPLATE("a wait for room ends at its deadline or when it is stopped, and changes nothing", Ring, lone_ring,
                   shared_ring) {
  stand<Ring> at{64};
  CHECK(at.use(64, 5));
  const auto start = std::chrono::steady_clock::now();
  CHECK(at.ring.allocate_for(1, 1, 3ms).status == upload_status::timeout);
  CHECK(std::chrono::steady_clock::now() - start >= 3ms);
  CHECK(at.ring.allocate_until(1, 1, std::chrono::system_clock::now() + 2ms).status == upload_status::timeout);
  CHECK(at.ring.allocate_until(1, 1, std::chrono::steady_clock::now()).status == upload_status::timeout);
  CHECK(at.ring.allocate_for(1, 1, 0s).status == upload_status::timeout);
  // The alignment has the same default as in the other forms.
  CHECK(at.ring.allocate_for(1, 1ms).status == upload_status::timeout);
  CHECK(at.ring.allocate_until(1, std::chrono::steady_clock::now()).status == upload_status::timeout);
  manual_stop stop;
  upload_part part;
  background waiting{[&] { part = at.ring.allocate(1, 1, stop.get_token()); }};
  CHECK(waiting.falls_asleep());
  stop.request();
  waiting.join();
  CHECK(part.status == upload_status::stopped);
  CHECK(at.ring.allocate_for(1, 1, 24h, stop.get_token()).status == upload_status::stopped);
  CHECK(at.ring.allocate_for(1, 24h, stop.get_token()).status == upload_status::stopped);
  const auto tomorrow = std::chrono::system_clock::now() + 24h;
  CHECK(at.ring.allocate_until(1, tomorrow, stop.get_token()).status == upload_status::stopped);
  CHECK(at.ring.bytes_in_use() == 64);
}

TEST_CASE_TEMPLATE("[A120] once the fence is poisoned nothing is in use any more, and waiting allocations succeed",
                   Ring, lone_ring, shared_ring) {
  for (const std::uint64_t until : {std::uint64_t{5}, UINT64_MAX}) {
    CAPTURE(until);
    stand<Ring> at{64};
    CHECK(at.use(64, until));
    upload_part part;
    background waiting{[&] { part = at.ring.allocate(64, 1); }};
    CHECK(waiting.falls_asleep());
    at.finished.poison();
    waiting.join();
    CHECK(part);
  }
}

// ---- the state of a ring -------------------------------------------------------------------------------------------

namespace {

/// A platform whose double words run a hook each time that one half is loaded.
struct looked_at : counted {
  static inline hook at_load_value;

  class double_word : public counted::double_word {
   public:
    using counted::double_word::double_word;
    std::uint64_t load_value(std::memory_order order) const noexcept {
      const std::uint64_t found = counted::double_word::load_value(order);
      at_load_value.run();
      return found;
    }
  };
};

}  // namespace

TEST_CASE("bytes_in_use() is never greater than the capacity, whatever other threads do between its two loads") {
  tidemark::basic_progress_fence<looked_at> finished;
  tidemark::upload_ring<tidemark::basic_progress_fence<looked_at>, writers::several> ring{finished, {.capacity = 100}};
  ring.retire(ring.try_allocate(60), 0);
  looked_at::at_load_value = [&] {
    for (int i = 0; i < 5; ++i) ring.retire(ring.try_allocate(60), 0);
  };
  CHECK(ring.bytes_in_use() <= 100);
  CHECK(looked_at::at_load_value.has_run());
}

TEST_CASE_TEMPLATE(
    "a ring has at least one record, and the constructor throws where there is no memory for the records", Ring,
    lone_ring, shared_ring) {
  stand<Ring> at{64, 0};
  CHECK(at.use(1, 0));
  CHECK(at.use(1, 0));
  // A compiler may leave out memory that nothing uses, and clang does. So the ring that is not made would be used.
  const auto make_and_use = [](std::size_t records) {
    stand<Ring> made{64, records};
    stand<Ring>* volatile used = &made;
    return used->use(1, 0);
  };
#if TESTING_HAS_ASAN && defined(__clang__)
  static_cast<void>(make_and_use);  // its operator new ends the program instead of throwing
#else
  for (const std::size_t records : {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 2}) {
    CHECK_THROWS_AS(static_cast<void>(make_and_use(records)), std::bad_alloc);
  }
#endif
}

TEST_CASE_TEMPLATE("make() returns a ring, or nothing where there is no memory for the records", Ring, lone_ring,
                   shared_ring) {
  counted_fence finished;
  auto made = Ring::make(finished.view(), {.capacity = 64, .max_records = 1});
  REQUIRE(made);
  CHECK(made->capacity() == 64);
  CHECK(made->try_allocate(64));
  CHECK(made->try_allocate(1).status == upload_status::no_space);
  for (const std::size_t records : {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 2, SIZE_MAX / 64}) {
    if (records <= (std::size_t{1} << 30)) continue;  // so many may fit into 4 GiB
    CHECK_FALSE(Ring::make(finished.view(), {.capacity = 64, .max_records = records}).has_value());
  }
}

// ---- any timeline --------------------------------------------------------------------------------------------------

namespace {

using own_lone_ring = tidemark::upload_ring<observed_timeline>;
using own_shared_ring = tidemark::upload_ring<observed_timeline, writers::several>;

}  // namespace

TYPE_TO_STRING_AS("one writer", own_lone_ring);
TYPE_TO_STRING_AS("several writers", own_shared_ring);

TEST_CASE("a ring follows a fence, a view or a timeline of the program's own, and its type is deduced") {
  const tidemark::progress_fence uploads;
  const user_timeline mine;
  tidemark::upload_ring by_fence{uploads, {.capacity = 8}};
  tidemark::upload_ring by_view{uploads.view(), {.capacity = 8}};
  tidemark::upload_ring by_own{mine, {.capacity = 8}};
  static_assert(std::is_same_v<decltype(by_fence), tidemark::upload_ring<tidemark::progress_fence>>);
  static_assert(std::is_same_v<decltype(by_view), tidemark::upload_ring<>>);
  static_assert(std::is_same_v<decltype(by_own), tidemark::upload_ring<user_timeline>>);
  CHECK(by_fence.allocate(8));
  CHECK(by_view.allocate(8));
  CHECK(by_own.allocate(8));
}

TEST_CASE_TEMPLATE("[B5][B12] a ring that follows a timeline of the program's own gives out, refuses and waits", Ring,
                   own_lone_ring, own_shared_ring) {
  observed_timeline finished;
  Ring ring{finished, {.capacity = 64}};
  const auto retire = [&]([[maybe_unused]] const upload_part& part, std::uint64_t until) {
    if constexpr (requires { ring.retire(part, until); }) {
      return ring.retire(part, until);
    } else {
      return ring.retire(until);
    }
  };
  CHECK(retire(ring.allocate(64), 1));
  CHECK(ring.try_allocate(1).status == upload_status::busy);
  CHECK(ring.allocate_for(1, 1, 1ms).status == upload_status::timeout);
  CHECK(ring.allocate_until(1, 1, std::chrono::system_clock::now()).status == upload_status::timeout);

  manual_stop stop;
  unsigned waits = finished.waits();
  background stopped{[&] { CHECK(ring.allocate(1, 1, stop.get_token()).status == upload_status::stopped); }};
  finished.await_waits(waits + 1);
  stop.request();
  stopped.join();

  for (const bool is_lost : {false, true}) {
    waits = finished.waits();
    background waiting{[&] {
      const upload_part part = ring.allocate(64);
      CHECK(part.offset == 0);
      CHECK(retire(part, 2));
    }};
    finished.await_waits(waits + 1);
    is_lost ? finished.lose() : finished.signal(1);
    waiting.join();
  }
  CHECK(ring.reclaim() == 64);
}

// ---- against a model, and under load -------------------------------------------------------------------------------

TEST_CASE_TEMPLATE(
    "[trap 27] random parts never overlap, and parts are refused only if they don't fit, by a naive model", Ring,
    lone_ring, shared_ring) {
  random_numbers numbers{fresh_seed()};
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t capacity = 1 + numbers.below(200);
    const std::size_t most_parts = stand<Ring>::is_shared ? 8 : 256;  // with one thread, more would be joined
    stand<Ring> at{capacity, most_parts};
    struct live {
      upload_part part;
      std::uint64_t from;  // with what was passed over
      std::uint64_t until;
    };
    std::deque<live> parts;
    std::uint64_t head = 0;
    std::uint64_t now = 0;
    for (int step = 0; step < 200; ++step) {
      if (numbers.below(3) == 0) {
        now += numbers.below(3);
        at.finished.signal(now);
      }
      while (!parts.empty() && parts.front().until <= now) parts.pop_front();
      if (!stand<Ring>::is_shared) {
        at.ring.reclaim();
        if (parts.empty()) head = 0;
      }
      const std::uint64_t bytes = 1 + numbers.below(capacity);
      const std::uint64_t alignment = std::uint64_t{1} << numbers.below(6);
      const std::uint64_t until = now + numbers.below(4);
      std::uint64_t start = head;
      while (start % capacity % alignment != 0 || start % capacity + bytes > capacity) ++start;
      const std::uint64_t from = parts.empty() ? start : parts.front().from;
      const bool fits = start + bytes - from <= capacity && parts.size() < most_parts;
      const upload_part part = at.use(bytes, until, alignment);
      REQUIRE(static_cast<bool>(part) == fits);
      if (!fits) continue;
      REQUIRE(part.offset == start % capacity);
      parts.push_back({part, head, until});
      head = start + bytes;
    }
  }
}

TEST_CASE("[B5] with several threads that allocate, no byte is written that is still read, and every byte comes back") {
  constexpr std::uint64_t capacity = 4096;
  constexpr std::uint64_t rounds = 20'000;
  tidemark::fence finished;
  tidemark::upload_ring<tidemark::fence, writers::several> ring{finished, {.capacity = capacity, .max_records = 64}};
  std::vector<std::uint8_t> buffer(capacity);
  std::atomic<std::uint64_t> torn{0};
  const auto dog = watch(finished);
  // Each thread writes a part, hands it to itself as executor a little later, checks it, and signals.
  const auto body = [&](std::uint8_t mark) {
    random_numbers numbers{mark};
    std::uint64_t refused = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const upload_part part = ring.try_allocate(1 + numbers.below(700), 8);
      if (!part) {
        ++refused;
        std::this_thread::yield();
        continue;
      }
      std::memset(buffer.data() + part.offset, mark, static_cast<std::size_t>(part.bytes));
      std::uint64_t wrong = 0;
      for (std::uint64_t i = 0; i < part.bytes; ++i)
        wrong += buffer[static_cast<std::size_t>(part.offset + i)] == mark ? 0U : 1U;
      if (wrong != 0) torn.fetch_add(1);
      CHECK(ring.retire(part, finished.signal_next()));
    }
    return refused;
  };
  std::vector<std::thread> threads;
  for (std::uint8_t mark = 1; mark <= 3; ++mark) threads.emplace_back([&, mark] { body(mark); });
  for (std::thread& thread : threads) thread.join();
  CHECK(torn == 0);
  ring.reclaim();
  CHECK(ring.bytes_in_use() == 0);
}

namespace {

/// A platform whose heavy barrier is refused from some moment on, and said to be: so the copy of the headers finds it
/// that a library has which is loaded later than that. It notes whether the first sleep has a time limit.
struct lately_unavailable : tidemark::native_platform {
  using base = tidemark::native_platform;
  static inline std::atomic<bool> is_refused{false};
  enum class sleep { none, limited, unlimited };
  static inline std::atomic<sleep> first{sleep::none};

  static bool heavy_barrier() noexcept { return base::heavy_barrier() && !is_refused; }
  static bool heavy_barrier_available() noexcept { return base::heavy_barrier_available() && !is_refused; }
  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) noexcept {
    sleep before = sleep::none;
    first.compare_exchange_strong(before, until == tidemark::no_deadline ? sleep::unlimited : sleep::limited);
    return base::park(word, expected, until);
  }
};

}  // namespace

TEST_CASE("[A34] who waits for space looks again where the barrier is refused on which the ring or the fence relies") {
  if (!tidemark::native_platform::asymmetric || !tidemark::native_platform::heavy_barrier_available()) return;
  using fence = tidemark::basic_progress_fence<lately_unavailable>;
  using ring = tidemark::upload_ring<fence, tidemark::writers::several>;
  for (const bool is_late_for_fence : {false, true}) {
    for (const bool is_late_for_ring : {false, true}) {
      CAPTURE(is_late_for_fence);
      CAPTURE(is_late_for_ring);
      lately_unavailable::is_refused = !is_late_for_fence;
      fence done;
      lately_unavailable::is_refused = !is_late_for_ring;
      ring memory{done, {.capacity = 64}};
      lately_unavailable::is_refused = true;
      lately_unavailable::first = lately_unavailable::sleep::none;
      REQUIRE(memory.retire(memory.try_allocate(64, 16), 1));
      std::thread waiter([&] { CHECK(memory.allocate(64, 16)); });
      while (lately_unavailable::first == lately_unavailable::sleep::none) std::this_thread::yield();
      done.signal(1);
      waiter.join();
      const bool is_limited = lately_unavailable::first == lately_unavailable::sleep::limited;
      CHECK(is_limited == (is_late_for_fence || is_late_for_ring));
    }
  }
}
