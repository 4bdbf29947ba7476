// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/expectation.h"

#include <cmath>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"

namespace dmlop::reference {

bool Expectation::Allows(DataType type, uint64_t actual) const {
  if (actual == bits) return true;
  if (!exact) return false;
  if (std::isinf(slack)) return true;
  bool allows = false;
  VisitDataType(Floats(), type, [&]<typename T>() {
    const T value = FromBits<T>(actual);
    if (std::isinf(ToDouble(value))) {  // NRM-1: the exact value may be beyond the greatest number
      const double near = mpfr_get_d(exact->get(), MPFR_RNDN);
      allows = (ToDouble(value) > 0 ? near : -near) + slack >= Format<T>::kMax;
    }
    if (!std::isfinite(ToDouble(value))) return;
    const double ulp = std::ldexp(1.0, static_cast<int>(LastPlace<T>(*exact)));
    allows = UlpError(value, *exact) <= ulps + slack / ulp;
  });
  return allows;
}

}  // namespace dmlop::reference
