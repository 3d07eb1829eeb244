// SPDX-License-Identifier: BSL-1.0
//
// An io_uring for a few operations. Made of the kernel's interface, so that tests need no library.
#ifndef TIDEMARK_TESTS_SUPPORT_URING_HPP
#define TIDEMARK_TESTS_SUPPORT_URING_HPP

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace testing {

class uring {
 public:
  /// The end of an operation. Not `is_complete` if the system has refused to wait for one.
  struct completion {
    bool is_complete = false;
    std::uint64_t user_data = 0;
    std::int32_t result = 0;
  };

  uring() {
    ring_ = static_cast<int>(::syscall(SYS_io_uring_setup, 8, &parameters_));
    if (ring_ < 0) return;
    const std::size_t submissions = parameters_.sq_off.array + parameters_.sq_entries * sizeof(std::uint32_t);
    const std::size_t completions = parameters_.cq_off.cqes + parameters_.cq_entries * sizeof(io_uring_cqe);
    size_ = submissions > completions ? submissions : completions;
    queues_ = map(size_, IORING_OFF_SQ_RING);
    entries_ = map(parameters_.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
  }
  uring(const uring&) = delete;
  uring& operator=(const uring&) = delete;
  ~uring() {
    if (entries_ != nullptr) ::munmap(entries_, parameters_.sq_entries * sizeof(io_uring_sqe));
    if (queues_ != nullptr) ::munmap(queues_, size_);
    if (ring_ >= 0) ::close(ring_);
  }

  /// Whether the system has given one. Both queues must lie in one mapping, as they do since Linux 5.4.
  bool is_open() const {
    return queues_ != nullptr && entries_ != nullptr && (parameters_.features & IORING_FEAT_SINGLE_MMAP) != 0;
  }
  int descriptor() const { return ring_; }

  /// Submits an operation.
  /// \param fill  gets an empty entry, and fills it in
  template <class Fill>
  bool submit(const Fill& fill) {
    std::atomic_ref tail(at(parameters_.sq_off.tail));
    const std::uint32_t end = tail.load(std::memory_order_relaxed);
    const std::uint32_t index = end & at(parameters_.sq_off.ring_mask);
    io_uring_sqe& entry = static_cast<io_uring_sqe*>(entries_)[index];
    entry = io_uring_sqe{};
    fill(entry);
    at(parameters_.sq_off.array + index * std::uint32_t{sizeof(std::uint32_t)}) = index;
    tail.store(end + 1, std::memory_order_release);
    return enter(1, 0) == 1;
  }
  /// Returns whether an operation is complete that take() has not returned.
  bool has_completion() {
    // The kernel may have something left to do in this thread.
    static_cast<void>(enter(0, 0));
    return !is_empty();
  }
  /// Sleeps until an operation is complete, and returns how it ended.
  completion take() {
    while (is_empty()) {
      if (enter(0, 1) < 0) return {};
    }
    std::atomic_ref first(at(parameters_.cq_off.head));
    const std::uint32_t index = first.load(std::memory_order_relaxed) & at(parameters_.cq_off.ring_mask);
    const auto& done = reinterpret_cast<const io_uring_cqe*>(base() + parameters_.cq_off.cqes)[index];
    const completion taken{true, done.user_data, done.res};
    first.fetch_add(1, std::memory_order_release);
    return taken;
  }

 private:
  void* map(std::size_t bytes, std::uint64_t what) const {
    void* const address =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_, static_cast<off_t>(what));
    return address == MAP_FAILED ? nullptr : address;
  }
  long enter(unsigned submitted, unsigned awaited) const {
    long taken = 0;
    do {
      taken = ::syscall(SYS_io_uring_enter, ring_, submitted, awaited, IORING_ENTER_GETEVENTS, nullptr, 0);
    } while (taken < 0 && errno == EINTR);
    return taken;
  }
  bool is_empty() const {
    const std::atomic_ref first(at(parameters_.cq_off.head));
    const std::atomic_ref last(at(parameters_.cq_off.tail));
    return last.load(std::memory_order_acquire) == first.load(std::memory_order_relaxed);
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

#endif  // TIDEMARK_TESTS_SUPPORT_URING_HPP
