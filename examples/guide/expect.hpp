// SPDX-License-Identifier: BSL-1.0
// How the programs of the guides check themselves: each says what must be true, and main() returns how it went.

#pragma once

#include <cstdio>

namespace guide {

inline int wrong = 0;

inline void expect(bool is_true, const char* what) {
  if (is_true) return;
  ++wrong;
  std::printf("WRONG: %s\n", what);
}

/// The exit status of the program.
inline int result(const char* program) {
  std::printf("%s: %s\n", program, wrong == 0 ? "ok" : "WRONG");
  return wrong == 0 ? 0 : 1;
}

}  // namespace guide
