// SPDX-License-Identifier: Apache-2.0
#include "core/compare/bfloat16.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr unsigned kLowerBits = 16;

// The nearest FLOAT32 but, if there is a remainder, the neighbour with an odd last bit, so that
// rounding again gives what rounding once does.
float ToOddFloat(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  const bool is_beyond = std::abs(static_cast<double>(nearest)) > std::abs(value);
  return std::bit_cast<float>((std::bit_cast<uint32_t>(nearest) - (is_beyond ? 1 : 0)) | 1);
}

float ToBfloat16(double value) {
  const uint32_t bits = std::bit_cast<uint32_t>(ToOddFloat(value));
  if (std::isnan(value)) return std::numeric_limits<float>::quiet_NaN();
  const uint32_t is_odd = (bits >> kLowerBits) & 1;
  return std::bit_cast<float>((bits + 0x7FFF + is_odd) >> kLowerBits << kLowerBits);
}

uint64_t InSteps(uint64_t float_ulp) {
  return float_ulp == Difference::kMismatchUlp ? float_ulp : float_ulp >> kLowerBits;
}

void CountInSteps(std::optional<Difference>& difference) {
  if (difference) difference->ulp_error = InSteps(difference->ulp_error);
}

// All errors are multiples of 2^16, so those of each bin go to one bin.
void CountInSteps(ErrorTally& tally) {
  tally.max_ulp_error = InSteps(tally.max_ulp_error);
  UlpHistogram& bins = tally.ulp_histogram;
  std::shift_left(bins.begin() + 1, bins.end(), kLowerBits);
  std::fill(bins.end() - kLowerBits, bins.end(), 0);
}

void CountInSteps(Comparison& comparison) {
  for (auto* one : {&comparison.first, &comparison.worst, &comparison.worst_finite}) {
    CountInSteps(*one);
  }
  for (Difference& one : comparison.listed) one.ulp_error = InSteps(one.ulp_error);
  CountInSteps(comparison.passing);
  CountInSteps(comparison.failing);
  auto& passing_ulp = comparison.smallest_passing_ulp;
  if (passing_ulp) passing_ulp = InSteps(*passing_ulp);
}

}  // namespace

std::shared_ptr<const Buffer> RoundedToBfloat16(const ConstTensorView& tensor) {
  const Layout& layout = tensor.layout;
  const auto buffer =
      std::make_shared<Buffer>(static_cast<size_t>(layout.element_count()) * sizeof(float));
  auto* to = reinterpret_cast<float*>(buffer->data());
  VisitDataType(Join<TypeList<double>, Floats>{}, tensor.type, [&]<typename T>() {
    Dims index = Dims::Filled(layout.rank(), 0);
    for (int64_t i = 0; i < layout.element_count(); ++i) {
      to[i] = ToBfloat16(
          AsDouble(ElementOf<T>(tensor.data + OffsetOf(layout, index) * int64_t{sizeof(T)})));
      Advance(layout.sizes, index);
    }
  });
  return buffer;
}

Comparison Compare(const AlignedTensors& aligned, const Tolerance& tolerance,
                   const ComparisonDetails& details) {
  const auto& [actual, expected] = std::pair(aligned.actual.view, aligned.expected.view);
  if (!aligned.in_bfloat16) return Compare(actual, expected, tolerance, details);
  constexpr uint64_t kMostUlp = std::numeric_limits<uint64_t>::max() >> kLowerBits;
  Tolerance in_floats = tolerance;
  in_floats.ulp = std::min(tolerance.ulp, kMostUlp) << kLowerBits;
  Comparison comparison = Compare(actual, expected, in_floats, details);
  CountInSteps(comparison);
  return comparison;
}

}  // namespace dmlop
