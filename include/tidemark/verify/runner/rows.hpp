// SPDX-License-Identifier: BSL-1.0
//
// A failing execution, told in rows: what each thread did, step by step. All that shows an execution prints these.
#ifndef TIDEMARK_VERIFY_RUNNER_ROWS_HPP
#define TIDEMARK_VERIFY_RUNNER_ROWS_HPP

#include <cstddef>
#include <string>
#include <vector>

#include "execution.hpp"
#include "search.hpp"
#include "sources.hpp"

namespace tidemark::verify::runner {

/// One step. The first row is row 1; 0 stands for what was there at the start.
struct row {
  step_kind kind;
  phase in;
  unsigned thread;
  std::string text;  // what the thread does, and the value; not where the value comes from
  source_position at;
  bool reads = false;      // a value, which comes from a store:
  bool is_old = false;     // it is not the newest one
  std::size_t from = 0;    // its row
  std::size_t newest = 0;  // and that of the newest one
  bool is_aba = false;     // a compare-exchange that succeeds although the value has changed since it was read
  bool is_racing = false;  // one of the two accesses of a data race
  bool fails = false;      // the execution ends here, and no assertion says why
  bool is_asleep = false;  // at the end, and nobody wakes the thread
};

struct told_execution {
  std::string check;
  std::string what;  // has happened, as Relacy calls it
  unsigned threads = 0;
  std::vector<row> rows;
  std::string assertion;          // of the program: why the execution has failed; empty if it has none
  source_position asserted_at{};  // no file: in the last row
  unsigned failing_thread = 0;
  std::vector<std::string> ends;  // who sleeps or waits at the end, and for what; which mutex is still locked
  sources texts;
};

/// Tells the execution that has just been repeated and recorded.
told_execution tell(const entry& played, const outcome& found);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_ROWS_HPP
