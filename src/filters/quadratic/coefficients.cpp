// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "filters/quadratic/coefficients.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/fields.hpp"
#include "core/input_limits.hpp"
#include "core/sha256.hpp"

namespace quietvox {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t most_bytes = 1 << 20;  // of a file, which takes some 10,000
constexpr double most_coefficient = 1e6, most_intensity = 1e30;

constexpr const char* known_keys[] = {"size", "range", "h0", "h1", "h2", "name", "provenance"};

/// Reads entries of one file, and complains about them by its name.
class Reader {
 public:
  Reader(const Json& json, const std::string& file) : json_(json), file_(file) {
    if (!json.is_object()) fail("this is not a JSON object; a file of coefficients has size, range, h0, h1 and h2");
  }

  [[noreturn]] void fail(const std::string& what) const { throw Error(Errc::corrupt, file_ + ": " + what); }

  const Json& entry(const std::string& key) const {
    if (!json_.contains(key)) fail("the entry " + key + " is missing");
    return json_[key];
  }
  double number(const Json& value, const std::string& what) const {
    if (!value.is_number() || !std::isfinite(value.get<double>())) fail(what + " is not a finite number");
    return value.get<double>();
  }
  /// From -most to most: voxels are 32-bit floats, which larger ones would make infinite.
  double number(const Json& value, const std::string& what, double most) const {
    const double found = number(value, what);
    if (std::abs(found) > most)
      fail(what + " is " + value.dump() + "; give " + FieldType<double>::format(-most) + " to " +
           FieldType<double>::format(most));
    return found;
  }
  std::vector<double> numbers(const std::string& key, std::size_t count, int size) const {
    const Json& list = entry(key);
    if (!list.is_array() || list.size() != count) {
      fail(key + " has " + (list.is_array() ? std::to_string(list.size()) : "no") + " numbers; size " +
           std::to_string(size) + " takes " + std::to_string(count));
    }
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(number(list[i], key + "[" + std::to_string(i) + "]", most_coefficient));
    return values;
  }
  std::string text(const std::string& key) const {
    if (!json_.contains(key)) return {};
    if (!json_[key].is_string()) fail(key + " is not text");
    return json_[key].get<std::string>();
  }

 private:
  const Json& json_;
  const std::string& file_;
};

/// Throws Error(corrupt) that names the entry at which `text` is no longer JSON: what other programs write for numbers
/// that are not finite, say.
Json parsed(std::string_view text, const std::string& file) {
  std::string key;
  std::size_t count = 0;
  bool in_list = false;
  const auto follow = [&](int depth, Json::parse_event_t event, const Json& value) {
    if (depth >= most_nested) {
      throw Error(Errc::corrupt,
                  file + ": lists and objects are nested more than " + std::to_string(most_nested) + " deep");
    }
    if (event == Json::parse_event_t::key) {
      if (depth > 1) return false;  // no entry is an object; to keep many keys takes long
      key = value.get<std::string>();
      if (std::find(std::begin(known_keys), std::end(known_keys), key) == std::end(known_keys)) {
        throw Error(Errc::corrupt,
                    file + ": '" + key + "' is not a known entry; there are size, range, h0, h1, h2, name, provenance");
      }
    }
    if (event == Json::parse_event_t::array_start) {
      count = 0;
      in_list = true;
    }
    if (event == Json::parse_event_t::array_end) in_list = false;
    if (event == Json::parse_event_t::value) ++count;
    return true;
  };
  Json json = Json::parse(text, follow, false);
  if (!json.is_discarded()) return json;
  std::string message = file + ": this is not JSON";
  if (!key.empty()) {
    message += " at " + key;
    if (in_list) message.append("[").append(std::to_string(count)).append("]");
    message += "; numbers must be finite";
  }
  throw Error(Errc::corrupt, message);
}

/// None where it cannot be read. Throws Error(corrupt) where it is too large.
std::optional<std::string> text_of_file(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);  // to open a pipe is to wait
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(fdopen(descriptor, "rb"), std::fclose);
  struct stat status {};
  if (!file || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::string text(most_bytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get())) return std::nullopt;
  if (text.size() > most_bytes) {
    throw Error(Errc::corrupt, path.string() + ": is larger than 1 MiB; no file of coefficients is");
  }
  return text;
}

}  // namespace

