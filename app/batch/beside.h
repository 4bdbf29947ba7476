// Names of the files that belong to the outputs of a batch.
#pragma once

#include <string>

namespace dmlop {

// Where an input whose values a line states is written: beside the first output, "out.npy", as
// "out.InputTensors-1.npy" where the tensor is called "InputTensors/1" or "InputTensors[1]", or as
// a raw file where the output is one. Empty where the output is a device or has no file.
std::string InputPathBeside(const std::string& output, const std::string& tensor);

// The file or, where it is not there, the first that has its name and another extension of tensors:
// a device that knows no .npy files writes x.bin for x.npy. The file itself where neither is there.
std::string FileOrStandIn(const std::string& path);

// The path without extension of the output that a file of such a name is written beside, "out" of
// "out.InputTensors-1.npy". Empty for other names.
std::string OutputBeside(const std::string& input);

}  // namespace dmlop
