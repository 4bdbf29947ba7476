// SPDX-License-Identifier: Apache-2.0
#include "app/files/file_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <functional>
#include <span>

#include "app/files/output.h"
#include "core/base/error.h"
#include "core/io/tensor_file.h"
#include "core/model/model_resources.h"

namespace dmlop {
namespace {

bool Exclude(const FileUse& a, const FileUse& b) {
  const bool in_place = a.writes != b.writes && a.is_tensor && b.is_tensor && a.owner == b.owner;
  const bool are_apart = a.own_name != 0 && b.own_name != 0 && a.own_name != b.own_name;
  return (a.writes || b.writes) && !in_place && !are_apart;
}

std::array<uint64_t, 2> HashOf(const std::string& identity) {
  const std::hash<std::string> hash;
  return {hash(identity), hash(identity + '/')};
}

}  // namespace

std::optional<NamedUse> UseOf(const std::string& path, const std::string& role, FileUse use,
                              FileIdentities& identities) {
  const std::string file = use.writes                ? path
                           : path == kStandardStream ? "/dev/stdin"
                                                     : FileOf(path);
  // A device such as /dev/stdin may be redirected to a file.
  const bool is_file = !IsDevice(file) || (file != kStandardStream && IsRegular(file));
  if (file.empty() || !is_file) return std::nullopt;
  try {
    use.file = HashOf(identities.Of(file));
  } catch (const std::exception&) {  // opening it will report the reason
    return std::nullopt;
  }
  return NamedUse{use, NameOfInput(path), role};
}

std::optional<std::pair<FileUse, FileUse>> FindConflict(std::vector<FileUse> uses) {
  std::sort(uses.begin(), uses.end());
  std::optional<std::pair<FileUse, FileUse>> conflict;
  const auto consider = [&](const FileUse& first, const FileUse& second) {
    if (!conflict || second.owner < conflict->second.owner) conflict = {first, second};
  };
  for (size_t begin = 0, end = 0; begin < uses.size(); begin = end) {
    while (end < uses.size() && uses[end].file == uses[begin].file) ++end;
    const std::span<const FileUse> group(&uses[begin], end - begin);
    // Whatever excludes another use of the group and writes also excludes its first writer.
    const auto writer =
        std::find_if(group.begin(), group.end(), [](const FileUse& use) { return use.writes; });
    if (writer == group.end()) continue;
    for (const FileUse& other : group) {
      if (&other == &*writer || !Exclude(*writer, other)) continue;
      consider(std::min(*writer, other), std::max(*writer, other));
    }
  }
  return conflict;
}

std::string ConflictText(const NamedUse& first, const NamedUse& second) {
  if (first.use.writes && !second.use.writes) return ConflictText(second, first);
  const std::string other = second.path == first.path ? "" : fmt::format(" ({})", second.path);
  return fmt::format("{} {} as {} and {} as {}{}", first.path,
                     first.use.writes ? "would be written" : "is read", first.role,
                     first.use.writes ? "also" : "would be written", second.role, other);
}

void FileRoles::Add(const std::string& path, const std::string& role, bool writes, bool is_tensor) {
  FileIdentities identities;
  auto use = UseOf(path, role, {.file = {}, .writes = writes, .is_tensor = is_tensor}, identities);
  if (use) uses_.push_back(*std::move(use));
}

void FileRoles::RequireSeparate() const {
  std::vector<FileUse> uses;
  for (const NamedUse& named : uses_) uses.push_back(named.use);
  const auto conflict = FindConflict(std::move(uses));
  if (!conflict) return;
  // Both may be the same use under different names.
  const auto first = std::find_if(uses_.begin(), uses_.end(), [&](const NamedUse& named) {
    return named.use == conflict->first;
  });
  const auto second = std::find_if(uses_.rbegin(), uses_.rend(), [&](const NamedUse& named) {
    return named.use == conflict->second;
  });
  throw Error(ErrorKind::kUsage, ConflictText(*first, *second));
}

// --- confinement ---------------------------------------------------------------------------------

namespace {

bool CheckPath(const std::string& path, const std::string& folder, JsonCursor place,
               Diagnostics& diagnostics) {
  if (LiesIn(FileOf(path), folder)) return true;
  diagnostics.Error(
      "DOC-5", place.pointer(),
      fmt::format("'{}' leads out of {}, to which --confine keeps this document", path, folder),
      place.offset());
  return false;
}

}  // namespace

bool MayOpen(const std::string& path, const Confinement& confinement, JsonCursor place,
             Diagnostics& diagnostics) {
  return confinement.folder.empty() || CheckPath(path, confinement.folder, place, diagnostics);
}

bool MayDerive(const std::string& path, const Confinement& confinement, JsonCursor place,
               Diagnostics& diagnostics) {
  const std::string& outputs = confinement.output_folder;
  const bool is_new = !outputs.empty() && !std::filesystem::exists(outputs);
  if (is_new || (!outputs.empty() && LiesIn(FileOf(path), outputs))) return true;
  return MayOpen(path, confinement, place, diagnostics);
}

bool CheckConfinement(const OperatorDocument& document, const Confinement& confinement,
                      Diagnostics& diagnostics) {
  if (confinement.folder.empty()) return true;
  bool is_confined = true;
  for (const auto& [tensor, binding] : document.bindings()) {
    if (binding.values || binding.path == kStandardStream) continue;
    is_confined &= CheckPath(binding.path, confinement.folder, *binding.place, diagnostics);
  }
  return is_confined;
}

bool CheckConfinement(const ModelDocument& model, const Confinement& confinement,
                      const std::string& model_folder, Diagnostics& diagnostics) {
  if (confinement.folder.empty()) return true;
  bool is_confined = true;
  const std::string& inputs =
      confinement.input_folder.empty() ? model_folder : confinement.input_folder;
  for (const ModelResource& resource : model.resources()) {
    const auto* file = std::get_if<InitialValues::File>(&resource.initial_values.source);
    if (file == nullptr) continue;
    is_confined &= CheckPath(SourcePath(file->source_path, inputs), confinement.folder, file->place,
                             diagnostics);
  }
  for (const ModelCommand& command : model.commands()) {
    const auto* write = std::get_if<WriteFileCommand>(&command.what);
    if (write == nullptr) continue;
    is_confined &=
        CheckPath(PathIn(confinement.output_folder, write->target_path), confinement.folder,
                  command.place.Find("targetPath").value_or(command.place), diagnostics);
  }
  return is_confined;
}

}  // namespace dmlop
