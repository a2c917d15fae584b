// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/provenance/provenance_sidecar.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>

#include "io/files/byte_stream.hpp"
#include "io/files/path_overlap.hpp"
#include "io/files/paths.hpp"
#include "io/files/posix_file.hpp"
#include "io/provenance/noise_json.hpp"
#include "io/provenance/settings_json.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
namespace {

/// The name of the image that a sidecar belongs to; none for JSON of another origin. It is among the first that a
/// sidecar says, so that only the beginning of a file is read.
std::optional<std::string> image_of_sidecar(const fs::path& path) {
  constexpr std::size_t enough = 1 << 16;
  const RawReader file(path);
  std::string text(enough, '\0');
  text.resize(file.read(0, std::as_writable_bytes(std::span(text))));
  bool is_ours = false;
  std::string key, image;
  const auto look = [&](int depth, Json::parse_event_t event, const Json& value) {
    if (depth == 0) return true;
    if (depth == 1 && event == Json::parse_event_t::key) {
      key = value.get<std::string>();
      is_ours = is_ours || key == "quietvox";
    }
    if (depth == 1 && event == Json::parse_event_t::value && key == "image" && value.is_string()) {
      image = value.get<std::string>();
    }
    return false;  // nothing is kept
  };
  const bool is_whole = !Json::parse(text, look, false).is_discarded();
  return is_ours && (is_whole || file.size() > enough) ? std::optional(image) : std::nullopt;
}

/// XXH128 of what is given piece by piece; as fast as memory.
class Xxh128 {
 public:
  Xxh128() : state_(XXH3_createState(), XXH3_freeState) {
    if (!state_) throw std::bad_alloc();
    XXH3_128bits_reset(state_.get());
  }
  void update(std::span<const std::byte> bytes) { XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()); }
  /// As `xxh128sum` prints it.
  std::string digits() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    char text[33];
    std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                  static_cast<unsigned long long>(hash.low64));
    return text;
  }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

/// `check` may throw, to end it.
FileIdentity identity_of(const fs::path& path, const std::function<void()>& check) {
  const std::string name = path.filename().string();
  if (!is_file(path)) return {name};
  ByteReader reader(path, false);
  Xxh128 hash;
  std::vector<std::byte> piece(1 << 18);
  std::uint64_t size = 0;
  while (const std::size_t got = reader.read(size, piece)) {
    check();
    hash.update(std::span(piece).first(got));
    size += got;
  }
  return {name, size, hash.digits()};
}

/// The filters of a volume, and other steps, by name alone, in their places.
Json steps_of(const Provenance& provenance) {
  Json steps = to_json(provenance.resolved);
  std::size_t added = 0;
  for (const OtherStep& other : provenance.others) {
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(other.before + added++), Json{{"name", other.name}});
  }
  return steps;
}

bool same_but_for_place(const Json& a, const Json& b) {
  const auto is_same = [&](const char* key) { return a.value(key, Json()) == b.value(key, Json()); };
  return is_same("filters") && is_same("noises") && is_same("kind") && is_same("stabilised");
}

}  // namespace

ProvenanceSidecar::ProvenanceSidecar(const fs::path& image, std::vector<fs::path> inputs, const WriteOptions& options)
    : image_(image),
      path_(sidecar_of(image)),
      inputs_(std::move(inputs)),
      force_(options.force),
      series_(options.input_series),
      most_(options.access),
      execution_(options.execution) {}

ProvenanceSidecar::~ProvenanceSidecar() { stop_hashing_.request_stop(); }

void ProvenanceSidecar::check() const { make_output(); }

std::unique_ptr<AtomicOutput> ProvenanceSidecar::make_output() const {
  for (const fs::path& input : inputs_) refuse_overlap(path_, input);
  const auto examine = [this](const fs::path& found, const Execution&) {
    refuse_replacing(found);
    return std::vector{found};
  };
  return std::make_unique<AtomicOutput>(path_, AtomicOutput::Kind::file, force_, fs::path(), most_, examine);
}

