// SPDX-License-Identifier: BSL-1.0
//
// The one hook through which misuse is reported.
//
// `TIDEMARK_ASSERT(condition, text)` may be defined before the first tidemark header is included, the same way in every
// translation unit of a program. Otherwise it stops the program with a message in debug builds and is nothing with
// NDEBUG.
#ifndef TIDEMARK_DETAIL_ASSERT_HPP
#define TIDEMARK_DETAIL_ASSERT_HPP

#ifndef TIDEMARK_ASSERT
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
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::tidemark::detail::misuse(text, __FILE__, __LINE__))
#endif
#endif

#endif  // TIDEMARK_DETAIL_ASSERT_HPP
