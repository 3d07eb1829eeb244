// SPDX-License-Identifier: BSL-1.0
//
// Texts in JSON.
#ifndef TIDEMARK_VERIFY_RUNNER_JSON_TEXT_HPP
#define TIDEMARK_VERIFY_RUNNER_JSON_TEXT_HPP

#include <string>
#include <string_view>

namespace tidemark::verify::runner {

/// Returns a text as a string of JSON. It has no `<`, so that it may stand in a page of HTML. What is not UTF-8 becomes
/// U+FFFD.
std::string json_string(std::string_view text);

}  // namespace tidemark::verify::runner

#endif  // TIDEMARK_VERIFY_RUNNER_JSON_TEXT_HPP
