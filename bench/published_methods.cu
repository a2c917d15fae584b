// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// published_methods [RESULT.json [COMMIT]]: the methods of five papers beside our filters, on the same images in the
// same run. The kernels are built anew from what the papers say, with their images' sizes and their threads, to be read
// rather than to be fast. Each result is compared with ours before it is timed. Edges are as ours has them, so that all
// pixels compare.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "cuda/device.hpp"
#include "cuda/registry.hpp"
#include "cuda/resources.hpp"
#include "cuda_benchmark_main.hpp"
#include "cuda_timing.cuh"
#include "filters/quadratic/coefficients.hpp"

namespace quietvox::bench {
namespace {

using cuda::LaunchContext;

// Lee, Ko and Choe 2014, "Two-way partitioning of a recursive Gaussian filter in CUDA": three threads a line, one from
// each end to the middle and back, and one for the pixel in the middle, where they meet.

constexpr int gaussian_lines = 32, longest_line = 1920;

/// Young and van Vliet's recursion: y_i = b x_i + b1 y_(i-1) + b2 y_(i-2) + b3 y_(i-3), each way.
struct Recursion {
  float b, b1, b2, b3;
};

Recursion young_van_vliet(double sigma) {
  const double q = sigma < 2.5 ? 3.97156 - 4.14554 * std::sqrt(1 - 0.26891 * sigma) : 0.98711 * sigma - 0.9633;
  const double b0 = 1.57825 + q * (2.44413 + q * (1.4281 + q * 0.422205));
  const double b1 = q * (2.44413 + q * (2.85619 + q * 1.26661)) / b0, b2 = -q * q * (1.4281 + q * 1.26661) / b0;
  const double b3 = 0.422205 * q * q * q / b0;
  return {static_cast<float>(1 - b1 - b2 - b3), static_cast<float>(b1), static_cast<float>(b2), static_cast<float>(b3)};
}

/// Pixels of a line are `along` apart, lines are `across` apart. The middle is a Gaussian of 2 half_width + 1 weights.
__global__ void two_way_gaussian(const float* in, float* out, int lines, int length, int along, int across, Recursion r,
                                 int half_width) {
  const int line = blockIdx.x * gaussian_lines + threadIdx.x, middle = length / 2;
  const bool is_middle = threadIdx.y == 1, forward = threadIdx.y == 0, has_line = line < lines;
  in += line * across;
  out += line * across;
  const int end = (forward ? 0 : length - 1) * along, step = forward ? along : -along;
  const int count = forward ? middle : length - 1 - middle;
  float there[longest_line / 2];
  if (has_line && is_middle) {
    float sum = 0, weights = 0;
    for (int i = -half_width; i <= half_width; ++i) {
      const float weight = expf(-0.5F * i * i / (half_width * half_width));
      sum += weight * in[min(max(middle + i, 0), length - 1) * along];
      weights += weight;
    }
    out[middle * along] = sum / weights;
  } else if (has_line) {
    float y1 = in[end], y2 = y1, y3 = y1;
    for (int i = 0; i < count; ++i) {
      const float y = r.b * in[end + i * step] + r.b1 * y1 + r.b2 * y2 + r.b3 * y3;
      there[i] = y;
      y3 = y2;
      y2 = y1;
      y1 = y;
    }
  }
  __syncthreads();
  if (has_line && !is_middle) {
    float y1 = out[middle * along], y2 = y1, y3 = y1;
    for (int i = count - 1; i >= 0; --i) {
      const float y = r.b * there[i] + r.b1 * y1 + r.b2 * y2 + r.b3 * y3;
      out[end + i * step] = y;
      y3 = y2;
      y2 = y1;
      y1 = y;
    }
  }
}

// Battiato 2016, "High performance median filtering algorithm based on NVIDIA GPU computing": a thread for each value
// of each window counts those that are greater and those that are less. (The listing there takes a value too that
// equals half of its window, which need not be the median, and none where neither count is exactly half.)

template <int width, int height>
__global__ void counting_median(const int* in, int* out, int columns, int rows) {
  constexpr int size = width * height, half = size / 2;
  const int at = blockIdx.x * blockDim.x + threadIdx.x, x = at % columns, y = at / columns;
  if (y >= rows) return;
  if (min(x, columns - 1 - x) < width / 2 || min(y, rows - 1 - y) < height / 2) {
    if (threadIdx.y == 0) out[at] = in[at];
    return;
  }
  const auto value = [&](int i) { return in[at + (i / width - height / 2) * columns + i % width - width / 2]; };
  const int mine = value(threadIdx.y);
  int greater = 0, less = 0;
  for (int i = 0; i < size; ++i) {
    greater += value(i) > mine;
    less += value(i) < mine;
  }
  if (greater <= half && less <= half) out[at] = mine;
}

// Salvador Rojas 2019, "Filtro de mediana 2D de alta velocidad en punto flotante acelerado con GPUs": 3x3 by sorted
// columns and rows, a pixel a thread; larger windows by forgetful selection, 2x2 pixels a thread, which forget together
// what all their windows hold. The image comes with its margin, in rows of whole cache lines.

constexpr int median_threads = 128;

__device__ void put_in_order(float& a, float& b) {
  const float less = fminf(a, b);
  b = fmaxf(a, b);
  a = less;
}

__device__ void put_in_order(float& a, float& b, float& c) {
  put_in_order(a, b);
  put_in_order(b, c);
  put_in_order(a, b);
}

__global__ void median_of_sorted_lines(const float* in, int pitch, float* out, int columns, int rows) {
  const int at = blockIdx.x * median_threads + threadIdx.x, x = at % columns, y = at / columns;
  if (y >= rows) return;
  float v[3][3];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) v[i][j] = in[(y + j) * pitch + x + i];
    put_in_order(v[i][0], v[i][1], v[i][2]);
  }
  for (int j = 0; j < 3; ++j) put_in_order(v[0][j], v[1][j], v[2][j]);
  put_in_order(v[2][0], v[1][1], v[0][2]);
  out[at] = v[1][1];
}

