// SPDX-License-Identifier: BSL-1.0
// Two in-order engines move the blocks of all files through staging buffers. The work is the kernel's: each engine
// hands it reads, or writes, many at a time, and tells by its fence how far they are.
//
//     reads ----------> writes
//       ^                 |
//       +-----------------+
//
// Blocks are numbered from 1; block n lives in buffer n % number of buffers.
//
//     an engine that wants to ...   waits for                    because then
//     read   block n                writes >= n - buffers        what was in its buffer is in the copy
//     write  block n                reads >= n                   the block is in its buffer
//
// The kernel completes requests in any order, a timeline has one: it has the value n when the first n are complete. So
// a completion that comes early is kept until those before it are there, and is then retired with them.
//
// An engine sleeps for one thing at a time. While it has requests under way it sleeps for the kernel; only an engine
// that has none sleeps for the other one. Both have something to do again when they wake up, so neither waits for ever.
//
// An engine that fails aborts both queues, so the other one ends too. Neither leaves before the kernel has let go of
// the buffers.

#pragma once

#include "../support/engine_queues.hpp"
#include "../support/files.hpp"
#include "file_tree.hpp"
#include "kernel_ring.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace uring_copy {

enum engine : std::uint32_t { reads, writes };

/// The staging buffers: one piece of memory.
class staging_buffers {
 public:
  staging_buffers(std::size_t count, std::size_t size)
      : count_(count), size_(size), memory_(std::make_unique_for_overwrite<std::byte[]>(count * size)) {}

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::byte* operator[](std::uint64_t number) {
    return &memory_[static_cast<std::size_t>(number % count_ * size_)];
  }

 private:
  std::size_t count_;
  std::size_t size_;
  std::unique_ptr<std::byte[]> memory_;
};

/// What both engines have in common: requests under way, and the order in which they are retired.
class transfer_engine {
 public:
  transfer_engine(engine own, support::engine_queues& queues, staging_buffers& buffers)
      : own_(own), queues_(queues), buffers_(buffers), kernel_(buffers.count()), requests_(buffers.count()) {}
  virtual ~transfer_engine() = default;

 protected:
  /// Gets past a wait, if need be asleep; retires requests as long as there are any. False: the other engine has
  /// failed.
  [[nodiscard]] bool wait(engine other, std::uint64_t value) {
    while (kernel_.in_flight() != 0 && !queues_.is_reached(other, value)) take_completion();
    return queues_.wait(own_, other, value) == tidemark::wait_status::reached;
  }

  /// The next request. Its file is the last one in files_.
  void start(const block& what) {
    const std::uint64_t number = ++started_;
    requests_[static_cast<std::size_t>(number % requests_.size())] = {&files_.back(), what.offset, what.size, 0,
                                                                      what.is_last,   false};
    submit(number);
  }

  /// Until all requests are retired.
  void finish() {
    while (kernel_.in_flight() != 0) take_completion();
  }

  /// The last block of the first file in files_ is complete.
  virtual void end_file(support::open_file& file, std::uint64_t size) = 0;

  std::deque<support::open_file> files_;  // those with requests that are not retired

 private:
  struct request {
    support::open_file* file;
    std::uint64_t offset;
    std::size_t size;
    std::size_t done;
    bool is_last;
    bool is_complete;
  };

  void submit(std::uint64_t number) {
    const request& one = requests_[static_cast<std::size_t>(number % requests_.size())];
    const auto where = own_ == reads ? kernel_ring::direction::read : kernel_ring::direction::write;
    kernel_.start(where, one.file->descriptor(), buffers_[number] + one.done, one.size - one.done,
                  one.offset + one.done, number);
  }

  void take_completion() {
    const auto [number, result] = kernel_.take();
    request& one = requests_[static_cast<std::size_t>(number % requests_.size())];
    const char* const action = own_ == reads ? "read" : "write";
    if (result < 0 && result != -EINTR && result != -EAGAIN) support::fail(action, one.file->name(), -result);
    if (result == 0 && one.size != 0) {
      if (own_ == writes) support::fail(action, one.file->name(), EIO);
      throw std::runtime_error("'" + one.file->name() + "' has become shorter while it was copied");
    }
    if (result > 0) one.done += static_cast<std::size_t>(result);
    if (one.done < one.size) return submit(number);  // the kernel may do less than it is asked for
    one.is_complete = true;
    while (retired_ < started_ && requests_[static_cast<std::size_t>((retired_ + 1) % requests_.size())].is_complete)
      retire();
  }

  void retire() {
    request& first = requests_[static_cast<std::size_t>(++retired_ % requests_.size())];
    first.is_complete = false;
    if (first.is_last) {
      end_file(*first.file, first.offset + first.size);
      files_.pop_front();
    }
    queues_.complete(own_);
  }

