// SPDX-License-Identifier: Apache-2.0
// The operator that brings pictures to other sizes.
#pragma once

#include "core/ops/operator.h"

namespace dmlop {

// RESAMPLE3 from sizes to others, linear with antialiasing; centres of elements lie at halves.
OperatorDesc PictureScale(DataType type, const std::vector<uint32_t>& from,
                          const std::vector<uint32_t>& to);

}  // namespace dmlop
