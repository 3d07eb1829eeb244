// SPDX-License-Identifier: BSL-1.0
//
// shared_logs: the logs of a process's queues, in memory that other processes can read. Linux alone.
//
//   auto made = tidemark::shared_logs::create();                    the process that has the queues: once
//   render.set_log(signals, made.logs.take(queue_id{1}, signals));  for each log; again to replace it, larger perhaps
//   made.logs.files().send(socket);                                 to another process
//
//   auto opened = tidemark::shared_logs_reader::open(files);        in the other process
//   collector.add(opened.logs);                                     beside queues of its own
//
//   auto named = tidemark::shared_logs::open_or_create({"renderer"});     or by name
//
// The reader finds the logs by itself, also those that come later, and follows each of them where it is replaced: by
// what lies in the memory, without a word of the program. When there is something to read, the program learns as it
// likes, by a shared fence for example (fence/shared_fence.hpp). A queue makes a log with its first entry, and then it
// is found.
//
// What happens when a process is killed, at any instruction
// ---------------------------------------------------------
//   - Entries that were appended stay. Readers read them to the end, and never wait.
//   - A log that was not made is not found, and one that is being replaced has all its entries.
//   - The next process that opens the same memory goes on. It has logs of its own, and takes the memory of the dead
//     one's only if there is no other. Memory by name that no process writes is replaced by the next one that opens the
//     name: then readers read the old one to its end, and open the name again.
//
// The memory
// ----------
//   V  a directory of the logs (tools/log_directory.hpp), and the logs       the process that has the queues writes it
//   W  who is attached (fence/detail/shared_files.hpp)                       "
//
// Whoever may write this memory may write nonsense. Readers then get nonsense, but they do not crash, they read nothing
// else, and their calls end; files by name can also be cut short, though, which ends readers by SIGBUS. The process
// whose queues write the logs trusts the memory: give others a descriptor for reading and a mode that keeps them from
// more, as docs/guide-fence.md says.
//
// Numbers. Each process numbers its queues and fences by itself. The reader translates them by the process_numbers that
// it was opened with. Times are those of the queues' clock: steady_log_clock and tsc_log_clock are the same in all
// processes of a machine, and of one time name space.
//
// Limits. One process at a time writes. After a fork the child must not use its parent's logs, nor the queues that
// write them. Less than 256 MiB.
#ifndef TIDEMARK_LOG_SHARED_LOGS_HPP
#define TIDEMARK_LOG_SHARED_LOGS_HPP

#include "../platform/platform.hpp"

#if defined(__linux__) && TIDEMARK_HAS_FUTEX

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "../fence/shared_fence.hpp"
#include "ids.hpp"
#include "tools/log_directory.hpp"

namespace tidemark {

/// The choices of shared logs. All who open them must agree on the first two: a difference is told by its field.
struct shared_logs_options {
  std::uint32_t logs = 64;            ///< How many logs there can be (the field `options`), 1 to 4096.
  std::uint32_t bytes = 1024 * 1024;  ///< The memory of all of them (the field `value_bytes`), a multiple of 64, not 0.
  std::string_view label{};           ///< The name of the process, for people: 24 characters of it are kept.
  /// How long opening waits for others who open or close under the same name. One of them may be stopped.
  std::chrono::nanoseconds patience = std::chrono::seconds{1};
  shared_modes modes{};       ///< Who may open files that are made.
  process_numbers numbers{};  ///< For a reader: what the numbers in the logs are here.
};

/// What opening has come to.
template <class Logs>
struct [[nodiscard]] shared_logs_result {
  shared_open_status status = shared_open_status::attached;
  shared_field field = shared_field::none;  ///< What differs if it is `invalid`; what was refused if it is `refused`.
  int error = 0;                            ///< What the system has said, as errno has it.
  Logs logs{};                              ///< Open, if the status is `attached`.

  explicit operator bool() const noexcept { return status == shared_open_status::attached; }
};

namespace detail {

/// An attachment to shared logs, and where they lie.
template <platform Platform>
class shared_logs_place {
 public:
  using record = log_record<Platform>;

