// SPDX-License-Identifier: BSL-1.0
//
// Misuse of the blocks that look after memory in flight is reported through TIDEMARK_ASSERT.
#include "support/misuse_hook.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <tidemark/memory/coherency_tracker.hpp>
#include <tidemark/memory/growing_upload_ring.hpp>
#include <tidemark/memory/host_aperture.hpp>
#include <tidemark/memory/lock_decision.hpp>
#include <tidemark/memory/loop_retire_queue.hpp>
#include <tidemark/memory/mapped_allocation.hpp>
#include <tidemark/memory/mapped_view.hpp>
#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/memory/retire_queue.hpp>
#include <tidemark/memory/upload_ring.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/segments.hpp"

using namespace testing;

namespace {

const tidemark::progress_fence& finished() {
  static const tidemark::progress_fence fence{1};
  return fence;
}

struct no_cache {
  void write_back(std::uint64_t, std::uint64_t) {}
  void invalidate(std::uint64_t, std::uint64_t) {}
};
using tracker = tidemark::coherency_tracker<tidemark::progress_fence, no_cache>;
using shared_ring = tidemark::upload_ring<tidemark::progress_fence, tidemark::writers::several>;

const std::vector<int> one_page{0};

}  // namespace

TEST_CASE("[B46] a rename ring reports a value that it can't keep, and returns false for an unmatched retire") {
  CHECK(reported_by([] {
          tidemark::rename_ring ring{finished(), {.bytes = 1}};
          ring.retire(ring.map(tidemark::map_mode::discard), UINT64_MAX);
        }) == "a rename ring keeps values less than 2^64 - 2^33 - 1");
  CHECK(reported_by([] {
          tidemark::rename_ring ring{finished(), {.bytes = 1}};
          const auto mapped = ring.map(tidemark::map_mode::discard);
          ring.unmap(mapped);
          ring.unmap(mapped);
          ring.unmap({});
        }) == "");
}

TEST_CASE("[B45] a backing without bytes, an alignment that is no power of two, and too many guests are reported") {
  const std::string traits = "a backing on the heap must have some bytes, and an alignment that is a power of two";
  CHECK(reported_by([] { tidemark::rename_ring{finished(), {.bytes = 0}}; }) == traits);
  // Volatile, because the optimizer of clang 14 crashes at a call of operator new with such a constant.
  for (const volatile std::size_t alignment : {std::size_t{0}, std::size_t{48}}) {
    CHECK(reported_by([&] { tidemark::rename_ring{finished(), {.bytes = 8, .alignment = alignment}}; }) == traits);
  }
  CHECK(reported_by([] {
          tidemark::rename_ring ring{finished(), {.bytes = 1}};
          for (int i = 0; i < 0x8000; ++i) static_cast<void>(ring.try_map(tidemark::map_mode::no_overwrite));
        }) == "");
  CHECK(reported_by([] {
          tidemark::rename_ring ring{finished(), {.bytes = 1}};
          for (int i = 0; i <= 0x8000; ++i) static_cast<void>(ring.try_map(tidemark::map_mode::no_overwrite));
        }) == "a backing has at most 2^15 guests at a time");
}

TEST_CASE("[trap 27] a part that was refused or retired, or that would grow, can't shrink") {
  tidemark::upload_ring alone{finished(), {.capacity = 100}};
  tidemark::upload_part refused = alone.try_allocate(101);
  CHECK(reported_by([&] { alone.try_shrink(refused, 0); }) == "what was refused can't shrink");
  tidemark::upload_part part = alone.try_allocate(10);
  CHECK(reported_by([&] { alone.try_shrink(part, 11); }) == "a part can't grow");
  shared_ring shared{finished(), {.capacity = 100}};
  CHECK(reported_by([&] { shared.try_shrink(refused, 0); }) == "what was refused can't shrink");
  part = shared.try_allocate(10);
  CHECK(reported_by([&] { shared.try_shrink(part, 11); }) == "a part can't grow");
  shared.retire(part, 0);
  CHECK(reported_by([&] { shared.try_shrink(part, 1); }) == "a part that was retired can't shrink");
  tidemark::growing_upload_ring growing{finished(), {.block_bytes = 100}};
  auto large = growing.try_allocate(101);
  CHECK(reported_by([&] { growing.try_shrink(large, 0); }) == "what was refused can't shrink");
  CHECK(reported_by([] { tidemark::growing_upload_ring{finished(), {.block_bytes = 0}}; }) ==
        "an upload ring must have some bytes, and less than 2^62");
}