/// The least of the first `count` values comes first, the greatest last.
template <int count, int size>
__device__ void find_extremes(float (&v)[size]) {
  constexpr int half = (count + 1) / 2;
#pragma unroll
  for (int i = 0; i < count / 2; ++i) put_in_order(v[i], v[count - 1 - i]);
#pragma unroll
  for (int step = 1; step < half; step *= 2) {
#pragma unroll
    for (int i = 0; i + step < half; i += 2 * step) {
      put_in_order(v[i], v[i + step]);
      put_in_order(v[count - 1 - i - step], v[count - 1 - i]);
    }
  }
}

/// Of `count` values forgets the least and the greatest, and takes next(first), and so on up to next(last - 1). One
/// value fewer is left each time.
template <int count, int first, int last, int size, class Next>
__device__ void forget_and_take(float (&v)[size], const Next& next) {
  if constexpr (first < last) {
    find_extremes<count>(v);
    v[0] = next(first);
    forget_and_take<count - 1, first + 1, last>(v, next);
  }
}

template <int width>
__global__ void forgetful_median(const float* in, int pitch, float* out, int columns, int rows) {
  constexpr int common = width - 1, all_common = common * common;  // the pixels that all four windows hold
  constexpr int start = (width * width + 3) / 2, left = 2 * start - all_common;
  const int number = blockIdx.x * median_threads + threadIdx.x;
  const int x = 2 * (number % (columns / 2)), y = 2 * (number / (columns / 2));
  if (y >= rows) return;
  in += y * pitch + x;
  float shared_values[start];
  const auto common_value = [&](int i) { return in[(1 + i / common) * pitch + 1 + i % common]; };
#pragma unroll
  for (int i = 0; i < start; ++i) shared_values[i] = common_value(i);
  forget_and_take<start, start, all_common>(shared_values, common_value);
  find_extremes<left>(shared_values);
#pragma unroll
  for (int output = 0; output < 4; ++output) {
    const int right = output % 2, down = output / 2;
    // A row above or below what is common, and a column beside it.
    const auto own_value = [&](int i) {
      return i < width ? in[down * width * pitch + right + i] : in[(i - width + 1) * pitch + right * width];
    };
    float v[left];
#pragma unroll
    for (int i = 0; i < left; ++i) v[i] = shared_values[i];
    v[0] = own_value(0);
    forget_and_take<left - 1, 1, 2 * width - 1>(v, own_value);
    find_extremes<3>(v);
    out[(y + down) * columns + x + right] = v[1];
  }
}

