// SPDX-License-Identifier: BSL-1.0
// Many threads on small stacks, and a look at whether all of them sleep. Linux only.

#pragma once

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace pipeline {

class sleeping_threads {
 public:
  explicit sleeping_threads(std::function<void(std::size_t)> body) : body_(std::move(body)) {}
  sleeping_threads(const sleeping_threads&) = delete;
  sleeping_threads& operator=(const sleeping_threads&) = delete;
  ~sleeping_threads() { join(); }

  /// Starts `count` threads that run the body, each with its number. Throws if the system has not so many left; those
  /// that have been started are still joined.
  void start(std::size_t count) {
    members_.resize(count);
    pthread_attr_t attributes;
    int error = ::pthread_attr_init(&attributes);
    if (error == 0) error = ::pthread_attr_setstacksize(&attributes, stack_bytes);
    for (std::size_t i = 0; i < count && error == 0; ++i) {
      members_[i].group = this;
      members_[i].number = i;
      error = ::pthread_create(&members_[i].handle, &attributes, run, &members_[i]);
      if (error == 0) ++started_;
    }
    ::pthread_attr_destroy(&attributes);
    if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start the sleepers");
  }

  void join() {
    for (; started_ > 0; --started_) ::pthread_join(members_[started_ - 1].handle, nullptr);
  }

  /// Returns when no thread of this process runs or is ready to, but the caller, who must be the first one.
  static void wait_until_asleep() {
    while (!all_others_sleep()) std::this_thread::sleep_for(std::chrono::microseconds(200));  // then looks again
  }

 private:
  static constexpr std::size_t stack_bytes = 256 * 1024;

  struct member {
    sleeping_threads* group = nullptr;
    std::size_t number = 0;
    pthread_t handle{};
  };

  static void* run(void* argument) {
    const member& self = *static_cast<member*>(argument);
    self.group->body_(self.number);
    return nullptr;
  }

  /// The letter after the name in /proc/self/task/<id>/stat: S sleeps, R runs or is ready to.
  static bool all_others_sleep() {
    const std::string own = std::to_string(::getpid());
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
      if (entry.path().filename() == own) continue;
      std::string line;
      std::getline(std::ifstream(entry.path() / "stat"), line);
      const std::size_t name_end = line.rfind(") ");
      if (name_end == std::string::npos || line[name_end + 2] != 'S') return false;
    }
    return true;
  }

  std::function<void(std::size_t)> body_;
  std::vector<member> members_;
  std::size_t started_ = 0;
};

}  // namespace pipeline
