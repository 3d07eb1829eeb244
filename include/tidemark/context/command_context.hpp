// SPDX-License-Identifier: BSL-1.0
//
// command_context: records commands in a context of a storage, for one thread, and hands them out as a list. What fails
// is told to an error sink that is the context's own.
//
//   auto opened = storage->open();
//   tidemark::command_context<storage_type, tidemark::queue, my_sink> recording{*storage, std::move(opened.context),
//                                                                               my_sink{window}};
//   recording.begin_recording();
//   if (auto used = recording.use(view.object)) used.as<view_state>().is_bound = true;
//   recording.wait(uploaded, 3);
//   recording.run([] { draw(); });
//   recording.signal(drawn, 4);
//   auto finished = recording.finish();                        ended: finished.list; no_memory; lost
//
// A recording may also write resources anew for itself, with map(), bind() and bind_for_copy(). What it has written
// becomes current when its list is adopted: renamed_resource.hpp.
//
// A list grows with each call, so each call may find that there is no memory. Each call may also find that the device
// is lost ("removed"): the context may follow a timeline that is lost together with the device; a renamed resource has
// a timeline; and a maker may say so. Then the recording is removed, and nothing else:
//
//   recording --- no memory, lost ---> removed --- finish() ---> idle        begin_recording() begins a clean one
//                 the list is freed at once; the sink is called; the storage's recording ends
//                                      further calls do nothing
//                                                  returns `no_memory` or `lost`, once: what came first
//
// A context that follows the timeline `device`:
//
//   tidemark::command_context<storage_type, tidemark::queue, my_sink, tidemark::heap_source, tidemark::fence_view>
//       recording{device.view(), *storage, std::move(opened.context), my_sink{window}};
//
// PRECONDITION. What storage.hpp says of objects holds here, too. Beyond that, the commands of a list must use no block
// of the context: the context may record again while the list is executed, so a command copies what it needs. If a
// command uses the object itself, the list counts as a user of it, from the time when the command is recorded until the
// list ends. Neither the storage nor a queue knows of a list that is finished and not yet submitted. So retire the
// object only after the list is submitted, and by a retire queue that also follows the queue which executes the list.
//
// Not promised: that a block is as new when a recording begins. Blocks stay when a recording ends or is removed;
// reset() gives them back.
#ifndef TIDEMARK_CONTEXT_COMMAND_CONTEXT_HPP
#define TIDEMARK_CONTEXT_COMMAND_CONTEXT_HPP

#include <bit>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "../fence/timeline.hpp"
#include "../fence/wait.hpp"
#include "../memory/backing_source.hpp"
#include "../memory/map_mode.hpp"
#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "../queue/cancelled_command.hpp"
#include "../queue/notifier.hpp"
#include "block_maker.hpp"
#include "bound_backing.hpp"
#include "detail/recorded_commands.hpp"
#include "recorded_list.hpp"
#include "storage.hpp"

