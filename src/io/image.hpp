// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/execution.hpp"
#include "core/pipeline.hpp"
#include "core/provenance.hpp"
#include "io/files/file_stamp.hpp"
#include "io/output/access.hpp"

/// Scans on disk. An `Image` is an opened input: a DICOM series or file, a NIfTI file, or what ITK reads. It holds one
/// or more 3-D volumes (diffusion directions, echoes, time points), delivers each slice by slice as floats, and makes
/// a writer that gives the same scan back with other voxels and everything else untouched.
namespace quietvox::io {

class AtomicOutput;

enum class Format { dicom, nifti, nrrd, metaimage };
std::string to_string(Format);

/// Where a volume lies in the patient, LPS axes (DICOM, ITK), mm.
struct Geometry {
  Extent extent;
  Spacing spacing{1, 1, 1};
  std::array<double, 3> origin{};                              ///< centre of voxel (0,0,0)
  std::array<double, 9> direction{1, 0, 0, 0, 1, 0, 0, 0, 1};  ///< columns: unit vectors of x, y, z; row-major 3x3
  bool is_placed = true;  ///< false where the file does not say where it lies, and origin and axes are the usual ones
};

/// Voxel values as the filters see them: rescaled to real units (HU, ...), or the stored numbers themselves. What
/// the source says is no value (DICOM pixel padding) is NaN, but for `real_with_padding`, which is for reading alone.
/// `real_less_offset` are real values less Image::offset(), for what a constant makes no difference to.
enum class VoxelDomain { real, stored, real_with_padding, real_less_offset };

struct ReadOptions {
  bool allow_gaps = false;         ///< accept missing, uneven or tilted slices
  std::string series_uid;          ///< which series of a folder that holds several
  std::optional<DataKind> kind{};  ///< what the numbers are, whatever the headers say
  Execution execution{};           ///< threads and stop requests, for opening and for reading voxels
};

/// How pixels of DICOM are compressed, without loss.
enum class Codec { jpeg_ls, rle, jpeg_lossless };
constexpr std::array<std::string_view, 3> choices(Codec) { return {"jpeg-ls", "rle", "jpeg-lossless"}; }

struct WriteOptions {
  bool force = false;                ///< replace an existing output
  std::optional<bool> compress{};    ///< none: as the input; DICOM as long as nothing is lost
  Codec codec = Codec::jpeg_ls;      ///< of DICOM where `compress` is true
  std::string output_type = "same";  ///< same, int16, uint16, float32 (not DICOM)
  bool are_differences = false;  ///< of NIfTI from NIfTI: floats, with nothing of the source but its geometry and names
  std::optional<std::string> series_description_suffix{};  ///< none: the filters, briefly
  std::optional<int> series_offset{};      ///< none: a multiple of 1000 that differs from filter to filter
  Access access{};                         ///< of the outputs, at most; writers of an image add what its files give
  Execution execution{};                   ///< threads and stop requests
  std::filesystem::path input{};           ///< create_nifti, create_dicom: what the voxels came from, if anything
  std::string input_series{};              ///< its series, where it is DICOM
  std::optional<double> volume_seconds{};  ///< of new images but DICOM: from one volume to the next
};

/// What a caller of a reader said of the voxels; nothing where it said nothing.
HeaderFacts facts_given(const ReadOptions&);

/// What `quietvox info` prints about an input, in the order in which it is to be read.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// Whole numbers that stand for real values: slope * number + inter.
struct StoredIntegers {
  double slope = 1, inter = 0;
  double lowest = 0, highest = 0;  ///< that can be stored
};

/// What a writer did.
struct WriteReport {
  std::vector<std::filesystem::path> files;
  std::int64_t clamped = 0;  ///< voxels clamped to the stored range
  std::vector<std::string> warnings;
};

/// Receives filtered slices and makes files of them. Nothing appears at the target before commit(); a writer that is
/// destroyed without it leaves nothing behind.
class ImageWriter {
 public:
  virtual ~ImageWriter() = default;
  /// Announces a volume. Volumes come in order, each once.
  virtual void begin_volume(std::size_t volume, const Provenance&) = 0;
  /// Slices of the announced volume in ascending order; origin.z is the first. Voxels that are not finite keep the
  /// source's stored value where the stored type cannot hold them. `stored`, where not null, receives what the output
  /// then holds of these slices: real values, padding's too, each as the float nearest to it.
  virtual void write(VolumeView<const float> slices, float* stored) = 0;
  void write(VolumeView<const float> slices) { write(slices, nullptr); }
  /// Verifies what was written against what was meant, and adds to `outputs` what is then to be committed.
  virtual WriteReport finish(std::vector<AtomicOutput*>& outputs) = 0;
  /// How real values of a volume are stored, where that is as whole numbers.
  virtual std::optional<StoredIntegers> integers(std::size_t /*volume*/) const { return {}; }
  /// Finishes, and puts all in its place.
  WriteReport commit();
};

class Image {
 public:
  virtual ~Image() = default;
  virtual Format format() const = 0;
  virtual std::vector<FileStamp> files() const = 0;  ///< that hold it, as they were before they were read
  virtual std::size_t volume_count() const = 0;
  virtual const Geometry& geometry(std::size_t volume) const = 0;
  /// All that the file says of where a volume lies, geometry() first: NIfTI may say it twice, by sform and by qform.
  virtual std::vector<Geometry> geometries(std::size_t volume) const { return {geometry(volume)}; }
  /// True where the stored numbers may be filtered instead of the real values by a filter that commutes with a
  /// monotone rescale: one rescale for the whole volume.
  virtual bool can_filter_stored(std::size_t volume) const = 0;
  /// Empty where windows may extend along z; else why they may not (2-D filters go on).
  virtual std::string why_2d_only(std::size_t volume) const = 0;
  /// Empty where the slices lie as the geometry says, evenly and one above the other; else what is wrong with their
  /// places, whatever ReadOptions accept.
  virtual std::string why_uneven(std::size_t) const { return {}; }
  /// What a slice is called where it has a name of its own, as a file of a DICOM series has; else empty.
  virtual std::string name_of_slice(std::size_t /*volume*/, std::int64_t /*z*/) const { return {}; }
  /// The middle of the voxels, where they lie so far from 0 that 32-bit floats would lose digits; else 0. May read a
  /// volume to know.
  virtual double offset() const { return 0; }
  /// True where voxels are stored with more digits than 32-bit floats have.
  virtual bool may_lose_digits() const { return false; }
  /// Throws Error(unsupported) for real values that floats cannot tell apart.
  virtual std::unique_ptr<VolumeSource> volume(std::size_t volume, VoxelDomain) const = 0;
  virtual Facts facts() const = 0;
  virtual std::vector<std::string> warnings() const = 0;
  /// What was met among the voxels that were read so far.
  virtual std::vector<std::string> warnings_of_voxels() const { return {}; }
  /// True where the volumes are one picture at several times, by what the headers say.
  virtual bool is_time_series() const { return false; }
  /// True where two volumes may have been made of the same data, such as magnitudes and real parts, or with two
  /// kernels: then they have their noise in common.
  virtual bool may_share_noise(std::size_t, std::size_t) const { return false; }
  /// From one of several volumes to the next, in seconds, where headers say that they were made in turn: the steps of
  /// the clock, or what headers say where those are near it or not known.
  virtual std::optional<double> repetition_time() const { return {}; }
  /// True where volumes differ by the direction or strength of diffusion weighting, as headers say.
  virtual bool has_diffusion() const { return false; }
  /// The series instance UID; empty where it is no DICOM.
  virtual std::string series_uid() const { return {}; }
  /// The same format, with this image's metadata. `domain` is that of the values which write() will receive.
  virtual std::unique_ptr<ImageWriter> writer(const std::filesystem::path& output, VoxelDomain domain,
                                              const WriteOptions&) const = 0;
};

/// What all files of an image give where the output is to lie.
Access access_of(const Image&, const std::filesystem::path& output);

/// Opens a DICOM file or folder, or a NIfTI file, by content. Null where the content is neither (the caller may ask
/// other readers); throws Error where it is one of them and cannot be used.
std::unique_ptr<Image> open_image(const std::filesystem::path&, const ReadOptions&);

/// The single formats; each null where the content is of another kind.
std::unique_ptr<Image> open_dicom(const std::filesystem::path&, const ReadOptions&);
std::unique_ptr<Image> open_nifti(const std::filesystem::path&, const ReadOptions& = {});

/// What a series is of: images, or something that people rarely want filtered.
enum class SeriesKind {
  images,
  derived,  ///< results of quietvox
  localizer,
  secondary_capture,
};
constexpr std::array<std::string_view, 4> choices(SeriesKind) {
  return {"images", "derived", "localizer", "secondary-capture"};
}

/// What a series of a DICOM folder is, by the headers of its files.
struct SeriesSummary {
  std::string uid, modality, description, number;
  SeriesKind kind = SeriesKind::images;
  std::filesystem::path place;         ///< below the folder: the file, or the folder that holds all its files
  std::size_t files = 0, images = 0;   ///< a file may hold several images; copies do not count
  std::int64_t columns = 0, rows = 0;  ///< of the first image
  std::string problem;                 ///< why it cannot be used, by its headers; empty where it can
};

/// For folders with files at which a parser may crash.
struct ScanGuard {
  std::set<std::filesystem::path> left_out{};                       ///< files that are not looked at
  std::function<void(const std::filesystem::path& file)> before{};  ///< called before a file is parsed, by any thread
};

/// A DICOM folder that may hold several series. Its headers are read once.
class DicomFolder {
 public:
  explicit DicomFolder(const std::filesystem::path&, const Execution& = {}, const ScanGuard& = {});
  ~DicomFolder();
  bool any_dicom() const;
  std::vector<SeriesSummary> series() const;  ///< in the order of their UIDs
  std::vector<std::string> warnings() const;  ///< files that were passed over
  std::vector<Error> unassigned() const;      ///< files that belong to no series or cannot be read
  /// One series, without warnings about other files. Throws as open_dicom does.
  std::unique_ptr<Image> open(const ReadOptions&) const;

 private:
  friend std::unique_ptr<Image> open_dicom(const std::filesystem::path&, const ReadOptions&);
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// A new DICOM series, one file per slice, for phantoms: a plain, valid CT or MR object with made-up identity.
/// `modality` is CT, MR or MG; voxels are stored as 16-bit integers (CT: rescale intercept -1024).
std::unique_ptr<ImageWriter> create_dicom(const std::filesystem::path& folder, const Geometry&,
                                          const std::string& modality, const WriteOptions&);

/// A new float32 NIfTI-1 file (.nii or .nii.gz) with the given geometry, for images that did not come as NIfTI.
std::unique_ptr<ImageWriter> create_nifti(const std::filesystem::path& output, const Geometry&, std::size_t volumes,
                                          const WriteOptions&);

}  // namespace quietvox::io
