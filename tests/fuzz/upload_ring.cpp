// SPDX-License-Identifier: BSL-1.0
//
// Upload rings of one writer and of several against a map of bytes: each byte is free or belongs to a part, and free
// bytes are searched one by one.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include <tidemark/memory/upload_ring.hpp>

#include "input.hpp"

namespace {

using fuzz::require;
using tidemark::upload_part;
using tidemark::upload_status;

/// A ring whose parts come back in order. Bytes that are passed over belong to the part behind them.
class byte_map {
 public:
  byte_map(std::uint64_t capacity, bool starts_anew)
      : taken_(static_cast<std::size_t>(capacity)), starts_anew_{starts_anew} {}

  struct place {
    bool is_there = false;
    std::uint64_t offset = 0;
  };
  place find(std::uint64_t bytes, std::uint64_t alignment) const {
    std::uint64_t offset = head_;
    while (offset % alignment != 0) ++offset;
    if (is_free(head_, offset + bytes)) return {true, offset};
    const bool passes_over = is_free(head_, capacity()) && head_ > 0;
    if (passes_over && is_free(0, bytes) && (bytes <= head_ || parts_.empty())) return {true, 0};
    return {};
  }
  void take(const place& where, std::uint64_t bytes) {
    part made;
    if (where.offset < head_) take_until(capacity(), made);
    if (head_ == capacity()) head_ = 0;
    take_until(where.offset + bytes, made);
    parts_.push_back(made);
  }
  /// Retires the part with that number, counted from the oldest one.
  void retire(std::size_t number, std::uint64_t until) {
    parts_[number].is_retired = true;
    parts_[number].until = until;
  }
  std::size_t parts() const { return parts_.size(); }
  bool is_retired(std::size_t number) const { return parts_[number].is_retired; }
  void reclaim(std::uint64_t reached) {
    while (!parts_.empty() && parts_.front().is_retired &&
           parts_.front().until <= reached + (fuzz::model_is_broken ? 1 : 0)) {
      for (const std::uint64_t byte : parts_.front().bytes) taken_[static_cast<std::size_t>(byte)] = false;
      parts_.pop_front();
    }
    if (parts_.empty() && starts_anew_) head_ = 0;
  }
  std::uint64_t bytes_in_use() const {
    return static_cast<std::uint64_t>(std::count(taken_.begin(), taken_.end(), true));
  }

 private:
  struct part {
    std::vector<std::uint64_t> bytes;
    bool is_retired = false;
    std::uint64_t until = 0;
  };

  std::uint64_t capacity() const { return taken_.size(); }
  void take_until(std::uint64_t end, part& by) {
    for (; head_ < end; ++head_) {
      taken_[static_cast<std::size_t>(head_)] = true;
      by.bytes.push_back(head_);
    }
  }
  bool is_free(std::uint64_t from, std::uint64_t end) const {
    if (end > capacity()) return false;
    return std::none_of(taken_.begin() + static_cast<std::ptrdiff_t>(std::min(from, end)),
                        taken_.begin() + static_cast<std::ptrdiff_t>(end), [](bool taken) { return taken; });
  }

  std::vector<bool> taken_;
  const bool starts_anew_;  // an empty ring begins at 0 again
  std::uint64_t head_ = 0;
  std::deque<part> parts_;
};

/// Allocates a part of the ring and of the model, or of neither.
template <class Ring>
upload_part allocate(Ring& ring, byte_map& model, std::uint64_t bytes, std::uint64_t alignment, bool has_record) {
  const byte_map::place expected = model.find(bytes, alignment);
  const upload_part part = ring.try_allocate(bytes, alignment);
  require(static_cast<bool>(part) == (expected.is_there && has_record), "whether a part can be had");
  if (!part) {
    const bool is_awaited = model.parts() > 0 && model.is_retired(0);
    require(part.status == (is_awaited ? upload_status::busy : upload_status::no_space), "why a part can't be had");
    return part;
  }
  require(part.offset == expected.offset, "where a part lies");
  model.take(expected, bytes);
  return part;
}

/// Fuzzes a ring of one writer, which retires parts together.
void fuzz_lone(fuzz::input& from) {
  tidemark::progress_fence finished;
  const std::uint64_t capacity = 1 + from.below(100);
  tidemark::upload_ring ring{finished, {.capacity = capacity, .max_records = 64}};
  byte_map model{capacity, true};
  std::size_t open = 0;
  std::uint64_t now = 0;
  for (int step = 0; step < 64 && !from.is_empty(); ++step) {
    switch (from.below(4)) {
      case 0:
      case 1: {
        const std::uint64_t bytes = 1 + from.below(capacity);
        const std::uint64_t alignment = std::uint64_t{1} << from.below(6);
        const byte_map::place behind_head = model.find(bytes, alignment);
        // A ring takes back only when it must, which it need not for a part that fits behind the head.
        if (!behind_head.is_there || behind_head.offset < bytes) {
          ring.reclaim();
          model.reclaim(now);
        }
        if (allocate(ring, model, bytes, alignment, true)) ++open;
        break;
      }
      case 2: {
        const std::uint64_t until = now + from.below(4);
        require(ring.retire(until) == (open > 0), "whether there is something to retire");
        for (; open > 0; --open) model.retire(model.parts() - open, until);
        break;
      }
      default:
        finished.signal(now += from.below(3));
        break;
    }
    if (from.flag()) {
      ring.reclaim();
      model.reclaim(now);
    }
    require(ring.bytes_in_use() == model.bytes_in_use(), "how many bytes are in use, one writer");
  }
}

/// Fuzzes a ring of several writers, here with one thread, which retires parts in any order. An empty ring does not
/// begin anew.
void fuzz_shared(fuzz::input& from) {
  tidemark::progress_fence finished;
  const std::uint64_t capacity = 1 + from.below(100);
  constexpr std::size_t records = 8;
  tidemark::upload_ring<tidemark::progress_fence, tidemark::writers::several> ring{
      finished, {.capacity = capacity, .max_records = records}};
  byte_map model{capacity, false};
  std::deque<upload_part> parts;
  std::uint64_t now = 0;
  const auto reclaim = [&] {
    ring.reclaim();
    model.reclaim(now);
    while (parts.size() > model.parts()) parts.pop_front();
  };
  for (int step = 0; step < 64 && !from.is_empty(); ++step) {
    switch (from.below(4)) {
      case 0:
      case 1: {
        const std::uint64_t bytes = 1 + from.below(capacity);
        const std::uint64_t alignment = std::uint64_t{1} << from.below(6);
        reclaim();
        const upload_part part = allocate(ring, model, bytes, alignment, parts.size() < records);
        if (part) parts.push_back(part);
        break;
      }
      case 2: {
        if (parts.empty()) break;
        const auto which = static_cast<std::size_t>(from.below(parts.size()));
        const std::uint64_t until = now + from.below(4);
        if (model.is_retired(which)) break;
        require(ring.retire(parts[which], until), "a part can be retired once");
        model.retire(which, until);
        break;
      }
      default:
        finished.signal(now += from.below(3));
        break;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input from{data, size};
  from.flag() ? fuzz_shared(from) : fuzz_lone(from);
  return 0;
}
