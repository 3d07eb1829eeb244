// SPDX-License-Identifier: BSL-1.0
// What all processes of shared_timeline have in common: the fences and their names, what a process says, how it ends,
// and what it writes for a trace.
//
//   NAME.produced      value n: n entries of the log are published. The producer signals it
//   NAME.consumed.K    value n: consumer K has read n entries. It signals it
//   NAME.ID.data       the log and the items (data_file.hpp)
//
// All fences count entries, so any two of their values can be compared.

#pragma once

#include "../support/files.hpp"
#include "options.hpp"

#include <tidemark/fence/shared_fence.hpp>
#include <tidemark/tidemark.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <ios>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace shared_timeline {

using namespace std::chrono_literals;
using tidemark::fence_id;
using tidemark::wait_status;
using signaller = tidemark::shared_progress_fence;
using waiter = tidemark::shared_progress_fence_waiter;
using reader = tidemark::shared_progress_fence_reader;

inline constexpr const char* memory_folder = "/dev/shm";
/// How long a process may wait before it looks whether it is to end, and who has come.
inline constexpr auto a_while = 20ms;

inline std::string produced_name(const std::string& name) { return name + ".produced"; }
inline std::string consumed_name(const std::string& name, std::size_t consumer) {
  return name + ".consumed." + std::to_string(consumer);
}
inline constexpr fence_id produced_id{1};
inline fence_id consumed_id(std::size_t consumer) { return fence_id{1 + static_cast<std::uint32_t>(consumer)}; }

/// All who open a fence must state the same numbers.
inline tidemark::shared_options fence_choices(std::string_view label) {
  return {.waiter_slots = 16, .attachments = 8, .label = label, .patience = 60s};
}

template <class Fence>
std::string why_not(const std::string& name, const tidemark::shared_open_result<Fence>& opened) {
  return "cannot open '" + name + "': " + std::string(to_string(opened.status)) + ", " +
         std::string(to_string(opened.field)) + ", error " + std::to_string(opened.error);
}

/// Opens an attachment, or throws why not.
template <class Fence>
Fence attach(const std::string& name, const tidemark::shared_options& choices) {
  auto opened = Fence::open_or_create({name}, choices);
  if (opened) return std::move(opened.fence);
  const bool is_taken = opened.status == tidemark::shared_open_status::busy;
  if (is_taken && opened.field == tidemark::shared_field::rights) {
    throw std::runtime_error("there is a living " + std::string(choices.label) + " already");
  }
  throw std::runtime_error(why_not(name, opened));
}

/// Lets a process go on if nobody reads what it prints. A standard stream that is closed becomes a file that takes all:
/// otherwise the next file would have its number, and what is printed would stand in the items.
inline void keep_streams() {
  std::signal(SIGPIPE, SIG_IGN);
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(each, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDWR));
  }
}

/// Prints one line, by one call of the system, so that the lines of several processes don't mix.
template <class... Parts>
void say(std::string_view who, const Parts&... parts) {
  std::string line(who);
  line += ": ";
  const auto add = [&](const auto& part) {
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(part)>>) {
      line += std::to_string(part);
    } else {
      line += part;
    }
  };
  (add(parts), ...);
  line += '\n';
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) return;  // nobody listens
}

/// Whether the process was told to end, by SIGINT or SIGTERM.
class ending {
 public:
  ending() {
    count_ = 0;
    for (const int number : {SIGINT, SIGTERM}) std::signal(number, [](int) { count_ = count_ + 1; });
  }
  static bool is_wanted() { return count_ != 0; }
  /// Whether it was told so twice.
  static bool is_urgent() { return count_ > 1; }

 private:
  static inline volatile std::sig_atomic_t count_ = 0;
};

/// What a process does, in a file from which a monitor makes a page. Without a folder it does nothing.
class recording {
 public:
  recording(const std::string& folder, const std::string& who) {
    if (folder.empty()) return;
    const std::string process = who + " (" + std::to_string(::getpid()) + ")";
    const std::string path = (std::filesystem::path(folder) / (process + ".tidemark")).string();
    stream_.open(path, std::ios::binary);
    if (!stream_) support::fail("create", path);
    file_.emplace(stream_);
    file_->name_process(process);
    file_->name_thread(thread, who);
    file_->name_fence(produced_id, "produced");
    for (std::size_t k = 1; k <= consumer_count; ++k)
      file_->name_fence(consumed_id(k), "consumed " + std::to_string(k));
  }
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;
  ~recording() {
    if (file_ && file_->close() != tidemark::trace_write_status::written)
      std::fputs("the trace is not whole\n", stderr);
  }

  static std::uint64_t now() noexcept { return clock::now(); }

  void signalled(fence_id fence, std::uint64_t value) {
    if (!file_) return;
    const std::uint64_t at = now();
    file_->on_queued(thread, tidemark::trace_event::signal_queued, fence, value, at);
    file_->on_executed<clock>(thread, {.fence_value = value, .fence = fence, .end_timestamp = at});
    flush_now_and_then(at);
  }
  void waited(fence_id fence, std::uint64_t value, std::uint64_t since) {
    if (!file_) return;
    const std::uint64_t at = now();
    file_->on_queued(thread, tidemark::trace_event::wait_queued, fence, value, since);
    file_->on_executed<clock>(thread, {.fence_value = value,
                                       .fence = fence,
                                       .operation = tidemark::fence_operation::wait_unblocked,
                                       .observed_timestamp = since,
                                       .end_timestamp = at});
    flush_now_and_then(at);
  }
  void worked(std::string_view what, std::uint64_t since) {
    if (file_) file_->on_work<clock>(thread, what, since, now());
  }

 private:
  using clock = tidemark::steady_log_clock;
  static constexpr tidemark::queue_id thread{1};

  /// So that little is missing if the process is killed.
  void flush_now_and_then(std::uint64_t at) {
    if (at - flushed_at_ < 20'000'000) return;
    flushed_at_ = at;
    static_cast<void>(file_->flush());
  }

  std::ofstream stream_;
  std::optional<tidemark::trace_file_writer> file_;
  std::uint64_t flushed_at_ = 0;
};

}  // namespace shared_timeline
