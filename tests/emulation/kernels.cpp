// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// The sources of cuda/ that the tests of this folder run, as C++.
#include "emulation/language.hpp"

#include "cuda/filters/bm4d/bm4d.cu"
#include "cuda/filters/common/copy.cu"
#include "cuda/filters/dct/dct.cu"
