// SPDX-License-Identifier: BSL-1.0
//
// The `main` that all doctest programs share. Unlike doctest's own, it fails if no test case has matched the filters,
// so that a misspelt filter does not look like a success.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

namespace {

unsigned cases_run = 0;

/// Learns at the end of the run how many test cases it had.
struct case_counter final : doctest::IReporter {
  explicit case_counter(const doctest::ContextOptions&) {}

  void test_run_end(const doctest::TestRunStats& stats) override { cases_run = stats.numTestCasesPassingFilters; }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_start(const doctest::TestCaseData&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};

DOCTEST_REGISTER_LISTENER("case_counter", 1, case_counter);

}  // namespace

// The sanitizers call these where they are linked. Some tests ask for more memory than there is, and must get none.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): names that they prescribe
extern "C" const char* __asan_default_options();
extern "C" const char* __tsan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const int result = context.run();
  if (context.shouldExit()) return result;
  if (result == 0 && cases_run == 0) {
    std::fputs("no test case matches the filters\n", stderr);
    return 1;
  }
  return result;
}
