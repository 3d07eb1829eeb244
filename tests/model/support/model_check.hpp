// SPDX-License-Identifier: BSL-1.0
//
// What every model check shares: the assertion, the shape of a check, and the program that runs checks by name.
//
//   model_<stem> --list
//   model_<stem> CHECK --search random|bounded [--executions N] [--bound N]
//                [--weaken SITE=HOW] [--blind-seam] [--expect-failure] [--sites] [--history]
//
// SITE is the number of an ordering comment in the headers, such as F2, or FILE:LINE:COLUMN as --sites prints it; HOW
// is an order (relaxed, acquire, release, acq_rel), the same after `failure:`, `removed` for a barrier, `own_thread`
// for a heavy one, or `spurious` for a strong exchange. With --expect-failure the program succeeds only if the check
// fails, so a check that can't notice the weakening is itself reported. --blind-seam finds the site and weakens nothing.
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
#include <string>
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

/// Whether this program has a check of that name: of a changed copy of the headers one check is wanted, and the others
/// would take most of the time to compile.
constexpr bool is_wanted(std::string_view check) {
#if defined(TIDEMARK_MODEL_ONLY)
  return check == TIDEMARK_MODEL_ONLY;
#else
  return !check.empty();
#endif
}

/// Whether what failed is executed once more, to print what happened.
inline bool shows_history = false;

/// Like rl::simulate(), which would be compiled for a third search too, and of a changed copy for one only: the bounded
/// one. `params` tells the outcome.
template <class Suite>
bool simulate(rl::test_params& params) {
  constexpr auto threads = Suite::params::thread_count;
  const auto search = [&params](rl::ostringstream& state, bool repeats) {
#if !defined(TIDEMARK_MODEL_ONLY)
    if (params.search_type == rl::random_scheduler_type) {
      return rl::run_test<Suite, rl::random_scheduler<threads>>(params, state, repeats);
    }
#endif
    return rl::run_test<Suite, rl::context_bound_scheduler<threads>>(params, state, repeats);
  };
  rl::ostringstream state;
  if (search(state, false) == rl::test_result_success) return true;
  if (shows_history) {
    params.initial_state = params.final_state = state.str();
    params.collect_history = true;
    rl::ostringstream unused;
    search(unused, true);
  }
  return false;
}

/// One check: a Relacy suite with a name. Its `thread(index)` runs in each thread, `after()` when all have ended.
struct check {
  std::string name;
  bool (*simulate)(rl::test_params&) = nullptr;  // nullptr: not wanted
};

template <class Suite, name Name>
check make_check() {
  check made{std::string{Name.text()}};
  if constexpr (is_wanted(Name.text())) made.simulate = simulate<Suite>;
  return made;
}

/// The whole of main() but the list of checks. The result is the exit status: 0 as expected, 1 not, 2 for a bad command
/// line.
int run(int argc, char** argv, const std::vector<check>& checks);

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_MODEL_CHECK_HPP
