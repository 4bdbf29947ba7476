// Files on the command line that are bound to tensors.
#pragma once

#include <string>

namespace dmlop {

// "[NAME=]FILE" taken apart; NAME is a path such as "InputTensors/0", or empty.
struct FileArgument {
  std::string name;
  std::string path;

  static FileArgument Parse(const std::string& text);
};

bool FileExists(const std::string& path);

}  // namespace dmlop
