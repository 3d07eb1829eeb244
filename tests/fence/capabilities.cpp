// SPDX-License-Identifier: BSL-1.0
//
// Negotiation: what is refused and why, what versions see of each other, and that nothing fails afterwards. A property
// test compares it with a naive model.
#include <tidemark/fence/capabilities.hpp>

#include <tidemark/engine/domain.hpp>
#include <tidemark/engine/engine.hpp>
#include <tidemark/loop/wait_loop.hpp>
#include <tidemark/platform/portable_platform.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using tidemark::agreed_feature;
using tidemark::capabilities;
using tidemark::enabled_feature;
using tidemark::feature_host;
using tidemark::feature_id;
using tidemark::feature_version;
using tidemark::if_there;
using tidemark::negotiate;
using tidemark::negotiate_status;
using tidemark::offered_feature;
using tidemark::with_bits;

namespace {

/// A driver's fences, as a client of their first version knows them. Bit 0: second mappings for a monitor.
struct fences_v1 {
  static constexpr feature_id id{1};
  static constexpr std::string_view name = "fences";
  static constexpr feature_version oldest{1};
  static constexpr feature_version newest{1};
  static constexpr std::uint64_t bits_of(feature_version) noexcept { return 1; }

  struct caps {
    explicit constexpr caps(const agreed_feature& of) noexcept
        : version{of.version}, maps_for_monitor{(of.bits & 1) != 0}, bits{of.bits} {}
    feature_version version;
    bool maps_for_monitor;
    std::uint64_t bits;
  };
};
/// The same for a client of the second version, which knows bit 1, too.
struct fences_v2 : fences_v1 {
  static constexpr feature_version newest{2};
  static constexpr std::uint64_t bits_of(feature_version version) noexcept {
    return version >= feature_version{2} ? 3 : 1;
  }
};
struct fences_only_v2 : fences_v2 {
  static constexpr feature_version oldest{2};
};
struct logs : tidemark::plain_feature {
  static constexpr feature_id id{2};
  static constexpr std::string_view name = "logs";
};

constexpr std::array enabled{enabled_feature{feature_id{1}, {2}}, enabled_feature{feature_id{2}, {1}}};
constexpr feature_host host{enabled};

}  // namespace

// ---- negotiation ----------------------------------------------------------------------------------------------------

TEST_CASE("[A38] capabilities come from a negotiation alone, and what needs them can't be made without") {
  static_assert(!std::is_default_constructible_v<capabilities<logs>>);
  static_assert(!std::is_constructible_v<capabilities<logs>, std::array<std::optional<agreed_feature>, 1>>);
  static_assert(!std::is_convertible_v<agreed_feature, capabilities<logs>>);
  static_assert(std::is_copy_constructible_v<capabilities<logs>>);
  // A provider asks before it offers.
  constexpr feature_host none{std::span<const enabled_feature>{}};
  CHECK(host.enabled(logs::id) == feature_version{1});
  CHECK(!none.enabled(logs::id));
  tidemark::feature_offers offers;
  offers.add_if_enabled<logs>(none);
  CHECK(std::span<const offered_feature>{offers}.empty());
  offers.add_if_enabled<logs>(host);
  CHECK(negotiate<logs>(host, offers));
}

TEST_CASE("[A39] an offer that is not enabled is an error, also if nobody has requested it") {
  constexpr std::array offers{offered_feature{logs::id}, offered_feature{feature_id{1}, {1}}};
  constexpr std::array only_logs{enabled_feature{logs::id}};
  const auto agreed = negotiate<logs>(feature_host{only_logs}, offers);
  CHECK(!agreed);
  CHECK(agreed.status == negotiate_status::not_enabled);
  CHECK(agreed.name.empty());
  const auto named = negotiate<logs, fences_v1>(feature_host{only_logs}, offers);
  CHECK(named.status == negotiate_status::not_enabled);
  CHECK(named.name == "fences");
  CHECK(to_string(named.status) == "not_enabled");
  // Not silently less, either: a newer version than is enabled.
  constexpr std::array first_version{enabled_feature{feature_id{1}, {1}}};
  constexpr std::array second{offered_feature{feature_id{1}, {2}}};
  CHECK(negotiate<fences_v2>(feature_host{first_version}, second).status == negotiate_status::not_enabled);
}

