// SPDX-License-Identifier: Apache-2.0
// Poolings, window by window and tap by tap, as their rules define them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/reference/rational.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Views = std::span<const ConstTensorView>;
using Sizes = std::vector<uint32_t>;
using Numbers = Join<Floats, Integers64, Integers32, Integers16, Integers8>;

// The windows of a descriptor over a tensor (N, C, spatial dimensions...).
class Windows {
 public:
  Windows(const OperatorDesc& desc, const Dims& sizes)
      : sizes_(sizes),
        window_(Get<Sizes>(desc, "WindowSize")),
        strides_(Get<Sizes>(desc, "Strides")),
        start_(Get<Sizes>(desc, "StartPadding")),
        end_(Get<Sizes>(desc, "EndPadding")),
        dilations_(window_.size(), 1) {
    const auto fields = desc.fields();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i]->name == "Dilations") dilations_ = std::get<Sizes>(desc.values()[i]);
    }
  }

  // Calls body(position) for each tap of an output whose position is inside, in row-major order.
  template <typename Body>
  void ForEachPresent(const Dims& output, Body&& body) const {
    ForEachTap(output, 0, [&](const Dims& position) { body(position); });
  }

  // Counts the taps up to the end of the padding.
  int64_t CountPadded(const Dims& output) const {
    int64_t count = 0;
    ForEachTap(output, 1, [&](const Dims&) { ++count; });
    return count;
  }

  // Whether a position lies between the first and the last tap of an output.
  bool Surrounds(const Dims& output, const Dims& position) const {
    for (size_t d = 0; d < window_.size(); ++d) {
      const int64_t first = output[d + 2] * int64_t{strides_[d]} - start_[d];
      const int64_t last = first + (int64_t{window_[d]} - 1) * dilations_[d];
      if (position[d + 2] < first || position[d + 2] > last) return false;
    }
    return true;
  }

 private:
  template <typename Body>
  void ForEachTap(const Dims& output, int64_t padding, Body&& body) const {
    ForEachIndex(Dims(window_.begin(), window_.end()), [&](const Dims& tap) {
      Dims position = {output[0], output[1]};
      bool is_inside = true;
      for (size_t d = 0; d < window_.size(); ++d) {
        const int64_t q =
            output[d + 2] * int64_t{strides_[d]} - start_[d] + tap[d] * int64_t{dilations_[d]};
        position.push_back(q);
        is_inside &= q >= -padding * start_[d] && q < sizes_[d + 2] + padding * end_[d];
      }
      if (is_inside) body(std::as_const(position));
    });
  }

  Dims sizes_;
  const Sizes& window_;
  const Sizes& strides_;
  const Sizes& start_;
  const Sizes& end_;
  Sizes dilations_;
};

// --- MAX_POOLING ---------------------------------------------------------------------------------

template <typename T>
bool IsNan(T x) {
  if constexpr (std::is_integral_v<T>) return false;
  if constexpr (!std::is_integral_v<T>) return std::isnan(ToDouble(x));
}

// MXP-3: NaN comes before all numbers, and -0 before +0.
template <typename T>
bool IsLess(T a, T b) {
  if (IsNan(a) || IsNan(b)) return IsNan(a) && !IsNan(b);
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    const double x = ToDouble(a);
    const double y = ToDouble(b);
    return x < y || (x == 0 && y == 0 && std::signbit(x) && !std::signbit(y));
  }
}

// The first of the greatest taps; empty without taps.
template <typename T>
Dims WinnerOf(const Windows& windows, const ConstTensorView& input, const Dims& output) {
  Dims winner;
  T greatest{};
  windows.ForEachPresent(output, [&](const Dims& position) {
    const T x = FromBits<T>(BitsAt(input, position));
    if (!winner.empty() && !IsLess(greatest, x)) return;
    winner = position;
    greatest = x;
  });
  return winner;
}

