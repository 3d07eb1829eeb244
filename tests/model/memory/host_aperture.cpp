// SPDX-License-Identifier: BSL-1.0
//
// Model checks of the host aperture: no thread writes a page of the window that another thread has mapped or that the
// executor still reads; and no hint hides a page that has come back. A word of hints has two bits, so that a window of
// three pages has two levels of them.
#include "support/lent.hpp"
#include "support/progress.hpp"
#include "support/waiting.hpp"

#include <tidemark/memory/host_aperture.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace {

using model::heap_shape;
using model::one_slot;
using model::payload;
using model::progress_fence;
using tidemark::aperture_page;
using tidemark::aperture_status;
using tidemark::aperture_view;

std::span<const int> first_pages(std::size_t count) {
  static constexpr std::array<int, 3> all{0, 1, 2};
  return std::span{all}.first(count);
}

/// Two words of hints for a window of three pages.
template <class Platform>
struct few_hints : Platform {
  static constexpr std::size_t hints_in_word = 2;
};
template <heap_shape Shape, class Platform = model::platform>
using timeline_of = progress_fence<Shape, few_hints<Platform>>;

/// A window, and one field for each of its pages.
template <std::size_t Pages, heap_shape Shape = one_slot>
struct stand {
  timeline_of<Shape> finished;
  tidemark::host_aperture<model::view_of<timeline_of<Shape>>> window{finished.view(), {.pages = Pages}};
  std::array<payload, Pages> memory;

  aperture_view map(std::size_t pages) { return window.try_map(first_pages(pages)); }
  void fill(const aperture_view& view, int with) {
    window.for_each(view, [&](const aperture_page& page) { memory[page.window].store(with); });
  }
  void require(const aperture_view& view, int with) {
    window.for_each(view, [&](const aperture_page& page) { MODEL_REQUIRE(memory[page.window].load() == with); });
  }
  aperture_status use_once(std::size_t pages, int with) {
    const aperture_view view = map(pages);
    if (!view) return view.status;
    fill(view, with);
    require(view, with);
    window.unmap(view);
    return view.status;
  }
  /// Every page has come back.
  void after() {
    MODEL_REQUIRE(window.unmapped_pages() == Pages);
    MODEL_REQUIRE(map(Pages));
  }
};

/// [B31] Two threads map a page each, and have different pages.
struct two_map : model::suite<2>, stand<2> {
  void thread(unsigned index) { MODEL_REQUIRE(use_once(1, static_cast<int>(index)) == aperture_status::mapped); }
};

/// [B31] Three threads map a page each, and have different pages.
struct three_map : model::suite<3>, stand<3> {
  void thread(unsigned index) {
    const aperture_view view = map(1);
    MODEL_REQUIRE(view);
    fill(view, static_cast<int>(index));
    window.unmap(view);
  }
};

/// [B32] Two threads want more pages than there are for both. One may be refused, and no page is lost.
struct two_want_more : model::suite<2>, stand<3> {
  void thread(unsigned index) { MODEL_REQUIRE(use_once(2, static_cast<int>(index)) != aperture_status::busy); }
};

/// [B32] One thread unmaps a page and maps another one while a second thread looks for pages. The second thread finds
/// the pages that were counted.
struct given_and_taken : model::suite<2>, stand<3> {
  aperture_view held;

  void before() { held = map(1); }
  void thread(unsigned index) {
    if (index == 0) {
      window.unmap(held);
      MODEL_REQUIRE(use_once(1, 7) == aperture_status::mapped);
    } else {
      MODEL_REQUIRE(use_once(2, 8) == aperture_status::mapped);
    }
  }
};

/// [B32] Two threads unmap a page each. A third one gets both pages, or is told that it can't have them yet.
struct given_back_beside : model::suite<3>, stand<2> {
  aperture_view held[2];

  void before() {
    for (aperture_view& each : held) fill(each = map(1), 7);
  }
  void thread(unsigned index) {
    if (index < 2) {
      require(held[index], 7);
      window.unmap(held[index]);
    } else {
      MODEL_REQUIRE(use_once(2, 8) != aperture_status::busy);
    }
  }
};

/// A page that the executor reads until it signals.
template <std::size_t Pages, heap_shape Shape = one_slot>
struct page_in_use : stand<Pages, Shape> {
  aperture_view used;

  void before() {
    used = this->map(1);
    this->fill(used, 7);
  }
  void execute() {
    this->window.retire(used, 1);
    this->require(used, 7);
    this->finished.signal(1);
  }
};

/// [B4] The page is not written before that. A thread that is refused meanwhile keeps no page.
struct read_until_signalled : model::suite<2>, page_in_use<2> {
  void thread(unsigned index) { index == 0 ? execute() : void(use_once(2, 8)); }
};

