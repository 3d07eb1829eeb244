// SPDX-License-Identifier: BSL-1.0
#include <tidemark/platform/portable_platform.hpp>

#include "fence_subject.hpp"

namespace soak {

using tidemark::basic_progress_fence;

void add_progress_fences(std::vector<subject_kind>& kinds) {
#if TIDEMARK_SOAK_BROKEN
  using platform = faulty_platform<tidemark::native_platform>;
  add_each<basic_progress_fence, platform, usual, pair>(kinds, "progress_fence/faulty native", true);
#else
  add_each<basic_progress_fence, tidemark::native_platform, usual, lone, pair, tight, odd, binary, flat, deep, wide>(
      kinds, "progress_fence/native", true);
  add_each<basic_progress_fence, tidemark::symmetric_platform, usual, pair, flat, wide>(
      kinds, "progress_fence/symmetric", true);
  add_each<basic_progress_fence, tidemark::portable_platform, usual, lone, binary>(kinds, "progress_fence/portable",
                                                                                   true);
  add_each<basic_progress_fence, refused_platform<tidemark::native_platform>, pair, tight>(
      kinds, "progress_fence/refused native", true);
  add_each<basic_progress_fence, troubled_platform<tidemark::native_platform>, lone, odd, deep>(
      kinds, "progress_fence/troubled native", true);
#endif
}

}  // namespace soak
