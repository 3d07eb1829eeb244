// SPDX-License-Identifier: BSL-1.0
//
// shared_fence and shared_progress_fence: fences that processes share. Linux alone.
//
//   auto made = tidemark::shared_progress_fence::create();                   pages in memory, and an attachment to them
//   made.fence.files().send(socket);                                         to another process
//   made.fence.signal(7);
//
//   tidemark::shared_files files;                                            in the other process
//   if (tidemark::shared_files::receive(files, socket)) ...
//   auto opened = tidemark::shared_progress_fence_waiter::open(files);
//   if (opened.fence.wait(7) == wait_status::reached) ...
//
//   auto named = tidemark::shared_fence::open_or_create({"uploads"});        or by name
//
// A signal is what it is in one process if nobody is due, and a load of where the pages lie, unless that is in a
// register. It wakes exactly the threads that are due, in whatever process they sleep. Where signals often release
// somebody, all take the slow path for a time, and waiters need no barrier between processes (detail/root_hold.hpp).
//
// An object of these classes is an attachment. There are three kinds of each fence, by what they may do:
//
//   shared_fence            any attachment may signal; the greatest value wins
//   shared_progress_fence   one attachment at a time may signal
//   ..._waiter      looks and waits; the value is mapped for reading alone
//   ..._reader      looks, and its waits look once in a millisecond; it takes no place in the segment
//
// What happens when a process is killed, at any instruction
// ---------------------------------------------------------
//   - Its slots and its place come back: others look who is dead, and clean up behind it.
//   - A wake-up that it owed comes late. One sleeper of each process, the watcher, wakes up every 50 ms and looks at
//     the value for all sleepers of its process. So nothing that a dead process left undone keeps a sleeper longer than
//     that from a value that is there; nothing that a hostile one does, longer than a minute.
//   - If nobody is left who may signal, and somebody was, the fence is lost: waits return `lost`. That is a state and
//     no poison: as soon as a new signaller attaches, waits wait again, and the value goes on from where it is. Before
//     the first signaller came, a wait waits.
//   A process counts as dead when the kernel has closed its files, which it does after it has torn down its memory:
//   within a millisecond for a small process, and later the more memory it has (docs/guide-fence.md). One that is
//   stopped is not dead.
//
// Guards. An attachment that was opened with `has_guard` has a thread, by which others take it for dead within
// milliseconds of its kill, however much memory it has. Of that death, attachments with a guard learn at once, and with
// them all who sleep for the fence in their processes. One such attachment suffices, and each attachment_ends in any
// process learns of it, too. Others find it when they look. Its slots and its place come back when the kernel has
// closed its files, and not before.
//
// The memory (docs/guide-fence.md says who may do what with it)
// ----------
//   V  values   line 0 of its second page: the value       signallers write it
//   W  waiters  root, hold, tree, owners, counts of wakes  all who wait write it (detail/shared_heap.hpp)
//   V and W lie in one reservation of addresses, at constant distances. All sizes are those of the own process.
//
// Whoever may write V or W may write nonsense. Others may then get wrong values and wrong wake-ups, but they do not
// crash, they write nowhere else, and their calls end, except that a signal() of a shared_fence goes on as long as
// another process changes the value all the time.
//
// Limits. The number of slots is chosen when the fence is made. A waiter that finds no slot looks once in a
// millisecond. At most 64 attachments. Values begin at 0. An attachment must not be moved while it is used. After a
// fork the child must not use it (an access is a segmentation fault), but may destroy it, and open another one. A
// program that executes another one must open anew.
// Not promised: survival of a kill where the platform's double word takes a lock (survives_kills is false there).
#ifndef TIDEMARK_FENCE_SHARED_FENCE_HPP
#define TIDEMARK_FENCE_SHARED_FENCE_HPP

#include "../platform/platform.hpp"

#if defined(__linux__) && TIDEMARK_HAS_FUTEX

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>

#include "capabilities.hpp"
#include "detail/shared_core.hpp"
#include "detail/shared_guard.hpp"
#include "detail/shared_heap.hpp"
#include "detail/shared_segment.hpp"
#include "timeline.hpp"
#include "wait.hpp"

