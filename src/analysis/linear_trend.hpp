// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace quietvox {

/// How numbers go with others, as a straight line tells it (least squares).
class LinearTrend {
 public:
  void add(double x, double y) {
    ++count_;
    x_ += x;
    y_ += y;
    xx_ += x * x;
    xy_ += x * y;
    yy_ += y * y;
  }
  double slope() const { return together() / (count_ * xx_ - x_ * x_); }
  /// The share of the variance of y that does not go along.
  double rest() const { return 1 - slope() * together() / (count_ * yy_ - y_ * y_); }

 private:
  double together() const { return count_ * xy_ - x_ * y_; }

  double count_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0, yy_ = 0;
};

}  // namespace quietvox
