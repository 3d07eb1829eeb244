// SPDX-License-Identifier: BSL-1.0
//
// What is being done, on standard error: one line that is written over on a terminal, and lines elsewhere.
#ifndef TIDEMARK_VERIFY_RUNNER_PROGRESS_HPP
#define TIDEMARK_VERIFY_RUNNER_PROGRESS_HPP

#include <cstddef>
#include <ctime>
#include <string>

namespace tidemark::verify::runner {

/// Shows progress if standard error is a terminal, or if that is asked for.
void begin_progress(bool is_asked_for);

/// Shows how far the whole is. Elsewhere than on a terminal each text is a line.
void show_progress(const std::string& text);

/// What is searched now, to be shown with the number of its executions if it takes long.
void name_search(const char* check, const std::string& search);

/// Is called each second, by a signal.
void show_search();

/// Shows nothing any more: for a process beside the one that does.
void forget_progress();

/// Clears the line of a terminal, for something else.
void hide_progress();

/// How long the rest will take, from the mean so far.
class time_left {
 public:
  /// `all` parts are to be done.
  explicit time_left(std::size_t all) : all_{all} {}
  void part_is_done() { ++done_; }
  /// It was known before, and took no time.
  void part_is_left_out() { --all_; }
  /// In words; empty before the first part is done.
  std::string text() const;

 private:
  std::size_t all_;
  std::size_t done_ = 0;
  std::time_t began_ = std::time(nullptr);
};

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_PROGRESS_HPP
