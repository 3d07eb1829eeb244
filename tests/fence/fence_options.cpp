// SPDX-License-Identifier: BSL-1.0
//
// The choices of a fence: what they are by default, and when a fence allocates.
#include <doctest/doctest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/fence_options.hpp>

#include "support/kinds.hpp"
#include "support/threads.hpp"

using namespace testing;
using tidemark::fence_options;
using tidemark::heap_growth;
using tidemark::wait_status;

namespace {

/// What allocations of this thread do.
struct allocations {
  bool are_counted = false;
  bool fail = false;
  std::size_t count = 0;
};
thread_local allocations here;

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (here.are_counted) {
    ++here.count;
    if (here.fail) throw std::bad_alloc{};
  }
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes) != 0)
    throw std::bad_alloc{};
  return memory;
}

void* allocate_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  try {
    return allocate(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// Not inlined: where only one of `new` and `delete` is, GCC 12 warns of a `free` that does not match.
[[gnu::noinline]] void release(void* memory) noexcept { std::free(memory); }

/// Counts the allocations of this thread in its scope.
class counted {
 public:
  explicit counted(bool fail = false) {
    here.are_counted = true;
    here.fail = fail;
    here.count = 0;
  }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { here.are_counted = false; }
  std::size_t count() const { return here.count; }
};

}  // namespace

// All forms, because a sanitizer brings its own of each.
void* operator new(std::size_t bytes) { return allocate(bytes, 1); }
void* operator new[](std::size_t bytes) { return allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes, 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate_or_null(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

namespace {

constexpr fence_options fixed{.capacity = 2, .growth = heap_growth::forbidden, .max_spin_ns = 0, .statistics = true};
constexpr fence_options growing{.capacity = 2, .max_spin_ns = 0, .statistics = true};

/// Lets `count` threads wait, counts what they allocate, and releases them. Returns the sum.
template <class Fence>
std::size_t allocated_by_waiters(Fence& fence, std::size_t count, bool fail = false) {
  std::atomic<std::size_t> sum{0};
  {
    std::vector<std::unique_ptr<waiter>> waiters;
    for (std::size_t i = 0; i < count; ++i) {
      waiters.push_back(std::make_unique<waiter>([&fence, &sum, fail] {
        const counted during{fail};
        const wait_status status = fence.wait(5);
        sum += during.count();
        return status;
      }));
      CHECK(waiters.back()->falls_asleep());
    }
    const counted during;
    fence.signal(5);
    CHECK(during.count() == 0);
    for (auto& one : waiters) CHECK(one->status() == wait_status::reached);
  }
  return sum;
}

}  // namespace

TEST_CASE("a fence as it comes has 16 slots, may grow, spins as it has learnt, holds its value and counts nothing") {
  constexpr fence_options usual;
  CHECK(usual.capacity == 16);
  CHECK(usual.arity == 4);
  CHECK(usual.growth == heap_growth::allowed);
  CHECK(usual.max_spin_ns == 200'000);
  CHECK(usual.layout == tidemark::fence_layout::two_lines);
  CHECK(usual.storage == tidemark::value_storage::own);
  CHECK_FALSE(usual.statistics);
  CHECK(tidemark::fence::options.capacity == usual.capacity);
}

TEST_CASE_TEMPLATE("[A32] waiters allocate only where they find no slot, and signallers never", Kind, EVERY_KIND) {
  {
    typename Kind::template fence<growing> fence;
    CHECK(allocated_by_waiters(fence, 2) == 0);
  }
  {
    typename Kind::template fence<growing> fence;
    CHECK(allocated_by_waiters(fence, 7) > 0);
    CHECK(fence.overflow_count() == 0);
  }
  {
    typename Kind::template fence<fixed> fence;
    CHECK(allocated_by_waiters(fence, 7) == 0);
    CHECK(fence.overflow_count() == 5);
  }
}

TEST_CASE_TEMPLATE("[A14] a waiter for which there is no memory shares the overflow lane", Kind, EVERY_KIND) {
  typename Kind::template fence<growing> fence;
  CHECK(allocated_by_waiters(fence, 4, true) == 2);  // each has tried once
  CHECK(fence.overflow_count() == 2);
}
