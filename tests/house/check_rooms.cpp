// SPDX-License-Identifier: BSL-1.0
//
// Holds the folders of the headers to their order.
//
//   check_rooms DIRECTORY ROOM...    reads every .hpp below DIRECTORY; the rooms in their order, the lowest first
//   check_rooms --self-test          tries the rules on the samples at the end of this file
//
// A header lies in a room, in the `detail` or the `tools` folder of a room, or, like tidemark.hpp, in none. Headers in
// `detail` are of their room alone; those in `tools` are for the rooms after it, too. Users include neither. The rules:
//
//   1. A header includes headers of its own room and of rooms before it, but none in the `detail` folder of another
//      room.
//   2. A header in `detail` includes no public header of its own room.
//   3. A header in `detail` or `tools` declares names in a namespace `detail` only, or in one within it.
//   4. A status enumeration uses the words below, so that one outcome has one name in all blocks.
//   5. A public status enumeration has its names below it (platform/names.hpp). The names are those of the enumerators,
//      in their order; also where another enumeration has some.
#include "source_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using house::source_file;
using house::violation;

/// What an operation may come to. The first row is how an operation succeeds, in its own verb.
const std::array vocabulary{
    "added", "allocated", "applied", "attached", "begun", "cancelled", "accepted", "retry", "aborted", "closed",
    "destroyed", "ended", "known", "locked", "mapped", "placed", "placed_in_aperture", "planned", "prepared", "ran",
    "reached", "ready", "reserved", "retired", "served", "still_locked", "commit_now", "submitted", "unlocked", "valid",
    "written",
    // How it ends otherwise.
    "busy", "idle", "invalid", "lost", "no_memory", "no_space", "not_yet", "refused", "stale", "stopped", "timeout",
    "too_large", "truncated", "unknown", "unsatisfiable",
    // What a signal has done, and what was agreed on; and why something was refused.
    "signalled", "not_above", "agreed", "not_enabled", "not_offered", "too_old", "too_new", "missing_bits",
    "incomplete", "shareable", "crosses_domains", "wrong_count", "wrong_stride"};

const std::regex include_pattern{R"re(^\s*#include ")re"};
const std::regex namespace_pattern{R"(^namespace\s+([\w:]+)\s*\{)"};
const std::regex status_pattern{R"(\benum class (\[\[nodiscard\]\]\s*)?(\w*status)\b)"};
const std::regex enumeration_pattern{R"(^enum class (\[\[nodiscard\]\]\s*)?(\w+)\b[^{]*\{)"};
const std::regex names_pattern{R"re(names_of<(\w+)>\s*=\s*detail::names\(([^;]*)\);)re"};
const std::regex word_pattern{R"(\w+)"};
const std::regex enumerator_pattern{R"(^\s*(\w+)\s*(=[^,]*)?(,|$))"};

/// Where a header lies.
struct place {
  std::optional<std::size_t> room;  // by its index
  bool is_private = false;
  bool is_tool = false;
};

class checker {
 public:
  checker(std::filesystem::path root, std::vector<std::string> rooms)
      : root_{std::move(root)}, rooms_{std::move(rooms)} {}

