// SPDX-License-Identifier: Apache-2.0
// Converts between the two kinds of document: an operator descriptor to a DxDispatch model, and a
// model's dispatchables to operator descriptors.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/document/document_json.h"
#include "core/document/operator_case.h"
#include "core/model/model_run.h"

namespace dmlop {

// Returns a model that runs the operator of a valid case, whose inputs are loaded, on the same
// bytes. Outputs are printed, or written to the files to which they are bound.
std::string ModelText(const OperatorCase& files);

// Returns a resource with the bytes of a buffer, as long as the desc needs or up to its last
// element. Elements of 4 bits are packed.
Json ResourceOfValues(std::span<const std::byte> bytes, const TensorDesc& desc);
Json ResourceOfZeros(const TensorDesc& desc);

// Writes a complete operator descriptor for each operator of a valid model, in the order of their
// first dispatches, which are run. Inputs are bound to their values at that dispatch; a field stays
// unbound, with a warning, if these are too many, or if a NaN has a payload, which no number
// expresses. Outputs stay unbound.
struct WrittenDescriptor {
  const OperatorDesc& op;  // an operator of the model
  std::string_view name;   // the dispatchable's, or that of a node of a graph
  std::string_view text;
};
using WriteDescriptor = std::function<void(const WrittenDescriptor&)>;
void WriteDescriptors(const ModelDocument& model, ModelRun& run, const WriteDescriptor& write,
                      Diagnostics& diagnostics);

// Does the same for the nodes of a graph that `takes` accepts by their names, given inputs and
// outputs as for RunGraph. Without the values of an input nothing is run, and all fields stay
// unbound.
void WriteDescriptors(const Graph& graph, InputViews inputs, OutputViews outputs,
                      const std::function<bool(std::string_view node)>& takes,
                      const WriteDescriptor& write, Diagnostics& diagnostics);

}  // namespace dmlop
