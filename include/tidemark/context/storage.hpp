// SPDX-License-Identifier: BSL-1.0
//
// context_storage: several threads record work against the same objects, each in a context of its own. The storage
// gives each context a block of its own of every object that the context uses.
//
//   auto storage = tidemark::context_storage<driver>::make(driver{device}, {.max_contexts = 4});
//   auto texture = storage->create(kind::texture, {.width = 64});                creates the immediate context's block
//   auto view = storage->create(kind::view, {}, {{texture.object}});             it depends on the texture
//
//   auto opened = storage->open();                                               a deferred context, for one thread
//   opened.context.begin_recording();
//   if (auto used = opened.context.use(view.object)) used.as<view_state>().is_bound = true;
//   opened.context.end_recording();
//
//   storage->retire(view.object);                      never waits: destroyed when the recordings are over
//   storage->reclaim();                                now and then, any thread
//
// The four forms are those of a retire_queue: retire() has reclaim() destroy the object, destroy() waits and does so
// before it returns, and `assume_not_in_use` as the last argument has either wait for no recording.
//
// The first use in a context creates the context's blocks of the object and of all that it depends on. After that a use
// is a look-up in a table of the context's own: no other thread writes what it reads.
//
//   context -> links -> page -> entry {block, id} written by the context's thread, cleared on destruction
//
// Order of blocks: the immediate context's block of an object is created first and destroyed last. In each context the
// block of an object is created after those that it depends on, and destroyed before them. An object has no other
// blocks: at most one in each context.
//
// What is destroyed, an object or a whole context, is handed in at one place and destroyed by one thread at a time,
// without a lock: either by the thread that hands it in, or by another one that is destroying something just then.
//
// PRECONDITION. Destroy or retire an object only when no recording that begins after the call will use it. Each
// recording that uses it must have begun before, and that beginning must happen-before the call. The object stays until
// these recordings are over; `assume_not_in_use` is for callers who know that they are. The return of create()
// happens-before each use of the object.
//
// Not promised: any order in which blocks are destroyed beyond the above; that a use which returns `no_memory` has
// created no blocks of dependencies.
#ifndef TIDEMARK_CONTEXT_STORAGE_HPP
#define TIDEMARK_CONTEXT_STORAGE_HPP

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "../fence/event_count.hpp"
#include "../fence/wait.hpp"
#include "../memory/retire_queue.hpp"
#include "../platform/assert.hpp"
#include "../platform/names.hpp"
#include "../platform/platform.hpp"
#include "block_maker.hpp"
#include "detail/block_pool.hpp"
#include "detail/storage_parts.hpp"
#include "detail/turns.hpp"
#include "recordings.hpp"

namespace tidemark {

/// Names an object of a storage. One that was made without arguments names no object. An id of an object that was
/// destroyed is stale. That is noticed until its number has been used 2^32 - 2 times more.
class object_id {
 public:
  constexpr object_id() noexcept = default;
  /// \param index       the object's number in its storage
  /// \param generation  which of the objects that had this number, counted from 1. With 0 it names no object
  constexpr object_id(std::uint32_t index, std::uint32_t generation) noexcept
      : number_{std::uint64_t{generation != 0 ? generation : UINT32_MAX} << 32 | index} {}

  [[nodiscard]] constexpr std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(number_); }
  [[nodiscard]] constexpr std::uint32_t generation() const noexcept {
    return static_cast<std::uint32_t>(number_ >> 32);
  }
  /// Returns both as one number, to print or to store it. It is never 0.
  [[nodiscard]] constexpr std::uint64_t number() const noexcept { return number_; }

  friend constexpr bool operator==(const object_id&, const object_id&) noexcept = default;

 private:
  std::uint64_t number_ = std::uint64_t{UINT32_MAX} << 32;  // no object has this generation
};

/// What became of an object that was to be created.
enum class object_create_status : std::uint8_t {
  added,      ///< It has its block in the immediate context.
  no_memory,  ///< The source, or the maker, has no memory for it.
  no_space,   ///< There are as many objects as the storage may have.
  invalid,    ///< It has too many dependencies, or one of them is no object, or is destroyed.
  refused,    ///< The maker has told a size that it has not listed for the kind. An assertion fails then.
  lost,       ///< The maker says that its device is lost.
};

template <>
inline constexpr auto detail::names_of<object_create_status> =
    detail::names("added", "no_memory", "no_space", "invalid", "refused", "lost");

/// The result of context_storage::create().
struct [[nodiscard]] object_create_result {
  object_create_status status = object_create_status::invalid;
  object_id object{};  ///< Names an object only if the status is `added`.

  explicit operator bool() const noexcept { return status == object_create_status::added; }
};

