// Between the two kinds of document: an operator descriptor as a DxDispatch model, and a model's
// dispatchables as operator descriptors.
#pragma once

#include <string>

#include "core/document/operator_case.h"
#include "core/model/model_bindings.h"

namespace dmlop {

// The model that runs the operator of a valid case, whose inputs are loaded, on the same bytes.
// Outputs are printed, or written to the files that they are bound to.
std::string ModelText(const OperatorCase& files);

// A complete operator descriptor for each dispatchable of a valid model. A tensor of the first
// dispatch is bound to the values that its resource begins with, or to the file that is written.
std::string DescriptorsText(const ModelDocument& model, ModelResources& resources,
                            const BoundModel& bound);

}  // namespace dmlop
