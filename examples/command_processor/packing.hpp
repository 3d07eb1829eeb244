// SPDX-License-Identifier: BSL-1.0
// Cuts the work into command buffers, and gives them memory and open files. Whatever the folder has in it, there are
//
//   no more files    the work names the file that each block needs in a split list. The splitter cuts it into parts of
//     in a part      few files, and says which to open and which to close. A retire queue closes a file when its last
//                    buffer is written
//   no more blocks   the ring of upload memory has only so many bytes
//     on the way
//   no more packed   a rename ring gives each buffer output memory that no buffer before it still uses
//     blocks
//
// Where memory is missing the recording thread waits until the oldest buffer is written. Only the list of the files
// grows with the folder.

#pragma once

#include "archive.hpp"
#include "options.hpp"
#include "processor.hpp"

#include <tidemark/tidemark.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace command_processor {

/// A file of the folder in a split list: its index and 1, because 0 is the null handle.
enum class file_handle : std::uint32_t {};

/// What commands use. It must outlive the processor that executes them.
struct device_memory {
  device_memory(const tidemark::fence& written, const options& chosen)
      : upload_bytes(chosen.upload_bytes),
        uploads(written.view(), {.capacity = chosen.upload_bytes}),
        outputs(written.view(),
                {.bytes = chosen.blocks * most_packed_bytes(chosen.block_size), .max_renames = chosen.backings}),
        files(written.view()) {}

  std::vector<std::byte> upload_bytes;
  tidemark::upload_ring<tidemark::fence_view> uploads;
  tidemark::rename_ring<tidemark::fence_view> outputs;
  tidemark::retire_queue<tidemark::fence_view> files;
};

class packing {
 public:
  packing(const file_tree& tree, const options& chosen, device_memory& memory, processor& executor)
      : tree_(tree),
        options_(chosen),
        memory_(memory),
        processor_(executor),
        blocks_(tree, chosen.block_size),
        open_(tree.files.size()) {}
  packing(const packing&) = delete;
  packing& operator=(const packing&) = delete;
  /// Files that are still open may be in use.
  ~packing() {
    for (std::size_t file = 0; file < open_.size(); ++file) close(file);
  }

  void run() {
    tidemark::splitter<file_handle> parts{
        {.max_slot = slot}, tidemark::counting_budget{options_.files}, [](file_handle) { return std::uint64_t{1}; }};
    tidemark::split_list_builder<file_handle> list;
    const std::uint64_t end = declare(list);
    if (!parts.begin(list.entries(), end) ||
        !tidemark::submit_parts(parts, tidemark::part_scheduling::full_packets, *this)) {
      throw std::logic_error("one file always fits");
    }
    processor_.finish();
    parts_ = parts.statistics().parts;
  }

  [[nodiscard]] std::uint64_t parts() const { return parts_; }
  [[nodiscard]] std::uint64_t buffers() const { return last_buffer_; }

  // ---- what submit_parts() asks of an executor ----

  using part = tidemark::split_part<file_handle>;

  void enter() {}
  void leave() {}
  bool page(const part& next) {
    for (const auto& operation : next.paging) {
      const std::size_t file = static_cast<std::size_t>(operation.allocation) - 1;
      if (operation.kind == tidemark::paging_kind::evict) {
        close(file);
      } else {
        open_[file] = std::make_unique<source_file>(tree_, file);
      }
    }
    return true;
  }
  bool submit(const part& next) {
    std::vector<block> buffer;
    for (std::uint64_t i = next.begin; i < next.end; ++i) {
      buffer.push_back(*blocks_.next());
      if (buffer.size() == options_.blocks || i + 1 == next.end) submit_buffer(std::exchange(buffer, {}));
    }
    return true;
  }

 private:
  using mapping = tidemark::rename_ring<tidemark::fence_view>::mapping;

  static constexpr tidemark::slot_id slot{0};
  static constexpr std::size_t alignment = 64;

  /// Says from which block on each file is needed. Returns how many blocks there are.
  std::uint64_t declare(tidemark::split_list_builder<file_handle>& list) const {
    std::uint64_t count = 0;
    uring_copy::block_cursor blocks(tree_, options_.block_size);
    for (auto next = blocks.next(); next; next = blocks.next(), ++count) {
      if (next->is_first && !list.bind(count, slot, static_cast<file_handle>(next->file + 1))) {
        throw std::length_error("more blocks than a split list can have");
      }
    }
    return count;
  }

  void submit_buffer(const std::vector<block>& blocks) {
    std::size_t bytes = 0;
    for (const block& each : blocks) bytes += each.size;
    const tidemark::upload_part upload = allocate(std::max<std::size_t>(bytes, 1));
    const mapping output = map_output();

    command_buffer made{.number = ++last_buffer_, .blocks = {}};
    auto content = std::span(memory_.upload_bytes).subspan(static_cast<std::size_t>(upload.offset), bytes);
    std::byte* room = output.memory;
    const std::size_t room_for_one = most_packed_bytes(options_.block_size);
    for (const block& each : blocks) {
      made.blocks.push_back({open_[each.file].get(), each, content.first(each.size), {room, room_for_one}});
      content = content.subspan(each.size);
      room += room_for_one;
    }
    memory_.uploads.retire(last_buffer_);
    memory_.outputs.retire(output, last_buffer_);
    processor_.submit(std::move(made));
    memory_.files.reclaim();
  }

  tidemark::upload_part allocate(std::uint64_t bytes) {
    tidemark::upload_part made = memory_.uploads.try_allocate(bytes, alignment);
    while (made.status == tidemark::upload_status::busy) {
      processor_.wait_for_oldest();
      made = memory_.uploads.try_allocate(bytes, alignment);
    }
    if (!made) throw std::logic_error("two buffers always fit");
    return made;
  }
  mapping map_output() {
    mapping made = memory_.outputs.try_map(tidemark::map_mode::discard);
    while (made.status == tidemark::map_status::busy) {
      processor_.wait_for_oldest();
      made = memory_.outputs.try_map(tidemark::map_mode::discard);
    }
    if (!made) throw std::bad_alloc();
    return made;
  }

  /// No buffer that comes later uses the file.
  void close(std::size_t file) {
    if (source_file* const closed = open_[file].release()) {
      memory_.files.retire(*closed, [](source_file& unused) noexcept { delete &unused; }, {last_buffer_});
    }
  }

  const file_tree& tree_;
  const options& options_;
  device_memory& memory_;
  processor& processor_;
  uring_copy::block_cursor blocks_;
  std::vector<std::unique_ptr<source_file>> open_;  // by their index in the tree
  std::uint64_t last_buffer_ = 0;
  std::uint64_t parts_ = 0;
};

}  // namespace command_processor
