// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "itk_adapters/file_io/itk_file.hpp"

#include <itkMetaImageIO.h>
#include <itkNrrdImageIO.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string_view>

#include "core/lower_case.hpp"
#include "io/files/paths.hpp"
#include "io/files/posix_file.hpp"

namespace quietvox {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t longest_header = std::size_t{1} << 20;

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// What ITK passes over between a key of a MetaImage header and its value.
constexpr const char* no_text = " \t\r\v\f=:";

/// The key of a line as ITK finds it: it takes a colon for the equals sign too, and ends at a zero byte.
std::string metaimage_key(const std::string& line) {
  std::string key = line.substr(0, line.find_first_of("=:")).c_str();
  std::erase_if(key, [](char letter) { return std::string_view(no_text).find(letter) != std::string_view::npos; });
  return in_lower_case(key);
}

/// The longest of the texts of a MetaImage header that ITK copies into 255 bytes. They stand on the line below where
/// nothing follows the key.
class CopiedText {
 public:
  void take_line(const std::string& line) {
    const auto length_from = [&](std::size_t place) {
      const auto first = line.find_first_not_of(no_text, place);
      return first == std::string::npos ? 0 : line.size() - first;
    };
    if (is_open_) longest_ = std::max(longest_, length_from(0));
    static const std::set<std::string> copied{"comment", "objecttype", "objectsubtype", "name"};
    const bool is_copied = copied.contains(metaimage_key(line));
    const std::size_t length = length_from(std::min(line.find_first_of("=:"), line.size()));
    if (is_copied) longest_ = std::max(longest_, length);
    is_open_ = length == 0 && (is_copied || is_open_);
  }
  bool fits() const { return longest_ < 255; }

