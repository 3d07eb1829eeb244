// SPDX-License-Identifier: BSL-1.0
//
// Relacy without its macros. Only the sources of the runner include it.
#ifndef TIDEMARK_VERIFY_RUNNER_RELACY_HPP
#define TIDEMARK_VERIFY_RUNNER_RELACY_HPP

// Otherwise Relacy goes on where a condition of its own does not hold.
#define RL_DO_ASSERT 1

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wdollar-in-identifier-extension"
#endif

#include <relacy/relacy.hpp>

#undef $
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef VAR
#undef VAR_T
#undef TLS_T
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

#endif  // TIDEMARK_VERIFY_RUNNER_RELACY_HPP
