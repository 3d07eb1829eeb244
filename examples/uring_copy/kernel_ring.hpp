// SPDX-License-Identifier: BSL-1.0
// An io_uring: reads and writes that the kernel carries out on its own, and completes in any order. For one thread.

#pragma once

#include <liburing.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>

namespace uring_copy {

/// The kernel has no io_uring, or does not let us have one.
class refused : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class kernel_ring {
 public:
  enum class direction { read, write };

  struct completion {
    std::uint64_t tag;
    int result;  // bytes, or an error number below 0
  };

  /// @param entries  how many requests may be under way
  explicit kernel_ring(std::size_t entries) {
    const int error = -::io_uring_queue_init(static_cast<unsigned>(entries), &ring_, 0);
    if (error == ENOSYS || error == EPERM || error == EACCES) {
      throw refused("this system refuses io_uring (" + std::generic_category().message(error) + ")");
    }
    if (error != 0) throw std::system_error(error, std::generic_category(), "cannot set up an io_uring");
    if (!has_read_and_write()) {
      ::io_uring_queue_exit(&ring_);
      throw refused("this system's io_uring is too old: it has no plain read and write (Linux 5.6)");
    }
  }
  kernel_ring(const kernel_ring&) = delete;
  kernel_ring& operator=(const kernel_ring&) = delete;
  ~kernel_ring() {
    discard();
    ::io_uring_queue_exit(&ring_);
  }

  [[nodiscard]] std::size_t in_flight() const { return in_flight_; }

  /// Gives a request to the kernel. 0 bytes are a request, too.
  void start(direction where, int descriptor, std::byte* memory, std::size_t size, std::uint64_t offset,
             std::uint64_t tag) {
    io_uring_sqe* const request = ::io_uring_get_sqe(&ring_);
    if (request == nullptr) throw std::logic_error("more requests than the io_uring has entries");
    const auto length = static_cast<unsigned>(size);
    if (size == 0) {
      ::io_uring_prep_nop(request);
    } else if (where == direction::read) {
      ::io_uring_prep_read(request, descriptor, memory, length, offset);
    } else {
      ::io_uring_prep_write(request, descriptor, memory, length, offset);
    }
    request->user_data = tag;
    for (;;) {
      const int result = ::io_uring_submit(&ring_);
      if (result > 0) break;
      if (result != -EINTR) throw std::system_error(-result, std::generic_category(), "cannot submit to the io_uring");
    }
    ++in_flight_;
  }

  /// Sleeps until a request is complete. There must be one under way.
  [[nodiscard]] completion take() {
    io_uring_cqe* entry = nullptr;
    for (;;) {
      const int result = ::io_uring_wait_cqe(&ring_, &entry);
      if (result == 0) break;
      if (result != -EINTR) throw std::system_error(-result, std::generic_category(), "cannot wait for the io_uring");
    }
    const completion found{entry->user_data, entry->res};
    ::io_uring_cqe_seen(&ring_, entry);
    --in_flight_;
    return found;
  }

  /// Waits for all that is under way and forgets it: only then is the memory ours again. If even that fails, nothing is
  /// safe any more and the program ends.
  void discard() noexcept {
    while (in_flight_ != 0) static_cast<void>(take());
  }

 private:
  [[nodiscard]] bool has_read_and_write() {
    const std::unique_ptr<io_uring_probe, void (*)(io_uring_probe*)> probe(::io_uring_get_probe_ring(&ring_),
                                                                           ::io_uring_free_probe);
    return probe != nullptr && ::io_uring_opcode_supported(probe.get(), IORING_OP_READ) != 0 &&
           ::io_uring_opcode_supported(probe.get(), IORING_OP_WRITE) != 0;
  }

  io_uring ring_{};
  std::size_t in_flight_ = 0;
};

}  // namespace uring_copy
