// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
//
// every_filter FOLDER: writes a test for each ITK filter, which instantiates it whole, calls every setter, and runs it
// on images that are smaller than its window, from the parameter tables.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "filters/registry.hpp"
#include "itk_adapters/filters/setter_names.hpp"

namespace quietvox {
namespace {

/// A call of a setter, and the text that the parameter is to have afterwards.
void write_call(std::ostream& out, const FieldInfo& field, const std::string& call, const std::string& expected) {
  out << "  filter->" << call << ";\n"
      << "  EXPECT_EQ(get_field(filter->GetParameters(), \"" << field.name << "\"), \"" << expected << "\");\n"
      << "  EXPECT_EQ(text_of(filter->Get" << camel_case(field.name) << "()), \"" << expected << "\");\n";
}

void write_calls(std::ostream& out, const FieldInfo& field) {
  const std::string setter = "Set" + camel_case(field.name);
  const auto call = [&](const std::string& value, const std::string& expected) {
    write_call(out, field, setter + "(" + value + ")", expected);
  };
  const bool whole = field.kind == FieldKind::integer_triple;
  switch (field.kind) {
    case FieldKind::integer:
    case FieldKind::real: call(field.max, field.max); break;
    case FieldKind::integer_triple:
    case FieldKind::real_triple:
      for (const std::string& number : {field.min, field.max}) {
        const std::string all = number + "x" + number + "x" + number, three = number + ", " + number + ", " + number;
        call(number, all);
        call("{" + three + "}", all);
        call((whole ? "Triple<int>{" : "Triple<double>{") + three + "}", all);
        call((whole ? "itk::Size<3>{{" : "std::array<double, 3>{{") + three + "}}", all);
      }
      break;
    case FieldKind::choice:
      for (std::size_t i = 0; i < field.choices.size(); ++i) {
        call("static_cast<Unwrapped<std::remove_cvref_t<decltype(filter->Get" + camel_case(field.name) +
                 "())>>::Type>(" + std::to_string(i) + ")",
             field.choices[i]);
      }
      break;
    case FieldKind::flag:
      call("true", "true");
      write_call(out, field, camel_case(field.name) + "Off()", "false");
      write_call(out, field, camel_case(field.name) + "On()", "true");
      break;
    case FieldKind::text: call("\"a text\"", "a text"); break;
  }
  if (field.may_be_auto) write_call(out, field, setter + "ToAuto()", "auto");
  if (field.may_be_all) write_call(out, field, setter + "ToAll()", "all");
}

/// With the defaults, and with the largest window that can be asked for.
void write_small_images(std::ostream& out, const Filter& filter) {
  const std::string window(filter.window_field(filter.defaults));
  out << "\nTEST(SmallImages, Of" << camel_case(filter.name) << ") {\n"
      << "  FilterConfig settings(find_filter(\"" << filter.name << "\"));\n";
  const std::string check = "  test::expect_alike_on_small_images<" + camel_case(filter.name) +
                            "ImageFilter<itk::Image<float, 3>>>(settings);\n";
  out << check;
  for (const FieldInfo& field : filter.fields) {
    if (field.name != window || field.max.empty()) continue;
    out << "  settings.set(\"" << window << "\", \"" << field.max << "\");\n" << check;
  }
  out << "}\n";
}

void write_test(std::ostream& out, const Filter& filter) {
  const std::string name = camel_case(filter.name);
  out << "#include <gtest/gtest.h>\n#include \"itk/small_images.hpp\"\n#include \"filters/registry.hpp\"\n"
      << "#include \"quietvox" << name << "ImageFilter.h\"\n\nnamespace quietvox {\n\n";
  for (const char* images : {"itk::Image<float, 3>", "itk::Image<unsigned short, 2>", "itk::Image<double, 3>",
                             "itk::Image<int, 3>, itk::Image<unsigned char, 3>"}) {
    out << "template class " << name << "ImageFilter<" << images << ">;\n";
  }
  out << "\nnamespace {\n\ntemplate <class T>\nstd::string text_of(const T& value) {\n"
      << "  return FieldType<T>::format(value);\n}\n"
      << "\nTEST(EverySetter, Of" << name << ") {\n"
      << "  const auto filter = " << name << "ImageFilter<itk::Image<float, 3>>::New();\n";
  for (const FieldInfo& field : filter.fields) write_calls(out, field);
  out << "}\n";
  write_small_images(out, filter);
  out << "\n}  // namespace\n}  // namespace quietvox\n";
}

/// A file that stays as it is is not compiled again.
bool write_if_other(const std::string& path, const std::string& text) {
  std::ostringstream before;
  before << std::ifstream(path).rdbuf();
  return before.str() == text || (std::ofstream(path) << text).flush();
}

}  // namespace
}  // namespace quietvox

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  for (const quietvox::Filter& filter : quietvox::filters()) {
    std::string name(filter.name);
    std::ranges::replace(name, '-', '_');
    std::ostringstream test;
    quietvox::write_test(test, filter);
    if (!quietvox::write_if_other(std::string(argv[1]) + "/" + name + "_test.cxx", test.str())) return 1;
  }
  return 0;
}
