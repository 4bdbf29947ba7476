// SPDX-License-Identifier: Apache-2.0
#include "core/compare/alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/compare/elements.h"
#include "core/compare/statistics.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

Dims WithoutUnits(const Dims& sizes) {
  Dims rest;
  for (const int64_t size : sizes) {
    if (size != 1) rest.push_back(size);
  }
  return rest;
}

// Views the same elements with other sizes, which may differ only by 1s.
ConstTensorView Reshaped(const ConstTensorView& tensor, const Dims& sizes) {
  ConstTensorView reshaped = tensor;
  reshaped.layout = PackedLayout(sizes);
  size_t from = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    while (tensor.layout.sizes[from] == 1) ++from;
    reshaped.layout.strides[d] = tensor.layout.strides[from++];
  }
  return reshaped;
}

// Converts the elements to Wide, in row-major order; returns null if one does not fit.
template <typename Wide, typename T>
std::shared_ptr<const Buffer> Widened(const ConstTensorView& tensor) {
  const auto buffer =
      std::make_shared<Buffer>(static_cast<size_t>(tensor.layout.element_count()) * sizeof(Wide));
  auto* to = reinterpret_cast<Wide*>(buffer->data());
  const T* from = tensor.elements<T>();
  Dims index = Dims::Filled(tensor.layout.rank(), 0);
  for (int64_t i = 0; i < tensor.layout.element_count(); ++i) {
    const T value = from[OffsetOf(tensor.layout, index)];
    if (!std::in_range<Wide>(value)) return nullptr;
    to[i] = static_cast<Wide>(value);
    Advance(tensor.layout.sizes, index);
  }
  return buffer;
}

template <typename Wide>
std::shared_ptr<const Buffer> Widened(const ConstTensorView& tensor) {
  std::shared_ptr<const Buffer> buffer;
  VisitDataType(AllTypes{}, tensor.type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) buffer = Widened<Wide, T>(tensor);
  });
  return buffer;
}

// Returns false if an element does not fit.
template <typename Wide>
bool WidenTo(DataType type, AlignedTensors& aligned) {
  const auto actual = Widened<Wide>(aligned.actual.view);
  const auto expected = actual ? Widened<Wide>(aligned.expected.view) : nullptr;
  if (!expected) return false;
  const std::string_view name = Name(type);
  aligned.actual = {{actual->data(), type, PackedLayout(aligned.actual.view.layout.sizes)}, name};
  aligned.expected = {{expected->data(), type, PackedLayout(aligned.expected.view.layout.sizes)},
                      name};
  aligned.storage = {actual, expected};
  return true;
}

// Rounds what is compared with bfloat16: a FLOAT32 tensor or, if an expected one may be of any
// floats, that. The type of the actual elements is not changed otherwise.
void AlignBfloat16(const Leniency& leniency, AlignedTensors& aligned) {
  ComparedTensor& other = aligned.actual.is_bfloat16 ? aligned.expected : aligned.actual;
  const bool is_expected = &other == &aligned.expected;
  const bool is_any_float = is_expected && leniency.float_types && IsFloat(other.view.type);
  if (other.view.type != DataType::kFloat32 && !is_any_float) return;
  if (!other.is_bfloat16) {
    const auto rounded = RoundedToBfloat16(other.view, leniency.cuts_to_bfloat16);
    other.view = {rounded->data(), DataType::kFloat32, PackedLayout(other.view.layout.sizes)};
    aligned.storage.push_back(rounded);
  }
  aligned.in_bfloat16 = true;
  other.type_name = is_expected ? aligned.actual.type_name : aligned.expected.type_name;
}

// Files have elements of 4 bits as integers of 8.
void AlignNibbles(ComparedTensor& nibbles, const ComparedTensor& other) {
  if (!HasNibbles(nibbles.view.type) || StoredAs(nibbles.view.type) != other.view.type) return;
  nibbles.view.type = other.view.type;
  nibbles.type_name = other.type_name;
}

