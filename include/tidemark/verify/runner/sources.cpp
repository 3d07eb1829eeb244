// SPDX-License-Identifier: BSL-1.0
#include "sources.hpp"

#include <array>
#include <cctype>
#include <fstream>

namespace tidemark::verify::runner {
namespace {

// The functions behind which an operation of a cell may stand.
constexpr std::array<std::string_view, 26> operations{
    "load",          "store",    "exchange",   "fetch_add",  "fetch_sub",   "fetch_and",   "fetch_or",
    "fetch_xor",     "wait",     "wait_for",   "wait_until", "notify_one",  "notify_all",  "test",
    "test_and_set",  "clear",    "lock",       "try_lock",   "unlock",      "lock_shared", "try_lock_shared",
    "unlock_shared", "is_below", "is_at_most", "load_value", "load_version"};

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_operation(std::string_view name) {
  if (name.starts_with("compare_exchange_")) return true;
  for (const std::string_view each : operations) {
    if (name == each) return true;
  }
  return false;
}

// The place behind the dot or arrow before `name`; npos if there is none.
std::size_t end_of_object(std::string_view line, std::size_t name) {
  std::size_t end = name;
  while (end > 0 && line[end - 1] == ' ') --end;
  if (end >= 1 && line[end - 1] == '.') return end - 1;
  if (end >= 2 && line.substr(end - 2, 2) == "->") return end - 2;
  return std::string_view::npos;
}

// The place of the bracket that opens what the one before `end` closes; npos if it stands on another line.
std::size_t opening(std::string_view line, std::size_t end) {
  std::size_t depth = 0;
  for (std::size_t i = end; i-- > 0;) {
    if (line[i] == ')' || line[i] == ']') ++depth;
    if ((line[i] == '(' || line[i] == '[') && --depth == 0) return i;
  }
  return std::string_view::npos;
}

// The expression of names, dots, arrows and brackets that ends at `end`.
std::string_view expression_before(std::string_view line, std::size_t end) {
  std::size_t begin = end;
  while (begin > 0) {
    const char c = line[begin - 1];
    if (is_of_name(c) || c == '.' || c == ':') {
      --begin;
    } else if (c == '>' && begin >= 2 && line[begin - 2] == '-') {
      begin -= 2;
    } else if (c == ']' || c == ')') {
      const std::size_t at = opening(line, begin);
      if (at == std::string_view::npos) break;
      begin = at;
    } else {
      break;
    }
  }
  std::string_view found = line.substr(begin, end - begin);
  if (found.starts_with("this->")) found.remove_prefix(6);
  return found;
}

bool is_guard(std::string_view name) {
  return name == "lock_guard" || name == "unique_lock" || name == "scoped_lock" || name == "shared_lock";
}

// A function whose first argument is what it is applied to.
bool is_function(std::string_view name) { return name.starts_with("atomic_") || name == "call_once" || name == "lock"; }

// What stands between the bracket at `open` and its end, cut at its commas; what only says how to lock is left out.
std::vector<std::string_view> arguments_in(std::string_view line, std::size_t open) {
  std::vector<std::string_view> found;
  std::size_t depth = 0;
  std::size_t begin = open + 1;
  for (std::size_t i = open; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    const bool ends = (c == ')' || c == ']' || c == '}') && --depth == 0;
    if (!ends && (c != ',' || depth != 1)) continue;
    std::string_view argument = line.substr(begin, i - begin);
    while (!argument.empty() && (argument.front() == ' ' || argument.front() == '&')) argument.remove_prefix(1);
    if (!argument.ends_with("_lock") && !argument.ends_with("_lock_t{}")) found.push_back(argument);
    begin = i + 1;
    if (ends) break;
  }
  return found;
}

// The arguments of the function or constructor whose name ends at `end`: `which` of them, or nothing.
std::string_view argument_of(std::string_view line, std::size_t end, std::size_t which) {
  while (end < line.size() && line[end] == ' ') ++end;
  if (end == line.size() || (line[end] != '(' && line[end] != '{')) return {};
  const std::vector<std::string_view> all = arguments_in(line, end);
  return all.empty() ? std::string_view{} : all[which % all.size()];
}

// Of `unique_lock<mutex> lock{changes}` behind the name of the type: `changes`.
std::string_view locked_by(std::string_view line, std::size_t end, std::size_t which) {
  std::size_t depth = 0;
  while (end < line.size() && (depth > 0 || line[end] == '<' || line[end] == ' ' || is_of_name(line[end]))) {
    if (line[end] == '<') ++depth;
    if (line[end] == '>') --depth;
    ++end;
  }
  return argument_of(line, end, which);
}

// Whether a function of this name may be a step of this kind.
bool fits(std::string_view name, step_kind kind) {
  switch (kind) {
    case step_kind::load:
      return name.starts_with("load") || name.starts_with("is_") || name == "test" || name.starts_with("wait");
    case step_kind::store:
      return name == "store" || name == "clear";
    case step_kind::change:
      return name == "exchange" || name.starts_with("fetch_") || name == "test_and_set";
    case step_kind::exchanged:
    case step_kind::not_exchanged:
      return name.starts_with("compare_exchange");
    case step_kind::read:
    case step_kind::write:
      return false;
    default:
      return true;
  }
}

// Whether `=`, `+=` or the like stands there, and no comparison.
bool is_assignment(std::string_view line, std::size_t at) {
  if (line[at] != '=' || at == 0 || at + 1 >= line.size() || line[at + 1] == '=') return false;
  return std::string_view{"=<>![*/%"}.find(line[at - 1]) == std::string_view::npos;
}
std::string_view assigned_in(std::string_view line, std::size_t at) {
  while (at > 0 && std::string_view{" +-&|^"}.find(line[at - 1]) != std::string_view::npos) --at;
  return expression_before(line, at);
}

// Keeps what stands nearest to a column; without one, the only one.
class candidates {
 public:
  explicit candidates(unsigned column) : has_column_{column != 0}, column_{has_column_ ? column - 1 : 0} {}

