// SPDX-License-Identifier: BSL-1.0
//
// Peers that call what waits for a value: callables in an ordered map under a mutex. They are taken out under the
// mutex, and called after it was released.
//
//   locked_callables         of one timeline: peer of the waiter heap
//   locked_callables_by_id   of many timelines, which are found by their numbers: peer of the hub
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace bench {

/// What is called when a value is reached. It counts its calls.
class called_back {
 public:
  void operator()() { call_(*this); }
  std::uint64_t calls() const { return calls_; }

 private:
  void (*call_)(called_back&) noexcept = [](called_back& self) noexcept { ++self.calls_; };
  std::uint64_t calls_ = 0;
};

using callables_by_target = std::multimap<std::uint64_t, called_back*>;

/// Moves those that are due to the end of `due`.
inline void take_due(callables_by_target& waiting, std::uint64_t value, std::vector<called_back*>& due) {
  const auto end = waiting.upper_bound(value);
  for (auto at = waiting.begin(); at != end; ++at) due.push_back(at->second);
  waiting.erase(waiting.begin(), end);
}

inline std::size_t call_all(const std::vector<called_back*>& due) {
  for (called_back* each : due) (*each)();
  return due.size();
}

class locked_callables {
 public:
  using ticket = callables_by_target::iterator;

  ticket add(std::uint64_t target, called_back* called) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return waiting_.emplace(target, called);
  }
  /// Not for one that was called.
  void withdraw(ticket waiting) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.erase(waiting);
  }
  std::size_t release_due(std::uint64_t value) {
    static thread_local std::vector<called_back*> due;
    due.clear();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      take_due(waiting_, value, due);
    }
    return call_all(due);
  }

 private:
  alignas(64) std::mutex mutex_;
  callables_by_target waiting_;
};

class locked_callables_by_id {
 public:
  explicit locked_callables_by_id(std::size_t timelines) {
    for (std::uint32_t id = 0; id < timelines; ++id) timelines_[id];
  }

  void add(std::uint32_t id, std::uint64_t target, called_back* called) {
    const std::lock_guard<std::mutex> lock(mutex_);
    timelines_[id].waiting.emplace(target, called);
  }
  std::size_t signal(std::uint32_t id, std::uint64_t value) {
    return release([&](std::vector<called_back*>& due) {
      timeline& signalled = timelines_[id];
      signalled.value = (std::max)(signalled.value, value);
      if (!signalled.waiting.empty()) take_due(signalled.waiting, signalled.value, due);
    });
  }
  /// Looks at all timelines.
  std::size_t release_all() {
    return release([&](std::vector<called_back*>& due) {
      for (auto& [id, each] : timelines_) {
        if (!each.waiting.empty()) take_due(each.waiting, each.value, due);
      }
    });
  }

 private:
  struct timeline {
    std::uint64_t value = 0;
    callables_by_target waiting;
  };

  template <class Find>
  std::size_t release(const Find& find) {
    static thread_local std::vector<called_back*> due;
    due.clear();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      find(due);
    }
    return call_all(due);
  }

  alignas(64) std::mutex mutex_;
  std::unordered_map<std::uint32_t, timeline> timelines_;
};

}  // namespace bench
