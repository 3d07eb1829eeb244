// SPDX-License-Identifier: BSL-1.0
//
// object_records: what a context_storage knows of its objects, indexed by their numbers.
//
// The thread of the immediate context makes records, and writes one before anybody has the object's id. From then on a
// record is read-only but for `uses`, until the object is destroyed.
//
//   uses     bit 0: the object was not destroyed by its owner. The rest counts the objects that depend on it, which
//            keep it. Whoever takes it to 0 has the object's blocks destroyed
//
// A record is used again with the next generation, so that an id of the object before is found to be stale.
#ifndef TIDEMARK_CONTEXT_DETAIL_OBJECT_RECORDS_HPP
#define TIDEMARK_CONTEXT_DETAIL_OBJECT_RECORDS_HPP

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "../../fence/detail/linked_sort.hpp"
#include "../../fence/detail/push_stack.hpp"
#include "../../memory/retire_queue.hpp"
#include "../../platform/platform.hpp"
#include "source_array.hpp"
#include "turns.hpp"

namespace tidemark::detail {

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
    // stronger: see there.
    return uses_.fetch_sub(one_dependent, std::memory_order_acquire) == one_dependent;
  }

  std::uint32_t current_generation() const noexcept {
    // (CO6): relaxed alone: of an object that is alive it does not change; otherwise it is a guess that notices misuse.
    return generation_.load(std::memory_order_relaxed);
  }
  void begin_generation() noexcept {
    const std::uint32_t next = current_generation() + 1;
    // (CO7): relaxed alone, as (CO6). No object has generation 0, so that the number of an id is never 0.
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

template <platform Platform, class Record, std::size_t ObjectsPerPage>
class object_records {
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
    auto& page = pages_[made_ / ObjectsPerPage];
    if (made_ % ObjectsPerPage == 0) {
      if (Record* const added = make_array<Record>(source, ObjectsPerPage, storage_)) {
        page.store(added);
      } else {
        return nullptr;
      }
    }
    Record& made = page.load()[made_ % ObjectsPerPage];
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
  Record& at(std::uint32_t index) const noexcept {
    return pages_[index / ObjectsPerPage].load()[index % ObjectsPerPage];
  }

  template <class Source>
  void clear(Source& source) noexcept {
    for (std::size_t i = 0; i < made_; i += ObjectsPerPage) {
      destroy_array(source, pages_[i / ObjectsPerPage].load(), ObjectsPerPage);
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

}  // namespace tidemark::detail

#endif  // TIDEMARK_CONTEXT_DETAIL_OBJECT_RECORDS_HPP
