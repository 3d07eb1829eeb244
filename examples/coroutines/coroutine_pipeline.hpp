// SPDX-License-Identifier: BSL-1.0
// The three engines of the pipeline example as coroutines. They wait for the same values as the threads there, see
// ../pipeline/copy_pipeline.hpp, with `co_await` on a loop, and any number of threads run that loop.
//
// An engine that would have to wait is put aside: it costs its frame and no thread. With one thread the engines take
// turns; with two, two of them work at the same time.

#pragma once

#include "../pipeline/copy_pipeline.hpp"
#include "../pipeline/fnv1a.hpp"
#include "../pipeline/timelines.hpp"
#include "../support/files.hpp"
#include "engine_task.hpp"

#include <tidemark/tidemark.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace coroutines {

using pipeline::engine;
using tidemark::wait_status;

/// One passage of a file through the engines. `Timelines` are new ones.
template <class Timelines>
class coroutine_pipeline : engine_owner {
 public:
  coroutine_pipeline(support::open_file& input, support::open_file& output, pipeline::staging_ring& ring,
                     Timelines& timelines, std::size_t threads)
      : input_(input), output_(output), ring_(ring), timelines_(timelines), threads_(threads) {}

  /// Runs the engines until the file is through, or throws what one of them failed with. To be called once.
  void run() {
    std::vector<engine_task> engines;
    engines.reserve(3);
    engines.push_back(read_blocks());
    engines.push_back(checksum_blocks());
    engines.push_back(write_blocks());
    running_ = engines.size();
    // On the loop, so that a failure at once is like any other.
    for (engine_task& each : engines) {
      loop_.post([this, &each] { each.start(*this); });
    }
    std::vector<std::thread> helpers;
    for (std::size_t i = 1; i < threads_; ++i) {
      helpers.emplace_back([this] { static_cast<void>(loop_.run()); });
    }
    static_cast<void>(loop_.run());
    for (std::thread& each : helpers) each.join();
    if (failure_) std::rethrow_exception(failure_);
  }

  // What happened; to be asked after run() has returned.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t checksum() const { return checksum_; }

 private:
  using enum engine;

  /// Waits until `whose` engine is done with the block.
  auto done_by(engine whose, std::uint64_t block) { return loop_.reached(timelines_.timeline(whose), block); }

  engine_task read_blocks() {
    const std::uint64_t length = ring_.length();
    const std::uint64_t batch = (length + 1) / 2;
    std::uint64_t last_free = length;  // the buffers of the blocks up to this one are known to be free
    bool at_end = false;
    for (std::uint64_t block = 1; !at_end; ++block) {
      if (!timelines_.submit(block)) co_return;
      if (block > last_free) {
        last_free += batch;
        if (co_await done_by(writer, last_free - length) != wait_status::reached) co_return;
        static_cast<void>(timelines_.wait(reader, writer, last_free - length));  // for the log
      }
      auto& buffer = ring_[block];
      buffer.size = input_.read(buffer.storage);
      at_end = buffer.size == 0;
      timelines_.signal(reader, block);
    }
  }

  engine_task checksum_blocks() {
    pipeline::fnv1a sum;
    bool at_end = false;
    for (std::uint64_t block = 1; !at_end; ++block) {
      if (co_await done_by(reader, block) != wait_status::reached) co_return;
      static_cast<void>(timelines_.wait(checksummer, reader, block));

      const auto content = ring_[block].content();
      sum.add(content);
      at_end = content.empty();
      timelines_.signal(checksummer, block);
    }
    checksum_ = sum.value();
  }

  engine_task write_blocks() {
    std::uint64_t bytes = 0;
    bool at_end = false;
    for (std::uint64_t block = 1; !at_end; ++block) {
      if (co_await done_by(checksummer, block) != wait_status::reached) co_return;
      static_cast<void>(timelines_.wait(writer, checksummer, block));

      const auto content = ring_[block].content();
      output_.write(content);
      bytes += content.size();
      at_end = content.empty();
      timelines_.signal(writer, block);
    }
    bytes_ = bytes;
  }

  void on_end(const std::exception_ptr& failure) noexcept override {
    if (failure) timelines_.abort();  // then the others end with `lost`
    const std::lock_guard lock(guard_);
    if (failure && !failure_) failure_ = failure;
    if (--running_ == 0) loop_.stop();
  }

  support::open_file& input_;
  support::open_file& output_;
  pipeline::staging_ring& ring_;
  Timelines& timelines_;
  std::size_t threads_;
  tidemark::wait_loop loop_;

  std::mutex guard_;  // of the next two
  std::size_t running_ = 0;
  std::exception_ptr failure_;
  // Each is written by one engine and read after all have ended.
  std::uint64_t checksum_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace coroutines
