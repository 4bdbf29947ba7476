// SPDX-License-Identifier: Apache-2.0
// Interprets a fuzzer's bytes as a call of an operator.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include "tests/support/operator_call.h"

namespace dmlop {

// A desc of any operator, close to a valid one in all of its fields.
OperatorDesc ReadDesc(FuzzedDataProvider& data);

// A call of a valid desc, with tensors at any place in their memory and with any elements.
OperatorCall ReadCall(OperatorDesc desc, FuzzedDataProvider& data);

}  // namespace dmlop
