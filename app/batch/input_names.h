// Names of the inputs that a batch writes beside the outputs.
#pragma once

#include <string>

namespace dmlop {

// Where an input whose values a line states is written: beside the first output, "out.npy", as
// "out.InputTensors-1.npy" where the tensor is called "InputTensors/1" or "InputTensors[1]". Empty
// where the output is a device.
std::string InputPathBeside(const std::string& output, const std::string& tensor);

// The path without extension of the output that a file of such a name is written beside, "out" of
// "out.InputTensors-1.npy". Empty for other names.
std::string OutputBeside(const std::string& input);

}  // namespace dmlop
