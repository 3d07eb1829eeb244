// SPDX-License-Identifier: BSL-1.0
//
// storage_parts: what a context_storage keeps: its objects, its contexts with their tables of blocks, and what it
// allocates once.
#ifndef TIDEMARK_CONTEXT_DETAIL_STORAGE_PARTS_HPP
#define TIDEMARK_CONTEXT_DETAIL_STORAGE_PARTS_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "../../memory/retire_queue.hpp"
#include "../../platform/platform.hpp"
#include "../../platform/tools/intrusive_lists.hpp"
#include "block_pool.hpp"
#include "turns.hpp"

namespace tidemark::detail {

// object_records: what a context_storage knows of its objects, indexed by their numbers.
//
// The thread of the immediate context makes records, and writes one before anybody has the object's id. From then on a
// record is read-only but for `uses`, until the object is destroyed.
//
//   uses        bit 0: the object was not destroyed by its owner. The rest counts the objects that depend on it, which
//               keep it. Whoever takes it to 0 has the object's blocks destroyed
//   generation  which of the objects that had this number is the present one, or will be the next one
//   over        the last generation that is destroyed and whose number is back; 0: none. Threads that wait for the
//               destruction read it. Only a thread that destroys in its turn writes it
//
// A record is used again with the next generation, so that an id of the object before is found to be stale.

/// The generation of an id that names no object.
inline constexpr std::uint32_t no_generation = UINT32_MAX;

/// \tparam Pool  the pool of the immediate block
template <platform Platform, std::size_t Dependencies, class Pool>
struct object_record : retire_hook<1, Platform>, teardown_request<Platform> {
  template <class T>
  using var = typename Platform::template var<T>;
  static constexpr std::uint32_t owned = 1;
  static constexpr std::uint32_t one_dependent = 2;

  explicit object_record(void* its_storage) noexcept : teardown_request<Platform>{false}, storage{its_storage} {}

  /// Returns how many objects it depends on.
  std::uint32_t dependency_count() const noexcept { return depends_on_.load(); }
  object_record& dependency(std::uint32_t which) const noexcept { return *dependencies_[which].load(); }
  /// Keeps the object that it depends on, from which at least its owner keeps it now.
  void add_dependency(object_record& added) noexcept {
    const std::uint32_t which = depends_on_.load();
    dependencies_[which].store(&added);
    depends_on_.store(which + 1);
    const std::uint32_t below = rank.load();
    const std::uint32_t least = added.rank.load() + 1;
    rank.store(least > below ? least : below);
    // (CO1): relaxed alone: the caller knows that the object is not destroyed meanwhile.
    added.uses_.fetch_add(one_dependent, std::memory_order_relaxed);
  }
  void reset() noexcept {
    depends_on_.store(0);
    rank.store(0);
    // (CO2): relaxed alone: nobody else knows the object yet.
    uses_.store(owned, std::memory_order_relaxed);
  }

  bool is_owned() const noexcept {
    // (CO3): relaxed alone, for noticing misuse.
    return (uses_.load(std::memory_order_relaxed) & owned) != 0;
  }
  /// Returns whether the object's blocks are to be destroyed now.
  bool drop_owner() noexcept {
    // (CO4): release, pairs with (CO5). Not stronger: dependents are dropped by threads that destroy one after the
    // other, and so does the caller, if it takes the count to 0.
    return uses_.fetch_and(~owned, std::memory_order_release) == owned;
  }
  /// The same. Only while the caller destroys in its turn.
  bool drop_dependent() noexcept {
    // (CO5): acquire, pairs with (CO4): whoever drops the last dependent destroys what the owner has used before. Not
    // stronger: see there. The notify() that follows would order it where it has a fence; an asymmetric one has none.
    return uses_.fetch_sub(one_dependent, std::memory_order_acquire) == one_dependent;
  }