template <typename T>
uint64_t LeastBits() {
  if constexpr (std::is_integral_v<T>) return ToBits(std::numeric_limits<T>::min());
  if constexpr (!std::is_integral_v<T>) return BitsOf(FromDouble<T>(-INFINITY));
}

template <typename T>
uint64_t GreatestBits(const ConstTensorView& input, const Dims& winner) {
  if (winner.empty()) return LeastBits<T>();
  const T x = FromBits<T>(BitsAt(input, winner));
  if constexpr (!std::is_integral_v<T>) {
    if (IsNan(x)) return BitsOf(FromDouble<T>(std::numeric_limits<double>::quiet_NaN()));
  }
  return ToBits(x);
}

uint64_t NumberOf(const Dims& sizes, const Dims& position) {
  if (position.empty()) return ~uint64_t{0};
  uint64_t number = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    number = number * static_cast<uint64_t>(sizes[d]) + static_cast<uint64_t>(position[d]);
  }
  return number;
}

Expectation MaxPooling(const OperatorDesc& desc, Views inputs, size_t output, const Dims& index) {
  const Dims& sizes = inputs[0].layout.sizes;
  const Windows windows(desc, sizes);
  uint64_t bits = 0;
  VisitDataType(Numbers(), inputs[0].type, [&]<typename T>() {
    const Dims winner = WinnerOf<T>(windows, inputs[0], index);
    bits = output == 0 ? GreatestBits<T>(inputs[0], winner) : NumberOf(sizes, winner);
  });
  const DataType type = *TensorSlots(desc, TensorRole::kOutput)[output].desc->data_type;
  if (output == 1 && type == DataType::kUint32) bits &= UINT32_MAX;
  return {bits};
}

// --- sums ----------------------------------------------------------------------------------------

Rational Exactly(int64_t number) {
  return Rational(static_cast<double>(number));
}

// An exact sum of floats, to which infinities and NaN are added as in IEEE arithmetic.
class Sum {
 public:
  void Add(double value, const Rational& weight = Rational(1)) {
    all_are_negative_zeros_ &= value == 0 && std::signbit(value);
    is_empty_ = false;
    if (std::isfinite(value)) {
      exact_ = exact_ + weight * Rational(value);
    } else {
      special_ += value;
    }
  }

  bool is_empty() const { return is_empty_; }
  const Rational& exact() const { return exact_; }

  // The sum, divided by a positive number and rounded.
  uint64_t Result(DataType type, int64_t divisor = 1) const {
    uint64_t bits = 0;
    VisitDataType(Floats(), type, [&]<typename T>() { bits = ResultOf<T>(divisor); });
    return bits;
  }

  // The result if it is not a nonzero number that needs rounding.
  template <typename T>
  std::optional<uint64_t> Plain() const {
    if (std::isnan(special_)) {
      return BitsOf(FromDouble<T>(std::numeric_limits<double>::quiet_NaN()));
    }
    if (special_ != 0) return BitsOf(FromDouble<T>(special_));
    if (exact_.Sign() != 0) return std::nullopt;
    return BitsOf(FromDouble<T>(!is_empty_ && all_are_negative_zeros_ ? -0.0 : 0.0));
  }

 private:
  template <typename T>
  uint64_t ResultOf(int64_t divisor) const {
    if (const auto plain = Plain<T>()) return *plain;
    return BitsOf(RoundReal<T>((exact_ / Exactly(divisor)).ToReal()));
  }

  Rational exact_;
  double special_ = 0;
  bool is_empty_ = true;
  bool all_are_negative_zeros_ = true;
};

double FloatAt(const ConstTensorView& view, const Dims& index) {
  return FloatOf({view.type, BitsAt(view, index)});
}

// --- AVERAGE_POOLING and its gradient ------------------------------------------------------------

int64_t CountOf(const OperatorDesc& desc, const Windows& windows, const Dims& output) {
  if (Get<bool>(desc, "IncludePadding")) return windows.CountPadded(output);
  int64_t count = 0;
  windows.ForEachPresent(output, [&](const Dims&) { ++count; });
  return count;
}

