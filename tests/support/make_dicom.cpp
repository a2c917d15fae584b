// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "support/make_dicom.hpp"

#include <dcmtk/dcmdata/dcrleerg.h>
#include <dcmtk/dcmjpeg/djencode.h>
#include <dcmtk/dcmjpeg/djrplol.h>
#include <dcmtk/dcmjpls/djencode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <stdexcept>

#include "filters/registry.hpp"
#include "io/image.hpp"

namespace quietvox::test {
namespace {

void check(const OFCondition& status, const std::string& what) {
  if (status.bad()) throw std::runtime_error(what + ": " + status.text());
}

void prepare_encoders() {
  static const bool once = [] {
    OFLog::getLogger("dcmtk").setLogLevel(OFLogger::OFF_LOG_LEVEL);
    DcmRLEEncoderRegistration::registerCodecs();
    DJEncoderRegistration::registerCodecs();
    DJLSEncoderRegistration::registerCodecs(0, 0, 0, 0, OFFalse);  // all bits of a cell
    return true;
  }();
  static_cast<void>(once);
}

void put(DcmDataset& data, const DcmTagKey& key, const std::string& value) {
  check(data.putAndInsertString(key, value.c_str()), key.toString().c_str());
}

std::string unique_uid() {
  static int count = 0;
  return "1.2.3.4.5." + std::to_string(++count);
}

void put_pixels(DcmDataset& data, const DicomSpec& spec) {
  std::vector<std::uint16_t> cells = spec.cells;
  if (cells.empty()) {
    cells.resize(static_cast<std::size_t>(spec.columns) * spec.rows * spec.frames);
    std::iota(cells.begin(), cells.end(), std::uint16_t{100});
  }
  if (spec.bits_allocated == 8) {
    std::vector<Uint8> bytes(cells.begin(), cells.end());
    if (bytes.size() % 2) bytes.push_back(0);
    check(data.putAndInsertUint8Array(DCM_PixelData, bytes.data(), bytes.size()), "pixels");
  } else {
    check(data.putAndInsertUint16Array(DCM_PixelData, cells.data(), cells.size()), "pixels");
  }
}

bool same_value(DcmElement& a, DcmElement& b) {
  return a.ident() == b.ident() && a.getLength() == b.getLength() && a.compare(b) == 0;
}

void find_changes(DcmItem& a, DcmItem& b, const std::string& where, std::set<std::string>& changed);

void find_changes(DcmElement& a, DcmElement& b, const std::string& name, std::set<std::string>& changed) {
  if (a.ident() != EVR_SQ || b.ident() != EVR_SQ) {
    if (!same_value(a, b)) changed.insert(name);
    return;
  }
  auto &first = static_cast<DcmSequenceOfItems&>(a), &second = static_cast<DcmSequenceOfItems&>(b);
  if (first.card() != second.card()) changed.insert(name);
  for (unsigned long i = 0; i < std::min(first.card(), second.card()); ++i) {
    find_changes(*first.getItem(i), *second.getItem(i), name + ">", changed);
  }
}

/// Compares element by element; pixel data of the top level left out.
void find_changes(DcmItem& a, DcmItem& b, const std::string& where, std::set<std::string>& changed) {
  std::map<std::string, std::array<DcmElement*, 2>> elements;
  for (DcmItem* const item : {&a, &b}) {
    for (unsigned long i = 0; i < item->card(); ++i) {
      DcmElement* const element = item->getElement(i);
      if (where.empty() && element->getTag() == DCM_PixelData) continue;
      elements[element->getTag().toString().c_str()][item == &b] = element;
    }
  }
  for (const auto& [tag, both] : elements) {
    if (both[0] && both[1]) {
      find_changes(*both[0], *both[1], where + tag, changed);
    } else {
      changed.insert(where + tag);
    }
  }
}

}  // namespace

void write_dicom(const std::filesystem::path& path, const DicomSpec& spec) {
  prepare_encoders();
  DcmFileFormat file;
  DcmDataset& data = *file.getDataset();
  put(data, DCM_SOPClassUID, UID_CTImageStorage);
  put(data, DCM_SOPInstanceUID, spec.instance.empty() ? unique_uid() : spec.instance);
  put(data, DCM_StudyInstanceUID, "1.2.3");
  put(data, DCM_SeriesInstanceUID, spec.series);
  put(data, DCM_FrameOfReferenceUID, "1.2.3.9");
  put(data, DCM_ImageType, "ORIGINAL\\PRIMARY\\AXIAL");
  put(data, DCM_Modality, "CT");
  put(data, DCM_PatientName, "Nobody^Known");
  put(data, DCM_SeriesDescription, "Head");
  put(data, DCM_SeriesNumber, "7");
  put(data, DCM_InstanceNumber, std::to_string(spec.instance_number));
  put(data, DCM_SliceThickness, "3");
  if (!spec.position.empty()) {
    put(data, DCM_ImagePositionPatient,
        std::to_string(spec.position[0]) + "\\" + std::to_string(spec.position[1]) + "\\" +
            std::to_string(spec.position[2]));
  }
  if (!spec.orientation.empty()) put(data, DCM_ImageOrientationPatient, spec.orientation);
  if (!spec.spacing.empty()) put(data, DCM_PixelSpacing, spec.spacing);
  if (!spec.slope.empty()) put(data, DCM_RescaleSlope, spec.slope);
  if (!spec.intercept.empty()) put(data, DCM_RescaleIntercept, spec.intercept);
  put(data, DCM_PhotometricInterpretation, "MONOCHROME2");
  const auto number = [&](const DcmTagKey& key, int value) {
    check(data.putAndInsertUint16(key, static_cast<Uint16>(value)), key.toString().c_str());
  };
  number(DCM_SamplesPerPixel, 1);
  number(DCM_Rows, spec.rows);
  number(DCM_Columns, spec.columns);
  number(DCM_BitsAllocated, spec.bits_allocated);
  number(DCM_BitsStored, spec.bits_stored);
  number(DCM_HighBit, spec.bits_stored - 1);
  number(DCM_PixelRepresentation, spec.is_signed);
  if (spec.frames > 1) put(data, DCM_NumberOfFrames, std::to_string(spec.frames));
  put_pixels(data, spec);
  for (const auto& [key, value] : spec.more) put(data, key, value);
  if (spec.change) spec.change(data);
  if (DcmXfer(spec.syntax).isEncapsulated()) {
    const DJ_RPLossless lossless;
    check(data.chooseRepresentation(spec.syntax, spec.syntax == EXS_JPEGProcess14SV1 ? &lossless : nullptr),
          "compress");
  }
  check(file.saveFile(path.c_str(), spec.syntax), path.string());
}

std::unique_ptr<DcmFileFormat> parse_dicom(const std::filesystem::path& path) {
  prepare_encoders();
  auto file = std::make_unique<DcmFileFormat>();
  check(file->loadFile(path.c_str()), path.string());
  check(file->loadAllDataIntoMemory(), path.string());
  return file;
}

std::string dicom_text(const std::filesystem::path& path, const DcmTagKey& key) {
  OFString text;
  parse_dicom(path)->getDataset()->findAndGetOFStringArray(key, text);
  return text.c_str();
}

void put_untyped(DcmItem& item, const DcmTagKey& key, std::span<const Uint8> bytes) {
  auto element = std::make_unique<DcmOtherByteOtherWord>(DcmTag(key, EVR_UN));
  element->putUint8Array(bytes.data(), static_cast<unsigned long>(bytes.size()));
  item.insert(element.release(), OFTrue);
}

DcmPixelSequence& fragments_of(DcmFileFormat& file, E_TransferSyntax syntax) {
  DcmElement* element = nullptr;
  file.getDataset()->findAndGetElement(DCM_PixelData, element);
  DcmPixelSequence* sequence = nullptr;
  static_cast<DcmPixelData*>(element)->getEncapsulatedRepresentation(syntax, nullptr, sequence);
  return *sequence;
}

std::set<std::string> changed_elements(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto before = parse_dicom(a), after = parse_dicom(b);
  std::set<std::string> changed;
  find_changes(*before->getDataset(), *after->getDataset(), "", changed);
  return changed;
}

std::vector<std::uint16_t> dicom_cells(const std::filesystem::path& path) {
  const auto file = parse_dicom(path);
  const Uint16* cells = nullptr;
  unsigned long count = 0;
  check(file->getDataset()->findAndGetUint16Array(DCM_PixelData, cells, &count), path.string());
  return {cells, cells + count};
}

std::vector<std::uint8_t> dicom_pixel_bytes(const std::filesystem::path& path) {
  const auto file = parse_dicom(path);
  DcmElement* pixels = nullptr;
  check(file->getDataset()->findAndGetElement(DCM_PixelData, pixels), path.string());
  const bool wide = pixels->getTag().getEVR() == EVR_OW;
  Uint8* bytes = nullptr;
  Uint16* words = nullptr;
  check(wide ? pixels->getUint16Array(words) : pixels->getUint8Array(bytes), path.string());
  if (wide) bytes = reinterpret_cast<Uint8*>(words);
  return {bytes, bytes + pixels->getLength()};
}

Volume read_volume(const io::Image& image, std::size_t volume, io::VoxelDomain domain) {
  const auto source = image.volume(volume, domain);
  Volume result(source->extent(), source->spacing());
  source->read(result.view());
  return result;
}

io::WriteReport write_image(const io::Image& image, const std::filesystem::path& output, io::VoxelDomain domain,
                            const std::function<void(Volume&)>& change, const io::WriteOptions& options) {
  const std::vector<FilterConfig> requested{FilterConfig(find_filter("median"))};
  std::vector<FilterConfig> resolved = requested;
  resolved[0].set("radius", "1x1x1");
  const auto writer = image.writer(output, domain, options);
  std::vector<Volume> reported;  // to be in the output
  for (std::size_t i = 0; i < image.volume_count(); ++i) {
    Volume volume = read_volume(image, i, domain);
    if (change) change(volume);
    writer->begin_volume(i, {requested, resolved, "cpu"});
    reported.push_back(volume);
    writer->write(std::as_const(volume).view(), reported.back().voxels.data());
  }
  io::WriteReport report = writer->commit();
  const auto written = io::open_dicom(output, {.allow_gaps = true, .series_uid = {}});
  for (std::size_t i = 0; i < reported.size(); ++i) {
    EXPECT_EQ(reported[i].voxels, read_volume(*written, i, io::VoxelDomain::real_with_padding).voxels);
  }
  return report;
}

}  // namespace quietvox::test
