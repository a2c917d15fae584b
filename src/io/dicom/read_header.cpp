// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/read_header.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <set>
#include <span>
#include <string_view>

#include "io/dicom/derive.hpp"
#include "io/dicom/embedded_overlays.hpp"
#include "io/dicom/frame_decoder.hpp"
#include "io/dicom/patient_match.hpp"
#include "io/dicom/pixels.hpp"
#include "io/dicom_folder.hpp"
#include "io/float_precision.hpp"
#include "io/image_type.hpp"
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

/// The numbers of an element that may be anything without harm; none where they are none.
std::vector<double> any_numbers(DcmItem& data, const DcmTagKey& key) {
  try {
    return numbers_of(data, key);
  } catch (const Error&) {
    return {};
  }
}

std::optional<double> first_number(DcmItem& data, const DcmTagKey& key) {
  const auto numbers = any_numbers(data, key);
  return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

/// Side and projection of a radiograph; tomograms of the breast say them in other places (PS3.3 C.7.3.1, C.8.11.7 and
/// C.7.6.16.2.8).
std::string view_of(DcmDataset& data) {
  const auto text_in = [](DcmItem& outer, const DcmTagKey& sequence, const DcmTagKey& key) {
    DcmItem* item = nullptr;
    return outer.findAndGetSequenceItem(sequence, item, 0).good() ? text_of(*item, key) : std::string();
  };
  std::string side = text_of(data, DCM_ImageLaterality), view = text_of(data, DCM_ViewPosition);
  if (side.empty()) side = text_of(data, DCM_Laterality);
  DcmItem* shared = nullptr;
  if (side.empty() && data.findAndGetSequenceItem(DCM_SharedFunctionalGroupsSequence, shared, 0).good()) {
    side = text_in(*shared, DCM_FrameAnatomySequence, DCM_FrameLaterality);
  }
  if (view.empty()) view = text_in(data, DCM_ViewCodeSequence, DCM_CodeMeaning);
  return side + (side.empty() || view.empty() ? "" : " ") + view;
}

SeriesKind kind_of_series(DcmDataset& data) {
  if (is_derived(data)) return SeriesKind::processed;
  // Its own class, and those of many frames below it.
  const std::string sop_class = text_of(data, DCM_SOPClassUID), capture = UID_SecondaryCaptureImageStorage;
  if (sop_class == capture || sop_class.starts_with(capture + ".")) return SeriesKind::secondary_capture;
  const auto type = components(text_of(data, DCM_ImageType));
  return type.size() > 2 && type[2] == "LOCALIZER" ? SeriesKind::localizer : SeriesKind::images;
}

void read_identity(DcmDataset& data, SliceHeader& slice) {
  slice.sop_class = text_of(data, DCM_SOPClassUID);
  slice.sop_instance = text_of(data, DCM_SOPInstanceUID);
  slice.series = text_of(data, DCM_SeriesInstanceUID);
  slice.modality = text_of(data, DCM_Modality);
  slice.description = text_of(data, DCM_SeriesDescription);
  slice.series_number = text_of(data, DCM_SeriesNumber);
  slice.series_kind = kind_of_series(data);
  slice.view = view_of(data);
  slice.intent = text_of(data, DCM_PresentationIntentType);
  read_patient(data, slice);
  slice.burned_in = text_of(data, DCM_BurnedInAnnotation) == "YES";
}

/// Whether a photometric interpretation is one of colours (PS3.3 C.7.6.3.1.2), of so many samples.
bool is_of_colours(const std::string& photometric, double samples) {
  constexpr std::array<std::string_view, 5> names{"RGB", "ARGB", "CMYK", "HSV", "XYB"};
  const bool is_known = photometric.starts_with("YBR_") || std::ranges::find(names, photometric) != names.end();
  return photometric == "PALETTE COLOR" || (is_known && samples >= 3);
}

/// Kinds of images that are valid DICOM and not handled.
void refuse_unhandled_kinds(DcmDataset& data, SliceHeader& slice) {
  if (data.tagExists(DCM_FloatPixelData) || data.tagExists(DCM_DoubleFloatPixelData)) {
    unsupported("float pixel data is not supported");
  }
  const std::string photometric = text_of(data, DCM_PhotometricInterpretation);
  const auto samples = number_of(data, DCM_SamplesPerPixel);
  // An image in which the two contradict each other may be a damaged one that is grey.
  slice.is_colour = is_of_colours(photometric, samples.value_or(3));
  const std::string supported = " pixels are not supported, only MONOCHROME1 and MONOCHROME2 of one sample";
  if (slice.is_colour) unsupported(photometric + supported);
  if (photometric.empty()) corrupt(DCM_PhotometricInterpretation, "is missing");
  const bool is_grey = photometric == "MONOCHROME1" || photometric == "MONOCHROME2";
  if (!is_grey) unsupported(tag_name(DCM_PhotometricInterpretation) + " " + photometric + ":" + supported);
  if (samples.value_or(1) != 1)
    unsupported(photometric + " of " + text_of(data, DCM_SamplesPerPixel) + " samples:" + supported);
  const int bits = required(data, DCM_BitsAllocated, 1, 64);
  if (bits != 8 && bits != 16) unsupported(std::to_string(bits) + "-bit pixels are not supported, only 8 and 16 bits");
}

void read_pixel_format(DcmDataset& data, SliceHeader& slice) {
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
  slice.concatenation = text_of(data, DCM_ConcatenationUID);
  const auto count = [&](const DcmTagKey& key) {
    const auto number = number_of(data, key);
    return number && *number >= 1 && *number <= 65535 ? number : std::nullopt;
  };
  slice.part = count(DCM_InConcatenationNumber);
  slice.parts = count(DCM_InConcatenationTotalNumber);
  PixelFormat& format = slice.format;
  format.bits_allocated = required(data, DCM_BitsAllocated, 8, 16);
  format.bits_stored = required(data, DCM_BitsStored, 1, format.bits_allocated);
  format.high_bit = required(data, DCM_HighBit, format.bits_stored - 1, format.bits_allocated - 1);
  format.is_signed = required(data, DCM_PixelRepresentation, 0, 1) == 1;
}

/// The table of a Modality LUT (PS3.3 C.11.1).
ModalityLut read_modality_lut(DcmItem& data, const PixelFormat& format) {
  DcmItem* item = nullptr;
  if (data.findAndGetSequenceItem(DCM_ModalityLUTSequence, item, 0).bad()) {
    corrupt(DCM_ModalityLUTSequence, "has no item");
  }
  const auto descriptor = numbers_of(*item, DCM_LUTDescriptor);
  if (descriptor.size() != 3) corrupt(DCM_LUTDescriptor, "must be three numbers");
  const auto word = [](double number) { return static_cast<std::uint16_t>(static_cast<int>(number)); };
  const std::size_t size = word(descriptor[0]) == 0 ? 65536 : word(descriptor[0]);
  ModalityLut lut;
  // The value representation does not always agree with the sign of the pixels.
  lut.first = format.is_signed ? static_cast<std::int16_t>(word(descriptor[1])) : word(descriptor[1]);
  const Uint16* words = nullptr;
  unsigned long count = 0;
  if (item->findAndGetUint16Array(DCM_LUTData, words, &count).good() && words) {
    lut.values.assign(words, words + count);
  } else {
    for (const double number : numbers_of(*item, DCM_LUTData)) lut.values.push_back(word(number));
  }
  if (descriptor[2] == 8 && lut.values.size() == (size + 1) / 2 && size > 1) {  // two values in each word
    std::vector<std::uint16_t> bytes;
    for (const std::uint16_t pair : lut.values) {
      bytes.push_back(pair & 0xff);
      bytes.push_back(pair >> 8);
    }
    lut.values = std::move(bytes);
  }
  if (lut.values.size() < size) {
    corrupt(DCM_LUTData, "has " + std::to_string(lut.values.size()) + " values instead of " + std::to_string(size));
  }
  lut.values.resize(size);
  return lut;
}

void read_rescale(DcmItem& data, SliceHeader& slice) {
  if (data.tagExists(DCM_ModalityLUTSequence)) slice.modality_lut = read_modality_lut(data, slice.format);
  if (!slice.modality_lut.empty()) return;
  const auto slope = number_of(data, DCM_RescaleSlope), intercept = number_of(data, DCM_RescaleIntercept);
  slice.slope = slope.value_or(slice.slope);
  slice.intercept = intercept.value_or(slice.intercept);
  slice.says_slope = slice.says_slope || slope;
  slice.says_intercept = slice.says_intercept || intercept;
  if (slice.slope == 0) corrupt(DCM_RescaleSlope, "is 0; it must be another number");
  const std::string why = why_floats_lose_digits({slice.slope, slice.intercept}, slice.format.min(), slice.format.max(),
                                                 tag_name(DCM_RescaleSlope), tag_name(DCM_RescaleIntercept));
  if (!why.empty()) unsupported(why);
}

/// The padding range in stored numbers. Values that no pixel can hold mean nothing, nor does a range that would leave
/// no pixel.
void read_padding(DcmDataset& data, SliceHeader& slice) {
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
  const bool is_all = first == slice.format.min() && last == slice.format.max();
  if (first <= last && !is_all) slice.padding = {first, last};
}

void read_place(DcmItem& data, SliceHeader& slice) {
  constexpr double farthest_mm = 1e9;
  const auto position = numbers_of(data, DCM_ImagePositionPatient);
  if (std::ranges::any_of(position, [](double number) { return std::abs(number) > farthest_mm; })) {
    corrupt(DCM_ImagePositionPatient, "lies more than 1000 km away");
  }
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

/// Of ultrasound: the distance of pixels along x and y, in mm, if all regions that show tissue in 2-D agree on it
/// (PS3.3 C.8.5.5).
std::optional<std::array<double, 2>> spacing_of_regions(DcmItem& data) {
  constexpr double planar = 1, of_tissue = 1, in_cm = 3, mm_per_cm = 10, same = 1e-3;
  std::optional<std::array<double, 2>> spacing;
  DcmItem* region = nullptr;
  for (long i = 0; data.findAndGetSequenceItem(DCM_SequenceOfUltrasoundRegions, region, i).good(); ++i) {
    const auto is = [&](const DcmTagKey& key, double number) { return first_number(*region, key) == number; };
    if (!is(DCM_RegionSpatialFormat, planar) || !is(DCM_RegionDataType, of_tissue)) continue;
    if (!is(DCM_PhysicalUnitsXDirection, in_cm) || !is(DCM_PhysicalUnitsYDirection, in_cm)) return std::nullopt;
    const double x = mm_per_cm * std::abs(first_number(*region, DCM_PhysicalDeltaX).value_or(0)),
                 y = mm_per_cm * std::abs(first_number(*region, DCM_PhysicalDeltaY).value_or(0));
    if (!(x > 0 && y > 0)) return std::nullopt;
    if (!spacing) spacing = {x, y};
    if (std::abs(x / (*spacing)[0] - 1) > same || std::abs(y / (*spacing)[1] - 1) > same) return std::nullopt;
  }
  return spacing;
}

void read_spacing(DcmItem& data, SliceHeader& slice) {
  for (const DcmTagKey& key :
       {DCM_PixelSpacing, DCM_ImagerPixelSpacing, DCM_NominalScannedPixelSpacing, DCM_ImagePlanePixelSpacing}) {
    const auto spacing = numbers_of(data, key);
    if (spacing.empty()) continue;
    if (spacing.size() != 2 || spacing[0] <= 0 || spacing[1] <= 0) {
      corrupt(key, "is " + text_of(data, key) + "; it must be two numbers above 0");
    }
    slice.spacing = {spacing[1], spacing[0]};
    slice.has_spacing = true;
    break;
  }
  if (const auto of_regions = slice.has_spacing ? std::nullopt : spacing_of_regions(data)) {
    slice.spacing = *of_regions;
    slice.has_spacing = true;
  }
  if (const auto ratio = any_numbers(data, DCM_PixelAspectRatio);
      !slice.has_spacing && ratio.size() == 2 && ratio[0] > 0 && ratio[1] > 0) {
    slice.spacing = {1, ratio[0] / ratio[1]};
  }
  for (const DcmTagKey& key : {DCM_SliceThickness, DCM_SpacingBetweenSlices}) {
    if (const double distance = std::abs(first_number(data, key).value_or(0)); distance > 0) slice.thickness = distance;
  }
}

/// The number of the first of these elements that has one.
std::optional<double> first_number(DcmItem& data, std::initializer_list<DcmTagKey> keys) {
  for (const DcmTagKey& key : keys) {
    if (const auto number = first_number(data, key)) return number;
  }
  return std::nullopt;
}

/// Takes a number of so many digits from the front of a text; none, and the text stays, where there is none.
std::optional<int> take_digits(std::string& text, std::size_t digits) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() < digits || !std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(digits), is_digit))
    return std::nullopt;
  int number = 0;
  std::from_chars(text.data(), text.data() + digits, number);
  text.erase(0, digits);
  return number;
}

