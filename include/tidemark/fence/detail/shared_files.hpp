// SPDX-License-Identifier: BSL-1.0
//
// shared_files: the two files of a segment that processes share, how they are made and found, and the bytes of them
// that are locked. Linux alone.
//
//   V  the values: signallers write them, others may map them for reading
//        0     segment_header                 constant once the file is published
//        512   signaller_words
//        4096  the values of the fences
//   W  the waiters: all who wait write it
//        0     segment_header                 the same, but for `file`
//        512   segment_words
//        8192  what the fences need for their waiters
//
// Bytes that are locked lie far behind the end of W: one for each attachment, one for each record of an attachment, one
// for the name, and one for the signaller of a fence that has one alone. They are locked with F_OFD_SETLK, so a lock
// belongs to an open file description and not to a process. It ends when the last descriptor of that description is
// closed, in whatever way, and not before: one that was duplicated, inherited or sent is the same owner. So each
// attachment opens W anew, and keeps that descriptor to itself. A process that is stopped keeps its locks.
//
// In memory (memfd)   sealed against growing and shrinking, so a neighbour can't make an access fail. Passed on by a
//                     socket.
// By name             in a folder of the file system (shared_names.hpp), and not sealed, since only memory files can
//                     be: who may write the files can make others fail with SIGBUS.
//
// Not promised: anything where /proc is not mounted: a file can't be opened anew there (`own_description`). That
// somebody who may write W leaves the bytes of others alone: no lock of the system has an owner that it asks for. Who
// may only read W can lock bytes for reading. That makes nobody look alive, but it keeps others from locking them.
#ifndef TIDEMARK_FENCE_DETAIL_SHARED_FILES_HPP
#define TIDEMARK_FENCE_DETAIL_SHARED_FILES_HPP

#include "shared_records.hpp"

#if defined(__linux__)

#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "../../platform/names.hpp"
#include "../../platform/platform.hpp"

// The names of newer kernels, which the headers of older systems lack.
#if !defined(F_OFD_SETLK)
#define TIDEMARK_OFD_GETLK 36
#define TIDEMARK_OFD_SETLK 37
#else
#define TIDEMARK_OFD_GETLK F_OFD_GETLK
#define TIDEMARK_OFD_SETLK F_OFD_SETLK
#endif

namespace tidemark::detail {

/// How a segment was opened.
enum class open_status : unsigned char {
  attached,
  busy,       ///< Somebody has held the name until the deadline: it opens or closes the segment, or was stopped there.
              ///< With the field `rights`: there is a signaller, and there may be only one.
  invalid,    ///< It is no segment, or not the one that is expected: `field` says in what it differs.
  no_memory,  ///< The system has none.
  no_space,   ///< There is no room for the files, or the segment has as many attachments as it can have.
  refused,    ///< By the system: `error` is the reason, as in errno. `field` may say what was refused.
  unknown,    ///< There is no segment of this name that anybody uses; or the sender has closed its socket.
};
template <>
inline constexpr auto names_of<open_status> =
    names("attached", "busy", "invalid", "no_memory", "no_space", "refused", "unknown");

/// What differs from what is expected.
enum class segment_field : unsigned char {
  none,
  magic,
  byte_order,
  layout_version,
  word_size,
  page,  // the unit of the files' sizes, or the page of this machine, which is larger
  double_word,
  value_kind,
  options,
  waiter_slots,
  attachments,
  value_bytes,
  waiter_bytes,
  id,    // the two files do not belong together
  file,  // a file is the other one of the two
  file_size,
  seals,
  rights,           // a descriptor, or the file's mode, does not allow what is asked for
  own_description,  // the file can't be opened anew: where /proc is missing, or there are no descriptors left
  name,             // it is too long, or none
  guard,            // an attachment that only looks has none; or the system has refused the thread, or what it needs
};
template <>
inline constexpr auto names_of<segment_field> =
    names("none", "magic", "byte_order", "layout_version", "word_size", "page", "double_word", "value_kind", "options",
          "waiter_slots", "attachments", "value_bytes", "waiter_bytes", "id", "file", "file_size", "seals", "rights",
          "own_description", "name", "guard");

/// What an opening has come to. It converts to true if the segment was opened.
struct [[nodiscard]] open_result {
  open_status status = open_status::attached;
  segment_field field = segment_field::none;
  int error = 0;