void AlignTypes(const Leniency& leniency, AlignedTensors& aligned) {
  AlignNibbles(aligned.actual, aligned.expected);
  AlignNibbles(aligned.expected, aligned.actual);
  if (aligned.actual.is_bfloat16 || aligned.expected.is_bfloat16) AlignBfloat16(leniency, aligned);
  const DataType actual = aligned.actual.view.type;
  const DataType expected = aligned.expected.view.type;
  if (actual == expected) return;
  const bool are_integers = !IsFloat(actual) && !IsFloat(expected);
  const bool are_floats = IsFloat(actual) && IsFloat(expected);
  if (leniency.float_types && are_floats) return;
  if (leniency.integer_types && are_integers) {
    if (WidenTo<int64_t>(DataType::kInt64, aligned)) return;
    if (WidenTo<uint64_t>(DataType::kUint64, aligned)) return;
    aligned.mismatches.push_back(
        "values differ: some are negative, and others are 2^63 or more, which no type holds both");
    return;
  }
  aligned.mismatches.push_back(fmt::format("data types differ: actual {}, expected {}{}",
                                           aligned.actual.type_name, aligned.expected.type_name,
                                           are_integers ? "; --any-integers compares the values"
                                           : are_floats ? "; --any-floats compares the values"
                                                        : ""));
}

void AlignSizes(const Leniency& leniency, Side shape, AlignedTensors& aligned) {
  const Dims actual = aligned.actual.view.layout.sizes;
  const Dims expected = aligned.expected.view.layout.sizes;
  if (actual == expected) return;
  const bool only_units = WithoutUnits(actual) == WithoutUnits(expected);
  if (only_units && leniency.unit_sizes) {
    if (shape == Side::kExpected) {
      aligned.actual.view = Reshaped(aligned.actual.view, expected);
    } else {
      aligned.expected.view = Reshaped(aligned.expected.view, actual);
    }
    return;
  }
  const char* const way_on =
      only_units ? "; they differ by dimensions of size 1 only, which --squeeze lets pass"
      : Product(actual) == Product(expected)
          ? "; --reshape compares as many elements in their order"
          : "";
  aligned.mismatches.push_back(fmt::format("shapes differ: actual {}, expected {}{}",
                                           ToString(actual), ToString(expected), way_on));
}

}  // namespace

AlignedTensors Align(const ComparedTensor& actual, const ComparedTensor& expected,
                     const Leniency& leniency, Side shape) {
  AlignedTensors aligned{actual, expected, {}, {}};
  aligned.of_bfloat16 = leniency.of_bfloat16;
  AlignTypes(leniency, aligned);
  AlignSizes(leniency, shape, aligned);
  return aligned;
}

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

}  // namespace

float RoundedToBfloat16(double value, bool is_cut) {
  const uint32_t bits = std::bit_cast<uint32_t>(ToOddFloat(value));
  if (std::isnan(value)) return std::numeric_limits<float>::quiet_NaN();
  const uint32_t is_odd = (bits >> kLowerBits) & 1;
  const uint32_t added = is_cut ? 0 : 0x7FFF + is_odd;
  return std::bit_cast<float>((bits + added) >> kLowerBits << kLowerBits);
}

uint64_t InStepsOfBfloat16(uint64_t float_ulp) {
  return float_ulp == Difference::kMismatchUlp ? float_ulp : float_ulp >> kLowerBits;
}

namespace {

void CountInSteps(std::optional<Difference>& difference) {
  if (difference) difference->ulp_error = InStepsOfBfloat16(difference->ulp_error);
}

// All errors are multiples of 2^16, so those of each bin go to one bin.
void CountInSteps(ErrorTally& tally) {
  tally.max_ulp_error = InStepsOfBfloat16(tally.max_ulp_error);
  UlpHistogram& bins = tally.ulp_histogram;
  std::shift_left(bins.begin() + 1, bins.end(), kLowerBits);
  std::fill(bins.end() - kLowerBits, bins.end(), 0);
}

void CountInSteps(Comparison& comparison) {
  for (auto* one : {&comparison.first, &comparison.worst, &comparison.worst_finite}) {
    CountInSteps(*one);
  }
  for (Difference& one : comparison.listed) one.ulp_error = InStepsOfBfloat16(one.ulp_error);
  CountInSteps(comparison.passing);
  CountInSteps(comparison.failing);
  auto& passing_ulp = comparison.smallest_passing_ulp;
  if (passing_ulp) passing_ulp = InStepsOfBfloat16(*passing_ulp);
}

}  // namespace

