// SPDX-License-Identifier: BSL-1.0
//
// A function that runs in the middle of an operation, in the same thread. It does what another thread could have done
// at exactly that step. It adds no atomic operation.
#ifndef TIDEMARK_TESTS_SUPPORT_INTERRUPTION_HPP
#define TIDEMARK_TESTS_SUPPORT_INTERRUPTION_HPP

#include <cstdint>
#include <functional>
#include <utility>

#include "faulty_platform.hpp"

namespace testing {

/// While this object lives, it runs `body` once: after its thread has made `steps` accesses to shared words, and
/// before the next one. The body may arm an interruption of its own.
class interruption {
 public:
  interruption(std::uint64_t steps, std::function<void()> body) : steps_{steps}, body_{std::move(body)} {
    armed_ = this;
  }
  interruption(const interruption&) = delete;
  interruption& operator=(const interruption&) = delete;
  ~interruption() {
    if (!has_struck_) armed_ = nullptr;
  }

  /// Returns false if the operation had fewer steps.
  bool has_struck() const { return has_struck_; }

  static void visit(seam) noexcept {
    interruption* const mine = armed_;
    if (mine == nullptr || mine->steps_-- != 0) return;
    armed_ = nullptr;
    mine->has_struck_ = true;
    mine->body_();
  }
  static bool weak_exchange_fails() noexcept { return false; }
  static bool relaxed_look_misses() noexcept { return false; }

 private:
  static inline thread_local interruption* armed_ = nullptr;

  std::uint64_t steps_;
  std::function<void()> body_;
  bool has_struck_ = false;
};

/// Runs the operation with `body` in its middle. Returns false if it has no such step.
template <class Operation>
bool interrupt(const Operation& operation, std::uint64_t steps, std::function<void()> body) {
  const interruption meanwhile{steps, std::move(body)};
  operation();
  return meanwhile.has_struck();
}

using interrupted_platform = seamed_platform<tidemark::native_platform, interruption>;

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_INTERRUPTION_HPP
