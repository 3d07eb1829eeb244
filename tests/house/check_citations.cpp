// SPDX-License-Identifier: BSL-1.0
//
// Holds the citations of requirements to docs/requirements.md, and the legend of docs/ordering.md to the headers.
//
//   check_citations DIRECTORY             reads the repository, prints file:line for each violation
//   check_citations --update DIRECTORY    first writes the columns of both documents that follow from other files
//   check_citations --self-test           tries the rules on the samples in check_citations_samples.hpp
//
// It fails if there is a violation. A citation is the number of one or more rows in square brackets: [A17],
// [A103-A105], [trap 13]. It counts in comments, in the names of tests and in documents. The rules:
//
//   1. A citation has a row in docs/requirements.md. Rows are numbered without gaps, none twice.
//   2. The source of a row is a section that the page lists.
//   3. A row says where it is tested: in the places whose test names cite it, all of them and no other. It says "not
//      yet" where there is none; then nothing below tests/ and include/ cites it.
//   4. Requirements are not cited in round brackets, and traps not without brackets: round brackets are for tags.
//   5. An ordering tag that a document names is defined in the headers. The legend of docs/ordering.md has a row for
//      each letter, with the headers that define tags of that letter.
//
// Names of tests are the literals of doctest's macros in C++ files below tests/, and what is no comment in CMake files
// and tables there. Literals of the programs in tests/house/ are samples, and not looked at.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check_citations_samples.hpp"
#include "violations.hpp"

namespace {

using house::violation;

/// Texts by their paths, which are relative to the repository and have slashes.
using repository = std::map<std::string, std::string>;

constexpr const char* requirements_page = "docs/requirements.md";
constexpr const char* ordering_page = "docs/ordering.md";
constexpr const char* untested = "not yet";

// ---- text -----------------------------------------------------------------------------------------------------------

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == text.size()) return parts;
    begin = end + 1;
  }
}

std::string trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string{text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1)};
}

template <class Strings>
std::string join(const Strings& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ", ") + part;
  return joined;
}

/// The cells of a line of a Markdown table; none if it is no such line.
std::vector<std::string> cells_of(const std::string& line) {
  if (!line.starts_with("| ") || !line.ends_with("|")) return {};
  std::vector<std::string> cells;
  for (const std::string& cell : split(std::string_view{line}.substr(1, line.size() - 2), '|')) {
    cells.push_back(trim(cell));
  }
  return cells;
}

std::string line_of(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += ' ' + cell + " |";
  return line;
}

/// A part of a line in which citations count.
struct piece {
  enum class kind { prose, name, literal } what;
  std::size_t line;
  std::string text;
};

/// The comments and literals of a C++ text. A literal is a name if it belongs to a test case.
class cpp_reader {
 public:
  std::vector<piece> read(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char next = i + 1 < text.size() ? text[i + 1] : '\0';
      i += take(text[i], next);
    }
    end_piece();
    return std::move(pieces_);
  }

 private:
  enum class state { code, line_comment, block_comment, literal };

  /// Returns how many further characters it has taken.
  std::size_t take(char c, char next) {
    if (c == '\n') {
      end_piece();
      ++line_;
      if (state_ != state::block_comment) state_ = state::code;
      return 0;
    }
    switch (state_) {
      case state::code:
        return take_code(c, next);
      case state::block_comment:
        if (c != '*' || next != '/') break;
        end_piece();
        state_ = state::code;
        return 1;
      case state::literal:
        if (c == '\\') return 1;
        if (c != quote_) break;
        end_piece();
        state_ = state::code;
        return 0;
      case state::line_comment:
        break;
    }
    text_ += c;
    return 0;
  }

  std::size_t take_code(char c, char next) {
    if (c == '/' && (next == '/' || next == '*')) {
      state_ = next == '/' ? state::line_comment : state::block_comment;
      return 1;
    }
    const bool separates_digits =
        c == '\'' && !code_.empty() && std::isalnum(static_cast<unsigned char>(code_.back())) != 0;
    if (c == '"' || (c == '\'' && !separates_digits)) {
      // Literals with nothing between them are one.
      static const std::regex test_case{R"(\bTEST_CASE\w*\($)"};
      if (!code_.empty()) is_name_ = std::regex_search(code_, test_case);
      code_.clear();
      state_ = state::literal;
      quote_ = c;
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      code_ += c;
      if (c == ';' || c == '{' || c == '}') code_ = c;
    }
    return 0;
  }

  void end_piece() {
    using enum piece::kind;
    const piece::kind what = state_ != state::literal ? prose : is_name_ ? name : literal;
    if (!text_.empty()) pieces_.push_back({what, line_, std::move(text_)});
    text_.clear();
  }

  state state_ = state::code;
  char quote_ = '"';
  bool is_name_ = false;
  std::size_t line_ = 1;
  std::string code_;  // since the last literal or statement, without blanks
  std::string text_;
  std::vector<piece> pieces_;
};

