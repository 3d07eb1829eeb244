// SPDX-License-Identifier: BSL-1.0
//
// shared_names: segments that have a name. Linux alone.
//
//   FOLDER/NAME         W, whose byte of the name is locked by whoever opens, makes, replaces or removes the segment
//   FOLDER/NAME.values  V
//
// Both files are complete before they have a name. W gets its name first, with the byte locked, and loses it last. So
// of several creators one makes the name, and the others find it. A creator or a remover that is killed leaves files
// that nobody is attached to, and the next open replaces them, under the byte of the old file's name.
//
// Invariant: whoever changes what the two paths lead to holds the byte of the file at the path of W, and has found the
// file there after it has locked the byte; or it gives the path of W to its own file, of which it holds the byte.
//
// Not promised: that a name ends with a process that is killed: the next open replaces it. Whoever may not remove the
// files, as another user in /dev/shm, can't replace them. Who holds the byte may be stopped; then opening ends with
// `busy`.
#ifndef TIDEMARK_FENCE_DETAIL_SHARED_NAMES_HPP
#define TIDEMARK_FENCE_DETAIL_SHARED_NAMES_HPP

#if defined(__linux__)

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../platform/platform.hpp"
#include "shared_files.hpp"
#include "shared_process.hpp"
#include "shared_records.hpp"

namespace tidemark::detail {

/// Where a segment has its name: files NAME and NAME.values in a folder whose file system knows O_TMPFILE. A name has
/// no '/' and no 0 in it, and does not end in ".values".
struct segment_name {
  std::string_view name;
  std::string_view folder = "/dev/shm";
};

/// The paths of a segment.
class segment_paths {
 public:
  static constexpr std::size_t longest = 500;

  segment_paths() = default;
  explicit segment_paths(segment_name of) noexcept {
    const bool is_name = !of.name.empty() && of.name.find('/') == of.name.npos && of.name != "." && of.name != "..";
    // A path ends at its first 0. The ending is that of the values of another name, which would be replaced.
    const bool is_whole = of.name.find('\0') == of.name.npos && of.folder.find('\0') == of.folder.npos;
    if (!is_name || !is_whole || of.name.ends_with(values_ending) || of.folder.empty()) return;
    // When the name is removed, the working folder may be another one.
    text here{};
    if (of.folder.front() != '/' && (::getcwd(here.data(), longest) == nullptr || here[0] != '/')) return;
    const std::string_view working_folder{here.data()};
    if (working_folder.size() + of.folder.size() + of.name.size() > longest) return;
    put(folder_, working_folder, of.folder, "", "");
    put(waiters_, working_folder, of.folder, of.name, "");
    put(values_, working_folder, of.folder, of.name, values_ending);
  }

  explicit operator bool() const noexcept { return waiters_[0] != 0; }
  const char* folder() const noexcept { return folder_.data(); }
  const char* waiters() const noexcept { return waiters_.data(); }
  const char* values() const noexcept { return values_.data(); }

 private:
  static constexpr std::string_view values_ending = ".values";
  using text = std::array<char, longest + 12>;

  static void put(text& to, std::string_view working_folder, std::string_view folder, std::string_view name,
                  std::string_view ending) noexcept {
    std::size_t at = 0;
    const auto add = [&](std::string_view part) {
      for (const char each : part) to[at++] = each;
    };
    add(working_folder);
    if (!working_folder.empty()) add("/");
    add(folder);
    if (!name.empty()) add("/");
    add(name);
    add(ending);
    to[at] = 0;
  }

  text folder_{};
  text waiters_{};
  text values_{};
};

/// The byte of a segment's name, held while this object lives. It has an open file description of its own, which the
/// child of a fork closes.
class held_name {
 public:
  /// \param open  returns a descriptor of W that may write, or none, with the reason in errno
  template <class Open>
  explicit held_name(const Open& open) noexcept {
    shared_process::add(own_, open);
  }
  held_name(const held_name&) = delete;
  held_name& operator=(const held_name&) = delete;
  ~held_name() { shared_process::remove(own_); }

