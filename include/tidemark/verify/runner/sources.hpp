// SPDX-License-Identifier: BSL-1.0
//
// The source text of the checked code.
#ifndef TIDEMARK_VERIFY_RUNNER_SOURCES_HPP
#define TIDEMARK_VERIFY_RUNNER_SOURCES_HPP

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../engine.hpp"
#include "execution.hpp"

namespace tidemark::verify::runner {

class sources {
 public:
  /// The text of a line without its indentation; empty if the file can't be read.
  std::string text_of(const source_position& at);

  /// What the operation at a position is applied to: `slots[i].value` of `slots[i].value.load(order)`, of
  /// `slots[i].value = 1` or of `scoped_lock lock{slots[i].value}`. Where that names several, `which` is one of them.
  /// Empty if the line does not tell. Without a column, only what a step of this kind can be applied to.
  std::string operand_of(const source_position& at, std::size_t which, step_kind kind);

  /// Names a position so that the name stays when the line is moved: by the file's name, the text of the line without
  /// comment and with its blanks made alike, and a number, if it is not the first such line of the file or if the
  /// position is not the first one on it, which is `column`. By its line if the file can't be read.
  std::string key_of(const source_position& at, unsigned column);

  /// The lines of a file; none if it can't be read.
  const std::vector<std::string>& lines_of(std::string_view file);

  /// A file that was asked for and can't be read; empty if there is none.
  const std::string& unreadable() const { return unreadable_; }

 private:
  const std::string* line_of(const source_position& at);

  std::map<std::string, std::vector<std::string>, std::less<>> files_;
  std::string unreadable_;
};

/// The name of a file without its folders.
std::string_view file_name_of(const source_position& at);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_SOURCES_HPP
