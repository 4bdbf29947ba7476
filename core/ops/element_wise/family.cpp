// SPDX-License-Identifier: Apache-2.0
#include "core/engine/copy/copy_views.h"
#include "core/engine/element_wise/loop.h"
#include "core/engine/element_wise/sequence.h"
#include "core/ops/families.h"

namespace dmlop {
namespace {

// Copies elements without a change of type, and scales them if there are factors.
void RunAsCopy(const std::optional<ScaleBias>& factors, const ConstTensorView& input,
               const TensorView& output) {
  if (!factors) return CopyView(input, output);
  const ScaleBiasFunction scale_bias = ScaleBiasFor(output.type);
  ComputeView(input, output,
              [&](int64_t count, std::byte* to, const std::byte* from, bool streams) {
                scale_bias(*factors, count, to, from, streams);
              });
}

Dims OutputSizes(const OperatorDesc& op) {
  const std::vector<uint32_t>& sizes = *TensorSlots(op, TensorRole::kOutput)[0].desc->sizes;
  return Dims(sizes.begin(), sizes.end());
}

// Computes the part of the output at `part`, or all of it. The inputs are whole.
void Compute(const ElementWise& family, const OperatorDesc& op, InputViews inputs,
             const Region* part, const TensorView& to) {
  auto [call, operands] = WorkOf(family, op, inputs);
  for (ConstTensorView& operand : operands) operand.type = StoredAs(operand.type);
  const TensorView output{to.data, StoredAs(to.type), to.layout};
  if (HaveBlocks(operands)) {
    const Dims& whole = operands[0].layout.sizes;
    const Region all{0, Dims::Filled(whole.size(), 0), whole};
    return ComputeInBlocks(call, operands, part != nullptr ? *part : all, output);
  }
  if (part != nullptr) {
    for (ConstTensorView& operand : operands) operand = Narrowed(operand, *part);
  }
  if (call.function == ElementWiseFunction::kSequence) {
    const Layout places = PackedLayout(OutputSizes(op));
    const int64_t first = part == nullptr ? 0 : OffsetOf(places, part->begin);
    return FillSequence(call.parameters, first, places.strides, output);
  }
  const bool is_copy =
      call.function == ElementWiseFunction::kCast && operands[0].type == output.type;
  if (is_copy) return RunAsCopy(call.scale_bias, operands[0], output);
  ComputeElements(call, operands, output);
}

}  // namespace

ElementWiseWork WorkOf(const ElementWise& family, const OperatorDesc& op, InputViews inputs) {
  ElementWiseWork work{{.function = family.function}, {inputs.begin(), inputs.end()}};
  if (const ScaleBias* factors = op.find_if_known(kScaleBias)) work.call.scale_bias = *factors;
  if (family.prepare != nullptr) family.prepare(op, work.call);
  if (family.operands != nullptr) work.operands = family.operands(op, inputs, work.call);
  return work;
}

void Run(const ElementWise& family, const OperatorDesc& op, InputViews inputs,
         OutputViews outputs) {
  Compute(family, op, inputs, nullptr, outputs[0]);
}

// An input with fewer elements has one for each block of the output.
std::vector<SourceMap> SourcesOf(const ElementWise&, const OperatorDesc& op) {
  const Dims whole = OutputSizes(op);
  std::vector<SourceMap> maps;
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kInput)) {
    const size_t input = maps.size();
    const Dims sizes(slot.desc->sizes->begin(), slot.desc->sizes->end());
    maps.push_back([input, sizes, whole](const Region& output) {
      Region source{input, output.begin, output.sizes};
      for (size_t d = 0; d < whole.size(); ++d) {
        const int64_t block = whole[d] / sizes[d];
        source.begin[d] = output.begin[d] / block;
        source.sizes[d] = (output.begin[d] + output.sizes[d] - 1) / block - source.begin[d] + 1;
      }
      return source;
    });
  }
  return maps;
}

void RunPart(const ElementWise& family, const OperatorDesc& op, InputViews inputs,
             const Region& part, const TensorView& output) {
  Compute(family, op, inputs, &part, output);
}

}  // namespace dmlop
