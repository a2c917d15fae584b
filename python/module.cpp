// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <future>
#include <iterator>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/memory_volume.hpp"
#include "core/nearest_word.hpp"
#include "core/pipeline.hpp"
#include "core/provenance.hpp"
#include "filters/registry.hpp"
#include "io/provenance/noise_json.hpp"
#include "workflow/blank_slices.hpp"
#include "workflow/denoise.hpp"
#include "workflow/masked_source.hpp"
#include "workflow/memory_budget.hpp"
#include "workflow/memory_image.hpp"
#include "workflow/noise_of_volume.hpp"
#include "workflow/report_json.hpp"

/// What quietvox/__init__.py calls: values come as texts by keyword, volumes as arrays whose axes are t, z, y, x, masks
/// without t.
namespace quietvox::python {
namespace {

namespace py = pybind11;

using Options = std::map<std::string, std::string>;  ///< by keyword
using Step = std::pair<std::string, Options>;        ///< a filter and its parameters
using Array = py::array_t<float, py::array::c_style>;

/// A parameter as Python knows it: `range_sigma`, `backend='cpu'`, `compress=False`.
std::string spelled(const Parameter& parameter) {
  const std::string keyword = json_key(parameter.name);
  if (keyword.starts_with("no_")) return keyword.substr(3) + "=False";
  if (parameter.value == "XxYxZ") return "a sequence of numbers, one for each axis";
  return parameter.value.empty() ? keyword : keyword + "='" + parameter.value + "'";
}

/// As os.fsdecode() decodes names of files, which need not be UTF-8.
py::object as_text(const std::string& text) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "surrogateescape"));
}

py::object json_as_python(const Json& json) {
  switch (json.type()) {
    case Json::value_t::object: {
      py::dict entries;
      for (const auto& [key, value] : json.items()) entries[as_text(key)] = json_as_python(value);
      return entries;
    }
    case Json::value_t::array: {
      py::list list;
      for (const Json& value : json) list.append(json_as_python(value));
      return list;
    }
    case Json::value_t::string: return as_text(json.get_ref<const std::string&>());
    case Json::value_t::boolean: return py::bool_(json.get<bool>());
    case Json::value_t::number_integer: return py::int_(json.get<std::int64_t>());
    case Json::value_t::number_unsigned: return py::int_(json.get<std::uint64_t>());
    case Json::value_t::number_float: {
      const auto number = json.get<double>();
      return std::isfinite(number) ? py::object(py::float_(number)) : py::none();  // as in the JSON of the program
    }
    default: return py::none();
  }
}

/// Takes from `options` what P has parameters for.
template <class P>
P take(Options& options) {
  P params;
  for (const FieldInfo& field : describe_fields<P>()) {
    if (const auto option = options.extract(json_key(field.name))) set_field(params, field.name, option.mapped());
  }
  return params;
}

std::vector<FilterConfig> as_filters(const std::vector<Step>& steps) {
  std::vector<FilterConfig> filters;
  for (const auto& [name, parameters] : steps) {
    FilterConfig& filter = filters.emplace_back(find_filter(name));
    for (const auto& [keyword, text] : parameters) filter.set(keyword, text);
  }
  return filters;
}

struct NoiseOptions {
  DenoiseStrength strength = DenoiseStrength::medium;
  Stabilise stabilise = Stabilise::automatic;

  static constexpr std::string_view name = "", title = "Noise";
  static consteval auto fields() {
    return std::tuple{field("strength", &NoiseOptions::strength, "How strong the noise is taken to be."),
                      field("stabilise", &NoiseOptions::stabilise, "Which noise is made Gaussian.")};
  }
};

/// Request: DenoiseRequest or VolumeRequest, with its filters.
template <class Request>
void take_noise_options(Options& options, Request& request) {
  if (!request.filters.empty() && options.contains("strength")) {
    throw Error(Errc::invalid_argument, Parameter{"strength"} + " is for the filter that quietvox chooses",
                "leave it out, or " + Parameter{"filters"});
  }
  const auto noise = take<NoiseOptions>(options);
  request.strength = noise.strength;
  request.stabilise = noise.stabilise;
}

/// What the voxels of an array are.
struct VoxelOptions {
  std::optional<DataKind> force_kind{};
  bool ct_numbers = false, time_series = false;

  static constexpr std::string_view name = "", title = "Voxels";
  static consteval auto fields() {
    return std::tuple{field("force-kind", &VoxelOptions::force_kind, "What the voxels mean; auto: as the voxels show."),
                      field("ct-numbers", &VoxelOptions::ct_numbers, "Their noise does not follow their value."),
                      field("time-series", &VoxelOptions::time_series, "Volumes are one picture at several times.")};
  }

  /// `offset` was subtracted from the voxels.
  HeaderFacts header(double offset) const {
    HeaderFacts facts{.kind = force_kind, .are_ct_numbers = ct_numbers, .offset = offset};
    if (!force_kind && ct_numbers) {
      facts.kind = DataKind::scalar;
      facts.kind_source = "the voxels are said to be CT numbers";
    }
    return facts;
  }
};

