// SPDX-License-Identifier: BSL-1.0
//
// A strict parser of JSON (RFC 8259) for tests that look into what was written: no comments, no trailing commas, no
// bytes that are not UTF-8, no key twice.
#ifndef TIDEMARK_TESTS_SUPPORT_JSON_HPP
#define TIDEMARK_TESTS_SUPPORT_JSON_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace testing {

struct json_value {
  enum class kind { null, boolean, number, string, array, object };

  kind type = kind::null;
  bool boolean = false;
  std::string text;  ///< of a string; of a number as it was written
  std::vector<json_value> items;
  std::map<std::string, json_value> members;

  bool has(const std::string& key) const { return members.count(key) != 0; }
  /// Throws where there is no such member or item.
  const json_value& operator[](const std::string& key) const { return members.at(key); }
  const json_value& operator[](std::size_t index) const { return items.at(index); }
  const json_value& operator[](const json_value& index) const {
    return items.at(static_cast<std::size_t>(index.integer()));
  }

  double number() const { return type == kind::number ? std::strtod(text.c_str(), nullptr) : throw_wrong("a number"); }
  std::uint64_t integer() const {
    if (type != kind::number || text.find_first_not_of("0123456789") != std::string::npos) throw_wrong("an integer");
    return std::strtoull(text.c_str(), nullptr, 10);
  }
  /// A number with at most three decimals, times 1000.
  std::uint64_t thousandths() const {
    const std::size_t dot = text.find('.');
    if (type != kind::number || dot == std::string::npos || text.size() != dot + 4) throw_wrong("three decimals");
    return std::strtoull((text.substr(0, dot) + text.substr(dot + 1)).c_str(), nullptr, 10);
  }
  const std::string& string() const {
    if (type != kind::string) throw_wrong("a string");
    return text;
  }

 private:
  [[noreturn]] static double throw_wrong(const std::string& wanted) { throw std::runtime_error("not " + wanted); }
};

/// Throws std::runtime_error, with the place, if `text` is not JSON.
class json_parser {
 public:
  static json_value parse(std::string_view text) {
    json_parser parser{text};
    json_value value = parser.value();
    parser.space();
    if (parser.at_ != text.size()) parser.fail("something after the value");
    return value;
  }

 private:
  explicit json_parser(std::string_view text) : text_{text} {}

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("JSON, byte " + std::to_string(at_) + ": " + what);
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char take() {
    if (at_ == text_.size()) fail("ends early");
    return text_[at_++];
  }
  bool skip(char character) {
    if (peek() != character) return false;
    ++at_;
    return true;
  }
  void need(char character) {
    if (!skip(character)) fail(std::string{"needs "} + character);
  }
  void space() {
    while (at_ < text_.size() && std::string_view{" \t\r\n"}.find(text_[at_]) != std::string_view::npos) ++at_;
  }

  json_value value() {
    space();
    if (++depth_ > 100) fail("too deep");
    json_value result;
    const char first = peek();
    if (first == '{') {
      result = object();
    } else if (first == '[') {
      result = array();
    } else if (first == '"') {
      result.type = json_value::kind::string;
      result.text = string();
    } else if (first == '-' || (first >= '0' && first <= '9')) {
      result = number();
    } else {
      result = word();
    }
    --depth_;
    return result;
  }

  json_value object() {
    json_value result;
    result.type = json_value::kind::object;
    need('{');
    space();
    if (skip('}')) return result;
    do {
      space();
      const std::string key = string();
      space();
      need(':');
      if (!result.members.emplace(key, value()).second) fail("the key " + key + " twice");
      space();
    } while (skip(','));
    need('}');
    return result;
  }

  json_value array() {
    json_value result;
    result.type = json_value::kind::array;
    need('[');
    space();
    if (skip(']')) return result;
    do {
      result.items.push_back(value());
      space();
    } while (skip(','));
    need(']');
    return result;
  }

  json_value word() {
    json_value result;
    const auto is = [&](std::string_view wanted) {
      if (text_.substr(at_, wanted.size()) != wanted) return false;
      at_ += wanted.size();
      return true;
    };
    if (is("null")) return result;
    result.type = json_value::kind::boolean;
    result.boolean = is("true");
    if (!result.boolean && !is("false")) fail("no value");
    return result;
  }

  void digits() {
    if (peek() < '0' || peek() > '9') fail("needs a digit");
    while (peek() >= '0' && peek() <= '9') ++at_;
  }
  json_value number() {
    json_value result;
    result.type = json_value::kind::number;
    const std::size_t start = at_;
    skip('-');
    if (!skip('0')) digits();
    if (skip('.')) digits();
    if (skip('e') || skip('E')) {
      if (!skip('+')) skip('-');
      digits();
    }
    result.text = text_.substr(start, at_ - start);
    return result;
  }

  std::string string() {
    std::string result;
    need('"');
    for (char next = take(); next != '"'; next = take()) {
      const auto byte = static_cast<unsigned char>(next);
      if (byte < 0x20) fail("a bare control character");
      if (next == '\\') {
        result += escaped();
      } else if (byte >= 0x80) {
        result += character(byte);
      } else {
        result += next;
      }
    }
    return result;
  }

  std::string escaped() {
    const char name = take();
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view meant = "\"\\/\b\f\n\r\t";
    if (const std::size_t known = names.find(name); known != std::string_view::npos) return {meant[known]};
    if (name != 'u') fail("an unknown escape");
    const unsigned code = hex();
    if (code >= 0xD800 && code < 0xE000) fail("a surrogate, which nothing here writes");
    return utf8(code);
  }

  unsigned hex() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      constexpr std::string_view figures = "0123456789abcdef0123456789ABCDEF";
      const std::size_t figure = figures.find(take());
      if (figure == std::string_view::npos) fail("no hexadecimal digit");
      code = code * 16 + static_cast<unsigned>(figure % 16);
    }
    return code;
  }

  static std::string utf8(unsigned code) {
    const auto byte = [](unsigned value) { return static_cast<char>(static_cast<unsigned char>(value)); };
    if (code < 0x80) return {byte(code)};
    if (code < 0x800) return {byte(0xC0 | code >> 6U), byte(0x80 | (code & 63U))};
    return {byte(0xE0 | code >> 12U), byte(0x80 | (code >> 6U & 63U)), byte(0x80 | (code & 63U))};
  }

  /// The rest of a character of several bytes, which decodes to a code point that needs so many and is no surrogate.
  std::string character(unsigned char lead) {
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    unsigned code = lead & (0x7FU >> length);
    std::string result{static_cast<char>(lead)};
    while (result.size() < length) {
      const char next = take();
      const auto byte = static_cast<unsigned char>(next);
      if ((byte & 0xC0U) != 0x80) fail("not UTF-8");
      code = code << 6U | (byte & 63U);
      result += next;
    }
    const unsigned least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
    if (lead < 0xC0 || lead > 0xF7 || code < least || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      fail("not UTF-8");
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_JSON_HPP