TEST_CASE(
    "[A40] a client of the first version works with a provider of the second, and ignores what it does not know") {
  constexpr std::array offers{offered_feature{feature_id{1}, {2}, 0xFF}};
  const auto agreed = negotiate<fences_v1>(host, offers);
  REQUIRE(agreed);
  CHECK(agreed->query<fences_v1>().version == feature_version{1});
  CHECK(agreed->query<fences_v1>().maps_for_monitor);
  CHECK(agreed->query<fences_v1>().bits == 1);
  CHECK(agreed->agreed<fences_v1>().reported == 0xFF);
}

TEST_CASE(
    "[A40] a client of the second version works with a provider of the first, unless it says that it needs more") {
  constexpr std::array offers{offered_feature{feature_id{1}, {1}, 0xFF}};
  const auto agreed = negotiate<fences_v2>(host, offers);
  REQUIRE(agreed);
  CHECK(agreed->query<fences_v2>().version == feature_version{1});
  CHECK(agreed->query<fences_v2>().bits == 1);  // bit 1 means nothing in this version
  const auto refused = negotiate<fences_only_v2>(host, offers);
  CHECK(refused.status == negotiate_status::too_old);
  CHECK(refused.name == "fences");
  CHECK(negotiate<with_bits<fences_v2, 0, feature_version{2}>>(host, offers).status == negotiate_status::too_old);
  CHECK(negotiate<with_bits<fences_v2, 2>>(host, offers).status == negotiate_status::missing_bits);
  CHECK(negotiate<with_bits<fences_v2, 1>>(host, offers));
  constexpr std::array newer{offered_feature{feature_id{1}, {2}, 0xFF, {2}}};
  CHECK(negotiate<fences_v1>(host, newer).status == negotiate_status::too_new);
}

TEST_CASE("[A41] after an agreement no query fails, and one for what was not requested does not compile") {
  constexpr std::array offers{offered_feature{logs::id}};
  const auto agreed = negotiate<logs, if_there<fences_v2>>(host, offers);
  REQUIRE(agreed);
  using type = capabilities<logs, if_there<fences_v2>>;
  static_assert(noexcept(agreed->query<logs>()) && noexcept(agreed->has<fences_v2>()));
  static_assert(type::has_requested<logs> && type::has_requested<fences_v2> &&
                !type::has_requested<tidemark::rewindable_values>);
  CHECK(agreed->has<logs>());
  CHECK(!agreed->has<fences_v2>());
  CHECK(agreed->query<fences_v2>().version == feature_version{0});
  CHECK(!agreed->query<fences_v2>().maps_for_monitor);
  CHECK(negotiate<logs, fences_v2>(host, offers).status == negotiate_status::not_offered);
}

TEST_CASE("[A42] the user sees the bits that the provider has set, and constants say what is always there") {
  for (const std::uint64_t bits : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}}) {
    const std::array offers{offered_feature{feature_id{1}, {2}, bits}};
    const auto agreed = negotiate<fences_v2>(host, offers);
    REQUIRE(agreed);
    CHECK(agreed->query<fences_v2>().bits == bits);
    CHECK(agreed->query<fences_v2>().maps_for_monitor == ((bits & 1) != 0));
  }
  using type = capabilities<logs, if_there<fences_v2>>;
  static_assert(type::always_has<logs> && !type::always_has<fences_v2>);
  // The whole negotiation may be had by the compiler.
  static constexpr std::array offers{offered_feature{logs::id}};
  constexpr auto agreed = negotiate<logs>(host, offers);
  static_assert(agreed->query<logs>().version == feature_version{1});
}

