// SPDX-License-Identifier: BSL-1.0
#include "written.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "addresses.hpp"

namespace tidemark::verify::runner {
namespace {

// What is called for an operation. Where the optimizer has not put the members of atomic into the checked code, it
// calls those; otherwise it calls what they call. Code that is not written for the checker calls the last ones.
constexpr std::array<std::string_view, 6> callees{"<tidemark::verify::engine::word::",
                                                  "<tidemark::verify::engine::thread_fence(",
                                                  "<tidemark::verify::engine::at_barrier(",
                                                  "<tidemark::verify::thread_fence(",
                                                  "<tidemark::verify::atomic<",
                                                  "<__tsan_atomic"};
constexpr std::array<std::string_view, 10> members{
    "::load(", "::store(", "::exchange(", "::fetch_",      "::compare_exchange_",
    "::wait(", "_load>",   "_store>",     "_exchange_val", "_thread_fence>"};

bool calls_operation(std::string_view instruction) {
  if (instruction.find("call") == std::string_view::npos && instruction.find("jmp") == std::string_view::npos &&
      instruction.find("\tb") == std::string_view::npos)
    return false;
  if (instruction.find("+0x") != std::string_view::npos) return false;  // a jump within a function
  for (const std::string_view callee : callees) {
    const std::size_t at = instruction.find(callee);
    if (at == std::string_view::npos) continue;
    if (callee.ends_with('(')) return true;
    for (const std::string_view member : members) {
      if (instruction.find(member, at) != std::string_view::npos) return true;
    }
  }
  return false;
}

/// The addresses to which the operations return.
std::vector<const void*> find_operations(const std::string& program) {
  std::vector<const void*> found;
  for_each_line("objdump -d -C --no-show-raw-insn " + program + " 2>/dev/null", [&](std::string_view line) {
    if (!calls_operation(line)) return;
    const std::string address{line.substr(0, line.find(':'))};
    found.push_back(return_address_of(static_cast<std::uintptr_t>(std::strtoull(address.c_str(), nullptr, 16))));
  });
  return found;
}

}  // namespace

std::vector<written_line> written_lines() {
  const std::string program = quoted_path_of_program();
  if (program.empty()) return {};
  const std::vector<const void*> operations = find_operations(program);
  find_addresses(operations);
  std::vector<written_line> lines;
  for (const void* each : operations) {
    const source_position at = located(source_position::of_address(each));
    const bool is_of_kit = std::string_view{at.file}.find("/tidemark/verify/") != std::string_view::npos;
    if (at.line != 0 && !is_of_kit) lines.push_back({at.file, at.line});
  }
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

}  // namespace tidemark::verify::runner
