// SPDX-License-Identifier: BSL-1.0
//
// command_list: the commands of a queue of an engine, from the thread that records them to the thread that executes
// them.
//
//   taken        published        recorded
//     |-- to be executed --|-- not yet submitted --|        three counts that only rise
//
// The commands lie in chunks, which are linked in order. The executor gives the chunks that it has left back to the
// submitter, as long as those that were not used again are few. So in the long run a queue allocates nothing, unless
// many commands are recorded before the first of them is executed.
//
// Who writes what: the submitter (one thread at a time) `recorded` and `published`; the executor (one thread at a time)
// `taken`. While no thread executes, whoever may become the executor may look at the commands that are to be executed.
//
// Code of the user runs while the submitter makes a command and while it drops what is not submitted. It must not call
// the submitter's functions then: is_free() asserts that, and the queue does nothing where it returns false.
#ifndef TIDEMARK_ENGINE_DETAIL_COMMAND_LIST_HPP
#define TIDEMARK_ENGINE_DETAIL_COMMAND_LIST_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "../../fence/fence.hpp"
#include "../../log/ids.hpp"
#include "../../platform/assert.hpp"
#include "../../platform/platform.hpp"

namespace tidemark::detail {

enum class command_kind : std::uint8_t {
  work,
  wait,      ///< for `value` of the timeline at `fence`
  held,      ///< the same wait, which is held by the domain (domain.hpp)
  looked,    ///< the same wait, which looks at the timeline by itself
  signal,    ///< of `value` of the timeline at `fence`
  finish,    ///< a submission is finished
  unbroken,  ///< the next `value` commands are executed without a break
  alone,     ///< the same, and the engine executes nothing else meanwhile
};
inline bool is_wait(command_kind kind) noexcept {
  return kind == command_kind::wait || kind == command_kind::held || kind == command_kind::looked;
}
/// Whether an unbroken run begins with the command.
inline bool begins_run(command_kind kind) noexcept {
  return kind == command_kind::unbroken || kind == command_kind::alone;
}

/// One command. What it does beside that, `calls` knows.
template <platform Platform>
class queue_command {
 public:
  struct call_table {
    void (*run)(queue_command&, void* queue);
    void (*drop)(queue_command&) noexcept;
    fence_state (*look)(queue_command&) noexcept = nullptr;   // at the timeline of a wait
    const void* (*entry)(queue_command&) noexcept = nullptr;  // a log_reservation, if one was made
  };
  static constexpr std::size_t payload_bytes = 32;
  /// Also where a pointer has 32 bits: most of what is kept has a value of 64.
  static constexpr std::size_t payload_alignment = alignof(std::uint64_t);
  static_assert(alignof(void*) <= payload_alignment);

  /// Keeps an object in the command.
  template <class Object>
  void keep(Object&& kept) {
    using object = std::remove_cvref_t<Object>;
    if constexpr (fits<object>) {
      ::new (static_cast<void*>(payload_.data())) object(std::forward<Object>(kept));
    } else {
      ::new (static_cast<void*>(payload_.data())) object*(new object(std::forward<Object>(kept)));
    }
  }
  /// Keeps what `make()` returns, without moving it.
  template <class Make>
  void keep_made(const Make& make) {
    using object = decltype(make());
    if constexpr (fits<object>) {
      ::new (static_cast<void*>(payload_.data())) object(make());
    } else {
      ::new (static_cast<void*>(payload_.data())) object*(new object(make()));
    }
  }
  /// Returns what is kept.
  template <class Object>
  Object& kept() noexcept {
    void* const at = payload_.data();
    if constexpr (fits<Object>) {
      return *std::launder(static_cast<Object*>(at));
    } else {
      return **std::launder(static_cast<Object**>(at));
    }
  }
  template <class Object>
  void forget() noexcept {
    Object& kept_object = kept<Object>();
    if constexpr (fits<Object>) {
      std::destroy_at(&kept_object);
    } else {
      delete &kept_object;
    }
  }
  void drop() noexcept {
    if (const call_table* const known = calls.load()) known->drop(*this);
  }
  /// Returns the log_reservation that was made for the command; null if none was.
  const void* entry() noexcept {
    const call_table* const known = calls.load();
    return known != nullptr && known->entry != nullptr ? known->entry(*this) : nullptr;
  }

  command_kind kind = command_kind::work;
  fence_id id{};
  const void* fence = nullptr;
  typename Platform::template var<std::uint64_t> value{0};
  typename Platform::template var<const call_table*> calls{nullptr};