Expectation AveragePooling(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const Windows windows(desc, inputs[0].layout.sizes);
  Sum sum;
  windows.ForEachPresent(index,
                         [&](const Dims& position) { sum.Add(FloatAt(inputs[0], position)); });
  const int64_t count = CountOf(desc, windows, index);
  if (count == 0) sum.Add(std::numeric_limits<double>::quiet_NaN());
  return {sum.Result(inputs[0].type, std::max<int64_t>(count, 1))};
}

// --- LP_POOLING ----------------------------------------------------------------------------------

constexpr mpfr_prec_t kPrecision = 1200;

bool IsNearer(double a, double b) {
  return std::fabs(a) < std::fabs(b);
}

// LPP-2. For powers other than 1 and 2 only a bound is promised.
template <typename T>
Expectation Norm(const std::vector<double>& taps, uint32_t p) {
  Sum magnitudes;
  for (const double x : taps) magnitudes.Add(std::fabs(x));
  if (const auto plain = magnitudes.template Plain<T>()) return {*plain};
  if (p == 1) return {magnitudes.Result(kDataTypeOf<T>)};
  // Dividing by the greatest tap keeps the powers in MPFR's range, whatever P is.
  const double most = p == 2 ? 1 : std::fabs(*std::max_element(taps.begin(), taps.end(), IsNearer));
  Real sum(0.0, kPrecision);
  for (const double x : taps) {
    Real power(std::fabs(x), kPrecision);
    mpfr_div_d(power.get(), power.get(), most, MPFR_RNDN);
    mpfr_pow_ui(power.get(), power.get(), p, MPFR_RNDN);
    mpfr_add(sum.get(), sum.get(), power.get(), MPFR_RNDN);
  }
  mpfr_rootn_ui(sum.get(), sum.get(), p, MPFR_RNDN);
  mpfr_mul_d(sum.get(), sum.get(), most, MPFR_RNDN);
  Expectation expected{BitsOf(RoundReal<T>(sum))};
  if (p > 2) {
    expected.exact.emplace(sum);
    expected.ulps = 0.51;
  }
  return expected;
}

Expectation LpPooling(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const Windows windows(desc, inputs[0].layout.sizes);
  std::vector<double> taps;
  windows.ForEachPresent(
      index, [&](const Dims& position) { taps.push_back(FloatAt(inputs[0], position)); });
  const uint32_t p = Get<uint32_t>(desc, "P");
  return inputs[0].type == DataType::kFloat16 ? Norm<Half>(taps, p) : Norm<float>(taps, p);
}

// --- gradients -----------------------------------------------------------------------------------

Dims SizesOf(const OperatorDesc& desc, std::string_view tensor) {
  const Sizes& sizes = *Get<TensorDesc>(desc, tensor).sizes;
  return {sizes.begin(), sizes.end()};
}

// Calls body(output) for each window of the same channel that contains the element.
template <typename Body>
void ForEachOutput(const Windows& windows, const Dims& outputs, const Dims& index, Body&& body) {
  Dims spatial = outputs;
  spatial[0] = 1;
  spatial[1] = 1;
  ForEachIndex(spatial, [&](Dims output) {
    output[0] = index[0];
    output[1] = index[1];
    if (windows.Surrounds(output, index)) body(std::as_const(output));
  });
}

// APG-2; a general sum covers the case of equal counts, too.
Expectation AveragePoolingGrad(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const Windows windows(desc, SizesOf(desc, "OutputGradientTensor"));
  Sum sum;
  ForEachOutput(windows, inputs[0].layout.sizes, index, [&](const Dims& output) {
    windows.ForEachPresent(output, [&](const Dims& position) {
      if (position != index) return;
      const Rational count = Exactly(CountOf(desc, windows, output));
      sum.Add(FloatAt(inputs[0], output), Exactly(1) / count);
    });
  });
  return {sum.Result(inputs[0].type)};
}

