// SPDX-License-Identifier: Apache-2.0
// Converts rows of elements to another type by the rules of CAST: integers modulo 2^width; floats
// to integers truncated and clamped, NaN to 0; to floats rounded once, NaN to the default NaN.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/kernels/element_wise/row.h"

namespace dmlop {

// A row of a conversion, which runs through intermediate types.
struct ConversionStep {
  RowFunction* compute;
  DataType type;  // type of its results
};

class Conversion {
 public:
  void Add(ConversionStep step) { steps_[count_++] = step; }
  std::span<const ConversionStep> steps() const { return {steps_.data(), count_}; }

 private:
  std::array<ConversionStep, 5> steps_;
  size_t count_ = 0;
};

// Has no steps if the bits stay the same.
Conversion ConversionFor(DataType from, DataType to);

// --- rows ----------------------------------------------------------------------------------------

// The rows from which conversions are composed.

enum class ConversionRow : size_t {
  kWiden8To16,
  kWiden8To32,
  kWiden16To32,
  kWiden32To64,
  kWidenSigned8To16,
  kWidenSigned8To32,
  kWidenSigned16To32,
  kWidenSigned32To64,
  kNarrow16To8,
  kNarrow32To8,
  kNarrow32To16,
  kNarrow64To32,
  kClampToInt8,  // from INT32, like the next three
  kClampToUint8,
  kClampToInt16,
  kClampToUint16,
  kSmallToFloat32,  // exact up to 24 bits
  kInt32ToFloat64,
  kUint32ToFloat64,
  kInt64ToFloat64,
  kUint64ToFloat64,
  kInt64ToOddFloat64,
  kUint64ToOddFloat64,
  kHalfToFloat32,
  kFloat32ToFloat64,
  kFloat32ToHalf,
  kFloat64ToFloat32,
  kFloat64ToOddFloat32,
  kFloat32ToInt32,
  kFloat64ToInt32,
  kFloat64ToUint32,
  kFloat64ToInt64,
  kFloat64ToUint64,
};

RowFunction* ConversionRowFor(ConversionRow row);

}  // namespace dmlop
