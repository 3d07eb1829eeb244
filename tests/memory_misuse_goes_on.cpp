// SPDX-License-Identifier: BSL-1.0
//
// Misuse of the blocks that look after memory in flight loses nothing where the hook of TIDEMARK_ASSERT returns, as it does in
// a release build: here it notes the text. Who reports what is in memory_misuse.cpp.
#include <string>
#include <utility>
#include <vector>

namespace {

std::vector<std::string> said;

void note_misuse(const char* text) { said.emplace_back(text); }

}  // namespace

#define TIDEMARK_ASSERT(condition, text) (static_cast<bool>(condition) ? static_cast<void>(0) : ::note_misuse(text))

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>

#include <tidemark/coherency_tracker.hpp>
#include <tidemark/host_aperture.hpp>
#include <tidemark/lock_decision.hpp>
#include <tidemark/mapped_view.hpp>
#include <tidemark/queue.hpp>
#include <tidemark/retire_queue.hpp>

using tidemark::aperture_page;
using tidemark::aperture_status;
using tidemark::aperture_view;

namespace {

using texts = std::vector<std::string>;

texts take_said() { return std::exchange(said, {}); }

// ---- the window ------------------------------------------------------------------------------------------------------

struct aperture_stand {
  explicit aperture_stand(std::size_t pages, std::size_t reserved = 0) : window{pages, finished.view(), reserved} {}

  aperture_view map(std::size_t pages) { return window.try_map(std::vector<int>(pages)); }
  std::vector<std::size_t> windows_of(const aperture_view& view) {
    std::vector<std::size_t> found;
    window.for_each(view, [&](const aperture_page& page) { found.push_back(page.window); });
    return found;
  }

  tidemark::progress_fence finished;
  tidemark::host_aperture<> window;
};

const texts unmapped_twice{"a view was unmapped twice"};

}  // namespace

TEST_CASE("[B32] a view that is unmapped twice ends once, and no page is counted twice") {
  aperture_stand at{4};
  const aperture_view first = at.map(1);
  const aperture_view second = at.map(2);
  at.window.unmap(first, 0);
  CHECK(take_said().empty());
  at.window.unmap(first, 0);
  CHECK(take_said() == unmapped_twice);
  CHECK(at.window.unmapped_pages() == 2);
  CHECK(at.map(3).status == aperture_status::no_space);
  at.window.unmap(second, 0);
  CHECK(at.map(4));
  CHECK(take_said().empty());
}

TEST_CASE("[B31][B32] a stale view does not end that of another one who has its pages now, and shows none of them") {
  aperture_stand at{2};
  const aperture_view stale = at.map(1);
  const std::vector<std::size_t> pages = at.windows_of(stale);
  at.window.unmap(stale, 0);
  CHECK(at.windows_of(stale) == pages);  // the executor may look until the value is reached
  const aperture_view fresh = at.map(1);
  REQUIRE(at.windows_of(fresh) == pages);
  at.window.unmap(stale, 0);
  CHECK(take_said() == unmapped_twice);
  CHECK(at.window.unmapped_pages() == 1);
  CHECK(at.windows_of(stale).empty());
  CHECK(take_said() == texts{"a view was used after its pages were given out again"});
  CHECK(at.windows_of(fresh) == pages);
  at.window.unmap(fresh, 0);
  CHECK(take_said().empty());
  CHECK(at.map(2));
}

TEST_CASE("[B32] what was refused, and what another window gave, unmaps nothing") {
  aperture_stand at{2};
  aperture_stand larger{8};
  static_cast<void>(at.map(2));
  at.window.unmap(at.map(1), 0);
  CHECK(take_said() == texts{"what was refused can't be unmapped"});
  static_cast<void>(larger.map(5));
  at.window.unmap(larger.map(1), 0);  // begins with page 5
  CHECK(take_said() == unmapped_twice);
  CHECK(at.window.unmapped_pages() == 0);
}