  explicit shared_logs_place(const shared_logs_options& options) noexcept : shape_{shape_of(options)} {}

  auto& segment() noexcept { return segment_; }
  const auto& segment() const noexcept { return segment_; }
  const segment_shape& shape() const noexcept { return shape_; }
  segment_files& files() noexcept { return files_; }

  opening_options wanted(const shared_logs_options& options, attachment_rights rights) const noexcept {
    return {.rights = rights,
            .is_sole_signaller = rights == attachment_rights::signal,
            .label = options.label,
            .patience = options.patience};
  }
  /// Nothing that belongs to an attachment is left with it: logs belong to nobody.
  static auto cleaner() noexcept {
    return [](std::uint32_t) {};
  }

  // By the own shape, and never by what stands in the memory.
  std::span<record> records() const noexcept {
    void* const first = segment_.values();
    return {static_cast<record*>(first), as_integer<std::size_t>(shape_.options)};
  }
  std::span<std::byte> memory() const noexcept {
    const std::size_t at = as_integer<std::size_t>(shape_.options) * sizeof(record);
    return {segment_.values() + at, as_integer<std::size_t>(shape_.value_bytes) - at};
  }

 private:
  static_assert(sizeof(record) == 64);

  static segment_shape shape_of(const shared_logs_options& options) noexcept {
    return {.value_kind = 3,
            .double_word = Platform::double_word::is_always_lock_free ? 1U : 2U,  // as fences of this platform
            .options = options.logs,
            .attachments = 4,
            .value_bytes = std::uint64_t{options.logs} * sizeof(record) + options.bytes};
  }

  const segment_shape shape_;
  shared_segment<Platform> segment_;
  segment_files files_;
};

/// Opens logs.
/// \tparam State  what an object of the class `Logs` has: a `place`, and begin(options) when that is open
/// \param open    open(place) attaches
template <class Logs, class State, class Open>
shared_logs_result<Logs> open_logs(const shared_logs_options& options, const Open& open) {
  shared_logs_result<Logs> made;
  open_result found = opened();
  if (options.logs == 0 || options.logs > 4096) found = differs_in(segment_field::options);
  if (options.bytes == 0 || options.bytes % cache_line != 0) found = differs_in(segment_field::value_bytes);
  std::unique_ptr<State> state;
  if (found) {
    state = std::make_unique<State>(options);
    found = open(state->place);
  }
  if (found) found = state->begin(options);
  made.status = found.status;
  made.field = found.field;
  made.error = found.error;
  if (found) made.logs = Logs{std::move(state)};
  return made;
}

}  // namespace detail

/// The logs of this process's queues, in memory that other processes can read; see the head of this file. It belongs to
/// the owner of the queues, one thread at a time. It may be moved. Before it is closed, the queues must be destroyed,
/// and so must all of this process that reads or reserves their entries: a log_collector that has them, for example.
template <platform Platform = native_platform>
class basic_shared_logs {
 public:
  using result = shared_logs_result<basic_shared_logs>;
  using place = typename detail::log_directory<Platform>::place;

  /// Without memory. It may be destroyed and assigned to.
  basic_shared_logs() noexcept = default;
  basic_shared_logs(basic_shared_logs&&) noexcept = default;
  basic_shared_logs& operator=(basic_shared_logs&& from) noexcept {
    if (this != &from) {
      close();
      state_ = std::move(from.state_);
    }
    return *this;
  }
  ~basic_shared_logs() { close(); }

  // Each of these opens the memory as the process that writes it. A second one is refused while it lives: `busy`, with
  // the field `rights`. All allocate, and throw what that throws.

  /// Makes memory that ends with the last process that has it.
  static result create(const shared_logs_options& options = {}) {
    return make(options, [&](place_type& made) {
      const detail::open_result result = shared_files::create_in_memory(made.files(), made.shape(), options.modes);
      return result ? open_files(made, made.files(), options) : result;
    });
  }
  /// Opens memory that this process has made or received, behind another process that has ended.
  static result open(const shared_files& files, const shared_logs_options& options = {}) {
    return make(options, [&](place_type& made) { return open_files(made, files, options); });
  }
  /// Makes memory under a name. The last process that closes it removes the name; what a killed one has left is
  /// replaced.
  static result open_or_create(shared_name name, const shared_logs_options& options = {}) {
    return make(options, [&](place_type& made) {
      return made.segment().open_or_create(name, options.modes, made.shape(),
                                           made.wanted(options, shared_rights::signal), made.cleaner());
    });
  }

