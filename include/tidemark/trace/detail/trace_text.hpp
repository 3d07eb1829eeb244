// SPDX-License-Identifier: BSL-1.0
//
// JSON as text, for the exporters of a trace. The locale and the flags of the stream do not matter.
//
// A string of any bytes becomes valid JSON: each byte that is not UTF-8 becomes U+FFFD. '<' is always escaped, so that
// the text may stand inside a <script> element of a page.
#ifndef TIDEMARK_TRACE_DETAIL_TRACE_TEXT_HPP
#define TIDEMARK_TRACE_DETAIL_TRACE_TEXT_HPP

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace tidemark::detail {

/// Returns how many bytes the UTF-8 character at `at` has; 0 if no valid one begins there. Overlong forms and
/// surrogates are not valid.
inline std::size_t utf8_bytes(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool beyond = (lead == 0xED && second >= 0xA0) || (lead == 0xF4 && second >= 0x90);
  return overlong || beyond ? 0 : length;
}

/// Collects JSON in a buffer, and writes the buffer to a stream when it is large enough. Each function that appends
/// returns *this. For one thread at a time.
class json_text {
 public:
  explicit json_text(std::ostream& stream) : stream_{stream} {}
  json_text(const json_text&) = delete;
  json_text& operator=(const json_text&) = delete;
  ~json_text() = default;  // drops what was not flushed

  /// Appends the text as it is.
  json_text& raw(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= enough) flush();
    return *this;
  }

  /// Appends a number.
  json_text& number(std::uint64_t value) { return decimal(value); }

  /// Appends a number, or a string where a reader that keeps numbers as `double` would round the number.
  json_text& exact(std::uint64_t value) {
    if (value <= exact_in_double) return decimal(value);
    return raw("\"").decimal(value).raw("\"");
  }

  /// Appends `to` - `from`, which may be negative.
  json_text& difference(std::uint64_t to, std::uint64_t from) {
    return to >= from ? decimal(to - from) : raw("-").decimal(from - to);
  }

  /// Appends nanoseconds as microseconds with three decimals.
  json_text& microseconds(std::uint64_t nanoseconds) {
    const std::uint64_t part = nanoseconds % 1000;
    const char digits[] = {'.', static_cast<char>('0' + part / 100), static_cast<char>('0' + part / 10 % 10),
                           static_cast<char>('0' + part % 10)};
    return decimal(nanoseconds / 1000).raw({digits, sizeof(digits)});
  }

  /// Appends a string with its quotes.
  json_text& string(std::string_view text) {
    buffer_ += '"';
    characters(text);
    return raw("\"");
  }

  /// Appends what stands between the quotes of a string.
  json_text& characters(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = utf8_bytes(text, at);
      if (length == 0) {
        buffer_ += "\\ufffd";
      } else if (length == 1) {
        ascii(text[at]);
      } else {
        buffer_ += text.substr(at, length);
      }
      at += length == 0 ? 1 : length;
    }
    return *this;
  }

  /// Writes the buffer to the stream.
  void flush() {
    stream_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }

 private:
  static constexpr std::size_t enough = 65536;
  static constexpr std::uint64_t exact_in_double = std::uint64_t{1} << 53;

  /// Not by std::to_chars(), whose header is as long as ten of ours.
  json_text& decimal(std::uint64_t value) {
    char digits[20];
    char* const end = digits + sizeof(digits);
    char* first = end;
    do {
      *--first = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    return raw({first, static_cast<std::size_t>(end - first)});
  }

  void ascii(char character) {
    constexpr std::string_view hex = "0123456789abcdef";
    const auto code = static_cast<unsigned char>(character);
    if (character == '"' || character == '\\') {
      buffer_ += '\\';
      buffer_ += character;
    } else if (code < 0x20 || code == 0x7F || character == '<') {
      buffer_ += "\\u00";
      buffer_ += hex[code >> 4U];
      buffer_ += hex[code & 15U];
    } else {
      buffer_ += character;
    }
  }

  std::ostream& stream_;
  std::string buffer_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_TRACE_DETAIL_TRACE_TEXT_HPP
