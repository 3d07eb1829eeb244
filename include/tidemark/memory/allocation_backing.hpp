// SPDX-License-Identifier: BSL-1.0
//
// allocation_backing: one backing of a mapped allocation: its pages in system memory, its pages in one of its
// memory segments while it is there, what shows these to the processor, and the cache operations that it needs. Part of
// mapped_allocation.hpp. Linux only.
//
//   where             the bytes are in
//   system_memory     pages of its own
//   aperture_segment  the same pages, which the device uses, too
//   memory_segment    pages of one of the segments, any that were free
//
// A view of the pages of the segment is made by the first lock that needs it, and stays until the backing leaves the
// segment; a view through the window, and its pages of the window, only while the backing is locked.
//
// The pin keeps the threads apart (lock_decision.hpp). It is locked while the processor has an address, and committed
// while a thread moves the bytes, looks for an address, or writes the caches back. Where the bytes are, and what their
// pages are there, belongs to the thread that has committed the pin; and to the thread that locks, while the pin is
// locked. Between system memory and an aperture segment no byte moves, so any thread may change that at any time. What
// is known of locks and of work belongs to the thread that locks.
//
// Not promised: thread-safety of the other functions; the allocation calls them only where they are allowed.
#ifndef TIDEMARK_MEMORY_ALLOCATION_BACKING_HPP
#define TIDEMARK_MEMORY_ALLOCATION_BACKING_HPP

#if defined(__linux__)

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "../fence/timeline.hpp"
#include "../platform/platform.hpp"
#include "coherency_tracker.hpp"
#include "device_segment.hpp"
#include "host_aperture.hpp"
#include "lock_decision.hpp"
#include "mapped_view.hpp"
#include "supported_segments.hpp"

namespace tidemark {

/// What work does to the memory that an unlock hands to it.
enum class device_use : std::uint8_t {
  none,    ///< No work uses it.
  reads,   ///< Work reads it.
  writes,  ///< Work writes it, and may read it.
};

/// The caches of a machine whose devices look into them: nothing has to be done.
struct coherent_caches {
  void write_back(std::uint64_t, std::uint64_t) noexcept {}
  void invalidate(std::uint64_t, std::uint64_t) noexcept {}
};

/// One backing; see the head of this file.
template <timeline Timeline, cache_operations Cache>
class allocation_backing {
  using platform = timeline_platform<Timeline>;

 public:
  using gate = basic_commit_gate<platform>;
  using segment = device_segment<Timeline>;

  /// Where a backing is.
  struct place {
    residence where;
    device_segment<Timeline>* segment;  ///< nullptr if it is in none of the memory segments.
  };
  /// Pages of one of the memory segments, or why there are none.
  struct taken_pages {
    std::size_t index;  ///< Of the segment.
    aperture_view view;
  };

  /// Returns a backing in system memory, all zero, which the caller deletes; or nullptr if the system refuses. With a
  /// cache, the program ends if there is no memory for the coherency_tracker.
  /// \param cache  nullptr if it needs no cache operations
  static allocation_backing* make(const Timeline& finished, const supported_segments<Timeline>& segments,
                                  std::size_t pages, Cache* cache) noexcept {
    auto system = memory_pages::make(pages);
    std::unique_ptr<std::uint64_t[]> numbers{system ? new (std::nothrow) std::uint64_t[pages]() : nullptr};
    if (numbers == nullptr) return nullptr;
    auto* const made = new (std::nothrow) allocation_backing{segments, std::move(*system), std::move(numbers)};
    if (made != nullptr && cache != nullptr) {
      const coherency_options options{.bytes = made->bytes()};
      made->tracked_.emplace(finished, options, cache_of_backing{cache, made->system_.page(0)});
    }
    return made;
  }

  allocation_backing(const allocation_backing&) = delete;
  allocation_backing& operator=(const allocation_backing&) = delete;
  ~allocation_backing() {
    const place now = where_now();
    if (now.segment == nullptr) return;
    hide(*now.segment);
    now.segment->places().unmap(placed_);
  }