Expectation MaxPoolingGrad(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const Windows windows(desc, inputs[0].layout.sizes);
  Sum sum;
  VisitDataType(Floats(), inputs[0].type, [&]<typename T>() {
    ForEachOutput(windows, inputs[1].layout.sizes, index, [&](const Dims& output) {
      if (WinnerOf<T>(windows, inputs[0], output) == index) sum.Add(FloatAt(inputs[1], output));
    });
  });
  return {sum.Result(inputs[0].type)};
}

// --- QUANTIZED_LINEAR_AVERAGE_POOLING ------------------------------------------------------------

// The number for a channel in a tensor with one element or one for each channel; 0 if it is left
// out.
double OfChannel(const OperatorDesc& desc, Views inputs, std::string_view name, int64_t channel) {
  const std::vector<TensorSlot> slots = TensorSlots(desc, TensorRole::kInput);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].path != name) continue;
    Dims index;
    for (const int64_t size : inputs[i].layout.sizes) index.push_back(size == 1 ? 0 : channel);
    return Quantity({inputs[i].type, BitsAt(inputs[i], index)});
  }
  return 0;
}

// Rounds ties to even.
int64_t Nearest(const Rational& number) {
  const int64_t below = number.Floor();
  const int side = (number - Exactly(below) - Rational(0.5)).Sign();
  return side > 0 || (side == 0 && below % 2 != 0) ? below + 1 : below;
}

// QMM-2, QMM-3.
double Requantized(const Rational& sum, double scale, int64_t count, double output_scale) {
  const double plain =
      static_cast<double>(sum.Sign()) * scale / (static_cast<double>(count) * output_scale);
  if (std::isnan(plain)) return 0;
  constexpr double kFar = 1000;
  const bool is_special =
      !std::isfinite(scale) || !std::isfinite(output_scale) || output_scale == 0 || count == 0;
  if (is_special) return plain == 0 ? 0 : std::copysign(kFar, plain);
  const Rational quotient = sum * Rational(scale) / (Exactly(count) * Rational(output_scale));
  if ((quotient - Rational(kFar)).Sign() > 0) return kFar;
  if ((quotient + Rational(kFar)).Sign() < 0) return -kFar;
  return static_cast<double>(Nearest(quotient));
}

Expectation QuantizedAverage(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  const Windows windows(desc, inputs[0].layout.sizes);
  const auto number = [&](std::string_view name) {
    return OfChannel(desc, inputs, name, index[1]);
  };
  Rational sum;
  windows.ForEachPresent(index, [&](const Dims& position) {
    const double x = Quantity({inputs[0].type, BitsAt(inputs[0], position)});
    sum = sum + Rational(x - number("InputZeroPointTensor"));
  });
  const double rounded = Requantized(sum, number("InputScaleTensor"), CountOf(desc, windows, index),
                                     number("OutputScaleTensor"));
  const DataType type = *TensorSlots(desc, TensorRole::kOutput)[0].desc->data_type;
  return {Clamped(Real(rounded + number("OutputZeroPointTensor")), type)};
}

constexpr NamedOracle kOracles[] = {
    {"AVERAGE_POOLING", AveragePooling},
    {"AVERAGE_POOLING1", AveragePooling},
    {"AVERAGE_POOLING_GRAD", AveragePoolingGrad},
    {"LP_POOLING", LpPooling},
    {"LP_POOLING1", LpPooling},
    {"MAX_POOLING", MaxPooling},
    {"MAX_POOLING1", MaxPooling},
    {"MAX_POOLING2", MaxPooling},
    {"MAX_POOLING_GRAD", MaxPoolingGrad},
    {"QUANTIZED_LINEAR_AVERAGE_POOLING", QuantizedAverage},
};

}  // namespace

std::span<const NamedOracle> WindowOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
