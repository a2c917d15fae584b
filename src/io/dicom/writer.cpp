// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/writer.hpp"

#include <sys/stat.h>

#include <dcmtk/config/osconfig.h>
// osconfig.h must come first.
#include <dcmtk/dcmdata/dcrleerg.h>
#include <dcmtk/dcmdata/dcuid.h>
#include <dcmtk/dcmjpeg/djencode.h>
#include <dcmtk/dcmjpeg/djrplol.h>
#include <dcmtk/dcmjpls/djencode.h>
#include <dcmtk/dcmjpls/djrparam.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "core/execution.hpp"
#include "core/input_limits.hpp"
#include "io/dicom/derive.hpp"
#include "io/dicom/embedded_overlays.hpp"
#include "io/dicom/frame_decoder.hpp"
#include "io/dicom/pixels.hpp"
#include "io/dicom/result_series_key.hpp"
#include "io/dicom/verify.hpp"
#include "io/output/atomic_output.hpp"

namespace quietvox::io::dicom {
namespace {

namespace fs = std::filesystem;

/// How the source tells where its sequences end, by the first of them.
E_EncodingType sequence_encoding(DcmDataset& data) {
  for (Parts elements(data); DcmObject* const element = elements.next();) {
    if (element->ident() != EVR_SQ) continue;
    return element->getLengthField() == DCM_UndefinedLength ? EET_UndefinedLength : EET_ExplicitLength;
  }
  return EET_ExplicitLength;
}

/// The transfer syntax in which an image is written compressed, which loses nothing; none: uncompressed.
std::optional<E_TransferSyntax> compressed_syntax(const SliceHeader& slice, const WriteOptions& options) {
  if (!options.compress) {
    for (const E_TransferSyntax same : {EXS_JPEGProcess14SV1, EXS_JPEGProcess14, EXS_JPEGLSLossless, EXS_RLELossless}) {
      if (slice.syntax_uid == DcmXfer(same).getXferID()) return same;
    }
    return std::nullopt;
  }
  if (!*options.compress) return std::nullopt;
  switch (options.codec) {
    case Codec::rle: return EXS_RLELossless;
    case Codec::jpeg_lossless: return EXS_JPEGProcess14SV1;
    case Codec::jpeg_ls: break;
  }
  return EXS_JPEGLSLossless;
}

/// Compresses the top-level pixel data, without loss and with all bits of the cells, in a data set of its own: encoders
/// write into the one around it what they did.
void compress(DcmDataset& data, const SliceHeader& slice, E_TransferSyntax syntax) {
  static std::once_flag once;
  std::call_once(once, [] {
    const OFBool only_stored_bits = OFFalse;
    DJLSEncoderRegistration::registerCodecs(0, 0, 0, 0, only_stored_bits);
    DcmRLEEncoderRegistration::registerCodecs();
    DJEncoderRegistration::registerCodecs();
  });
  const auto check = [&](const OFCondition& status) {
    if (status.bad())
      throw Error(Errc::internal, slice.path.string() + ": pixels cannot be compressed: " + status.text());
  };
  DcmDataset apart;
  for (const DcmTagKey& key : {DCM_PhotometricInterpretation, DCM_NumberOfFrames, DCM_Rows, DCM_Columns,
                               DCM_BitsAllocated, DCM_BitsStored, DCM_HighBit, DCM_PixelRepresentation}) {
    if (data.tagExists(key)) check(data.findAndInsertCopyOfElement(key, &apart));
  }
  check(apart.putAndInsertUint16(DCM_SamplesPerPixel, 1));  // which some files do not say
  check(apart.insert(data.remove(&pixel_data(data))));
  DcmStack place;
  place.push(&apart);
  place.push(&pixel_data(apart));
  const DJLSRepresentationParameter jpeg_ls(0, OFTrue);
  const DJ_RPLossless jpeg;
  const DcmRepresentationParameter* parameter = nullptr;
  if (syntax == EXS_JPEGLSLossless) parameter = &jpeg_ls;
  if (syntax == EXS_JPEGProcess14 || syntax == EXS_JPEGProcess14SV1) parameter = &jpeg;
  check(pixel_data(apart).chooseRepresentation(syntax, parameter, place));
  check(data.insert(apart.remove(&pixel_data(apart))));
}

/// Takes out images that are nested in sequences and compressed, where the file is not: their codec is not known, so
/// that nobody can read them, and they cannot be written. Returns how many.
int remove_unreadable_images(DcmItem& parent, E_TransferSyntax syntax) {
  int removed = 0;
  for (DcmObject* element = nullptr; (element = parent.nextInContainer(element));) {
    if (element->ident() != EVR_SQ) continue;
    auto& sequence = static_cast<DcmSequenceOfItems&>(*element);
    std::vector<DcmItem*> unreadable;
    for (DcmObject* part = nullptr; (part = sequence.nextInContainer(part));) {
      auto& item = static_cast<DcmItem&>(*part);
      removed += remove_unreadable_images(item, syntax);
      DcmElement* pixels = nullptr;
      if (item.findAndGetElement(DCM_PixelData, pixels).bad() || pixels->canWriteXfer(syntax, syntax)) continue;
      unreadable.push_back(&item);
    }
    for (DcmItem* const item : unreadable) delete sequence.remove(item);
    removed += static_cast<int>(unreadable.size());
  }
  return removed;
}

std::string unique_text() {
  std::array<char, 65> uid{};
  return dcmGenerateUniqueIdentifier(uid.data());
}

/// An output file that waits for some of its images. They come one by one, perhaps with several volumes.
struct PendingFile {
  /// `in_place`: where the data set holds cells just so, they are changed there.
  PendingFile(const SliceHeader& image, std::int64_t images, bool in_place, const Execution& execution)
      : file(load_file(image.path, execution)),
        source_bytes(image.file.bytes),
        decoder(*file->getDataset(), image, execution),
        missing(images) {
    frames.resize(static_cast<std::size_t>(image.frames));
    if (in_place) cells = decoder.cells_in_place();
    if (!cells.empty()) return;
    if (image.frames == 1) {
      apart = decoder.cells(0);
    } else {
      with_error_context(image.path.string(), [&] {
        check_memory("the pixels of " + std::to_string(image.frames) + " frames",
                     sizeof(std::uint16_t) * frames.size() * frame_cells(image), execution);
      });
      apart.resize(frames.size() * frame_cells(image));
    }
    cells = apart;
  }

