// SPDX-License-Identifier: BSL-1.0
//
// What a fence of a slab costs beside a free list, and how much memory it takes.
//
//   slab/<kind>/take         acquire and release of a fence
//   slab/free_list/take      a pop and a push of a list of indices with versions, which does nothing else
//   slab/<kind>/signal       a signal by a handle, nobody waits
//   slab/<kind>/pinned       a signal of a pinned fence, nobody waits
//   slab/<fence>/signal      the same of a fence of its own
//   slab/memory              bytes of a fence where the words are packed, and of a room
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tidemark/tidemark.hpp>

#include "support/measure.hpp"

namespace {

using benchmark::State;

constexpr std::size_t fences = 1024;

/// A lock-free list of indices, as a program would write it.
class free_list {
 public:
  free_list() {
    for (std::uint32_t index = 0; index < fences; ++index) next_[index].store(index + 2 <= fences ? index + 2 : 0);
    head_.store(1);
  }
  std::uint32_t pop() noexcept {
    std::uint64_t seen = head_.load(std::memory_order_acquire);
    std::uint64_t after = 0;
    do {
      const auto first = static_cast<std::uint32_t>(seen);
      if (first == 0) return 0;
      const std::uint32_t next = next_[first - 1].load(std::memory_order_relaxed);
      after = ((seen >> 32) + 1) << 32 | next;
    } while (!head_.compare_exchange_weak(seen, after, std::memory_order_acquire, std::memory_order_acquire));
    return static_cast<std::uint32_t>(seen);
  }
  void push(std::uint32_t taken) noexcept {
    std::uint64_t seen = head_.load(std::memory_order_relaxed);
    do {
      next_[taken - 1].store(static_cast<std::uint32_t>(seen), std::memory_order_relaxed);
    } while (!head_.compare_exchange_weak(seen, (seen & ~std::uint64_t{UINT32_MAX}) | taken, std::memory_order_release,
                                          std::memory_order_relaxed));
  }

 private:
  std::atomic<std::uint64_t> head_{0};
  std::unique_ptr<std::atomic<std::uint32_t>[]> next_{new std::atomic<std::uint32_t>[fences]};
};

void take_from_list(State& state) {
  free_list list;
  bench::measure_blocks<16>(state, [&of = list](std::uint64_t) {
    const std::uint32_t taken = of.pop();
    benchmark::DoNotOptimize(taken);
    of.push(taken);
  });
}

template <class Slab>
void take_from_slab(State& state) {
  auto made = Slab::make({.fences = fences});
  bench::measure_blocks<16>(state, [&of = *made.slab](std::uint64_t) {
    const tidemark::fence_handle taken = of.acquire();
    benchmark::DoNotOptimize(taken);
    static_cast<void>(of.release(taken));
  });
}

template <class Slab>
void signal_by_handle(State& state) {
  auto made = Slab::make({.fences = fences});
  const tidemark::fence_handle handle = made.slab->acquire();
  bench::measure_blocks<16>(
      state, [&of = *made.slab, handle](std::uint64_t value) { static_cast<void>(of.signal(handle, value)); });
}

template <class Slab>
void signal_pinned(State& state) {
  auto made = Slab::make({.fences = fences});
  auto pinned = made.slab->pin(made.slab->acquire());
  bench::measure_blocks<16>(state, [&of = pinned](std::uint64_t value) { static_cast<void>(of.signal(value)); });
}

template <class Fence>
void signal_fence(State& state) {
  const bench::escaped<Fence> fence;
  bench::measure_blocks<16>(state, [&of = *fence](std::uint64_t value) { static_cast<void>(of.signal(value)); });
}

/// Counts what it gives out.
std::size_t given = 0;

void memory(State& state) {
  const tidemark::memory_placement counting{
      .allocate =
          [](void*, std::size_t bytes, std::size_t alignment, std::uint64_t) noexcept {
            given += bytes;
            return ::operator new(bytes, std::align_val_t{alignment}, std::nothrow);
          },
      .deallocate = [](void*, void* at, std::size_t,
                       std::size_t alignment) noexcept { ::operator delete(at, std::align_val_t{alignment}); }};
  constexpr std::size_t count = 1'000'000;
  for (auto _ : state) {
    given = 0;
    const auto made = tidemark::progress_fence_slab::make(
        {.fences = count, .value_stride = 8, .monitored_stride = 8, .values = counting, .monitored = counting});
    benchmark::DoNotOptimize(made.slab.has_value());
  }
  const std::size_t slots = count * sizeof(tidemark::detail::slab_slot<tidemark::native_platform>);
  state.counters["bytes"] = static_cast<double>(given + slots) / static_cast<double>(count);
  using room = tidemark::detail::slab_room<
      tidemark::native_platform,
      tidemark::basic_progress_fence<tidemark::native_platform,
                                     tidemark::detail::room_options(tidemark::fence_options{.capacity = 4})>>;
  state.counters["room_bytes"] = static_cast<double>(sizeof(room));
  state.counters["fence_bytes"] = static_cast<double>(sizeof(tidemark::progress_fence));
}

template <class Slab>
void add(const std::string& kind) {
  bench::row("slab/" + kind + "/take", take_from_slab<Slab>)->Iterations(500);
  bench::row("slab/" + kind + "/signal", signal_by_handle<Slab>)->Iterations(500);
  bench::row("slab/" + kind + "/pinned", signal_pinned<Slab>)->Iterations(500);
}

}  // namespace

int main(int argc, char** argv) {
  bench::row("slab/free_list/take", take_from_list)->Iterations(500);
  add<tidemark::fence_slab>("fence_slab");
  add<tidemark::progress_fence_slab>("progress_fence_slab");
  bench::row("slab/fence/signal", signal_fence<tidemark::fence>)->Iterations(500);
  bench::row("slab/progress_fence/signal", signal_fence<tidemark::progress_fence>)->Iterations(500);
  bench::row("slab/memory", memory)->Iterations(1);
  return bench::run_all(argc, argv);
}
