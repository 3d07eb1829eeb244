// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the split table: readers beside a writer get consistent answers, and nothing is evicted that a part
// still uses.
#include "support/model_check.hpp"

#include <tidemark/split/split_table.hpp>

#include <array>

namespace {

using tidemark::slot_id;
using tidemark::split_apply_status;
using tidemark::split_need;
using tidemark::split_rows_status;
using platform = tidemark::TIDEMARK_MODEL_PLATFORM;
using payload = platform::var<std::uint64_t>;

/// Both words identify the allocation, so a torn value shows.
struct allocation {
  std::uint64_t id = 0;
  std::uint64_t inverse = 0;
  bool operator==(const allocation&) const = default;
};
constexpr allocation make(std::uint64_t id) { return {id, ~id}; }

/// A table of one slot, and the contents of each allocation: written before the allocation is bound, and read by a
/// reader that finds it bound.
template <std::size_t Capacity, std::size_t Allocations>
struct stand {
  using table_type = tidemark::split_table<allocation, Capacity, platform>;
  static constexpr slot_id slot{0};

  table_type table{{.max_slot = slot}};
  std::array<payload, Allocations + 1> contents;

  void bind(std::uint64_t id, std::uint64_t offset) {
    contents[id].store(id + 100);
    MODEL_REQUIRE(table.apply({make(id), slot, offset}));
  }
  void unbind(std::uint64_t offset) { MODEL_REQUIRE(table.apply({{}, slot, offset})); }

  /// Returns which allocation the row holds; 0 if it is unbound.
  std::uint64_t id_in(const tidemark::split_rows<allocation>& found) {
    const allocation row = found[slot];
    if (row == allocation{}) return 0;
    MODEL_REQUIRE(row.inverse == ~row.id);
    MODEL_REQUIRE(contents[row.id].load() == row.id + 100);
    return row.id;
  }
};

/// [C20] Readers at different offsets beside a writer: each answer holds for the whole work item.
template <unsigned Readers>
struct beside_writer : model::suite<Readers + 1>, stand<3, 3> {
  void thread(unsigned index) {
    if (index == 0) {
      bind(1, 0);
      bind(2, 1);
      bind(3, 2);
      table.close();
    } else {
      auto reader = table.reader();
      if (const auto rows = reader.rows_after(index)) MODEL_REQUIRE(id_in(rows) == index + 1);
      if (const auto rows = reader.needed_before(index)) MODEL_REQUIRE(id_in(rows) == index);
      if constexpr (Readers == 1) {
        if (const auto rows = reader.rows_after(2)) MODEL_REQUIRE(id_in(rows) == 3);
      }
    }
  }
  void after() {
    auto reader = table.reader();
    for (const std::uint64_t offset : {2u, 1u, 0u}) {
      const auto rows = reader.rows_after(offset);
      MODEL_REQUIRE(rows && id_in(rows) == offset + 1);
    }
  }
};

/// A group of two entries for one slot, and one entry behind it. The work item is not closed.
struct group_of_two : stand<3, 3> {
  void submit() {
    bind(1, 5);
    bind(2, 5);
    bind(3, 6);
  }
};

/// [C16] [C20] [trap 31] A group takes effect as a whole; offsets before the writer are known, those beyond it are not.
struct open_group : model::suite<2>, group_of_two {
  void thread(unsigned index) {
    if (index == 0) {
      submit();
    } else {
      auto reader = table.reader();
      if (const auto rows = reader.needed_before(5)) MODEL_REQUIRE(id_in(rows) == 0);
      if (const auto rows = reader.rows_after(5)) MODEL_REQUIRE(id_in(rows) == 2);
      if (const auto rows = reader.needed_before(6)) MODEL_REQUIRE(id_in(rows) == 2);
      MODEL_REQUIRE(reader.rows_after(6).status == split_rows_status::not_yet);
      if (const auto rows = reader.needed_before(5)) MODEL_REQUIRE(id_in(rows) == 0);
    }
  }
};

/// [C20] The next work item begins while a reader asks: an answer comes from a single work item, and never from one
/// that is over.
template <unsigned Resets>
struct reset_under_reader : model::suite<2>, stand<2, 2 * (Resets + 1)> {
  using base = stand<2, 2 * (Resets + 1)>;
  using base::id_in;
  using base::table;

  void before() { submit(0); }
  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t item = 1; item <= Resets; ++item) {
        table.reset();
        submit(item);
      }
    } else {
      auto reader = table.reader();
      const std::uint64_t item = look(reader);
      reader.restart();
      const std::uint64_t later = look(reader);
      if (item != none && later != none) MODEL_REQUIRE(later >= item);
    }
  }
  void after() {
    auto reader = table.reader();
    MODEL_REQUIRE(look(reader) == Resets);
  }

 private:
  static constexpr std::uint64_t none = UINT64_MAX;

  /// Each work item has two entries. The offset of the second one differs from that in the work item before.
  static constexpr std::uint64_t second_offset(std::uint64_t item) { return item % 2 == 0 ? 3 : 1; }
  void submit(std::uint64_t item) {
    base::bind(2 * item + 1, 0);
    base::bind(2 * item + 2, second_offset(item));
    table.close();
  }

  /// Returns the work item of the answers, `none` if there are none. All answers must come from one work item.
  template <class Reader>
  std::uint64_t look(Reader& reader) {
    std::uint64_t item = none;
    for (const std::uint64_t offset : {0u, 1u}) {
      const auto rows = reader.rows_after(offset);
      if (!rows) continue;
      const std::uint64_t id = id_in(rows);
      MODEL_REQUIRE(item == none || item == (id - 1) / 2);
      item = (id - 1) / 2;
      MODEL_REQUIRE(id == 2 * item + (offset < second_offset(item) ? 1 : 2));
    }
    return item;
  }
};

