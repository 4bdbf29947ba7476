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