namespace tidemark {

/// What an error sink receives.
enum class context_error : std::uint8_t {
  no_memory,  ///< In a recording: it is removed. In create(): there is no such object.
  no_space,   ///< From create(): there are as many objects as the storage may have.
  stale,      ///< An object was used that is destroyed. The recording goes on.
  invalid,    ///< From create(): the dependencies are wrong.
  refused,    ///< From create(): the size that the maker tells for deferred blocks is none that it listed for the kind.
  lost,       ///< The device is lost. In a recording: it is removed. In create(): there is no such object.
};

template <>
inline constexpr auto detail::names_of<context_error> =
    detail::names("no_memory", "no_space", "stale", "invalid", "refused", "lost");

/// What errors of a context are told to: `sink(context, error)`, with the context's number. Only the thread of the
/// context calls it, after the context has done everything else that the error causes. It may call functions of the
/// context: abandon the recording, and begin another one. While the maker creates a block for the context, the sink is
/// told of no error but `stale`, and the recording can't end. It must neither throw nor destroy the context.
template <class Sink>
concept error_sink = std::move_constructible<Sink> && requires(Sink& sink, context_id context, context_error error) {
  { sink(context, error) } noexcept;
};

/// How a recording ended.
enum class finish_status : std::uint8_t {
  ended,      ///< There is a list.
  no_memory,  ///< The recording was removed, because there was no memory. There is no list.
  lost,       ///< The recording was removed, because the device is lost. There is no list.
  invalid,    ///< There was no recording, or it can't end now, for example in the maker's create(): an assertion fails.
};

template <>
inline constexpr auto detail::names_of<finish_status> = detail::names("ended", "no_memory", "lost", "invalid");

namespace detail {

/// Stands for the device of a context that follows none.
struct no_device {};

/// What a context follows as its device.
template <class Device>
struct followed_device : follower<Device> {
  using follower<Device>::follower;
};
template <>
struct followed_device<no_device> {
  static constexpr bool is_lost() noexcept { return false; }
};

}  // namespace detail

/// One context that records commands; see the head of this file. For one thread at a time. Another thread may take over
/// if the hand-over itself synchronizes. It can be neither copied nor moved. The storage must outlive it. While the
/// context makes or drops a command, the command's constructors, its destructor and the source may call no functions of
/// the context but id(), is_open(), is_recording() and was_removed(). The same holds for the maker while it destroys
/// the context's blocks. Asserts that. Otherwise the call does nothing.
/// \tparam Storage  a context_storage
/// \tparam Queue    what the lists are executed on: a queue of the program's own, or one of an engine
/// \tparam Sink     receives the errors of this context, and of no other one
/// \tparam Source   where the memory of lists comes from. Lists have copies of it; several threads call them at once
/// \tparam Device   a timeline that is lost together with the device for which the context records: each call looks at
///                  it. By default the context follows none
template <class Storage, class Queue, error_sink Sink, detail::block_source Source = heap_source,
          class Device = detail::no_device>
  requires(timeline<Device> || std::same_as<Device, detail::no_device>)
class alignas(cache_line) command_context {
  static constexpr bool follows_device = !std::same_as<Device, detail::no_device>;

 public:
  using platform = typename Storage::recordings_type::platform;
  using storage_context = typename Storage::context;
  using list_type = recorded_list<platform, Queue, Source>;
  template <class Resource>
  using bound_backing_of = bound_backing<platform, typename Resource::backing>;
  template <class Resource>
  using bound_copy_of = bound_copy<platform, typename Resource::backing>;

  /// The result of finish().
  struct [[nodiscard]] finish_result {
    finish_status status;
    list_type list;  ///< Empty unless the status is `ended`.

    explicit operator bool() const noexcept { return status == finish_status::ended; }
  };

  /// A context that was opened for this one alone.
  command_context(Storage& storage, storage_context&& opened, Sink sink, const Source& source = {}) noexcept
    requires(!follows_device)
      : storage_{&storage}, own_{std::move(opened)}, sink_{std::move(sink)}, commands_{source} {}
  /// The immediate context, in which objects are created. Nothing else may record in it. Objects whose maker's create()
  /// calls this context must be created with the create() below.
  command_context(Storage& storage, Sink sink, const Source& source = {}) noexcept
    requires(!follows_device)
      : storage_{&storage}, is_immediate_{true}, sink_{std::move(sink)}, commands_{source} {}
  /// Both, for a device. Recordings are removed once it is lost.
  /// \param device  is copied if it is copyable (a view); otherwise it must outlive the context
  command_context(const Device& device, Storage& storage, storage_context&& opened, Sink sink,
                  const Source& source = {}) noexcept
    requires(follows_device)
      : device_{device}, storage_{&storage}, own_{std::move(opened)}, sink_{std::move(sink)}, commands_{source} {}
  command_context(const Device& device, Storage& storage, Sink sink, const Source& source = {}) noexcept
    requires(follows_device)
      : device_{device}, storage_{&storage}, is_immediate_{true}, sink_{std::move(sink)}, commands_{source} {}
  /// A device that can't be copied would be gone.
  command_context(const Device&& gone, Storage& storage, storage_context&& opened, Sink sink, const Source& source = {})
    requires(follows_device && !std::copyable<Device>)
  = delete;
  command_context(const Device&& gone, Storage& storage, Sink sink, const Source& source = {})
    requires(follows_device && !std::copyable<Device>)
  = delete;
  command_context(const command_context&) = delete;
  command_context& operator=(const command_context&) = delete;
  /// Abandons a recording that is open, and closes a deferred context.
  ~command_context() {
    abandon();
    close();
  }

