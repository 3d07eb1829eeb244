// SPDX-License-Identifier: BSL-1.0
//
// recorded_renames: what a list does with renamed resources, in the order in which it was recorded. Each use lies in
// the list's own memory.
//
//   use    backing of its own?   reads what is current?
//          yes                   no                        a discard
//          no                    yes                       a binding
//          yes                   yes                       a copy: from what is current to its own
//
// Adoption goes through the uses in this order, so that each finds as current what it would find if its resource had
// been renamed there and then. renamed_resource.hpp says what that means for the backings.
#ifndef TIDEMARK_CONTEXT_DETAIL_RECORDED_RENAMES_HPP
#define TIDEMARK_CONTEXT_DETAIL_RECORDED_RENAMES_HPP

#include <cstdint>
#include <memory>
#include <utility>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// What a list does with one resource. Of which type that is, `calls` knows.
template <platform Platform>
struct recorded_use {
  struct call_table {
    void (*adopt)(recorded_use&, std::uint64_t serial) noexcept;
    void (*give_back)(recorded_use&) noexcept;
    void (*destroy)(recorded_use&) noexcept;
  };
  recorded_use(const call_table& its, const void* of) noexcept : calls{&its}, resource{of} {}

  const call_table* const calls;
  const void* const resource;
  recorded_use* older = nullptr;
  typename Platform::template var<recorded_use*> newer{nullptr};
};

template <platform Platform, class Resource>
struct recorded_use_of : recorded_use<Platform> {
  using base = recorded_use<Platform>;
  using taken = typename Resource::taken;
  using cell = typename Platform::template var<typename Resource::backing>;

  /// \param made   a backing of the recording's own, or none
  /// \param reads  whether the list reads what is current
  recorded_use_of(Resource& with, const taken& made, bool reads) noexcept
      : base{calls_of_use, &with}, of{with}, own{made}, reads_current{reads}, memory{made.memory} {}

  bool is_own() const noexcept { return static_cast<bool>(own); }

  static void adopt(base& use, std::uint64_t serial) noexcept {
    auto& self = static_cast<recorded_use_of&>(use);
    if (self.reads_current) {
      const auto now = self.of.current();
      (self.is_own() ? self.before : self.memory).store(now);
      self.of.used_until(serial);
    }
    if (self.is_own()) self.of.adopt(self.own, serial);
  }
  static void give_back(base& use) noexcept {
    auto& self = static_cast<recorded_use_of&>(use);
    if (self.is_own()) static_cast<void>(self.of.give_back(self.own));
  }
  static constexpr typename base::call_table calls_of_use{
      adopt, give_back, [](base& use) noexcept { std::destroy_at(static_cast<recorded_use_of*>(&use)); }};

  Resource& of;
  const taken own;
  const bool reads_current;
  cell memory;                                // what commands use
  cell before{typename Resource::backing{}};  // of a copy: what was current
};

/// The uses of a list. They must be destroyed by clear() before their memory is given back.
template <platform Platform>
class recorded_renames {
 public:
  using use = recorded_use<Platform>;

  recorded_renames() = default;
  recorded_renames(const recorded_renames&) = delete;
  recorded_renames& operator=(const recorded_renames&) = delete;

  /// Returns whether adopt() must be called before the list is executed.
  bool needs_adoption() const noexcept { return newest_ != nullptr && !is_adopted_; }
  bool is_adopted() const noexcept { return is_adopted_; }

  void add(use& added) noexcept {
    added.older = newest_;
    (newest_ == nullptr ? oldest_ : newest_->newer).store(&added);
    newest_ = &added;
  }
  /// Returns the newest use of a resource; null if there is none. O(n) in the number of newer uses of others.
  template <class Resource>
  recorded_use_of<Platform, Resource>* find(const Resource& of) const noexcept {
    use* found = newest_;
    while (found != nullptr && found->resource != &of) found = found->older;
    return static_cast<recorded_use_of<Platform, Resource>*>(found);
  }

  /// The thread that submits calls it.
  void adopt(std::uint64_t serial) noexcept {
    is_adopted_ = true;
    for_each([serial](use& one) { one.calls->adopt(one, serial); });
  }

  /// Destroys all uses. Those that were not adopted give their backings back.
  void clear() noexcept {
    const bool gives_back = !std::exchange(is_adopted_, false);
    for_each([gives_back](use& one) {
      if (gives_back) one.calls->give_back(one);
      one.calls->destroy(one);
    });
    oldest_.store(nullptr);
    newest_ = nullptr;
  }

  void swap(recorded_renames& other) noexcept {
    use* const own = oldest_.load();
    oldest_.store(other.oldest_.load());
    other.oldest_.store(own);
    std::swap(newest_, other.newest_);
    std::swap(is_adopted_, other.is_adopted_);
  }

 private:
  template <class Visit>
  void for_each(const Visit& visit) noexcept {
    for (use* one = oldest_.load(); one != nullptr;) {
      use* const next = one->newer.load();
      visit(*one);
      one = next;
    }
  }

  typename Platform::template var<use*> oldest_{nullptr};
  use* newest_ = nullptr;
  bool is_adopted_ = false;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_CONTEXT_DETAIL_RECORDED_RENAMES_HPP