namespace tidemark {

inline namespace TIDEMARK_CONFIGURATION {

/// The platform of fences that processes share. It is asymmetric where the system has the global membarrier(2): waiters
/// interrupt the processors that run a process which has registered. Attachments that may signal register theirs when
/// they are opened, which takes milliseconds once other threads run.
struct shared_platform
    : detail::platform_of<detail::system_barriers, detail::shared_parking, detail::native_double_word> {};
/// The same without membarrier(2): a signal costs a read-modify-write, and a thread that begins to wait makes no system
/// call before it sleeps.
struct symmetric_shared_platform
    : detail::platform_of<detail::symmetric_barriers, detail::shared_parking, detail::native_double_word> {};

}  // namespace TIDEMARK_CONFIGURATION

/// What an attachment may do: `look`, `wait` or `signal`. Each includes those before it.
using shared_rights = detail::attachment_rights;
/// Whether somebody may signal: `none_yet`, `present`, `closed` (the last one has closed its attachment), or `died`
/// (the last one has ended without that).
using shared_signallers = detail::signallers;
/// How an attachment was opened: `attached`, or why not.
using shared_open_status = detail::open_status;
/// In what a segment differs from what is expected.
using shared_field = detail::segment_field;
/// The pages of a shared fence: two descriptors, which processes pass on. They are made by create(), and are not an
/// attachment: nobody is woken by having them.
using shared_files = detail::segment_files;
/// The name of a shared fence, and the folder in which its files lie.
using shared_name = detail::segment_name;
/// Who may open the files.
using shared_modes = detail::file_modes;

/// What an attachment has done, for a shared_observer.
enum class shared_event : unsigned char {
  /// The pages were made. create() tells it before there is an attachment, as UINT32_MAX.
  created,
  /// The attachment is there.
  opened,
  /// It has gone.
  closed,
  /// It was the last one, or create() has failed. An attachment that was opened by a name tells it if it has removed
  /// the name. If the name stays, the next open replaces it, and tells `created`. Without a name, perhaps none of
  /// several that close at the same moment tells it. The `closed` of another attachment may come later.
  destroyed,
};
template <>
inline constexpr auto detail::names_of<shared_event> = detail::names("created", "opened", "closed", "destroyed");

/// Whom an attachment tells what happens to it, on the thread that opens and closes it. A reader has no number, and
/// tells UINT32_MAX.
struct shared_observer {
  void (*told)(void* context, shared_event what, std::uint32_t attachment) noexcept = nullptr;
  void* context = nullptr;  ///< Its first argument.
};

/// The choices of a shared fence. All attachments must agree on the first two: a difference is told by its field.
struct shared_options {
  std::uint32_t waiter_slots = 64;  ///< How many waiters of all processes have a slot, 1 to 4096.
  std::uint32_t attachments = 16;   ///< How many attachments there can be at the same time, 1 to 64.
  std::string_view label{};         ///< The name of the attachment, for people: 24 characters of it are kept.
  /// How long opening waits for others who open or close under the same name. One of them may be stopped.
  std::chrono::nanoseconds patience = std::chrono::seconds{1};
  shared_modes modes{};        ///< Who may open files that are made.
  shared_observer observer{};  ///< Whom the attachment tells what happens to it.
  /// Whether the attachment has a guard: a thread that ends with it, and takes no signals of the program. If this
  /// process is killed, others know that before the kernel has torn down its memory; and this process learns so of the
  /// death of others that have a guard. Opening is `refused` with the field `guard` if the system gives no such thread.
  /// A reader has none: `invalid`. Threads of a process that was killed may run for a moment more, so the value may
  /// rise behind a `lost`. A program that ends only because its last thread ends must close the attachment before.
  bool has_guard = false;
  /// How many nanoseconds a waiter may look at the value before it sleeps; see fence_options.
  static constexpr std::uint32_t max_spin_ns = 200'000;
};

/// What others may know of an attachment.
struct shared_attachment {
  std::uint32_t index;
  shared_rights rights;
  std::uint32_t process;       ///< Its number in its own name space of processes. Only a hint.
  std::array<char, 24> label;  ///< Filled with 0. One of 24 characters has no 0 behind it.
};

/// What opening has come to.
template <class Fence>
struct [[nodiscard]] shared_open_result {
  shared_open_status status = shared_open_status::attached;
  shared_field field = shared_field::none;  ///< What differs if it is `invalid`; what was refused if it is `refused`.
  int error = 0;                            ///< What the system has said, as errno has it.
  Fence fence;                              ///< An attachment, if the status is `attached`.

  explicit operator bool() const noexcept { return status == shared_open_status::attached; }
};

namespace detail {

/// Where the words of a shared fence lie.
template <platform Platform>
struct shared_layout {
  static constexpr std::size_t arity = 4;
  static constexpr std::uint64_t value_bytes = cache_line;
  using segment = shared_segment<Platform>;
  using value_type = typename Platform::template atomic<std::uint64_t>;
  using heap_type = shared_heap<Platform, arity>;

