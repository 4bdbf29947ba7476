#include "core/ops/unfold_loop.h"

#include <utility>

#include "core/ops/unfold_geometry.h"
#include "core/ops/unfold_rows.h"
#include "core/ops/unfold_runs.h"
#include "core/ops/unfold_small.h"
#include "core/ops/unfold_taps.h"

namespace dmlop {

void UnfoldWindows(std::vector<UnfoldDim> dims, const ConstTensorView& input,
                   const TensorView& output) {
  if (LiesAcross(dims, input)) return UnfoldTaps(dims, input, output);
  const UnfoldGeometry geometry(std::move(dims), input, output);
  if (UnfoldSmallPlanes(geometry) || UnfoldByRuns(geometry)) return;
  UnfoldRowByRow(geometry);
}

}  // namespace dmlop
