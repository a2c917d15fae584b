// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The sampled Gaussian filter against scipy.ndimage.gaussian_filter, where this machine's python3 has SciPy.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "filters/gaussian.hpp"
#include "support/difference.hpp"
#include "support/reference_gaussian.hpp"
#include "support/temporary_folder.hpp"

namespace quietvox::test {
namespace {

char* bytes_of(Volume& volume) { return reinterpret_cast<char*>(volume.voxels.data()); }
std::streamsize size_of(const Volume& volume) {
  return static_cast<std::streamsize>(volume.voxels.size() * sizeof(float));
}

TEST(Gaussian, AgreesWithTheOneOfScipy) {
  if (std::system("python3 -c 'import scipy.ndimage' 2>/dev/null") != 0) GTEST_SKIP() << "python3 has no SciPy";
  const TemporaryFolder folder;
  std::ofstream(folder / "oracle.py")
      << "import sys, numpy, scipy.ndimage\n"
         "path, result, mode = sys.argv[1:4]\n"
         "shape = [int(n) for n in sys.argv[4:7]]\n"
         "sigma = [float(s) for s in sys.argv[7:10]]\n"
         "volume = numpy.fromfile(path, 'f4').reshape(shape)\n"
         "scipy.ndimage.gaussian_filter(volume, sigma, truncate=5, mode=mode).tofile(result)\n";
  Volume in = busy_volume({{61, 47, 33}}, 12);
  std::ofstream(folder / "in", std::ios::binary).write(bytes_of(in), size_of(in));
  for (const auto& [border, mode] : {std::pair(Border::replicate, "nearest"), std::pair(Border::reflect, "mirror")}) {
    for (const Triple<double>& sigma : {Triple<double>{1, 1, 1}, Triple<double>{2.5, 0.7, 6}}) {
      const auto text = [](double value) { return " " + FieldType<double>::format(value); };
      const std::string command = "python3 " + (folder / "oracle.py").string() + " " + (folder / "in").string() + " " +
                                  (folder / "out").string() + " " + mode + " 33 47 61" + text(sigma.z) + text(sigma.y) +
                                  text(sigma.x);
      ASSERT_EQ(std::system(command.c_str()), 0) << command;
      Volume expected(in.extent, in.spacing), ours(in.extent, in.spacing);
      std::ifstream(folder / "out", std::ios::binary).read(bytes_of(expected), size_of(expected));
      GaussianParams params;
      params.sigma = {sigma.x * in.spacing.x, sigma.y * in.spacing.y, sigma.z * in.spacing.z};
      params.algorithm = GaussianAlgorithm::fir;
      params.border = border;
      params = params.resolved({in.extent, in.spacing, {}, {}});
      gaussian_cpu(in.view(), ours.view(), params, {});
      EXPECT_EQ(first_difference(expected, ours, gaussian_tolerance(in, params)), "") << command;
    }
  }
}

}  // namespace
}  // namespace quietvox::test