  // From the base of the reservation; constant, so that a signal needs one address.
  static constexpr std::size_t value_at = segment::values_at;
  static constexpr std::size_t waiters_at = segment::waiters_at(segment_shape{.value_bytes = value_bytes});
  // Not at the place in its page that the value has in its own: processors that compare the low bits of addresses would
  // take the load of a signal for one of its store.
  static constexpr std::size_t root_at = waiters_at + 2 * cache_line;
  // Beside the root: who writes it has just written the root.
  static constexpr std::size_t hold_at = root_at + sizeof(tree_word<Platform>);

  static constexpr std::size_t tree_at = root_at + cache_line;
  static constexpr std::size_t owners_at(const tree_shape<arity>& tree) noexcept {
    return tree_at + tree.groups() * sizeof(siblings<Platform, arity>);
  }
  static constexpr std::size_t wakes_at(const tree_shape<arity>& tree) noexcept {
    return owners_at(tree) + divide_up(tree.leaves() * 4, cache_line) * cache_line;
  }
  static constexpr std::size_t end(const tree_shape<arity>& tree) noexcept {
    return wakes_at(tree) + divide_up(tree.leaves() * 4, cache_line) * cache_line;
  }

  template <class T>
  static T& at(std::byte* base, std::size_t offset) noexcept {
    void* const word = base + offset;
    return *static_cast<T*>(word);
  }
  static value_type& value(std::byte* base) noexcept { return at<value_type>(base, value_at); }
  static tree_word<Platform>& root(std::byte* base) noexcept { return at<tree_word<Platform>>(base, root_at); }
  static_assert(hold_at + sizeof(hold_of<Platform>) <= tree_at);

  static typename heap_type::words_type heap_words(std::byte* base, auto& pins,
                                                   const tree_shape<arity>& tree) noexcept {
    return {.root = &root(base),
            .pins = &pins,
            .hold = &at<hold_of<Platform>>(base, hold_at),
            .tree = &at<siblings<Platform, arity>>(base, tree_at),
            .owners = &at<typename Platform::template atomic<std::uint32_t>>(base, owners_at(tree)),
            .wakes = &at<typename Platform::park_word>(base, wakes_at(tree))};
  }

  static segment_shape shape_of(const shared_options& options, writers signallers) noexcept {
    const tree_shape<arity> tree{options.waiter_slots};
    return {.value_kind = signallers == writers::one ? 2U : 1U,
            .double_word = Platform::double_word::is_always_lock_free ? 1U : 2U,
            .options = Platform::asymmetric ? 1U : 0U,
            .waiter_slots = options.waiter_slots,
            .attachments = options.attachments,
            .value_bytes = value_bytes,
            .waiter_bytes = end(tree) - waiters_at};
  }
};

/// One attachment, as a Place of shared_core.
template <platform Platform>
class shared_place {
 public:
  using layout = shared_layout<Platform>;
  using heap_type = typename layout::heap_type;

  shared_place(const shared_options& options, writers signallers, shared_rights rights) noexcept
      : tree_{options.waiter_slots}, signallers_{signallers}, rights_{rights}, observer_{options.observer} {}
  shared_place(const shared_place&) = delete;
  shared_place& operator=(const shared_place&) = delete;

  // ---- of a Place

  auto& value() const noexcept { return layout::value(segment_.base()); }
  auto& root() const noexcept { return layout::root(segment_.base()); }
  heap_type& heap() noexcept { return *heap_; }
  std::uint32_t owner() const noexcept { return segment_.index() + 1; }
  bool may_register() const noexcept { return rights_ != shared_rights::look; }
  bool is_lost() const noexcept { return loss_.is_lost() && note_loss(); }
  /// Returns whether this attachment has not asked for an interval, and notes that it does so now.
  bool may_ask() noexcept {
    return schedule_.is_due(asked_at_, look_schedule<Platform>::nanoseconds_of(Platform::now()));
  }
  bool look(bool is_urgent) noexcept {
    const errno_keeper kept;
    if ((segment_.may_look(Platform::now()) || is_urgent) && segment_.look(cleaner()).cleaned != 0) {
      // Somebody has died. Sleepers of other processes learn of it now.
      if (may_register()) heap_->wake_all();
    }
    return note_loss();
  }
  static constexpr deadline::duration interval() noexcept {
    return std::chrono::nanoseconds{look_schedule<Platform>::interval};
  }
  /// So 1,000 sleepers wake up 17 times a second for it.
  static constexpr deadline::duration patience() noexcept { return std::chrono::minutes{1}; }

