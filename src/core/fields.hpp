// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/volume_view.hpp"

/// The parameter table of a filter. A parameter struct lists its members once, with name, range, unit and help text:
///
///     static consteval auto fields() {
///       return std::tuple{field("radius", &SmoothParams::radius, {0, 15}, "voxel", "Half width of the window.")};
///     }
///
/// Command-line options, range errors, docs, ITK setters and provenance are all read from that table. A member may be
/// int, double, bool, text, an enumeration with a `choices` function, a Triple of numbers, or a std::optional of one of
/// these, whose empty state is written `auto`, or an OrAll. Values travel between the places as text: `3`, `1x1x0`,
/// `disc`, `auto`, `all`.
namespace quietvox {

/// Smallest and largest value allowed, both included.
template <class T>
struct Range {
  T min, max;
};
struct NoRange {};

/// True if `text` equals `word`, which is in lower case, ignoring case.
bool is_word(std::string_view text, std::string_view word);

/// How a value looks as text, and what is allowed. One specialization per kind of parameter.
template <class T>
struct FieldType;

template <class T>
concept Number = std::same_as<T, int> || std::same_as<T, double>;

template <class T>
concept Choice = std::is_enum_v<T>;  // with constexpr std::array<std::string_view, N> choices(T)

enum class FieldKind { integer, real, integer_triple, real_triple, choice, flag, text };

template <Number T>
struct FieldType<T> {
  using Limits = Range<T>;
  static constexpr FieldKind kind = std::same_as<T, int> ? FieldKind::integer : FieldKind::real;

  static constexpr bool allowed(T value, Limits limits) { return limits.min <= value && value <= limits.max; }
  static std::optional<T> parse(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  }
  /// The shortest text that reads back as the same number.
  static std::string format(T value) {
    std::array<char, 32> buffer;
    return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
  }
};

template <Number T>
struct FieldType<Triple<T>> {
  using Limits = Range<T>;
  static constexpr FieldKind kind = std::same_as<T, int> ? FieldKind::integer_triple : FieldKind::real_triple;

  static constexpr bool allowed(const Triple<T>& value, Limits limits) {
    return FieldType<T>::allowed(value.x, limits) && FieldType<T>::allowed(value.y, limits) &&
           FieldType<T>::allowed(value.z, limits);
  }
  /// `XxYxZ` per axis; a single number stands for all three.
  static std::optional<Triple<T>> parse(std::string_view text) {
    Triple<T> value;
    for (int axis = 0; axis < 3; ++axis) {
      const auto end = axis < 2 ? text.find('x') : std::string_view::npos;
      const auto number = FieldType<T>::parse(text.substr(0, end));
      if (!number) return std::nullopt;
      if (axis == 0 && end == std::string_view::npos) return Triple<T>{*number, *number, *number};
      if (axis < 2 && end == std::string_view::npos) return std::nullopt;
      value[axis] = *number;
      if (axis < 2) text.remove_prefix(end + 1);
    }
    return value;
  }
  static std::string format(const Triple<T>& value) {
    return FieldType<T>::format(value.x) + "x" + FieldType<T>::format(value.y) + "x" + FieldType<T>::format(value.z);
  }
};

template <Choice T>
struct FieldType<T> {
  using Limits = NoRange;
  static constexpr FieldKind kind = FieldKind::choice;

  static constexpr bool allowed(T, Limits) { return true; }
  static std::optional<T> parse(std::string_view text) {
    const auto names = choices(T{});
    const auto found = std::find_if(names.begin(), names.end(), [&](auto name) { return is_word(text, name); });
    if (found == names.end()) return std::nullopt;
    return static_cast<T>(found - names.begin());
  }
  static std::string format(T value) { return std::string(choices(T{})[static_cast<std::size_t>(value)]); }
};

template <>
struct FieldType<bool> {
  using Limits = NoRange;
  static constexpr FieldKind kind = FieldKind::flag;

