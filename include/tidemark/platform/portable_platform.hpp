// SPDX-License-Identifier: BSL-1.0
//
// portable_platform: a platform of the standard library alone. An exchange of 16 bytes takes a lock there, and so does
// waking a thread.
//
// A port to another system begins with it and replaces one part after the other. It also serves tests of code that
// takes a platform. Where the system has no futexes, or the processor can't exchange 16 bytes, native_platform uses the
// same parts by itself.
//
// Not promised: lock-freedom; that a signal handler may signal a fence of this platform.
#ifndef TIDEMARK_PLATFORM_PORTABLE_PLATFORM_HPP
#define TIDEMARK_PLATFORM_PORTABLE_PLATFORM_HPP

#include "detail/barriers.hpp"
#include "detail/configuration.hpp"
#include "detail/double_word.hpp"
#include "detail/lot_parking.hpp"
#include "detail/native_parts.hpp"
#include "platform.hpp"

namespace tidemark {
inline namespace TIDEMARK_CONFIGURATION {

struct portable_platform : detail::platform_of<detail::symmetric_barriers, detail::lot_parking<detail::native_lots>,
                                               detail::locked_double_word<detail::native_words>> {};

}  // namespace TIDEMARK_CONFIGURATION
}  // namespace tidemark

#endif  // TIDEMARK_PLATFORM_PORTABLE_PLATFORM_HPP