  byte_lock try_lock() noexcept { return byte_locks{descriptor()}.try_lock_name(); }
  /// Returns whether the path leads to the file.
  bool is_at(const char* path) const noexcept {
    struct stat here{};
    struct stat there{};
    return ::fstat(descriptor(), &here) == 0 && ::lstat(path, &there) == 0 && here.st_ino == there.st_ino &&
           here.st_dev == there.st_dev;
  }
  bool is_used() const noexcept { return byte_locks{descriptor()}.is_anyone_attached(); }
  int descriptor() const noexcept { return own_.lock.get(); }

 private:
  registered_attachment own_;
};

/// Finds, makes and removes the files of a name.
class named_segment {
 public:
  named_segment(const segment_paths& paths, attachment_rights rights, deadline until) noexcept
      : paths_{paths}, rights_{rights}, until_{until} {}

  /// Opens the files, or makes them if nobody uses the name, and calls `attach(files, is_made)` while no other process
  /// can open or remove them. What it returns is the result.
  /// \param shape  of the files that are made; null: none are
  template <class Attach>
  open_result open(const segment_shape* shape, file_modes modes, Attach&& attach) noexcept {
    if (!paths_) return failure(EINVAL, segment_field::name);
    if (rights_ == attachment_rights::look) return open_to_look(attach);
    for (;;) {
      held_name name{[&] { return open_path(paths_.waiters(), O_RDWR); }};
      open_result result = opened();
      if (name.descriptor() < 0) {
        if (const int error = thread_errno(); error != ENOENT) return not_reached(error);
        if (shape == nullptr) return {open_status::unknown, segment_field::none, ENOENT};
        if (create(*shape, modes, attach, result)) return result;
      } else if (const byte_lock lock = name.try_lock(); lock == byte_lock::refused) {
        return failure(thread_errno());
      } else if (lock == byte_lock::locked && name.is_at(paths_.waiters())) {
        if (!is_segment(name.descriptor())) return differs_in(segment_field::magic);
        if (name.is_used()) return attach_to(name, attach);
        if (shape == nullptr) return {open_status::unknown, segment_field::none, 0};
        result = remove();
        if (!result) return result;
        if (create(*shape, modes, attach, result)) return result;
      }
      if (!pause()) return {open_status::busy, segment_field::none, 0};
    }
  }

  /// Removes the name if this file still has it and nobody is attached, and returns whether it has. Of several that
  /// leave at the same moment at most one does. Gives up at the deadline: the next open replaces the name.
  bool remove_unused(const segment_files& files) noexcept {
    held_name name{[&] { return open_anew(files.waiters(), O_RDWR); }};
    if (name.descriptor() < 0) return false;
    for (;;) {
      const byte_lock lock = name.try_lock();
      if (lock == byte_lock::refused || !name.is_at(paths_.waiters())) return false;
      if (lock == byte_lock::locked) break;
      if (!pause()) return false;
    }
    return name.is_at(paths_.waiters()) && !name.is_used() && remove();
  }

