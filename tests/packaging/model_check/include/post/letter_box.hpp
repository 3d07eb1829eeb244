// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <tidemark/verify/check.hpp>

namespace post {

/// One thread puts a value in, and another one takes it out.
template <class T>
class letter_box {
 public:
  void put(T value) {
    content_.store(value);
    full_.store(true, std::memory_order_release);
  }
  bool take(T& value) {
    if (!full_.load(std::memory_order_acquire)) return false;
    value = content_.load();
    return true;
  }

 private:
  tidemark::verify::atomic<bool> full_{false};
  tidemark::verify::var<T> content_;
};

}  // namespace post