/// What became of an object that was to be destroyed at once.
enum class object_destroy_status : std::uint8_t {
  destroyed,  ///< All its blocks are gone, and their memory is back.
  retired,    ///< It is destroyed later: with the last of the objects that depend on it; or, if a maker's destroy() has
              ///< made the call, as soon as that has returned.
  timeout,    ///< A recording that may use it was open at the deadline. It is the caller's as before.
  stopped,    ///< A recording that may use it was open when the stop token was triggered. It is the caller's as before.
  invalid,    ///< It was destroyed or retired before, or another call waits to destroy it. An assertion fails then.
};

template <>
inline constexpr auto detail::names_of<object_destroy_status> =
    detail::names("destroyed", "retired", "timeout", "stopped", "invalid");

/// The result of context_storage::destroy() and its timed forms.
struct [[nodiscard]] object_destroy_result {
  object_destroy_status status = object_destroy_status::invalid;

  explicit operator bool() const noexcept { return status == object_destroy_status::destroyed; }
};

/// Whether a context has its block of an object.
enum class block_use_status : std::uint8_t {
  ready,      ///< The block is there.
  no_memory,  ///< The source, or the maker, has no memory for it, or for a block that it depends on.
  stale,      ///< There is no such object any more.
  lost,       ///< The maker says that its device is lost; or a command_context knows that its own one is.
};

template <>
inline constexpr auto detail::names_of<block_use_status> = detail::names("ready", "no_memory", "stale", "lost");

/// The result of a use of an object.
struct [[nodiscard]] block_use_result {
  block_use_status status = block_use_status::stale;
  void* block = nullptr;  ///< Null unless the status is `ready`.

  explicit operator bool() const noexcept { return status == block_use_status::ready; }
  /// The block as what the maker has created there. Asserts that there is one.
  template <class State>
  State& as() const noexcept {
    TIDEMARK_ASSERT(block != nullptr, "there is no block");
    return *static_cast<State*>(block);
  }
};

/// Whether a context was opened.
enum class context_open_status : std::uint8_t {
  ready,     ///< It is open.
  no_space,  ///< As many contexts are open, or closed and not destroyed yet, as the storage may have.
};

template <>
inline constexpr auto detail::names_of<context_open_status> = detail::names("ready", "no_space");

/// The choices of a storage.
struct context_storage_options {
  std::uint32_t max_contexts = 16;     ///< With the immediate one; at least 1 (asserted).
  std::uint32_t max_objects = 65'536;  ///< That exist at the same time; at least 1 (asserted).
};

/// \tparam Maker   makes the blocks. The storage moves it into itself
/// \tparam Source  where all memory comes from: a backing source with `std::byte*` as its backing. Several threads call
///                 it at the same time
template <block_maker Maker, detail::block_source Source = heap_source, platform Platform = native_platform>
class context_storage {
  static_assert(object_id{}.generation() == detail::no_generation);

  template <class T>
  using var = typename Platform::template var<T>;
  using pool = detail::block_pool<Platform, Source>;
  using slot = detail::context_slot<Platform, Source>;
  using table = typename slot::table_type;
  using entry = typename table::entry;
  using record = detail::object_record<Platform, Maker::max_dependencies, pool>;
  using parts = detail::storage_parts<Platform, Source, block_size<typename Maker::kind>, record,
                                      typename context_recordings<Platform>::line>;

 public:
  using kind = typename Maker::kind;
  using description = typename Maker::description;
  using size_type = block_size<kind>;
  using recordings_type = context_recordings<Platform>;
  using reclaimer_type = retire_queue<recordings_type>;
  class context;

  /// The result of open().
  struct [[nodiscard]] open_result {
    context_open_status status = context_open_status::no_space;
    context_storage::context context;  ///< Open only if the status is `ready`.

    explicit operator bool() const noexcept { return status == context_open_status::ready; }
  };

