// SPDX-License-Identifier: Apache-2.0
// Tensors whose elements are weighted sums of others. Weights are products of one weight per
// dimension: linear interpolation, its transpose, and sums of overlapping windows.
#pragma once

#include <memory>
#include <vector>

#include "core/base/integers.h"
#include "core/exact/dyadic.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// The taps of one dimension for an index of the output.
struct AxisTaps {
  std::vector<int64_t> offsets;  // in elements of the source
  std::vector<Dyadic> parts;     // one for each tap, not 0; its weight is part / whole
  Dyadic whole;                  // positive
  bool is_exact = true;          // otherwise the relative error of parts is below 2^-127

  void Add(int64_t offset, Dyadic part) {
    offsets.push_back(offset);
    parts.push_back(std::move(part));
  }
  void End(Dyadic of_all) { whole = std::move(of_all); }
};

// The taps of consecutive indices, if all numbers are integers below 2^125.
struct ShortTaps {
  std::vector<int64_t> offsets;
  std::vector<Int128> parts;
  std::vector<size_t> ends;  // end of the taps of each index
  std::vector<Int128> wholes;

  void Add(int64_t offset, Int128 part) {
    offsets.push_back(offset);
    parts.push_back(part);
  }
  void End(Int128 whole) {
    ends.push_back(offsets.size());
    wholes.push_back(whole);
  }
};

// The taps for the indices of an output's dimension. An index may have very many, which are
// numbered from 0.
class TapAxis {
 public:
  virtual ~TapAxis() = default;

  virtual int64_t Count(int64_t index) const = 0;
  // Adds some taps of an index and ends the index. Returns false, and adds none, if the numbers are
  // too long.
  virtual bool AddTaps(int64_t index, Range some, ShortTaps& taps) const = 0;
  // Must be overridden if numbers may be too long.
  virtual AxisTaps Taps(int64_t index, Range some) const;

  AxisTaps Taps(int64_t index) const { return Taps(index, {0, Count(index)}); }
};

// The tensor that taps refer to, and how the output is computed from it.
struct WeightedSource {
  enum Rule {
    kCopy,   // the only tap, which has the weight 1, bit for bit
    kRound,  // the exact sum, rounded once, or truncated for integers
    kWrap,   // the sum of integers with weights of 1, modulo 2^width
  };

  ConstTensorView from;
  std::vector<std::shared_ptr<const TapAxis>> axes;  // one for each dimension of the output
  Rule rule;
};

// Computes the part of an output from index `begin` on. Types are FLOAT32, FLOAT16 and integers, or
// any type if elements are copied.
void SumTaps(const WeightedSource& source, const Dims& begin, const TensorView& part);

}  // namespace dmlop
