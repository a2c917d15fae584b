// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dicom/toolkit.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <dcmtk/dcmdata/dcostrmf.h>
#include <dcmtk/dcmdata/dcwcache.h>
#include <dcmtk/dcmjpeg/djdecode.h>
#include <dcmtk/dcmjpls/djdecode.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <mutex>
#include <span>
#include <stdexcept>

#include "core/error.hpp"
#include "core/input_limits.hpp"
#include "io/dicom/dictionary.hpp"
#include "io/dicom/guarded_input.hpp"
#include "io/files/posix_file.hpp"

namespace quietvox::io::dicom {
namespace {

std::string trimmed(std::string_view text) {
  const auto padding = std::string_view(" \0\t\r\n", 5);
  const auto first = text.find_first_not_of(padding);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(padding) - first + 1));
}

/// An element of group 2 or 8, in the byte order given, that could open a data set without preamble.
bool opens_data_set(const std::array<unsigned char, 8>& bytes, bool big_endian) {
  const auto word = [&](int at) {
    return big_endian ? bytes[at] << 8 | bytes[at + 1] : bytes[at + 1] << 8 | bytes[at];
  };
  const int group = word(0);
  if (group != 0x0002 && group != 0x0008) return false;
  const auto is_capital = [](unsigned char c) { return c >= 'A' && c <= 'Z'; };
  const bool explicit_vr = is_capital(bytes[4]) && is_capital(bytes[5]);
  const bool short_value = word(big_endian ? 4 : 6) == 0;  // upper half of a 32-bit length
  return explicit_vr || short_value;
}

std::span<const Uint8> raw_bytes(DcmElement& element) {
  Uint8* bytes = nullptr;
  if (element.getUint8Array(bytes).bad() || !bytes) return {};
  return {bytes, element.getLength()};
}

/// Numbers in little endian as text, joined by backslashes; empty where their count is not whole.
template <class Number>
std::string text_of_numbers(std::span<const Uint8> bytes) {
  std::string text;
  if (bytes.size() % sizeof(Number) != 0) return text;
  for (; !bytes.empty(); bytes = bytes.subspan(sizeof(Number))) {
    Number number{};
    std::memcpy(&number, bytes.data(), sizeof number);
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    text.append(text.empty() ? "" : "\\").append(digits.data(), end);
  }
  return text;
}

