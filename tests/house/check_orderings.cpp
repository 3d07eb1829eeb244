// SPDX-License-Identifier: BSL-1.0
//
// Holds the ordering comments of the headers to their form.
//
//   check_orderings DIRECTORY      reads every .hpp below it and prints file:line for each violation; fails if there is
//                                  one
//   check_orderings --self-test    tries the rules on the samples at the end of this file
//
// A tag is capital letters and a number in parentheses, (F3). A comment line that begins with a tag and a colon defines
// it; the definition lasts until the comment ends or the next one begins. Every other mention is a reference. The
// rules:
//
//   1. A statement that gives an atomic operation a memory order has a definition on its lines or in the comment above.
//   2. A tag is defined once in all headers. A tag that is referred to is defined.
//   3. A definition refers to another tag, its other end, or says with the word "alone" why it has none.
//   4. Where a definition says "pairs with (X1)", the definition of X1 refers back to it.
//   5. A source line holds at most one atomic operation, so that a source position names one.
//
// Numbers of requirements stand in square brackets, [A30], and are none of these; see docs/requirements.md.
#include "source_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using house::source_file;
using house::source_line;
using house::violation;

struct definition {
  const source_file* file = nullptr;
  std::size_t line = 0;
  std::string text;
  std::set<std::string> references;
};

// ---- the rules ------------------------------------------------------------------------------------------------------

const std::regex tag_pattern{R"(\(([A-Z]+[0-9]+)\))"};
const std::regex definition_pattern{R"(^[\s/!<*]*\(([A-Z]+[0-9]+)\):)"};
const std::regex pairing_pattern{R"(pairs with \(([A-Z]+[0-9]+)\))"};
const std::regex alone_pattern{R"(\balone\b)"};
const std::regex order_pattern{R"(\b(memory_)?order(_|::)(relaxed|consume|acquire|release|acq_rel|seq_cst)\b)"};
const std::regex operation_pattern{
    R"((\.|->)\s*(load|store|exchange|compare_exchange_strong|compare_exchange_weak|fetch_\w+|test_and_set)\s*\()"};
const std::regex fence_pattern{R"(\b(atomic_thread_fence|atomic_signal_fence)\s*\()"};
const std::regex argument_pattern{
    R"([(,]\s*(\w+::)*(memory_)?order(_|::)(relaxed|consume|acquire|release|acq_rel|seq_cst)\s*[,)])"};

std::size_t count(const std::string& text, const std::regex& pattern) {
  return static_cast<std::size_t>(std::distance(std::sregex_iterator(text.begin(), text.end(), pattern), {}));
}

/// The tag that this line defines, or nothing.
std::string defined_tag(const source_line& line) {
  std::smatch match;
  return std::regex_search(line.comment, match, definition_pattern) ? match[1].str() : std::string{};
}

bool ends_statement(const std::string& code) {
  return code.empty() || code.front() == '#' || std::string_view{";{}:"}.find(code.back()) != std::string_view::npos;
}

class checker {
 public:
  explicit checker(const std::vector<source_file>& files) : files_{files} {}

  std::vector<violation> run() {
    for (const source_file& file : files_) collect_definitions(file);
    for (const source_file& file : files_) {
      for (std::size_t line = 0; line < file.lines.size(); ++line) {
        check_references(file, line);
        check_operations(file, line);
      }
    }
    for (const auto& [tag, where] : definitions_) check_definition(tag, where);
    return std::move(violations_);
  }

  std::size_t tags() const { return definitions_.size(); }
  std::size_t operations() const { return operations_; }

 private:
  void complain(const source_file& file, std::size_t line, std::string message) {
    violations_.push_back({file.name, line + 1, std::move(message)});
  }

