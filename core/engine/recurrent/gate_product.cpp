// SPDX-License-Identifier: Apache-2.0
#include "core/engine/recurrent/gate_product.h"

namespace dmlop {
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
