// SPDX-License-Identifier: BSL-1.0
//
// Misuse of the blocks that look after memory in flight is reported through TIDEMARK_ASSERT; see misuse.cpp.
#include "support/misuse_hook.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <tidemark/coherency_tracker.hpp>
#include <tidemark/host_aperture.hpp>
#include <tidemark/lock_decision.hpp>
#include <tidemark/mapped_view.hpp>
#include <tidemark/queue.hpp>
#include <tidemark/rename_ring.hpp>
#include <tidemark/retire_queue.hpp>
#include <tidemark/upload_ring.hpp>

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
using tracker = tidemark::coherency_tracker<no_cache>;

const std::vector<int> one_page{0};

}  // namespace

TEST_CASE("[B46] a rename ring reports a value that it can't keep, and says false to an unmatched retire") {
  CHECK(reported_by([] {
          tidemark::rename_ring ring{finished().view(), {.bytes = 1}};
          ring.retire(ring.map(tidemark::map_mode::discard), UINT64_MAX);
        }) == "a rename ring knows values less than 2^64 - 2^33");
  CHECK(reported_by([] {
          tidemark::rename_ring ring{finished().view(), {.bytes = 1}};
          const auto mapped = ring.map(tidemark::map_mode::discard);
          ring.unmap(mapped);
          ring.unmap(mapped);
          ring.unmap({});
        }) == "");
}

TEST_CASE("[B45] a backing of no bytes, an alignment that is none, and guests beyond count are reported") {
  const std::string traits = "a backing on the heap has some bytes, and an alignment that is a power of two";
  CHECK(reported_by([] { tidemark::rename_ring{finished().view(), {.bytes = 0}}; }) == traits);
  CHECK(reported_by([] { tidemark::rename_ring{finished().view(), {.bytes = 8, .alignment = 0}}; }) == traits);
  CHECK(reported_by([] { tidemark::rename_ring{finished().view(), {.bytes = 8, .alignment = 48}}; }) == traits);
  CHECK(reported_by([] {
          tidemark::rename_ring ring{finished().view(), {.bytes = 1}};
          for (int i = 0; i < 0x8000; ++i) static_cast<void>(ring.try_map(tidemark::map_mode::no_overwrite));
        }) == "");
  CHECK(reported_by([] {
          tidemark::rename_ring ring{finished().view(), {.bytes = 1}};
          for (int i = 0; i <= 0x8000; ++i) static_cast<void>(ring.try_map(tidemark::map_mode::no_overwrite));
        }) == "a backing has at most 2^15 guests at a time");
}

TEST_CASE("[trap 27] upload rings report a capacity that is none, and pieces that are no power of two") {
  const std::string capacity = "an upload ring has some bytes, less than 2^62";
  CHECK(reported_by([] { tidemark::upload_ring{0, finished().view()}; }) == capacity);
  CHECK(reported_by([] { tidemark::upload_ring{UINT64_MAX, finished().view()}; }) == capacity);
  CHECK(reported_by([] { tidemark::shared_upload_ring{0, finished().view()}; }) == capacity);
  const std::string pieces = "an upload ring is trimmed by pieces whose size is a power of two";
  CHECK(reported_by([] { tidemark::upload_ring{100, finished().view()}.trim(3, [](std::uint64_t) {}); }) == pieces);
  CHECK(reported_by([] {
          tidemark::shared_upload_ring{100, finished().view()}.trim(0, [](std::uint64_t) {});
        }) == pieces);
}

TEST_CASE("[B5] a part of a shared upload ring that is retired twice, or was never given out, is reported") {
  CHECK(reported_by([] {
          tidemark::shared_upload_ring ring{100, finished().view()};
          const auto part = ring.try_allocate(10);
          ring.retire(part, 1);
          ring.retire(part, 1);
        }) == "a part was retired twice");
  CHECK(reported_by([] {
          tidemark::shared_upload_ring ring{100, finished().view(), 1};
          const auto part = ring.try_allocate(10);
          ring.retire(part, 1);
          static_cast<void>(ring.try_allocate(10));  // in the same record
          ring.retire(part, 1);
        }) == "a part was retired twice");
  CHECK(reported_by([] {
          tidemark::shared_upload_ring ring{100, finished().view()};
          tidemark::shared_upload_ring other{100, finished().view()};
          ring.retire(other.try_allocate(10), 1);
        }) == "there is no such part");
  CHECK(reported_by([] {
          tidemark::shared_upload_ring ring{100, finished().view()};
          ring.retire(ring.try_allocate(101), 1);
        }) == "what was refused can't be retired");
}

