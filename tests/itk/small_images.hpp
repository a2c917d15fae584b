// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "analysis/measure_noise.hpp"
#include "backends/choice.hpp"
#include "core/pipeline.hpp"
#include "files.hpp"
#include "images.hpp"
#include "itk_adapters/file_io/image_io.hpp"
#include "itk_adapters/filters/filter_support.hpp"
#include "itk_adapters/filters/setter_names.hpp"

/// Filters on images that are smaller than their windows.
namespace quietvox::test {

/// What came of it: voxels, or what was wrong.
struct Outcome {
  std::string error;
  std::vector<float> voxels;
};

inline VolumeView<const float> view_of(const Volume<float>* image) {
  const auto size = image->GetLargestPossibleRegion().GetSize();
  VolumeView<const float> view{image->GetBufferPointer(), {}};
  for (unsigned int axis = 0; axis < 3; ++axis) {
    view.extent[static_cast<int>(axis)] = static_cast<std::int64_t>(size[axis]);
    view.spacing[static_cast<int>(axis)] = image->GetSpacing()[axis];
  }
  return view;
}

inline Outcome by_library(const FilterConfig& settings, const Volume<float>* image) {
  Outcome outcome;
  try {
    PixelVolume<float> volume(view_of(image), {}, {});
    const auto backend = make_backend("cpu");
    const auto resolved = resolve_chain(std::span(&settings, 1), volume, *backend, {}, measure_noise);
    filter_volume(volume, resolved, *backend, {}, [&](VolumeView<const float> slices) {
      outcome.voxels.insert(outcome.voxels.end(), slices.data, slices.data + slices.extent.voxels());
    });
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

template <class Filter>
Outcome by_itk(const FilterConfig& settings, const Volume<float>* image) {
  const auto filter = Filter::New();
  filter->SetInput(image);
  filter->SetBackend("cpu");
  filter->SetParameters(std::any_cast<typename Filter::ParametersType>(settings.params()));
  try {
    filter->Update();
  } catch (const itk::ExceptionObject& error) {
    return {error.GetDescription(), {}};
  }
  const auto view = view_of(filter->GetOutput());
  return {"", {view.data, view.data + view.extent.voxels()}};
}

inline Outcome by_program(const FilterConfig& settings, const Volume<float>* image) {
  const Folder folder;
  const VolumeView<const float> view = view_of(image);
  const io::Geometry geometry{.extent = view.extent, .spacing = view.spacing};
  const auto writer = create_itk_image(folder / "in.mha", geometry, 1, {});
  writer->begin_volume(0, {{settings}, {settings}, "cpu"});
  writer->write(view);
  writer->commit();
  std::string command =
      std::string(QUIETVOX_BINARY_DIR) + "/bin/quietvox " + settings.filter().name + " --backend cpu --quiet";
  for (const FieldInfo& field : settings.filter().fields) {
    command += " --" + field.name + (field.kind == FieldKind::flag ? "=" : " ") + settings.get(field.name);
  }
  const auto quoted = [&](const std::string& name) { return " '" + (folder / name).string() + "'"; };
  if (std::system((command + quoted("in.mha") + quoted("out.mha") + " 2>" + quoted("error")).c_str()) != 0) {
    return {folder.read("error"), {}};
  }
  const auto result = open_itk_image(folder / "out.mha");
  Outcome outcome{"", std::vector<float>(static_cast<std::size_t>(view.extent.voxels()))};
  result->volume(0, io::VoxelDomain::real)->read({outcome.voxels.data(), view.extent, view.spacing});
  return outcome;
}

/// An error with the filter's parameters as the library writes them, whoever has written it.
inline std::string plain(std::string error, const quietvox::Filter& filter) {
  for (const FieldInfo& field : filter.fields) {
    for (const std::string& spelled : {"--" + field.name + " = ", "Set" + camel_case(field.name) + " = "}) {
      if (const auto at = error.find(spelled); at != error.npos) {
        error.replace(at, spelled.size(), field.name + " = ");
      }
    }
  }
  return error;
}

/// The library, the program and the ITK filter refuse the same, in the same words but for how a parameter is spelled,
/// and do the same.
template <class Filter>
void expect_alike_on_small_images(const FilterConfig& settings) {
  for (const Volume<float>::SizeType& size : {Volume<float>::SizeType{{4, 4, 2}}, {{7, 3, 1}}, {{1, 1, 1}}}) {
    SCOPED_TRACE(testing::Message() << settings.filter().name << " of " << size);
    const auto image = noisy_image<Volume<float>>(size);
    const Outcome expected = by_library(settings, image);
    for (const Outcome& outcome : {by_itk<Filter>(settings, image), by_program(settings, image)}) {
      EXPECT_EQ(outcome.voxels, expected.voxels) << outcome.error;
      EXPECT_EQ(outcome.error.empty(), expected.error.empty()) << outcome.error << expected.error;
      const std::string error = plain(outcome.error, settings.filter());
      EXPECT_NE(error.find(expected.error), std::string::npos) << error << " and " << expected.error;
    }
  }
}

}  // namespace quietvox::test