  /// Returns the number by which the sink knows the context. While the context is not open it has none, and this
  /// returns 0, which is otherwise the number of the immediate context.
  [[nodiscard]] context_id id() const noexcept { return is_immediate_ ? immediate_context : own_.id(); }
  /// Returns whether it can record: false after a reset() that was refused.
  [[nodiscard]] bool is_open() const noexcept { return is_immediate_ || own_.is_open(); }

  // ---- objects: the immediate context -------------------------------------------------------------------------------

  /// Creates an object, as Storage::create() does, whether it records or not. Returns its id. An error goes to the
  /// sink, and then the id names no object. Once the device is lost, it creates nothing. The maker may call this
  /// context meanwhile. The sink is told of `stale` at once. Of what else failed meanwhile it is told only when the
  /// maker has returned: first that the recording is removed, then of the errors of objects, each kind of error once,
  /// however often it occurred. Asserts that this is the immediate context.
  object_id create(typename Storage::kind of, const typename Storage::description& given,
                   std::span<const object_id> dependencies = {}) noexcept {
    if (!is_free()) return {};
    TIDEMARK_ASSERT(is_immediate_, "objects are created in the immediate context");
    if (!is_immediate_) return {};
    const object_create_result made = device_.is_lost() ? object_create_result{object_create_status::lost}
                                                        : storage_->create(of, given, dependencies);
    if (context().is_creating()) {
      if (!made) untold_ |= 1u << static_cast<unsigned>(error_of(made.status));
      return made.object;
    }
    tell_errors_in_create();
    if (!made) sink_(immediate_context, error_of(made.status));
    return made.object;
  }
  object_id create(typename Storage::kind of, const typename Storage::description& given,
                   std::initializer_list<object_id> dependencies) noexcept {
    return create(of, given, std::span<const object_id>{dependencies.begin(), dependencies.size()});
  }

  // ---- recording ----------------------------------------------------------------------------------------------------

  /// Begins a recording, without commands. Asserts that none is open, and that the context is. Progress: wait-free.
  void begin_recording() noexcept {
    if (!is_free()) return;
    TIDEMARK_ASSERT(state_ == state::idle, "a context began to record twice");
    TIDEMARK_ASSERT(is_open(), "a context began to record that is closed");
    if (state_ != state::idle || !is_open()) return;
    context().begin_recording();
    state_ = state::recording;
  }
  /// Returns whether begin_recording() was called and not yet finish() or abandon(): true of a recording that was
  /// removed, too. It also returns true while finish(), reset() or the destructor is under way.
  [[nodiscard]] bool is_recording() const noexcept { return state_ != state::idle; }
  /// Returns whether the recording was removed, so that finish() will return `no_memory` or `lost`.
  [[nodiscard]] bool was_removed() const noexcept { return state_ == state::removed; }

  // All functions up to finish() assert that a recording is open. If the device is lost, they remove the recording. In
  // one that was removed they do nothing, except for finish(). Progress: wait-free but for the source, for what is
  // copied, and for the look whether the device is lost: at a fence it is one load, of a word that signals do not
  // write; at another timeline it is its current_value().

