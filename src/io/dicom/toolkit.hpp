// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dcmtk/config/osconfig.h>
// osconfig.h must come first.
#include <dcmtk/dcmdata/dctk.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/execution.hpp"

/// What src/io/dicom shares of DCMTK; nothing outside it uses DCMTK.
namespace quietvox::io::dicom {

/// Prepares DCMTK once per process: its log stays silent, its decoders are known.
void prepare_toolkit();

/// True where the file starts as DICOM does, with or without the 128-byte preamble. Throws Error(input_path) where it
/// cannot be read.
bool looks_like_dicom(const std::filesystem::path&);

/// Parses a file. Throws Error, which names it: corrupt, also where sequences are nested too deep; out_of_memory or
/// unsupported where it would take too much memory; cancelled.
std::unique_ptr<DcmFileFormat> load_file(const std::filesystem::path&, const Execution& = {});
/// The same, to be read only: what is looked for is found soon, however many elements there are.
std::unique_ptr<DcmFileFormat> load_for_reading(const std::filesystem::path&, const Execution& = {});
/// The same for what its header tells: long values stay on disk until they are asked for, each of which opens the file
/// again. To be read only.
std::unique_ptr<DcmFileFormat> load_header(const std::filesystem::path&, const Execution& = {});
/// The same for the elements before `until`, of a file with a preamble.
std::unique_ptr<DcmFileFormat> load_beginning(const std::filesystem::path&, const DcmTagKey& until,
                                              const Execution& = {});

/// Writes a new file, for its owner alone; where something stands there already, that is an error.
OFCondition save_new_file(DcmFileFormat&, const std::filesystem::path&, E_TransferSyntax, E_EncodingType);

/// The series that a file says to belong to which does not parse to its end; empty where it is not certain, none where
/// the file holds zeros and no element.
std::optional<std::string> series_of_broken_file(const std::filesystem::path&, const Execution& = {});

/// The elements of an item, or the items of a sequence, one after another: `while (DcmObject* part = parts.next())`.
/// Whoever asks DCMTK for one by its number makes it count from the beginning.
class Parts {
 public:
  explicit Parts(DcmObject& container) : container_(container) {}
  /// Null after the last.
  DcmObject* next() { return last_ = container_.nextInContainer(last_); }

 private:
  DcmObject& container_;
  DcmObject* last_ = nullptr;
};

/// `Rows (0028,0010)`
std::string tag_name(const DcmTagKey&);

/// The value of an element of the top level as text, components joined by backslashes, trimmed; empty where absent.
std::string text_of(DcmItem&, const DcmTagKey&);

/// The bytes of an element that is known by nothing else, as where some writer lost its type (UN); empty for any other.
std::span<const Uint8> raw_bytes_of(DcmItem&, const DcmTagKey&);

/// The parts of a text between backslashes, trimmed; none of an empty text.
std::vector<std::string> components(const std::string& text);

/// The numbers of an element, whatever its type; empty where it is absent or empty. Throws Error(corrupt) where a
/// component is no finite number.
std::vector<double> numbers_of(DcmItem&, const DcmTagKey&);

/// The only number of an element; none where it is absent or empty. Throws Error(corrupt) where it is none, or several.
std::optional<double> number_of(DcmItem&, const DcmTagKey&);

}  // namespace quietvox::io::dicom