  /// Also for readers, which only read the heap.
  std::uint64_t monitored_value() const noexcept {
    const heap_type heap{tree_, layout::heap_words(segment_.base(), segment_.pins(), tree_)};
    return heap.monitored_value();
  }

  // ---- opening and closing

  auto& segment() noexcept { return segment_; }
  const auto& segment() const noexcept { return segment_; }
  auto& files() noexcept { return files_; }

  /// Opens the segment by `open(segment, opening_options, clean)`.
  template <class Open>
  open_result open(const shared_options& options, const Open& open) noexcept {
    const bool may_signal = rights_ == shared_rights::signal;
    bool is_registered = false;
    if constexpr (Platform::asymmetric) is_registered = may_signal && global_barrier::register_process();
    const opening_options wanted{.rights = rights_,
                                 .is_registered = is_registered,
                                 .is_sole_signaller = may_signal && signallers_ == writers::one,
                                 .label = options.label,
                                 .patience = options.patience};
    const open_result result = open(segment_, wanted, cleaner());
    if (!result) return result;
    if (may_register()) find_heap();
    if (Platform::asymmetric && may_signal && !is_registered) heap_->pin(segment_.index());
    static_cast<void>(note_loss());
    if (segment_.was_made()) tell(shared_event::created);
    tell(shared_event::opened);
    return result;
  }
  void close() noexcept {
    if (!segment_.is_open()) return;
    if (segment_.is_inherited()) {
      segment_.close(cleaner());
      return;
    }
    const bool is_last = !segment_.has_name() && may_register() && is_alone();
    const std::uint32_t index = segment_.index();
    const bool has_removed_name = segment_.close(cleaner());
    tell(shared_event::closed, index);
    if (is_last || has_removed_name) tell(shared_event::destroyed, index);
  }
  void tell(shared_event what) noexcept { tell(what, segment_.index()); }

 private:
  void tell(shared_event what, std::uint32_t index) noexcept {
    if (observer_.told != nullptr) observer_.told(observer_.context, what, index);
  }

  auto cleaner() noexcept {
    return [this](std::uint32_t index) {
      find_heap();
      heap_->clean(index + 1);
      heap_->unpin(index);
    };
  }

  void find_heap() noexcept {
    if (heap_) return;
    std::byte* const base = segment_.base();
    heap_.emplace(tree_, layout::heap_words(base, segment_.pins(), tree_));
    heap_->prepare();
  }

  bool is_alone() const noexcept {
    for (std::uint32_t other = 0; other < segment_.shape().attachments; ++other) {
      if (other != segment_.index() && segment_.is_attached(other)) return false;
    }
    return true;
  }

  bool note_loss() const noexcept {
    const signallers found = segment_.signaller_state();
    return loss_.note(found == signallers::closed || found == signallers::died);
  }

  const tree_shape<layout::arity> tree_;
  const writers signallers_;
  const shared_rights rights_;
  const shared_observer observer_;
  typename layout::segment segment_;
  std::optional<heap_type> heap_;
  segment_files files_;
  mutable noted_loss<Platform> loss_;
  // When somebody has asked who waits elsewhere, on a loop or with other timelines, so that no sleeper looks for him.
  look_schedule<Platform> schedule_;
  typename Platform::template atomic<std::uint64_t> asked_at_{0};
};

/// What a guard does for an attachment; see shared_guard.hpp.
template <platform Platform, class Core>
class guarded_place {
 public:
  guarded_place(shared_segment<Platform>& segment, Core& core) noexcept : segment_{&segment}, core_{&core} {}

  std::uint32_t count() const noexcept { return segment_->shape().attachments; }
  std::uint32_t index() const noexcept { return segment_->index(); }
  auto& guard(std::uint32_t index) const noexcept { return segment_->guard(index); }
  std::uint32_t guard_value(std::uint32_t index) const noexcept { return segment_->guard_value(index); }
  std::uint64_t incarnation(std::uint32_t index) const noexcept { return segment_->note_of(index).incarnation; }
  void set_guard(std::uint32_t thread) const noexcept { segment_->set_guard(thread); }

