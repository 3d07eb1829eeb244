// SPDX-License-Identifier: BSL-1.0
//
// A library that uses tidemark.
#include "part.hpp"

const parts::all* tidemark_test_part() {
  static const parts::all here;
  return &here;
}
