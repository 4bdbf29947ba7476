// What a model works on, for the commands that run one.
#pragma once

#include <optional>
#include <string>

#include "app/files/descriptor.h"
#include "app/files/file_roles.h"
#include "core/model/model_bindings.h"

namespace dmlop {

struct ModelInputs {
  ModelResources resources;  // not filled yet
  BoundModel bound;
};

// Opens the files of the model, in `folder` or, where that is empty, in the model's own, and binds
// the tensors. Prints what `diagnostics` has then; empty where that is a fault.
std::optional<ModelInputs> BindModelInputs(const ModelDocument& model, const std::string& folder,
                                           const Descriptor& descriptor,
                                           const CommonOptions& common, Diagnostics& diagnostics);

// What a resource's file is to the command.
std::string RoleOf(const ModelResource& resource);

// Adds the files that the resources are filled from.
void AddSources(const ModelDocument& model, const ModelResources& resources, FileRoles& roles);

}  // namespace dmlop
