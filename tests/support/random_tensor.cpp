// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_tensor.h"

#include <cmath>
#include <limits>

#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/support/float_families.h"

namespace dmlop {
namespace {

template <typename T>
constexpr bool kIsFloat = !std::is_integral_v<T>;

template <typename T>
T AnyBits(Engine& engine) {
  return reference::FromBits<T>(engine());
}

// Few small integers, so that ties, zeros of both signs and exact results are common.
template <typename T>
T FewNumbers(Engine& engine) {
  const int number = UniformInt(engine, -2, 3);
  if constexpr (kIsFloat<T>) {
    return FromDouble<T>(number == 0 && OneIn(engine, 2) ? -0.0 : number);
  } else {
    return static_cast<T>(number);
  }
}

template <typename T>
T SpecialValue(Engine& engine) {
  if constexpr (kIsFloat<T>) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double least = std::ldexp(1.0, Format<T>::kLeastExponent);
    const double values[] = {0.0, -0.0,  infinity, -infinity,       std::nan(""),
                             1.0, least, -least,   Format<T>::kMax, -Format<T>::kMax};
    return FromDouble<T>(OneOf(engine, values));
  } else {
    const T values[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{1},
                        static_cast<T>(-1)};
    return OneOf(engine, values);
  }
}

// Integers have any bit pattern.
template <typename T>
T OfFamily(const FloatFamily& family, Engine& engine) {
  if constexpr (kIsFloat<T>) {
    return FromDouble<T>(Draw<T>(family, engine));
  } else {
    return AnyBits<T>(engine);
  }
}

// Two families, and the period in which the second one occurs.
template <typename T>
class Mixture {
 public:
  explicit Mixture(Engine& engine)
      : common_(UniformInt(engine, 0, kCount - 1)), rare_(UniformInt(engine, 0, kCount - 1)) {
    const int periods[] = {2, 30, 1000};
    period_ = OneOf(engine, periods);
  }

  T Draw(Engine& engine) const {
    const int kind = OneIn(engine, period_) ? rare_ : common_;
    switch (kind) {
      case 0:
        return AnyBits<T>(engine);
      case 1:
        return FewNumbers<T>(engine);
      case 2:
        return SpecialValue<T>(engine);
      default:
        return OfFamily<T>(kFamilies[kind - 3], engine);
    }
  }

 private:
  static constexpr int kCount = 3 + static_cast<int>(std::size(kFamilies));

  int common_;
  int rare_;
  int period_ = 1;
};

}  // namespace

void FillRandomly(Engine& engine, TestTensor& tensor) {
  const TensorView view = tensor.mutable_view();
  VisitDataType(AllTypes(), tensor.type(), [&]<typename T>() {
    const Mixture<T> mixture(engine);
    reference::ForEachIndex(view.layout.sizes, [&](const Dims& index) {
      T value = mixture.Draw(engine);
      if constexpr (!kIsFloat<T>) value = Wrapped(tensor.type(), value);
      reference::SetBitsAt(view, index, reference::ToBits(value));
    });
  });
}

TestTensor RandomInput(Engine& engine, DataType type, const Dims& sizes) {
  const Layout layout = RandomInputLayout(engine, sizes);
  TestTensor tensor(type, layout, UniformInt(engine, 0, 3));
  FillRandomly(engine, tensor);
  return tensor;
}

TestTensor RandomOutput(Engine& engine, DataType type, const Dims& sizes) {
  const Layout layout = RandomOutputLayout(engine, sizes);
  return TestTensor(type, layout, UniformInt(engine, 0, 3));
}

}  // namespace dmlop