// Akgun and Uzun 2020, "CUDA based computation of quadratic image filters", its third method: weights and 16x16 pixels
// in shared memory, of which the inner 14x14 are filtered.

constexpr int quadratic_block = 16, quadratic_tile = quadratic_block - 2, quadratic_weights = 9 + 45;

__global__ void tiled_quadratic(const float* in, float* out, int columns, int rows, const float* weights) {
  __shared__ float shared_weights[quadratic_weights], tile[quadratic_block][quadratic_block];
  const int column = threadIdx.x, row = threadIdx.y, thread = row * quadratic_block + column;
  const int x = blockIdx.x * quadratic_tile + column - 1, y = blockIdx.y * quadratic_tile + row - 1;
  const bool inside = x >= 0 && y >= 0 && x < columns && y < rows;
  if (thread < quadratic_weights) shared_weights[thread] = weights[thread];
  tile[row][column] = inside ? in[y * columns + x] / 255 : 0;
  __syncthreads();
  if (!inside || column == 0 || row == 0 || column > quadratic_tile || row > quadratic_tile) return;
  if (x == 0 || y == 0 || x == columns - 1 || y == rows - 1) {
    out[y * columns + x] = in[y * columns + x];
    return;
  }
  float v[9], sum = 0;
#pragma unroll
  for (int i = 0; i < 9; ++i) {
    v[i] = tile[row + i / 3 - 1][column + i % 3 - 1];
    sum += shared_weights[i] * v[i];
  }
  int pair = 9;
#pragma unroll
  for (int i = 0; i < 9; ++i) {
#pragma unroll
    for (int j = i; j < 9; ++j) sum += shared_weights[pair++] * (v[i] * v[j]);
  }
  out[y * columns + x] = 255 * sum;
}

// Indurkhya and Vallabhu 2023: bilateral filters of 8-bit images by blocks of 16x16. Tiles lie in shared memory,
// spatial weights in tables, range weights too where they are fixed. Non-local means have an 8-bit intensity weight and
// search the whole image. Results are floats here.

using Pixel = std::uint8_t;

constexpr int bilateral_block = 16;

template <int radius>
struct Tile {
  static constexpr int side = bilateral_block + 2 * radius;
  Pixel pixels[side][side];

  __device__ void load(const Pixel* in, int columns, int rows) {
    for (int i = threadIdx.y * bilateral_block + threadIdx.x; i < side * side; i += bilateral_block * bilateral_block) {
      const int x = static_cast<int>(blockIdx.x) * bilateral_block - radius + i % side;
      const int y = static_cast<int>(blockIdx.y) * bilateral_block - radius + i / side;
      pixels[i / side][i % side] = in[min(max(y, 0), rows - 1) * columns + min(max(x, 0), columns - 1)];
    }
    __syncthreads();
  }

  __device__ int centre() const { return pixels[threadIdx.y + radius][threadIdx.x + radius]; }

  /// Calls `body` with each neighbour and its weight by place.
  template <class Body>
  __device__ void for_each(const float* by_place, const Body& body) const {
    for (int j = 0; j <= 2 * radius; ++j) {
      for (int i = 0; i <= 2 * radius; ++i) {
        body(pixels[threadIdx.y + j][threadIdx.x + i], by_place[j * (2 * radius + 1) + i]);
      }
    }
  }
};

