// SPDX-License-Identifier: BSL-1.0
//
// One signal and one wait: how much code a file has of them, with tidemark::compiled and without.
#include <cstdint>

#include <tidemark/fence/fence.hpp>

void signal_once(tidemark::progress_fence& progress, std::uint64_t value) { progress.signal(value); }
bool wait_once(const tidemark::progress_fence& progress, std::uint64_t value) {
  return progress.wait(value) == tidemark::wait_status::reached;
}