TEST_CASE("[B4] pages whose value can't be kept are in use until the end, and not mapped for ever") {
  aperture_stand at{1};
  at.window.unmap(at.map(1), UINT64_MAX);
  CHECK(take_said() == texts{"a host aperture knows values less than the greatest"});
  CHECK(at.map(1).status == aperture_status::in_use);
  at.finished.poison();
  CHECK(at.map(1));
}

TEST_CASE("[B33] a window of which all is reserved has no pages to give out") {
  aperture_stand all{4, 4};
  aperture_stand more{4, 5};
  CHECK(take_said() == texts(2, "a host aperture has some pages that are not reserved"));
  for (aperture_stand* at : {&all, &more}) {
    CHECK(at->window.capacity() == 0);
    CHECK(at->window.unmapped_pages() == 0);
    CHECK(at->map(1).status == aperture_status::no_space);
  }
}

TEST_CASE("[B33] no window has as many pages as an allocation would take whose pages have no bytes") {
  CHECK(tidemark::aperture_pages(4'096, 0) == UINT64_MAX);
  CHECK(tidemark::aperture_pages(0, 0, 0) == UINT64_MAX);
  CHECK(take_said() == texts(2, "a page has some bytes"));
}

#if defined(__linux__)
TEST_CASE("[B30] a page that does not exist is nowhere, whatever lies behind the last one") {
  const auto memory = tidemark::memory_pages::create(2);
  REQUIRE(memory);
  CHECK(memory->page(1) != nullptr);
  CHECK(memory->page(2) == nullptr);
  CHECK(memory->page(SIZE_MAX) == nullptr);
  CHECK(take_said() == texts(2, "there is no such page"));
}
#endif

// ---- the tracker -----------------------------------------------------------------------------------------------------

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
using tracker = tidemark::coherency_tracker<noting_cache>;
using needed = std::optional<std::uint64_t>;

}  // namespace

TEST_CASE("[B40] a line size that is none is said, and whole lines are tracked all the same") {
  struct line {
    std::uint64_t given;
    std::uint64_t used;
  };
  const tidemark::progress_fence finished;
  for (const auto& [given, used] :
       {line{0, 64}, line{48, 64}, line{65, 128}, line{UINT64_MAX, std::uint64_t{1} << 63}}) {
    calls made;
    tracker tracked{4'096, finished.view(), {&made}, given};
    CHECK(take_said() == texts{"the size of a cache line is a power of two"});
    CHECK(tracked.before_cpu_write(1, 1) == needed{});
    tracked.before_device_read(0, 4'096, 1);
    CHECK(made == calls{{0, used}});
  }
  CHECK(take_said().empty());
}

TEST_CASE("[B40] of an access that goes beyond what is tracked the part that is tracked is looked at") {
  const texts beyond{"an access beyond what a coherency tracker tracks"};
  const tidemark::progress_fence finished;
  calls made;
  tracker tracked{256, finished.view(), {&made}};
  CHECK(tracked.before_cpu_write(192, 65) == needed{});
  CHECK(take_said() == beyond);
  CHECK(tracked.before_cpu_write(256, 1) == needed{});
  CHECK(take_said() == beyond);
  tracked.before_device_read(128, UINT64_MAX, 1);
  CHECK(take_said() == beyond);
  CHECK(made == calls{{192, 64}});
  CHECK(tracked.before_cpu_write(255, 1) == needed{1});
  CHECK(tracked.before_cpu_write(0, 128) == needed{});
  CHECK(take_said().empty());

  tracker of_nothing{0, finished.view(), {&made}};
  CHECK(take_said() == texts{"a coherency tracker has some bytes to track"});
  CHECK(of_nothing.before_cpu_write(0, 1) == needed{});
  CHECK(take_said() == beyond);
}

// ---- the pin ---------------------------------------------------------------------------------------------------------

TEST_CASE("[B27][B46] an eviction of what is not committed takes no lock away, and forgets no commit") {
  tidemark::commit_pin pin;
  CHECK(pin.try_lock());
  CHECK_FALSE(pin.request_commit());
  pin.evict();
  CHECK(take_said() == texts{"an allocation was evicted that was not committed"});
  CHECK(pin.lock_count() == 1);
  CHECK(pin.unlock() == tidemark::commit_pin::unlocked::commit_now);
  pin.evict();
  CHECK(take_said().empty());
  CHECK_FALSE(pin.is_committed());
}

TEST_CASE("[B27] what is committed is not moved to the device a second time") {
  tidemark::commit_pin pin;
  CHECK(pin.request_commit());
  CHECK_FALSE(pin.request_commit());
  CHECK(take_said() == texts{"an allocation was committed twice"});
  CHECK(pin.is_committed());
  pin.evict();
  CHECK(pin.try_lock());
  CHECK(take_said().empty());
}

// ---- retired objects -------------------------------------------------------------------------------------------------

namespace {

struct object : tidemark::retire_hook<1> {
  int disposed = 0;
};
struct count_it {
  void operator()(object& which) const noexcept { ++which.disposed; }
};
const texts retired_twice{"an object was retired twice"};

struct retire_stand {
  tidemark::progress_fence progress;
  tidemark::queue queue{{&progress, 1}};
  std::array<object, 3> objects;
  tidemark::retire_queue<tidemark::queue> reclaimer{queue};

  void submit() {
    REQUIRE(queue.submit([](std::uint64_t) {}) != 0);
  }
};

}  // namespace

TEST_CASE("[B5] an object that is retired twice is disposed of once, and so are those beside it") {
  retire_stand at;
  at.submit();
  for (object& one : at.objects) at.reclaimer.retire(one, count_it{});
  CHECK(take_said().empty());
  for (object& one : at.objects) {
    at.reclaimer.retire(one, count_it{});
    CHECK(take_said() == retired_twice);
  }
  CHECK(at.reclaimer.drain() == 0);
  at.queue.complete();
  CHECK(at.reclaimer.drain() == 3);
  CHECK(at.reclaimer.drain() == 0);
  for (const object& one : at.objects) CHECK(one.disposed == 1);
}

TEST_CASE("[B5] it is retired still after a drain has put it back, and keeps what it waits for") {
  retire_stand at;
  at.submit();
  for (object& one : at.objects) at.reclaimer.retire(one, count_it{});
  CHECK(at.reclaimer.drain(2) == 0);
  at.reclaimer.retire(at.objects[0], count_it{}, {0});
  at.reclaimer.retire(at.objects[2], count_it{}, {0});
  CHECK(take_said() == texts(2, retired_twice.front()));
  CHECK(at.reclaimer.drain() == 0);
  at.queue.complete();
  at.reclaimer.finish();
  for (const object& one : at.objects) CHECK(one.disposed == 1);
}

TEST_CASE("[B6][B7] what is retired is not disposed of at once, nor waited for by another call") {
  retire_stand at;
  at.submit();
  at.reclaimer.retire(at.objects[0], count_it{});
  at.reclaimer.retire(at.objects[0], count_it{}, tidemark::assume_not_in_use);
  at.reclaimer.retire_and_wait(at.objects[0], count_it{});
  CHECK(take_said() == texts(2, retired_twice.front()));
  CHECK(at.objects[0].disposed == 0);
  at.queue.complete();
  CHECK(at.reclaimer.drain() == 1);
  CHECK(at.objects[0].disposed == 1);
}

TEST_CASE("[B5] once it was disposed of, an object may be retired again, and a copy was never retired") {
  retire_stand at;
  for (int round = 1; round <= 3; ++round) {
    at.reclaimer.retire(at.objects[0], count_it{});
    object copy = at.objects[0];
    at.reclaimer.retire(copy, count_it{});
    at.objects[0] = at.objects[1];
    CHECK(at.reclaimer.drain() == 2);
  }
  CHECK(take_said().empty());
}
