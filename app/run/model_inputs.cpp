// SPDX-License-Identifier: Apache-2.0
#include "app/run/model_inputs.h"

#include <fmt/format.h>

#include "app/files/output.h"
#include "app/text/diagnostic_text.h"
#include "core/model/model_bindings.h"

namespace dmlop {

std::optional<ModelInputs> BindModelInputs(const ModelDocument& model, const std::string& folder,
                                           Diagnostics& diagnostics) {
  ModelResources resources(model, folder, diagnostics);
  BoundModel bound = BindModel(model, resources, diagnostics);
  if (!diagnostics.has_errors()) CheckMemory(model, resources, bound, diagnostics);
  diagnostics.SortByPlace();
  if (diagnostics.has_errors()) return std::nullopt;
  return ModelInputs{std::move(resources), std::move(bound)};
}

std::optional<ModelInputs> BindModelInputs(const ModelDocument& model, const std::string& folder,
                                           const Descriptor& descriptor,
                                           const CommonOptions& common, Diagnostics& diagnostics) {
  auto inputs = BindModelInputs(model, folder.empty() ? descriptor.folder : folder, diagnostics);
  if (!common.quiet || !inputs) {
    PrintDiagnostics(diagnostics, descriptor.name, descriptor.text, UseColor(common.color));
  }
  return inputs;
}

std::string RoleOf(const ModelResource& resource) {
  return fmt::format("resource '{}'", resource.name);
}

void AddSources(const ModelDocument& model, const ModelResources& resources, FileRoles& roles) {
  for (const ModelDispatchable& dispatchable : model.dispatchables()) {
    for (const ModelFile& file : dispatchable.files) {
      roles.Reads(file.path, fmt::format("the graph '{}'", dispatchable.name));
    }
  }
  for (const ModelResources::SourceFile& source : resources.files()) {
    roles.ReadsTensor(source.path, RoleOf(model.resources()[source.resource]));
  }
}

}  // namespace dmlop
