// SPDX-License-Identifier: BSL-1.0
//
// What memory costs that an executor uses for a while: 256 bytes are given out, are in use until a value, and come back
// when the fence has reached that value. The fence's signal is part of each operation of our subjects; the peers have
// none.
//
//   lend/<subject>           one thread, one block in each frame, the bytes are not touched
//   lend_written/<subject>   the bytes are written
//   lend_two/<subject>       while a thread on another core does the same on the same object
//   map/<subject>.<mode>     one thread maps the current block. A map for reading ends at once; with no_overwrite the
//                            block is in use for two frames
//   frame/<subject>          one thread, eight blocks in each frame; times are of a frame
//   frame_written/<subject>  the bytes are written
//   blocked/rename_ring      a map that waits for 200 ms; the processor time of its thread is measured, too
//   retire/<subject>         an object is retired; after every 16 objects those that are due are disposed of
//   retire_two/<subject>     while a thread on another core does the same on the same object
//   aperture/<pages>.<window>
//                            one thread, one or eight pages of a window of 65,536 are mapped and unmapped
//   aperture_two/<pages>.<window>
//                            while a thread on another core does the same on the same window
//
// Two frames are in flight. A rename ring works on 3 backings, two of which are in use; the benchmark checks that every
// discard renames. An upload ring has room for 64 blocks. With one writer it retires a frame at once, or each block
// where the row says so; with several writers it retires each block. A growing upload ring has one block of that size,
// does not grow, and ends a round with each frame. In a window that is nearly empty one page is
// mapped all the time. In one that is nearly full all pages are, but as many as the threads map: the last ones.
#include <benchmark/benchmark.h>
#include <time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <thread>
#include <tidemark/fence/fence.hpp>
#include <tidemark/memory/growing_upload_ring.hpp>
#include <tidemark/memory/host_aperture.hpp>
#include <tidemark/memory/rename_ring.hpp>
#include <tidemark/memory/retire_queue.hpp>
#include <tidemark/memory/upload_ring.hpp>
#include <utility>
#include <vector>

#include "peers/memory.hpp"
#include "support/measure.hpp"
#include "support/threads.hpp"

namespace {

using benchmark::State;
using tidemark::map_mode;
using tidemark::writers;

constexpr std::size_t unrolled = 16;
using bench::blocks_in_frame;
using bench::frames_in_flight;
constexpr std::size_t blocks_in_ring = 64;

// ---- our subjects: lend(value), frame(value, use)
// ---------------------------------------------------------------------------------------

template <writers Writers>
class renamed_blocks {
 public:
  ~renamed_blocks() { finished_.poison(); }  // so that the ring does not wait for what is in flight

  void* lend(std::uint64_t value) {
    const auto mapped = ring_.try_map(map_mode::discard);
    if (!mapped.renamed) [[unlikely]]
      ++not_renamed_;
    ring_.retire(mapped, value);
    if (value > frames_in_flight) finished_.signal(value - frames_in_flight);
    return mapped.memory;
  }
  /// Returns whether all discards renamed but the first, when nothing is in use yet.
  bool is_right() const { return not_renamed_ <= 1 && ring_.backings() == frames_in_flight + 1; }

 private:
  tidemark::progress_fence finished_;
  tidemark::rename_ring<tidemark::progress_fence_view, tidemark::heap_source, Writers> ring_{
      finished_.view(), {.bytes = bench::block_bytes, .max_renames = frames_in_flight + 1}};
  std::uint64_t not_renamed_ = 0;
};

/// Maps what the last discard left current.
template <writers Writers, map_mode Mode>
class mapped_blocks {
 public:
  ~mapped_blocks() { finished_.poison(); }

  void* lend(std::uint64_t value) {
    const auto mapped = ring_.try_map(Mode);
    if (!mapped) [[unlikely]]
      ++refused_;
    ring_.retire(mapped, Mode == map_mode::read ? 0 : value);
    if (value > frames_in_flight) finished_.signal(value - frames_in_flight);
    return mapped.memory;
  }
  bool is_right() const { return refused_ == 0; }

