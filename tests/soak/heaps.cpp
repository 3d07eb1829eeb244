// SPDX-License-Identifier: BSL-1.0
#include <tidemark/platform/portable_platform.hpp>

#include "heap_subject.hpp"

namespace soak {

void add_heaps(std::vector<subject_kind>& kinds) {
#if TIDEMARK_SOAK_BROKEN
  add_heap<faulty_platform<tidemark::native_platform>, 2, 2>(kinds, "faulty native");
#else
  add_heap<tidemark::native_platform, 1, 4>(kinds, "native");
  add_heap<tidemark::native_platform, 1, 4, forbidden>(kinds, "native");
  add_heap<tidemark::native_platform, 2, 2, forbidden>(kinds, "native");
  add_heap<tidemark::native_platform, 7, 3>(kinds, "native");
  add_heap<tidemark::native_platform, 64, 4>(kinds, "native");
  add_heap<tidemark::symmetric_platform, 3, 4>(kinds, "symmetric");
  add_heap<tidemark::symmetric_platform, 16, 2>(kinds, "symmetric");
  add_heap<tidemark::portable_platform, 2, 4>(kinds, "portable");
  add_heap<tidemark::portable_platform, 4, 4, forbidden>(kinds, "portable");
  add_heap<troubled_platform<tidemark::native_platform>, 3, 2>(kinds, "troubled native");
  add_heap<troubled_platform<tidemark::native_platform>, 5, 2, forbidden>(kinds, "troubled native");
  add_heap<refused_platform<tidemark::native_platform>, 6, 4>(kinds, "refused native");
#endif
}

}  // namespace soak
