// SPDX-License-Identifier: Apache-2.0
// The rows from which conversions are composed.
#pragma once

#include <cstddef>

#include "core/kernels/element_wise/row.h"

namespace dmlop {

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
