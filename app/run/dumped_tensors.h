// SPDX-License-Identifier: Apache-2.0
// A folder with the tensors of a model that a device has dumped, each in a file with its name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/run/runnable_model.h"

namespace dmlop {

class DumpedTensors {
 public:
  // Lists the folder. Throws an Error of kind kFileSystem if it cannot be read.
  explicit DumpedTensors(const std::string& folder);

  const std::string& folder() const { return folder_; }

  // The file of a tensor that an operator fills, named as run --keep-all does, with the same number
  // or any other one, or by the tensor alone; empty if there is none. Characters that are neither
  // letters nor digits may be replaced.
  std::string FileOf(const RunnableModel& model, size_t number) const;

  // The file of a tensor that the model begins with.
  std::string FileOf(const std::string& name) const;

 private:
  struct File {
    std::string number;  // that its name begins with
    std::string path;
  };

  const File* Find(std::string_view name, std::string_view number) const;

  std::string folder_;
  std::map<std::string, std::vector<File>, std::less<>> by_name_;
};

}  // namespace dmlop