  void tell(std::uint64_t ended) const noexcept {
    const errno_keeper kept;
    // The other guards first, because this process may be killed, too.
    for (std::uint32_t index = 0; index < count(); ++index) {
      if ((ended >> index & 1) != 0) Platform::unpark(guard(index), UINT32_MAX);
    }
    core_->look_for_all(true);
    // Whoever has an attachment_ends is told when the file is written, or closed by somebody who may write it. A limit
    // for files may forbid the first; the second needs the right to open it, and a descriptor.
    if (!touch(segment_->lock_descriptor())) static_cast<void>(open_anew(segment_->lock_descriptor(), O_RDWR));
  }

 private:
  shared_segment<Platform>* segment_;
  Core* core_;
};

template <platform Platform>
struct shared_state {
  using core_type = shared_core<Platform, shared_place<Platform>, shared_options::max_spin_ns>;
  using guard_type = shared_guard<Platform, guarded_place<Platform, core_type>>;

  shared_state(const shared_options& options, writers signallers, shared_rights rights) noexcept
      : place{options, signallers, rights}, core{place} {}

  /// Returns 0, or the reason why there is no guard, as in errno.
  int start_guard() noexcept { return guard_type::start(guard, {place.segment(), core}); }
  void close() noexcept {
    if (guard != nullptr && place.segment().is_inherited()) guard->forget_thread();
    guard.reset();
    place.close();
  }

  bool is_lost() noexcept {
    if (place.may_ask()) core.look_for_all();
    return place.is_lost();
  }

  shared_place<Platform> place;
  core_type core;
  std::unique_ptr<guard_type> guard;
};

/// Gives access to parts of an attachment that are not public.
struct shared_access {
  /// Returns a descriptor of the waiters' file; -1 if the attachment has none.
  template <class Fence>
  static int waiters_file(const Fence& of) noexcept {
    return of.state_->place.segment().lock_descriptor();
  }
};

}  // namespace detail

/// An attachment to a fence that processes share. It has the wait functions of `waitable` (wait.hpp).
///
/// It says keeps_value_on_loss, because its loss may end: blocks follow a latched_fence made of it. Lists of timelines,
/// loops and engines take a followed_fence (followed_fence.hpp).
/// \tparam Signallers  whether several attachments may signal, or one
/// \tparam Rights      what this attachment may do
template <platform Platform, writers Signallers, shared_rights Rights>
class basic_shared_fence : public waitable<basic_shared_fence<Platform, Signallers, Rights>> {
 public:
  using platform = Platform;
  using open_result = shared_open_result<basic_shared_fence>;
  static constexpr bool keeps_value_on_loss = true;
  /// Whether a process may be killed at any instruction without harm to others.
  static constexpr bool survives_kills = Platform::double_word::is_always_lock_free;

  /// Returns which of the features that `host` has enabled such fences have on this machine: `kill_safety`, unless the
  /// double word takes a lock; `asymmetric_barriers`, if the system has the barrier between processes; and, except for
  /// readers, `death_guards`, if it has what a guard needs. If it has the barrier and yet refuses to register a
  /// signaller, each signal of that fence takes the slow path.
  static feature_offers offers(const feature_host& host) noexcept {
    feature_offers those;
    if (survives_kills) those.add_if_enabled<kill_safety>(host);
    if (Rights != shared_rights::look && detail::has_robust_lists()) those.add_if_enabled<death_guards>(host);
    if constexpr (Platform::asymmetric) {
      if (detail::global_barrier::is_available()) those.add_if_enabled<asymmetric_barriers>(host);
    }
    return those;
  }
  /// Negotiates what the program relies on (fence/capabilities.hpp), before it opens anything. Throws and allocates
  /// nothing. Any thread may call it.
  /// \tparam Requested  features, or if_there or with_bits of them
  template <class... Requested>
  static negotiate_result<Requested...> negotiate(const feature_host& host = every_feature) noexcept {
    return tidemark::negotiate<Requested...>(host, offers(host));
  }

  /// An attachment to nothing. It may be destroyed and assigned to.
  basic_shared_fence() noexcept = default;
  basic_shared_fence(basic_shared_fence&& from) noexcept
      : base_{std::exchange(from.base_, nullptr)}, state_{std::move(from.state_)} {}
  /// Closes what this one was attached to. Nobody may use either of them meanwhile.
  basic_shared_fence& operator=(basic_shared_fence&& from) noexcept {
    if (this != &from) {
      close();
      base_ = std::exchange(from.base_, nullptr);
      state_ = std::move(from.state_);
    }
    return *this;
  }
  ~basic_shared_fence() { close(); }

