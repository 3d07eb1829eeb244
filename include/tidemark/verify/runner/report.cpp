// SPDX-License-Identifier: BSL-1.0
#include "report.hpp"

#include <array>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "addresses.hpp"
#include "execution.hpp"
#include "sites.hpp"
#include "sources.hpp"

namespace tidemark::verify::runner {
namespace {

constexpr std::size_t page_width = 100;
constexpr std::size_t number_width = 4;
constexpr std::size_t rows_of_livelock = 20;

std::string text_of(std::uint64_t bits, value_type type) {
  std::ostringstream out;
  const unsigned width = type.bytes * 8u;
  if (type.is_signed && width < 64 && ((bits >> (width - 1)) & 1) != 0) bits |= ~std::uint64_t{0} << width;
  constexpr std::uint64_t most_in_decimal = 999'999'999;
  if (type.is_pointer && bits == 0) {
    out << "null";
  } else if (type.is_pointer || (!type.is_signed && bits > most_in_decimal)) {
    out << "0x" << std::hex << bits;
  } else if (type.is_signed) {
    out << static_cast<std::int64_t>(bits);
  } else {
    out << bits;
  }
  return out.str();
}

/// The recorded steps, with what is to be said of them.
class table {
 public:
  table(const entry& played, const outcome& found) : played_{played}, found_{found} {
    locate_steps();
    for (std::size_t i = 0; i < running.steps.size(); ++i) {
      const step& each = running.steps.begin_of_steps()[i];
      if (each.in == phase::construction || is_private(i)) continue;
      rows_.push_back(&each);
      if (each.number != 0) row_of_store_[each.number] = rows_.size();
      name_cell(each);
      if (each.at.line != 0) files_.insert(std::string{file_name_of(each.at)});
    }
    find_race();
  }

  void print(std::ostream& out) {
    print_line(out, "", [&](unsigned thread) { return "thread " + std::to_string(thread); });
    out << std::string(page_width, '-') << "\n";
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (found_.what == "LIVELOCK" && i == rows_of_livelock && rows_.size() > 2 * rows_of_livelock) {
        i = rows_.size() - rows_of_livelock;
        out << "...   " << i - rows_of_livelock << " steps between\n";
      }
      print_row(out, i);
    }
    print_failure(out);
    if (found_.what == "DEADLOCK") print_stuck(out);
    if (found_.what == "DESTROYING OWNED MUTEX") print_locked(out);
    if (!sources_.unreadable().empty()) {
      out << "The source '" << sources_.unreadable()
          << "' can't be read. A relative path is one of the folder in which it was compiled: run this there.\n";
    }
  }

 private:
  /// A plain use, by code that is compiled for the checker, of memory that no other thread uses.
  static bool is_private(std::size_t index) {
    const step* const steps = std::as_const(running.steps).begin_of_steps();
    const step& of = steps[index];
    if (of.extent == 0 || is_atomic(of) || index + 1 == running.steps.size()) return false;
    for (std::size_t i = 0; i < running.steps.size(); ++i) {
      if (steps[i].thread != of.thread && overlap(steps[i], of)) return false;
    }
    return true;
  }

  /// Some calls say only to which address they return.
  static void locate_steps() {
    step* const steps = running.steps.begin_of_steps();
    std::vector<const void*> addresses{failed.at.address};
    for (std::size_t i = 0; i < running.steps.size(); ++i) addresses.push_back(steps[i].at.address);
    find_addresses(addresses);
    for (std::size_t i = 0; i < running.steps.size(); ++i) steps[i].at = located(steps[i].at);
    failed.at = located(failed.at);
  }

  // ---- names ----

