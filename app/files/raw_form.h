// SPDX-License-Identifier: Apache-2.0
// Tensors in files of the command line, which describes raw ones.
#pragma once

#include <string>
#include <vector>

#include "app/options/options.h"
#include "core/io/tensor_file.h"
#include "core/tensor/slice.h"

namespace dmlop {

// Loads a .npy file, or a raw file that the form describes. Throws an Error of kind kUsage if the
// form breaks a rule of tensors.
LoadedTensor LoadAsFormed(const std::string& path, const RawForm& form,
                          Placement placement = Placement::kAligned);

struct LoadedPair {
  LoadedTensor actual, expected;
};

// Loads two tensors for comparison, which are not copied if the comparison can do without. If
// shapes do not count, the actual tensor gets the shape of an expected one with as many elements.
LoadedPair LoadPair(const std::string& actual, const std::string& expected, const RawForms& forms,
                    FileShapes shapes);

// --- files with slices of their tensors ----------------------------------------------------------

struct SlicedFile {
  std::string path;
  std::vector<std::string> slices;
};

// Slices begin with '[' and follow their file. Throws an Error of kind kUsage if it is missing.
std::vector<SlicedFile> SlicedFilesOf(const std::vector<std::string>& arguments);

// Tells why a slice of a file does not fit, with a caret below the place.
void PrintSliceError(const std::string& path, const std::string& slice, const SliceError& error,
                     bool color);

}  // namespace dmlop
