// SPDX-License-Identifier: BSL-1.0
// The memory of shared_timeline, which lies beside its fences: a ring of items, and a log that says where they are. And
// the fence `produced`, whose last user removes it.
//
//   0        meeting     consumers say that they are there, and the producer from where on it waits for them
//   4096     log         a ring_log of entries, which the producer writes
//   20480    items       the buffer of the producer's upload_ring
//
// Each producer makes a file of its own, whose log begins behind the last entry that was published before, and gives it
// the name when it is complete. So what a dead producer has left is never written again: who still reads the old file
// reads on. What it has written and not published is in the old file alone, behind the place where the new log begins.
//
// The name has the random number of the fence `produced` in it. So nobody finds the data of processes that are gone.

#pragma once

#include "crew.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace shared_timeline {

/// What an entry of the log tells.
enum class news : std::uint64_t { item, begins, joins, leaves };

/// One entry. The n-th one is there when `produced` is n.
struct entry {
  news what = news::item;
  std::uint64_t who = 0;     // the number of a consumer, or that of the producer's process
  std::uint64_t offset = 0;  // of an item in the ring
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

inline constexpr std::size_t log_entries = 256;
inline constexpr std::uint32_t log_type = 0x7469'6D65;
using item_log = tidemark::ring_log<entry, std::dynamic_extent>;
using item_log_reader = tidemark::mapped_log_reader<entry>;

/// How a consumer and the producer of this file meet. Each consumer has a number of its own, other than 0, which it
/// writes. The answer is the same number: from then on nothing is given out anew that the consumer has not read.
class meeting {
 public:
  explicit meeting(std::uint64_t first) : first_{first} {}

  /// How many entries came before this file.
  std::uint64_t first() const { return first_; }

  // ---- the consumer

  void greet(std::size_t consumer, std::uint64_t number) {
    hello_[consumer - 1].store(number, std::memory_order_release);
  }
  bool is_answered(std::size_t consumer, std::uint64_t number) const {
    return answer_[consumer - 1].load(std::memory_order_acquire) == number;
  }
  /// After the answer: what comes behind this entry is kept.
  std::uint64_t from(std::size_t consumer) const { return from_[consumer - 1].load(std::memory_order_relaxed); }

  // ---- the producer

  /// Returns the number of a consumer that was not answered, or 0.
  std::uint64_t unanswered(std::size_t consumer) const {
    const std::uint64_t number = hello_[consumer - 1].load(std::memory_order_acquire);
    return is_answered(consumer, number) ? 0 : number;
  }
  void answer(std::size_t consumer, std::uint64_t number, std::uint64_t from) {
    from_[consumer - 1].store(from, std::memory_order_relaxed);
    answer_[consumer - 1].store(number, std::memory_order_release);
  }
  /// Answers a consumer as in the file before, if that has an answer.
  void take_over(std::size_t consumer, const meeting& before) {
    const std::uint64_t number = before.hello_[consumer - 1].load(std::memory_order_acquire);
    if (number == 0 || !before.is_answered(consumer, number)) return;
    greet(consumer, number);
    answer(consumer, number, first_);
  }

 private:
  using word = std::atomic<std::uint64_t>;
  static_assert(word::is_always_lock_free, "processes share it");

  const std::uint64_t first_;
  std::array<word, consumer_count> hello_{};
  std::array<word, consumer_count> answer_{};
  std::array<word, consumer_count> from_{};
};

inline constexpr std::size_t log_at = 4096;
inline constexpr std::size_t items_at = 20'480;
inline constexpr std::size_t item_memory = 256 * 1024;
static_assert(sizeof(meeting) <= log_at);
static_assert(log_at + item_log::page_type::bytes_for(log_entries) <= items_at);

/// Some pages of a file.
class mapping {
 public:
  mapping(const support::open_file& file, std::size_t at, std::size_t bytes, int protection)
      : memory_{::mmap(nullptr, bytes, protection, MAP_SHARED, file.descriptor(), static_cast<off_t>(at))},
        bytes_{bytes} {
    if (memory_ == MAP_FAILED) support::fail("map", file.name());
  }
  mapping(mapping&& from) noexcept : memory_{std::exchange(from.memory_, nullptr)}, bytes_{from.bytes_} {}
  mapping& operator=(mapping&& from) noexcept {
    std::swap(memory_, from.memory_);
    std::swap(bytes_, from.bytes_);
    return *this;
  }
  ~mapping() {
    if (memory_ != nullptr) ::munmap(memory_, bytes_);
  }

  void* address() const { return memory_; }
  std::byte* begin() const { return static_cast<std::byte*>(memory_); }

 private:
  void* memory_;
  std::size_t bytes_;
};

class data_file {
 public:
  static std::string path_of(const std::string& name, std::array<std::uint64_t, 2> id) {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016jx", static_cast<std::uintmax_t>(id[0]));
    return std::string(memory_folder) + "/" + name + "." + digits.data() + ".data";
  }
  /// Removes those of earlier processes of the name.
  static void remove_others(const std::string& name, const std::string& path) {
    std::error_code ignored;
    for (const auto& each : std::filesystem::directory_iterator(memory_folder, ignored)) {
      const std::string file = each.path().filename().string();
      const std::string_view rest = std::string_view(file).substr(std::min(file.size(), name.size() + 1));
      const std::string_view suffix = rest.substr(std::min<std::size_t>(rest.size(), 16));
      const bool is_data = suffix == ".data" || suffix == ".data.new";
      if (file.starts_with(name + ".") && is_data && each.path().string() != path) {
        std::filesystem::remove(each.path(), ignored);
      }
    }
  }

