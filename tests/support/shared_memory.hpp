// SPDX-License-Identifier: BSL-1.0
//
// Memory that a test shares with a child process, and how the child ends a test.
#ifndef TIDEMARK_TESTS_SUPPORT_SHARED_MEMORY_HPP
#define TIDEMARK_TESTS_SUPPORT_SHARED_MEMORY_HPP

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace testing {

/// Memory that two processes share, each at an address of its own.
class shared_memory {
 public:
  explicit shared_memory(std::size_t bytes) : bytes_{bytes}, file_{memfd_create("tidemark_test", MFD_CLOEXEC)} {
    if (file_ >= 0 && ftruncate(file_, static_cast<off_t>(bytes)) == 0) here_ = map();
  }
  shared_memory(const shared_memory&) = delete;
  shared_memory& operator=(const shared_memory&) = delete;
  ~shared_memory() {
    if (here_ != nullptr) munmap(here_, bytes_);
    if (file_ >= 0) close(file_);
  }

  void* here() const { return here_; }
  /// Maps the memory once more, at another address.
  void* map(int protection = PROT_READ | PROT_WRITE) const {
    void* const found = mmap(nullptr, bytes_, protection, MAP_SHARED, file_, 0);
    return found == MAP_FAILED ? nullptr : found;
  }

 private:
  std::size_t bytes_;
  int file_;
  void* here_ = nullptr;
};

/// Ends the child, where doctest is of no use, and says what is wrong.
inline void require(bool condition, const char* what) {
  if (condition) return;
  const auto written = write(STDERR_FILENO, what, std::strlen(what));
  _exit(written < 0 ? 2 : 1);
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_SHARED_MEMORY_HPP
