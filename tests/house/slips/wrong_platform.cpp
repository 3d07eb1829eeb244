// SPDX-License-Identifier: BSL-1.0
// concept: platform
#include <tidemark/fence/fence.hpp>

struct not_a_platform {};

tidemark::basic_fence<not_a_platform> fence;
