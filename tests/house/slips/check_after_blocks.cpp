// SPDX-License-Identifier: BSL-1.0
// concept: misuse
#include <tidemark/fence/fence.hpp>

// Comes too late: misuse of the fence would end the program instead of failing the check.
#include <tidemark/verify/check.hpp>
