// SPDX-License-Identifier: BSL-1.0
//
// Misuse of the blocks that look after memory in flight loses nothing where the hook of TIDEMARK_ASSERT returns: here
// it notes the text. memory_misuse.cpp has each text with the misuse that it reports.
#include "support/noted_misuse.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include <tidemark/memory/coherency_tracker.hpp>
#include <tidemark/memory/host_aperture.hpp>
#include <tidemark/memory/lock_decision.hpp>
#include <tidemark/memory/loop_retire_queue.hpp>
#include <tidemark/memory/mapped_allocation.hpp>
#include <tidemark/memory/mapped_view.hpp>
#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/memory/retire_queue.hpp>
#include <tidemark/queue/queue.hpp>

#include "support/in_stop_look.hpp"
#include "support/segments.hpp"

using namespace testing;
using tidemark::aperture_page;
using tidemark::aperture_status;
using tidemark::aperture_view;

namespace {

// ---- the window ----------------------------------------------------------------------------------------------------

struct aperture_stand {
  explicit aperture_stand(std::size_t pages, std::size_t reserved = 0)
      : window{finished, {.pages = pages, .reserved = reserved}} {}

  aperture_view map(std::size_t pages) { return window.try_map(std::vector<int>(pages)); }
  std::vector<std::size_t> windows_of(const aperture_view& view) {
    std::vector<std::size_t> found;
    window.for_each(view, [&](const aperture_page& page) { found.push_back(page.window); });
    return found;
  }

  tidemark::progress_fence finished;
  tidemark::host_aperture<tidemark::progress_fence> window;
};

const texts retired_view_twice{"a view was retired twice"};

}  // namespace

TEST_CASE("[B32] a view that is retired twice ends once, and no page is counted twice") {
  aperture_stand at{4};
  const aperture_view first = at.map(1);
  const aperture_view second = at.map(2);
  CHECK(at.window.unmap(first));
  CHECK(take_said().empty());
  CHECK_FALSE(at.window.unmap(first));
  CHECK(take_said() == retired_view_twice);
  CHECK(at.window.unmapped_pages() == 2);
  CHECK(at.map(3).status == aperture_status::no_space);
  CHECK(at.window.unmap(second));
  CHECK(at.map(4));
  CHECK(take_said().empty());
}

TEST_CASE("[B31][B32] a stale view can't end the view that has its pages now, and shows no pages") {
  aperture_stand at{2};
  const aperture_view stale = at.map(1);
  const std::vector<std::size_t> pages = at.windows_of(stale);
  CHECK(at.window.unmap(stale));
  CHECK(at.windows_of(stale) == pages);  // the executor may look until the value is reached
  const aperture_view fresh = at.map(1);
  REQUIRE(at.windows_of(fresh) == pages);
  CHECK_FALSE(at.window.unmap(stale));
  CHECK(take_said() == retired_view_twice);
  CHECK(at.window.unmapped_pages() == 1);
  CHECK(at.windows_of(stale).empty());
  CHECK(take_said() == texts{"a view was used after its pages were given out again"});
  CHECK(at.windows_of(fresh) == pages);
  CHECK(at.window.unmap(fresh));
  CHECK(take_said().empty());
  CHECK(at.map(2));
}

TEST_CASE("[B32] a view that was refused, and a view of another window, end nothing") {
  aperture_stand at{2};
  aperture_stand larger{8};
  static_cast<void>(at.map(2));
  CHECK_FALSE(at.window.unmap(at.map(1)));
  CHECK_FALSE(at.window.retire(at.map(1), 1));
  CHECK(take_said() == texts(2, "what was refused can't be retired"));
  static_cast<void>(larger.map(5));
  CHECK_FALSE(at.window.unmap(larger.map(1)));  // begins with page 5
  CHECK(take_said() == retired_view_twice);
  CHECK(at.window.unmapped_pages() == 0);
}