/// Some writers leave elements without their type (value representation UN); `type` is what the dictionary says.
std::string text_of_untyped(std::span<const Uint8> bytes, DcmEVR type) {
  switch (type) {
    case EVR_US:
    case EVR_xs: return text_of_numbers<Uint16>(bytes);
    case EVR_SS: return text_of_numbers<Sint16>(bytes);
    case EVR_UL: return text_of_numbers<Uint32>(bytes);
    case EVR_SL: return text_of_numbers<Sint32>(bytes);
    case EVR_FL: return text_of_numbers<float>(bytes);
    case EVR_FD: return text_of_numbers<double>(bytes);
    default: return trimmed(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
}

/// Whether sequences are nested deeper in an item. Recursion goes no deeper than a GuardedInput lets DCMTK parse.
bool is_nested_deeper(DcmItem& item, int most) {
  for (Parts elements(item); DcmObject* const element = elements.next();) {
    if (element->ident() != EVR_SQ) continue;
    if (most == 0) return true;
    for (Parts items(*element); DcmObject* const part = items.next();) {
      if (is_nested_deeper(static_cast<DcmItem&>(*part), most - 1)) return true;
    }
  }
  return false;
}

/// A data set with an index by tag: it finds an element by binary search, where DCMTK looks through all of them. It
/// must not change once the index is made.
class IndexedDataset final : public DcmDataset {
 public:
  void make_index() {
    index_.reserve(card());
    for (Parts elements(*this); DcmObject* const element = elements.next();) index_.push_back(element);
    if (!std::is_sorted(index_.begin(), index_.end(), has_lower_tag)) index_.clear();
  }

  OFCondition search(const DcmTagKey& key, DcmStack& found, E_SearchMode mode, OFBool into_sequences) override {
    if (index_.empty() || mode != ESM_fromHere || into_sequences) {
      return DcmDataset::search(key, found, mode, into_sequences);
    }
    const auto at =
        std::lower_bound(index_.begin(), index_.end(), key,
                         [](DcmObject* element, const DcmTagKey& wanted) { return element->getTag() < wanted; });
    if (at == index_.end() || (*at)->getTag() != key) return EC_TagNotFound;
    found.push(*at);
    return EC_Normal;
  }

 private:
  static bool has_lower_tag(DcmObject* a, DcmObject* b) { return a->getTag() < b->getTag(); }

  std::vector<DcmObject*> index_;
};

constexpr Uint32 any_length = DCM_UndefinedLength - 1;

struct ParseOptions {
  Uint32 longest = DCM_MaxReadLength;  ///< values of more bytes stay on disk
  E_FileReadMode mode = ERM_autoDetect;
  DcmTagKey until = DCM_UndefinedTagKey;  ///< the first element that is not read
};

/// Parses as far as it can; throws Error, which does not name the file, if the file is cut or broken.
void parse(DcmFileFormat& file, const std::filesystem::path& path, const Execution& execution,
           const ParseOptions& options = {}) {
  prepare_toolkit();
  GuardedInput input(path, execution, file.getDataset());
  std::string problem = input.good() ? "" : input.status().text();
  if (problem.empty()) {
    try {
      file.setReadMode(options.mode);
      file.transferInit();
      const OFCondition status = file.readUntilTag(input, EXS_Unknown, EGL_noChange, options.longest, options.until);
      file.transferEnd();
      if (status == EC_MemoryExhausted) throw Error(Errc::out_of_memory, "what it holds does not fit into memory");
      const bool cut = status == EC_EndOfStream || status == EC_StreamNotifyClient;
      if (status.bad() && !(cut && input.is_padded())) problem = cut ? "the file ends too early" : status.text();
    } catch (const std::logic_error& error) {  // from DCMTK, at some broken directory records
      problem = error.what();
    }
  }
  std::optional<Error> error = input.refusal();
  if (!error && !problem.empty()) error.emplace(Errc::corrupt, problem);
  if (!error &&
      (is_nested_deeper(*file.getMetaInfo(), most_nested) || is_nested_deeper(*file.getDataset(), most_nested))) {
    error = nested_too_deep_error();
  }
  if (!error) return;
  throw error->code() == Errc::corrupt ? Error(Errc::corrupt, std::string("broken DICOM file: ") + error->what())
                                       : *error;
}

std::unique_ptr<DcmFileFormat> load_indexed(const std::filesystem::path& path, const Execution& execution,
                                            const ParseOptions& options) {
  auto* const data = new IndexedDataset;  // the file's from now on
  auto file = std::make_unique<DcmFileFormat>(data, OFFalse);
  with_error_context(path.string(), [&] { parse(*file, path, execution, options); });
  data->make_index();
  return file;
}

std::unique_ptr<DcmFileFormat> load(const std::filesystem::path& path, const Execution& execution,
                                    const ParseOptions& options) {
  auto file = std::make_unique<DcmFileFormat>();
  with_error_context(path.string(), [&] { parse(*file, path, execution, options); });
  return file;
}

}  // namespace

void prepare_toolkit() {
  static std::once_flag once;
  std::call_once(once, [] {
    OFLog::getLogger("dcmtk").setLogLevel(OFLogger::OFF_LOG_LEVEL);
    if (!dcmDataDict.isDictionaryLoaded() && !load_dictionaries()) {
      throw Error(Errc::internal, "DCMTK finds no data dictionary", "set DCMDICTPATH to its dicom.dic");
    }
    DJDecoderRegistration::registerCodecs(EDC_never);
    DJLSDecoderRegistration::registerCodecs();
  });
}

bool looks_like_dicom(const std::filesystem::path& path) {
  std::array<unsigned char, 132> start{};
  const std::size_t size = RawReader(path).read(0, std::as_writable_bytes(std::span(start)));
  if (size == start.size() && std::memcmp(start.data() + 128, "DICM", 4) == 0) return true;
  if (size < 8) return false;
  std::array<unsigned char, 8> first;
  std::copy_n(start.begin(), first.size(), first.begin());
  return opens_data_set(first, false) || opens_data_set(first, true);
}

std::unique_ptr<DcmFileFormat> load_file(const std::filesystem::path& path, const Execution& execution) {
  return load(path, execution, {.longest = any_length});
}

std::unique_ptr<DcmFileFormat> load_for_reading(const std::filesystem::path& path, const Execution& execution) {
  return load_indexed(path, execution, {.longest = any_length});
}

std::unique_ptr<DcmFileFormat> load_header(const std::filesystem::path& path, const Execution& execution) {
  return load_indexed(path, execution, {});
}

std::unique_ptr<DcmFileFormat> load_beginning(const std::filesystem::path& path, const DcmTagKey& until,
                                              const Execution& execution) {
  return load(path, execution, {.mode = ERM_fileOnly, .until = until});
}

OFCondition save_new_file(DcmFileFormat& file, const std::filesystem::path& path, E_TransferSyntax syntax,
                          E_EncodingType encoding) {
  const int made = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0) return {OFM_dcmdata, 0, OF_error, std::generic_category().message(errno).c_str()};
  OFCondition status;
  std::uintmax_t size = 0;
  {
    std::FILE* const opened = fdopen(made, "wb");
    if (opened == nullptr) {
      const int error = errno;
      close(made);
      return {OFM_dcmdata, 0, OF_error, std::generic_category().message(error).c_str()};
    }
    DcmOutputFileStream stream(opened);
    DcmWriteCache cache;
    file.transferInit();
    status = file.write(stream, syntax, encoding, &cache, EGL_recalcGL, EPD_noChange, 0, 0, 0, EWM_createNewMeta);
    file.transferEnd();
    size = static_cast<std::uintmax_t>(stream.tell());  // before it is packed, where it is
    std::fflush(opened);                                // what the stream still holds is unknown to the system
    begin_sync(made);
  }
  // DCMTK does not look whether all came to the disk, and knows no reasons.
  std::error_code ignored;
  const bool is_packed = DcmXfer(syntax).getStreamCompression() != ESC_none;
  const bool is_cut = !is_packed && std::filesystem::file_size(path, ignored) < size;
  if (status.good() && !is_cut) return status;
  if (std::filesystem::space(path, ignored).available < size) {
    return {OFM_dcmdata, 0, OF_error, "no space left on the device"};
  }
  if (is_cut) return {OFM_dcmdata, 0, OF_error, "the system took less than was written"};
  return status;
}