/// Seconds from one moment on, by a date and a time of day such as `20101208` and `194517.2375`, either perhaps shorter
/// or with the points and colons of old files; none without a time.
std::optional<double> seconds_at(std::string date, std::string time) {
  std::erase(date, '.');
  std::erase(time, ':');
  const auto hours = take_digits(time, 2);
  if (!hours) return std::nullopt;
  const int minutes = take_digits(time, 2).value_or(0);
  double seconds = 0;
  std::from_chars(time.data(), time.data() + time.size(), seconds, std::chars_format::fixed);
  seconds += 3600 * *hours + 60 * minutes;
  const auto year = take_digits(date, 4), month = take_digits(date, 2), day = take_digits(date, 2);
  if (!year || !month || !day) return seconds;
  const std::chrono::year_month_day on(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                       std::chrono::day(static_cast<unsigned>(*day)));
  return on.ok() ? seconds + 86400.0 * std::chrono::sys_days(on).time_since_epoch().count() : seconds;
}

/// The same from one element of type DT. Its time zone is ignored: all images of a series share it.
std::optional<double> seconds_at(DcmItem& data, const DcmTagKey& key) {
  const std::string text = text_of(data, key);
  return text.size() < 10 ? std::nullopt : seconds_at(text.substr(0, 8), text.substr(8, text.find_first_of("+-") - 8));
}

