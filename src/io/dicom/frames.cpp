// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/frames.hpp"

#include <algorithm>

#include "core/input_limits.hpp"
#include "io/dicom/read_header.hpp"
#include "io/dicom/siemens_mosaic.hpp"

namespace quietvox::io::dicom {
namespace {

/// The groups that say how a frame is to be read, where it lies and what it shows (PS3.3 C.7.6.16 and C.8).
const DcmTagKey groups_read[] = {DCM_PixelMeasuresSequence,
                                 DCM_PlanePositionSequence,
                                 DCM_PlaneOrientationSequence,
                                 DCM_FrameContentSequence,
                                 DCM_PixelValueTransformationSequence,
                                 DCM_CardiacSynchronizationSequence,
                                 DCM_MRImageFrameTypeSequence,
                                 DCM_CTImageFrameTypeSequence,
                                 DCM_PETFrameTypeSequence,
                                 DCM_MREchoSequence,
                                 DCM_MRDiffusionSequence,
                                 DCM_DiffusionGradientDirectionSequence,
                                 DCM_MRArterialSpinLabelingSequence,
                                 DCM_MRModifierSequence,
                                 DCM_MRTimingAndRelatedParametersSequence,
                                 DCM_MRVelocityEncodingSequence,
                                 DCM_CTXRayDetailsSequence,
                                 DCM_CTReconstructionSequence,
                                 DCM_TemporalPositionSequence};

DcmItem* first_item(DcmItem& parent, const DcmTagKey& key) {
  DcmItem* item = nullptr;
  return parent.findAndGetSequenceItem(key, item).good() ? item : nullptr;
}

/// Copies the elements of a frame's groups side by side, as they stand in an image of one frame.
void flatten(DcmItem& groups, DcmItem& flat) {
  for (const DcmTagKey& key : groups_read) {
    DcmItem* const group = first_item(groups, key);
    if (!group) continue;
    for (Parts elements(*group); DcmObject* const element = elements.next();) {
      if (element->ident() == EVR_SQ) continue;
      auto copy = std::unique_ptr<DcmObject>(element->clone());
      if (flat.insert(static_cast<DcmElement*>(copy.get()), OFTrue).good()) (void)copy.release();
    }
    flatten(*group, flat);
  }
}

/// Bytes of memory that an image takes like this one, until it has found its volume.
std::uint64_t memory_of(const SliceHeader& image) {
  std::uint64_t bytes = sizeof(SliceHeader) + image.path.native().size() + image.name.native().size();
  for (const auto text : {&SliceHeader::sop_class,
                          &SliceHeader::sop_instance,
                          &SliceHeader::series,
                          &SliceHeader::study,
                          &SliceHeader::modality,
                          &SliceHeader::description,
                          &SliceHeader::view,
                          &SliceHeader::patient_id,
                          &SliceHeader::patient_name,
                          &SliceHeader::patient_birth_date,
                          &SliceHeader::patient_sex,
                          &SliceHeader::frame_of_reference,
                          &SliceHeader::patient_position,
                          &SliceHeader::photometric,
                          &SliceHeader::intent,
                          &SliceHeader::syntax_uid,
                          &SliceHeader::syntax_name,
                          &SliceHeader::contrast,
                          &SliceHeader::directionality,
                          &SliceHeader::sequence,
                          &SliceHeader::image_type,
                          &SliceHeader::contrast_agent}) {
    bytes += (image.*text).size();
  }
  bytes += sizeof(double) * (image.gradient.size() + image.dimension_indices.size()) +
           sizeof(image.modality_lut.values.front()) * image.modality_lut.values.size();
  return 2 * bytes;
}

/// Throws where what the headers of all frames say takes too much memory.
void check_frames(std::uint64_t bytes, const SliceHeader& file, const Execution& execution) {
  check_memory("what its header says of " + std::to_string(file.frames) + " frames", bytes, file.file.bytes, execution);
}

std::vector<SliceHeader> enhanced_frames(DcmDataset& data, const SliceHeader& file, const Execution& execution,
                                         std::optional<std::int64_t> only) {
  DcmSequenceOfItems* frames = nullptr;
  const bool found = data.findAndGetSequence(DCM_PerFrameFunctionalGroupsSequence, frames).good();
  if (!found || frames->card() != static_cast<unsigned long>(file.frames)) {
    throw Error(Errc::corrupt, tag_name(DCM_PerFrameFunctionalGroupsSequence) + " has " +
                                   std::to_string(found ? frames->card() : 0) + " items for " +
                                   std::to_string(file.frames) + " frames");
  }
  DcmItem of_all;
  if (DcmItem* const shared = first_item(data, DCM_SharedFunctionalGroupsSequence)) flatten(*shared, of_all);
  // What is shared is read for each frame anew, one after another: that takes time rather than memory.
  check_frames(static_cast<std::uint64_t>(file.frames) * of_all.getLength(EXS_LittleEndianExplicit), file, execution);
  std::vector<SliceHeader> images;
  images.reserve(only ? 1 : static_cast<std::size_t>(file.frames));
  Parts groups(*frames);
  std::uint64_t bytes = 0;
  for (std::int64_t i = 0; i < file.frames; ++i) {
    auto& group = static_cast<DcmItem&>(*groups.next());
    if (only && i < *only) continue;
    if (only && i > *only) break;
    check_stop(execution.stop);
    DcmItem flat(of_all);
    flatten(group, flat);
    SliceHeader& image = images.emplace_back(file);
    image.frame = i;
    read_image_attributes(flat, image);
    check_frames(bytes += memory_of(image), file, execution);
  }
  return images;
}

std::vector<SliceHeader> plain_frames(const SliceHeader& file) {
  std::vector<SliceHeader> images(static_cast<std::size_t>(file.frames), file);
  for (std::int64_t i = 0; i < file.frames; ++i) images[static_cast<std::size_t>(i)].frame = i;
  return images;
}

/// The frames of a reconstructed tomogram of nuclear medicine (PS3.3 C.8.4.8, C.8.4.11, C.8.4.15): Detector
/// Information says where the first slice lies, Slice Vector which slice a frame is, and the sign of Spacing Between
/// Slices on which side of the first they lie. Phases of a gated one lie at the same places, one after the other.
/// Without Detector Information, slices still lie beside each other.
std::vector<SliceHeader> tomogram_slices(DcmDataset& data, const SliceHeader& file) {
  std::vector<SliceHeader> images = plain_frames(file);
  DcmItem* const detector = first_item(data, DCM_DetectorInformationSequence);
  SliceHeader first = file;
  if (detector) read_image_attributes(*detector, first);
  const auto numbers = numbers_of(data, DCM_SliceVector);
  const bool is_placed = first.position && first.axes;
  if (!is_placed) {
    if (numbers.size() != images.size()) return images;
    first.position = {0, 0, 0};
    first.axes = {{1, 0, 0}, {0, 1, 0}};
  }
  if (numbers.size() != images.size()) {
    throw Error(Errc::corrupt, tag_name(DCM_SliceVector) + " has " + std::to_string(numbers.size()) + " values for " +
                                   std::to_string(images.size()) + " frames");
  }
  const auto& [row, column] = *first.axes;
  const Vector3 normal = cross(row, column);
  const double distance = number_of(data, DCM_SpacingBetweenSlices).value_or(file.thickness);
  for (std::size_t i = 0; i < images.size(); ++i) {
    images[i].axes = first.axes;
    images[i].position = first.position;
    images[i].is_place_assumed = !is_placed;
    for (std::size_t axis = 0; axis < 3; ++axis)
      (*images[i].position)[axis] += (numbers[i] - 1) * distance * normal[axis];
  }
  return images;
}

/// The tiles of a mosaic as slices. Its position is that of the corner which the mosaic would have if its middle lay
/// where the middle of every tile does.
std::vector<SliceHeader> mosaic_tiles(DcmDataset& data, const SliceHeader& file) {
  const Mosaic mosaic = read_mosaic(data);
  std::int64_t side = 1;
  while (side * side < mosaic.images) ++side;
  if (file.columns % side != 0 || file.rows % side != 0) {
    throw Error(Errc::corrupt, "a MOSAIC of " + std::to_string(mosaic.images) + " slices cannot tile " +
                                   std::to_string(file.columns) + " x " + std::to_string(file.rows) + " pixels evenly");
  }
  std::vector<SliceHeader> images(static_cast<std::size_t>(mosaic.images), file);
  for (std::int64_t i = 0; i < mosaic.images; ++i) {
    SliceHeader& image = images[static_cast<std::size_t>(i)];
    image.columns = file.columns / side;
    image.rows = file.rows / side;
    image.left = i % side * image.columns;
    image.top = i / side * image.rows;
    image.is_slice_direction_assumed = mosaic.images > 1 && !mosaic.normal;
    if (!file.position || !file.axes) continue;
    const auto& [row, column] = *file.axes;
    const Vector3 normal = mosaic.normal.value_or(cross(row, column));
    const double right = (file.columns - image.columns) / 2.0 * file.spacing[0];
    const double down = (file.rows - image.rows) / 2.0 * file.spacing[1];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      (*image.position)[axis] += right * row[axis] + down * column[axis] + i * file.thickness * normal[axis];
    }
  }
  return images;
}

}  // namespace

std::vector<SliceHeader> images_of(DcmDataset& data, const SliceHeader& file, const Execution& execution,
                                   std::optional<std::int64_t> only) {
  check_image_size({{file.frame_columns, file.frame_rows, 1}}, 1, file.file.bytes, execution);
  check_frames(static_cast<std::uint64_t>(file.frames) * memory_of(file), file, execution);
  if (file.is_enhanced) return enhanced_frames(data, file, execution, only);
  const auto type = components(text_of(data, DCM_ImageType));
  const auto is_of_type = [&](const char* name) { return std::find(type.begin(), type.end(), name) != type.end(); };
  if (is_of_type("RECON TOMO") || is_of_type("RECON GATED TOMO")) return tomogram_slices(data, file);
  if (!is_of_type("MOSAIC")) return plain_frames(file);
  if (file.frames > 1) throw Error(Errc::unsupported, "MOSAIC images of several frames are not supported");
  return mosaic_tiles(data, file);
}

}  // namespace quietvox::io::dicom
