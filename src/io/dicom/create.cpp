// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "core/provenance.hpp"
#include "core/sha256.hpp"
#include "io/create.hpp"
#include "io/dicom/result_series_key.hpp"
#include "io/dicom/toolkit.hpp"
#include "io/dicom/uid.hpp"
#include "io/geometry_check.hpp"
#include "io/image.hpp"
#include "io/output/atomic_output.hpp"

namespace quietvox::io {
namespace {

namespace fs = std::filesystem;

struct Attribute {
  DcmTagKey tag;
  const char* value;
};

/// What an object of one modality says beside what all of them say.
struct Kind {
  const char* modality;
  const char* sop_class;
  int bits_stored;
  int intercept;
  bool has_plane;  ///< lies in the patient's space, among other slices
  std::vector<Attribute> attributes;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"CT",
       UID_CTImageStorage,
       12,
       -1024,
       true,
       {{DCM_ImageType, "ORIGINAL\\PRIMARY\\AXIAL"},
        {DCM_BodyPartExamined, "CHEST"},
        {DCM_RescaleType, "HU"},
        {DCM_KVP, "120"},
        {DCM_AcquisitionNumber, "1"}}},
      {"MR",
       UID_MRImageStorage,
       16,
       0,
       true,
       {{DCM_ImageType, "ORIGINAL\\PRIMARY\\OTHER"},
        {DCM_BodyPartExamined, "HEAD"},
        {DCM_ScanningSequence, "GR"},
        {DCM_SequenceVariant, "SP"},
        {DCM_ScanOptions, ""},
        {DCM_MRAcquisitionType, "3D"},
        {DCM_RepetitionTime, "10"},
        {DCM_EchoTime, "4"},
        {DCM_EchoTrainLength, "1"}}},
      {"MG",
       UID_DigitalMammographyXRayImageStorageForPresentation,
       12,
       0,
       false,
       {{DCM_ImageType, "ORIGINAL\\PRIMARY\\"},
        {DCM_PresentationIntentType, "FOR PRESENTATION"},
        {DCM_RescaleType, "US"},
        {DCM_PixelIntensityRelationship, "LOG"},
        {DCM_PixelIntensityRelationshipSign, "1"},
        {DCM_PresentationLUTShape, "IDENTITY"},
        {DCM_WindowCenter, "2048"},
        {DCM_WindowWidth, "4096"},
        {DCM_BurnedInAnnotation, "NO"},
        {DCM_LossyImageCompression, "00"},
        {DCM_ImageLaterality, "R"},
        {DCM_PatientOrientation, "P\\F"},
        {DCM_BodyPartExamined, "BREAST"},
        {DCM_OrganExposed, "BREAST"},
        {DCM_PositionerType, "MAMMOGRAPHIC"},
        {DCM_DetectorType, ""}}},
  };
  return all;
}

const Kind& kind_of(const std::string& modality) {
  for (const Kind& kind : kinds()) {
    if (modality == kind.modality) return kind;
  }
  throw Error(Errc::invalid_argument, Parameter{"modality"} + " = '" + modality + "' is not allowed",
              "give CT, MR or MG");
}

void require(const OFCondition& status, const DcmTagKey& tag) {
  if (status.bad()) throw Error(Errc::internal, dicom::tag_name(tag) + " cannot be set: " + status.text());
}

void put(DcmItem& item, const DcmTagKey& tag, const std::string& value) {
  require(item.putAndInsertString(tag, value.c_str()), tag);
}

void put(DcmItem& item, const DcmTagKey& tag, int value) {
  require(item.putAndInsertUint16(tag, static_cast<Uint16>(value)), tag);
}

/// Numbers as decimal strings of at most 16 characters each.
std::string decimals(std::initializer_list<double> numbers) {
  std::string text;
  for (const double number : numbers) {
    std::array<char, 32> buffer;
    char* const end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number == 0 ? 0 : number,
                                    std::chars_format::general, 9)
                          .ptr;
    if (!text.empty()) text += '\\';
    text.append(buffer.data(), end);
  }
  return text;
}

void put_code(DcmItem& item, const DcmTagKey& tag, const char* value, const char* scheme, const char* meaning) {
  DcmItem* code = nullptr;
  require(item.findOrCreateSequenceItem(tag, code, 0), tag);
  put(*code, DCM_CodeValue, value);
  put(*code, DCM_CodingSchemeDesignator, scheme);
  put(*code, DCM_CodeMeaning, meaning);
}

/// Takes slices in order and makes one file of each once it has seen them all: the identifiers of the series depend on
/// every voxel, so that different phantoms never share one.
class DicomCreator final : public ImageWriter {
 public:
  DicomCreator(const fs::path& folder, const Geometry& geometry, const Kind& kind, const WriteOptions& options)
      : folder_(folder),
        geometry_(geometry),
        kind_(kind),
        execution_(options.execution.silent()),
        output_(folder, AtomicOutput::Kind::folder, options.force, options.input, options.access,
                dicom_results_of_one_series(folder)) {
    cells_.reserve(static_cast<std::size_t>(geometry.extent.voxels()));
  }

