// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/uid.hpp"

#include <gtest/gtest.h>

#include <string>

namespace quietvox::io {
namespace {

TEST(DicomUid, IsValidAndDependsOnTheTextOnly) {
  for (const std::string text : {"", "a", "1.2.3 median radius=1x1x1"}) {
    const std::string uid = uid_from(text);
    EXPECT_EQ(uid, uid_from(text));
    EXPECT_EQ(uid.substr(0, 5), "2.25.");
    EXPECT_LE(uid.size(), 64u);
    EXPECT_NE(uid[5], '0');
    EXPECT_EQ(uid.find_first_not_of("0123456789", 5), std::string::npos);
  }
  EXPECT_NE(uid_from("a"), uid_from("b"));
}

TEST(DicomUid, IsTheUuidAsADecimalNumber) {
  // SHA-256("abc") begins ba7816bf-8f01-cfea-4141-40de5dae2223; version and variant make it ...-8fea-8141-....
  EXPECT_EQ(uid_from("abc"), "2.25.247859944228867097191300499870369849891");
}

}  // namespace
}  // namespace quietvox::io
