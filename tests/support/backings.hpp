// SPDX-License-Identifier: BSL-1.0
//
// A source of backings for rename rings. It counts what it is asked for, and refuses to make more than a limit.
#ifndef TIDEMARK_TESTS_SUPPORT_BACKINGS_HPP
#define TIDEMARK_TESTS_SUPPORT_BACKINGS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include <tidemark/memory/backing_source.hpp>

namespace testing {

struct backing {
  int content = 0;
};

struct backings {
  explicit backings(std::size_t at_most = SIZE_MAX) : may_create{at_most} {}

  std::atomic<std::size_t> may_create;
  std::atomic<std::size_t> created{0};
  std::atomic<std::size_t> destroyed{0};
  std::atomic<std::size_t> other_traits{0};  // than the first time
  tidemark::backing_traits last;
  std::function<void()> meanwhile;   // is called by the source in its next call, once
  std::function<void()> at_refusal;  // the same, when it refuses
};

class counted_source {
 public:
  using backing = testing::backing*;

  explicit counted_source(backings& where) : where_{&where} {}

  backing create(const tidemark::backing_traits& traits) noexcept {
    if (where_->created == where_->may_create) {
      if (where_->at_refusal) std::exchange(where_->at_refusal, nullptr)();
      return nullptr;
    }
    const bool is_same = traits.bytes == where_->last.bytes && traits.alignment == where_->last.alignment;
    if (where_->created.fetch_add(1) != 0 && !is_same) ++where_->other_traits;
    where_->last = traits;
    if (where_->meanwhile) std::exchange(where_->meanwhile, nullptr)();
    return new testing::backing;
  }
  void destroy(backing made, const tidemark::backing_traits&) noexcept {
    ++where_->destroyed;
    if (where_->meanwhile) std::exchange(where_->meanwhile, nullptr)();
    delete made;
  }

 private:
  backings* where_;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_BACKINGS_HPP
