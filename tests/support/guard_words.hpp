// SPDX-License-Identifier: BSL-1.0
//
// The guard words of a fence that processes share, which stand in the records of its attachments.
#ifndef TIDEMARK_TESTS_SUPPORT_GUARD_WORDS_HPP
#define TIDEMARK_TESTS_SUPPORT_GUARD_WORDS_HPP

#include <tidemark/fence/shared_fence.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace testing {

/// Whether the system has what a guard needs.
inline bool has_guards() { return static_cast<bool>(tidemark::shared_fence::negotiate<tidemark::death_guards>()); }

/// Those of an attachment's fence, which it must have mapped for writing.
template <class Fence>
class guard_words {
 public:
  using word = typename Fence::platform::park_word;

  explicit guard_words(const Fence& of)
      : base_{const_cast<std::byte*>(static_cast<const std::byte*>(of.value_address())) - layout::value_at} {}

  word& operator[](std::uint32_t index) const {
    return layout::template at<records>(base_, layout::waiters_at + at).records[index].guard;
  }
  std::uint32_t value(std::uint32_t index) const { return (*this)[index].load(std::memory_order_acquire); }

 private:
  using layout = tidemark::detail::shared_layout<typename Fence::platform>;
  using records = tidemark::detail::segment_words<typename Fence::platform>;
  static constexpr std::size_t at = tidemark::detail::words_at - tidemark::detail::waiters_in_file;

  std::byte* base_;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_GUARD_WORDS_HPP
