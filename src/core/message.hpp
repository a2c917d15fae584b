// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace quietvox {

/// A parameter that a message speaks of, with a value where one is to be given: `radius`, `backend` `cpu`. Whoever
/// shows the message spells it: `--backend cpu` on a command line, `SetBackend("cpu")` in ITK.
struct Parameter {
  std::string name, value{};

  std::string text() const { return value.empty() ? name : name + " " + value; }
};

/// A line of text for people, in which parameters are data.
class Message {
 public:
  Message() = default;
  Message(std::string text) {
    if (!text.empty()) parts_.emplace_back(std::move(text));
  }
  Message(const char* text) : Message(std::string(text)) {}
  Message(Parameter parameter) : parts_{std::move(parameter)} {}

  using Part = std::variant<std::string, Parameter>;
  explicit Message(std::vector<Part> parts) : parts_(std::move(parts)) {}

  bool empty() const { return parts_.empty(); }
  const std::vector<Part>& parts() const { return parts_; }

  /// The text, its parameters written by spell(parameter).
  template <class Spell>
  std::string text(const Spell& spell) const {
    std::string line;
    for (const auto& part : parts_) {
      const auto* const parameter = std::get_if<Parameter>(&part);
      line += parameter ? spell(*parameter) : std::get<std::string>(part);
    }
    return line;
  }
  /// The text, its parameters written as they are called.
  std::string text() const {
    return text([](const Parameter& parameter) { return parameter.text(); });
  }

  /// The first parameter in it, or null.
  const Parameter* parameter() const {
    for (const auto& part : parts_) {
      if (const auto* const parameter = std::get_if<Parameter>(&part)) return parameter;
    }
    return nullptr;
  }

  Message& operator+=(const Message& other) {
    parts_.insert(parts_.end(), other.parts_.begin(), other.parts_.end());
    return *this;
  }

 private:
  std::vector<Part> parts_;
};

inline Message operator+(Message first, const Message& second) { return first += second; }

}  // namespace quietvox
