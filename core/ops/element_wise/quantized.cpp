// SPDX-License-Identifier: Apache-2.0
#include "core/ops/element_wise/shared.h"

#include <cmath>

namespace dmlop::element_wise {
namespace {

// Returns a view that repeats one element.
ConstTensorView Repeated(const ElementBytes& element, DataType type, const Layout& like) {
  return {element.data(), type, {like.sizes, Dims::Filled(like.sizes.size(), 0)}};
}

}  // namespace

void SetRange(DataType type, ElementWiseCall& call) {
  const double count = std::ldexp(1.0, static_cast<int>(BitWidth(type)));
  const double min = IsSigned(type) ? -count / 2 : 0;
  call.parameters.numbers[0] = min;
  call.parameters.numbers[1] = min + count - 1;
}

ConstTensorView Zeros(DataType type, const Layout& like) {
  static constexpr ElementBytes kZero{};
  return Repeated(kZero, type, like);
}

ConstTensorView Middles(DataType type, const Layout& like) {
  static constexpr ElementBytes kOf4Bits{std::byte{8}};
  static constexpr ElementBytes kOf8Bits{std::byte{128}};
  if (IsSigned(type)) return Zeros(type, like);
  return Repeated(HasNibbles(type) ? kOf4Bits : kOf8Bits, type, like);
}

}  // namespace dmlop::element_wise