  /// The cells of the frame that an image is or lies in; where it is the frame, as they stand in the source.
  std::span<std::uint16_t> decode(const SliceHeader& image) {
    if (image.frames == 1) return cells;
    const auto size = frame_cells(image);
    const auto frame = cells.subspan(size * static_cast<std::size_t>(image.frame), size);
    if (!apart.empty()) std::ranges::copy(decoder.cells(image.frame), frame.begin());
    return frame;
  }

  std::uint64_t bytes() const { return source_bytes + sizeof(std::uint16_t) * apart.size(); }

  std::mutex mutex;
  std::unique_ptr<DcmFileFormat> file;
  std::uint64_t source_bytes;
  FrameDecoder decoder;
  std::span<std::uint16_t> cells;    ///< of all frames
  std::vector<std::uint16_t> apart;  ///< they, where they do not stand in the data set
  std::vector<FrameDerivation> frames;
  std::int64_t missing;  ///< images still to come
};

class Writer final : public ImageWriter {
 public:
  Writer(std::shared_ptr<const Series> series, const fs::path& output, VoxelDomain domain, const WriteOptions& options)
      : series_(std::move(series)),
        target_(output),
        domain_(domain),
        options_(options),
        execution_(options.execution.silent()),
        output_(output, series_->is_folder ? AtomicOutput::Kind::folder : AtomicOutput::Kind::file, options.force,
                series_->input, options.access,
                series_->is_folder ? dicom_results_of_one_series(output) : AtomicOutput::Examine()) {
    derivation_.inputs = identity_of(series_->volumes);
    derivation_.time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    for (const Volume& volume : series_->volumes) {
      for (const SliceHeader& slice : volume.slices) {
        ++images_[slice.name];
        if (slice.has_overlays_in_cells && compressed_syntax(slice, options)) derivation_.moves_overlays = true;
      }
    }
  }

