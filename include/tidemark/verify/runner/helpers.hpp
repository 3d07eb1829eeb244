// SPDX-License-Identifier: BSL-1.0
//
// Processes that do parts of a work at the same time. A search can't have threads: all of its state is the program's.
#ifndef TIDEMARK_VERIFY_RUNNER_HELPERS_HPP
#define TIDEMARK_VERIFY_RUNNER_HELPERS_HPP

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tidemark::verify::runner {

class helpers {
 public:
  helpers() = default;
  helpers(const helpers&) = delete;
  helpers& operator=(const helpers&) = delete;
  /// Waits until all have ended.
  ~helpers();

  /// Starts up to `count` processes, copies of this one. Each calls `work` with parts that no other one has begun,
  /// until there are no more. If one can't be started, or ends before its time, the parts that nobody has told of are
  /// left.
  void start(unsigned count, unsigned parts, const std::function<void(unsigned part)>& work);
  bool have_started() const { return !started_.empty(); }

  /// In such a process: tells the one that has started it. Leaves out what is longer than a pipe takes in one piece.
  void tell(const std::string& line) const;

  /// Ends them all.
  void stop();

  /// What one of them has told next, after a wait; nothing once all have ended.
  std::optional<std::string> next_line();

 private:
  std::vector<pid_t> started_;
  int from_them_ = -1;
  int to_starter_ = -1;
  std::string read_;  // and not yet returned
};

/// How many processors this process may use.
unsigned processors();

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_HELPERS_HPP