  /// Returns a storage without objects; absent if the source has no memory for it, or if the maker lists another number
  /// of sizes when it is asked a second time. Asks the maker for its sizes: how many, then which.
  [[nodiscard]] static std::optional<context_storage> make(Maker maker, const context_storage_options& chosen = {},
                                                           Source source = {}) noexcept {
    TIDEMARK_ASSERT(chosen.max_contexts > 0 && chosen.max_objects > 0, "a storage has contexts and objects");
    if (chosen.max_contexts == 0 || chosen.max_objects == 0) return std::nullopt;
    parts made;
    if (!made.make_sizes(maker, source) || !made.make_tables(chosen.max_contexts, chosen.max_objects, source)) {
      made.destroy(source);
      return std::nullopt;
    }
    return std::optional<context_storage>{std::in_place, made, std::move(maker), chosen, std::move(source)};
  }
  /// For make() only: nobody else can name the first parameter's type.
  context_storage(const parts& made, Maker&& maker, const context_storage_options& chosen, Source&& source) noexcept
      : maker_{std::move(maker)},
        source_{std::move(source)},
        chosen_{chosen},
        parts_{made},
        records_{made.record_pages, chosen.max_objects, this},
        recordings_{{made.recordings, chosen.max_contexts}},
        immediate_{*this, 0},
        reclaimer_{recordings_} {
    static_cast<void>(parts_.context_slots[0].open());
  }
  context_storage(const context_storage&) = delete;
  context_storage& operator=(const context_storage&) = delete;
  /// Destroys all objects, in the right order. Asserts that all deferred contexts are closed, and that no recording is
  /// open. No other call may be under way.
  ~context_storage() {
    for (std::uint32_t i = chosen_.max_contexts; i-- > 0;) {
      TIDEMARK_ASSERT(i == 0 || !parts_.context_slots[i].was_open(), "a storage was destroyed before its contexts");
      TIDEMARK_ASSERT(!recordings_.is_recording(i), "a storage was destroyed while a context was recording");
      if (recordings_.is_recording(i)) recordings_.end(i);
      if (i > 0) close_slot(parts_.context_slots[i]);
    }
    static_cast<void>(reclaimer_.drain());
    destroy_blocks(parts_.context_slots[0]);
    parts_.context_slots[0].clear(0, source_);
    immediate_pools_.clear(source_);
    records_.clear(source_);
    parts_.destroy(source_);
  }

  // ---- objects: the thread of the immediate context -----------------------------------------------------------------

  /// Creates an object: its block in the immediate context. Asks the maker for the size of its deferred blocks.
  /// \param dependencies  objects whose blocks this one's blocks need. None of them may be retired, or be destroyed
  ///                      during the call. From then on they stay at least as long as this object
  object_create_result create(kind of, const description& given,
                              std::span<const object_id> dependencies = {}) noexcept {
    if (!are_valid(dependencies)) return {object_create_status::invalid};
    record* const made = records_.take(source_);
    if (made == nullptr) {
      return {records_.is_full() ? object_create_status::no_space : object_create_status::no_memory};
    }
    made->reset();
    made->kind.store(static_cast<std::uint64_t>(of));
    object_create_status status = while_creating(0, [&] { return create_immediate(*made, given, dependencies); });
    if (status == object_create_status::added && !are_valid(dependencies)) {
      TIDEMARK_ASSERT(false, "a maker destroyed a dependency of the object that it was creating");
      destroy_block(0, *made, *parts_.context_slots[0].table.look(made->index.load()));
      status = object_create_status::invalid;
    }
    if (status != object_create_status::added) {
      records_.put_back(*made);
      return {status};
    }
    for (const object_id& each : dependencies) made->add_dependency(records_.at(each.index()));
    return {status, id_of(*made)};
  }
  /// The same for a list of ids.
  object_create_result create(kind of, const description& given,
                              std::initializer_list<object_id> dependencies) noexcept {
    return create(of, given, std::span<const object_id>{dependencies.begin(), dependencies.size()});
  }

  // ---- destroying objects: any thread -------------------------------------------------------------------------------

  /// Waits until all recordings are over that have begun before, and destroys the object's blocks in all contexts, the
  /// immediate one's last. If other objects depend on it, also retired ones that are not destroyed yet, returns
  /// `retired`: the last of them takes it along. Otherwise returns `destroyed`, and then its blocks are gone: if
  /// another thread is destroying something just then, it does this, too, and is waited for. Returns `stopped` once
  /// `token` is triggered, if a recording is open then; the object is the caller's as before. Blocks, parked. Asserts
  /// that the object is neither destroyed nor retired, and that no other call waits to destroy it. Otherwise returns
  /// `invalid` and does nothing. May destroy what other threads have handed in.
  ///
  /// What is not noticed: the calling thread has a recording open itself, or holds a lock that a maker's destroy()
  /// takes in another thread, or it is in a maker's destroy() and waits for a recording whose thread destroys an object
  /// meanwhile. Then the call waits for ever.
  template <stop_token_like Token = never_stops>
  object_destroy_result destroy(object_id object, Token token = {}) noexcept {
    return destroy_at_once(
        object, [&](record& known, const auto& let_go) { return reclaimer_.destroy(known, let_go, std::move(token)); });
  }
  /// The same, but waits for recordings for `timeout` at most, and then returns `timeout`, and the object is the
  /// caller's as before.
  template <class Rep, class Period, stop_token_like Token = never_stops>
  object_destroy_result destroy_for(object_id object, const std::chrono::duration<Rep, Period>& timeout,
                                    Token token = {}) noexcept {
    return destroy_at_once(object, [&](record& known, const auto& let_go) {
      return reclaimer_.destroy_for(known, let_go, timeout, std::move(token));
    });
  }
  /// The same until a point of the steady or the system clock at most, and then returns `timeout`.
  template <class Clock, class Duration, stop_token_like Token = never_stops>
  object_destroy_result destroy_until(object_id object, const std::chrono::time_point<Clock, Duration>& at,
                                      Token token = {}) noexcept {
    return destroy_at_once(object, [&](record& known, const auto& let_go) {
      return reclaimer_.destroy_until(known, let_go, at, std::move(token));
    });
  }
  /// The same for a caller who knows that no recording uses the object, see the head of this file: waits for no
  /// recording. Blocks only while another thread destroys something. So don't call it in a recording if a maker's
  /// destroy() waits for recordings.
  object_destroy_result destroy(object_id object, assume_not_in_use_t) noexcept {
    return destroy_at_once(object, [&](record& known, const auto& let_go) {
      return reclaimer_.destroy(known, let_go, assume_not_in_use);
    });
  }

