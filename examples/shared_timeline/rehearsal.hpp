// SPDX-License-Identifier: BSL-1.0
// shared_timeline without a role: it starts all roles as processes, kills them at random moments, starts them again,
// and checks that the others go on, that they say what has happened, and that a monitor's table shows it.
//
// Nothing here counts on time: each check waits until what it expects is there.

#pragma once

#include "crew.hpp"
#include "monitor.hpp"
#include "options.hpp"
#include "roles.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace shared_timeline {

/// Throws if this process was told to end: what is thrown kills the children and removes the names.
inline void check_ending() {
  if (ending::is_wanted()) throw std::runtime_error("it was told to end");
}

/// What the children print, line by line.
class spoken {
 public:
  spoken() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) support::fail("make", "a pipe");
  }
  spoken(const spoken&) = delete;
  spoken& operator=(const spoken&) = delete;
  ~spoken() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  /// For a child: what it prints goes here.
  void redirect() const { ::dup2(ends_[1], STDOUT_FILENO); }

  /// Reads until a line with this text is there, at or behind the line `from`. Throws if there is none for minutes, or
  /// if this process is told to end.
  void expect(std::size_t from, const std::string& text) {
    for (std::size_t at = from;; ++at) {
      while (at == lines_.size()) read(text);
      if (lines_[at].find(text) != std::string::npos) return;
    }
  }
  /// Returns where the next lines will stand.
  std::size_t mark() {
    while (is_readable(0)) read_some();
    return lines_.size();
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  static constexpr int patience = 300'000;  // milliseconds

  bool is_readable(int milliseconds) const {
    pollfd asked{ends_[0], POLLIN, 0};
    return ::poll(&asked, 1, milliseconds) > 0;
  }
  void read(const std::string& expected) {
    const bool is_there = is_readable(patience);  // a signal ends it, too
    check_ending();
    if (!is_there) throw std::runtime_error("nobody said '" + expected + "'");
    read_some();
  }
  void read_some() {
    std::array<char, 4096> buffer{};
    const ssize_t count = ::read(ends_[0], buffer.data(), buffer.size());
    if (count < 0) support::fail("read", "a pipe");
    for (const char each : std::string_view(buffer.data(), static_cast<std::size_t>(count))) {
      if (each != '\n') {
        unfinished_ += each;
        continue;
      }
      std::puts(unfinished_.c_str());
      lines_.push_back(std::exchange(unfinished_, {}));
    }
  }

  std::array<int, 2> ends_{-1, -1};
  std::string unfinished_;
  std::vector<std::string> lines_;
};

