// SPDX-License-Identifier: Apache-2.0
// Parses files on the command line that are bound to tensors.
#pragma once

#include <string>

namespace dmlop {

// The parts of "[NAME=]FILE"; NAME is a path such as "InputTensors/0", or empty.
struct FileArgument {
  std::string name;
  std::string path;

  static FileArgument Parse(const std::string& text);
};

bool FileExists(const std::string& path);

}  // namespace dmlop