  /// Lets some later reclaim() or drain() destroy the object, once all recordings are over that began before this call.
  /// If objects still depend on it, it is destroyed together with the last of them, in the call that destroys that one.
  /// Returns true. Asserts that the object is neither destroyed nor retired, and that no destroy() waits for it.
  /// Otherwise returns false and does nothing. Progress: lock-free; never waits, allocates nothing.
  bool retire(object_id object) noexcept {
    return is_there(object) && reclaimer_.retire(records_.at(object.index()), destroy_it{});
  }
  /// The same, whatever recordings are open: the next reclaim() that looks at the object lets it go. For a caller who
  /// knows that none of them uses the object, see the head of this file, and who does not want to run the maker itself.
  bool retire(object_id object, assume_not_in_use_t) noexcept {
    return is_there(object) && reclaimer_.retire(records_.at(object.index()), destroy_it{}, assume_not_in_use);
  }
  /// Destroys retired objects that no recording uses any more; looks at up to `most`. Returns how many objects it has
  /// let go of. An object on which others depend counts, too, although it is destroyed only after them. Progress:
  /// lock-free but for the maker; never waits.
  std::size_t reclaim(std::size_t most = (std::numeric_limits<std::size_t>::max)()) noexcept {
    return reclaimer_.reclaim(most);
  }
  /// The retire queue behind both. Its drain(), drain_for() and drain_until() block until the recordings are over.
  reclaimer_type& reclaimer() noexcept { return reclaimer_; }
  /// Knows which contexts record. If submission queues use the objects, too, make a retire queue of your own that
  /// follows this and those queues, and whose disposer calls destroy() with assume_not_in_use.
  const recordings_type& recordings() const noexcept { return recordings_; }

  // ---- contexts -----------------------------------------------------------------------------------------------------

  /// Returns the context in which objects are created. It is never closed.
  context& immediate() noexcept { return immediate_; }

  /// Opens a deferred context. It takes no memory before its first use of an object. Any thread. Progress: lock-free.
  open_result open() noexcept {
    for (std::uint32_t i = 1; i < chosen_.max_contexts; ++i) {
      if (parts_.context_slots[i].open()) return {context_open_status::ready, context{*this, i}};
    }
    return {};
  }

  /// Returns the sizes that the maker has listed. Any thread.
  std::span<const size_type> sizes() const noexcept { return {parts_.sizes, parts_.size_count}; }
  /// Returns the number of distinct sizes. Each deferred context has one pool for each of them, from its first block
  /// on. Any thread.
  std::size_t size_classes() const noexcept { return parts_.class_count; }

 private:
  struct destroy_it {
    void operator()(record& which) const noexcept { static_cast<context_storage*>(which.storage)->drop_owner(which); }
  };
  static object_id id_of(const record& object) noexcept { return {object.index.load(), object.current_generation()}; }

  bool is_there(object_id object) const noexcept {
    const bool is_owned = is_known(object) && records_.at(object.index()).is_owned();
    TIDEMARK_ASSERT(is_owned, "an object was destroyed twice");
    return is_owned;
  }
  bool is_known(object_id object) const noexcept {
    if (object.generation() == detail::no_generation || object.index() >= chosen_.max_objects) return false;
    return parts_.record_pages[object.index() / detail::objects_per_page<Platform>].load() != nullptr &&
           records_.at(object.index()).current_generation() == object.generation();
  }
  bool are_valid(std::span<const object_id> dependencies) const noexcept {
    const auto is_there = [&](object_id each) { return is_known(each) && records_.at(each.index()).is_owned(); };
    return dependencies.size() <= Maker::max_dependencies &&
           std::all_of(dependencies.begin(), dependencies.end(), is_there);
  }

