// SPDX-License-Identifier: BSL-1.0
#include <tidemark/platform/portable_platform.hpp>

#include "fence_subject.hpp"

namespace soak {

using tidemark::basic_fence;

void add_fences(std::vector<subject_kind>& kinds) {
#if TIDEMARK_SOAK_BROKEN
  using platform = faulty_platform<tidemark::symmetric_platform>;
  add_each<basic_fence, platform, usual, pair>(kinds, "fence/faulty symmetric", false);
#else
  add_each<basic_fence, tidemark::symmetric_platform, usual, lone, pair, tight, odd, binary, flat, deep, wide>(
      kinds, "fence/symmetric", false);
  add_each<basic_fence, tidemark::native_platform, usual, pair, odd, wide>(kinds, "fence/native", false);
  add_each<basic_fence, tidemark::portable_platform, usual, lone, odd, deep>(kinds, "fence/portable", false);
  add_each<basic_fence, troubled_platform<tidemark::symmetric_platform>, pair, tight, flat>(
      kinds, "fence/troubled symmetric", false);
  add_each<basic_fence, troubled_platform<tidemark::native_platform>, lone, binary>(kinds, "fence/troubled native",
                                                                                    false);
#endif
}

}  // namespace soak
