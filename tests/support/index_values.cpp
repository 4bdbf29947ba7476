// SPDX-License-Identifier: Apache-2.0
#include "tests/support/index_values.h"

#include <algorithm>

#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"
#include "tests/exact/mpfr_oracle.h"
#include "tests/reference/element.h"

namespace dmlop {
namespace {

// A size that the operator's indices may refer to.
int64_t SomeSize(const Entropy& from, const OperatorDesc& desc) {
  std::vector<int64_t> sizes;
  const uint32_t* axis = desc.find_if_known(kAxis);
  for (const TensorSlot& slot : TensorSlots(desc)) {
    const Dims dims(slot.desc->sizes->begin(), slot.desc->sizes->end());
    if (axis != nullptr) sizes.push_back(dims[*axis]);
    if (axis == nullptr) sizes.insert(sizes.end(), {dims[from.Index(dims.size())], Product(dims)});
  }
  return axis != nullptr ? *std::max_element(sizes.begin(), sizes.end()) : from.OneOf(sizes);
}

}  // namespace

void DrawIndices(const Entropy& from, const OperatorDesc& desc, TestTensor& tensor) {
  const int64_t size = SomeSize(from, desc);
  const bool has_signs = tensor.type() == DataType::kInt64 || tensor.type() == DataType::kInt32;
  const int64_t slack = from.OneIn(3) ? 2 : 0;
  const int64_t least = has_signs && from.OneIn(2) ? -size - slack : 0;
  const uint64_t wild = from.OneIn(4) ? 6 : 1000;
  Engine engine = from.Fork();
  const Entropy values(engine);
  const TensorView view = tensor.mutable_view();
  reference::ForEachIndex(view.layout.sizes, [&](const Dims& index) {
    if (values.OneIn(wild)) return;
    const int64_t value = values.Int(least, size - 1 + slack);
    reference::SetBitsAt(view, index, static_cast<uint64_t>(value));
  });
}

void DrawCorners(const Entropy& from, TestTensor& tensor) {
  Engine engine = from.Fork();
  const Entropy values(engine);
  const TensorView view = tensor.mutable_view();
  reference::ForEachIndex(view.layout.sizes, [&](const Dims& index) {
    if (values.OneIn(40)) return;
    const float corner = static_cast<float>(values.Int(-12, 40)) / 4;
    const bool is_half = view.type == DataType::kFloat16;
    reference::SetBitsAt(view, index, is_half ? ElementBits(ToHalf(corner)) : ElementBits(corner));
  });
}

void DrawNumbers(const Entropy& from, int64_t least, int64_t most, TestTensor& tensor) {
  Engine engine = from.Fork();
  const Entropy values(engine);
  const TensorView view = tensor.mutable_view();
  using Types = TypeList<int32_t, float, Half>;
  VisitDataType(Types(), view.type, [&]<typename T>() {
    reference::ForEachIndex(view.layout.sizes, [&](const Dims& index) {
      const double number = static_cast<double>(values.Int(least, most));
      reference::SetBitsAt(view, index, ElementBits(FromDouble<T>(number)));
    });
  });
}

}  // namespace dmlop
