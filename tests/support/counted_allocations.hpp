// SPDX-License-Identifier: BSL-1.0
//
// Counts the allocations of a thread, and lets them fail. It replaces the program's operator new, so only one source
// file of a program may include it.
#ifndef TIDEMARK_TESTS_SUPPORT_COUNTED_ALLOCATIONS_HPP
#define TIDEMARK_TESTS_SUPPORT_COUNTED_ALLOCATIONS_HPP

#include <stdlib.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace testing {

/// What allocations of this thread do.
struct allocations {
  bool are_counted = false;
  bool fail = false;
  std::size_t spared = 0;  // how many do not fail
  std::size_t count = 0;
};
inline thread_local allocations here;

inline void* allocate(std::size_t bytes, std::size_t alignment) {
  if (here.are_counted) {
    ++here.count;
    if (here.fail && here.count > here.spared) throw std::bad_alloc{};
  }
  void* memory = nullptr;
  if (::posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes) != 0)
    throw std::bad_alloc{};
  return memory;
}

inline void* allocate_or_null(std::size_t bytes, std::size_t alignment) noexcept {
  try {
    return allocate(bytes, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// Not inlined: where only one of `new` and `delete` is, GCC 12 warns of a `free` that does not match.
[[gnu::noinline]] inline void release(void* memory) noexcept { std::free(memory); }

/// Counts the allocations of this thread in its scope.
class counted_allocations {
 public:
  /// \param spared  how many succeed before the others fail
  explicit counted_allocations(bool fail = false, std::size_t spared = 0) {
    here.are_counted = true;
    here.fail = fail;
    here.spared = spared;
    here.count = 0;
  }
  counted_allocations(const counted_allocations&) = delete;
  counted_allocations& operator=(const counted_allocations&) = delete;
  ~counted_allocations() { here.are_counted = false; }
  std::size_t count() const { return here.count; }
};

}  // namespace testing

// All forms, because a sanitizer brings its own of each.
// NOLINTBEGIN(misc-definitions-in-headers): a replacement must not be inline
void* operator new(std::size_t bytes) { return testing::allocate(bytes, 1); }
void* operator new[](std::size_t bytes) { return testing::allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return testing::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return testing::allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return testing::allocate_or_null(bytes, 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return testing::allocate_or_null(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return testing::allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return testing::allocate_or_null(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { testing::release(memory); }
void operator delete[](void* memory) noexcept { testing::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { testing::release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { testing::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { testing::release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { testing::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { testing::release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { testing::release(memory); }
// NOLINTEND(misc-definitions-in-headers)

#endif  // TIDEMARK_TESTS_SUPPORT_COUNTED_ALLOCATIONS_HPP
