// SPDX-License-Identifier: BSL-1.0
// Files of the examples: POSIX descriptors that close themselves and know their names, so that every error tells
// which path it concerns and why (std::system_error), and an output that gets its final name only when it is complete.

#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace support {

/// Throws "cannot <action> '<path>': <reason>"; the reason is errno's unless it is given.
[[noreturn]] inline void fail(const char* action, const std::string& path, int reason = errno) {
  throw std::system_error(reason, std::generic_category(), std::string("cannot ") + action + " '" + path + "'");
}

/// A descriptor and the name that messages call it by.
class open_file {
 public:
  open_file(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}
  open_file(open_file&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), name_(std::move(other.name_)) {}
  open_file& operator=(open_file&&) = delete;
  ~open_file() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

  /// Reads until the buffer is full or the file ends; returns the number of bytes.
  std::size_t read(std::span<std::byte> buffer) {
    std::size_t filled = 0;
    while (filled < buffer.size()) {
      const auto count = ::read(descriptor_, buffer.data() + filled, buffer.size() - filled);
      if (count == 0) break;
      if (count > 0) {
        filled += static_cast<std::size_t>(count);
      } else if (errno != EINTR) {
        fail("read", name_);
      }
    }
    return filled;
  }

  /// Writes all of them.
  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count >= 0) {
        bytes = bytes.subspan(static_cast<std::size_t>(count));
      } else if (errno != EINTR) {
        fail("write", name_);
      }
    }
  }

  /// The next read or write begins at the start again.
  void rewind() {
    if (::lseek(descriptor_, 0, SEEK_SET) != 0) fail("rewind", name_);
  }

  /// Empties a file that was written to before.
  void restart() {
    rewind();
    if (::ftruncate(descriptor_, 0) != 0) fail("empty", name_);
  }

  /// Some file systems tell only here that a write has failed.
  void close() {
    if (::close(std::exchange(descriptor_, -1)) != 0) fail("write", name_);
  }

 private:
  int descriptor_;
  std::string name_;
};

/// Opens a regular file for reading. Devices and pipes are refused: they can not be read twice, and the copy is to be
/// compared with its original.
inline open_file open_input(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not block us here
  if (descriptor < 0) fail("open", path);
  open_file file(descriptor, path);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) fail("examine", path);
  if (S_ISDIR(status.st_mode)) fail("read", path, EISDIR);
  if (!S_ISREG(status.st_mode)) throw std::runtime_error("cannot use '" + path + "' as input: not a regular file");
  return file;
}

/// Removes unfinished files when the program is interrupted or told to end.
class interrupt_guard {
 public:
  /// From now on, until release() with the same pointer. More than a few files at a time are not protected.
  static void protect(const char* path) {
    replace(nullptr, path);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      if (std::signal(signal, remove_and_end) == SIG_IGN) std::signal(signal, SIG_IGN);  // nohup remains in force
    }
  }
  static void release(const char* path) { replace(path, nullptr); }

 private:
  static void replace(const char* present, const char* wanted) {
    for (auto& path : unfinished_) {
      const char* expected = present;
      if (path.compare_exchange_strong(expected, wanted)) return;
    }
  }

  static void remove_and_end(int signal) {
    for (const auto& unfinished : unfinished_) {
      if (const char* const path = unfinished) ::unlink(path);
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }

  static inline std::array<std::atomic<const char*>, 4> unfinished_{};
  static_assert(std::atomic<const char*>::is_always_lock_free, "a signal handler uses it");
};

/// Where something new goes. Under the final name there is either nothing new or all of it: until publish() the bytes
/// are in a file with a temporary name in the same folder, which is removed if publish() is never reached.
///
/// Without a path there is a temporary file only, without a name. What exists and is no regular file (a device, a
/// pipe) is not replaced but written to, and can not be read back.
class output_file {
 public:
  explicit output_file(const std::optional<std::string>& path) {
    struct stat status{};
    if (!path) {
      open_anonymous();
    } else if (::stat(path->c_str(), &status) != 0) {
      if (errno != ENOENT) fail("write", *path);
      open_staged(*path, 0666);
    } else if (S_ISDIR(status.st_mode)) {
      fail("write", *path, EISDIR);
    } else if (S_ISREG(status.st_mode)) {
      if (::access(path->c_str(), W_OK) != 0) fail("write", *path);  // a write-protected file is not replaced either
      open_staged(*path, status.st_mode & 0777);
    } else {
      open_device(*path);
    }
  }
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;
  ~output_file() {
    if (temporary_.empty()) return;
    ::unlink(temporary_.c_str());
    interrupt_guard::release(temporary_.c_str());
  }

  [[nodiscard]] open_file& file() { return *file_; }
  [[nodiscard]] bool is_device() const { return is_device_; }
  [[nodiscard]] const std::string& description() const { return description_; }

  /// Gives the complete file its name.
  void publish() {
    file_->close();
    if (temporary_.empty()) return;
    if (::rename(temporary_.c_str(), final_.c_str()) != 0) fail("write", final_.string());
    interrupt_guard::release(temporary_.c_str());
    temporary_.clear();
  }

 private:
  void open_anonymous() {
    const char* const chosen = std::getenv("TMPDIR");
    const std::string folder = chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
    auto [descriptor, path] = create_temporary(folder, folder, 0600);
    ::unlink(path.c_str());  // it lives on until its descriptor is closed
    file_.emplace(descriptor, path);
    description_ = "a temporary file in " + folder;
  }

  void open_staged(const std::string& path, mode_t mode) {
    std::error_code no_link;
    final_ = std::filesystem::canonical(path, no_link);  // a symbolic link stays one, what it names is replaced
    if (no_link) final_ = path;
    if (!final_.has_filename()) fail("write", path, EISDIR);
    description_ = path;

    auto [descriptor, temporary] = create_temporary(final_.parent_path(), path, mode);
    temporary_ = std::move(temporary);
    interrupt_guard::protect(temporary_.c_str());
    file_.emplace(descriptor, path);
  }

  void open_device(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) fail("open", path);
    file_.emplace(descriptor, path);
    description_ = path;
    is_device_ = true;
  }

  /// Creates a new file in the folder; an error is reported for `wanted`, the path that the user knows.
  static std::pair<int, std::string> create_temporary(const std::filesystem::path& folder, const std::string& wanted,
                                                      mode_t mode) {
    for (int attempt = 0;; ++attempt) {
      std::string path = folder / (".tidemark-unfinished." + std::to_string(attempt));
      const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
      if (descriptor >= 0) return {descriptor, std::move(path)};
      if (errno != EEXIST || attempt == 10'000) fail("create a file for", wanted);
    }
  }

  std::optional<open_file> file_;
  std::filesystem::path final_;
  std::string temporary_;  // empty: nothing to rename or to remove
  std::string description_;
  bool is_device_ = false;
};

/// Makes a limit on the size of files an error of the write that meets it, not the end of the program.
inline void survive_file_size_limit() {
  std::signal(SIGXFSZ, [](int) {});
}

}  // namespace support