 private:
  template <class Object>
  static constexpr bool fits = sizeof(Object) <= payload_bytes && alignof(Object) <= payload_alignment;

  alignas(payload_alignment) std::array<std::byte, payload_bytes> payload_;
};

template <platform Platform>
class command_list {
  struct chunk;

 public:
  using command = queue_command<Platform>;
  /// Where a command was recorded.
  struct recorded_place {
    chunk* in;
    std::uint64_t position;
    std::uint64_t discards;  // that came before
  };

  command_list() = default;
  command_list(const command_list&) = delete;
  command_list& operator=(const command_list&) = delete;
  /// No other thread may use it any more.
  ~command_list() {
    drop_between(taken_, recorded_, head_ == nullptr ? first_ : taken_ == head_end_ ? head_->next : head_);
    for (chunk* each = head_ != nullptr ? head_ : first_; each != nullptr;) {
      chunk* const next = each->next;
      delete each;
      each = next;
    }
    // (QE7): relaxed alone: no other thread is here any more.
    delete_all(spares_.load(std::memory_order_relaxed));
    delete_all(own_spares_);
    delete left_;
  }

  // ---- the submitter ----

  /// While the scope that it returns lives, code of the user runs that must not use the submitter's functions.
  busy_scope<bool> busy() noexcept { return {is_busy_, true}; }
  /// Returns whether the submitter's functions may be called.
  bool is_free() const noexcept {
    TIDEMARK_ASSERT(!is_busy_, "what a queue records or drops used the queue");
    return !is_busy_;
  }

  /// Returns the next command, to be filled in. It counts once record() is called. Allocates, and throws what the
  /// allocation throws.
  command& next() {
    const std::size_t place = recorded_ % chunk_size;
    next_chunk_ = place != 0 ? last_ : chunk_behind();
    command& made = next_chunk_->commands[place];
    made.calls.store(nullptr);
    return made;
  }
  void record() noexcept {
    last_ = next_chunk_;
    ++recorded_;
  }
  std::uint64_t recorded() const noexcept { return recorded_; }
  bool has_unpublished() const noexcept { return recorded_ != published_own_; }
  /// Makes what was recorded visible to the executor.
  void publish() noexcept {
    last_published_ = last_;
    published_own_ = recorded_;
    // (QE1): release, pairs with (QE2): the executor finds the commands as they were recorded. Not stronger: whether
    // the executor looks again is decided by (QE3) and (QE4).
    published_.store(recorded_, std::memory_order_release);
  }
  /// Drops what was recorded and is not published.
  void discard() noexcept {
    const auto dropping = busy();
    ++discards_;
    last_ = last_published_;
    const std::uint64_t end = std::exchange(recorded_, published_own_);
    chunk* const next = last_ != nullptr ? last_->next : first_;
    drop_between(published_own_, end, published_own_ % chunk_size != 0 ? last_ : next);
  }

  /// Returns the place of the command that was recorded last.
  recorded_place last() const noexcept { return {last_, recorded_ - 1, discards_}; }
  /// Returns a place at which no command was recorded.
  static recorded_place nowhere() noexcept { return {nullptr, UINT64_MAX, 0}; }
  /// Ends an unbroken run with what was recorded since. Returns false if it can't be one; then it stays empty.
  /// \param of  where it begins
  bool end_run(const recorded_place& of) noexcept {
    if (of.position < published_own_ || of.position >= recorded_ || of.discards != discards_) return false;
    command& begins = of.in->commands[of.position % chunk_size];
    bool is_run = true;
    chunk* in = of.in;
    for (std::uint64_t position = of.position + 1; position != recorded_; ++position) {
      if (position % chunk_size == 0) in = in->next;
      const command_kind kind = in->commands[position % chunk_size].kind;
      is_run = is_run && !is_wait(kind) && !begins_run(kind);
    }
    TIDEMARK_ASSERT(is_run, "an unbroken run has a wait, or another unbroken run, within it");
    if (is_run) begins.value.store(recorded_ - of.position - 1);
    return is_run;
  }

  // ---- the executor ----