// Whoever holds the GIL may use these.
std::set<std::stop_source*> runs;  ///< at work
bool has_ended = false;            ///< no more may begin

/// Ends all runs. Their threads must not come back to an interpreter that has ended.
void end_runs() {
  has_ended = true;
  for (std::stop_source* const run : runs) run->request_stop();
  while (!runs.empty()) {
    const py::gil_scoped_release released;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

/// Has a stop source among the runs.
struct Run {
  std::stop_source stop;

  Run() {
    if (has_ended) throw Error(Errc::cancelled, "Python has ended");
    runs.insert(&stop);
  }
  ~Run() { runs.erase(&stop); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
};

/// Calls `work` on another thread, so that signals reach Python: Ctrl-C ends it. Tells `progress`, unless it is None,
/// what fraction is done, and hands on what it raises; but what has been done does not fail by what it raises at the
/// end.
template <class Work>
auto run(const py::object& progress, const Work& work) {
  constexpr std::chrono::milliseconds interval(50);
  std::atomic<double> fraction = 0;
  Run this_run;
  const Observer observer{.stop = this_run.stop.get_token(), .progress = [&fraction](double done) { fraction = done; }};
  auto result = std::async(std::launch::async, [&] { return work(observer); });
  const auto is_done = [&] {
    const py::gil_scoped_release released;
    return result.wait_for(interval) == std::future_status::ready;
  };
  double told = 0;
  const auto tell = [&] {
    if (!progress.is_none() && fraction != told) progress(told = fraction);
  };
  try {
    while (!is_done()) {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      tell();
    }
  } catch (...) {
    this_run.stop.request_stop();
    const py::gil_scoped_release released;
    result.wait();
    throw;
  }
  auto made = result.get();
  fraction = 1;
  try {
    tell();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("the progress of quietvox");
  }
  return made;
}

/// Millimetres along x, y, z.
using Distances = std::array<double, 3>;

template <class T>
VolumeView<T> as_view(T* voxels, const Array& array, const Distances& spacing) {
  const py::ssize_t z = array.ndim() - 3;
  return {voxels, {{array.shape(z + 2), array.shape(z + 1), array.shape(z)}}, {spacing[0], spacing[1], spacing[2]}};
}

template <class T>
std::vector<VolumeView<T>> as_views(T* voxels, const Array& volumes, const Distances& spacing) {
  std::vector<VolumeView<T>> views;
  for (py::ssize_t t = 0; t < volumes.shape(0); ++t) {
    views.push_back(as_view(voxels, volumes, spacing));
    voxels += views.back().extent.voxels();
  }
  return views;
}

Array like(const Array& volumes) { return Array(std::vector(volumes.shape(), volumes.shape() + volumes.ndim())); }

/// The result, and what was done: to a series, or to the one volume that there is.
py::tuple denoise_volumes(const Array& volumes, bool are_series, const Distances& spacing, double offset,
                          const std::vector<Step>& filters, const std::optional<Array>& mask, Options options,
                          const py::object& progress) {
  VolumeRequest request{.filters = as_filters(filters)};
  take_noise_options(options, request);
  const auto voxels = take<VoxelOptions>(options);
  request.header = voxels.header(offset);
  request.are_times = voxels.time_series;
  request.execution = take<ExecutionOptions>(options);
  if (mask) request.mask = as_view(mask->data(), *mask, spacing);
  Array filtered = like(volumes);
  const auto input = as_views(volumes.data(), volumes, spacing);
  const auto output = as_views(filtered.mutable_data(), volumes, spacing);
  const SeriesReport report =
      run(progress, [&](const Observer& observer) { return denoise(input, output, request, observer); });
  const Json json = are_series
                        ? to_json(report, spelled)
                        : to_json(VolumeReport{report.volumes.front(), report.backend, report.warnings}, spelled);
  return py::make_tuple(filtered, json_as_python(json));
}

/// What a scan can be denoised by, besides filters and NoiseOptions.
std::vector<FieldInfo> scan_options() {
  std::vector<FieldInfo> fields;
  const auto add = [&fields](std::vector<FieldInfo> more) { std::ranges::move(more, std::back_inserter(fields)); };
  add(describe_fields<InputOptions>());
  add(describe_fields<MaskOptions>());
  add(describe_fields<OutputOptions>());
  add(describe_fields<ExecutionOptions>());
  return fields;
}

/// As spelled() writes it, but where it is to be given: `force=True`.
std::string spelled_as_remedy(const Parameter& parameter) {
  static const std::vector<FieldInfo> options = scan_options();
  const auto option = std::ranges::find_if(
      options, [&](const FieldInfo& each) { return json_key(each.name) == json_key(parameter.name); });
  const bool is_flag = option != options.end() && option->kind == FieldKind::flag;
  return spelled(parameter) + (is_flag ? "=True" : "");
}

py::object denoise_scan(const std::string& input, const std::string& output, const std::vector<Step>& filters,
                        Options options, const py::object& progress) {
  DenoiseRequest request{.input = input, .output = output, .filters = as_filters(filters)};
  take_noise_options(options, request);
  request.scan = take<InputOptions>(options);
  request.mask = take<MaskOptions>(options);
  request.out = take<OutputOptions>(options);
  request.execution = take<ExecutionOptions>(options);
  if (!options.empty()) {
    const std::string& given = options.begin()->first;
    std::vector<std::string> names{"strength", "stabilise"};
    for (const FieldInfo& field : scan_options()) names.push_back(json_key(field.name));
    throw Error(Errc::invalid_argument, "no option is called '" + given + "'", remedy_of(given, names));
  }
  const DenoiseReport report = run(progress, [&](const Observer& observer) { return denoise(request, observer); });
  return json_as_python(to_json(request, report, spelled));
}

/// The noise of each volume as a dictionary, and where it is asked for its standard deviation at each voxel.
py::tuple estimate(const Array& volumes, const Distances& spacing, double offset, const std::optional<Array>& mask,
                   bool with_map, Options options) {
  const auto voxels = take<VoxelOptions>(options);
  const auto execution = take<ExecutionOptions>(options);
  const auto views = as_views(volumes.data(), volumes, spacing);
  std::optional<Array> map;
  if (with_map) map.emplace(like(volumes));
  const auto sigmas = with_map ? as_views(map->mutable_data(), volumes, spacing) : std::vector<VolumeView<float>>();
  const auto models = run(py::none(), [&](const Observer& observer) {
    const Execution background = execution_of(execution, observer);
    const MemoryImage image({views}, voxels.header(offset), voxels.time_series);
    NoiseOfVolumes noise(image);
    std::vector<NoiseModel> measured;
    for (std::size_t volume = 0; volume < views.size(); ++volume) {
      const auto open_whole = [&] {
        return std::make_unique<BlankSlices>(image.volume(volume, io::VoxelDomain::real), background);
      };
      const auto whole = open_whole();
      if (mask) {
        MaskedSource masked(open_whole(), std::make_unique<MemoryVolume>(as_view(mask->data(), *mask, spacing)));
        measured.push_back(noise.measure_masked(volume, masked, background, open_whole));
      } else {
        measured.push_back(noise.measure(volume, *whole, background));
      }
      if (!with_map) continue;
      map_noise(measured.back(), *whole, [&](VolumeView<const float> slices) {
        std::copy_n(slices.data, slices.extent.voxels(), sigmas[volume].row(0, slices.origin.z));
      });
    }
    return measured;
  });
  py::list noises;
  for (const NoiseModel& model : models) {
    Json json = to_json(model);
    json["spectrum"] = to_json(model.spectrum);
    noises.append(json_as_python(json));
  }
  return py::make_tuple(noises, map);
}

/// For each parameter its keyword and what to say of it.
py::list describe(const std::vector<FieldInfo>& fields) {
  py::list parameters;
  for (const FieldInfo& field : fields) {
    const std::string unit = field.unit.empty() ? "" : " (" + field.unit + ")";
    parameters.append(
        py::make_tuple(json_key(field.name), field.help, field.allowed("one per axis") + unit, field.default_text));
  }
  return parameters;
}

/// Name, summary and parameters of each.
py::list list_filters() {
  py::list list;
  for (const Filter& filter : filters()) {
    list.append(py::make_tuple(filter.name, filter.summary, describe(filter.fields)));
  }
  return list;
}

/// Errors of the library become quietvox.Error, which has what they hold as attributes.
void translate_errors(const py::module_& module) {
  static const py::object* const type = new py::object(py::reinterpret_steal<py::object>(PyErr_NewExceptionWithDoc(
      "quietvox.Error",
      "What went wrong. `code` says what kind of thing, as a word; `parameter` is the keyword that is to be changed or "
      "given, and `remedy` what would be right; both may be None.",
      PyExc_RuntimeError, nullptr)));
  module.attr("Error") = *type;
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(std::move(pointer));
    } catch (const Error& error) {
      const auto text_or_none = [](const std::string& text) { return text.empty() ? py::none() : as_text(text); };
      const std::string remedy = error.remedy().text(spelled_as_remedy);
      const std::string line = error.problem().text(spelled) + (remedy.empty() ? "" : "; " + remedy);
      const py::object instance = (*type)(as_text(line));
      instance.attr("code") = py::str(std::string(name_of(error.code())));
      instance.attr("parameter") = text_or_none(error.parameter() ? json_key(error.parameter()->name) : "");
      instance.attr("remedy") = text_or_none(remedy);
      PyErr_SetObject(type->ptr(), instance.ptr());
    }
  });
}

}  // namespace

PYBIND11_MODULE(_quietvox, module) {
  translate_errors(module);
  module.attr("version") = version();
  module.def("filters", &list_filters);
  module.def("scan_options", [] { return describe(scan_options()); });
  module.def("middle_if_far", [](double low, double high) { return middle_if_far({low, high}); });
  module.def("denoise_volumes", &denoise_volumes);
  module.def("denoise_scan", &denoise_scan);
  module.def("estimate", &estimate);
  py::module_::import("atexit").attr("register")(py::cpp_function(&end_runs));
  const py::cpp_function forget([] { runs.clear(); });  // a forked process has no such threads
  py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") = forget);
}

}  // namespace quietvox::python
