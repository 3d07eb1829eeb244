// SPDX-License-Identifier: BSL-1.0
// concept: notifier
#include <tidemark/queue/queue.hpp>

struct not_a_notifier {};

using deaf_queue = tidemark::basic_queue<tidemark::progress_fence, tidemark::default_log_clock, not_a_notifier>;
deaf_queue* deaf = nullptr;
