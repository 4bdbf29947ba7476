// SPDX-License-Identifier: Apache-2.0
// Compares all tensor files of one folder with those of the same names in another.
#pragma once

#include "app/exit_status.h"
#include "app/options/options.h"

namespace dmlop {

// Prints a table of the differing files, the furthest off first, or a line of JSON for each file.
// If no file differs, the status is that of a file that is unreadable or in only one of the
// folders.
ExitStatus CompareFolders(const CompareOptions& options, const CommonOptions& common);

}  // namespace dmlop
