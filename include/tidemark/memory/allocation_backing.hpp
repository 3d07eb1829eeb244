// SPDX-License-Identifier: BSL-1.0
//
// allocation_backing: one backing of a mapped allocation: its pages in system memory, its pages in a memory segment
// while it is there, what shows these to the processor, and the cache operations that it needs. Part of
// mapped_allocation.hpp. Linux only.
//
//   where             the bytes are in
//   system_memory     pages of its own
//   aperture_segment  the same pages, which the device uses, too
//   memory_segment    pages of the segment, any that were free
//
// A view of the pages of the segment is made by the first lock that needs it, and stays until the backing leaves the
// segment [B14]; a view through the window, and its pages of the window, only while the backing is locked [B32].
//
// All fields but the pin are plain. They belong to the thread that locks, while the pin is locked or the door of the
// allocation is; and to a thread that moves the backing, while it has committed both (lock_decision.hpp).
//
// Not promised: thread-safety; the two gates of an allocation see to it.
#ifndef TIDEMARK_MEMORY_ALLOCATION_BACKING_HPP
#define TIDEMARK_MEMORY_ALLOCATION_BACKING_HPP

#if defined(__linux__)

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "../fence/timeline.hpp"
#include "coherency_tracker.hpp"
#include "device_segment.hpp"
#include "host_aperture.hpp"
#include "lock_decision.hpp"
#include "mapped_view.hpp"

namespace tidemark {

/// What work does to the memory that an unlock hands to it.
enum class device_use : std::uint8_t {
  none,    ///< No work uses it.
  reads,   ///< Work reads it.
  writes,  ///< Work writes it, and may read it.
};

/// The caches of a machine whose devices look into them: nothing has to be done [B34].
struct coherent_caches {
  void write_back(std::uint64_t, std::uint64_t) noexcept {}
  void invalidate(std::uint64_t, std::uint64_t) noexcept {}
};

/// One backing; see the head of this file.
template <timeline Timeline, cache_operations Cache>
class allocation_backing {
 public:
  using gate = basic_commit_gate<timeline_platform<Timeline>>;

  /// Returns a backing in system memory, all zero, or nullptr if the system refuses.
  /// \param cache  nullptr if it needs no cache operations
  static allocation_backing* make(const Timeline& finished, device_segment<Timeline>& segment, std::size_t pages,
                                  Cache* cache) noexcept {
    auto system = memory_pages::make(pages);
    std::unique_ptr<std::uint64_t[]> numbers{system ? new (std::nothrow) std::uint64_t[pages]() : nullptr};
    if (numbers == nullptr) return nullptr;
    auto* const made = new (std::nothrow) allocation_backing{segment, std::move(*system), std::move(numbers)};
    if (made != nullptr && cache != nullptr) {
      const coherency_options options{.bytes = made->bytes()};
      made->tracked_.emplace(finished, options, cache_of_backing{cache, made->system_.page(0)});
    }
    return made;
  }

  allocation_backing(const allocation_backing&) = delete;
  allocation_backing& operator=(const allocation_backing&) = delete;
  ~allocation_backing() {
    hide();
    if (is_in_segment()) segment_.places().unmap(placed_);
  }

