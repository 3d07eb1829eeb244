// SPDX-License-Identifier: BSL-1.0
//
// Blocks of objects in a std::unordered_map: what one writes by hand instead of context storage. One map for each
// context, or one map for all contexts behind a shared mutex, whose key has the context's number, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace bench {

/// The block of an object in a context.
struct alignas(64) mapped_block {
  std::uint64_t bound = 0;
};

/// \tparam Key  a number of the object, or its address
template <class Key>
class map_of_context {
 public:
  explicit map_of_context(std::size_t objects) { blocks_.reserve(objects); }

  mapped_block* use(Key object) {
    const auto found = blocks_.find(object);
    if (found != blocks_.end()) [[likely]]
      return &found->second;
    return &blocks_[object];
  }

 private:
  std::unordered_map<Key, mapped_block> blocks_;
};

class map_of_all {
 public:
  explicit map_of_all(std::size_t objects) { blocks_.reserve(2 * objects); }

  mapped_block* use(std::uint32_t context, std::uint32_t object) {
    const std::uint64_t key = std::uint64_t{context} << 32 | object;
    {
      const std::shared_lock lock{guard_};
      const auto found = blocks_.find(key);
      if (found != blocks_.end()) [[likely]]
        return &found->second;
    }
    const std::unique_lock lock{guard_};
    return &blocks_[key];
  }

 private:
  std::shared_mutex guard_;
  std::unordered_map<std::uint64_t, mapped_block> blocks_;
};

}  // namespace bench