  void begin_volume(std::size_t volume, const Provenance&) override {
    if (volume != 0 || has_begun_) throw Error(Errc::internal, "a new DICOM series holds one volume");
    has_begun_ = true;
    output_.begin();
  }

  void write(VolumeView<const float> slices, float* stored) override {
    const Extent& extent = geometry_.extent;
    const auto written = static_cast<std::int64_t>(cells_.size());
    if (!has_begun_ || slices.extent.x != extent.x || slices.extent.y != extent.y ||
        slices.origin.z * extent.slice() != written || written + slices.extent.voxels() > extent.voxels()) {
      throw Error(Errc::internal, "slices must be written in ascending order, each once and whole");
    }
    const double largest = (1 << kind_.bits_stored) - 1;
    for (const float value : std::span(slices.data, static_cast<std::size_t>(slices.extent.voxels()))) {
      if (!std::isfinite(value))
        throw Error(Errc::unsupported, "a new DICOM series cannot hold voxels without a value");
      const double number = std::round(value - static_cast<double>(kind_.intercept));
      if (number < 0 || number > largest) ++clamped_;
      cells_.push_back(static_cast<Uint16>(std::clamp(number, 0.0, largest)));
      if (stored) *stored++ = static_cast<float>(cells_.back() + kind_.intercept);
    }
  }

