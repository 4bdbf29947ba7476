// SPDX-License-Identifier: Apache-2.0
// Tensors in files of the command line, which describes raw ones.
#pragma once

#include <string>

#include "app/options/options.h"
#include "core/io/tensor_file.h"

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

}  // namespace dmlop