  std::vector<violation> run(const std::vector<source_file>& files, const std::vector<std::string>& raw) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::filesystem::path path = std::filesystem::path{files[i].name}.lexically_relative(root_);
      check_includes(files[i], path, raw[i]);
      const place own = place_of(path);
      if (own.is_private || own.is_tool) check_namespaces(files[i]);
      check_outcomes(files[i]);
      if (own.room && !own.is_private && !own.is_tool) check_names(files[i], raw[i]);
    }
    return std::move(violations_);
  }

 private:
  void complain(const source_file& file, std::size_t line, std::string message) {
    violations_.push_back({file.name, line + 1, std::move(message)});
  }

  place place_of(const std::filesystem::path& path) const {
    place found;
    auto part = path.begin();
    const auto room = std::find(rooms_.begin(), rooms_.end(), part->string());
    if (room == rooms_.end()) return found;
    found.room = static_cast<std::size_t>(room - rooms_.begin());
    const std::string folder = (++part)->string();
    found.is_private = folder == "detail";
    found.is_tool = folder == "tools";
    return found;
  }

  /// Rules 1 and 2. The names stand in literals, which the lines of code no longer have.
  void check_includes(const source_file& file, const std::filesystem::path& path, const std::string& text) {
    const place own = place_of(path);
    if (!own.room) return;
    std::size_t begin = 0;
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string written = text.substr(begin, end - begin);
      begin = end + 1;
      if (!std::regex_search(file.lines[line].code, include_pattern)) continue;
      const std::size_t first = written.find('"') + 1;
      const std::string name = written.substr(first, written.find('"', first) - first);
      const auto target = (path.parent_path() / name).lexically_normal();
      const place other = place_of(target);
      if (!other.room || *other.room > *own.room) {
        complain(file, line, target.string() + " lies in no room, or in a later one");
      } else if (own.is_private && !other.is_private && !other.is_tool && *other.room == *own.room) {
        complain(file, line, "a private header includes " + target.string() + ", a public one of its room");
      } else if (other.is_private && *other.room != *own.room) {
        complain(file, line, target.string() + " is private to another room");
      }
    }
  }

  void check_namespaces(const source_file& file) {
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      std::smatch match;
      if (!std::regex_search(file.lines[line].code, match, namespace_pattern)) continue;
      const std::string name = match[1];
      if (!name.ends_with("detail") && name.find("::detail::") == std::string::npos)
        complain(file, line, "a private header declares names in namespace " + name);
    }
  }

  void check_outcomes(const source_file& file) {
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      if (!std::regex_search(file.lines[line].code, status_pattern)) continue;
      std::string code = file.lines[line].code;
      const std::size_t brace = code.find('{');
      if (brace == std::string::npos) continue;
      code = code.substr(brace + 1);
      while (true) {
        check_enumerators(file, line, code);
        if (code.find('}') != std::string::npos || ++line == file.lines.size()) break;
        code = file.lines[line].code;
      }
    }
  }

  void check_enumerators(const source_file& file, std::size_t line, const std::string& code) {
    for (const std::string& word : enumerators_in(code)) {
      if (std::find(vocabulary.begin(), vocabulary.end(), word) == vocabulary.end()) {
        complain(file, line, "an outcome is called " + word + ", which is none of the words for outcomes");
      }
    }
  }

  /// Returns the enumerators of a line of an enumeration.
  static std::vector<std::string> enumerators_in(std::string code) {
    code = code.substr(0, code.find('}'));
    std::vector<std::string> found;
    std::smatch match;
    while (std::regex_search(code, match, enumerator_pattern)) {
      found.push_back(match[1]);
      code = match.suffix();
    }
    return found;
  }

  void check_names(const source_file& file, const std::string& text) {
    const std::map<std::string, std::vector<std::string>> names = names_in(text);
    for (std::size_t line = 0; line < file.lines.size(); ++line) {
      std::smatch match;
      std::string code = file.lines[line].code;
      if (!std::regex_search(code, match, enumeration_pattern)) continue;
      const std::size_t first = line;
      const std::string name = match[2];
      code = match.suffix();
      std::vector<std::string> enumerators = enumerators_in(code);
      while (code.find('}') == std::string::npos && ++line < file.lines.size()) {
        code = file.lines[line].code;
        const std::vector<std::string> more = enumerators_in(code);
        enumerators.insert(enumerators.end(), more.begin(), more.end());
      }
      const auto named = names.find(name);
      if (named == names.end()) {
        if (name.ends_with("status")) complain(file, first, name + " has no names, which platform/names.hpp prints");
      } else if (named->second != enumerators) {
        complain(file, first, "the names of " + name + " are not its enumerators");
      }
    }
  }

  static std::map<std::string, std::vector<std::string>> names_in(const std::string& text) {
    std::map<std::string, std::vector<std::string>> found;
    for (std::sregex_iterator each(text.begin(), text.end(), names_pattern), end; each != end; ++each) {
      std::vector<std::string>& names = found[(*each)[1]];
      const std::string literals = (*each)[2];
      for (std::sregex_iterator word(literals.begin(), literals.end(), word_pattern); word != end; ++word) {
        names.push_back(word->str());
      }
    }
    return found;
  }

  std::filesystem::path root_;
  std::vector<std::string> rooms_;
  std::vector<violation> violations_;
};

