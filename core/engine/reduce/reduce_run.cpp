// SPDX-License-Identifier: Apache-2.0
#include "core/engine/reduce/reduce_run.h"

#include <algorithm>

namespace dmlop {
namespace {

// Returns whether computing these outputs alone is cheaper than computing their neighbours, too.
bool AreScattered(const std::vector<int64_t>& outputs, const TensorView& output) {
  constexpr int64_t kNeighbours = 256;
  constexpr int64_t kFewOf = 16;
  int64_t touched = 0;
  int64_t end = 0;
  for (const int64_t number : outputs) {
    if (number < end) continue;
    touched += kNeighbours;
    end = number / kNeighbours * kNeighbours + kNeighbours;
  }
  touched = std::min(touched, output.layout.element_count());
  return std::ssize(outputs) * kFewOf < touched;
}

}  // namespace

ReduceTraits TraitsForLeft(ReduceTraits traits, const std::vector<int64_t>& outputs,
                           const TensorView& output) {
  if (AreScattered(outputs, output)) {
    traits.by_vectors = false;
    traits.batch_of_columns = 1;
  }
  return traits;
}

// --- by function ---------------------------------------------------------------------------------

void Reduce(const ReductionCall& call, const ConstTensorView& input, const TensorView& output) {
  switch (call.function) {
    case ReduceFunction::kArgMax:
    case ReduceFunction::kArgMin:
      return ReduceToIndex(call, input, output);
    case ReduceFunction::kMax:
    case ReduceFunction::kMin:
      return ReduceToValue(call, input, output);
    case ReduceFunction::kMultiply:
      return ReduceToProduct(call, input, output);
    case ReduceFunction::kLogSumExp:
      return ReduceToLogSumExp(call, input, output);
    case ReduceFunction::kAverage:
    case ReduceFunction::kL1:
    case ReduceFunction::kL2:
    case ReduceFunction::kLogSum:
    case ReduceFunction::kSum:
    case ReduceFunction::kSumSquare:
      return ReduceToSum(call, input, output);
  }
}

}  // namespace dmlop