TEST_CASE("[A44] a query is typed by its feature") {
  constexpr std::array offers{offered_feature{logs::id}, offered_feature{feature_id{1}, {2}, 1}};
  const auto agreed = negotiate<logs, fences_v2>(host, offers);
  REQUIRE(agreed);
  static_assert(std::is_same_v<decltype(agreed->query(fences_v2{})), fences_v1::caps>);
  static_assert(std::is_same_v<decltype(agreed->query(logs{})), agreed_feature>);
  CHECK(agreed->query(fences_v2{}).maps_for_monitor);
  CHECK(agreed->query(logs{}).version == feature_version{1});
}

// ---- functions ------------------------------------------------------------------------------------------------------

namespace {

int calls = 0;

/// The functions of a driver: two since version 3.1, four since 3.2.
struct driver_functions {
  int (*create)(int) noexcept = nullptr;
  void (*destroy)(int) noexcept = nullptr;
  int (*open)(int) noexcept = nullptr;
  void (*close)(int) noexcept = nullptr;
  bool (*set_log_buffer)(void*) noexcept = nullptr;
  void (*update_logs)() noexcept = nullptr;
};

struct native_fences {
  static constexpr feature_id id{3};
  static constexpr std::string_view name = "native_fences";
  static constexpr feature_version oldest{3, 1};
  static constexpr feature_version newest{3, 2};
  static constexpr std::uint64_t bits_of(feature_version) noexcept { return 0; }
  using caps = agreed_feature;
  using functions = driver_functions;
  static constexpr std::array list{
      tidemark::function_of<&driver_functions::create>("create", {3, 1}),
      tidemark::function_of<&driver_functions::destroy>("destroy", {3, 1}),
      tidemark::function_of<&driver_functions::open>("open", {3, 2}),
      tidemark::function_of<&driver_functions::close>("close", {3, 2}),
      tidemark::function_of<&driver_functions::set_log_buffer>("set_log_buffer", {3, 2}),
      tidemark::function_of<&driver_functions::update_logs>("update_logs", {3, 2}),
  };
};
static_assert(tidemark::feature_with_functions<native_fences>);
// It keeps the address of the table.
static_assert(std::is_constructible_v<tidemark::provider_functions<native_fences>,
                                      const tidemark::negotiate_result<native_fences>&, const driver_functions&>);
static_assert(!std::is_constructible_v<tidemark::provider_functions<native_fences>,
                                       const tidemark::negotiate_result<native_fences>&, driver_functions>);

constexpr driver_functions first_functions{.create = [](int value) noexcept { return ++calls, value; },
                                           .destroy = [](int) noexcept { ++calls; }};
constexpr driver_functions all_functions() {
  driver_functions all = first_functions;
  all.open = [](int value) noexcept { return ++calls, value + 1; };
  all.close = [](int) noexcept { ++calls; };
  all.set_log_buffer = [](void*) noexcept { return ++calls, true; };
  all.update_logs = []() noexcept { ++calls; };
  return all;
}

constexpr std::array driver_enabled{enabled_feature{native_fences::id, {3, 2}}};
constexpr feature_host driver_host{driver_enabled};

auto agree(feature_version offered) {
  const std::array offers{offered_feature{native_fences::id, offered}};
  return negotiate<native_fences>(driver_host, offers);
}

}  // namespace

