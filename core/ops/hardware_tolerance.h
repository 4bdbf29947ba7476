// How far a GPU's result may be from the exact one.
#pragma once

#include <cstdint>

#include "core/ops/operator.h"

namespace dmlop {

// Units in the last place of the output type that the WebNN conformance suite grants every backend
// for this operator, type and number of elements (RED-26); 0 where the result must be equal.
uint64_t WebnnUlp(const OperatorDesc& desc);

}  // namespace dmlop
