// Tensors whose elements are weighted sums of others, with weights that are products of one for
// each dimension: linear interpolation, its transpose, and sums of overlapping windows.
#pragma once

#include <memory>
#include <vector>

#include "core/base/integers.h"
#include "core/exact/dyadic.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// What one dimension has to do with the elements of the output at an index of it.
struct AxisTaps {
  std::vector<int64_t> offsets;  // in elements of the source
  std::vector<Dyadic> parts;     // of each, not 0; its weight is part / whole
  Dyadic whole;                  // positive
  bool is_exact = true;          // else parts are off by less than 2^-127 of their own

  void Add(int64_t offset, Dyadic part) {
    offsets.push_back(offset);
    parts.push_back(std::move(part));
  }
  void End(Dyadic of_all) { whole = std::move(of_all); }
};

// The same of some indices one after another, where all numbers are whole, and less than 2^125.
struct ShortTaps {
  std::vector<int64_t> offsets;
  std::vector<Int128> parts;
  std::vector<size_t> ends;  // of the taps of each index
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

// The taps at the indices of a dimension of the output. There may be very many of an index, which
// are numbered from 0 on.
class TapAxis {
 public:
  virtual ~TapAxis() = default;

  virtual int64_t Count(int64_t index) const = 0;
  // Adds some taps of an index, and ends it. Returns false, and adds none, where their numbers are
  // too long.
  virtual bool AddTaps(int64_t index, Range some, ShortTaps& taps) const = 0;
  // To be overridden where numbers may be too long.
  virtual AxisTaps Taps(int64_t index, Range some) const;

  AxisTaps Taps(int64_t index) const { return Taps(index, {0, Count(index)}); }
};

// Where taps are offset from, and what is made of them.
struct WeightedSource {
  enum Rule {
    kCopy,   // the only tap, of weight 1, bit for bit
    kRound,  // the exact sum, rounded once; truncated for integers
    kWrap,   // the same, of integers whose weights are 1, modulo 2^width
  };

  ConstTensorView from;
  std::vector<std::shared_ptr<const TapAxis>> axes;  // of the output
  Rule rule;
};

// Computes the part of an output from index `begin` on. FLOAT32, FLOAT16 and integers, and all
// types where they are copied.
void SumTaps(const WeightedSource& source, const Dims& begin, const TensorView& part);

}  // namespace dmlop
