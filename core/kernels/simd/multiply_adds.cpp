// SPDX-License-Identifier: Apache-2.0
#include "core/kernels/simd/multiply_adds.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/kernels/simd/multiply_adds.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <type_traits>

#include "core/kernels/simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace dmlop::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Eight chains keep two units with a latency of four cycles busy; ten leave a margin.
double MultiplyAdds(int64_t count) {
  const hn::ScalableTag<double> d;
  const auto factor = hn::Set(d, 0.5);
  const auto term = hn::Set(d, 1.0);
  auto a = term, b = term, c = term, e = term, f = term;
  auto g = term, h = term, i = term, j = term, k = term;
  const int64_t step = 10 * static_cast<int64_t>(hn::Lanes(d));
  for (; count > 0; count -= step) {
    a = hn::MulAdd(a, factor, term);
    b = hn::MulAdd(b, factor, term);
    c = hn::MulAdd(c, factor, term);
    e = hn::MulAdd(e, factor, term);
    f = hn::MulAdd(f, factor, term);
    g = hn::MulAdd(g, factor, term);
    h = hn::MulAdd(h, factor, term);
    i = hn::MulAdd(i, factor, term);
    j = hn::MulAdd(j, factor, term);
    k = hn::MulAdd(k, factor, term);
  }
  const auto first = hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), f);
  const auto second = hn::Add(hn::Add(hn::Add(g, h), hn::Add(i, j)), k);
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(first, second)));
}

}  // namespace dmlop::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dmlop {

MultiplyAddsFunction MultiplyAddsForIsa() {
  return DMLOP_CHOOSE(MultiplyAdds);
}

}  // namespace dmlop
#endif