std::optional<double> seconds_at(DcmItem& data, const DcmTagKey& date, const DcmTagKey& time) {
  return seconds_at(text_of(data, date), text_of(data, time));
}

/// An element of a maker, in one of the blocks that the maker has in this item (PS3.5 7.8.1); none where it is not
/// there.
std::optional<DcmTagKey> private_key(DcmItem& data, std::string_view creator, Uint16 group, Uint16 element) {
  for (Uint16 block = 0x10; block < 0x20; ++block) {
    const DcmTagKey key(group, static_cast<Uint16>(block << 8 | element));
    if (text_of(data, DcmTagKey(group, block)) == creator && data.tagExists(key)) return key;
  }
  return std::nullopt;
}

/// One number of 32 or 64 bits.
std::optional<double> float_from(std::span<const Uint8> bytes) {
  const auto read = [&](auto number) -> std::optional<double> {
    std::memcpy(&number, bytes.data(), sizeof number);
    return std::isfinite(number) ? std::optional<double>(number) : std::nullopt;
  };
  if (bytes.size() == sizeof(float)) return read(0.0F);
  return bytes.size() == sizeof(double) ? read(0.0) : std::nullopt;
}

/// What GE says of an image: 0 magnitude, 1 phase, 2 real part, 3 imaginary part. Some writers lose the element's type.
std::optional<int> ge_component(DcmItem& data) {
  const auto key = private_key(data, "GEMS_PARM_01", 0x0043, 0x2f);
  Sint16 number = 0;
  if (!key || data.findAndGetSint16(*key, number).good()) return key ? std::optional(number) : std::nullopt;
  const std::span<const Uint8> bytes = raw_bytes_of(data, *key);
  return bytes.size() == 2 ? std::optional(bytes[0] | bytes[1] << 8) : std::nullopt;
}

