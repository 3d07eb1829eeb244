// SPDX-License-Identifier: BSL-1.0
//
// TIDEMARK_ASSERT: all headers report misuse through this one hook.
//
// A program may define `TIDEMARK_ASSERT(condition, text)` before it includes the first tidemark header, in the same
// way in every translation unit. Its macro may return; then the function goes on as it does with NDEBUG. It must not
// throw, because most functions that assert are noexcept.
//
// Otherwise an assertion that fails prints `text` and its place to stderr and calls abort(), and with NDEBUG it is not
// evaluated at all.
#ifndef TIDEMARK_PLATFORM_ASSERT_HPP
#define TIDEMARK_PLATFORM_ASSERT_HPP

#include "detail/requirements.hpp"

#ifndef TIDEMARK_ASSERT
#define TIDEMARK_ASSERT_IS_DEFAULT  // for verify/check.hpp, which has another one
#ifdef NDEBUG
#define TIDEMARK_ASSERT(condition, text) static_cast<void>(0)
#else

#include <cstdio>
#include <cstdlib>

namespace tidemark::detail {

[[noreturn]] inline void misuse(const char* text, const char* file, unsigned line) noexcept {
  std::fprintf(stderr, "tidemark: %s (%s:%u)\n", text, file, line);
  std::abort();
}

}  // namespace tidemark::detail

#define TIDEMARK_ASSERT(condition, text) \
  ((condition) ? static_cast<void>(0) : ::tidemark::detail::misuse(text, __FILE__, __LINE__))
#endif
#endif

#endif  // TIDEMARK_PLATFORM_ASSERT_HPP