template <int radius>
__global__ void tiled_bilateral(const Pixel* in, float* out, int columns, int rows, const float* by_place,
                                const float* by_difference) {
  __shared__ Tile<radius> tile;
  tile.load(in, columns, rows);
  const int x = blockIdx.x * bilateral_block + threadIdx.x, y = blockIdx.y * bilateral_block + threadIdx.y;
  if (x >= columns || y >= rows) return;
  const int centre = tile.centre();
  float sum = 0, weights = 0;
  tile.for_each(by_place, [&](int value, float place_weight) {
    const float weight = place_weight * by_difference[abs(value - centre)];
    sum += weight * value;
    weights += weight;
  });
  out[y * columns + x] = sum / weights;
}

template <int radius>
__global__ void tiled_adaptive_bilateral(const Pixel* in, float* out, int columns, int rows, const float* by_place,
                                         float range_sigma) {
  __shared__ Tile<radius> tile;
  tile.load(in, columns, rows);
  const int x = blockIdx.x * bilateral_block + threadIdx.x, y = blockIdx.y * bilateral_block + threadIdx.y;
  if (x >= columns || y >= rows) return;
  const int centre = tile.centre();
  float squares = 0, sum = 0, weights = 0;
  tile.for_each(by_place, [&](int value, float place_weight) {
    const float difference = value - centre;
    const float weight = place_weight * expf(-0.5F * difference * difference / (range_sigma * range_sigma));
    squares += weight * difference * difference;
    weights += weight;
  });
  const float sigma = sqrtf(fmaxf(squares / weights + 0.01F, 0.01F)) / 2;
  weights = 0;
  tile.for_each(by_place, [&](int value, float place_weight) {
    const float difference = value - centre;
    const float weight = place_weight * expf(-0.5F * difference * difference / (sigma * sigma));
    sum += weight * value;
    weights += weight;
  });
  out[y * columns + x] = sum / weights;
}

/// `in` comes with a margin of `radius`, the radius of the patches, on all sides.
template <int radius>
__global__ void whole_image_nlm(const Pixel* in, float* out, int columns, int rows, const float* by_difference,
                                float per_square) {
  constexpr int side = 2 * radius + 1;
  __shared__ float shared_by_difference[256];
  shared_by_difference[threadIdx.y * bilateral_block + threadIdx.x] =
      by_difference[threadIdx.y * bilateral_block + threadIdx.x];
  __syncthreads();
  const int x = blockIdx.x * bilateral_block + threadIdx.x, y = blockIdx.y * bilateral_block + threadIdx.y;
  if (x >= columns || y >= rows) return;
  const int pitch = columns + 2 * radius;
  float patch[side][side];
#pragma unroll
  for (int j = 0; j < side; ++j) {
#pragma unroll
    for (int i = 0; i < side; ++i) patch[j][i] = in[(y + j) * pitch + x + i];
  }
  const int centre = in[(y + radius) * pitch + x + radius];
  float sum = 0, weights = 0;
  for (int other_y = 0; other_y < rows; ++other_y) {
    for (int other_x = 0; other_x < columns; ++other_x) {
      const Pixel* other = in + other_y * pitch + other_x;
      float squares = 0;
#pragma unroll
      for (int j = 0; j < side; ++j) {
#pragma unroll
        for (int i = 0; i < side; ++i) {
          const float difference = patch[j][i] - other[j * pitch + i];
          squares += difference * difference;
        }
      }
      const int value = other[radius * pitch + radius];
      const float weight = expf(-squares * per_square) * shared_by_difference[abs(value - centre)];
      sum += weight * value;
      weights += weight;
    }
  }
  out[y * columns + x] = sum / weights;
}

/// Grey values of 0 to 255: waves and discs under noise.
std::vector<float> picture(const Extent& extent) {
  std::mt19937 random(1);
  std::vector<float> pixels;
  for (int y = 0; y < extent.y; ++y) {
    for (int x = 0; x < extent.x; ++x) {
      const int from_disc_x = x % 200 - 100, from_disc_y = y % 200 - 100;
      const bool in_disc = from_disc_x * from_disc_x + from_disc_y * from_disc_y < 60 * 60;
      pixels.push_back(static_cast<float>(108 + 50 * std::sin(x / 37.0) * std::cos(y / 53.0) + (in_disc ? 40 : 0) +
                                          40 * (static_cast<double>(random()) / 4294967296.0)));
    }
  }
  return pixels;
}

