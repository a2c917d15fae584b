// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/pipeline.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/backend.hpp"
#include "core/error.hpp"
#include "cuda/registry.hpp"
#include "cuda/transfer.hpp"

namespace quietvox::cuda {
namespace {

constexpr std::int64_t piece_bytes = 16 << 20;  // long enough to hide the cost of a launch, short enough to overlap
constexpr std::int64_t least_halos = 8;         // slices filtered together, so that little lies in the reach of two
constexpr std::int64_t piece_slices = 8192;     // kernels have slices along an axis of the grid that ends at 65535

/// The slices [first, last) of the whole volume's numbering, which lie in `box`.
template <class T>
VolumeView<T> between(const VolumeView<T>& box, std::int64_t first, std::int64_t last) {
  return box.slices(first - box.origin.z, last - first);
}

template <class View>
std::int64_t end_of(const View& box) {
  return box.origin.z + box.extent.z;
}

/// A slab on the device: its input, and the output of every step of the chain. Slices are filtered as soon as the
/// slices that their window reaches are there, so that nothing is computed twice within a slab.
template <class T>
class DeviceSlab {
 public:
  DeviceSlab(const LaunchContext& context, std::span<const FilterConfig> chain, VolumeView<const T> in,
             VolumeView<T> out)
      : context_(context), chain_(chain) {
    VolumeView<T> first{nullptr, in.extent, in.spacing, in.origin, in.missing};
    add(first);
    for (std::size_t step = 0; step < chain.size(); ++step) {
      add(expanded(out, total_halo(chain.subspan(step + 1)), in));
    }
  }

  const VolumeView<T>& input() const { return boxes_.front(); }
  const VolumeView<T>& output() const { return boxes_.back(); }
  std::int64_t output_ready() const { return ready_.back(); }

  /// Queues all filtering that becomes possible once the input slices before `last` are there.
  void advance(std::int64_t last) {
    ready_[0] = last;
    for (std::size_t step = 0; step < chain_.size(); ++step) {
      const VolumeView<T>&from = boxes_[step], &to = boxes_[step + 1];
      const Radius3 halo = chain_[step].halo();
      const bool complete = ready_[step] == end_of(from);
      const std::int64_t stop = complete ? end_of(to) : std::min(end_of(to), ready_[step] - halo.z);
      const std::int64_t start = ready_[step + 1];
      if (stop <= start || (!complete && stop - start < least_halos * halo.z)) continue;
      const VolumeView<T> part = between(to, start, stop);
      const auto& run = find_entry(cuda_entries(), chain_[step].filter())->template run<T>();
      run(halo_slices(from, part, halo), part, chain_[step].params(), context_);
      ready_[step + 1] = stop;
    }
  }

 private:
  void add(VolumeView<T> box) {
    buffers_.emplace_back(static_cast<std::size_t>(box.extent.voxels()), context_);
    box.data = buffers_.back().get();
    boxes_.push_back(box);
    ready_.push_back(box.origin.z);
  }