  WriteReport finish(std::vector<AtomicOutput*>& outputs) override {
    const Extent& extent = geometry_.extent;
    if (static_cast<std::int64_t>(cells_.size()) != extent.voxels()) {
      throw Error(Errc::internal, "not all slices were written");
    }
    make_identity();
    WriteReport report;
    for (std::int64_t z = 0; z < extent.z; ++z) {
      std::array<char, 32> name;
      std::snprintf(name.data(), name.size(), "slice_%04lld.dcm", static_cast<long long>(z) + 1);
      report.files.push_back(folder_ / name.data());
    }
    parallel_for(execution_, extent.z, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t z = begin; z < end; ++z) {
        write_file(output_.staging() / report.files[static_cast<std::size_t>(z)].filename(), z);
      }
    });
    outputs.push_back(&output_);
    output_.expect_files(report.files.size());
    report.clamped = clamped_;
    return report;
  }

 private:
  void make_identity() {
    Sha256 hash;
    hash.update(std::as_bytes(std::span(cells_)));
    const Geometry& g = geometry_;
    identity_ = std::string("phantom ") + kind_.modality + " " + to_hex(hash.digest()) + " " +
                decimals({static_cast<double>(g.extent.x), static_cast<double>(g.extent.y), g.spacing.x, g.spacing.y,
                          g.spacing.z, g.origin[0], g.origin[1], g.origin[2]});
    for (const double element : g.direction) (identity_ += ' ') += decimals({element});
  }

  std::string uid(const std::string& role) const { return uid_from(identity_ + " " + role); }

  std::span<const Uint16> cells(std::int64_t z) const {
    const auto size = static_cast<std::size_t>(geometry_.extent.slice());
    return std::span(cells_).subspan(static_cast<std::size_t>(z) * size, size);
  }

  void write_file(const fs::path& path, std::int64_t z) const {
    DcmFileFormat file;
    DcmDataset& data = *file.getDataset();
    put_identity(data, z);
    for (const Attribute& attribute : kind_.attributes) put(data, attribute.tag, attribute.value);
    kind_.has_plane ? put_plane(data, z) : put_mammography(data);
    put_pixels(data, z);
    const OFCondition status = dicom::save_new_file(file, path, EXS_LittleEndianExplicit, EET_UndefinedLength);
    const std::string name = (folder_ / path.filename()).string();
    if (status.bad()) throw Error(Errc::not_writable, name + ": cannot be written: " + status.text());

    const Uint16* written = nullptr;
    unsigned long count = 0;
    const auto again = dicom::load_file(path, execution_);
    const bool found = again->getDataset()->findAndGetUint16Array(DCM_PixelData, written, &count).good();
    if (!found || !std::equal(written, written + count, cells(z).begin(), cells(z).end())) {
      throw Error(Errc::not_writable, name + ": reads back with other pixels than were written");
    }
  }

  void put_identity(DcmDataset& data, std::int64_t z) const {
    const std::string modality = kind_.modality;
    put(data, DCM_SOPClassUID, kind_.sop_class);
    put(data, DCM_SOPInstanceUID, uid("instance " + std::to_string(z)));
    put(data, DCM_StudyInstanceUID, uid("study"));
    put(data, DCM_SeriesInstanceUID, uid("series"));
    put(data, DCM_PatientName, "Phantom^" + modality);
    put(data, DCM_PatientID, "PHANTOM-" + modality);
    for (const DcmTagKey& unknown :
         {DCM_PatientBirthDate, DCM_PatientSex, DCM_ReferringPhysicianName, DCM_AccessionNumber}) {
      put(data, unknown, std::string());
    }
    put(data, DCM_StudyDate, "20200101");
    put(data, DCM_StudyTime, "120000");
    put(data, DCM_StudyID, "1");
    put(data, DCM_StudyDescription, "Made-up scan");
    put(data, DCM_Modality, modality);
    put(data, DCM_SeriesNumber, "1");
    put(data, DCM_SeriesDescription, "Phantom");
    put(data, DCM_InstanceNumber, std::to_string(z + 1));
    put(data, DCM_Manufacturer, "quietvox");
    put(data, DCM_ManufacturerModelName, "phantom");
    put(data, DCM_SoftwareVersions, version());
  }

  void put_plane(DcmDataset& data, std::int64_t z) const {
    const auto& d = geometry_.direction;
    std::array<double, 3> position;
    for (int row = 0; row < 3; ++row) {
      position[row] = geometry_.origin[row] + static_cast<double>(z) * geometry_.spacing.z * d[3 * row + 2];
    }
    put(data, DCM_PatientPosition, "HFS");
    put(data, DCM_FrameOfReferenceUID, uid("frame of reference"));
    put(data, DCM_PositionReferenceIndicator, std::string());
    put(data, DCM_ImagePositionPatient, decimals({position[0], position[1], position[2]}));
    put(data, DCM_ImageOrientationPatient, decimals({d[0], d[3], d[6], d[1], d[4], d[7]}));
    put(data, DCM_SliceThickness, decimals({geometry_.spacing.z}));
    put(data, DCM_PixelSpacing, decimals({geometry_.spacing.y, geometry_.spacing.x}));
  }

  void put_mammography(DcmDataset& data) const {
    put(data, DCM_ImagerPixelSpacing, decimals({geometry_.spacing.y, geometry_.spacing.x}));
    put_code(data, DCM_AnatomicRegionSequence, "76752008", "SCT", "Breast");
    put_code(data, DCM_ViewCodeSequence, "399368009", "SCT", "medio-lateral oblique");
    DcmItem* view = nullptr;
    require(data.findOrCreateSequenceItem(DCM_ViewCodeSequence, view, 0), DCM_ViewCodeSequence);
    require(view->insertEmptyElement(DCM_ViewModifierCodeSequence), DCM_ViewModifierCodeSequence);
    require(data.insertEmptyElement(DCM_AcquisitionContextSequence), DCM_AcquisitionContextSequence);
  }

  void put_pixels(DcmDataset& data, std::int64_t z) const {
    put(data, DCM_SamplesPerPixel, 1);
    put(data, DCM_PhotometricInterpretation, "MONOCHROME2");
    put(data, DCM_Rows, static_cast<int>(geometry_.extent.y));
    put(data, DCM_Columns, static_cast<int>(geometry_.extent.x));
    put(data, DCM_BitsAllocated, 16);
    put(data, DCM_BitsStored, kind_.bits_stored);
    put(data, DCM_HighBit, kind_.bits_stored - 1);
    put(data, DCM_PixelRepresentation, 0);
    if (std::string_view(kind_.modality) != "MR") {
      put(data, DCM_RescaleIntercept, std::to_string(kind_.intercept));
      put(data, DCM_RescaleSlope, "1");
    }
    const auto slice = cells(z);
    require(data.putAndInsertUint16Array(DCM_PixelData, slice.data(), slice.size()), DCM_PixelData);
  }

  fs::path folder_;
  Geometry geometry_;
  const Kind& kind_;
  Execution execution_;
  AtomicOutput output_;
  std::vector<Uint16> cells_;
  bool has_begun_ = false;
  std::string identity_;
  std::int64_t clamped_ = 0;
};

}  // namespace

std::unique_ptr<ImageWriter> create_dicom(const fs::path& folder, const Geometry& geometry, const std::string& modality,
                                          const WriteOptions& options) {
  dicom::prepare_toolkit();
  const Kind& kind = kind_of(modality);
  const Extent& extent = geometry.extent;
  if (options.output_type || options.compress.value_or(false)) {
    throw Error(Errc::invalid_argument, folder.string() + ": a new DICOM series holds uncompressed 16-bit integers");
  }
  if (std::min({extent.x, extent.y, extent.z}) < 1 || std::max(extent.x, extent.y) > 65535) {
    throw Error(Errc::invalid_argument, folder.string() + ": a DICOM image has 1 to 65535 rows and columns");
  }
  check_geometry(folder, geometry, true);
  if (!kind.has_plane && extent.z != 1) {
    throw Error(Errc::invalid_argument,
                folder.string() + ": a mammogram has one slice, not " + std::to_string(extent.z));
  }
  return std::make_unique<DicomCreator>(folder, geometry, kind, options);
}

}  // namespace quietvox::io