std::vector<float> rounded_picture(const Extent& extent) {
  std::vector<float> pixels = picture(extent);
  for (float& pixel : pixels) pixel = std::round(pixel);
  return pixels;
}

template <class T>
struct PaddedImage {
  std::vector<T> pixels;
  int pitch;
};

/// The image with a margin that repeats its edge, in rows of a multiple of `line` pixels.
template <class T>
PaddedImage<T> padded(const std::vector<float>& image, const Extent& extent, int margin, int line) {
  const int columns = static_cast<int>(extent.x), rows = static_cast<int>(extent.y);
  PaddedImage<T> result{{}, (columns + 2 * margin + line - 1) / line * line};
  for (int y = -margin; y < rows + margin; ++y) {
    for (int x = -margin; x < result.pitch - margin; ++x) {
      const int from_x = std::clamp(x, 0, columns - 1), from_y = std::clamp(y, 0, rows - 1);
      result.pixels.push_back(static_cast<T>(image[static_cast<std::size_t>(from_y * columns + from_x)]));
    }
  }
  return result;
}

/// exp(-n^2 / (2 sigma^2)) for n = 0 .. 255.
std::vector<float> weights_by_difference(double sigma) {
  std::vector<float> weights;
  for (int i = 0; i < 256; ++i) weights.push_back(static_cast<float>(std::exp(-0.5 * i * i / (sigma * sigma))));
  return weights;
}

std::vector<float> weights_by_place(int radius, double sigma) {
  std::vector<float> weights;
  for (int j = -radius; j <= radius; ++j) {
    for (int i = -radius; i <= radius; ++i) {
      weights.push_back(static_cast<float>(std::exp(-0.5 * (i * i + j * j) / (sigma * sigma))));
    }
  }
  return weights;
}

int blocks(std::int64_t count, int size) { return static_cast<int>((count + size - 1) / size); }

dim3 blocks_2d(const Extent& extent, int side) {
  return {static_cast<unsigned>(blocks(extent.x, side)), static_cast<unsigned>(blocks(extent.y, side))};
}

std::string radius_text(int x, int y) { return std::to_string(x) + "x" + std::to_string(y) + "x0"; }

/// A method of a paper, and how our filter is told to compute the same.
struct Case {
  std::string paper, method, filter, setting;
  Options options;
  Extent extent;
  double tolerance;       ///< largest difference between the results
  double least_psnr = 0;  ///< where the method is an approximation: in dB, of 255, instead
};

class Comparison {
 public:
  explicit Comparison(cuda::Device& device) : context_{device.compute, device.pool, device.multiprocessors} {}

  template <class T>
  cuda::DeviceBuffer<T> on_device(const std::vector<T>& values) const {
    cuda::DeviceBuffer<T> buffer(values.size(), context_);
    QV_CUDA(cudaMemcpyAsync(buffer.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice,
                            context_.stream));
    return buffer;
  }

  cudaStream_t stream() const { return context_.stream; }
  const LaunchContext& context() const { return context_; }

