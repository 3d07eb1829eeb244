// SPDX-License-Identifier: BSL-1.0
#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "execution.hpp"

namespace tidemark::verify::runner {
namespace {

constexpr std::size_t longest = 200;
constexpr unsigned seconds_between_lines = 10;  // elsewhere than on a terminal

bool is_shown = false;
bool is_terminal = false;
int columns = 80;
bool is_visible = false;  // there is something on the line of the terminal
unsigned seconds = 0;
// A signal reads these. If it comes while one is written, a line is odd for a second.
char whole[longest] = "";
char searched[longest - 50] = "";
std::uint32_t first_execution = 0;

void print(const char* text, std::size_t size) { static_cast<void>(!write(STDERR_FILENO, text, size)); }

/// Does not allocate, because a signal may call it at any moment.
void print_line(const char* more) {
  char text[2 * longest];
  std::snprintf(text, sizeof text, "%s%s%s", whole, *whole != '\0' && *more != '\0' ? "; " : "", more);
  char line[2 * longest + 8];
  const int size = is_terminal ? std::snprintf(line, sizeof line, "\r%.*s\033[K", columns - 1, text)
                               : std::snprintf(line, sizeof line, "%s\n", text);
  print(line, static_cast<std::size_t>(size));
  is_visible = true;
}

}  // namespace

void begin_progress(bool is_asked_for) {
  is_terminal = isatty(STDERR_FILENO) != 0;
  is_shown = is_asked_for || is_terminal;
  winsize size = {};
  if (is_terminal && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) columns = size.ws_col;
}

void show_progress(const std::string& text) {
  if (!is_shown) return;
  std::snprintf(whole, sizeof whole, "%s", text.c_str());
  searched[0] = '\0';
  seconds = 0;
  print_line("");
}

void name_search(const char* check, const std::string& search) {
  if (!is_shown) return;
  std::snprintf(searched, sizeof searched, "%s: %s", check, search.c_str());
  first_execution = running.number;
}

void show_search() {
  if (!is_shown || searched[0] == '\0') return;
  if (!is_terminal && ++seconds % seconds_between_lines != 0) return;
  char text[longest];
  std::snprintf(text, sizeof text, "%s, %u executions so far", searched, running.number - first_execution);
  print_line(text);
}

void forget_progress() { is_shown = is_terminal = is_visible = false; }

void hide_progress() {
  if (is_terminal && is_visible) print("\r\033[K", 4);
  is_visible = false;
  searched[0] = '\0';
}

std::string time_left::text() const {
  if (done_ == 0) return "";
  const double each = std::difftime(std::time(nullptr), began_) / static_cast<double>(done_);
  const auto left = static_cast<unsigned long>(std::lround(each * static_cast<double>(all_ - done_)));
  if (left < 100) return "about " + std::to_string(left) + " s left";
  if (left < 100 * 60) return "about " + std::to_string((left + 30) / 60) + " min left";
  return "about " + std::to_string((left + 1800) / 3600) + " h left";
}

}  // namespace tidemark::verify::runner