  void add(std::size_t place, std::string_view operand) {
    if (operand.empty()) return;
    is_ambiguous_ = is_ambiguous_ || (!has_column_ && !best_.empty() && best_ != operand);
    const std::size_t distance = column_ > place ? column_ - place : place - column_;
    if (distance >= least_) return;
    least_ = distance;
    best_ = operand;
  }
  std::string_view best() const { return is_ambiguous_ ? std::string_view{} : best_; }

 private:
  bool has_column_;
  bool is_ambiguous_ = false;
  std::size_t column_;
  std::size_t least_ = std::string_view::npos;
  std::string_view best_;
};

// The text of a line without comment, with one blank wherever there are some.
std::string plain_text_of(std::string_view line) {
  std::string text;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == '\0' && line.substr(i, 2) == "//") break;
    if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote && line[i - 1] != '\\') {
      quote = '\0';
    }
    const bool is_blank = c == ' ' || c == '\t' || c == '\r';
    if (!is_blank) text += c;
    if (is_blank && !text.empty() && text.back() != ' ') text += ' ';
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace

std::string_view file_name_of(const source_position& at) {
  const std::string_view path = at.file == nullptr ? "" : at.file;
  return path.substr(path.find_last_of('/') + 1);
}

const std::vector<std::string>& sources::lines_of(std::string_view file) {
  auto known = files_.find(file);
  if (known == files_.end()) {
    std::vector<std::string> lines;
    std::ifstream text{std::string{file}};
    if (!text) unreadable_ = file;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    known = files_.emplace(file, std::move(lines)).first;
  }
  return known->second;
}

const std::string* sources::line_of(const source_position& at) {
  if (at.file == nullptr || at.line == 0) return nullptr;
  const std::vector<std::string>& lines = lines_of(at.file);
  return at.line <= lines.size() ? &lines[at.line - 1] : nullptr;
}

std::string sources::text_of(const source_position& at) {
  const std::string* const line = line_of(at);
  if (line == nullptr) return "";
  const std::size_t begin = line->find_first_not_of(" \t");
  return begin == std::string::npos ? "" : line->substr(begin);
}

std::string sources::key_of(const source_position& at, unsigned column) {
  const std::string* const line = line_of(at);
  std::string key{file_name_of(at)};
  if (line == nullptr) return key + ":" + std::to_string(at.line);
  const std::string text = plain_text_of(*line);
  unsigned equal = 1;
  for (const std::string* each = line - (at.line - 1); each != line; ++each) equal += plain_text_of(*each) == text;
  if (equal != 1 || column != 1) key += " #" + std::to_string(equal);
  if (column != 1) key += "." + std::to_string(column);
  return key + ": " + text;
}

std::string sources::operand_of(const source_position& at, std::size_t which, step_kind kind) {
  const std::string* const found = line_of(at);
  if (found == nullptr) return "";
  const std::string_view line = *found;
  // Of several operations on one line, the one that is nearest to the column; without a column, the only one that fits.
  const bool has_column = at.column != 0;
  candidates nearest{at.column};
  for (std::size_t begin = 0; begin < line.size(); ++begin) {
    if (is_assignment(line, begin) && (has_column || kind == step_kind::write))
      nearest.add(begin, assigned_in(line, begin));
    if (!is_of_name(line[begin]) || (begin > 0 && is_of_name(line[begin - 1]))) continue;
    std::size_t end = begin;
    while (end < line.size() && is_of_name(line[end])) ++end;
    const std::string_view name = line.substr(begin, end - begin);
    if (!has_column && !fits(name, kind)) continue;
    const std::size_t object = end_of_object(line, begin);
    if (object != std::string_view::npos) {
      // Compilers name the place of the function's name, or that of the bracket behind it, or of the object.
      if (is_operation(name)) nearest.add(end, expression_before(line, object));
    } else if (is_guard(name)) {
      nearest.add(end, locked_by(line, end, which));
    } else if (is_function(name)) {
      nearest.add(end, argument_of(line, end, name == "lock" ? which : 0));
    }
  }
  return std::string{nearest.best()};
}

}  // namespace tidemark::verify::runner
