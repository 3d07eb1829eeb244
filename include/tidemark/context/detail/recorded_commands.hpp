// SPDX-License-Identifier: BSL-1.0
//
// recorded_commands: the commands of a list, in the order in which they were recorded, in memory of a source.
//
//   chunk   | header | command | command | ...        linked; each is twice as large as the one before, up to 64 KiB
//
// What they do with renamed resources stands between them (recorded_renames).
//
// One thread at a time uses a list. If another one takes over, the hand-over itself synchronizes.
#ifndef TIDEMARK_CONTEXT_DETAIL_RECORDED_COMMANDS_HPP
#define TIDEMARK_CONTEXT_DETAIL_RECORDED_COMMANDS_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "../../fence/wait.hpp"
#include "../../log/ids.hpp"
#include "../../memory/backing_source.hpp"
#include "../../platform/platform.hpp"
#include "../../queue/cancelled_command.hpp"
#include "../../queue/notifier.hpp"
#include "block_pool.hpp"

namespace tidemark::detail {

// recorded_renames: what a list does with renamed resources, in the order in which it was recorded. Each use lies in
// the list's own memory.
//
//   use    backing of its own?   reads what is current?
//          yes                   no                        a discard
//          no                    yes                       a binding
//          yes                   yes                       a copy: from what is current to its own
//
// Adoption goes through the uses in this order, so that each finds as current what it would find if its resource had
// been renamed there and then. renamed_resource.hpp says what that means for the backings.

/// What a list does with one resource. Of which type that is, `calls` knows.
template <platform Platform>
struct recorded_use {
  struct call_table {
    void (*adopt)(recorded_use&, std::uint64_t serial) noexcept;
    void (*give_back)(recorded_use&) noexcept;
    void (*destroy)(recorded_use&) noexcept;
  };
  recorded_use(const call_table& its, const void* of) noexcept : calls{&its}, resource{of} {}

  const call_table* const calls;
  const void* const resource;
  recorded_use* older = nullptr;
  typename Platform::template var<recorded_use*> newer{nullptr};
};

template <platform Platform, class Resource>
struct recorded_use_of : recorded_use<Platform> {
  using base = recorded_use<Platform>;
  using taken = typename Resource::taken;
  using cell = typename Platform::template var<typename Resource::backing>;

  /// \param made   a backing of the recording's own, or none
  /// \param reads  whether the list reads what is current
  recorded_use_of(Resource& with, const taken& made, bool reads) noexcept
      : base{calls_of_use, &with}, of{with}, own{made}, reads_current{reads}, memory{made.memory} {}

  bool is_own() const noexcept { return static_cast<bool>(own); }

  static void adopt(base& use, std::uint64_t serial) noexcept {
    auto& self = static_cast<recorded_use_of&>(use);
    if (self.reads_current) {
      const auto now = self.of.current();
      (self.is_own() ? self.before : self.memory).store(now);
      self.of.used_until(serial);
    }
    if (self.is_own()) self.of.adopt(self.own, serial);
  }
  static void give_back(base& use) noexcept {
    auto& self = static_cast<recorded_use_of&>(use);
    if (self.is_own()) static_cast<void>(self.of.give_back(self.own));
  }
  static constexpr typename base::call_table calls_of_use{
      adopt, give_back, [](base& use) noexcept { std::destroy_at(static_cast<recorded_use_of*>(&use)); }};

  Resource& of;
  const taken own;
  const bool reads_current;
  cell memory;                                // what commands use
  cell before{typename Resource::backing{}};  // of a copy: what was current
};

/// The uses of a list. They must be destroyed by clear() before their memory is given back.
template <platform Platform>
class recorded_renames {
 public:
  using use = recorded_use<Platform>;

  recorded_renames() = default;
  recorded_renames(const recorded_renames&) = delete;
  recorded_renames& operator=(const recorded_renames&) = delete;

  /// Returns whether adopt() must be called before the list is executed.
  bool needs_adoption() const noexcept { return newest_ != nullptr && !is_adopted_; }
  bool is_adopted() const noexcept { return is_adopted_; }

