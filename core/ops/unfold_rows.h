// UNFOLD where elements that are neighbours in the output are not in the input, or not for long:
// planes are composed row by row.
#pragma once

#include "core/ops/unfold_geometry.h"

namespace dmlop {

void UnfoldRowByRow(const UnfoldGeometry& geometry);

}  // namespace dmlop
