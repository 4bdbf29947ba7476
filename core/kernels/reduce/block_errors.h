// SPDX-License-Identifier: Apache-2.0
// Computes the errors of a block of elements, and what a comparison keeps of them.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/tensor/element.h"

namespace dmlop {

inline constexpr int64_t kMaxErrorBlock = 512;  // elements

// The largest errors of elements that are finite on both sides.
struct LargestErrors {
  double absolute = 0.0;
  double relative = 0.0;  // relative to |expected|
};

// An error of at most absolute + relative * |expected| is close; one of at most `ulp` ULP passes as
// well.
struct ErrorLimits {
  double absolute;
  double relative;
  uint64_t ulp;
};

// `absolute_error` belongs to the ULP error; `magnitude` is |expected|.
template <typename T>
bool IsClose(WideUnsigned<T> ulp, double absolute_error, double magnitude,
             const ErrorLimits& limits) {
  const double limit = limits.absolute + limits.relative * magnitude;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    // The error may be rounded as a double; as an integer it is exact.
    return ulp == 0 || limit >= 0x1p64 || (limit >= 1.0 && ulp <= static_cast<uint64_t>(limit));
  } else {
    // An error too large for a double is close to nothing, whatever the limit overflows to.
    constexpr double kMost = std::numeric_limits<double>::max();
    return ulp == 0 || (absolute_error <= kMost && absolute_error <= limit);
  }
}

// Returns the part that an error uses of the limit that it uses least; infinite if there is none.
inline double PartUsed(double ulp, double absolute_error, double magnitude,
                       const ErrorLimits& limits) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (ulp == 0) return 0.0;
  const double limit = limits.absolute + limits.relative * magnitude;
  const bool has_limit = limit > 0 && absolute_error <= std::numeric_limits<double>::max();
  const double close = has_limit ? absolute_error / limit : kNone;
  const double few = limits.ulp > 0 ? ulp / static_cast<double>(limits.ulp) : kNone;
  return close < few ? close : few;
}

// Returns whether a float is nonzero and smaller than the least normal number of its type.
template <typename T>
bool IsSubnormal(T x) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    using Bits = WideUnsigned<T>;
    constexpr int kFraction = sizeof(T) == 2 ? 10 : sizeof(T) == 4 ? 23 : 52;
    constexpr Bits kMagnitude = (Bits{1} << (8 * sizeof(T) - 1)) - 1;
    // 0 becomes the largest number.
    const Bits below = (static_cast<Bits>(ElementBits(x)) & kMagnitude) - 1;
    return below < (Bits{1} << kFraction) - 1;
  }
}

// Some of the elements of a block, with their ULP errors.
template <typename T>
struct ErrorBlock {
  alignas(64) T actual[kMaxErrorBlock];
  alignas(64) WideUnsigned<T> ulps[kMaxErrorBlock];
};

template <typename T>
struct ErrorKernels {
  using Ulp = WideUnsigned<T>;

  struct Measured {
    Ulp most;          // the largest ULP error
    bool has_special;  // a NaN or an infinity differs from the other side's bits
  };

  // Stores the ULP error of each element.
  Measured (*measure)(const T* actual, const T* expected, int64_t count, Ulp* ulps);

  int64_t (*count_above)(Ulp limit, const Ulp* ulps, int64_t count);
  int64_t (*count_unequal_bits)(const T* actual, const T* expected, int64_t count);
  int64_t (*count_subnormals)(const T* elements, int64_t count);

  // The elements must not be special here.
  //
  // Stores the ULP errors that are not close, and 0 for the others; returns the largest. Raises
  // `most_used` to the largest PartUsed of the elements.
  Ulp (*excuse_close)(const Ulp* ulps, const T* actual, const T* expected, int64_t count,
                      const ErrorLimits& limits, Ulp* not_close, double& most_used);
  // Copies the elements of a block whose error in `not_close` is above the limit, or the others;
  // the expected elements replace the rest. Returns the largest ULP error.
  Ulp (*take_part)(const Ulp* ulps, const Ulp* not_close, Ulp limit, bool above, const T* actual,
                   const T* expected, int64_t count, ErrorBlock<T>& part);
  void (*take_largest)(const Ulp* ulps, const T* actual, const T* expected, int64_t count,
                       LargestErrors& largest);
};

// Returns the kernels for the current instruction set. T is any element type.
template <typename T>
ErrorKernels<T> ErrorKernelsFor();

}  // namespace dmlop