  LaunchContext context_;
  std::span<const FilterConfig> chain_;
  std::vector<DeviceBuffer<T>> buffers_;
  std::vector<VolumeView<T>> boxes_;
  std::vector<std::int64_t> ready_;  // end of the slices that are there, or queued, per box
};

/// Waits for whatever is queued before the memory it uses goes away, also when an exception passes.
struct Drain {
  const Device& device;
  ~Drain() {
    for (const Stream* stream : {&device.upload, &device.compute, &device.download}) cudaStreamSynchronize(*stream);
  }
};

template <class T>
void run_slab(Device& device, std::span<const FilterConfig> chain, VolumeView<const T> in, VolumeView<T> out,
              const Execution& execution) {
  const LaunchContext context{device.compute, device.pool, device.multiprocessors};
  DeviceSlab<T> slab(context, chain, in, out);
  const Drain drain{device};
  const std::int64_t slice_bytes = std::max<std::int64_t>(in.extent.slice() * static_cast<std::int64_t>(sizeof(T)), 1);
  const std::int64_t piece = std::clamp<std::int64_t>(piece_bytes / slice_bytes, 1, piece_slices);
  Upload upload(device, execution);
  Download download(device, execution);
  const Event allocated, uploaded, computed;
  allocated.record(device.compute);
  allocated.make_wait(device.upload);

  std::int64_t sent = in.origin.z, fetched = out.origin.z;
  while (fetched < end_of(out)) {
    if (execution.stop.stop_requested()) throw Error(Errc::cancelled, "stopped on request");
    if (sent < end_of(in)) {
      const std::int64_t last = std::min(sent + piece, end_of(in));
      const VolumeView<const T> from = between(in, sent, last);
      upload.copy(between(slab.input(), sent, last).data, from.data, from.extent.voxels() * sizeof(T));
      sent = last;
      uploaded.record(device.upload);
      uploaded.make_wait(device.compute);
    }
    slab.advance(sent);
    computed.record(device.compute);
    computed.make_wait(device.download);
    for (const std::int64_t ready = slab.output_ready(); fetched < ready;) {
      const std::int64_t last = std::min(fetched + piece, ready);
      const VolumeView<T> to = between(out, fetched, last);
      download.copy(to.data, between(slab.output(), fetched, last).data, to.extent.voxels() * sizeof(T));
      fetched = last;
    }
    if (execution.progress) execution.progress(static_cast<double>(fetched - out.origin.z) / out.extent.z);
  }
  download.finish();
  device.compute.synchronize();
}

/// Output slices per slab that fit into the memory there is.
template <class T>
std::int64_t slices_of_slab(const Device& device, std::span<const FilterConfig> chain, const VolumeView<const T>& in,
                            const VolumeView<T>& out, const Execution& execution) {
  double budget = 0.9 * static_cast<double>(device.pool.available());
  if (execution.memory_limit) budget = std::min(budget, static_cast<double>(*execution.memory_limit));
  const double slice_bytes = static_cast<double>(in.extent.slice() * sizeof(T));
  constexpr double scratch = 1.25;  // filters keep lists of voxels to recompute
  double halos = 0;
  for (std::size_t step = 0; step < chain.size(); ++step) halos += 2.0 * total_halo(chain.subspan(step)).z;
  const double slices = (budget / scratch / slice_bytes - halos) / static_cast<double>(chain.size() + 1);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::max(slices, 1.0)), 1, out.extent.z);
}

}  // namespace

template <class T>
void run_chain(Device& device, std::span<const FilterConfig> chain, VolumeView<const T> in, VolumeView<T> out,
               const Execution& execution) {
  const std::lock_guard lock(device.mutex);
  const CurrentDevice current(device.index);
  const Radius3 halo = total_halo(chain);
  std::int64_t slices = slices_of_slab(device, chain, in, out, execution);
  std::int64_t first = out.origin.z;
  while (first < end_of(out)) {
    const std::int64_t last = std::min(first + slices, end_of(out));
    const auto fraction = [&](std::int64_t z) { return static_cast<double>(z - out.origin.z) / out.extent.z; };
    const VolumeView<T> part = between(out, first, last);
    try {
      run_slab(device, chain, halo_slices(in, part, halo), part, execution.part(fraction(first), fraction(last)));
      first = last;
    } catch (const Error& error) {
      if (error.code() != Errc::out_of_memory || slices == 1) throw;
      device.pool.trim();
      slices = (slices + 1) / 2;
    }
  }
}

template void run_chain(Device&, std::span<const FilterConfig>, VolumeView<const float>, VolumeView<float>,
                        const Execution&);
template void run_chain(Device&, std::span<const FilterConfig>, VolumeView<const std::int16_t>,
                        VolumeView<std::int16_t>, const Execution&);
template void run_chain(Device&, std::span<const FilterConfig>, VolumeView<const std::uint16_t>,
                        VolumeView<std::uint16_t>, const Execution&);

}  // namespace quietvox::cuda
