// SPDX-License-Identifier: Apache-2.0
#include "app/files/sliced_file.h"

#include <fmt/format.h>

#include <string_view>

#include "app/files/output.h"
#include "app/text/diagnostic_text.h"
#include "core/base/error.h"

namespace dmlop {

std::vector<SlicedFile> SlicedFilesOf(const std::vector<std::string>& arguments) {
  std::vector<SlicedFile> files;
  for (const std::string& argument : arguments) {
    if (!argument.starts_with('[')) {
      files.push_back({argument, {}});
      continue;
    }
    const std::string slice = argument.substr(0, argument.find_last_not_of(' ') + 1);
    if (files.empty()) {
      throw Error(
          ErrorKind::kUsage,
          fmt::format("the slice {0} has no file before it; a file of that name is ./{0}", slice));
    }
    files.back().slices.push_back(slice);
  }
  return files;
}

void PrintSliceError(const std::string& path, const std::string& slice, const SliceError& error,
                     bool color) {
  const std::string_view paint = color ? kErrorPaint : "";
  PrintMessage(fmt::format("dmlop: {}: {}\n{}", Printable(path), error.what(),
                           CaretText(slice, error.offset(), "  ", "  ", paint)));
}

}  // namespace dmlop
