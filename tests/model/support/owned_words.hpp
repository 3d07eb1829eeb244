// SPDX-License-Identifier: BSL-1.0
//
// A platform for logs and other memory of words that has only one writer at a time. It takes one thing further than the
// machine: storing a word also writes a plain field beside it, so that the checker reports a race where nothing orders
// two stores to one word. A machine may let such stores take effect in the wrong order; the checker always has them in
// the order in which they ran.
#ifndef TIDEMARK_TESTS_MODEL_SUPPORT_OWNED_WORDS_HPP
#define TIDEMARK_TESTS_MODEL_SUPPORT_OWNED_WORDS_HPP

#include "model_check.hpp"

namespace model {

template <class Base>
struct owned_words : Base {
  template <class T>
  class atomic : public Base::template atomic<T> {
   public:
    using word = typename Base::template atomic<T>;
    using position = tidemark::verify::source_position;

    using word::word;
    void store(T value, std::memory_order order, position at = position::current()) {
      owner_.store(1, at);
      word::store(value, order, at);
    }

   private:
    typename Base::template var<int> owner_;
  };
};

}  // namespace model

#endif  // TIDEMARK_TESTS_MODEL_SUPPORT_OWNED_WORDS_HPP
