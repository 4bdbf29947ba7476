// SPDX-License-Identifier: Apache-2.0
#include "core/compare/bias.h"

#include <cmath>
#include <type_traits>

#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

using FloatTypes = Join<TypeList<double>, Floats>;

template <typename T>
auto Comparable(T value) {
  if constexpr (std::is_integral_v<T>) {
    return value;
  } else {
    return AsDouble(value);
  }
}

template <typename Wide>
void Count(Wide actual, Wide expected, Bias& bias) {
  const bool is_above = actual > expected;
  const bool is_below = actual < expected;
  bias.above += is_above;
  bias.below += is_below;
  bias.toward_zero += (is_above && actual <= 0) || (is_below && actual >= 0);
}

// Elements of archives need not be aligned.
template <typename T>
T ElementAt(const ConstTensorView& view, const Dims& index) {
  return ElementOf<T>(view.data + OffsetOf(view.layout, index) * int64_t{sizeof(T)});
}

template <typename T, typename E>
Bias CountAll(const ConstTensorView& actual, const ConstTensorView& expected) {
  Bias bias;
  const Dims& sizes = expected.layout.sizes;
  Dims index = Dims::Filled(expected.layout.rank(), 0);
  for (int64_t i = 0; i < expected.layout.element_count(); ++i) {
    Count(Comparable(ElementAt<T>(actual, index)), Comparable(ElementAt<E>(expected, index)), bias);
    Advance(sizes, index);
  }
  return bias;
}

}  // namespace

Bias BiasOf(const ConstTensorView& actual, const ConstTensorView& expected) {
  Bias bias;
  if (actual.type == expected.type) {
    VisitDataType(AllTypes{}, actual.type,
                  [&]<typename T>() { bias = CountAll<T, T>(actual, expected); });
    return bias;
  }
  VisitDataType(FloatTypes{}, actual.type, [&]<typename T>() {
    VisitDataType(FloatTypes{}, expected.type,
                  [&]<typename E>() { bias = CountAll<T, E>(actual, expected); });
  });
  return bias;
}

}  // namespace dmlop
