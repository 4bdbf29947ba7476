// SPDX-License-Identifier: Apache-2.0
// Functions that must give the same bits for every element.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/engine/element_wise/loop.h"
#include "core/tensor/visit_data_type.h"
#include "tests/exact/float_strata.h"
#include "tests/exact/mpfr_oracle.h"
#include "tests/reference/real_function.h"

namespace dmlop {
namespace {

using F = ElementWiseFunction;

ElementWiseCall Call(F function, double p = 0, double q = 0) {
  ElementWiseCall call{.function = function};
  call.parameters.numbers = {p, q};
  return call;
}

bool Always(double) {
  return true;
}
bool UnlessNegativeZeroOrInfinity(double x) {
  return !(std::signbit(x) && (x == 0 || std::isinf(x)));
}
bool UnlessNegativeZeroOrNan(double x) {
  return !std::isnan(x) && !(x == 0 && std::signbit(x));
}
bool IfFinite(double x) {
  return std::isfinite(x);
}

// A function of x and, if it takes two elements, of a constant second element or of x again.
struct Side {
  ElementWiseCall call;
  enum { kNone, kSame, kNumber } second = kNone;
  float number = 0;
};

struct Identity {
  std::string name;
  Side left;
  Side right;
  bool (*holds)(double x) = Always;
};

ElementWiseCall Halved() {
  ElementWiseCall call = Call(F::kCast);
  call.scale_bias = ScaleBias{0.5f, -0.0f};
  return call;
}

const Identity kIdentities[] = {
    {"the power of 2 is the product",
     {Call(F::kConstantPow, 2)},
     {Call(F::kMultiply), Side::kSame}},
    {"the power of -1 is the reciprocal", {Call(F::kConstantPow, -1)}, {Call(F::kRecip)}},
    {"the power of 1/2 is the root",
     {Call(F::kConstantPow, 0.5)},
     {Call(F::kSqrt)},
     UnlessNegativeZeroOrInfinity},
    {"a constant exponent is a tensor of it",
     {Call(F::kConstantPow, 2.5)},
     {Call(F::kPow), Side::kNumber, 2.5f}},
    {"CELU(1) is ELU(1)", {Call(F::kCelu, 1)}, {Call(F::kElu, 1)}, UnlessNegativeZeroOrNan},
    {"SCALED_TANH(1, 1) is TANH", {Call(F::kScaledTanh, 1, 1)}, {Call(F::kTanh)}},
    {"SWISH(0) is the half", {Call(F::kSwish, 0)}, {Halved()}, IfFinite},
    {"ATAN_YX(x, 1) is ATAN", {Call(F::kAtanYx), Side::kNumber, 1.0f}, {Call(F::kAtan)}},
    {"PARAMETRIC_SOFTPLUS(1, 1) is SOFTPLUS(1)",
     {Call(F::kParametricSoftplus, 1, 1)},
     {Call(F::kSoftplus, 1)}},
};

template <typename T>
std::vector<T> Compute(const Side& side, const std::vector<T>& x) {
  const Dims sizes = {static_cast<int64_t>(x.size())};
  const T number = FromDouble<T>(ToDouble(side.number));
  std::vector<ConstTensorView> inputs = {
      {reinterpret_cast<const std::byte*>(x.data()), kDataTypeOf<T>, {sizes, {1}}}};
  if (side.second == Side::kSame) inputs.push_back(inputs[0]);
  if (side.second == Side::kNumber) {
    inputs.push_back({reinterpret_cast<const std::byte*>(&number), kDataTypeOf<T>, {sizes, {0}}});
  }
  std::vector<T> y(x.size());
  ComputeElements(side.call, inputs,
                  {reinterpret_cast<std::byte*>(y.data()), kDataTypeOf<T>, {sizes, {1}}});
  return y;
}

template <typename T>
void ExpectSameBits(const std::vector<T>& x, const std::vector<T>& left,
                    const std::vector<T>& right, bool (*holds)(double)) {
  for (size_t i = 0; i < x.size(); ++i) {
    if (holds(ToDouble(x[i]))) {
      ASSERT_EQ(BitsOf(left[i]), BitsOf(right[i])) << std::hexfloat << ToDouble(x[i]);
    }
  }
}

std::vector<Half> AllHalves() {
  std::vector<Half> halves;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) halves.push_back({static_cast<uint16_t>(bits)});
  return halves;
}

TEST(Identities, HoldForEveryElement) {
  const std::vector<float> floats = FloatStrata();
  const std::vector<Half> halves = AllHalves();
  for (const auto& [name, left, right, holds] : kIdentities) {
    SCOPED_TRACE(name);
    ExpectSameBits(floats, Compute(left, floats), Compute(right, floats), holds);
    ExpectSameBits(halves, Compute(left, halves), Compute(right, halves), holds);
  }
}

TEST(Identities, ScaleBiasIsAStepOfItsOwn) {
  const std::vector<float> x = FloatStrata();
  const ScaleBias factors{0.7f, -0.1f};
  Side scaled{Call(F::kCast)};
  scaled.call.scale_bias = factors;
  const std::vector<float> arguments = Compute(scaled, x);
  for (const NamedFunction& function : kUnaryFunctions) {
    SCOPED_TRACE(function.name);
    Side both{Call(function.function)};
    both.call.scale_bias = factors;
    ExpectSameBits(x, Compute(both, x), Compute({Call(function.function)}, arguments), Always);
  }
}

}  // namespace
}  // namespace dmlop