  void begin_volume(std::size_t volume, const Provenance& provenance) override {
    if (volume != begun_ || !volume_is_complete())
      throw Error(Errc::internal, "volumes must be written in order, whole");
    if (volume == 0) output_.begin();
    volume_ = &series_->volumes.at(volume);
    begun_ = volume + 1;
    next_slice_ = 0;
    derivation_.chain = describe_chain(provenance.requested);
    const auto has = [&](Purpose purpose) {
      return std::ranges::count(provenance.resolved, purpose, &FilterConfig::purpose) > 0;
    };
    done_.push_back({.text = derivation_text(provenance),
                     .text_if_unchanged = derivation_text(provenance, false),
                     .smooths = has(Purpose::smoothing),
                     .enhances = has(Purpose::edge_enhancement)});
    if (!provenance.stabilise.empty()) derivation_.chain += "\nstabilise " + provenance.stabilise;
    if (!provenance.mask.empty()) derivation_.chain += "\nmask " + provenance.mask;
    if (!provenance.by.empty()) derivation_.chain += "\nby " + provenance.by;
    // Nobody knows what such steps were set to: no two runs may be taken for the same.
    if (!provenance.others.empty()) derivation_.chain += "\nrun " + run_;
    if (volume == 0) {                  // all images of a series say the same of it
      constexpr std::size_t most = 40;  // of the 64 characters of a description
      const std::string_view and_more = provenance.stabilised.empty() ? "" : ", stabilised";
      derivation_.series_suffix = options_.series_description_suffix.value_or(
          brief_chain(provenance.requested, most - and_more.size()).append(and_more));
      derivation_.series_offset = options_.series_offset.value_or(series_offset_of(derivation_.chain));
    }
  }

  void write(VolumeView<const float> slices, float* stored) override {
    const Extent& extent = volume_ ? volume_->geometry.extent : Extent{};
    if (slices.extent.x != extent.x || slices.extent.y != extent.y || slices.origin.z != next_slice_ ||
        next_slice_ + slices.extent.z > extent.z) {
      throw Error(Errc::internal, "slices must be written in order and in their own size");
    }
    next_slice_ += slices.extent.z;
    parallel_for(execution_, slices.extent.z, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t z = begin; z < end; ++z) {
        write_slice(volume_->slices[static_cast<std::size_t>(slices.origin.z + z)], slices.row(0, z),
                    stored ? stored + z * extent.slice() : nullptr);
      }
    });
  }

  /// Of slices that differ in their slope, those of the smallest steps; the range of all of these.
  std::optional<StoredIntegers> integers(std::size_t volume) const override {
    const auto& slices = series_->volumes.at(volume).slices;
    const auto has_table = [](const SliceHeader& slice) { return !slice.modality_lut.empty(); };
    if (std::ranges::any_of(slices, has_table)) return std::nullopt;
    const auto step = [](const SliceHeader& slice) { return std::abs(slice.slope); };
    const SliceHeader& finest = *std::ranges::min_element(slices, {}, step);
    StoredIntegers integers{finest.slope, finest.intercept, double(finest.format.min()), double(finest.format.max())};
    for (const SliceHeader& slice : slices) {
      if (slice.slope != finest.slope) continue;
      const double shift = (slice.intercept - finest.intercept) / finest.slope;
      integers.lowest = std::min(integers.lowest, slice.format.min() + shift);
      integers.highest = std::max(integers.highest, slice.format.max() + shift);
    }
    return integers;
  }

