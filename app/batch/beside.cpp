// SPDX-License-Identifier: Apache-2.0
#include "app/batch/beside.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "core/document/file_argument.h"
#include "core/io/file.h"
#include "core/io/temporary_file.h"
#include "core/io/tensor_file.h"

namespace dmlop {

namespace fs = std::filesystem;

std::string InputPathBeside(const std::string& output, const std::string& tensor) {
  if (output.empty() || IsStream(output)) return "";
  std::string name = tensor;
  std::erase(name, ']');
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == '['; }, '-');
  const fs::path path = output;
  return fmt::format("{}.{}{}", (path.parent_path() / path.stem()).string(), name,
                     IsRaw(output) ? path.extension().string() : ".npy");
}

std::string FileOrStandIn(const std::string& path) {
  if (FileExists(path) || !HasTensorExtension(path)) return path;
  for (const TensorExtension& known : kTensorExtensions) {
    const std::string other = fs::path(path).replace_extension(known.extension).string();
    if (FileExists(other)) return other;
  }
  return path;
}

// A hard link takes the place of the file by renaming, as outputs do.
void WrittenInputs::Share(const std::string& path, const std::string& hash) {
  std::string first;
  {
    const std::lock_guard lock(mutex_);
    first = paths_.try_emplace(hash, path).first->second;
  }
  std::error_code ignored;
  if (first == path || IsStream(path) || fs::is_symlink(path, ignored)) return;
  const std::string link = MakeHiddenFile(
      fs::path(path).parent_path().string(),
      [&](const std::string& hidden) { return ::link(first.c_str(), hidden.c_str()) == 0; });
  if (link.empty()) return;
  const TemporaryPath removed(link);
  fs::rename(link, path, ignored);
}

std::string OutputBeside(const std::string& input) {
  const fs::path path = input;
  const fs::path stem = path.parent_path() / path.stem();
  const std::string extension = stem.extension().string();
  const std::string_view tensor = std::string_view(extension).substr(0, extension.find('-'));
  const bool is_input =
      (tensor.ends_with("Tensor") || tensor.ends_with("Tensors")) && !tensor.starts_with(".Output");
  if (!HasTensorExtension(input) || !is_input) return "";
  return (stem.parent_path() / stem.stem()).string();
}

}  // namespace dmlop
