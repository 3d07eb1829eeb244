// SPDX-License-Identifier: BSL-1.0
#include "sites.hpp"

#include <regex.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>

#include "addresses.hpp"
#include "execution.hpp"

namespace tidemark::verify::runner {
namespace {

/// An extended regular expression of the C library: std::regex would take most of the time to compile this.
class pattern {
 public:
  explicit pattern(const char* text) { valid_ = regcomp(&compiled_, text, REG_EXTENDED) == 0; }
  pattern(const pattern&) = delete;
  pattern& operator=(const pattern&) = delete;
  ~pattern() {
    if (valid_) regfree(&compiled_);
  }

  /// The whole match and its groups, or nothing.
  std::optional<std::array<std::string, 4>> find_in(const std::string& text) const {
    std::array<regmatch_t, 4> found;
    if (!valid_ || regexec(&compiled_, text.c_str(), found.size(), found.data(), 0) != 0) return std::nullopt;
    std::array<std::string, 4> parts;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (found[i].rm_so < 0) continue;
      parts[i] = text.substr(static_cast<std::size_t>(found[i].rm_so),
                             static_cast<std::size_t>(found[i].rm_eo - found[i].rm_so));
    }
    return parts;
  }

 private:
  regex_t compiled_;
  bool valid_;
};

/// Sets the seam to the operation to which the ordering comment `tag` belongs: the first one at or after it.
bool find_site_in(const std::filesystem::path& path, const std::string& tag) {
  static const pattern operation{
      "([.]|->|::)(load[a-z_]*|is_below|is_at_most|store|exchange|compare_exchange_[a-z]+|fetch_[a-z]+|[a-z]+_barrier|"
      "[a-z]+_fence)[(]"};
  std::ifstream source{path};
  std::string line;
  bool tagged = false;
  for (unsigned number = 1; std::getline(source, line); ++number) {
    tagged = tagged || line.find("// (" + tag + "):") != std::string::npos;
    const std::string code = line.substr(0, line.find("//"));
    if (!tagged || !operation.find_in(code)) continue;
    seam.file = path.filename().string();
    seam.line = number;
    return true;
  }
  return false;
}

bool find_site(const std::string& tag, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code unreadable;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder, unreadable)) {
      const std::filesystem::path ending = each.path().extension();
      if ((ending == ".hpp" || ending == ".h" || ending == ".cpp") && find_site_in(each.path(), tag)) return true;
    }
  }
  return false;
}

/// Reads a site as print_sites() prints it.
bool parse_site(const std::string& position) {
  const auto parts = pattern{"^(.+[^0-9:]):([0-9]+)(:[0-9]+)?$"}.find_in(position);
  if (!parts) return false;
  seam.file = (*parts)[1];
  seam.line = static_cast<unsigned>(std::strtoul((*parts)[2].c_str(), nullptr, 10));
  // Without a column it is any of the line.
  seam.column = (*parts)[3].empty() ? 0 : static_cast<unsigned>(std::strtoul((*parts)[3].c_str() + 1, nullptr, 10));
  return true;
}

bool parse_change(std::string how) {
  seam.how = weakening::order;
  if (how.starts_with("failure:")) {
    seam.how = weakening::failure_order;
    how.erase(0, 8);
  }
  if (how == "removed") {
    seam.how = weakening::removed;
  } else if (how == "own_thread") {
    seam.how = weakening::own_thread;
  } else if (how == "spurious") {
    seam.how = weakening::spurious;
  } else if (how == "relaxed") {
    seam.to = std::memory_order_relaxed;
  } else if (how == "acquire") {
    seam.to = std::memory_order_acquire;
  } else if (how == "release") {
    seam.to = std::memory_order_release;
  } else if (how == "acq_rel") {
    seam.to = std::memory_order_acq_rel;
  } else {
    return false;
  }
  return true;
}

// ---- what was executed ----------------------------------------------------------------------------------------------

// Not a vector: an observer must not allocate by operator new.
executed_site* noted = nullptr;
std::size_t noted_count = 0;
std::size_t noted_capacity = 0;

void note(const source_position& at, operation what, std::memory_order order, std::memory_order failure) {
  const bool beside_others = running.now == phase::threads;
  if (at.column == 0 && at.address == nullptr) return;  // an order that is not the user's
  for (std::size_t i = 0; i < noted_count; ++i) {
    executed_site& known = noted[i];
    if (known.at.address == at.address && known.at.line == at.line && known.at.column == at.column &&
        known.order == order && known.failure == failure && known.at.file == at.file) {
      known.beside_others = known.beside_others || beside_others;
      return;
    }
  }
  if (noted_count == noted_capacity) {
    noted_capacity = noted_capacity == 0 ? 256 : noted_capacity * 2;
    void* const moved = std::realloc(noted, noted_capacity * sizeof(executed_site));
    if (moved == nullptr) std::abort();
    noted = static_cast<executed_site*>(moved);
  }
  noted[noted_count++] = {at, what, order, failure, beside_others};
}

}  // namespace

bool weaken(const std::string& how_of_site, const std::vector<std::string>& folders) {
  const std::size_t equals = how_of_site.rfind('=');
  if (equals == std::string::npos) return false;
  const std::string where = how_of_site.substr(0, equals);
  if (!parse_site(where) && !find_site(where, folders)) return false;
  return parse_change(how_of_site.substr(equals + 1));
}

void note_sites() { observer = note; }
std::vector<executed_site> noted_sites() {
  std::vector<const void*> addresses;
  for (std::size_t i = 0; i < noted_count; ++i) addresses.push_back(noted[i].at.address);
  find_addresses(addresses);
  std::vector<executed_site> sites{noted, noted + noted_count};
  for (executed_site& each : sites) each.at = located(each.at);
  return sites;
}

std::vector<const void*> addresses_at(const std::string& file, unsigned line, unsigned column) {
  std::vector<const void*> found;
  for (const executed_site& each : noted_sites()) {
    const source_position& at = each.at;
    if (at.address != nullptr && at.line == line && (column == 0 || at.column == column) &&
        std::string_view{at.file}.ends_with(file))
      found.push_back(at.address);
  }
  return found;
}
void forget_sites() { noted_count = 0; }

const char* name_of(operation what) {
  constexpr const char* names[] = {"load",  "store",         "read_modify_write", "compare_exchange",
                                   "fence", "light_barrier", "heavy_barrier",     "full_barrier"};
  return names[static_cast<std::size_t>(what)];
}
const char* name_of(std::memory_order order) {
  constexpr const char* names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
  return names[static_cast<std::size_t>(order)];
}

void print_sites(std::ostream& out) {
  std::set<std::string> printed;
  for (const auto& [at, what, order, failure, beside_others] : noted_sites()) {
    std::ostringstream text;
    text << "site " << at.file << ":" << at.line << ":" << at.column << " " << name_of(what) << " " << name_of(order)
         << " " << (what == operation::compare_exchange ? name_of(failure) : "-") << "\n";
    if (printed.insert(text.str()).second) out << text.str();
  }
}

}  // namespace tidemark::verify::runner