 private:
  tidemark::progress_fence finished_;
  tidemark::rename_ring<tidemark::progress_fence_view, tidemark::heap_source, Writers> ring_{
      finished_.view(), {.bytes = bench::block_bytes}};
  std::uint64_t refused_ = 0;
};

template <map_mode Mode>
class locked_blocks {
 public:
  void* lend(std::uint64_t value) {
    void* const memory = block_.map(Mode == map_mode::no_overwrite);
    if (memory == nullptr) [[unlikely]]
      ++refused_;
    block_.retire(Mode == map_mode::read ? 0 : value);
    if (value > frames_in_flight) finished_.signal(value - frames_in_flight);
    return memory;
  }
  bool is_right() const { return refused_ == 0; }

 private:
  tidemark::progress_fence finished_;
  bench::locked_block<tidemark::progress_fence_view> block_{finished_.view()};
  std::uint64_t refused_ = 0;
};

template <bool EachRetired>
class uploaded_blocks {
 public:
  template <class Use>
  void frame(std::uint64_t value, const Use& use) {
    for (std::size_t i = 0; i < blocks_in_frame; ++i) {
      const tidemark::upload_part part = ring_.try_allocate(bench::block_bytes, 64);
      if (!part) [[unlikely]]
        ++refused_;
      if (EachRetired) ring_.retire(value);
      use(memory_.data() + part.offset);
    }
    if (!EachRetired) ring_.retire(value);
    if (value > frames_in_flight) finished_.signal(value - frames_in_flight);
  }
  bool is_right() const { return refused_ == 0; }

 private:
  tidemark::progress_fence finished_;
  tidemark::upload_ring<> ring_{finished_.view(), {.capacity = blocks_in_ring * bench::block_bytes}};
  alignas(64) std::array<std::byte, blocks_in_ring * bench::block_bytes> memory_{};
  std::uint64_t refused_ = 0;
};

/// The same in a ring that may grow, and ends a round with each frame.
template <writers Writers>
class growing_blocks {
 public:
  ~growing_blocks() { finished_.poison(); }  // so that the ring does not wait for what is in flight

  template <class Use>
  void frame(std::uint64_t value, const Use& use) {
    for (std::size_t i = 0; i < blocks_in_frame; ++i) {
      const auto part = ring_.try_allocate(bench::block_bytes, 64);
      if (!part) [[unlikely]] {
        ++refused_;
        continue;
      }
      if constexpr (Writers == writers::several) ring_.retire(part, value);
      use(part.memory + part.offset);
    }
    if constexpr (Writers == writers::one) ring_.retire(value);
    if (value > frames_in_flight) finished_.signal(value - frames_in_flight);
    ring_.end_round();
  }
  bool is_right() const { return refused_ == 0 && ring_.blocks() == 1; }

 private:
  tidemark::progress_fence finished_;
  tidemark::growing_upload_ring<tidemark::progress_fence_view, tidemark::heap_source, Writers> ring_{
      finished_.view(), {.block_bytes = blocks_in_ring * bench::block_bytes}};
  std::uint64_t refused_ = 0;
};

class blocks_of_several_writers {
 public:
  template <class Use>
  void frame(std::uint64_t value, const Use& use) {
    for (std::size_t i = 0; i < blocks_in_frame; ++i) {
      const tidemark::upload_part part = ring_.try_allocate(bench::block_bytes, 64);
      if (!part) [[unlikely]] {
        ++refused_;
        continue;
      }
      ring_.retire(part, value);
      use(memory_.data() + part.offset);
    }
    if (value > frames_in_flight) finished_.signal(value - frames_in_flight);
  }
  bool is_right() const { return refused_ == 0; }

