// SPDX-License-Identifier: Apache-2.0
// Kernels of windows have the bits of plain loops on every instruction set.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/exact/elementary.h"
#include "core/kernels/window/pool_row.h"
#include "core/kernels/window/powers.h"
#include "tests/kernels/kernel_cases.h"

namespace dmlop {
namespace {

class WindowOnIsa : public OnIsa {};

double PowerOf(double base, double exponent) {
  return Exp(std::clamp(exponent * Log(base), -700.0, 700.0));
}

TEST_P(WindowOnIsa, PowersHaveTheBitsOfExpAndLog) {
  Engine engine = TestEngine();
  std::vector<double> bases = {1,
                               std::numeric_limits<double>::min(),
                               std::numeric_limits<double>::denorm_min(),
                               std::numeric_limits<double>::max(),
                               std::nextafter(1.0, 0.0),
                               std::sqrt(0.5)};
  std::uniform_real_distribution<double> exponents(-1074, 1023), mantissas(1, 2);
  for (int i = 0; i < 2000; ++i) {
    bases.push_back(std::ldexp(mantissas(engine), static_cast<int>(exponents(engine))));
    bases.push_back(mantissas(engine) - 0.5);
  }
  for (const double exponent : {0.0, 0.75, -1.75, 1.0, 1e-3, -3e38}) {
    std::vector<double> powers = bases;
    RaiseAll(powers, exponent);
    for (size_t i = 0; i < bases.size(); ++i) {
      ASSERT_EQ(powers[i], PowerOf(bases[i], exponent)) << bases[i] << " ^ " << exponent;
    }
  }
}

// Rows of windows of 2 x 3 taps, some steps apart, in rows of 128 elements.
const std::vector<int64_t> kOffsets = {0, 2, 4, 128, 130, 132};
constexpr TapLoops kTaps = {{1, 2, 3}, {0, 128, 2}};
constexpr int64_t kElements = 256;

// Calls check(step, count) for rows that end with the last element.
template <typename Check>
void ForEachWindowRow(Check&& check) {
  for (const int64_t step : {1, 2, 3}) {
    for (int64_t count = 1; (count - 1) * step + kOffsets.back() < kElements; ++count) {
      check(step, count);
    }
  }
}

template <typename T>
void ExpectIntegerSums() {
  Engine engine = TestEngine();
  std::vector<T> x(kElements);
  for (T& element : x) element = static_cast<T>(engine());
  ForEachWindowRow([&](int64_t step, int64_t count) {
    std::vector<int64_t> sums(static_cast<size_t>(count));
    IntegerPoolSumKernelFor<T>()({x.data(), step, count, kOffsets}, sums.data());
    for (int64_t i = 0; i < count; ++i) {
      int64_t sum = 0;
      for (const int64_t offset : kOffsets) sum += x[static_cast<size_t>(i * step + offset)];
      ASSERT_EQ(sums[static_cast<size_t>(i)], sum) << i << " of " << count << ", step " << step;
    }
  });
}

TEST_P(WindowOnIsa, SumsOfIntegers) {
  ExpectIntegerSums<int8_t>();
  ExpectIntegerSums<uint8_t>();
}

// Orders numbers, of which -0 is less than +0.
template <typename T>
bool IsLess(T a, T b) {
  if constexpr (std::is_integral_v<T>) return a < b;
  if constexpr (!std::is_integral_v<T>) {
    const double x = ToDouble(a), y = ToDouble(b);
    return x < y || (x == y && std::signbit(x) && !std::signbit(y));
  }
}

template <typename T>
bool IsNan(T x) {
  if constexpr (std::is_integral_v<T>) return false;
  if constexpr (!std::is_integral_v<T>) return std::isnan(ToDouble(x));
}

// Returns the greatest number of a window, and NaN if it has none.
template <typename T>
T MaximumOf(const std::vector<T>& x, int64_t first) {
  T most = x[static_cast<size_t>(first)];
  for (const int64_t offset : kOffsets) {
    const T other = x[static_cast<size_t>(first + offset)];
    if (!IsNan(other) && (IsNan(most) || IsLess(most, other))) most = other;
  }
  return most;
}

// Draws few different numbers, so that both zeros and NaN meet, and windows of NaN alone.
template <typename T>
std::vector<T> FewNumbers() {
  Engine engine = TestEngine();
  std::vector<T> x(kElements);
  for (T& element : x) {
    if constexpr (std::is_integral_v<T>) {
      element = static_cast<T>(engine());
    } else {
      const double few[] = {-0.0, 0.0, NAN, -1.5, -INFINITY, NAN, NAN, NAN};
      element = FromDouble<T>(few[engine() % std::size(few)]);
    }
  }
  return x;
}

template <typename T>
void ExpectMaxima() {
  const std::vector<T> x = FewNumbers<T>();
  ForEachWindowRow([&](int64_t step, int64_t count) {
    std::vector<T> maxima(static_cast<size_t>(count));
    PoolMaxKernelFor<T>()({x.data(), step, count, kOffsets}, FlippedBits<T>(MinMax::kMax),
                          maxima.data());
    for (int64_t i = 0; i < count; ++i) {
      const T maximum = maxima[static_cast<size_t>(i)], expected = MaximumOf(x, i * step);
      ASSERT_TRUE(IsNan(maximum) == IsNan(expected) && !IsLess(maximum, expected) &&
                  !IsLess(expected, maximum))
          << i << " of " << count << ", step " << step;
    }
  });
}

TEST_P(WindowOnIsa, Maxima) {
  ForFloatAndHalf([]<typename T>() { ExpectMaxima<T>(); });
  ExpectMaxima<int8_t>();
  ExpectMaxima<int16_t>();
  ExpectMaxima<int32_t>();
  ExpectMaxima<int64_t>();
}

// Returns the root of the sum of cubes. Without errors of the sum's rounding, its bits are those of
// these operations.
double NormOf(const std::vector<float>& x, int64_t first) {
  double most = 0, sum = 0;
  for (const int64_t offset : kOffsets) {
    const double magnitude = std::fabs(x[static_cast<size_t>(first + offset)]);
    if (!std::isfinite(magnitude)) return magnitude;
    most = std::max(most, magnitude);
  }
  if (most == 0) return 0;
  for (const int64_t offset : kOffsets) {
    const double base = std::fabs(x[static_cast<size_t>(first + offset)]) / most;
    sum += base * (base * base);
  }
  return most * Exp(Log(sum) / 3);
}

// Powers of two have sums of cubes without rounding.
std::vector<float> PowersOfTwo() {
  Engine engine = TestEngine();
  std::vector<float> x(kElements);
  std::uniform_int_distribution<int> exponents(-5, 5);
  for (float& element : x) element = std::ldexp(engine() % 2 ? 1.0f : -1.0f, exponents(engine));
  std::fill_n(x.begin() + 40, 9, -0.0f);
  std::fill_n(x.begin() + 168, 9, 0.0f);
  x[20] = INFINITY;
  x[70] = -INFINITY;
  x[110] = NAN;
  x[200] = std::numeric_limits<float>::denorm_min();
  return x;
}

TEST_P(WindowOnIsa, NormsHaveTheBitsOfExpAndLog) {
  const std::vector<float> x = PowersOfTwo();
  ForEachWindowRow([&](int64_t step, int64_t count) {
    std::vector<double> norms(static_cast<size_t>(count));
    PoolNormKernelFor<float>()({x.data(), step, count, {}}, kTaps, 3, norms.data());
    for (int64_t i = 0; i < count; ++i) {
      const double expected = NormOf(x, i * step), norm = norms[static_cast<size_t>(i)];
      ASSERT_TRUE(norm == expected || (std::isnan(norm) && std::isnan(expected)))
          << norm << " is not " << expected << ", " << i << " of " << count << ", step " << step;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Isas, WindowOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