  /// Returns the next command that is to be executed; null if there is none.
  command* front() noexcept {
    if (taken_ == seen_) {
      see_published();
      if (taken_ == seen_) return nullptr;
    }
    if (taken_ == head_end_) {
      give_back();
      left_ = std::exchange(head_, head_ != nullptr ? head_->next : first_);
      head_end_ += chunk_size;
    }
    return &head_->commands[taken_ % chunk_size];
  }
  /// The first command is executed. It must have been dropped.
  void pop() noexcept { ++taken_; }
  /// Gives the chunk back that it has left. The next front() that leaves one does so, too; whoever is about to wait has
  /// the time.
  void give_back() noexcept {
    chunk* const given = std::exchange(left_, nullptr);
    if (given == nullptr) return;
    // (QE13): relaxed alone: an executor has put it there.
    given->next = spares_.load(std::memory_order_relaxed);
    if (given->next == nullptr) given_back_ = 0;
    if (given_back_ == most_spares) {
      delete given;
      return;
    }
    ++given_back_;
    // (QE5): release, pairs with (QE6). Not stronger: nobody has used the other spare chunks since an executor gave
    // them back. A failure is relaxed: the submitter has taken them all.
    while (!spares_.compare_exchange_strong(given->next, given, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
  std::uint64_t taken() const noexcept { return taken_; }

  /// Calls `act` with each command that is to be executed, in order.
  template <class Act>
  void for_each(const Act& act) {
    see_published();  // also what was published since a wait that comes first was found
    if (front() == nullptr) return;
    chunk* at = head_;
    for (std::uint64_t position = taken_; position != seen_; ++position) {
      if (position != taken_ && position % chunk_size == 0) at = at->next;
      act(at->commands[position % chunk_size]);
    }
  }

 private:
  static constexpr std::size_t chunk_size = [] {
    if constexpr (requires { Platform::spin_looks(); }) {
      return std::size_t{2};  // under a model checker
    } else {
      return std::size_t{4};
    }
  }();
  static constexpr std::size_t most_spares = [] {
    if constexpr (requires { Platform::spin_looks(); }) {
      return std::size_t{2};  // under a model checker
    } else {
      return std::size_t{16};
    }
  }();
  struct chunk {
    std::array<command, chunk_size> commands;
    chunk* next = nullptr;
  };

  /// Returns the chunk behind the last command, if that has filled its own.
  [[gnu::noinline]] chunk* chunk_behind() {
    chunk*& link = last_ != nullptr ? last_->next : first_;
    if (link == nullptr) link = take_spare();
    return link;
  }
  void see_published() noexcept {
    // (QE2): acquire, pairs with (QE1). Not stronger, like (QE1).
    seen_ = published_.load(std::memory_order_acquire);
  }
  chunk* take_spare() {
    // (QE6): acquire, pairs with (QE5): the executor has left the chunks. Not stronger: no other word is involved.
    if (own_spares_ == nullptr) own_spares_ = spares_.exchange(nullptr, std::memory_order_acquire);
    if (own_spares_ == nullptr) return new chunk;
    chunk* const taken = own_spares_;
    own_spares_ = std::exchange(taken->next, nullptr);
    return taken;
  }
  static void delete_all(chunk* rest) noexcept {
    while (rest != nullptr) delete std::exchange(rest, rest->next);
  }
  /// \param at  the chunk of the first of them
  static void drop_between(std::uint64_t from, std::uint64_t to, chunk* at) noexcept {
    for (std::uint64_t position = from; position != to; ++position) {
      if (position != from && position % chunk_size == 0) at = at->next;
      at->commands[position % chunk_size].drop();
    }
  }

  // The submitter's.
  chunk* first_ = nullptr;           // which the executor reads once something is published
  chunk* last_ = nullptr;            // of the last command that was recorded
  chunk* next_chunk_ = nullptr;      // of the next one
  chunk* last_published_ = nullptr;  // of the last command that was published
  std::uint64_t recorded_ = 0;
  std::uint64_t discards_ = 0;  // how often commands were discarded
  std::uint64_t published_own_ = 0;
  chunk* own_spares_ = nullptr;  // which it has taken
  bool is_busy_ = false;         // with code of the user

  typename Platform::template atomic<std::uint64_t> published_{0};
  typename Platform::template atomic<chunk*> spares_{nullptr};

  // The executor's.
  chunk* head_ = nullptr;
  chunk* left_ = nullptr;
  std::uint64_t head_end_ = 0;  // the position behind the last command of that chunk
  std::uint64_t taken_ = 0;
  std::uint64_t seen_ = 0;
  std::size_t given_back_ = 0;  // chunks, since it found that the submitter had taken the others
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_ENGINE_DETAIL_COMMAND_LIST_HPP
