// SPDX-License-Identifier: BSL-1.0
//
// What the memory of upload rings and rename rings has come to, as numbers and as text.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/memory/ring_statistics.hpp>
#include <tidemark/memory/upload_ring.hpp>

#include "support/backings.hpp"
#include "support/random.hpp"

using namespace testing;
using tidemark::map_mode;
using tidemark::rename_statistics;
using tidemark::upload_part;
using tidemark::upload_statistics;
using tidemark::writers;

namespace {

using tidemark::waste;
using lone_ring = tidemark::upload_ring<tidemark::progress_fence, writers::one, waste::counted>;
using shared_ring = tidemark::upload_ring<tidemark::progress_fence, writers::several, waste::counted>;
using one_writer = std::integral_constant<writers, writers::one>;
using several_writers = std::integral_constant<writers, writers::several>;

template <class Ring>
upload_part use(Ring& ring, std::uint64_t bytes, std::uint64_t until, std::uint64_t alignment = 1) {
  const upload_part part = ring.try_allocate(bytes, alignment);
  if constexpr (std::is_same_v<Ring, shared_ring>) {
    if (part) CHECK(ring.retire(part, until));
  } else {
    if (part) CHECK(ring.retire(until));
  }
  return part;
}

}  // namespace

TYPE_TO_STRING_AS("one writer", lone_ring);
TYPE_TO_STRING_AS("several writers", shared_ring);
TYPE_TO_STRING_AS("one writer", one_writer);
TYPE_TO_STRING_AS("several writers", several_writers);

TEST_CASE_TEMPLATE("[trap 27] an upload ring says what is in use, the most that was, and the largest part it has", Ring,
                   lone_ring, shared_ring) {
  tidemark::progress_fence finished;
  Ring ring{finished, {.capacity = 100}};
  CHECK(ring.statistics() == upload_statistics{.capacity = 100, .largest_free_run = 100});
  CHECK(use(ring, 40, 1));
  CHECK(use(ring, 30, 2));
  CHECK(ring.statistics().in_use == 70);
  CHECK(ring.statistics().most_in_use == 70);
  CHECK(ring.statistics().largest_free_run == 30);
  finished.signal(1);
  CHECK(ring.statistics().in_use == 70);  // nothing was taken back yet
  CHECK(ring.reclaim() == 40);
  CHECK(ring.statistics().in_use == 30);
  CHECK(ring.statistics().most_in_use == 70);
  CHECK(ring.statistics().largest_free_run == 40);  // 30 at the end, 40 at the beginning
  CHECK(use(ring, 40, 3).offset == 0);
  CHECK(ring.statistics().largest_free_run == 0);
  finished.signal(3);
  ring.reclaim();
  CHECK(ring.statistics().in_use == 0);
  CHECK(ring.statistics().most_in_use == 100);
  CHECK(ring.statistics().largest_free_run == 100);
  CHECK(ring.try_allocate(100));
}

TEST_CASE_TEMPLATE("[trap 27] what is passed over is counted, for alignments and at the end apart", Ring, lone_ring,
                   shared_ring) {
  tidemark::progress_fence finished;
  Ring ring{finished, {.capacity = 100}};
  CHECK(use(ring, 10, 1).offset == 0);
  CHECK(use(ring, 20, 2, 16).offset == 16);
  CHECK(use(ring, 32, 2, 32).offset == 64);  // 28 before it
  finished.signal(1);
  CHECK(use(ring, 5, 3).offset == 0);  // 4 at the end
  finished.signal(3);
  ring.reclaim();
  CHECK(ring.statistics().passed_for_alignment == 6 + 28);
  CHECK(ring.statistics().passed_at_end == 4);
}

TEST_CASE("a ring that was not asked to count what is passed over says 0, and all else as the others") {
  tidemark::progress_fence finished;
  tidemark::upload_ring alone{finished, {.capacity = 100}};
  tidemark::upload_ring<tidemark::progress_fence, writers::several> shared{finished, {.capacity = 100}};
  CHECK(alone.try_allocate(1));
  CHECK(shared.try_allocate(1));
  CHECK(alone.try_allocate(1, 16));
  CHECK(shared.try_allocate(1, 16));
  const upload_statistics now{.capacity = 100, .in_use = 17, .most_in_use = 17, .largest_free_run = 83};
  CHECK(alone.statistics() == now);
  CHECK(shared.statistics() == now);
}

