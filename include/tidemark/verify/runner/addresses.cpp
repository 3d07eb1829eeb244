// SPDX-License-Identifier: BSL-1.0
#include "addresses.hpp"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <system_error>

namespace tidemark::verify::runner {
namespace {

struct place {
  const char* file;
  unsigned line;
};
std::map<const void*, place> known;

// Positions point to these for as long as the program runs.
const char* kept(const std::string& file) {
  static std::set<std::string> files;
  return files.insert(file).first->c_str();
}

/// By how much the program's addresses differ from those of its file.
std::uintptr_t displacement() {
  std::uintptr_t found = 0;
  const auto first = [](dl_phdr_info* program, std::size_t, void* result) {
    *static_cast<std::uintptr_t*>(result) = program->dlpi_addr;
    return 1;  // the program itself comes first
  };
  dl_iterate_phdr(first, &found);
  return found;
}

bool is_of_others(std::string_view file) {
  return file.find("/c++/") != std::string_view::npos || file.find("/bits/") != std::string_view::npos ||
         file.find("tidemark/verify/") != std::string_view::npos;
}

/// Reads `FILE:LINE`, perhaps with more behind it; line 0 if it is something else.
place place_of(std::string_view text) {
  text = text.substr(0, text.find(" (discriminator"));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {"", 0};
  const auto line = static_cast<unsigned>(strtoul(std::string{text.substr(colon + 1)}.c_str(), nullptr, 10));
  if (line == 0) return {"", 0};
  return {kept(std::string{text.substr(0, colon)}), line};
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

/// Reads a line for each address, and behind it one for each call that was inlined there, the innermost first.
class place_reader {
 public:
  explicit place_reader(const std::vector<const void*>& asked) : asked_{asked} {}

  void operator()(std::string_view line) {
    if (line.starts_with("0x")) {
      ++answers_;
    } else if (answers_ != 0 && answers_ <= asked_.size()) {
      place& so_far = known[asked_[answers_ - 1]];
      const place found = place_of(line);
      if (found.line == 0) return;
      if (so_far.line == 0 || (is_of_others(so_far.file) && !is_of_others(found.file))) so_far = found;
    }
  }

 private:
  const std::vector<const void*>& asked_;
  std::size_t answers_ = 0;
};

}  // namespace

bool for_each_line(const std::string& command, const std::function<void(std::string_view)>& use) {
  FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) return false;
  char* line = nullptr;
  std::size_t capacity = 0;
  for (ssize_t size = 0; (size = getline(&line, &capacity, output)) > 0;) {
    std::string_view text{line, static_cast<std::size_t>(size)};
    if (text.ends_with('\n')) text.remove_suffix(1);
    use(text);
  }
  ::free(line);
  return pclose(output) == 0;
}

std::string quoted_path_of_program() {
  std::error_code unreadable;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", unreadable).string();
  return unreadable ? "" : "'" + path + "'";
}

const void* return_address_of(std::uintptr_t in_file) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number of the program's file
  return reinterpret_cast<const void*>(in_file + displacement() + 1);
}

void find_addresses(const std::vector<const void*>& addresses) {
  std::set<const void*> missing;
  for (const void* each : addresses) {
    if (each != nullptr && known.find(each) == known.end()) missing.insert(each);
  }
  const std::string program = quoted_path_of_program();
  const temporary_file list;
  if (missing.empty() || program.empty() || list.path().empty()) return;
  const std::vector<const void*> asked{missing.begin(), missing.end()};
  std::ofstream listed{list.path()};
  for (const void* each : asked) {
    known[each] = {"", 0};
    // The call is before the address to which it returns.
    listed << std::hex << reinterpret_cast<std::uintptr_t>(each) - displacement() - 1 << "\n";
  }
  listed.close();
  const std::string command = "addr2line -a -i -e " + program + " <'" + list.path() + "' 2>/dev/null";
  if (!for_each_line(command, place_reader{asked}))
    fputs("tidemark: addr2line of the binutils is needed for the lines of this program\n", stderr);
}

source_position located(const source_position& at) {
  const auto found = known.find(at.address);
  if (at.address == nullptr || at.line != 0 || found == known.end()) return at;
  source_position result = at;
  result.file = found->second.file;
  result.line = found->second.line;
  return result;
}

}  // namespace tidemark::verify::runner