  /// Returns the size class of deferred blocks; absent if the maker has not listed the size for the kind.
  std::optional<std::uint32_t> class_of(kind of, std::size_t bytes, std::size_t replica_bytes) const noexcept {
    const size_type asked{of, bytes, replica_bytes};
    const auto is_it = [&](const size_type& each) {
      return each.kind == of && each.bytes == bytes && each.replica_bytes == replica_bytes;
    };
    if (std::none_of(parts_.sizes, parts_.sizes + parts_.size_count, is_it)) return std::nullopt;
    std::size_t* const end = parts_.classes + parts_.class_count;
    return static_cast<std::uint32_t>(std::find(parts_.classes, end, asked.total_bytes()) - parts_.classes);
  }

  /// Returns `create()`, which calls the maker. While that runs, the recording of the context can't end.
  template <class Create>
  auto while_creating(std::uint32_t number, const Create& create) noexcept {
    auto& creating = parts_.context_slots[number].creating;
    const std::uint32_t before = creating.load();
    creating.store(before + 1);
    const auto created = create();
    creating.store(before);
    return created;
  }

  block_create_status make_block(const block_arguments<kind, description>& given) noexcept {
    if constexpr (std::same_as<decltype(maker_.create(given)), bool>) {
      return maker_.create(given) ? block_create_status::ready : block_create_status::no_memory;
    } else {
      return maker_.create(given);
    }
  }

  // ---- the immediate context ----------------------------------------------------------------------------------------

  object_create_status create_immediate(record& made, const description& given,
                                        std::span<const object_id> dependencies) noexcept {
    entry* const own = parts_.context_slots[0].table.add(made.index.load(), source_);
    if (own == nullptr) return object_create_status::no_memory;
    const kind of = static_cast<kind>(made.kind.load());
    const block_layout layout = maker_.immediate_layout(of, given);
    if (layout.bytes > SIZE_MAX / 8 || layout.read_only_bytes > SIZE_MAX / 8) return object_create_status::no_memory;
    const std::size_t read_only_at = (lines_of_block(std::max<std::size_t>(1, layout.bytes)) + 1) * cache_line;
    pool* const from = immediate_pools_.of(
        layout.read_only_bytes == 0 ? layout.bytes : read_only_at + layout.read_only_bytes, source_);
    void* const block = from == nullptr ? nullptr : from->take(source_);
    if (block == nullptr) return object_create_status::no_memory;
    std::byte* const read_only = layout.read_only_bytes == 0 ? nullptr : static_cast<std::byte*>(block) + read_only_at;

    description described = given;
    for (std::size_t i = 0; i < dependencies.size(); ++i) {
      maker_.set_dependency(described, i, records_.at(dependencies[i].index()).immediate.load());
    }
    const std::span<std::byte> to_fill{read_only, layout.read_only_bytes};
    const block_create_status created =
        make_block({immediate_context, of, &described, block, nullptr, to_fill, to_fill});
    if (created != block_create_status::ready) {
      from->give_back(block);
      return created == block_create_status::lost ? object_create_status::lost : object_create_status::no_memory;
    }
    const std::size_t bytes = maker_.deferred_bytes(of, block);
    const std::optional<std::uint32_t> size_class =
        class_of(of, bytes, layout.is_replicated ? layout.read_only_bytes : 0);
    TIDEMARK_ASSERT(size_class, "a maker told a size of deferred blocks that it has not listed");
    if (!size_class) {
      maker_.destroy(immediate_context, of, block);
      from->give_back(block);
      return object_create_status::refused;
    }
    made.size_class.store(*size_class);
    made.deferred_bytes.store(bytes);
    made.immediate.store(block);
    made.immediate_pool.store(from);
    made.read_only.store(read_only);
    made.read_only_bytes.store(layout.read_only_bytes);
    made.is_replicated.store(layout.is_replicated ? 1 : 0);
    own->block.store(block);
    own->id.store(id_of(made).number());
    return object_create_status::added;
  }

  // ---- deferred contexts: the thread of the context -----------------------------------------------------------------

  block_use_result use_first(std::uint32_t number, object_id object) noexcept {
    if (number == 0 || !is_known(object)) return {block_use_status::stale};
    return while_creating(number, [&] { return open_block(number, records_.at(object.index())); });
  }

