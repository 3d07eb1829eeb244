// SPDX-License-Identifier: BSL-1.0
//
// The progress of a queue whose check has no work that is finished: a timeline that stays at 0, is not added to a hub,
// and costs a search no operation.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_UNSIGNALLED_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_UNSIGNALLED_HPP

#include "model_check.hpp"

#include <tidemark/fence/timeline.hpp>

#include <cstdint>

namespace model {

template <class Platform>
struct unsignalled {
  using platform = Platform;

  std::uint64_t current_value() const { return 0; }
  tidemark::wait_status wait_until(std::uint64_t target, tidemark::deadline) const {
    return target == 0 ? tidemark::wait_status::reached : tidemark::wait_status::timeout;
  }
  void signal(std::uint64_t) { MODEL_REQUIRE(!"no work of this check is finished"); }
};

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_UNSIGNALLED_HPP
