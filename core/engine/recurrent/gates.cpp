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

}  // namespace dmlop