TEST_CASE("[trap 27] upload rings report an impossible capacity, and pieces whose size is no power of two") {
  const std::string capacity = "an upload ring must have some bytes, and less than 2^62";
  CHECK(reported_by([] { tidemark::upload_ring{finished(), {.capacity = 0}}; }) == capacity);
  CHECK(reported_by([] { tidemark::upload_ring{finished(), {.capacity = UINT64_MAX}}; }) == capacity);
  CHECK(reported_by([] { shared_ring{finished(), {.capacity = 0}}; }) == capacity);
  const std::string pieces = "an upload ring is trimmed by pieces whose size is a power of two";
  CHECK(reported_by([] { tidemark::upload_ring{finished(), {.capacity = 100}}.trim(3, [](std::uint64_t) {}); }) ==
        pieces);
  CHECK(reported_by([] { shared_ring{finished(), {.capacity = 100}}.trim(0, [](std::uint64_t) {}); }) == pieces);
}

TEST_CASE("[B5] with several writers, a part that is retired twice, or was never given out, is reported") {
  CHECK(reported_by([] {
          shared_ring ring{finished(), {.capacity = 100}};
          const auto part = ring.try_allocate(10);
          ring.retire(part, 1);
          ring.retire(part, 1);
        }) == "a part was retired twice");
  CHECK(reported_by([] {
          shared_ring ring{finished(), {.capacity = 100, .max_records = 1}};
          const auto part = ring.try_allocate(10);
          ring.retire(part, 1);
          static_cast<void>(ring.try_allocate(10));  // in the same record
          ring.retire(part, 1);
        }) == "a part was retired twice");
  CHECK(reported_by([] {
          shared_ring ring{finished(), {.capacity = 100}};
          shared_ring other{finished(), {.capacity = 100}};
          ring.retire(other.try_allocate(10), 1);
        }) == "there is no such part");
  CHECK(reported_by([] {
          shared_ring ring{finished(), {.capacity = 100}};
          ring.retire(ring.try_allocate(101), 1);
        }) == "what was refused can't be retired");
}

TEST_CASE("[B32] a window without pages, a view that was refused, and a value that can't be kept are reported") {
  CHECK(reported_by([] { tidemark::host_aperture{finished(), {.pages = 4, .reserved = 4}}; }) ==
        "a host aperture must have some pages that are not reserved");
  for (const bool in_use : {false, true}) {
    CHECK(reported_by([&] {
            tidemark::host_aperture window{finished(), {.pages = 4}};
            in_use ? window.retire({}, 1) : window.unmap({});
          }) == "what was refused can't be retired");
  }
  CHECK(reported_by([] {
          tidemark::host_aperture window{finished(), {.pages = 4}};
          window.retire(window.try_map(one_page), UINT64_MAX);
        }) == "a host aperture keeps values less than the greatest");
  CHECK(reported_by([] { static_cast<void>(tidemark::aperture_pages(1, 0)); }) == "a page must have some bytes");
}

TEST_CASE("[B31][B32] a view that is retired twice, or used when another view has its pages, is reported") {
  const std::string twice = "a view was retired twice";
  CHECK(reported_by([] {
          tidemark::host_aperture window{finished(), {.pages = 4}};
          const auto view = window.try_map(one_page);
          window.unmap(view);
          window.unmap(view);
        }) == twice);
  CHECK(reported_by([] {
          tidemark::host_aperture window{finished(), {.pages = 1}};
          const auto stale = window.try_map(one_page);
          window.unmap(stale);
          static_cast<void>(window.try_map(one_page));
          window.unmap(stale);
        }) == twice);
  CHECK(reported_by([] {
          tidemark::host_aperture window{finished(), {.pages = 2}};
          const std::vector<int> two_pages(2);
          const auto first = window.try_map(one_page);
          const auto second = window.try_map(one_page);
          window.unmap(first);
          window.unmap(second);
          window.for_each(second, [](const tidemark::aperture_page&) {});
          static_cast<void>(window.try_map(two_pages));
          window.for_each(second, [](const tidemark::aperture_page&) {});
        }) == "a view was used after its pages were given out again");
}

