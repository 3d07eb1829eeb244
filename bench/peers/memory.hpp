// SPDX-License-Identifier: BSL-1.0
//
// Peers of the rename ring and the upload ring: 256 bytes that are given to an executor and come back some operations
// later. Each has lend(value), which returns memory that is in use until `later` operations have followed. And a peer of the
// retire queue: a deque and a mutex.
//
//   heap_blocks   malloc, and free of the oldest
//   pool_blocks   boost::pool, for one thread; present only where the build found the library (TIDEMARK_HAVE_BOOST)
//   bump_blocks   the floor: the next 256 bytes of a buffer, nobody asks whether they are free
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <vector>

#ifdef TIDEMARK_HAVE_BOOST
#include <boost/pool/pool.hpp>
#endif

namespace bench {

inline constexpr std::size_t block_bytes = 256;

/// Allocates one block and frees the one that was allocated `Later` operations ago.
template <class Allocator, std::size_t Later>
class blocks_in_flight {
 public:
  ~blocks_in_flight() {
    for (void* block : in_flight_) allocator_.free(block);
  }
  void* lend(std::uint64_t value) {
    void*& oldest = in_flight_[value % Later];
    allocator_.free(oldest);
    return oldest = allocator_.allocate();
  }

 private:
  Allocator allocator_;
  std::array<void*, Later> in_flight_{};
};

struct heap_allocator {
  void* allocate() { return std::malloc(block_bytes); }
  void free(void* block) { std::free(block); }
};
template <std::size_t Later>
using heap_blocks = blocks_in_flight<heap_allocator, Later>;

#ifdef TIDEMARK_HAVE_BOOST
class pool_allocator {
 public:
  void* allocate() { return pool_.malloc(); }
  void free(void* block) {
    if (block != nullptr) pool_.free(block);
  }

 private:
  boost::pool<> pool_{block_bytes};
};
template <std::size_t Later>
using pool_blocks = blocks_in_flight<pool_allocator, Later>;
#endif

class bump_blocks {
 public:
  void* lend(std::uint64_t) {
    next_ = (next_ + block_bytes) % memory_.size();
    return &memory_[next_];
  }

 private:
  std::array<std::byte, 64 * block_bytes> memory_{};
  std::size_t next_ = 0;
};

/// Objects with the value until which they are in use, in the order in which they came.
template <class Object, class View>
class locked_deque {
 public:
  explicit locked_deque(View finished) : finished_{finished} {}

  void retire(Object& object, std::uint64_t value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back({&object, value});
  }
  template <class Dispose>
  std::size_t drain(const Dispose& dispose) {
    static thread_local std::vector<Object*> due;
    due.clear();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (; !waiting_.empty() && finished_.is_reached(waiting_.front().until); waiting_.pop_front()) {
        due.push_back(waiting_.front().object);
      }
    }
    for (Object* object : due) dispose(*object);
    return due.size();
  }

 private:
  struct entry {
    Object* object;
    std::uint64_t until;
  };
  View finished_;
  std::mutex mutex_;
  std::deque<entry> waiting_;
};

}  // namespace bench
