// SPDX-License-Identifier: Apache-2.0
// The inputs of a model, for the commands that run one.
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

// Opens the model's files in `folder` or, if that is empty, in the model's own folder, and binds
// the tensors. Prints `diagnostics`; null if there is an error.
std::optional<ModelInputs> BindModelInputs(const ModelDocument& model, const std::string& folder,
                                           const Descriptor& descriptor,
                                           const CommonOptions& common, Diagnostics& diagnostics);

// Does the same without printing; `folder` is that of the files.
std::optional<ModelInputs> BindModelInputs(const ModelDocument& model, const std::string& folder,
                                           Diagnostics& diagnostics);

// The role of a resource's file.
std::string RoleOf(const ModelResource& resource);

// Adds the files that the resources are filled from.
void AddSources(const ModelDocument& model, const ModelResources& resources, FileRoles& roles);

}  // namespace dmlop