  /// Returns the context's block of an object. Creates it if there is none, after those that it depends on.
  ///
  /// It goes down to an object of which nothing is missing but its own block, creates that, and goes on with the object
  /// that needed it. So a chain may be as long as there are objects. Until an object has its block, its entry has no
  /// id, and names the object that needs it.
  block_use_result open_block(std::uint32_t number, record& asked) noexcept {
    table& own = parts_.context_slots[number].table;
    for (record* at = &asked;;) {
      if (void* const known = block_in(own, *at)) return {block_use_status::ready, known};  // only of `asked`
      if (record* const needed = missing_for(own, *at)) {
        entry* const added = own.add(needed->index.load(), source_);
        if (added == nullptr) return {block_use_status::no_memory};
        added->block.store(at);
        at = needed;
        continue;
      }
      void* above = nullptr;
      const block_use_result made = create_deferred(number, *at, above);
      if (!made || at == &asked) return made;
      at = above != nullptr ? static_cast<record*>(above) : &asked;
    }
  }
  /// Returns an object's block in a context; null if there is none.
  static void* block_in(const table& of, const record& object) noexcept {
    return of.find(object.index.load()).block_of(id_of(object).number());
  }
  /// Returns the first of the objects on which one depends that has no block in the context; null if all have.
  static record* missing_for(const table& of, const record& object) noexcept {
    const std::uint32_t dependencies = object.dependency_count();
    for (std::uint32_t i = 0; i < dependencies; ++i) {
      if (block_in(of, object.dependency(i)) == nullptr) return &object.dependency(i);
    }
    return nullptr;
  }
  /// Describes an object to the maker by its dependencies, which have blocks. Returns null if there are no
  /// dependencies.
  const description* describe(const table& of, const record& object, description& described) noexcept {
    const std::uint32_t dependencies = object.dependency_count();
    if (dependencies == 0) return nullptr;
    std::memset(static_cast<void*>(&described), 0, sizeof described);
    for (std::uint32_t i = 0; i < dependencies; ++i) {
      maker_.set_dependency(described, i, block_in(of, object.dependency(i)));
    }
    return &described;
  }

  /// Creates a block when those that it needs are there.
  /// \param above  gets the object that needs this one: the entry of this one has kept it. Null if a use within the
  ///               maker has overwritten that entry, and perhaps others
  block_use_result create_deferred(std::uint32_t number, record& object, void*& above) noexcept {
    slot& own = parts_.context_slots[number];
    entry* const added = own.table.add(object.index.load(), source_);
    const std::uint32_t size_class = object.size_class.load();
    pool* const from =
        added == nullptr ? nullptr : own.pool_of(size_class, {parts_.classes, parts_.class_count}, source_);
    void* const block = from == nullptr ? nullptr : from->take(source_);
    if (block == nullptr) return {block_use_status::no_memory};

    std::byte* read_only = object.read_only.load();
    const std::size_t read_only_bytes = object.read_only_bytes.load();
    if (object.is_replicated.load() != 0 && read_only != nullptr) {
      const size_type size{{}, object.deferred_bytes.load(), read_only_bytes};
      const std::size_t at = size.total_bytes() - read_only_bytes;
      read_only = static_cast<std::byte*>(std::memcpy(static_cast<std::byte*>(block) + at, read_only, read_only_bytes));
    }
    const kind of = static_cast<kind>(object.kind.load());
    description described{};
    const description* const given = describe(own.table, object, described);
    above = added->block.load();
    added->block.store(nullptr);
    const block_create_status created =
        make_block({context_id{number}, of, given, block, object.immediate.load(), {}, {read_only, read_only_bytes}});
    if (added->block.load() != nullptr) above = nullptr;
    void* const known = block_in(own.table, object);
    if (created != block_create_status::ready) {
      from->give_back(block);
      if (known == nullptr) added->block.store(&object);  // whoever is creating it, too, finds that
      return {created == block_create_status::lost ? block_use_status::lost : block_use_status::no_memory};
    }
    if (known != nullptr) {
      TIDEMARK_ASSERT(false, "a maker used the object whose block it was creating");
      maker_.destroy(context_id{number}, of, block);
      from->give_back(block);
      return {block_use_status::ready, known};
    }
    added->block.store(block);
    added->id.store(id_of(object).number());
    return {block_use_status::ready, block};
  }

  // ---- destroying: one thread at a time -----------------------------------------------------------------------------

  /// Returns whether this call has destroyed it. Otherwise another thread does so, or an outer call of this one.
  bool hand_in(detail::teardown_request<Platform>& request) noexcept {
    return turns_.hand_in(request, [this](detail::turn_request<Platform>& handed) {
      auto& known = static_cast<detail::teardown_request<Platform>&>(handed);
      if (known.is_context) {
        close_slot(static_cast<slot&>(known));
      } else {
        destroy_object(static_cast<record&>(known));
      }
    });
  }
  void drop_owner(record& object) noexcept {
    if (object.drop_owner()) hand_in(object);
  }