/// [B12] One thread waits for the page, which is still mapped at first, and gets it. Others wait for the same value; on
/// the heap of one slot they share the lane.
template <unsigned Others, heap_shape Shape>
struct waited_for_beside : model::suite<2 + Others>, page_in_use<1, Shape> {
  void thread(unsigned index) {
    if (index == 0) return this->execute();
    if (index > 1) return MODEL_REQUIRE(this->finished.wait(1) == tidemark::wait_status::reached);
    const aperture_view view = this->window.map(first_pages(1));
    MODEL_REQUIRE(view);
    this->fill(view, 8);
    this->window.unmap(view);
  }
};

/// [A31] [B32] The heavy barrier is refused, so that a thread that waits for a page may be missed by the one that gives
/// it back, or by the executor. So it looks again.
template <bool Retired>
struct barrier_is_refused : model::suite<2> {
  using timeline_type = timeline_of<one_slot, model::refused_later<model::platform>>;
  timeline_type finished;
  tidemark::host_aperture<model::view_of<timeline_type>> window{finished.view(), {.pages = 1}};
  aperture_view used;

  void before() {
    used = window.try_map(first_pages(1));
    if (Retired) window.retire(used, 1);
  }
  void thread(unsigned index) {
    if (index == 1) return MODEL_REQUIRE(window.map(first_pages(1)));
    if (Retired) {
      finished.signal(1);
    } else {
      window.unmap(used);
    }
  }
};

/// One thread is refused because a page is in use, and gives back the page that it had taken. Another thread counts on
/// that page.
struct refused_beside : model::suite<2>, stand<2> {
  void before() { window.retire(map(1), 1); }
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(use_once(2, 7) != aperture_status::mapped);
    } else {
      MODEL_REQUIRE(use_once(1, 8) != aperture_status::busy);
    }
  }
  void after() {
    finished.signal(1);
    stand::after();
  }
};

/// A window of which each page has a view when the threads begin.
template <std::size_t Pages, heap_shape Shape>
struct lent_pages : stand<Pages, Shape> {
  std::array<aperture_view, Pages> held;

  void before() {
    for (aperture_view& each : held) each = this->map(1);
  }
  void retire(unsigned which, std::uint64_t until) {
    this->fill(held[which], 7);
    this->window.retire(held[which], until);
  }
  void give(unsigned which) { retire(which, 0); }
  template <class... Limits>
  tidemark::wait_status ask(std::size_t pages, const Limits&... limits) {
    aperture_view view;
    if constexpr (model::has_deadline<Limits...>) {
      view = this->window.map_until(first_pages(pages), limits...);
    } else {
      view = this->window.map(first_pages(pages), limits...);
    }
    if (view) {
      this->fill(view, 8);
      this->window.unmap(view);
    }
    return model::end_of(view);
  }
};

template <heap_shape Shape>
using given_after_retire = model::given_after_retire<lent_pages, Shape>;
template <heap_shape Shape>
using given_by_two = model::given_by_two<lent_pages, Shape>;
template <heap_shape Shape>
using given_to_one_of_two = model::given_to_one_of_two<lent_pages, Shape>;

/// [B12] A thread that is refused has counted the page for which another one waits, and counts it no longer.
struct waited_beside_refused : model::suite<2>, stand<2> {
  void before() { window.retire(map(1), 1); }
  void thread(unsigned index) {
    if (index == 0) {
      MODEL_REQUIRE(use_once(2, 7) != aperture_status::mapped);
    } else {
      const aperture_view view = window.map(first_pages(1));
      MODEL_REQUIRE(view);
      fill(view, 8);
      window.unmap(view);
    }
  }
  void after() {
    finished.signal(1);
    stand::after();
  }
};

/// [B12] Two threads wait for both pages, which are in use. An attempt of one in vain wakes the other one, and neither
/// waits for ever.
struct two_want_all : model::suite<3>, stand<2> {
  void before() { window.retire(map(2), 1); }
  void thread(unsigned index) {
    if (index == 0) return finished.signal(1);
    const aperture_view view = window.map(first_pages(2));
    MODEL_REQUIRE(view);
    fill(view, 8);
    window.unmap(view);
  }
};

/// [B31] One thread gives back a page while a second one passes it, and leaves a hint that it is mapped. A third one
/// that counts on the page finds it, though the hint may be wrong at that moment.
struct misled : model::suite<3>, stand<2> {
  aperture_view held;

  void before() { fill(held = map(1), 7); }
  void thread(unsigned index) {
    if (index == 0) {
      require(held, 7);
      window.unmap(held);
    } else {
      MODEL_REQUIRE(use_once(1, static_cast<int>(index)) != aperture_status::busy);
    }
  }
};

/// The hints alone: a window of which all pages are mapped, with hints for some of them.
template <std::size_t Pages>
struct hinted {
  using mapped_pages = tidemark::detail::mapped_pages<few_hints<model::platform>>;
  using word = mapped_pages::word;

  mapped_pages pages{Pages, std::make_unique<word[]>(mapped_pages::words_for(Pages))};
  std::array<model::platform::atomic<int>, Pages> is_free;
  std::array<payload, Pages> memory;