  /// `theirs(in, out)` queues the method on `input`, which is `image` as the paper's kernel wants it.
  template <class In, class Out = float, class Theirs>
  void add(const Case& c, const std::vector<float>& image, const std::vector<In>& input, const Theirs& theirs) {
    const cuda::DeviceBuffer<In> their_in = on_device(input);
    const cuda::DeviceBuffer<float> our_in = on_device(image), our_out(image.size(), context_);
    const cuda::DeviceBuffer<Out> their_out(image.size(), context_);
    QV_CUDA(cudaMemsetAsync(their_out.get(), 0x7f, image.size() * sizeof(Out), stream()));
    const FilterConfig settings = resolved_filter(c.filter, c.options, c.extent);
    const BackendEntry<LaunchContext>& filter = *find_entry(cuda::cuda_entries(), find_filter(c.filter));
    const auto run_theirs = [&] { theirs(their_in.get(), their_out.get()); };
    const auto run_ours = [&] {
      filter.f32(VolumeView<const float>{our_in.get(), c.extent}, VolumeView<float>{our_out.get(), c.extent},
                 settings.params(), context_);
    };
    run_theirs();
    QV_CUDA(cudaGetLastError());
    run_ours();
    const std::vector<Out> expected = on_host(their_out, image.size());
    const std::vector<float> actual = on_host(our_out, image.size());
    double largest = 0, squares = 0;
    for (std::size_t i = 0; i < image.size(); ++i) {
      const double difference = std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
      largest = std::max(largest, difference);
      squares += difference * difference;
    }
    const double psnr = 10 * std::log10(255 * 255 / (squares / static_cast<double>(image.size())));
    if (c.least_psnr > 0 ? !(psnr >= c.least_psnr) : !(largest <= c.tolerance)) {
      throw Error(Errc::internal, c.paper + ", " + c.setting + ": differs from " + c.filter + " by up to " +
                                      std::to_string(largest) + ", PSNR " + std::to_string(psnr) + " dB");
    }
    const auto voxels = static_cast<double>(c.extent.voxels());
    const double their_rate = voxels / seconds(run_theirs, stream()), our_rate = voxels / seconds(run_ours, stream());
    std::printf("%-28s %-18s %-28s %10.3f Gvoxel/s, ours %10.3f, %8.1f times; difference %.1e\n", c.paper.c_str(),
                c.filter.c_str(), c.setting.c_str(), their_rate / 1e9, our_rate / 1e9, our_rate / their_rate, largest);
    std::fflush(stdout);
    nlohmann::json row{{"paper", c.paper},
                       {"method", c.method},
                       {"filter", c.filter},
                       {"setting", c.setting},
                       {"extent", {c.extent.x, c.extent.y, c.extent.z}},
                       {"gvoxel_per_s", their_rate / 1e9},
                       {"ours_gvoxel_per_s", our_rate / 1e9},
                       {"ratio", our_rate / their_rate},
                       {"largest_difference", largest}};
    if (c.least_psnr > 0) row["psnr_db"] = psnr;
    rows_.push_back(row);
  }

  const nlohmann::json& rows() const { return rows_; }

 private:
  template <class T>
  std::vector<T> on_host(const cuda::DeviceBuffer<T>& buffer, std::size_t size) const {
    std::vector<T> values(size);
    QV_CUDA(cudaMemcpyAsync(values.data(), buffer.get(), size * sizeof(T), cudaMemcpyDeviceToHost, stream()));
    QV_CUDA(cudaStreamSynchronize(stream()));
    return values;
  }

  LaunchContext context_;
  nlohmann::json rows_ = nlohmann::json::array();
};

void add_two_way_gaussian(Comparison& comparison, const Extent& extent) {
  constexpr int window = 30, sigma = window / 2;
  const std::vector<float> image = picture(extent);
  const int columns = static_cast<int>(extent.x), rows = static_cast<int>(extent.y);
  const cuda::DeviceBuffer<float> between(image.size(), comparison.context());
  const Recursion recursion = young_van_vliet(sigma);
  const dim3 threads(gaussian_lines, 3);
  comparison.add({"Lee, Ko and Choe 2014",
                  "recursion from both ends",
                  "gaussian",
                  "sigma " + std::to_string(sigma),
                  {{"sigma", std::to_string(sigma)}},
                  extent,
                  0,
                  30},
                 image, image, [&](const float* in, float* out) {
                   two_way_gaussian<<<blocks(rows, gaussian_lines), threads, 0, comparison.stream()>>>(
                       in, between.get(), rows, columns, 1, columns, recursion, sigma);
                   two_way_gaussian<<<blocks(columns, gaussian_lines), threads, 0, comparison.stream()>>>(
                       between.get(), out, columns, rows, columns, 1, recursion, sigma);
                 });
}