bool is_script(std::string_view path) {
  return path.ends_with("CMakeLists.txt") || path.ends_with(".cmake") || path.ends_with(".table");
}

std::vector<piece> pieces_of(const std::string& path, const std::string& text) {
  using enum piece::kind;
  if (path.ends_with(".cpp") || path.ends_with(".hpp")) {
    std::vector<piece> pieces = cpp_reader{}.read(text);
    if (path.starts_with("tests/house/")) std::erase_if(pieces, [](const piece& one) { return one.what != prose; });
    return pieces;
  }
  std::vector<piece> pieces;
  std::size_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    const std::size_t end = is_script(path) ? std::min(line.find('#'), line.size()) : 0;
    if (end > 0) pieces.push_back({path.starts_with("tests/") ? name : literal, number, line.substr(0, end)});
    if (end < line.size()) pieces.push_back({prose, number, line.substr(end)});
  }
  return pieces;
}

// ---- citations ------------------------------------------------------------------------------------------------------

/// The number of a row, and the letter or word before it.
struct row_number {
  std::string family;
  unsigned number = 0;

  friend auto operator<=>(const row_number&, const row_number&) = default;
  std::string text() const { return family + (family == "trap" ? " " : "") + std::to_string(number); }
};

row_number make_number(const std::string& family, const std::string& digits) {
  return {family, static_cast<unsigned>(std::stoul(digits))};
}

struct citation {
  std::string file;
  std::size_t line;
  bool in_name;
  row_number row;
};

/// Calls `found(numbers of the rows)` for each citation; a range that falls has none.
void for_each_citation(const std::string& text, const std::function<void(std::vector<row_number>)>& found) {
  static const std::regex pattern{R"(\[(?:(trap) (\d{1,3})|([A-D])(\d{1,3})(?:-([A-D])(\d{1,3}))?)\])"};
  if (text.find('[') == std::string::npos) return;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    const std::smatch& match = *it;
    const row_number first = match[1].matched ? make_number("trap", match[2]) : make_number(match[3], match[4]);
    const row_number last = match[5].matched ? make_number(match[5], match[6]) : first;
    std::vector<row_number> rows;
    for (row_number row = first; row.family == last.family && row.number <= last.number; ++row.number)
      rows.push_back(row);
    found(std::move(rows));
  }
}

/// What is cited the way tags are, or without brackets; empty if nothing is.
std::string misplaced_citation(const std::string& text) {
  static const std::regex pattern{R"(\([A-D]\d{1,3}\b(?!\w)|(?:^|[^\[\w])[Tt]raps? \d+)"};
  if (text.find('(') == std::string::npos && text.find("rap") == std::string::npos) return {};
  std::smatch match;
  return std::regex_search(text, match, pattern) ? trim(match.str()) : std::string{};
}

// ---- the repository -------------------------------------------------------------------------------------------------

struct row {
  std::size_t line;
  std::vector<std::string> cells;  // number, text, source, tested in
};

/// What the files say, apart from the two documents.
class survey {
 public:
  explicit survey(const repository& files) {
    for (const auto& [path, text] : files) {
      if (path.starts_with("include/tidemark/")) rooms_.insert(split(path, '/')[2]);
    }
    for (const auto& [path, text] : files) {
      for (const piece& one : pieces_of(path, text)) look_at(path, one);
    }
  }

  const std::vector<citation>& citations() const { return citations_; }
  const std::vector<violation>& violations() const { return violations_; }
  const std::set<std::string>& tags() const { return tags_; }

