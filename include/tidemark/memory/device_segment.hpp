// SPDX-License-Identifier: BSL-1.0
//
// device_segment: a memory segment of a device, over real pages. Where the processor can't address all of it, it has a
// window of pages through which the processor sees it, until it is resized. For mapped_allocation.hpp. Linux only.
//
//   auto memory = device_segment<>::make(uploads, {.pages = 1024, .window_pages = 64});
//
//   memory    pages that the device uses: an allocation may have any of them, side by side or not
//   places    a host_aperture over all pages of the segment: it gives them to allocations
//   window    how many pages the processor may see at a time; missing where `window_pages` is 0
//
// Whether the processor sees all of the segment is a state at run time: a driver that succeeds in resizing what the
// processor can address, at its start or later, calls resize(). Until then, or if that never succeeds, there is the
// window. What is locked through the window keeps its pages there until it is unlocked.
//
// Both kinds of pages are given out and taken back by host_aperture.hpp, so any thread may do that at any time.
//
// Not promised: that a resized segment can be made smaller again; its allocations may rely on its size. Nor is it
// prevented that the processor reaches pages past the window: they are memory of this process. The window only keeps
// account of its pages, as it would in front of a real device.
#ifndef TIDEMARK_MEMORY_DEVICE_SEGMENT_HPP
#define TIDEMARK_MEMORY_DEVICE_SEGMENT_HPP

#if defined(__linux__)

#include <atomic>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "../fence/fence.hpp"
#include "../fence/timeline.hpp"
#include "../platform/platform.hpp"
#include "host_aperture.hpp"
#include "lock_decision.hpp"
#include "mapped_view.hpp"

namespace tidemark {

struct segment_options {
  std::size_t pages = 0;         ///< The pages of the segment.
  bool cpu_visible = false;      ///< The processor can address all of it from the beginning. See resize().
  std::size_t window_pages = 0;  ///< The pages of the window. 0: there is no window.
};

/// A memory segment; see the head of this file. Movable, but not while an allocation uses it. Any thread may call all
/// functions.
/// \tparam Timeline  tells which work is finished; once it is lost, nothing is in use any more
template <timeline Timeline = progress_fence_view>
class device_segment {
  using platform = timeline_platform<Timeline>;

 public:
  using aperture = host_aperture<Timeline>;

  /// Returns a segment whose pages are all zero. Returns nothing if the system refuses, or if there are no pages or too
  /// many: errno is then as memory_pages::make() sets it, or ENOMEM.
  /// \param finished  is copied if it is copyable (a view); otherwise it must outlive the segment
  [[nodiscard]] static std::optional<device_segment> make(const Timeline& finished,
                                                          const segment_options& options) noexcept {
    auto memory = memory_pages::make(options.pages);
    if (!memory) return std::nullopt;
    device_segment made{std::move(*memory)};
    made.state_.reset(new (std::nothrow) run_state);
    made.places_ = make_aperture(finished, options.pages);
    if (options.window_pages != 0) made.window_ = make_aperture(finished, options.window_pages);
    const bool has_window = options.window_pages == 0 || made.window_ != nullptr;
    if (made.state_ == nullptr || made.places_ == nullptr || !has_window) {
      detail::thread_errno() = ENOMEM;
      return std::nullopt;
    }
    made.set_resized(options.cpu_visible);
    return made;
  }

  /// A timeline that can't be copied would be gone.
  static std::optional<device_segment> make(const Timeline&& gone, const segment_options& options)
    requires(!std::copyable<Timeline>)
  = delete;

  /// Notes that the processor can address all of the segment from here on. What the caller did before that
  /// happens-before each lock which is direct for that reason. A second call changes nothing. Progress: wait-free.
  void resize() noexcept { set_resized(true); }
  /// Returns the traits of the segment, for decide() (lock_decision.hpp). Another thread may resize it at any moment.
  [[nodiscard]] segment_traits traits() const noexcept {
    // (K17): acquire, pairs with (K18): what made the pages addressable is there. Not stronger: it only looks.
    return {.cpu_visible = state_->is_resized.load(std::memory_order_acquire) != 0};
  }
  /// Returns the state of the window, for decide(); without a window `exists` is false. Another thread may change it at
  /// any moment.
  [[nodiscard]] window_state window() const noexcept {
    if (window_ == nullptr) return {};
    return {.exists = true, .free_bytes = window_->value->unmapped_pages() * memory_pages::page_bytes()};
  }
  /// Returns how many pages no allocation has. Another thread may change the number at any moment.
  [[nodiscard]] std::size_t free_pages() const noexcept { return places_->value->unmapped_pages(); }

  /// Returns the pages, for the code that plays the device.
  [[nodiscard]] const memory_pages& memory() const noexcept { return memory_; }
  /// Returns the aperture that gives out the pages of the segment. The member `window` of an aperture_page is the
  /// number of the page in the segment. For mapped_allocation.
  [[nodiscard]] aperture& places() noexcept { return *places_->value; }
  /// Returns the aperture that gives out the pages of the window. nullptr if there is none. For mapped_allocation.
  [[nodiscard]] aperture* window_pages() noexcept { return window_ == nullptr ? nullptr : &*window_->value; }

 private:
  /// An aperture can't be moved: it is made where it stays.
  struct held_aperture {
    std::optional<aperture> value;
  };

  /// An atomic can't be moved either.
  struct run_state {
    typename platform::template atomic<std::uint32_t> is_resized;
  };

  explicit device_segment(memory_pages memory) noexcept : memory_{std::move(memory)} {}

  void set_resized(bool is_resized) noexcept {
    // (K18): release, pairs with (K17). Not stronger: nothing is looked at behind it.
    state_->is_resized.store(is_resized ? 1 : 0, std::memory_order_release);
  }

  static std::unique_ptr<held_aperture> make_aperture(const Timeline& finished, std::size_t pages) noexcept {
    std::unique_ptr<held_aperture> made{new (std::nothrow) held_aperture{aperture::make(finished, {.pages = pages})}};
    if (made != nullptr && !made->value) made.reset();
    return made;
  }

  memory_pages memory_;
  std::unique_ptr<run_state> state_;
  std::unique_ptr<held_aperture> places_;
  std::unique_ptr<held_aperture> window_;
};

}  // namespace tidemark

#endif

#endif  // TIDEMARK_MEMORY_DEVICE_SEGMENT_HPP
