// Which files the cases of a batch read and write, so that no case depends on when another runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "app/batch/manifest.h"
#include "app/batch/output_folder.h"
#include "core/compare/alignment.h"

namespace dmlop {

// A file that a line binds.
struct FileBinding {
  std::string path;    // with the manifest's folder
  std::string tensor;  // "InputTensor", "OutputTensors[1]"
  int64_t line = 0;
  bool is_output = false;
};

// Calls `visit` for each of them, in the order of the manifest, which is left at its beginning.
// Lines that cannot be read bind nothing.
void ForEachBinding(Manifest& manifest, const std::function<void(const FileBinding&)>& visit);

// Throws an Error of kind kUsage where a file that one case writes is written or read by another,
// or where the report (empty: none) or the manifest is used by a case too. Cases that only compare
// write nothing; `compared` is the side of the outputs' files then. Leaves the manifest at its
// beginning.
void RequireSeparateFiles(Manifest& manifest, const std::string& report,
                          const OutputFolder& output_folder, std::optional<Side> compared);

}  // namespace dmlop
