// Rows against the evaluation of each element, with every instruction set.
#include "core/kernels/element_wise/transcendental/row.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <string_view>
#include <vector>

#include "core/kernels/element_wise/transcendental/approximation.h"
#include "tests/exact/float_strata.h"
#include "tests/exact/real_function.h"
#include "tests/support/random.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Parameters that people use, and such as have special results.
struct FunctionOf {
  Transcendental function;
  std::vector<Parameters> parameters;
};

const FunctionOf kFunctions[] = {
    {Transcendental::kElu, {{1, 0}, {0.5, 0}, {0, 0}, {-0.0, 0}, {-2, 0}, {kInfinity, 0}}},
    {Transcendental::kCelu, {{1, 0}, {0.5, 0}, {-0.75, 0}, {0, 0}, {0x1p-140, 0}, {kInfinity, 0}}},
    {Transcendental::kScaledElu,
     {{1.67326319217681884765625, 1.05070102214813232421875}, {0, 1}, {-1, -2}, {1, 0}, {2, NAN}}},
    {Transcendental::kScaledTanh,
     {{1, 0.5}, {1, 1}, {-3, 0x1p-140}, {2, 0}, {0, 1}, {1, kInfinity}}},
    {Transcendental::kSoftplus,
     {{1, 0}, {2, 0}, {-3, 0}, {0, 0}, {-0.0, 0}, {0x1p-120, 0}, {NAN, 0}}},
    {Transcendental::kParametricSoftplus,
     {{2, 0.5}, {1, 1}, {-1, -1}, {0, 1}, {1, 0}, {1, kInfinity}}},
    {Transcendental::kSwish, {{1, 0}, {double{1.702f}, 0}, {0, 0}, {-1, 0}, {kInfinity, 0}}},
    {Transcendental::kPow,
     {{2, 0},
      {3, 0},
      {0.5, 0},
      {-1, 0},
      {-0.5, 0},
      {0, 0},
      {0x1p100, 0},
      {2.5, 0},
      {-kInfinity, 0}}},
    {Transcendental::kAtanYx, {{1, 0}, {-1, 0}, {0, 0}, {-0.0, 0}, {-0x1p-149, 0}, {kInfinity, 0}}},
};

std::vector<Half> AllHalfs() {
  std::vector<Half> halfs;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) halfs.push_back({static_cast<uint16_t>(bits)});
  return halfs;
}

// The same bits as `expected` with every instruction set.
template <typename To, typename Run, typename Describe>
void ExpectOnEveryIsa(const std::vector<To>& expected, Run run, Describe describe) {
  const SettingsGuard settings_before;
  for (const std::string_view isa : SupportedIsas()) {
    SelectIsa(isa);
    std::vector<To> y(expected.size());
    run(static_cast<int64_t>(y.size()), y.data());
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(BitsOf(y[i]), BitsOf(expected[i])) << isa << " " << describe(i);
    }
  }
}

template <typename To, typename From>
void ExpectRounded(Transcendental function, Parameters parameters, const std::vector<From>& x) {
  std::vector<To> expected;
  for (const From element : x) {
    expected.push_back(RoundedTranscendental<To>(function, ToDouble(element), parameters));
  }
  ExpectOnEveryIsa(
      expected,
      [&](int64_t count, To* to) { TranscendentalRow(function, parameters, count, to, x.data()); },
      [&](size_t i) {
        return fmt::format("{:a} with {:a}, {:a}", ToDouble(x[i]), parameters.first,
                           parameters.second);
      });
}

TEST(TranscendentalRow, UnaryFunctionsAreRounded) {
  const std::vector<float> floats = FloatStrata();
  const std::vector<Half> halfs = AllHalfs();
  for (const auto& [name, function] : kUnaryFunctions) {
    SCOPED_TRACE(name);
    ExpectRounded<float>(function, {}, floats);
    ExpectRounded<Half>(function, {}, floats);
    ExpectRounded<Half>(function, {}, halfs);
  }
}

TEST(TranscendentalRow, FunctionsWithParametersAreRounded) {
  const std::vector<float> floats = FloatStrata();
  for (const auto& [function, all_parameters] : kFunctions) {
    SCOPED_TRACE(static_cast<int>(function));
    for (const Parameters parameters : all_parameters) {
      ExpectRounded<float>(function, parameters, floats);
      ExpectRounded<Half>(function, parameters, floats);
    }
  }
}

