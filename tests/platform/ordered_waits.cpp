// SPDX-License-Identifier: BSL-1.0
//
// The order in which a loop keeps its waits, beside a naive model.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include <tidemark/platform/tools/intrusive_lists.hpp>

#include "support/random.hpp"

using namespace testing;

namespace {

struct entry {
  struct order {
    static tidemark::detail::wait_links<entry>& links(entry& of) { return of.links; }
    static bool comes_before(const entry& a, const entry& b) {
      return std::pair{a.key, a.number} < std::pair{b.key, b.number};
    }
    static std::uint64_t key(const entry& of) { return of.key; }
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
  /// Takes the entries out whose keys are less than this.
  void take(std::uint64_t less_than) {
    std::size_t taken = 0;
    const entry* one =
        ordered_.take_while([&](const entry& each) { return each.key < less_than; }, [&](const entry&) { ++taken; });
    for (; !model_.empty() && model_.begin()->first.first < less_than; --taken) {
      REQUIRE(one == model_.begin()->second);
      one = one->links.later;
      model_.erase(model_.begin());
    }
    REQUIRE(one == nullptr);
    REQUIRE(taken == 0);
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
      const std::uint64_t what = random.below(std::uint64_t{11});
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
      } else if (what < 10) {
        entries.take(random.below(keys));
      } else {
        entries.remove(random.below(entries.size()));
      }
    }
    while (entries.size() != 0) entries.remove(random.below(entries.size()));
  }
}

TEST_CASE("many entries that are taken together come in the model's order, whatever their keys") {
  random_numbers random{fresh_seed()};
  for (const std::size_t count : {100U, 255U, 256U, 3000U}) {
    for (const std::uint64_t keys : {std::uint64_t{1}, std::uint64_t{10}, std::uint64_t{300}, std::uint64_t{70'000},
                                     std::uint64_t{1} << 40, UINT64_MAX}) {
      CAPTURE(count);
      CAPTURE(keys);
      both entries;
      for (std::size_t i = 0; i < count; ++i) entries.insert(random.below(keys));
      entries.take(keys / 2);
      for (std::size_t i = 0; i < count; ++i) entries.insert(random.below(keys));
      for (std::size_t i = 0; i < count / 10; ++i) entries.remove(random.below(entries.size()));
      entries.take(keys / 4 * 3);
      entries.take(keys);
      REQUIRE(entries.size() == 0);
    }
  }
}
