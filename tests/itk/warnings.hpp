// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <itkOutputWindow.h>

#include <string>

namespace quietvox::test {

/// Keeps what ITK's classes warn of.
class Warnings : public itk::OutputWindow {
 public:
  using Self = Warnings;
  using Superclass = itk::OutputWindow;
  using Pointer = itk::SmartPointer<Self>;
  itkNewMacro(Self);
  void DisplayWarningText(const char* warning) override { text += warning; }
  std::string text;
};

}  // namespace quietvox::test
