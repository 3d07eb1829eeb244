// SPDX-License-Identifier: BSL-1.0
// concept: timeline
#include <tidemark/memory/rename_ring.hpp>

struct without_waits {
  std::uint64_t current_value() const { return 0; }
};

void follow(const without_waits& mine) { tidemark::rename_ring ring{mine, {.bytes = 4096}}; }