  std::uint32_t current_generation() const noexcept {
    // (CO6): relaxed alone: of an object that is alive it does not change; otherwise it is a guess that notices misuse.
    return generation_.load(std::memory_order_relaxed);
  }
  /// Returns whether the object of that generation was destroyed and its number was given back. Both happen-before a
  /// return of true. A later object of the record may be over by then, too.
  bool is_over(std::uint32_t generation) const noexcept {
    // (CO8): acquire, pairs with (CO7). Not stronger: the event count orders it with its look for threads that wait.
    return static_cast<std::int32_t>(over_.load(std::memory_order_acquire) - generation) >= 0;
  }
  /// Only while the caller destroys in its turn, and after the record was given back. It may belong to the next object
  /// by then, which other threads may even have handed in. But that one is destroyed in a later turn: so the values
  /// only rise, and what is stored here is not later than what was given back.
  void set_over(std::uint32_t generation) noexcept {
    // (CO7): release, pairs with (CO8). Not stronger: see there.
    over_.store(generation, std::memory_order_release);
  }
  void begin_generation() noexcept {
    const std::uint32_t next = current_generation() + 1;
    // (CO9): relaxed alone, as (CO6): the thread that takes the record again sees it by the stack of the records. No
    // object has generation 0, so that the number of an id is never 0.
    generation_.store(next == no_generation ? 1 : next, std::memory_order_relaxed);
  }

  void* const storage;
  var<std::uint32_t> index;
  var<std::uint64_t> kind;
  var<std::uint32_t> rank;  // 0 without dependencies, otherwise more than theirs
  var<std::uint32_t> size_class;
  var<std::size_t> deferred_bytes;
  var<void*> immediate;
  var<Pool*> immediate_pool;
  var<std::byte*> read_only;
  var<std::size_t> read_only_bytes;
  var<std::uint32_t> is_replicated;
  var<object_record*> next_free;
  object_record* next_in_teardown = nullptr;  // of a teardown_order

 private:
  var<std::uint32_t> depends_on_;
  std::array<var<object_record*>, Dependencies> dependencies_;
  typename Platform::template atomic<std::uint32_t> uses_{0};
  typename Platform::template atomic<std::uint32_t> generation_{1};
  typename Platform::template atomic<std::uint32_t> over_{0};
};

/// Objects in the order in which a context destroys its blocks of them: by falling ranks. It is made in O(n log n) at
/// most. For the only thread that destroys.
template <class Record>
class teardown_order {
 public:
  teardown_order() = default;
  teardown_order(const teardown_order&) = delete;
  teardown_order& operator=(const teardown_order&) = delete;

  void add(Record& added) noexcept {
    added.next_in_teardown = first_;
    first_ = &added;
    ++count_;
  }
  /// Calls `body(record)` for each, in order. Only once.
  template <class Body>
  void for_each(const Body& body) noexcept {
    Record* rest = linked_sort<Record, by_rank>::sorted(first_, count_);
    while (rest != nullptr) body(*std::exchange(rest, rest->next_in_teardown));
  }

 private:
  struct by_rank {
    static Record*& next(Record& of) noexcept { return of.next_in_teardown; }
    static bool comes_before(const Record& one, const Record& other) noexcept {
      const std::uint32_t index = one.index.load();
      return key(one) != key(other) ? key(one) < key(other) : index < other.index.load();
    }
    static std::uint64_t key(const Record& of) noexcept { return UINT32_MAX - of.rank.load(); }
  };

  Record* first_ = nullptr;
  std::size_t count_ = 0;
};

/// The number of objects whose entries lie in one page. A platform may say another number, for model checks.
template <class Platform>
inline constexpr std::size_t objects_per_page = [] {
  if constexpr (requires { Platform::objects_per_page; }) {
    return Platform::objects_per_page;
  } else {
    return std::size_t{128};
  }
}();

template <platform Platform, class Record>
class object_records {
  static constexpr std::size_t per_page = objects_per_page<Platform>;

 public:
  /// \param pages    one pointer for each page, all null
  /// \param storage  what the records belong to
  object_records(typename Platform::template var<Record*>* pages, std::size_t most, void* storage) noexcept
      : pages_{pages}, most_{most}, storage_{storage} {}

