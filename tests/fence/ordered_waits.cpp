// SPDX-License-Identifier: BSL-1.0
//
// The order in which a loop keeps its waits, beside a naive model.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include <tidemark/fence/detail/ordered_waits.hpp>

#include "support/random.hpp"

using namespace testing;

namespace {

struct entry {
  struct order {
    static tidemark::detail::wait_links<entry>& links(entry& of) { return of.links; }
    static bool comes_before(const entry& a, const entry& b) {
      return std::pair{a.key, a.number} < std::pair{b.key, b.number};
    }
  };
  std::uint64_t key;
  std::uint64_t number;
  tidemark::detail::wait_links<entry> links{};
};

/// The entries, and the same in a map.
class both {
 public:
  void insert(std::uint64_t key) {
    entry& added = entries_.emplace_back(entry{key, number_++});
    ordered_.insert(added);
    model_.emplace(std::pair{key, added.number}, &added);
    check();
  }
  /// \param at  a number of an entry, counted from the least one
  void remove(std::size_t at) {
    const auto place = std::next(model_.begin(), static_cast<std::ptrdiff_t>(at));
    ordered_.remove(*place->second);
    model_.erase(place);
    check();
  }
  std::size_t size() const { return model_.size(); }
  void move() {
    auto elsewhere = std::move(ordered_);
    REQUIRE(ordered_.least() == nullptr);
    ordered_ = std::move(elsewhere);
    check();
  }

 private:
  void check() const { REQUIRE(ordered_.least() == (model_.empty() ? nullptr : model_.begin()->second)); }

  std::deque<entry> entries_;
  std::uint64_t number_ = 0;
  tidemark::detail::ordered_waits<entry, entry::order> ordered_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, entry*> model_;
};

}  // namespace

TEST_CASE("the least entry is the model's, for keys in ascending, descending and equal order") {
  for (const std::int64_t step : {1, 0, -1}) {
    both entries;
    std::uint64_t key = 1000;
    for (int i = 0; i < 100; ++i) {
      entries.insert(key);
      key += static_cast<std::uint64_t>(step);
    }
    while (entries.size() != 0) entries.remove(0);
  }
}

TEST_CASE("the least entry is the model's after any random insertion, removal and move") {
  random_numbers random{fresh_seed()};
  for (int round = 0; round < 300; ++round) {
    both entries;
    const std::uint64_t keys = 1 + random.below(std::uint64_t{50});
    std::uint64_t rising = 0;
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t what = random.below(std::uint64_t{10});
      if (entries.size() == 0 || what < 4) {
        entries.insert(random.below(keys));
      } else if (what < 6) {
        entries.insert(rising += random.below(std::uint64_t{3}));
      } else if (what < 7) {
        entries.remove(0);
      } else if (what < 8) {
        entries.remove(entries.size() - 1);
      } else if (what < 9) {
        entries.move();
      } else {
        entries.remove(random.below(entries.size()));
      }
    }
    while (entries.size() != 0) entries.remove(random.below(entries.size()));
  }
}
