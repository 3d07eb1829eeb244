// SPDX-License-Identifier: BSL-1.0
// What the command lines of the examples have in common.

#pragma once

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace support {

inline constexpr std::size_t kibibyte = 1024;
inline constexpr std::size_t mebibyte = 1024 * kibibyte;

/// What is wrong with the command line, in words for the user.
class usage_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A whole number from `least` to `most`. With `allow_suffix` a K or M after it multiplies by 1024 or 1024 * 1024.
inline std::size_t parse_number(std::string_view option, std::string_view text, std::size_t least, std::size_t most,
                                bool allow_suffix = false) {
  std::size_t scale = 1;
  std::string_view digits = text;
  if (allow_suffix && digits.ends_with('K')) scale = kibibyte;
  if (allow_suffix && digits.ends_with('M')) scale = mebibyte;
  if (scale != 1) digits.remove_suffix(1);

  std::size_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  const bool is_number = stop == end && !digits.empty() && error != std::errc::invalid_argument;
  if (!is_number) throw usage_error(std::string(option) + ": '" + std::string(text) + "' is not a whole number");
  if (error == std::errc::result_out_of_range || number > most / scale || number * scale < least) {
    throw usage_error(std::string(option) + ": '" + std::string(text) + "' is not between " + std::to_string(least) +
                      " and " + std::to_string(most));
  }
  return number * scale;
}

/// Reads arguments of the forms `--name value` and `--name=value`. Returns false, and reads no further, at `--help`.
/// @param apply  is called with the name of an option and its value
/// @param add    is called with what is no option
template <class Apply, class Add>
bool read_arguments(const std::vector<std::string_view>& arguments, const Apply& apply, const Add& add) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--help") return false;
    const std::size_t equals = argument.find('=');
    if (!argument.starts_with("--")) {
      add(argument);
    } else if (equals != std::string_view::npos) {
      apply(argument.substr(0, equals), argument.substr(equals + 1));
    } else {
      if (++i == arguments.size()) throw usage_error(std::string(argument) + ": the value is missing");
      apply(argument, arguments[i]);
    }
  }
  return true;
}

/// Another file for the trace. What is to be written is told by the end of its name.
inline void add_trace_path(std::vector<std::string>& paths, std::string_view path) {
  if (path.empty()) throw usage_error("--trace: the path is empty");
  if (!path.ends_with(".html") && !path.ends_with(".json")) {
    throw usage_error("--trace: '" + std::string(path) + "' ends neither with .html, for a page, nor with .json, for " +
                      "Chrome trace events");
  }
  if (paths.size() == 2) throw usage_error("--trace: more than two files");
  paths.emplace_back(path);
}

/// A trace must not take the place of a file that has another purpose.
inline void refuse_same_file(const std::string& trace, const std::string& other) {
  std::error_code unknown;
  const auto canonical = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, unknown), unknown);
  };
  if (canonical(trace) == canonical(other)) {
    throw usage_error("--trace: '" + trace + "' is the same file as '" + other + "'");
  }
}

/// Throws if something that was printed could not be written.
inline void finish_report() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    throw std::system_error(errno, std::generic_category(), "cannot print the report");
}

/// The body of a main() and its exit status; what it throws becomes a message and 2, for the command line, or 1.
template <class Body>
int run_main(const char* program, const Body& body) {
  try {
    return body();
  } catch (const usage_error& error) {
    std::fprintf(stderr, "%s: %s\nTry '%s --help'.\n", program, error.what(), program);
    return 2;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: not enough memory\n", program);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
  }
  return 1;
}

}  // namespace support
