// SPDX-License-Identifier: BSL-1.0
// How the engines of the pipeline wait for each other: by fences, or by fences through queues, whose logs then tell
// what was waited for and signalled, and when. Both have the same members, so that the pipeline is the same.

#pragma once

#include "../support/engine_queues.hpp"

#include <tidemark/tidemark.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace pipeline {

/// Each has one timeline: how many blocks it is done with.
enum class engine : std::uint32_t { reader = 0, checksummer = 1, writer = 2 };

/// The fences alone. `Fence` is one of tidemark's or another with the same members.
template <class Fence>
class fence_timelines {
 public:
  /// By the reader: all engines will see to this block.
  bool submit(std::uint64_t) { return true; }

  /// By the thread of `who`: sleeps until `whose` engine is done with this block.
  [[nodiscard]] tidemark::wait_status wait(engine, engine whose, std::uint64_t block) {
    return fence_of(whose).wait(block);
  }
  /// By the thread of `who`, which is done with this block.
  void signal(engine who, std::uint64_t block) { fence_of(who).signal(block); }

  /// By any thread: waits for what will never come end with `lost`.
  void abort() {
    for (Fence& fence : fences_) fence.poison();
  }

  [[nodiscard]] std::uint64_t signal_count() const {
    std::uint64_t sum = 0;
    for (const Fence& fence : fences_) sum += fence.current_value();  // each signal has raised it by one
    return sum;
  }
  [[nodiscard]] std::uint64_t notify_count() const {
    std::uint64_t sum = 0;
    for (const Fence& fence : fences_) sum += fence.notify_count();
    return sum;
  }

 private:
  Fence& fence_of(engine which) { return fences_[static_cast<std::size_t>(which)]; }

  std::array<Fence, 3> fences_;
};

/// The fences, and a queue for each engine.
class queue_timelines {
 public:
  [[nodiscard]] bool submit(std::uint64_t block) {
    queues_.record_wait(checksummer, reader, block);
    queues_.record_wait(writer, checksummer, block);
    return queues_.submit(reader) && queues_.submit(checksummer) && queues_.submit(writer);
  }

  [[nodiscard]] tidemark::wait_status wait(engine who, engine whose, std::uint64_t block) {
    // The reader submits the work and finds out on its way when it must wait for buffers.
    if (who == engine::reader) queues_.record_wait(reader, number(whose), block);
    return queues_.wait(number(who), number(whose), block);
  }
  void signal(engine who, std::uint64_t) { queues_.complete(number(who)); }

  /// The engine's timeline, for a coroutine that awaits it before it calls wait().
  [[nodiscard]] auto timeline(engine whose) const { return queues_.timeline(number(whose)); }

  void abort() { queues_.abort(); }

  [[nodiscard]] std::uint64_t signal_count() const { return queues_.signal_count(); }
  [[nodiscard]] std::uint64_t notify_count() { return queues_.notify_count(); }
  [[nodiscard]] tidemark::trace collect() { return queues_.collect(); }

 private:
  static constexpr std::uint32_t number(engine which) { return static_cast<std::uint32_t>(which); }
  static constexpr std::uint32_t reader = 0;
  static constexpr std::uint32_t checksummer = 1;
  static constexpr std::uint32_t writer = 2;

  support::engine_queues queues_{{{"read", "blocks read"}, {"checksum", "blocks summed"}, {"write", "blocks written"}},
                                 true};
};

}  // namespace pipeline
