// SPDX-License-Identifier: BSL-1.0
// One producer, eight consumers, small blocks: a feed or a log with several readers.
//
//                   +--> consumers that take block by block      (live readers)
//     producer -----+
//        ^          +--> consumers that take half a ring at once (they write batches to disk, say, and are far behind)
//        |                  |
//        +------------------+
//
// Blocks are numbered from 1; block n lies in buffer n % ring length. The producer owns one fence: it has filled the
// blocks up to its value. Each consumer owns one, too: it is done with the blocks up to its value.
//
//     one that wants to ...           waits for                           because then
//     fill     block n                each consumer >= n - ring length    all are done with what is in its buffer
//     take     the blocks up to n     producer >= n                       they have been filled
//
// The producer asks for half the ring at once. The work on a block is small on purpose, a sum: what is compared are the
// fences. How many consumers are far behind decides the result. A signal of the producer is due for the live readers
// and should disturb nobody else; where all are live readers, there is nobody else. The length of the ring decides,
// too: in a short one, the producer waits for the slowest consumer most of the time, whatever the fences cost.

#pragma once

#include "comparison.hpp"

#include <tidemark/tidemark.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace pipeline {

inline constexpr std::size_t fan_out_block_size = 256;
inline constexpr std::size_t fan_out_consumers = 8;
inline constexpr std::uint64_t fan_out_blocks = 20'000;

/// What decides the result.
struct fan_out_shape {
  std::size_t far_behind = 0;
  std::uint64_t ring_length = 1024;
};

/// One passage of all blocks. To be run once.
template <class Fence>
class fan_out {
 public:
  explicit fan_out(fan_out_shape shape) : ring_(static_cast<std::size_t>(shape.ring_length)) {
    for (std::size_t i = 0; i < shape.far_behind; ++i) consumers_[i].batch = ring_.size() / 2;
  }

  /// Returns how many seconds a block took. Throws if a thread can not be started, or if a consumer has seen other
  /// blocks than the producer has filled.
  [[nodiscard]] double run() {
    std::vector<std::thread> threads;
    threads.reserve(consumers_.size());
    std::exception_ptr failure;
    const auto start = std::chrono::steady_clock::now();
    try {
      for (consumer& each : consumers_) threads.emplace_back([this, &each] { consume(each); });
      produce();
    } catch (...) {
      failure = std::current_exception();
      filled_.poison();
    }
    for (std::thread& thread : threads) thread.join();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (failure) std::rethrow_exception(failure);
    for (const consumer& each : consumers_) {
      if (each.sum.value() != produced_.value()) throw std::runtime_error("a consumer has seen other blocks");
    }
    return elapsed.count() / fan_out_blocks;
  }

 private:
  using block = std::array<std::uint64_t, fan_out_block_size / 8>;

  /// A checksum that depends on the order of the blocks, too.
  class checksum {
   public:
    void add(const block& content) {
      std::uint64_t sum = 0;
      for (const std::uint64_t word : content) sum += word;
      value_ = std::rotl(value_, 5) ^ sum;
    }
    [[nodiscard]] std::uint64_t value() const { return value_; }

   private:
    std::uint64_t value_ = 0;
  };

  struct consumer {
    alignas(64) std::uint64_t batch = 1;  // and a fence may ask for more
    Fence done{};
    checksum sum{};
  };

  void produce() {
    std::uint64_t last_free = ring_.size();  // the buffers of the blocks up to this one are known to be free
    std::uint64_t state = 1;
    for (std::uint64_t n = 1; n <= fan_out_blocks; ++n) {
      if (n > last_free) {
        last_free += ring_.size() / 2;
        for (consumer& each : consumers_) {
          if (each.done.wait(last_free - ring_.size()) != tidemark::wait_status::reached) return;
        }
      }
      block& filled = block_of(n);
      for (std::uint64_t& word : filled) word = state = state * 6'364'136'223'846'793'005 + 1;
      produced_.add(filled);
      filled_.signal(n);
    }
  }

  void consume(consumer& self) {
    for (std::uint64_t done = 0; done < fan_out_blocks;) {
      const std::uint64_t last = std::min(done + self.batch, fan_out_blocks);
      if (filled_.wait(last) != tidemark::wait_status::reached) return;
      for (; done < last; ++done) self.sum.add(block_of(done + 1));
      self.done.signal(done);
    }
  }

  block& block_of(std::uint64_t number) { return ring_[static_cast<std::size_t>(number % ring_.size())]; }

  Fence filled_;
  std::vector<block> ring_;
  checksum produced_;
  std::array<consumer, fan_out_consumers> consumers_;
};

/// Measures both kinds of fence, after a passage of each that does not count.
template <class Tidemark, class Peer>
[[nodiscard]] comparison compare_fan_out(fan_out_shape shape, std::size_t rounds, const std::string& row) {
  comparison result{.row = row};
  measure_or_say_why({&result}, [&] {
    static_cast<void>(fan_out<Tidemark>(shape).run());
    static_cast<void>(fan_out<Peer>(shape).run());
    take_turns(
        rounds, [&] { result.tidemark.add(fan_out<Tidemark>(shape).run()); },
        [&] { result.peer.add(fan_out<Peer>(shape).run()); });
  });
  return result;
}

}  // namespace pipeline
