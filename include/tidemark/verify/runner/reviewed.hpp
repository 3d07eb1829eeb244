// SPDX-License-Identifier: BSL-1.0
//
// The reviewed list: weakenings that no check notices, each with the reason why that is right.
#ifndef TIDEMARK_VERIFY_RUNNER_REVIEWED_HPP
#define TIDEMARK_VERIFY_RUNNER_REVIEWED_HPP

#include <set>
#include <string>
#include <vector>

#include "audit.hpp"

namespace tidemark::verify::runner {

/// A line of the file is a key, as the audit prints it. The indented lines below it are its reason. A line that begins
/// with `#` is a comment.
class reviewed_list {
 public:
  /// Returns what is wrong with the file; empty if nothing is.
  std::string read(const std::string& path);

  /// Gives their reasons to weakenings that no check has noticed, and notes who is named.
  void apply_to(audited_site& site);
  void apply_to(unexecuted_line& line);

  /// Adds to the result what the list has too much: entries whose weakening is needed after all, and, if all checks
  /// were played, those that name nothing. Files of these names were not asked for.
  void complain(audit_result& result, bool is_whole, const std::set<std::string>& left_out) const;

 private:
  struct entry {
    std::string key;
    std::string reason;
    unsigned line = 0;
    bool excuses = false;    // a weakening that no check has noticed
    std::string noticed_by;  // a check that notices one of that key
  };

  entry* find(const std::string& key);
  /// The step's own, or, unless it is needed, that of the same order relaxed.
  entry* find_for(const audited_site& site, const audited_step& step);
  std::string place_of(const entry& its) const;

  std::string path_;
  std::vector<entry> entries_;
};

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_REVIEWED_HPP
