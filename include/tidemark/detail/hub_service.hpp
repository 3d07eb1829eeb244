// SPDX-License-Identifier: BSL-1.0
//
// Who serves the notifications of a hub: the notifier itself, a thread that sleeps until there is one, or an event loop
// that watches a descriptor.
#ifndef TIDEMARK_DETAIL_HUB_SERVICE_HPP
#define TIDEMARK_DETAIL_HUB_SERVICE_HPP

#include <cstdint>
#include <optional>
#include <utility>

#if defined(__linux__)
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#endif

namespace tidemark {

/// Whoever notifies serves, unless another thread is at it, which then serves this too.
struct self_serving {
  static constexpr bool serves_itself = true;
  static constexpr bool has_thread = false;
};

/// A thread of the program calls wait_and_serve().
struct dispatched {
  static constexpr bool serves_itself = false;
  static constexpr bool has_thread = true;
  template <class Platform, class Word>
  void ring(Word& requests) const noexcept {
    Platform::unpark(requests, 1);
  }
};

#if defined(__linux__)

/// An event loop watches descriptor(); when it is readable, it calls quiet() and then the hub's serve().
class event_driven {
 public:
  static constexpr bool serves_itself = false;
  static constexpr bool has_thread = false;

  /// Nothing where the system has no descriptor left; errno says why.
  [[nodiscard]] static std::optional<event_driven> make() noexcept {
    const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (descriptor < 0) return std::nullopt;
    return event_driven{descriptor};
  }
  event_driven(event_driven&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  event_driven& operator=(event_driven&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~event_driven() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  int descriptor() const noexcept { return descriptor_; }

  /// Makes the descriptor unreadable until the next notification. Before serve(), not after it (trap 12).
  void quiet() const noexcept {
    const int saved = errno;
    std::uint64_t rung = 0;
    // Fails only when it is quiet already.
    if (::read(descriptor_, &rung, sizeof rung) < 0) errno = saved;
  }

  template <class Platform, class Word>
  void ring(Word&) const noexcept {
    const int saved = errno;
    const std::uint64_t one = 1;
    // Fails only when it would overflow, and then the descriptor is readable.
    if (::write(descriptor_, &one, sizeof one) < 0) errno = saved;
  }

 private:
  explicit event_driven(int descriptor) noexcept : descriptor_{descriptor} {}

  int descriptor_;
};

#endif

}  // namespace tidemark

#endif  // TIDEMARK_DETAIL_HUB_SERVICE_HPP
