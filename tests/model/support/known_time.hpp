// SPDX-License-Identifier: BSL-1.0
//
// A clock for model checks of what is read from logs: each entry has a time, so that its value can be trusted.
#ifndef TIDEMARK_MODEL_SUPPORT_KNOWN_TIME_HPP
#define TIDEMARK_MODEL_SUPPORT_KNOWN_TIME_HPP

#include <cstdint>

namespace model {

struct known_time {
  static std::uint64_t now() noexcept { return 1; }
  static std::uint64_t to_nanoseconds(std::uint64_t ticks) noexcept { return ticks; }
};

}  // namespace model

#endif  // TIDEMARK_MODEL_SUPPORT_KNOWN_TIME_HPP
