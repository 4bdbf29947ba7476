// SPDX-License-Identifier: Apache-2.0
#include "core/ops/contraction/parameters.h"

#include <algorithm>
#include <string>

#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop::contraction {
namespace {

// Returns the dimensions of a parameter with `rank` dimensions along which its values may lie.
std::vector<size_t> DimsFor(Along along, size_t rank) {
  if (along == Along::kNothing) return {};
  if (rank == 1) return {0};
  switch (along) {
    case Along::kRows:
      return {rank - 2};
    case Along::kColumns:
      return {rank - 1};
    default:
      // This is {1, O, 1, 1} without leading or trailing 1s.
      return rank < 4 ? std::vector<size_t>{1, 0} : std::vector<size_t>{1};
  }
}

template <typename Types, typename Number>
std::vector<Number> ValuesOf(const OperatorDesc& op, InputViews inputs, const Field& field) {
  std::vector<Number> values;
  const std::optional<size_t> input = InputNumber(op, field);
  if (!input) return values;
  const ConstTensorView& view = inputs[*input];
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

void CheckParameter(const OperatorDesc& op, const FieldOf<TensorDesc>& field, Along along,
                    uint32_t count, Inference& infer) {
  if (!op.Has(field) || count == 0) return;
  const TensorAt tensor = infer.tensor(field);
  std::vector<Sizes> allowed = {Sizes(tensor.sizes().size(), 1)};
  for (const size_t dim : DimsFor(along, tensor.sizes().size())) {
    Sizes& sizes = allowed.emplace_back(tensor.sizes().size(), 1);
    sizes[dim] = count;
  }
  const bool is_allowed =
      std::find(allowed.begin(), allowed.end(), tensor.sizes()) != allowed.end();
  std::string expected;
  for (const Sizes& sizes : allowed) {
    if (!expected.empty()) expected += " or ";
    expected += ToString(sizes);
  }
  infer.Require(is_allowed, "QSH-1", SizesOf(tensor), "Sizes are {}; expected {}",
                ToString(tensor.sizes()), expected);
}

std::optional<Sizes> ProductSizes(std::string_view code, const OperatorDesc& op,
                                  const FieldOf<TensorDesc>& a, const FieldOf<TensorDesc>& b,
                                  Inference& infer) {
  const size_t rank = op.sizes(a).size();
  if (!infer.RequireSameRank(code, infer.tensor(b), infer.tensor(a)) || rank < 2) return {};
  Sizes expected = op.sizes(a);
  expected[rank - 2] = op.sizes(a)[rank - 1];
  expected[rank - 1] = op.sizes(b)[rank - 1];
  if (!infer.RequireSizes(code, infer.tensor(b), expected)) expected[rank - 1] = 0;
  expected[rank - 2] = op.sizes(a)[rank - 2];
  return expected;
}

std::vector<int64_t> IntegersOf(const OperatorDesc& op, InputViews inputs, const Field& field) {
  using Types = Join<Integers32, Integers16, Integers8>;
  return ValuesOf<Types, int64_t>(op, inputs, field);
}

std::vector<double> NumbersOf(const OperatorDesc& op, InputViews inputs, const Field& field) {
  return ValuesOf<Floats, double>(op, inputs, field);
}

void AddParameter(const OperatorDesc& op, const Field& field, size_t output_dim,
                  std::vector<SourceMap>& maps) {
  const std::vector<TensorSlot> slots = TensorSlots(op, TensorRole::kInput);
  const std::optional<size_t> input = InputNumber(op, field);
  if (!input) return;
  maps.push_back([=, sizes = *slots[*input].desc->sizes](const Region& output) {
    Region region{*input, Dims::Filled(sizes.size(), 0), Dims::Filled(sizes.size(), 1)};
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] == 1) continue;
      region.begin[d] = output.begin[output_dim];
      region.sizes[d] = output.sizes[output_dim];
    }
    return std::optional(region);
  });
}

SourceMap RowsOfA(const OperatorDesc& op, const FieldOf<TensorDesc>& a) {
  const size_t input = *InputNumber(op, a);
  const int64_t depth = op.sizes(a).back();
  return [=](const Region& output) {
    Region region = output;
    region.tensor = input;
    region.begin.back() = 0;
    region.sizes.back() = depth;
    return std::optional(region);
  };
}

SourceMap ColumnsOfB(const OperatorDesc& op, const FieldOf<TensorDesc>& b) {
  const size_t input = *InputNumber(op, b);
  const int64_t depth = op.sizes(b)[op.sizes(b).size() - 2];
  return [=](const Region& output) {
    Region region = output;
    region.tensor = input;
    region.begin[output.begin.size() - 2] = 0;
    region.sizes[output.begin.size() - 2] = depth;
    return std::optional(region);
  };
}

std::optional<FormulaNode> ParameterOf(const OperatorDesc& op, const Field& field,
                                       size_t output_dim, const Region& element, Formula& formula) {
  std::vector<SourceMap> maps;
  AddParameter(op, field, output_dim, maps);
  if (maps.empty()) return std::nullopt;
  return formula.Element(*maps[0](element));
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

}  // namespace dmlop::contraction
