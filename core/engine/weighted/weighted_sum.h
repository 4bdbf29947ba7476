// SPDX-License-Identifier: Apache-2.0
// Tensors whose elements are weighted sums of others. Weights are products of one weight per
// dimension: linear interpolation, its transpose, and sums of overlapping windows.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/exact/double_double.h"
#include "core/exact/dyadic.h"
#include "core/kernels/weighted/weighted_row.h"
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

// The taps for the indices of an output's dimension, each of which may have very many, from 0 on.
class TapAxis {
 public:
  virtual ~TapAxis() = default;

  virtual int64_t Count(int64_t index) const = 0;
  // Adds taps of an index and ends it. Returns false, and adds none, if the numbers are too long.
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

// --- taps ----------------------------------------------------------------------------------------

// The taps of an output's dimensions, and their products.

// A bound of what is lost if numbers become too small for binary64.
inline constexpr double kTinyTerm = 0x1p-900;

struct Tap {
  int64_t offset;
  double part;  // numerator of the weight, rounded
  DoubleDouble weight;
  bool is_exact;  // whether the weight is exact
};

// Returns the product of taps of two dimensions.
Tap Both(const Tap& a, const Tap& b);

// Facts about the parts and wholes of a dimension that a kernel needs.
struct TapRange {
  int64_t most_taps = 0;  // greatest number for an index
  int64_t least_exponent = 0;
  int64_t part_bits = 0;  // greatest number
  int64_t whole_bits = 0;
  double most_sum = 0;      // greatest sum of the parts of an index
  bool is_ordinary = true;  // products for a few dimensions stay in binary64
};

// The taps of consecutive indices of one dimension.
struct TapTable {
  std::vector<size_t> begins = {0};
  std::vector<Tap> taps;
  std::vector<double> wholes;
  TapRange range;

  int64_t size() const { return static_cast<int64_t>(wholes.size()); }
  std::span<const Tap> At(int64_t index) const {
    const size_t i = static_cast<size_t>(index);
    return {taps.data() + begins[i], begins[i + 1] - begins[i]};
  }
  // Returns whether each index has one tap, of weight 1.
  bool IsPlain() const;
};

TapTable TableOf(const TapAxis& axis, int64_t begin, int64_t end);

// Takes some taps of one index, since all of them may not fit into memory.
TapTable TableOf(const TapAxis& axis, int64_t index, Range some);

// Aligns numbers to cache lines, so that no vector of them lies in two.
template <typename T>
struct LineAllocator {
  using value_type = T;

  T* allocate(size_t count) {
    return static_cast<T*>(operator new (count * sizeof(T), std::align_val_t{kLineBytes}));
  }
  void deallocate(T* numbers, size_t) { operator delete (numbers, std::align_val_t{kLineBytes}); }
  bool operator==(const LineAllocator&) const = default;
};
template <typename T>
using LineVector = std::vector<T, LineAllocator<T>>;

// The taps of an output's last dimension in the form that the kernel of weighted rows takes.
class KernelTaps {
 public:
  // Returns nothing if the kernel cannot use the tables of an output's dimensions.
  static std::optional<KernelTaps> Of(std::span<const TapTable> tables);

  // Returns a row that lacks the other dimensions; it is valid as long as this object.
  template <typename T>
  WeightedRow<T> Row(const T* x) {
    WeightedRow<T> row{};
    row.x = x;
    row.runs = runs_;
    row.scratch = scratch_.data();
    row.count = count_;
    row.pitch = pitch();
    row.taps = taps_;
    row.places = places_.data();
    row.pattern = pattern_;
    row.patterned = patterned_;
    row.are_near = are_near_.data();
    row.parts = parts_.data();
    row.wholes = wholes_.data();
    row.inverses = inverses_.data();
    row.most_sum = most_sum_;
    row.exact_range = exact_range_;
    row.divides = divides_;
    return row;
  }

  // Sets the products of the other dimensions' taps and wholes.
  template <typename T>
  void SetOuter(std::span<const WeightedTap> outer, double whole, WeightedRow<T>& row) const {
    row.outer = outer;
    row.whole = whole;
    row.inverse = 1 / whole;
    row.relative_error = RelativeError(std::ssize(outer));
  }

 private:
  KernelTaps() = default;

  // Places of each tap begin in a cache line of their own.
  int64_t pitch() const { return RoundUp(count_, kLineBytes / int64_t{sizeof(int32_t)}); }

  void FillRuns(const TapTable& inner);
  void FillTaps(const TapTable& inner);
  void FindPattern();
  Range Following(int32_t least_growth, int32_t most_growth) const;
  void FillRange(std::span<const TapTable> tables);
  int32_t PlaceOf(int64_t offset, int32_t before) const;
  double RelativeError(int64_t outer_taps) const;

  std::vector<int64_t> offsets_;  // those of the columns, ascending
  std::vector<AdjacentColumns> runs_;
  LineVector<double> scratch_;
  int64_t count_ = 0;
  int64_t taps_ = 0;
  LineVector<int32_t> places_;
  TapPattern pattern_ = TapPattern::kOther;
  Range patterned_{0, 0};
  std::vector<uint8_t> are_near_;
  LineVector<double> parts_;
  LineVector<double> wholes_;
  LineVector<double> inverses_;
  double most_sum_ = 1;
  double exact_range_ = 0;
  bool divides_ = false;
};

}  // namespace dmlop
