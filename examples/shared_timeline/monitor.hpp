// SPDX-License-Identifier: BSL-1.0
// The monitor of shared_timeline. It can only look: all that it opens is mapped for reading alone, it takes no place in
// the segments, and nobody waits for it.

#pragma once

#include "../support/files.hpp"
#include "crew.hpp"
#include "data_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ios>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace shared_timeline {

class monitor {
 public:
  explicit monitor(const options& chosen) : options_{chosen} {}

  int run() {
    const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
    bool is_used = show(is_terminal);
    if (!is_used) throw std::runtime_error(why_nothing(options_.name));
    while (is_used && !options_.once && !ending::is_wanted()) {
      pause();
      is_used = show(is_terminal);
    }
    if (!is_used) say("monitor", "nobody is attached any more");
    if (!options_.page.empty()) write_page();
    return 0;
  }

  /// Returns the table, and nothing if nobody is attached to any of the fences.
  static std::optional<std::string> table(const std::string& name) {
    std::string rows;
    bool is_used = add_fence(rows, "produced", produced_name(name));
    for (std::size_t k = 1; k <= consumer_count; ++k)
      is_used = add_fence(rows, "consumed " + std::to_string(k), consumed_name(name, k)) || is_used;
    if (!is_used) return std::nullopt;
    return row("fence", "value", "least target", "who signals", "who waits") + rows + last_entries(name);
  }

 private:
  static constexpr std::size_t shown_entries = 5;

  bool show(bool is_terminal) const {
    const std::optional<std::string> found = table(options_.name);
    if (!found) return false;
    const std::string text = (is_terminal ? "\033[H\033[J" : "") + *found + (options_.once || is_terminal ? "" : "\n");
    return ::write(STDOUT_FILENO, text.data(), text.size()) >= 0;
  }

  /// The interval of the display, and nothing that others rely on.
  void pause() const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{options_.every};
    while (!ending::is_wanted() && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_until(std::min(until, std::chrono::steady_clock::now() + a_while));
  }

  /// Nobody is attached, or this process may not look.
  static std::string why_nothing(const std::string& name) {
    std::vector<std::string> fences{produced_name(name)};
    for (std::size_t k = 1; k <= consumer_count; ++k) fences.push_back(consumed_name(name, k));
    for (const std::string& each : fences) {
      const auto opened = reader::open({each}, fence_choices("monitor"));
      if (!opened && opened.status != tidemark::shared_open_status::unknown) return why_not(each, opened);
    }
    return "nobody is attached to '" + name + "'";
  }

  /// Adds a text, and spaces up to the next column, one at least.
  static void add_column(std::string& line, std::string_view text, std::size_t width) {
    line += text;
    line.append(width > text.size() ? width - text.size() : 1, ' ');
  }
  static std::string row(std::string_view fence, std::string_view value, std::string_view target,
                         std::string_view signals, std::string_view waits) {
    std::string line;
    add_column(line, fence, 12);
    add_column(line, value, 10);
    add_column(line, target, 14);
    add_column(line, signals, 18);
    line += waits;
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
  }

  /// Adds the row of a fence. Returns whether somebody is attached to it.
  static bool add_fence(std::string& rows, std::string_view title, const std::string& name) {
    const auto opened = reader::open({name}, fence_choices("monitor"));
    if (!opened) {
      rows += row(title, "-", "-", "nobody",
                  opened.status == tidemark::shared_open_status::unknown
                      ? ""
                      : std::string(to_string(opened.status)) + " " + std::string(to_string(opened.field)));
      return false;
    }
    // Who signals: by the state, which knows of the dead; the list has the living alone.
    std::string signals;
    std::string waits;
    opened.fence.for_each_attachment([&](const tidemark::shared_attachment& each) {
      const std::string_view label(
          each.label.data(),
          static_cast<std::size_t>(std::find(each.label.begin(), each.label.end(), '\0') - each.label.begin()));
      const bool may_signal = each.rights == tidemark::shared_rights::signal;
      std::string& list = may_signal ? signals : waits;
      if (!list.empty()) list += ", ";
      list.append(label).append(" ").append(std::to_string(each.process));
    });
    const tidemark::shared_signallers state = opened.fence.signallers();
    if (state != tidemark::shared_signallers::present) signals = to_string(state);
    const std::optional<std::uint64_t> target = opened.fence.least_target();
    rows += row(title, std::to_string(opened.fence.current_value()), target ? std::to_string(*target) : "none", signals,
                waits);
    return true;
  }

  static std::string last_entries(const std::string& name) {
    const auto produced = reader::open({produced_name(name)}, fence_choices("monitor"));
    if (!produced) return "";
    const std::optional<data_file> data = data_file::open(data_file::path_of(name, produced.fence.id()), false);
    if (!data) return "";
    auto opened = item_log_reader::open(data->log(), log_type);
    if (!opened) return "";
    std::array<entry, log_entries> buffer;
    const auto [entries, lost, first] = opened.reader->read(buffer);
    std::string text = "last entries\n";
    const std::size_t begin = entries.size() - std::min(entries.size(), shown_entries);
    for (std::size_t i = begin; i < entries.size(); ++i) text += described(first + i + 1, entries[i]);
    return text;
  }

  static std::string described(std::uint64_t number, const entry& told) {
    std::string text;
    add_column(text, std::to_string(number), 10);
    switch (told.what) {
      case news::item:
        text += "item of " + std::to_string(told.bytes) + " bytes at " + std::to_string(told.offset);
        break;
      case news::begins:
        text += "producer " + std::to_string(told.who) + " begins";
        break;
      case news::joins:
        text += "consumer " + std::to_string(told.who) + " joins";
        break;
      case news::leaves:
        text += "consumer " + std::to_string(told.who) + " has left";
        break;
    }
    return text + "\n";
  }

  /// Makes one page of what all processes have written, also of those that were killed.
  void write_page() const {
    std::vector<tidemark::fence_id> fences{produced_id};
    for (std::size_t k = 1; k <= consumer_count; ++k) fences.push_back(consumed_id(k));
    tidemark::trace_merge all{{.shared = fences}};
    std::vector<std::filesystem::path> paths;
    for (const auto& each : std::filesystem::directory_iterator(options_.trace)) {
      if (each.path().extension() == ".tidemark") paths.push_back(each.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const std::filesystem::path& path : paths) {
      std::ifstream file{path, std::ios::binary};
      const tidemark::trace_read_result found = all.add(file);
      // That of a process which runs or was killed is cut off.
      if (!found && found.status != tidemark::trace_read_status::truncated)
        support::fail("read", path.string(), EINVAL);
    }
    support::output_file page{options_.page};
    std::ostringstream text;
    tidemark::write_trace_page(all.result(), text);
    page.file().write(std::as_bytes(std::span(text.view())));
    page.publish();
    const auto& commands = all.result().commands();
    const auto arrows = std::count_if(commands.begin(), commands.end(), [&](const tidemark::trace_command& each) {
      return each.released_by && commands[*each.released_by].queue != each.queue;
    });
    say("monitor", options_.page, " has the waits and signals of ", paths.size(), " processes, and ", arrows,
        " arrows");
  }

  const options& options_;
};

}  // namespace shared_timeline
