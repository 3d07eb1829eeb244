// SPDX-License-Identifier: BSL-1.0
//
// Very many threads with small stacks, which std::thread can't create.
#ifndef TIDEMARK_TESTS_SUPPORT_CROWD_HPP
#define TIDEMARK_TESTS_SUPPORT_CROWD_HPP

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <utility>

namespace testing {

class crowd {
 public:
  static constexpr std::size_t stack_size = 256 * 1024;

  crowd() {
    pthread_attr_init(&attributes_);
    pthread_attr_setstacksize(&attributes_, stack_size);
  }
  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;
  ~crowd() {
    join();
    pthread_attr_destroy(&attributes_);
  }

  /// Waits for the threads that were started.
  void join() {
    for (const auto& one : members_) pthread_join(one.thread, nullptr);
    members_.clear();
  }
  /// Returns false if the system creates no more threads.
  bool start(std::function<void()> body) {
    auto& one = members_.emplace_back();
    one.body = std::move(body);
    const bool started = pthread_create(&one.thread, &attributes_, &run, &one) == 0;
    if (!started) members_.pop_back();
    return started;
  }

 private:
  struct member {
    pthread_t thread{};
    std::function<void()> body;
  };

  static void* run(void* one) {
    static_cast<member*>(one)->body();
    return nullptr;
  }

  pthread_attr_t attributes_;
  std::list<member> members_;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_CROWD_HPP
