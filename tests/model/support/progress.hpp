// SPDX-License-Identifier: BSL-1.0
//
// What the checks of memory in flight share: the progress of an executor, which nobody spins on, and a payload that shows
// every race. The plain fence has one slot, so that searches are short. The deep one has a heap of two levels: there a
// signaller reads inner nodes, which an order that is too weak may leave stale.
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
using deep_progress_fence =
    tidemark::basic_progress_fence<platform, tidemark::fence_options{.capacity = 3, .arity = 2, .max_spins = 0}>;
template <class Fence>
using view_of = decltype(std::declval<const Fence&>().view());
using progress_view = view_of<progress_fence>;

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_PROGRESS_HPP
