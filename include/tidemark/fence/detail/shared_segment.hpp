// SPDX-License-Identifier: BSL-1.0
//
// shared_segment: one process's attachment to pages that processes share. Linux alone.
//
//   base() + 0              V, the values: for reading alone unless the attachment may signal
//   base() + values_at      value_bytes
//   base() + waiters_at()   waiter_bytes, in W; an attachment that can only look may have none
//
// Both files lie in one reservation of addresses, so that all words have constant distances. What lies in them is
// written in shared_files.hpp and shared_records.hpp.
//
// After open() the sizes and the choices are those of the private copy, which was compared with what the caller
// expects, and never those that stand in the segment.
//
// Words that processes share are the platform's atomic words, each in its place in the mapping, and not plain words
// with std::atomic_ref: a page that only can be read has no atomic_ref before C++26, since that wants one that can
// be written. Bytes that are 0 are such words: they hold nothing but their value (asserted below as far as the language
// can).
//
// After a fork, the child has neither the mapping nor the lock: an access is a segmentation fault, and is_inherited()
// says so. The child may close the object, and may open another one.
//
// Not promised: that a process that is stopped, traced or writes its core is ever taken for dead.
#ifndef TIDEMARK_FENCE_DETAIL_SHARED_SEGMENT_HPP
#define TIDEMARK_FENCE_DETAIL_SHARED_SEGMENT_HPP

#include <type_traits>

#include "../../platform/platform.hpp"
#include "../../platform/tools/limits.hpp"
#include "shared_files.hpp"
#include "shared_names.hpp"
#include "shared_process.hpp"
#include "shared_records.hpp"

