# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# Debian 12 packages: libinsighttoolkit5-dev libdcmtk-dev libtclap-dev libtbb-dev libhwy-dev libopenjp2-7-dev libssl-dev
# zlib1g-dev libpng-dev libgtest-dev libbenchmark-dev (scripts/packages names them all).
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(PNG REQUIRED)
find_package(DCMTK REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(TCLAP REQUIRED IMPORTED_TARGET tclap)
find_package(nlohmann_json 3 REQUIRED)
