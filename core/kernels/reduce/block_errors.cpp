// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/reduce/block_errors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/reduce/block_errors.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "core/kernels/simd/dispatch.h"
#include "core/kernels/simd/widen-inl.h"

// Most of these loops are plain, because compilers vectorize them for each instruction set.
HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

// Returns nonzero if the bits differ and one of the elements is NaN or an infinity.
template <typename T>
HWY_INLINE WideUnsigned<T> IsSpecial(T actual, T expected) {
  using Ulp = WideUnsigned<T>;
  if constexpr (std::is_integral_v<T>) {
    return 0;
  } else {
    constexpr Ulp kInfinity = sizeof(T) == 2   ? Ulp{0x7C00}
                              : sizeof(T) == 4 ? Ulp{0x7F800000}
                                               : static_cast<Ulp>(0x7FF0000000000000);
    constexpr Ulp kMagnitude = (Ulp{1} << (8 * sizeof(T) - 1)) - 1;
    const Ulp a = static_cast<Ulp>(ElementBits(actual));
    const Ulp e = static_cast<Ulp>(ElementBits(expected));
    // Signed numbers compare faster in vectors.
    using Signed = WideSigned<T>;
    const bool reaches = static_cast<Signed>(a & kMagnitude) >= static_cast<Signed>(kInfinity) ||
                         static_cast<Signed>(e & kMagnitude) >= static_cast<Signed>(kInfinity);
    return reaches ? a ^ e : Ulp{0};
  }
}

template <typename T>
typename ErrorKernels<T>::Measured Measure(const T* actual, const T* expected, int64_t count,
                                           WideUnsigned<T>* ulps) {
  using Ulp = WideUnsigned<T>;
  Ulp most = 0;
  Ulp special = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Ulp ulp = UlpDistance(actual[i], expected[i]);
    ulps[i] = ulp;
    most = most < ulp ? ulp : most;
    special |= IsSpecial(actual[i], expected[i]);
  }
  return {most, special != 0};
}

template <typename Ulp>
int64_t CountAbove(Ulp limit, const Ulp* ulps, int64_t count) {
  Ulp above = 0;  // as wide as the elements, for vectors; a block is short enough for it
  for (int64_t i = 0; i < count; ++i) above += ulps[i] > limit;
  return static_cast<int64_t>(above);
}

template <typename T>
int64_t CountUnequalBits(const T* actual, const T* expected, int64_t count) {
  using Ulp = WideUnsigned<T>;
  Ulp unequal = 0;  // as above
  for (int64_t i = 0; i < count; ++i) {
    unequal +=
        static_cast<Ulp>(ElementBits(actual[i])) != static_cast<Ulp>(ElementBits(expected[i]));
  }
  return static_cast<int64_t>(unequal);
}

template <typename T>
int64_t CountSubnormals(const T* elements, int64_t count) {
  WideUnsigned<T> subnormal = 0;  // as above
  for (int64_t i = 0; i < count; ++i) subnormal += IsSubnormal(elements[i]);
  return static_cast<int64_t>(subnormal);
}

// Returns |actual - expected|, which for integers is the ULP error.
template <typename T>
HWY_INLINE double AbsoluteError(WideUnsigned<T> ulp, T actual, T expected) {
  if constexpr (std::is_integral_v<T>) return static_cast<double>(ulp);
  return std::abs(AsDouble(actual) - AsDouble(expected));
}

// The errors of a block in FLOAT64.
struct WideErrors {
  HWY_ALIGN double absolute[kMaxErrorBlock];
  HWY_ALIGN double magnitude[kMaxErrorBlock];  // |expected|
};

// Pads the last vector with zeros, and returns its end.
template <typename T>
HWY_INLINE int64_t Widen(const WideUnsigned<T>* ulps, const T* actual, const T* expected,
                         int64_t count, WideErrors& wide) {
  for (int64_t i = 0; i < count; ++i) {
    wide.absolute[i] = AbsoluteError(ulps[i], actual[i], expected[i]);
    wide.magnitude[i] = std::abs(AsDouble(expected[i]));
  }
  int64_t end = count;
  for (; end % static_cast<int64_t>(hn::Lanes(Wide())) != 0; ++end) {
    wide.absolute[end] = wide.magnitude[end] = 0.0;
  }
  return end;
}

// Computes IsClose, but not for integers that a double cannot hold.
HWY_INLINE hn::Mask<Wide> AreClose(WideVec absolute, WideVec limit) {
  const WideVec most = hn::Set(Wide(), std::numeric_limits<double>::max());
  return hn::And(hn::Le(absolute, most), hn::Le(absolute, limit));
}

