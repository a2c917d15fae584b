// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/siemens_mosaic.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

namespace quietvox::io::dicom {
namespace {

constexpr int most_images = 1 << 12;

std::string_view text_in(std::span<const Uint8> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Takes bytes from the front of a text; nothing where it has not so many.
std::string_view take(std::string_view& text, std::size_t count) {
  const std::string_view taken = text.substr(0, count);
  text.remove_prefix(taken.size());
  return taken.size() == count ? taken : std::string_view();
}

std::uint32_t take_number(std::string_view& text) {
  const std::string_view bytes = take(text, 4);
  std::uint32_t number = 0;
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(&number));
  return number;
}

std::string_view until_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

std::optional<double> number_in(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" =\t"), text.size()));
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || !std::isfinite(number)) return std::nullopt;
  return number;
}

/// The numbers of one element of a CSA header of the form `SV10`: 8 bytes, the count of elements, 4 bytes; then each
/// element with its name in 64 bytes, multiplicity, type, code, count of items and 4 more bytes; then its items, each
/// with 16 bytes of which the second four are its length, and the text itself, padded to a multiple of 4.
std::vector<double> csa_numbers(std::string_view header, std::string_view wanted) {
  if (take(header, 8).substr(0, 4) != "SV10") return {};
  const std::uint32_t elements = take_number(header);
  take(header, 4);
  for (std::uint32_t element = 0; element < elements && !header.empty(); ++element) {
    const std::string_view name = until_nul(take(header, 64));
    take(header, 12);
    const std::uint32_t items = take_number(header);
    take(header, 4);
    std::vector<double> numbers;
    for (std::uint32_t item = 0; item < items && !header.empty(); ++item) {
      take(header, 4);
      const std::size_t length = take_number(header);
      take(header, 8);
      const auto number = number_in(until_nul(take(header, length)));
      take(header, (4 - length % 4) % 4);
      if (number && name == wanted) numbers.push_back(*number);
    }
    if (name == wanted) return numbers;
  }
  return {};
}

/// The count of slices in the scan protocol, which stands as text in the series header.
std::optional<double> slices_of_protocol(std::string_view header) {
  static constexpr std::string_view key = "sSliceArray.lSize";
  const std::size_t at = header.find(key);
  return at == std::string_view::npos ? std::nullopt : number_in(header.substr(at + key.size()));
}

}  // namespace

Mosaic read_mosaic(DcmDataset& data) {
  const std::string_view image_header = text_in(raw_bytes_of(data, {0x0029, 0x1010}));
  std::optional<double> images;
  if (const auto numbers = csa_numbers(image_header, "NumberOfImagesInMosaic"); !numbers.empty()) images = numbers[0];
  if (!images && text_of(data, {0x0019, 0x0010}) == "SIEMENS MR HEADER") images = number_of(data, {0x0019, 0x100a});
  if (!images) images = slices_of_protocol(text_in(raw_bytes_of(data, {0x0029, 0x1020})));
  if (!images) {
    throw Error(Errc::unsupported, "a MOSAIC image whose private elements do not say how many slices it has");
  }
  if (*images != std::floor(*images) || *images < 1 || *images > most_images) {
    throw Error(Errc::corrupt, "a MOSAIC of " + std::to_string(*images) + " slices",
                "allowed: 1 to " + std::to_string(most_images));
  }
  Mosaic mosaic{static_cast<int>(*images), std::nullopt};
  const auto normal = csa_numbers(image_header, "SliceNormalVector");
  if (normal.size() == 3 && std::abs(std::hypot(normal[0], normal[1], normal[2]) - 1) < 0.01) {
    mosaic.normal = {normal[0], normal[1], normal[2]};
  }
  return mosaic;
}

}  // namespace quietvox::io::dicom
