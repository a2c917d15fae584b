// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// filter_headers FOLDER: writes quietvox<Filter>ImageFilter.h for every filter of the registry, from its parameter
// table, and removes those of filters that are gone. Files that are up to date are not touched.
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>
#include <vector>

#include "filters/registry.hpp"
#include "itk_adapters/filters/setter_names.hpp"

namespace quietvox {
namespace {

void write_members(std::ostream& out, const std::string& params, const FieldInfo& field) {
  const std::string name = camel_case(field.name), member = params + "::" + snake_case(field.name);
  const auto setter = [&](const std::string& suffix, const std::string& parameter, const std::string& value) {
    out << "  void Set" << name << suffix << '(' << parameter << ") {\n"
        << "    this->template SetField<&" << member << ">(" << value << ");\n  }\n";
  };
  out << "\n  /** " << field.help << '\n'
      << (field.unit.empty() ? "" : "   * Unit: " + field.unit + ".\n")
      << "   * Allowed: " << field.allowed("one per axis") << ". Default: " << field.default_text << ". */\n";
  setter("", "const decltype(" + member + ")& value", "value");
  if (field.kind == FieldKind::integer_triple || field.kind == FieldKind::real_triple) {
    const std::string number = field.kind == FieldKind::integer_triple ? "int" : "double";
    if (field.may_be_auto || field.may_be_all) setter("", "const Triple<" + number + ">& value", "value");
    out << "  template <PerAxis<TInputImage::ImageDimension> TValue>\n";
    setter("", "const TValue& value", "this->template ToTriple<" + number + ">(value)");
  }
  if (field.may_be_auto) setter("ToAuto", "", "std::nullopt");
  if (field.may_be_all) {
    // clang 14 does not take the name of the member alone for its type here.
    const std::string type = "decltype(" + params + "()." + snake_case(field.name) + ")";
    setter("ToAll", "", field.may_be_auto ? "typename " + type + "::value_type()" : "std::nullopt");
  }
  if (field.kind == FieldKind::flag) {
    out << "  void " << name << "On() { this->Set" << name << "(true); }\n"
        << "  void " << name << "Off() { this->Set" << name << "(false); }\n";
  }
  out << "  const decltype(" << member << ")& Get" << name << "() const { return this->GetParameters()."
      << snake_case(field.name) << "; }\n";
}

std::string header(const Filter& filter) {
  const std::string name = camel_case(filter.name) + "ImageFilter", params = camel_case(filter.name) + "Params";
  const std::string file = snake_case(filter.name), guard = "quietvox" + name + "_h";
  std::ostringstream out;
  out << "// SPDX-FileCopyrightText: The quietvox authors\n// SPDX-License-Identifier: Apache-2.0\n"
      << "// Made from the parameter table in filters/" << file << ".hpp.\n"
      << "#ifndef " << guard << "\n#define " << guard << "\n\n"
      << "#include \"filters/" << file << ".hpp\"\n#include \"quietvoxImageFilterBase.h\"\n\nnamespace quietvox {\n\n"
      << "/** \\class " << name << "\n * \\brief " << filter.summary << "\n *\n"
      << " * See " << params << " for the formula, and ImageFilterBase for what all filters share. */\n"
      << "template <typename TInputImage, typename TOutputImage = TInputImage>\n"
      << "class " << name << " : public ImageFilterBase<TInputImage, TOutputImage, " << params << "> {\n public:\n"
      << "  ITK_DISALLOW_COPY_AND_MOVE(" << name << ");\n\n"
      << "  using Self = " << name << ";\n"
      << "  using Superclass = ImageFilterBase<TInputImage, TOutputImage, " << params << ">;\n"
      << "  using Pointer = itk::SmartPointer<Self>;\n  using ConstPointer = itk::SmartPointer<const Self>;\n\n"
      << "  itkNewMacro(Self);\n  itkTypeMacro(" << name << ", ImageFilterBase);\n";
  for (const FieldInfo& field : filter.fields) write_members(out, params, field);
  out << "\n protected:\n  " << name << "() = default;\n  ~" << name << "() override = default;\n};\n\n"
      << "}  // namespace quietvox\n\n#endif\n";
  return out.str();
}

void write_if_changed(const std::filesystem::path& path, const std::string& text) {
  std::ifstream old(path);
  if (old && std::string(std::istreambuf_iterator<char>(old), {}) == text) return;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw Error(Errc::not_writable, path.string() + ": cannot be written");
}

}  // namespace
}  // namespace quietvox

int main(int argc, char** argv) try {
  namespace fs = std::filesystem;
  if (argc != 2) throw quietvox::Error(quietvox::Errc::invalid_argument, "usage: filter_headers FOLDER");
  const fs::path folder = argv[1];
  fs::create_directories(folder);
  std::set<fs::path> made;
  for (const auto& filter : quietvox::filters()) {
    const fs::path path = folder / ("quietvox" + quietvox::camel_case(filter.name) + "ImageFilter.h");
    quietvox::write_if_changed(path, quietvox::header(filter));
    made.insert(path);
  }
  // Filters that are gone leave nothing that would be installed.
  for (const auto& entry : std::vector(fs::directory_iterator(folder), fs::directory_iterator())) {
    if (!made.contains(entry.path())) fs::remove(entry.path());
  }
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