  [[nodiscard]] std::size_t pages() const noexcept { return system_.pages(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return pages() * memory_pages::page_bytes(); }
  /// Any thread may call it. Another one may change it at any moment.
  [[nodiscard]] place where_now() const noexcept {
    // (K11): acquire, pairs with (K12): who learns where a backing is finds its bytes there, too. Not stronger: it only
    // looks.
    const std::uint32_t word = where_.load(std::memory_order_acquire);
    if (word < first_segment) return {static_cast<residence>(word), nullptr};
    return {residence::memory_segment, segments_.memory()[word - first_segment]};
  }
  [[nodiscard]] residence where() const noexcept { return where_now().where; }
  [[nodiscard]] bool is_in_segment() const noexcept { return where_now().segment != nullptr; }

  /// Returns a page of the bytes, as the device sees it.
  [[nodiscard]] std::byte* page(std::size_t index) const noexcept {
    const place now = where_now();
    return now.segment != nullptr ? page_in(*now.segment, index) : system_.page(index);
  }
  /// Returns where the processor sees the first byte: in the segment only after show() or show_through_window().
  [[nodiscard]] std::byte* address() const noexcept { return is_in_segment() ? shown_->data() : system_.page(0); }

  // ---- the segment ------------------------------------------------------------------------------------------------

  /// Takes pages for all bytes from the first of these segments that has them. The view is false if none has. Its
  /// status is `busy` if another thread is just looking at the pages of one of them. Any thread may call it.
  /// \param first  an index of the segments
  /// \param end    behind the last one, and greater
  [[nodiscard]] taken_pages take_pages(std::size_t first, std::size_t end) noexcept {
    taken_pages taken{};
    for (std::size_t index = first; index != end; ++index) {
      const aperture_view view = segments_.memory()[index]->places().try_map(some_pages{pages()});
      const bool was_busy = taken.view.status == aperture_status::busy;
      if (view || !was_busy) taken = {index, view};
      if (view) break;
    }
    return taken;
  }
  /// Gives back what take_pages() returned. Any thread may call it.
  void give_back(const taken_pages& taken) noexcept {
    if (taken.view) segments_.memory()[taken.index]->places().unmap(taken.view);
  }

  /// Moves the bytes from system memory into a segment.
  /// \param taken  of take_pages()
  void enter_segment(const taken_pages& taken) noexcept {
    segment& into = *segments_.memory()[taken.index];
    placed_ = taken.view;
    into.places().for_each(placed_, [this](const aperture_page& given) { numbers_[given.index] = given.window; });
    prepare_processor_read();
    for (std::size_t i = 0; i < pages(); ++i) copy_page(page_in(into, i), system_.page(i));
    is_now(word_of(taken.index));
  }
  /// Leaves the segment in which it is, and gives its pages back.
  /// \param to     not a memory segment
  /// \param keeps  whether the bytes are copied to system memory first, and written back there, so that the device may
  ///               use them at once; otherwise they are undefined
  void leave_segment(residence to, bool keeps) noexcept {
    segment& from = *where_now().segment;
    if (keeps) {
      for (std::size_t i = 0; i < pages(); ++i) copy_page(system_.page(i), page_in(from, i));
      if (tracked_) {
        static_cast<void>(tracked_->try_prepare_cpu_write(0, bytes()));
        tracked_->prepare_device_read(0, bytes(), 0);
      }
    }
    hide(from);
    from.places().unmap(placed_);
    is_now(word_of(to));
  }
  /// Changes what the pages in system memory are to the device, and returns true. Returns false, and changes nothing,
  /// while the bytes are in a memory segment. Any thread may call it at any time: no byte moves.
  /// \param to  not a memory segment
  bool settle(residence to) noexcept {
    std::uint32_t from = word_of(residence::system_memory);
    // (K13): acquire, pairs with (K12), as (K11). Not stronger: it hands nothing over, and keeps up the release
    // sequence of who moved the bytes there. The failure hands nothing over either.
    while (!where_.compare_exchange_weak(from, word_of(to), std::memory_order_acquire, std::memory_order_relaxed)) {
      if (from >= first_segment) return false;
    }
    return true;
  }

  // ---- the processor's view of the segment ------------------------------------------------------------------------

  /// Returns false if the system refuses a view.
  bool show() noexcept {
    if (!shown_) shown_ = mapped_view::make(where_now().segment->memory(), numbers());
    return shown_.has_value();
  }
  /// Takes pages of the segment's window, which must exist, for a view. Returns `mapped`, a status of host_aperture, or
  /// `invalid` if the system refuses the view.
  aperture_status show_through_window() noexcept {
    auto& window = *where_now().segment->window_pages();
    window_ = window.try_map(numbers());
    if (window_ && !show()) {
      window.unmap(window_);
      window_ = {};
      return aperture_status::invalid;
    }
    return window_.status;
  }
  /// Gives back what a view through the window takes.
  void leave_window() noexcept {
    if (window_) hide(*where_now().segment);
  }

  // ---- caches; nothing is done in the segment, whose memory the processor does not cache --------------------------

  /// Before the processor looks at what the device may have written.
  void prepare_processor_read() noexcept {
    if (!tracked_ || is_in_segment()) return;
    // Values that are reached: the caller has waited, or knows that no work runs.
    if (was_written()) tracked_->prepare_device_write(0, bytes(), 0);
    static_cast<void>(tracked_->try_prepare_cpu_read(0, bytes()));
  }
  /// From here to the matching end_processor_write() the processor may write, at any moment.
  void begin_processor_write() noexcept {
    const std::uint32_t before = writers_.load();
    writers_.store(before + 1);
  }
  /// The writes that the matching begin_processor_write() allowed are over.
  void end_processor_write() noexcept {
    note_processor_write();
    const std::uint32_t before = writers_.load();
    if (before != 0) writers_.store(before - 1);
  }
  /// Before the device uses what the processor may have written.
  void prepare_device() noexcept {
    if (!tracked_ || is_in_segment()) return;
    if (writers_.load() != 0) note_processor_write();
    tracked_->prepare_device_read(0, bytes(), 0);
  }

  /// The work that was named is over, and a lock begins, after prepare_processor_read(). What work has written through
  /// a coherent mapping may be in the caches, so from now on these lines count as written by the processor. Only the
  /// locking thread calls it.
  void take_over_written() noexcept {
    set_written(false);
    if (!was_written_coherently_.load()) return;
    was_written_coherently_.store(false);
    note_processor_write();
  }

  /// Whether any of these does something.
  [[nodiscard]] bool is_tracked() const noexcept { return tracked_.has_value(); }

  // ---- the state of its locks; the allocation's -------------------------------------------------------------------

  gate pin;                            ///< See the head of this file.
  lock_decision decided;               ///< The way of the locks that are held.
  allocation_backing* next = nullptr;  ///< All of one allocation.

  [[nodiscard]] bool is_locked() const noexcept { return pin.lock_count() != 0; }
  /// Returns the greatest value that was named for work.
  [[nodiscard]] std::uint64_t used_until() const noexcept { return used_until_.load(); }
  void extend_use(std::uint64_t until) noexcept {
    if (until > used_until()) used_until_.store(until);
  }
  /// Sets whether the device may have written the bytes since the last prepare_processor_read() for a lock. Any thread
  /// may move the backing meanwhile.
  void set_written(bool is_written) noexcept {
    // (K14): relaxed alone. A move that is under way may take either value: it only looks to its own reads, and no work
    // runs beside it. One that comes after the work comes after this, by what the work has synchronized.
    was_written_.store(is_written ? 1 : 0, std::memory_order_relaxed);
  }
  /// Notes work that writes. Only the locking thread calls it.
  void note_device_write(coherency through) noexcept {
    if (through == coherency::software) {
      set_written(true);
    } else {
      was_written_coherently_.store(true);
    }
  }
  /// Whether work of this kind may be named: no work has written through the other kind of mapping since
  /// take_over_written(). Only the locking thread calls it.
  [[nodiscard]] bool allows(coherency through) const noexcept {
    if (!is_tracked()) return true;
    return through == coherency::software ? !was_written_coherently_.load() : !was_written();
  }

 private:
  /// The cache, by addresses.
  struct cache_of_backing {
    Cache* cache;
    std::byte* begin;

    void write_back(std::uint64_t offset, std::uint64_t bytes) { cache->write_back(address_of(offset), bytes); }
    void invalidate(std::uint64_t offset, std::uint64_t bytes) { cache->invalidate(address_of(offset), bytes); }

   private:
    std::uint64_t address_of(std::uint64_t offset) const noexcept {
      return reinterpret_cast<std::uintptr_t>(begin) + offset;
    }
  };

  /// The pages that it has in the segment, as a range.
  struct number_list {
    const std::uint64_t* first;
    std::size_t count;

    std::size_t size() const noexcept { return count; }
    const std::uint64_t* begin() const noexcept { return first; }
    const std::uint64_t* end() const noexcept { return first + count; }
  };
  number_list numbers() const noexcept { return {numbers_.get(), pages()}; }

  /// A range of pages whose numbers mean nothing.
  struct some_pages {
    struct iterator {
      std::size_t at;
      std::size_t operator*() const noexcept { return at; }
      iterator& operator++() noexcept { return ++at, *this; }
      bool operator==(const iterator&) const = default;
    };
    std::size_t count;

    std::size_t size() const noexcept { return count; }
    iterator begin() const noexcept { return {0}; }
    iterator end() const noexcept { return {count}; }
  };

  allocation_backing(const supported_segments<Timeline>& segments, memory_pages system,
                     std::unique_ptr<std::uint64_t[]> numbers) noexcept
      : segments_{segments}, system_{std::move(system)}, numbers_{std::move(numbers)} {
    used_until_.store(0);
    writers_.store(0);
    was_written_coherently_.store(false);
    set_written(false);
    // (K15): relaxed alone, nobody else knows the backing yet.
    where_.store(word_of(residence::system_memory), std::memory_order_relaxed);
  }

  // The word that says where it is: a residence, and from `first_segment` on the index of a memory segment.
  static constexpr std::uint32_t first_segment = static_cast<std::uint32_t>(residence::memory_segment);
  static constexpr std::uint32_t word_of(residence where) noexcept { return static_cast<std::uint32_t>(where); }
  static constexpr std::uint32_t word_of(std::size_t index) noexcept {
    return first_segment + static_cast<std::uint32_t>(index);
  }
  bool was_written() const noexcept {
    // (K16): relaxed alone, as (K14).
    return was_written_.load(std::memory_order_relaxed) != 0;
  }
  void is_now(std::uint32_t there) noexcept {
    // (K12): release, pairs with (K11) and (K13): the bytes, and the numbers of their pages. Not stronger: nothing is
    // looked at behind it.
    where_.store(there, std::memory_order_release);
  }

  /// The processor has written, or may have.
  void note_processor_write() noexcept {
    if (tracked_ && !is_in_segment()) static_cast<void>(tracked_->try_prepare_cpu_write(0, bytes()));
  }

  std::byte* page_in(const segment& in, std::size_t index) const noexcept {
    return in.memory().page(detail::as_integer<std::size_t>(numbers_[index]));
  }
  static void copy_page(std::byte* to, const std::byte* from) noexcept {
    std::memcpy(to, from, memory_pages::page_bytes());
  }

  void hide(segment& in) noexcept {
    shown_.reset();
    if (window_) in.window_pages()->unmap(std::exchange(window_, aperture_view{}));
  }

  const supported_segments<Timeline>& segments_;
  const memory_pages system_;
  const std::unique_ptr<std::uint64_t[]> numbers_;           // of its pages of the segment
  typename platform::template atomic<std::uint32_t> where_;  // see word_of()
  aperture_view placed_;                                     // of the places of its segment
  aperture_view window_;                                     // of its window
  std::optional<mapped_view> shown_;
  std::optional<coherency_tracker<Timeline, cache_of_backing>> tracked_;
  typename platform::template atomic<std::uint32_t> was_written_;
  typename platform::template var<bool> was_written_coherently_;  // through a coherent mapping; the locking thread's
  typename platform::template var<std::uint64_t> used_until_;
  typename platform::template var<std::uint32_t> writers_;  // how many of its locks may write
};

}  // namespace tidemark

#endif

#endif  // TIDEMARK_MEMORY_ALLOCATION_BACKING_HPP
