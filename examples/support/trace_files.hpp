// SPDX-License-Identifier: BSL-1.0
// The files that a trace goes to: a page, Chrome trace events, or both. They are opened before the work begins, so that
// a path that can't be written to is told at once, and get their names when all of them are written.

#pragma once

#include "files.hpp"

#include <tidemark/tidemark.hpp>

#include <cstdint>
#include <cstdio>
#include <deque>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

class trace_files {
 public:
  explicit trace_files(std::vector<std::string> paths) : paths_(std::move(paths)) {
    for (const std::string& path : paths_) files_.emplace_back(path);
  }

  [[nodiscard]] bool are_wanted() const { return !paths_.empty(); }

  void write(const tidemark::trace& source) {
    queues_ = source.queues().size();
    commands_ = source.commands().size();
    for (const tidemark::trace_loss& loss : source.losses()) lost_ += loss.count;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      std::ostringstream text;
      if (paths_[i].ends_with(".html")) {
        tidemark::write_trace_page(source, text);
      } else {
        tidemark::write_chrome_trace(source, text);
      }
      files_[i].file().write(std::as_bytes(std::span(text.view())));
    }
  }

  void publish() {
    for (output_file& file : files_) file.publish();
  }

  /// A line for each file.
  void report() const {
    for (const std::string& path : paths_) {
      const bool is_page = path.ends_with(".html");
      std::printf("trace     %s: %zu queues, %zu commands, ", path.c_str(), queues_, commands_);
      if (lost_ == 0) {
        std::printf("no log entry lost; ");
      } else {
        std::printf("%ju older log entries overwritten; ", static_cast<std::uintmax_t>(lost_));
      }
      std::puts(is_page ? "open it in a browser" : "open it in Perfetto");
    }
  }

 private:
  std::vector<std::string> paths_;
  std::deque<output_file> files_;
  std::size_t queues_ = 0;
  std::size_t commands_ = 0;
  std::uint64_t lost_ = 0;
};

}  // namespace support
