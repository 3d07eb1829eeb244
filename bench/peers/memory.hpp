// SPDX-License-Identifier: BSL-1.0
//
// Peers of the rename ring and the upload ring: 256 bytes that are given to an executor and come back two frames later.
// Each has lend(value), which returns the one block of the frame `value`; and frame(value, use), a frame of 8 blocks:
// first the blocks of two frames ago come back, then the new ones are given to `use`. A peer of maps of the current
// backing: a block whose users are counted under a mutex. And a peer of the retire queue: a deque and a mutex.
//
//   heap_blocks   malloc and free
//   pool_blocks   boost::pool, for one thread; present only where the build found the library (TIDEMARK_HAVE_BOOST)
//   bump_blocks   the floor: the next 256 bytes of a buffer, without a look whether they are free
#pragma once

#include <algorithm>
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
inline constexpr std::uint64_t frames_in_flight = 2;
inline constexpr std::size_t blocks_in_frame = 8;

template <class Allocator>
class blocks_in_flight {
 public:
  ~blocks_in_flight() {
    for (auto& blocks : in_flight_) {
      for (void* block : blocks) allocator_.free(block);
    }
  }
  void* lend(std::uint64_t value) {
    void*& oldest = in_flight_[value % frames_in_flight][0];
    allocator_.free(oldest);
    return oldest = allocator_.allocate();
  }
  template <class Use>
  void frame(std::uint64_t value, const Use& use) {
    auto& blocks = in_flight_[value % frames_in_flight];
    for (void* block : blocks) allocator_.free(block);
    for (void*& block : blocks) {
      block = allocator_.allocate();
      use(block);
    }
  }

 private:
  Allocator allocator_;
  std::array<std::array<void*, blocks_in_frame>, frames_in_flight> in_flight_{};
};

struct heap_allocator {
  void* allocate() { return std::malloc(block_bytes); }
  void free(void* block) { std::free(block); }
};
using heap_blocks = blocks_in_flight<heap_allocator>;

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
using pool_blocks = blocks_in_flight<pool_allocator>;
#endif

class bump_blocks {
 public:
  void* lend(std::uint64_t) {
    next_ = (next_ + block_bytes) % memory_.size();
    return &memory_[next_];
  }
  template <class Use>
  void frame(std::uint64_t value, const Use& use) {
    for (std::size_t i = 0; i < blocks_in_frame; ++i) use(lend(value));
  }

 private:
  alignas(64) std::array<std::byte, 64 * block_bytes> memory_{};
  std::size_t next_ = 0;
};

/// One block with the number of those who have mapped it, and the value until which it is in use.
template <class View>
class locked_block {
 public:
  explicit locked_block(View finished) : finished_{finished} {}

  /// Returns null if the block is in use, unless `in_use_too`.
  void* map(bool in_use_too) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!in_use_too && !finished_.is_reached(in_use_until_)) return nullptr;
    ++mapped_;
    return memory_.data();
  }
  void retire(std::uint64_t value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    --mapped_;
    in_use_until_ = (std::max)(in_use_until_, value);
  }

 private:
  View finished_;
  std::mutex mutex_;
  std::uint64_t in_use_until_ = 0;
  std::uint32_t mapped_ = 0;
  alignas(64) std::array<std::byte, block_bytes> memory_{};
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
  std::size_t reclaim(const Dispose& dispose) {
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
