// SPDX-License-Identifier: BSL-1.0
//
// What the programs that check the repository share: the violations that they find, and the test that each makes of
// itself with samples.
#ifndef TIDEMARK_TESTS_HOUSE_VIOLATIONS_HPP
#define TIDEMARK_TESTS_HOUSE_VIOLATIONS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace house {

struct violation {
  std::string file;
  std::size_t line;
  std::string message;
};

inline void print(const std::vector<violation>& violations) {
  for (const auto& found : violations) {
    std::printf("%s:%zu: %s\n", found.file.c_str(), found.line, found.message.c_str());
  }
}

/// Whether the violations are exactly those on the given lines, each with a message that contains `what`. Prints them
/// if they are not.
inline bool are_as_wanted(const char* title, const std::vector<violation>& violations,
                          const std::vector<std::size_t>& wanted_lines, const char* what) {
  std::vector<std::size_t> lines;
  bool messages_match = true;
  for (const auto& found : violations) {
    lines.push_back(found.line);
    messages_match = messages_match && found.message.find(what) != std::string::npos;
  }
  if (lines == wanted_lines && messages_match) return true;
  std::printf("sample \"%s\": expected %zu violations of the kind \"%s\", found %zu\n", title, wanted_lines.size(),
              what, violations.size());
  for (const auto& found : violations) std::printf("  line %zu: %s\n", found.line, found.message.c_str());
  return false;
}

/// Returns whether all samples pass. Prints how many there are, and how many fail.
template <class Samples, class Passes>
bool all_pass(const Samples& samples, const Passes& passes) {
  const auto failed = std::count_if(samples.begin(), samples.end(), [&](const auto& one) { return !passes(one); });
  std::printf("%zu samples, %td failed\n", samples.size(), failed);
  return failed == 0;
}

}  // namespace house

#endif  // TIDEMARK_TESTS_HOUSE_VIOLATIONS_HPP
