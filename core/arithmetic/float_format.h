// SPDX-License-Identifier: Apache-2.0
// The float formats that devices compute in, and rounding to them. Numbers of all of them are kept
// as binary64.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "core/base/integers.h"
#include "core/exact/double_double.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

enum class FloatFormat : uint8_t { kFloat32, kTf32, kFloat16, kBfloat16 };

// A number between two of a format becomes one of them in one of these ways.
enum class RoundingMode : uint8_t { kTiesToEven, kTiesAway, kTowardZero };

struct FloatFormatInfo {
  std::string_view name;     // "FLOAT16"
  std::string_view id_name;  // "float16"
  int precision;             // binary digits
  int least_exponent;        // of the normal numbers
  double most;               // the greatest finite number
};

inline constexpr FloatFormatInfo kFloatFormats[] = {
    {"FLOAT32", "float32", 24, -126, 0x1.FFFFFEp127},
    {"TF32", "tf32", 11, -126, 0x1.FFCp127},
    {"FLOAT16", "float16", 11, -14, 65504},
    {"BFLOAT16", "bfloat16", 8, -126, 0x1.FEp127}};

constexpr const FloatFormatInfo& InfoOf(FloatFormat format) {
  return kFloatFormats[static_cast<size_t>(format)];
}

// Rounds binary64 numbers without a branch, so that compilers can do so with several at once.
class FloatRounding {
 public:
  explicit constexpr FloatRounding(FloatFormat format,
                                   RoundingMode mode = RoundingMode::kTiesToEven)
      : dropped_(kDigits - InfoOf(format).precision),
        addend_(mode == RoundingMode::kTowardZero ? 0
                : mode == RoundingMode::kTiesAway ? uint64_t{1} << (dropped_ - 1)
                                                  : (uint64_t{1} << (dropped_ - 1)) - 1),
        odd_(mode == RoundingMode::kTiesToEven ? 1 : 0),
        kept_(~((uint64_t{1} << dropped_) - 1)),
        least_(std::bit_cast<double>(static_cast<uint64_t>(InfoOf(format).least_exponent + kBias)
                                     << (kDigits - 1))),
        most_(InfoOf(format).most),
        beyond_(mode == RoundingMode::kTowardZero ? most_ : kInfinity) {}

  double operator()(double x) const {
    const double magnitude = std::fabs(x);
    // With the least normal number added, the digits end where those of subnormal numbers do.
    const double shift = magnitude < least_ ? least_ : 0;
    const auto bits = std::bit_cast<uint64_t>(magnitude + shift);
    const uint64_t rounded_bits = (bits + addend_ + (bits >> dropped_ & odd_)) & kept_;
    const double rounded = std::bit_cast<double>(rounded_bits) - shift;
    const double most = magnitude < kInfinity ? beyond_ : kInfinity;
    return std::copysign(rounded > most_ ? most : rounded, x);
  }

 private:
  static constexpr int kDigits = 53, kBias = 1023;
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  int dropped_;
  uint64_t addend_, odd_, kept_;
  double least_, most_, beyond_;
};

// Rounds a + b so that rounding the sum to a shorter format is rounding once: an inexact sum has an
// odd last digit.
inline double SumRoundedToOdd(double a, double b) {
  const HeadTail sum = TwoSum(a, b);
  const auto bits = std::bit_cast<uint64_t>(sum.head);
  const bool is_inexact = sum.tail < 0 || sum.tail > 0;  // not where it is NaN
  const uint64_t is_moved = static_cast<uint64_t>(is_inexact) & ~bits & 1;
  const bool is_outward = (sum.tail > 0) == (sum.head > 0);
  return std::bit_cast<double>(is_outward ? bits + is_moved : bits - is_moved);
}

// --- stored elements -----------------------------------------------------------------------------

// Numbers as elements of tensors.

// Rounds a number to the type of an output. A NaN becomes 0 as an integer, and an infinity, to
// which sums in another arithmetic may grow, the integer that is nearest; other numbers are whole
// then.
inline ElementBytes Stored(DataType type, DoubleDouble number) {
  ElementBytes bytes{};
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    if constexpr (std::is_same_v<T, double>) {
      bytes = BytesOf(number.head);
    } else if constexpr (!std::is_integral_v<T>) {
      bytes = BytesOf(RoundOnce<T>(number.head, number.tail));
    } else if (std::isinf(number.head)) {
      using IntegerLimits = std::numeric_limits<T>;
      bytes = BytesOf(number.head < 0 ? IntegerLimits::min() : IntegerLimits::max());
    } else if (!std::isnan(number.head)) {
      bytes = BytesOf(
          static_cast<T>(static_cast<Int128>(number.head) + static_cast<Int128>(number.tail)));
    }
  });
  return bytes;
}

// --- units ---------------------------------------------------------------------------------------

// The float types of tensors as units see them: their range and the distances between numbers.

// Numbers of a float type have `digits` binary digits, and exponents as frexp has them.
struct FloatForm {
  int digits;
  int least_exponent;  // of normal numbers
  int most_exponent;

  double Least() const { return PowerOfTwo(least_exponent - 1); }
  double Most() const { return (1 - Roundoff()) * PowerOfTwo(most_exponent - 1) * 2; }
  double Roundoff() const { return PowerOfTwo(-digits); }
  // The distance to the next number.
  double Ulp(double x) const {
    const auto field = static_cast<int>(std::bit_cast<uint64_t>(x) >> kFractionBits & kMostField);
    return PowerOfTwo(std::max(field - kBias + 1, least_exponent) - digits);
  }
  // An infinity is as far from numbers as the one that would come next.
  double Finite(double x) const {
    return std::isinf(x) ? std::copysign(std::ldexp(1, most_exponent), x) : x;
  }

 private:
  // The layout of binary64.
  static constexpr int kFractionBits = 52, kBias = 1023;
  static constexpr uint64_t kMostField = 0x7FF;

  // Judging calls this for every element, and std::ldexp takes several times as long.
  static double PowerOfTwo(int exponent) {
    return exponent > -kBias
               ? std::bit_cast<double>(static_cast<uint64_t>(exponent + kBias) << kFractionBits)
               : std::ldexp(1, exponent);
  }
};

inline constexpr FloatForm kFormOfBfloat16 = {8, -125, 128};

inline FloatForm FormOf(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return {11, -13, 16};
    case DataType::kFloat64:
      return {53, -1021, 1024};
    default:
      return {24, -125, 128};
  }
}

}  // namespace dmlop
