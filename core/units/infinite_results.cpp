// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/arithmetic/computation.h"
#include "core/base/parallel.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"
#include "core/units/magnitude.h"

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

class InfiniteResults {
 public:
  InfiniteResults(const OperatorDesc& op, InputViews inputs, const ConstTensorView& exact,
                  size_t output)
      : op_(op), inputs_(inputs), sizes_(exact.layout.sizes), output_(output) {
    elements_ = InfiniteElements(exact);
  }

  std::vector<InfiniteResult> Evaluate() {
    if (elements_.empty()) return {};
    const int64_t most = std::max<int64_t>(1, kMostWork / WorkOfElement());
    if (std::ssize(elements_) > most) elements_.resize(static_cast<size_t>(most));
    std::vector<InfiniteResult> results(elements_.size());
    ParallelFor(std::ssize(elements_), 1, 0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<size_t>(i);
        results[at] = Evaluated(elements_[at]);
      }
    });
    std::erase_if(results, [](const InfiniteResult& one) { return std::isnan(one.value); });
    return results;
  }

 private:
  static constexpr int64_t kMostWork = int64_t{1} << 24;  // nodes

  Region RegionOf(int64_t element) const {
    return {output_, IndexOf(sizes_, element), Dims::Filled(sizes_.size(), 1)};
  }

  // Cumulative sums are longest at one end, and a network runs up to the step before.
  int64_t WorkOfElement() const {
    int64_t nodes = 1;
    for (const int64_t element : {elements_.front(), elements_.back()}) {
      Formula formula(inputs_);
      nodes += FormulaOf(op_, RegionOf(element), formula).value_or(Formula::kMostNodes);
    }
    return nodes + (IsNetwork(op_) ? OperationsOf(op_) : 0);
  }

  // NaN if there is no formula, or none that tells the value.
  InfiniteResult Evaluated(int64_t element) const {
    Formula formula(inputs_);
    const auto last = FormulaOf(op_, RegionOf(element), formula);
    if (!last) return {element, std::numeric_limits<double>::quiet_NaN(), 0};
    const Magnitude found = FormulaEvaluation<MagnitudeArithmetic>(formula).At(*last);
    return {element, found.value, std::isnan(found.size) ? std::abs(found.value) : found.size};
  }

  const OperatorDesc& op_;
  InputViews inputs_;
  const Dims& sizes_;
  const size_t output_;
  std::vector<int64_t> elements_;
};

}  // namespace

std::vector<InfiniteResult> EvaluateInfiniteResults(const OperatorDesc& op, InputViews inputs,
                                                    const ConstTensorView& exact, size_t output) {
  return InfiniteResults(op, inputs, exact, output).Evaluate();
}

}  // namespace dmlop
