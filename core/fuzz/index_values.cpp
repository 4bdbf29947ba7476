// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/index_values.h"

#include <algorithm>

#include "core/fuzz/elements.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

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

void DrawIndices(const Entropy& from, const OperatorDesc& desc, const TensorView& view) {
  const int64_t size = SomeSize(from, desc);
  const bool has_signs = view.type == DataType::kInt64 || view.type == DataType::kInt32;
  const int64_t slack = from.OneIn(3) ? 2 : 0;
  const int64_t least = has_signs && from.OneIn(2) ? -size - slack : 0;
  const uint64_t wild = from.OneIn(4) ? 6 : 1000;
  RandomEngine engine = from.Fork();
  const Entropy values(engine);
  ForEachElement(view, [&](std::byte* element) {
    if (values.OneIn(wild)) return;
    SetWhole(view.type, values.Int(least, size - 1 + slack), element);
  });
}

void DrawCorners(const Entropy& from, const TensorView& view) {
  RandomEngine engine = from.Fork();
  const Entropy values(engine);
  VisitDataType(Floats(), view.type, [&]<typename T>() {
    ForEachElement(view, [&](std::byte* element) {
      if (values.OneIn(40)) return;
      const T corner = FromDouble<T>(static_cast<double>(values.Int(-12, 40)) / 4);
      std::memcpy(element, &corner, sizeof corner);
    });
  });
}

void DrawNumbers(const Entropy& from, int64_t least, int64_t most, const TensorView& view) {
  RandomEngine engine = from.Fork();
  const Entropy values(engine);
  ForEachElement(
      view, [&](std::byte* element) { SetWhole(view.type, values.Int(least, most), element); });
}

}  // namespace dmlop