  void collect_definitions(const source_file& file) {
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      const std::string tag = defined_tag(file.lines[line]);
      if (tag.empty()) continue;
      definition found{&file, line, file.lines[line].comment, {}};
      for (std::size_t next = line + 1; next < file.lines.size(); ++next) {
        if (!file.lines[next].is_comment_only() || !defined_tag(file.lines[next]).empty()) break;
        found.text += ' ' + file.lines[next].comment;
      }
      for (std::sregex_iterator it(found.text.begin(), found.text.end(), tag_pattern), end; it != end; ++it) {
        if ((*it)[1].str() != tag) found.references.insert((*it)[1].str());
      }
      found.text = std::regex_replace(found.text, std::regex{R"(\s+)"}, " ");
      const auto [earlier, is_new] = definitions_.emplace(tag, std::move(found));
      if (!is_new) {
        complain(file, line,
                 "(" + tag + ") is defined a second time; the first is at " + earlier->second.file->name + ":" +
                     std::to_string(earlier->second.line + 1));
      }
    }
  }

  static std::string named(const std::string& tag) { return std::string{"("}.append(tag).append(")"); }

  void check_references(const source_file& file, std::size_t line) {
    const std::string& comment = file.lines[line].comment;
    for (std::sregex_iterator it(comment.begin(), comment.end(), tag_pattern), end; it != end; ++it) {
      const std::string tag = (*it)[1].str();
      if (definitions_.count(tag) == 0) {
        complain(file, line,
                 named(tag).append(" is referred to but defined nowhere: no comment line begins with ") +
                     named(tag).append(":"));
      }
    }
  }

  void check_definition(const std::string& tag, const definition& where) {
    if (where.references.empty() && !std::regex_search(where.text, alone_pattern)) {
      complain(*where.file, where.line, "(" + tag + ") names no other end and does not say why it stands alone");
    }
    std::smatch match;
    if (!std::regex_search(where.text, match, pairing_pattern)) return;
    const auto partner = definitions_.find(match[1].str());
    if (partner != definitions_.end() && partner->second.references.count(tag) == 0) {
      complain(*where.file, where.line,
               "(" + tag + ") pairs with (" + partner->first + "), which does not refer back to it");
    }
  }

  void check_operations(const source_file& file, std::size_t line) {
    const std::string& code = file.lines[line].code;
    const std::size_t operations = count(code, operation_pattern) + count(code, fence_pattern);
    if (operations > 1) complain(file, line, "more than one atomic operation on this line");
    if (!std::regex_search(code, order_pattern)) return;
    const std::string statement = statement_around(file, line);
    const bool is_operation =
        std::regex_search(statement, operation_pattern) || std::regex_search(statement, fence_pattern);
    if (!is_operation && !std::regex_search(statement, argument_pattern)) return;
    if (!is_operation && std::regex_search(statement, std::regex{R"(\bconstexpr\b)"})) return;
    ++operations_;
    if (!has_definition(file, line)) {
      complain(file, line, "this memory order has no tag: say why it is needed in a comment that begins like (F3):");
    }
  }

  static std::string statement_around(const source_file& file, std::size_t line) {
    std::size_t first = line;
    while (first > 0 && !ends_statement(file.lines[first - 1].code)) --first;
    std::string statement;
    for (std::size_t at = first; at < file.lines.size(); ++at) {
      statement += file.lines[at].code + ' ';
      if (at >= line && ends_statement(file.lines[at].code)) break;
    }
    return statement;
  }

  /// Looks on the lines of the statement, upwards from the order, and in the comment directly above its first line.
  static bool has_definition(const source_file& file, std::size_t line) {
    for (std::size_t at = line;; --at) {
      if (!defined_tag(file.lines[at]).empty()) return true;
      if (at == 0) return false;
      const source_line& above = file.lines[at - 1];
      if (above.is_blank() || (!above.is_comment_only() && ends_statement(above.code))) return false;
    }
  }

  const std::vector<source_file>& files_;
  std::map<std::string, definition> definitions_;
  std::vector<violation> violations_;
  std::size_t operations_ = 0;
};

// ---- running --------------------------------------------------------------------------------------------------------

