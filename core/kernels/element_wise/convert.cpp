// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/element_wise/convert.h"

namespace dmlop {
namespace {

using enum DataType;
using Row = ConversionRow;

class Route {
 public:
  void Go(Row row, DataType type) { conversion_.Add({ConversionRowFor(row), type}); }

  // Converts between integers.
  void ToWidth(DataType from, DataType to) {
    const unsigned width = BitWidth(from);
    if (width == BitWidth(to)) return;
    if (width > BitWidth(to)) return Narrow(width, to);
    const bool is_signed = IsSigned(from);
    if (width == 32) return Go(is_signed ? Row::kWidenSigned32To64 : Row::kWiden32To64, to);
    if (width == 8 && BitWidth(to) == 16) {
      return Go(is_signed ? Row::kWidenSigned8To16 : Row::kWiden8To16, to);
    }
    const DataType wide = is_signed ? kInt32 : kUint32;
    if (width == 8) {
      Go(is_signed ? Row::kWidenSigned8To32 : Row::kWiden8To32, wide);
    } else {
      Go(is_signed ? Row::kWidenSigned16To32 : Row::kWiden16To32, wide);
    }
    ToWidth(wide, to);
  }

  // Converts from an integer to a float.
  void ToFloat(DataType from, DataType to) {
    if (BitWidth(from) < 32) {
      ToWidth(from, kInt32);
      Go(Row::kSmallToFloat32, kFloat32);
      return BetweenFloats(kFloat32, to);
    }
    if (BitWidth(from) == 32) {
      Go(from == kInt32 ? Row::kInt32ToFloat64 : Row::kUint32ToFloat64, kFloat64);
    } else if (to == kFloat64) {
      Go(from == kInt64 ? Row::kInt64ToFloat64 : Row::kUint64ToFloat64, kFloat64);
    } else {
      Go(from == kInt64 ? Row::kInt64ToOddFloat64 : Row::kUint64ToOddFloat64, kFloat64);
    }
    BetweenFloats(kFloat64, to);
  }

  void BetweenFloats(DataType from, DataType to) {
    if (from == to) return;
    if (from == kFloat16) {
      Go(Row::kHalfToFloat32, kFloat32);
      return BetweenFloats(kFloat32, to);
    }
    if (from == kFloat32) {
      return Go(to == kFloat64 ? Row::kFloat32ToFloat64 : Row::kFloat32ToHalf, to);
    }
    if (to == kFloat32) return Go(Row::kFloat64ToFloat32, to);
    Go(Row::kFloat64ToOddFloat32, kFloat32);
    Go(Row::kFloat32ToHalf, to);
  }

  // Converts from a float to an integer.
  void ToInteger(DataType from, DataType to) {
    if (from == kFloat16) Go(Row::kHalfToFloat32, from = kFloat32);
    const bool fits_int32 = to == kInt32 || BitWidth(to) < 32;
    if (from == kFloat32 && fits_int32) {
      Go(Row::kFloat32ToInt32, kInt32);
    } else {
      BetweenFloats(from, kFloat64);
      if (to == kUint32) return Go(Row::kFloat64ToUint32, to);
      if (to == kInt64) return Go(Row::kFloat64ToInt64, to);
      if (to == kUint64) return Go(Row::kFloat64ToUint64, to);
      Go(Row::kFloat64ToInt32, kInt32);
    }
    if (to == kInt8) Go(Row::kClampToInt8, to);
    if (to == kUint8) Go(Row::kClampToUint8, to);
    if (to == kInt16) Go(Row::kClampToInt16, to);
    if (to == kUint16) Go(Row::kClampToUint16, to);
  }

  const Conversion& conversion() const { return conversion_; }

 private:
  void Narrow(unsigned width, DataType to) {
    if (width == 64) {
      Go(Row::kNarrow64To32, BitWidth(to) == 32 ? to : kUint32);
      if (BitWidth(to) < 32) Narrow(32, to);
    } else if (width == 32) {
      Go(BitWidth(to) == 8 ? Row::kNarrow32To8 : Row::kNarrow32To16, to);
    } else {
      Go(Row::kNarrow16To8, to);
    }
  }

  Conversion conversion_;
};

}  // namespace

Conversion ConversionFor(DataType from, DataType to) {
  Route route;
  if (from == to) return route.conversion();
  if (IsFloat(from)) {
    IsFloat(to) ? route.BetweenFloats(from, to) : route.ToInteger(from, to);
  } else {
    IsFloat(to) ? route.ToFloat(from, to) : route.ToWidth(from, to);
  }
  return route.conversion();
}

}  // namespace dmlop