TEST_CASE("[A45] where a feature is off, the factory returns why, and no function of the driver is called") {
  calls = 0;
  constexpr driver_functions all = all_functions();
  constexpr feature_host off{std::span<const enabled_feature>{}};
  const std::array offers{offered_feature{native_fences::id, {3, 2}}};
  const tidemark::provider_functions<native_fences> claimed{negotiate<native_fences>(off, offers), all};
  const tidemark::provider_functions<native_fences> absent{negotiate<native_fences>(driver_host, {}), all};
  const tidemark::provider_functions<native_fences> unwanted{negotiate<if_there<native_fences>>(driver_host, {}), all};
  for (const auto* each : {&claimed, &absent, &unwanted}) {
    const auto created = each->call<&driver_functions::create>(1);
    CHECK(!created);
    CHECK(!created.value);
    CHECK(created.name == "native_fences");
    CHECK(!each->call<&driver_functions::open>(1));
    CHECK(!each->call<&driver_functions::close>(1));
    CHECK(!each->call<&driver_functions::destroy>(1));
  }
  CHECK(claimed.status() == negotiate_status::not_enabled);
  CHECK(absent.status() == negotiate_status::not_offered);
  CHECK(calls == 0);
  const tidemark::provider_functions<native_fences> on{agree({3, 2}), all};
  CHECK(on.call<&driver_functions::create>(7).value == 7);
  CHECK(on.call<&driver_functions::destroy>(7));
  CHECK(calls == 2);
}

TEST_CASE("[A126] with a table of version 3.1, a client of version 3.2 creates, and is refused where it opens") {
  calls = 0;
  const tidemark::provider_functions<native_fences> functions{agree({3, 1}), first_functions};
  CHECK(functions.status() == negotiate_status::agreed);
  CHECK(functions.call<&driver_functions::create>(7).value == 7);
  CHECK(functions.call<&driver_functions::destroy>(7));
  CHECK(calls == 2);
  const auto opened = functions.call<&driver_functions::open>(7);
  CHECK(opened.status == negotiate_status::too_old);
  CHECK(opened.name == "open");
  CHECK(functions.call<&driver_functions::set_log_buffer>(nullptr).name == "set_log_buffer");
  CHECK(functions.call<&driver_functions::update_logs>().name == "update_logs");
  CHECK(calls == 2);
}

TEST_CASE("[A126] an incomplete table is refused by the name of the function that is missing") {
  calls = 0;
  const driver_functions complete = all_functions();
  CHECK(tidemark::provider_functions<native_fences>{agree({3, 2}), complete}.status() == negotiate_status::agreed);
  const auto missing = [](feature_version version, const auto& forget) {
    driver_functions some = all_functions();
    forget(some);
    const tidemark::provider_functions<native_fences> functions{agree(version), some};
    // Also the functions that are there are not called.
    CHECK((functions.status() == negotiate_status::agreed) == functions.missing().empty());
    const bool is_called = functions.call<&driver_functions::update_logs>().status == negotiate_status::agreed;
    CHECK((!is_called || functions.status() == negotiate_status::agreed));
    return functions.missing();
  };
  CHECK(missing({3, 2}, [](driver_functions& of) { of.create = nullptr; }) == "create");
  CHECK(missing({3, 2}, [](driver_functions& of) { of.close = nullptr; }) == "close");
  CHECK(missing({3, 2}, [](driver_functions& of) { of.set_log_buffer = nullptr; }) == "set_log_buffer");
  CHECK(missing({3, 1}, [](driver_functions& of) { of.destroy = nullptr; }) == "destroy");
  CHECK(missing({3, 1}, [](driver_functions& of) { of.close = nullptr; }).empty());
  CHECK(calls == 0);
}

// ---- engines and domains --------------------------------------------------------------------------------------------

TEST_CASE("[A38] an engine says what it has before it is made") {
  const auto agreed = tidemark::engine::negotiate<tidemark::serials_32, tidemark::signal_logs,
                                                  if_there<tidemark::asymmetric_barriers>>();
  REQUIRE(agreed);
  const bool has_barriers =
      tidemark::native_platform::asymmetric && tidemark::native_platform::heavy_barrier_available();
  CHECK(agreed->has<tidemark::asymmetric_barriers>() == has_barriers);
  using portable_engine = tidemark::basic_engine<tidemark::portable_platform>;
  CHECK(portable_engine::negotiate<tidemark::asymmetric_barriers>().status == negotiate_status::not_offered);
  const auto refused = tidemark::engine::negotiate<tidemark::rewindable_values>();
  CHECK(refused.status == negotiate_status::not_offered);
  CHECK(refused.name == "rewindable_values");
}