int check_directory(const std::filesystem::path& directory) {
  const auto files = house::read_headers(directory);
  if (!files) return 1;
  checker check(*files);
  const auto violations = check.run();
  house::print(violations);
  std::printf("%zu headers, %zu tags, %zu lines with a memory order, %zu violations\n", files->size(), check.tags(),
              check.operations(), violations.size());
  return violations.empty() ? 0 : 1;
}

/// A header and the lines on which the rules are broken; the message must contain `what` each time.
struct sample {
  const char* title;
  const char* text;
  std::vector<std::size_t> lines;
  const char* what = "";
};

const std::vector<sample> samples = {
    {"a pair",
     "// (F1): release, pairs with (F2)\n"
     "a.store(1, std::memory_order_release);\n"
     "a.load(order::acquire);  // (F2): acquire, pairs with (F1)\n",
     {}},
    {"alone", "// (F1): relaxed alone, a statistic\na.fetch_add(1, std::memory_order_relaxed);\n", {}},
    {"an order over several lines",
     "// (F1): seq_cst on success, before (F2)\n"
     "// (F2): relaxed on failure, after (F1)\n"
     "a.compare_exchange_strong(b, c,\n"
     "                          order::seq_cst,\n"
     "                          order::relaxed);\n",
     {}},
    {"orders that belong to no operation",
     "static constexpr auto order = std::memory_order_release;\n"
     "if (order == std::memory_order_relaxed) return;\n"
     "case std::memory_order_acquire:\n"
     "T load(std::memory_order order) const { return value_.load(order); }\n"
     "// a.load(std::memory_order_relaxed) in a comment\n"
     "print(\"a.load(std::memory_order_relaxed)\");\n",
     {}},
    {"requirement numbers are no tags",
     "// the maximum wins [A30], in every form [B2] and [C21]\nint x = 1'000'000; // [D7]\n",
     {}},
    {"an order without a tag", "int x;\na.store(1, std::memory_order_release);\n", {2}, "has no tag"},
    {"a reference is not a definition", "// see (F1)\na.load(order::acquire);\n\n// (F1): alone\n", {2}, "has no tag"},
    {"a comment above another statement",
     "// (F1): alone\na.load(order::acquire);\nb.load(order::acquire);\n",
     {3},
     "has no tag"},
    {"a blank line between", "// (F1): alone\n\na.load(order::acquire);\n", {3}, "has no tag"},
    {"an order handed to a function", "least(std::memory_order_acquire);\n", {1}, "has no tag"},
    {"a constexpr function's operation",
     "constexpr int f() { return a.load(std::memory_order_acquire); }\n",
     {1},
     "has no tag"},
    {"a fence without a tag", "std::atomic_thread_fence(std::memory_order_seq_cst);\n", {1}, "has no tag"},
    {"defined twice", "// (F1): alone\nint x;\n// (F1): alone\n", {3}, "second time"},
    {"referred to and defined nowhere", "// (F1): the other end of (F2)\nint x;\n", {1}, "defined nowhere"},
    {"no other end", "// (F1): release, because it must be [A30]\nint x;\n", {1}, "no other end"},
    {"a reference to itself only", "// (F1): like (F1)\nint x;\n", {1}, "no other end"},
    {"a pairing on one end only",
     "// (F1): pairs\n// with (F2)\nint x;\n// (F2): alone\nint y;\n",
     {1},
     "does not refer back"},
    {"two operations on one line",
     "// (F1): alone\nf(a.load(order::acquire), b->load(order::acquire));\n",
     {2},
     "more than one"},
    {"a requirement in round brackets", "// (F1): alone, by (A30)\nint x;\n", {1}, "defined nowhere"},
};

bool passes(const sample& wanted) {
  const std::vector<source_file> files{house::parse("sample", wanted.text)};
  return house::are_as_wanted(wanted.title, checker(files).run(), wanted.lines, wanted.what);
}

int self_test() { return house::all_pass(samples, passes) ? 0 : 1; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: check_orderings DIRECTORY | --self-test\n", stderr);
    return 2;
  }
  const std::string_view argument = argv[1];
  return argument == "--self-test" ? self_test() : check_directory(argument);
}