 private:
  static file_descriptor open_path(const char* path, int access) noexcept {
    const cancellation_delay delayed;
    return above_streams(::open(path, access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  }
  file_descriptor nameless_file() const noexcept {
    const cancellation_delay delayed;
    return above_streams(::open(paths_.folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  }

  static bool is_segment(int descriptor) noexcept {
    segment_header found;
    return read_header(descriptor, found) == 0 && found.magic == segment_magic;
  }

  /// Lets other threads run for a moment; returns false once the deadline has passed.
  bool pause() const noexcept {
    if (std::chrono::steady_clock::now() >= until_) return false;
    const cancellation_delay delayed;
    std::this_thread::sleep_for(std::chrono::microseconds{500});
    return true;
  }

  /// With the byte of the name.
  template <class Attach>
  open_result attach_to(const held_name& name, Attach& attach) const noexcept {
    const bool is_signaller = rights_ == attachment_rights::signal;
    file_descriptor values = open_path(paths_.values(), is_signaller ? O_RDWR : O_RDONLY);
    // Whoever is attached has found both files.
    if (!values) {
      const int error = thread_errno();
      return error == ENOENT ? differs_in(segment_field::id) : not_reached(error);
    }
    file_descriptor waiters = open_anew(name.descriptor(), O_RDWR);
    if (!waiters) return not_opened_anew(thread_errno());
    segment_files files{std::move(values), std::move(waiters), false};
    return attach(files, false);
  }

  /// Whoever can only look can't lock the name. It opens both files, which belong together or are opened again.
  template <class Attach>
  open_result open_to_look(Attach& attach) const noexcept {
    for (;;) {
      file_descriptor waiters = open_path(paths_.waiters(), O_RDONLY);
      if (!waiters) {
        const int error = thread_errno();
        if (error == ENOENT) return {open_status::unknown, segment_field::none, ENOENT};
        if (error != EACCES) return not_reached(error);
      }
      file_descriptor values = open_path(paths_.values(), O_RDONLY);
      if (!values) {
        if (const int error = thread_errno(); error != ENOENT) return not_reached(error);
      }
      if (waiters && !is_segment(waiters.get())) return differs_in(segment_field::magic);
      if (waiters && !byte_locks{waiters.get()}.is_anyone_attached()) {
        return {open_status::unknown, segment_field::none, 0};
      }
      if (values) {
        // Without the right to read the waiters' file, it looks at the values alone.
        segment_files files{std::move(values), std::move(waiters), false};
        const open_result result = attach(files, false);
        if (result.field != segment_field::id) return result;
      }
      if (!pause()) return {open_status::busy, segment_field::none, 0};
    }
  }

  /// Makes the files and gives them the name. Returns false if another file has got it meanwhile.
  template <class Attach>
  bool create(const segment_shape& shape, file_modes modes, Attach& attach, open_result& result) const noexcept {
    segment_files files{nameless_file(), nameless_file(), false};
    if (!files || files.waiters() < 0) {
      result = failure(thread_errno(), segment_field::name);
      return true;
    }
    result = files.fill(shape, modes);
    if (!result) return true;
    // The byte is locked before the file has a name, so nobody finds it half made.
    held_name name{[&] { return open_anew(files.waiters(), O_RDWR); }};
    if (name.descriptor() < 0) {
      result = not_opened_anew(thread_errno());
      return true;
    }
    if (name.try_lock() != byte_lock::locked) {
      result = failure(thread_errno());
      return true;
    }
    if (!give_name(files.waiters(), paths_.waiters())) {
      if (thread_errno() == EEXIST) return false;
      result = failure(thread_errno(), segment_field::name);
      return true;
    }
    // One that was left by a creator that was killed before it had a file of the waiters with a name, or by one that
    // was killed while it removed them.
    result = remove_file(paths_.values());
    bool has_both = false;
    if (result) {
      has_both = give_name(files.values(), paths_.values());
      result = has_both ? attach(files, true) : failure(thread_errno(), segment_field::name);
    }
    if (!result && has_both) static_cast<void>(remove_file(paths_.values()));
    if (!result) ::unlink(paths_.waiters());
    return true;
  }

  /// A path that could not be opened.
  static open_result not_reached(int error) noexcept {
    return failure(error, error == EACCES ? segment_field::rights : segment_field::name);
  }

  static bool give_name(int descriptor, const char* path) noexcept {
    return ::linkat(AT_FDCWD, descriptor_path{descriptor}.text(), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
  }

  /// With the byte of the name: the values first, so that a name that is left has the byte.
  open_result remove() const noexcept {
    const open_result result = remove_file(paths_.values());
    if (!result) return result;
    return remove_path(paths_.waiters());
  }
  /// Removes the values. A file that is none of a segment stays.
  static open_result remove_file(const char* path) noexcept {
    const file_descriptor found = open_path(path, O_RDONLY);
    if (!found) {
      const int error = thread_errno();
      return error == ENOENT ? opened() : failure(error, segment_field::name);
    }
    if (!is_segment(found.get())) return differs_in(segment_field::magic);
    return remove_path(path);
  }
  static open_result remove_path(const char* path) noexcept {
    if (::unlink(path) == 0) return opened();
    const int error = thread_errno();
    return error == ENOENT ? opened() : failure(error, segment_field::name);
  }

  const segment_paths& paths_;
  const attachment_rights rights_;
  const deadline until_;
};

}  // namespace tidemark::detail

#endif

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_NAMES_HPP
