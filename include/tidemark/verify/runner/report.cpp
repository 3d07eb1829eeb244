// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

#include <set>
#include <string>
#include <string_view>

#include "execution.hpp"
#include "rows.hpp"
#include "sources.hpp"

namespace tidemark::verify::runner {
namespace {

constexpr std::size_t number_width = 4;
constexpr std::size_t rows_of_livelock = 20;

/// The rows of an execution, in columns.
class table {
 public:
  table(told_execution& told, std::size_t width) : told_{told}, width_{width} {
    for (const row& each : told_.rows) {
      if (each.at.line != 0) files_.insert(file_name_of(each.at));
    }
  }

  void print(std::ostream& out) {
    const std::size_t rows = told_.rows.size();
    print_line(out, "", [&](unsigned thread) { return "thread " + std::to_string(thread); });
    out << std::string(width_, '-') << "\n";
    for (std::size_t i = 0; i < rows; ++i) {
      if (told_.what == "LIVELOCK" && i == rows_of_livelock && rows > 2 * rows_of_livelock) {
        i = rows - rows_of_livelock;
        out << "...   " << i - rows_of_livelock << " steps between\n";
      }
      print_row(out, i);
    }
    print_failure(out);
    for (const std::string& each : told_.ends) out << each << "\n";
    if (told_.what == "LIVELOCK") {
      out << "A loop that waits for another thread must call tidemark::verify::yield(), or a member that waits. A "
             "check\n"
             "that does need more steps gets them with --most-steps.\n";
    }
    if (!told_.texts.unreadable().empty()) {
      out << "The source '" << told_.texts.unreadable()
          << "' can't be read. A relative path is one of the folder in which it was compiled: run this there.\n";
    }
  }

 private:
  static std::string name_of_row(std::size_t number) { return number == 0 ? "start" : std::to_string(number); }

  static std::string text_of(const row& of) {
    std::string text = of.text;
    if (of.is_racing) {
      text = "RACE: " + text;
    } else if (of.fails) {
      text = "FAILS: " + text;
    }
    if (of.in == phase::before) text = "before(): " + text;
    if (of.in == phase::after) text = "after(): " + text;
    if (of.reads) text += " <- " + name_of_row(of.from);
    if (of.is_old) text += "  OLD: newest " + name_of_row(of.newest);
    return of.is_aba ? text + "  ABA" : text;
  }

  std::string place(const source_position& at) {
    if (at.line == 0) return at.address == nullptr ? at.file : "a line that is not known";
    std::string text = std::to_string(at.line) + ": " + told_.texts.text_of(at);
    if (files_.size() > 1) text = std::string{file_name_of(at)} + ":" + text;
    return text;
  }

  std::size_t column_width() const { return (width_ - number_width) / told_.threads; }

  template <class Text>
  void print_line(std::ostream& out, std::string number, Text text_of_thread) {
    number.resize(number_width, ' ');
    std::string line = number;
    for (unsigned thread = 0; thread < told_.threads; ++thread) {
      std::string cell = "| " + text_of_thread(thread);
      if (cell.size() > column_width()) cell.replace(column_width() - 1, std::string::npos, "~");
      cell.resize(column_width(), ' ');
      line += cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }

  void print_in_column(std::ostream& out, const std::string& number, unsigned thread, const std::string& text) {
    print_line(out, number, [&](unsigned column) { return column == thread ? text : std::string{}; });
  }

  /// In as many lines as it takes.
  void print_wrapped(std::ostream& out, std::string number, unsigned thread, std::string text) {
    const std::size_t room = column_width() - 3;
    while (text.size() > room) {
      std::size_t end = text.rfind("  ", room);  // before what is said of the value
      if (end == std::string::npos || end < room / 2) end = text.rfind(' ', room);
      if (end == std::string::npos || end < room / 2) end = room;  // a name that is longer
      print_in_column(out, number, thread, text.substr(0, end));
      const std::size_t next = text.find_first_not_of(' ', end);
      text = next == std::string::npos ? "" : "  " + text.substr(next);
      number.clear();
    }
    print_in_column(out, number, thread, text);
  }

  void print_row(std::ostream& out, std::size_t index) {
    const row& of = told_.rows[index];
    print_wrapped(out, std::to_string(index + 1), of.thread, text_of(of));
    print_in_column(out, "", of.thread, "   " + place(of.at));
  }

  void print_failure(std::ostream& out) {
    const std::string& text = told_.assertion;
    if (text.empty()) return;
    print_wrapped(out, "", told_.failing_thread, "FAILS: " + text);
    if (told_.asserted_at.file != nullptr)
      print_in_column(out, "", told_.failing_thread, "   " + place(told_.asserted_at));
    if (text.size() + 9 >= column_width()) out << text << "\n";  // in one piece, for who looks for it
  }

  told_execution& told_;
  std::size_t width_;
  std::set<std::string_view> files_;
};

}  // namespace

void print_execution(std::ostream& out, told_execution& told, std::size_t width) { table{told, width}.print(out); }

length length_of_execution() {
  length found;
  for (std::size_t i = 0; i < running.steps.size(); ++i) {
    const step& each = running.steps.begin_of_steps()[i];
    if (each.in != phase::threads) continue;
    ++found.steps;
    if (i > 0 && running.steps.begin_of_steps()[i - 1].thread != each.thread) ++found.switches;
  }
  return found;
}

}  // namespace tidemark::verify::runner
