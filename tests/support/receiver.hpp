// SPDX-License-Identifier: BSL-1.0
//
// A receiver of our own, in the shape of P2300, without a library.
#ifndef TIDEMARK_TESTS_SUPPORT_RECEIVER_HPP
#define TIDEMARK_TESTS_SUPPORT_RECEIVER_HPP

#include <cstddef>
#include <utility>

#include <tidemark/fence/wait.hpp>

namespace testing {

/// How an operation has completed.
struct completion {
  int times = 0;
  tidemark::wait_status how{};
  std::size_t index = 0;

  /// Once, and in this way.
  bool is(tidemark::wait_status expected) const { return times == 1 && how == expected; }
};

/// Keeps how its operation completes.
template <class Token = tidemark::never_stops>
class receiver {
 public:
  explicit receiver(completion& kept, Token token = {}) : kept_{&kept}, token_{token} {}

  void set_value() noexcept { keep(tidemark::wait_status::reached); }
  void set_value(std::size_t index) noexcept {
    kept_->index = index;
    keep(tidemark::wait_status::reached);
  }
  void set_error(tidemark::wait_status how) noexcept { keep(how); }
  void set_stopped() noexcept { keep(tidemark::wait_status::stopped); }
  Token get_stop_token() const noexcept { return token_; }

 private:
  void keep(tidemark::wait_status how) {
    ++kept_->times;
    kept_->how = how;
  }

  completion* kept_;
  Token token_;
};

/// Calls a callable, however its operation completes.
template <class Callable>
class calling_receiver {
 public:
  explicit calling_receiver(Callable callable) : callable_(std::move(callable)) {}
  void set_value() { callable_(tidemark::wait_status::reached); }
  void set_error(tidemark::wait_status how) { callable_(how); }
  void set_stopped() { callable_(tidemark::wait_status::stopped); }

 private:
  Callable callable_;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_RECEIVER_HPP
