// SPDX-License-Identifier: Apache-2.0
// Tensors of index tuples, as in the operators named ..._ND.
#pragma once

#include "core/ops/indexing/shared.h"

namespace dmlop::indexing {

// Counts as on the reference pages: the rank, counts of trailing dimensions, and the size of a
// tuple.
struct Tuples {
  size_t rank;
  size_t input_dims;
  size_t index_dims;
  size_t batch_dims;
  size_t size;

  size_t rest() const { return input_dims - batch_dims - size; }
  size_t first_input() const { return rank - input_dims; }
  size_t first_index() const { return rank - index_dims; }
};

// Takes a valid descriptor. The tuples index InputTensor.
Tuples TuplesOf(const OperatorDesc& op);

// The walked dimensions are the batches, the tuples, and the remaining dimensions of the input.
IndexLinks TupleLinks(const OperatorDesc& op);

// The sizes of the result of selecting with all tuples.
Sizes TupleSizes(const OperatorDesc& op);

struct TupleRules {
  std::string_view ranks;
  std::string_view counts;
  std::string_view tuple;
  std::string_view batches;
  std::string_view leading;
  std::string_view output;
};

// Checks everything but the selected result. Returns whether TupleSizes may be called.
bool CheckTuples(const TupleRules& rules, const OperatorDesc& op, Inference& infer);

inline constexpr auto kBatchDims =
    field::Uint("BatchDimensionCount", {.max = kMaxRank})
        .Means("How many of the first of these dimensions input and indices share.");

}  // namespace dmlop::indexing