  WriteReport finish(std::vector<AtomicOutput*>& outputs) override {
    if (begun_ != series_->volumes.size() || !volume_is_complete()) {
      throw Error(Errc::internal, "commit before all volumes are written");
    }
    outputs.push_back(&output_);
    WriteReport report;
    for (const fs::path& name : files_of(*series_)) {
      report.files.push_back(series_->is_folder ? target_ / name : target_);
    }
    output_.expect_files(report.files.size());
    report.clamped = clamped_;
    if (lacks_suffix_) {
      report.warnings.push_back("series description is too long for the suffix '" + derivation_.series_suffix +
                                "' and stays as it is");
    }
    if (removed_ > 0) {
      report.warnings.push_back(std::to_string(removed_) +
                                " compressed images nested in sequences of uncompressed files are left out: the files "
                                "do not say how they are compressed");
    }
    return report;
  }

 private:
  bool volume_is_complete() const { return !volume_ || next_slice_ == volume_->geometry.extent.z; }

  void write_slice(const SliceHeader& slice, const float* values, float* stored) {
    const std::shared_ptr<PendingFile> draft = draft_of(slice);
    const auto frame = draft->decode(slice);
    const auto [clamped, is_changed] = merge_values(slice, values, domain_, frame);
    clamped_ += clamped;
    if (stored) to_values(slice, frame, VoxelDomain::real_with_padding, stored);
    const std::lock_guard lock(draft->mutex);
    FrameDerivation& derived = draft->frames[static_cast<std::size_t>(slice.frame)];
    derived = {&done_.back(), derived.is_changed || is_changed};
    if (--draft->missing > 0) return;
    write_file(slice, *draft);
    const std::lock_guard lock_all(drafts_mutex_);
    if (drafts_.erase(slice.name) > 0) waiting_ -= draft->bytes();
  }

  std::shared_ptr<PendingFile> draft_of(const SliceHeader& slice) {
    const std::int64_t images = images_.at(slice.name);
    const bool in_place = !compressed_syntax(slice, options_);
    if (images == 1) return std::make_shared<PendingFile>(slice, images, in_place, execution_);
    const std::lock_guard lock(drafts_mutex_);
    auto& draft = drafts_[slice.name];
    if (draft) return draft;
    draft = std::make_shared<PendingFile>(slice, images, in_place, execution_);
    waiting_ += draft->bytes();
    with_error_context(slice.path.string(),
                       [&] { check_memory("all files that wait for some of their images", waiting_, execution_); });
    return draft;
  }

