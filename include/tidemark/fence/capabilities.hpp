// SPDX-License-Identifier: BSL-1.0
//
// capabilities: what a provider (an engine, a domain, a driver of yours) and its client agree on before they begin.
//
//   const auto agreed = compute.negotiate<tidemark::serials_32, tidemark::if_there<tidemark::asymmetric_barriers>>();
//   if (!agreed) return fail(agreed.status, agreed.name);          which feature is missing, and why
//   agreed->has<tidemark::asymmetric_barriers>();
//   agreed->query<tidemark::serials_32>().version;                 can't fail any more
//
// Three parties:
//
//   host      the program: it says which features are enabled
//   provider  asks the host which features are enabled, and offers those that it has: of each a version, and bits that
//             say more. If it offers one that is not enabled, there is no agreement, whoever asks: nothing is left out
//             in silence
//   client    requests features. They are types, so a question for a feature that was not requested does not compile
//
// The agreed version of a feature is the lesser one of what the provider offers and of the newest that the client
// knows. Later versions only add. The client sees the bits that this version knows, as the provider has set them, and
// ignores others. So a client of an earlier version works with a provider of a later one, and the reverse, unless one
// of them says that it needs more: `oldest` of the client's feature, `oldest` of the provider's offer.
//
// An object of `capabilities` exists only where a negotiation has succeeded. So what takes one can't be made without.
// All queries are noexcept, and none of them has a result that says "failed".
//
// A feature may have functions, in a table of pointers: each has the version since which it is there. A provider that
// supports a version has all functions up to it; an incomplete table is refused, with the name of the function that is
// missing. A function that is newer than the table is not called: the call returns `too_old`.
#ifndef TIDEMARK_FENCE_CAPABILITIES_HPP
#define TIDEMARK_FENCE_CAPABILITIES_HPP

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../platform/assert.hpp"
#include "../platform/names.hpp"

namespace tidemark {

/// A version of a feature. Later ones have all that earlier ones have.
struct feature_version {
  std::uint16_t generation;
  std::uint16_t revision = 0;

  friend constexpr auto operator<=>(const feature_version&, const feature_version&) noexcept = default;
};

/// Names a feature. The ids from 0xFFFF0000 on are reserved for the features of these headers.
enum class feature_id : std::uint32_t {};

/// What was agreed on for one feature.
struct agreed_feature {
  feature_version version{};
  std::uint64_t bits = 0;      ///< Those that this version knows, as the provider has set them.
  std::uint64_t reported = 0;  ///< All that the provider has set.

  friend constexpr bool operator==(const agreed_feature&, const agreed_feature&) noexcept = default;
};

/// A feature, as its client knows it. It has an id and a name; the oldest and the newest version with which the client
/// works; bits_of(version), the bits that are known in that version; and `caps`, what a query returns, which is made of
/// an agreed_feature and throws nothing.
template <class F>
concept feature = requires(feature_version version) {
  { F::id } -> std::convertible_to<feature_id>;
  { F::name } -> std::convertible_to<std::string_view>;
  { F::oldest } -> std::convertible_to<feature_version>;
  { F::newest } -> std::convertible_to<feature_version>;
  { F::bits_of(version) } noexcept -> std::same_as<std::uint64_t>;
  requires std::is_nothrow_constructible_v<typename F::caps, const agreed_feature&>;
};

/// What has only a version.
struct plain_feature {
  static constexpr feature_version oldest{1};
  static constexpr feature_version newest{1};
  static constexpr std::uint64_t bits_of(feature_version) noexcept { return 0; }
  using caps = agreed_feature;
};

/// A signal costs a store and a load, because the waiters issue the barriers of both sides (platform.hpp).
struct asymmetric_barriers : plain_feature {
  static constexpr feature_id id{0xFFFF0001};
  static constexpr std::string_view name = "asymmetric_barriers";
};
/// Signals and waits stand in logs, by which a hub finds what they release.
struct signal_logs : plain_feature {
  static constexpr feature_id id{0xFFFF0002};
  static constexpr std::string_view name = "signal_logs";
};
/// Values can be set back (rewindable_fence.hpp).
struct rewindable_values : plain_feature {
  static constexpr feature_id id{0xFFFF0003};
  static constexpr std::string_view name = "rewindable_values";
};
/// Waits and signals take 32-bit serials (fence32.hpp).
struct serials_32 : plain_feature {
  static constexpr feature_id id{0xFFFF0004};
  static constexpr std::string_view name = "serials_32";
};
/// A process may be killed at any instruction without harm to the others (shared_fence.hpp).
struct kill_safety : plain_feature {
  static constexpr feature_id id{0xFFFF0005};
  static constexpr std::string_view name = "kill_safety";
};
/// An attachment may have a guard, by which others know of a death at once (shared_fence.hpp).
struct death_guards : plain_feature {
  static constexpr feature_id id{0xFFFF0006};
  static constexpr std::string_view name = "death_guards";
};

/// A feature that the host has enabled, and the newest version of it that is enabled.
struct enabled_feature {
  feature_id id{};
  feature_version newest{1};
};

/// What a host has enabled. What it is made of must outlive it.
class feature_host {
 public:
  explicit constexpr feature_host(std::span<const enabled_feature> enabled) noexcept : enabled_{enabled} {}

