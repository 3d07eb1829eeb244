// SPDX-License-Identifier: BSL-1.0
//
// The text of the pages is in page/, as raw string literals that are included here. So it is compiled with the runner,
// by CMake and by one call of the compiler alike: nothing is generated, and the program needs no file when it runs.
// Each file is below 16 KB, because some compilers take no longer literal.
//
// What comes from the checked program, such as its source, is in the page only as JSON, in which no `<` is left. The
// scripts make text of it, never elements. And the page allows a browser to run only those scripts and styles that bear
// a number which depends on all of that text, so that no text can hold it.
#include "page.hpp"

#include <cstdint>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "audit_json.hpp"
#include "json_text.hpp"

namespace tidemark::verify::runner {
namespace {

constexpr std::string_view execution_html =
#include "page/execution.html"
    ;
constexpr std::string_view audit_html =
#include "page/audit.html"
    ;
constexpr std::string_view common_style =
#include "page/common.css"
    ;
constexpr std::string_view execution_style =
#include "page/execution.css"
    ;
constexpr std::string_view audit_style =
#include "page/audit.css"
    ;
constexpr std::string_view common_script =
#include "page/common.js"
    ;
constexpr std::string_view execution_script =
#include "page/execution.js"
    ;

constexpr std::string_view audit_list_script =
#include "page/audit_list.js"
    ;
constexpr std::string_view audit_script =
#include "page/audit.js"
    ;
constexpr std::size_t most_bytes = 16'000;
constexpr bool fits(std::initializer_list<std::string_view> texts) {
  for (const std::string_view each : texts) {
    if (each.size() >= most_bytes) return false;
  }
  return true;
}
static_assert(fits({execution_html, audit_html, common_style, execution_style, audit_style, common_script,
                    execution_script, audit_list_script, audit_script}));

// ---- data -----------------------------------------------------------------------------------------------------------

std::string_view path_of(const source_position& at) { return at.file == nullptr ? "" : at.file; }

/// `"file":"...","line":1`
std::string json_of(const source_position& at) {
  return "\"file\":" + json_string(path_of(at)) + ",\"line\":" + std::to_string(at.line);
}

const char* part_of(phase in) {
  if (in == phase::before) return "before";
  return in == phase::after ? "after" : "threads";
}

std::string json_of(const row& of) {
  std::string text = "{\"thread\":" + std::to_string(of.thread) + ",\"phase\":\"" + part_of(of.in) +
                     "\",\"text\":" + json_string(of.text) + "," + json_of(of.at);
  if (of.reads) text += ",\"from\":" + std::to_string(of.from);
  if (of.is_old) text += ",\"newest\":" + std::to_string(of.newest);
  if (of.is_aba) text += ",\"aba\":true";
  if (of.is_racing) text += ",\"race\":true";
  if (of.fails) text += ",\"fails\":true";
  if (of.is_asleep) text += ",\"asleep\":true";
  return text + "}";
}

/// The members of a list that are made from a range, one in a line.
template <class Range, class Text>
std::string list_of(const Range& range, Text text_of) {
  std::string text = "[";
  for (const auto& each : range) text += (text.size() > 1 ? ",\n" : "\n") + text_of(each);
  return text + "]";
}

std::string json_of_sources(told_execution& told) {
  std::set<std::string_view> files;
  for (const row& each : told.rows) files.insert(path_of(each.at));
  files.insert(path_of(told.asserted_at));
  files.erase("");
  return list_of(files, [&](std::string_view file) {
    return "{\"file\":" + json_string(file) + ",\"lines\":" + list_of(told.texts.lines_of(file), json_string) + "}";
  });
}

std::string json_of(told_execution& told, const std::string& found_by) {
  std::ostringstream out;
  out << "{\"check\":" << json_string(told.check) << ",\"what\":" << json_string(told.what)
      << ",\"searched\":" << json_string(found_by) << ",\"threads\":" << told.threads
      << ",\n\"rows\":" << list_of(told.rows, [](const row& each) { return json_of(each); });
  if (!told.assertion.empty()) {
    out << ",\n\"assertion\":{\"text\":" << json_string(told.assertion) << ",\"thread\":" << told.failing_thread;
    if (told.asserted_at.file != nullptr) out << "," << json_of(told.asserted_at);
    out << "}";
  }
  out << ",\n\"ends\":" << list_of(told.ends, json_string) << ",\n\"sources\":" << json_of_sources(told) << "}\n";
  return out.str();
}

// ---- pages ----------------------------------------------------------------------------------------------------------

/// A number that depends on the whole text (FNV-1a).
std::string number_of(std::string_view text) {
  std::uint64_t number = 0xcbf29ce484222325;
  for (const char c : text) number = (number ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return std::to_string(number);
}

/// Writes a template, in which `@name@` stands for a text.
void fill(std::ostream& out, std::string_view form,
          std::initializer_list<std::pair<std::string_view, std::string_view>> texts) {
  while (true) {
    const std::size_t begin = form.find('@');
    out << form.substr(0, begin);
    if (begin == std::string_view::npos) return;
    form.remove_prefix(begin + 1);
    const std::string_view name = form.substr(0, form.find('@'));
    for (const auto& [known, text] : texts) {
      if (known == name) out << text;
    }
    form.remove_prefix(name.size() + 1);
  }
}

void write_page(std::ostream& out, std::string_view form, std::string_view style, std::string_view script,
                const std::string& data) {
  fill(out, form,
       {{"number", number_of(data)},
        {"common style", common_style},
        {"style", style},
        {"common script", common_script},
        {"script", script},
        {"data", data}});
}

}  // namespace

void write_execution_page(std::ostream& out, told_execution& told, const std::string& found_by) {
  write_page(out, execution_html, execution_style, execution_script, json_of(told, found_by));
}

void write_audit_page(std::ostream& out, const std::string& program, const audit_result& result) {
  std::ostringstream data;
  data << "{\"program\":" << json_string(program) << ",\n\"audit\":";
  write_audit_json(data, result);
  data << "}\n";
  write_page(out, audit_html, audit_style, std::string{audit_list_script} += audit_script, data.str());
}

}  // namespace tidemark::verify::runner
