// SPDX-License-Identifier: Apache-2.0
#include "app/files/confinement.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/io/file.h"
#include "core/io/tensor_file.h"
#include "core/model/model_resources.h"

namespace dmlop {
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