  [[nodiscard]] std::size_t pages() const noexcept { return system_.pages(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return pages() * memory_pages::page_bytes(); }
  [[nodiscard]] residence where() const noexcept { return where_; }
  [[nodiscard]] bool is_in_segment() const noexcept { return where_ == residence::memory_segment; }

  /// Returns a page of the bytes, as the device sees it.
  [[nodiscard]] std::byte* page(std::size_t index) const noexcept {
    return is_in_segment() ? segment_.memory().page(numbers_[index]) : system_.page(index);
  }
  /// Returns where the processor sees the first byte: in the segment only after show() or show_through_window().
  [[nodiscard]] std::byte* address() const noexcept { return is_in_segment() ? shown_->data() : system_.page(0); }

  // ---- the segment ------------------------------------------------------------------------------------------------

  /// Moves the bytes into free pages of the segment. Returns false, and changes nothing, if too few are free.
  bool enter_segment() noexcept {
    placed_ = segment_.places().try_map(numbers());
    if (!placed_) return false;
    segment_.places().for_each(placed_, [this](const aperture_page& given) { numbers_[given.index] = given.window; });
    prepare_processor_read();
    for (std::size_t i = 0; i < pages(); ++i) copy_page(segment_.memory().page(numbers_[i]), system_.page(i));
    where_ = residence::memory_segment;
    return true;
  }
  /// Gives the pages of the segment back.
  /// \param to     not the segment
  /// \param keeps  whether the bytes are copied to system memory first; otherwise they are undefined
  void leave_segment(residence to, bool keeps) noexcept {
    if (keeps) {
      for (std::size_t i = 0; i < pages(); ++i) copy_page(system_.page(i), segment_.memory().page(numbers_[i]));
    }
    hide();
    segment_.places().unmap(placed_);
    settle(to);
    if (keeps) note_processor_write();
  }
  /// Changes what the pages in system memory are to the device.
  /// \param to  not the segment
  void settle(residence to) noexcept { where_ = to; }

  // ---- the processor's view of the segment ------------------------------------------------------------------------

  /// Returns false if the system refuses a view.
  bool show() noexcept {
    if (!shown_) shown_ = mapped_view::make(segment_.memory(), numbers());
    return shown_.has_value();
  }
  /// Takes pages of the window, which must exist, for a view. Returns `mapped`, a status of host_aperture, or `invalid`
  /// if the system refuses the view.
  aperture_status show_through_window() noexcept {
    window_ = segment_.window_pages()->try_map(numbers());
    if (window_ && !show()) {
      segment_.window_pages()->unmap(window_);
      window_ = {};
      return aperture_status::invalid;
    }
    return window_.status;
  }
  /// Gives back what a view through the window takes.
  void leave_window() noexcept {
    if (window_) hide();
  }

  // ---- caches; nothing is done in the segment, whose memory the processor does not cache --------------------------

  /// Before the processor looks at what the device may have written [B38] [B42].
  void prepare_processor_read() noexcept {
    if (!tracked_ || is_in_segment()) return;
    // Values that are reached: the caller has waited, or knows that no work runs.
    if (was_written_) tracked_->prepare_device_write(0, bytes(), 0);
    static_cast<void>(tracked_->try_prepare_cpu_read(0, bytes()));
  }
  /// After the processor has written.
  void note_processor_write() noexcept {
    if (tracked_ && !is_in_segment()) static_cast<void>(tracked_->try_prepare_cpu_write(0, bytes()));
  }
  /// Before the device uses what the processor may have written [B37].
  void prepare_device() noexcept {
    if (tracked_ && !is_in_segment()) tracked_->prepare_device_read(0, bytes(), 0);
  }

  // ---- the state of its locks; the allocation's -------------------------------------------------------------------

  gate pin;                      ///< Locked while the processor has an address; committed while the bytes are moved.
  lock_decision decided;         ///< The way of the locks that are held.
  std::uint64_t used_until = 0;  ///< The greatest value that an unlock was given.
  allocation_backing* next = nullptr;  ///< All of one allocation.

  [[nodiscard]] bool is_locked() const noexcept { return pin.lock_count() != 0; }
  /// Says whether the device may have written the bytes since the processor last prepared a read for a lock.
  void set_written(bool is_written) noexcept { was_written_ = is_written; }

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

  allocation_backing(device_segment<Timeline>& segment, memory_pages system,
                     std::unique_ptr<std::uint64_t[]> numbers) noexcept
      : segment_{segment}, system_{std::move(system)}, numbers_{std::move(numbers)} {}

  static void copy_page(std::byte* to, const std::byte* from) noexcept {
    std::memcpy(to, from, memory_pages::page_bytes());
  }

  void hide() noexcept {
    shown_.reset();
    if (window_) segment_.window_pages()->unmap(std::exchange(window_, aperture_view{}));
  }

  device_segment<Timeline>& segment_;
  const memory_pages system_;
  const std::unique_ptr<std::uint64_t[]> numbers_;  // of the pages of the segment
  residence where_ = residence::system_memory;
  aperture_view placed_;  // of the places of the segment
  aperture_view window_;  // of its window
  std::optional<mapped_view> shown_;
  std::optional<coherency_tracker<Timeline, cache_of_backing>> tracked_;
  bool was_written_ = false;
};

}  // namespace tidemark

#endif

#endif  // TIDEMARK_MEMORY_ALLOCATION_BACKING_HPP