 private:
  tidemark::progress_fence finished_;
  tidemark::upload_ring<tidemark::progress_fence_view, writers::several> ring_{
      finished_.view(), {.capacity = blocks_in_ring * bench::block_bytes}};
  alignas(64) std::array<std::byte, blocks_in_ring * bench::block_bytes> memory_{};
  std::uint64_t refused_ = 0;
};

template <class Subject>
void check(State& state, const Subject& subject) {
  if constexpr (requires { subject.is_right(); }) {
    if (!subject.is_right()) state.SkipWithError("not every operation did what is measured");
  }
}

template <class Subject>
void lend(State& state) {
  const bench::escaped<Subject> subject;
  bench::measure_blocks<unrolled>(
      state, [&from = *subject](std::uint64_t value) { benchmark::DoNotOptimize(from.lend(value)); });
  check(state, *subject);
}

template <class Subject>
void lend_written(State& state) {
  const bench::escaped<Subject> subject;
  bench::measure_blocks<unrolled>(state, [&from = *subject](std::uint64_t value) {
    void* const memory = from.lend(value);
    std::memset(memory, static_cast<int>(value), bench::block_bytes);
    benchmark::DoNotOptimize(memory);
  });
  check(state, *subject);
}

constexpr std::size_t unrolled_frames = 2;

template <class Subject>
void frame(State& state) {
  const bench::escaped<Subject> subject;
  bench::measure_blocks<unrolled_frames>(state, [&from = *subject](std::uint64_t value) {
    from.frame(value, [](void* memory) { benchmark::DoNotOptimize(memory); });
  });
  check(state, *subject);
}

template <class Subject>
void frame_written(State& state) {
  const bench::escaped<Subject> subject;
  bench::measure_blocks<unrolled_frames>(state, [&from = *subject](std::uint64_t value) {
    from.frame(value, [value](void* memory) {
      std::memset(memory, static_cast<int>(value), bench::block_bytes);
      benchmark::DoNotOptimize(memory);
    });
  });
  check(state, *subject);
}

// ---- two threads
// -----------------------------------------------------------------------------------------------------

class blocks_of_two {
 public:
  ~blocks_of_two() { finished_.poison(); }

  void* lend() {
    const auto mapped = ring_.try_map(map_mode::discard);
    const std::uint64_t value = work_.fetch_add(1, std::memory_order_relaxed);
    ring_.retire(mapped, value);
    if (value > frames_in_flight) finished_.signal(value - frames_in_flight);
    return mapped.memory;
  }

 private:
  tidemark::fence finished_;
  tidemark::rename_ring<tidemark::fence_view, tidemark::heap_source, writers::several> ring_{
      finished_.view(), {.bytes = bench::block_bytes}};
  std::atomic<std::uint64_t> work_{1};
};

class heap_of_two {
 public:
  static void* lend() {
    static thread_local bench::heap_blocks own;
    static thread_local std::uint64_t value = 0;
    return own.lend(value++);
  }
};

template <class Subject>
void lend_two(State& state) {
  const bench::escaped<Subject> subject;
  bench::measure_beside<unrolled>(
      state, [&] { benchmark::DoNotOptimize(subject->lend()); },
      [&from = *subject](std::uint64_t) { benchmark::DoNotOptimize(from.lend()); });
}

// ---- a map that waits
// ------------------------------------------------------------------------------------------------

/// The native platform, which counts how often the calling thread went to sleep.
struct counting_platform : tidemark::native_platform {
  static bool park(park_word& word, std::uint32_t expected, tidemark::deadline until) {
    ++parks;
    return tidemark::native_platform::park(word, expected, until);
  }
  static inline thread_local std::uint64_t parks = 0;
};

double own_processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) * 1e-6;
}

void blocked_map(State& state) {
  using fence = tidemark::basic_progress_fence<counting_platform>;
  using view = decltype(std::declval<const fence&>().view());
  std::vector<double> waited;
  std::vector<double> used;
  std::uint64_t parks = 0;
  for (auto _ : state) {
    fence finished;
    tidemark::rename_ring<view> ring{finished.view(), {.bytes = bench::block_bytes, .max_renames = 1}};
    ring.retire(ring.map(map_mode::discard), 1);
    bench::thread_group executor;
    executor.start(1, [&](std::size_t) {
      std::this_thread::sleep_for(std::chrono::milliseconds{200});
      finished.signal(1);
    });
    const std::uint64_t parks_before = counting_platform::parks;
    const double before = own_processor_time();
    const auto start = bench::steady::now();
    const auto mapped = ring.map(map_mode::discard);
    waited.push_back(bench::nanoseconds_between(start, bench::steady::now()) * 1e-6);
    used.push_back(own_processor_time() - before);
    parks += counting_platform::parks - parks_before;
    state.SetIterationTime(waited.back() * 1e-3);
    ring.unmap(mapped);
    executor.join();
  }
  state.counters["waited_ms"] = bench::median(waited);
  state.counters["processor_ms"] = bench::median(used);
  state.counters["parks"] = static_cast<double>(parks) / static_cast<double>(state.iterations());
}