/// A process with a role.
class actor {
 public:
  actor(const options& chosen, const spoken& listener, int output = -1) {
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    number_ = ::fork();
    if (number_ < 0) support::fail("start", "a process");
    if (number_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    if (output < 0) listener.redirect();
    if (output >= 0) ::dup2(output, STDOUT_FILENO);
    ::_exit(support::run_main("shared_timeline", [&] { return play(chosen); }));
  }
  actor(actor&& from) noexcept : number_{std::exchange(from.number_, 0)} {}
  actor& operator=(actor&& from) noexcept {
    std::swap(number_, from.number_);
    return *this;
  }
  ~actor() {
    if (number_ > 0) kill();
  }

  /// When it returns, the kernel has closed its files.
  void kill() {
    ::kill(number_, SIGKILL);
    static_cast<void>(wait());
  }
  void end() const { ::kill(number_, SIGTERM); }
  /// Waits for its end. Returns its exit status, or 128 and the signal that has killed it.
  int wait() {
    int status = 0;
    if (::waitpid(std::exchange(number_, 0), &status, 0) < 0) support::fail("wait for", "a process");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::string number() const { return std::to_string(number_); }

 private:
  pid_t number_ = 0;
};

class rehearsal {
 public:
  explicit rehearsal(const options& chosen)
      : options_{chosen},
        name_{"shared_timeline-" + std::to_string(::getpid())},
        seed_{chosen.seed ? static_cast<std::uint32_t>(*chosen.seed) : std::random_device{}()},
        random_{seed_} {}
  rehearsal(const rehearsal&) = delete;
  rehearsal& operator=(const rehearsal&) = delete;
  /// After a failure the processes are killed, so the names are left.
  ~rehearsal() {
    monitor_.reset();
    consumers_.clear();
    producer_.reset();
    for (const auto& each : left_files()) ::unlink(each.c_str());
  }

  int run() {
    std::printf("rehearsal: seed %u\n", static_cast<unsigned>(seed_));
    producer_.emplace(start(role::producer));
    for (std::size_t k = 1; k <= consumer_count; ++k) consumers_.push_back(start(role::consumer, k));
    for (std::size_t k = 1; k <= consumer_count; ++k) listener_.expect(0, is_there(k));
    start_monitor();
    all_go_on();
    std::size_t rounds = options_.rounds;
    if (!signaller::survives_kills && rounds != 0) {
      std::puts("rehearsal: nothing is killed: here a lock takes the place of the exchange of two words");
      rounds = 0;
    }
    for (std::size_t round = 0; round < rounds; ++round) kill_something(round % 7);
    finish();
    std::printf("rehearsal: %zu rounds, everything as promised\n", rounds);
    support::finish_report();
    return 0;
  }

 private:
  static void check(bool condition, const std::string& what) {
    if (!condition) throw std::runtime_error("it is not true that " + what);
  }
  static std::string is_there(std::size_t k) { return "producer: consumer " + std::to_string(k) + " is there"; }

  actor start(role as, std::size_t consumer = 0, death dies = death::none) const {
    options chosen = options_;
    chosen.as = as;
    chosen.name = name_;
    chosen.consumer = consumer;
    chosen.dies = dies;
    chosen.items = 0;
    return actor{chosen, listener_};
  }

  // ---- the monitor, whose output is a file

  void start_monitor() {
    shown_.emplace(std::nullopt);
    options chosen = options_;
    chosen.as = role::monitor;
    chosen.name = name_;
    chosen.every = 20;
    monitor_.emplace(chosen, listener_, shown_->file().descriptor());
    await("the monitor shows its table", [&] {
      struct stat status{};
      return ::fstat(shown_->file().descriptor(), &status) == 0 && status.st_size > 0;
    });
  }
  /// The table has a row that begins with `fence` and has `text` in it.
  void expect_row(const std::string& fence, const std::string& text) const {
    const std::string table = monitor::table(name_).value_or("");
    const std::size_t begin = ("\n" + table).find("\n" + fence);
    check(begin != std::string::npos, "the table has a row '" + fence + "':\n" + table);
    const std::string row = table.substr(begin, table.find('\n', begin) - begin);
    check(row.find(text) != std::string::npos, "the monitor shows '" + text + "' for '" + fence + "':\n" + table);
  }

  /// Prints the last lines of the monitor, which it has written after its last table.
  void print_last_words() {
    shown_->file().rewind();
    std::string text;
    std::array<std::byte, 4096> buffer{};
    while (const std::size_t count = shown_->file().read(buffer))
      text.append(reinterpret_cast<const char*>(buffer.data()), count);
    std::fputs(text.substr(text.rfind("\n\n") + 2).c_str(), stdout);
  }

  // ---- the others go on

  template <class Condition>
  static void await(const std::string& what, const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + 300s;
    while (!condition()) {
      check_ending();
      check(std::chrono::steady_clock::now() < until, what);
      std::this_thread::sleep_for(1ms);
    }
  }
  static std::uint64_t value_of(const std::string& fence) {
    const auto opened = reader::open({fence}, fence_choices("rehearsal"));
    return opened ? opened.fence.current_value() : 0;
  }
  /// Waits until a fence has risen by so much. It is opened again and again: its name may be a new fence's meanwhile.
  static void goes_on(const std::string& fence, std::uint64_t by) {
    const std::uint64_t target = value_of(fence) + by;
    await("'" + fence + "' goes on", [&] { return value_of(fence) >= target; });
  }
  void others_go_on(std::size_t without) const {
    goes_on(produced_name(name_), 40);
    for (std::size_t k = 1; k <= consumer_count; ++k) {
      if (k != without) goes_on(consumed_name(name_, k), 40);
    }
  }
  void all_go_on() const { others_go_on(0); }

  // ---- kills

  /// Lets a random part of a few items pass.
  void let_time_pass() {
    goes_on(produced_name(name_), 1 + random_() % 50);
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds{random_() % 2000};
    while (std::chrono::steady_clock::now() < until) continue;
  }

  void kill_something(std::size_t what) {
    const std::size_t k = 1 + random_() % consumer_count;
    let_time_pass();
    switch (what) {
      case 0:
        return kill_consumer(k);
      case 1:
        kill_producer();
        return start_producer();
      case 2:
        kill_producer();
        producer_dies(death::unsignalled);
        return start_producer();
      case 3:
        return kill_monitor();
      case 4:
        kill_producer();
        producer_dies(death::half);
        return start_producer();
      case 5:
        return kill_both(k);
      default:
        return replace_consumer(k);
    }
  }

  void kill_consumer(std::size_t k) {
    const std::string who = "consumer " + std::to_string(k);
    std::size_t from = listener_.mark();
    consumers_[k - 1].kill();
    expect_row("consumed " + std::to_string(k), "died");
    listener_.expect(from, "producer: " + who + " has died");
    others_go_on(k);
    from = listener_.mark();
    consumers_[k - 1] = start(role::consumer, k);
    listener_.expect(from, is_there(k));
    all_go_on();
    expect_row("consumed " + std::to_string(k), who + " " + consumers_[k - 1].number());
  }

  /// Perhaps before the producer has noticed, and then nothing is missed.
  void replace_consumer(std::size_t k) {
    const std::size_t from = listener_.mark();
    consumers_[k - 1].kill();
    consumers_[k - 1] = start(role::consumer, k);
    listener_.expect(from, is_there(k));
    all_go_on();
  }

  void kill_producer() {
    const std::size_t from = listener_.mark();
    producer_->kill();
    expect_missed(from);
  }
  /// One that is started anew, and kills itself.
  void producer_dies(death how) {
    const std::size_t from = listener_.mark();
    producer_.emplace(start(role::producer, 0, how));
    check(producer_->wait() == 128 + SIGKILL, "the producer has killed itself");
    expect_missed(from);
  }
  /// The consumers say that the producer has died, and the monitor shows it.
  void expect_missed(std::size_t from) {
    for (std::size_t k = 1; k <= consumer_count; ++k)
      listener_.expect(from, "consumer " + std::to_string(k) + ": the producer has died");
    expect_row("produced", "died");
    // They have read all that it had published.
    const std::uint64_t published = value_of(produced_name(name_));
    for (std::size_t k = 1; k <= consumer_count; ++k)
      check(value_of(consumed_name(name_, k)) == published, "all that was published is read");
  }
  void start_producer() {
    const std::size_t from = listener_.mark();
    producer_.emplace(start(role::producer));
    for (std::size_t k = 1; k <= consumer_count; ++k)
      listener_.expect(from, "consumer " + std::to_string(k) + ": there is a producer again");
    all_go_on();
    expect_row("produced", "producer " + producer_->number());
  }

  void kill_monitor() {
    monitor_->kill();
    all_go_on();
    start_monitor();
  }

  /// A consumer that is started while there is no producer waits for it.
  void kill_both(std::size_t k) {
    const std::string who = "consumer " + std::to_string(k);
    std::size_t from = listener_.mark();
    consumers_[k - 1].kill();
    producer_->kill();
    for (std::size_t other = 1; other <= consumer_count; ++other) {
      if (other != k) listener_.expect(from, "consumer " + std::to_string(other) + ": the producer has died");
    }
    from = listener_.mark();
    consumers_[k - 1] = start(role::consumer, k);
    listener_.expect(from, who + ": the producer has died");
    start_producer();
  }

  // ---- the end

  std::vector<std::string> left_files() const {
    std::vector<std::string> found;
    std::error_code ignored;
    for (const auto& each : std::filesystem::directory_iterator(memory_folder, ignored)) {
      if (each.path().filename().string().starts_with(name_ + ".")) found.push_back(each.path().string());
    }
    return found;
  }

  void finish() {
    const std::size_t from = listener_.mark();
    producer_->end();
    check(producer_->wait() == 0, "the producer ends");
    for (std::size_t k = 1; k <= consumer_count; ++k) {
      check(consumers_[k - 1].wait() == 0, "consumer " + std::to_string(k) + " ends and has found nothing wrong");
      listener_.expect(from, "consumer " + std::to_string(k) + ": ends behind");
    }
    check(monitor_->wait() == 0, "the monitor ends");
    print_last_words();
    for (const std::string& line : listener_.lines())
      check(line.find("WRONG") == std::string::npos, "no item is wrong");
    std::string left;
    for (const std::string& each : left_files()) left += " " + each;
    check(left.empty(), "nothing is left of the name:" + left);
  }

  const ending signals_;
  const options& options_;
  const std::string name_;
  const std::uint32_t seed_;
  std::mt19937 random_;
  spoken listener_;
  std::optional<support::output_file> shown_;
  std::optional<actor> producer_;
  std::vector<actor> consumers_;
  std::optional<actor> monitor_;
};

}  // namespace shared_timeline
