// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiles with -DINPUT=Stored and not with -DINPUT=Halved: what an adaptor makes of voxels would be passed over.
#include <itkImage.h>
#include <itkImageAdaptor.h>

#include "quietvoxMedianImageFilter.h"

struct Half {
  using InternalType = short;
  using ExternalType = float;
  static float Get(const short& voxel) { return 0.5F * voxel; }
  static void Set(short& voxel, const float& value) { voxel = static_cast<short>(2 * value); }
};

using Stored = itk::Image<short, 3>;
using Halved = itk::ImageAdaptor<Stored, Half>;
template class quietvox::MedianImageFilter<INPUT, itk::Image<float, 3>>;
