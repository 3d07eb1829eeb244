// SPDX-License-Identifier: BSL-1.0
//
// Orders that the audit must tell apart: needless, needed, missing and never executed ones. This header is no part of
// the library. The function self_test() of the audit has the expected verdicts.
#ifndef TIDEMARK_TESTS_MODEL_PLANTED_PLANTED_HPP
#define TIDEMARK_TESTS_MODEL_PLANTED_PLANTED_HPP

#include <atomic>
#include <cstdint>

namespace planted {

/// Hands one plain number from one thread to another.
template <class Platform, bool Careless = false>
class mailbox {
 public:
  void put(int data) {
    data_.store(data);
    if constexpr (Careless) {
      // The missing order: a release is due here.
      ready_.store(1, std::memory_order_relaxed);
    } else {
      // (P2): needed.
      ready_.store(1, std::memory_order_release);
    }
  }

  int take_or(int otherwise) {
    // (P1): needless, because nothing depends on this hint.
    if (hint_.load(std::memory_order_seq_cst) != 0) return otherwise;
    // (P3): needed.
    return ready_.load(std::memory_order_acquire) != 0 ? data_.load() : otherwise;
  }

  void forget() {
    // (P4): never executed.
    ready_.store(0, std::memory_order_relaxed);
  }

 private:
  typename Platform::template var<int> data_;
  typename Platform::template atomic<std::uint32_t> ready_;
  typename Platform::template atomic<std::uint32_t> hint_;
};

/// Two threads that must not miss each other; only one of them issues a barrier instruction.
template <class Platform>
class meeting {
 public:
  bool come_often() {
    here_[0].store(1, std::memory_order_relaxed);
    return here_[1].load(std::memory_order_relaxed) != 0;
  }

  bool come_rarely() {
    here_[1].store(1, std::memory_order_relaxed);
    // (P5): needed.
    Platform::heavy_barrier();
    return here_[0].load(std::memory_order_relaxed) != 0;
  }

 private:
  typename Platform::template atomic<std::uint32_t> here_[2];
};

}  // namespace planted

#endif  // TIDEMARK_TESTS_MODEL_PLANTED_PLANTED_HPP