  /// Names a cell by the first line that tells.
  void name_cell(const step& of) {
    if (of.cell == nullptr || names_.contains(of.cell)) return;
    if (of.at.address != nullptr && watching == nullptr) return;  // an operator: the line may have several
    auto& others_there = locked_at_[{of.at.file, of.at.line, of.at.column}];
    std::string name = sources_.operand_of(of.at, locks(of) ? others_there : 0);
    if (name.empty()) return;
    if (locks(of)) ++others_there;
    const unsigned others = uses_of_name_[name]++;
    if (others != 0) name += "'" + std::to_string(others);
    names_.emplace(of.cell, name);
  }

  std::string name_of_place(const void* cell, const char* otherwise) const {
    const auto known = names_.find(cell);
    return known == names_.end() ? otherwise : known->second;
  }
  std::string name_of_cell(const step& of) const {
    if (!is_atomic(of)) return name_of_place(of.cell, "a field");
    return locks(of) || unlocks(of) ? name_of_mutex(of.cell) : name_of_place(of.cell, "a word");
  }
  std::string name_of_mutex(const void* mutex) const { return name_of_place(mutex, "a mutex"); }

  std::string from(const step& read) const {
    const auto store = row_of_store_.find(read.from);
    std::string text = " <- " + (store == row_of_store_.end() ? "start" : std::to_string(store->second));
    if (read.from != read.newest) {
      const auto newest = row_of_store_.find(read.newest);
      text += "  OLD: newest " + (newest == row_of_store_.end() ? "start" : std::to_string(newest->second));
    }
    return text;
  }

  // ---- what is said of a step ----

  /// A compare-exchange that succeeds although the value has changed since its thread has read it.
  bool is_aba(std::size_t row) const {
    const step& exchange = *rows_[row];
    for (std::size_t i = row; i-- > 0;) {
      const step& before = *rows_[i];
      if (before.thread != exchange.thread || before.cell != exchange.cell) continue;
      return (before.kind == step_kind::load || before.kind == step_kind::not_exchanged) &&
             before.before == exchange.before && before.from != exchange.from;
    }
    return false;
  }

  std::string summary(std::size_t row) {
    const step& of = *rows_[row];
    const std::string order = std::string{" ("} + name_of(of.order) + ")";
    switch (of.kind) {
      case step_kind::load:
        return name_of_cell(of) + " -> " + text_of(of.before, of.type) + order + from(of);
      case step_kind::store:
        return name_of_cell(of) + " = " + text_of(of.after, of.type) + order;
      case step_kind::change:
      case step_kind::exchanged:
        return name_of_cell(of) + ": " + text_of(of.before, of.type) + " -> " + text_of(of.after, of.type) + order +
               from(of) + (of.kind == step_kind::exchanged && is_aba(row) ? "  ABA" : "");
      case step_kind::not_exchanged:
        return name_of_cell(of) + ": is " + text_of(of.before, of.type) + ", not exchanged" + order + from(of);
      case step_kind::read:
        return name_of_cell(of) + " -> " + text_of(of.before, of.type) + " (plain)" + from(of);
      case step_kind::end:
        return "destroys " + name_of_cell(of);
      case step_kind::write:
        return name_of_cell(of) + " = " + (of.is_open ? "..." : text_of(of.after, of.type)) + " (plain)";
      case step_kind::fence:
        return "fence" + order;
      case step_kind::barrier:
        return "barrier of all threads";
      case step_kind::sleep:
        return "sleeps on " + name_of_cell(of) + (of.timed ? ", with a deadline" : "") +
               (of.lock != nullptr ? ", unlocks " + name_of_mutex(of.lock) : "");
      case step_kind::woken:
        return of.timed ? "goes on: the deadline has passed" : "goes on";
      case step_kind::wake:
        return of.count == 0 ? "wakes nobody on " + name_of_cell(of) : "wakes who sleeps on " + name_of_cell(of);
      case step_kind::lock:
        return (of.timed ? "does not get " : "locks ") + name_of_cell(of);
      case step_kind::unlock:
        return "unlocks " + name_of_cell(of);
      case step_kind::lock_shared:
        return (of.timed ? "does not get " : "shares ") + name_of_cell(of) + (of.timed ? ", shared" : "");
      case step_kind::unlock_shared:
        return "shares " + name_of_cell(of) + " no longer";
      case step_kind::yield:
        return "yields";
    }
    return "";
  }