  static object_destroy_status status_of(destroy_status ended) noexcept {
    switch (ended) {
      case destroy_status::timeout:
        return object_destroy_status::timeout;
      case destroy_status::stopped:
        return object_destroy_status::stopped;
      case destroy_status::invalid:
        return object_destroy_status::invalid;
      default:
        return object_destroy_status::destroyed;
    }
  }

  /// \param wait  calls its second argument with the object once that is not in use, and returns the result
  template <class Wait>
  object_destroy_result destroy_at_once(object_id object, const Wait& wait) noexcept {
    if (!is_there(object)) return {object_destroy_status::invalid};
    bool is_last = false;
    bool is_done = false;
    const destroy_result ended = wait(records_.at(object.index()), [&](record& known) noexcept {
      is_last = known.drop_owner();
      is_done = is_last && hand_in(known);
    });
    if (!ended) return {status_of(ended.status)};
    if (!is_done) {
      if (!is_last || turns_.is_served_by_caller()) return {object_destroy_status::retired};
      const record& known = records_.at(object.index());
      static_cast<void>(destroyed_.wait([&]() noexcept { return known.is_over(object.generation()); }));
    }
    return {object_destroy_status::destroyed};
  }

  void destroy_object(record& object) noexcept {
    const std::uint32_t index = object.index.load();
    for (std::uint32_t i = chosen_.max_contexts; i-- > 1;) {
      entry* const found = parts_.context_slots[i].table.look(index);
      if (found != nullptr) destroy_block(i, object, *found);
    }
    entry* const first = parts_.context_slots[0].table.look(index);
    TIDEMARK_ASSERT(first != nullptr, "a maker destroyed an object while its storage was destroyed");
    if (first == nullptr) return;
    destroy_block(0, object, *first);
    for (std::uint32_t i = object.dependency_count(); i-- > 0;) {
      record& needed = object.dependency(i);
      if (needed.drop_dependent()) hand_in(needed);
    }
    const std::uint32_t generation = object.current_generation();
    records_.give_back(object);
    object.set_over(generation);  // behind it: whoever has waited finds the number free
    destroyed_.notify();
  }

  void destroy_block(std::uint32_t number, record& object, entry& found) noexcept {
    void* const block = found.block.load();
    maker_.destroy(context_id{number}, static_cast<kind>(object.kind.load()), block);
    const std::uint32_t size_class = object.size_class.load();
    pool& to = number == 0 ? *object.immediate_pool.load() : parts_.context_slots[number].pool_of(size_class);
    found.clear();
    to.give_back(block);
  }

  /// Destroys the blocks of a context: what depends on others first.
  void destroy_blocks(slot& from) noexcept {
    const auto number = static_cast<std::uint32_t>(&from - parts_.context_slots);
    detail::teardown_order<record> order;
    from.table.for_each([&](std::uint32_t index, entry&) { order.add(records_.at(index)); });
    order.for_each([&](record& object) {
      // In the storage's destructor, the maker may have destroyed another object.
      entry* const found = from.table.look(object.index.load());
      if (found != nullptr) destroy_block(number, object, *found);
    });
  }

  void close_slot(slot& closed) noexcept {
    destroy_blocks(closed);
    closed.clear(parts_.class_count, source_);
    closed.set_free();
  }

  void close(std::uint32_t number) noexcept {
    if (recordings_.is_recording(number)) recordings_.end(number);
    hand_in(parts_.context_slots[number]);
  }

  Maker maker_;
  Source source_;
  const context_storage_options chosen_;
  parts parts_;
  detail::object_records<Platform, record> records_;
  detail::pool_list<Platform, Source> immediate_pools_;
  recordings_type recordings_;
  context immediate_;
  alignas(cache_line) detail::turns<Platform> turns_;
  basic_event_count<Platform> destroyed_;  // for threads that wait until another one has destroyed their object
  reclaimer_type reclaimer_;
};

/// One context of a storage, for one thread at a time. Another thread may take over if the hand-over itself
/// synchronizes. Movable, but for the immediate one: asserts that. One that was made without arguments, or moved from,
/// is closed, and one that another is moved to is closed first. The storage must outlive it.
template <block_maker Maker, detail::block_source Source, platform Platform>
class context_storage<Maker, Source, Platform>::context {
 public:
  context() noexcept = default;
  context(context&& other) noexcept {
    if (other.is_movable()) swap(other);
  }
  context& operator=(context&& other) noexcept {
    if (this == &other || !is_movable() || !other.is_movable() || !can_end()) return *this;
    close();
    swap(other);
    return *this;
  }
  /// Closes a deferred context.
  ~context() {
    if (number_ != 0) close();
  }

  // All functions that use a recording assert that the context is open. In one that is closed they do nothing, and
  // use() returns `stale`.