  /// Ends the attachment. What was logged stays as long as somebody has the memory. If it is not open, this does
  /// nothing. The destructor calls it.
  void close() noexcept {
    if (state_ == nullptr) return;
    state_->place.segment().close(place_type::cleaner());
    state_.reset();
  }
  bool is_open() const noexcept { return state_ != nullptr; }

  /// Returns memory for a log, for the queue's set_log(), which then returns true; or none if there is none left.
  /// Allocates nothing. Asserts that the log can have so many entries, 2 to 2^31 - 1. Otherwise there is none.
  /// \param of       the queue, by the number that this process has for it. Two queues at the same time have two; one
  ///                 that is made when another is destroyed may have its number
  /// \param type     of the log
  /// \param entries  how many the log has
  [[nodiscard]] place take(queue_id of, fence_log_type type, std::size_t entries = 84) noexcept {
    return state_->directory->take(of, type, entries);
  }
  /// Says that in this process nobody uses the log at this place any more, neither the queue, which has replaced it and
  /// has written an entry since, nor its readers. Its memory is used again if there is no other; until then readers of
  /// other processes read the rest. Returns false if it was not taken, or was given back. Which places there are, say
  /// what take() returns (`at`).
  bool give_back(log_location at) noexcept { return state_->directory->give_back(at); }
  /// The same of all logs of a queue that was destroyed.
  bool give_back(queue_id of) noexcept { return state_->directory->give_back(of); }

  /// Returns the files, if create() has made them, to be sent to other processes. send(socket, true, false) lets them
  /// only read the logs, as far as the file's mode keeps them from opening it anew; they don't learn then who has died.
  const shared_files& files() const noexcept { return state_->place.files(); }
  /// Returns what names the memory: the same random number in all processes.
  std::array<std::uint64_t, 2> id() const noexcept { return state_->place.segment().id(); }

 private:
  using place_type = detail::shared_logs_place<Platform>;
  struct state {
    explicit state(const shared_logs_options& options) : place{options} {}

    detail::open_result begin(const shared_logs_options&) {
      std::uint64_t writer = 0;
      if (!detail::random_bits(&writer, sizeof writer)) return detail::failure(detail::thread_errno());
      directory.emplace(place.records(), place.memory(), writer | 1, static_cast<std::uint32_t>(::getpid()));
      return detail::opened();
    }

    place_type place;
    std::optional<detail::log_directory<Platform>> directory;
  };

  template <class Open>
  static result make(const shared_logs_options& options, const Open& open) {
    return detail::open_logs<basic_shared_logs, state>(options, open);
  }
  static detail::open_result open_files(place_type& made, const shared_files& files,
                                        const shared_logs_options& options) noexcept {
    return made.segment().open(files, made.shape(), made.wanted(options, shared_rights::signal), made.cleaner());
  }

  template <class Logs, class State, class Open>
  friend shared_logs_result<Logs> detail::open_logs(const shared_logs_options& options, const Open& open);
  explicit basic_shared_logs(std::unique_ptr<state> opened) noexcept : state_{std::move(opened)} {}

  std::unique_ptr<state> state_;
};

/// Reads the logs of another process's queues; see the head of this file. It maps the memory for reading alone, takes
/// no place in it, and nobody waits for it. It may be moved, also while a collector has it. For one thread at a time.
template <platform Platform = native_platform>
class basic_shared_logs_reader {
 public:
  using result = shared_logs_result<basic_shared_logs_reader>;
  using directory = detail::log_directory_reader<Platform>;
  using log = typename directory::log;
  using batch = typename directory::batch;

  /// Reads nothing. It may be destroyed and assigned to.
  basic_shared_logs_reader() noexcept = default;