  /// Makes a fence in memory, and an attachment to it. It ends with the last attachment, and the last of its files().
  static open_result create(const shared_options& options = {}) noexcept {
    return make(options, [&](state& made) {
      shared_files files;
      detail::open_result result = shared_files::create_in_memory(files, shape_of(options), options.modes);
      if (!result) return result;
      made.place.tell(shared_event::created);
      result = open_files(made, files, options);
      if (result) {
        made.place.files() = std::move(files);
      } else {
        made.place.tell(shared_event::destroyed);
      }
      return result;
    });
  }
  /// Opens an attachment to a fence whose files this process has made or received. They may be destroyed afterwards.
  static open_result open(const shared_files& files, const shared_options& options = {}) noexcept {
    return make(options, [&](state& made) { return open_files(made, files, options); });
  }
  /// Opens an attachment to the fence of a name that somebody is attached to.
  static open_result open(shared_name name, const shared_options& options = {}) noexcept {
    return make(options, [&](state& made) {
      return made.place.open(options, [&](auto& segment, const auto& wanted, const auto& clean) {
        return segment.open_existing(name, shape_of(options), wanted, clean);
      });
    });
  }
  /// The same; if nobody is attached, it makes the fence, also if a killed process has left its files. Its value is 0
  /// then. The last attachment that is closed removes the name. Both need the right to remove the files: in /dev/shm,
  /// their owner has it, and root.
  static open_result open_or_create(shared_name name, const shared_options& options = {}) noexcept
    requires(Rights != shared_rights::look)
  {
    return make(options, [&](state& made) {
      return made.place.open(options, [&](auto& segment, const auto& wanted, const auto& clean) {
        return segment.open_or_create(name, options.modes, shape_of(options), wanted, clean);
      });
    });
  }

  /// Ends the attachment. All calls must have returned. If it is not open, this does nothing. The destructor calls it.
  /// An attachment that was opened by a name waits up to a second while another one opens or closes; readers never do.
  void close() noexcept {
    base_ = nullptr;
    if (state_ == nullptr) return;
    state_->close();
    state_.reset();
  }
  bool is_open() const noexcept { return base_ != nullptr; }

  /// Returns the value signalled so far, also while the fence is lost. What was done before the value was signalled
  /// happens-before the return. Progress: wait-free, one load. Any thread may call it.
  std::uint64_t current_value() const noexcept { return state::core_type::reached(layout::value(base_)); }
  std::uint64_t last_reached() const noexcept { return current_value(); }
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return current_value() >= target; }

  /// Returns the least awaited target of all processes minus 1; `detail::no_minimum` if no thread waits; 0 while a
  /// signaller has pinned the root. It may be outdated. Progress: wait-free, one load. A hold of the root does not show
  /// here, but takes some loads more. Any thread may call it.
  std::uint64_t monitored_value() const noexcept
    requires(Rights != shared_rights::look)
  {
    return state_->place.monitored_value();
  }

  /// Returns the least target that a thread of any process waits for. Returns nothing if no thread waits; and for a
  /// reader, if it has no waiters' file, or if the platform's double word has a lock, which a reader can't take. The
  /// target may be outdated, and is 1 while a signaller has pinned the root. Progress: as monitored_value(). Any
  /// thread may call it.
  std::optional<std::uint64_t> least_target() const noexcept {
    if constexpr (Rights == shared_rights::look && !survives_kills) return std::nullopt;
    if (state_->place.segment().waiters() == nullptr) return std::nullopt;
    const std::uint64_t monitored = state_->place.monitored_value();
    return monitored == detail::no_minimum ? std::nullopt : std::optional{monitored + 1};
  }

  /// Returns where the value lies in this process: mapped for reading alone, unless the attachment may signal.
  const void* value_address() const noexcept { return &layout::value(base_); }
  /// Returns where the monitored value lies in this process. It is 0 while the root is pinned or held.
  const void* monitored_address() const noexcept
    requires(Rights != shared_rights::look)
  {
    return layout::root(base_).value_address();
  }