  [[nodiscard]] bool is_open() const noexcept { return storage_ != nullptr; }
  /// Returns the context's number, which another context may have once this one is closed. Of a closed context it
  /// returns 0, the number of the immediate one.
  [[nodiscard]] context_id id() const noexcept { return context_id{number_}; }

  /// Begins a recording. Objects are used between this and end_recording(); the blocks stay for later recordings.
  /// Asserts that no recording is open. Progress: wait-free.
  void begin_recording() noexcept {
    TIDEMARK_ASSERT(is_open(), "a context was used that is closed");
    if (is_open()) storage_->recordings_.begin(number_);
  }
  /// Ends it: objects that were retired since it began may be destroyed. Asserts that one is open. Progress: wait-free,
  /// and a system call if a thread waits for it.
  void end_recording() noexcept {
    TIDEMARK_ASSERT(is_open(), "a context was used that is closed");
    if (is_open() && can_end()) storage_->recordings_.end(number_);
  }
  /// Returns whether a recording is open; false of a context that is closed.
  [[nodiscard]] bool is_recording() const noexcept { return is_open() && storage_->recordings_.is_recording(number_); }
  /// Returns whether the maker is creating a block for this context. Until it has done so, the recording can't end.
  [[nodiscard]] bool is_creating() const noexcept {
    return is_open() && storage_->parts_.context_slots[number_].creating.load() != 0;
  }

  /// Returns this context's block of the object; at its first use the maker creates the block, after those that it
  /// depends on, however many. Returns `no_memory` or `lost` if that fails. Then only blocks of dependencies may have
  /// been added, and a later use tries again. Asserts that a recording is open. Progress: wait-free if there is a
  /// block: loads alone, and only of what this context has written. Otherwise lock-free but for source and maker.
  block_use_result use(object_id object) noexcept {
    TIDEMARK_ASSERT(is_recording(), "an object was used by a context that does not record");
    if (!is_index(object)) [[unlikely]]
      return {block_use_status::stale};
    const entry& found = table::find(links_, object.index());
    if (found.id.load() == object.number()) [[likely]]
      return {block_use_status::ready, found.block.load()};
    return storage_->use_first(number_, object);
  }
  /// Returns this context's block of the object; null if it has none. Creates nothing. Progress: wait-free, as use().
  [[nodiscard]] void* find(object_id object) const noexcept {
    TIDEMARK_ASSERT(is_open(), "a context was used that is closed");
    if (!is_index(object)) [[unlikely]]
      return nullptr;
    return table::find(links_, object.index()).block_of(object.number());
  }

  /// Destroys the context's blocks and gives all its memory back. A recording that is open ends. Asserts that it is not
  /// the immediate context, which can't be closed. If another thread is destroying an object or a context at this
  /// moment, that thread does it. If this is called from a maker's destroy(), it may be done only after this returns.
  /// Otherwise it is done when this returns. Progress: O(n log n) in the blocks, and O(n) in the pages of the table;
  /// lock-free but for source and maker, and for a system call if a thread waits for the recording; never waits. May
  /// destroy what other threads have handed in.
  void close() noexcept {
    TIDEMARK_ASSERT(storage_ == nullptr || number_ != 0, "the immediate context can't be closed");
    if (storage_ == nullptr || number_ == 0 || !can_end()) return;
    links_ = nullptr;
    objects_ = 0;
    std::exchange(storage_, nullptr)->close(std::exchange(number_, 0));
  }

 private:
  friend context_storage;

  context(context_storage& storage, std::uint32_t number) noexcept
      : links_{storage.parts_.context_slots[number].table.links()},
        storage_{&storage},
        number_{number},
        objects_{storage.chosen_.max_objects} {}

  bool is_movable() const noexcept {
    const bool is_immediate = storage_ != nullptr && number_ == 0;
    TIDEMARK_ASSERT(!is_immediate, "the immediate context can't be moved");
    return !is_immediate;
  }
  bool is_index(object_id object) const noexcept {
    TIDEMARK_ASSERT(objects_ == 0 || object.index() < objects_, "this is no object of the storage");
    return object.index() < objects_;
  }
  bool can_end() const noexcept {
    const bool is_possible = !is_creating();
    TIDEMARK_ASSERT(is_possible, "a maker ended the recording that it was creating a block for");
    return is_possible;
  }
  void swap(context& other) noexcept {
    std::swap(links_, other.links_);
    std::swap(storage_, other.storage_);
    std::swap(number_, other.number_);
    std::swap(objects_, other.objects_);
  }

  const typename table::link* links_ = nullptr;
  context_storage* storage_ = nullptr;
  std::uint32_t number_ = 0;
  std::uint32_t objects_ = 0;  // how many there may be; 0: the context is closed
};

}  // namespace tidemark

#endif  // TIDEMARK_CONTEXT_STORAGE_HPP
