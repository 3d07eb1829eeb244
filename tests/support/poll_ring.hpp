// SPDX-License-Identifier: BSL-1.0
//
// An io_uring with one operation, which waits until a descriptor is readable. Made of the kernel's interface, so that
// tests need no library.
#ifndef TIDEMARK_TESTS_SUPPORT_POLL_RING_HPP
#define TIDEMARK_TESTS_SUPPORT_POLL_RING_HPP

#include <linux/io_uring.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace testing {

class poll_ring {
 public:
  poll_ring() {
    ring_ = static_cast<int>(::syscall(SYS_io_uring_setup, 1, &parameters_));
    if (ring_ < 0) return;
    const std::size_t submissions = parameters_.sq_off.array + parameters_.sq_entries * sizeof(std::uint32_t);
    const std::size_t completions = parameters_.cq_off.cqes + parameters_.cq_entries * sizeof(io_uring_cqe);
    size_ = submissions > completions ? submissions : completions;
    queues_ = map(size_, IORING_OFF_SQ_RING);
    entries_ = map(parameters_.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
  }
  poll_ring(const poll_ring&) = delete;
  poll_ring& operator=(const poll_ring&) = delete;
  ~poll_ring() {
    if (entries_ != nullptr) ::munmap(entries_, parameters_.sq_entries * sizeof(io_uring_sqe));
    if (queues_ != nullptr) ::munmap(queues_, size_);
    if (ring_ >= 0) ::close(ring_);
  }

  /// Whether the system has given one. Both queues must lie in one mapping, as they do since Linux 5.4.
  bool is_open() const {
    return queues_ != nullptr && entries_ != nullptr && (parameters_.features & IORING_FEAT_SINGLE_MMAP) != 0;
  }

  /// Submits the wait, and sleeps until it is complete. Returns whether the descriptor is readable.
  bool await_readable(int descriptor) {
    auto* const entry = static_cast<io_uring_sqe*>(entries_);
    *entry = io_uring_sqe{};
    entry->opcode = IORING_OP_POLL_ADD;
    entry->fd = descriptor;
    entry->poll32_events = POLLIN;
    at(parameters_.sq_off.array) = 0;
    std::atomic_ref tail(at(parameters_.sq_off.tail));
    tail.store(tail.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    std::uint32_t submitted = 1;
    std::atomic_ref first(at(parameters_.cq_off.head));
    std::atomic_ref last(at(parameters_.cq_off.tail));
    while (last.load(std::memory_order_acquire) == first.load(std::memory_order_relaxed)) {
      const auto taken = ::syscall(SYS_io_uring_enter, ring_, submitted, 1, IORING_ENTER_GETEVENTS, nullptr, 0);
      if (taken < 0 && errno != EINTR) return false;
      if (taken > 0) submitted = 0;
    }
    const std::uint32_t index = first.load(std::memory_order_relaxed) & at(parameters_.cq_off.ring_mask);
    const auto* const complete = reinterpret_cast<const io_uring_cqe*>(base() + parameters_.cq_off.cqes) + index;
    const bool is_readable = complete->res > 0 && (complete->res & POLLIN) != 0;
    first.fetch_add(1, std::memory_order_release);
    return is_readable;
  }

 private:
  void* map(std::size_t bytes, std::uint64_t what) const {
    void* const at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_, static_cast<off_t>(what));
    return at == MAP_FAILED ? nullptr : at;
  }
  char* base() const { return static_cast<char*>(queues_); }
  std::uint32_t& at(std::uint32_t offset) const { return *reinterpret_cast<std::uint32_t*>(base() + offset); }

  io_uring_params parameters_{};
  int ring_ = -1;
  std::size_t size_ = 0;
  void* queues_ = nullptr;
  void* entries_ = nullptr;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_POLL_RING_HPP
