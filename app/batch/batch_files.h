// Which files the cases of a batch read and write, so that no case depends on when another runs.
#pragma once

#include <string>

#include "app/batch/manifest.h"

namespace dmlop {

// Throws an Error of kind kUsage where a file that one case writes is written or read by another,
// or where the report (empty: none) or the manifest is used by a case too. Cases that are only
// checked write nothing. Leaves the manifest at its beginning. Lines that cannot be read use
// nothing.
void RequireSeparateFiles(Manifest& manifest, const std::string& report, bool only_check);

}  // namespace dmlop
