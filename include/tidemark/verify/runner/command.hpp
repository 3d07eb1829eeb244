// SPDX-License-Identifier: BSL-1.0
//
// The command line of a program of checks.
#ifndef TIDEMARK_VERIFY_RUNNER_COMMAND_HPP
#define TIDEMARK_VERIFY_RUNNER_COMMAND_HPP

#include <optional>
#include <string>
#include <vector>

namespace tidemark::verify::runner {

struct command {
  std::string program;  // as it was called
  std::vector<std::string> names;
  std::string search;  // empty: one after the other
  std::vector<std::string> weaken;
  std::string place;  // FILE:LINE of the table that wants it
  std::vector<std::string> sources;
  std::vector<std::string> only;
  std::string json;
  std::string reviewed;
  std::string resume;
  std::string checks;
  std::string twins;
  std::string lines;
  std::string form;
  std::string store;
  std::string replay;
  std::string page;
  unsigned long executions = 200'000;
  unsigned bound = 2;
  unsigned most_steps = 2000;
  unsigned patience = 60;
  double seconds = 5;
  unsigned width = 100;
  unsigned jobs = 0;  // processes; 0: one for each processor
  bool help = false;
  bool list = false;
  bool list_tests = false;
  bool expect_failure = false;
  bool table = false;
  bool sites = false;
  bool audit = false;
  bool progress = false;
};

extern const char* const usage;

/// Nothing if it makes no sense; then it has been said why. Sets whether the seam is blind.
std::optional<command> parse(int argc, char** argv);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_COMMAND_HPP
