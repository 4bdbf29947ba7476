// SPDX-License-Identifier: Apache-2.0
#include "app/batch/output_folder.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "app/batch/batch_files.h"
#include "app/fuzz/case_folder.h"
#include "core/base/error.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

fs::path CommonOf(const fs::path& a, const fs::path& b) {
  fs::path common;
  const auto [end, ignored] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  for (auto part = a.begin(); part != end; ++part) common /= *part;
  return common;
}

fs::path Normal(const std::string& path) {
  return fs::absolute(path).lexically_normal();
}

// The folder above all outputs but those with expected values, where these are not to be read.
fs::path FolderAbove(Manifest& manifest, bool reads_expected) {
  std::optional<fs::path> common;
  ForEachBinding(manifest, [&](const FileBinding& binding) {
    if (!binding.is_output || binding.is_values || IsStream(binding.path)) return;
    if (binding.is_expected && !reads_expected) return;
    const fs::path parent = Normal(binding.path).parent_path();
    common = common ? CommonOf(*common, parent) : parent;
  });
  return common.value_or("");
}

}  // namespace

OutputFolder::OutputFolder(Manifest& manifest, const std::string& folder)
    : folder_(folder), common_(FolderAbove(manifest, /*reads_expected=*/true).string()) {}

void OutputFolder::FindOutputs(Manifest& manifest, bool is_check) {
  const fs::path folder =
      folder_.empty() ? FolderAbove(manifest, /*reads_expected=*/!is_check) : fs::path(folder_);
  std::error_code ignored;
  if (folder.empty() || fs::is_directory(folder, ignored)) {
    if (!folder_.empty() && !HasOutputs(manifest)) TakePathsFromManifest(manifest);
    return;
  }
  const fs::path shown = folder_.empty() ? folder.lexically_proximate(Normal(".")) : folder;
  throw Error(ErrorKind::kFileSystem, shown.string() + ": no such folder");
}

bool OutputFolder::HasOutputs(Manifest& manifest) const {
  bool has_some = false;
  ForEachBinding(manifest, [&](const FileBinding& binding) {
    if (!binding.is_output || binding.is_values) return;
    std::error_code ignored;
    const fs::path path = Moved(binding.path);
    has_some |=
        fs::exists(path, ignored) || fs::exists(path.parent_path() / kUnsupportedFile, ignored);
  });
  return has_some;
}

void OutputFolder::TakePathsFromManifest(Manifest& manifest) {
  OutputFolder other = *this;
  other.common_ = Normal(manifest.folder().empty() ? "." : manifest.folder()).string();
  if (other.HasOutputs(manifest)) *this = other;
}

std::string OutputFolder::Moved(const std::string& path) const {
  if (folder_.empty() || path.empty() || IsStream(path)) return path;
  return (fs::path(folder_) / Normal(path).lexically_relative(common_)).string();
}

}  // namespace dmlop
