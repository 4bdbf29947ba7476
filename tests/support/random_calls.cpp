// SPDX-License-Identifier: Apache-2.0
#include "tests/support/random_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "core/arithmetic/computation.h"
#include "core/fuzz/values.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"
#include "tests/support/desc.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

constexpr int64_t kMaxElements = 4000;
constexpr int64_t kMaxWork = 1 << 17;  // the reference is slow
constexpr int kMaxDraws = 2000;

bool IsSmall(const OperatorDesc& op) {
  const std::vector<TensorSlot> slots = TensorSlots(op);
  return std::all_of(slots.begin(), slots.end(), [](const TensorSlot& slot) {
    return LayoutOf(*slot.desc).element_count() <= kMaxElements;
  });
}

// The field whose enumerators have their own tables; null if there is none.
const Field* FunctionOf(const OperatorInfo& info) {
  return SupportOf(info).front().of;
}

// Turns most elements of a tensor into corners of regions in small images.
void DrawCorners(const Entropy& from, const TensorView& view) {
  Engine engine = from.Fork();
  const Entropy values(engine);
  VisitDataType(Floats(), view.type, [&]<typename T>() {
    ForEachElement(view, [&](std::byte* element) {
      if (values.OneIn(40)) return;
      const T corner = FromDouble<T>(static_cast<double>(values.Int(-12, 40)) / 4);
      std::memcpy(element, &corner, sizeof corner);
    });
  });
}

// Turns elements of a tensor of INT32, FLOAT32 or FLOAT16 into integers in [least, most].
void DrawNumbers(const Entropy& from, int64_t least, int64_t most, const TensorView& view) {
  Engine engine = from.Fork();
  const Entropy values(engine);
  ForEachElement(
      view, [&](std::byte* element) { SetWhole(view.type, values.Int(least, most), element); });
}

}  // namespace

OperatorCall CallOf(const Entropy& from, OperatorDesc desc) {
  OperatorCall call{std::move(desc), {}, {}};
  for (const TensorSlot& slot : TensorSlots(static_cast<const OperatorDesc&>(call.desc))) {
    TestTensor tensor(*slot.desc->data_type, LayoutOf(*slot.desc), from.Int(0, 3));
    if (slot.role() == TensorRole::kInput) {
      Engine engine = from.Fork();
      FillRandomly(engine, tensor);
      if (slot.field->type == TypeVariable::kIndex)
        DrawIndices(from, call.desc, tensor.mutable_view());
      if (slot.path == "ROITensor") DrawCorners(from, tensor.mutable_view());
      if (slot.path == "PastSequenceLengthsTensor") DrawNumbers(from, -1, 6, tensor.mutable_view());
      call.inputs.push_back(std::move(tensor));
    } else {
      call.outputs.push_back(std::move(tensor));
    }
  }
  return call;
}

OperatorCall RandomCall(const Entropy& from, const OperatorDesc& begun) {
  std::string refusal;
  for (int i = 0; i < kMaxDraws; ++i) {
    OperatorDesc desc = DrawDesc(from, begun);
    Diagnostics diagnostics;
    Check(desc, kHighestFeatureLevel, diagnostics);
    if (diagnostics.has_errors()) {
      const Diagnostic& first = diagnostics.list().front();
      refusal = fmt::format("{}: {} [{}]", first.pointer, first.message, first.code);
    } else if (IsSmall(desc) && WorkOf(desc) <= kMaxWork) {
      return CallOf(from, std::move(desc));
    }
  }
  throw std::logic_error(fmt::format("no valid {} in {} draws; {}; see core/fuzz/random_desc.h",
                                     begun.name(), kMaxDraws, refusal));
}

int ShareOf(int cases, const RandomOperator& random) {
  const bool has_own_loop = !std::holds_alternative<ElementWise>(random.begun.info().family);
  return ShareOf(has_own_loop ? cases : cases / 10);
}

std::vector<RandomOperator> RandomOperators() {
  std::vector<RandomOperator> operators;
  for (const OperatorInfo* info : Operators()) {
    const OperatorDesc begun(*info);
    const Field* function = FunctionOf(*info);
    if (function == nullptr) {
      operators.push_back({std::string(info->name), begun});
      continue;
    }
    for (uint32_t i = 0; i < function->names.names.size(); ++i) {
      RandomOperator& one = operators.emplace_back(
          RandomOperator{fmt::format("{}_{}", info->name, function->names.names[i]), begun});
      ValueOf(one.begun, function->name) = i;
    }
  }
  return operators;
}

}  // namespace dmlop
