// The errors of a block of elements: each element's, and what a comparison keeps of all of them.
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
  double relative = 0.0;  // by |expected|
};

// An error of at most absolute + relative * |expected| is close.
struct ErrorLimits {
  double absolute;
  double relative;
};

// `absolute_error` is that of the ULP error; `magnitude` is |expected|.
template <typename T>
bool IsClose(WideUnsigned<T> ulp, double absolute_error, double magnitude,
             const ErrorLimits& limits) {
  const double limit = limits.absolute + limits.relative * magnitude;
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    // The error as a double may be rounded; as an integer it is exact.
    return ulp == 0 || limit >= 0x1p64 || (limit >= 1.0 && ulp <= static_cast<uint64_t>(limit));
  } else {
    // An error too large for a double is close to nothing, whatever the limit overflows to.
    constexpr double kMost = std::numeric_limits<double>::max();
    return ulp == 0 || (absolute_error <= kMost && absolute_error <= limit);
  }
}

template <typename T>
struct ErrorKernels {
  using Ulp = WideUnsigned<T>;

  struct Measured {
    Ulp most;          // the largest ULP error
    bool has_special;  // a NaN or an infinity stands against other bits
  };

  // Stores the ULP error of each element.
  Measured (*measure)(const T* actual, const T* expected, int64_t count, Ulp* ulps);

  int64_t (*count_above)(Ulp limit, const Ulp* ulps, int64_t count);
  int64_t (*count_unequal_bits)(const T* actual, const T* expected, int64_t count);

  // These are for elements that are not special.
  //
  // Stores the ULP errors that are not close, and 0 in place of the others; returns the largest.
  Ulp (*excuse_close)(const Ulp* ulps, const T* actual, const T* expected, int64_t count,
                      const ErrorLimits& limits, Ulp* not_close);
  void (*take_largest)(const Ulp* ulps, const T* actual, const T* expected, int64_t count,
                       LargestErrors& largest);
};

// The kernels for the current instruction set. T is any type of an element.
template <typename T>
ErrorKernels<T> ErrorKernelsFor();

}  // namespace dmlop
