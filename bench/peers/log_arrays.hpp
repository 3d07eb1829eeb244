// SPDX-License-Identifier: BSL-1.0
//
// Peers of the ring log: the last 84 entries in an array, kept in the ways that one would think of first. Each has
// append(entry); those that another thread may read have read_last(entry), which brings the newest entry.
//
//   plain_array    the floor: a copy, and the index goes on. Nobody else can read it
//   seqlock_array  a version before and after each entry, odd while it is written
//   locked_array   a mutex around all of it
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace bench {

inline constexpr std::size_t log_entries = 84;

/// 0, 1, ... 83, 0, ...
inline std::size_t after(std::size_t index) noexcept { return index + 1 == log_entries ? 0 : index + 1; }

template <class Entry>
class plain_array {
 public:
  void append(const Entry& entry) noexcept {
    slots_[index_] = entry;
    index_ = after(index_);
  }

 private:
  std::array<Entry, log_entries> slots_{};
  std::size_t index_ = 0;
};

template <class Entry>
class seqlock_array {
 public:
  void append(const Entry& entry) noexcept {
    slot& to = slots_[index_];
    const std::uint64_t version = to.version.load(std::memory_order_relaxed);
    to.version.store(version + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t word = 0; word < entry_words; ++word) {
      std::uint64_t value = 0;
      std::memcpy(&value, reinterpret_cast<const std::byte*>(&entry) + 8 * word, 8);
      to.words[word].store(value, std::memory_order_relaxed);
    }
    to.version.store(version + 2, std::memory_order_release);
    newest_.store(index_, std::memory_order_release);
    index_ = after(index_);
  }

  bool read_last(Entry& entry) const noexcept {
    const slot& from = slots_[newest_.load(std::memory_order_acquire)];
    const std::uint64_t version = from.version.load(std::memory_order_acquire);
    for (std::size_t word = 0; word < entry_words; ++word) {
      const std::uint64_t value = from.words[word].load(std::memory_order_relaxed);
      std::memcpy(reinterpret_cast<std::byte*>(&entry) + 8 * word, &value, 8);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    return version % 2 == 0 && from.version.load(std::memory_order_relaxed) == version;
  }

 private:
  static constexpr std::size_t entry_words = sizeof(Entry) / 8;
  struct slot {
    std::atomic<std::uint64_t> version{0};
    std::array<std::atomic<std::uint64_t>, entry_words> words{};
  };
  std::array<slot, log_entries> slots_{};
  std::atomic<std::size_t> newest_{0};
  std::size_t index_ = 0;
};

template <class Entry>
class locked_array {
 public:
  void append(const Entry& entry) {
    const std::lock_guard<std::mutex> lock(mutex_);
    slots_[index_] = entry;
    index_ = after(index_);
  }

  bool read_last(Entry& entry) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    entry = slots_[(index_ + log_entries - 1) % log_entries];
    return true;
  }

 private:
  mutable std::mutex mutex_;
  std::array<Entry, log_entries> slots_{};
  std::size_t index_ = 0;
};

}  // namespace bench