/// What was found at the path; it may have another name by now.
void ProvenanceSidecar::refuse_replacing(const fs::path& found) const {
  if (!is_file(found)) return;
  const auto image = image_of_sidecar(found);
  if (!image) {
    throw Error(Errc::exists, path_.string() + ": was not made by quietvox and is therefore not replaced",
                "give another output");
  }
  // A name that leads elsewhere is none of ours.
  if (image && !image->empty() && *image != image_.filename() && fs::path(*image).filename() == *image &&
      stands_at(fs::path(path_).replace_filename(*image))) {
    throw Error(Errc::exists, path_.string() + ": says what was done to " + *image + " and is therefore not replaced",
                "give an output whose name differs in more than "
                "its ending");
  }
}

void ProvenanceSidecar::add_volume(const Provenance& provenance) {
  volumes_.push_back(provenance);
  if (output_ || provenance.resolved.empty()) return;
  output_ = make_output();
  output_->begin();
  const auto when = thread_count(execution_) > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred;
  identities_ = std::async(when, [inputs = inputs_, given_up = stop_hashing_.get_token(), stop = execution_.stop] {
    const auto check = [&] {
      check_stop(given_up);
      check_stop(stop);
    };
    std::vector<FileIdentity> identities;
    for (const fs::path& input : inputs) identities.push_back(identity_of(input, check));
    return identities;
  });
}

AtomicOutput* ProvenanceSidecar::finish(std::int64_t clamped_voxels) {
  if (!output_) return nullptr;
  const std::string text = json(clamped_voxels);
  ByteWriter writer(output_->staging(), false, path_);
  writer.write(std::as_bytes(std::span(text)));
  writer.close_and_verify();
  return output_.get();
}

std::string ProvenanceSidecar::json(std::int64_t clamped_voxels) {
  Json inputs = Json::array();
  for (const FileIdentity& input : identities_.get()) {
    Json& entry = inputs.emplace_back(Json{{"name", input.name}});
    if (!input.xxh128.empty()) entry.update({{"bytes", input.bytes}, {"xxh128", input.xxh128}});
    if (!series_.empty()) entry["series_uid"] = series_;
  }
  // Neighbouring volumes to which the same was done share an entry.
  Json volumes = Json::array();
  for (std::size_t volume = 0; volume < volumes_.size(); ++volume) {
    Json entry = {{"first", volume}, {"last", volume}, {"filters", steps_of(volumes_[volume])}};
    if (const auto& kind = volumes_[volume].kind) entry["kind"] = FieldType<DataKind>::format(*kind);
    for (const NoiseModel& noise : volumes_[volume].noise) entry["noises"].push_back(to_json(noise));
    if (!volumes_[volume].stabilised.empty()) entry["stabilised"] = volumes_[volume].stabilised;
    if (!volumes.empty() && same_but_for_place(volumes.back(), entry)) {
      volumes.back()["last"] = volume;
    } else {
      volumes.push_back(std::move(entry));
    }
  }
  Json document = {{"schema", json_schema_version},
                   {"quietvox", version()},
                   {"notice", "not for diagnostic use"},
                   {"image", image_.filename().string()},
                   {"inputs", inputs},
                   {"backend", volumes_.front().backend},
                   {"requested", as_given(volumes_.front().requested)},
                   {"volumes", volumes},
                   {"clamped_voxels", clamped_voxels}};
  if (const std::string& modality = volumes_.front().modality; !modality.empty()) document["Modality"] = modality;
  if (const std::string& mask = volumes_.front().mask; !mask.empty()) document["mask"] = mask;
  if (const std::string& by = volumes_.front().by; !by.empty()) document["by"] = by;
  for (const Provenance& volume : volumes_) {
    if (!volume.noise_source.empty()) document["noise_source"] = volume.noise_source;
  }
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace quietvox::io
