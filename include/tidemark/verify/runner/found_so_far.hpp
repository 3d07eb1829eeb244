// SPDX-License-Identifier: BSL-1.0
//
// What an audit has found so far, in a file, so that one that was interrupted can go on.
#ifndef TIDEMARK_VERIFY_RUNNER_FOUND_SO_FAR_HPP
#define TIDEMARK_VERIFY_RUNNER_FOUND_SO_FAR_HPP

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "audit.hpp"

namespace tidemark::verify::runner {

class found_so_far {
 public:
  /// Reads the file, if it belongs to this program, these checks and these limits. Otherwise it begins anew, with a
  /// message if there was something. Returns what is wrong: a file that is something else, or that can't be written.
  std::string open(const std::string& path, const std::vector<const entry*>& checks, const limits& allowed);

  /// Fills in what is known of a step. Returns whether it is.
  bool recall(const audited_site& site, audited_step& step) const;
  /// Writes it down, if there is a file. That is replaced as a whole, so that it is never half written.
  void keep(const audited_site& site, const audited_step& step);

  /// The same for what another process has found, whose line this is.
  static std::string line_of(const audited_site& site, const audited_step& step);
  void keep_line(const std::string& line);

 private:
  void read_steps(std::istream& file);
  void read_line(const std::string& line);
  bool write() const;

  std::string path_;
  std::string header_;
  std::map<std::string, std::string> steps_;  // as they stand in the file
};

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_FOUND_SO_FAR_HPP
