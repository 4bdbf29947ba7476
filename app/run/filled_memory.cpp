// SPDX-License-Identifier: Apache-2.0
#include "app/run/filled_memory.h"

#include <algorithm>
#include <functional>

#include "app/run/runnable_model.h"
#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

std::span<const std::byte> BytesOf(const ConstTensorView& view) {
  const auto extent = static_cast<uint64_t>(Extent(view.layout));
  return {view.data, static_cast<size_t>(BufferBytes(view.type, extent))};
}

}  // namespace

bool Overlaps(const ConstTensorView& tensor, std::span<const std::byte> bytes) {
  const std::span<const std::byte> of_tensor = BytesOf(tensor);
  const std::less<> before;
  return before(of_tensor.data(), bytes.data() + bytes.size()) &&
         before(bytes.data(), of_tensor.data() + of_tensor.size());
}

void FilledMemory::Add(const Step& step) {
  for (const TensorView& output : step.outputs) filled_.push_back(BytesOf(AsConst(output)));
}

bool FilledMemory::IsReadBy(const Step& step) const {
  return std::ranges::any_of(step.inputs, [&](const ConstTensorView& input) {
    return std::ranges::any_of(
        filled_, [&](std::span<const std::byte> filled) { return Overlaps(input, filled); });
  });
}

std::optional<ErrorUnits> UnitsOf(const Step& step, size_t output) {
  const ConstTensorView exact = AsConst(step.outputs[output]);
  if (!IsFloat(exact.type)) return std::nullopt;
  return ErrorUnitsOf(step.op, ComputationOf(step).inputs, exact, output);
}

}  // namespace dmlop