TEST_CASE("[A38] an engine asks its host, and offers nothing that is not enabled") {
  constexpr std::array only_logs{enabled_feature{tidemark::signal_logs::id}};
  const feature_host some{only_logs};
  CHECK(tidemark::engine::negotiate<tidemark::signal_logs>(some));
  CHECK(tidemark::engine::negotiate<tidemark::serials_32>(some).status == negotiate_status::not_offered);
}

TEST_CASE("[A42] a legacy domain has no logs, and says so") {
  tidemark::wait_loop loop;
  const tidemark::domain native{loop};
  const tidemark::domain legacy{loop, {.kind = tidemark::domain_kind::legacy}};
  CHECK(native.negotiate<tidemark::signal_logs>());
  const auto refused = legacy.negotiate<tidemark::signal_logs>();
  CHECK(refused.status == negotiate_status::not_offered);
  CHECK(refused.name == "signal_logs");
  CHECK(!native.negotiate<tidemark::serials_32>());
}

// ---- a naive model --------------------------------------------------------------------------------------------------

namespace {

struct random_numbers {
  std::uint64_t state;
  std::uint64_t below(std::uint64_t bound) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33) % bound;
  }
};

/// What the model says of one request.
bool is_met(const std::vector<offered_feature>& offers, feature_id id, feature_version oldest, feature_version newest,
            std::uint64_t known_in_first, std::uint64_t known_in_second, std::uint64_t needed) {
  for (const offered_feature& each : offers) {
    if (each.id != id) continue;
    const feature_version version = (std::min)(each.version, newest);
    const std::uint64_t known = version >= feature_version{2} ? known_in_second : known_in_first;
    return version >= oldest && version >= each.oldest && (each.bits & known & needed) == needed;
  }
  return false;
}

}  // namespace

TEST_CASE("[A41] whatever hosts, providers and clients there are, nothing fails after an agreement") {
  random_numbers random{41};
  std::size_t agreements = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::vector<enabled_feature> enables;
    std::vector<offered_feature> offers;
    for (std::uint32_t id = 1; id <= 4; ++id) {
      const auto version = [&] { return feature_version{static_cast<std::uint16_t>(random.below(4))}; };
      if (random.below(8) != 0)
        enables.push_back({feature_id{id}, random.below(4) != 0 ? feature_version{9} : version()});
      if (random.below(4) != 0) {
        const feature_version oldest = random.below(4) == 0 ? version() : feature_version{0};
        offers.push_back({feature_id{id}, version(), random.below(16), oldest});
      }
    }
    bool is_enabled = true;
    for (const offered_feature& each : offers) {
      bool found = false;
      for (const enabled_feature& with : enables) found |= with.id == each.id && with.newest >= each.version;
      is_enabled &= found;
    }
    const auto result = negotiate<fences_v1, with_bits<fences_v2, 2>, if_there<logs>>(feature_host{enables}, offers);
    // The first one that names the id counts for both clients of it.
    const bool expected = is_enabled && is_met(offers, feature_id{1}, {1}, {1}, 1, 1, 0) &&
                          is_met(offers, feature_id{1}, {1}, {2}, 1, 3, 2);
    if (static_cast<bool>(result) != expected) FAIL("a negotiation and its model do not agree");
    if (!result) {
      if (result.status == negotiate_status::agreed) FAIL("no agreement, and no reason");
      continue;
    }
    ++agreements;
    const bool has_logs = is_met(offers, logs::id, {1}, {1}, 0, 0, 0);
    if (result->has<logs>() != has_logs) FAIL("a feature that is there is not seen");
    if ((result->query<logs>().version == feature_version{1}) != has_logs) FAIL("a query has failed");
    if (result->query<fences_v2>().version != feature_version{2}) FAIL("a query has failed");
    if ((result->query<fences_v2>().bits & 2) == 0) FAIL("a bit is missing that was needed");
    if (result->query<fences_v1>().bits > 1) FAIL("a bit is seen that the version does not know");
  }
  CHECK(agreements > 1000);
}