  void add(use& added) noexcept {
    added.older = newest_;
    (newest_ == nullptr ? oldest_ : newest_->newer).store(&added);
    newest_ = &added;
  }
  /// Returns the newest use of a resource; null if there is none. O(n) in the number of newer uses of others.
  template <class Resource>
  recorded_use_of<Platform, Resource>* find(const Resource& of) const noexcept {
    use* found = newest_;
    while (found != nullptr && found->resource != &of) found = found->older;
    return static_cast<recorded_use_of<Platform, Resource>*>(found);
  }

  /// The thread that submits calls it.
  void adopt(std::uint64_t serial) noexcept {
    is_adopted_ = true;
    for_each([serial](use& one) { one.calls->adopt(one, serial); });
  }

  /// Destroys all uses. Those that were not adopted give their backings back.
  void clear() noexcept {
    const bool gives_back = !std::exchange(is_adopted_, false);
    for_each([gives_back](use& one) {
      if (gives_back) one.calls->give_back(one);
      one.calls->destroy(one);
    });
    oldest_.store(nullptr);
    newest_ = nullptr;
  }

  void swap(recorded_renames& other) noexcept {
    use* const own = oldest_.load();
    use* const others = other.oldest_.load();
    oldest_.store(others);
    other.oldest_.store(own);
    std::swap(newest_, other.newest_);
    std::swap(is_adopted_, other.is_adopted_);
  }

 private:
  template <class Visit>
  void for_each(const Visit& visit) noexcept {
    for (use* one = oldest_.load(); one != nullptr;) {
      use* const next = one->newer.load();
      visit(*one);
      one = next;
    }
  }

  typename Platform::template var<use*> oldest_{nullptr};
  use* newest_ = nullptr;
  bool is_adopted_ = false;
};

/// A queue that does not execute a command at once, but records it: that of an engine.
template <class Queue>
concept recording_queue = requires(Queue& queue, void (*work)()) {
  queue.run(work);
  queue.discard();
};

/// One command. What it does, `calls` knows.
template <platform Platform, class Queue>
struct recorded_command {
  struct call_table {
    /// Executes it, or has it recorded by a queue that records. Returns another status than `reached` for a wait only.
    wait_status (*execute)(recorded_command&, Queue&);
    /// Tells a queue that does not record that it will never be executed.
    void (*cancel)(recorded_command&, Queue&) noexcept;
    void (*drop)(recorded_command&) noexcept;
  };
  explicit recorded_command(const call_table& its) noexcept : calls{&its} {}

  typename Platform::template var<const call_table*> calls;
  typename Platform::template var<recorded_command*> next{nullptr};
};

/// Tells a command of work that its argument makes the work when it is called, in place.
struct made_in_place {};

/// A call of `work()`.
template <platform Platform, class Queue, class Work>
struct recorded_work : recorded_command<Platform, Queue> {
  using base = recorded_command<Platform, Queue>;

  template <class Made>
    requires(!std::same_as<std::decay_t<Made>, recorded_work>)
  explicit recorded_work(Made&& made) : base{calls_of_work}, work(std::forward<Made>(made)) {}
  template <class Make>
  recorded_work(made_in_place, const Make& make) : base{calls_of_work}, work(make()) {}

  static wait_status execute(base& of, Queue& queue) {
    auto& own = static_cast<recorded_work&>(of);
    if constexpr (recording_queue<Queue>) {
      queue.run([&own] { own.work(); });
    } else {
      own.work();
    }
    return wait_status::reached;
  }
  static constexpr typename base::call_table calls_of_work{
      execute, [](base&, Queue&) noexcept {},
      [](base& of) noexcept { std::destroy_at(static_cast<recorded_work*>(&of)); }};

