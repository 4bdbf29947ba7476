// SPDX-License-Identifier: Apache-2.0
// Transcendental functions of whole tensors against MPFR, with every instruction set.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "core/engine/element_wise/loop.h"
#include "core/tensor/visit_data_type.h"
#include "tests/exact/float_strata.h"
#include "tests/reference/transcendental.h"
#include "tests/support/random.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

using reference::ExpectedElement;
using F = ElementWiseFunction;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Common parameters, and some with special results.
struct FunctionOf {
  F function;
  std::vector<Parameters> parameters;
};

const FunctionOf kFunctions[] = {
    {F::kElu, {{1, 0}, {0.5, 0}, {0, 0}, {-0.0, 0}, {-2, 0}, {kInfinity, 0}}},
    {F::kCelu, {{1, 0}, {0.5, 0}, {-0.75, 0}, {0, 0}, {0x1p-140, 0}, {kInfinity, 0}}},
    {F::kScaledElu,
     {{1.67326319217681884765625, 1.05070102214813232421875}, {0, 1}, {-1, -2}, {1, 0}, {2, NAN}}},
    {F::kScaledTanh, {{1, 0.5}, {1, 1}, {-3, 0x1p-140}, {2, 0}, {0, 1}, {1, kInfinity}}},
    {F::kSoftplus, {{1, 0}, {2, 0}, {-3, 0}, {0, 0}, {-0.0, 0}, {0x1p-120, 0}, {NAN, 0}}},
    {F::kParametricSoftplus, {{2, 0.5}, {1, 1}, {-1, -1}, {0, 1}, {1, 0}, {1, kInfinity}}},
    {F::kSwish, {{1, 0}, {double{1.702f}, 0}, {0, 0}, {-1, 0}, {kInfinity, 0}}},
    {F::kConstantPow,
     {{2, 0},
      {3, 0},
      {0.5, 0},
      {-1, 0},
      {-0.5, 0},
      {0, 0},
      {0x1p100, 0},
      {2.5, 0},
      {-kInfinity, 0}}},
};

std::vector<Half> AllHalfs() {
  std::vector<Half> halfs;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) halfs.push_back({static_cast<uint16_t>(bits)});
  return halfs;
}

// Expects the bits of `expected` with every instruction set.
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

template <typename T>
ConstTensorView ViewOf(const T* elements, int64_t count) {
  return {reinterpret_cast<const std::byte*>(elements), kDataTypeOf<T>, {{count}, {1}}};
}

template <typename To, typename From>
void Compute(const ElementWiseCall& call, int64_t count, To* to, const From* x) {
  const ConstTensorView input = ViewOf(x, count);
  ComputeElements(call, {&input, 1},
                  {reinterpret_cast<std::byte*>(to), kDataTypeOf<To>, {{count}, {1}}});
}

template <typename To, typename Other>
void ComputePairs(F function, int64_t count, To* to, const To* x, const Other* others) {
  const ConstTensorView inputs[] = {ViewOf(x, count), ViewOf(others, count)};
  ComputeElements({.function = function}, inputs,
                  {reinterpret_cast<std::byte*>(to), kDataTypeOf<To>, {{count}, {1}}});
}

template <typename To, typename From>
void ExpectRounded(F function, Parameters parameters, const std::vector<From>& x) {
  ElementWiseCall call{.function = function};
  call.parameters.numbers = {parameters.first, parameters.second};
  std::vector<To> expected;
  for (const From element : x) {
    expected.push_back(ExpectedElement<To>(function, ToDouble(element), parameters));
  }
  ExpectOnEveryIsa(
      expected, [&](int64_t count, To* to) { Compute(call, count, to, x.data()); },
      [&](size_t i) {
        return fmt::format("{:a} with {:a}, {:a}", ToDouble(x[i]), parameters.first,
                           parameters.second);
      });
}

