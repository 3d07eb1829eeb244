// SPDX-License-Identifier: BSL-1.0
//
// What every model check shares: the assertion, the structure of a check, and the program that runs checks by name
// (runner.cpp).
//
//   model_<stem> --list
//   model_<stem> --compare LINES FORM       with what the tables say of this program; see compare() in runner.cpp
//   model_<stem> CHECK --search random|bounded [--executions N] [--bound N]
//                [--weaken SITE=HOW] [--blind-seam] [--expect-failure] [--sites] [--history]
//
// SITE is the number of an ordering comment in the headers, such as F2, or FILE:LINE:COLUMN as --sites prints it; HOW
// is an order (relaxed, acquire, release, acq_rel), the same after `failure:`, `removed` for a barrier, `own_thread`
// for a heavy one, or `spurious` for a strong exchange. With --expect-failure the program succeeds only if the check
// fails, so a check that does not notice the weakening is reported. --blind-seam finds the site and weakens nothing.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_MODEL_CHECK_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_MODEL_CHECK_HPP

namespace model {
// Declared before any tidemark header, whose assertions go through it.
void require(bool condition, const char* text, const char* file, unsigned line);
}  // namespace model

#define TIDEMARK_ASSERT(condition, text) ::model::require(static_cast<bool>(condition), text, __FILE__, __LINE__)
#define MODEL_REQUIRE(condition) ::model::require(static_cast<bool>(condition), #condition, __FILE__, __LINE__)

#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <vector>

#include <tidemark/verify/relacy_platform.hpp>
#include <tidemark/verify/relacy_portable_platform.hpp>

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

/// What runs in a check. A suite derives from this. It has `thread(index)`, which each of the threads runs, and may
/// have `before()` and `after()`, which run alone.
template <unsigned Threads>
struct suite {
  static_assert(0 < Threads && Threads <= 4, "add this number to play() in runner.cpp");
  static constexpr unsigned threads = Threads;
};

/// One check: a suite with a name. The runner knows the suite only by these functions, so that the checker is compiled
/// once for all suites. The first parameter is the place of the suite.
struct check {
  std::string_view name;
  unsigned threads = 0;  // 0: not wanted
  std::size_t size = 0;
  std::size_t alignment = 0;
  void (*construct)(void*) = nullptr;
  void (*destroy)(void*) = nullptr;
  void (*before)(void*) = nullptr;
  void (*thread)(void*, unsigned) = nullptr;
  void (*after)(void*) = nullptr;
};

template <class Suite>
struct suite_functions {
  static void construct(void* place) { new (place) Suite(); }
  static void destroy(void* place) { at(place).~Suite(); }
  static void before(void* place) {
    if constexpr (requires(Suite& suite) { suite.before(); }) at(place).before();
  }
  static void thread(void* place, unsigned index) { at(place).thread(index); }
  static void after(void* place) {
    if constexpr (requires(Suite& suite) { suite.after(); }) at(place).after();
  }

 private:
  static Suite& at(void* place) { return *static_cast<Suite*>(place); }
};

/// The text of a name. It lives as long as the program.
template <name Name>
inline constexpr name kept = Name;

template <class Suite, name Name>
check make_check() {
  if constexpr (is_wanted(Name.text())) {
    using functions = suite_functions<Suite>;
    return {kept<Name>.text(),  Suite::threads,    sizeof(Suite),     alignof(Suite),  functions::construct,
            functions::destroy, functions::before, functions::thread, functions::after};
  } else {
    return {kept<Name>.text()};
  }
}

/// Everything that main() does, apart from the list of checks. Returns the exit status: 0 if the outcome is as
/// expected, 1 if it is not, and 2 for a bad command line.
int run(int argc, char** argv, const std::vector<check>& checks);

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_MODEL_CHECK_HPP
