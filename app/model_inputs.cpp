#include "app/model_inputs.h"

#include "app/diagnostic_text.h"
#include "app/output.h"
#include "core/base/error.h"

namespace dmlop {

std::optional<ModelInputs> BindModelInputs(const ModelDocument& model, const std::string& folder,
                                           const Descriptor& descriptor,
                                           const CommonOptions& common, Diagnostics& diagnostics) {
  const auto print_diagnostics = [&] {
    diagnostics.SortByPlace();
    if (common.quiet && !diagnostics.has_errors()) return;
    PrintDiagnostics(diagnostics, descriptor.name, descriptor.text, UseColor(common.color));
  };
  std::optional<ModelResources> resources;
  try {
    resources.emplace(model, folder.empty() ? descriptor.folder : folder, diagnostics);
  } catch (const Error&) {
    print_diagnostics();
    if (diagnostics.has_errors()) return std::nullopt;  // they come first
    throw;
  }
  BoundModel bound = BindModel(model, *resources, diagnostics);
  print_diagnostics();
  if (diagnostics.has_errors()) return std::nullopt;
  return ModelInputs{*std::move(resources), std::move(bound)};
}

}  // namespace dmlop