// ---- objects
// ---------------------------------------------------------------------------------------------------------

/// A queue that has nothing but its progress.
class progress_only {
 public:
  using platform = tidemark::native_platform;

  std::uint64_t last_queued() const { return 0; }
  bool is_finished(std::uint64_t serial) const { return progress_.is_reached(serial); }
  auto wait_finished(std::uint64_t serial) const { return progress_.wait(serial); }

  const tidemark::progress_fence& progress() const { return progress_; }

 private:
  tidemark::progress_fence progress_{1};
};

struct object : tidemark::retire_hook<1> {
  std::atomic<bool> in_use{false};
};
struct dispose {
  void operator()(object& which) const noexcept { which.in_use.store(false, std::memory_order_release); }
};

class retired_objects {
 public:
  void retire(object& which) { queue_.retire(which, dispose{}, {1}); }
  void reclaim() { queue_.reclaim(); }

 private:
  progress_only progress_;
  tidemark::retire_queue<progress_only> queue_{progress_};
};

class deque_objects {
 public:
  void retire(object& which) { deque_.retire(which, 1); }
  void reclaim() { deque_.reclaim(dispose{}); }

 private:
  progress_only progress_;
  bench::locked_deque<object, tidemark::progress_fence_view> deque_{progress_.progress().view()};
};

/// Retires the next of many objects, and reclaims now and then. Waits for an object that another thread still disposes
/// of.
template <class Subject>
class retirer {
 public:
  explicit retirer(Subject& subject) : subject_{subject} {}
  ~retirer() {
    for (object& each : objects_) {
      while (each.in_use.load(std::memory_order_acquire)) subject_.reclaim();
    }
  }

  void operator()(std::uint64_t value) {
    object& next = objects_[value % objects_.size()];
    while (next.in_use.load(std::memory_order_acquire)) subject_.reclaim();
    next.in_use.store(true, std::memory_order_relaxed);
    subject_.retire(next);
    if (value % 16 == 0) subject_.reclaim();
  }

 private:
  Subject& subject_;
  std::deque<object> objects_ = std::deque<object>(256);
};

template <class Subject>
void retire(State& state) {
  const bench::escaped<Subject> subject;
  retirer<Subject> here{*subject};
  bench::measure_blocks<unrolled>(state, [&here](std::uint64_t value) { here(value); });
}

template <class Subject>
void retire_two(State& state) {
  const bench::escaped<Subject> subject;
  retirer<Subject> here{*subject};
  retirer<Subject> there{*subject};
  std::uint64_t others = 0;
  bench::measure_beside<unrolled>(state, [&] { there(++others); }, [&here](std::uint64_t value) { here(value); });
}

// ---- pages of a window -------------------------------------------------------------------------------------------

constexpr std::size_t pages_of_window = 65'536;

/// Of the pages all are free but one; or so many are free as are mapped at a time.
template <std::size_t Pages, std::size_t Threads, bool IsFull>
class lent_pages {
 public:
  lent_pages() {
    const std::vector<std::size_t> others(IsFull ? pages_of_window - Pages * Threads : 1);
    if (!window_.try_map(others)) not_mapped_.fetch_add(1, std::memory_order_relaxed);
  }
  void* lend() {
    static constexpr std::array<std::size_t, Pages> sources{};
    const tidemark::aperture_view view = window_.try_map(sources);
    if (!view) [[unlikely]]
      not_mapped_.fetch_add(1, std::memory_order_relaxed);
    else
      window_.unmap(view);
    return nullptr;
  }
  bool is_right() const { return not_mapped_.load(std::memory_order_relaxed) == 0; }

 private:
  tidemark::progress_fence finished_;
  tidemark::host_aperture<> window_{finished_.view(), {.pages = pages_of_window}};
  std::atomic<std::uint64_t> not_mapped_{0};
};

template <std::size_t Pages, bool IsFull>
void aperture(State& state) {
  const bench::escaped<lent_pages<Pages, 1, IsFull>> subject;
  bench::measure_blocks<1>(state, [&from = *subject](std::uint64_t) { benchmark::DoNotOptimize(from.lend()); });
  check(state, *subject);
}

