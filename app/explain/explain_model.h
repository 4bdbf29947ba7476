// SPDX-License-Identifier: Apache-2.0
// dmlop explain for an element of a model's tensor, back through the model.
#pragma once

#include "app/exit_status.h"
#include "app/files/descriptor.h"
#include "app/options/options.h"

namespace dmlop {

// Explains an element of an ONNX model or a serialized graph, or lists its names.
ExitStatus ExplainGraph(const ExplainOptions& options, const CommonOptions& common);

// The operator of the options' dispatchable, a node of an ONNX model or a serialized graph, as a
// descriptor with the values that reach it. Null if the model has faults, which are printed.
std::optional<Descriptor> NodeOfGraph(const ExplainOptions& options, const CommonOptions& common,
                                      Diagnostics& diagnostics);

// Explains an element of a DxDispatch model that was read from `descriptor` without errors.
ExitStatus ExplainModel(const ExplainOptions& options, const CommonOptions& common,
                        const Descriptor& descriptor, const ModelDocument& model,
                        Diagnostics& diagnostics);

}  // namespace dmlop
