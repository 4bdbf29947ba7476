// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/window/powers.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/window/powers.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <limits>

#include "core/kernels/simd/dispatch.h"
#include "core/kernels/window/stepped-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// --- exponential and logarithm -------------------------------------------------------------------

// The operations of Exp and Log of core/exact/elementary.cpp, which explains them.

constexpr double kHighOfLn2 = 0x1.62e42feep-1;
constexpr double kLowOfLn2 = 0x1.a39ef35793c76p-33;

template <class D>
HWY_INLINE hn::Vec<D> ExpSeries(D d, hn::Vec<D> r) {
  const auto r2 = hn::Mul(r, r);
  const auto r4 = hn::Mul(r2, r2);
  const auto two_terms = [&](double a, double b)
                             HWY_ATTR { return hn::Add(hn::Set(d, a), hn::Mul(r, hn::Set(d, b))); };
  const auto c2 = hn::Add(two_terms(1.0 / 2, 1.0 / 6), hn::Mul(r2, two_terms(1.0 / 24, 1.0 / 120)));
  const auto c6 =
      hn::Add(two_terms(1.0 / 720, 1.0 / 5040), hn::Mul(r2, two_terms(1.0 / 40320, 1.0 / 362880)));
  const auto c10 = hn::Add(two_terms(1.0 / 3628800, 1.0 / 39916800),
                           hn::Mul(r2, two_terms(1.0 / 479001600, 1.0 / 6227020800)));
  return hn::Add(c2, hn::Mul(r4, hn::Add(c6, hn::Mul(r4, c10))));
}

template <class D>
HWY_INLINE hn::Vec<D> ExpVector(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> bits;
  const auto one = hn::Set(d, 1.0);
  const auto shifter = hn::Set(d, 0x1.8p52);
  const auto shifted = hn::Add(hn::Mul(x, hn::Set(d, 0x1.71547652b82fep+0)), shifter);
  const auto exponent = hn::Sub(shifted, shifter);

  const auto r_high = hn::Sub(x, hn::Mul(exponent, hn::Set(d, kHighOfLn2)));
  const auto r_low = hn::Neg(hn::Mul(exponent, hn::Set(d, kLowOfLn2)));
  const auto r = hn::Add(r_high, r_low);
  const auto r_error = hn::Sub(r_low, hn::Sub(r, r_high));
  const auto head = hn::Add(one, r);
  const auto tail = hn::Sub(r, hn::Sub(head, one));
  const auto rest = hn::Add(r_error, hn::Mul(hn::Mul(r, r), ExpSeries(d, r)));
  const auto mantissa = hn::Add(head, hn::Add(tail, rest));

  const auto scale = hn::ShiftLeft<52>(hn::BitCast(bits, shifted));
  const auto exp = hn::BitCast(d, hn::Add(hn::BitCast(bits, mantissa), scale));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -708.0)), exp);
}

template <class D>
HWY_INLINE hn::Vec<D> LogDeficitVector(D d, hn::Vec<D> f) {
  constexpr int kTerms = 16;
  const auto s = hn::Div(f, hn::Add(hn::Set(d, 2.0), f));
  const auto s2 = hn::Mul(s, s);
  auto series = hn::Zero(d);
  for (int i = kTerms; i-- > 0;) {
    series = hn::Add(hn::Mul(series, s2), hn::Set(d, 2.0 / static_cast<double>(2 * i + 3)));
  }
  return hn::Mul(s, hn::Sub(f, hn::Mul(s2, series)));
}

template <class D>
HWY_INLINE hn::Vec<D> LogVector(D d, hn::Vec<D> x) {
  const hn::RebindToSigned<D> bits;
  const auto is_small = hn::Lt(x, hn::Set(d, std::numeric_limits<double>::min()));
  x = hn::IfThenElse(is_small, hn::Mul(x, hn::Set(d, 0x1p52)), x);
  const auto square_root_of_half = hn::Set(bits, int64_t{0x3FE6A09E667F3BCD});
  const auto power = hn::ShiftRight<52>(hn::Sub(hn::BitCast(bits, x), square_root_of_half));
  const auto factor = hn::Sub(hn::BitCast(bits, x), hn::ShiftLeft<52>(power));
  const auto f = hn::Sub(hn::BitCast(d, factor), hn::Set(d, 1.0));

  // The bits of 1.5 * 2^52 + power: adding to those of a number with the last bit 1 adds to it.
  const auto shifter = hn::Set(d, 0x1.8p52);
  const auto shifted = hn::BitCast(d, hn::Add(hn::BitCast(bits, shifter), power));
  const auto k =
      hn::Add(hn::Sub(shifted, shifter), hn::IfThenElseZero(is_small, hn::Set(d, -52.0)));
  const auto low = hn::Mul(k, hn::Set(d, kLowOfLn2));
  return hn::Sub(hn::Mul(k, hn::Set(d, kHighOfLn2)),
                 hn::Sub(hn::Sub(LogDeficitVector(d, f), low), f));
}

