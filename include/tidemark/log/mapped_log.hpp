// SPDX-License-Identifier: BSL-1.0
//
// mapped_log: reads a ring log through a mapping of its memory, and nothing else: in another process, for example, or
// in a tool that finds the log in memory. When the log is replaced, the reader learns where the next one is. A queue
// makes a log not in set_log(), but with its first entry after that; open it after that entry.
//
//   auto opened = tidemark::mapped_fence_log::open(bytes, tidemark::fence_log_type::signal);
//   if (!opened) ...                                            opened.fault says why
//   const auto [entries, lost, first] = opened.reader->read(buffer);
//   if (const auto next = opened.reader->next_log()) ...         all is read, and the log goes on at *next
//     opened.reader->follow(bytes_at(*next));                    the program maps it
//
// What lies in the memory is said in the heads of ring_log.hpp and fence_log.hpp. The reader trusts nothing of it
// before it has checked it: that the log is of this type and this version, with entries of this size, and that its
// entries lie in the mapping. It then keeps the size, and writes nothing. So a mapping for reading suffices.
//
// Two things must be true of the memory, and can't be checked: it holds nothing else meanwhile, and the log was made
// before the reader opens it. A log that next_log() names is made already.
//
// Invariant: entries that are handed out and entries that are counted as lost are together all that were appended since
// the first one, over all of the logs.
//
// Not promised: that a log that is damaged by others is noticed; what the reader does then stays within the mapping.
// Logs in the header_only form or with several producers are refused (wrong_version).
#ifndef TIDEMARK_LOG_MAPPED_LOG_HPP
#define TIDEMARK_LOG_MAPPED_LOG_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "fence_log.hpp"
#include "ring_log.hpp"

namespace tidemark {

/// What is wrong with memory that is to hold a log.
enum class log_fault {
  none,           ///< Nothing.
  no_log,         ///< The memory is misaligned, or too small for the header of a log.
  wrong_type,     ///< It is not a log of this type.
  wrong_version,  ///< The layout is of another version or form, or the entries have another size.
  wrong_count,    ///< The log has fewer than 2 entries, or more than the mapping has room for.
  not_next,       ///< From follow() alone: the log begins before the entry that the reader comes to next.
};

template <>
inline constexpr auto detail::names_of<log_fault> =
    detail::names("none", "no_log", "wrong_type", "wrong_version", "wrong_count", "not_next");

/// What open() returns. It converts to true if the log was opened; then there is a reader.
template <class Reader>
struct [[nodiscard]] open_log_result {
  log_fault fault;
  std::optional<Reader> reader;

  explicit operator bool() const noexcept { return fault == log_fault::none; }
};

namespace detail {

/// The page of a log in memory of others, for ring_log_reader.
template <class Page>
class mapped_page {
 public:
  using entry_type = typename Page::entry_type;
  using platform_type = typename Page::platform_type;
  using word = typename Page::word;
  using slot = typename Page::slot;
  static constexpr log_form form = Page::form;
  static constexpr writers producers = Page::producers;

  /// Looks at the header, and returns what is wrong with it. If nothing is, `entries` is how many entries the log has.
  static log_fault fault_of(std::span<const std::byte> memory, std::uint32_t type, std::uint64_t& entries) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    if (memory.size() < Page::bytes_for(0) || address % alignof(log_header<word>) != 0) return log_fault::no_log;
    const log_header<word>& found = header_at(memory);
    if (found.type != type) return log_fault::wrong_type;
    if (found.version != Page::version) return log_fault::wrong_version;
    // Volatile: read once. Others may damage the memory meanwhile, and the number that is used is the one that is
    // checked.
    entries = static_cast<const volatile std::uint64_t&>(found.number_of_entries);
    return entries < 2 || entries > Page::entries_in(memory.size()) ? log_fault::wrong_count : log_fault::none;
  }

  /// \param memory   has passed fault_of()
  /// \param entries  what fault_of() has found there
  mapped_page(std::span<const std::byte> memory, std::uint64_t entries) noexcept
      : header_{&header_at(memory)}, entries_{entries} {}

  std::uint64_t entries() const noexcept { return entries_; }
  /// Read once: where memory is used again, another log may be made in it meanwhile.
  std::uint64_t first_sequence() const noexcept {
    return static_cast<const volatile std::uint64_t&>(header_->first_sequence);
  }
  const word& position() const noexcept { return header_->position; }
  const word* slot_at(std::uint64_t index) const noexcept {
    return reinterpret_cast<const word*>(header_ + 1) + index * slot::size;
  }
  /// Returns where the log goes on.
  log_location successor() const noexcept {
    // (L23): acquire, pairs with (L22): if there is a next log, all entries of this one are there, and the next one's
    // header.
    return log_location{header_->successor.load(std::memory_order_acquire)};
  }