  /// Returns a record that is not in use; null if there are as many objects as there may be, or if there is no memory
  /// for more. The immediate context's thread.
  template <class Source>
  Record* take(Source& source) noexcept {
    if (free_ == nullptr) free_ = returned_.take();
    if (free_ != nullptr) {
      Record* const taken = free_;
      free_ = taken->next_free.load();
      return taken;
    }
    if (made_ == most_) return nullptr;
    auto& page = pages_[made_ / per_page];
    if (made_ % per_page == 0) {
      if (Record* const added = make_array<Record>(source, per_page, storage_)) {
        page.store(added);
      } else {
        return nullptr;
      }
    }
    Record& made = page.load()[made_ % per_page];
    made.index.store(static_cast<std::uint32_t>(made_));
    ++made_;
    return &made;
  }
  bool is_full() const noexcept { return made_ == most_; }

  /// Gives back a record that take() has returned and that nobody else knows. The immediate context's thread.
  void put_back(Record& unused) noexcept {
    unused.next_free.store(free_);
    free_ = &unused;
  }
  /// Gives back the record of an object that was destroyed. Any thread.
  void give_back(Record& destroyed) noexcept {
    destroyed.begin_generation();
    returned_.push(destroyed, destroyed.next_free);
  }

  /// Returns the record of an object. The caller must have got the object's id from the thread that has created it.
  Record& at(std::uint32_t index) const noexcept { return pages_[index / per_page].load()[index % per_page]; }

  template <class Source>
  void clear(Source& source) noexcept {
    for (std::size_t i = 0; i < made_; i += per_page) {
      destroy_array(source, pages_[i / per_page].load(), per_page);
    }
    made_ = 0;
  }

 private:
  typename Platform::template var<Record*>* const pages_;
  const std::size_t most_;
  void* const storage_;
  std::size_t made_ = 0;
  Record* free_ = nullptr;
  push_stack<Platform, Record> returned_;
};

// context_slot: what a context_storage keeps for one context. A slot is used again when its context is closed.
//
//   table   where the blocks are
//   pools   one for each size class; null until the context creates its first block

/// block_table: where a context has its blocks. It is indexed by the numbers of objects, and made of pages, which are
/// allocated when they are needed first.
///
///   links   one for each page; at first all of them name `none`, a page without blocks that all tables share
///   entry   the block, and the id of its object as a number; 0: there is no block. Then the context's thread may keep
///           something else in its place
///
/// The context's thread adds pages and writes entries. The thread that destroys an object clears the object's entry,
/// which the context does not use any more then. So links are atomic, because that thread reads them while the context
/// adds other pages, and entries need not be.
template <platform Platform>
class block_table {
  static constexpr std::size_t per_page = objects_per_page<Platform>;

  template <class T>
  using var = typename Platform::template var<T>;

 public:
  struct entry {
    var<void*> block;
    var<std::uint64_t> id;

    /// Returns the block if it is that object's; otherwise null.
    void* block_of(std::uint64_t object) const noexcept {
      if (id.load() != object) return nullptr;
      return block.load();
    }
    void clear() noexcept {
      block.store(nullptr);
      id.store(0);
    }
  };
  using page = std::array<entry, per_page>;
  using link = typename Platform::template atomic<page*>;

  static constexpr std::size_t pages_for(std::size_t objects) noexcept {
    return objects / per_page + (objects % per_page != 0 ? 1 : 0);
  }

  /// \param links  one for each page, which name `none`
  /// \param none   a page without blocks
  block_table(link* links, std::size_t pages, page* none) noexcept : links_{links}, pages_{pages}, none_{none} {}

  /// Returns the entry of an object; without a block if its page was never added. The context's thread.
  static const entry& find(const link* links, std::uint32_t index) noexcept {
    // (CB1): relaxed alone: the context's thread reads what it has written.
    return (*links[index / per_page].load(std::memory_order_relaxed))[index % per_page];
  }
  const entry& find(std::uint32_t index) const noexcept { return find(links_, index); }

