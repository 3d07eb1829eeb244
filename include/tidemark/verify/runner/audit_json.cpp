// SPDX-License-Identifier: BSL-1.0
#include "audit_json.hpp"

#include <string>

#include "json_text.hpp"

namespace tidemark::verify::runner {
namespace {

/// Puts commas between the elements of an array.
class comma {
 public:
  friend std::ostream& operator<<(std::ostream& out, comma& next) {
    out << (next.is_first_ ? "\n" : ",\n");
    next.is_first_ = false;
    return out;
  }

 private:
  bool is_first_ = true;
};

void write_step(std::ostream& out, const audited_step& step) {
  out << R"(     {"what": )" << json_string(step.what) << R"(, "verdict": )" << json_string(name_of(step.said))
      << R"(, "key": )" << json_string(step.key);
  if (step.said == verdict::needed) {
    out << R"(, "check": )" << json_string(step.check) << R"(, "failure": )" << json_string(step.failure)
        << R"(, "search": )" << json_string(step.search) << R"(, "execution": )" << step.executions;
  }
  if (!step.reason.empty()) out << R"(, "reason": )" << json_string(step.reason);
  out << "}";
}

void write_site(std::ostream& out, const audited_site& site) {
  const executed_site& is = site.is;
  const char* const failure = is.what == operation::compare_exchange ? name_of(is.failure) : "";
  out << R"(  {"file": )" << json_string(is.at.file) << R"(, "line": )" << is.at.line << R"(, "column": )"
      << is.at.column << R"(, "text": )" << json_string(site.text) << ",\n   " << R"("function": )"
      << json_string(is.at.function) << R"(, "operation": )" << json_string(name_of(is.what)) << R"(, "order": )"
      << json_string(name_of(is.order)) << R"(, "failure": )" << json_string(failure) << ",\n   " << R"("key": )"
      << json_string(site.key) << R"(, "beside_others": )" << (is.beside_others ? "true" : "false")
      << R"(, "verdict": )" << json_string(name_of(site.said)) << ",\n   " << R"("checks": [)";
  for (std::size_t i = 0; i < site.checks.size(); ++i) out << (i == 0 ? "" : ", ") << json_string(site.checks[i]->name);
  out << "],\n   \"steps\": [";
  comma next;
  for (const audited_step& step : site.steps) {
    if (step.is_implied) continue;
    out << next;
    write_step(out, step);
  }
  out << "]}";
}

void write_totals(std::ostream& out, const audit_result& result) {
  out << R"(  {"sites": )" << result.sites.size();
  for (const verdict said :
       {verdict::needed, verdict::not_needed, verdict::reviewed, verdict::not_weakened, verdict::cut_off})
    out << ", " << json_string(name_of(said)) << ": " << count_of(said, result);
  out << R"(, "never_executed": )" << unexecuted_lines_of(result) << "}";
}

}  // namespace

void write_audit_json(std::ostream& out, const audit_result& result) {
  out << "{\"tidemark_audit\": 1,\n \"good\": " << (is_good(result) ? "true" : "false")
      << ",\n \"refusal\": " << json_string(result.refusal) << ",\n \"totals\":\n";
  write_totals(out, result);
  out << ",\n \"sites\": [";
  comma next_site;
  for (const audited_site& site : result.sites) {
    out << next_site;
    write_site(out, site);
  }
  out << "],\n \"never_executed\": [";
  comma next_line;
  for (const unexecuted_line& line : result.never_executed) {
    out << next_line << R"(  {"file": )" << json_string(line.file) << R"(, "line": )" << line.line << R"(, "text": )"
        << json_string(line.text) << R"(, "key": )" << json_string(line.key);
    if (!line.reason.empty()) out << R"(, "reason": )" << json_string(line.reason);
    out << "}";
  }
  out << "],\n \"only_by_twins\": [";
  comma next_place;
  for (const std::string& place : result.only_by_twins) out << next_place << json_string(place);
  out << "],\n \"together\": {\"keys\": [";
  comma next_key;
  for (const std::string& key : result.together.keys) out << next_key << "  " << json_string(key);
  out << "], \"check\": " << json_string(result.together.check)
      << ", \"failure\": " << json_string(result.together.failure)
      << ", \"search\": " << json_string(result.together.searched) << "},\n \"complaints\": [";
  comma next_complaint;
  for (const std::string& complaint : result.complaints) out << next_complaint << "  " << json_string(complaint);
  out << "],\n \"sources\": [";
  comma next_source;
  for (const source_text& source : result.sources) {
    out << next_source << R"(  {"file": )" << json_string(source.file) << R"(, "lines": [)";
    comma next;
    for (const std::string& line : source.lines) out << next << "   " << json_string(line);
    out << "]}";
  }
  out << "]}\n";
}

}  // namespace tidemark::verify::runner