/// The b-value where makers kept it before the standard had an element for it, or where their scanners still do.
std::optional<double> makers_b_value(DcmItem& data) {
  struct Place {
    std::string_view creator;
    Uint16 group, element;
    bool is_text;  ///< else a 32-bit or 64-bit float
  };
  static constexpr Place places[] = {{"GEMS_PARM_01", 0x0043, 0x39, true},
                                     {"SIEMENS MR HEADER", 0x0019, 0x0c, true},
                                     {"Philips Imaging DD 001", 0x2001, 0x03, false},
                                     {"Image Private Header", 0x0065, 0x09, false}};
  for (const Place& place : places) {
    const auto key = private_key(data, place.creator, place.group, place.element);
    if (!key) continue;
    auto number = first_number(data, *key);
    if (!number && !place.is_text) number = float_from(raw_bytes_of(data, *key));
    // GE adds 10^9, or other numbers of 100000, to what it measured with several gradients.
    constexpr double ge_step = 1e5;
    if (number) return place.creator.starts_with("GE") ? std::fmod(*number, ge_step) : *number;
  }
  return std::nullopt;
}

/// What the numbers are, by the pixel presentation, the modality, the complex image component, the image type (value 3
/// and on), and what GE says.
void read_kind(DcmItem& data, SliceHeader& slice) {
  std::vector<KindSaid> said;
  const auto add = [&](std::optional<DataKind> kind, const std::string& source) {
    if (kind) said.push_back({*kind, source});
  };
  // Numbers from some value on stand for colours of a palette (PS3.3 C.7.6.19).
  const std::string presentation = text_of(data, DCM_PixelPresentation);
  if (presentation == "COLOR" || presentation == "MIXED") {
    add(DataKind::colours, "Pixel Presentation says " + presentation);
  } else {
    add(kind_of_modality(slice.modality), "the modality is " + slice.modality);
  }
  if (said.empty()) {
    const std::string component = text_of(data, DCM_ComplexImageComponent);
    add(kind_of_image_type(component), "Complex Image Component says " + component);
    const bool is_of_frame = data.tagExists(DCM_FrameType);
    const auto type = components(text_of(data, is_of_frame ? DCM_FrameType : DCM_ImageType));
    for (std::size_t i = 2; i < type.size(); ++i) {
      add(kind_of_image_type(type[i]), (is_of_frame ? "Frame Type says " : "Image Type says ") + type[i]);
    }
    const int part = ge_component(data).value_or(0);  // derived images have 0 as well
    if (part == 1) add(DataKind::phase, "GE's (0043,102F) says phase");
    if (part == 2 || part == 3) add(DataKind::scalar, "GE's (0043,102F) says a complex part");
  }
  HeaderFacts facts = facts_of(said);
  slice.kind = facts.kind;
  slice.kind_source = std::move(facts.kind_source);
}

