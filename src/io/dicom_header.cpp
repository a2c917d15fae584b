// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom_header.hpp"

#include <algorithm>
#include <cmath>

#include "io/dicom_frame_decoder.hpp"
#include "io/dicom_pixels.hpp"
#include "io/rescale.hpp"

namespace quietvox::io::dicom {
namespace {

[[noreturn]] void unsupported(const std::string& what) { throw Error(Errc::unsupported, what); }

[[noreturn]] void corrupt(const DcmTagKey& key, const std::string& what) {
  throw Error(Errc::corrupt, tag_name(key) + " " + what);
}

/// A whole number that must be there and within bounds.
int required(DcmItem& data, const DcmTagKey& key, int min, int max) {
  const auto value = number_of(data, key);
  if (!value) corrupt(key, "is missing");
  if (*value != std::floor(*value) || *value < min || *value > max) {
    corrupt(key, "is " + text_of(data, key) + "; allowed: " + std::to_string(min) + " to " + std::to_string(max));
  }
  return static_cast<int>(*value);
}

/// The first number of an element that may be anything without harm; none where there is none.
std::optional<double> first_number(DcmItem& data, const DcmTagKey& key) {
  try {
    const auto numbers = numbers_of(data, key);
    return numbers.empty() ? std::nullopt : std::optional(numbers.front());
  } catch (const Error&) {
    return std::nullopt;
  }
}

void read_identity(DcmDataset& data, Slice& slice) {
  slice.sop_class = text_of(data, DCM_SOPClassUID);
  slice.sop_instance = text_of(data, DCM_SOPInstanceUID);
  slice.series = text_of(data, DCM_SeriesInstanceUID);
  slice.modality = text_of(data, DCM_Modality);
  slice.description = text_of(data, DCM_SeriesDescription);
  slice.intent = text_of(data, DCM_PresentationIntentType);
  slice.burned_in = text_of(data, DCM_BurnedInAnnotation) == "YES";
}

/// Kinds of images that are valid DICOM and not handled.
void refuse_unhandled_kinds(DcmDataset& data) {
  if (data.tagExists(DCM_FloatPixelData) || data.tagExists(DCM_DoubleFloatPixelData)) {
    unsupported("float pixel data is not supported");
  }
  const std::string photometric = text_of(data, DCM_PhotometricInterpretation);
  if (number_of(data, DCM_SamplesPerPixel).value_or(1) != 1 || !photometric.starts_with("MONOCHROME")) {
    unsupported((photometric.empty() ? "colour" : photometric) +
                " pixels are not supported, only MONOCHROME1 and MONOCHROME2");
  }
  const int bits = required(data, DCM_BitsAllocated, 1, 64);
  if (bits != 8 && bits != 16) unsupported(std::to_string(bits) + "-bit pixels are not supported, only 8 and 16 bits");
}

void read_pixel_format(DcmDataset& data, Slice& slice) {
  slice.photometric = text_of(data, DCM_PhotometricInterpretation);
  slice.rows = required(data, DCM_Rows, 1, 65535);
  slice.columns = required(data, DCM_Columns, 1, 65535);
  slice.frame_rows = slice.rows;
  slice.frame_columns = slice.columns;
  constexpr int most_frames = 1 << 24;
  if (number_of(data, DCM_NumberOfFrames).value_or(0) != 0) {
    slice.frames = required(data, DCM_NumberOfFrames, 1, most_frames);
  }
  slice.is_enhanced = data.tagExists(DCM_PerFrameFunctionalGroupsSequence);
  PixelFormat& format = slice.format;
  format.bits_allocated = required(data, DCM_BitsAllocated, 8, 16);
  format.bits_stored = required(data, DCM_BitsStored, 1, format.bits_allocated);
  format.high_bit = required(data, DCM_HighBit, format.bits_stored - 1, format.bits_allocated - 1);
  format.is_signed = required(data, DCM_PixelRepresentation, 0, 1) == 1;
}

void read_rescale(DcmItem& data, Slice& slice) {
  slice.has_modality_lut = slice.has_modality_lut || data.tagExists(DCM_ModalityLUTSequence);
  if (slice.has_modality_lut) return;
  slice.slope = number_of(data, DCM_RescaleSlope).value_or(slice.slope);
  slice.intercept = number_of(data, DCM_RescaleIntercept).value_or(slice.intercept);
  if (slice.slope == 0) corrupt(DCM_RescaleSlope, "is 0; it must be another number");
  const std::string why = why_floats_lose_digits({slice.slope, slice.intercept}, slice.format.min(), slice.format.max(),
                                                 tag_name(DCM_RescaleSlope), tag_name(DCM_RescaleIntercept));
  if (!why.empty()) unsupported(why);
}

/// The padding range in stored numbers. Values that no pixel can hold mean nothing.
void read_padding(DcmDataset& data, Slice& slice) {
  const auto stored = [&](const DcmTagKey& key) -> std::optional<int> {
    const auto value = number_of(data, key);
    if (!value || *value != std::floor(*value) || std::abs(*value) > 65535) return std::nullopt;
    // The value representation does not always agree with the sign of the pixels.
    const int number = static_cast<int>(*value);
    if (slice.format.is_signed && number > 32767) return number - 65536;
    if (!slice.format.is_signed && number < 0) return number + 65536;
    return number;
  };
  const auto value = stored(DCM_PixelPaddingValue);
  if (!value) return;
  const int limit = stored(DCM_PixelPaddingRangeLimit).value_or(*value);
  const int first = std::max(std::min(*value, limit), slice.format.min());
  const int last = std::min(std::max(*value, limit), slice.format.max());
  if (first <= last) slice.padding = {first, last};
}

double dot(const Vector3& a, const Vector3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

void read_place(DcmItem& data, Slice& slice) {
  const auto position = numbers_of(data, DCM_ImagePositionPatient);
  if (position.size() == 3)
    slice.position = {position[0], position[1], position[2]};
  else if (!position.empty())
    corrupt(DCM_ImagePositionPatient, "has not 3 numbers");

  const auto cosines = numbers_of(data, DCM_ImageOrientationPatient);
  if (cosines.empty()) return;
  if (cosines.size() != 6) corrupt(DCM_ImageOrientationPatient, "has not 6 numbers");
  Vector3 row{cosines[0], cosines[1], cosines[2]}, column{cosines[3], cosines[4], cosines[5]};
  const double row_length = std::sqrt(dot(row, row)), column_length = std::sqrt(dot(column, column));
  if (std::abs(row_length - 1) > 0.01 || std::abs(column_length - 1) > 0.01 || std::abs(dot(row, column)) > 0.01) {
    corrupt(DCM_ImageOrientationPatient,
            "is " + text_of(data, DCM_ImageOrientationPatient) + "; it must be two perpendicular unit vectors");
  }
  for (double& x : row) x /= row_length;
  for (double& x : column) x /= column_length;
  slice.axes = {row, column};
}

void read_spacing(DcmItem& data, Slice& slice) {
  for (const DcmTagKey& key : {DCM_PixelSpacing, DCM_ImagerPixelSpacing, DCM_NominalScannedPixelSpacing}) {
    const auto spacing = numbers_of(data, key);
    if (spacing.empty()) continue;
    if (spacing.size() != 2 || spacing[0] <= 0 || spacing[1] <= 0) {
      corrupt(key, "is " + text_of(data, key) + "; it must be two numbers above 0");
    }
    slice.spacing = {spacing[1], spacing[0]};
    slice.has_spacing = true;
    break;
  }
  for (const DcmTagKey& key : {DCM_SliceThickness, DCM_SpacingBetweenSlices}) {
    if (const double distance = std::abs(first_number(data, key).value_or(0)); distance > 0) slice.thickness = distance;
  }
}

/// The first of several elements that has a number; none where none has.
std::optional<double> first_number(DcmItem& data, std::initializer_list<DcmTagKey> keys) {
  for (const DcmTagKey& key : keys) {
    if (const auto number = first_number(data, key)) return number;
  }
  return std::nullopt;
}

/// The kind of image from its third value on, echo, diffusion weighting, labelling and time: what makes neighbouring
/// slices different pictures. Frames of enhanced objects have elements of their own for it.
void read_contrast(DcmItem& data, Slice& slice) {
  const auto type = components(text_of(data, data.tagExists(DCM_FrameType) ? DCM_FrameType : DCM_ImageType));
  for (std::size_t i = 2; i < type.size(); ++i) slice.contrast.append(type[i]).append("\\");
  for (const DcmTagKey& key : {DCM_EchoNumbers, DCM_DiffusionBValue, DCM_DiffusionDirectionality,
                               DCM_DiffusionGradientOrientation, DCM_ComplexImageComponent, DCM_ASLContext}) {
    slice.contrast.append("|").append(text_of(data, key));
  }
  const auto take = [&](auto& number, std::initializer_list<DcmTagKey> keys) {
    if (const auto found = first_number(data, keys)) number = *found;
  };
  take(slice.echo_time, {DCM_EffectiveEchoTime, DCM_EchoTime});
  take(slice.temporal_position, {DCM_TemporalPositionIndex, DCM_TemporalPositionIdentifier});
  take(slice.trigger_time, {DCM_NominalCardiacTriggerDelayTime, DCM_TriggerTime});
  take(slice.acquisition, {DCM_FrameAcquisitionNumber, DCM_AcquisitionNumber});
  take(slice.instance_number, {DCM_InstanceNumber});
}

void read_pixel_data(DcmDataset& data, Slice& slice) {
  DcmPixelData& element = pixel_data(data);
  E_TransferSyntax stored_as = EXS_Unknown;
  const DcmRepresentationParameter* parameter = nullptr;
  element.getOriginalRepresentationKey(stored_as, parameter);
  const DcmXfer pixels(stored_as), whole(data.getOriginalXfer());
  slice.is_compressed = pixels.isEncapsulated();
  slice.is_lossy = slice.is_compressed && pixels.isLossy();
  slice.syntax_uid = whole.getXferID();
  slice.syntax_name = whole.getXferName();
  slice.keeps_syntax = !whole.isEncapsulated() && data.getOriginalXfer() != EXS_DeflatedLittleEndianExplicit;
  if (slice.is_compressed && !whole.isEncapsulated()) {
    corrupt(DCM_PixelData, "is compressed, against its transfer syntax " + slice.syntax_name);
  }
  if (slice.is_compressed && !can_decode(slice.syntax_uid)) {
    unsupported("pixels in " + slice.syntax_name + " are not supported");
  }
  const std::int64_t needed = slice.frames * slice.rows * slice.columns * slice.format.bits_allocated / 8;
  if (needed > std::numeric_limits<std::uint32_t>::max() - 1) {
    unsupported("pixels of more than 4 GiB in one file are not supported");
  }
  const std::int64_t most = slice.is_compressed ? most_pixel_bytes(element, slice.syntax_uid)
                                                : static_cast<std::int64_t>(element.getLength());
  if (most < needed) {
    corrupt(DCM_PixelData, "is too short: " + std::to_string(slice.columns) + " x " + std::to_string(slice.rows) +
                               (slice.frames > 1 ? " x " + std::to_string(slice.frames) : "") + " pixels need " +
                               std::to_string(needed) + " bytes, it has" + (slice.is_compressed ? " at most " : " ") +
                               std::to_string(most));
  }
  const E_TransferSyntax syntax = data.getOriginalXfer();
  slice.ends_with_cells = (syntax == EXS_LittleEndianExplicit || syntax == EXS_LittleEndianImplicit) &&
                          slice.frames == 1 && slice.format.bits_allocated == 16 && most == needed &&
                          data.getElement(data.card() - 1) == &element;
}

}  // namespace

void read_header(DcmDataset& data, Slice& slice) {
  read_identity(data, slice);
  refuse_unhandled_kinds(data);
  read_pixel_format(data, slice);
  read_pixel_data(data, slice);
  read_padding(data, slice);
  read_image_attributes(data, slice);
}

void read_image_attributes(DcmItem& data, Slice& slice) {
  read_rescale(data, slice);
  read_place(data, slice);
  read_spacing(data, slice);
  read_contrast(data, slice);
}

}  // namespace quietvox::io::dicom
