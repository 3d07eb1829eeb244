// SPDX-License-Identifier: BSL-1.0
//
// What the programs that check the headers share: a source text as lines of code and of comments, and reading all
// headers below a folder.
#ifndef TIDEMARK_TESTS_HOUSE_SOURCE_TEXT_HPP
#define TIDEMARK_TESTS_HOUSE_SOURCE_TEXT_HPP

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "violations.hpp"

namespace house {

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

inline source_file parse(std::string name, std::string_view text) { return {std::move(name), splitter{}.split(text)}; }

/// The text of a file. Nothing if it can't be read.
inline std::optional<std::string> text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  if (!in) return std::nullopt;
  return text.str();
}

/// Reads every .hpp below a folder. Nothing, with a message, if one can't be read or there is none.
inline std::optional<std::vector<source_file>> read_headers(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == ".hpp") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());

  std::vector<source_file> files;
  for (const auto& path : paths) {
    const auto text = text_of(path);
    if (!text) {
      std::fprintf(stderr, "%s: can't be read\n", path.c_str());
      return std::nullopt;
    }
    files.push_back(parse(path.string(), *text));
  }
  if (files.empty()) {
    std::fprintf(stderr, "%s: no header in it\n", directory.c_str());
    return std::nullopt;
  }
  return files;
}

}  // namespace house

#endif  // TIDEMARK_TESTS_HOUSE_SOURCE_TEXT_HPP
