// SPDX-License-Identifier: BSL-1.0
//
// A stop token that never stops, and calls a function when a wait looks at it first: so a test does something while a
// thread waits, without a second thread.
#ifndef TIDEMARK_TESTS_SUPPORT_IN_STOP_LOOK_HPP
#define TIDEMARK_TESTS_SUPPORT_IN_STOP_LOOK_HPP

#include <functional>
#include <utility>

namespace testing {

class in_stop_look {
 public:
  template <class Callback>
  struct callback_type {
    callback_type(const in_stop_look&, const Callback&) {}
  };

  /// \param act  called once; it should see to it that the wait ends
  explicit in_stop_look(std::function<void()>& act) : act_{&act} {}
  bool stop_requested() const noexcept {
    if (const auto act = std::exchange(*act_, {})) act();
    return false;
  }

 private:
  std::function<void()>* act_;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_IN_STOP_LOOK_HPP
