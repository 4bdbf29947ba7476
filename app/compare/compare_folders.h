// All tensor files of one folder beside those of the same names in another.
#pragma once

#include "app/exit_status.h"
#include "app/options/options.h"

namespace dmlop {

// Prints a table of the files that differ, the furthest off first, or a line of JSON for each file.
// A file that cannot be read, or that only one folder has, gives its status where none differs.
ExitStatus CompareFolders(const CompareOptions& options, const CommonOptions& common);

}  // namespace dmlop
