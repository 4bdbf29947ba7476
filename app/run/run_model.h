// SPDX-License-Identifier: Apache-2.0
// The command "run" for a DxDispatch model.
#pragma once

#include "app/exit_status.h"
#include "app/files/descriptor.h"
#include "app/options/options.h"

namespace dmlop {

// Executes the commands of the model, unless `diagnostics`, from reading it, has errors.
ExitStatus RunModel(const RunOptions& options, const CommonOptions& common,
                    const Descriptor& descriptor, const ModelDocument& model,
                    Diagnostics& diagnostics);

}  // namespace dmlop