  explicit operator bool() const noexcept { return status == open_status::attached; }
};

inline open_result opened() noexcept { return {}; }
inline open_result differs_in(segment_field field) noexcept { return {open_status::invalid, field, 0}; }
/// Of what the system has said, in errno.
inline open_result failure(int error, segment_field field = segment_field::none) noexcept {
  open_status status = open_status::refused;
  if (error == ENOMEM) status = open_status::no_memory;
  if (error == ENOSPC || error == EDQUOT) status = open_status::no_space;
  return {status, field, error};
}

/// What two processes must agree on. All of it stands in the header.
struct segment_shape {
  std::uint32_t value_kind = 0;   // which kind of fence
  std::uint32_t double_word = 0;  // which kind of double word
  std::uint64_t options = 0;      // the choices of the fence that matter to others
  std::uint32_t waiter_slots = 0;
  std::uint32_t attachments = 16;  // at most most_attachments
  std::uint64_t value_bytes = 0;
  std::uint64_t waiter_bytes = 0;
};

/// The unit of the files' sizes: a page of the machine, or more.
#if defined(__x86_64__) || defined(__i386__)
inline constexpr std::size_t segment_page = 4096;
#else
inline constexpr std::size_t segment_page = 65536;
#endif

inline constexpr std::size_t words_at = 512;          // in both files
inline constexpr std::size_t values_in_file = 4096;   // in V
inline constexpr std::size_t waiters_in_file = 8192;  // in W
inline constexpr std::uint64_t most_segment_bytes = std::uint64_t{1} << 28;

constexpr std::size_t whole_pages(std::uint64_t bytes) noexcept {
  return as_integer<std::size_t>((bytes + segment_page - 1) / segment_page * segment_page);
}
constexpr std::size_t value_file_size(const segment_shape& shape) noexcept {
  return whole_pages(values_in_file + shape.value_bytes);
}
constexpr std::size_t waiter_file_size(const segment_shape& shape) noexcept {
  return whole_pages(waiters_in_file + shape.waiter_bytes);
}

enum class segment_file : std::uint32_t { values = 1, waiters = 2 };

/// The first bytes of both files. It has the same layout on all machines, so that they can refuse each other.
struct segment_header {
  std::array<char, 8> magic{};
  std::uint32_t byte_order = 0;
  std::uint32_t layout_version = 0;
  std::uint32_t word_size = 0;
  std::uint32_t page = 0;
  std::uint32_t double_word = 0;
  std::uint32_t value_kind = 0;
  std::uint64_t options = 0;
  std::uint32_t waiter_slots = 0;
  std::uint32_t attachments = 0;
  std::uint64_t value_bytes = 0;
  std::uint64_t waiter_bytes = 0;
  std::array<std::uint64_t, 2> id{};
  std::uint32_t file = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(segment_header) == 88 && offsetof(segment_header, options) == 32 &&
              offsetof(segment_header, id) == 64);

inline constexpr std::array<char, 8> segment_magic{'t', 'i', 'd', 'e', 'm', 'a', 'r', 'k'};
inline constexpr std::uint32_t segment_layout_version = 3;

inline segment_header header_for(const segment_shape& shape, std::array<std::uint64_t, 2> id,
                                 segment_file file) noexcept {
  segment_header header;
  header.magic = segment_magic;
  header.byte_order = 0x01020304;
  header.layout_version = segment_layout_version;
  header.word_size = sizeof(void*);
  header.page = segment_page;
  header.double_word = shape.double_word;
  header.value_kind = shape.value_kind;
  header.options = shape.options;
  header.waiter_slots = shape.waiter_slots;
  header.attachments = shape.attachments;
  header.value_bytes = shape.value_bytes;
  header.waiter_bytes = shape.waiter_bytes;
  header.id = id;
  header.file = static_cast<std::uint32_t>(file);
  return header;
}

/// Returns the first field in which the two differ.
inline segment_field differing_field(const segment_header& found, const segment_header& expected) noexcept {
  using enum segment_field;
  if (found.magic != expected.magic) return magic;
  if (found.byte_order != expected.byte_order) return byte_order;
  if (found.layout_version != expected.layout_version) return layout_version;
  if (found.word_size != expected.word_size) return word_size;
  if (found.page != expected.page) return page;
  if (found.double_word != expected.double_word) return double_word;
  if (found.value_kind != expected.value_kind) return value_kind;
  if (found.options != expected.options) return options;
  if (found.waiter_slots != expected.waiter_slots) return waiter_slots;
  if (found.attachments != expected.attachments) return attachments;
  if (found.value_bytes != expected.value_bytes) return value_bytes;
  if (found.waiter_bytes != expected.waiter_bytes) return waiter_bytes;
  if (found.id != expected.id) return id;
  if (found.file != expected.file) return file;
  return none;
}

// ---- descriptors ----------------------------------------------------------------------------------------------------

/// A descriptor that is closed with its owner.
class file_descriptor {
 public:
  file_descriptor() = default;
  explicit file_descriptor(int number) noexcept : number_{number} {}
  file_descriptor(file_descriptor&& from) noexcept : number_{std::exchange(from.number_, -1)} {}
  file_descriptor& operator=(file_descriptor&& from) noexcept {
    std::swap(number_, from.number_);
    return *this;
  }
  ~file_descriptor() { reset(); }

