// SPDX-License-Identifier: BSL-1.0
//
// The reference model: what a fence may say, from what has begun and what has ended so far.
//
// In a watched round every operation tells the model when it begins and when it has ended, under one mutex, and both
// bounds are sharp. But a mutex orders what only the fence should order. So in the other rounds signallers leave words
// of their own instead, relaxed, and the model knows what may be, not what must. Relaxed is enough: the word is written
// before the signal, so whoever was told by the fence that the value is reached is bound to find it.
#ifndef TIDEMARK_TESTS_SOAK_MODEL_HPP
#define TIDEMARK_TESTS_SOAK_MODEL_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include <tidemark/fence/fence.hpp>

#include "plan.hpp"

namespace soak {

/// What had begun (may be) and what had ended (must be) at one moment.
struct knowledge {
  std::uint64_t least = 0;  ///< The value is at least this,
  std::uint64_t most = 0;   ///< and at most this.
  bool is_poisoned = false;
  bool may_be_poisoned = false;
  bool is_stopped = false;
  bool may_be_stopped = false;
};

class model {
 public:
  explicit model(const plan& round)
      : plan_{round},
        state_{round.initial, round.initial},
        stops_(round.stop_sources),
        begun_(round.signallers),
        stop_begun_(round.stop_sources) {}

  /// The value is not used where signals are counted.
  void signal_begins(std::uint32_t signaller, std::uint64_t value) {
    if (plan_.is_watched) {
      const std::lock_guard lock{guard_};
      state_.most = raised(state_.most, value);
    } else {
      auto& word = begun_[signaller].word;
      const auto before = word.load(std::memory_order_relaxed);
      word.store(plan_.is_counted ? before + 1 : std::max(before, value), std::memory_order_relaxed);
    }
  }
  void signal_ended(std::uint64_t value) {
    if (!plan_.is_watched) return;
    const std::lock_guard lock{guard_};
    state_.least = raised(state_.least, value);
  }

  void poison_begins() {
    if (plan_.is_watched) {
      const std::lock_guard lock{guard_};
      state_.may_be_poisoned = true;
    } else {
      poison_begun_.store(true, std::memory_order_relaxed);
    }
  }
  void poison_ended() {
    if (!plan_.is_watched) return;
    const std::lock_guard lock{guard_};
    state_.is_poisoned = true;
  }

  void stop_begins(std::uint32_t source) {
    if (plan_.is_watched) {
      const std::lock_guard lock{guard_};
      stops_[source].has_begun = true;
    } else {
      stop_begun_[source].store(true, std::memory_order_relaxed);
    }
  }
  void stop_ended(std::uint32_t source) {
    if (!plan_.is_watched) return;
    const std::lock_guard lock{guard_};
    stops_[source].has_ended = true;
  }

  /// What must be, for an operation that begins now.
  knowledge before(std::uint32_t source = no_source) {
    if (plan_.is_watched) return watched(source);
    return {plan_.initial, plan_.last()};
  }
  /// What may be, for an operation by which the fence told this thread how far it is.
  knowledge after(std::uint32_t source = no_source) {
    if (plan_.is_watched) return watched(source);
    knowledge seen{plan_.initial, plan_.initial};
    for (const auto& one : begun_) {
      const auto begun = one.word.load(std::memory_order_relaxed);
      seen.most = plan_.is_counted ? seen.most + begun : std::max(seen.most, begun);
    }
    seen.may_be_poisoned = poison_begun_.load(std::memory_order_relaxed);
    seen.may_be_stopped = source != no_source && stop_begun_[source].load(std::memory_order_relaxed);
    return seen;
  }
  /// The same for an operation by which the fence told this thread nothing that it may rely on.
  knowledge after_unordered() {
    if (plan_.is_watched) return watched(no_source);
    return {plan_.initial, plan_.last()};
  }

 private:
  struct stop_state {
    bool has_begun = false;
    bool has_ended = false;
  };
  struct alignas(tidemark::cache_line) own_word {
    std::atomic<std::uint64_t> word{0};
  };

  std::uint64_t raised(std::uint64_t from, std::uint64_t value) const {
    return plan_.is_counted ? from + 1 : std::max(from, value);
  }
  knowledge watched(std::uint32_t source) {
    const std::lock_guard lock{guard_};
    knowledge now = state_;
    if (source != no_source) {
      now.is_stopped = stops_[source].has_ended;
      now.may_be_stopped = stops_[source].has_begun;
    }
    return now;
  }

  const plan& plan_;
  std::mutex guard_;
  knowledge state_;                // guarded
  std::vector<stop_state> stops_;  // guarded
  std::vector<own_word> begun_;
  std::atomic<bool> poison_begun_{false};
  std::vector<std::atomic<bool>> stop_begun_;
};

// Each of these says what is wrong with an answer, or nullptr.

inline const char* wrong_with_wait(const operation& one, tidemark::wait_status status, std::chrono::nanoseconds took,
                                   const knowledge& before, const knowledge& after) {
  using tidemark::wait_status;
  if (status == wait_status::reached) {
    return one.value <= after.most ? nullptr : "reached, though nobody had signalled so far";
  }
  if (one.value <= before.least) return "not reached, though it had been before the wait began";
  if (status == wait_status::lost) return after.may_be_poisoned ? nullptr : "lost, though nobody had poisoned";
  if (before.is_poisoned) return "not lost, though poisoned before the wait began";
  if (status == wait_status::stopped) {
    if (one.source == no_source) return "stopped, though it could not be";
    return after.may_be_stopped ? nullptr : "stopped, though no stop had been requested";
  }
  if (status != wait_status::timeout) return "returned what is no status";
  if (before.is_stopped) return "timed out, though stopped before the wait began";
  if (!one.is_bounded()) return "timed out, though it had no deadline";
  return took < std::chrono::microseconds{one.microseconds} ? "timed out early" : nullptr;
}

inline const char* wrong_with_value(std::uint64_t value, const knowledge& before, const knowledge& after) {
  if (value == UINT64_MAX && after.may_be_poisoned) return nullptr;
  if (before.is_poisoned) return "the current value is not that of a poisoned timeline";
  if (value < before.least) return "the current value is below one that had been signalled";
  return value <= after.most ? nullptr : "the current value is above all that had been signalled";
}

inline const char* wrong_with_is_reached(bool is, std::uint64_t target, const knowledge& before,
                                         const knowledge& after) {
  if (is) return target <= after.most || after.may_be_poisoned ? nullptr : "is reached, though nobody had signalled";
  return target <= before.least || before.is_poisoned ? "is not reached, though it had been" : nullptr;
}

inline const char* wrong_with_is_poisoned(bool is, const knowledge& before, const knowledge& after) {
  if (is) return after.may_be_poisoned ? nullptr : "is poisoned, though nobody had poisoned";
  return before.is_poisoned ? "is not poisoned, though it had been" : nullptr;
}

/// `after` is unordered: a signal that changed nothing hands nothing over.
inline const char* wrong_with_signal(bool raised, std::uint64_t value, const knowledge& before,
                                     const knowledge& after) {
  if (raised) return value > before.least ? nullptr : "a signal says that it raised a value that was there";
  return value <= after.most ? nullptr : "a signal says that its value was there, which nobody had signalled";
}

}  // namespace soak

#endif  // TIDEMARK_TESTS_SOAK_MODEL_HPP