TEST(Transcendental, UnaryFunctionsAreRounded) {
  const std::vector<float> floats = FloatStrata();
  const std::vector<Half> halfs = AllHalfs();
  for (const auto& [name, function] : kUnaryFunctions) {
    SCOPED_TRACE(name);
    ExpectRounded<float>(function, {}, floats);
    ExpectRounded<Half>(function, {}, floats);
    ExpectRounded<Half>(function, {}, halfs);
  }
}

TEST(Transcendental, FunctionsWithParametersAreRounded) {
  const std::vector<float> floats = FloatStrata();
  for (const auto& [function, all_parameters] : kFunctions) {
    SCOPED_TRACE(static_cast<int>(function));
    for (const Parameters parameters : all_parameters) {
      ExpectRounded<float>(function, parameters, floats);
      ExpectRounded<Half>(function, parameters, floats);
    }
  }
}

// There are so many numbers that results are looked up; each half occurs five times, and the output
// is transposed.
TEST(Transcendental, ManyHalvesAreRounded) {
  const std::vector<Half> halfs = AllHalfs();
  const int64_t count = std::ssize(halfs);
  constexpr int64_t kTimes = 5;
  const ConstTensorView input{reinterpret_cast<const std::byte*>(halfs.data()),
                              DataType::kFloat16,
                              {{kTimes, count}, {0, 1}}};
  const ElementWiseCall calls[] = {
      {F::kExp, {}, {}},
      {F::kAtanh, {}, ScaleBias{2, 0.5f}},
      {F::kSoftplus, {{2}, {}}, {}},
      {F::kConstantPow, {{kInfinity}, {}}, {}},
  };
  for (const ElementWiseCall& call : calls) {
    SCOPED_TRACE(static_cast<int>(call.function));
    const ScaleBias scale_bias = call.scale_bias.value_or(ScaleBias{1, 0});
    std::vector<Half> expected;
    for (const Half half : halfs) {
      // exact in FLOAT64, then rounded once
      const double x = double{scale_bias.scale} * ToDouble(half) + double{scale_bias.bias};
      const Half result = ExpectedElement<Half>(call.function, static_cast<float>(x),
                                                {call.parameters.numbers[0], 0});
      expected.insert(expected.end(), kTimes, result);
    }
    ExpectOnEveryIsa(
        expected,
        [&](int64_t, Half* to) {
          ComputeElements(call, {&input, 1},
                          {reinterpret_cast<std::byte*>(to),
                           DataType::kFloat16,
                           {{kTimes, count}, {1, kTimes}}});
        },
        [&](size_t i) { return fmt::format("{:a}", ToDouble(halfs[i / kTimes])); });
  }
}

// Exponents of any type, also in place.
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
    expected.push_back(ExpectedElement<float>(F::kPow, x[i], exponent));
  }
  ExpectOnEveryIsa(
      expected,
      [&](int64_t count, float* to) {
        std::copy(x.begin(), x.end(), to);
        ComputePairs(F::kPow, count, to, to, exponents.data());
      },
      [&](size_t i) { return fmt::format("{:a} to {}", x[i], exponents[i]); });
}

TEST(Transcendental, ExponentsMayBeIntegers) {
  Engine engine = TestEngine();
  ExpectPowers<float>(engine);
  ExpectPowers<int32_t>(engine);
  ExpectPowers<uint32_t>(engine);
  ExpectPowers<int16_t>(engine);
  ExpectPowers<uint16_t>(engine);
  ExpectPowers<int8_t>(engine);
  ExpectPowers<uint8_t>(engine);
}

// Functions of two values: all kinds, and results close to 1 or to a midpoint.
TEST(Transcendental, PairsAreRounded) {
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
  for (const F function : {F::kPow, F::kAtanYx}) {
    std::vector<float> expected;
    for (size_t i = 0; i < x.size(); ++i) {
      expected.push_back(ExpectedElement<float>(function, x[i], {ToDouble(first[i]), 0}));
    }
    ExpectOnEveryIsa(
        expected,
        [&](int64_t count, float* to) {
          ComputePairs(function, count, to, x.data(), first.data());
        },
        [&](size_t i) { return fmt::format("{:a}, {:a}", x[i], first[i]); });
  }
}

}  // namespace
}  // namespace dmlop