TEST_CASE_TEMPLATE("a trim counts neither as use nor as bytes that were passed over", Ring, lone_ring, shared_ring) {
  tidemark::progress_fence finished;
  Ring ring{finished, {.capacity = 100, .max_records = 1}};
  for (std::uint64_t round = 1; round <= 3; ++round) {
    CHECK(use(ring, 12, round));
    finished.signal(round);
    CHECK(ring.trim(16, [](std::uint64_t) {}) == 96);
    CHECK(ring.statistics().in_use == 0);
  }
  ring.reclaim();
  CHECK(ring.statistics() == upload_statistics{.capacity = 100, .most_in_use = 12, .largest_free_run = 100});
}

TEST_CASE_TEMPLATE("[trap 27] the largest free run can be allocated, and one byte more can't, whatever came before",
                   Ring, lone_ring, shared_ring) {
  random_numbers random{7};
  for (int round = 0; round < 50; ++round) {
    tidemark::progress_fence finished;
    Ring ring{finished, {.capacity = 1 + random.below(200)}};
    std::uint64_t value = 0;
    std::uint64_t most = 0;
    for (int step = 0; step < 100; ++step) {
      static_cast<void>(use(ring, 1 + random.below(60), ++value, std::uint64_t{1} << random.below(5)));
      most = (std::max)(most, ring.bytes_in_use());
      if (random.below(3) == 0) finished.signal((std::max)(finished.current_value(), value - random.below(2)));
    }
    ring.reclaim();
    CHECK(ring.statistics().most_in_use >= most);
    CHECK(ring.statistics().most_in_use <= ring.capacity());
    const std::uint64_t run = ring.statistics().largest_free_run;
    CHECK_FALSE(ring.try_allocate(run + 1));
    if (run != 0) CHECK(ring.try_allocate(run));
  }
}

TEST_CASE("[B5] with several writers at work, the numbers stay within what they can be") {
  tidemark::progress_fence finished;
  shared_ring ring{finished, {.capacity = 1000, .max_records = 16}};
  std::atomic<bool> is_over{false};
  std::vector<std::thread> all;
  for (std::uint64_t i = 0; i < 3; ++i) {
    all.emplace_back([&, i] {
      for (int round = 0; round < 2000; ++round) static_cast<void>(use(ring, 90 + i, 0, 8));
    });
  }
  std::thread looks{[&] {
    while (!is_over) {
      const upload_statistics now = ring.statistics();
      if (now.in_use > 1000 || now.most_in_use > 1000 || now.largest_free_run > 1000) FAIL_CHECK(to_string(now));
    }
  }};
  for (std::thread& one : all) one.join();
  is_over = true;
  looks.join();
  ring.reclaim();
  CHECK(ring.statistics().in_use == 0);
  CHECK(ring.statistics().most_in_use >= 90);
  CHECK(ring.statistics().largest_free_run == 1000);
}

namespace {

/// A timeline that has reached everything. It calls something when it is looked at the next time.
struct looked_at {
  using platform = tidemark::native_platform;
  looked_at() = default;
  looked_at(const looked_at&) = delete;  // so the ring looks at this one
  looked_at& operator=(const looked_at&) = delete;
  std::uint64_t current_value() const noexcept {
    if (at_look) std::exchange(at_look, nullptr)();
    return 1000;
  }
  tidemark::wait_status wait_until(std::uint64_t, tidemark::deadline) const noexcept {
    return tidemark::wait_status::reached;
  }
  mutable std::function<void()> at_look{};
};

}  // namespace

TEST_CASE("[trap 27] a thread that comes late to take bytes back does not say that more was in use than there was") {
  looked_at finished;
  tidemark::upload_ring<looked_at, writers::several> ring{finished, {.capacity = 1000}};
  const auto use_ten = [&] { CHECK(ring.retire(ring.try_allocate(10), 1)); };
  use_ten();
  finished.at_look = [&] {
    for (int i = 0; i < 20; ++i) {
      ring.reclaim();
      use_ten();
    }
  };
  ring.reclaim();
  CHECK(ring.statistics().most_in_use == 10);
}

TEST_CASE("[trap 27] an end that was given back was in use before") {
  tidemark::progress_fence finished;
  shared_ring ring{finished, {.capacity = 100}};
  CHECK(use(ring, 20, 1));
  upload_part part = ring.try_allocate(70);
  CHECK(ring.try_shrink(part, 30));
  CHECK(ring.statistics().in_use == 50);
  CHECK(ring.statistics().most_in_use == 90);
  CHECK(ring.try_shrink(part, 0));
  CHECK(ring.statistics().most_in_use == 90);
  CHECK(ring.retire(part, 0));
}

