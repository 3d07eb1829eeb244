// SPDX-License-Identifier: BSL-1.0
// concept: timeline
#include <tidemark/fence/fence.hpp>
#include <tidemark/memory/rename_ring.hpp>

using keeping_fence =
    tidemark::basic_fence<tidemark::symmetric_platform, tidemark::fence_options{.keeps_value_on_loss = true}>;

void follow(const keeping_fence& mine) { tidemark::rename_ring ring{mine, {.bytes = 4096}}; }
