// SPDX-License-Identifier: BSL-1.0
//
// memory_pages and mapped_view: pages of memory, and contiguous views of any of them in any order, by the page tables
// of the processor. Linux only.
//
//   auto memory = memory_pages::make(1024);             pages that nobody has touched, all zero
//   auto view = mapped_view::make(*memory, pages);      page i of the view is page pages[i] of the memory
//   view->data()[0] = std::byte{7};                     seen in memory->page(pages[0]), and in all other views of it
//
// A view reserves a range of addresses, then maps each page into it. Making a view is slow: each page takes a system
// call. Linux limits how many mappings a process has (vm.max_map_count, often 65530). Each page of a view takes one
// mapping, but pages that follow each other in the memory, too, may share one. Nothing here limits which views exist at
// the same time; host_aperture.hpp can keep account of that.
//
// Threads may use pages and views as they use other memory. Making, moving and destroying one object must not run
// beside any other use of the object.
//
// Not promised: any order of what is written to one page through two views at the same time. The page is ordinary
// memory, at two addresses.
#ifndef TIDEMARK_MEMORY_MAPPED_VIEW_HPP
#define TIDEMARK_MEMORY_MAPPED_VIEW_HPP

#if defined(__linux__)

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "../platform/assert.hpp"
#include "../platform/platform.hpp"
#include "detail/page_list.hpp"

namespace tidemark {

namespace detail {

/// A range of addresses. Its destructor unmaps it.
class address_range {
 public:
  address_range() noexcept = default;
  address_range(void* address, std::size_t bytes) noexcept
      : address_{address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address)}, bytes_{bytes} {}
  address_range(address_range&& other) noexcept
      : address_{std::exchange(other.address_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}
  address_range& operator=(address_range&& other) noexcept {
    if (this == &other) return *this;
    unmap();
    address_ = std::exchange(other.address_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  ~address_range() { unmap(); }

  std::byte* address() const noexcept { return address_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  void unmap() noexcept {
    if (address_ != nullptr) munmap(address_, bytes_);
  }

  std::byte* address_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace detail

/// Pages of anonymous memory that can be mapped one by one. Movable: the other object has no pages then, and an
/// assignment gives those back at once that were here. A view may outlive the memory_pages that it was made of. As long
/// as there is one, all pages that were used keep their memory, also those that it does not show. After fork() both
/// processes use the same pages.
class memory_pages {
 public:
  /// Returns that many pages, all zero. Returns nothing, and errno is EINVAL, if the number is 0, or if the pages have
  /// more than SIZE_MAX / 2 bytes. Returns nothing if the system refuses, and errno says why. A page takes memory only
  /// once it is used: make() does not find out whether there is enough for all.
  [[nodiscard]] static std::optional<memory_pages> make(std::size_t pages) noexcept {
    if (!is_possible(pages)) {
      detail::thread_errno() = EINVAL;
      return std::nullopt;
    }
    const std::size_t bytes = pages * page_bytes();
    memory_pages made;
    made.descriptor_ = memfd_create("tidemark", MFD_CLOEXEC);
    if (made.descriptor_ < 0 || ftruncate(made.descriptor_, static_cast<off_t>(bytes)) != 0) return std::nullopt;
    made.all_ = {mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made.descriptor_, 0), bytes};
    if (made.all_.address() == nullptr) return std::nullopt;
    return made;
  }
  memory_pages(memory_pages&& other) noexcept
      : descriptor_{std::exchange(other.descriptor_, -1)}, all_{std::move(other.all_)} {}
  memory_pages& operator=(memory_pages&& other) noexcept {
    if (this == &other) return *this;
    close_it(std::exchange(descriptor_, std::exchange(other.descriptor_, -1)));
    all_ = std::move(other.all_);
    return *this;
  }
  ~memory_pages() { close_it(descriptor_); }

  /// Returns the bytes of a page of the processor. Any thread may call it.
  [[nodiscard]] static std::size_t page_bytes() noexcept {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
  }
  /// Returns how many pages there are.
  [[nodiscard]] std::size_t pages() const noexcept { return all_.bytes() / page_bytes(); }
  /// Returns where a page begins. Asserts that the page exists; otherwise returns nullptr.
  [[nodiscard]] std::byte* page(std::size_t index) const noexcept {
    TIDEMARK_ASSERT(index < pages(), "there is no such page");
    return index < pages() ? all_.address() + index * page_bytes() : nullptr;
  }

 private:
  friend class mapped_view;
  memory_pages() noexcept = default;

  static void close_it(int descriptor) noexcept {
    const detail::cancellation_delay delayed;
    if (descriptor >= 0) close(descriptor);
  }

  /// Returns whether there may be `pages` pages: not 0, and at most SIZE_MAX / 2 bytes, which fit into an off_t, too.
  static bool is_possible(std::uint64_t pages) noexcept { return pages != 0 && pages <= SIZE_MAX / 2 / page_bytes(); }

  int descriptor_ = -1;
  detail::address_range all_;
};

/// Some pages side by side. Movable: the other object shows no pages then, and an assignment unmaps those at once that
/// were here. The destructor unmaps the pages.
class mapped_view {
 public:
  /// Returns a view of the given pages, in their order. Returns nothing, and errno is EINVAL, if a page does not exist,
  /// if no page is given, if the pages have more than SIZE_MAX / 2 bytes, or if the range yields another number of
  /// pages than its size says. Returns nothing if the system refuses, and errno says why.
  /// \param pages  a sized range of page numbers; one number may come several times. It is iterated as const, and must
  ///               not throw
  template <detail::page_list Pages>
  [[nodiscard]] static std::optional<mapped_view> make(const memory_pages& memory, const Pages& pages) noexcept {
    const std::size_t page_bytes = memory_pages::page_bytes();
    const auto count = static_cast<std::uint64_t>(std::size(pages));
    if (!memory_pages::is_possible(count)) return refused();
    const std::size_t bytes = static_cast<std::size_t>(count) * page_bytes;
    mapped_view made;
    made.range_ = {mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), bytes};
    std::byte* next = made.range_.address();
    if (next == nullptr) return std::nullopt;
    std::uint64_t left = count;
    for (const auto& page : pages) {
      const auto number = static_cast<std::uint64_t>(page);
      if (left-- == 0 || number >= memory.pages()) return refused();
      // All pages of a memory together are fewer bytes than an off_t can say.
      const auto offset = static_cast<off_t>(number * page_bytes);
      if (mmap(next, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory.descriptor_, offset) ==
          MAP_FAILED) {
        return std::nullopt;
      }
      next += page_bytes;
    }
    if (left != 0) return refused();
    return made;
  }

  /// Returns where the first page begins.
  [[nodiscard]] std::byte* data() const noexcept { return range_.address(); }
  /// Returns the bytes of all pages.
  [[nodiscard]] std::size_t size() const noexcept { return range_.bytes(); }

 private:
  mapped_view() noexcept = default;

  static std::nullopt_t refused() noexcept {
    detail::thread_errno() = EINVAL;
    return std::nullopt;
  }

  detail::address_range range_;
};

}  // namespace tidemark

#endif

#endif  // TIDEMARK_MEMORY_MAPPED_VIEW_HPP
