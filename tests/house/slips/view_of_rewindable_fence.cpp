// SPDX-License-Identifier: BSL-1.0
// concept: timeline
#include <tidemark/fence/rewindable_fence.hpp>
#include <tidemark/fence/timeline.hpp>

using view_of_it = tidemark::timeline_view<tidemark::rewindable_fence>;
