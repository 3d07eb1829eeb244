// SPDX-License-Identifier: BSL-1.0
//
// What every model check shares: the platforms, the assertion, and the names of checks. The program that plays them is
// the runner of include/tidemark/verify; `model_<stem> --help` prints its options.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_MODEL_CHECK_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_MODEL_CHECK_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

// Before any other header of the library, whose assertions fail the execution.
#include <tidemark/verify/relacy_portable_platform.hpp>

#define MODEL_REQUIRE(condition) ::tidemark::verify::expect(static_cast<bool>(condition), #condition)

namespace model {

/// The name of a check, known to the compiler.
struct name {
  constexpr name() = default;
  template <std::size_t Size>
  constexpr name(const char (&text)[Size]) {
    static_assert(Size <= sizeof characters);
    for (std::size_t i = 0; i < Size; ++i) characters[i] = text[i];
  }
  constexpr std::string_view text() const { return characters; }

  friend constexpr name operator+(const name& first, const name& second) {
    name both = first;
    std::size_t end = first.text().size();
    for (const char next : second.text()) both.characters[end++] = next;
    return both;
  }

  char characters[64] = {};
};

/// Returns whether this program has a check of that name. With a changed copy of the headers only one check is wanted,
/// and the others would take most of the compile time.
constexpr bool is_wanted(std::string_view check) {
#if defined(TIDEMARK_MODEL_ONLY)
  return check == TIDEMARK_MODEL_ONLY;
#else
  return !check.empty();
#endif
}

/// What runs in a check. A suite derives from this.
template <unsigned Threads>
using suite = tidemark::verify::check<Threads>;

/// A check of the list that is given to run().
using check = tidemark::verify::entry;

/// The text of a name. It lives as long as the program.
template <name Name>
inline constexpr name kept = Name;

template <class Suite, name Name>
check make_check() {
  if constexpr (is_wanted(Name.text())) {
    return tidemark::verify::entry_of<Suite>(kept<Name>.characters);
  } else {
    return {};
  }
}

/// Everything that main() does, apart from the list of checks. Returns the exit status: 0 if the outcome is as
/// expected, 1 if it is not, and 2 for a bad command line.
inline int run(int argc, char** argv, std::vector<check> checks) {
  const check* last = nullptr;
  for (check& each : checks) {
    if (each.threads == 0) continue;  // not wanted
    each.next = last;
    last = &each;
  }
  return tidemark::verify::run(argc, argv, last);
}

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_MODEL_CHECK_HPP
