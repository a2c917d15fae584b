// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"

namespace quietvox::test {

/// Runs `body` and expects an Error of that code whose message is one line and holds `text`.
template <class Body>
void expect_error(Errc code, const std::string& text, Body&& body) {
  try {
    body();
    ADD_FAILURE() << "no error; expected one with '" << text << "'";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

}  // namespace quietvox::test
