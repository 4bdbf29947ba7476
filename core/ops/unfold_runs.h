// UNFOLD where each plane of the output, but for its padding, is a run of the input or of an image
// of one of its phases.
#pragma once

#include "core/ops/unfold_geometry.h"

namespace dmlop {

// False, and nothing is done, where planes are no runs.
bool UnfoldByRuns(const UnfoldGeometry& geometry);

}  // namespace dmlop
