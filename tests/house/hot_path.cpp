// SPDX-License-Identifier: BSL-1.0
//
// The signals, each in a function of its own with a plain name, so that check_hot_path can find them in the assembly.
#include <cstdint>

#include <tidemark/fence/fence.hpp>
#include <tidemark/fence/shared_fence.hpp>
#include <tidemark/queue/thread_recorder.hpp>

#if defined(__linux__) && TIDEMARK_HAS_FUTEX
using shared_progress_fence = tidemark::shared_progress_fence;
using shared_fence = tidemark::shared_fence;
#else  // there are none
using shared_progress_fence = tidemark::progress_fence;
using shared_fence = tidemark::fence;
#endif

extern "C" {

void progress_signal(tidemark::progress_fence& fence, std::uint64_t value) { fence.signal(value); }

std::uint64_t progress_signal_next(tidemark::progress_fence& fence) { return fence.signal_next(); }

bool fence_signal(tidemark::fence& fence, std::uint64_t value) { return fence.signal(value); }

std::uint64_t fence_signal_next(tidemark::fence& fence) { return fence.signal_next(); }

void shared_progress_signal(shared_progress_fence& fence, std::uint64_t value) { fence.signal(value); }

bool shared_fence_signal(shared_fence& fence, std::uint64_t value) { return fence.signal(value); }

// A thread that is not recorded signals with the same instructions.
void unrecorded_progress_signal(tidemark::progress_fence& fence, std::uint64_t value) {
  tidemark::unrecorded_thread{}.signal(tidemark::logged_fence{&fence, tidemark::fence_id{1}}, value);
}

bool unrecorded_fence_signal(tidemark::fence& fence, std::uint64_t value) {
  return tidemark::unrecorded_thread{}.signal(tidemark::logged_fence{&fence, tidemark::fence_id{1}}, value);
}
}