  /// Returns the newest version that is enabled; nothing if the feature is not. A provider asks before it offers.
  constexpr std::optional<feature_version> enabled(feature_id of) const noexcept {
    for (const enabled_feature& each : enabled_) {
      if (each.id == of) return each.newest;
    }
    return std::nullopt;
  }

 private:
  std::span<const enabled_feature> enabled_;
};

namespace detail {

template <class... Features>
inline constexpr std::array<enabled_feature, sizeof...(Features)> all_enabled{
    {enabled_feature{Features::id, Features::newest}...}};

}  // namespace detail

/// A host that has enabled all features of these headers.
inline constexpr feature_host every_feature{
    detail::all_enabled<asymmetric_barriers, signal_logs, rewindable_values, serials_32, kill_safety, death_guards>};

/// A feature that a provider has.
struct offered_feature {
  feature_id id{};
  feature_version version{1};
  std::uint64_t bits = 0;
  feature_version oldest{0};  ///< What its clients must know at least.
};

/// Up to eight offers.
class feature_offers {
 public:
  /// Adds a feature, unless the host has not enabled it. Asserts that there is room.
  template <feature F>
  constexpr void add_if_enabled(const feature_host& host, std::uint64_t bits = 0) noexcept {
    const std::optional<feature_version> enabled = host.enabled(F::id);
    if (!enabled) return;
    TIDEMARK_ASSERT(count_ < offers_.size(), "a provider offers more than eight features");
    if (count_ == offers_.size()) return;
    const feature_version version = *enabled < F::newest ? *enabled : F::newest;
    offers_[count_++] = {F::id, version, bits, {0}};
  }
  constexpr operator std::span<const offered_feature>() const noexcept { return {offers_.data(), count_}; }

