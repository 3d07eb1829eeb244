// SPDX-License-Identifier: BSL-1.0
#include "tables.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>

namespace tidemark::verify::runner {
namespace {

struct line {
  std::string text;  // without blanks around it
  bool is_indented = false;
  std::string place;  // FILE:LINE
};

/// Calls `read` for each line that is neither empty nor a comment, until it returns what is wrong.
std::string read_lines(const std::string& path, const std::function<std::string(const line&)>& read) {
  std::ifstream file{path};
  if (!file) return "there is no file " + path;
  std::string text;
  bool is_empty = true;
  for (unsigned number = 1; std::getline(file, text); ++number) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string::npos || text[begin] == '#') continue;
    is_empty = false;
    const std::string place = std::string{path}.append(":").append(std::to_string(number));
    const std::string complaint =
        read({text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin), begin != 0, place});
    if (!complaint.empty()) return std::string{place}.append(": ").append(complaint);
  }
  return is_empty ? path + ": it has no line" : "";
}

/// Adds it to the plan. Returns what is wrong.
std::string add(const planned_search& found, const line& its, std::vector<planned_search>& plan) {
  const bool is_there = std::any_of(plan.begin(), plan.end(), [&](const planned_search& each) {
    return each.check == found.check && each.bounded == found.bounded && each.amount == found.amount &&
           each.weakened == found.weakened;
  });
  if (is_there) return "it stands there twice: " + its.text;
  plan.push_back(found);
  plan.back().place = its.place;
  return "";
}

/// Reads `bound N` or `random N`.
bool read_amount(const std::string& search, planned_search& found) {
  const std::size_t blank = search.find(' ');
  const std::string kind = search.substr(0, blank);
  const std::string number = blank == std::string::npos ? "" : search.substr(blank + 1);
  if (number.empty() || number.size() > 9 || number.find_first_not_of("0123456789") != std::string::npos) return false;
  found.bounded = kind == "bound";
  found.amount = std::strtoul(number.c_str(), nullptr, 10);
  return found.bounded || (kind == "random" && found.amount != 0);
}

/// Reads `CHECK: SEARCH`. Returns what is wrong.
std::string read_search(const std::string& text, const std::vector<const entry*>& checks, planned_search& found) {
  const std::size_t colon = text.rfind(": ");
  if (colon == std::string::npos) return "'" + text + "' is not CHECK: SEARCH, such as box: bound 2";
  const std::string name = text.substr(0, colon);
  const std::string search = text.substr(colon + 2);
  const auto its = std::find_if(checks.begin(), checks.end(), [&](const entry* each) { return each->name == name; });
  if (its == checks.end()) return "there is no check '" + name + "'";
  found.check = *its;
  if (!read_amount(search, found)) return "'" + search + "' is no search: that is `bound N` or `random N`";
  return "";
}

}  // namespace

std::string read_checks(const std::string& path, const std::vector<const entry*>& checks,
                        std::vector<planned_search>& plan) {
  std::string complaint = read_lines(path, [&](const line& next) {
    planned_search found;
    const std::string wrong = read_search(next.text, checks, found);
    return wrong.empty() ? add(found, next, plan) : wrong;
  });
  if (!complaint.empty()) return complaint;
  for (const entry* check : checks) {
    const bool has_line =
        std::any_of(plan.begin(), plan.end(), [&](const planned_search& each) { return each.check == check; });
    if (!has_line && !check->must_fail) return path + " has no line for the check '" + check->name + "'";
  }
  return "";
}

std::string read_twins(const std::string& path, const std::vector<const entry*>& checks,
                       std::vector<planned_search>& plan) {
  std::string key;
  bool is_noticed = true;
  std::string complaint = read_lines(path, [&](const line& next) -> std::string {
    if (!next.is_indented) {
      if (!is_noticed) return "the key above has no check in an indented line below: " + key;
      if (next.text.find(" | ") == std::string::npos)
        return "'" + next.text + "' is no key, as the audit prints it: FILE: TEXT | FROM -> TO";
      key = next.text;
      is_noticed = false;
      return "";
    }
    if (key.empty()) return "a check without a key above it: " + next.text;
    planned_search found;
    std::string wrong = read_search(next.text, checks, found);
    if (!wrong.empty()) return wrong;
    if (found.check->must_fail) return "'" + std::string{found.check->name} + "' is a twin, and fails as it is";
    found.weakened = key;
    is_noticed = true;
    return add(found, next, plan);
  });
  if (complaint.empty() && !is_noticed) return path + ": the last key has no check in an indented line below: " + key;
  return complaint;
}

}  // namespace tidemark::verify::runner
