#include "core/engine/copy/tiled_loop.h"
#include "core/engine/element_wise/loop.h"
#include "core/ops/families.h"

namespace dmlop {
namespace {

// Elements of one type that are only scaled, or not even that.
void RunAsCopy(const std::optional<ScaleBias>& factors, const ConstTensorView& input,
               const TensorView& output) {
  if (!factors) return CopyView(input, output);
  const ScaleBiasFunction scale_bias = ScaleBiasFor(output.type);
  ComputeView(input, output,
              [&](int64_t count, std::byte* to, const std::byte* from, bool streams) {
                scale_bias(*factors, count, to, from, streams);
              });
}

}  // namespace

void Run(const ElementWise& family, const OperatorDesc& op, InputViews inputs,
         OutputViews outputs) {
  ElementWiseCall call{.function = family.function};
  if (const ScaleBias* factors = op.find_if_known(kScaleBias)) call.scale_bias = *factors;
  if (family.prepare != nullptr) family.prepare(op, call);
  const bool is_copy =
      call.function == ElementWiseFunction::kCast && inputs[0].type == outputs[0].type;
  if (is_copy) return RunAsCopy(call.scale_bias, inputs[0], outputs[0]);
  std::vector<ConstTensorView> in_order;
  for (size_t i = 0; i < inputs.size(); ++i) in_order.push_back(inputs[family.order[i]]);
  ComputeElements(call, in_order, outputs[0]);
}

std::vector<SourceMap> SourcesOf(const ElementWise&, const OperatorDesc& op) {
  std::vector<SourceMap> maps;
  for (size_t input = 0; input < TensorSlots(op, TensorRole::kInput).size(); ++input) {
    maps.push_back([input](const Region& output) {
      return Region{input, output.begin, output.sizes};
    });
  }
  return maps;
}

void RunPart(const ElementWise& family, const OperatorDesc& op, InputViews inputs,
             const Region& part, const TensorView& output) {
  std::vector<ConstTensorView> parts;
  for (const ConstTensorView& input : inputs) parts.push_back(Narrowed(input, part));
  Run(family, op, parts, {&output, 1});
}

}  // namespace dmlop
