// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/message.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace quietvox {
namespace {

std::string as_option(const Parameter& parameter) { return "--" + parameter.text(); }

TEST(Message, WritesItsParametersAsItIsTold) {
  const Message message = "out.nii: exists already; use " + Parameter{"force"} + " or " + Parameter{"output", "b.nii"};
  EXPECT_EQ(message.text(), "out.nii: exists already; use force or output b.nii");
  EXPECT_EQ(message.text(as_option), "out.nii: exists already; use --force or --output b.nii");
  ASSERT_NE(message.parameter(), nullptr);
  EXPECT_EQ(message.parameter()->name, "force");
}

TEST(Message, TextIsNoParameterWhateverItHolds) {
  const Message message = std::string("--radius") + Message("`x`");
  EXPECT_EQ(message.text(as_option), "--radius`x`");
  EXPECT_EQ(message.parameter(), nullptr);
  EXPECT_TRUE(Message("").empty());
}

TEST(Error, HoldsProblemRemedyAndParameterAsData) {
  const Error error(Errc::invalid_argument, "median: " + Parameter{"radius"} + " = '99' is not allowed",
                    "give 0 to 15");
  EXPECT_STREQ(error.what(), "median: radius = '99' is not allowed; give 0 to 15");
  EXPECT_EQ(error.message().text(as_option), "median: --radius = '99' is not allowed; give 0 to 15");
  EXPECT_EQ(error.remedy().text(), "give 0 to 15");
  ASSERT_NE(error.parameter(), nullptr);
  EXPECT_EQ(error.parameter()->name, "radius");
  const Error plain(Errc::corrupt, "a.nii: ends too early");
  EXPECT_TRUE(plain.remedy().empty());
  EXPECT_EQ(plain.parameter(), nullptr);
  EXPECT_STREQ(plain.what(), "a.nii: ends too early");
}

TEST(Error, ContextComesBeforeTheProblem) {
  try {
    with_error_context(Parameter{"filter", "median"},
                       [] { throw Error(Errc::invalid_argument, "no such thing", "give another"); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "filter median: no such thing; give another");
    EXPECT_EQ(error.remedy().text(), "give another");
  }
}

}  // namespace
}  // namespace quietvox
