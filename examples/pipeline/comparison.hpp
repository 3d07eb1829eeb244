// SPDX-License-Identifier: BSL-1.0
// What the program measures of both kinds of fence, and the table that it prints of it. The verdicts follow from the
// ranges alone: where they overlap, there is no difference, whatever the medians say.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace pipeline {

/// How long the same thing took each time, in seconds.
class repetitions {
 public:
  void add(double seconds) { seconds_.insert(std::upper_bound(seconds_.begin(), seconds_.end(), seconds), seconds); }

  [[nodiscard]] std::size_t count() const { return seconds_.size(); }
  [[nodiscard]] double least() const { return seconds_.front(); }
  [[nodiscard]] double greatest() const { return seconds_.back(); }
  [[nodiscard]] double median() const {
    return (seconds_[(seconds_.size() - 1) / 2] + seconds_[seconds_.size() / 2]) / 2;
  }

 private:
  std::vector<double> seconds_;  // in ascending order
};

/// A row of the table. Less time is better in each.
struct comparison {
  std::string row;
  repetitions tidemark{};
  repetitions peer{};
  std::string not_measured{};  // why, if so
};

enum class verdict { faster, no_difference, slower, too_few_rounds };

/// The range of fewer rounds says nothing.
inline constexpr std::size_t least_rounds = 3;

[[nodiscard]] inline verdict judge(const comparison& compared) {
  if (compared.tidemark.count() < least_rounds || compared.peer.count() < least_rounds) return verdict::too_few_rounds;
  if (compared.tidemark.greatest() < compared.peer.least()) return verdict::faster;
  if (compared.tidemark.least() > compared.peer.greatest()) return verdict::slower;
  return verdict::no_difference;
}

/// Runs both sides `rounds` times, taking turns, and each of them first in every other round.
template <class Tidemark, class Peer>
void take_turns(std::size_t rounds, const Tidemark& tidemark, const Peer& peer) {
  for (std::size_t round = 0; round < rounds; ++round) {
    if (round % 2 == 0) tidemark();
    peer();
    if (round % 2 != 0) tidemark();
  }
}

/// Calls `measure`. If the system has no threads left, say, the rows stay and tell so.
template <class Measure>
void measure_or_say_why(const std::vector<comparison*>& rows, const Measure& measure) {
  try {
    measure();
  } catch (const std::system_error& error) {
    for (comparison* row : rows) row->not_measured = error.what();
  }
}

/// Three significant digits and a unit: "1.23 us".
[[nodiscard]] inline std::string time_text(double seconds) {
  static constexpr std::pair<double, const char*> units[] = {{1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
  std::size_t unit = 0;
  while (unit + 1 < std::size(units) && seconds >= 999.5 * units[unit].first) ++unit;
  const double number = seconds / units[unit].first;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", number < 9.995 ? 2 : number < 99.95 ? 1 : 0, number, units[unit].second);
  return text;
}

[[nodiscard]] inline std::string range_text(const repetitions& times) {
  return time_text(times.median()) + " (" + time_text(times.least()) + " to " + time_text(times.greatest()) + ")";
}

/// "1.2", "12", "120", "1,200,000": no more digits than such a ratio has.
[[nodiscard]] inline std::string ratio_text(double ratio) {
  double step = ratio < 9.95 ? 0.1 : 1;
  while (ratio / step >= 99.5) step *= 10;
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.*f", step < 1 ? 1 : 0, std::round(ratio / step) * step);
  std::string text = digits;
  if (step < 1) return text;
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

[[nodiscard]] inline std::string verdict_text(const comparison& compared) {
  const double ratio = compared.peer.median() / compared.tidemark.median();
  switch (judge(compared)) {
    case verdict::faster:
      return ratio_text(ratio) + " times as fast";
    case verdict::slower:
      return "slower: " + ratio_text(1 / ratio) + " times the time";
    case verdict::too_few_rounds:
      return "- (too few rounds)";
    case verdict::no_difference:
      break;
  }
  return "no difference";
}

inline void print_row(const std::string& row, const std::string& tidemark, const std::string& peer,
                      const std::string& result) {
  std::printf("%-39s %-31s %-31s %s\n", row.c_str(), tidemark.c_str(), peer.c_str(), result.c_str());
}

/// The table, and a last line that counts the verdicts.
inline void print_table(const std::vector<comparison>& rows) {
  print_row("time: median (least to greatest)", "tidemark", "mutex and condition variable", "tidemark is");
  for (const comparison& row : rows) {
    if (!row.not_measured.empty()) {
      std::printf("%-39s not measured: %s\n", row.row.c_str(), row.not_measured.c_str());
    } else {
      print_row(row.row, range_text(row.tidemark), range_text(row.peer), verdict_text(row));
    }
  }
  std::size_t count[4] = {};
  for (const comparison& row : rows) {
    if (row.not_measured.empty()) ++count[static_cast<std::size_t>(judge(row))];
  }
  std::printf("tidemark is faster in %zu of %zu rows, slower in %zu; in %zu the ranges overlap\n",
              count[static_cast<std::size_t>(verdict::faster)], rows.size(),
              count[static_cast<std::size_t>(verdict::slower)],
              count[static_cast<std::size_t>(verdict::no_difference)]);
}

}  // namespace pipeline
