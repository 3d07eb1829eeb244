// SPDX-License-Identifier: BSL-1.0
//
// The bytes of a trace file (trace_file.hpp): numbers that take as many bytes as they need, and runs of characters.
//
//   number        7 bits in each byte, the lowest first; all bytes but the last have their highest bit set
//   difference    of two 64-bit numbers, modulo 2^64, as a signed number: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
//   characters    their count as a number, and the characters
#ifndef TIDEMARK_TRACE_DETAIL_TRACE_BYTES_HPP
#define TIDEMARK_TRACE_DETAIL_TRACE_BYTES_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>

namespace tidemark::detail {

/// What stands at the beginning of a file. The last character is the version of the format.
inline constexpr std::string_view trace_file_head{"tidemark trace\n\1", 16};

/// What a record is about; the low four bits of its first byte.
enum class trace_record : std::uint8_t {
  end = 0,  ///< number of records before it
  queue_name = 1,
  engine_name = 2,
  fence_name = 3,
  wait_queued = 4,  ///< the events have the values of a trace_event, ...
  signal_queued = 5,
  signal_executed = 6,  ///< ... and of a fence_operation
  wait_unblocked = 7,
  waits_lost = 8,
  signals_lost = 9,
  work = 10,
  clock = 11,
  process_name = 12,  ///< its number is 0
  thread_name = 13,
};

/// Bits of a record's first byte: which of its times are known. An unknown time takes no byte.
inline constexpr std::uint8_t has_first_time = 0x10;
inline constexpr std::uint8_t has_second_time = 0x20;
/// The same of a signal or a wait that was cancelled. It has no times.
inline constexpr std::uint8_t is_cancelled_record = 0x40;

/// What a writer and a reader keep of the records so far: the next value and time is written as a difference.
struct trace_file_state {
  std::uint64_t value = 0;
  std::uint64_t time = 0;
};

/// How many bytes a number takes at most.
inline constexpr std::size_t longest_number = 10;

inline void append_number(std::string& to, std::uint64_t value) {
  for (; value > 0x7F; value >>= 7U) to += static_cast<char>(static_cast<unsigned char>(value | 0x80U));
  to += static_cast<char>(value);
}

/// Appends how far `value` is from `last`, and keeps it there.
inline void append_difference(std::string& to, std::uint64_t value, std::uint64_t& last) {
  const std::uint64_t difference = value - last;
  append_number(to, difference << 1U ^ (difference >> 63U != 0 ? UINT64_MAX : 0));
  last = value;
}

inline void append_characters(std::string& to, std::string_view characters) {
  append_number(to, characters.size());
  to += characters;
}

/// Reads what the functions above write. After the first function that could not read all that it should, no other one
/// reads anything; they return 0 and nothing then. For one thread at a time.
class trace_byte_reader {
 public:
  enum class fault : std::uint8_t { none, ended, wrong };

  explicit trace_byte_reader(std::istream& stream) : stream_{stream} {}

  fault found() const noexcept { return fault_; }

  std::uint8_t byte() {
    if (fault_ != fault::none || (at_ == size_ && !fill())) return 0;
    return static_cast<std::uint8_t>(buffer_[at_++]);
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint64_t next = byte();
      if (fault_ != fault::none) return 0;
      const std::uint64_t part = next & 0x7FU;
      if (shift > 63 || (shift == 63 && part > 1)) return fail();
      value |= part << shift;
      if (next <= 0x7F) return value;
    }
  }

  /// Reads a number that must fit into 32 bits.
  std::uint32_t short_number() {
    const std::uint64_t value = number();
    return static_cast<std::uint32_t>(value <= UINT32_MAX ? value : fail());
  }

  std::uint64_t difference(std::uint64_t& last) {
    const std::uint64_t coded = number();
    last += coded >> 1U ^ ((coded & 1U) != 0 ? UINT64_MAX : 0);
    return last;
  }

  /// Takes no more memory than there are characters, whatever their count says.
  std::string characters() {
    std::string result;
    for (std::uint64_t left = number(); left != 0;) {
      if (at_ == size_ && !fill()) return {};
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(left, size_ - at_));
      result.append(&buffer_[at_], part);
      at_ += part;
      left -= part;
    }
    return result;
  }

  /// Says that what was read has no meaning. Returns 0.
  std::uint64_t fail() noexcept {
    if (fault_ == fault::none) fault_ = fault::wrong;
    return 0;
  }

 private:
  bool fill() {
    stream_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    size_ = static_cast<std::size_t>(stream_.gcount());
    at_ = 0;
    if (size_ == 0) fault_ = fault::ended;
    return size_ != 0;
  }

  std::istream& stream_;
  std::array<char, 16384> buffer_;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  fault fault_ = fault::none;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_TRACE_BYTES_HPP
