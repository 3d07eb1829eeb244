// SPDX-License-Identifier: BSL-1.0
#include "helpers.hpp"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iostream>
#include <new>

#include "progress.hpp"
#include "watchdog.hpp"

namespace tidemark::verify::runner {

helpers::~helpers() {
  if (from_them_ >= 0) close(from_them_);
  for (const pid_t each : started_) {
    while (waitpid(each, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

void helpers::start(unsigned count, unsigned parts, const std::function<void(unsigned part)>& work) {
  void* const shared =
      mmap(nullptr, sizeof(std::atomic<unsigned>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return;
  auto& next = *new (shared) std::atomic<unsigned>{0};
  int ends[2];
  if (pipe(ends) != 0) return;
  from_them_ = ends[0];
  std::cout.flush();
  const pid_t starter = getpid();
  for (unsigned i = 0; i < std::min(count, parts); ++i) {
    const pid_t child = fork();
    if (child > 0) started_.push_back(child);
    if (child != 0) continue;
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != starter) _exit(1);
    close(ends[0]);
    to_starter_ = ends[1];
    forget_progress();
    restart_watchdog();
    for (unsigned part = next++; part < parts; part = next++) work(part);
    _exit(0);
  }
  close(ends[1]);
  munmap(shared, sizeof(std::atomic<unsigned>));
}

void helpers::stop() {
  for (const pid_t each : started_) kill(each, SIGKILL);
}

void helpers::tell(const std::string& line) const {
  const std::string text = line + "\n";
  if (text.size() > PIPE_BUF) return;
  while (write(to_starter_, text.data(), text.size()) < 0) {
    if (errno != EINTR) _exit(1);  // nobody is interested any more
  }
}

std::optional<std::string> helpers::next_line() {
  while (true) {
    const std::size_t end = read_.find('\n');
    if (end != std::string::npos) {
      std::string line = read_.substr(0, end);
      read_.erase(0, end + 1);
      return line;
    }
    char block[PIPE_BUF];
    const ssize_t size = read(from_them_, block, sizeof block);
    if (size > 0) read_.append(block, static_cast<std::size_t>(size));
    if (size == 0 || (size < 0 && errno != EINTR)) return std::nullopt;
  }
}

unsigned processors() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return static_cast<unsigned>(CPU_COUNT(&allowed));
#endif
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online < 1 ? 1 : static_cast<unsigned>(online);
}

}  // namespace tidemark::verify::runner
