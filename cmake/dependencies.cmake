# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# scripts/packages names the Debian 12 packages that hold these.
set(quietvox_want REQUIRED)
include(library_dependencies)
find_package(PNG REQUIRED)
pkg_check_modules(TCLAP REQUIRED IMPORTED_TARGET tclap)
