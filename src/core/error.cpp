// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"

namespace quietvox {

std::string_view name_of(Errc code) {
  switch (code) {
    case Errc::invalid_argument: return "invalid_argument";
    case Errc::no_input: return "no_input";
    case Errc::input_path: return "input_path";
    case Errc::output_path: return "output_path";
    case Errc::not_writable: return "not_writable";
    case Errc::unsupported: return "unsupported";
    case Errc::corrupt: return "corrupt";
    case Errc::irregular: return "irregular";
    case Errc::exists: return "exists";
    case Errc::out_of_memory: return "out_of_memory";
    case Errc::device: return "device";
    case Errc::cancelled: return "cancelled";
    case Errc::internal: break;
  }
  return "internal";
}

}  // namespace quietvox