  /// Returns the entry of an object, to be written; null if there is no memory for its page. The context's thread.
  template <class Source>
  entry* add(std::uint32_t index, Source& source) noexcept {
    link& named = links_[index / per_page];
    // (CB2): relaxed alone, as (CB1).
    page* found = named.load(std::memory_order_relaxed);
    if (found == none_) {
      found = make_array<page>(source, 1);
      if (found == nullptr) return nullptr;
      // (CB3): release, pairs with (CB4): the entries of the page are there.
      named.store(found, std::memory_order_release);
    }
    return &(*found)[index % per_page];
  }

  /// Returns the entry of an object that the context does not use any more; null if there is no block. Any thread.
  entry* look(std::uint32_t index) noexcept {
    // (CB4): acquire, pairs with (CB3). Not stronger: the entry itself was handed over by the end of the recording.
    page* const found = links_[index / per_page].load(std::memory_order_acquire);
    entry& asked = (*found)[index % per_page];
    return asked.id.load() == 0 ? nullptr : &asked;
  }

  /// Calls `body(index, entry)` for each block. For the only thread that uses the table.
  template <class Body>
  void for_each(const Body& body) noexcept {
    for (std::size_t at = 0; at < pages_; ++at) {
      // (CB5): relaxed alone: the caller is alone with the table, which was handed over to it.
      page* const found = links_[at].load(std::memory_order_relaxed);
      if (found == none_) continue;
      for (std::size_t i = 0; i < per_page; ++i) {
        if ((*found)[i].id.load() != 0) body(static_cast<std::uint32_t>(at * per_page + i), (*found)[i]);
      }
    }
  }

  /// Gives the pages back, whose entries must have no blocks. Other threads may look for objects without blocks here
  /// only if the caller serves them one after the other.
  template <class Source>
  void clear(Source& source) noexcept {
    for (std::size_t at = 0; at < pages_; ++at) {
      // (CB6): relaxed alone, as (CB5).
      page* const found = links_[at].load(std::memory_order_relaxed);
      if (found == none_) continue;
      // (CB7): relaxed alone: whoever reads it next is served later, or has opened the context anew.
      links_[at].store(none_, std::memory_order_relaxed);
      destroy_array(source, found, 1);
    }
  }

  const link* links() const noexcept { return links_; }

 private:
  link* const links_;
  const std::size_t pages_;
  page* const none_;
};

template <platform Platform, class Source>
class alignas(cache_line) context_slot : public teardown_request<Platform> {
 public:
  using pool = block_pool<Platform, Source>;
  using table_type = block_table<Platform>;

  /// The arguments are those of the table.
  context_slot(typename table_type::link* links, std::size_t pages, typename table_type::page* none) noexcept
      : teardown_request<Platform>{true}, table{links, pages, none} {}

  /// Returns whether the slot was free and is the caller's now. Any thread.
  bool open() noexcept {
    std::uint32_t expected = 0;
    // (CC1): acquire, pairs with (CC2): the new context finds the slot as it was left.
    return is_open_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void set_free() noexcept {
    // (CC2): release, pairs with (CC1).
    is_open_.store(0, std::memory_order_release);
  }
  bool was_open() const noexcept {
    // (CC3): relaxed alone, for noticing misuse.
    return is_open_.load(std::memory_order_relaxed) != 0;
  }

  /// Returns the pool of a size class; null if there is no memory for the pools. The context's thread.
  /// \param bytes  of all size classes
  pool* pool_of(std::uint32_t size_class, std::span<const std::size_t> bytes, Source& source) noexcept {
    pool* pools = pools_.load();
    if (pools == nullptr) {
      pools = allocate_array<pool>(source, bytes.size());
      if (pools == nullptr) return nullptr;
      for (std::size_t i = 0; i < bytes.size(); ++i) ::new (static_cast<void*>(pools + i)) pool(bytes[i]);
      pools_.store(pools);
    }
    return pools + size_class;
  }
  /// The same for a context that has a block of this size class. For the thread that destroys that block.
  pool& pool_of(std::uint32_t size_class) noexcept { return pools_.load()[size_class]; }

  /// Gives all memory back. No block may be left.
  void clear(std::size_t size_classes, Source& source) noexcept {
    table.clear(source);
    pool* const pools = pools_.load();
    if (pools == nullptr) return;
    for (std::size_t i = 0; i < size_classes; ++i) pools[i].clear(source);
    destroy_array(source, pools, size_classes);
    pools_.store(nullptr);
  }

  table_type table;
  typename Platform::template var<std::uint32_t>
      creating;  // calls of the maker that are under way. The context's thread

 private:
  typename Platform::template var<pool*> pools_;
  typename Platform::template atomic<std::uint32_t> is_open_{0};
};

// storage_parts: what a context_storage allocates once, when it is made.

/// \tparam Size       a kind of objects, and the bytes of its deferred blocks
/// \tparam Record     what is known of an object
/// \tparam Recording  what is known of the recordings of a context
template <platform Platform, class Source, class Size, class Record, class Recording>
struct storage_parts {
  using slot = context_slot<Platform, Source>;
  using table = typename slot::table_type;
  using record_link = typename Platform::template var<Record*>;
  static constexpr std::size_t links_per_line = std::max<std::size_t>(1, cache_line / sizeof(typename table::link));

