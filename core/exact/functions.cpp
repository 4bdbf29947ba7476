#include "core/exact/functions.h"

#include <cassert>
#include <cmath>

namespace dmlop {
namespace {

// a * b, where both have at most 53 bits and the product's parts are normal numbers.
HeadTail TwoProduct(double a, double b) {
  const double head = a * b;
  return {head, std::fma(a, b, -head)};
}

// x / (1 + |x|), where x is a value of FLOAT32.
HeadTail Softsign(double x) {
  const HeadTail divisor = TwoSum(1.0, std::fabs(x));
  const double quotient = x / divisor.head;
  const HeadTail product = TwoProduct(quotient, divisor.head);
  const double remainder = (x - product.head) - product.tail - quotient * divisor.tail;
  return FastTwoSum(quotient, remainder / divisor.head);
}

}  // namespace

HeadTail ExactElement(ElementWiseFunction function, std::span<const double> elements,
                      std::span<const double>) {
  switch (function) {
    case ElementWiseFunction::kSoftsign:
      return Softsign(elements[0]);
    default:
      assert(false);
      return {};
  }
}

}  // namespace dmlop