/// The kind of image, echo, diffusion weighting, labelling and time, and whatever else makes slices different pictures.
/// Frames of enhanced objects have elements of their own for it.
void read_contrast(DcmItem& data, SliceHeader& slice) {
  const auto add_texts = [&](std::string& text, std::initializer_list<DcmTagKey> keys) {
    for (const DcmTagKey& key : keys) text.append("|").append(text_of(data, key));
  };
  const auto type = components(text_of(data, data.tagExists(DCM_FrameType) ? DCM_FrameType : DCM_ImageType));
  for (std::size_t i = 0; i < type.size(); ++i)
    (i < 2 ? slice.image_type : slice.contrast).append(type[i]).append("\\");
  add_texts(slice.contrast,
            {DCM_EchoNumbers, DCM_ComplexImageComponent, DCM_ASLContext, DCM_VelocityEncodingDirection, DCM_Units});
  add_texts(slice.directionality, {DCM_DiffusionDirectionality});
  if (const auto component = ge_component(data)) slice.contrast.append("|").append(std::to_string(*component));
  add_texts(slice.sequence, {DCM_SequenceName, DCM_PulseSequenceName, DCM_ConvolutionKernel});
  add_texts(slice.image_type, {DCM_ScanOptions});
  add_texts(slice.contrast_agent, {DCM_ContrastBolusAgent});
  if (auto gradient = any_numbers(data, DCM_DiffusionGradientOrientation); !gradient.empty()) {
    slice.gradient = std::move(gradient);
  }
  if (auto indices = any_numbers(data, DCM_DimensionIndexValues); !indices.empty()) {
    slice.dimension_indices = std::move(indices);
  }
  const auto take = [](std::optional<double>& number, const std::optional<double>& found) {
    if (found) number = found;
  };
  const auto in_ms = [](std::optional<double> seconds) {
    if (seconds) *seconds *= 1000;
    return seconds;
  };
  take(slice.echo_time, first_number(data, {DCM_EffectiveEchoTime, DCM_EchoTime}));
  take(slice.repetition_time, first_number(data, DCM_RepetitionTime));
  take(slice.time_step, first_number(data, {DCM_FrameTime, DCM_TemporalResolution}));
  take(slice.b_value, first_number(data, DCM_DiffusionBValue));
  take(slice.temporal_position, first_number(data, {DCM_TemporalPositionIndex, DCM_TemporalPositionIdentifier}));
  take(slice.stack, first_number(data, DCM_StackID));
  take(slice.inversion_time, first_number(data, {DCM_InversionTimes, DCM_InversionTime}));
  take(slice.flip_angle, first_number(data, DCM_FlipAngle));
  take(slice.tube_voltage, first_number(data, DCM_KVP));
  take(slice.slice_thickness, first_number(data, DCM_SliceThickness));
  take(slice.trigger_time, first_number(data, {DCM_NominalCardiacTriggerDelayTime, DCM_TriggerTime}));
  take(slice.cardiac_phase_percent, first_number(data, DCM_NominalPercentageOfCardiacPhase));
  take(slice.reference_time, in_ms(seconds_at(data, DCM_FrameReferenceDateTime)));
  take(slice.reference_time, in_ms(first_number(data, DCM_TemporalPositionTimeOffset)));
  take(slice.reference_time, first_number(data, DCM_FrameReferenceTime));
  take(slice.acquired_at, seconds_at(data, DCM_AcquisitionDate, DCM_AcquisitionTime));
  take(slice.acquired_at, seconds_at(data, DCM_AcquisitionDateTime));
  take(slice.acquired_at, seconds_at(data, DCM_FrameAcquisitionDateTime));
  take(slice.content_time, seconds_at(data, DCM_ContentDate, DCM_ContentTime));
  take(slice.acquisition, first_number(data, {DCM_FrameAcquisitionNumber, DCM_AcquisitionNumber}));
  take(slice.instance_number, first_number(data, DCM_InstanceNumber));
}