 private:
  static const log_header<word>& header_at(std::span<const std::byte> memory) noexcept {
    const void* const first = memory.data();
    return *static_cast<const log_header<word>*>(first);
  }

  const log_header<word>* header_;
  std::uint64_t entries_;
};

}  // namespace detail

/// Reads a log in memory that others have made, through its replacements; see the head of this file. Copies read by
/// themselves, each from where it was copied. For one thread at a time. No function allocates or asserts.
/// \tparam Entry     as the log's
/// \tparam Platform  as the log's, or one whose atomic words have the same size
template <class Entry, platform Platform = native_platform>
class mapped_log_reader {
 public:
  using entry_type = Entry;
  using batch = log_batch<Entry>;
  using result = open_log_result<mapped_log_reader>;

  /// Opens the log that begins at the first byte of `memory`, which must stay mapped while the reader uses it. Returns
  /// `none` and a reader that begins with the oldest entry that can still be read; or what is wrong with the memory.
  static result open(std::span<const std::byte> memory, std::uint32_t type) noexcept {
    std::uint64_t entries = 0;
    const log_fault fault = page::fault_of(memory, type, entries);
    if (fault != log_fault::none) return {fault, std::nullopt};
    return {fault, mapped_log_reader{page{memory, entries}, type}};
  }
  static result open(std::span<const std::byte> memory, fence_log_type type) noexcept {
    return open(memory, static_cast<std::uint32_t>(type));
  }

  /// Copies the next entries into `buffer`, at most as many as fit, and returns them, as ring_log_reader::read() does.
  /// `lost` also counts what was not read of the logs before this one. Progress: wait-free.
  [[nodiscard]] batch read(std::span<Entry> buffer) noexcept {
    reader from{page_, next_};
    batch found = from.read(buffer);
    next_ = from.next_sequence();
    found.lost += std::exchange(unread_, 0);
    return found;
  }

  /// Returns whether read() is worth a call. A recent append may not be seen yet. Progress: wait-free.
  [[nodiscard]] bool has_new() const noexcept { return unread_ != 0 || reader{page_, next_}.has_new(); }

  /// Returns where the log goes on, once it has been replaced and everything in it was read or counted as lost; until
  /// then nothing. It is unknown_log_location if the next log is in memory that can't be mapped. Progress: wait-free.
  [[nodiscard]] std::optional<log_location> next_log() const noexcept {
    const log_location found = replaced_by();
    // After the look: the end of the log is there.
    if (found == no_log_location || reader{page_, next_}.end_sequence() != next_) return std::nullopt;
    return found;
  }
  /// Returns where the log goes on, or no_log_location while it was not replaced. There may be entries left to read.
  /// Progress: wait-free.
  [[nodiscard]] log_location replaced_by() const noexcept { return page_.successor(); }

  /// Goes on in the next log, which begins at the first byte of `memory`; this reader does not use the old memory any
  /// more. The old log need not be read to its end: what is left there is counted as lost, as are logs that the reader
  /// did not come to. Returns `none`; or what is wrong, with nothing changed.
  [[nodiscard]] log_fault follow(std::span<const std::byte> memory) noexcept {
    std::uint64_t entries = 0;
    const log_fault fault = page::fault_of(memory, type_, entries);
    if (fault != log_fault::none) return fault;
    const page next{memory, entries};
    const std::uint64_t first = next.first_sequence();
    if (first < next_) return log_fault::not_next;
    unread_ += first - next_;
    page_ = next;
    next_ = first;
    return fault;
  }

  /// Returns the number of the entry that the next batch begins with, unless that entry is lost. Progress: wait-free.
  [[nodiscard]] std::uint64_t next_sequence() const noexcept { return next_; }
  /// Returns the number of the entry that will be appended next to this log, as far as this thread can see. Progress:
  /// wait-free.
  [[nodiscard]] std::uint64_t end_sequence() const noexcept { return reader{page_, next_}.end_sequence(); }

 private:
  using page = detail::mapped_page<ring_log_page<Entry, std::dynamic_extent, log_form::stamped, Platform>>;
  using reader = ring_log_reader<page>;

  mapped_log_reader(const page& from, std::uint32_t type) noexcept
      : page_{from}, type_{type}, next_{reader{page_}.next_sequence()} {}

  page page_;
  std::uint32_t type_;
  std::uint64_t next_;
  std::uint64_t unread_ = 0;  // of earlier logs, and not reported yet
};

/// Reads one of the logs of a queue. Its memory was given to the queue by set_log(), with its place; the queue has made
/// the log with its first entry after that.
using mapped_fence_log = mapped_log_reader<fence_log_entry>;

}  // namespace tidemark

#endif  // TIDEMARK_LOG_MAPPED_LOG_HPP