std::optional<std::string> series_of_broken_file(const std::filesystem::path& path, const Execution& execution) {
  DcmFileFormat file;
  try {
    parse(file, path, execution);
  } catch (const Error& error) {
    if (error.code() == Errc::cancelled) throw;
  }
  DcmDataset& data = *file.getDataset();
  if (data.card() > 0 && data.getElement(data.card() - 1)->getTag().getGroup() == 0) return std::nullopt;
  // Of the last element parsed, part may be missing.
  const bool goes_on = data.card() > 0 && data.getElement(data.card() - 1)->getTag() > DCM_SeriesInstanceUID;
  return goes_on ? text_of(data, DCM_SeriesInstanceUID) : "";
}

std::string tag_name(const DcmTagKey& key) {
  return std::string(DcmTag(key).getTagName()) + " " + key.toString().c_str();
}

std::string text_of(DcmItem& item, const DcmTagKey& key) {
  DcmElement* element = nullptr;
  if (item.findAndGetElement(key, element).bad() || !element) return {};
  if (element->getVR() == EVR_UN) return text_of_untyped(raw_bytes(*element), DcmTag(key).getEVR());
  OFString text;
  element->getOFStringArray(text, OFFalse);  // where DCMTK trims it, it begins anew for each component
  std::string whole = trimmed(std::string_view(text.data(), text.size()));
  if (whole.find('\\') == std::string::npos || element->getVM() < 2) return whole;
  std::string joined;
  for (const std::string& part : components(whole)) joined.append(part).push_back('\\');
  joined.pop_back();
  return joined;
}

std::span<const Uint8> raw_bytes_of(DcmItem& item, const DcmTagKey& key) {
  DcmElement* element = nullptr;
  return item.findAndGetElement(key, element).good() && element ? raw_bytes(*element) : std::span<const Uint8>();
}

std::vector<std::string> components(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find('\\', begin), text.size());
    parts.push_back(trimmed(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

std::vector<double> numbers_of(DcmItem& item, const DcmTagKey& key) {
  const std::string text = text_of(item, key);
  std::vector<double> numbers;
  for (const std::string& part : components(text)) {
    const char* const begin = part.data() + part.starts_with('+');
    const char* const end = part.data() + part.size();
    double number = 0;
    const auto [stop, error] = std::from_chars(begin, end, number);
    if (error != std::errc{} || stop != end || !std::isfinite(number)) {
      throw Error(Errc::corrupt, tag_name(key) + " is '" + text + "', not a number");
    }
    numbers.push_back(number);
  }
  return numbers;
}

std::optional<double> number_of(DcmItem& item, const DcmTagKey& key) {
  const auto numbers = numbers_of(item, key);
  if (numbers.size() > 1) throw Error(Errc::corrupt, tag_name(key) + " has several values instead of one");
  return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

}  // namespace quietvox::io::dicom