 private:
  std::array<offered_feature, 8> offers_{};
  std::size_t count_ = 0;
};

/// Requests a feature that the client can do without.
template <feature F>
struct if_there {};
/// Requests a feature, some bits of it, and a version.
template <feature F, std::uint64_t Bits, feature_version Oldest = F::oldest>
struct with_bits {
  static_assert(Oldest <= F::newest, "no provider meets a request for a version that the client does not know");
  static_assert((Bits & ~F::bits_of(F::newest)) == 0, "the client's newest version does not know these bits");
};

namespace detail {

template <class Requested>
struct feature_request {
  using wanted = Requested;
  static constexpr bool is_needed = true;
  static constexpr std::uint64_t bits = 0;
  static constexpr feature_version oldest = Requested::oldest;
};
template <class F>
struct feature_request<if_there<F>> {
  using wanted = F;
  static constexpr bool is_needed = false;
  static constexpr std::uint64_t bits = 0;
  static constexpr feature_version oldest = F::oldest;
};
// Its base is there for what that asserts.
template <class F, std::uint64_t Bits, feature_version Oldest>
struct feature_request<with_bits<F, Bits, Oldest>> : with_bits<F, Bits, Oldest> {
  using wanted = F;
  static constexpr bool is_needed = true;
  static constexpr std::uint64_t bits = Bits;
  static constexpr feature_version oldest = Oldest;
};

template <class F, class Requested>
inline constexpr bool requests = std::same_as<F, typename feature_request<Requested>::wanted>;

struct negotiator;

}  // namespace detail

/// What was agreed on. Only negotiate() makes one. It can be copied.
/// \tparam Requested  features, or if_there or with_bits of them
template <class... Requested>
class capabilities {
 public:
  /// Whether that feature was requested.
  template <feature F>
  static constexpr bool has_requested = (detail::requests<F, Requested> || ...);
  /// Whether the feature is always there once there is an agreement.
  template <feature F>
  static constexpr bool always_has =
      ((detail::requests<F, Requested> && detail::feature_request<Requested>::is_needed) || ...);

  /// Returns whether a feature is there: always if it was not requested by if_there.
  template <feature F>
    requires has_requested<F>
  constexpr bool has() const noexcept {
    return always_has<F> || agreed_[index_of<F>()].has_value();
  }
  /// Returns what a feature can do. Of one that is not there: what version 0 without bits can. Never fails.
  template <feature F>
    requires has_requested<F>
  constexpr typename F::caps query(F = {}) const noexcept {
    return typename F::caps(agreed<F>());
  }
  /// Returns the version and the bits that were agreed on. In all else like query().
  template <feature F>
    requires has_requested<F>
  constexpr agreed_feature agreed() const noexcept {
    return agreed_[index_of<F>()].value_or(agreed_feature{});
  }

 private:
  friend detail::negotiator;
  constexpr capabilities() noexcept = default;

  template <feature F>
  static constexpr std::size_t index_of() noexcept {
    std::size_t index = 0;
    const auto goes_on = [&index] {
      ++index;
      return false;
    };
    static_cast<void>(((detail::requests<F, Requested> || goes_on()) || ...));
    return index;
  }

  std::array<std::optional<agreed_feature>, sizeof...(Requested)> agreed_{};
};

/// Why there is no agreement, and why a function was not called.
enum class negotiate_status : std::uint8_t {
  agreed,
  not_enabled,   ///< The provider offers a feature that the host has not enabled, or a newer version of it.
  not_offered,   ///< The provider does not have it.
  too_old,       ///< The provider, or its table of functions, is older than what is needed.
  too_new,       ///< The provider needs a client that knows a later version.
  missing_bits,  ///< The provider has not set a bit that is needed.
  incomplete,    ///< A function is missing in a table whose version has it.
};
template <>
inline constexpr auto detail::names_of<negotiate_status> =
    detail::names("agreed", "not_enabled", "not_offered", "too_old", "too_new", "missing_bits", "incomplete");

/// What negotiate() returns. It converts to true if there is an agreement.
template <class... Requested>
struct [[nodiscard]] negotiate_result {
  using capabilities_type = capabilities<Requested...>;

  negotiate_status status;
  /// The feature because of which there is none; empty if the client does not know it.
  std::string_view name;
  std::optional<capabilities_type> agreed;