TEST_CASE("[B4] pages whose value can't be kept are in use until the timeline is lost, and not mapped for ever") {
  aperture_stand at{1};
  CHECK(at.window.retire(at.map(1), UINT64_MAX));
  CHECK(take_said() == texts{"a host aperture keeps values less than the greatest"});
  CHECK(at.map(1).status == aperture_status::busy);
  at.finished.poison();
  CHECK(at.map(1));
}

TEST_CASE("[B33] a window of which all pages are reserved gives out none") {
  aperture_stand all{4, 4};
  aperture_stand more{4, 5};
  CHECK(take_said() == texts(2, "a host aperture must have some pages that are not reserved"));
  for (aperture_stand* at : {&all, &more}) {
    CHECK(at->window.capacity() == 0);
    CHECK(at->window.unmapped_pages() == 0);
    CHECK(at->map(1).status == aperture_status::too_large);
  }
}

TEST_CASE("[B33] with pages of no bytes aperture_pages() returns more pages than any window has") {
  CHECK(tidemark::aperture_pages(4'096, 0) == UINT64_MAX);
  CHECK(tidemark::aperture_pages(0, 0, 0) == UINT64_MAX);
  CHECK(take_said() == texts(2, "a page must have some bytes"));
}

#if defined(__linux__)
TEST_CASE("[B30] a page that does not exist has no address") {
  const auto memory = tidemark::memory_pages::make(2);
  REQUIRE(memory);
  CHECK(memory->page(1) != nullptr);
  CHECK(memory->page(2) == nullptr);
  CHECK(memory->page(SIZE_MAX) == nullptr);
  CHECK(take_said() == texts(2, "there is no such page"));
}
#endif

// ---- the tracker ---------------------------------------------------------------------------------------------------

namespace {

struct call {
  std::uint64_t offset;
  std::uint64_t bytes;
  bool operator==(const call&) const = default;
};
using calls = std::vector<call>;
struct noting_cache {
  calls* made;
  void write_back(std::uint64_t offset, std::uint64_t bytes) { made->push_back({offset, bytes}); }
  void invalidate(std::uint64_t, std::uint64_t) {}
};
using tracker = tidemark::coherency_tracker<tidemark::progress_fence, noting_cache>;

constexpr tidemark::coherency_result prepared;
constexpr tidemark::coherency_result busy_until(std::uint64_t value) {
  return {tidemark::coherency_status::busy, value};
}

}  // namespace

TEST_CASE("[B40] with an impossible line size whole lines of the next possible size are tracked") {
  struct line {
    std::uint64_t given;
    std::uint64_t used;
  };
  const tidemark::progress_fence finished;
  for (const auto& [given, used] :
       {line{0, 64}, line{48, 64}, line{65, 128}, line{UINT64_MAX, std::uint64_t{1} << 63}}) {
    calls made;
    tracker tracked{finished, {.bytes = 4'096, .line_bytes = given}, {&made}};
    CHECK(take_said() == texts{"the size of a cache line is a power of two"});
    CHECK(tracked.try_prepare_cpu_write(1, 1) == prepared);
    tracked.prepare_device_read(0, 4'096, 1);
    CHECK(made == calls{{0, used}});
  }
  CHECK(take_said().empty());
}

TEST_CASE("[B40] of an access that goes beyond the tracked memory only the tracked part is prepared") {
  const texts beyond{"an access beyond what a coherency tracker tracks"};
  const tidemark::progress_fence finished;
  calls made;
  tracker tracked{finished, {.bytes = 256}, {&made}};
  CHECK(tracked.try_prepare_cpu_write(192, 65) == prepared);
  CHECK(take_said() == beyond);
  CHECK(tracked.try_prepare_cpu_write(256, 1) == prepared);
  CHECK(take_said() == beyond);
  tracked.prepare_device_read(128, UINT64_MAX, 1);
  CHECK(take_said() == beyond);
  CHECK(made == calls{{192, 64}});
  CHECK(tracked.try_prepare_cpu_write(255, 1) == busy_until(1));
  CHECK(tracked.try_prepare_cpu_write(0, 128) == prepared);
  CHECK(take_said().empty());

  tracker of_nothing{finished, {.bytes = 0}, {&made}};
  CHECK(take_said() == texts{"a coherency tracker must have some bytes to track"});
  CHECK(of_nothing.try_prepare_cpu_write(0, 1) == prepared);
  CHECK(take_said() == beyond);
}

// ---- the gate ------------------------------------------------------------------------------------------------------

TEST_CASE("[B27][B46] evicting what is not committed ends no lock, and forgets no deferred commit") {
  tidemark::commit_gate gate;
  CHECK(gate.try_lock());
  CHECK_FALSE(gate.request_commit());
  gate.evict();
  CHECK(take_said() == texts{"an allocation was evicted that was not committed"});
  CHECK(gate.lock_count() == 1);
  CHECK(gate.unlock() == tidemark::unlock_status::commit_now);
  gate.evict();
  CHECK(take_said().empty());
  CHECK_FALSE(gate.is_committed());
}

TEST_CASE("[B27] a second commit of what is committed returns false") {
  tidemark::commit_gate gate;
  CHECK(gate.request_commit());
  CHECK_FALSE(gate.request_commit());
  CHECK(take_said() == texts{"an allocation was committed twice"});
  CHECK(gate.is_committed());
  gate.evict();
  CHECK(gate.try_lock());
  CHECK(take_said().empty());
}

// ---- the allocation ------------------------------------------------------------------------------------------------

#if defined(__linux__)
namespace {

struct allocation_stand {
  using fence = tidemark::progress_fence;

  fence finished;
  tidemark::device_segment<fence> segment{
      *tidemark::device_segment<fence>::make(finished, {.pages = 2, .cpu_visible = true})};
  tidemark::mapped_allocation<fence> memory{
      finished, testing::segments_of(tidemark::cpu_access::uncached, false, segment), {.bytes = 8, .max_renames = 2}};
};
const texts not_locked{"an allocation was unlocked that was not locked"};

}  // namespace

TEST_CASE("[B46] an unlock without a lock is invalid, ends no other lock, and keeps no move away") {
  using tidemark::map_mode;
  using tidemark::move_status;
  using tidemark::unlock_status;
  allocation_stand at;
  allocation_stand other;
  CHECK(at.memory.unlock({}) == unlock_status::invalid);
  CHECK(take_said() == not_locked);
  const auto held = at.memory.try_lock(map_mode::discard);
  const auto of_other = other.memory.try_lock(map_mode::discard);
  CHECK(at.memory.unlock(of_other) == unlock_status::invalid);
  CHECK(take_said() == not_locked);
  CHECK(other.memory.unlock(of_other) == unlock_status::unlocked);
  CHECK(at.memory.unlock(held, UINT64_MAX) == unlock_status::invalid);
  CHECK(take_said() == texts{"a mapped allocation keeps values less than 2^64 - 2^33 - 1"});
  CHECK(at.memory.try_commit(held) == move_status::refused);
  CHECK(at.memory.unlock(held) == unlock_status::unlocked);
  CHECK(at.memory.unlock(held) == unlock_status::invalid);
  CHECK(take_said() == not_locked);
  CHECK(at.memory.try_commit(held) == move_status::placed);
  const auto again = at.memory.try_lock(map_mode::discard);
  CHECK(at.memory.unlock(held) == unlock_status::invalid);  // of an earlier discard
  CHECK(take_said() == not_locked);
  CHECK(at.memory.unlock(again) == unlock_status::unlocked);
  CHECK(take_said().empty());
}

TEST_CASE("[B46] of three locks of one backing each is ended; a fourth unlock is invalid and changes nothing") {
  using tidemark::map_mode;
  using tidemark::move_status;
  using tidemark::unlock_status;
  allocation_stand at;
  const auto first = at.memory.try_lock(map_mode::write);
  const auto second = at.memory.try_lock(map_mode::read);
  const auto third = at.memory.try_lock(map_mode::no_overwrite);
  REQUIRE(third);
  CHECK(at.memory.unlock(second) == unlock_status::still_locked);
  CHECK(at.memory.unlock(first) == unlock_status::still_locked);
  CHECK(at.memory.try_commit(first) == move_status::refused);
  CHECK(at.memory.unlock(third) == unlock_status::unlocked);
  CHECK(take_said().empty());
  for (const auto& ended : {first, second, third}) {
    CHECK(at.memory.unlock(ended) == unlock_status::invalid);
    CHECK(take_said() == not_locked);
  }
  CHECK(at.memory.try_commit(first) == move_status::placed);
  CHECK(at.memory.unlock(at.memory.try_lock(map_mode::write)) == unlock_status::unlocked);
}

TEST_CASE("[B46] beside a discard a backing has at most 2^15 locks; one more is no_space and changes nothing") {
  using tidemark::lock_status;
  using tidemark::map_mode;
  using tidemark::unlock_status;
  allocation_stand at;
  const auto first = at.memory.try_lock(map_mode::discard);
  REQUIRE(first);
  std::vector<decltype(at.memory)::locking> locks(0x8000);
  for (auto& each : locks) {
    each = at.memory.try_lock(map_mode::no_overwrite);
    REQUIRE(each.data == first.data);
  }
  CHECK(take_said().empty());
  CHECK(at.memory.try_lock(map_mode::no_overwrite).status == lock_status::no_space);
  CHECK(at.memory.lock(map_mode::no_overwrite).status == lock_status::no_space);
  CHECK(take_said() == texts(2, "a backing has at most 2^15 guests at a time"));
  CHECK(at.memory.unlock(first) == unlock_status::still_locked);
  std::size_t ended = 0;
  for (const auto& each : locks) ended += at.memory.unlock(each) != unlock_status::invalid ? 1u : 0u;
  CHECK(ended == locks.size());
  CHECK(at.memory.try_commit(first) == tidemark::move_status::placed);
  CHECK(take_said().empty());
}

TEST_CASE("[B2] work that can't be named keeps no lock waiting") {
  using tidemark::map_mode;
  allocation_stand at;
  allocation_stand other;
  const auto held = other.memory.try_lock(map_mode::write);
  at.memory.used_until(held, 1);
  CHECK(take_said() == texts{"this lock names no backing of the allocation"});
  at.memory.used_until(UINT64_MAX);
  other.memory.used_until(held, UINT64_MAX);
  CHECK(take_said() == texts{"a mapped allocation keeps values less than 2^64 - 2^33 - 1",
                             "a mapped allocation keeps values less than 2^64 - 2^33 - 1"});
  CHECK(other.memory.unlock(held) == tidemark::unlock_status::unlocked);
  for (auto* one : {&at.memory, &other.memory})
    CHECK(one->unlock(one->try_lock(map_mode::read)) == tidemark::unlock_status::unlocked);

  tidemark::rename_ring ring{at.finished.view(), {.bytes = 8}};
  ring.used_until({}, 1);
  CHECK(take_said() == texts{"what was refused is not in use"});
  ring.used_until(UINT64_MAX);
  CHECK(take_said() == texts{"a rename ring keeps values less than 2^64 - 2^33 - 1"});
  CHECK(ring.unmap(ring.try_map(map_mode::read)));
}

TEST_CASE("a lock that names no backing of the allocation shows no page, and moves nothing") {
  allocation_stand at;
  allocation_stand other;
  const auto held = other.memory.try_lock(tidemark::map_mode::write);
  CHECK(other.memory.unlock(held) == tidemark::unlock_status::unlocked);
  int shown = 0;
  at.memory.for_each_page(held, [&](std::byte*, std::size_t) { ++shown; });
  CHECK(shown == 0);
  CHECK(at.memory.where(held) == tidemark::residence::system_memory);
  CHECK(at.memory.segment_of(held) == nullptr);
  CHECK(take_said() == texts(3, "this lock names no backing of the allocation"));
  CHECK(at.memory.try_evict(held) == tidemark::move_status::invalid);
  CHECK(take_said().empty());
}
#endif

// ---- retired objects -----------------------------------------------------------------------------------------------

namespace {

struct object : tidemark::retire_hook<1> {
  int disposed = 0;
};
struct object_of_loop : tidemark::loop_retire_queue<>::hook {
  int disposed = 0;
};
struct count_it {
  template <class Object>
  void operator()(Object& which) const noexcept {
    ++which.disposed;
  }
};
const texts retired_twice{"an object was retired twice"};

struct retire_stand {
  tidemark::progress_fence progress;
  tidemark::queue queue{progress};
  std::array<object, 3> objects;
  tidemark::retire_queue<tidemark::queue> reclaimer{queue};

  void submit() {
    REQUIRE(queue.submit([](std::uint64_t) {}));
  }
};

}  // namespace

TEST_CASE("[B5] a queue that is added twice is followed once, and removed at once") {
  tidemark::wait_loop loop;
  tidemark::loop_retire_queue<> reclaimer{loop};
  {
    tidemark::progress_fence progress;
    tidemark::queue queue{progress};
    for (int i = 0; i < 2; ++i) CHECK(reclaimer.add_queue(queue));
    CHECK(take_said().size() == 1);
    CHECK(reclaimer.remove_queue(queue));
    CHECK_FALSE(reclaimer.remove_queue(queue));
  }
  object_of_loop one;
  CHECK(reclaimer.retire(one, count_it{}));
  CHECK(loop.poll() == 1);
  CHECK(one.disposed == 1);
}

TEST_CASE("[B6][B7] an object that a loop is to dispose of is neither retired again nor destroyed by another call") {
  tidemark::wait_loop loop;
  tidemark::loop_retire_queue<> reclaimer{loop};
  object_of_loop one;
  CHECK(reclaimer.retire(one, count_it{}, tidemark::assume_not_in_use));
  CHECK_FALSE(reclaimer.retire(one, count_it{}));
  CHECK_FALSE(reclaimer.retire(one, count_it{}, tidemark::assume_not_in_use));
  CHECK(reclaimer.destroy(one, count_it{}).status == tidemark::destroy_status::invalid);
  CHECK(reclaimer.destroy(one, count_it{}, tidemark::assume_not_in_use).status == tidemark::destroy_status::invalid);
  CHECK(take_said() == texts(4, retired_twice.front()));
  CHECK(one.disposed == 0);
  CHECK(loop.poll() == 1);
  CHECK(one.disposed == 1);
  CHECK(reclaimer.destroy(one, count_it{}, tidemark::assume_not_in_use));
  CHECK(one.disposed == 2);
  CHECK(take_said().empty());
}

TEST_CASE("[B5] an object that is retired twice is disposed of once, and so are the objects beside it") {
  retire_stand at;
  at.submit();
  for (object& one : at.objects) CHECK(at.reclaimer.retire(one, count_it{}));
  CHECK(take_said().empty());
  for (object& one : at.objects) {
    CHECK_FALSE(at.reclaimer.retire(one, count_it{}));
    CHECK(take_said() == retired_twice);
  }
  CHECK(at.reclaimer.reclaim() == 0);
  at.queue.complete();
  CHECK(at.reclaimer.reclaim() == 3);
  CHECK(at.reclaimer.reclaim() == 0);
  for (const object& one : at.objects) CHECK(one.disposed == 1);
}

TEST_CASE("[B5] an object that reclaim() has put back is still retired, and keeps the serials that it waits for") {
  retire_stand at;
  at.submit();
  for (object& one : at.objects) at.reclaimer.retire(one, count_it{});
  CHECK(at.reclaimer.reclaim(2) == 0);
  CHECK_FALSE(at.reclaimer.retire(at.objects[0], count_it{}, {0}));
  CHECK_FALSE(at.reclaimer.retire(at.objects[2], count_it{}, {0}));
  CHECK(take_said() == texts(2, retired_twice.front()));
  CHECK(at.reclaimer.reclaim() == 0);
  at.queue.complete();
  CHECK(at.reclaimer.drain() == tidemark::wait_status::reached);
  for (const object& one : at.objects) CHECK(one.disposed == 1);
}

TEST_CASE("[B6][B7] an object that is retired is neither disposed of at once nor waited for by another call") {
  retire_stand at;
  at.submit();
  at.reclaimer.retire(at.objects[0], count_it{});
  CHECK_FALSE(at.reclaimer.retire(at.objects[0], count_it{}, tidemark::assume_not_in_use));
  CHECK(at.reclaimer.destroy(at.objects[0], count_it{}, tidemark::assume_not_in_use).status ==
        tidemark::destroy_status::invalid);
  CHECK(at.reclaimer.destroy(at.objects[0], count_it{}).status == tidemark::destroy_status::invalid);
  CHECK(take_said() == texts(3, retired_twice.front()));
  CHECK(at.objects[0].disposed == 0);
  at.queue.complete();
  CHECK(at.reclaimer.reclaim() == 1);
  CHECK(at.objects[0].disposed == 1);
}

TEST_CASE("[B6][B7] an object that a destroy() waits for is neither retired nor destroyed by another call") {
  const auto holds = [](auto& reclaimer, auto& one, auto& queue) {
    std::function<void()> meanwhile = [&] {
      CHECK_FALSE(reclaimer.retire(one, count_it{}));
      CHECK_FALSE(reclaimer.retire(one, count_it{}, tidemark::assume_not_in_use));
      CHECK(reclaimer.destroy_for(one, count_it{}, std::chrono::milliseconds{0}).status ==
            tidemark::destroy_status::invalid);
      CHECK(reclaimer.destroy(one, count_it{}, tidemark::assume_not_in_use).status ==
            tidemark::destroy_status::invalid);
      CHECK(take_said() == texts(4, retired_twice.front()));
      CHECK(one.disposed == 0);
      queue.complete();
    };
    CHECK(reclaimer.destroy(one, count_it{}, in_stop_look{meanwhile}).status == tidemark::destroy_status::destroyed);
    CHECK(!meanwhile);
    CHECK(one.disposed == 1);

    REQUIRE(queue.submit([](std::uint64_t) {}));
    CHECK(reclaimer.destroy_for(one, count_it{}, std::chrono::milliseconds{0}).status ==
          tidemark::destroy_status::timeout);
    CHECK(reclaimer.retire(one, count_it{}));  // it is the caller's again
    CHECK(take_said().empty());
    queue.complete();
    CHECK(reclaimer.drain() == tidemark::wait_status::reached);
    CHECK(one.disposed == 2);
  };
  retire_stand at;
  at.submit();
  holds(at.reclaimer, at.objects[0], at.queue);

  at.submit();
  tidemark::wait_loop loop;
  tidemark::loop_retire_queue<> on_loop{loop};
  object_of_loop one;
  REQUIRE(on_loop.add_queue(at.queue));
  holds(on_loop, one, at.queue);
}

TEST_CASE("[B5] an object that was disposed of may be retired again, and a copy of a retired object is not retired") {
  retire_stand at;
  for (int round = 1; round <= 3; ++round) {
    at.reclaimer.retire(at.objects[0], count_it{});
    object copy = at.objects[0];
    at.reclaimer.retire(copy, count_it{});
    at.objects[0] = at.objects[1];
    CHECK(at.reclaimer.reclaim() == 2);
  }
  CHECK(take_said().empty());
}
