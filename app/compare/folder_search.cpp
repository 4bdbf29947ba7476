// SPDX-License-Identifier: Apache-2.0
#include "app/compare/folder_search.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "app/files/output.h"
#include "core/io/npz.h"
#include "core/io/tensor_file.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

// True if the link leads to a folder that it lies in; `depth` folders lie between it and the first
// one searched.
bool LeadsBack(const fs::path& link, int depth) {
  fs::path above = link;
  for (int i = 0; i <= depth; ++i) {
    above = above.parent_path();
    if (LiesIn(above, link)) return true;
  }
  return false;
}

// The kind of a special file, which is not opened unless it is named, because it may have no end;
// empty for other files.
std::string_view SpecialKind(fs::file_type type) {
  if (type == fs::file_type::fifo) return "a pipe";
  if (type == fs::file_type::socket) return "a socket";
  const bool is_device = type == fs::file_type::character || type == fs::file_type::block;
  return is_device ? "a device" : "";
}

}  // namespace

std::set<std::string> FolderSearch::FilesBelow(const std::string& folder) {
  AddBelow(folder, "", 0);
  if (const auto self = unreadable_.find(""); self != unreadable_.end()) throw Error(self->second);
  return std::move(names_);
}

void FolderSearch::AddBelow(const fs::path& folder, const std::string& name, int depth) {
  std::error_code error;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    AddEntry(*at, (fs::path(name) / at->path().filename()).string(), depth);
  }
  if (error) Refuse(name, fmt::format("{}: cannot be read: {}", folder.string(), error.message()));
}

void FolderSearch::AddEntry(const fs::directory_entry& entry, const std::string& name, int depth) {
  std::error_code ignored;  // whatever has no status cannot be opened, either
  const fs::file_type type = entry.status(ignored).type();
  if (type == fs::file_type::directory) {
    const bool leads_back = entry.is_symlink() && LeadsBack(entry.path(), depth);
    if (!leads_back) AddBelow(entry.path(), name, depth + 1);
  } else if (IsNpz(name) || HasTensorExtension(name)) {
    AddFile(entry.path().string(), name, type);
  }
}

void FolderSearch::AddFile(const std::string& path, const std::string& name, fs::file_type type) {
  const bool is_left_out = !IsNpz(name) && FormatOf(name) == FileFormat::kRaw && !raw_.type;
  const std::string_view kind = SpecialKind(type);
  if (!kind.empty() && !is_left_out) {
    Refuse(name, fmt::format("{}: is {}, not a file", path, kind));
  } else if (IsNpz(name)) {
    AddArrays(path, name);
  } else {
    names_.insert(name);
  }
}

void FolderSearch::AddArrays(const std::string& archive, const std::string& name) {
  try {
    for (const std::string& array : ArraysOf(archive)) names_.insert(name + ":" + array);
  } catch (const Error& error) {
    unreadable_.emplace(name, error);
  }
}

void FolderSearch::Refuse(const std::string& name, const std::string& message) {
  unreadable_.emplace(name, Error(ErrorKind::kFileSystem, message));
}

}  // namespace dmlop