  /// Returns the context's block of an object, as the use() of the storage's context does. If there is no memory for
  /// it, or the device is lost, the recording is removed, and that is also what it returns from then on: `no_memory` or
  /// `lost`. If the maker's create() records in this context and that removes the recording, the sink is called when
  /// create() has returned.
  block_use_result use(object_id object) noexcept {
    if (const refusal why = refused(); why != refusal::none) return {use_status_of(why)};
    const block_use_result used = context().use(object);
    if (!used || state_ == state::removed) [[unlikely]]
      return failed_use(used.status);
    return used;
  }

  /// Records a call of `work(arguments...)`, which are copied or moved into the list. It must not throw. On a queue of
  /// an engine it should not block. Throws what copying throws, and then nothing is recorded.
  template <class Work, class... Arguments>
    requires std::invocable<std::decay_t<Work>&, std::decay_t<Arguments>&...>
  void run(Work&& work, Arguments&&... arguments) {
    if (!can_record()) return;
    if constexpr (sizeof...(Arguments) == 0) {
      keep_work(std::forward<Work>(work));
    } else {
      keep_made([&] {
        return [call = std::decay_t<Work>(std::forward<Work>(work)),
                with = std::tuple<std::decay_t<Arguments>...>(std::forward<Arguments>(arguments)...)]() mutable {
          std::apply(call, with);
        };
      });
    }
  }

  /// Records a wait for a value, for the queue's wait(). The timeline must outlive the list, unless it is copyable (a
  /// view) and so is copied.
  template <class Timeline>
    requires requires(Queue& queue, const logged_fence<Timeline>& input) { queue.wait(input, 1); }
  void wait(const logged_fence<Timeline>& input, std::uint64_t value) noexcept {
    if (can_record()) keep<detail::recorded_access<platform, Queue, Timeline, queue_operation::wait>>(input, value);
  }
  template <class Timeline>
    requires requires(Queue& queue, const logged_fence<const Timeline>& input) { queue.wait(input, 1); }
  void wait(const Timeline& input, std::uint64_t value) noexcept {
    wait(logged_fence<const Timeline>{&input, fence_id{}}, value);
  }
  /// A timeline that can't be copied would be gone before the list is executed.
  template <class Timeline>
    requires(!std::copyable<Timeline>)
  void wait(const Timeline&& gone, std::uint64_t value) = delete;

  /// Records a signal, for the queue's signal(). The timeline must outlive it.
  template <class Fence>
    requires requires(Queue& queue, const logged_fence<Fence>& output) { queue.signal(output, 1); }
  void signal(const logged_fence<Fence>& output, std::uint64_t value) noexcept {
    if (can_record()) keep<detail::recorded_access<platform, Queue, Fence, queue_operation::signal>>(output, value);
  }
  template <class Fence>
    requires requires(Queue& queue, const logged_fence<Fence>& output) { queue.signal(output, 1); }
  void signal(Fence& output, std::uint64_t value) noexcept {
    signal(logged_fence<Fence>{&output, fence_id{}}, value);
  }

  // ---- renamed resources: see renamed_resource.hpp ------------------------------------------------------------------

