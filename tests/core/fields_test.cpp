// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/fields.hpp"

#include <gtest/gtest.h>

#include "support/expect_error.hpp"

namespace quietvox {
namespace {

using test::expect_error;

enum class Colour { red, green };
constexpr std::array<std::string_view, 2> choices(Colour) { return {"red", "green"}; }

/// One parameter of every kind.
struct EveryKind {
  int count = 3;
  double share = 0.5;
  Triple<int> radius{1, 2, 3};
  Triple<double> sigma{0.5, 1, 2};
  Colour colour = Colour::green;
  bool loud = false;
  std::optional<int> auto_count;
  std::optional<double> auto_share = 0.25;
  std::optional<Triple<double>> auto_sigma;
  OrAll<Triple<int>> reach{Triple<int>{4, 4, 4}};

  static constexpr std::string_view name = "every-kind";
  static consteval auto fields() {
    return std::tuple{
        field("count", &EveryKind::count, {-2, 15}, "voxel", "A whole number."),
        field("share", &EveryKind::share, {0, 1}, "", "A number."),
        field("radius", &EveryKind::radius, {0, 15}, "voxel", "Three whole numbers."),
        field("sigma", &EveryKind::sigma, {0.1, 10}, "mm", "Three numbers."),
        field("colour", &EveryKind::colour, "A choice."),
        field("loud", &EveryKind::loud, "A flag."),
        field("auto-count", &EveryKind::auto_count, {1, 9}, "", "A whole number or auto."),
        field("auto-share", &EveryKind::auto_share, {0, 1}, "", "A number or auto."),
        field("auto-sigma", &EveryKind::auto_sigma, {0.1, 10}, "mm", "Three numbers or auto."),
        field("reach", &EveryKind::reach, {0, 9}, "voxel", "Three whole numbers or all."),
    };
  }
};

struct Case {
  std::string field, given, read_back;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.field << " = '" << c.given << "'"; }

class GoodValue : public testing::TestWithParam<Case> {};
TEST_P(GoodValue, IsReadAndWrittenBack) {
  EveryKind params;
  set_field(params, GetParam().field, GetParam().given);
  EXPECT_EQ(get_field(params, GetParam().field), GetParam().read_back);
  EveryKind again;
  set_field(again, GetParam().field, GetParam().read_back);
  EXPECT_EQ(get_field(again, GetParam().field), GetParam().read_back);
}
INSTANTIATE_TEST_SUITE_P(
    Fields, GoodValue,
    testing::Values(Case{"count", "-2", "-2"}, Case{"count", "15", "15"}, Case{"reach", "2", "2x2x2"},
                    Case{"reach", "all", "all"}, Case{"count", "007", "7"}, Case{"share", "0", "0"},
                    Case{"share", "1", "1"}, Case{"share", "0.1", "0.1"}, Case{"share", "2.5e-1", "0.25"},
                    Case{"share", "0.30000000000000004", "0.30000000000000004"}, Case{"radius", "1x2x0", "1x2x0"},
                    Case{"radius", "4", "4x4x4"}, Case{"sigma", "0.5x1.25x10", "0.5x1.25x10"},
                    Case{"sigma", "2", "2x2x2"}, Case{"colour", "red", "red"}, Case{"colour", "Red", "red"},
                    Case{"loud", "TRUE", "true"}, Case{"auto-count", "Auto", "auto"}, Case{"reach", "ALL", "all"},
                    Case{"loud", "true", "true"}, Case{"loud", "false", "false"}, Case{"auto-count", "auto", "auto"},
                    Case{"auto-count", "9", "9"}, Case{"auto-share", "auto", "auto"},
                    Case{"auto-sigma", "auto", "auto"}, Case{"auto-sigma", "1x2x3", "1x2x3"}));

class BadValue : public testing::TestWithParam<Case> {};
TEST_P(BadValue, IsRefusedByNameAndLeavesTheOldOne) {
  EveryKind params;
  const std::string before = get_field(params, GetParam().field);
  expect_error(Errc::invalid_argument, "every-kind: " + GetParam().field + " = '" + GetParam().given + "'",
               [&] { set_field(params, GetParam().field, GetParam().given); });
  expect_error(Errc::invalid_argument, GetParam().read_back,
               [&] { set_field(params, GetParam().field, GetParam().given); });
  EXPECT_EQ(get_field(params, GetParam().field), before);
}
INSTANTIATE_TEST_SUITE_P(
    Fields, BadValue,  // the third text is what the message offers
    testing::Values(Case{"count", "-3", "-2 to 15; unit: voxel"}, Case{"count", "16", "-2 to 15"},
                    Case{"count", "", "-2 to 15"}, Case{"count", "1.5", "-2 to 15"}, Case{"count", " 1", "-2 to 15"},
                    Case{"count", "1 ", "-2 to 15"}, Case{"count", "+1", "-2 to 15"}, Case{"count", "0x1", "-2 to 15"},
                    Case{"count", "99999999999999999999", "-2 to 15"}, Case{"count", "auto", "-2 to 15"},
                    Case{"share", "-0.001", "0 to 1"}, Case{"share", "1.001", "0 to 1"}, Case{"share", "nan", "0 to 1"},
                    Case{"share", "inf", "0 to 1"}, Case{"share", "1,0", "0 to 1"}, Case{"share", "1e999", "0 to 1"},
                    Case{"radius", "1x2", "0 to 15 as one number or radius XxYxZ"},
                    Case{"radius", "1x2x3x4", "0 to 15"}, Case{"radius", "1x2x16", "0 to 15"},
                    Case{"radius", "-1", "0 to 15"}, Case{"radius", "x", "0 to 15"}, Case{"radius", "1xx1", "0 to 15"},
                    Case{"radius", "1x1x", "0 to 15"}, Case{"sigma", "0", "0.1 to 10"},
                    Case{"sigma", "1x1xnan", "0.1 to 10"}, Case{"colour", "blue", "red, green"},
                    Case{"colour", "redd", "red, green"}, Case{"colour", "", "red, green"},
                    Case{"loud", "yes", "true, false"}, Case{"auto-count", "0", "1 to 9, or auto"},
                    Case{"auto-count", "autom", "1 to 9, or auto"}, Case{"auto-share", "2", "0 to 1, or auto"},
                    Case{"auto-sigma", "autoxauto", ", or auto"}));

TEST(Fields, UnknownNamesListTheKnownOnes) {
  EveryKind params;
  expect_error(Errc::invalid_argument, "no parameter is called 'radios'; did you mean radius? There are count, share",
               [&] { set_field(params, "radios", "1"); });
  expect_error(Errc::invalid_argument, "no parameter is called 'bandwidth'; there are count, share",
               [&] { set_field(params, "bandwidth", "1"); });
  expect_error(Errc::invalid_argument, "'radios'", [&] { get_field(params, "radios"); });
}

TEST(Fields, UnderscoresCountAsHyphens) {
  EveryKind params;
  set_field(params, "auto_count", "7");
  EXPECT_EQ(params.auto_count, 7);
}

TEST(Fields, ValidateFindsWhatWasSetDirectly) {
  EveryKind params;
  validate(params);
  params.radius.z = 16;
  expect_error(Errc::invalid_argument, "every-kind: radius = '1x2x16'", [&] { validate(params); });
  params = {};
  params.share = std::numeric_limits<double>::quiet_NaN();
  expect_error(Errc::invalid_argument, "every-kind: share = 'nan'", [&] { validate(params); });
  params = {};
  params.auto_count = 10;
  expect_error(Errc::invalid_argument, "every-kind: auto-count = '10'", [&] { validate(params); });
}

TEST(Fields, AreDescribedAsData) {
  const auto infos = describe_fields<EveryKind>();
  ASSERT_EQ(infos.size(), 10U);
  EXPECT_EQ(infos[0].name, "count");
  EXPECT_EQ(infos[0].kind, FieldKind::integer);
  EXPECT_EQ(infos[0].default_text, "3");
  EXPECT_EQ(infos[0].min, "-2");
  EXPECT_EQ(infos[0].max, "15");
  EXPECT_EQ(infos[0].unit, "voxel");
  EXPECT_EQ(infos[0].help, "A whole number.");
  EXPECT_FALSE(infos[0].may_be_auto);
  EXPECT_EQ(infos[3].kind, FieldKind::real_triple);
  EXPECT_EQ(infos[3].default_text, "0.5x1x2");
  EXPECT_EQ(infos[3].min, "0.1");
  EXPECT_EQ(infos[4].kind, FieldKind::choice);
  EXPECT_EQ(infos[4].choices, (std::vector<std::string>{"red", "green"}));
  EXPECT_EQ(infos[4].default_text, "green");
  EXPECT_EQ(infos[5].kind, FieldKind::flag);
  EXPECT_TRUE(infos[8].may_be_auto);
  EXPECT_EQ(infos[8].default_text, "auto");
  EXPECT_EQ(infos[8].kind, FieldKind::real_triple);
  EXPECT_TRUE(infos[9].may_be_all);
  EXPECT_EQ(infos[9].default_text, "4x4x4");
  EXPECT_EQ(infos[9].allowed(), "0 to 9 as one number or XxYxZ, or all");
}

}  // namespace
}  // namespace quietvox