/// DCMTK reads what it does not know as if it were not compressed.
void refuse_unknown_syntax(DcmDataset& data) {
  auto* const file = dynamic_cast<DcmFileFormat*>(data.getParent());
  const std::string uid = file ? text_of(*file->getMetaInfo(), DCM_TransferSyntaxUID) : "";
  if (!uid.empty() && DcmXfer(uid.c_str()).getXfer() == EXS_Unknown) {
    unsupported("pixels in the transfer syntax " + uid + " are not supported");
  }
}

void read_pixel_data(DcmDataset& data, SliceHeader& slice) {
  refuse_unknown_syntax(data);
  DcmPixelData& element = pixel_data(data);
  E_TransferSyntax stored_as = EXS_Unknown;
  const DcmRepresentationParameter* parameter = nullptr;
  element.getOriginalRepresentationKey(stored_as, parameter);
  const DcmXfer pixels(stored_as), whole(data.getOriginalXfer());
  slice.is_compressed = pixels.isEncapsulated();
  // Streams in these syntaxes may be without loss, and only who made them knows that of the image.
  const bool may_lose_nothing = stored_as == EXS_JPEG2000 || stored_as == EXS_JPEGLSLossy;
  slice.is_lossy = slice.is_compressed && pixels.isLossy() &&
                   !(may_lose_nothing && text_of(data, DCM_LossyImageCompression) == "00");
  slice.syntax_uid = whole.getXferID();
  slice.syntax_name = whole.getXferName();
  slice.keeps_syntax = !whole.isEncapsulated() && data.getOriginalXfer() != EXS_DeflatedLittleEndianExplicit;
  if (slice.is_compressed && !whole.isEncapsulated()) {
    corrupt(DCM_PixelData, "is compressed, although its transfer syntax " + slice.syntax_name + " is not");
  }
  if (slice.is_compressed && !can_decode(slice.syntax_uid)) {
    unsupported("pixels in " + slice.syntax_name + " are not supported");
  }
  constexpr std::uint64_t most_in_file = std::uint64_t{16} << 30;
  if (slice.file.bytes > most_in_file) unsupported("files of more than 16 GiB are not supported");
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
  if (const std::int64_t of_frame = needed / slice.frames, more = most - needed;
      !slice.is_compressed && more >= of_frame && more > 1) {  // 1: an even length
    corrupt(DCM_PixelData, "holds " + std::to_string(most / of_frame) + " frames, but the header counts " +
                               std::to_string(slice.frames) + " (" + tag_name(DCM_NumberOfFrames) + ")");
  }
  const E_TransferSyntax syntax = data.getOriginalXfer();
  slice.ends_with_cells = (syntax == EXS_LittleEndianExplicit || syntax == EXS_LittleEndianImplicit) &&
                          slice.format.bits_allocated == 16 && most == needed &&
                          data.getElement(data.card() - 1) == &element;
}

