// SPDX-License-Identifier: BSL-1.0
#include "rows.hpp"

#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "addresses.hpp"
#include "execution.hpp"
#include "seam.hpp"
#include "sites.hpp"
#include "sources.hpp"

namespace tidemark::verify::runner {
namespace {

std::string text_of(std::uint64_t bits, value_type type) {
  std::ostringstream out;
  const unsigned width = type.bytes * 8u;
  if (type.is_signed && width < 64 && ((bits >> (width - 1)) & 1) != 0) bits |= ~std::uint64_t{0} << width;
  constexpr std::uint64_t most_in_decimal = 999'999'999;
  if (!type.is_signed && bits > most_in_decimal) {
    out << "0x" << std::hex << bits;
  } else if (type.is_signed) {
    out << static_cast<std::int64_t>(bits);
  } else {
    out << bits;
  }
  return out.str();
}

/// Tells the recorded steps.
class teller {
 public:
  teller(const entry& played, const outcome& found) : played_{played}, found_{found} {}

  told_execution tell() {
    locate_steps();
    for (std::size_t i = 0; i < running.steps.size(); ++i) {
      const step& each = running.steps.begin_of_steps()[i];
      if (each.in == phase::construction || is_private(i)) continue;
      steps_.push_back(&each);
      if (each.number != 0) row_of_store_[each.number] = steps_.size();
      name_cell(each);
      if (reads(each)) note_object(each.before, each.type);
      if (writes(each)) note_object(each.after, each.type);
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) told_.rows.push_back(row_of(i));
    find_race();
    told_.check = played_.name;
    told_.what = found_.what;
    told_.threads = played_.threads;
    told_.failing_thread = failed.thread;
    if (is_told()) {
      told_.assertion = failed.text;
      if (!failed.in_last_step) told_.asserted_at = failed.at;
    }
    if (found_.what == "DEADLOCK") tell_stuck();
    if (found_.what == "DESTROYING OWNED MUTEX") tell_locked();
    if (found_.what == "ACCESS TO FREED MEMORY") tell_destroyed();
    return std::move(told_);
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
    std::string name = told_.texts.operand_of(of.at, locks(of) ? others_there : 0, of.kind);
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

  void note_object(std::uint64_t address, value_type type) {
    if (type.is_pointer && address != 0) objects_.emplace(address, objects_.size() + 1);
  }

  /// An address differs from run to run, so each has a number.
  std::string value_of(std::uint64_t bits, value_type type) const {
    if (!type.is_pointer) return text_of(bits, type);
    const auto object = objects_.find(bits);
    return object == objects_.end() ? "null" : "object " + std::to_string(object->second);
  }

  // ---- what is said of a step ----

  /// A compare-exchange that succeeds although the value has changed since its thread has read it.
  bool is_aba(std::size_t row) const {
    const step& exchange = *steps_[row];
    for (std::size_t i = row; i-- > 0;) {
      const step& before = *steps_[i];
      if (before.thread != exchange.thread || before.cell != exchange.cell) continue;
      return (before.kind == step_kind::load || before.kind == step_kind::not_exchanged) &&
             before.before == exchange.before && before.from != exchange.from;
    }
    return false;
  }

  /// The order of a step, as the program has it; and what --weaken has made of it.
  static std::string order_of(const step& of) {
    const weakened_site* const weakened =
        of.kind == step_kind::not_exchanged ? nullptr : find_weakened(weakening::order, of.at, of.order);
    return std::string{" ("} + name_of(of.order) +
           (weakened == nullptr ? "" : std::string{", WEAKENED to "} + name_of(weakened->to)) + ")";
  }

  std::string end_of(const step& of) const {
    if (of.extent == 0) return "destroys " + name_of_cell(of);
    const std::string text = "deletes " + std::to_string(of.extent) + " bytes";
    return names_.contains(of.cell) ? text + ", from " + name_of_cell(of) : text;
  }

  std::string summary(const step& of) const {
    const std::string order = order_of(of);
    switch (of.kind) {
      case step_kind::load:
        return name_of_cell(of) + " -> " + value_of(of.before, of.type) + order;
      case step_kind::store:
        return name_of_cell(of) + " = " + value_of(of.after, of.type) + order;
      case step_kind::change:
      case step_kind::exchanged:
        return name_of_cell(of) + ": " + value_of(of.before, of.type) + " -> " + value_of(of.after, of.type) + order;
      case step_kind::not_exchanged:
        return name_of_cell(of) + ": is " + value_of(of.before, of.type) + ", not exchanged" + order;
      case step_kind::read:
        return name_of_cell(of) + " -> " + value_of(of.before, of.type) + " (plain)";
      case step_kind::end:
        return end_of(of);
      case step_kind::write:
        return name_of_cell(of) + " = " + (of.is_open ? "..." : value_of(of.after, of.type)) + " (plain)";
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

  /// Of the step in which a thread has failed: it has no outcome.
  std::string attempt(const step& of) const {
    switch (of.kind) {
      case step_kind::read:
        return "reads " + name_of_cell(of);
      case step_kind::write:
        return name_of_cell(of) + " = " + (of.is_open ? "..." : value_of(of.after, of.type)) + " (plain)";
      case step_kind::end:
        return end_of(of);
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
  static bool reads(const step& of) {
    return of.kind == step_kind::read || of.kind == step_kind::load || of.kind == step_kind::change ||
           of.kind == step_kind::exchanged || of.kind == step_kind::not_exchanged;
  }
  static bool overlap(const step& one, const step& other) {
    if (one.cell == other.cell) return one.cell != nullptr;
    const auto begin = [](const step& of) { return reinterpret_cast<std::uintptr_t>(of.cell); };
    return begin(one) < begin(other) + other.extent && begin(other) < begin(one) + one.extent;
  }

  bool has_not_happened(std::size_t index) const { return index + 1 == steps_.size() && failed.in_last_step; }

  std::size_t row_of_store(std::uint32_t number) const {
    const auto found = row_of_store_.find(number);
    return found == row_of_store_.end() ? 0 : found->second;
  }

  row row_of(std::size_t index) const {
    const step& of = *steps_[index];
    row made{.kind = of.kind, .in = of.in, .thread = of.thread, .text = "", .at = of.at};
    if (has_not_happened(index)) {
      made.text = attempt(of);
      made.fails = found_.what != "DEADLOCK" && !is_told();
      return made;
    }
    made.text = summary(of);
    made.reads = reads(of);
    if (!made.reads) return made;
    made.is_old = of.from != of.newest;
    made.from = row_of_store(of.from);
    made.newest = row_of_store(of.newest);
    made.is_aba = of.kind == step_kind::exchanged && is_aba(index);
    return made;
  }

  // ---- the race ----

  /// Of a data race the last step is the second access. The first one is the latest that its thread has not seen.
  void find_race() {
    if (found_.what != "DATA RACE" || steps_.empty()) return;
    const std::size_t second = steps_.size() - 1;
    const record::intent& intent = running.steps.intents[failed.thread];
    for (std::size_t i = second; i-- > 0;) {
      const step& first = *steps_[i];
      if (!overlap(first, *steps_[second]) || first.thread == failed.thread) continue;
      if (!writes(first) && !writes(*steps_[second])) continue;
      if (is_atomic(first) && is_atomic(*steps_[second])) continue;
      if (first.stamp <= intent.clock[first.thread]) continue;
      told_.rows[i].is_racing = told_.rows[second].is_racing = true;
      return;
    }
  }

  // ---- the end ----

  /// Whether a text says why the execution has failed.
  bool is_told() const {
    if (failed.text == nullptr) return false;
    return found_.what == "USER ASSERT FAILED" || (found_.what == "ACCESS TO FREED MEMORY" && !failed.in_last_step);
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
    const std::size_t done = steps_.size() - (failed.in_last_step ? 1 : 0);
    for (std::size_t i = 0; i < done; ++i) {
      const step& each = *steps_[i];
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
    if (failed.in_last_step && steps_.back()->thread == thread) last = steps_.back();
    if (last == nullptr || !locks(*last)) return nullptr;
    return last->cell;
  }

  /// Who sleeps or waits at the end of a deadlock, and for what.
  void tell_stuck() {
    for (unsigned thread = 0; thread < played_.threads; ++thread) {
      const std::string name = "thread " + std::to_string(thread);
      if (const void* const mutex = waits_for(thread)) {
        std::string text = name + " waits for " + name_of_mutex(mutex);
        for (const lock_held& each : held()) {
          if (each.mutex != mutex) continue;
          text += ", which thread " + std::to_string(each.thread) + " has locked in row " + std::to_string(each.row);
        }
        told_.ends.push_back(text);
        continue;
      }
      std::size_t last = steps_.size();
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        if (steps_[i]->thread == thread) last = i;
      }
      if (last == steps_.size() || steps_[last]->kind != step_kind::sleep) continue;
      told_.rows[last].is_asleep = true;
      told_.ends.push_back(name + " sleeps on " + name_of_cell(*steps_[last]) + " since row " +
                           std::to_string(last + 1) + ", and nobody wakes it");
    }
  }

  void tell_locked() {
    for (const lock_held& each : held())
      told_.ends.push_back(name_of_mutex(each.mutex) + " is destroyed, and thread " + std::to_string(each.thread) +
                           " has locked it in row " + std::to_string(each.row));
  }

  /// Where what is used was destroyed, if that is a step.
  void tell_destroyed() {
    for (std::size_t i = steps_.size(); i-- > 0;) {
      const step& each = *steps_[i];
      const bool is_it = failed.in_last_step ? overlap(each, *steps_.back()) : each.cell == failed.cell;
      if (each.kind != step_kind::end || !is_it) continue;
      const std::string name = name_of_place(failed.in_last_step ? steps_.back()->cell : failed.cell, "this memory");
      told_.ends.push_back(name + " was destroyed in row " + std::to_string(i + 1));
      return;
    }
  }

  const entry& played_;
  const outcome& found_;
  told_execution told_;
  std::vector<const step*> steps_;
  std::map<std::uint32_t, std::size_t> row_of_store_;
  std::map<const void*, std::string> names_;
  std::map<std::tuple<std::string_view, unsigned, unsigned>, std::size_t> locked_at_;  // how many mutexes
  std::map<std::string, unsigned> uses_of_name_;
  std::map<std::uint64_t, std::size_t> objects_;  // to which pointers point, with their numbers
};

}  // namespace

told_execution tell(const entry& played, const outcome& found) { return teller{played, found}.tell(); }

}  // namespace tidemark::verify::runner
