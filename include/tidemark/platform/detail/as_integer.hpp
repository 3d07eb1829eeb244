// SPDX-License-Identifier: BSL-1.0
//
// as_integer: a conversion between integers that have the same type on some machines.
#ifndef TIDEMARK_PLATFORM_DETAIL_AS_INTEGER_HPP
#define TIDEMARK_PLATFORM_DETAIL_AS_INTEGER_HPP

namespace tidemark::detail {

/// Returns the value as another integer. A static_cast in its place would be reported by -Wuseless-cast where both are
/// one type, and none by -Wconversion where they are not.
template <class To, class From>
constexpr To as_integer(From value) noexcept {
  return static_cast<To>(value);
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_PLATFORM_DETAIL_AS_INTEGER_HPP