template <typename T>
WideUnsigned<T> ExcuseClose(const WideUnsigned<T>* ulps, const T* actual, const T* expected,
                            int64_t count, const ErrorLimits& limits, WideUnsigned<T>* not_close,
                            double& most_used) {
  using Ulp = WideUnsigned<T>;
  HWY_ALIGN uint64_t keeps[kMaxErrorBlock];  // all bits set for elements that are not close
  WideErrors wide;
  const int64_t end = Widen(ulps, actual, expected, count, wide);
  const Wide d;
  const hn::RebindToUnsigned<Wide> bits;
  const WideVec zero = hn::Zero(d);
  hn::Mask<Wide> may_use_more = hn::MaskFromVec(zero);
  for (int64_t i = 0; i < end; i += static_cast<int64_t>(hn::Lanes(d))) {
    const WideVec absolute = hn::Load(d, wide.absolute + i);
    const WideVec limit =
        hn::Add(hn::Set(d, limits.absolute),
                hn::Mul(hn::Set(d, limits.relative), hn::Load(d, wide.magnitude + i)));
    const auto uses_less = hn::Lt(absolute, hn::Mul(hn::Set(d, most_used), limit));
    may_use_more = hn::Or(may_use_more, hn::AndNot(uses_less, hn::Gt(absolute, zero)));
    const auto close = AreClose(absolute, limit);
    hn::Store(hn::Not(hn::BitCast(bits, hn::VecFromMask(d, close))), bits, keeps + i);
  }
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    for (int64_t i = 0; i < count; ++i) {
      keeps[i] = uint64_t{IsClose<T>(ulps[i], wide.absolute[i], wide.magnitude[i], limits)} - 1;
    }
  }
  // Most blocks need no division; see TakeLargest.
  for (int64_t i = 0; i < count && !hn::AllFalse(d, may_use_more); ++i) {
    const double used =
        PartUsed(static_cast<double>(ulps[i]), wide.absolute[i], wide.magnitude[i], limits);
    most_used = most_used < used ? used : most_used;
  }
  Ulp most = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Ulp ulp = ulps[i] & static_cast<Ulp>(keeps[i]);
    not_close[i] = ulp;
    most = most < ulp ? ulp : most;
  }
  return most;
}

template <typename T>
WideUnsigned<T> TakePart(const WideUnsigned<T>* ulps, const WideUnsigned<T>* not_close,
                         WideUnsigned<T> limit, bool above, const T* actual, const T* expected,
                         int64_t count, ErrorBlock<T>& part) {
  using Ulp = WideUnsigned<T>;
  const Ulp flip = above ? Ulp{0} : static_cast<Ulp>(-1);
  Ulp most = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Ulp keep = static_cast<Ulp>(-static_cast<Ulp>(not_close[i] > limit)) ^ flip;
    const Ulp ulp = ulps[i] & keep;
    const T a = actual[i];
    const T e = expected[i];
    part.ulps[i] = ulp;
    part.actual[i] = keep != 0 ? a : e;
    most = most < ulp ? ulp : most;
  }
  return most;
}

// Equal infinities and NaN give NaN, which never becomes the maximum, as comparisons with it are
// false.
template <typename T>
void TakeLargest(const WideUnsigned<T>* ulps, const T* actual, const T* expected, int64_t count,
                 LargestErrors& largest) {
  const Wide d;
  WideErrors wide;
  const int64_t end = Widen(ulps, actual, expected, count, wide);

  // If a quotient exceeds the largest one, its numerator is not below largest * denominator, even
  // rounded. So there are few divisions, which take longer than all the rest.
  const WideVec relative = hn::Set(d, largest.relative);
  const WideVec zero = hn::Zero(d);
  WideVec most = zero;
  hn::Mask<Wide> may_be_larger = hn::MaskFromVec(zero);
  for (int64_t i = 0; i < end; i += static_cast<int64_t>(hn::Lanes(d))) {
    const WideVec error = hn::Load(d, wide.absolute + i);
    const WideVec least = hn::Mul(relative, hn::Load(d, wide.magnitude + i));
    most = hn::IfThenElse(hn::Gt(error, most), error, most);
    may_be_larger = hn::Or(may_be_larger, hn::And(hn::Ge(error, least), hn::Gt(error, zero)));
  }
  largest.absolute = std::max(largest.absolute, hn::GetLane(hn::MaxOfLanes(d, most)));
  if (hn::AllFalse(d, may_be_larger)) return;
  for (int64_t i = 0; i < count; ++i) {
    if (wide.absolute[i] > 0) {
      largest.relative = std::max(largest.relative, wide.absolute[i] / wide.magnitude[i]);
    }
  }
}

template <typename T>
ErrorKernels<T> Kernels() {
  return {Measure<T>,          CountAbove<WideUnsigned<T>>,
          CountUnequalBits<T>, CountSubnormals<T>,
          ExcuseClose<T>,      TakePart<T>,
          TakeLargest<T>};
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

template <typename T>
ErrorKernels<T> ErrorKernelsFor() {
  return DMLOP_CHOOSE(Kernels<T>)();
}

template ErrorKernels<double> ErrorKernelsFor();
template ErrorKernels<float> ErrorKernelsFor();
template ErrorKernels<Half> ErrorKernelsFor();
template ErrorKernels<int64_t> ErrorKernelsFor();
template ErrorKernels<uint64_t> ErrorKernelsFor();
template ErrorKernels<int32_t> ErrorKernelsFor();
template ErrorKernels<uint32_t> ErrorKernelsFor();
template ErrorKernels<int16_t> ErrorKernelsFor();
template ErrorKernels<uint16_t> ErrorKernelsFor();
template ErrorKernels<int8_t> ErrorKernelsFor();
template ErrorKernels<uint8_t> ErrorKernelsFor();

}  // namespace dmlop
#endif