  /// The cell that says where a row is tested.
  std::string tested_in(const row_number& number) const {
    const auto found = places_.find(number);
    return found == places_.end() ? untested : join(found->second);
  }
  /// By the letters of tags, the cell that says which headers define some.
  const std::map<std::string, std::set<std::string>>& families() const { return families_; }

 private:
  void look_at(const std::string& path, const piece& one) {
    // What reads the tables of the model checks has examples of names, and tests of its own.
    const bool in_name = one.what == piece::kind::name && !path.starts_with("tests/model/support/");
    for_each_citation(one.text, [&](const std::vector<row_number>& rows) {
      if (rows.empty()) violations_.push_back({path, one.line, "this range of rows falls"});
      for (const row_number& number : rows) {
        const bool is_row = path == requirements_page && one.text.starts_with("| [");
        if (!is_row) citations_.push_back({path, one.line, in_name, number});
        if (in_name) places_[number].insert(place_of(path, one.text));
      }
    });
    if (const std::string found = misplaced_citation(one.text); !found.empty()) {
      violations_.push_back({path, one.line, "'" + found + "' is no citation: write [A17] or [trap 13]"});
    }
    if (path.starts_with("include/") && one.what == piece::kind::prose) find_definition(path, one.text);
  }

  void find_definition(const std::string& path, const std::string& comment) {
    static const std::regex pattern{R"(^[\s/!<*]*\(([A-Z]+)([0-9]+)\):)"};
    std::smatch match;
    if (!std::regex_search(comment, match, pattern)) return;
    tags_.insert(match[1].str() + match[2].str());
    families_[match[1]].insert('`' + path.substr(std::string_view{"include/tidemark/"}.size()) + '`');
  }

  /// Returns fence for tests/fence/fence.cpp, fuzz/list for tests/fuzz/list.cpp, and model/heap for a line of any table
  /// in tests/model whose first cell is heap: the program that the line is about.
  std::string place_of(const std::string& path, const std::string& text) const {
    const std::filesystem::path file{path};
    const std::vector<std::string> parts = split(path, '/');  // of which the first is "tests"
    const bool is_list = parts.back() == "CMakeLists.txt";
    if (parts.size() == 2) return is_list ? "house" : file.stem().string();
    if (is_list) return parts[1];
    const std::string name = path.ends_with(".table") ? trim(split(text, '|')[0]) : file.stem().string();
    return (rooms_.contains(parts[1]) ? "" : parts[1] + '/') + name;
  }

  std::set<std::string> rooms_;
  std::vector<citation> citations_;
  std::map<row_number, std::set<std::string>> places_;
  std::set<std::string> tags_;
  std::map<std::string, std::set<std::string>> families_;
  std::vector<violation> violations_;
};

/// The number in the first cell of a row of the requirements; none in other lines.
std::vector<row_number> number_of_row(const std::string& line) {
  std::vector<row_number> numbers;
  if (line.starts_with("| [")) {
    for_each_citation(cells_of(line).empty() ? "" : cells_of(line)[0],
                      [&](const std::vector<row_number>& found) { numbers = found; });
  }
  return numbers;
}

/// Calls `body(line, cells)` for the rows of the legend.
void for_each_legend_row(const std::string& page,
                         const std::function<void(std::size_t, std::vector<std::string>)>& body) {
  bool is_inside = false;
  std::size_t number = 0;
  for (const std::string& line : split(page, '\n')) {
    ++number;
    const std::vector<std::string> cells = cells_of(line);
    if (is_inside && !cells.empty()) body(number, cells);
    is_inside = line.starts_with("| Letter |") || (is_inside && line.starts_with("|"));
  }
}

class checker {
 public:
  explicit checker(const repository& files) : files_{files}, found_{files}, violations_{found_.violations()} {}

  std::vector<violation> run() {
    read_page();
    check_numbers();
    for (const auto& [number, where] : rows_) check_row(number, where);
    for (const citation& one : found_.citations()) check_citation(one);
    check_documents();
    check_legend();
    std::sort(violations_.begin(), violations_.end(), [](const violation& one, const violation& other) {
      return std::tie(one.file, one.line) < std::tie(other.file, other.line);
    });
    return std::move(violations_);
  }

  std::size_t rows() const { return rows_.size(); }
  std::size_t citations() const { return found_.citations().size(); }

