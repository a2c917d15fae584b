// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/benchmark/benchmark_command.hpp"

#include <chrono>
#include <vector>

#include "filters/registry.hpp"
#include "workflow/input_output.hpp"

namespace quietvox::cli {
namespace fs = std::filesystem;
namespace {

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<FilterConfig> radius_one(const VolumeView<const float>& volume) {
  FilterConfig settings(find_filter("median"));
  settings.set("radius", "1");
  return {settings.resolved({.extent = volume.extent, .spacing = volume.spacing})};
}

void make_input(io::Format format, VolumeView<const float> volume, const fs::path& path, const Execution& execution) {
  io::WriteOptions options;
  options.execution = execution;
  if (format != io::Format::dicom) options.output_type = io::ScalarType::int16;
  const io::Geometry geometry{.extent = volume.extent, .spacing = volume.spacing};
  const auto writer = create_image(format, path, geometry, 1, "CT", options);
  writer->begin_volume(0, {});
  for (std::int64_t z = 0; z < volume.extent.z; ++z) writer->write(volume.slices(z, 1));
  writer->commit();
}

}  // namespace

CommandTimes measure_command(io::Format format, bool compressed, VolumeView<const float> volume, const fs::path& folder,
                             const Backend& backend, const Execution& execution) {
  const bool dicom = format == io::Format::dicom;
  const std::string ending = dicom ? "" : compressed ? ".nii.gz" : ".nii";
  const auto path = [&](const std::string& name) { return folder / (name + ending); };
  const fs::path input = path("in");
  make_input(format, volume, input, execution);

  CommandTimes times;
  times.format = format;
  times.compressed = compressed;
  times.backend = backend.name();
  if (dicom) {
    for (const fs::directory_entry& entry : fs::directory_iterator(input)) {
      ++times.files;
      times.bytes += entry.file_size();
    }
  } else {
    times.files = 1;
    times.bytes = fs::file_size(input);
  }
  times.copy = seconds_of([&] { fs::copy(input, path("copy"), fs::copy_options::recursive); });
  fs::remove_all(path("copy"));

  const auto chain = radius_one(volume);
  const Provenance provenance{chain, chain, backend.name()};
  io::WriteOptions options;
  options.execution = execution;
  const auto open = [&] { return open_input(input, {}, execution); };
  {
    std::vector<float> in(static_cast<std::size_t>(volume.extent.voxels())), out(in.size());
    std::unique_ptr<io::Image> image;
    std::unique_ptr<io::ImageWriter> writer;
    times.open = seconds_of([&] { image = open(); });
    times.read = seconds_of([&] { image->volume(0, io::VoxelDomain::stored)->read({in.data(), volume.extent}); });
    times.filter = seconds_of([&] {
      backend.run(chain, VolumeView<const float>{in.data(), volume.extent}, {out.data(), volume.extent}, execution);
    });
    times.write = seconds_of([&] {
      writer = image->writer(path("steps"), io::VoxelDomain::stored, options);
      writer->begin_volume(0, provenance);
      writer->write({out.data(), volume.extent});
    });
    times.finish = seconds_of([&] { writer->commit(); });
    fs::remove_all(path("steps"));
  }
  CommandTimes::Whole& whole = times.whole;
  whole.seconds = seconds_of([&] {
    std::unique_ptr<io::Image> image;
    whole.open = seconds_of([&] { image = open(); });
    const auto writer = image->writer(path("whole"), io::VoxelDomain::stored, options);
    writer->begin_volume(0, provenance);
    whole.stages = filter_volume(*image->volume(0, io::VoxelDomain::stored), chain, backend, execution,
                                 [&](VolumeView<const float> slices) { writer->write(slices); });
    whole.finish = seconds_of([&] { writer->commit(); });
  });
  return times;
}

}  // namespace quietvox::cli
