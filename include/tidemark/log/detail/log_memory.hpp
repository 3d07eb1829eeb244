// SPDX-License-Identifier: BSL-1.0
//
// The memory of a ring log: its header and its slots, inside the object or elsewhere. The head of ring_log.hpp says
// what lies where.
#ifndef TIDEMARK_LOG_DETAIL_LOG_MEMORY_HPP
#define TIDEMARK_LOG_DETAIL_LOG_MEMORY_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "../../platform/platform.hpp"

namespace tidemark::detail {

/// 40 bytes in front of the slots, with the same layout where integers of 64 bits are aligned to 4 (i386). All but the
/// position is constant.
template <class Word>
struct log_header {
  Word position;
  std::uint32_t type;
  alignas(8) std::uint64_t number_of_entries;
  std::uint64_t first_sequence;
  std::uint64_t reserved;
};

/// Header and words inside the object.
template <class Word, std::size_t Words>
class inner_log_memory {
 public:
  using header_type = log_header<Word>;
  inner_log_memory(std::size_t, std::uint64_t position, std::uint32_t type, std::uint64_t entries, std::uint64_t first)
      : header_{Word{position}, type, entries, first, 0} {}
  header_type& header() noexcept { return header_; }
  const header_type& header() const noexcept { return header_; }
  Word* words() noexcept { return words_; }
  const Word* words() const noexcept { return words_; }

 private:
  header_type header_;
  Word words_[Words];
};

/// Header and words in memory of their own: the caller's, or allocated.
template <class Word>
class outer_log_memory {
 public:
  using header_type = log_header<Word>;
  static constexpr std::align_val_t alignment{cache_line};

  static constexpr std::size_t bytes_for(std::size_t words) noexcept {
    return sizeof(header_type) + words * sizeof(Word);
  }

  outer_log_memory(std::size_t words, std::uint64_t position, std::uint32_t type, std::uint64_t entries,
                   std::uint64_t first)
      : outer_log_memory(nullptr, words, position, type, entries, first) {}
  /// \param memory  where the log lies; null allocates
  outer_log_memory(void* memory, std::size_t words, std::uint64_t position, std::uint32_t type, std::uint64_t entries,
                   std::uint64_t first)
      : header_{::new(memory != nullptr ? memory : ::operator new(bytes_for(words), alignment))
                    header_type{Word{position}, type, entries, first, 0}},
        words_{reinterpret_cast<Word*>(header_ + 1)},
        count_{words},
        is_owner_{memory == nullptr} {
    std::uninitialized_default_construct_n(words_, words);
  }
  outer_log_memory(const outer_log_memory&) = delete;
  outer_log_memory& operator=(const outer_log_memory&) = delete;
  ~outer_log_memory() {
    std::destroy_n(words_, count_);
    std::destroy_at(header_);
    if (is_owner_) ::operator delete(static_cast<void*>(header_), alignment);
  }
  header_type& header() const noexcept { return *header_; }
  Word* words() const noexcept { return words_; }

 private:
  header_type* header_;
  Word* words_;
  std::size_t count_;
  bool is_owner_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_LOG_DETAIL_LOG_MEMORY_HPP