  /// Makes a file without entries, for a producer.
  static data_file make(const std::string& path, std::uint64_t first) {
    const std::string unfinished = path + ".new";
    ::unlink(unfinished.c_str());  // what a producer has left that was killed here
    support::open_file file(::open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644), unfinished);
    if (file.descriptor() < 0) support::fail("create", unfinished);
    // The room is taken now. Otherwise the first access of a page that has none would end the program.
    const int error = ::posix_fallocate(file.descriptor(), 0, items_at + item_memory);
    if (error != 0) {
      ::unlink(unfinished.c_str());
      support::fail("enlarge", unfinished, error);
    }
    data_file made(std::move(file), PROT_READ | PROT_WRITE, PROT_READ | PROT_WRITE);
    ::new (made.first_page_.address()) meeting{first};
    return made;
  }
  /// Gives it its name. A file of that name is replaced; who has opened it keeps it.
  void publish(const std::string& path) const {
    if (::rename(file_.name().c_str(), path.c_str()) != 0) support::fail("rename", path);
  }

  /// Opens the newest file, if there is one.
  /// \param may_meet  whether the words of the meeting may be written
  static std::optional<data_file> open(const std::string& path, bool may_meet) {
    support::open_file file(::open(path.c_str(), (may_meet ? O_RDWR : O_RDONLY) | O_CLOEXEC), path);
    if (file.descriptor() < 0 && errno == ENOENT) return std::nullopt;
    if (file.descriptor() < 0) support::fail("open", path);
    return data_file(std::move(file), may_meet ? PROT_READ | PROT_WRITE : PROT_READ, PROT_READ);
  }
  /// Returns whether no other producer has replaced it.
  bool is_newest(const std::string& path) const {
    struct stat own{};
    struct stat newest{};
    return ::fstat(file_.descriptor(), &own) == 0 && ::stat(path.c_str(), &newest) == 0 && own.st_ino == newest.st_ino;
  }

  meeting& place() const { return *static_cast<meeting*>(first_page_.address()); }
  std::span<std::byte> log() const { return {rest_.begin(), item_log::page_type::bytes_for(log_entries)}; }
  std::span<std::byte> items() const { return {rest_.begin() + (items_at - log_at), item_memory}; }

 private:
  data_file(support::open_file file, int first_page, int rest)
      : file_{std::move(file)},
        first_page_{file_, 0, log_at, first_page},
        rest_{file_, log_at, items_at - log_at + item_memory, rest} {}

  support::open_file file_;
  mapping first_page_;
  mapping rest_;
};

/// The attachment to `produced` of a process that signals or waits there, and the name of the data beside it. The last
/// one that closes removes the data; one that is killed leaves them, and the first one of the next crew removes them.
template <class Fence>
class produced_fence {
 public:
  produced_fence(const std::string& name, std::string_view label) {
    tidemark::shared_options choices = fence_choices(label);
    choices.observer = {[](void* context, tidemark::shared_event what, std::uint32_t) noexcept {
                          auto& self = *static_cast<produced_fence*>(context);
                          if (what == tidemark::shared_event::created) self.is_first_ = true;
                          if (what == tidemark::shared_event::destroyed) self.is_last_ = true;
                        },
                        this};
    fence_ = attach<Fence>(produced_name(name), choices);
    path_ = data_file::path_of(name, fence_.id());
    if (is_first_) data_file::remove_others(name, path_);
  }
  produced_fence(const produced_fence&) = delete;
  produced_fence& operator=(const produced_fence&) = delete;
  ~produced_fence() {
    fence_.close();
    if (!is_last_) return;
    ::unlink(path_.c_str());
    ::unlink((path_ + ".new").c_str());
  }

  Fence* operator->() { return &fence_; }
  const Fence& operator*() const { return fence_; }
  const std::string& path() const { return path_; }

 private:
  bool is_first_ = false;
  bool is_last_ = false;
  Fence fence_;
  std::string path_;
};

/// A number that is known to be small, as a place in memory.
constexpr std::size_t place_of(std::uint64_t number) { return static_cast<std::size_t>(number); }

/// How many bytes an item has, and what is in them. Each item differs from all others.
inline std::uint64_t bytes_of_item(std::uint64_t number) { return 1024 + number * 2'654'435'761 % 15 * 1024; }
inline std::uint64_t mixed(std::uint64_t seed) {
  seed = (seed ^ seed >> 30) * 0xBF58'476D'1CE4'E5B9;
  return (seed ^ seed >> 27) * 0x94D0'49BB'1331'11EB;
}
/// Writes the words of an item from `first` on, as long as there is room in `bytes`.
inline void write_words(std::span<std::byte> bytes, std::uint64_t seed, std::size_t first, std::size_t end) {
  for (std::size_t at = first; at < end; at += 8) {
    const std::uint64_t word = mixed(seed + at);
    std::memcpy(bytes.data() + at, &word, 8);
  }
}
inline std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0xCBF2'9CE4'8422'2325;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    sum = (sum ^ word) * 0x0000'0100'0000'01B3;
  }
  return sum;
}

}  // namespace shared_timeline
