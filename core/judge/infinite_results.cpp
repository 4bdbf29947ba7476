// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/base/parallel.h"
#include "core/judge/magnitude.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Returns the numbers of the elements that are infinite, in order.
std::vector<int64_t> InfiniteElements(const ConstTensorView& view) {
  std::vector<int64_t> elements;
  const Dims& sizes = view.layout.sizes;
  VisitDataType(Join<TypeList<double>, Floats>(), view.type, [&]<typename T>() {
    Dims index = Dims::Filled(sizes.size(), 0);
    for (int64_t i = 0; i < Product(sizes); ++i, Advance(sizes, index)) {
      if (std::isinf(AsDouble(view.elements<T>()[OffsetOf(view.layout, index)]))) {
        elements.push_back(i);
      }
    }
  });
  return elements;
}

}  // namespace

std::vector<InfiniteResult> EvaluateInfiniteResults(const OperatorDesc& op, InputViews inputs,
                                                    const ConstTensorView& exact, size_t output) {
  constexpr int64_t kMostNodes = int64_t{1} << 24;
  const Dims& sizes = exact.layout.sizes;
  std::vector<int64_t> elements = InfiniteElements(exact);
  const auto region = [&](int64_t element) {
    return Region{output, IndexOf(sizes, element), Dims::Filled(sizes.size(), 1)};
  };
  if (elements.empty()) return {};
  Formula first(inputs);
  const auto last = FormulaOf(op, region(elements[0]), first);
  if (!last) return {};
  const int64_t most = std::max<int64_t>(1, kMostNodes / (1 + int64_t{*last}));
  if (std::ssize(elements) > most) elements.resize(static_cast<size_t>(most));
  std::vector<InfiniteResult> results(elements.size());
  ParallelFor(std::ssize(elements), 1, 0, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      Formula formula(inputs);
      const auto node = FormulaOf(op, region(elements[at]), formula);
      const Magnitude found = FormulaEvaluation<MagnitudeArithmetic>(formula).At(*node);
      results[at] = {elements[at], found.value, found.size};
    }
  });
  return results;
}

}  // namespace dmlop
