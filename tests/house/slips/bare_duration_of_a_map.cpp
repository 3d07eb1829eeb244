// SPDX-License-Identifier: BSL-1.0
// concept: stop_token_like
#include <chrono>

#include <tidemark/memory/rename_ring.hpp>

void map_soon(tidemark::rename_ring<>& ring) {
  static_cast<void>(ring.map(tidemark::map_mode::discard, std::chrono::milliseconds{5}));
}
