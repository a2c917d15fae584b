// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/execution.hpp"
#include "core/fields.hpp"
#include "core/volume_facts.hpp"

namespace quietvox {

/// Reach of a window along an axis of which it takes all there is: more voxels than any has. What the window reaches
/// besides is added.
constexpr int whole_axis = 1 << 24;

/// What a parameter struct offers: a table, a name, the numbers behind its `auto`s, and the reach of its window.
template <class P>
concept FilterParams = std::copyable<P> && requires(const P& params, const VolumeFacts& facts) {
  { P::name } -> std::convertible_to<std::string_view>;
  { P::summary } -> std::convertible_to<std::string_view>;
  /// True where filtering stored values and rescaling commute (rank filters): the stored integers are filtered then.
  { P::commutes_with_rescale } -> std::convertible_to<bool>;
  P::fields();
  /// With every `auto` replaced, but for those that depend on facts which are not known yet.
  { params.resolved(facts) } -> std::same_as<P>;
  { params.halo() } -> std::same_as<Radius3>;  // of resolved parameters
  /// The parameter that sets the size of the window, which must fit into the volume but along a `whole_axis`; empty
  /// where the window takes what there is of the volume, and may reach across it.
  { params.window_field() } -> std::same_as<std::string_view>;
};

/// What is done to an image, in the terms of DICOM's derivation codes; `other` has no code.
enum class Purpose { other, smoothing, edge_enhancement };

class Settings;

/// A filter as the registry knows it, whatever its parameter type.
struct Filter {
  std::string name, summary;
  bool commutes_with_rescale = false;
  std::vector<FieldInfo> fields;

  std::any defaults;
  void (*set)(std::any&, std::string_view field, std::string_view text) = nullptr;
  std::string (*get)(const std::any&, std::string_view field) = nullptr;
  std::any (*resolved)(const std::any&, const VolumeFacts&) = nullptr;
  Radius3 (*halo)(const std::any&) = nullptr;
  std::string_view (*window_field)(const std::any&) = nullptr;
  Purpose (*purpose)(const std::any&) = nullptr;                                        ///< null: other
  std::any (*identified)(const std::any&) = nullptr;                                    ///< null: as they are
  std::size_t (*working_bytes)(const std::any&, const Extent&, int threads) = nullptr;  ///< null: 0
  double (*core_nanoseconds)(const std::any&, const Extent&) = nullptr;
};

/// One filter together with values for its parameters.
class Settings {
 public:
  explicit Settings(const Filter& filter) : filter_(&filter), params_(filter.defaults) {}
  template <FilterParams P>
  Settings(const Filter& filter, const P& params) : filter_(&filter), params_(params) {
    validate(params);
  }

  const Filter& filter() const { return *filter_; }
  void set(std::string_view field, std::string_view text) { filter_->set(params_, field, text); }
  std::string get(std::string_view field) const { return filter_->get(params_, field); }
  const std::any& params() const { return params_; }

  /// The same settings with every `auto` replaced for this volume; parameters that depend on a fact which is not known
  /// yet stay as they are, and wait. Axes of a single voxel are flat: the window does not extend along them. Throws
  /// Error(invalid_argument) where a window that was asked for is larger than the volume, and where the filter is wrong
  /// for the kind of data.
  Settings resolved(const VolumeFacts&) const;
  /// Of resolved settings: the parameters that wait. Until there are none, the settings are not fit to be run.
  const std::vector<Waiting>& waiting() const { return waiting_; }
  /// Reach of the window per axis, in voxels; of resolved settings.
  Radius3 halo() const { return filter_->halo(params_); }
  /// Filters smooth, but where the parameter struct has `enhances()` and that is true.
  Purpose purpose() const { return filter_->purpose ? filter_->purpose(params_) : Purpose::other; }
  /// About what `threads` threads of the CPU work in, all together, while they filter a volume of `extent`, if that is
  /// much: what `working_bytes()` of the parameter struct says. Of resolved settings.
  std::size_t working_bytes(const Extent& extent, int threads) const {
    return filter_->working_bytes ? filter_->working_bytes(params_, extent, threads) : 0;
  }
  /// About how long a voxel takes one core of a CPU: what `core_nanoseconds()` of the parameter struct says, else 0.3
  /// ns for each voxel under the window. Of resolved settings.
  double core_nanoseconds(const Extent& extent) const { return filter_->core_nanoseconds(params_, extent); }
  /// The same settings as provenance tells them: the name of a file gives way to a hash of what the file holds, if the
  /// parameter struct has `identified()`. Resolved settings are identified.
  Settings identified() const;

 private:
  const Filter* filter_;
  std::any params_;
  std::vector<Waiting> waiting_;
};

/// What users are to be told where the window of resolved settings extends along an axis whose voxels lie far apart
/// (see VolumeFacts::is_thick), and would not by default; else empty.
std::string thick_axis_warning(const Settings& resolved, const VolumeFacts&);

/// Voxels of a box of these half widths.
constexpr double window_voxels(Radius3 radius) {
  return (2.0 * radius.x + 1) * (2.0 * radius.y + 1) * (2.0 * radius.z + 1);
}

/// Makes the registry entry of a parameter struct.
template <FilterParams P>
Filter describe_filter() {
  return {
      .name = std::string(P::name),
      .summary = std::string(P::summary),
      .commutes_with_rescale = P::commutes_with_rescale,
      .fields = describe_fields<P>(),
      .defaults = P{},
      .set = [](std::any& params, std::string_view field,
                std::string_view text) { set_field(std::any_cast<P&>(params), field, text); },
      .get = [](const std::any& params,
                std::string_view field) { return get_field(std::any_cast<const P&>(params), field); },
      .resolved = [](const std::any& params,
                     const VolumeFacts& facts) { return std::any(std::any_cast<const P&>(params).resolved(facts)); },
      .halo = [](const std::any& params) { return std::any_cast<const P&>(params).halo(); },
      .window_field = [](const std::any& params) { return std::any_cast<const P&>(params).window_field(); },
      .purpose =
          [](const std::any& any) {
            if constexpr (requires(const P& params) { params.enhances(); }) {
              if (std::any_cast<const P&>(any).enhances()) return Purpose::edge_enhancement;
            }
            return Purpose::smoothing;
          },
      .identified =
          [](const std::any& any) {
            const P& params = std::any_cast<const P&>(any);
            if constexpr (requires { params.identified(); }) {
              return std::any(params.identified());
            } else {
              return any;
            }
          },
      .working_bytes =
          [](const std::any& any, const Extent& extent, int threads) {
            if constexpr (requires(const P& params) { params.working_bytes(extent, threads); }) {
              return std::any_cast<const P&>(any).working_bytes(extent, threads);
            } else {
              return std::size_t{0};
            }
          },
      .core_nanoseconds =
          [](const std::any& any, const Extent& extent) {
            const P& params = std::any_cast<const P&>(any);
            if constexpr (requires { params.core_nanoseconds(extent); }) {
              return params.core_nanoseconds(extent);
            } else {
              return 0.3 * window_voxels(params.halo());
            }
          }};
}

/// Axes of a single voxel take part in no window.
constexpr Radius3 flattened(Radius3 radius, const Extent& extent) {
  for (int axis = 0; axis < 3; ++axis) {
    if (extent[axis] == 1) radius[axis] = 0;
  }
  return radius;
}

}  // namespace quietvox
