// SPDX-License-Identifier: BSL-1.0
//
// What every model check shares: the assertion, the shape of a check, and the program that runs checks by name.
//
//   model_<stem> --list
//   model_<stem> CHECK --search random|bounded|full [--executions N] [--bound N]
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

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/tidemark.hpp>
#include <tidemark/verify/relacy_platform.hpp>
#include <tidemark/verify/relacy_portable_platform.hpp>

namespace model {

/// One check: a Relacy suite with a name. Its `thread(index)` runs in each thread, `after()` when all have ended.
struct check {
  std::string name;
  bool (*simulate)(rl::test_params&);
};

template <class Suite>
check make_check(std::string name) {
  return {std::move(name), [](rl::test_params& params) { return rl::simulate<Suite>(params); }};
}

/// The whole of main() but the list of checks. The result is the exit status: 0 as expected, 1 not, 2 for a bad command
/// line.
int run(int argc, char** argv, const std::vector<check>& checks);

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_MODEL_CHECK_HPP