TEST_CASE("[B5] an object that is retired twice is reported") {
  struct object : tidemark::retire_hook<1> {};
  struct nothing {
    void operator()(object&) const noexcept {}
  };
  struct stand {
    tidemark::progress_fence progress;
    tidemark::queue queue{progress};
    object one;
    tidemark::retire_queue<tidemark::queue> first{queue};
    tidemark::retire_queue<tidemark::queue> second{queue};
  };
  const std::string twice = "an object was retired twice";
  CHECK(reported_by([] {
          stand at;
          at.first.retire(at.one, nothing{}, {1});
          at.first.reclaim();
          at.first.retire(at.one, nothing{}, {1});
        }) == twice);
  CHECK(reported_by([] {
          stand at;
          at.first.retire(at.one, nothing{}, {1});
          at.second.retire(at.one, nothing{}, tidemark::assume_not_in_use);
        }) == twice);
  CHECK(reported_by([] {
          stand at;
          at.first.retire(at.one, nothing{}, {1});
          static_cast<void>(at.second.destroy(at.one, nothing{}, tidemark::assume_not_in_use));
        }) == twice);
}

#if defined(__linux__)
TEST_CASE("[B5] a queue that is added twice is reported") {
  CHECK(reported_by([] {
          tidemark::progress_fence progress;
          tidemark::queue queue{progress};
          tidemark::wait_loop loop;
          tidemark::loop_retire_queue<> reclaimer{loop};
          if (reclaimer.add_queue(queue)) static_cast<void>(reclaimer.add_queue(queue));
        }) == "a queue was added twice");
}

TEST_CASE("[B30] a page that does not exist is reported") {
  CHECK(reported_by([] { static_cast<void>(tidemark::memory_pages::make(2)->page(2)); }) == "there is no such page");
}
#endif

#if defined(__linux__)
namespace {

struct allocation_stand {
  using type = tidemark::mapped_allocation<tidemark::progress_fence>;

  tidemark::device_segment<tidemark::progress_fence> segment{
      *tidemark::device_segment<tidemark::progress_fence>::make(finished(), {.pages = 2, .cpu_visible = true})};
  type memory{finished(), testing::segments_of(tidemark::cpu_access::uncached, false, segment), {.bytes = 8}};
};

}  // namespace

TEST_CASE("[B46] an allocation that is unlocked without a lock is reported") {
  const std::string unmatched = "an allocation was unlocked that was not locked";
  CHECK(reported_by([] { static_cast<void>(allocation_stand{}.memory.unlock({})); }) == unmatched);
  for (const auto mode : {tidemark::map_mode::write, tidemark::map_mode::discard}) {
    CHECK(reported_by([mode] {
            allocation_stand at;
            const auto held = at.memory.try_lock(mode);
            static_cast<void>(at.memory.unlock(held));
            static_cast<void>(at.memory.unlock(held));
          }) == unmatched);
  }
  CHECK(reported_by([] {
          allocation_stand at;
          allocation_stand other;
          static_cast<void>(at.memory.unlock(other.memory.try_lock(tidemark::map_mode::write)));
        }) == unmatched);
  CHECK(reported_by([] {
          allocation_stand at;
          static_cast<void>(at.memory.unlock(at.memory.try_lock(tidemark::map_mode::write), UINT64_MAX));
        }) == "a mapped allocation keeps values less than 2^64 - 2^33 - 1");
}

TEST_CASE("[B46] a lock of what is locked is no misuse; more locks than can be counted are reported") {
  CHECK(reported_by([] {
          allocation_stand at;
          const auto first = at.memory.try_lock(tidemark::map_mode::write);
          const auto second = at.memory.try_lock(tidemark::map_mode::write);
          static_cast<void>(at.memory.unlock(first));
          static_cast<void>(at.memory.unlock(second));
        }) == "");
  CHECK(reported_by([] {
          allocation_stand at;
          for (int i = 0; i <= 0x8000; ++i) static_cast<void>(at.memory.try_lock(tidemark::map_mode::write));
        }) == "a backing has at most 2^15 guests at a time");
}

TEST_CASE("[B2] work of no backing, and work with a value that can't be kept, are reported") {
  const std::string too_great = "a mapped allocation keeps values less than 2^64 - 2^33 - 1";
  CHECK(reported_by([] { allocation_stand{}.memory.used_until(UINT64_MAX); }) == too_great);
  CHECK(reported_by([] {
          allocation_stand at;
          const auto held = at.memory.try_lock(tidemark::map_mode::write);
          static_cast<void>(at.memory.unlock(held));
          at.memory.used_until(held, UINT64_MAX);
        }) == too_great);
  CHECK(reported_by([] {
          tidemark::rename_ring ring{finished(), {.bytes = 8}};
          ring.used_until(UINT64_MAX);
        }) == "a rename ring keeps values less than 2^64 - 2^33 - 1");
  CHECK(reported_by([] {
          tidemark::rename_ring ring{finished(), {.bytes = 8}};
          ring.used_until({}, 0);
        }) == "what was refused is not in use");
}

