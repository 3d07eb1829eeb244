// SPDX-License-Identifier: BSL-1.0
//
// Peers: the bare operations. Nobody can wait on them; they are the floors that a signal is held against, compiled
// by the same compiler in the same executable.
#pragma once

#include <atomic>
#include <cstdint>

namespace bench::raw {

inline constexpr std::size_t line = 64;

struct release_store {
  void signal(std::uint64_t value) noexcept { current.store(value, std::memory_order_release); }
  std::uint64_t current_value() const noexcept { return current.load(std::memory_order_acquire); }

  alignas(line) std::atomic<std::uint64_t> current{0};
};

// The store of one line and a load of another, the loaded value thrown away.
struct store_and_load {
  void signal(std::uint64_t value) noexcept {
    current.store(value, std::memory_order_release);
    const std::uint64_t seen = other.load(std::memory_order_relaxed);
    asm volatile("" : : "r"(seen));
  }
  std::uint64_t current_value() const noexcept { return current.load(std::memory_order_acquire); }

  alignas(line) std::atomic<std::uint64_t> current{0};
  alignas(line) std::atomic<std::uint64_t> other{UINT64_MAX};
};

// The store, and a branch that its value decides and that is never taken; no load. What a signal costs at least on
// processors where a store and a comparison share ports: there the branch costs more than the load.
struct store_and_branch {
  void signal(std::uint64_t value) noexcept {
    current.store(value, std::memory_order_release);
    if (static_cast<std::int64_t>(value) < 0) [[unlikely]]
      __builtin_trap();
  }

  alignas(line) std::atomic<std::uint64_t> current{0};
};

// The store, and a look at a word of another line that decides a branch which is never taken. Whoever signals and asks
// whether somebody is due does at least this.
struct store_load_and_branch {
  void signal(std::uint64_t value) noexcept {
    current.store(value, std::memory_order_release);
    if (least_awaited.load(std::memory_order_relaxed) < value) [[unlikely]]
      __builtin_trap();
  }

  alignas(line) std::atomic<std::uint64_t> current{0};
  alignas(line) std::atomic<std::uint64_t> least_awaited{UINT64_MAX};
};

// What signal_next() of a single signaller costs at least: the old value comes from memory.
struct load_add_store {
  void signal(std::uint64_t) noexcept {
    current.store(current.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  alignas(line) std::atomic<std::uint64_t> current{0};
};

struct exchange {
  void signal(std::uint64_t value) noexcept { current.exchange(value, std::memory_order_seq_cst); }
  std::uint64_t current_value() const noexcept { return current.load(std::memory_order_acquire); }

  alignas(line) std::atomic<std::uint64_t> current{0};
};

struct fetch_add {
  void signal(std::uint64_t) noexcept { current.fetch_add(1, std::memory_order_seq_cst); }
  std::uint64_t current_value() const noexcept { return current.load(std::memory_order_acquire); }

  alignas(line) std::atomic<std::uint64_t> current{0};
};

struct compare_exchange_maximum {
  void signal(std::uint64_t value) noexcept {
    std::uint64_t seen = current.load(std::memory_order_relaxed);
    while (seen < value &&
           !current.compare_exchange_weak(seen, value, std::memory_order_seq_cst, std::memory_order_relaxed)) {
    }
  }
  std::uint64_t current_value() const noexcept { return current.load(std::memory_order_acquire); }

  alignas(line) std::atomic<std::uint64_t> current{0};
};

// The textbook form of an event count's signal.
struct store_barrier_load {
  void signal(std::uint64_t value) noexcept {
    current.store(value, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const std::uint64_t seen = other.load(std::memory_order_relaxed);
    asm volatile("" : : "r"(seen));
  }
  std::uint64_t current_value() const noexcept { return current.load(std::memory_order_acquire); }

  alignas(line) std::atomic<std::uint64_t> current{0};
  alignas(line) std::atomic<std::uint64_t> other{UINT64_MAX};
};

}  // namespace bench::raw
