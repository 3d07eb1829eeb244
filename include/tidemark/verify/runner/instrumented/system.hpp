// SPDX-License-Identifier: BSL-1.0
//
// What code that can't be changed asks of the system and the C++ runtime. Locks and sleeping are the checker's; what
// can't be followed ends the execution as failed and says so.
#ifndef TIDEMARK_VERIFY_RUNNER_SYSTEM_HPP
#define TIDEMARK_VERIFY_RUNNER_SYSTEM_HPP

namespace tidemark::verify::runner {

/// Returns why no execution of this program can be followed, or null.
const char* refusal_of_program();

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_SYSTEM_HPP