TEST_CASE("[B32] a window without pages, and a view that is none, are reported") {
  CHECK(reported_by([] {
          tidemark::host_aperture{4, finished().view(), 4};
        }) == "a host aperture has some pages that are not reserved");
  CHECK(reported_by([] {
          tidemark::host_aperture{4, finished().view()}.unmap({}, 0);
        }) == "what was refused can't be unmapped");
  CHECK(reported_by([] {
          tidemark::host_aperture window{4, finished().view()};
          window.unmap(window.try_map(one_page), UINT64_MAX);
        }) == "a host aperture knows values less than the greatest");
  CHECK(reported_by([] { static_cast<void>(tidemark::aperture_pages(1, 0)); }) == "a page has some bytes");
}

TEST_CASE("[B31][B32] a view that is unmapped twice, or used when another one has its pages, is reported") {
  const std::string twice = "a view was unmapped twice";
  CHECK(reported_by([] {
          tidemark::host_aperture window{4, finished().view()};
          const auto view = window.try_map(one_page);
          window.unmap(view, 0);
          window.unmap(view, 0);
        }) == twice);
  CHECK(reported_by([] {
          tidemark::host_aperture window{1, finished().view()};
          const auto stale = window.try_map(one_page);
          window.unmap(stale, 0);
          static_cast<void>(window.try_map(one_page));
          window.unmap(stale, 0);
        }) == twice);
  CHECK(reported_by([] {
          tidemark::host_aperture window{2, finished().view()};
          const std::vector<int> two_pages(2);
          const auto first = window.try_map(one_page);
          const auto second = window.try_map(one_page);
          window.unmap(first, 0);
          window.unmap(second, 0);
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
    tidemark::queue queue{{&progress, 1}};
    object one;
    tidemark::retire_queue<tidemark::queue> first{queue};
    tidemark::retire_queue<tidemark::queue> second{queue};
  };
  const std::string twice = "an object was retired twice";
  CHECK(reported_by([] {
          stand at;
          at.first.retire(at.one, nothing{}, {1});
          at.first.drain();
          at.first.retire(at.one, nothing{}, {1});
        }) == twice);
  CHECK(reported_by([] {
          stand at;
          at.first.retire(at.one, nothing{}, {1});
          at.second.retire(at.one, nothing{}, tidemark::assume_not_in_use);
        }) == twice);
}

#if defined(__linux__)
TEST_CASE("[B30] a page that does not exist is reported") {
  CHECK(reported_by([] { static_cast<void>(tidemark::memory_pages::create(2)->page(2)); }) == "there is no such page");
}
#endif

TEST_CASE("[B40] accesses beyond what a coherency tracker tracks are reported") {
  const std::string beyond = "an access beyond what a coherency tracker tracks";
  CHECK(reported_by([] { tracker{64, finished().view(), {}}.before_device_read(0, 65, 1); }) == beyond);
  CHECK(reported_by([] { tracker{64, finished().view(), {}}.before_device_write(65, 1, 1); }) == beyond);
  CHECK(reported_by([] {
          static_cast<void>(tracker{64, finished().view(), {}}.before_cpu_read(1, UINT64_MAX));
        }) == beyond);
  CHECK(reported_by([] { tracker{64, finished().view(), {}, 48}; }) == "the size of a cache line is a power of two");
  CHECK(reported_by([] { tracker{64, finished().view(), {}, 0}; }) == "the size of a cache line is a power of two");
  CHECK(reported_by([] { tracker{0, finished().view(), {}}; }) == "a coherency tracker has some bytes to track");
}

TEST_CASE("[B27] commits and evictions that do not match are reported") {
  CHECK(reported_by([] {
          tidemark::commit_pin pin;
          static_cast<void>(pin.request_commit());
          static_cast<void>(pin.request_commit());
        }) == "an allocation was committed twice");
  CHECK(reported_by([] { tidemark::commit_pin{}.evict(); }) == "an allocation was evicted that was not committed");
}
