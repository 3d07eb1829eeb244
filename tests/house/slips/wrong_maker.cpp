// SPDX-License-Identifier: BSL-1.0
// concept: block_maker
#include <tidemark/context/storage.hpp>

struct creates_nothing {
  enum class kind { only };
};

void use() { auto storage = tidemark::context_storage<creates_nothing>::make({}); }