  std::string place(const source_position& at) {
    if (at.line == 0) return at.address == nullptr ? at.file : "a line that is not known";
    std::string text = std::to_string(at.line) + ": " + sources_.text_of(at);
    if (files_.size() > 1) text = std::string{file_name_of(at)} + ":" + text;
    return text;
  }

  /// Of the step in which a thread has failed: it has no outcome.
  std::string attempt(const step& of) {
    switch (of.kind) {
      case step_kind::read:
        return "reads " + name_of_cell(of);
      case step_kind::write:
        return name_of_cell(of) + " = " + (of.is_open ? "..." : text_of(of.after, of.type)) + " (plain)";
      case step_kind::end:
        return "destroys " + name_of_cell(of);
      case step_kind::lock:
        return (found_.what == "DEADLOCK" ? "waits for " : "locks ") + name_of_cell(of);
      case step_kind::unlock:
        return "unlocks " + name_of_cell(of);
      default:
        return of.cell == nullptr ? std::string{"goes on"} : "uses " + name_of_cell(of);
    }
  }

  // ---- kinds of steps ----

  static bool locks(const step& of) { return of.kind == step_kind::lock || of.kind == step_kind::lock_shared; }
  static bool unlocks(const step& of) { return of.kind == step_kind::unlock || of.kind == step_kind::unlock_shared; }
  static bool is_atomic(const step& of) {
    return of.kind != step_kind::read && of.kind != step_kind::write && of.kind != step_kind::end;
  }
  static bool writes(const step& of) {
    return of.kind == step_kind::write || of.kind == step_kind::end || of.kind == step_kind::store ||
           of.kind == step_kind::change || of.kind == step_kind::exchanged;
  }
  static bool overlap(const step& one, const step& other) {
    if (one.cell == other.cell) return one.cell != nullptr;
    const auto begin = [](const step& of) { return reinterpret_cast<std::uintptr_t>(of.cell); };
    return begin(one) < begin(other) + other.extent && begin(other) < begin(one) + one.extent;
  }

  // ---- the race ----

  /// Of a data race the last step is the second access. The first one is the latest that its thread has not seen.
  void find_race() {
    if (found_.what != "DATA RACE" || rows_.empty()) return;
    const std::size_t second = rows_.size() - 1;
    const record::intent& intent = running.steps.intents[failed.thread];
    for (std::size_t i = second; i-- > 0;) {
      const step& first = *rows_[i];
      if (!overlap(first, *rows_[second]) || first.thread == failed.thread) continue;
      if (!writes(first) && !writes(*rows_[second])) continue;
      if (is_atomic(first) && is_atomic(*rows_[second])) continue;
      if (first.stamp <= intent.clock[first.thread]) continue;
      racing_ = {i, second};
      return;
    }
  }
  bool is_racing(std::size_t row) const { return racing_[1] != 0 && (row == racing_[0] || row == racing_[1]); }

  // ---- lines ----

  std::size_t column_width() const { return (page_width - number_width) / played_.threads; }

