// SPDX-License-Identifier: Apache-2.0
#include "core/ops/quantization.h"

#include <algorithm>

#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop::quantization {
namespace {

template <typename Types, typename Number>
std::vector<Number> ValuesOf(const ConstTensorView& view) {
  std::vector<Number> values;
  if (view.data == nullptr) return values;
  VisitDataType(Types(), view.type, [&]<typename T>() {
    Dims index = Dims::Filled(view.layout.rank(), 0);
    for (int64_t i = 0; i < view.layout.element_count(); ++i) {
      const T value = view.elements<T>()[OffsetOf(view.layout, index)];
      if constexpr (std::is_same_v<Number, double>) {
        values.push_back(AsDouble(value));
      } else {
        values.push_back(value);
      }
      Advance(view.layout.sizes, index);
    }
  });
  return values;
}

}  // namespace

std::vector<int64_t> IntegersOf(const ConstTensorView& view) {
  using Types = Join<Integers32, Integers16, Integers8>;
  return ValuesOf<Types, int64_t>(view);
}

std::vector<double> NumbersOf(const ConstTensorView& view) {
  using Types = Join<Floats, Integers32, Integers16, Integers8>;
  return ValuesOf<Types, double>(view);
}

std::optional<FormulaNode> ParameterOf(const Signature& signature, const OperatorDesc& op,
                                       const Field& field, const Region& element,
                                       Formula& formula) {
  const std::optional<size_t> input = NumberInRole(op, field);
  if (!input) return std::nullopt;
  return formula.Element(*SourcesOf(signature, op)[*input](element));
}

FormulaNode SumOfProducts(std::span<const SourceMap> pairs, const Region& element,
                          const ZeroPoints& zeros, Formula& formula) {
  const auto from = [&](FormulaNode x, const std::optional<FormulaNode>& zero) {
    return zero ? formula.Difference(x, *zero) : x;
  };
  std::vector<FormulaNode> products;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    const std::optional<Region> first = pairs[i](element);
    if (!first) continue;
    const std::vector<FormulaNode> a = formula.Elements(*first);
    const std::vector<FormulaNode> b = formula.Elements(*pairs[i + 1](element));
    for (size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
      products.push_back(formula.Product({from(a[k], zeros.first), from(b[k], zeros.second)}));
    }
  }
  return formula.Named("sum of products", formula.Sum(products));
}

FormulaNode InUnits(FormulaNode sum, const Units& units, DataType type, Formula& formula) {
  const FormulaNode real = formula.Named("real value", formula.Product({sum, units.a, units.b}));
  const FormulaNode quotient =
      formula.Named("in units of the output", formula.Quotient(real, units.output));
  return formula.Quantized(quotient, units.zero_point, type);
}

}  // namespace dmlop::quantization
