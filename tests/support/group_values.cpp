// SPDX-License-Identifier: Apache-2.0
#include "tests/support/group_values.h"

#include <limits>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/support/logarithm_groups.h"
#include "tests/support/product_groups.h"
#include "tests/support/square_groups.h"
#include "tests/support/sum_groups.h"

namespace dmlop {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <typename T, size_t kNumber>
Values OfFamily(Engine& engine, size_t count) {
  Values values(count);
  for (double& value : values) value = Draw<T>(kFamilies[kNumber], engine);
  return values;
}

Values Choices(Engine& engine, size_t count, const Values& choices) {
  Values values(count);
  for (double& value : values) value = OneOf(engine, choices);
  return values;
}

Values Zeros(Engine& engine, size_t count) {
  Values zeros(count, -0.0);
  if (OneIn(engine, 2)) zeros[engine() % count] = 0.0;
  return zeros;
}

template <typename T>
Values FewNumbers(Engine& engine, size_t count) {
  return Choices(engine, count, {-2, -1, -0.0, 0.0, 1, 2, 3});
}

template <typename T>
Values OnlySpecial(Engine& engine, size_t count) {
  return Choices(engine, count, {kNan, kInfinity, -kInfinity, 0.0, -0.0, Format<T>::kMax});
}

template <typename T>
Values SomeSpecial(Engine& engine, size_t count) {
  Values values = OfFamily<T, 0>(engine, count);
  const double specials[] = {kNan, kInfinity, -kInfinity, 0.0, -0.0};
  const double special = OneOf(engine, specials);
  const double other = OneOf(engine, specials);
  for (double& value : values) {
    if (OneIn(engine, 8)) value = OneIn(engine, 4) ? other : special;
  }
  return values;
}

// Numbers within a few units in the last place of each other.
template <typename T>
Values Neighbours(Engine& engine, size_t count) {
  const double center = AnyMagnitude<T>(engine);
  const double last_place = std::ldexp(1.0, static_cast<int>(LastPlace<T>(Real(center))));
  Values values(count);
  for (double& value : values) {
    value = TowardZero<T>(center + UniformInt(engine, -2, 2) * last_place);
  }
  return values;
}

}  // namespace

template <typename T>
std::vector<GroupFamily> GroupFamilies() {
  return {
      {"Uniform", OfFamily<T, 0>},
      {"Normal", OfFamily<T, 1>},
      {"IllConditioned", OfFamily<T, 2>},
      {"Huge", OfFamily<T, 3>},
      {"Subnormal", OfFamily<T, 4>},
      {"AllMagnitudes", OfFamily<T, 5>},
      {"Zeros", Zeros},
      {"FewNumbers", FewNumbers<T>},
      {"OnlySpecial", OnlySpecial<T>},
      {"SomeSpecial", SomeSpecial<T>},
      {"Neighbours", Neighbours<T>},
      {"Cancelling", Cancelling<T>},
      {"SumTie", SumTie<T, Signs::kAny>},
      {"MagnitudeSumTie", SumTie<T, Signs::kIgnored>},
      {"MagnitudeSumTieOfMany", MagnitudeSumTieOfMany<T>},
      {"AverageOfTwo", AverageOfTwo<T>},
      {"AverageTie", AverageTie<T>},
      {"SquareSumTie", SquareSumTie<T>},
      {"SquareRootTie", SquareRootTie<T>},
      {"ProductTie", ProductTie<T>},
      {"ProductNearTie", ProductNearTie<T>},
      {"ProductFarOut", ProductFarOut<T>},
      {"SumNearOne", SumNearOne<T>},
      {"LogSumTie", LogSumTie<T>},
      {"LogSumExpTie", LogSumExpTie<T>},
      {"Exponents", Exponents<T>},
      {"ExponentialsOfOne", ExponentialsOfOne<T>},
      {"TinyMaximum", TinyMaximum<T>},
  };
}

Dims ReducedSizes(Dims sizes, const std::vector<uint32_t>& axes) {
  for (const uint32_t axis : axes) sizes[axis] = 1;
  return sizes;
}

void FillGroups(Engine& engine, const GroupFamily& family, const std::vector<uint32_t>& axes,
                TestTensor& tensor) {
  const Dims& sizes = tensor.layout().sizes;
  Dims group = Dims::Filled(sizes.size(), 1);
  for (const uint32_t axis : axes) group[axis] = sizes[axis];
  VisitDataType(Floats(), tensor.type(), [&]<typename T>() {
    reference::ForEachIndex(ReducedSizes(sizes, axes), [&](const Dims& first) {
      const Values values = family.draw(engine, static_cast<size_t>(Product(group)));
      auto value = values.begin();
      reference::ForEachIndex(group, [&](Dims index) {
        for (size_t d = 0; d < index.size(); ++d) index[d] += first[d];
        const uint64_t bits = reference::ToBits(FromDouble<T>(*value++));
        reference::SetBitsAt(tensor.mutable_view(), index, bits);
      });
    });
  });
}

template std::vector<GroupFamily> GroupFamilies<float>();
template std::vector<GroupFamily> GroupFamilies<Half>();

}  // namespace dmlop