  /// Raises the value to `value`, releases every waiter that is due, in any process, and returns true. Returns false if
  /// the value is not above the current one. Progress: lock-free among processes that only signal; one
  /// read-modify-write if nobody is due, and the root is neither pinned nor held. Any thread may call it. Takes no lock
  /// and throws nothing.
  bool signal(std::uint64_t value) noexcept
    requires(Rights == shared_rights::signal && Signallers == writers::several)
  {
    std::byte* const base = base_;
    if (!steps::raise(layout::value(base), value)) return false;
    notify_if_due(base, value);
    return true;
  }
  /// Sets the value to `value`, which must not be less than the current one, and releases every waiter that is due, in
  /// any process. Progress: wait-free if nobody is due, and the root is neither pinned nor held: one store, one load.
  /// One thread at a time.
  void signal(std::uint64_t value) noexcept
    requires(Rights == shared_rights::signal && Signallers == writers::one)
  {
    std::byte* const base = base_;
    steps::store(layout::value(base), value);
    notify_if_due(base, value);
  }
  /// Raises the value by one, and returns it; in all else like signal(). The last value of a timeline stays as it is.
  std::uint64_t signal_next() noexcept
    requires(Rights == shared_rights::signal && Signallers == writers::one)
  {
    const std::uint64_t before = current_value();
    const std::uint64_t next = before == UINT64_MAX ? before : before + 1;
    signal(next);
    return next;
  }

  /// Returns whether the fence is lost: somebody was able to signal, and nobody is any more. It looks as a sleeper
  /// does, at most once in each interval of 50 ms, and otherwise asks the system only if the last look has found a
  /// loss. Any thread may call it.
  [[nodiscard]] bool is_lost() const noexcept { return state_->is_lost(); }
  /// Returns whether somebody may signal, as the system says now. A reader without the waiters' file does not know who
  /// has died. Any thread may call it. Progress: a system call for each signaller.
  [[nodiscard]] shared_signallers signallers() const noexcept { return state_->place.segment().signaller_state(); }

  /// Calls `told(const shared_attachment&)` for each attachment that lives now. Readers are not among them, nor those
  /// of whose death a guard has told.
  template <std::invocable<const shared_attachment&> Told>
  void for_each_attachment(Told&& told) const {
    const auto& segment = state_->place.segment();
    for (std::uint32_t index = 0; index < segment.shape().attachments; ++index) {
      if (!segment.is_attached(index) || segment.has_died(index)) continue;
      const detail::attachment_note note = segment.note_of(index);
      const shared_attachment found{index, note.rights, note.process, std::bit_cast<std::array<char, 24>>(note.name)};
      told(found);
    }
  }
  /// Returns the number of this attachment, which no other living one has.
  std::uint32_t index() const noexcept
    requires(Rights != shared_rights::look)
  {
    return state_->place.segment().index();
  }
  /// Returns what names the fence: the same random number in all processes.
  std::array<std::uint64_t, 2> id() const noexcept { return state_->place.segment().id(); }

  /// Returns the files of a fence that this attachment has made by create(), to be sent to other processes.
  const shared_files& files() const noexcept { return state_->place.files(); }

  /// Looks who is dead, cleans up behind them, and wakes the sleepers of this process that are due. Sleepers do so
  /// every 50 ms; this is for a thread that has learnt of a death by other means. Any thread may call it.
  void look() noexcept { state_->core.look_for_all(true); }

  /// Returns how many signals of this attachment took the slow path. Any thread may call it.
  std::uint64_t notify_count() const noexcept
    requires(Rights == shared_rights::signal)
  {
    return state_->core.notify_count();
  }

  /// Returns a view, which can look and wait. The attachment must outlive it, and must not be moved.
  auto view() const noexcept { return timeline_view<basic_shared_fence>{*this}; }

 private:
  friend waitable<basic_shared_fence>;
  friend detail::shared_access;

  using layout = detail::shared_layout<Platform>;
  using steps = detail::value_steps<Platform>;
  using state = detail::shared_state<Platform>;

  static detail::segment_shape shape_of(const shared_options& options) noexcept {
    return layout::shape_of(options, Signallers);
  }

  template <class Open>
  static open_result make(const shared_options& options, const Open& open) noexcept {
    open_result made;
    if (options.waiter_slots == 0 || options.waiter_slots > layout::heap_type::most_slots) {
      made.status = shared_open_status::invalid;
      made.field = shared_field::waiter_slots;
      return made;
    }
    if (options.has_guard && Rights == shared_rights::look) {
      made.status = shared_open_status::invalid;
      made.field = shared_field::guard;
      return made;
    }
    made.fence.state_.reset(::new (std::nothrow) state{options, Signallers, Rights});
    if (made.fence.state_ == nullptr) {
      made.status = shared_open_status::no_memory;
      return made;
    }
    detail::open_result result = open(*made.fence.state_);
    if (result && options.has_guard) {
      if (const int error = made.fence.state_->start_guard()) {
        made.fence.state_->close();
        result = detail::failure(error, shared_field::guard);
      }
    }
    made.status = result.status;
    made.field = result.field;
    made.error = result.error;
    if (result) {
      made.fence.base_ = made.fence.state_->place.segment().base();
    } else {
      made.fence.state_.reset();
    }
    return made;
  }
  static detail::open_result open_files(state& made, const shared_files& files,
                                        const shared_options& options) noexcept {
    return made.place.open(options, [&](auto& segment, const auto& wanted, const auto& clean) {
      return segment.open(files, shape_of(options), wanted, clean);
    });
  }

