// SPDX-License-Identifier: BSL-1.0
// The command line of shared_timeline.

#pragma once

#include "../support/command_line.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shared_timeline {

using support::parse_number;
using support::usage_error;

inline constexpr std::size_t consumer_count = 3;

enum class role : unsigned char { rehearsal, producer, consumer, monitor };

/// Where a producer kills itself, so that others must not take what it leaves behind.
enum class death : unsigned char {
  none,
  half,         ///< When half of an item is written.
  unsignalled,  ///< When the item is written and logged, and not signalled.
};

struct options {
  role as = role::rehearsal;
  std::string name;
  std::size_t consumer = 0;  // 1 to consumer_count
  std::size_t items = 0;     // 0: until it is told to end
  std::size_t rate = 1000;   // items in a second; 0: as fast as the consumers
  std::size_t every = 200;   // milliseconds
  std::size_t rounds = 6;
  std::optional<std::size_t> seed;
  bool once = false;
  bool help = false;
  death dies = death::none;
  std::string trace;
  std::string page;
};

inline constexpr const char* help_text =
    "usage: shared_timeline [OPTION]...\n"
    "       shared_timeline producer NAME [OPTION]...\n"
    "       shared_timeline consumer NAME 1|2|3 [OPTION]...\n"
    "       shared_timeline monitor NAME [OPTION]...\n"
    "\n"
    "A producer and three consumers, each a process of its own, hand items on through a ring of shared memory. Fences\n"
    "that they share order all accesses, and give the space back. Kill any of them and start it again: the others go\n"
    "on, and say what has happened. Without a role it starts all of them, kills each of them, and checks the others.\n"
    "\n"
    "  --items N       the producer ends after N items (default: when it is told to, by SIGTERM), and when all have\n"
    "                  read them; told a second time, it waits for nobody\n"
    "  --rate N        items in a second; 0: as fast as the consumers are (default 1000)\n"
    "  --trace FOLDER  each process writes there what it waits for and signals; a monitor reads it\n"
    "  --page FILE     a monitor writes a page of what is in FOLDER, for a browser, when it ends\n"
    "  --once          a monitor shows its table once\n"
    "  --every N       a monitor shows it every N milliseconds (default 200)\n"
    "  --rounds N      without a role: how often something is killed (default 6)\n"
    "  --seed N        without a role: for the moments of the kills (default: another one each time)\n"
    "  --die HOW       the producer kills itself, in its tenth item: 'half' written, or 'unsignalled'\n"
    "  --help          this text\n"
    "\n"
    "Exit status: 0 if all was right, 1 if not, 2 if the command line is wrong.\n";

inline void apply_option(options& result, std::string_view name, std::string_view value) {
  if (name == "--items") {
    result.items = parse_number(name, value, 1, 1'000'000'000);
  } else if (name == "--rate") {
    result.rate = parse_number(name, value, 0, 1'000'000);
  } else if (name == "--every") {
    result.every = parse_number(name, value, 1, 60'000);
  } else if (name == "--rounds") {
    result.rounds = parse_number(name, value, 0, 1'000'000);
  } else if (name == "--seed") {
    result.seed = parse_number(name, value, 0, UINT32_MAX);
  } else if (name == "--trace") {
    result.trace = value;
  } else if (name == "--page") {
    result.page = value;
  } else if (name == "--die" && value == "half") {
    result.dies = death::half;
  } else if (name == "--die" && value == "unsignalled") {
    result.dies = death::unsignalled;
  } else if (name == "--die") {
    throw usage_error("--die: '" + std::string(value) + "' is neither 'half' nor 'unsignalled'");
  } else {
    throw usage_error("unknown option '" + std::string(name) + "'");
  }
}

/// What is no option: the role, the name and the number of a consumer.
inline void apply_words(options& result, const std::vector<std::string_view>& words) {
  if (words.empty()) return;
  result.as = words[0] == "producer"   ? role::producer
              : words[0] == "consumer" ? role::consumer
              : words[0] == "monitor"  ? role::monitor
                                       : throw usage_error("'" + std::string(words[0]) + "' is no role");
  const bool is_consumer = result.as == role::consumer;
  if (words.size() < 2) throw usage_error("a name is needed, the same for all processes");
  if (words.size() != (is_consumer ? 3 : 2)) {
    throw usage_error(is_consumer ? "a consumer needs its number" : "there are too many arguments");
  }
  if (words[1].empty()) throw usage_error("the name is empty");
  if (words[1].find('/') != words[1].npos) throw usage_error("a name has no '/' in it");
  result.name = words[1];
  if (is_consumer) result.consumer = parse_number("consumer", words[2], 1, consumer_count);
}

/// `--name value` or `--name=value`, and up to three words.
inline options parse_options(std::vector<std::string_view> arguments) {
  options result;
  std::erase_if(arguments, [&](std::string_view argument) {
    if (argument == "--once") result.once = true;
    return argument == "--once";
  });
  std::vector<std::string_view> words;
  result.help = !support::read_arguments(
      arguments, [&](std::string_view name, std::string_view value) { apply_option(result, name, value); },
      [&](std::string_view word) { words.push_back(word); });
  if (result.help) return result;
  apply_words(result, words);
  if (!result.page.empty() && result.trace.empty()) throw usage_error("--page: it needs --trace, too");
  return result;
}

}  // namespace shared_timeline
