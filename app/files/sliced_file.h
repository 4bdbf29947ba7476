// SPDX-License-Identifier: Apache-2.0
// Files of the command line with slices of their tensors.
#pragma once

#include <string>
#include <vector>

#include "core/tensor/slice.h"

namespace dmlop {

struct SlicedFile {
  std::string path;
  std::vector<std::string> slices;
};

// Slices begin with '[' and follow their file. Throws an Error of kind kUsage if the first one
// follows none.
std::vector<SlicedFile> SlicedFilesOf(const std::vector<std::string>& arguments);

// Tells why a slice of a file does not fit, with a caret below the place.
void PrintSliceError(const std::string& path, const std::string& slice, const SliceError& error,
                     bool color);

}  // namespace dmlop
