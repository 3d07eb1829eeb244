// SPDX-License-Identifier: BSL-1.0
#include "stage.hpp"

namespace tidemark::verify::runner {

template <>
outcome play<3>(const entry& played, const search& how) {
  return stage<3>::play(played, how);
}

}  // namespace tidemark::verify::runner
