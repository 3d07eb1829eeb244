// SPDX-License-Identifier: BSL-1.0
//
// The kinds of loops on which a test runs, and what belongs to each.
#ifndef TIDEMARK_TESTS_SUPPORT_LOOP_KINDS_HPP
#define TIDEMARK_TESTS_SUPPORT_LOOP_KINDS_HPP

#include <doctest/doctest.h>

#include <functional>

#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include "counting_platform.hpp"
#include "parts_of_kinds.hpp"

namespace testing {

template <class Platform>
struct loop_kind {
  using platform = Platform;
  using loop = tidemark::basic_wait_loop<Platform>;
  using fence = tidemark::basic_fence<Platform>;
  using progress_fence = tidemark::basic_progress_fence<Platform>;
  /// Their signallers run callables.
  using callback_fence = tidemark::basic_fence<Platform, tidemark::fence_options{.callbacks = true}>;
  using callback_progress_fence = tidemark::basic_progress_fence<Platform, tidemark::fence_options{.callbacks = true}>;
  using awaited = tidemark::basic_awaited<Platform>;
  template <class Callable>
  using callback = tidemark::basic_callback<Platform, Callable>;
  /// A callback of any callable, for containers.
  using any_callback = callback<std::function<void()>>;
};
using native_loop = loop_kind<counting_platform<tidemark::native_platform>>;
using symmetric_loop = loop_kind<counting_platform<tidemark::symmetric_platform>>;
using portable_loop = loop_kind<counting_platform<tidemark::portable_platform>>;
/// For TEST_CASE_TEMPLATE.
#define EVERY_LOOP_KIND TESTED_OF(testing::native_loop, testing::portable_loop, testing::symmetric_loop)

/// Whether no waiter is registered.
template <class Timeline>
bool is_idle(const Timeline& timeline) {
  return timeline.monitored_value() == (Timeline::platform::heavy_barrier_available() ? tidemark::no_waiter : 0);
}

}  // namespace testing

TYPE_TO_STRING_AS("loop/native", testing::native_loop);
TYPE_TO_STRING_AS("loop/symmetric", testing::symmetric_loop);
TYPE_TO_STRING_AS("loop/portable", testing::portable_loop);

#endif  // TIDEMARK_TESTS_SUPPORT_LOOP_KINDS_HPP
