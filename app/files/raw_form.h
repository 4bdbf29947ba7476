// Tensors in files of the command line, raw ones as it describes them.
#pragma once

#include <string>

#include "app/options/options.h"
#include "core/io/tensor_file.h"

namespace dmlop {

// What a .npy file holds, or a raw one, which the form has to describe. Throws an Error of kind
// kUsage for a form that breaks a rule of tensors.
LoadedTensor LoadAsFormed(const std::string& path, const RawForm& form);

}  // namespace dmlop