  int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }
  void reset() noexcept {
    if (number_ < 0) return;
    const errno_keeper kept;
    const cancellation_delay delayed;
    ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

/// Owns a descriptor, under a number above those of the standard streams: a program that has closed one of them, and
/// yet prints to it, must not write into a segment. Owns none, with the reason in errno, if there is none.
inline file_descriptor above_streams(int number) noexcept {
  file_descriptor given{number};
  if (number < 0 || number > STDERR_FILENO) return given;
  return file_descriptor{::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
}

/// The path of a descriptor. It leads to the file itself, also if that has no name.
class descriptor_path {
 public:
  explicit descriptor_path(int descriptor) noexcept {
    std::snprintf(text_.data(), text_.size(), "/proc/self/fd/%d", descriptor);
  }
  const char* text() const noexcept { return text_.data(); }

 private:
  std::array<char, 32> text_{};
};

/// Opens the file of a descriptor anew; no descriptor, with the reason in errno, if the system refuses it.
inline file_descriptor open_anew(int descriptor, int access) noexcept {
  const cancellation_delay delayed;
  return above_streams(::open(descriptor_path{descriptor}.text(), access | O_CLOEXEC));
}
/// Why open_anew() has failed.
inline open_result not_opened_anew(int error) noexcept {
  const bool is_forbidden = error == EACCES || error == EPERM;
  return failure(error, is_forbidden ? segment_field::rights : segment_field::own_description);
}

inline bool is_open_for(int descriptor, int access) noexcept {
  const int flags = ::fcntl(descriptor, F_GETFL);
  return flags >= 0 && ((flags & O_ACCMODE) == O_RDWR || (flags & O_ACCMODE) == access);
}

/// Returns false, with the reason in errno, if the system refuses it.
inline bool random_bits(void* to, std::size_t bytes) noexcept {
  const cancellation_delay delayed;
  return ::getrandom(to, bytes, 0) == static_cast<ssize_t>(bytes);
}

/// Reads or writes at the first byte; returns 0 or the reason.
inline int read_header(int descriptor, segment_header& to) noexcept {
  const cancellation_delay delayed;
  const ssize_t got = ::pread(descriptor, &to, sizeof to, 0);
  if (got < 0) return thread_errno();
  if (got != static_cast<ssize_t>(sizeof to)) to = segment_header{};
  return 0;
}
inline int write_header(int descriptor, const segment_header& from) noexcept {
  const cancellation_delay delayed;
  const ssize_t got = ::pwrite(descriptor, &from, sizeof from, 0);
  return got == static_cast<ssize_t>(sizeof from) ? 0 : got < 0 ? thread_errno() : EIO;
}

/// Writes to a file where nobody reads, so that whoever watches it is told. Returns whether the system has done that.
inline bool touch(int descriptor) noexcept {
  constexpr std::uint64_t nothing = 0;
  constexpr off_t at = words_at - sizeof nothing;
  static_assert(sizeof(segment_header) <= at);
  const cancellation_delay delayed;
  return ::pwrite(descriptor, &nothing, sizeof nothing, at) == static_cast<ssize_t>(sizeof nothing);
}

// ---- bytes that are locked ------------------------------------------------------------------------------------------

/// The bytes of one open file description of W; see the head of this file.
class byte_locks {
 public:
  // Beyond any file, and within 31 bits, because `off_t` may have no more.
  static constexpr off_t first_byte = off_t{1} << 30;
  static constexpr off_t name_byte = first_byte + 4096;
  static constexpr off_t signaller_byte = name_byte + 1;
  static constexpr off_t first_record_byte = first_byte + 8192;

  explicit byte_locks(int descriptor = -1) noexcept : descriptor_{descriptor} {}

  /// Takes the byte of an attachment: whoever has it lives. Needs a description that may write.
  byte_lock try_lock(std::uint32_t index) noexcept { return try_lock_at(first_byte + static_cast<off_t>(index)); }
  void unlock(std::uint32_t index) noexcept { unlock_at(first_byte + static_cast<off_t>(index)); }
  /// Returns whether another description has the byte. A description may ask that can only read.
  bool is_held(std::uint32_t index) const noexcept { return is_any_held(first_byte + static_cast<off_t>(index), 1); }

  /// Takes the byte of a record: whoever has it may clean up where nobody lives.
  byte_lock try_lock_record(std::uint32_t index) noexcept {
    return try_lock_at(first_record_byte + static_cast<off_t>(index));
  }
  void unlock_record(std::uint32_t index) noexcept { unlock_at(first_record_byte + static_cast<off_t>(index)); }

  bool is_anyone_attached() const noexcept { return is_any_held(first_byte, most_attachments); }

  /// Takes the byte of the one signaller, where there may be one alone. It has it until it closes the description.
  byte_lock try_lock_signaller() noexcept { return try_lock_at(signaller_byte); }

  byte_lock try_lock_name() noexcept { return try_lock_at(name_byte); }
  void unlock_name() noexcept { unlock_at(name_byte); }

 private:
  static struct flock range(short type, off_t first, off_t bytes) noexcept {
    struct flock asked{};
    asked.l_type = type;
    asked.l_whence = SEEK_SET;
    asked.l_start = first;
    asked.l_len = bytes;
    return asked;
  }
  byte_lock try_lock_at(off_t at) noexcept {
    struct flock asked = range(F_WRLCK, at, 1);
    const cancellation_delay delayed;
    if (::fcntl(descriptor_, TIDEMARK_OFD_SETLK, &asked) == 0) return byte_lock::locked;
    const int error = thread_errno();
    return error == EAGAIN || error == EACCES ? byte_lock::taken : byte_lock::refused;
  }
  void unlock_at(off_t at) noexcept {
    struct flock asked = range(F_UNLCK, at, 1);
    const cancellation_delay delayed;
    static_cast<void>(::fcntl(descriptor_, TIDEMARK_OFD_SETLK, &asked));
  }
  /// What the system does not tell counts as held: nobody is taken for dead then. A lock for reading does not count:
  /// whoever may read the file can have one.
  bool is_any_held(off_t first, off_t bytes) const noexcept {
    struct flock asked = range(F_RDLCK, first, bytes);
    const cancellation_delay delayed;
    return ::fcntl(descriptor_, TIDEMARK_OFD_GETLK, &asked) != 0 || asked.l_type != F_UNLCK;
  }

  int descriptor_;
};

// ---- the two files --------------------------------------------------------------------------------------------------

/// Who may open the files, as chmod(2) has it, whatever the umask is. One-way: values 0444 or 0644, for users that are
/// not the owner's. Files in memory can't be made executable: the system may refuse that with EPERM.
struct file_modes {
  mode_t values = 0600;
  mode_t waiters = 0600;
};

/// The descriptors of the two files: what processes pass on, and what an attachment is made from. No byte is locked
/// through them.
class segment_files {
 public:
  segment_files() = default;
  segment_files(file_descriptor values, file_descriptor waiters, bool is_sealed) noexcept
      : values_{std::move(values)}, waiters_{std::move(waiters)}, is_sealed_{is_sealed} {}

  int values() const noexcept { return values_.get(); }
  /// -1 if there is none: then an attachment can only look.
  int waiters() const noexcept { return waiters_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(values_); }

  /// Looks at both files, and returns in what they differ from what is expected. If in nothing, `id` is the segment's.
  open_result validate(const segment_shape& expected, std::array<std::uint64_t, 2>& id) const noexcept {
    // A header may say the same nonsense as the caller.
    if (const segment_field wrong = impossible_field(expected); wrong != segment_field::none) return differs_in(wrong);
    // First: a file of a hostile sender might be one whose reading never ends. One that has seals lies in memory.
    if (!are_sealed()) return differs_in(segment_field::seals);
    segment_header found;
    if (const int error = read_header(values(), found)) return failure(error);
    id = found.id;
    const segment_field field = differing_field(found, header_for(expected, id, segment_file::values));
    if (field != segment_field::none) return differs_in(field);
    const open_result result = validate_file(values(), value_file_size(expected));
    if (!result || !waiters_) return result;
    if (const int error = read_header(waiters(), found)) return failure(error);
    const segment_field other = differing_field(found, header_for(expected, id, segment_file::waiters));
    if (other != segment_field::none) return differs_in(other);
    return validate_file(waiters(), waiter_file_size(expected));
  }

  /// Makes the files in memory. They end with the last process that has one of their descriptors, or maps them.
  static open_result create_in_memory(segment_files& to, const segment_shape& shape, file_modes modes = {}) noexcept {
    segment_files made{memory_file("tidemark values"), memory_file("tidemark waiters"), true};
    if (!made.values_ || !made.waiters_) return failure(thread_errno());
    open_result result = made.fill(shape, modes);
    if (!result) return result;
    for (const int each : {made.values(), made.waiters()}) {
      if (::fcntl(each, F_ADD_SEALS, needed_seals) != 0) return failure(thread_errno(), segment_field::seals);
    }
    to = std::move(made);
    return result;
  }

  /// Gives two files that have no name yet their contents.
  open_result fill(const segment_shape& shape, file_modes modes) noexcept {
    if (const segment_field wrong = impossible_field(shape); wrong != segment_field::none) return differs_in(wrong);
    std::array<std::uint64_t, 2> id{};
    if (!random_bits(id.data(), sizeof id)) return failure(thread_errno());
    const open_result result =
        fill_file(values(), value_file_size(shape), modes.values, header_for(shape, id, segment_file::values));
    if (!result) return result;
    return fill_file(waiters(), waiter_file_size(shape), modes.waiters, header_for(shape, id, segment_file::waiters));
  }

  // ---- passing them on ----

  /// Sends the descriptors over a Unix socket. Blocks as the socket does.
  /// \param values_for_reading  the receiver gets one of the values that can't write. It keeps nobody from writing that
  ///                            may open the file anew, so the file's mode must, too
  open_result send(int socket, bool values_for_reading = false, bool with_waiters = true) const noexcept {
    file_descriptor reading;
    if (values_for_reading) {
      reading = open_anew(values(), O_RDONLY);
      if (!reading) return not_opened_anew(thread_errno());
    }
    std::array<int, 2> sent{reading ? reading.get() : values(), waiters()};
    return send_descriptors(socket, sent.data(), with_waiters && waiters_ ? 2U : 1U);
  }

  /// Receives what send() has sent.
  static open_result receive(segment_files& to, int socket) noexcept {
    std::array<file_descriptor, 2> got;
    const open_result result = receive_descriptors(socket, got);
    if (result) to = segment_files{std::move(got[0]), std::move(got[1]), true};
    return result;
  }

 private:
  static constexpr int needed_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  static constexpr unsigned not_executable = 8;  // MFD_NOEXEC_SEAL

  static file_descriptor memory_file(const char* name) noexcept {
    const int number = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | not_executable);
    if (number >= 0 || thread_errno() != EINVAL) return above_streams(number);
    return above_streams(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));  // Linux before 6.3
  }

  /// What is wrong with a shape itself.
  static segment_field impossible_field(const segment_shape& shape) noexcept {
    if (shape.attachments == 0 || shape.attachments > most_attachments) return segment_field::attachments;
    if (shape.value_bytes > most_segment_bytes) return segment_field::value_bytes;
    if (shape.waiter_bytes > most_segment_bytes) return segment_field::waiter_bytes;
    return segment_field::none;
  }

  static open_result fill_file(int descriptor, std::size_t bytes, mode_t mode, const segment_header& header) noexcept {
    const cancellation_delay delayed;
    // Beyond this limit the system would end the program.
    rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) return failure(EFBIG);
    if (::ftruncate(descriptor, as_integer<off_t>(bytes)) != 0) return failure(thread_errno());
    // The room is taken now. Otherwise the first access of a page that has none would end the program.
    int error = EINTR;
    for (int tries = 0; error == EINTR && tries < 1000; ++tries) {
      error = ::posix_fallocate(descriptor, 0, as_integer<off_t>(bytes));
    }
    if (error == 0) error = write_header(descriptor, header);
    if (error != 0) return failure(error);
    return ::fchmod(descriptor, mode) == 0 ? opened() : failure(thread_errno(), segment_field::rights);
  }

