// SPDX-License-Identifier: BSL-1.0
//
// make_array, destroy_array: arrays in memory of a backing source. block_source: a source whose backings are plain
// memory.
#ifndef TIDEMARK_CONTEXT_DETAIL_SOURCE_ARRAY_HPP
#define TIDEMARK_CONTEXT_DETAIL_SOURCE_ARRAY_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "../../memory/backing_source.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

template <class Source>
concept block_source = backing_source<Source> && std::same_as<typename Source::backing, std::byte*>;

template <class T>
constexpr backing_traits traits_of_array(std::size_t size) noexcept {
  return {size * sizeof(T), alignof(T) > cache_line ? alignof(T) : cache_line};
}

/// Returns memory for `size` objects, not constructed; null if there is none.
template <class T, block_source Source>
T* allocate_array(Source& source, std::size_t size) noexcept {
  if (size == 0 || size > SIZE_MAX / 4 / sizeof(T)) return nullptr;
  void* const memory = source.create(traits_of_array<T>(size));
  return static_cast<T*>(memory);
}

/// Returns an array of objects that were constructed from `arguments`; null if there is no memory.
template <class T, block_source Source, class... Arguments>
T* make_array(Source& source, std::size_t size, const Arguments&... arguments) noexcept {
  T* const made = allocate_array<T>(source, size);
  if (made == nullptr) return nullptr;
  for (std::size_t i = 0; i < size; ++i) ::new (static_cast<void*>(made + i)) T(arguments...);
  return made;
}

template <class T, block_source Source>
void destroy_array(Source& source, T* array, std::size_t size) noexcept {
  if (array == nullptr) return;
  std::destroy_n(array, size);
  source.destroy(reinterpret_cast<std::byte*>(array), traits_of_array<T>(size));
}

}  // namespace tidemark::detail

#endif  // TIDEMARK_CONTEXT_DETAIL_SOURCE_ARRAY_HPP