  template <class Text>
  void print_line(std::ostream& out, std::string number, Text text_of_thread) {
    number.resize(number_width, ' ');
    std::string line = number;
    for (unsigned thread = 0; thread < played_.threads; ++thread) {
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

  void print_row(std::ostream& out, std::size_t row) {
    const step& of = *rows_[row];
    const bool has_not_happened = row + 1 == rows_.size() && failed.in_last_step;
    std::string text = has_not_happened ? attempt(of) : summary(row);
    if (is_racing(row)) {
      text = "RACE: " + text;
    } else if (has_not_happened && found_.what != "DEADLOCK" && !is_told()) {
      text = "FAILS: " + text;
    }
    if (of.in == phase::before) text = "before(): " + text;
    if (of.in == phase::after) text = "after(): " + text;
    print_in_column(out, std::to_string(row + 1), of.thread, text);
    print_in_column(out, "", of.thread, "   " + place(of.at));
  }

  /// Whether a text says why the execution has failed.
  bool is_told() const {
    if (failed.text == nullptr) return false;
    return found_.what == "USER ASSERT FAILED" || (found_.what == "ACCESS TO FREED MEMORY" && !failed.in_last_step);
  }

  void print_failure(std::ostream& out) {
    if (!is_told()) return;
    const std::string text = failed.text;
    print_in_column(out, "", failed.thread, "FAILS: " + text);
    if (!failed.in_last_step) print_in_column(out, "", failed.thread, "   " + place(failed.at));
    if (text.size() + 9 >= column_width()) out << text << "\n";
  }

  struct lock_held {
    const void* mutex;
    unsigned thread;
    std::size_t row;
  };

  /// What is locked at the end.
  std::vector<lock_held> held() const {
    std::vector<lock_held> found;
    const auto drop = [&](const void* mutex, unsigned thread) {
      for (std::size_t i = found.size(); i-- > 0;) {
        if (found[i].mutex != mutex || found[i].thread != thread) continue;
        found.erase(found.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      }
    };
    const std::size_t done = rows_.size() - (failed.in_last_step ? 1 : 0);
    for (std::size_t i = 0; i < done; ++i) {
      const step& each = *rows_[i];
      if (locks(each) && !each.timed) found.push_back({each.cell, each.thread, i + 1});
      if (unlocks(each)) drop(each.cell, each.thread);
      if (each.kind == step_kind::sleep && each.lock != nullptr) drop(each.lock, each.thread);
    }
    return found;
  }

  /// The mutex for which a thread waits; null if it does not.
  const void* waits_for(unsigned thread) const {
    const record::intent& intent = running.steps.intents[thread];
    const step* last = intent.pending ? &intent.what : nullptr;
    if (failed.in_last_step && rows_.back()->thread == thread) last = rows_.back();
    if (last == nullptr || !locks(*last)) return nullptr;
    return last->cell;
  }

  /// Who sleeps or waits at the end of a deadlock, and for what.
  void print_stuck(std::ostream& out) {
    for (unsigned thread = 0; thread < played_.threads; ++thread) {
      if (const void* const mutex = waits_for(thread)) {
        out << "thread " << thread << " waits for " << name_of_mutex(mutex);
        for (const lock_held& each : held()) {
          if (each.mutex == mutex) out << ", which thread " << each.thread << " has locked in row " << each.row;
        }
        out << "\n";
        continue;
      }
      std::size_t last = rows_.size();
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (rows_[i]->thread == thread) last = i;
      }
      if (last == rows_.size() || rows_[last]->kind != step_kind::sleep) continue;
      out << "thread " << thread << " sleeps on " << name_of_cell(*rows_[last]) << " since row " << last + 1
          << ", and nobody wakes it\n";
    }
  }

  void print_locked(std::ostream& out) {
    for (const lock_held& each : held())
      out << name_of_mutex(each.mutex) << " is destroyed, and thread " << each.thread << " has locked it in row "
          << each.row << "\n";
  }

  const entry& played_;
  const outcome& found_;
  sources sources_;
  std::vector<const step*> rows_;
  std::map<std::uint32_t, std::size_t> row_of_store_;
  std::map<const void*, std::string> names_;
  std::map<std::tuple<std::string_view, unsigned, unsigned>, std::size_t> locked_at_;  // how many mutexes
  std::map<std::string, unsigned> uses_of_name_;
  std::set<std::string> files_;
  std::array<std::size_t, 2> racing_{};
};

}  // namespace

void print_execution(std::ostream& out, const entry& played, const outcome& found) { table{played, found}.print(out); }

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
