// SPDX-License-Identifier: BSL-1.0
#include "reviewed.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

namespace tidemark::verify::runner {
namespace {

std::string without_blanks_around(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

std::string place_in(const std::string& path, unsigned line) { return path + ":" + std::to_string(line); }

}  // namespace

std::string reviewed_list::read(const std::string& path) {
  path_ = path;
  std::ifstream file{path};
  if (!file) return "there is no file " + path;
  std::string line;
  for (unsigned number = 1; std::getline(file, line); ++number) {
    const std::string text = without_blanks_around(line);
    if (text.empty() || line.front() == '#') continue;
    if (line.front() != ' ' && line.front() != '\t') {
      if (find(text) != nullptr) return place_in(path, number).append(": it stands there twice: ").append(text);
      entries_.push_back({text, "", number, false, ""});
    } else if (entries_.empty()) {
      return place_in(path, number).append(": a reason without a key above it: ").append(text);
    } else {
      std::string& reason = entries_.back().reason;
      reason += (reason.empty() ? "" : " ") + text;
    }
  }
  for (const entry& each : entries_) {
    if (each.reason.empty()) return place_of(each) + "it has no reason in an indented line below: " + each.key;
  }
  return "";
}

void reviewed_list::apply_to(audited_site& site) {
  if (site.steps.empty()) return;
  site.said = verdict::already_relaxed;
  for (audited_step& step : site.steps) {
    entry* const its = find_for(site, step);
    if (its != nullptr && step.said == verdict::needed) {
      its->noticed_by = step.check;
    } else if (its != nullptr) {
      its->excuses = true;
      step.said = verdict::reviewed;
      step.reason = its->reason;
    }
    site.said = std::max(site.said, step.said);
  }
}

void reviewed_list::apply_to(unexecuted_line& line) {
  entry* const its = find(line.key);
  if (its == nullptr) return;
  its->excuses = true;
  line.reason = its->reason;
}

void reviewed_list::complain(audit_result& result, bool is_whole, const std::set<std::string>& left_out) const {
  for (const entry& each : entries_) {
    if (each.excuses || left_out.contains(each.key.substr(0, each.key.find_first_of(": ")))) continue;
    if (!each.noticed_by.empty()) {
      result.complaints.push_back(place_of(each) + "it is needed after all, " + each.noticed_by +
                                  " notices: " + each.key);
    } else if (is_whole && (result.knows_unexecuted || !each.key.ends_with(never_executed_key))) {
      result.complaints.push_back(place_of(each) + "nothing has this key: " + each.key);
    }
  }
}

reviewed_list::entry* reviewed_list::find_for(const audited_site& site, const audited_step& step) {
  entry* const own = find(step.key);
  if (own != nullptr || step.said == verdict::needed) return own;
  constexpr std::string_view relaxed = " -> relaxed";
  const std::string_view kind = std::string_view{step.what}.substr(0, step.what.find(" -> "));
  for (const audited_step& weaker : site.steps) {
    const bool is_weakest = weaker.what.size() == kind.size() + relaxed.size() && weaker.what.starts_with(kind) &&
                            weaker.what.ends_with(relaxed);
    if (is_weakest && weaker.said != verdict::needed) return find(weaker.key);
  }
  return nullptr;
}

reviewed_list::entry* reviewed_list::find(const std::string& key) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const entry& each) { return each.key == key; });
  return found == entries_.end() ? nullptr : &*found;
}

std::string reviewed_list::place_of(const entry& its) const { return path_ + ":" + std::to_string(its.line) + ": "; }

}  // namespace tidemark::verify::runner
