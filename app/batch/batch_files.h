// SPDX-License-Identifier: Apache-2.0
// The files that the cases of a batch read and write, checked so that no case depends on when
// another one runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "app/batch/batch_case.h"
#include "app/files/manifest.h"

namespace dmlop {

// A file that a line binds.
struct FileBinding {
  std::string path;    // including the manifest's folder
  std::string tensor;  // such as "InputTensor" or "OutputTensors[1]"
  int64_t line = 0;
  bool is_output = false;
  bool is_values = false;    // which are bound in place of a file, and the path is empty
  bool is_expected = false;  // the line has values that are expected of it
};

// Calls `visit` for each binding, in the manifest's order, and rewinds the manifest. Unreadable
// lines bind nothing.
void ForEachBinding(Manifest& manifest, const std::function<void(const FileBinding&)>& visit);

// Throws an Error of kind kUsage if a file that one case writes is written or read by another, or
// if a case uses the report (empty: none) or the manifest. Rewinds the manifest.
void RequireSeparateFiles(Manifest& manifest, const std::string& report,
                          const BatchSettings& settings);

}  // namespace dmlop
