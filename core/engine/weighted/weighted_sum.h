// Tensors whose elements are weighted sums of others, with weights that are products of one for
// each dimension: linear interpolation, its transpose, and sums of overlapping windows.
#pragma once

#include <functional>
#include <vector>

#include "core/exact/dyadic.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// What one dimension has to do with the elements of the output at an index of it.
struct AxisTaps {
  std::vector<int64_t> offsets;  // in elements of the source
  std::vector<Dyadic> parts;     // of each, not 0; its weight is part / whole
  Dyadic whole;                  // positive
  bool is_exact = true;          // else parts are off by less than 2^-127 of their own
};

// The taps at an index of a dimension of the output.
using TapFunction = std::function<AxisTaps(int64_t index)>;

// Where taps are offset from, and what is made of them.
struct WeightedSource {
  enum Rule {
    kCopy,   // the only tap, of weight 1, bit for bit
    kRound,  // the exact sum, rounded once; truncated for integers
    kWrap,   // the same, of integers whose weights are 1, modulo 2^width
  };

  ConstTensorView from;
  std::vector<TapFunction> axes;  // of the output
  Rule rule;
};

// Computes the part of an output from index `begin` on. FLOAT32, FLOAT16 and integers, and all
// types where they are copied.
void SumTaps(const WeightedSource& source, const Dims& begin, const TensorView& part);

}  // namespace dmlop
