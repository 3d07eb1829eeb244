// SPDX-License-Identifier: BSL-1.0
//
// A hook for TIDEMARK_ASSERT that notes the text and returns, so that the program goes on after a misuse. Include it
// before any tidemark header, in every source file of a program.
#ifndef TIDEMARK_TESTS_SUPPORT_NOTED_MISUSE_HPP
#define TIDEMARK_TESTS_SUPPORT_NOTED_MISUSE_HPP

#include <string>
#include <utility>
#include <vector>

namespace testing {

using texts = std::vector<std::string>;

/// What was reported and not yet taken.
inline texts noted_misuse;

inline void note_misuse(const char* text) { noted_misuse.emplace_back(text); }

/// Returns what was reported since the last call.
inline texts take_said() { return std::exchange(noted_misuse, {}); }

}  // namespace testing

#define TIDEMARK_ASSERT(condition, text) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : testing::note_misuse(text))

#endif  // TIDEMARK_TESTS_SUPPORT_NOTED_MISUSE_HPP
