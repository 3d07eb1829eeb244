// SPDX-License-Identifier: BSL-1.0
//
// Holds the ordering comments of the headers to their form.
//
//   check_orderings DIRECTORY      reads every .hpp below it, prints file:line for each violation, fails if there is one
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
// Numbers of requirements look like tags: (A30). Letters A to D without any definition are taken for those.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct source_line {
  std::string code;     // without comments, literals emptied
  std::string comment;  // without the comment marks

  bool is_comment_only() const { return code.find_first_not_of(" \t") == std::string::npos && !comment.empty(); }
  bool is_blank() const { return code.find_first_not_of(" \t") == std::string::npos && comment.empty(); }
};

struct source_file {
  std::string name;
  std::vector<source_line> lines;
};

struct definition {
  const source_file* file = nullptr;
  std::size_t line = 0;
  std::string text;
  std::set<std::string> references;
};

struct violation {
  std::string file;
  std::size_t line;
  std::string message;
};

// ---- reading --------------------------------------------------------------------------------------------------------

/// Splits a source text into lines of code and of comments. Knows strings, characters, digit separators and both
/// comment forms.
class splitter {
 public:
  std::vector<source_line> split(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      const char next = i + 1 < text.size() ? text[i + 1] : '\0';
      if (c == '\n') {
        end_line();
      } else if (state_ == state::code) {
        i += read_code(c, next);
      } else if (state_ == state::line_comment) {
        line_.comment += c;
      } else if (state_ == state::block_comment) {
        i += read_block_comment(c, next);
      } else {
        i += read_literal(c);
      }
    }
    end_line();
    return std::move(lines_);
  }

 private:
  enum class state { code, line_comment, block_comment, literal };

  /// Each of these returns how many further characters it has taken.
  std::size_t read_code(char c, char next) {
    if (c == '/' && (next == '/' || next == '*')) {
      state_ = next == '/' ? state::line_comment : state::block_comment;
      return 1;
    }
    const bool separates_digits =
        c == '\'' && !line_.code.empty() && std::isalnum(static_cast<unsigned char>(line_.code.back())) != 0;
    if (c == '"' || (c == '\'' && !separates_digits)) {
      state_ = state::literal;
      quote_ = c;
    }
    line_.code += c;
    return 0;
  }

  std::size_t read_block_comment(char c, char next) {
    if (c == '*' && next == '/') {
      state_ = state::code;
      return 1;
    }
    line_.comment += c;
    return 0;
  }

  std::size_t read_literal(char c) {
    if (c == '\\') return 1;
    if (c == quote_) {
      state_ = state::code;
      line_.code += c;
    }
    return 0;
  }

  void end_line() {
    if (state_ == state::line_comment || state_ == state::literal) state_ = state::code;
    const std::size_t end = line_.code.find_last_not_of(" \t\r");
    line_.code.erase(end == std::string::npos ? 0 : end + 1);
    lines_.push_back(std::move(line_));
    line_ = {};
  }

  state state_ = state::code;
  char quote_ = '"';
  source_line line_;
  std::vector<source_line> lines_;
};

source_file parse(std::string name, std::string_view text) { return {std::move(name), splitter{}.split(text)}; }

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

std::string letters_of(const std::string& tag) { return tag.substr(0, tag.find_first_of("0123456789")); }

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
    for (const auto& [tag, where] : definitions_) families_.insert(letters_of(tag));
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

  /// Whether it is a tag, and not the number of a requirement.
  bool is_tag(const std::string& tag) const {
    const std::string letters = letters_of(tag);
    const bool names_requirement = letters.size() == 1 && letters >= "A" && letters <= "D";
    return families_.count(letters) != 0 || !names_requirement;
  }

  void check_references(const source_file& file, std::size_t line) {
    const std::string& comment = file.lines[line].comment;
    for (std::sregex_iterator it(comment.begin(), comment.end(), tag_pattern), end; it != end; ++it) {
      const std::string tag = (*it)[1].str();
      if (is_tag(tag) && definitions_.count(tag) == 0) {
        complain(file, line,
                 "(" + tag + ") is referred to but defined nowhere: no comment line begins with (" + tag + "):");
      }
    }
  }

  void check_definition(const std::string& tag, const definition& where) {
    const bool has_partner = std::any_of(where.references.begin(), where.references.end(),
                                         [this](const std::string& other) { return is_tag(other); });
    if (!has_partner && !std::regex_search(where.text, alone_pattern)) {
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
  std::set<std::string> families_;
  std::vector<violation> violations_;
  std::size_t operations_ = 0;
};

// ---- running --------------------------------------------------------------------------------------------------------

int check_directory(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == ".hpp") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());

  std::vector<source_file> files;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    if (!in) {
      std::fprintf(stderr, "%s: can't be read\n", path.c_str());
      return 1;
    }
    files.push_back(parse(path.string(), text.str()));
  }
  if (files.empty()) {
    std::fprintf(stderr, "%s: no header in it\n", directory.c_str());
    return 1;
  }

  checker check(files);
  const auto violations = check.run();
  for (const auto& found : violations) {
    std::printf("%s:%zu: %s\n", found.file.c_str(), found.line, found.message.c_str());
  }
  std::printf("%zu headers, %zu tags, %zu lines with a memory order, %zu violations\n", files.size(), check.tags(),
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
     "// the maximum wins (A30), in every form (B2) and (C21)\nint x = 1'000'000; // (D7)\n",
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
    {"no other end", "// (F1): release, because it must be (A30)\nint x;\n", {1}, "no other end"},
    {"a reference to itself only", "// (F1): like (F1)\nint x;\n", {1}, "no other end"},
    {"a pairing on one end only",
     "// (F1): pairs\n// with (F2)\nint x;\n// (F2): alone\nint y;\n",
     {1},
     "does not refer back"},
    {"two operations on one line",
     "// (F1): alone\nf(a.load(order::acquire), b->load(order::acquire));\n",
     {2},
     "more than one"},
    {"a missing tag of letters in use", "// (D1): see (D2)\nint x;\n", {1}, "defined nowhere"},
};

bool passes(const sample& wanted) {
  const std::vector<source_file> files{parse("sample", wanted.text)};
  const auto violations = checker(files).run();
  std::vector<std::size_t> lines;
  bool messages_match = true;
  for (const auto& found : violations) {
    lines.push_back(found.line);
    messages_match = messages_match && found.message.find(wanted.what) != std::string::npos;
  }
  if (lines == wanted.lines && messages_match) return true;
  std::printf("sample \"%s\": expected %zu violations of the kind \"%s\", found %zu\n", wanted.title,
              wanted.lines.size(), wanted.what, violations.size());
  for (const auto& found : violations) std::printf("  line %zu: %s\n", found.line, found.message.c_str());
  return false;
}

int self_test() {
  const auto failed = std::count_if(samples.begin(), samples.end(), [](const sample& s) { return !passes(s); });
  std::printf("%zu samples, %td failed\n", samples.size(), failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: check_orderings DIRECTORY | --self-test\n", stderr);
    return 2;
  }
  const std::string_view argument = argv[1];
  return argument == "--self-test" ? self_test() : check_directory(argument);
}