  static open_result validate_file(int descriptor, std::size_t bytes) noexcept {
    struct stat found{};
    if (::fstat(descriptor, &found) != 0) return failure(thread_errno());
    return found.st_size == as_integer<off_t>(bytes) ? opened() : differs_in(segment_field::file_size);
  }
  bool are_sealed() const noexcept {
    const auto is_sealed = [](int descriptor) {
      const int seals = ::fcntl(descriptor, F_GET_SEALS);
      return seals >= 0 && (seals & needed_seals) == needed_seals;
    };
    return !is_sealed_ || (is_sealed(values()) && (!waiters_ || is_sealed(waiters())));
  }

  /// A message of one text, with room for two descriptors beside it, and for what the receiver's socket may add: who
  /// has sent it, and a label of the system.
  struct descriptor_message {
    descriptor_message() noexcept {
      head.msg_iov = &part;
      head.msg_iovlen = 1;
      head.msg_control = control.data();
    }
    descriptor_message(const descriptor_message&) = delete;
    descriptor_message& operator=(const descriptor_message&) = delete;

    std::array<char, 8> text{};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int)) + 512> control{};
    iovec part{text.data(), text.size()};
    msghdr head{};
  };

  static open_result send_descriptors(int socket, const int* those, std::size_t count) noexcept {
    descriptor_message message;
    message.text = segment_magic;
    message.head.msg_controllen = as_integer<decltype(message.head.msg_controllen)>(CMSG_SPACE(count * sizeof(int)));
    cmsghdr* const head = CMSG_FIRSTHDR(&message.head);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = as_integer<decltype(head->cmsg_len)>(CMSG_LEN(count * sizeof(int)));
    std::memcpy(CMSG_DATA(head), those, count * sizeof(int));
    const cancellation_delay delayed;
    for (;;) {
      if (::sendmsg(socket, &message.head, MSG_NOSIGNAL) >= 0) return opened();
      if (const int error = thread_errno(); error != EINTR) return failure(error);
    }
  }

  static open_result receive_descriptors(int socket, std::array<file_descriptor, 2>& to) noexcept {
    descriptor_message message;
    message.head.msg_controllen = as_integer<decltype(message.head.msg_controllen)>(message.control.size());
    ssize_t got = -1;
    {
      const cancellation_delay delayed;
      do {
        got = ::recvmsg(socket, &message.head, MSG_CMSG_CLOEXEC);
      } while (got < 0 && thread_errno() == EINTR);
    }
    if (got < 0) return failure(thread_errno());
    std::size_t count = 0;
    int error = 0;
    bool is_whole = message.text == segment_magic && (message.head.msg_flags & MSG_CTRUNC) == 0;
    for (cmsghdr* head = CMSG_FIRSTHDR(&message.head); head != nullptr; head = CMSG_NXTHDR(&message.head, head)) {
      if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t sent = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < sent; ++i) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(head) + i * sizeof number, sizeof number);
        file_descriptor each = above_streams(number);
        if (!each) error = thread_errno();
        if (count < to.size()) {
          to[count++] = std::move(each);
        } else {
          is_whole = false;
        }
      }
    }
    // Descriptors may come with no bytes, too.
    if (got == 0) return {open_status::unknown, segment_field::none, 0};
    if (error != 0) return failure(error);
    return count != 0 && is_whole ? opened() : differs_in(segment_field::magic);
  }

  file_descriptor values_;
  file_descriptor waiters_;
  bool is_sealed_ = true;
};

}  // namespace tidemark::detail

#endif

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_FILES_HPP
