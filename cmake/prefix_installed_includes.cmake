# SPDX-FileCopyrightText: The quietvox authors
# SPDX-License-Identifier: Apache-2.0
#
# Headers name each other by the folders of the source tree ("core/volume_view.hpp"). The installed ones, below
# `folder`, do so as users do (<quietvox/core/volume_view.hpp>), so that no folder called core or io comes into a user's
# include path.
file(GLOB_RECURSE headers ${folder}/*.h ${folder}/*.hxx ${folder}/*.hpp)
foreach(header ${headers})
  file(READ ${header} text)
  string(REGEX REPLACE "#include \"([a-z_]+/[^\"]+)\"" "#include <quietvox/\\1>" text "${text}")
  file(WRITE ${header} "${text}")
endforeach()
