// SPDX-License-Identifier: BSL-1.0
#include "stage.hpp"

namespace tidemark::verify::runner {

template <>
outcome play<2>(const entry& played, const search& how) {
  return stage<2>::play(played, how);
}

}  // namespace tidemark::verify::runner
