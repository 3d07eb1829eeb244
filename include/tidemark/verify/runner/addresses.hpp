// SPDX-License-Identifier: BSL-1.0
//
// Where in the source an address of the program's code is: for positions that say nothing else.
#ifndef TIDEMARK_VERIFY_RUNNER_ADDRESSES_HPP
#define TIDEMARK_VERIFY_RUNNER_ADDRESSES_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../engine.hpp"

namespace tidemark::verify::runner {

/// Looks up addresses to which calls return; null ones are left out. Not in an execution: it allocates. Needs addr2line
/// of the binutils and debug information (-g1).
void find_addresses(const std::vector<const void*>& addresses);

/// Returns the position with what was found of its address, or as it is. Of calls that were inlined into each other it
/// is the innermost one that is neither of the kit nor of the standard library. There is no column.
source_position located(const source_position& at);

/// The address to which a call returns whose instruction has this address in the program's file.
const void* return_address_of(std::uintptr_t in_file);

/// The path of the program's file, in quotes for a shell; empty if it can't be found.
std::string quoted_path_of_program();

/// Runs a command, and passes each line that it prints. Returns whether it has succeeded.
bool for_each_line(const std::string& command, const std::function<void(std::string_view)>& use);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_ADDRESSES_HPP
