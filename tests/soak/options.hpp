// SPDX-License-Identifier: BSL-1.0
//
// The command line of the soak.
#ifndef TIDEMARK_TESTS_SOAK_OPTIONS_HPP
#define TIDEMARK_TESTS_SOAK_OPTIONS_HPP

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fault.hpp"

namespace soak {

struct options {
  double minutes = 1;
  std::uint64_t seed = 0;
  std::uint64_t first_round = 0;
  std::uint64_t rounds = UINT64_MAX;
  std::uint64_t repeat = 1;
  std::chrono::seconds limit{60};
  bool prints_hashes = false;
  bool prints_schedule = false;
  bool runs = true;
};

inline constexpr const char* usage = R"(usage: soak [MINUTES] [OPTION]...

Random fences under random schedules, checked against a model; 1 minute if not told otherwise.
Exit status: 0 nothing found, also when interrupted; 1 a mistake or a hang; 2 a wrong command line.

  --seed N          the master seed; the number of a round and this make its schedule
  --from-round N    begin with this round instead of round 0
  --rounds N        end after so many rounds, or when the time is over
  --repeat N        run each round so many times
  --limit SECONDS   it is a hang when no operation has ended for so long; 60 if not told otherwise
  --hashes          print the hash of each schedule before it runs
  --hash-only       print the hashes of --rounds N schedules and run nothing
  --print-schedule  print --rounds N schedules and run nothing
)";

[[noreturn]] inline void refuse(const std::string& why) {
  std::fprintf(stderr, "soak: %s\n%s", why.c_str(), usage);
  std::exit(2);
}

inline std::uint64_t number_of(const std::string& name, const std::string& text) {
  const bool is_number = !text.empty() && std::all_of(text.begin(), text.end(),
                                                      [](char letter) { return letter >= '0' && letter <= '9'; });
  if (!is_number) refuse(name + ": '" + text + "' is no number");
  return std::strtoull(text.c_str(), nullptr, 10);
}

inline double minutes_of(const std::string& text) {
  char* end = nullptr;
  const double minutes = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(minutes > 0) || minutes > 1e6) refuse("'" + text + "' are no minutes");
  return minutes;
}

inline void choose_fault([[maybe_unused]] const std::string& name) {
#if TIDEMARK_SOAK_BROKEN
  for (const auto& one : faults) {
    if (name == one.name) chosen_fault = one.what;
  }
  if (chosen_fault != fault::none) return;
#endif
  refuse("there is no fault '" + name + "' in this program");
}

/// Options that take a number, or the name of a fault.
inline void set_option(options& chosen, const std::string& name, const std::string& text) {
  if (name == "--fault") return choose_fault(text);
  const std::uint64_t number = number_of(name, text);
  if (name == "--seed") {
    chosen.seed = number;
  } else if (name == "--from-round") {
    chosen.first_round = number;
  } else if (name == "--rounds") {
    chosen.rounds = number;
  } else if (name == "--repeat") {
    chosen.repeat = number;
  } else if (name == "--limit") {
    chosen.limit = std::chrono::seconds{std::clamp<std::uint64_t>(number, 1, 1'000'000)};
  } else {
    refuse("unknown option '" + name + "'");
  }
}

inline options read_options(const std::vector<std::string>& arguments) {
  options chosen;
  std::random_device device;
  chosen.seed = (std::uint64_t{device()} << 32) | device();
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& one = arguments[at];
    if (one == "--help" || one == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    } else if (one == "--hashes") {
      chosen.prints_hashes = true;
    } else if (one == "--hash-only") {
      chosen.prints_hashes = true;
      chosen.runs = false;
    } else if (one == "--print-schedule") {
      chosen.prints_schedule = true;
      chosen.runs = false;
    } else if (one.substr(0, 1) != "-") {
      chosen.minutes = minutes_of(one);
    } else if (at + 1 < arguments.size()) {
      set_option(chosen, one, arguments[++at]);
    } else {
      refuse("unknown option '" + one + "', or one without its value");
    }
  }
  if (!chosen.runs && chosen.rounds == UINT64_MAX) chosen.rounds = 1;
  return chosen;
}

}  // namespace soak

#endif  // TIDEMARK_TESTS_SOAK_OPTIONS_HPP
