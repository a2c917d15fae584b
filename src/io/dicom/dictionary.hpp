// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quietvox::io::dicom {

/// Gives DCMTK the data dictionaries that lie in the program, for where it finds none of its own: on machines that have
/// its files in another place, or not at all. False where the program has none.
bool load_dictionaries();

}  // namespace quietvox::io::dicom
