// SPDX-License-Identifier: BSL-1.0
// concept: platform
#include <tidemark/fence/waiter_heap.hpp>

struct not_a_platform {};

tidemark::waiter_heap<8, not_a_platform> heap;
