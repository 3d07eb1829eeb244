// SPDX-License-Identifier: BSL-1.0
// concept: backing_source
#include <tidemark/memory/rename_ring.hpp>

struct makes_nothing {
  using backing = int*;
};

void follow(const tidemark::progress_fence& finished) {
  tidemark::rename_ring ring{finished, {.bytes = 4096}, makes_nothing{}};
}
