// SPDX-License-Identifier: BSL-1.0

#include <tidemark/platform/names.hpp>

#include <tidemark/context/command_context.hpp>
#include <tidemark/fence/callback_state.hpp>
#include <tidemark/fence/wait.hpp>
#include <tidemark/hub/hub.hpp>
#include <tidemark/memory/map_mode.hpp>
#include <tidemark/memory/mapped_allocation.hpp>
#include <tidemark/split/split_list.hpp>
#include <tidemark/trace/trace_file.hpp>

#include <iomanip>
#include <sstream>
#include <string>
#include <string_view>
#include <version>

#if defined(__cpp_lib_format)
#include <format>
#endif

#include <doctest/doctest.h>

using namespace tidemark;

namespace {

enum class color { red };

/// What a stream makes of a value.
template <class Value>
std::string printed(const Value& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// Whether all enumerations have all their names is held by the house test of the rooms.

TEST_CASE("a status is printed by the name of its enumerator") {
  static_assert(to_string(wait_status::timeout) == "timeout");
  CHECK(printed(wait_status::reached) == "reached");
  CHECK(printed(map_status::no_memory) == "no_memory");
  CHECK(printed(move_status::refused) == "refused");
  CHECK(printed(trace_read_status::truncated) == "truncated");
  CHECK(printed(finish_status::invalid) == "invalid");
  CHECK(printed(callback_state::cancelled) == "cancelled");
}

TEST_CASE("what explains a status is printed by its name, too") {
  CHECK(printed(lock_refusal::none) == "none");
  CHECK(printed(split_fault::reserved_bits) == "reserved_bits");
  CHECK(printed(context_error::stale) == "stale");
  CHECK(printed(hub_event::overrun) == "overrun");
}

TEST_CASE("a value that is no enumerator is printed as a question mark") {
  CHECK(to_string(static_cast<wait_status>(4)) == "?");
  CHECK(to_string(static_cast<wait_status>(-1)) == "?");
}

TEST_CASE("a status is printed as wide as the stream is told") {
  std::ostringstream out;
  out << std::left << std::setw(9) << wait_status::lost << '|';
  CHECK(out.str() == "lost     |");
}

TEST_CASE("enumerations of the program have no names here") {
  static_assert(named_enumeration<wait_status>);
  static_assert(!named_enumeration<color>);
  static_assert(!named_enumeration<int>);
  CHECK_FALSE(named_enumeration<std::string>);
}

#if defined(__cpp_lib_format)
TEST_CASE("a status is formatted by its name, with the format specification of a string") {
  CHECK(std::format("{}", wait_status::stopped) == "stopped");
  CHECK(std::format("{:>9}", map_status::busy) == "     busy");
}
#endif

}  // namespace
