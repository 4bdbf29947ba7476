// Between the two kinds of document: an operator descriptor as a DxDispatch model, and a model's
// dispatchables as operator descriptors.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/document/operator_case.h"
#include "core/model/model_run.h"

namespace dmlop {

// The model that runs the operator of a valid case, whose inputs are loaded, on the same bytes.
// Outputs are printed, or written to the files that they are bound to.
std::string ModelText(const OperatorCase& files);

// Writes a complete operator descriptor for each operator of a valid model, in the order of
// their first dispatches, which are run. Inputs are bound to the values that they have at that
// dispatch; a field stays unbound where these are too many, or where a NaN has a payload, which no
// number tells, with a warning. Outputs stay unbound.
struct WrittenDescriptor {
  const OperatorDesc& op;  // of the model
  std::string_view name;   // of the dispatchable, or of the node of a graph
  std::string_view text;
};
using WriteDescriptor = std::function<void(const WrittenDescriptor&)>;
void WriteDescriptors(const ModelDocument& model, ModelRun& run, const WriteDescriptor& write,
                      Diagnostics& diagnostics);

}  // namespace dmlop