TEST_CASE("[B43] a backing that is destroyed while another one is made was there beside it") {
  backings made;
  tidemark::progress_fence finished;
  tidemark::rename_ring<tidemark::progress_fence, counted_source, writers::several> ring{
      finished, {.bytes = 64}, counted_source{made}};
  ring.retire(ring.try_map(map_mode::discard), 1);
  const auto held = ring.try_map(map_mode::discard);
  CHECK(held);
  made.meanwhile = [&] {
    std::thread{[&] {
      finished.signal(1);
      CHECK(ring.trim(1) == 1);
    }}.join();
  };
  const auto third = ring.try_map(map_mode::discard);
  CHECK(third);
  CHECK(ring.statistics().backings == 2);
  CHECK(ring.statistics().most_backings == 3);
  ring.unmap(held);
  ring.unmap(third);
}

TEST_CASE_TEMPLATE("[B43] what the source refuses was never there, also not while it is asked", Kind, one_writer,
                   several_writers) {
  backings made{1};
  tidemark::progress_fence finished;
  tidemark::rename_ring<tidemark::progress_fence, counted_source, Kind::value> ring{
      finished, {.bytes = 64}, counted_source{made}};
  const auto held = ring.try_map(map_mode::discard);
  std::size_t most_while_asked = 0;
  made.at_refusal = [&] { most_while_asked = ring.statistics().most_backings; };
  CHECK_FALSE(ring.try_map(map_mode::discard));
  CHECK(most_while_asked == 1);
  CHECK(ring.statistics().most_backings == 1);
  ring.unmap(held);
}

TEST_CASE_TEMPLATE("[B43][B44] a rename ring says what its backings do, and how many there were", Kind, one_writer,
                   several_writers) {
  backings made{3};
  tidemark::progress_fence finished;
  tidemark::rename_ring<tidemark::progress_fence, counted_source, Kind::value> ring{
      finished, {.bytes = 64}, counted_source{made}};
  CHECK(ring.statistics() ==
        rename_statistics{.bytes_each = 64, .backings = 1, .most_backings = 1, .idle = 1, .created = 1});
  ring.retire(ring.try_map(map_mode::discard), 1);
  ring.retire(ring.try_map(map_mode::discard), 2);
  const auto held = ring.try_map(map_mode::discard);
  CHECK(held);
  CHECK_FALSE(ring.try_map(map_mode::discard));  // the source refuses
  const rename_statistics full{.bytes_each = 64,
                               .backings = 3,
                               .most_backings = 3,
                               .mapped = 1,
                               .in_use = 2,
                               .idle = 0,
                               .created = 3,
                               .destroyed = 0,
                               .refused = 1};
  CHECK(ring.statistics() == full);
  finished.signal(1);
  CHECK(ring.statistics().in_use == 1);
  CHECK(ring.statistics().idle == 1);
  CHECK(ring.trim(1) == 1);
  const rename_statistics trimmed = ring.statistics();
  CHECK(trimmed.backings == 2);
  CHECK(trimmed.most_backings == 3);
  CHECK(trimmed.destroyed == 1);
  CHECK(trimmed.idle == 0);
  const auto guest = ring.try_map(map_mode::no_overwrite);
  ring.unmap(held);
  CHECK(ring.statistics().mapped == 1);  // its guest
  ring.unmap(guest);
  CHECK(ring.statistics().mapped == 0);
  finished.signal(2);
}

TEST_CASE("statistics are printed as lines that a person can read") {
  const upload_statistics upload{1024, 640, 1008, 200, 96, 24};
  const std::string line =
      "640 of 1024 bytes in use, most 1008; largest free run 200; passed over: 96 for alignment, 24 at the end";
  CHECK(to_string(upload) == line);
  const rename_statistics renames{4096, 3, 5, 1, 1, 1, 7, 4, 0};
  const std::string other =
      "3 backings of 4096 bytes, most 5: 1 mapped, 1 in use, 1 idle; 7 created, 4 destroyed, 0 refused";
  CHECK(to_string(renames) == other);
  std::ostringstream text;
  text << upload << '|' << renames;
  CHECK(text.str() == line + '|' + other);
#if defined(__cpp_lib_format)
  CHECK(std::format("{}|{}", upload, renames) == text.str());
#endif
}