template <int width, int height>
void add_counting_median(Comparison& comparison, const Extent& extent) {
  const std::vector<float> image = rounded_picture(extent);
  const std::string radius = radius_text(width / 2, height / 2);
  comparison.add<int, int>(
      {"Battiato 2016", "counting", "median", radius, {{"radius", radius}, {"border", "copy"}}, extent, 0}, image,
      std::vector<int>(image.begin(), image.end()), [&](const int* in, int* out) {
        const int outputs = 1024 / (width * height);
        counting_median<width, height>
            <<<blocks(extent.voxels(), outputs), dim3(outputs, width * height), 0, comparison.stream()>>>(
                in, out, static_cast<int>(extent.x), static_cast<int>(extent.y));
      });
}

template <int width>
void add_forgetful_median(Comparison& comparison, const Extent& extent) {
  const std::vector<float> image = picture(extent);
  const auto [pixels, pitch] = padded<float>(image, extent, width / 2, median_threads);
  const std::string radius = radius_text(width / 2, width / 2);
  const int columns = static_cast<int>(extent.x), rows = static_cast<int>(extent.y), row_length = pitch;
  comparison.add(
      {"Salvador Rojas 2019",
       width == 3 ? "sorted rows and columns" : "forgetful selection",
       "median",
       radius,
       {{"radius", radius}},
       extent,
       0},
      image, pixels, [&](const float* in, float* out) {
        if constexpr (width == 3) {
          median_of_sorted_lines<<<blocks(extent.voxels(), median_threads), median_threads, 0, comparison.stream()>>>(
              in, row_length, out, columns, rows);
        } else {
          forgetful_median<width>
              <<<blocks(extent.voxels() / 4, median_threads), median_threads, 0, comparison.stream()>>>(
                  in, row_length, out, columns, rows);
        }
      });
}

void add_quadratic(Comparison& comparison, const Extent& extent) {
  const std::vector<float> image = picture(extent);
  const QuadraticCoefficients coefficients = quadratic_coefficients("denoise");
  std::vector<float> weights(coefficients.h1.begin(), coefficients.h1.end());
  weights.insert(weights.end(), coefficients.h2.begin(), coefficients.h2.end());
  const cuda::DeviceBuffer<float> on_device = comparison.on_device(weights);
  comparison.add({"Akgun and Uzun 2020",
                  "tiles in shared memory",
                  "quadratic",
                  "3x3",
                  {{"coefficients", "denoise"}, {"lowest", "0"}, {"highest", "255"}, {"border", "copy"}},
                  extent,
                  5e-3},
                 image, image, [&](const float* in, float* out) {
                   tiled_quadratic<<<blocks_2d(extent, quadratic_tile), dim3(quadratic_block, quadratic_block), 0,
                                     comparison.stream()>>>(in, out, static_cast<int>(extent.x),
                                                            static_cast<int>(extent.y), on_device.get());
                 });
}

template <int radius>
void add_bilaterals(Comparison& comparison, const Extent& extent) {
  constexpr double range_sigma = 30, domain_sigma = radius / 2.0;
  const std::vector<float> image = rounded_picture(extent);
  const std::vector<Pixel> pixels(image.begin(), image.end());
  const cuda::DeviceBuffer<float> by_place = comparison.on_device(weights_by_place(radius, domain_sigma));
  const cuda::DeviceBuffer<float> by_difference = comparison.on_device(weights_by_difference(range_sigma));
  const std::string setting = radius_text(radius, radius);
  const Options options{{"radius", setting},
                        {"domain-sigma", std::to_string(domain_sigma)},
                        {"range-sigma", std::to_string(range_sigma)}};
  const dim3 grid = blocks_2d(extent, bilateral_block), threads(bilateral_block, bilateral_block);
  const int columns = static_cast<int>(extent.x), rows = static_cast<int>(extent.y);
  comparison.add(
      {"Indurkhya and Vallabhu 2023", "tiles, tables of weights", "bilateral", setting, options, extent, 1e-3}, image,
      pixels, [&](const Pixel* in, float* out) {
        tiled_bilateral<radius>
            <<<grid, threads, 0, comparison.stream()>>>(in, out, columns, rows, by_place.get(), by_difference.get());
      });
  Options two_pass = options;
  two_pass.insert(two_pass.end(), {{"rule", "two-pass"}, {"regularisation", "0.01"}});
  comparison.add({"Indurkhya and Vallabhu 2023", "tiles, table of weights by place", "adaptive-bilateral",
                  setting + ", two-pass", two_pass, extent, 1e-3},
                 image, pixels, [&](const Pixel* in, float* out) {
                   tiled_adaptive_bilateral<radius><<<grid, threads, 0, comparison.stream()>>>(
                       in, out, columns, rows, by_place.get(), static_cast<float>(range_sigma));
                 });
}

