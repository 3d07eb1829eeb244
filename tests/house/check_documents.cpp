// SPDX-License-Identifier: BSL-1.0
//
// Holds the documents to the code that they speak of.
//
//   check_documents DIRECTORY      reads docs/*.md and README.md, prints file:line for each violation
//   check_documents --self-test    tries the rules on the samples at the end of this file
//
// It fails if there is a violation. The rules, for the pages in docs/:
//
//   1. A block of C++ code is quoted from a file that is compiled: the line before it says which, as in
//      <!-- quoted from examples/guide/fence.cpp -->, and the file has these lines side by side, at any indentation.
//   2. A name in `code` marks, such as `wait_any` or `native_platform::park()`, consists of words of the headers, the
//      examples, the tests or the CMakeLists.txt of the library, so that a name that has changed is noticed.
//   3. A link to a file leads to one.
//
// All of it holds for the README, too, but for the names.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "violations.hpp"

namespace {

using house::violation;

/// Texts by their paths, which are relative to the repository and have slashes.
using repository = std::map<std::string, std::string>;
using line_list = std::vector<std::string>;

line_list lines_of(const std::string& text) {
  line_list lines;
  std::stringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool is_blank(const std::string& line) { return line.find_first_not_of(" \t\r") == std::string::npos; }

/// The same lines, moved to the left as far as all of them can be.
line_list without_indentation(line_list lines) {
  std::size_t least = std::string::npos;
  for (const std::string& line : lines) {
    if (!is_blank(line)) least = std::min(least, line.find_first_not_of(' '));
  }
  for (std::string& line : lines) line = is_blank(line) ? std::string{} : line.substr(least);
  return lines;
}

/// Whether the file has these lines side by side.
bool contains(const line_list& file, const line_list& quoted) {
  const auto size = static_cast<std::ptrdiff_t>(quoted.size());
  for (auto begin = file.begin(); file.end() - begin >= size; ++begin) {
    if (without_indentation({begin, begin + size}) == quoted) return true;
  }
  return false;
}

/// Whether the words of a file are names that pages may use.
bool is_source(const std::string& path) {
  return path.ends_with(".hpp") || path.ends_with(".cpp") || path.ends_with(".cmake") || path == "CMakeLists.txt";
}

/// The words of all sources.
std::set<std::string> words_of(const repository& files) {
  std::set<std::string> words;
  for (const auto& [path, text] : files) {
    if (!is_source(path)) continue;
    std::string word;
    for (const char c : text + ' ') {
      const bool belongs = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
      if (belongs) {
        word += c;
      } else if (!word.empty()) {
        words.insert(std::exchange(word, {}));
      }
    }
  }
  return words;
}

class page_checker {
 public:
  page_checker(const repository& files, const std::set<std::string>& words, std::string path)
      : files_{files}, words_{words}, path_{std::move(path)} {}

  std::vector<violation> run() {
    const line_list lines = lines_of(files_.at(path_));
    for (std::size_t at = 0; at < lines.size(); ++at) {
      if (!lines[at].starts_with("```")) {
        check_prose(lines[at], at + 1);
        continue;
      }
      const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(at + 1);
      const auto end = std::find(begin, lines.end(), "```");
      if (end == lines.end()) complain(at + 1, "this block is not closed");
      if (lines[at] == "```cpp") check_block({begin, end}, at + 1);
      at += static_cast<std::size_t>(end - begin) + 1;
    }
    if (!source_.empty()) complain(lines.size(), "no C++ block follows the line that names " + source_);
    return std::move(violations_);
  }

 private:
  bool is_guide() const { return path_.starts_with("docs/"); }
  void complain(std::size_t line, std::string message) { violations_.push_back({path_, line, std::move(message)}); }

  void check_block(const line_list& quoted, std::size_t line) {
    const std::string source = std::exchange(source_, {});
    if (source.empty()) {
      complain(line, "this block does not say what it is quoted from");
      return;
    }
    const auto file = files_.find(source);
    const bool is_compiled = source.starts_with("include/") || source.starts_with("examples/");
    if (file == files_.end() || !is_compiled) {
      complain(line, source + " is no header and no example");
    } else if (!contains(lines_of(file->second), without_indentation(quoted))) {
      complain(line, source + " has no such lines");
    }
  }

  void check_prose(const std::string& line, std::size_t number) {
    static const std::regex marker{R"(^<!-- quoted from (\S+) -->$)"};
    std::smatch match;
    if (std::regex_match(line, match, marker)) {
      source_ = match[1];
      return;
    }
    if (!source_.empty() && !is_blank(line)) {
      complain(number, "no C++ block follows the line that names " + std::exchange(source_, {}));
    }
    check_links(line, number);
    if (is_guide()) check_names(line, number);
  }

  void check_links(const std::string& line, std::size_t number) {
    static const std::regex link{R"(\]\(([^)#\s]+)(#[^)\s]*)?\))"};
    for (std::sregex_iterator it(line.begin(), line.end(), link), end; it != end; ++it) {
      const std::string target = (*it)[1];
      if (target.find("://") != std::string::npos) continue;
      const auto path = (std::filesystem::path{path_}.parent_path() / target).lexically_normal().generic_string();
      if (!files_.contains(path)) complain(number, "the link leads to no file: " + target);
    }
  }

  void check_names(const std::string& line, std::size_t number) {
    static const std::regex span{R"(`([^`]+)`)"};
    static const std::regex name{R"([A-Za-z_]\w*(::\w+)*(\(\))?)"};
    static const std::regex word{R"(\w+)"};
    for (std::sregex_iterator it(line.begin(), line.end(), span), end; it != end; ++it) {
      const std::string code = (*it)[1];
      if (!std::regex_match(code, name)) continue;
      for (std::sregex_iterator part(code.begin(), code.end(), word); part != end; ++part) {
        if (!words_.contains(part->str())) complain(number, "no source has the word " + part->str());
      }
    }
  }

  const repository& files_;
  const std::set<std::string>& words_;
  const std::string path_;
  std::string source_;  // of the block that comes next
  std::vector<violation> violations_;
};

std::vector<violation> check(const repository& files) {
  const std::set<std::string> words = words_of(files);
  std::vector<violation> all;
  for (const auto& [path, text] : files) {
    if (!path.ends_with(".md")) continue;
    for (violation& one : page_checker(files, words, path).run()) all.push_back(std::move(one));
  }
  return all;
}

// ---- running --------------------------------------------------------------------------------------------------------

int check_repository(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(root)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  for (const char* folder : {"docs", "include", "examples", "tests", "bench", "tools"}) {
    if (!std::filesystem::is_directory(root / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  repository files;
  std::size_t pages = 0;
  for (const std::filesystem::path& path : paths) {
    const std::string name = path.lexically_relative(root).generic_string();
    const bool is_page = name.ends_with(".md");
    const bool is_read = is_page || is_source(name);
    if (is_page && !name.starts_with("docs/") && name != "README.md") {
      files.emplace(name, "");  // links may lead to it
      continue;
    }
    std::stringstream text;
    std::ifstream in(path, std::ios::binary);
    if (is_read) text << in.rdbuf();
    if (!in) {
      std::fprintf(stderr, "%s: can't be read\n", path.c_str());
      return 1;
    }
    files.emplace(name, text.str());
    pages += is_page ? 1 : 0;
  }
  const auto violations = check(files);
  house::print(violations);
  std::printf("%zu pages, %zu violations\n", pages, violations.size());
  return violations.empty() && pages > 1 ? 0 : 1;
}

/// A page, the lines on which the rules are broken, and what each message must contain.
struct sample {
  const char* title;
  std::string page;
  std::vector<std::size_t> lines;
  const char* what = "";
  const char* path = "docs/page.md";
};

const repository sample_files = {
    {"examples/one.cpp", "int main() {\n  first_step();\n\n  second_step();\n}\n"},
    {"include/tidemark/one.hpp", "int first_step();\n"},
    {"CMakeLists.txt", "option(SOME_OPTION)\n"},
    {"tests/CMakeLists.txt", "set(own_variable)\n"},
    {"tests/one.cpp", "int tested;\n"},
    {"docs/other.md", ""},
    {"dev", ""},
};

const std::vector<sample> samples = {
    {"a quotation",
     "text\n\n<!-- quoted from examples/one.cpp -->\n```cpp\n  first_step();\n\n  second_step();\n```\n",
     {}},
    {"a quotation that was moved to the left",
     "<!-- quoted from examples/one.cpp -->\n\n```cpp\nfirst_step();\n\nsecond_step();\n```\n",
     {}},
    {"a quotation of a header", "<!-- quoted from include/tidemark/one.hpp -->\n```cpp\nint first_step();\n```\n", {}},
    {"other blocks", "```console\n$ ls\n```\n```\nplain <!-- quoted from nowhere -->\n```\n", {}},
    {"names", "`first_step()`, `tested`, `one::x` is none of `./dev test`, `[A17]`, `a b`\n", {1, 1}, "has the word"},
    {"names of the build", "`SOME_OPTION`\n`own_variable`\n", {2}, "has the word"},
    {"links",
     "[a](other.md) [b](other.md#part) [c](#part) [d](../dev) [e](https://example.org/x) [f](g.md)\n",
     {1},
     "g.md"},
    {"no source", "```cpp\nfirst_step();\n```\n", {1}, "quoted from"},
    {"no source in the README", "`nonsense`\n```cpp\nfirst_step();\n```\n", {2}, "quoted from", "README.md"},
    {"a wrong quotation in the README",
     "<!-- quoted from examples/one.cpp -->\n```cpp\nthird_step();\n```\n",
     {2},
     "has no such lines",
     "README.md"},
    {"lines that are not side by side",
     "<!-- quoted from examples/one.cpp -->\n```cpp\nfirst_step();\nsecond_step();\n```\n",
     {2},
     "has no such lines"},
    {"another indentation inside",
     "<!-- quoted from examples/one.cpp -->\n```cpp\nint main() {\nfirst_step();\n```\n",
     {2},
     "has no such lines"},
    {"a part of a line",
     "<!-- quoted from examples/one.cpp -->\n```cpp\nfirst_step()\n```\n",
     {2},
     "has no such lines"},
    {"a file that is not there",
     "<!-- quoted from examples/two.cpp -->\n```cpp\nx\n```\n",
     {2},
     "no header and no example"},
    {"a file that is not quoted from",
     "<!-- quoted from tests/one.cpp -->\n```cpp\nint tested;\n```\n",
     {2},
     "no header and no example"},
    {"a source without a block", "<!-- quoted from examples/one.cpp -->\n\ntext\n", {3}, "no C++ block follows"},
    {"a source at the end", "text\n<!-- quoted from examples/one.cpp -->\n", {2}, "no C++ block follows"},
    {"a block that is not closed", "text\n```console\n$ ls\n", {2}, "not closed"},
};

bool passes(const sample& wanted) {
  repository files = sample_files;
  files.emplace(wanted.path, wanted.page);
  return house::are_as_wanted(wanted.title, check(files), wanted.lines, wanted.what);
}

int self_test() { return house::all_pass(samples, passes) ? 0 : 1; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: check_documents DIRECTORY | --self-test\n", stderr);
    return 2;
  }
  const std::string_view argument = argv[1];
  return argument == "--self-test" ? self_test() : check_repository(argument);
}
