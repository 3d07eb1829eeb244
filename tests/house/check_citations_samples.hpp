// SPDX-License-Identifier: BSL-1.0
//
// Small repositories for the self-test of check_citations: good ones, and one for each way to break a rule. Each
// consists of the two documents below and some files of its own, which may replace them.
#ifndef TIDEMARK_TESTS_HOUSE_CHECK_CITATIONS_SAMPLES_HPP
#define TIDEMARK_TESTS_HOUSE_CHECK_CITATIONS_SAMPLES_HPP

#include <string>
#include <utility>
#include <vector>

struct citation_sample {
  std::string title;
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<std::string> places;  // "file:line" of each violation
  std::string what = {};            // each message has this
};

/// A page whose rows are not tested.
inline const std::string citation_samples_page =
    "| Row | What | Source | Tested in |\n"
    "|---|---|---|---|\n"
    "| [A1] | one | 1 | not yet |\n"
    "| [A2] | two | 1, 1.1 | not yet |\n"
    "| [trap 1] | trap | 2 | not yet |\n"
    "\n"
    "| Section | Title |\n"
    "|---|---|\n"
    "| 1 | a document |\n"
    "| 1.1 | a part of it |\n"
    "| 2 | another |\n";

/// The same, with the cells that say where the three rows are tested.
inline std::string citation_page(const std::string& first, const std::string& second, const std::string& trap) {
  return "| [A1] | one | 1 | " + first + " |\n| [A2] | two | 1, 1.1 | " + second + " |\n| [trap 1] | trap | 2 | " +
         trap + " |\n| 1 | a document |\n| 1.1 | a part of it |\n| 2 | another |\n";
}

inline const std::string citation_samples_legend =
    "A legend:\n\n| Letter | Headers | About |\n|---|---|---|\n\nMore.\n";