// What is furthest from the real result, as a part of it; where both round to 0, infinity or 1 it
// may be any.
double WorstError(Transcendental function, const std::vector<double>& x,
                  const std::vector<Real>& expected) {
  const Approximation approximation = ApproximationOf(function);
  alignas(64) double block[kApproximationBlock] = {};
  alignas(64) double y[kApproximationBlock];
  double worst = 0;
  for (size_t begin = 0; begin < x.size(); begin += kApproximationBlock) {
    const size_t count = std::min(kApproximationBlock, x.size() - begin);
    std::copy_n(&x[begin], count, block);
    approximation.run(y, block, nullptr, {});
    for (size_t i = 0; i < count; ++i) {
      Real difference = expected[begin + i];
      const double rounded = mpfr_get_d(difference.get(), MPFR_RNDN);
      const bool is_one = function == Transcendental::kErf && std::fabs(block[i]) > 3.95;
      if (!(std::fabs(rounded) > 0x1p-152 && std::fabs(rounded) < 0x1p129) || is_one) continue;
      mpfr_d_sub(difference.get(), y[i], difference.get(), MPFR_RNDN);
      worst = std::max(worst, std::fabs(mpfr_get_d(difference.get(), MPFR_RNDN) / rounded));
    }
  }
  return worst;
}

// Each approximation's bound has room: elements are left open by it, not by luck.
TEST(TranscendentalRow, ApproximationsKeepAQuarterOfTheirBounds) {
  const SettingsGuard settings_before;
  const std::vector<float> floats = FloatStrata();
  const std::vector<double> x(floats.begin(), floats.end());
  for (const auto& [name, function] : kUnaryFunctions) {
    std::vector<Real> expected;
    for (const double element : x) expected.push_back(RealFunction(function, element));
    for (const std::string_view isa : SupportedIsas()) {
      SelectIsa(isa);
      const double worst = WorstError(function, x, expected);
      EXPECT_LT(worst, ApproximationOf(function).relative_error / 4) << name << " " << isa;
      std::cout << name << " " << isa << ": within 2^" << std::log2(worst) << "\n";
    }
  }
}

// Exponents of any type, and in place.
template <typename First>
void ExpectPowers(Engine& engine) {
  std::vector<float> x;
  std::vector<First> exponents;
  for (int i = 0; i < 1000; ++i) {
    x.push_back(static_cast<float>(WithRandomSign(engine, std::exp2(Uniform(engine, -3, 3)))));
    exponents.push_back(static_cast<First>(Uniform(engine, 0, 40)));
  }
  x[0] = 46341;
  exponents[1] = std::numeric_limits<First>::max();
  std::vector<float> expected;
  for (size_t i = 0; i < x.size(); ++i) {
    const Parameters exponent{static_cast<double>(exponents[i]), 0};
    expected.push_back(ExpectedResult<float>(Transcendental::kPow, x[i], exponent));
  }
  ExpectOnEveryIsa(
      expected,
      [&](int64_t count, float* to) {
        std::copy(x.begin(), x.end(), to);
        TranscendentalRow(Transcendental::kPow, count, to, to, exponents.data());
      },
      [&](size_t i) { return fmt::format("{:a} to {}", x[i], exponents[i]); });
}

TEST(TranscendentalRow, ExponentsMayBeIntegers) {
  Engine engine = TestEngine();
  ExpectPowers<float>(engine);
  ExpectPowers<int32_t>(engine);
  ExpectPowers<uint32_t>(engine);
  ExpectPowers<int16_t>(engine);
  ExpectPowers<uint16_t>(engine);
  ExpectPowers<int8_t>(engine);
  ExpectPowers<uint8_t>(engine);
}

// Of two values: all kinds, and results next to one or to a number halfway between two.
TEST(TranscendentalRow, PairsAreRounded) {
  Engine engine = TestEngine();
  const std::vector<float> strata = FloatStrata();
  std::vector<float> x;
  std::vector<float> first;
  const auto add = [&](double a, double b) {
    x.push_back(static_cast<float>(a));
    first.push_back(static_cast<float>(b));
  };
  for (int i = 0; i < 4000; ++i) {
    const float any = OneOf(engine, strata);
    add(any, OneOf(engine, strata));
    const double base = std::exp2(Uniform(engine, -20, 20));
    add(base, Uniform(engine, -8, 8));
    add(UniformInt(engine, -4096, 4096), UniformInt(engine, -6, 6));
    add(UniformInt(engine, 1, 4096), UniformInt(engine, -9, 9) * 0.5);
    add(1 + std::ldexp(UniformInt(engine, -4, 4), -24), UniformInt(engine, -9, 9) * 0.25);
    add(std::ldexp(UniformInt(engine, 1, 1 << 24), -149), std::ldexp(1, UniformInt(engine, 0, 30)));
  }
  for (const Transcendental function : {Transcendental::kPow, Transcendental::kAtanYx}) {
    std::vector<float> expected;
    for (size_t i = 0; i < x.size(); ++i) {
      expected.push_back(ExpectedResult<float>(function, x[i], {ToDouble(first[i]), 0}));
    }
    ExpectOnEveryIsa(
        expected,
        [&](int64_t count, float* to) {
          TranscendentalRow(function, count, to, x.data(), first.data());
        },
        [&](size_t i) { return fmt::format("{:a}, {:a}", x[i], first[i]); });
  }
}

}  // namespace
}  // namespace dmlop
