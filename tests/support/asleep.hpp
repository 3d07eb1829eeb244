// SPDX-License-Identifier: BSL-1.0
//
// Whether a thread sleeps.
#ifndef TIDEMARK_TESTS_SUPPORT_ASLEEP_HPP
#define TIDEMARK_TESTS_SUPPORT_ASLEEP_HPP

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace testing {

/// Returns whether the kernel says that a thread of this process sleeps; true where the kernel can't be asked.
inline bool is_asleep(long thread_id) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread_id);
  std::FILE* file = std::fopen(path, "r");
  if (file == nullptr) return true;
  char line[256] = {};
  const std::size_t length = std::fread(line, 1, sizeof line - 1, file);
  std::fclose(file);
  line[length] = '\0';
  const char* state = std::strrchr(line, ')');  // "id (name) S ..."; the name may contain any character
  return state == nullptr || std::strncmp(state, ") S", 3) == 0;
}

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_ASLEEP_HPP
