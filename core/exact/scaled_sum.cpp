#include "core/exact/scaled_sum.h"

#include <cmath>

#include "core/exact/double_double.h"
#include "core/exact/exact_sum.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

void AddProduct(double a, double b, ExactSum& sum) {
  const HeadTail product = TwoProduct(a, b);
  sum.Add(product.head);
  sum.Add(product.tail);
}

// Splits the sum into parts of less than 2^53.
template <typename T>
T RoundExactly(Int128 sum, double factor, double bias, double near) {
  constexpr int kLowBits = 50;
  const Int128 high = sum >> kLowBits;
  const Int128 low = sum - (high << kLowBits);
  ExactSum exact;
  AddProduct(static_cast<double>(high), factor * std::ldexp(1.0, kLowBits), exact);
  AddProduct(static_cast<double>(low), factor, exact);
  exact.Add(bias);
  return exact.Sign() == 0 ? RoundOnce<T>(near) : RoundSum<T>(exact);
}

}  // namespace

template <typename T>
T RoundScaledSum(Int128 sum, double a, double b, const double* bias) {
  constexpr double kSurelyInfinite = 0x1p200;
  const double factor = a * b;  // exact
  const double product = static_cast<double>(sum) * factor;
  const double near = bias == nullptr ? product : product + *bias;
  if (!(std::fabs(near) < kSurelyInfinite)) return RoundOnce<T>(near);
  const double error = std::fabs(product) * 0x1p-51 + std::fabs(near) * 0x1p-51;
  const T least = RoundOnce<T>(near - error);
  const bool is_zero = near == 0;
  if (!is_zero && ElementBits(least) == ElementBits(RoundOnce<T>(near + error))) return least;
  return RoundExactly<T>(sum, factor, bias == nullptr ? 0.0 : *bias, near);
}

template float RoundScaledSum<float>(Int128, double, double, const double*);
template Half RoundScaledSum<Half>(Int128, double, double, const double*);

}  // namespace dmlop