/// [C11] A full table has no space, and what readers see stays; the next work item has room again.
struct full : model::suite<2>, stand<1, 3> {
  void thread(unsigned index) {
    if (index == 0) {
      bind(1, 0);
      contents[2].store(102);
      MODEL_REQUIRE(table.apply({make(2), slot, 1}).status == split_apply_status::no_space);
      table.close();
      MODEL_REQUIRE(table.apply({make(2), slot, 1}).status == split_apply_status::closed);
      table.reset();
      bind(3, 0);
      table.close();
    } else {
      auto reader = table.reader();
      for (int question = 0; question < 2; ++question) {
        const auto rows = reader.rows_after(1);
        if (rows) MODEL_REQUIRE(id_in(rows) == 1 || id_in(rows) == 3);
        if (rows.status == split_rows_status::stale) reader.restart();
      }
    }
  }
};

/// [C14] [C15] [trap 31] A manager evicts what a part does not need, while another thread submits and executes: [0,
/// 1) uses allocation 1, [1, 2) uses 2, [2, 3) uses 1 again if `Returns`. The manager overwrites what it evicts.
template <bool Returns>
struct eviction : model::suite<2>, stand<4, 2> {
  using base = stand<4, 2>;
  using base::bind;
  using base::contents;
  using base::table;
  bool is_evicted = false;

  void thread(unsigned index) {
    if (index == 0) {
      bind(1, 0);
      bind(2, 1);
      execute(1);  // [0, 1), before the entries that make [1, 2) complete
      if (Returns) {
        MODEL_REQUIRE(table.apply({make(1), base::slot, 2}));
      } else {
        this->unbind(2);
      }
      execute(2);
      if (Returns) execute(1);
      table.close();
    } else {
      auto reader = table.reader();
      MODEL_REQUIRE(reader.need_of(make(1), 0, 1) != split_need::not_needed);
      MODEL_REQUIRE(reader.need_of(make(2), 0, 2) != split_need::not_needed);
      MODEL_REQUIRE(reader.need_of(make(2), 1, 2) != split_need::not_needed);
      if (reader.need_of(make(1), 1, 3) == split_need::not_needed) {
        MODEL_REQUIRE(!Returns);
        is_evicted = true;
        contents[1].store(0);
      }
    }
  }
  void after() {
    if (is_evicted) return;
    auto reader = table.reader();
    MODEL_REQUIRE(reader.need_of(make(1), 1, 3) == (Returns ? split_need::needed : split_need::not_needed));
  }

 private:
  void execute(std::uint64_t id) { MODEL_REQUIRE(contents[id].load() == id + 100); }
};

/// [C14] An allocation is used until the work item is closed; a manager that finds it closed overwrites the allocation.
struct used_until_finished : model::suite<2>, stand<2, 1> {
  void thread(unsigned index) {
    if (index == 0) {
      bind(1, 0);
      unbind(1);
      MODEL_REQUIRE(contents[1].load() == 101);
      table.close();
    } else {
      auto reader = table.reader();
      if (reader.need_of(make(1), 1, 2) == split_need::not_needed) contents[1].store(0);
    }
  }
};

/// [C14] [C20] The next work item begins while a manager asks: the answer holds for the manager's own work item.
struct question_beside_reset : model::suite<2>, stand<2, 4> {
  void before() {
    bind(1, 0);
    bind(2, 1);
    table.close();
  }
  void thread(unsigned index) {
    if (index == 0) {
      table.reset();
      bind(3, 0);
      bind(4, 1);
      table.close();
    } else {
      MODEL_REQUIRE(asked_for(2) != split_need::not_needed);
      MODEL_REQUIRE(asked_for(4) != split_need::needed);
    }
  }
  void after() { MODEL_REQUIRE(asked_for(1) == split_need::stale); }

 private:
  typename table_type::reader_type reader = table.reader();

  split_need asked_for(std::uint64_t id) { return reader.need_of(make(id), 0, 2); }
};

/// [C14] [trap 31] An allocation that is bound and replaced at one offset is not needed; the reader says so only once
/// the group is complete.
struct superseded : model::suite<2>, group_of_two {
  void thread(unsigned index) {
    if (index == 0) {
      submit();
    } else {
      auto reader = table.reader();
      MODEL_REQUIRE(reader.need_of(make(1), 0, 6) != split_need::needed);
      MODEL_REQUIRE(reader.need_of(make(2), 0, 6) != split_need::not_needed);
      MODEL_REQUIRE(reader.need_of(make(3), 0, 6) != split_need::needed);
      MODEL_REQUIRE(reader.need_of(make(3), 0, 7) == split_need::not_yet);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  return model::run(argc, argv,
                    {
                        model::make_check<beside_writer<1>, "beside_writer.one_reader">(),
                        model::make_check<beside_writer<2>, "beside_writer.two_readers">(),
                        model::make_check<open_group, "open_group">(),
                        model::make_check<reset_under_reader<1>, "reset_under_reader.once">(),
                        model::make_check<reset_under_reader<2>, "reset_under_reader.twice">(),
                        model::make_check<full, "full">(),
                        model::make_check<eviction<false>, "eviction.unbound">(),
                        model::make_check<eviction<true>, "eviction.bound_again">(),
                        model::make_check<used_until_finished, "used_until_finished">(),
                        model::make_check<question_beside_reset, "question_beside_reset">(),
                        model::make_check<superseded, "superseded">(),
                    });
}
