// SPDX-License-Identifier: BSL-1.0
//
// What the checks of memory in flight share: the progress of an executor, on which no thread spins, and a payload that
// shows every race.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_PROGRESS_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_PROGRESS_HPP

#include "model_check.hpp"
#include "shapes.hpp"

#include <tidemark/fence/fence.hpp>

#include <utility>
#include <vector>

namespace model {

using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<int>;

template <heap_shape Shape, class Platform = platform>
using progress_fence = shaped_progress_fence<Platform, Shape>;
template <class Fence>
using view_of = decltype(std::declval<const Fence&>().view());

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_PROGRESS_HPP