  bool is_mapped(std::size_t page) const { return is_free[page].load(std::memory_order_relaxed) == 0; }
  void note(std::size_t page) {
    if (!is_mapped(page)) return;
    pages.note(page / 2, mapped_pages::bit_of(page), [this](std::size_t which) { return is_mapped(which); });
  }
  void give_back(std::size_t page) {
    memory[page].store(7);
    is_free[page].store(1, std::memory_order_release);
    pages.give_back(page / 2, mapped_pages::bit_of(page), 1);
  }
  /// What was done through the page can be seen. Where it was given back meanwhile it may still have a hint.
  void require_free_if_counted(std::size_t page) {
    if (!pages.add(1, Pages)) return;
    MODEL_REQUIRE(!is_mapped(page));
    MODEL_REQUIRE(memory[page].load() == 7);
  }
  /// The same, and a search from the first page on finds it.
  void require_found(std::size_t page) {
    std::size_t found = pages.next_without_hint(0);
    while (found < page) found = pages.next_without_hint(found + 1);
    MODEL_REQUIRE(found == page);
    require_free_if_counted(page);
  }
  void map_all() { MODEL_REQUIRE(pages.add(Pages, Pages)); }
};

/// [B31] A page is given back while another thread leaves a hint that it is mapped. The hint goes.
struct noted_beside_give_back : model::suite<2>, hinted<1> {
  void before() { map_all(); }
  void thread(unsigned index) {
    if (index == 0) return give_back(0);
    note(0);
    require_free_if_counted(0);
  }
  void after() { require_found(0); }
};

/// [B31] The same with two threads that leave a hint.
struct noted_twice_beside_give_back : model::suite<3>, hinted<1> {
  void before() { map_all(); }
  void thread(unsigned index) { index == 0 ? give_back(0) : note(0); }
  void after() { require_found(0); }
};

/// A window of which the second half is looked at, because a search begins in the first word.
template <std::size_t Pages>
struct all_hinted_but_one : hinted<Pages> {
  static constexpr std::size_t page = Pages / 2;

  void before() {
    this->map_all();
    for (std::size_t other = 0; other < Pages; ++other) {
      if (other != page) this->note(other);
    }
  }
};

/// [B31] The hint of a page makes its word full while the other page of that word is given back. The bits above go.
template <std::size_t Pages>
struct full_word_beside_give_back : model::suite<2>, all_hinted_but_one<Pages> {
  void thread(unsigned index) {
    if (index == 0) return this->give_back(this->page + 1);
    this->note(this->page);
    this->require_free_if_counted(this->page + 1);
  }
  void after() { this->require_found(this->page + 1); }
};

/// [B31] The same while two pages are given back, of which one lies in the next word.
struct full_words_beside_give_back : model::suite<3>, all_hinted_but_one<8> {
  void thread(unsigned index) { index == 2 ? note(page) : give_back(page + 1 + 2 * index); }
  void after() {
    require_found(page + 1);
    require_found(page + 3);
  }
};

template <heap_shape Shape>
using waited_for = waited_for_beside<0, Shape>;
template <heap_shape Shape>
using waited_beside_a_waiter = waited_for_beside<1, Shape>;

}  // namespace

int main(int argc, char** argv) {
  std::vector<model::check> checks{
      model::make_check<two_map, "two_map">(),
      model::make_check<three_map, "three_map">(),
      model::make_check<two_want_more, "two_want_more">(),
      model::make_check<given_and_taken, "given_and_taken">(),
      model::make_check<read_until_signalled, "read_until_signalled">(),
      model::make_check<refused_beside, "refused_beside">(),
      model::make_check<given_back_beside, "given_back_beside">(),
      model::make_check<waited_beside_refused, "waited_beside_refused">(),
      model::make_check<two_want_all, "two_want_all">(),
      model::make_check<barrier_is_refused<false>, "barrier_is_refused.given_back">(),
      model::make_check<barrier_is_refused<true>, "barrier_is_refused.retired">(),
      model::make_check<misled, "misled">(),
      model::make_check<noted_beside_give_back, "noted_beside_give_back">(),
      model::make_check<noted_twice_beside_give_back, "noted_twice_beside_give_back">(),
      model::make_check<full_word_beside_give_back<4>, "full_word_beside_give_back">(),
      model::make_check<full_word_beside_give_back<8>, "full_word_beside_give_back.three_levels">(),
      model::make_check<full_words_beside_give_back, "full_words_beside_give_back">(),
  };
  model::add_on_shapes<waited_for, one_slot, "waited_for">(checks);
  model::add_on_shapes<waited_beside_a_waiter, one_slot, "waited_beside_a_waiter">(checks);
  model::lent_checks<lent_pages>::add(checks);
  model::add_on_shapes<given_after_retire, one_slot, "given_after_retire">(checks);
  model::add_on_shapes<given_by_two, one_slot, "given_by_two">(checks);
  checks.push_back(model::make_check<given_to_one_of_two<model::two_slots>, "given_to_one_of_two">());
  return model::run(argc, argv, checks);
}
