// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes the tables of the transform that gives Rician noise one variance, as a header:
// quietvox_generate_rician_tables FILE. All is in units of sigma.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numbers>
#include <ostream>

#include "analysis/stabilisation/rising_table.hpp"

namespace {

using quietvox::RisingTable;
constexpr double end = RisingTable::end, step = RisingTable::step;
constexpr int steps = RisingTable::steps;

/// Modified Bessel function of the first kind times exp(-x).
double bessel(double order, double x) { return std::exp(-x) * std::cyl_bessel_i(order, x); }

double mean_magnitude(double nu) {
  const double x = nu * nu / 4;
  return std::sqrt(std::numbers::pi / 2) * ((1 + 2 * x) * bessel(0, x) + 2 * x * bessel(1, x));
}

/// Keeps digits that do not depend on how a machine rounds these functions.
double rounded(double value) { return std::nearbyint(std::ldexp(value, 30)) * 0x1p-30; }

template <class Function>
RisingTable table(const Function& of_node) {
  RisingTable made;
  for (int i = 0; i <= steps; ++i) made.values[static_cast<std::size_t>(i)] = of_node(i);
  return made;
}

/// One over the deviation of magnitudes whose mean is this one: the delta method.
double slope(const RisingTable& mean, double magnitude) {
  const double nu = magnitude <= mean.values[0] ? 0 : mean.where(std::min(magnitude, mean.values[steps]));
  const double m = mean_magnitude(nu);
  return 1 / std::sqrt(nu * nu + 2 - m * m);
}

/// Mean of a function of magnitudes, for a signal `nu`.
template <class Function>
double expectation(double nu, const Function& f) {
  constexpr double width = 7, fine = 1.0 / 32;
  const double first = std::max(nu - width, 0.0) + fine / 2;
  const int count = static_cast<int>(std::ceil((nu + width - first) / fine));
  double sum = 0, weights = 0;
  for (int i = 0; i < count; ++i) {
    const double m = first + i * fine;
    const double weight = m * std::exp(-(m - nu) * (m - nu) / 2) * bessel(0, m * nu);
    sum += weight * f(m);
    weights += weight;
  }
  return sum / weights;
}

void write(std::ostream& out, const char* name, const RisingTable& table) {
  out << "inline constexpr RisingTable " << name << "{{\n";
  for (const double value : table.values) out << std::hexfloat << value << ",\n";
  out << "}};\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: quietvox_generate_rician_tables FILE\n", stderr);
    return 2;
  }
  const RisingTable mean = table([](int i) { return mean_magnitude(i * step); });
  double sum = 0;
  const RisingTable forward = table([&](int i) {
    if (i > 0) sum += step * slope(mean, (i - 0.5) * step);
    return rounded(sum);
  });
  const double beyond = rounded(sum - std::sqrt(end * end - 0.5));
  const auto f = [&](double m) { return m < end ? forward.at(m) : std::sqrt(m * m - 0.5) + beyond; };
  const RisingTable expected = table([&](int i) { return rounded(expectation(i * step, f)); });

  std::ofstream out(argv[1]);
  out << "// Made by quietvox_generate_rician_tables.\n#pragma once\n\n"
      << "#include \"analysis/stabilisation/rising_table.hpp\"\n\nnamespace quietvox {\n";
  write(out, "rician_forward", forward);
  write(out, "rician_expected", expected);
  out << "inline constexpr double rician_beyond = " << std::hexfloat << beyond << ";\n}  // namespace quietvox\n";
  return out.flush() ? 0 : 1;
}