  explicit constexpr operator bool() const noexcept { return agreed.has_value(); }
  /// Asserts that there is an agreement.
  constexpr const capabilities_type* operator->() const noexcept { return &**this; }
  constexpr const capabilities_type& operator*() const noexcept {
    TIDEMARK_ASSERT(agreed.has_value(), "capabilities were used that nobody has agreed on");
    return *agreed;
  }
};

namespace detail {

struct negotiator {
  template <class... Requested>
  static constexpr negotiate_result<Requested...> run(const feature_host& host,
                                                      std::span<const offered_feature> offers) noexcept {
    for (const offered_feature& each : offers) {
      const std::optional<feature_version> enabled = host.enabled(each.id);
      if (!enabled || *enabled < each.version) {
        return {negotiate_status::not_enabled, name_of<typename feature_request<Requested>::wanted...>(each.id), {}};
      }
    }
    capabilities<Requested...> made;
    std::size_t index = 0;
    negotiate_status status = negotiate_status::agreed;
    std::string_view name;
    const auto agree_on = [&]<class One>(feature_request<One>) {
      using request = feature_request<One>;
      using wanted = typename request::wanted;
      const std::optional<offered_feature> offer = find(offers, wanted::id);
      const negotiate_status how = offer ? judge<request>(*offer) : negotiate_status::not_offered;
      if (how == negotiate_status::agreed) {
        made.agreed_[index] = agreed_on<wanted>(*offer);
      } else if (request::is_needed) {
        status = how;
        name = wanted::name;
      }
      ++index;
      return status == negotiate_status::agreed;
    };
    if (!(agree_on(feature_request<Requested>{}) && ...)) return {status, name, {}};
    return {status, name, made};
  }

 private:
  static constexpr std::optional<offered_feature> find(std::span<const offered_feature> offers,
                                                       feature_id id) noexcept {
    for (const offered_feature& each : offers) {
      if (each.id == id) return each;
    }
    return std::nullopt;
  }
  template <class... Features>
  static constexpr std::string_view name_of(feature_id id) noexcept {
    std::string_view name;
    static_cast<void>(((Features::id == id && (name = Features::name, true)) || ...));
    return name;
  }
  template <feature F>
  static constexpr agreed_feature agreed_on(const offered_feature& offer) noexcept {
    const feature_version version = offer.version < F::newest ? offer.version : F::newest;
    return {version, offer.bits & F::bits_of(version), offer.bits};
  }
  template <class Request>
  static constexpr negotiate_status judge(const offered_feature& offer) noexcept {
    const agreed_feature agreed = agreed_on<typename Request::wanted>(offer);
    if (agreed.version < Request::oldest) return negotiate_status::too_old;
    if (agreed.version < offer.oldest) return negotiate_status::too_new;
    if ((agreed.bits & Request::bits) != Request::bits) return negotiate_status::missing_bits;
    return negotiate_status::agreed;
  }
};

}  // namespace detail

/// Negotiates the requested features. Throws and allocates nothing. Of several reasons against an agreement, it names
/// an offer that is not enabled; if there is none, the first request that can't be met.
/// \tparam Requested  features, or if_there or with_bits of them
template <class... Requested>
constexpr negotiate_result<Requested...> negotiate(const feature_host& host,
                                                   std::span<const offered_feature> offers) noexcept {
  return detail::negotiator::run<Requested...>(host, offers);
}

// ---- Functions -----------------------------------------------------------------------------------------------------

/// One function of a table: its name, the version since which it is there, and whether a table has it.
/// \tparam Table  a struct of pointers to functions
template <class Table>
struct table_function {
  std::string_view name;
  feature_version since;
  bool (*is_in)(const Table&) noexcept;
  const void* (*place_in)(const Table&) noexcept;  ///< Tells it from others.
};

namespace detail {

template <class>
struct member_pointer;
template <class Member, class Table>
struct member_pointer<Member Table::*> {
  using table = Table;
};
template <auto Member>
using table_of = typename member_pointer<decltype(Member)>::table;

template <auto Member>
bool is_in_table(const table_of<Member>& in) noexcept {
  return in.*Member != nullptr;
}
template <auto Member>
const void* place_in_table(const table_of<Member>& in) noexcept {
  return static_cast<const void*>(&(in.*Member));
}

}  // namespace detail

/// Makes one: function_of<&driver_functions::create>("create", {3, 1}).
template <auto Member>
constexpr table_function<detail::table_of<Member>> function_of(std::string_view name, feature_version since) noexcept {
  return {name, since, &detail::is_in_table<Member>, &detail::place_in_table<Member>};
}

/// A feature whose functions stand in a table: `functions` is the table, and `list` names each of its functions once.
template <class F>
concept feature_with_functions = feature<F> && requires(const typename F::functions& table) {
  { F::list[0] } -> std::convertible_to<table_function<typename F::functions>>;
};

/// What a call of a function of a provider has come to. It converts to true if the function was called.
template <class Value>
struct [[nodiscard]] provider_call {
  negotiate_status status;  ///< `agreed` if it was called.
  std::string_view name;    ///< Of the function that is missing or too new, or of the feature.
  std::optional<Value> value = std::nullopt;

