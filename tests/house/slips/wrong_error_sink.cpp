// SPDX-License-Identifier: BSL-1.0
// concept: error_sink
#include <tidemark/context/command_context.hpp>

struct any_storage {};
struct any_queue {};
struct may_throw {
  void operator()(tidemark::context_id, tidemark::context_error) {}
};

using wrong = tidemark::command_context<any_storage, any_queue, may_throw>;
wrong* use() { return nullptr; }
