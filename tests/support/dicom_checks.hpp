// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

/// What must hold of a DICOM file that was made of another one by a filter that changes no pixel.
namespace quietvox::test {

/// Both hold the same pixel data, byte for byte, spare bits included, where the source is uncompressed.
void expect_same_pixel_data(const std::filesystem::path& source, const std::filesystem::path& output);

/// dciodvfy, where it is installed, finds no error in the output that it does not find in the source.
void expect_no_new_errors(const std::filesystem::path& source, const std::filesystem::path& output);

/// GDCM, where it is installed, reads the same pixels from both.
void expect_gdcm_agrees(const std::filesystem::path& source, const std::filesystem::path& output);

/// Beside what marks a derived object, only group lengths differ, histograms and icons, which are gone, private icons
/// that were compressed like the image, and the lost type of the object's class.
void expect_only_derivation_differs(const std::filesystem::path& source, const std::filesystem::path& output);

}  // namespace quietvox::test
