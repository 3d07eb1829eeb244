// SPDX-License-Identifier: BSL-1.0
// FNV-1a, 64 bits: the checksum of the pipeline. It finds accidents, not attacks.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pipeline {

class fnv1a {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    std::uint64_t hash = value_;
    for (const std::byte byte : bytes) {
      hash ^= std::to_integer<std::uint64_t>(byte);
      hash *= 0x0000'0100'0000'01B3;
    }
    value_ = hash;
  }

  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xCBF2'9CE4'8422'2325;
};

}  // namespace pipeline
