// SPDX-License-Identifier: BSL-1.0
//
// The progress of an executor, on a platform that counts the operations of waits.
#ifndef TIDEMARK_TESTS_SUPPORT_COUNTED_PROGRESS_HPP
#define TIDEMARK_TESTS_SUPPORT_COUNTED_PROGRESS_HPP

#include <utility>

#include <tidemark/fence/fence.hpp>

#include "counting_platform.hpp"

namespace testing {

using counted = counting_platform<tidemark::native_platform>;
using counted_fence = tidemark::basic_progress_fence<counted>;
using counted_view = decltype(std::declval<const counted_fence&>().view());

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_COUNTED_PROGRESS_HPP