  Work work;
};

/// A wait for a value of a timeline, or the signal of one. A wait keeps a copy of a timeline that is copyable (a view).
template <platform Platform, class Queue, class Fence, queue_operation Operation>
struct recorded_access : recorded_command<Platform, Queue> {
  using base = recorded_command<Platform, Queue>;
  static constexpr bool is_copied = Operation == queue_operation::wait && std::copyable<std::remove_const_t<Fence>>;

  recorded_access(const logged_fence<Fence>& accessed, std::uint64_t with) noexcept
      : base{calls_of_access}, kept{keep(*accessed.fence)}, id{accessed.id}, value{with} {}

  static auto keep(Fence& accessed) noexcept {
    if constexpr (is_copied) {
      return accessed;
    } else {
      return &accessed;
    }
  }
  logged_fence<Fence> fence() noexcept {
    if constexpr (is_copied) {
      return {&kept, id};
    } else {
      return {kept, id};
    }
  }

  static wait_status execute(base& of, Queue& queue) {
    auto& own = static_cast<recorded_access&>(of);
    if constexpr (Operation == queue_operation::signal) {
      static_cast<void>(queue.signal(own.fence(), own.value));
    } else if constexpr (recording_queue<Queue>) {
      queue.wait(own.fence(), own.value);
    } else {
      return queue.wait(own.fence(), own.value);
    }
    return wait_status::reached;
  }
  static void cancel([[maybe_unused]] base& of, [[maybe_unused]] Queue& queue) noexcept {
    if constexpr (!recording_queue<Queue>) {
      const auto& own = static_cast<const recorded_access&>(of);
      queue.cancel({Operation, own.id, own.value});
    }
  }
  static constexpr typename base::call_table calls_of_access{
      execute, cancel, [](base& of) noexcept { std::destroy_at(static_cast<recorded_access*>(&of)); }};

  std::conditional_t<is_copied, std::remove_const_t<Fence>, Fence*> kept;
  const fence_id id;
  const std::uint64_t value;
};

template <platform Platform, class Queue, block_source Source>
  requires std::copyable<Source>
class recorded_commands {
 public:
  using command = recorded_command<Platform, Queue>;
  using call_table = typename command::call_table;

  explicit recorded_commands(const Source& source) noexcept : source_{source} {}
  recorded_commands(recorded_commands&& other) noexcept : recorded_commands{other.source_} { swap(other); }
  /// Drops what this list had.
  recorded_commands& operator=(recorded_commands&& other) noexcept {
    if (this == &other) return *this;
    clear();
    swap(other);
    return *this;
  }
  ~recorded_commands() { clear(); }

  std::size_t size() const noexcept { return size_; }
  const Source& source() const noexcept { return source_; }

  /// Adds a command. Returns false, and changes nothing, if there is no memory for it. Throws what its constructor
  /// throws, and then there is no such command.
  template <std::derived_from<command> Command, class... Arguments>
  bool add(Arguments&&... arguments) {
    command* const made = place<Command>(std::forward<Arguments>(arguments)...);
    if (made == nullptr) return false;
    (last_ == nullptr ? first_ : last_->next).store(made);
    last_ = made;
    ++size_;
    return true;
  }

  /// Adds a use of a renamed resource. Returns null, and changes nothing, if there is no memory for it.
  template <class Resource, class... Arguments>
  recorded_use_of<Platform, Resource>* add_use(Resource& of, const Arguments&... arguments) noexcept {
    auto* const made = place<recorded_use_of<Platform, Resource>>(of, arguments...);
    if (made != nullptr) renames_.add(*made);
    return made;
  }
  recorded_renames<Platform>& renames() noexcept { return renames_; }

  /// Executes the commands in their order, up to a wait that does not end with `reached`, and drops those that it has
  /// executed. Returns `reached`, or the status of that wait, which stays in the list with all that follow. Gives the
  /// memory back once no command is left.
  wait_status execute(Queue& queue) noexcept {
    while (command* const one = first_.load()) {
      const wait_status status = one->calls.load()->execute(*one, queue);
      if (status != wait_status::reached) return status;
      drop_first();
    }
    clear();
    return wait_status::reached;
  }
  /// Tells a queue that none of the commands will be executed, and drops them.
  void cancel(Queue& queue) noexcept {
    for_each([&](command& one, const call_table& calls) { calls.cancel(one, queue); });
    clear();
  }
  /// Has a queue record all commands, and keeps them.
  void record_on(Queue& queue) {
    for_each([&](command& one, const call_table& calls) { static_cast<void>(calls.execute(one, queue)); });
  }

