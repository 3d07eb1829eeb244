// SPDX-License-Identifier: BSL-1.0
//
// For tests of context storage: a source of memory that counts and can refuse, and a maker that writes down what it is
// asked for and what it is given.
#ifndef TIDEMARK_TESTS_SUPPORT_BLOCKS_HPP
#define TIDEMARK_TESTS_SUPPORT_BLOCKS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tidemark/context/block_maker.hpp>
#include <tidemark/memory/backing_source.hpp>

namespace testing {

/// What happened, in order. Any thread.
class event_log {
 public:
  void add(std::string text) {
    const std::lock_guard lock{guard_};
    events_.push_back(std::move(text));
  }
  std::vector<std::string> take() {
    const std::lock_guard lock{guard_};
    return std::exchange(events_, {});
  }
  /// The same without the events that begin with `text`.
  std::vector<std::string> take_without(const std::string& text) {
    std::vector<std::string> taken = take();
    std::erase_if(taken, [&](const std::string& each) { return each.starts_with(text); });
    return taken;
  }

 private:
  std::mutex guard_;
  std::vector<std::string> events_;
};

/// The memory that a source has given out.
struct block_ledger {
  std::mutex guard;
  std::map<std::byte*, tidemark::backing_traits> given;
  std::size_t bytes = 0;
  std::size_t calls = 0;
  std::size_t calls_left = SIZE_MAX;  // then it refuses
  std::size_t least_alignment = 1;    // 4096: the worst case for sets of the cache
  std::function<void()> in_refusal;   // the next create() that refuses calls it, once
  event_log* log = nullptr;
};

struct counting_source {
  using backing = std::byte*;

  std::byte* create(const tidemark::backing_traits& traits) noexcept {
    const std::lock_guard lock{ledger->guard};
    ++ledger->calls;
    if (ledger->calls_left == 0) {
      if (ledger->in_refusal) std::exchange(ledger->in_refusal, nullptr)();
      return nullptr;
    }
    --ledger->calls_left;
    const std::size_t alignment = std::max(traits.alignment, ledger->least_alignment);
    std::byte* const made = heap.create({traits.bytes, alignment});
    if (made == nullptr) return nullptr;
    ledger->given[made] = {traits.bytes, alignment};
    ledger->bytes += traits.bytes;
    std::memset(made, 0xA5, traits.bytes);
    if (ledger->log != nullptr) ledger->log->add("memory");
    return made;
  }
  void destroy(std::byte* made, const tidemark::backing_traits& traits) noexcept {
    const std::lock_guard lock{ledger->guard};
    const auto found = ledger->given.find(made);
    if (found == ledger->given.end() || found->second.bytes != traits.bytes) std::abort();
    ledger->bytes -= traits.bytes;
    heap.destroy(made, found->second);
    ledger->given.erase(found);
  }

  block_ledger* ledger;
  tidemark::heap_source heap{};
};

enum class test_kind : std::uint8_t { resource, view, shader };

/// What an object is made from.
struct test_description {
  std::size_t bytes = 64;  // of the block in the immediate context
  std::size_t read_only = 0;
  std::size_t deferred = 24;  // bytes of the blocks in deferred contexts
  std::uint64_t replicate = 0;
  void* first = nullptr;
  void* second = nullptr;
};

/// What lies in a block.
struct test_state {
  std::uint32_t context = 0;
  std::uint32_t is_bound = 0;
  void* immediate = nullptr;
};

/// What the maker was given for a block.
struct test_arguments {
  std::uint32_t context;
  test_kind kind;
  bool has_description;
  test_description description;
  void* block;
  void* immediate;
  std::span<std::byte> to_fill;
  std::span<const std::byte> read_only;
};

/// What makers share with their test.
struct test_driver {
  std::string name_of(void* block) {
    const std::lock_guard lock{guard};
    return names[block];
  }

  event_log log;
  std::mutex guard;
  std::vector<test_arguments> created;
  std::map<void*, std::string> names;  // of blocks that exist
  std::vector<tidemark::block_size<test_kind>> sizes{
      {test_kind::resource, 24}, {test_kind::view, 40}, {test_kind::shader, 24}};
  std::size_t sizes_at_second_time = SIZE_MAX;
  std::size_t creations_left = SIZE_MAX;  // then it refuses
  bool is_lost = false;                   // the device: no block can be created
  std::function<void()> in_create;        // the next create() calls it, once, before the maker knows of the block
  std::function<void()> in_destroy;       // each destroy() calls it
};

class test_maker {
 public:
  using kind = test_kind;
  using description = test_description;
  static constexpr std::size_t max_dependencies = 2;

  explicit test_maker(test_driver& driver) noexcept : driver_{&driver} {}

  std::size_t list_block_sizes(std::span<tidemark::block_size<kind>> sizes) const noexcept {
    driver_->log.add(sizes.empty() ? "how many sizes" : "which sizes");
    const std::size_t count = std::min(sizes.size(), driver_->sizes.size());
    std::copy_n(driver_->sizes.begin(), count, sizes.begin());
    if (!sizes.empty() && driver_->sizes_at_second_time != SIZE_MAX) return driver_->sizes_at_second_time;
    return driver_->sizes.size();
  }
  tidemark::block_layout immediate_layout(kind of, const description& given) const noexcept {
    driver_->log.add("size of " + text_of(of));
    return {given.bytes, given.read_only, given.replicate != 0};
  }
  std::size_t deferred_bytes(kind of, const void* immediate) const noexcept {
    driver_->log.add("deferred size of " + text_of(of));
    const std::lock_guard lock{driver_->guard};
    return driver_->created.back().block == immediate ? driver_->created.back().description.deferred : 0;
  }
  void set_dependency(description& changed, std::size_t which, void* block) noexcept {
    (which == 0 ? changed.first : changed.second) = block;
  }

  bool create(const tidemark::block_arguments<kind, description>& given) noexcept {
    if (driver_->in_create) std::exchange(driver_->in_create, nullptr)();
    const std::lock_guard lock{driver_->guard};
    if (driver_->creations_left == 0 || driver_->is_lost) return false;
    --driver_->creations_left;
    const std::string name = text_of(given.kind) + " in " + std::to_string(to_number(given.context));
    driver_->log.add("create " + name);
    driver_->names[given.block] = name;
    driver_->created.push_back({to_number(given.context), given.kind, given.description != nullptr,
                                given.description != nullptr ? *given.description : description{}, given.block,
                                given.immediate, given.read_only_to_fill, given.read_only});
    std::fill(given.read_only_to_fill.begin(), given.read_only_to_fill.end(), std::byte{7});
    ::new (given.block) test_state{to_number(given.context), 0, given.immediate};
    return true;
  }
  void destroy(tidemark::context_id context, kind of, void* block) noexcept {
    if (driver_->in_destroy) driver_->in_destroy();
    const std::lock_guard lock{driver_->guard};
    const std::string name = text_of(of) + " in " + std::to_string(to_number(context));
    if (driver_->names[block] != name) driver_->log.add("NO SUCH BLOCK");
    driver_->names.erase(block);
    driver_->log.add("destroy " + name);
    std::memset(block, 0xEE, sizeof(test_state));
  }

 private:
  static std::string text_of(kind of) {
    return of == kind::resource ? "resource" : of == kind::view ? "view" : "shader";
  }
  test_driver* driver_;
};

}  // namespace testing

#endif  // TIDEMARK_TESTS_SUPPORT_BLOCKS_HPP