int check_directory(const std::filesystem::path& directory, std::vector<std::string> rooms) {
  const auto files = house::read_headers(directory);
  if (!files) return 1;
  std::vector<std::string> raw;
  for (const source_file& file : *files) raw.push_back(house::text_of(file.name).value_or(""));
  const auto violations = checker{directory, std::move(rooms)}.run(*files, raw);
  house::print(violations);
  std::printf("%zu headers, %zu violations\n", files->size(), violations.size());
  return violations.empty() ? 0 : 1;
}

/// A header and the lines on which the rules are broken; the message must contain `what` each time.
struct sample {
  const char* title;
  const char* name;
  const char* text;
  std::vector<std::size_t> lines;
  const char* what = "";
};

const std::vector<sample> samples = {
    {"rooms before it, and its own", "high/a.hpp", "#include \"../low/b.hpp\"\n#include \"detail/c.hpp\"\n", {}},
    {"a private one of its own room, and a public one of a room before",
     "high/detail/a.hpp",
     "#include \"b.hpp\"\n#include \"../../low/c.hpp\"\nnamespace tidemark::detail {\n",
     {}},
    {"a header of no room", "all.hpp", "#include \"low/a.hpp\"\n#include \"high/b.hpp\"\n", {}},
    {"an include in a comment", "low/a.hpp", "// #include \"../high/b.hpp\"\n", {}},
    {"a later room", "low/a.hpp", "\n#include \"../high/b.hpp\"\n", {2}, "later"},
    {"a header of no room is included", "low/a.hpp", "#include \"../all.hpp\"\n", {1}, "no room"},
    {"a public one of its own room", "low/detail/a.hpp", "#include \"../b.hpp\"\n", {1}, "public one of its room"},
    {"a public name", "low/detail/a.hpp", "namespace tidemark {\nstruct a;\n", {1}, "declares names"},
    {"a name within detail", "low/detail/a.hpp", "namespace tidemark::detail::inner {\nstruct a;\n", {}},
    {"a tool of a room before", "high/a.hpp", "#include \"../low/tools/b.hpp\"\n", {}},
    {"a public one of its room in a tool", "low/tools/a.hpp", "#include \"../b.hpp\"\n", {}},
    {"a public name in a tool", "low/tools/a.hpp", "namespace tidemark {\nstruct a;\n", {1}, "declares names"},
    {"a private one of another room", "high/a.hpp", "#include \"../low/detail/b.hpp\"\n", {1}, "private to another"},
    {"a public name in a public header", "low/a.hpp", "namespace tidemark {\nstruct a;\n", {}},
    {"words for outcomes",
     "low/detail/a.hpp",
     "enum class map_status : int {\n  mapped,  ///< x\n  busy, timeout };\n",
     {}},
    {"another word",
     "low/detail/a.hpp",
     "enum class map_status {\n  mapped,\n  was_still_drawing,\n  busy };\n",
     {3},
     "outcome"},
    {"other enumerations", "low/a.hpp", "enum class map_mode { read, discard };\n", {}},
    {"names",
     "low/a.hpp",
     "enum class [[nodiscard]] map_status : int { mapped, busy };\n"
     "template <> inline constexpr auto detail::names_of<map_status> =\n  detail::names(\"mapped\", \"busy\");\n",
     {}},
    {"a status without names", "low/a.hpp", "\nenum class map_status { mapped };\n", {2}, "has no names"},
    {"a name too few",
     "low/a.hpp",
     "enum class hue {\n  red,  ///< x\n  blue\n};\ninline constexpr auto names_of<hue> = detail::names(\"red\");\n",
     {1},
     "are not its enumerators"},
    {"names in another order",
     "low/a.hpp",
     "enum class hue { red, blue };\ninline constexpr auto names_of<hue> = detail::names(\"blue\", \"red\");\n",
     {1},
     "are not its enumerators"},
};

bool passes(const sample& wanted) {
  const std::vector<source_file> files{house::parse(std::string{"include/"} + wanted.name, wanted.text)};
  return house::are_as_wanted(wanted.title, checker{"include", {"low", "high"}}.run(files, {wanted.text}), wanted.lines,
                              wanted.what);
}

int self_test() { return house::all_pass(samples, passes) ? 0 : 1; }

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1 && arguments[0] == "--self-test") return self_test();
  if (arguments.size() < 2) {
    std::fputs("usage: check_rooms DIRECTORY ROOM... | --self-test\n", stderr);
    return 2;
  }
  return check_directory(arguments[0], {arguments.begin() + 1, arguments.end()});
}