  /// Maps a resource for this recording, if that is possible now. A discard takes a backing, which from then on only
  /// this recording has. no_overwrite returns the backing that the recording took last. Other modes are `invalid`, and
  /// so is no_overwrite before the recording has a backing of its own. If a discard finds no backing, it returns the
  /// status of renamed_resource::try_take(). If there is no memory for the list, or the resource's timeline is lost,
  /// the recording is removed, and that is also what it returns from then on: `no_memory` or `lost`. Progress: a
  /// discard as try_take(); no_overwrite O(n) in the number of discards, copies and bindings of other resources in this
  /// recording.
  /// \tparam Resource  a renamed_resource
  template <class Resource>
  typename Resource::mapping try_map(Resource& of, map_mode mode) noexcept {
    return map_own(of, mode, [&] { return of.try_take(); });
  }
  /// The same, and blocks while there is no backing, as renamed_resource::take() does. Other recordings may hold all
  /// backings until their lists are adopted: if the calling thread is the one that adopts them, use another form.
  template <class Resource, stop_token_like Token = never_stops>
  typename Resource::mapping map(Resource& of, map_mode mode, Token token = {}) noexcept {
    return map_own(of, mode, [&] { return of.take(std::move(token)); });
  }
  /// The same for `timeout` at most, and then returns `timeout`.
  template <class Resource, class Rep, class Period, stop_token_like Token = never_stops>
  typename Resource::mapping map_for(Resource& of, map_mode mode, const std::chrono::duration<Rep, Period>& timeout,
                                     Token token = {}) noexcept {
    return map_own(of, mode, [&] { return of.take_for(timeout, std::move(token)); });
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Resource, class Clock, class Duration, stop_token_like Token = never_stops>
  typename Resource::mapping map_until(Resource& of, map_mode mode, const std::chrono::time_point<Clock, Duration>& at,
                                       Token token = {}) noexcept {
    return map_own(of, mode, [&] { return of.take_until(at, std::move(token)); });
  }

  /// Returns where commands that are recorded from now on find the resource: the recording's last backing, or, if it
  /// has none, the one that is current when the list is adopted. If there is no memory for the list, or the resource's
  /// timeline is lost, the recording is removed. Progress: as no_overwrite in try_map().
  template <class Resource>
  bound_backing_of<Resource> bind(Resource& of) noexcept {
    if (refused_for(of) != refusal::none) return {};
    auto* used = commands_.renames().find(of);
    if (used == nullptr) used = keep_use(of, typename Resource::taken{}, true);
    return used != nullptr ? bound_backing_of<Resource>{used->memory} : bound_backing_of<Resource>{};
  }

  /// As bind(), for commands that write a part of the resource: the recording gets a backing of its own. If it had
  /// none, a call of `copy(to, from)` is recorded first, with both backings. `from` is what is current when the list is
  /// adopted; if there is none, it converts to false. Returns where commands find it, or a status as try_map() does.
  /// \param copy  must not throw, nor may moving it
  template <class Resource, class Copy>
  bound_copy_of<Resource> try_bind_for_copy(Resource& of, Copy copy) noexcept {
    return bind_own(of, copy, [&] { return of.try_take(); });
  }
  /// The same, and blocks as map() does.
  template <class Resource, class Copy, stop_token_like Token = never_stops>
  bound_copy_of<Resource> bind_for_copy(Resource& of, Copy copy, Token token = {}) noexcept {
    return bind_own(of, copy, [&] { return of.take(std::move(token)); });
  }
  /// The same for `timeout` at most, and then returns `timeout`.
  template <class Resource, class Copy, class Rep, class Period, stop_token_like Token = never_stops>
  bound_copy_of<Resource> bind_for_copy_for(Resource& of, Copy copy, const std::chrono::duration<Rep, Period>& timeout,
                                            Token token = {}) noexcept {
    return bind_own(of, copy, [&] { return of.take_for(timeout, std::move(token)); });
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Resource, class Copy, class Clock, class Duration, stop_token_like Token = never_stops>
  bound_copy_of<Resource> bind_for_copy_until(Resource& of, Copy copy,
                                              const std::chrono::time_point<Clock, Duration>& at,
                                              Token token = {}) noexcept {
    return bind_own(of, copy, [&] { return of.take_until(at, std::move(token)); });
  }

  // ---- the end of a recording ---------------------------------------------------------------------------------------

  /// Ends the recording. Returns the list; or `no_memory` or `lost` if the recording was removed, by what came first.
  /// If the device is lost, and no call has met that yet, it tells the sink, and returns `lost`. The context can record
  /// again. Progress: as end_recording() of the storage's context.
  finish_result finish() noexcept {
    if (!can_end()) return {finish_status::invalid, no_list()};
    TIDEMARK_ASSERT(is_recording(), "a context finished a recording that it had not begun");
    if (state_ == state::recording && device_.is_lost()) [[unlikely]] {
      remove(context_error::lost, state::idle);
      return {finish_status::lost, no_list()};  // the sink may have begun another recording
    }
    const state before = std::exchange(state_, state::idle);
    if (holds_recording(before)) context().end_recording();
    const detail::busy_scope handing_out{state_, state::busy};
    const finish_status status = before == state::recording            ? finish_status::ended
                                 : before != state::removed            ? finish_status::invalid
                                 : why_removed_ == context_error::lost ? finish_status::lost
                                                                       : finish_status::no_memory;
    return {status, list_type{std::move(commands_)}};
  }

  /// Ends the recording, if one is open, and drops its commands. The context can record again.
  void abandon() noexcept {
    if (!can_end()) return;
    if (state_ == state::recording) drop_commands();
    if (holds_recording(state_)) context().end_recording();
    state_ = state::idle;
  }

  /// Abandons the recording, gives all blocks of the context back, and opens it anew: then it is as a new context is,
  /// and may have another number. Returns `ready`. Returns `no_space` if other threads have opened all contexts, or if
  /// another thread has taken over the closing of this one and is not done. Then this one stays closed until a later
  /// reset() succeeds. Asserts that this is a deferred context. Progress: lock-free but for source and maker; never
  /// waits.
  context_open_status reset() noexcept {
    if (!can_end()) return context_open_status::ready;
    TIDEMARK_ASSERT(!is_immediate_, "the immediate context can't be closed");
    abandon();
    if (is_immediate_) return context_open_status::ready;
    close();
    auto opened = storage_->open();
    own_ = std::move(opened.context);
    return opened.status;
  }

 private:
  using commands_type = detail::recorded_commands<platform, Queue, Source>;

  enum class state : std::uint8_t {
    idle,
    recording,
    removed,
    busy,  ///< Code of the user may run that must not call the context: a command is made, commands are dropped, or
           ///< the maker destroys the context's blocks.
  };
  /// Why a call records nothing.
  enum class refusal : std::uint8_t { none, no_memory, lost };

  static block_use_status use_status_of(refusal why) noexcept {
    return why == refusal::lost ? block_use_status::lost : block_use_status::no_memory;
  }
  static map_status map_status_of(refusal why) noexcept {
    return why == refusal::lost ? map_status::lost : map_status::no_memory;
  }

  static context_error error_of(object_create_status status) noexcept {
    switch (status) {
      case object_create_status::no_space:
        return context_error::no_space;
      case object_create_status::invalid:
        return context_error::invalid;
      case object_create_status::refused:
        return context_error::refused;
      case object_create_status::lost:
        return context_error::lost;
      default:
        return context_error::no_memory;
    }
  }

  storage_context& context() noexcept { return is_immediate_ ? storage_->immediate() : own_; }

  bool is_free() const noexcept {
    TIDEMARK_ASSERT(state_ != state::busy, "the context was used while it makes or drops a command, or closes");
    return state_ != state::busy;
  }
  bool can_end() noexcept {
    if (!is_free()) return false;
    const bool is_creating = context().is_creating();
    TIDEMARK_ASSERT(!is_creating, "a maker ended the recording that it was creating a block for");
    return !is_creating;
  }
  /// Closes a deferred context, whose blocks the maker destroys.
  void close() noexcept {
    const detail::busy_scope closing{state_, state::busy};
    own_.close();
  }
  /// Returns whether the storage's recording must still be ended. After a removal it may be open still, if the maker
  /// was creating a block then.
  bool holds_recording(state of) noexcept {
    return of == state::recording || (of == state::removed && context().is_recording());
  }
  bool can_record() noexcept { return refused() == refusal::none; }
  /// Returns why a call must record nothing. Removes the recording if the device is lost.
  refusal refused() noexcept {
    if (state_ == state::recording) [[likely]] {
      if (!device_.is_lost()) [[likely]]
        return refusal::none;
      remove(context_error::lost);
      return refusal::lost;  // the sink may have begun another recording
    }
    TIDEMARK_ASSERT(!is_free() || is_recording(), "a command was recorded outside a recording");
    return why_removed();
  }
  /// The same for a call that uses a renamed resource.
  template <class Resource>
  refusal refused_for(const Resource& used) noexcept {
    const refusal why = refused();
    if (why != refusal::none || !used.is_lost()) return why;
    remove(context_error::lost);
    return refusal::lost;
  }
  /// Returns why a recording was removed. Where none was, as in a call outside a recording, it is `no_memory`.
  refusal why_removed() const noexcept {
    return state_ == state::removed && why_removed_ == context_error::lost ? refusal::lost : refusal::no_memory;
  }
  list_type no_list() const noexcept { return list_type{commands_type{commands_.source()}}; }

  // The sink may have begun another recording when one of these returns false or null.

  template <class Work>
  bool keep_work(Work&& work) {
    return keep<detail::recorded_work<platform, Queue, std::decay_t<Work>>>(std::forward<Work>(work));
  }
  /// The same for what `make()` returns. It is called while the context is busy: what it copies must not call the
  /// context.
  template <class Make>
  bool keep_made(const Make& make) {
    return keep<detail::recorded_work<platform, Queue, decltype(make())>>(detail::made_in_place{}, make);
  }
  /// Returns whether the command was recorded. If not, the recording was removed.
  template <class Command, class... Arguments>
  bool keep(Arguments&&... arguments) {
    if (add<Command>(std::forward<Arguments>(arguments)...)) return true;
    remove(context_error::no_memory);
    return false;
  }
  template <class Command, class... Arguments>
  bool add(Arguments&&... arguments) {
    const detail::busy_scope making{state_, state::busy};
    return commands_.template add<Command>(std::forward<Arguments>(arguments)...);
  }

  template <class Resource, class Take>
  typename Resource::mapping map_own(Resource& of, map_mode mode, const Take& take) noexcept {
    using mapping = typename Resource::mapping;
    if (const refusal why = refused_for(of); why != refusal::none) return {map_status_of(why), {}};
    if (detail::is_no_overwrite(mode)) {
      const auto* used = commands_.renames().find(of);
      return used != nullptr && used->is_own() ? mapping{map_status::mapped, used->own.memory} : mapping{};
    }
    if (!detail::is_discard(mode)) return {};
    const typename Resource::taken made = take();
    if (!made) return {failed_take(made.status), {}};
    if (const auto kept = keep_own(of, made, false); !kept) return {map_status_of(kept.why), {}};
    return {map_status::mapped, made.memory};
  }
  template <class Resource, class Copy, class Take>
  bound_copy_of<Resource> bind_own(Resource& of, Copy& copy, const Take& take) noexcept {
    static_assert(std::is_nothrow_move_constructible_v<Copy>, "moving what copies a backing must not throw");
    if (const refusal why = refused_for(of); why != refusal::none) return {map_status_of(why), {}};
    auto* used = commands_.renames().find(of);
    if (used == nullptr || !used->is_own()) {
      const typename Resource::taken made = take();
      if (!made) return {failed_take(made.status), {}};
      const auto kept = keep_own(of, made, true);
      if (!kept) return {map_status_of(kept.why), {}};
      used = kept.use;
      const bool is_kept = keep_made([&copy, used]() noexcept {
        return [call = std::move(copy), to = &used->memory, from = &used->before]() mutable noexcept {
          const typename Resource::backing target = to->load();
          const typename Resource::backing current = from->load();
          call(target, current);
        };
      });
      if (!is_kept) return {map_status::no_memory, {}};
    }
    return {map_status::mapped, bound_backing_of<Resource>{used->memory}};
  }
  /// Does what follows a discard that got no backing. Returns the status of that.
  map_status failed_take(map_status why) noexcept {
    if (why == map_status::lost && state_ == state::recording) remove(context_error::lost);
    return why;
  }
  template <class Use>
  struct kept_use {
    Use use;      // null if it was not kept
    refusal why;  // then: the sink may have begun another recording, which may have been removed, too

    explicit operator bool() const noexcept { return use != nullptr; }
  };

  /// As keep_use(), with a backing that was taken just now. It is not kept, either, if the recording has ended while
  /// the backing was taken.
  template <class Resource>
  auto keep_own(Resource& of, const typename Resource::taken& made, bool reads_current) noexcept {
    using kept = kept_use<decltype(keep_use(of, made, reads_current))>;
    if (state_ == state::recording) return kept{keep_use(of, made, reads_current), refusal::no_memory};
    static_cast<void>(of.give_back(made));
    return kept{nullptr, why_removed()};
  }
  /// Returns the use, which has the backing from now on; null if the recording was removed.
  template <class Resource>
  auto* keep_use(Resource& of, const typename Resource::taken& made, bool reads_current) noexcept {
    auto* const kept = add_use(of, made, reads_current);
    if (kept == nullptr) remove(context_error::no_memory);
    return kept;
  }
  template <class Resource>
  auto* add_use(Resource& of, const typename Resource::taken& made, bool reads_current) noexcept {
    const detail::busy_scope making{state_, state::busy};
    auto* const added = commands_.add_use(of, made, reads_current);
    if (added == nullptr) static_cast<void>(of.give_back(made));
    return added;
  }

  /// Does what follows a use() that failed, or in which the maker's calls of this context have removed the recording.
  /// Returns the result of that use().
  [[gnu::noinline]] block_use_result failed_use(block_use_status why) noexcept {
    if (state_ == state::removed) {
      const refusal removed = why_removed();
      end_removed();
      return {use_status_of(removed)};
    }
    if (why == block_use_status::stale) {
      sink_(id(), context_error::stale);
    } else {
      remove(why == block_use_status::lost ? context_error::lost : context_error::no_memory);
    }
    return {why};
  }
  /// Removes the recording: the "local context removal" of Direct3D.
  [[gnu::noinline]] void remove(context_error why, state then = state::removed) noexcept {
    drop_commands();
    state_ = then;
    why_removed_ = why;
    end_removed();
  }
  /// Ends a recording that was removed, and tells the sink. While the maker creates a block it does nothing: then use()
  /// or create(), which has called the maker, does so when the maker is done.
  void end_removed() noexcept {
    if (context().is_creating()) return;
    context().end_recording();
    sink_(id(), why_removed_);
  }
  /// Does what could not be done while the maker was creating an object.
  [[gnu::noinline]] void tell_errors_in_create() noexcept {
    if (was_removed() && context().is_recording()) end_removed();
    while (untold_ != 0) {
      const int lowest = std::countr_zero(untold_);
      untold_ &= untold_ - 1;
      sink_(immediate_context, static_cast<context_error>(lowest));
    }
  }
  void drop_commands() noexcept {
    const detail::busy_scope dropping{state_, state::busy};
    commands_.clear();
  }

  [[no_unique_address]] detail::followed_device<Device> device_;
  Storage* storage_;
  storage_context own_;
  bool is_immediate_ = false;
  state state_ = state::idle;
  context_error why_removed_ = context_error::no_memory;
  // A bit for each kind of error of objects that could not be created while the maker was creating one.
  unsigned untold_ = 0;
  [[no_unique_address]] Sink sink_;
  commands_type commands_;
};

}  // namespace tidemark

#endif  // TIDEMARK_CONTEXT_COMMAND_CONTEXT_HPP
