// UNFOLD of small planes: what a tap sees of a channel's images is one copy, of which the padding
// becomes zero. Which bytes these are is the same for all channels.
#pragma once

#include "core/ops/unfold_geometry.h"

namespace dmlop {

// False, and nothing is done, where planes are not small or images not possible.
bool UnfoldSmallPlanes(const UnfoldGeometry& geometry);

}  // namespace dmlop