/// How values follow the intensity of the rays. A sign of 1 means that lower values are less intensity (PS3.3
/// C.8.11.3). Where it is missing, XA and RF say by the relationship that values grow with it (C.8.7.1.1.2), and of
/// others what is shown white tells.
void read_radiograph(DcmItem& data, SliceHeader& slice) {
  const std::string relationship = text_of(data, DCM_PixelIntensityRelationship);
  const bool is_of_intensity = relationship == "LIN" || relationship == "LOG";
  const bool is_fluoroscopy = slice.modality == "XA" || slice.modality == "RF";
  const bool usual = is_fluoroscopy ? is_of_intensity : slice.photometric == "MONOCHROME1";
  const bool rises = first_number(data, DCM_PixelIntensityRelationshipSign).value_or(usual ? 1 : -1) > 0;
  slice.object_is_dark = rises == (slice.slope > 0);
  slice.is_linear = relationship == "LIN" && slice.intent != "FOR PRESENTATION";
}

}  // namespace

void read_header(DcmDataset& data, SliceHeader& slice) {
  read_identity(data, slice);
  refuse_unhandled_kinds(data, slice);
  read_pixel_format(data, slice);
  read_pixel_data(data, slice);
  read_padding(data, slice);
  slice.has_overlays_in_cells = !embedded_overlays(data, slice).empty();
  read_image_attributes(data, slice);
  if (!slice.b_value && slice.modality == "MR") slice.makers_b_value = makers_b_value(data);
  if (is_radiograph(slice.modality)) read_radiograph(data, slice);
}

void read_image_attributes(DcmItem& data, SliceHeader& slice) {
  read_rescale(data, slice);
  read_place(data, slice);
  read_spacing(data, slice);
  read_contrast(data, slice);
  read_kind(data, slice);
}

}  // namespace quietvox::io::dicom