 private:
  void complain(const std::string& file, std::size_t line, std::string message) {
    violations_.push_back({file, line, std::move(message)});
  }
  const std::string& text_of(const std::string& path) {
    static const std::string nothing;
    const auto found = files_.find(path);
    if (found != files_.end()) return found->second;
    complain(path, 0, "this file is missing");
    return nothing;
  }

  void read_page() {
    static const std::regex section{R"([1-9]\d*(\.[1-9]\d*)?)"};
    std::size_t line = 0;
    for (const std::string& text : split(text_of(requirements_page), '\n')) {
      ++line;
      const std::vector<std::string> cells = cells_of(text);
      if (cells.size() == 2 && std::regex_match(cells[0], section)) sections_.insert(cells[0]);
      const std::vector<row_number> numbers = number_of_row(text);
      if (numbers.empty()) continue;
      if (numbers.size() != 1 || cells.size() != 4) {
        complain(requirements_page, line, "a row has one number and four cells");
      } else if (!rows_.emplace(numbers[0], row{line, cells}).second) {
        complain(requirements_page, line, "[" + numbers[0].text() + "] has a row already");
      }
    }
  }

  void check_numbers() {
    row_number last;
    for (const auto& [number, where] : rows_) {
      const unsigned expected = number.family == last.family ? last.number + 1 : 1;
      if (number.number != expected) {
        complain(requirements_page, where.line, "[" + row_number{number.family, expected}.text() + "] has no row");
      }
      last = number;
    }
  }

  void check_row(const row_number& number, const row& where) {
    if (where.cells[1].empty()) complain(requirements_page, where.line, "the row says nothing");
    for (const std::string& section : split(where.cells[2], ',')) {
      if (!sections_.contains(trim(section))) {
        complain(requirements_page, where.line, "there is no section '" + trim(section) + "'");
      }
    }
    const std::string tested = found_.tested_in(number);
    if (where.cells[3] != tested) {
      complain(requirements_page, where.line,
               "[" + number.text() + "] is tested in: " + tested + "; the row says: " + where.cells[3] +
                   " (check_citations --update corrects it)");
    }
  }

  void check_citation(const citation& one) {
    if (!rows_.contains(one.row)) {
      complain(one.file, one.line, "[" + one.row.text() + "] has no row in docs/requirements.md");
    } else if ((one.file.starts_with("tests/") || one.file.starts_with("include/")) &&
               found_.tested_in(one.row) == untested) {
      complain(one.file, one.line, "[" + one.row.text() + "] is cited, but no test's name cites it");
    }
  }

  void check_documents() {
    static const std::regex tag{R"(\(([A-Z]+[0-9]+)\))"};
    for (const auto& [path, text] : files_) {
      if (!path.starts_with("docs/")) continue;
      std::size_t number = 0;
      for (const std::string& line : split(text, '\n')) {
        ++number;
        for (std::sregex_iterator it(line.begin(), line.end(), tag), end; it != end; ++it) {
          if (!found_.tags().contains((*it)[1])) complain(path, number, it->str() + " is defined in no header");
        }
      }
    }
  }

  void check_legend() {
    std::set<std::string> missing;
    for (const auto& [letters, headers] : found_.families()) missing.insert(letters);
    for_each_legend_row(text_of(ordering_page), [&](std::size_t line, const std::vector<std::string>& cells) {
      const auto family = found_.families().find(cells[0]);
      if (family == found_.families().end()) return;
      missing.erase(cells[0]);
      if (cells.size() != 3 || cells[1] != join(family->second)) {
        complain(ordering_page, line, "tags with " + cells[0] + " are defined in: " + join(family->second));
      }
    });
    if (!missing.empty()) complain(ordering_page, 0, "the legend lacks: " + join(missing));
  }

  const repository& files_;
  const survey found_;
  std::map<row_number, row> rows_;
  std::set<std::string> sections_;
  std::vector<violation> violations_;
};

