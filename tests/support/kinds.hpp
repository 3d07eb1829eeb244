// SPDX-License-Identifier: BSL-1.0
//
// The kinds of fence that share a test body: fence and progress_fence on each platform. A kind K has
//
//   K::fence<>        counts its platform's operations and its own notifications; state of its threads is visible
//   K::fence<options> the same with other options
//   K::plain<>        exactly the fence of a user
#ifndef TIDEMARK_TESTS_SUPPORT_KINDS_HPP
#define TIDEMARK_TESTS_SUPPORT_KINDS_HPP

#include <doctest/doctest.h>

#include <tidemark/fence/fence.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "counting_platform.hpp"
#include "parts_of_kinds.hpp"

namespace testing {

inline constexpr tidemark::fence_options counted{.statistics = true};
inline constexpr tidemark::fence_options with_one_slot{
    .capacity = 1, .growth = tidemark::heap_growth::forbidden, .statistics = true};
inline constexpr tidemark::fence_options without_spinning{.max_spin_ns = 0, .statistics = true};
inline constexpr tidemark::fence_options on_one_line{.layout = tidemark::fence_layout::one_line, .statistics = true};
inline constexpr tidemark::fence_options on_callers_storage{.storage = tidemark::value_storage::caller};

template <class Platform>
struct any_signaller {
  using base = Platform;
  using platform = counting_platform<Platform>;
  template <tidemark::fence_options Options = counted>
  using fence = tidemark::basic_fence<platform, Options>;
  template <tidemark::fence_options Options = tidemark::fence_options{}>
  using plain = tidemark::basic_fence<Platform, Options>;
};

template <class Platform>
struct one_signaller {
  using base = Platform;
  using platform = counting_platform<Platform>;
  template <tidemark::fence_options Options = counted>
  using fence = tidemark::basic_progress_fence<platform, Options>;
  template <tidemark::fence_options Options = tidemark::fence_options{}>
  using plain = tidemark::basic_progress_fence<Platform, Options>;
};

using fence_symmetric = any_signaller<tidemark::symmetric_platform>;
using fence_native = any_signaller<tidemark::native_platform>;
using fence_portable = any_signaller<tidemark::portable_platform>;
using progress_native = one_signaller<tidemark::native_platform>;
using progress_symmetric = one_signaller<tidemark::symmetric_platform>;
using progress_portable = one_signaller<tidemark::portable_platform>;

/// For TEST_CASE_TEMPLATE.
#define EVERY_FENCE TESTED_OF(testing::fence_native, testing::fence_portable, testing::fence_symmetric)
#define EVERY_KIND \
  EVERY_FENCE, TESTED_OF(testing::progress_portable, testing::progress_native, testing::progress_symmetric)

/// If the system has no membarrier, a native fence stays on its slow path, and monitored_value() is always 0. Checks
/// of exact values do not apply then. platform_refused.cpp tests that state.
template <class Kind>
bool is_pinned_here() {
  if (Kind::platform::heavy_barrier_available()) return false;
  MESSAGE("not tested: the system refuses membarrier");
  return true;
}

}  // namespace testing

TYPE_TO_STRING_AS("fence/symmetric", testing::fence_symmetric);
TYPE_TO_STRING_AS("fence/native", testing::fence_native);
TYPE_TO_STRING_AS("fence/portable", testing::fence_portable);
TYPE_TO_STRING_AS("progress_fence/native", testing::progress_native);
TYPE_TO_STRING_AS("progress_fence/symmetric", testing::progress_symmetric);
TYPE_TO_STRING_AS("progress_fence/portable", testing::progress_portable);

#endif  // TIDEMARK_TESTS_SUPPORT_KINDS_HPP