QuadraticCoefficients quadratic_from_json(std::string_view text, const std::string& file) {
  const Json json = parsed(text, file);
  const Reader reader(json, file);
  QuadraticCoefficients result;
  const double size = reader.number(reader.entry("size"), "size");
  if (size != 3 && size != 5) reader.fail("size is " + reader.entry("size").dump() + "; give 3 or 5");
  result.size = static_cast<int>(size);
  const auto voxels = static_cast<std::size_t>(result.voxels());
  result.h0 = reader.number(reader.entry("h0"), "h0", most_coefficient);
  result.h1 = reader.numbers("h1", voxels, result.size);
  result.h2 = reader.numbers("h2", voxels * (voxels + 1) / 2, result.size);
  const Json& range = reader.entry("range");
  if (range != "volume") {
    if (!range.is_array() || range.size() != 2) reader.fail("range is neither \"volume\" nor two numbers");
    result.range = {reader.number(range[0], "range[0]", most_intensity),
                    reader.number(range[1], "range[1]", most_intensity)};
    if (!(result.range->min < result.range->max)) reader.fail("range[0] is not below range[1]");
  }
  result.name = reader.text("name");
  result.provenance = reader.text("provenance");
  return result;
}

std::string to_json(const QuadraticCoefficients& coefficients) {
  Json json{{"name", coefficients.name}, {"provenance", coefficients.provenance}, {"size", coefficients.size}};
  if (coefficients.range) {
    json["range"] = {coefficients.range->min, coefficients.range->max};
  } else {
    json["range"] = "volume";
  }
  json["h0"] = coefficients.h0;
  json["h1"] = coefficients.h1;
  json["h2"] = coefficients.h2;
  return json.dump(1) + "\n";
}

QuadraticCoefficients quadratic_coefficients(const std::string& name_or_file) {
  std::string names;
  for (const QuadraticCoefficients& preset : quadratic_presets()) {
    if (preset.name == name_or_file) {
      QuadraticCoefficients result = preset;
      result.identity = preset.name;
      return result;
    }
    names += preset.name + ", ";
  }
  const auto read = text_of_file(name_or_file);
  if (!read) {
    throw Error(Errc::input_path,
                "quadratic: " + Parameter{"coefficients"} + " = '" + name_or_file + "' cannot be read",
                "give " + names + "or a JSON file of coefficients");
  }
  const std::string& text = *read;
  QuadraticCoefficients result = quadratic_from_json(text, name_or_file);
  result.identity = "sha256:" + to_hex(sha256(text)).substr(0, 16);
  return result;
}

bool is_trained_file(const std::filesystem::path& path) {
  try {
    const auto text = text_of_file(path);
    return text && quadratic_from_json(*text, path.string()).provenance.starts_with("quietvox ");
  } catch (const Error&) {
    return false;
  }
}

QuadraticForm quadratic_form(const QuadraticCoefficients& h, double gain) {
  const int centre = h.voxels() / 2;
  const auto voxel = [centre](int neighbour) { return neighbour < centre ? neighbour : neighbour + 1; };
  // Sums of decimal fractions: what is 1 or 0 but for their rounding is that.
  const auto snapped = [](double value) { return std::abs(value) < 1e-9 ? 0 : value; };
  QuadraticForm form;
  form.neighbours = h.voxels() - 1;
  form.constant = static_cast<float>(h.h0);
  form.linear = static_cast<float>(snapped(std::accumulate(h.h1.begin(), h.h1.end(), -1.0)));
  form.square = static_cast<float>(gain * snapped(std::accumulate(h.h2.begin(), h.h2.end(), 0.0)));
  std::size_t pair = 0;
  for (int i = 0; i < form.neighbours; ++i) {
    double with_centre = h.h2_at(voxel(i), centre);
    for (int j = 0; j < form.neighbours; ++j) {
      const double h2 = h.h2_at(voxel(i), voxel(j));
      with_centre += i == j ? 2 * h2 : h2;
      if (j >= i) form.of_pair[pair++] = static_cast<float>(gain * h2);
    }
    form.of_difference[static_cast<std::size_t>(i)] = static_cast<float>(h.h1[static_cast<std::size_t>(voxel(i))]);
    form.of_centre[static_cast<std::size_t>(i)] = static_cast<float>(gain * with_centre);
  }
  return form;
}

}  // namespace quietvox