  explicit constexpr operator bool() const noexcept { return status == negotiate_status::agreed; }
};
/// The same of a function that returns nothing.
template <>
struct [[nodiscard]] provider_call<void> {
  negotiate_status status;
  std::string_view name;

  explicit constexpr operator bool() const noexcept { return status == negotiate_status::agreed; }
};

/// The functions of a provider, which are called only as far as was agreed on. It is made of an agreement, and of the
/// provider's table, which must outlive it.
template <feature_with_functions F>
class provider_functions {
 public:
  using table = typename F::functions;

  /// Takes over what negotiate() has returned, also where there is no agreement: then no function is called, and each
  /// call returns why. An incomplete table is not called either.
  template <class... Requested>
    requires capabilities<Requested...>::template
  has_requested<F> constexpr provider_functions(const negotiate_result<Requested...>& negotiated,
                                                const table& functions) noexcept
      : table_{&functions}, status_{negotiated.status}, name_{negotiated.name} {
    if (!negotiated) return;
    if (!negotiated->template has<F>()) {
      refuse(negotiate_status::not_offered, F::name);
      return;
    }
    version_ = negotiated->template agreed<F>().version;
    for (const auto& each : F::list) {
      if (each.since <= version_ && !each.is_in(functions)) {
        refuse(negotiate_status::incomplete, each.name);
        return;
      }
    }
  }

  /// A table without a name would be gone.
  template <class... Requested>
  provider_functions(const negotiate_result<Requested...>& negotiated, const table&& gone) = delete;

  /// Returns why no function is called, or `agreed`; and the name of what is missing.
  constexpr negotiate_status status() const noexcept { return status_; }
  constexpr std::string_view missing() const noexcept { return name_; }
  /// Returns the agreed version.
  constexpr feature_version version() const noexcept { return version_; }

  /// Calls a function of the table, and returns what it has returned; or calls nothing, and returns why.
  /// \tparam Member  which one: &driver_functions::create. It must not return a reference
  template <auto Member, class... Arguments>
  auto call(Arguments&&... arguments) const {
    using returned = std::invoke_result_t<decltype(std::declval<const table&>().*Member), Arguments...>;
    using result = provider_call<returned>;
    if (status_ != negotiate_status::agreed) return result{status_, name_};
    for (const auto& each : F::list) {
      const bool is_newer = each.since > version_;
      if (is_newer && each.place_in(*table_) == detail::place_in_table<Member>(*table_))
        return result{negotiate_status::too_old, each.name};
    }
    TIDEMARK_ASSERT(is_listed<Member>(), "the list of a feature does not name a function that was called");
    if constexpr (std::is_void_v<returned>) {
      (table_->*Member)(std::forward<Arguments>(arguments)...);
      return result{status_, {}};
    } else {
      return result{status_, {}, (table_->*Member)(std::forward<Arguments>(arguments)...)};
    }
  }

 private:
  template <auto Member>
  bool is_listed() const noexcept {
    for (const auto& each : F::list) {
      if (each.place_in(*table_) == detail::place_in_table<Member>(*table_)) return true;
    }
    return false;
  }
  constexpr void refuse(negotiate_status why, std::string_view what) noexcept {
    status_ = why;
    name_ = what;
  }

  const table* table_;
  negotiate_status status_;
  std::string_view name_;
  feature_version version_{};
};

}  // namespace tidemark

#endif  // TIDEMARK_FENCE_CAPABILITIES_HPP