  engine own_;
  support::engine_queues& queues_;
  staging_buffers& buffers_;
  kernel_ring kernel_;
  std::vector<request> requests_;  // of block n at n % number of buffers: no more are under way
  std::uint64_t started_ = 0;
  std::uint64_t retired_ = 0;
};

class read_engine : public transfer_engine {
 public:
  read_engine(const file_tree& source, support::engine_queues& queues, staging_buffers& buffers)
      : transfer_engine(reads, queues, buffers), source_(source), queues_(queues), buffers_(buffers) {}

  void run() {
    block_cursor blocks(source_, buffers_.size());
    const std::uint64_t buffers = buffers_.count();
    std::uint64_t number = 0;
    while (const auto next = blocks.next()) {
      ++number;
      if (!submit_work(number)) return;
      if (number > buffers && !wait(writes, number - buffers)) return;
      if (next->is_first) open(source_.files[next->file]);
      start(*next);
    }
    finish();
  }

 private:
  /// This engine is the one that finds out what there is to do, for both.
  [[nodiscard]] bool submit_work(std::uint64_t number) {
    if (number > buffers_.count()) queues_.record_wait(reads, writes, number - buffers_.count());
    queues_.record_wait(writes, reads, number);
    return queues_.submit(reads) && queues_.submit(writes);
  }

  void open(const file_tree::file& file) {
    const std::string path = (source_.root / file.path).string();
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0) support::fail("open", path);
    support::open_file& opened = files_.emplace_back(descriptor, path);
    struct stat status{};
    if (::fstat(descriptor, &status) != 0) support::fail("examine", path);
    if (!S_ISREG(status.st_mode)) throw std::runtime_error("'" + opened.name() + "' is no longer a regular file");
    // It was for what is no regular file. Reads that must not block would come back undone.
    if (::fcntl(descriptor, F_SETFL, 0) != 0) support::fail("open", path);
  }

  /// Who has read all that there was must not have missed what was added meanwhile, or what has no size beforehand.
  void end_file(support::open_file& file, std::uint64_t size) override {
    std::byte more{};
    const auto count = ::pread(file.descriptor(), &more, 1, static_cast<off_t>(size));
    if (count < 0) support::fail("read", file.name());
    if (count > 0) throw std::runtime_error("'" + file.name() + "' has become longer while it was copied");
  }

  const file_tree& source_;
  support::engine_queues& queues_;
  staging_buffers& buffers_;
};

class write_engine : public transfer_engine {
 public:
  write_engine(const file_tree& source, const fs::path& copy, support::engine_queues& queues, staging_buffers& buffers)
      : transfer_engine(writes, queues, buffers), source_(source), copy_(copy), buffers_(buffers) {}

  void run() {
    block_cursor blocks(source_, buffers_.size());
    std::uint64_t number = 0;
    while (const auto next = blocks.next()) {
      if (!wait(reads, ++number)) return;
      if (next->is_first) create(source_.files[next->file]);
      start(*next);
    }
    finish();
  }

 private:
  void create(const file_tree::file& file) {
    const std::string path = (copy_ / file.path).string();
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0) support::fail("create", path);
    files_.emplace_back(descriptor, path);
    modes_.push_back(file.mode);
  }

  void end_file(support::open_file& file, std::uint64_t) override {
    if (::fchmod(file.descriptor(), modes_.front()) != 0) support::fail("write", file.name());
    modes_.pop_front();
    file.close();
  }

  const file_tree& source_;
  const fs::path& copy_;
  staging_buffers& buffers_;
  std::deque<mode_t> modes_;  // of files_
};

/// One passage of all files through the engines.
class copy_engines {
 public:
  copy_engines(const file_tree& source, const fs::path& copy, support::engine_queues& queues, staging_buffers& buffers)
      : queues_(queues), reader_(source, queues, buffers), writer_(source, copy, queues, buffers) {}

  /// Runs the engines until all is copied, or throws what one of them failed with. To be called once.
  void run() {
    std::exception_ptr failures[3];
    const auto guard = [this](std::exception_ptr& failure, auto&& action) noexcept {
      try {
        action();
      } catch (...) {
        failure = std::current_exception();
        queues_.abort();
      }
    };
    std::vector<std::thread> threads;
    guard(failures[0], [&] {
      threads.reserve(2);
      threads.emplace_back([&] { guard(failures[1], [&] { reader_.run(); }); });
      threads.emplace_back([&] { guard(failures[2], [&] { writer_.run(); }); });
    });
    for (std::thread& thread : threads) thread.join();
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
  }

 private:
  support::engine_queues& queues_;
  read_engine reader_;
  write_engine writer_;
};

}  // namespace uring_copy
