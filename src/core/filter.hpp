// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/execution.hpp"
#include "core/fields.hpp"
#include "core/volume_facts.hpp"

namespace quietvox {

/// How far from an output a filter reads: `radius` voxels to either side, or all voxels along the axes in `whole`.
struct Reach {
  static constexpr int all = 1 << 24;  ///< voxels: more than any axis has

  Radius3 radius{};
  std::array<bool, 3> whole{};

  constexpr Reach(Radius3 half_widths, std::array<bool, 3> whole_axes = {}) : radius(half_widths), whole(whole_axes) {}
  /// The same as radii: along a whole axis one that is larger than any axis.
  constexpr Radius3 in_voxels() const {
    return {whole[0] ? all : radius.x, whole[1] ? all : radius.y, whole[2] ? all : radius.z};
  }
};

/// What a filter may offer besides what every filter must offer. Its parameter struct lists it in hooks(), where a
/// misspelt name does not compile; describe_filter() refuses a member of one of these names that is not listed.
template <class P>
struct FilterHooks {
  /// True if these resolved parameters enhance edges; filters without this smooth.
  bool (P::*enhances)() const = nullptr;
  /// The parameters, with file names replaced by hashes of the files' content, for provenance.
  P (P::*with_content_hashes)() const = nullptr;
  /// Roughly the working memory of all CPU threads together while a volume of `extent` is filtered with these resolved
  /// parameters, and what is kept from slab to slab, if it is much.
  std::size_t (P::*working_bytes)(const Extent& extent, int threads) const = nullptr;
  /// How many more slabs as large as its results it may hold, on the CPU.
  int slabs_besides = 0;
  /// Roughly how long one CPU core takes for a voxel, if 0.3 ns for each voxel under the window is far off.
  double (P::*cpu_ns_per_voxel)(const Extent&) const = nullptr;
  /// The names of further results on the same grid: `sigma` for a map of the noise.
  std::vector<std::string> maps{};
  /// It reads all volumes of a 4-D series at once.
  bool takes_all_volumes = false;
  /// It takes z for the axis across slices: its blocks or windows lie within slices, or extend along z by other rules
  /// than along x and y.
  bool works_in_slices = false;
  /// It leaves out blocks that hold a missing voxel; those that no block covers stay as they are. It has a parameter
  /// `sigma`, the standard deviation of the noise.
  bool needs_whole_blocks = false;
};

/// What a parameter struct offers: a table, a name, the numbers behind its `auto`s, and the reach of its window.
template <class P>
concept FilterParams = std::copyable<P> && requires(const P& params, const VolumeFacts& facts) {
  { P::name } -> std::convertible_to<std::string_view>;
  { P::summary } -> std::convertible_to<std::string_view>;
  /// True where filtering stored values and rescaling commute (rank filters): the stored integers are filtered then.
  { P::commutes_with_rescale } -> std::convertible_to<bool>;
  P::fields();
  /// The same with every `auto` replaced, except those that depend on facts which are not known yet.
  { params.resolved(facts) } -> std::same_as<P>;
  { params.halo() } -> std::convertible_to<Reach>;  // of resolved parameters
  /// The parameter that sets the size of a window that must fit into the volume, except along axes that it takes whole.
  /// Empty for a window that may reach beyond the volume, and takes what is there.
  { params.window_field() } -> std::same_as<std::string_view>;
  { P::hooks() } -> std::same_as<FilterHooks<P>>;
};

/// What is done to an image, in the terms of DICOM's derivation codes; `other` has no code.
enum class Purpose { other, smoothing, edge_enhancement };

class FilterConfig;

/// A filter as the registry knows it, whatever its parameter type.
struct Filter {
  std::string name, summary;
  bool commutes_with_rescale = false;
  std::vector<FieldInfo> fields;

  std::any defaults;
  void (*set)(std::any&, std::string_view field, std::string_view text) = nullptr;
  std::string (*get)(const std::any&, std::string_view field) = nullptr;
  std::any (*resolved)(const std::any&, const VolumeFacts&) = nullptr;
  Reach (*reach)(const std::any&) = nullptr;
  std::string_view (*window_field)(const std::any&) = nullptr;
  Purpose (*purpose)(const std::any&) = nullptr;                                        ///< null: other
  std::any (*with_content_hashes)(const std::any&) = nullptr;                           ///< null: as they are
  std::size_t (*working_bytes)(const std::any&, const Extent&, int threads) = nullptr;  ///< null: 0
  double (*cpu_ns_per_voxel)(const std::any&, const Extent&) = nullptr;
  int slabs_besides = 0;  ///< as in FilterHooks, like those that follow
  std::vector<std::string> maps{};
  bool takes_all_volumes = false;
  bool works_in_slices = false;
  bool needs_whole_blocks = false;
};

/// One filter together with values for its parameters.
class FilterConfig {
 public:
  explicit FilterConfig(const Filter& filter) : filter_(&filter), params_(filter.defaults) {}
  template <FilterParams P>
  FilterConfig(const Filter& filter, const P& params) : filter_(&filter), params_(params) {
    if (filter.defaults.type() != typeid(P)) {
      throw Error(Errc::invalid_argument, filter.name + ": the parameters given are those of " + std::string(P::name));
    }
    validate(params);
  }

  const Filter& filter() const { return *filter_; }
  /// Settings that were resolved must be resolved again.
  void set(std::string_view field, std::string_view text) {
    filter_->set(params_, field, text);
    is_resolved_ = false;  // what was resolved may follow from what is set
  }
  std::string get(std::string_view field) const { return filter_->get(params_, field); }
  const std::any& params() const { return params_; }

