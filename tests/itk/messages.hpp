// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <itkOutputWindow.h>

#include <functional>
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

/// What a filter warns of while it runs.
template <class Filter>
std::string warnings_of(const Filter& filter) {
  const auto warnings = Warnings::New();
  itk::OutputWindow::SetInstance(warnings);
  filter->Update();
  itk::OutputWindow::SetInstance(nullptr);
  return warnings->text;
}

/// Of the exception that an action ends with.
inline std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const itk::ExceptionObject& error) {
    return error.GetDescription();
  }
  return "no exception";
}

}  // namespace quietvox::test
