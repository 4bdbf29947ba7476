// SPDX-License-Identifier: Apache-2.0
// An output element of a device, or of what it may have computed, beside the exact one.
#pragma once

#include <string>

#include "app/text/explanation_text.h"
#include "core/explain/data_flow.h"
#include "core/judge/varied_run.h"

namespace dmlop {

// `changed` is what VariedRun::Changed makes of the operator `original`; all inputs have data.
VariedValue VariedValueOf(const VariedRun& varied, const Computation& original,
                          const Computation& changed, const Element& output);

// Returns the value of a judged file's element at `index`; `path` is for messages. Throws an Error
// of kind kTensorFile unless the file has the desc's sizes.
double ValueIn(const ConstTensorView& judged, const std::string& path, const TensorDesc& desc,
               const Dims& index);

// The error of a value in units of the element, for which the whole output is computed.
ActualValue ActualValueOf(double value, const Computation& original, const Element& output);

}  // namespace dmlop