template <std::size_t Pages, bool IsFull>
void aperture_two(State& state) {
  const bench::escaped<lent_pages<Pages, 2, IsFull>> subject;
  bench::measure_beside<1>(
      state, [&] { benchmark::DoNotOptimize(subject->lend()); },
      [&from = *subject](std::uint64_t) { benchmark::DoNotOptimize(from.lend()); });
  check(state, *subject);
}

}  // namespace

int main(int argc, char** argv) {
  const auto add = [](const char* name, void (*function)(State&)) {
    const bool in_company = std::string_view{name}.find("_two/") != std::string_view::npos;
    bench::row(name, function)->Iterations(in_company ? 200 : 1000);
  };
  add("lend/rename_ring.one", lend<renamed_blocks<writers::one>>);
  add("lend/rename_ring.several", lend<renamed_blocks<writers::several>>);
  add("lend/bump", lend<bench::bump_blocks>);
  add("lend/malloc", lend<bench::heap_blocks>);
  add("lend_written/rename_ring.one", lend_written<renamed_blocks<writers::one>>);
  add("lend_written/rename_ring.several", lend_written<renamed_blocks<writers::several>>);
  add("lend_written/bump", lend_written<bench::bump_blocks>);
  add("lend_written/malloc", lend_written<bench::heap_blocks>);
  add("map/rename_ring.one.read", lend<mapped_blocks<writers::one, map_mode::read>>);
  add("map/rename_ring.one.no_overwrite", lend<mapped_blocks<writers::one, map_mode::no_overwrite>>);
  add("map/rename_ring.several.read", lend<mapped_blocks<writers::several, map_mode::read>>);
  add("map/rename_ring.several.no_overwrite", lend<mapped_blocks<writers::several, map_mode::no_overwrite>>);
  add("map/locked_block.read", lend<locked_blocks<map_mode::read>>);
  add("map/locked_block.no_overwrite", lend<locked_blocks<map_mode::no_overwrite>>);
  add("frame/upload_ring", frame<uploaded_blocks<false>>);
  add("frame/upload_ring.each", frame<uploaded_blocks<true>>);
  add("frame/upload_ring.several", frame<blocks_of_several_writers>);
  add("frame/growing_upload_ring", frame<growing_blocks<writers::one>>);
  add("frame/growing_upload_ring.several", frame<growing_blocks<writers::several>>);
  add("frame/bump", frame<bench::bump_blocks>);
  add("frame/malloc", frame<bench::heap_blocks>);
  add("frame_written/upload_ring", frame_written<uploaded_blocks<false>>);
  add("frame_written/bump", frame_written<bench::bump_blocks>);
  add("frame_written/malloc", frame_written<bench::heap_blocks>);
#ifdef TIDEMARK_HAVE_BOOST
  add("lend/boost_pool", lend<bench::pool_blocks>);
  add("lend_written/boost_pool", lend_written<bench::pool_blocks>);
  add("frame/boost_pool", frame<bench::pool_blocks>);
  add("frame_written/boost_pool", frame_written<bench::pool_blocks>);
#else
  std::fputs("boost_pool is left out: Boost was not found when this was built (package libboost-dev)\n", stderr);
#endif
  add("lend_two/rename_ring.several", lend_two<blocks_of_two>);
  add("lend_two/malloc", lend_two<heap_of_two>);
  bench::row("blocked/rename_ring", blocked_map)->Iterations(3);
  add("aperture/one_page.nearly_empty", aperture<1, false>);
  add("aperture/one_page.nearly_full", aperture<1, true>);
  add("aperture/eight_pages.nearly_empty", aperture<8, false>);
  add("aperture/eight_pages.nearly_full", aperture<8, true>);
  add("aperture_two/one_page.nearly_empty", aperture_two<1, false>);
  add("aperture_two/one_page.nearly_full", aperture_two<1, true>);
  add("retire/retire_queue", retire<retired_objects>);
  add("retire/locked_deque", retire<deque_objects>);
  add("retire_two/retire_queue", retire_two<retired_objects>);
  add("retire_two/locked_deque", retire_two<deque_objects>);
  return bench::run_all(argc, argv);
}
