// SPDX-License-Identifier: BSL-1.0
// concept: stop_token_like
#include <chrono>

#include <tidemark/fence/fence.hpp>

bool is_reached_soon(const tidemark::fence& fence) {
  return fence.wait(1, std::chrono::milliseconds{5}) == tidemark::wait_status::reached;
}
