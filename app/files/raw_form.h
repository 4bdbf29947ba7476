// Tensors in files of the command line, raw ones as it describes them.
#pragma once

#include <string>

#include "app/options/options.h"
#include "core/io/tensor_file.h"

namespace dmlop {

// What a .npy file holds, or a raw one, which the form has to describe. Throws an Error of kind
// kUsage for a form that breaks a rule of tensors.
LoadedTensor LoadAsFormed(const std::string& path, const RawForm& form,
                          Placement placement = Placement::kAligned);

struct LoadedPair {
  LoadedTensor actual, expected;
};

// Two tensors to be compared, which are not copied where the comparison can do without. Where
// shapes do not count, the actual one gets that of the expected one if it has as many elements.
LoadedPair LoadPair(const std::string& actual, const std::string& expected, const RawForms& forms,
                    FileShapes shapes);

}  // namespace dmlop