 private:
  std::size_t longest_ = 0;
  bool is_open_ = false;
};

std::string start_of(const fs::path& path) {
  std::string text(longest_header, '\0');
  text.resize(io::RawReader(path).read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

/// The start of a file as lines `key SEPARATOR value`, keys in lower case, up to an empty line or the key `last`.
/// NRRD: lines `key:=value` are free text, and a key that has blanks around it is none of ITK's.
struct HeaderLines {
  std::map<std::string, std::string> values;
  std::size_t longest_key = 0, longest_value = 0;
  std::size_t longest_field = 0;  // of the lines that are no free text
  CopiedText copied;
  std::multiset<std::string> keys;  // as ITK finds them in a MetaImage header
  std::uintmax_t end = 0;           // where the bytes after the header start
  bool has_end = false;             // it came before the text was over
  bool has_return = false;          // within a line: a new line to some readers

  HeaderLines(const std::string& text, io::Format format, const std::string& last = "") {
    const bool is_nrrd = format == io::Format::nrrd;
    const std::string separator = is_nrrd ? ": " : "=";
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      end += line.size() + 1;
      has_return = has_return || line.find('\r') < line.size() - 1;
      has_end = trimmed(line).empty();
      if (has_end) return;
      if (!is_nrrd) {
        copied.take_line(line);
        keys.insert(metaimage_key(line));
      }
      const auto place = line.find(separator);
      if (is_nrrd && (line.starts_with('#') || line.find(":=") < place)) continue;
      if (!line.starts_with("content:")) longest_field = std::max(longest_field, line.size());
      if (place == std::string::npos) {  // ITK takes a colon too, or a line without either for a key
        longest_key = std::max(longest_key, std::min(line.find(':'), line.size()));
        longest_value = std::max(longest_value, line.size());
        continue;
      }
      longest_key = std::max(longest_key, place);
      longest_value = std::max(longest_value, line.size() - place);
      const std::string key = in_lower_case(is_nrrd ? line.substr(0, place) : trimmed(line.substr(0, place)));
      values.emplace(key, trimmed(line.substr(place + separator.size())));
      has_end = key == last;
      if (has_end) return;
    }
    has_end = text.size() < longest_header;
  }
  bool has(const std::string& key) const { return values.contains(key); }
  std::string at(const std::string& key) const { return has(key) ? values.at(key) : ""; }
};

/// ITK's readers write past their buffers, or do not end, for some headers that no program makes.
void refuse_strange_header(const fs::path& path, const HeaderLines& lines, io::Format format) {
  const auto refuse = [&](const std::string& why) {
    throw Error(Errc::corrupt, path.string() + ": " + why + "; the header is damaged");
  };
  if (lines.has_return) refuse("a header line contains a carriage return");
  if (!lines.has_end) refuse("the header does not end within 1 MiB");
  const auto refuse_longer = [&](const char* what, std::size_t bytes, std::size_t most) {
    if (bytes > most)
      refuse(std::string(what) + " has " + std::to_string(bytes) + " bytes, more than " + std::to_string(most));
  };
  if (format == io::Format::nrrd) return refuse_longer("a header line", lines.longest_field, 400);
  refuse_longer("a header key", lines.longest_key, 200);
  refuse_longer("a header value", lines.longest_value, 4000);
  for (const char* key : {"NDims", "DimSize"}) {
    if (lines.keys.count(in_lower_case(key)) > 1) refuse(std::string(key) + " is given twice");
  }
  if (!lines.copied.fits()) refuse("a comment, a name or a type has more than 254 bytes");
  const auto axes = FieldType<int>::parse(lines.at("ndims"));
  if (!axes || *axes < 1 || *axes > 10)
    refuse("NDims = " + lines.at("ndims").substr(0, 20) + " is not a number of axes");
  std::istringstream sizes(lines.at("dimsize"));
  int words = 0;
  for (std::string word; sizes >> word;) ++words;
  if (words != *axes)
    refuse("DimSize has " + std::to_string(words) + " numbers for " + std::to_string(*axes) + " axes");
}

/// The file beside `header` that `name` stands for.
fs::path data_file(const fs::path& header, const std::string& name) {
  if (name.rfind("LIST", 0) == 0 || name.find('%') != std::string::npos) {
    throw Error(Errc::unsupported, header.string() + ": the voxels lie in several files", "join them into one");
  }
  // What stands in a header is not to lead anywhere else on this machine.
  const fs::path plain = fs::path(name).lexically_normal();
  if (plain.is_absolute() || plain.begin() == plain.end() || *plain.begin() == "..") {
    throw Error(Errc::unsupported,
                header.string() + ": its data file " + name + " lies outside the folder of the header",
                "put it there and name it without a folder");
  }
  fs::path data = header.parent_path() / plain;
  if (!io::is_file(data)) {
    throw Error(Errc::corrupt, header.string() + ": its data file " + name + " is missing");
  }
  (void)io::RawReader(data, io::parent_of(header));
  // A folder in the name may be a link, and `..` behind it leads to where that lies.
  if (std::error_code ignored; !fs::equivalent(data, header.parent_path() / name, ignored)) {
    throw Error(Errc::unsupported,
                header.string() + ": its data file " + name + " is reached by a link; name it without a folder");
  }
  return data;
}

/// The unit of length that a field of NRRD gives to its first three axes, each in quotes; those of which nothing is
/// said are in mm. None where they differ or are not known.
std::optional<double> mm_per_unit(const std::string& field) {
  static const std::map<std::string, double> sizes{{"", 1},
                                                   {"mm", 1},
                                                   {"millimeter", 1},
                                                   {"cm", 10},
                                                   {"centimeter", 10},
                                                   {"m", 1000},
                                                   {"meter", 1000},
                                                   {"um", 1e-3},
                                                   {"\xc2\xb5m", 1e-3},
                                                   {"micron", 1e-3},
                                                   {"micrometer", 1e-3},
                                                   {"nm", 1e-6},
                                                   {"nanometer", 1e-6}};
  std::optional<double> size;
  std::istringstream units(field);
  std::string unit;
  for (int axis = 0; axis < 3 && units >> std::quoted(unit); ++axis) {
    unit = in_lower_case(unit);
    if (unit.size() > 3 && unit.ends_with('s')) unit.pop_back();
    const auto known = sizes.find(unit);
    if (known == sizes.end() || (size && *size != known->second)) return std::nullopt;
    size = known->second;
  }
  return size.value_or(1);
}

/// By the first of these fields that there is.
void take_unit(ItkHeader& header, const HeaderLines& lines, std::initializer_list<const char*> fields) {
  const auto* const field = std::ranges::find_if(fields, [&](const char* one) { return lines.has(one); });
  if (field == fields.end()) return;
  if (const auto size = mm_per_unit(lines.at(*field))) {
    header.mm_per_unit = *size;
    return;
  }
  if (!header.warning.empty()) header.warning += "; ";
  header.warning += header.header.string() + ": " + *field + " " + lines.at(*field) +
                    " are not one known unit of length; millimetres are assumed";
}

/// The vectors of an NRRD field, such as `(1,0,0) none (0,1,0)`, of which those without numbers are left out.
std::vector<std::vector<double>> nrrd_vectors(const std::string& field) {
  std::vector<std::vector<double>> vectors;
  for (std::size_t open = field.find('('); open != std::string::npos; open = field.find('(', open + 1)) {
    std::istringstream numbers(field.substr(open + 1, field.find(')', open) - open - 1));
    auto& vector = vectors.emplace_back();
    for (std::string number; std::getline(numbers, number, ',');)
      vector.push_back(FieldType<double>::parse(trimmed(number)).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  return vectors;
}

/// Where the first three axes of an NRRD file lie in the patient; none where its header does not say it in full. ITK is
/// not asked: its versions turn different axes of `left-anterior-superior` around, and none where the space has a time.
std::optional<PatientPlace> nrrd_place(const HeaderLines& lines) {
  std::string space = in_lower_case(lines.at("space"));
  if (space.ends_with("-time")) {
    space.resize(space.size() - 5);
  } else if (space.size() == 4 && space.ends_with('t')) {
    space.pop_back();
  }
  static const std::map<std::string, PatientPlace::Vector> lps_signs{{"right-anterior-superior", {-1, -1, 1}},
                                                                     {"ras", {-1, -1, 1}},
                                                                     {"left-anterior-superior", {1, -1, 1}},
                                                                     {"las", {1, -1, 1}},
                                                                     {"lps", {1, 1, 1}},
                                                                     {"left-posterior-superior", {1, 1, 1}}};
  const auto signs = lps_signs.find(space);
  const auto axes = nrrd_vectors(lines.at("space directions")), origins = nrrd_vectors(lines.at("space origin"));
  if (signs == lps_signs.end() || axes.size() < 3 || origins.size() != 1) return std::nullopt;
  const auto in_lps = [&](const std::vector<double>& vector) {
    PatientPlace::Vector result{};
    for (std::size_t row = 0; row < 3; ++row)
      result[row] = row < vector.size() ? signs->second[row] * vector[row] : std::numeric_limits<double>::quiet_NaN();
    return result;
  };
  PatientPlace place{in_lps(origins.front()), {in_lps(axes[0]), in_lps(axes[1]), in_lps(axes[2])}};
  const auto is_finite = [](const PatientPlace::Vector& vector) {
    return std::ranges::all_of(vector, [](double number) { return std::isfinite(number); });
  };
  const auto is_axis = [&](const PatientPlace::Vector& vector) {
    return is_finite(vector) && std::ranges::any_of(vector, [](double number) { return number != 0; });
  };
  if (!is_finite(place.origin) || !std::ranges::all_of(place.axes, is_axis)) return std::nullopt;
  return place;
}

std::string nrrd_encoding(const std::string& name) {
  if (name == "gz" || name == "gzip") return "gzip";
  if (name == "bz2" || name == "bzip2") return "bzip2";
  return name == "raw" || name == "hex" ? name : "text";
}

struct TypePair {
  itk::IOComponentEnum itk;
  io::ScalarType ours;
};
static_assert(sizeof(int) == 4 && sizeof(long) == 8 && sizeof(long long) == 8);
// Of two that are alike, the first is the one that readers of ITK find.
constexpr std::array<TypePair, 12> scalar_types{{{itk::IOComponentEnum::UCHAR, io::ScalarType::uint8},
                                                 {itk::IOComponentEnum::CHAR, io::ScalarType::int8},
                                                 {itk::IOComponentEnum::USHORT, io::ScalarType::uint16},
                                                 {itk::IOComponentEnum::SHORT, io::ScalarType::int16},
                                                 {itk::IOComponentEnum::UINT, io::ScalarType::uint32},
                                                 {itk::IOComponentEnum::INT, io::ScalarType::int32},
                                                 {itk::IOComponentEnum::ULONGLONG, io::ScalarType::uint64},
                                                 {itk::IOComponentEnum::ULONG, io::ScalarType::uint64},
                                                 {itk::IOComponentEnum::LONGLONG, io::ScalarType::int64},
                                                 {itk::IOComponentEnum::LONG, io::ScalarType::int64},
                                                 {itk::IOComponentEnum::FLOAT, io::ScalarType::float32},
                                                 {itk::IOComponentEnum::DOUBLE, io::ScalarType::float64}}};

}  // namespace

io::ScalarType scalar_type(itk::IOComponentEnum type) {
  const auto* const found = std::ranges::find(scalar_types, type, &TypePair::itk);
  if (found == scalar_types.end()) throw Error(Errc::internal, "an accepted voxel type is not handled");
  return found->ours;
}

itk::IOComponentEnum itk_type(io::ScalarType type) {
  return std::ranges::find(scalar_types, type, &TypePair::ours)->itk;
}

std::string reason_of(const itk::ExceptionObject& error, Errc code) {
  std::string reason = error.GetDescription();
  std::replace(reason.begin(), reason.end(), '\t', ' ');
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == ' ')) reason.pop_back();
  for (const auto* end : {"): ", "[nrrd] ", "\n"}) {
    if (const auto place = reason.rfind(end); place != std::string::npos)
      reason.erase(0, place + std::string(end).size());
  }
  reason = trimmed(reason);
  // Of a MetaImage header it is the last error of the system, whatever that was about.
  if (code == Errc::corrupt && reason.starts_with("Reason: ")) return "ITK cannot read the header; it is damaged";
  return "ITK says: " + reason.substr(0, 200);
}

std::vector<fs::path> ItkHeader::files() const {
  if (data == header) return {header};
  return {header, data};
}

fs::path ItkHeader::data_folder() const { return data == header ? fs::path() : io::parent_of(header); }

std::optional<ItkHeader> read_itk_header(const fs::path& path) {
  if (!io::is_file(path)) return std::nullopt;
  const std::string text = start_of(path);
  if (text.rfind("NRRD000", 0) == 0) {
    const HeaderLines lines(text, io::Format::nrrd);
    refuse_strange_header(path, lines, io::Format::nrrd);
    const std::string name = lines.has("data file") ? lines.at("data file") : lines.at("datafile");
    ItkHeader header{io::Format::nrrd,
                     path,
                     path,
                     nrrd_encoding(in_lower_case(lines.at("encoding"))),
                     lines.end,
                     in_lower_case(lines.at("endian")) == "big",
                     lines.has("space origin") || lines.has("axis mins") || lines.has("axismins"),
                     nrrd_place(lines)};
    if (name == "-") {
      throw Error(Errc::unsupported, path.string() + ": its data file is '-' (standard input)",
                  "put the voxels into a file beside it");
    }
    if (!name.empty()) {
      header.data = data_file(path, name);
      header.offset = 0;
    }
    for (const auto* skip : {"line skip", "lineskip", "byte skip", "byteskip"}) {
      if (lines.has(skip)) header.offset.reset();
    }
    take_unit(header, lines, {"space units", "units"});
    return header;
  }
  const HeaderLines lines(text, io::Format::metaimage, "elementdatafile");
  if (lines.has("ndims") && lines.has("elementdatafile")) {
    refuse_strange_header(path, lines, io::Format::metaimage);
    const std::string name = lines.at("elementdatafile");
    const bool compressed = in_lower_case(lines.at("compresseddata")).starts_with('t');
    const bool binary = in_lower_case(lines.at("binarydata")).starts_with('t');
    const std::string order = lines.has("binarydatabyteordermsb") ? "binarydatabyteordermsb" : "elementbyteordermsb";
    ItkHeader header{io::Format::metaimage,
                     path,
                     path,
                     compressed ? "gzip"
                     : binary   ? "raw"
                                : "text",
                     lines.end,
                     in_lower_case(lines.at(order)).starts_with('t'),
                     lines.has("offset") || lines.has("position") || lines.has("origin")};
    header.data_name = name;
    for (const char* const field : {"elementtointensityfunctionslope", "elementtointensityfunctionoffset"}) {
      const char* const usual = std::string_view(field).ends_with("slope") ? "1" : "0";
      if (!lines.has(field) || lines.at(field) == usual) continue;
      header.warning = path.string() +
                       ": ElementToIntensityFunction is not applied, as ITK does not: the numbers are those that are "
                       "stored";
    }
    if (lines.at("distanceunits") != "?") take_unit(header, lines, {"distanceunits"});
    if (name != "LOCAL" && name != "Local" && name != "local") {  // any other is the name of a file to ITK
      header.data = data_file(path, name);
      header.offset = 0;
    }
    return header;
  }
  return std::nullopt;
}

void check_text_complete(const ItkHeader& header, std::int64_t values) {
  const io::RawReader file(header.data, header.data_folder());
  std::array<char, std::size_t{1} << 16> buffer;
  std::int64_t words = 0;
  std::string word;
  const auto end_word = [&] {
    const char* const end = word.data() + word.size();
    double number = 0;
    const bool is_number = std::from_chars(word.data() + word.starts_with('+'), end, number).ptr == end;
    // Of NRRD, ITK itself says so.
    if (header.format == io::Format::metaimage && words < values && !is_number) {
      throw Error(Errc::corrupt, header.header.string() + ": '" + word.substr(0, 20) + "' is no number, but is " +
                                     "where voxel " + std::to_string(words + 1) + " should be");
    }
    ++words;
    word.clear();
  };
  std::uintmax_t at = header.offset.value_or(0);
  while (const std::size_t got = file.read(at, std::as_writable_bytes(std::span(buffer)))) {
    at += got;
    for (const char letter : std::span(buffer).first(got)) {
      constexpr std::size_t longest_number = 400;  // ITK has room for little more
      if (std::string_view(" \t\n\v\f\r").find(letter) == std::string_view::npos) {
        word += letter;
        if (word.size() > longest_number) {
          throw Error(Errc::corrupt, header.header.string() + ": '" + word.substr(0, 20) + "...' is no number");
        }
      } else if (!word.empty()) {
        end_word();
      }
    }
  }
  if (!word.empty()) end_word();
  if (words < values) {
    throw Error(Errc::corrupt, header.header.string() + ": " + std::to_string(values) + " voxels are declared, but " +
                                   header.data.filename().string() + " holds " + std::to_string(words));
  }
}

std::optional<io::Format> itk_format_of_name(const fs::path& path) {
  const std::string ending = path.extension().string();
  if (ending == ".nrrd" || ending == ".nhdr") return io::Format::nrrd;
  if (ending == ".mha" || ending == ".mhd") return io::Format::metaimage;
  return std::nullopt;
}

itk::ImageIOBase::Pointer make_image_io(io::Format format, const fs::path& path) {
  itk::ImageIOBase::Pointer image_io;
  if (format == io::Format::nrrd) {
    image_io = itk::NrrdImageIO::New();
  } else {
    image_io = itk::MetaImageIO::New();
  }
  image_io->SetFileName(path.string());
  return image_io;
}

void settle_data(ItkHeader& header, itk::ImageIOBase& image_io) {
  auto* const metaimage = dynamic_cast<itk::MetaImageIO*>(&image_io);
  if (metaimage == nullptr) return;
  const MetaImage& read = *metaimage->GetMetaImagePointer();
  if (read.ElementDataFileName() != header.data_name) {
    throw Error(Errc::corrupt, header.header.string() + ": names its data file in several ways; the header is damaged");
  }
  if (read.HeaderSize() > 0) header.offset = static_cast<std::uintmax_t>(read.HeaderSize());
  if (read.HeaderSize() == -1) header.offset.reset();  // the voxels end with the file
}

io::Geometry geometry_of(const itk::ImageIOBase& image_io, const fs::path& path, double mm_per_unit,
                         const std::optional<PatientPlace>& place) {
  io::Geometry geometry{.extent = {1, 1, 1}};
  const int axes = static_cast<int>(std::min(image_io.GetNumberOfDimensions(), 3U));
  for (int axis = 0; axis < axes; ++axis) {
    const auto index = static_cast<unsigned int>(axis);
    geometry.extent[axis] = static_cast<std::int64_t>(image_io.GetDimensions(index));
    geometry.spacing[axis] = image_io.GetSpacing(index) * mm_per_unit;
    geometry.origin[index] = image_io.GetOrigin(index) * mm_per_unit;
    const auto direction = image_io.GetDirection(index);
    for (unsigned int row = 0; row < 3; ++row) {
      geometry.direction[3 * row + index] = row < static_cast<unsigned int>(axes) ? direction.at(row) : 0;
    }
    const bool usable = std::isfinite(geometry.spacing[axis]) && geometry.spacing[axis] > 0 &&
                        std::isfinite(geometry.origin[index]) && geometry.extent[axis] > 0;
    if (!usable) {
      throw Error(Errc::corrupt, path.string() + ": axis " + std::to_string(axis + 1) +
                                     " has a size, spacing or origin that no image can have");
    }
  }
  if (!place || axes < 3) return geometry;
  for (std::size_t row = 0; row < 3; ++row) {
    geometry.origin[row] = place->origin[row] * mm_per_unit;
    for (std::size_t axis = 0; axis < 3; ++axis)
      geometry.direction[3 * row + axis] =
          place->axes[axis][row] * mm_per_unit / geometry.spacing[static_cast<int>(axis)];
  }
  return geometry;
}

}  // namespace quietvox