  /// Opens memory that this process has received. Allocates, and throws what that throws.
  static result open(const shared_files& files, const shared_logs_options& options = {}) {
    return make(options, [&](auto& made) {
      return made.segment().open(files, made.shape(), made.wanted(options, shared_rights::look), made.cleaner());
    });
  }
  /// Opens the memory of a name under which a process writes. Allocates, and throws what that throws.
  static result open(shared_name name, const shared_logs_options& options = {}) {
    return make(options, [&](auto& made) {
      return made.segment().open_existing(name, made.shape(), made.wanted(options, shared_rights::look),
                                          made.cleaner());
    });
  }
  bool is_open() const noexcept { return state_ != nullptr; }

  // ---- the logs. A log_collector calls these functions, if it has the reader.

  /// Looks for logs that were made since the last call, and forgets those whose memory is used again, once they were
  /// read or others need their room. The numbers of the logs may be others afterwards. Allocates nothing. Progress:
  /// wait-free; a load for each log that there can be, and for each log that is new some more.
  void look() noexcept { state_->directory->look(); }
  /// Returns how many logs there are, of queues and of processes one after the other.
  [[nodiscard]] std::size_t logs() const noexcept { return state_->directory->logs(); }
  /// Returns which log this is: its queue and its type, and the process that writes it. Asserts that the number is less
  /// than logs(). Otherwise returns an empty one.
  [[nodiscard]] log at(std::size_t number) const noexcept { return state_->directory->at(number); }
  /// Returns whether read() is worth a call. Asserts as at() does. Otherwise returns false. Progress: wait-free.
  [[nodiscard]] bool has_new(std::size_t number) const noexcept { return state_->directory->has_new(number); }
  /// Copies the next entries of a log into `buffer`, at most as many as fit, and returns them as ring_log_reader does,
  /// by the numbers of this process; goes on where the log was replaced. What the queue has written to other logs in
  /// between counts as lost. If the memory is used again for another log, what was not read counts as lost, as far as
  /// this reader has seen the old one. Where a queue was made anew with the same number, the numbers of the entries
  /// begin anew. Asserts as at() does. Otherwise returns an empty batch. Progress: wait-free.
  [[nodiscard]] batch read(std::size_t number, std::span<fence_log_entry> buffer) noexcept {
    return state_->directory->read(number, buffer);
  }
  /// Returns the same functions for a log_collector. The reference is valid as long as the reader, also if it is moved.
  directory& followed() noexcept { return *state_->directory; }

  // ---- the process

  /// Returns whether a process writes the logs now, as the system says: `present`; or how the last one has ended. A
  /// reader without the file of those who are attached does not know who has died.
  [[nodiscard]] shared_signallers writer_state() const noexcept { return state_->place.segment().signaller_state(); }
  /// Returns what names the memory: the same random number in all processes.
  std::array<std::uint64_t, 2> id() const noexcept { return state_->place.segment().id(); }

 private:
  struct state {
    explicit state(const shared_logs_options& options) : place{options} {}

    detail::open_result begin(const shared_logs_options& options) {
      directory.emplace(place.records(), place.memory(), options.numbers);
      return detail::opened();
    }

    detail::shared_logs_place<Platform> place;
    std::optional<detail::log_directory_reader<Platform>> directory;
  };

  template <class Open>
  static result make(const shared_logs_options& options, const Open& open) {
    return detail::open_logs<basic_shared_logs_reader, state>(options, open);
  }

  template <class Logs, class State, class Open>
  friend shared_logs_result<Logs> detail::open_logs(const shared_logs_options& options, const Open& open);
  explicit basic_shared_logs_reader(std::unique_ptr<state> opened) noexcept : state_{std::move(opened)} {}

  std::unique_ptr<state> state_;
};

/// The logs of tidemark::queue, and of queues on the same platform.
using shared_logs = basic_shared_logs<>;
using shared_logs_reader = basic_shared_logs_reader<>;

}  // namespace tidemark

#endif

#endif  // TIDEMARK_LOG_SHARED_LOGS_HPP
