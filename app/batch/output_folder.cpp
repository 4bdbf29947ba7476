#include "app/batch/output_folder.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "app/batch/batch_files.h"
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

}  // namespace

OutputFolder::OutputFolder(Manifest& manifest, const std::string& folder) : folder_(folder) {
  std::optional<fs::path> common;
  ForEachBinding(manifest, [&](const FileBinding& binding) {
    if (!binding.is_output || binding.is_values || IsStream(binding.path)) return;
    const fs::path parent = Normal(binding.path).parent_path();
    common = common ? CommonOf(*common, parent) : parent;
  });
  common_ = common.value_or("").string();
}

void OutputFolder::RequireThere() const {
  std::error_code ignored;
  if (folder_.empty() || fs::is_directory(folder_, ignored)) return;
  throw Error(ErrorKind::kFileSystem, folder_ + ": no such folder");
}

std::string OutputFolder::Moved(const std::string& path) const {
  if (folder_.empty() || path.empty() || IsStream(path)) return path;
  return (fs::path(folder_) / Normal(path).lexically_relative(common_)).string();
}

}  // namespace dmlop
