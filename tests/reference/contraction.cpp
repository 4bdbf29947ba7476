// SPDX-License-Identifier: Apache-2.0
// GEMM and CONVOLUTION: sums of exact products, as their rules define them (DOT-1 to DOT-4).
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/reference/element.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/reference/rational.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Sizes = std::vector<uint32_t>;

double NumberAt(const ConstTensorView& view, const Dims& index) {
  return FloatOf({view.type, BitsAt(view, index)});
}

class ProductSum {
 public:
  void Add(double a, double b) {
    const double product = a * b;  // exact if it is finite
    is_empty_ = false;
    all_are_negative_zeros_ &= product == 0 && std::signbit(product);
    if (std::isfinite(product)) {
      exact_ = exact_ + Rational(product);
    } else {
      special_ += product;
    }
  }

  // round(factor * sum + addend)
  uint64_t Result(double factor, std::optional<double> addend, DataType type) const {
    double plain = factor * Plain();
    if (addend) plain += *addend;
    if (!std::isfinite(factor) || special_ != 0 || !std::isfinite(addend.value_or(0))) {
      return Rounded(Exact(0.0), plain, type);
    }
    Rational total = exact_ * Rational(factor);
    const bool is_zero = total.Sign() == 0 && addend.value_or(0) == 0;
    if (addend) total = total + Rational(*addend);
    if (total.Sign() == 0) return Rounded(Exact(0.0), is_zero ? plain : 0.0, type);
    const Real real = total.ToReal();
    return type == DataType::kFloat16 ? uint64_t{BitsOf(RoundReal<Half>(real))}
                                      : uint64_t{BitsOf(RoundReal<float>(real))};
  }

 private:
  // A stand-in for the sum: its sign, or its value if it is not finite.
  double Plain() const {
    if (special_ != 0) return special_;
    if (exact_.Sign() != 0) return exact_.Sign();
    return !is_empty_ && all_are_negative_zeros_ ? -0.0 : 0.0;
  }

  Rational exact_;
  double special_ = 0;
  bool is_empty_ = true;
  bool all_are_negative_zeros_ = true;
};

// --- GEMM ----------------------------------------------------------------------------------------

Expectation Gemm(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                 const Dims& index) {
  const size_t m = index.size() - 2;
  const size_t n = index.size() - 1;
  const bool a_is_turned = Get<uint32_t>(desc, "TransA") == 1;
  const bool b_is_turned = Get<uint32_t>(desc, "TransB") == 1;
  ProductSum sum;
  for (int64_t k = 0; k < inputs[0].layout.sizes[a_is_turned ? m : n]; ++k) {
    Dims a = index;
    a[m] = a_is_turned ? k : index[m];
    a[n] = a_is_turned ? index[m] : k;
    Dims b = index;
    b[m] = b_is_turned ? index[n] : k;
    b[n] = b_is_turned ? k : index[n];
    sum.Add(NumberAt(inputs[0], a), NumberAt(inputs[1], b));
  }
  const double alpha = Get<float>(desc, "Alpha");
  std::optional<double> addend;
  if (inputs.size() == 3) addend = Get<float>(desc, "Beta") * NumberAt(inputs[2], index);
  return {sum.Result(alpha, addend, inputs[0].type)};
}

// --- CONVOLUTION ---------------------------------------------------------------------------------

// Along one dimension, the element of the input that a tap takes to a position; null if the tap
// falls into padding or between elements.
std::optional<int64_t> SourceOf(const OperatorDesc& desc, size_t d, int64_t position, int64_t tap) {
  const auto number = [&](std::string_view field) { return int64_t{Get<Sizes>(desc, field)[d]}; };
  const int64_t input = (*Get<TensorDesc>(desc, "InputTensor").sizes)[d + 2];
  const int64_t kernel = (*Get<TensorDesc>(desc, "FilterTensor").sizes)[d + 2];
  const int64_t stride = number("Strides");
  const int64_t reach = tap * number("Dilations");
  int64_t source = position * stride - number("StartPadding") + reach;
  if (Get<uint32_t>(desc, "Direction") == 1) {
    const int64_t scattered = position + number("StartPadding") - reach;
    if (scattered < 0 || scattered % stride != 0) return std::nullopt;
    source = scattered / stride;
  } else {
    const int64_t last_begin = input + number("StartPadding") + number("EndPadding") -
                               number("Dilations") * (kernel - 1) - 1;
    if (position * stride > last_begin) return std::nullopt;  // in the output's padding
  }
  return source >= 0 && source < input ? std::optional(source) : std::nullopt;
}

Expectation Convolve(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                     const Dims& index) {
  const ConstTensorView& filter = inputs[1];
  const bool is_forward = Get<uint32_t>(desc, "Direction") == 0;
  const bool is_turned = Get<uint32_t>(desc, "Mode") == 0;
  const int64_t channels = inputs[0].layout.sizes[1] / Get<uint32_t>(desc, "GroupCount");
  const int64_t group_outputs =
      (*Get<TensorDesc>(desc, "OutputTensor").sizes)[1] / Get<uint32_t>(desc, "GroupCount");
  const int64_t group = index[1] / group_outputs;
  const Dims taps(filter.layout.sizes.begin() + 2, filter.layout.sizes.end());
  ProductSum sum;
  for (int64_t i = 0; i < Product(taps); ++i) {
    const Dims tap = IndexOf(taps, i);
    Dims from = {index[0], 0};
    Dims weight = {0, 0};
    for (size_t d = 0; d < tap.size(); ++d) {
      const auto source = SourceOf(desc, d, index[d + 2], tap[d]);
      if (!source) break;
      from.push_back(*source);
      weight.push_back(is_turned ? taps[d] - 1 - tap[d] : tap[d]);
    }
    if (from.size() < index.size()) continue;
    for (int64_t c = 0; c < channels; ++c) {
      from[1] = group * channels + c;
      weight[0] = is_forward ? index[1] : from[1];
      weight[1] = is_forward ? c : index[1] % group_outputs;
      sum.Add(NumberAt(inputs[0], from), NumberAt(filter, weight));
    }
  }
  std::optional<double> bias;
  if (inputs.size() == 3) {
    Dims place = Dims::Filled(index.size(), 0);
    place[1] = index[1];
    bias = NumberAt(inputs[2], place);
  }
  return {sum.Result(1, bias, filter.type)};
}

constexpr NamedOracle kOracles[] = {
    {"CONVOLUTION", Convolve},
    {"GEMM", Gemm},
};

}  // namespace

std::span<const NamedOracle> ContractionOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