  static constexpr bool allowed(bool, Limits) { return true; }
  static std::optional<bool> parse(std::string_view text) {
    if (is_word(text, "true")) return true;
    if (is_word(text, "false")) return false;
    return std::nullopt;
  }
  static std::string format(bool value) { return value ? "true" : "false"; }
};

template <>
struct FieldType<std::string> {
  using Limits = NoRange;
  static constexpr FieldKind kind = FieldKind::text;

  static constexpr bool allowed(const std::string&, Limits) { return true; }
  static std::optional<std::string> parse(std::string_view text) { return std::string(text); }
  static std::string format(const std::string& value) { return value; }
};

template <class T>
struct FieldType<std::optional<T>> {
  using Limits = typename FieldType<T>::Limits;
  static constexpr FieldKind kind = FieldType<T>::kind;

  static constexpr bool allowed(const std::optional<T>& value, Limits limits) {
    return !value || FieldType<T>::allowed(*value, limits);
  }
  static std::optional<std::optional<T>> parse(std::string_view text) {
    if (is_word(text, "auto")) return std::optional<T>{};
    const auto value = FieldType<T>::parse(text);
    if (!value) return std::nullopt;
    return value;
  }
  static std::string format(const std::optional<T>& value) { return value ? FieldType<T>::format(*value) : "auto"; }
};

/// A value, or everything there is: the empty state, which is written `all`.
template <class T>
struct OrAll : std::optional<T> {
  using std::optional<T>::optional;
};

template <class T>
struct FieldType<OrAll<T>> {
  using Limits = typename FieldType<T>::Limits;
  static constexpr FieldKind kind = FieldType<T>::kind;

  static constexpr bool allowed(const OrAll<T>& value, Limits limits) {
    return !value || FieldType<T>::allowed(*value, limits);
  }
  static std::optional<OrAll<T>> parse(std::string_view text) {
    if (is_word(text, "all")) return OrAll<T>();
    const auto value = FieldType<T>::parse(text);
    if (!value) return std::nullopt;
    return OrAll<T>(*value);
  }
  static std::string format(const OrAll<T>& value) { return value ? FieldType<T>::format(*value) : "all"; }
};

template <class T>
inline constexpr bool may_be_all = false;
template <class T>
inline constexpr bool may_be_all<OrAll<T>> = true;
template <class T>
inline constexpr bool may_be_all<std::optional<T>> = may_be_all<T>;

template <class T>
inline constexpr bool may_be_auto = false;
template <class T>
inline constexpr bool may_be_auto<std::optional<T>> = true;

/// One row of a parameter table.
template <class P, class T>
struct Field {
  using Value = T;
  std::string_view name;  ///< kebab-case: `--range-sigma`, `SetRangeSigma`
  T P::*member;
  typename FieldType<T>::Limits limits;
  std::string_view unit;
  std::string_view help;
};

namespace detail {
consteval void check(bool holds, const char* otherwise) {
  if (!holds) throw otherwise;  // ends compilation with this text in the message
}
}  // namespace detail

/// A number or a triple of numbers. A default outside its own range does not compile.
template <class P, class T>
consteval Field<P, T> field(std::string_view name, T P::*member, typename FieldType<T>::Limits limits,
                            std::string_view unit, std::string_view help) {
#if !defined(__clang__) || _GLIBCXX_RELEASE > 12  // clang cannot make the std::string of GCC 12 while it compiles
  detail::check(FieldType<T>::allowed(P{}.*member, limits), "the default lies outside its own range");
#endif
  detail::check(!name.empty() && !help.empty(), "a parameter needs a name and a help text");
  return {name, member, limits, unit, help};
}

/// A choice or a flag.
template <class P, class T>
consteval Field<P, T> field(std::string_view name, T P::*member, std::string_view help) {
  return field(name, member, NoRange{}, "", help);
}

/// Calls `body(field)` for each row of P's table.
template <class P, class Body>
constexpr void for_each_field(Body&& body) {
  constexpr auto rows = P::fields();
  std::apply([&](const auto&... row) { (body(row), ...); }, rows);
}

/// One row as data: what help texts, docs and option makers need to know.
struct FieldInfo {
  std::string name, unit, help;
  FieldKind kind{};
  bool may_be_auto = false, may_be_all = false;
  std::string default_text;
  std::string min, max;              ///< numbers and triples only
  std::vector<std::string> choices;  ///< choices only