  /// Asks the maker for its sizes: how many, then which. Returns false if there is no memory, or if the second answer
  /// is not the number of the first.
  template <class Maker>
  bool make_sizes(const Maker& maker, Source& source) noexcept {
    size_count = maker.list_block_sizes({});
    room = std::max<std::size_t>(1, size_count);
    sizes = make_array<Size>(source, room);
    classes = make_array<std::size_t>(source, room);
    if (sizes == nullptr || classes == nullptr) return false;
    if (maker.list_block_sizes({sizes, size_count}) != size_count) return false;
    for (std::size_t i = 0; i < size_count; ++i) {
      const std::size_t bytes = sizes[i].total_bytes();
      if (std::find(classes, classes + class_count, bytes) == classes + class_count) classes[class_count++] = bytes;
    }
    return true;
  }

  /// Returns false if there is no memory.
  bool make_tables(std::size_t max_contexts, std::size_t max_objects, Source& source) noexcept {
    contexts = max_contexts;
    pages = table::pages_for(max_objects);
    none = make_array<typename table::page>(source, 1);
    links_of_each = (pages + links_per_line - 1) / links_per_line * links_per_line;
    links = make_array<typename table::link>(source, contexts * links_of_each, none);
    recordings = make_array<Recording>(source, contexts);
    record_pages = make_array<record_link>(source, pages);
    if (none == nullptr || links == nullptr || recordings == nullptr || record_pages == nullptr) return false;
    context_slots = allocate_array<slot>(source, contexts);
    if (context_slots == nullptr) return false;
    for (std::size_t i = 0; i < contexts; ++i) {
      ::new (static_cast<void*>(context_slots + i)) slot(links + i * links_of_each, pages, none);
    }
    return true;
  }

  /// Gives all of it back, or as much as was made.
  void destroy(Source& source) noexcept {
    destroy_array(source, context_slots, contexts);
    destroy_array(source, record_pages, pages);
    destroy_array(source, recordings, contexts);
    destroy_array(source, links, contexts * links_of_each);
    destroy_array(source, none, 1);
    destroy_array(source, classes, room);
    destroy_array(source, sizes, room);
  }

  Size* sizes = nullptr;
  std::size_t* classes = nullptr;  // the bytes that differ
  std::size_t room = 0;            // of both
  std::size_t size_count = 0;
  std::size_t class_count = 0;
  std::size_t contexts = 0;
  std::size_t pages = 0;  // of each context's table, and of the records
  typename table::page* none = nullptr;
  std::size_t links_of_each = 0;          // of a context: whole lines, at least one link for each page
  typename table::link* links = nullptr;  // of all contexts
  Recording* recordings = nullptr;        // one for each context
  record_link* record_pages = nullptr;
  slot* context_slots = nullptr;
};

}  // namespace tidemark::detail

#endif  // TIDEMARK_CONTEXT_DETAIL_STORAGE_PARTS_HPP