/// Writes what is derived from the other files into the two documents.
void update(repository& files) {
  const survey found{files};
  std::string page;
  for (const std::string& line : split(files[requirements_page], '\n')) {
    std::vector<std::string> cells = cells_of(line);
    const std::vector<row_number> number = number_of_row(line);
    const bool is_row = number.size() == 1 && cells.size() == 4;
    if (is_row) cells[3] = found.tested_in(number[0]);
    page += (is_row ? line_of(cells) : line) + '\n';
  }
  page.pop_back();
  files[requirements_page] = page;

  std::vector<std::string> lines = split(files[ordering_page], '\n');
  for_each_legend_row(files[ordering_page], [&](std::size_t number, std::vector<std::string> cells) {
    const auto family = found.families().find(cells[0]);
    if (family == found.families().end() || cells.size() != 3) return;
    cells[1] = join(family->second);
    lines[number - 1] = line_of(cells);
  });
  std::string legend;
  for (const std::string& line : lines) legend += line + '\n';
  legend.pop_back();
  files[ordering_page] = legend;
}

// ---- running --------------------------------------------------------------------------------------------------------

bool read_file(const std::filesystem::path& path, std::string& text) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream content;
  content << in.rdbuf();
  text = content.str();
  return static_cast<bool>(in);
}

/// All text files in which citations count. Inputs of fuzz targets are no text.
bool read_repository(const std::filesystem::path& root, repository& files) {
  std::vector<std::filesystem::path> paths{root / "README.md"};
  for (const char* folder : {"include", "tests", "bench", "examples", "tools", "docs"}) {
    if (!std::filesystem::is_directory(root / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  for (const std::filesystem::path& path : paths) {
    const std::string name = path.lexically_relative(root).generic_string();
    if (name.starts_with("tests/fuzz/corpus/")) continue;
    std::string text;
    if (!read_file(path, text)) {
      std::fprintf(stderr, "%s: can't be read\n", path.c_str());
      return false;
    }
    files.emplace(name, std::move(text));
  }
  return true;
}

int check_repository(const std::filesystem::path& root, bool updates) {
  repository files;
  if (!read_repository(root, files)) return 1;
  if (updates) {
    update(files);
    for (const char* page : {requirements_page, ordering_page}) {
      std::ofstream out(root / page, std::ios::binary);
      if (!(out << files[page]).flush()) {
        std::fprintf(stderr, "%s: can't be written\n", page);
        return 1;
      }
    }
  }
  checker check(files);
  const auto violations = check.run();
  house::print(violations);
  std::printf("%zu files, %zu rows, %zu citations, %zu violations\n", files.size(), check.rows(), check.citations(),
              violations.size());
  return violations.empty() ? 0 : 1;
}

repository files_of(const citation_sample& wanted) {
  repository files{{requirements_page, citation_samples_page}, {ordering_page, citation_samples_legend}};
  for (const auto& [path, text] : wanted.files) files.insert_or_assign(path, text);
  return files;
}

bool passes(const citation_sample& wanted) {
  const repository files = files_of(wanted);
  std::vector<std::string> places;
  bool messages_match = true;
  const auto violations = checker(files).run();
  for (const auto& found : violations) {
    places.push_back(found.file + ':' + std::to_string(found.line));
    messages_match = messages_match && found.message.find(wanted.what) != std::string::npos;
  }
  if (places == wanted.places && messages_match) return true;
  std::printf("sample \"%s\": expected %zu violations of the kind \"%s\", found %zu\n", wanted.title.c_str(),
              wanted.places.size(), wanted.what.c_str(), violations.size());
  for (const auto& found : violations) {
    std::printf("  %s:%zu: %s\n", found.file.c_str(), found.line, found.message.c_str());
  }
  return false;
}

/// What is out of date in both documents is written anew, and nothing else.
bool updates() {
  repository files = files_of(citation_sample_out_of_date);
  update(files);
  const bool is_right = files == files_of(citation_sample_updated) && checker(files).run().empty();
  if (!is_right)
    std::printf("the update writes:\n%s\n%s\n", files[requirements_page].c_str(), files[ordering_page].c_str());
  return is_right;
}

int self_test() {
  const bool is_found = house::all_pass(citation_samples, passes);
  const bool is_updated = updates();
  std::printf("the update is %s\n", is_updated ? "right" : "wrong");
  return is_found && is_updated ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1 && arguments[0] == "--self-test") return self_test();
  if (arguments.size() == 1) return check_repository(arguments[0], false);
  if (arguments.size() == 2 && arguments[0] == "--update") return check_repository(arguments[1], true);
  std::fputs("usage: check_citations [--update] DIRECTORY | --self-test\n", stderr);
  return 2;
}
