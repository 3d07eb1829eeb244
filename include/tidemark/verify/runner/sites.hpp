// SPDX-License-Identifier: BSL-1.0
//
// The sites of memory orders: those that were executed, and the one that is to be weakened.
#ifndef TIDEMARK_VERIFY_RUNNER_SITES_HPP
#define TIDEMARK_VERIFY_RUNNER_SITES_HPP

#include <ostream>
#include <string>
#include <vector>

#include "seam.hpp"

namespace tidemark::verify::runner {

/// Sets the seam to SITE=HOW. A site is FILE:LINE:COLUMN, or the number of an ordering comment, `// (F2): ...`, which
/// is looked for in the folders. Returns false if there is no such site or no such order.
bool weaken(const std::string& how_of_site, const std::vector<std::string>& folders);

/// A site that was executed.
struct executed_site {
  source_position at;
  operation what;
  std::memory_order order;
  std::memory_order failure;  // of a compare-exchange
  bool beside_others;         // not only while one thread runs alone
};

/// From now on notes every site that is executed, each once.
void note_sites();
/// They have positions in the source, so that several may have the same.
std::vector<executed_site> noted_sites();
/// The addresses of what was executed at this position, for the seam.
std::vector<const void*> addresses_at(const std::string& file, unsigned line, unsigned column);
void forget_sites();
void print_sites(std::ostream& out);

const char* name_of(operation what);
const char* name_of(std::memory_order order);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_SITES_HPP
