// SPDX-License-Identifier: BSL-1.0
//
// The loop of an engine without threads of its own, as its owner knows it: checks stop it to let their threads leave.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_OWNED_LOOP_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_OWNED_LOOP_HPP

#include "model_check.hpp"

#include <tidemark/engine/engine.hpp>

namespace model {

template <class Platform>
tidemark::basic_wait_loop<Platform>& owned_loop(tidemark::basic_engine<Platform>& of) {
  return static_cast<tidemark::basic_wait_loop<Platform>&>(of.loop());
}

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_OWNED_LOOP_HPP