  /// What may be given, for help texts and error messages: `0 to 15 as one number or XxYxZ`, `box, disc`, ...
  /// `per_axis`: how three numbers are given.
  std::string allowed(std::string_view per_axis = "XxYxZ") const;
};

/// The type of the numbers of a Triple; of all else, the type itself.
template <class T>
struct Unwrapped {
  using Type = T;
};
template <class T>
struct Unwrapped<Triple<T>> {
  using Type = T;
};
template <class T>
struct Unwrapped<std::optional<T>> : Unwrapped<T> {};
template <class T>
struct Unwrapped<OrAll<T>> : Unwrapped<T> {};

template <class P>
std::vector<FieldInfo> describe_fields() {
  std::vector<FieldInfo> infos;
  for_each_field<P>([&](const auto& row) {
    using T = typename std::decay_t<decltype(row)>::Value;
    using Scalar = typename Unwrapped<T>::Type;
    FieldInfo info{std::string(row.name),
                   std::string(row.unit),
                   std::string(row.help),
                   FieldType<T>::kind,
                   may_be_auto<T>,
                   may_be_all<T>,
                   FieldType<T>::format(P{}.*row.member),
                   {},
                   {},
                   {}};
    if constexpr (Number<Scalar>) {
      info.min = FieldType<Scalar>::format(row.limits.min);
      info.max = FieldType<Scalar>::format(row.limits.max);
    } else if constexpr (Choice<Scalar>) {
      for (const auto name : choices(Scalar{})) info.choices.emplace_back(name);
    }
    infos.push_back(std::move(info));
  });
  return infos;
}

/// Throws Error(invalid_argument) naming the parameter, the value given and what is allowed.
[[noreturn]] void throw_bad_value(std::string_view owner, const FieldInfo&, std::string_view given);
/// Throws Error(invalid_argument) naming the parameters that exist.
[[noreturn]] void throw_unknown_field(std::string_view owner, const std::vector<FieldInfo>&, std::string_view given);

/// Sets one parameter from text; underscores in the name count as hyphens.
template <class P>
void set_field(P& params, std::string_view name, std::string_view text) {
  std::string wanted(name);
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  bool found = false;
  std::size_t index = 0;
  for_each_field<P>([&](const auto& row) {
    using T = typename std::decay_t<decltype(row)>::Value;
    if (row.name == wanted) {
      const auto value = FieldType<T>::parse(text);
      if (!value || !FieldType<T>::allowed(*value, row.limits))
        throw_bad_value(P::name, describe_fields<P>()[index], text);
      params.*row.member = *value;
      found = true;
    }
    ++index;
  });
  if (!found) throw_unknown_field(P::name, describe_fields<P>(), name);
}

template <class P>
std::string get_field(const P& params, std::string_view name) {
  std::optional<std::string> text;
  for_each_field<P>([&](const auto& row) {
    using T = typename std::decay_t<decltype(row)>::Value;
    if (row.name == name) text = FieldType<T>::format(params.*row.member);
  });
  if (!text) throw_unknown_field(P::name, describe_fields<P>(), name);
  return *text;
}

/// Throws Error(invalid_argument) for the first parameter outside its range.
template <class P>
void validate(const P& params) {
  std::size_t index = 0;
  for_each_field<P>([&](const auto& row) {
    using T = typename std::decay_t<decltype(row)>::Value;
    if (!FieldType<T>::allowed(params.*row.member, row.limits)) {
      throw_bad_value(P::name, describe_fields<P>()[index], FieldType<T>::format(params.*row.member));
    }
    ++index;
  });
}

}  // namespace quietvox
