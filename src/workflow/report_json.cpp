// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "workflow/report_json.hpp"

#include "io/provenance/noise_json.hpp"

namespace quietvox {
namespace {

Json to_json(const std::vector<Message>& messages, const Spelling& spelling) {
  Json texts = Json::array();
  for (const Message& message : messages) texts.push_back(message.text(spelling));
  return texts;
}

Json to_json(const DenoisedVolume& volume) {
  Json json{{"filters", quietvox::to_json(volume.filters)}};
  for (const NoiseModel& noise : volume.noise) json["noises"].push_back(quietvox::to_json(noise));
  if (!volume.stabilised.empty()) json["stabilised"] = volume.stabilised;
  return json;
}

Json to_json(const std::vector<DenoisedVolume>& volumes) {
  Json all = Json::array();
  for (const DenoisedVolume& volume : volumes) all.push_back(to_json(volume));
  return all;
}

}  // namespace

Json to_json(const VolumeReport& report, const Spelling& spelling) {
  Json json = to_json(report.volume);
  json.update({{"backend", report.backend}, {"warnings", to_json(report.warnings, spelling)}});
  return json;
}

Json to_json(const SeriesReport& report, const Spelling& spelling) {
  Json json = {{"volumes", to_json(report.volumes)},
               {"backend", report.backend},
               {"warnings", to_json(report.warnings, spelling)}};
  if (!report.noise_source.empty()) json["noise_source"] = report.noise_source;
  return json;
}

Json to_json(const DenoiseRequest& request, const DenoiseReport& report, const Spelling& spelling) {
  Json files = Json::array();
  for (const std::filesystem::path& file : report.files) files.push_back(file.string());
  Json document = {{"input", request.input.string()},
                   {"output", request.output.string()},
                   {"residual", request.mask.residual.empty() ? Json() : Json(request.mask.residual)},
                   {"format", io::to_string(report.format)},
                   {"dry_run", request.out.dry_run},
                   {"requested", as_given(report.requested)},
                   {"stabilise", FieldType<Stabilise>::format(report.stabilise)},
                   {"volumes", to_json(report.volumes)},
                   {"backend", report.backend},
                   {"backend_reason", report.backend_reason.text(spelling)},
                   {"files", files},
                   {"clamped_voxels", report.clamped},
                   {"warnings", to_json(report.warnings, spelling)},
                   {"seconds", report.seconds}};
  if (!report.noise_source.empty()) document["noise_source"] = report.noise_source;
  return document;
}

}  // namespace quietvox
