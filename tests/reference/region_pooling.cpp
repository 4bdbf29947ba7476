// SPDX-License-Identifier: Apache-2.0
// ROI_POOLING, visiting every element of a bin in turn.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/reference/element.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/reference/region.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

int64_t Limited(double value, double least, double most) {
  if (std::isnan(value)) return 0;
  return static_cast<int64_t>(std::min(std::max(value, least), most));
}

// RPL-2, RPL-4.
int64_t Corner(double corner, double scale) {
  return Limited(std::round(corner * scale), INT32_MIN, INT32_MAX);
}

std::vector<int64_t> BinOf(int64_t first, int64_t last, int64_t i, int64_t bins, int64_t size) {
  const Integer length = std::max<int64_t>(last - first + 1, 1);
  const Integer begin = i * length / bins + first;
  const Integer end = ((i + 1) * length + bins - 1) / bins + first;
  std::vector<int64_t> bin;
  for (int64_t at = 0; at < size; ++at) {
    if (begin <= at && at < end) bin.push_back(at);
  }
  return bin;
}

Expectation Pooling(const OperatorDesc& desc, std::span<const ConstTensorView> inputs, size_t,
                    const Dims& index) {
  const ConstTensorView& input = inputs[0];
  const double scale = Get<float>(desc, "SpatialScale");
  const Size2d& pooled = Get<Size2d>(desc, "PooledSize");
  const auto corner = [&](int64_t k) { return Corner(LastAt(inputs[1], {index[0], k}), scale); };
  const double last_batch = static_cast<double>(input.layout.sizes[0] - 1);
  const int64_t batch = Limited(std::trunc(LastAt(inputs[1], {index[0], 0})), 0, last_batch);
  std::vector<double> values;
  for (const int64_t y :
       BinOf(corner(2), corner(4), index[2], pooled.height, input.layout.sizes[2])) {
    for (const int64_t x :
         BinOf(corner(1), corner(3), index[3], pooled.width, input.layout.sizes[3])) {
      values.push_back(ElementAt(input, {batch, index[1], y, x}));
    }
  }
  const double result = values.empty() ? 0.0 : Maximum(values);
  return {Rounded(Exact(std::isfinite(result) ? result : 0), result, input.type)};
}

constexpr NamedOracle kOracles[] = {
    {"ROI_POOLING", Pooling},
};

}  // namespace

std::span<const NamedOracle> RegionPoolingOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