  /// Drops all commands, and gives all memory back.
  void clear() noexcept {
    while (first_.load() != nullptr) drop_first();
    renames_.clear();
    next_ = nullptr;
    left_ = 0;
    while (chunk* const gone = chunks_.load()) {
      chunks_.store(gone->below);
      const std::size_t bytes = gone->bytes;
      std::destroy_at(gone);
      source_.destroy(reinterpret_cast<std::byte*>(gone), {.bytes = bytes, .alignment = cache_line});
    }
  }

 private:
  /// Makes an object in the memory of the list. Returns null if there is none. Throws what its constructor throws.
  template <class Object, class... Arguments>
  Object* place(Arguments&&... arguments) {
    static_assert(alignof(Object) <= cache_line, "what a command keeps is aligned to a cache line at most");
    void* at = next_;
    if (std::align(alignof(Object), sizeof(Object), at, left_) == nullptr) {
      if (!grow(sizeof(Object))) return nullptr;
      at = next_;
      std::align(alignof(Object), sizeof(Object), at, left_);
    }
    Object* const made = ::new (at) Object(std::forward<Arguments>(arguments)...);
    next_ = static_cast<std::byte*>(at) + sizeof(Object);
    left_ -= sizeof(Object);
    return made;
  }

  struct chunk {
    chunk* below;
    std::size_t bytes;
  };
  static_assert(sizeof(chunk) <= cache_line);
  static constexpr std::size_t least_bytes = 1024;  // of a chunk
  static constexpr std::size_t most_bytes = std::size_t{64} * 1024;

  bool grow(std::size_t needed) noexcept {
    chunk* const below = chunks_.load();
    const std::size_t usual = below == nullptr ? least_bytes : (std::min)(2 * below->bytes, most_bytes);
    const std::size_t bytes = (std::max)(usual, needed + cache_line);
    std::byte* const memory = source_.create({.bytes = bytes, .alignment = cache_line});
    if (memory == nullptr) return false;
    chunks_.store(::new (static_cast<void*>(memory)) chunk{below, bytes});
    next_ = memory + cache_line;
    left_ = bytes - cache_line;
    return true;
  }

  template <class Visit>
  void for_each(const Visit& visit) {
    command* one = first_.load();
    while (one != nullptr) {
      visit(*one, *one->calls.load());
      one = one->next.load();
    }
  }

  void drop_first() noexcept {
    command* const gone = first_.load();
    command* const next = gone->next.load();
    first_.store(next);
    gone->calls.load()->drop(*gone);
    if (--size_ == 0) last_ = nullptr;
  }

  void swap(recorded_commands& other) noexcept {
    std::swap(source_, other.source_);
    std::swap(next_, other.next_);
    std::swap(left_, other.left_);
    std::swap(size_, other.size_);
    std::swap(last_, other.last_);
    exchange(first_, other.first_);
    exchange(chunks_, other.chunks_);
    renames_.swap(other.renames_);
  }
  static void exchange(auto& one, auto& other) noexcept {
    const auto first = one.load();
    const auto second = other.load();
    one.store(second);
    other.store(first);
  }

  [[no_unique_address]] Source source_;
  std::byte* next_ = nullptr;  // in the newest chunk
  std::size_t left_ = 0;       // bytes there
  std::size_t size_ = 0;
  command* last_ = nullptr;
  typename Platform::template var<command*> first_{nullptr};
  typename Platform::template var<chunk*> chunks_{nullptr};
  recorded_renames<Platform> renames_;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_CONTEXT_DETAIL_RECORDED_COMMANDS_HPP
