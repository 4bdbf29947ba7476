// What a fuzzer's bytes mean as a call of an operator.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include "tests/support/operator_call.h"

namespace dmlop {

// A desc of any operator, in all of its fields near to a valid one.
OperatorDesc ReadDesc(FuzzedDataProvider& data);

// A call of a valid desc, with tensors somewhere in their memory and with any elements.
OperatorCall ReadCall(OperatorDesc desc, FuzzedDataProvider& data);

}  // namespace dmlop