void add_nlm(Comparison& comparison, const Extent& extent) {
  constexpr int radius = 3;
  constexpr double noise = 20, intensity_sigma = 30;
  const std::vector<float> image = rounded_picture(extent);
  const std::vector<Pixel> pixels = padded<Pixel>(image, extent, radius, 1).pixels;
  const cuda::DeviceBuffer<float> by_difference = comparison.on_device(weights_by_difference(intensity_sigma));
  const auto per_square = static_cast<float>(1 / (noise * noise * (2 * radius + 1) * (2 * radius + 1)));
  const std::string patch = radius_text(radius, radius);
  comparison.add(
      {"Indurkhya and Vallabhu 2023",
       "every patch of the image",
       "nlm",
       "patch " + patch + ", search all",
       {{"patch-radius", patch},
        {"search-radius", "all"},
        {"sigma", std::to_string(noise)},
        {"strength", "1"},
        {"noise-bias", "0"},
        {"intensity-sigma", std::to_string(intensity_sigma)}},
       extent,
       0.05},
      image, pixels, [&](const Pixel* in, float* out) {
        whole_image_nlm<radius>
            <<<blocks_2d(extent, bilateral_block), dim3(bilateral_block, bilateral_block), 0, comparison.stream()>>>(
                in, out, static_cast<int>(extent.x), static_cast<int>(extent.y), by_difference.get(), per_square);
      });
}

void run(int argc, char** argv) {
  const auto device = std::move(cuda::open_devices(0).front());
  std::printf("%s\n", device->name.c_str());
  Comparison comparison(*device);
  for (const Extent& extent : {Extent{512, 512, 1}, {1280, 720, 1}, {1920, 1080, 1}}) {
    add_two_way_gaussian(comparison, extent);
  }
  const Extent track{10'000'000, 1, 1}, video{1440, 1080, 1};
  add_counting_median<5, 1>(comparison, track);
  add_counting_median<9, 1>(comparison, track);
  add_counting_median<15, 1>(comparison, track);
  add_counting_median<3, 3>(comparison, video);
  add_counting_median<5, 5>(comparison, video);
  for (const Extent& extent : {Extent{512, 512, 1}, {1920, 1080, 1}, {2560, 2560, 1}}) {
    add_forgetful_median<3>(comparison, extent);
    add_forgetful_median<5>(comparison, extent);
    add_forgetful_median<7>(comparison, extent);
  }
  for (const Extent& extent : {Extent{640, 480, 1}, {1920, 1080, 1}, {3840, 2160, 1}}) {
    add_quadratic(comparison, extent);
  }
  const Extent car{570, 426, 1};
  add_bilaterals<3>(comparison, car);
  add_bilaterals<7>(comparison, car);
  add_bilaterals<15>(comparison, car);
  add_nlm(comparison, car);
  write_result(argc, argv, *device, {{"rows", comparison.rows()}});
}

}  // namespace
}  // namespace quietvox::bench

int main(int argc, char** argv) {
  return quietvox::bench::run_program("published_methods", argc, argv, quietvox::bench::run);
}
