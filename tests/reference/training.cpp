// SPDX-License-Identifier: Apache-2.0
// ADAM_OPTIMIZER and DYNAMIC_QUANTIZE_LINEAR in real numbers.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/reference/slices.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Views = std::span<const ConstTensorView>;

// --- ADAM_OPTIMIZER ------------------------------------------------------------------------------

double FloatIn(const OperatorDesc& desc, std::string_view field) {
  return static_cast<double>(Get<float>(desc, field));
}

// 1 - beta^step.
Exact OneLessPower(double beta, uint32_t step) {
  Real power(beta, 1200);
  mpfr_pow_ui(power.get(), power.get(), step, MPFR_RNDN);
  Real result(1.0, 1200);
  mpfr_sub(result.get(), result.get(), power.get(), MPFR_RNDN);
  return Exact(result);
}

double ToDouble(const Exact& x) {
  return mpfr_get_d(x.real().get(), MPFR_RNDN);
}

Expectation Adam(const OperatorDesc& desc, Views inputs, size_t output, const Dims& index) {
  const DataType type = inputs[0].type;
  const double x = NumberAt(inputs[0], index);
  const double m = NumberAt(inputs[1], index);
  const double v = NumberAt(inputs[2], index);
  const double g = NumberAt(inputs[3], index);
  const uint32_t step =
      static_cast<uint32_t>(BitsAt(inputs[4], Dims::Filled(inputs[4].layout.rank(), 0)));
  const double beta1 = FloatIn(desc, "Beta1");
  const double beta2 = FloatIn(desc, "Beta2");
  const auto finite = [](double number) { return Exact(std::isfinite(number) ? number : 0); };
  const Exact one(1);
  const Exact first = Exact(beta1) * finite(m) + (one - Exact(beta1)) * finite(g);
  const Exact second = Exact(beta2) * finite(v) + (one - Exact(beta2)) * finite(g) * finite(g);
  const double plain_first = beta1 * m + (1 - beta1) * g;
  const double plain_second = beta2 * v + (1 - beta2) * g * g;
  if (output == 1) return {Rounded(first, plain_first, type)};
  if (output == 2) return {Rounded(second, plain_second, type)};
  const double rate = FloatIn(desc, "LearningRate");
  const double epsilon = FloatIn(desc, "Epsilon");
  const Exact bias1 = OneLessPower(beta1, step);
  const Exact bias2 = OneLessPower(beta2, step);
  const bool has_root = std::isfinite(plain_second) && !(second < 0);
  const Exact divisor = (has_root ? sqrt(second) : Exact(0)) + Exact(epsilon);
  const bool is_number = has_root && std::isfinite(x) && std::isfinite(plain_first) && bias1 > 0 &&
                         (divisor > 0 || divisor < 0);
  if (!is_number) {
    const double alpha = std::sqrt(ToDouble(bias2)) / ToDouble(bias1);
    const double moment = std::isfinite(plain_first) ? ToDouble(first) : plain_first;
    const double below = has_root ? ToDouble(divisor) : std::sqrt(plain_second) + epsilon;
    return Special(type, x - rate * alpha * moment / below);
  }
  const Exact scale = Exact(rate) * sqrt(bias2) / bias1 / divisor;
  const Exact result = Exact(x) - scale * first;
  const Exact size = fabs(Exact(x)) + fabs(scale) * (fabs(Exact(beta1) * Exact(m)) +
                                                     fabs((one - Exact(beta1)) * Exact(g)));
  if (mpfr_zero_p(result.real().get()) != 0 && x == 0) {
    return Special(type, x - ToDouble(scale * first));
  }
  return Within(type, result.real(), 0.5001, 0x1p-46 * ToDouble(size));
}

// --- DYNAMIC_QUANTIZE_LINEAR ---------------------------------------------------------------------

// Rounds to the nearest integer, ties to even, and clamps to the bounds.
int Inside(double number, int min, int max) {
  if (std::isnan(number)) number = 0;
  return static_cast<int>(
      std::clamp(std::nearbyint(number), static_cast<double>(min), static_cast<double>(max)));
}

Expectation DynamicQuantize(const OperatorDesc& desc, Views inputs, size_t output,
                            const Dims& index) {
  const bool is_signed = *Get<TensorDesc>(desc, "OutputTensor").data_type == DataType::kInt8;
  const int min = is_signed ? -128 : 0;
  const int max = is_signed ? 127 : 255;
  double hi = 0;
  double lo = 0;
  ForEachIndex(inputs[0].layout.sizes, [&](const Dims& at) {
    const double x = NumberAt(inputs[0], at);
    if (x > hi) hi = x;
    if (x < lo) lo = x;
  });
  float scale = 1;
  if (std::isinf(hi) || std::isinf(lo)) {
    scale = INFINITY;
  } else if (hi != 0 || lo != 0) {
    scale = RoundReal<float>(((Exact(hi) - Exact(lo)) / Exact(255)).real());
  }
  if (output == 1) return {BitsOf(scale)};
  const float quotient = static_cast<float>(lo) / scale;
  const int zero_point =
      hi == 0 && lo == 0
          ? min
          : Inside(min - static_cast<double>(std::isnan(quotient) ? 0 : quotient), min, max);
  if (output == 2) return {static_cast<uint64_t>(zero_point & 0xFF)};
  const float x = static_cast<float>(NumberAt(inputs[0], index)) / scale;
  const double rounded = std::isnan(x) ? 0 : std::nearbyint(static_cast<double>(x));
  return {static_cast<uint64_t>(Inside(rounded + zero_point, min, max) & 0xFF)};
}

constexpr NamedOracle kOracles[] = {
    {"ADAM_OPTIMIZER", Adam},
    {"DYNAMIC_QUANTIZE_LINEAR", DynamicQuantize},
};

}  // namespace

std::span<const NamedOracle> TrainingOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
