// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "emulation/language.hpp"

#include "cuda/filters/common/copy.cu"