#if defined(__linux__)

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tidemark::detail {

/// What an attachment is to be.
struct opening_options {
  attachment_rights rights = attachment_rights::signal;
  /// Whether the attachment relies on the global barrier: opening fails if the process is not registered for it.
  bool is_registered = false;
  /// Whether no other attachment that says so may be there: opening fails with `busy` then.
  bool is_sole_signaller = false;
  std::string_view label{};  ///< For people; 24 characters of it are kept.
  /// How long opening may wait for others who open or close the segment.
  std::chrono::nanoseconds patience = std::chrono::seconds{1};
};

/// An attachment. One thread opens and closes it; all threads may use it between.
template <platform Platform>
class shared_segment {
 public:
  using words_type = segment_words<Platform>;
  using signallers_type = signaller_words<Platform>;
  using pin_word = typename Platform::template atomic<std::uint64_t>;

  static constexpr std::size_t values_at = values_in_file;
  static constexpr std::size_t waiters_at(const segment_shape& shape) noexcept {
    return value_file_size(shape) + waiters_in_file;
  }

  shared_segment() = default;
  shared_segment(const shared_segment&) = delete;
  shared_segment& operator=(const shared_segment&) = delete;
  /// Closes the attachment as if its process had ended: others clean up behind it. Call close() before.
  ~shared_segment() { leave(); }

  /// Opens an attachment to files that were made or received. The files may be destroyed afterwards.
  /// \param clean  clean(index) gives back all that an attachment has left in W; base() is there. Called for the own
  ///               index, too, since another one may have had it before. It may be called again for what was cleaned
  ///               by half
  template <class Clean>
  open_result open(const segment_files& files, const segment_shape& expected, const opening_options& options,
                   Clean&& clean) noexcept {
    TIDEMARK_ASSERT(!is_open(), "shared_segment: it is open");
    if (!files) return failure(EBADF);
    if (options.rights != attachment_rights::look && files.waiters() < 0) {
      return failure(EBADF, segment_field::rights);
    }
    std::array<std::uint64_t, 2> id{};
    open_result result = files.validate(expected, id);
    if (!result) return result;
    shape_ = expected;
    id_ = id;
    rights_ = options.rights;
    result = map(files);
    if (result) result = lock(files);
    if (result && rights_ != attachment_rights::look) {
      result = enter(options, clean, deadline_after(options.patience, std::chrono::steady_clock::now()));
    }
    if (!result) leave();
    return result;
  }

  /// Opens an attachment to the segment of a name, and makes the segment if nobody uses the name. An attachment that
  /// may not signal makes none.
  template <class Clean>
  open_result open_or_create(segment_name name, file_modes modes, const segment_shape& shape,
                             const opening_options& options, Clean&& clean) noexcept {
    return open_name(name, options.rights == attachment_rights::look ? nullptr : &shape, modes, shape, options, clean);
  }
  /// Opens an attachment to the segment of a name that somebody uses.
  template <class Clean>
  open_result open_existing(segment_name name, const segment_shape& expected, const opening_options& options,
                            Clean&& clean) noexcept {
    return open_name(name, nullptr, {}, expected, options, clean);
  }

  /// Ends the attachment. `clean(index())` gives back what it has left. The last one removes the name if it can.
  /// Returns whether this one has.
  template <class Clean>
  bool close(Clean&& clean) noexcept {
    if (!is_open()) return false;
    if (!is_inherited() && records_) {
      if (rights_ == attachment_rights::signal) {
        history().end(index_, [this](auto other, auto incarnation) { return is_alive(other, incarnation); });
      }
      records_->release(index_, clean);
    }
    return leave();
  }

  bool is_open() const noexcept { return base_ != nullptr; }
  bool has_name() const noexcept { return static_cast<bool>(paths_); }
  /// Returns whether opening the name has made the segment.
  bool was_made() const noexcept { return was_made_; }
  /// Returns whether this is the copy of an attachment of the process from which this one was forked.
  bool is_inherited() const noexcept { return is_open() && own_.process != shared_process::this_process(); }

  attachment_rights rights() const noexcept { return rights_; }
  /// Returns the number of the attachment. One that can only look has none.
  std::uint32_t index() const noexcept { return index_; }
  const segment_shape& shape() const noexcept { return shape_; }
  std::array<std::uint64_t, 2> id() const noexcept { return id_; }
  std::byte* base() const noexcept { return base_; }
  std::byte* values() const noexcept { return base_ + values_at; }
  /// Returns null if the attachment has only the values.
  std::byte* waiters() const noexcept { return has_waiters_ ? base_ + waiters_at(shape_) : nullptr; }

  // ---- others ----

  /// Returns whether the caller must call look() now, which is true once in an interval of the clock for the whole
  /// segment.
  bool may_look(deadline now) noexcept {
    return records_ && schedule_.is_due(words().looked_at, look_schedule<Platform>::nanoseconds_of(now));
  }
  /// Cleans up behind the dead; see segment_records::look(). Does nothing if the attachment can only look.
  template <class Clean>
  look_outcome look(Clean&& clean, std::uint32_t most = 16) noexcept {
    return records_ ? records_->look(index_, most, clean) : look_outcome{};
  }

  /// Returns whether somebody may signal. An attachment without W does not know who has died.
  signallers signaller_state() const noexcept {
    return signaller_history<Platform>::state(signaller_part(), shape_.attachments, [this](auto index, auto number) {
      return index == index_ ? number == incarnation_ : is_alive(index, number);
    });
  }
  bool is_attached(std::uint32_t index) const noexcept {
    return index == index_ || (own_.lock && locks_.is_held(index));
  }
  /// Returns whether the kernel has said that another attachment is dead, which it does for one with a guard thread
  /// before it gives up the locks.
  bool has_died(std::uint32_t index) const noexcept {
    return has_waiters_ && index != index_ && detail::has_died(std::as_const(words()), index);
  }
  /// Returns what the record of an attachment says, which is there if the attachment has W.
  attachment_note note_of(std::uint32_t index) const noexcept {
    return has_waiters_ ? note_in(std::as_const(words()), index) : attachment_note{};
  }
  /// One bit for each attachment that signals without a registration for the global barrier. The attachment sets its
  /// own bit before its first signal; it is cleared when the attachment has ended.
  pin_word& pins() const noexcept { return words().pins; }
  /// Returns the word with which others learn of the death of an attachment that has a guard thread.
  typename Platform::park_word& guard(std::uint32_t index) const noexcept { return words().records[index].guard; }
  std::uint32_t guard_value(std::uint32_t index) const noexcept { return guard_in(std::as_const(words()), index); }
  /// By the guard thread of this attachment; see segment_records::set_guard().
  void set_guard(std::uint32_t thread) noexcept { records_->set_guard(index_, thread); }
  /// Returns the descriptor of the waiters' file that the locks are in; -1 if there is none.
  int lock_descriptor() const noexcept { return own_.lock.get(); }

 private:
  static_assert(sizeof(segment_record<Platform>) == 64 && sizeof(words_type) == 64 * (most_attachments + 1));
  static_assert(std::is_standard_layout_v<words_type> && std::is_trivially_destructible_v<words_type>);
  static_assert(std::is_standard_layout_v<signallers_type> && std::is_trivially_destructible_v<signallers_type>);
  static_assert(sizeof(typename Platform::template atomic<std::uint64_t>) == 8 &&
                sizeof(typename Platform::park_word) == 4);
  static_assert(words_at + sizeof(words_type) <= waiters_in_file);
  static_assert(words_at + sizeof(signallers_type) <= values_in_file);

  static constexpr std::uint32_t no_index = UINT32_MAX;

  std::byte* waiters_file() const noexcept { return base_ + value_file_size(shape_); }
  words_type& words() const noexcept {
    void* const at = waiters_file() + words_at;
    return *static_cast<words_type*>(at);
  }
  signallers_type& signaller_part() const noexcept {
    void* const at = base_ + words_at;
    return *static_cast<signallers_type*>(at);
  }
  signaller_history<Platform> history() const noexcept { return {signaller_part(), shape_.attachments}; }

  bool is_alive(std::uint32_t index, std::uint64_t incarnation) const noexcept {
    if (records_) return records_->is_alive(index, incarnation);
    // Without W nobody is known to be dead. With it, the bytes can be asked for.
    return !own_.lock || (!has_died(index) && locks_.is_held(index) && note_of(index).incarnation == incarnation);
  }

  /// Reserves the addresses, and maps both files there.
  open_result map(const segment_files& files) noexcept {
    if (::sysconf(_SC_PAGESIZE) > static_cast<long>(segment_page)) return differs_in(segment_field::page);
    const std::size_t value_size = value_file_size(shape_);
    const std::size_t waiter_size = files.waiters() < 0 ? 0 : waiter_file_size(shape_);
    void* const reserved =
        ::mmap(nullptr, value_size + waiter_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED) return failure(thread_errno());
    base_ = static_cast<std::byte*>(reserved);
    mapped_ = value_size + waiter_size;
    has_waiters_ = waiter_size != 0;
    const int reading = PROT_READ;
    const int writing = PROT_READ | PROT_WRITE;
    open_result result =
        map_file(files.values(), base_, value_size, rights_ == attachment_rights::signal ? writing : reading);
    if (result && has_waiters_) {
      result = map_file(files.waiters(), base_ + value_size, waiter_size,
                        rights_ == attachment_rights::look ? reading : writing);
    }
    // The child of a fork has no mapping: it would wait and signal as its parent.
    if (result && ::madvise(base_, mapped_, MADV_DONTFORK) != 0) result = failure(thread_errno());
    return result;
  }
  static open_result map_file(int descriptor, std::byte* at, std::size_t bytes, int protection) noexcept {
    if (::mmap(at, bytes, protection, MAP_SHARED | MAP_FIXED, descriptor, 0) != MAP_FAILED) return opened();
    const int error = thread_errno();
    return failure(error, error == EACCES || error == EPERM ? segment_field::rights : segment_field::none);
  }

  /// Opens W anew, for the bytes of this attachment alone.
  open_result lock(const segment_files& files) noexcept {
    if (files.waiters() < 0) {
      shared_process::add_without(own_);
      return opened();
    }
    const int access = rights_ == attachment_rights::look ? O_RDONLY : O_RDWR;
    shared_process::add(own_, [&] { return open_anew(files.waiters(), access); });
    if (!own_.lock) return not_opened_anew(thread_errno());
    locks_ = byte_locks{own_.lock.get()};
    return opened();
  }

  /// Takes a byte and writes the record. While all are taken, it looks again a few times: somebody may clean up now.
  template <class Clean>
  open_result enter(const opening_options& options, Clean& clean, deadline until) noexcept {
    if (options.is_registered && !global_barrier::is_registered()) return failure(EPERM, segment_field::rights);
    if (options.is_sole_signaller) {
      // By a lock, because of two that open at once one must succeed, and the other one must leave no trace.
      const byte_lock sole = locks_.try_lock_signaller();
      if (sole == byte_lock::refused) return failure(thread_errno());
      if (sole == byte_lock::taken) return {open_status::busy, segment_field::rights, 0};
    }
    attachment_note note = own_note(options);
    if (!random_bits(&note.incarnation, sizeof note.incarnation)) return failure(thread_errno());
    note.incarnation |= 1;
    records_.emplace(words(), locks_, shape_.attachments);
    claim_outcome claimed = records_->claim(note, clean);
    for (int tries = 0; claimed.status == byte_lock::taken && tries < 4; ++tries) {
      if (std::chrono::steady_clock::now() >= until) break;
      const cancellation_delay delayed;
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
      claimed = records_->claim(note, clean);
    }
    if (claimed.status != byte_lock::locked) {
      records_.reset();
      if (claimed.status == byte_lock::refused) return failure(thread_errno());
      return {open_status::no_space, segment_field::attachments, 0};
    }
    index_ = claimed.index;
    incarnation_ = note.incarnation;
    if (rights_ == attachment_rights::signal) history().begin(index_, incarnation_);
    return opened();
  }

  attachment_note own_note(const opening_options& options) const noexcept {
    attachment_note note;
    note.rights = options.rights;
    note.is_registered = options.is_registered;
    note.process = static_cast<std::uint32_t>(::getpid());
    struct stat found{};
    if (::stat("/proc/self/ns/pid", &found) == 0) note.name_space = found.st_ino;
    const std::size_t bytes = options.label.size() < sizeof note.name ? options.label.size() : sizeof note.name;
    if (bytes != 0) std::memcpy(note.name.data(), options.label.data(), bytes);
    return note;
  }

  template <class Clean>
  open_result open_name(segment_name name, const segment_shape* created, file_modes modes,
                        const segment_shape& expected, const opening_options& options, Clean& clean) noexcept {
    TIDEMARK_ASSERT(!is_open(), "shared_segment: it is open");
    const segment_paths paths{name};
    named_segment those{paths, options.rights, deadline_after(options.patience, std::chrono::steady_clock::now())};
    return those.open(created, modes, [&](segment_files& files, bool is_made) {
      const open_result result = open(files, expected, options, clean);
      if (result && options.rights != attachment_rights::look) {
        paths_ = paths;
        files_ = std::move(files);
        was_made_ = is_made;
      }
      return result;
    });
  }

  /// Ends the mapping and the lock. In the child of a fork, what lies at the addresses now is not this one's. Returns
  /// whether it has removed the name.
  bool leave() noexcept {
    const bool was_inherited = own_.process != 0 && is_inherited();
    records_.reset();
    shared_process::remove(own_);
    if (base_ != nullptr && !was_inherited) ::munmap(base_, mapped_);
    base_ = nullptr;
    has_waiters_ = false;
    bool has_removed = false;
    if (paths_ && !was_inherited) {
      named_segment those{paths_, rights_, std::chrono::steady_clock::now() + leaving_patience};
      has_removed = those.remove_unused(files_);
    }
    paths_ = segment_paths{};
    files_ = segment_files{};
    was_made_ = false;
    index_ = no_index;
    incarnation_ = 0;
    return has_removed;
  }

  static constexpr std::chrono::seconds leaving_patience{1};  // as opening has by default

  std::byte* base_ = nullptr;
  std::size_t mapped_ = 0;
  bool has_waiters_ = false;
  bool was_made_ = false;
  attachment_rights rights_ = attachment_rights::look;
  std::uint32_t index_ = no_index;
  std::uint64_t incarnation_ = 0;
  segment_shape shape_{};
  std::array<std::uint64_t, 2> id_{};
  registered_attachment own_;
  byte_locks locks_;
  std::optional<segment_records<Platform, byte_locks>> records_;
  look_schedule<Platform> schedule_;
  segment_paths paths_;
  segment_files files_;  // those of a name
};

}  // namespace tidemark::detail

#else

namespace tidemark::detail {

/// There is none here.
template <class Platform>
class shared_segment {
  static_assert(!std::is_same_v<Platform, Platform>,
                "tidemark: fences that processes share need Linux: locks of open file descriptions and memfd_create()");
};

}  // namespace tidemark::detail

#endif

#endif  // TIDEMARK_FENCE_DETAIL_SHARED_SEGMENT_HPP