  /// The same settings with every `auto` replaced for this volume; parameters that depend on a fact which is not known
  /// yet stay as they are, and wait. Axes of a single voxel are flat: the window does not extend along them. Throws
  /// Error(invalid_argument) where a window that was asked for is larger than the volume, and where the filter is wrong
  /// for the kind of data.
  FilterConfig resolved(const VolumeFacts&) const;
  /// Of resolved settings: the parameters that wait. Settings can be run only if there are none.
  const std::vector<Waiting>& waiting() const { return waiting_; }
  /// Throws Error(invalid_argument) if they cannot be run: they were not resolved, or parameters wait.
  void check_resolved() const;
  /// Reach of the window; of resolved settings.
  Reach reach() const { return filter_->reach(params_); }
  /// The same in voxels, per axis.
  Radius3 halo() const { return reach().in_voxels(); }
  Purpose purpose() const { return filter_->purpose ? filter_->purpose(params_) : Purpose::other; }
  /// As in FilterHooks, of resolved settings.
  std::size_t working_bytes(const Extent& extent, int threads) const {
    return filter_->working_bytes ? filter_->working_bytes(params_, extent, threads) : 0;
  }
  double cpu_ns_per_voxel(const Extent& extent) const { return filter_->cpu_ns_per_voxel(params_, extent); }
  /// The same settings as provenance tells them. Resolved settings have the hashes.
  FilterConfig with_content_hashes() const;

 private:
  const Filter* filter_;
  std::any params_;
  std::vector<Waiting> waiting_;
  bool is_resolved_ = false;
  friend class AxisSwap;  // whose exchange of axes leaves resolved settings resolved
};

/// A warning if the window of resolved settings extends along an axis whose voxels lie far apart (see
/// VolumeFacts::is_thick), and would not by default; otherwise empty.
std::string thick_axis_warning(const FilterConfig& resolved, const VolumeFacts&);

/// Warnings about the noise that was measured for a filter: none was found, or none that can be trusted, so the filter
/// changes little. `by_header`: the filter before the noise was measured. `is_chosen`: quietvox chose the filter, not
/// the user.
std::vector<Message> noise_warnings(const FilterConfig& by_header, const FilterConfig& resolved, const NoiseModel&,
                                    bool is_chosen = false);

/// Voxels of a box of these half widths.
constexpr double window_voxels(Radius3 radius) {
  return (2.0 * radius.x + 1) * (2.0 * radius.y + 1) * (2.0 * radius.z + 1);
}

/// The hooks that a parameter struct has but does not list: they would do nothing.
template <FilterParams P>
std::string unlisted_hooks() {
  const FilterHooks<P> listed = P::hooks();
  std::string names;
  const auto look_at = [&](std::string_view name, bool is_listed) {
    if (!is_listed) names += " " + std::string(name);
  };
  if constexpr (requires { &P::enhances; }) look_at("enhances", listed.enhances);
  if constexpr (requires { &P::with_content_hashes; }) look_at("with_content_hashes", listed.with_content_hashes);
  if constexpr (requires { &P::working_bytes; }) look_at("working_bytes", listed.working_bytes);
  if constexpr (requires { &P::cpu_ns_per_voxel; }) look_at("cpu_ns_per_voxel", listed.cpu_ns_per_voxel);
  return names;
}

/// Makes the registry entry of a parameter struct. Throws Error(internal) if it has a hook that it does not list.
template <FilterParams P>
Filter describe_filter() {
  if (const std::string names = unlisted_hooks<P>(); !names.empty()) {
    throw Error(Errc::internal, std::string(P::name) + ": hooks() does not list" + names);
  }
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
      .reach = [](const std::any& params) { return Reach(std::any_cast<const P&>(params).halo()); },
      .window_field = [](const std::any& params) { return std::any_cast<const P&>(params).window_field(); },
      .purpose =
          [](const std::any& params) {
            const auto enhances = P::hooks().enhances;
            return enhances && (std::any_cast<const P&>(params).*enhances)() ? Purpose::edge_enhancement
                                                                             : Purpose::smoothing;
          },
      .with_content_hashes =
          [](const std::any& params) {
            const auto with_hashes = P::hooks().with_content_hashes;
            return with_hashes ? std::any((std::any_cast<const P&>(params).*with_hashes)()) : params;
          },
      .working_bytes =
          [](const std::any& params, const Extent& extent, int threads) {
            const auto bytes = P::hooks().working_bytes;
            return bytes ? (std::any_cast<const P&>(params).*bytes)(extent, threads) : std::size_t{0};
          },
      .cpu_ns_per_voxel =
          [](const std::any& any, const Extent& extent) {
            const P& params = std::any_cast<const P&>(any);
            const auto nanoseconds = P::hooks().cpu_ns_per_voxel;
            return nanoseconds ? (params.*nanoseconds)(extent) : 0.3 * window_voxels(Reach(params.halo()).in_voxels());
          },
      .slabs_besides = P::hooks().slabs_besides,
      .maps = P::hooks().maps,
      .takes_all_volumes = P::hooks().takes_all_volumes,
      .works_in_slices = P::hooks().works_in_slices,
      .needs_whole_blocks = P::hooks().needs_whole_blocks};
}

/// The radius, with 0 along axes that are one voxel long.
constexpr Radius3 flattened(Radius3 radius, const Extent& extent) {
  for (int axis = 0; axis < 3; ++axis) {
    if (extent[axis] == 1) radius[axis] = 0;
  }
  return radius;
}

}  // namespace quietvox
