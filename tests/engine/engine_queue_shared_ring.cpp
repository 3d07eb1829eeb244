// SPDX-License-Identifier: BSL-1.0
//
// Queues of two engines that read one ring: its memory is in use until both are done with it.
#include <tidemark/engine/engine_queue.hpp>

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>

#include <tidemark/engine/engine.hpp>
#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/least_of.hpp>
#include <tidemark/fence/timeline_group.hpp>
#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/memory/upload_ring.hpp>

#include "support/watchdog.hpp"

using namespace testing;
using tidemark::wait_status;

namespace {

constexpr std::uint64_t frames = 200;

/// A queue of an engine of its own that looks at memory, and signals a fence when it has.
struct reader {
  tidemark::engine on{{.threads = 1}};
  tidemark::engine_queue queue{on};
  tidemark::fence done;
  std::atomic<int> wrong{0};

  /// Looks whether the memory has the frame's number in it.
  void read(const std::uint64_t* memory, std::uint64_t frame) {
    queue.run([this, memory, frame] {
      for (int look = 0; look < 20; ++look) {
        if (*static_cast<const volatile std::uint64_t*>(memory) != frame) ++wrong;
      }
    });
    signal(frame);
  }
  void signal(std::uint64_t frame) {
    queue.signal(done, frame);
    REQUIRE(queue.submit());
  }
};

struct two_readers {
  reader first;
  reader second;
  const watchdog alive{[] { return "two queues that read one ring hang"; }};

  void require_right() {
    CHECK(first.queue.drain() == wait_status::reached);
    CHECK(second.queue.drain() == wait_status::reached);
    CHECK(first.wrong == 0);
    CHECK(second.wrong == 0);
  }
};

}  // namespace

TEST_CASE_FIXTURE(two_readers,
                  "[B9] [B11] queues of two engines read one rename ring, of which each backing waits for both") {
  {
    tidemark::rename_ring ring{tidemark::least_of{first.done, second.done}, {.bytes = 64, .max_renames = 2}};
    for (std::uint64_t frame = 1; frame <= frames; ++frame) {
      const auto mapped = ring.map(tidemark::map_mode::discard);
      REQUIRE(mapped);
      std::memcpy(mapped.memory, &frame, sizeof frame);
      const auto* const memory = reinterpret_cast<const std::uint64_t*>(mapped.memory);
      first.read(memory, frame);
      frame % 3 == 0 ? second.signal(frame) : second.read(memory, frame);
      CHECK(ring.retire(mapped, frame));
    }
  }
  require_right();
}

TEST_CASE_FIXTURE(two_readers,
                  "[B12] queues come and go that read one upload ring, which waits for those that are there") {
  tidemark::fence given_out;
  tidemark::timeline_group readers{given_out};
  std::array<std::uint64_t, 4> buffer{};
  tidemark::upload_ring ring{readers, {.capacity = sizeof buffer}};
  std::optional<tidemark::timeline_group::membership> second_reads;
  const auto first_reads = readers.add(first.done);
  for (std::uint64_t frame = 1; frame <= frames; ++frame) {
    if (frame % 10 == 3) second_reads.emplace(readers, second.done);
    if (frame % 10 == 9) {
      CHECK(second.queue.drain() == wait_status::reached);
      second_reads.reset();
    }
    const auto part = ring.allocate(sizeof frame, alignof(std::uint64_t));
    REQUIRE(part);
    std::uint64_t* const memory = &buffer[static_cast<std::size_t>(part.offset / sizeof frame)];
    *memory = frame;
    first.read(memory, frame);
    if (second_reads) second.read(memory, frame);
    given_out.signal(frame);
    CHECK(ring.retire(frame));
  }
  require_right();
}
