// SPDX-License-Identifier: BSL-1.0
#ifndef TIDEMARK_TESTS_PACKAGING_MIXED_PROGRAM_SHARED_HPP
#define TIDEMARK_TESTS_PACKAGING_MIXED_PROGRAM_SHARED_HPP

#include <tidemark/fence/fence.hpp>

struct job {
  tidemark::progress_fence done;
};

#ifdef NAMES_THE_FENCE
void finish(tidemark::progress_fence& done);
inline void finish(job& job) { finish(job.done); }
#else
void finish(job& job);
#endif

#endif  // TIDEMARK_TESTS_PACKAGING_MIXED_PROGRAM_SHARED_HPP
