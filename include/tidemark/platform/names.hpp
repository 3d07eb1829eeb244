// SPDX-License-Identifier: BSL-1.0
//
// The names of statuses, and of the other enumerations that answer a call, for logs, messages and tests:
//
//   to_string(wait_status::timeout)              "timeout"
//   std::cout << wait_status::timeout            the same
//   std::format("{:>8}", wait_status::timeout)   the same, where the standard library has <format>
//
// A name is the enumerator's own. The names of each enumeration stand below its definition.
#ifndef TIDEMARK_PLATFORM_NAMES_HPP
#define TIDEMARK_PLATFORM_NAMES_HPP

#include <array>
#include <cstddef>
#include <iosfwd>
#include <string_view>
#include <type_traits>
#include <version>

#include "detail/requirements.hpp"

#if defined(__cpp_lib_format)
#include <format>
#endif

namespace tidemark {

namespace detail {

/// The names of an enumeration whose values count from 0, in their order. Specialised for each that has names.
template <class Enumeration>
inline constexpr auto names_of = nullptr;

template <class... Names>
constexpr std::array<std::string_view, sizeof...(Names)> names(const Names&... each) noexcept {
  return {each...};
}

}  // namespace detail

/// An enumeration of this library whose values can be printed.
template <class T>
concept named_enumeration = !std::is_same_v<std::remove_cv_t<decltype(detail::names_of<T>)>, std::nullptr_t>;

/// Returns the name of an enumerator, and "?" for any other value.
template <named_enumeration Enumeration>
[[nodiscard]] constexpr std::string_view to_string(Enumeration value) noexcept {
  const auto& names = detail::names_of<Enumeration>;
  const auto index = static_cast<std::size_t>(value);
  return index < names.size() ? names[index] : std::string_view("?");
}

/// Writes the name of an enumerator. Whoever calls it includes <ostream>.
template <class Traits, named_enumeration Enumeration>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, Enumeration value) {
  const std::string_view name = to_string(value);
  return out << std::basic_string_view<char, Traits>(name.data(), name.size());
}

namespace detail {
// Of enumerations that are public by another name, and defined there.
using tidemark::to_string;
using tidemark::operator<<;
}  // namespace detail

}  // namespace tidemark

#if defined(__cpp_lib_format)
/// Formats the name of an enumerator, with the format specification of a string.
template <tidemark::named_enumeration Enumeration>
struct std::formatter<Enumeration, char> : std::formatter<std::string_view, char> {
  template <class Context>
  auto format(Enumeration value, Context& context) const {
    return std::formatter<std::string_view, char>::format(to_string(value), context);
  }
};
#endif

#endif  // TIDEMARK_PLATFORM_NAMES_HPP
