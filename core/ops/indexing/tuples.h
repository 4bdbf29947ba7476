// Tensors of index tuples, as the operators of the name ..._ND have them.
#pragma once

#include "core/ops/indexing/shared.h"

namespace dmlop::indexing {

// The letters of the pages; counts of trailing dimensions, and the size of a tuple.
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

// Of a valid descriptor; InputTensor is what the tuples index.
Tuples TuplesOf(const OperatorDesc& op);

// How what the tuples choose is walked: batches, tuples, and the rest of the input's dimensions.
IndexLinks TupleLinks(const OperatorDesc& op);

// The sizes of what the tuples choose.
Sizes TupleSizes(const OperatorDesc& op);

struct TupleRules {
  std::string_view ranks;
  std::string_view counts;
  std::string_view tuple;
  std::string_view batches;
  std::string_view leading;
  std::string_view output;
};

// Checks all but what is chosen. Returns whether TupleSizes is to be had.
bool CheckTuples(const TupleRules& rules, const OperatorDesc& op, Inference& infer);

inline constexpr auto kBatchDims =
    field::Uint("BatchDimensionCount", {.max = kMaxRank})
        .Means("How many of the first of these dimensions input and indices share.");

}  // namespace dmlop::indexing