std::shared_ptr<const Buffer> RoundedToBfloat16(const ConstTensorView& tensor, bool is_cut) {
  const Layout& layout = tensor.layout;
  const auto buffer =
      std::make_shared<Buffer>(static_cast<size_t>(layout.element_count()) * sizeof(float));
  auto* to = reinterpret_cast<float*>(buffer->data());
  VisitDataType(Join<TypeList<double>, Floats>{}, tensor.type, [&]<typename T>() {
    Dims index = Dims::Filled(layout.rank(), 0);
    for (int64_t i = 0; i < layout.element_count(); ++i) {
      to[i] = RoundedToBfloat16(
          AsDouble(ElementOf<T>(tensor.data + OffsetOf(layout, index) * int64_t{sizeof(T)})),
          is_cut);
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
  Tolerance in_floats = aligned.LimitsOf(tolerance);
  in_floats.ulp = std::min(in_floats.ulp, kMostUlp) << kLowerBits;
  Comparison comparison = Compare(actual, expected, in_floats, details);
  CountInSteps(comparison);
  return comparison;
}

namespace {

template <typename T>
uint64_t UlpOf(const ValuePair<T>& pair) {
  if (pair.is_equal()) return 0;
  return pair.is_finite() ? UlpDistance(pair.actual, pair.expected) : Difference::kMismatchUlp;
}

NumberSequence UlpErrorsOf(const AlignedTensors& aligned) {
  const ConstTensorView& expected = aligned.expected.view;
  NumberSequence errors{expected.layout.element_count(), expected.element_bytes(), {}};
  VisitElementPairs(aligned.actual.view, expected, [&](const auto& pairs) {
    errors.read = [pairs, in_bfloat16 = aligned.in_bfloat16](int64_t begin, int64_t end,
                                                             uint64_t* ulps) {
      for (int64_t number = begin; number < end; ++number) {
        const uint64_t ulp = UlpOf(pairs.PairAt(number));
        *ulps++ = in_bfloat16 ? InStepsOfBfloat16(ulp) : ulp;
      }
    };
  });
  return errors;
}

size_t BinOfRank(const UlpHistogram& bins, int64_t rank) {
  size_t bin = 0;
  for (; rank >= bins[bin]; ++bin) rank -= bins[bin];
  return bin;
}

}  // namespace

UlpFigures UlpFiguresOf(const AlignedTensors& aligned, const Comparison& comparison) {
  UlpHistogram bins = comparison.passing.ulp_histogram;
  std::ranges::transform(bins, comparison.failing.ulp_histogram, bins.begin(), std::plus());
  const int64_t count = std::accumulate(bins.begin(), bins.end(), int64_t{0});
  if (count == 0) return {};
  const std::vector<int64_t> ranks = {(count - 1) / 2, count / 2, (count - 1) * 99 / 100};
  std::vector<uint64_t> errors;
  for (const int64_t rank : ranks) {
    const size_t bin = BinOfRank(bins, rank);
    if (LeastUlp(bin) == MostUlp(bin)) errors.push_back(LeastUlp(bin));
  }
  if (errors.size() < ranks.size()) {
    const uint64_t most =
        std::max(comparison.passing.max_ulp_error, comparison.failing.max_ulp_error);
    errors = NumbersOfRanks(UlpErrorsOf(aligned), most, ranks);
  }
  return {(static_cast<double>(errors[0]) + static_cast<double>(errors[1])) / 2, errors[2]};
}

}  // namespace dmlop
