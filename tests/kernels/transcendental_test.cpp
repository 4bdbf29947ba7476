// SPDX-License-Identifier: Apache-2.0
// The errors of approximations with every instruction set.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/kernels/element_wise/row.h"
#include "tests/exact/float_strata.h"
#include "tests/reference/real_function.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

// The greatest relative error; results that round to 0, infinity or 1 are ignored.
double WorstError(ElementWiseFunction function, const std::vector<double>& x,
                  const std::vector<Real>& expected) {
  std::vector<double> y(x.size());
  const auto* from = reinterpret_cast<const std::byte*>(x.data());
  RowFor(function, DataType::kFloat32, DataType::kFloat32)
      .compute({}, static_cast<int64_t>(x.size()), reinterpret_cast<std::byte*>(y.data()), &from);
  double worst = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    Real difference = expected[i];
    const double rounded = mpfr_get_d(difference.get(), MPFR_RNDN);
    const bool is_one = function == ElementWiseFunction::kErf && std::fabs(x[i]) > 3.95;
    if (!(std::fabs(rounded) > 0x1p-152 && std::fabs(rounded) < 0x1p129) || is_one) continue;
    mpfr_d_sub(difference.get(), y[i], difference.get(), MPFR_RNDN);
    worst = std::max(worst, std::fabs(mpfr_get_d(difference.get(), MPFR_RNDN) / rounded));
  }
  return worst;
}

// The bounds leave room, so that it is they, not luck, that leave elements unresolved.
TEST(Transcendental, ApproximationsKeepAQuarterOfTheirBounds) {
  const SettingsGuard settings_before;
  const std::vector<float> floats = FloatStrata();
  std::vector<double> x(floats.begin(), floats.end());
  x.resize((x.size() + kRowBlock - 1) / kRowBlock * kRowBlock);
  for (const auto& [name, function] : kUnaryFunctions) {
    std::vector<Real> expected;
    for (const double element : floats) {
      expected.push_back(RealFunction(function, element, {}, 240));
    }
    for (const std::string_view isa : SupportedIsas()) {
      SelectIsa(isa);
      const double worst = WorstError(function, x, expected);
      EXPECT_LT(worst, RowFor(function, DataType::kFloat32, DataType::kFloat32).relative_error / 4)
          << name << " " << isa;
    }
  }
}

}  // namespace
}  // namespace dmlop