// --- powers --------------------------------------------------------------------------------------

void RaiseEach(double* bases, int64_t count, double exponent) {
  const auto raise = [&](auto d, int64_t i) HWY_ATTR {
    constexpr double kMost = 700;
    const auto log = hn::Mul(hn::Set(d, exponent), LogVector(d, hn::LoadU(d, bases + i)));
    const auto clamped = hn::Min(hn::Max(log, hn::Set(d, -kMost)), hn::Set(d, kMost));
    hn::StoreU(ExpVector(d, clamped), d, bases + i);
  };
  const Wide d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) raise(d, i);
  for (; i < count; ++i) raise(hn::CappedTag<double, 1>(), i);
}

// --- norms of windows ----------------------------------------------------------------------------

// Sums powers of numbers in [0, 1].
template <class D>
class PowerSums {
 public:
  explicit PowerSums(uint32_t exponent) : exponent_(exponent) {}

  HWY_INLINE void Add(hn::Vec<D> base) {
    auto power = hn::Set(D(), 1.0);
    for (uint32_t exponent = exponent_; exponent > 0; exponent /= 2) {
      if (exponent % 2 != 0) power = hn::Mul(power, base);
      base = hn::Mul(base, base);
    }
    const auto sum = hn::Add(sum_, power);
    const auto power_part = hn::Sub(sum, sum_);
    const auto sum_part = hn::Sub(sum, power_part);
    tail_ = hn::Add(tail_, hn::Add(hn::Sub(sum_, sum_part), hn::Sub(power, power_part)));
    sum_ = sum;
  }

  HWY_INLINE hn::Vec<D> Total() const { return hn::Add(sum_, tail_); }

 private:
  uint32_t exponent_;
  hn::Vec<D> sum_ = hn::Zero(D()), tail_ = hn::Zero(D());
};

// Computes as many windows as D has lanes; the first begins at x. The root reduces the powers'
// relative errors, so binary64 suffices.
template <int64_t kStep, class D, typename T>
HWY_INLINE void NormVector(D d, const T* x, int64_t step, const TapLoops& taps, uint32_t exponent,
                           double* norms) {
  const hn::Rebind<float, D> floats;
  const auto magnitude_at = [&](int64_t offset) HWY_ATTR {
    return hn::Abs(hn::PromoteTo(d, LoadSteppedFloats<kStep>(floats, x + offset, step)));
  };
  auto most = hn::Zero(d);
  auto special = hn::Zero(d);  // the sum of what is not finite
  ForEachTap(taps, [&](int64_t offset) HWY_ATTR {
    const auto magnitude = magnitude_at(offset);
    const auto is_finite = hn::Lt(magnitude, hn::Set(d, std::numeric_limits<double>::infinity()));
    const auto finite = hn::IfThenElseZero(is_finite, magnitude);
    most = hn::Max(most, finite);
    special = hn::Add(special, hn::Sub(magnitude, finite));
  });
  PowerSums<D> powers(exponent);
  ForEachTap(taps,
             [&](int64_t offset) HWY_ATTR { powers.Add(hn::Div(magnitude_at(offset), most)); });

  const auto is_finite = hn::Eq(special, hn::Zero(d));
  const auto has_powers = hn::And(is_finite, hn::Ne(most, hn::Zero(d)));
  const auto sum = hn::IfThenElse(has_powers, powers.Total(), hn::Set(d, 1.0));
  const auto log = hn::Div(LogVector(d, sum), hn::Set(d, static_cast<double>(exponent)));
  const auto norm = hn::Mul(most, ExpVector(d, log));
  hn::StoreU(hn::IfThenElse(is_finite, norm, special), d, norms);
}

template <typename T>
void NormPoolRow(const PoolRow<T>& row, const TapLoops& taps, uint32_t exponent, double* norms) {
  WithStep(row.step, [&]<int64_t kStep>() HWY_ATTR {
    ForEachWindowVector(Wide(), row.count, [&](auto d, int64_t first) HWY_ATTR {
      NormVector<kStep>(d, row.x + first * row.step, row.step, taps, exponent, norms + first);
    });
  });
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

void RaiseAll(std::span<double> bases, double exponent) {
  DMLOP_CHOOSE(RaiseEach)(bases.data(), std::ssize(bases), exponent);
}

template <typename T>
PoolNormKernel<T> PoolNormKernelFor() {
  return DMLOP_CHOOSE(NormPoolRow<T>);
}

template PoolNormKernel<float> PoolNormKernelFor();
template PoolNormKernel<Half> PoolNormKernelFor();

}  // namespace dmlop
#endif
