// SPDX-License-Identifier: BSL-1.0
// Three in-order engines, each on a thread of its own, move a file through a ring of staging buffers:
//
//     reader -------> checksummer -------> writer
//       ^                                    |
//       +------------------------------------+
//
// Blocks are numbered from 1; block n lives in buffer n % ring length, and an empty block marks the end of the file.
// Each engine owns one fence and signals it with n when it is done with block n. The buffers are plain memory: nothing
// else orders the engines.
//
//     an engine that wants to ...   waits for                      because then
//     read      block n             writer >= n - ring length      the writer is done with the last block in its buffer
//     checksum  block n             reader >= n                    the reader has filled it
//     write     block n             checksummer >= n               and the checksum has been taken from it
//
// When the ring is full, the reader asks for half of it at once, with one wait for a value further ahead: the signals
// below that value disturb nobody.
//
// An engine that fails aborts all three timelines. A wait for a value that will now never come ends with `lost`, so the
// other engines stop by themselves, after at most the blocks that the ring holds already.

#pragma once

#include "../support/files.hpp"
#include "fnv1a.hpp"
#include "timelines.hpp"

#include <tidemark/tidemark.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <thread>
#include <vector>

namespace pipeline {

/// The staging buffers: one piece of memory, cut into blocks.
class staging_ring {
 public:
  struct alignas(64) buffer {  // a cache line each: the engines are at work on neighbours
    std::span<std::byte> storage;
    std::size_t size = 0;  // how much of the storage the block fills

    [[nodiscard]] std::span<const std::byte> content() const { return storage.first(size); }
  };

  staging_ring(std::size_t length, std::size_t block_size)
      : memory_(std::make_unique_for_overwrite<std::byte[]>(length * block_size)), buffers_(length) {
    for (std::size_t i = 0; i < length; ++i) buffers_[i].storage = {&memory_[i * block_size], block_size};
  }

  [[nodiscard]] std::size_t length() const { return buffers_.size(); }
  [[nodiscard]] buffer& operator[](std::uint64_t block) {
    return buffers_[static_cast<std::size_t>(block % buffers_.size())];
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::vector<buffer> buffers_;
};

using support::open_file;

/// One passage of a file through the engines. `Timelines` are new ones: see timelines.hpp.
template <class Timelines>
class copy_pipeline {
 public:
  copy_pipeline(open_file& input, open_file& output, staging_ring& ring, Timelines& timelines)
      : input_(input), output_(output), ring_(ring), timelines_(timelines) {}

  /// Runs the engines until the file is through, or throws what one of them failed with. To be called once.
  void run() {
    std::vector<std::thread> threads;
    threads.reserve(3);
    try {
      threads.emplace_back([this] { guard(reader_failure_, [this] { read_blocks(); }); });
      threads.emplace_back([this] { guard(checksummer_failure_, [this] { checksum_blocks(); }); });
      threads.emplace_back([this] { guard(writer_failure_, [this] { write_blocks(); }); });
    } catch (...) {
      start_failure_ = std::current_exception();
      timelines_.abort();
    }
    for (std::thread& thread : threads) thread.join();

    for (const auto& failure : {start_failure_, reader_failure_, checksummer_failure_, writer_failure_}) {
      if (failure) std::rethrow_exception(failure);
    }
  }

  // What happened; to be asked after run() has returned.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t checksum() const { return checksum_; }

 private:
  using enum engine;

  void read_blocks() {
    const std::uint64_t length = ring_.length();
    const std::uint64_t batch = (length + 1) / 2;
    std::uint64_t last_free = length;  // the buffers of the blocks up to this one are known to be free
    bool at_end = false;
    for (std::uint64_t block = 1; !at_end; ++block) {
      if (!timelines_.submit(block)) return;
      if (block > last_free) {
        last_free += batch;  // never more than what has been read already, so the value will come
        if (timelines_.wait(reader, writer, last_free - length) != tidemark::wait_status::reached) return;
      }
      auto& buffer = ring_[block];
      buffer.size = input_.read(buffer.storage);
      at_end = buffer.size == 0;
      timelines_.signal(reader, block);
    }
  }

  void checksum_blocks() {
    fnv1a sum;
    bool at_end = false;
    for (std::uint64_t block = 1; !at_end; ++block) {
      if (timelines_.wait(checksummer, reader, block) != tidemark::wait_status::reached) return;

      const auto content = ring_[block].content();
      sum.add(content);
      at_end = content.empty();
      timelines_.signal(checksummer, block);
    }
    checksum_ = sum.value();
  }

  void write_blocks() {
    std::uint64_t bytes = 0;
    bool at_end = false;
    for (std::uint64_t block = 1; !at_end; ++block) {
      if (timelines_.wait(writer, checksummer, block) != tidemark::wait_status::reached) return;

      const auto content = ring_[block].content();
      output_.write(content);
      bytes += content.size();
      at_end = content.empty();
      timelines_.signal(writer, block);
    }
    bytes_ = bytes;
  }

  template <class Engine>
  void guard(std::exception_ptr& failure, Engine engine) noexcept {
    try {
      engine();
    } catch (...) {
      failure = std::current_exception();
      timelines_.abort();
    }
  }

  open_file& input_;
  open_file& output_;
  staging_ring& ring_;
  Timelines& timelines_;

  // Each is written by one engine and read after all have been joined.
  std::uint64_t checksum_ = 0;
  std::uint64_t bytes_ = 0;
  std::exception_ptr start_failure_;
  std::exception_ptr reader_failure_;
  std::exception_ptr checksummer_failure_;
  std::exception_ptr writer_failure_;
};

}  // namespace pipeline