inline const std::vector<citation_sample> citation_samples = {
    {"rows without tests", {}, {}},
    {"tested where names cite it",
     {{"docs/requirements.md", citation_page("fence, model/heap, tidemark", "house", "fence, fuzz/list")},
      {"include/tidemark/fence/fence.hpp", "int x;  // as [A1-A2] say, and [trap 1]\n"},
      {"tests/fence/fence.cpp", "TEST_CASE(\"[A1] a name\"\n          \" in two parts [trap 1]\") {}\n"},
      {"tests/tidemark.cpp", "TEST_CASE_TEMPLATE(\n    \"[A1] a name\", T, int) {}\n"},
      {"tests/model/fence/checks.table", "# program | check | rows\nheap | released | [A1] | 3\n"},
      {"tests/fuzz/list.cpp", "TEST_CASE(\"[trap 1]\") {}\n"},
      {"tests/CMakeLists.txt", "add(\"[A2] of the house\")\n"}},
     {}},
    {"what is no citation",
     {{"include/tidemark/fence/fence.hpp",
       "int x = a[A1];\n// of D3D11, (B2B), (F3), [3, 2], \"[0-9]\", [A], a trap of 3 kinds\n// (F3): alone\n"},
      {"docs/ordering.md", "(F3)\n| Letter | Headers | About |\n|---|---|---|\n| F | `fence/fence.hpp` | fences |\n"},
      {"tests/house/check.cpp", "const char* sample = \"[A99] and (A1)\";\n"}},
     {}},
    {"no such row",
     {{"examples/one.cpp", "// [A1]\n// see [A3]\n"}, {"docs/guide.md", "see [trap 2]\n"}, {"README.md", "[A1-A3]"}},
     {"README.md:1", "docs/guide.md:1", "examples/one.cpp:2"},
     "has no row in docs"},
    {"a range that falls", {{"bench/one.cpp", "// [A2-A1]\n"}}, {"bench/one.cpp:1"}, "range of rows falls"},
    {"a range over two letters",
     {{"bench/one.cpp", "/* see\n [A2-B1] */\n"}},
     {"bench/one.cpp:2"},
     "range of rows falls"},
    {"the old style",
     {{"include/tidemark/fence/fence.hpp", "// see (A1)\n/// (A1, A2)\n// (trap 1)\n// see trap 1\n// Trap 1.\n"}},
     {"include/tidemark/fence/fence.hpp:1", "include/tidemark/fence/fence.hpp:2", "include/tidemark/fence/fence.hpp:3",
      "include/tidemark/fence/fence.hpp:4", "include/tidemark/fence/fence.hpp:5"},
     "is no citation"},
    {"the old style in the name of a test",
     {{"tests/fence/fence.cpp", "TEST_CASE(\"a name (A1)\") {}\n"}},
     {"tests/fence/fence.cpp:1"},
     "is no citation"},
    {"a row that names no place",
     {{"tests/fence/fence.cpp", "TEST_CASE(\"[A1] a name\") {}\n"}},
     {"docs/requirements.md:3"},
     "[A1] is tested in: fence"},
    {"a row that names a place too few",
     {{"docs/requirements.md", citation_page("fence", "not yet", "not yet")},
      {"tests/fence/fence.cpp", "TEST_CASE(\"[A1] a name\") {}\n"},
      {"tests/log/log.cpp", "TEST_CASE(\"[A1] a name\") {}\n"},
      {"include/tidemark/fence/fence.hpp", ""},
      {"include/tidemark/log/log.hpp", ""}},
     {"docs/requirements.md:1"},
     "[A1] is tested in: fence, log;"},
    {"a row that names a place that does not cite it",
     {{"docs/requirements.md", citation_page("fence", "not yet", "not yet")},
      {"tests/fence/fence.cpp", "TEST_CASE(\"a name\") {}\n"}},
     {"docs/requirements.md:1"},
     "[A1] is tested in: not yet"},
    {"cited below tests/ by comments only",
     {{"tests/fence/fence.cpp", "// [A1]\nconst char* text = \"[A2]\";\n"}, {"tests/model/one.mutant", "[trap 1]\n"}},
     {"tests/fence/fence.cpp:1", "tests/fence/fence.cpp:2", "tests/model/one.mutant:1"},
     "no test's name cites it"},
    {"cited by a header and not tested",
     {{"include/tidemark/fence/fence.hpp", "// [A1]\n"}},
     {"include/tidemark/fence/fence.hpp:1"},
     "no test's name cites it"},
    {"a comment in a script is no name",
     {{"tests/fence/fence.cmake", "# [A1]\n"}},
     {"tests/fence/fence.cmake:1"},
     "no test's name cites it"},
    {"a gap between rows",
     {{"docs/requirements.md", "| [A1] | one | 1 | not yet |\n| [A3] | three | 1 | not yet |\n| 1 | a document |\n"}},
     {"docs/requirements.md:2"},
     "[A2] has no row"},
    {"a row twice",
     {{"docs/requirements.md", "| [A1] | one | 1 | not yet |\n| [A1] | one | 1 | not yet |\n| 1 | a document |\n"}},
     {"docs/requirements.md:2"},
     "has a row already"},
    {"a row without a text",
     {{"docs/requirements.md", "| [A1] | | 1 | not yet |\n| 1 | a document |\n"}},
     {"docs/requirements.md:1"},
     "says nothing"},
    {"a row of three cells",
     {{"docs/requirements.md", "| [A1] | one | not yet |\n| 1 | a document |\n"}},
     {"docs/requirements.md:1"},
     "four cells"},
    {"a source that is not listed",
     {{"docs/requirements.md", "| [A1] | one | 1, 1.2 | not yet |\n| 1 | a document |\n"}},
     {"docs/requirements.md:1"},
     "no section '1.2'"},
    {"a tag that no header defines",
     {{"docs/guide.md", "as (F1) and (F2) say\n"},
      {"include/tidemark/fence/fence.hpp", "// (F1): alone\n"},
      {"docs/ordering.md", "| Letter | Headers | About |\n|---|---|---|\n| F | `fence/fence.hpp` | fences |\n"}},
     {"docs/guide.md:1"},
     "(F2) is defined in no header"},
    {"a letter that the legend lacks",
     {{"include/tidemark/fence/fence.hpp", "// (F1): alone\n"}},
     {"docs/ordering.md:0"},
     "the legend lacks: F"},
    {"a legend that names another header",
     {{"include/tidemark/fence/fence.hpp", "// (F1): alone\n"},
      {"docs/ordering.md", "| Letter | Headers | About |\n|---|---|---|\n| F | `fence/heap.hpp` | fences |\n"}},
     {"docs/ordering.md:3"},
     "are defined in: `fence/fence.hpp`"},
};

inline const citation_sample citation_sample_out_of_date = {
    "out of date",
    {{"docs/requirements.md", citation_page("log", "not yet", "fence")},
     {"docs/ordering.md", "| Letter | Headers | About |\n|---|---|---|\n| F |  | fences |\n\nmore\n"},
     {"include/tidemark/fence/fence.hpp", "// (F1): alone\n"},
     {"include/tidemark/fence/heap.hpp", "int x;  // (F2): alone\n"},
     {"tests/fence/fence.cpp", "TEST_CASE(\"[A1] a name\") {}\n"},
     {"tests/fence/heap.cpp", "TEST_CASE(\"[A1][A2] a name\") {}\n"}},
    {}};
inline const citation_sample citation_sample_updated = {
    "updated",
    {{"docs/requirements.md", citation_page("fence, heap", "heap", "not yet")},
     {"docs/ordering.md",
      "| Letter | Headers | About |\n|---|---|---|\n| F | `fence/fence.hpp`, `fence/heap.hpp` | fences |\n\nmore\n"},
     citation_sample_out_of_date.files[2],
     citation_sample_out_of_date.files[3],
     citation_sample_out_of_date.files[4],
     citation_sample_out_of_date.files[5]},
    {}};

#endif  // TIDEMARK_TESTS_HOUSE_CHECK_CITATIONS_SAMPLES_HPP