TEST_CASE("a lock that names no backing of the allocation is reported where a backing is asked for") {
  const std::string nameless = "this lock names no backing of the allocation";
  CHECK(reported_by([] { allocation_stand{}.memory.used_until({}, 1); }) == nameless);
  CHECK(reported_by([] { static_cast<void>(allocation_stand{}.memory.where({})); }) == nameless);
  CHECK(reported_by([] { static_cast<void>(allocation_stand{}.memory.segment_of({})); }) == nameless);
  CHECK(reported_by([] {
          allocation_stand at;
          allocation_stand other;
          const auto held = other.memory.try_lock(tidemark::map_mode::write);
          static_cast<void>(other.memory.unlock(held));
          at.memory.for_each_page(held, [](std::byte*, std::size_t) {});
        }) == nameless);
}

TEST_CASE("[B48] work on an allocation through the other kind of mapping is reported until a lock has taken over") {
  using tidemark::coherency;
  using tidemark::device_use;
  for (const bool is_coherent : {false, true}) {
    const auto use = [is_coherent](bool locks, bool unlocks) {
      auto segment = *tidemark::device_segment<tidemark::progress_fence>::make(finished(), {.pages = 2});
      tidemark::mapped_allocation memory{
          finished(), testing::segments_of(tidemark::cpu_access::cached, true, segment), {.bytes = 8}, no_cache{}};
      const auto first = is_coherent ? coherency::hardware : coherency::software;
      const auto other = is_coherent ? coherency::software : coherency::hardware;
      const auto held = memory.try_lock(tidemark::map_mode::read);
      memory.used_until(1, device_use::writes, first);
      memory.used_until(1, device_use::reads, first);
      if (locks) static_cast<void>(memory.unlock(memory.try_lock(tidemark::map_mode::read)));
      if (unlocks) {
        static_cast<void>(memory.unlock(held, 1, device_use::reads, other));
      } else {
        memory.used_until(held, 1, device_use::reads, other);
      }
    };
    const std::string mixed = "work has written through a mapping of the other kind, and no lock has taken that over";
    for (const bool unlocks : {false, true}) {
      CHECK(reported_by([&] { use(true, unlocks); }) == "");
      CHECK(reported_by([&] { use(false, unlocks); }) == mixed);
    }
  }
}
#endif

TEST_CASE("[B48] work through a mapping that is not coherent is reported while other work writes through one that is") {
  tidemark::progress_fence running;
  const auto prepare = [&](bool writes) {
    tracker mixed{running, {.bytes = 64}, {}};
    static_cast<void>(mixed.try_prepare_device_write(0, 64, 1, tidemark::coherency::hardware));
    writes ? mixed.prepare_device_write(0, 1, 2) : mixed.prepare_device_read(0, 1, 2);
  };
  const std::string mapped = "a device writes these lines through a coherent mapping";
  CHECK(reported_by([&] { prepare(false); }) == mapped);
  CHECK(reported_by([&] { prepare(true); }) == mapped);
  running.signal(1);
  CHECK(reported_by([&] { prepare(true); }) == "");
}

TEST_CASE("[B40] accesses beyond what a coherency tracker tracks are reported") {
  const std::string beyond = "an access beyond what a coherency tracker tracks";
  CHECK(reported_by([] { tracker{finished(), {.bytes = 64}, {}}.prepare_device_read(0, 65, 1); }) == beyond);
  CHECK(reported_by([] { tracker{finished(), {.bytes = 64}, {}}.prepare_device_write(65, 1, 1); }) == beyond);
  CHECK(reported_by([] {
          static_cast<void>(tracker{finished(), {.bytes = 64}, {}}.try_prepare_cpu_read(1, UINT64_MAX));
        }) == beyond);
  CHECK(reported_by([] { tracker{finished(), {.bytes = 64, .line_bytes = 48}, {}}; }) ==
        "the size of a cache line is a power of two");
  CHECK(reported_by([] { tracker{finished(), {.bytes = 64, .line_bytes = 0}, {}}; }) ==
        "the size of a cache line is a power of two");
  CHECK(reported_by([] { tracker{finished(), {.bytes = 0}, {}}; }) ==
        "a coherency tracker must have some bytes to track");
}

TEST_CASE("[B27] commits and evictions that do not match are reported") {
  CHECK(reported_by([] {
          tidemark::commit_gate gate;
          static_cast<void>(gate.request_commit());
          static_cast<void>(gate.request_commit());
        }) == "an allocation was committed twice");
  CHECK(reported_by([] { tidemark::commit_gate{}.evict(); }) == "an allocation was evicted that was not committed");
}
