// SPDX-License-Identifier: Apache-2.0
// Names of files that belong to the outputs of a batch.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

namespace dmlop {

// The path to which an input's values are written: next to the first output, "out.npy", as
// "out.InputTensors-1.npy" for a tensor called "InputTensors/1" or "InputTensors[1]". Empty if the
// output is a device or has no file.
std::string InputPathBeside(const std::string& output, const std::string& tensor);

// The file or, if it does not exist, the first file with its name and another tensor extension: a
// device that does not know .npy writes x.bin for x.npy. Returns `path` if neither exists.
std::string FileOrStandIn(const std::string& path);

// The input files that a batch has written, by their content, so that equal ones are stored once.
// Any thread may use it.
class WrittenInputs {
 public:
  // Makes the file another name of an earlier one with this hash, where the file system can; the
  // first one with it is kept as it is.
  void Share(const std::string& path, const std::string& hash);

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::string> paths_;  // by hash
};

// The path, without extension, of the output next to which an input of such a name is written:
// "out" for "out.InputTensors-1.npy". Empty for other names.
std::string OutputBeside(const std::string& input);

}  // namespace dmlop
