// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/execution.hpp"
#include "core/pipeline.hpp"
#include "core/provenance.hpp"
#include "io/files/file_stamp.hpp"
#include "io/output/file_permissions.hpp"
#include "io/rescale.hpp"
#include "io/scalar_type.hpp"

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

/// How a scan is opened.
struct ReadOptions {
  bool allow_gaps = false;         ///< accept missing, uneven or tilted slices
  std::string series_uid;          ///< which series of a folder that holds several
  std::optional<DataKind> kind{};  ///< what the numbers are, whatever the headers say
  Execution execution{};           ///< threads and stop requests, for opening and for reading voxels
};

/// How pixels of DICOM are compressed, without loss.
enum class Codec { jpeg_ls, rle, jpeg_lossless };
constexpr std::array<std::string_view, 3> choices(Codec) { return {"jpeg-ls", "rle", "jpeg-lossless"}; }

/// How a result is written.
struct WriteOptions {
  bool force = false;                       ///< replace an existing output
  std::optional<bool> compress{};           ///< none: as the input; DICOM as long as nothing is lost
  Codec codec = Codec::jpeg_ls;             ///< of DICOM where `compress` is true
  std::optional<ScalarType> output_type{};  ///< none: as the input, of new images float32; DICOM keeps its own
  bool are_differences = false;  ///< of NIfTI from NIfTI: floats, with nothing of the source but its geometry and names
  std::optional<std::string> series_description_suffix{};  ///< none: the filters, briefly
  std::optional<int> series_offset{};      ///< 0 and up; none: a multiple of 1000 that differs from filter to filter
  Access access{};                         ///< of the outputs, at most; writers of an image add what its files give
  Execution execution{};                   ///< threads and stop requests
  std::filesystem::path input{};           ///< of new images: what the voxels came from, if anything
  std::string input_series{};              ///< its series, where it is DICOM
  std::optional<double> volume_seconds{};  ///< of new images but DICOM: from one volume to the next
};

/// What a caller of a reader said of the voxels; nothing where it said nothing.
HeaderFacts facts_given(const ReadOptions&);

/// What the headers of a DICOM series say of it; the first image counts, unless said otherwise.
struct DicomInfo {
  std::string modality, series_description, series_uid, presentation_intent;
  std::int64_t frames = 1;  ///< in a file
  std::optional<std::pair<std::int64_t, std::int64_t>>
      mosaic{};  ///< columns and rows of the frame that holds the slices side by side
  int bits_allocated = 16, bits_stored = 16;
  std::string photometric;                       ///< photometric interpretation
  std::optional<std::pair<int, int>> lut{};      ///< least and most that a Modality LUT, in place of a rescale, gives
  std::optional<std::pair<int, int>> padding{};  ///< stored numbers, from one to the other, that stand for no value
  std::string output_syntax;                     ///< transfer syntax of the output by default, or `mixed`
};

/// How an image is stored, as its headers say it: what `quietvox info` tells beside geometry and kind.
struct ImageInfo {
  std::optional<int> version{};  ///< of the format: 1 or 2 of NIfTI
  std::size_t files = 1;         ///< that hold it
  std::string encoding;          ///< raw, gzip, bzip2 or text; of DICOM the name of the transfer syntax, or `mixed`
  ScalarType type = ScalarType::int16;  ///< of the cells
  std::optional<Rescale> rescale{};     ///< to real values; none: not the same in all images, or by a table
  std::optional<DicomInfo> dicom{};     ///< of DICOM only
};

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
/// destroyed without it leaves nothing behind. Throws Error(internal) where volumes or slices come in another order, or
/// are not all there at the end.
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
  /// Most memory that it takes to pack what it writes.
  virtual std::size_t packing_bytes(const Execution&) const;
  /// How real values of a volume are stored, where that is as whole numbers.
  virtual std::optional<StoredIntegers> integers(std::size_t /*volume*/) const { return {}; }
  /// Finishes, and puts all in its place.
  WriteReport commit();
};

/// A scan of one or more volumes, whatever its format. Volumes are counted from 0. Voxels are read when they are asked
/// for.
class Image {
 public:
  virtual ~Image() = default;
  virtual Format format() const = 0;
  virtual std::vector<FileStamp> files() const = 0;  ///< that hold it, as they were before they were read
  virtual std::size_t volume_count() const = 0;
  virtual const Geometry& geometry(std::size_t volume) const = 0;
  /// All that the file says of where a volume lies, geometry() first: NIfTI may say it twice, by sform and by qform.
  virtual std::vector<Geometry> geometries(std::size_t volume) const { return {geometry(volume)}; }
  /// Where the first voxel of each slice lies, LPS, mm, whatever the geometry says; empty where the image does not say
  /// it slice by slice.
  virtual std::vector<std::array<double, 3>> slice_positions(std::size_t /*volume*/) const { return {}; }
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
  /// Throws Error: invalid_argument (there is no such volume), unsupported (real values that floats cannot tell apart).
  std::unique_ptr<VolumeSource> volume(std::size_t volume, VoxelDomain) const;
  virtual ImageInfo info() const = 0;
  virtual std::vector<std::string> warnings() const = 0;
  /// What was met among the voxels that were read so far.
  virtual std::vector<std::string> warnings_of_voxels() const { return {}; }
  /// True where the volumes are one picture at several times, by what the headers say.
  virtual bool is_time_series() const { return false; }
  /// True where one receiver made the volumes in turn, by what the headers say: times, or directions of diffusion.
  virtual bool may_have_one_noise() const { return is_time_series(); }
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

 private:
  /// Of one of the volumes that there are.
  virtual std::unique_ptr<VolumeSource> source_of(std::size_t volume, VoxelDomain) const = 0;
};

/// The access that all files of the image grant, for an output at this path.
Access access_of(const Image&, const std::filesystem::path& output);

/// Opens a DICOM file or folder, or a NIfTI file, by content. Null where the content is neither (the caller may ask
/// other readers); throws Error where it is one of them and cannot be used.
std::unique_ptr<Image> open_image(const std::filesystem::path&, const ReadOptions&);

/// Opens a DICOM file, or a folder with one series. Null where there is no DICOM; throws Error where there is some and
/// it cannot be used.
std::unique_ptr<Image> open_dicom(const std::filesystem::path&, const ReadOptions&);

/// Opens a NIfTI file, or either of two that belong together. Null where the content is none; throws Error where it is
/// one and cannot be used.
std::unique_ptr<Image> open_nifti(const std::filesystem::path&, const ReadOptions& = {});

}  // namespace quietvox::io
