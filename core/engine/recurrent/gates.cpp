// SPDX-License-Identifier: Apache-2.0
#include "core/engine/recurrent/gates.h"

namespace dmlop {

MatrixAddend BiasOf(const CellParameters& parameters, int64_t items, int64_t units,
                    const BiasPart& part) {
  static constexpr float kZero = 0;
  const int64_t count = part.gates * units;
  const Layout rows{{items}, {0}};
  if (parameters.bias.data == nullptr) {
    const auto* zero = reinterpret_cast<const std::byte*>(&kZero);
    return {{zero, DataType::kFloat32, rows, {{count}, {0}}}, 1};
  }
  const int64_t half = parameters.bias.layout.sizes[0] / 2;
  const ConstTensorView bias =
      parameters.bias.Slice(0, part.rest * half + part.first_gate * units, count);
  return {{bias.data, bias.type, rows, bias.layout}, 1};
}

std::vector<MatrixAddend> BiasesOf(const CellParameters& parameters, int64_t items, int64_t units,
                                   int64_t first_gate, int64_t gates) {
  std::vector<MatrixAddend> addends = {BiasOf(parameters, items, units, {0, first_gate, gates})};
  if (parameters.bias.data != nullptr) {
    addends.push_back(BiasOf(parameters, items, units, {1, first_gate, gates}));
  }
  return addends;
}

MatrixAddend ProductsOf(const std::vector<double>& products, int64_t units) {
  const int64_t items = static_cast<int64_t>(products.size()) / units;
  return {{reinterpret_cast<const std::byte*>(products.data()),
           DataType::kFloat64,
           {{items}, {units}},
           {{units}, {1}}},
          1};
}

// --- products ------------------------------------------------------------------------------------

namespace {

std::vector<const MatrixLines*> Borrowed(const std::vector<std::unique_ptr<ViewLines>>& parts) {
  std::vector<const MatrixLines*> lines;
  for (const auto& part : parts) lines.push_back(part.get());
  return lines;
}

MatrixView RowsOf(const ConstTensorView& view) {
  const Layout& layout = view.layout;
  return {view.data,
          view.type,
          {{layout.sizes[0]}, {layout.strides[0]}},
          {{layout.sizes[1]}, {layout.strides[1]}}};
}

}  // namespace

GateProduct::GateProduct(std::span<const ConstTensorView> weights)
    : units_(weights.front().layout.sizes[0]) {
  for (const ConstTensorView& view : weights) {
    parts_.push_back(std::make_unique<ViewLines>(RowsOf(view)));
  }
  columns_ = std::make_unique<JoinedLines>(Borrowed(parts_));
  packed_ = std::make_unique<PackedLines>(*columns_, IndexRange{0, units_}, PanelSide::kColumns);
}

void GateProduct::Run(int64_t count, std::span<const PackedRows> inputs,
                      const std::vector<MatrixAddend>& addends, float* results) const {
  std::vector<std::unique_ptr<ViewLines>> parts;
  for (const PackedRows& rows : inputs) {
    parts.push_back(std::make_unique<ViewLines>(
        MatrixView{rows.data, rows.type, {{count}, {rows.length}}, {{rows.length}, {1}}}));
  }
  const JoinedLines rows(Borrowed(parts));
  const MatrixOutput output{reinterpret_cast<std::byte*>(results),
                            DataType::kFloat32,
                            {{count}, {units_}},
                            {{units_}, {1}}};
  MultiplyMatrices(rows, *columns_, *packed_, MatrixTerms{1, addends}, output);
}

}  // namespace dmlop