  void write_file(const SliceHeader& slice, PendingFile& draft) {
    DcmDataset& data = *draft.file->getDataset();
    if (derivation_.moves_overlays) extract_embedded_overlays(data, slice, draft.cells);
    if (!draft.apart.empty()) replace_cells(data, slice, draft.cells);
    const E_EncodingType encoding = sequence_encoding(data);
    if (!derive(data, slice, draft.frames, derivation_)) lacks_suffix_ = true;

    fs::path path = output_.staging();
    if (series_->is_folder) {
      for (const fs::path& folder : slice.name.parent_path()) {
        std::error_code error;
        path /= folder;  // never the staging itself, should it have been removed
        if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) error.assign(errno, std::generic_category());
        if (error) throw Error(Errc::not_writable, target_.string() + ": cannot be written: " + error.message());
      }
      path /= slice.name.filename();
    }
    const std::string instance = text_of(data, DCM_SOPInstanceUID);
    save(*draft.file, slice, encoding, path);
    // The cells alone are kept: a header of millions of elements would be in memory twice.
    std::unique_ptr<DcmElement> pixels;
    if (draft.apart.empty()) pixels.reset(data.remove(&pixel_data(data)));
    draft.file.reset();
    if (const std::string problem = readback_mismatch(path, slice, instance, draft.cells, execution_);
        !problem.empty()) {
      throw Error(Errc::not_writable,
                  target_.string() + ": " + slice.name.string() + " does not read back: " + problem);
    }
    const std::lock_guard lock(drafts_mutex_);
    if (!instances_.insert(instance).second) {
      throw Error(Errc::internal, target_.string() + ": would hold one " + tag_name(DCM_SOPInstanceUID) + " twice");
    }
  }

  void save(DcmFileFormat& file, const SliceHeader& slice, E_EncodingType encoding, const fs::path& path) {
    DcmDataset& data = *file.getDataset();
    E_TransferSyntax syntax = data.getOriginalXfer();
    OFCondition status = EC_Normal;
    if (!slice.keeps_syntax) {
      with_error_context(slice.path.string(), [&] { check_nested_images(data, slice, execution_); });
      syntax = EXS_LittleEndianExplicit;
      status = data.chooseRepresentation(syntax, nullptr);  // images nested in sequences, such as icons
      if (status.bad()) {
        throw Error(Errc::unsupported,
                    slice.path.string() + ": compressed images nested in it do not decode: " + status.text());
      }
    }
    if (slice.keeps_syntax) removed_ += remove_unreadable_images(data, syntax);
    if (const auto compressed = compressed_syntax(slice, options_)) {
      syntax = *compressed;
      compress(data, slice, syntax);
    }
    status = save_new_file(file, path, syntax, encoding);
    if (status.bad()) {
      throw Error(Errc::not_writable,
                  target_.string() + ": " + slice.name.string() + " cannot be written: " + status.text());
    }
  }

  std::shared_ptr<const Series> series_;
  fs::path target_;
  VoxelDomain domain_;
  WriteOptions options_;
  Execution execution_;
  AtomicOutput output_;
  Derivation derivation_;
  const Volume* volume_ = nullptr;
  std::size_t begun_ = 0;
  std::int64_t next_slice_ = 0;
  std::atomic<std::int64_t> clamped_ = 0;
  std::atomic<bool> lacks_suffix_ = false;
  std::atomic<int> removed_ = 0;             ///< images nested in others
  const std::string run_ = unique_text();    ///< no other run has it
  std::deque<VolumeDerivation> done_;        ///< to the volumes up to the announced one
  std::map<fs::path, std::int64_t> images_;  ///< how many each file holds
  std::mutex drafts_mutex_;
  std::map<fs::path, std::shared_ptr<PendingFile>> drafts_;
  std::uint64_t waiting_ = 0;        ///< bytes of them
  std::set<std::string> instances_;  ///< UIDs of the files written
};

}  // namespace

std::string syntax_to_write(const SliceHeader& slice, const WriteOptions& options) {
  const auto compressed = compressed_syntax(slice, options);
  if (!compressed && slice.keeps_syntax) return slice.syntax_name;
  return DcmXfer(compressed.value_or(EXS_LittleEndianExplicit)).getXferName();
}

std::unique_ptr<ImageWriter> make_writer(std::shared_ptr<const Series> series, const fs::path& output,
                                         VoxelDomain domain, const WriteOptions& options) {
  if (options.output_type) {
    throw Error(
        Errc::invalid_argument,
        Parameter{"output-type", std::string(to_string(*options.output_type))} + ": DICOM keeps its stored type",
        "give same, or another format");
  }
  check_series_suffix(options.series_description_suffix.value_or(""));
  if (options.series_offset.value_or(0) < 0) {
    throw Error(Errc::invalid_argument, Parameter{"series-offset"} + " is negative", "give 0 or more");
  }
  for (const Volume& volume : series->volumes) {
    const ModalityLut& lut = volume.slices.front().modality_lut;
    if (domain == VoxelDomain::stored || lut.is_monotone()) continue;
    throw Error(Errc::unsupported,
                series->input.string() + ": real values do not lead back to stored numbers, since " +
                    tag_name(DCM_ModalityLUTSequence) + " rises and falls",
                "write another format, such as NIfTI");
  }
  return std::make_unique<Writer>(std::move(series), output, domain, options);
}

}  // namespace quietvox::io::dicom
