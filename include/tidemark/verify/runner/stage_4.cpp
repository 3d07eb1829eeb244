// SPDX-License-Identifier: BSL-1.0
#include "stage.hpp"

namespace tidemark::verify::runner {

template <>
outcome play<4>(const entry& played, const search& how) {
  return stage<4>::play(played, how);
}

}  // namespace tidemark::verify::runner
