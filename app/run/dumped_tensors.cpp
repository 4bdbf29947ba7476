// SPDX-License-Identifier: Apache-2.0
#include "app/run/dumped_tensors.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "app/run/kept_tensors.h"
#include "core/base/error.h"
#include "core/io/tensor_path.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

// Replaces the characters of a name that some writers leave out of file names.
std::string Plain(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < 0x80 && std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace

DumpedTensors::DumpedTensors(const std::string& folder) : folder_(folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) throw Error(ErrorKind::kFileSystem, folder + ": " + error.message());
  std::ranges::sort(names);
  for (const std::string& name : names) {
    if (!FormatByExtension(name)) continue;
    const NumberedStem stem = TakeApart(name);
    by_name_[Plain(stem.name)].push_back({stem.number, (fs::path(folder) / name).string()});
  }
}

const DumpedTensors::File* DumpedTensors::Find(std::string_view name,
                                               std::string_view number) const {
  const auto found = by_name_.find(Plain(InFileName(std::string(name))));
  if (found == by_name_.end()) return nullptr;
  const std::vector<File>& files = found->second;
  const auto same = std::ranges::find(files, number, &File::number);
  return same != files.end() ? &*same : &files.back();
}

std::string DumpedTensors::FileOf(const RunnableModel& model, size_t number) const {
  const std::vector<FilledTensors::One>& all = model.filled.all();
  const FilledTensors::One& one = all[number];
  const std::string numbered = NumberedName(number + 1, all.size(), "");
  const std::string_view digits = std::string_view(numbered).substr(0, numbered.size() - 1);
  std::vector<std::string> names = {one.name, one.full_name};
  if (one.form) names.push_back(one.form->name);
  for (std::string& name : model.OtherNamesOf(number)) names.push_back(std::move(name));
  for (const std::string& name : names) {
    if (const File* file = Find(name, digits)) return file->path;
  }
  return "";
}

std::string DumpedTensors::FileOf(const std::string& name) const {
  const File* file = Find(name, "");
  return file == nullptr ? "" : file->path;
}

}  // namespace dmlop
