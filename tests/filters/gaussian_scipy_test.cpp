// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The sampled Gaussian filter against scipy.ndimage.gaussian_filter, where Debian's Python has SciPy.
#include <gtest/gtest.h>

#include "filters/gaussian.hpp"
#include "support/difference.hpp"
#include "support/programs.hpp"
#include "support/reference_gaussian.hpp"

namespace quietvox::test {
namespace {

TEST(Gaussian, AgreesWithTheOneOfScipy) {
  if (!python_has("scipy.ndimage")) GTEST_SKIP() << "Debian's Python has no SciPy (python3-scipy)";
  const Volume in = busy_volume({{61, 47, 33}}, 12);
  for (const auto& [border, mode] : {std::pair(Border::replicate, "nearest"), std::pair(Border::reflect, "mirror")}) {
    for (const Triple<double>& sigma : {Triple<double>{1, 1, 1}, Triple<double>{2.5, 0.7, 6}}) {
      const auto text = [](double value) { return FieldType<double>::format(value) + ","; };
      const std::string script =
          "import numpy, scipy.ndimage\n"
          "volume = numpy.fromfile('in', 'f4').reshape(33, 47, 61)\n"
          "sigma = [" +
          text(sigma.z) + text(sigma.y) + text(sigma.x) +
          "]\n"
          "scipy.ndimage.gaussian_filter(volume, sigma, truncate=5, mode='" +
          mode + "').tofile('out')\n";
      const Volume expected = ask_python(script, in);
      Volume ours(in.extent, in.spacing);
      GaussianParams params;
      params.sigma = {sigma.x * in.spacing.x, sigma.y * in.spacing.y, sigma.z * in.spacing.z};
      params.algorithm = GaussianAlgorithm::fir;
      params.border = border;
      params = params.resolved({in.extent, in.spacing, {}, {}});
      gaussian_cpu(in.view(), ours.view(), params, {});
      EXPECT_EQ(first_difference(expected, ours, gaussian_tolerance(in, params)), "") << script;
    }
  }
}

}  // namespace
}  // namespace quietvox::test
