// SPDX-License-Identifier: BSL-1.0
//
// Which of the kinds that share a test body are compiled: TIDEMARK_TEST_KINDS of CMake. Without it, all of them.
#ifndef TIDEMARK_TESTS_SUPPORT_PARTS_OF_KINDS_HPP
#define TIDEMARK_TESTS_SUPPORT_PARTS_OF_KINDS_HPP

/// For TEST_CASE_TEMPLATE: one of three, or all. `./dev test` takes the first. The parts of `.ci/run` take one after
/// the other. Under ThreadSanitizer, where native_platform is symmetric_platform, TIDEMARK_TEST_DISTINCT_KINDS leaves
/// out the third, so that should be the one on symmetric_platform.
#if defined(TIDEMARK_TEST_DISTINCT_KINDS)
#define TESTED_OF(first, second, third) first, second
#elif !defined(TIDEMARK_TEST_THIRD_OF_KINDS)
#define TESTED_OF(first, second, third) first, second, third
#elif TIDEMARK_TEST_THIRD_OF_KINDS == 1
#define TESTED_OF(first, second, third) first
#elif TIDEMARK_TEST_THIRD_OF_KINDS == 2
#define TESTED_OF(first, second, third) second
#elif TIDEMARK_TEST_THIRD_OF_KINDS == 3
#define TESTED_OF(first, second, third) third
#else
#error "TIDEMARK_TEST_THIRD_OF_KINDS is 1, 2 or 3"
#endif

#endif  // TIDEMARK_TESTS_SUPPORT_PARTS_OF_KINDS_HPP
