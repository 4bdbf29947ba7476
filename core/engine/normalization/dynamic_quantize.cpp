// SPDX-License-Identifier: Apache-2.0
#include "core/engine/normalization/normalize.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/engine/element_wise/loop.h"
#include "core/engine/reduce/reduce_run.h"
#include "core/exact/rounding.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

constexpr int64_t kPiece = 1 << 20;  // elements converted at a time

// The least or greatest number; 0 if there is no number.
double ExtremeOf(ReduceFunction function, const ConstTensorView& input) {
  std::vector<uint32_t> axes(input.layout.rank());
  std::iota(axes.begin(), axes.end(), 0u);
  double extreme = 0;
  VisitDataType(Floats(), input.type, [&]<typename T>() {
    T result{};
    const TensorView one{reinterpret_cast<std::byte*>(&result), input.type,
                         PackedLayout(Dims::Filled(axes.size(), 1))};
    Reduce({function, axes}, input, one);
    extreme = AsDouble(result);
  });
  return std::isnan(extreme) ? 0 : extreme;
}

struct Bounds {
  double min, max;
};

Bounds BoundsOf(DataType type) {
  return IsSigned(type) ? Bounds{-128, 127} : Bounds{0, 255};
}

float ScaleOf(double hi, double lo, Bounds bounds) {
  if (hi == 0 && lo == 0) return 1;
  if (std::isinf(hi) || std::isinf(lo)) return INFINITY;
  ExactSum range;
  range.Add(hi);
  range.Add(-lo);
  return RoundQuotient<float>(range, static_cast<uint64_t>(bounds.max - bounds.min));
}

double ZeroPointOf(double lo, float scale, Bounds bounds) {
  const float quotient = static_cast<float>(lo) / scale;
  if (std::isnan(quotient)) return bounds.min;  // as if the quotient were 0
  return std::clamp(std::nearbyint(bounds.min - static_cast<double>(quotient)), bounds.min,
                    bounds.max);
}

// One element, broadcast to all sizes.
ConstTensorView Repeated(const std::byte* element, DataType type, const Dims& sizes) {
  return {element, type, {sizes, Dims::Filled(sizes.size(), 0)}};
}

class Quantization {
 public:
  Quantization(float scale, std::byte zero_point, DataType type)
      : scale_(scale), zero_point_(zero_point), type_(type) {
    const Bounds bounds = BoundsOf(type);
    call_.function = ElementWiseFunction::kQuantize;
    call_.parameters.numbers[0] = bounds.min;
    call_.parameters.numbers[1] = bounds.max;
  }

  void Run(const ConstTensorView& input, const TensorView& output) const {
    if (input.type == DataType::kFloat32) return Quantize(input, output);
    size_t axis = 0;
    while (axis + 1 < input.layout.rank() && input.layout.sizes[axis] == 1) ++axis;
    const int64_t size = input.layout.sizes[axis];
    const int64_t step = std::max<int64_t>(1, kPiece / (input.layout.element_count() / size));
    for (int64_t begin = 0; begin < size; begin += step) {
      const int64_t count = std::min(step, size - begin);
      Convert(input.Slice(axis, begin, count), output.Slice(axis, begin, count));
    }
  }

 private:
  // The scale is FLOAT32, so FLOAT16 numbers are converted to it.
  void Convert(const ConstTensorView& input, const TensorView& output) const {
    Buffer buffer(static_cast<size_t>(input.layout.element_count()) * sizeof(float));
    const TensorView floats{buffer.data(), DataType::kFloat32, PackedLayout(input.layout.sizes)};
    ComputeElements({}, {&input, 1}, floats);
    Quantize(AsConst(floats), output);
  }

  void Quantize(const ConstTensorView& input, const TensorView& output) const {
    const Dims& sizes = input.layout.sizes;
    const auto* scale = reinterpret_cast<const std::byte*>(&scale_);
    const ConstTensorView operands[] = {input, Repeated(scale, DataType::kFloat32, sizes),
                                        Repeated(&zero_point_, type_, sizes)};
    ComputeElements(call_, operands, output);
  }

  float scale_;
  std::byte zero_point_;
  DataType type_;
  ElementWiseCall call_;
};

struct NumberRange {
  double hi, lo;

  bool is_empty() const { return hi == 0 && lo == 0; }
};

NumberRange RangeOf(const ConstTensorView& input) {
  return {std::max(0.0, ExtremeOf(ReduceFunction::kMax, input)),
          std::min(0.0, ExtremeOf(ReduceFunction::kMin, input))};
}

}  // namespace

bool HasNoRange(const ConstTensorView& input) {
  return RangeOf(input).is_empty();
}

void QuantizeDynamically(const ConstTensorView& input, const QuantizedTensors& to) {
  const DataType type = to.output.type;
  const Bounds bounds = BoundsOf(type);
  const NumberRange range = RangeOf(input);
  const float scale = ScaleOf(range.hi, range.lo, bounds);
  const double zero_point = range.is_empty() ? bounds.min : ZeroPointOf(range.lo, scale, bounds);
  const std::byte bits = static_cast<std::byte>(static_cast<int>(zero_point) & 0xFF);
  *to.scale.elements<float>() = scale;
  *to.zero_point.data = bits;
  Quantization(scale, bits, type).Run(input, to.output);
}

}  // namespace dmlop