  /// \param base  what the caller has read already, so that it is read once
  void notify_if_due(std::byte* base, std::uint64_t value) noexcept {
    if (steps::has_due(layout::root(base), value)) [[unlikely]]
      state_->core.release_due();
  }

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    if (current_value() >= target) return wait_status::reached;
    // A wait that does not sleep has nobody who looks for it.
    if (until == detail::at_once) static_cast<void>(is_lost());
    return state_->core.template wait_longer<wait_status>(target, until, token);
  }

  std::byte* base_ = nullptr;
  std::unique_ptr<state> state_;
};

/// A fence that processes share, for blocks that follow a timeline: once a function of this object has found it lost,
/// it stays lost here, and current_value() is UINT64_MAX. So a block does not wait for the work of a dead process. Each
/// of them asks as is_lost() of the fence does, so a loss is found within 50 ms also where nobody sleeps for the fence.
/// It is not copied; the attachment must outlive it, and must not be moved.
template <class Fence>
class latched_fence : public waitable<latched_fence<Fence>> {
 public:
  using platform = typename Fence::platform;

  explicit latched_fence(const Fence& of) noexcept : of_{of} {}
  latched_fence(const latched_fence&) = delete;
  latched_fence& operator=(const latched_fence&) = delete;

  /// Returns the fence's current_value(); UINT64_MAX once it was found lost.
  std::uint64_t current_value() const noexcept { return is_poisoned() ? UINT64_MAX : of_.current_value(); }
  /// Returns the value signalled so far.
  std::uint64_t last_reached() const noexcept { return of_.current_value(); }
  [[nodiscard]] bool is_reached(std::uint64_t target) const noexcept { return current_value() >= target; }
  /// Returns whether the fence was found lost, now or earlier.
  bool is_poisoned() const noexcept { return is_latched() || latch_if(of_.is_lost()); }

 private:
  friend waitable<latched_fence>;

  template <class Token>
  wait_status wait_with(std::uint64_t target, deadline until, const Token& token) const noexcept {
    if (of_.is_reached(target)) return wait_status::reached;
    // Again: it may have been reached before it was lost.
    if (is_poisoned()) return of_.is_reached(target) ? wait_status::reached : wait_status::lost;
    const wait_status status = detail::wait_on<platform>(of_, target, until, token);
    static_cast<void>(latch_if(status == wait_status::lost));
    return status;
  }
  bool is_latched() const noexcept {
    // (SF20): acquire, pairs with (SF21).
    return is_lost_.load(std::memory_order_acquire) != 0;
  }
  bool latch_if(bool is_lost) const noexcept {
    // (SF21): release, pairs with (SF20): whoever finds the loss sees the last value.
    if (is_lost) is_lost_.store(1, std::memory_order_release);
    return is_lost;
  }

  const Fence& of_;
  mutable typename platform::template atomic<std::uint32_t> is_lost_{0};
};
template <class Fence>
latched_fence(const Fence&) -> latched_fence<Fence>;

/// A fence that processes share, and that any attachment may signal.
using shared_fence = basic_shared_fence<symmetric_shared_platform, writers::several, shared_rights::signal>;
using shared_fence_waiter = basic_shared_fence<symmetric_shared_platform, writers::several, shared_rights::wait>;
using shared_fence_reader = basic_shared_fence<symmetric_shared_platform, writers::several, shared_rights::look>;

/// A fence that processes share, with one signaller at a time. A second one is refused: `busy`, with the field
/// `rights`.
using shared_progress_fence = basic_shared_fence<shared_platform, writers::one, shared_rights::signal>;
using shared_progress_fence_waiter = basic_shared_fence<shared_platform, writers::one, shared_rights::wait>;
using shared_progress_fence_reader = basic_shared_fence<shared_platform, writers::one, shared_rights::look>;

}  // namespace tidemark

#endif

#endif  // TIDEMARK_FENCE_SHARED_FENCE_HPP
