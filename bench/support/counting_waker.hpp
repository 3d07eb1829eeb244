// SPDX-License-Identifier: BSL-1.0
//
// What a registration wakes in benchmarks that leave the wakes of threads out: a waker that counts.
#pragma once

#include <cstdint>

#include <tidemark/fence/tools/waker.hpp>

namespace bench {

class counting_waker : public tidemark::detail::waker {
 public:
  counting_waker() noexcept : waker{&count} {}
  std::uint64_t calls() const { return calls_; }

 private:
  static bool count(waker& self, tidemark::detail::release_reason) noexcept {
    ++static_cast<counting_waker&>(self).calls_;
    return false;
  }

  std::uint64_t calls_ = 0;
};

}  // namespace bench
