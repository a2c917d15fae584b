// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace quietvox::io {

/// A DICOM UID that depends on `text` only: `2.25.` and a 128-bit number from its SHA-256, as a version 8 UUID
/// (PS3.5 B.2). Different texts give different UIDs.
std::string uid_from(std::string_view text);

}  // namespace quietvox::io
