// SPDX-License-Identifier: BSL-1.0
#include "written.hpp"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string_view>
#include <system_error>

#include "execution.hpp"

namespace tidemark::verify::runner {
namespace {

// What is called for an operation. Where the optimizer has not put the members of atomic into the checked code, it
// calls those; otherwise it calls what they call.
constexpr std::array<std::string_view, 5> callees{
    "<tidemark::verify::engine::word::", "<tidemark::verify::engine::thread_fence(",
    "<tidemark::verify::engine::at_barrier(", "<tidemark::verify::thread_fence(", "<tidemark::verify::atomic<"};
constexpr std::array<std::string_view, 6> members{
    "::load(", "::store(", "::exchange(", "::fetch_", "::compare_exchange_", "::wait("};

void for_each_line(const std::string& command, const std::function<void(std::string_view)>& use) {
  FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return;
  char* line = nullptr;
  std::size_t capacity = 0;
  for (ssize_t size = 0; (size = getline(&line, &capacity, output)) > 0;) {
    std::string_view text{line, static_cast<std::size_t>(size)};
    if (text.ends_with('\n')) text.remove_suffix(1);
    use(text);
  }
  ::free(line);
  pclose(output);
}

bool is_operation(std::string_view instruction) {
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

/// Adds the place of an instruction: its innermost frame outside of the kit.
void add_place(std::string_view frame, bool& found, std::vector<written_line>& lines) {
  if (found || frame.find("/tidemark/verify/") != std::string_view::npos) return;
  const std::size_t colon = frame.rfind(':');
  if (colon == std::string_view::npos) return;
  const unsigned line = static_cast<unsigned>(std::strtoul(std::string{frame.substr(colon + 1)}.c_str(), nullptr, 10));
  if (line == 0) return;
  found = true;
  lines.push_back({std::string{frame.substr(0, colon)}, line});
}

/// A file that goes away with this.
class temporary_file {
 public:
  temporary_file() {
    char name[] = "/tmp/tidemark_XXXXXX";
    const int descriptor = mkstemp(name);
    if (descriptor < 0) return;
    close(descriptor);
    path_ = name;
  }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string path_of_program(std::error_code& unreadable) {
  return "'" + std::filesystem::read_symlink("/proc/self/exe", unreadable).string() + "'";
}

/// By how much the program's addresses differ from those of its file.
std::uintptr_t displacement() {
  std::uintptr_t found = 0;
  const auto first = [](dl_phdr_info* program, std::size_t, void* result) {
    *static_cast<std::uintptr_t*>(result) = program->dlpi_addr;
    return 1;
  };
  dl_iterate_phdr(first, &found);
  return found;
}

}  // namespace

std::vector<written_line> written_lines() {
  std::error_code unreadable;
  const std::string program = path_of_program(unreadable);
  const temporary_file addresses;
  if (unreadable || addresses.path().empty()) return {};
  std::ofstream list{addresses.path()};
  for_each_line("objdump -d -C --no-show-raw-insn " + program + " 2>/dev/null", [&](std::string_view line) {
    if (!is_operation(line)) return;
    const std::size_t begin = line.find_first_not_of(' ');
    list << line.substr(begin, line.find(':') - begin) << "\n";
  });
  list.close();
  std::vector<written_line> lines;
  bool found = false;
  const std::string place = "addr2line -a -i -e " + program + " <'" + addresses.path() + "' 2>/dev/null";
  for_each_line(place, [&](std::string_view line) {
    if (line.starts_with("0x")) {
      found = false;
    } else {
      add_place(line, found, lines);
    }
  });
  std::sort(lines.begin(), lines.end());
  lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
  return lines;
}

void find_lines_of_callers() {
  static std::set<std::string> files;  // to which the positions point
  std::error_code unreadable;
  const std::string program = path_of_program(unreadable);
  const temporary_file addresses;
  if (unreadable || addresses.path().empty()) return;
  std::ofstream list{addresses.path()};
  std::vector<source_position*> asked;
  for (std::size_t i = 0; i < running.steps.size(); ++i) {
    source_position& at = running.steps.begin_of_steps()[i].at;
    if (at.caller == nullptr || at.line != 0) continue;
    asked.push_back(&at);
    // The call is before the address to which it returns.
    list << std::hex << reinterpret_cast<std::uintptr_t>(at.caller) - displacement() - 1 << "\n";
  }
  list.close();
  if (asked.empty()) return;
  std::size_t answers = 0;
  bool found = false;
  std::vector<written_line> lines;
  const std::string place = "addr2line -a -i -e " + program + " <'" + addresses.path() + "' 2>/dev/null";
  for_each_line(place, [&](std::string_view line) {
    const bool known = found;
    if (line.starts_with("0x")) {
      found = false;
      ++answers;
      return;
    }
    add_place(line, found, lines);
    if (known || !found || answers > asked.size()) return;
    asked[answers - 1]->file = files.insert(lines.back().file).first->c_str();
    asked[answers - 1]->line = lines.back().line;
  });
}

}  // namespace tidemark::verify::runner
