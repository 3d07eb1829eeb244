// SPDX-License-Identifier: BSL-1.0
//
// What the checks of memory in flight share: the progress of an executor, with room for one waiter who does not spin, and a
// payload that shows every race.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_PROGRESS_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_PROGRESS_HPP

#include "model_check.hpp"

#include <tidemark/fence.hpp>

#include <utility>

namespace model {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;
using progress_fence =
    tidemark::basic_progress_fence<platform, tidemark::fence_options{.capacity = 1, .arity = 2, .max_spins = 0}>;
using progress_view = decltype(std::declval<const progress_fence&>().view());

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_PROGRESS_HPP
