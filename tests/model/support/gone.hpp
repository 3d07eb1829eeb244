// SPDX-License-Identifier: BSL-1.0
//
// An object that goes while threads run.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_GONE_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_GONE_HPP

#include "model_check.hpp"

#include <cstddef>
#include <optional>

namespace model {

/// Destroys an object, and overwrites its memory. So the checker reports each later access to an atomic of it, as one
/// to freed memory. Without that it would see only what the compiler has left of the destructor.
template <class Object>
void destroy(std::optional<Object>& of) {
  of.reset();
  auto* const bytes = reinterpret_cast<volatile unsigned char*>(&of);
  for (std::size_t i = 0; i < sizeof of; ++i) bytes[i] = 0;
}

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_GONE_HPP
